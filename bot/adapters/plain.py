"""What a platform may send and no database stores is taken out of text here."""


def clean(text: str) -> str:
    """Without what no database stores: NUL characters and halves of surrogate pairs."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "")
