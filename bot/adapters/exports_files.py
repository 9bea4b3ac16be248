"""An export's JSON files, in a folder, in a zip or alone; it refuses to know any platform.

Nothing is ever unpacked: members of a zip are read in memory, one at a time, so a path that
leads outside and a size that would fill the disk do no harm.
"""

import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bot.adapters.plain import clean
from bot.chat import Unread
from engine.errors import InvalidInput

ACCEPTED = (
    "what can be replayed is a Slack export (folder or zip) or a Discord export made by "
    "DiscordChatExporter as JSON (file, folder or zip)"
)
LARGEST = 512 * 2**20
"""Bytes of one file; a whole Discord channel is one file, a Slack day is rarely over 1 MB."""
SWOLLEN = 400
"""A member of a zip this many times its packed size is a bomb; chat packs to a tenth or so."""

_UNPACKING = (
    OSError,
    EOFError,
    RuntimeError,  # encrypted; NotImplementedError (an unknown packing) is one too
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_GAP = re.compile(r"[\s,]*")


class Broken(Exception):
    """This file cannot be read; the text says why, in one sentence without what people wrote."""


@dataclass(frozen=True)
class Loaded:
    """`flaw`: why not all of the file was read, None when it was."""

    data: object
    flaw: str | None = None


@dataclass(frozen=True)
class Shelf:
    """`sources` by path: `/` between folders, relative to what was handed in, in order."""

    sources: Mapping[str, Callable[[], IO[bytes]]]
    unread: tuple[Unread, ...] = field(default=())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.sources)

    def head(self, name: str, size: int = 8192) -> bytes:
        """The beginning of a file, empty when it cannot be read."""
        try:
            with self.sources[name]() as source:
                return source.read(size)
        except _UNPACKING:
            return b""

    def load(self, name: str) -> Loaded:
        try:
            with self.sources[name]() as source:
                raw = source.read(LARGEST + 1)
        except OSError as error:
            raise Broken(f"It cannot be opened ({error.strerror or 'input error'}).") from error
        except _UNPACKING as error:
            raise Broken("It is damaged, encrypted or packed in an unknown way.") from error
        if len(raw) > LARGEST:
            raise Broken(f"It is larger than {LARGEST // 2**20} MB.")
        return _parsed(raw)


@contextmanager
def opened(path: Path) -> Iterator[Shelf]:
    """The files at `path`; `InvalidInput` when there is nothing to look at."""
    if not path.exists():
        raise InvalidInput(f"{path} does not exist; {ACCEPTED}.")
    if path.is_dir():
        yield _folder(path)
    elif path.stat().st_size == 0:
        raise InvalidInput(f"{path} is empty; {ACCEPTED}.")
    elif zipfile.is_zipfile(path):
        try:
            archive = zipfile.ZipFile(path)
        except _UNPACKING as error:
            raise InvalidInput(f"{path} is a damaged zip; download it again.") from error
        with archive:
            yield _archive(archive)
    else:
        shelf = Shelf({clean(path.name): lambda: path.open("rb")})
        if any(shelf.head(name).startswith(b"PK\x03\x04") for name in shelf.names):
            raise InvalidInput(f"{path} is a damaged zip; download it again.")
        yield shelf


def _folder(path: Path) -> Shelf:
    found: dict[str, Callable[[], IO[bytes]]] = {}
    unread: list[Unread] = []

    def refused(error: OSError) -> None:
        name = os.path.relpath(error.filename or path, path)
        unread.append(Unread(file=clean(name), why="This folder cannot be opened."))

    for folder, _, files in os.walk(path, onerror=refused):
        for file in files:
            where = Path(folder, file)
            name = clean(where.relative_to(path).as_posix())
            if _wanted(name) and where.is_file():
                found[name] = lambda where=where: where.open("rb")  # type: ignore[misc]
    return Shelf(dict(sorted(found.items())), tuple(unread))


def _archive(archive: zipfile.ZipFile) -> Shelf:
    found: dict[str, Callable[[], IO[bytes]]] = {}
    unread: list[Unread] = []
    for member in archive.infolist():
        name = _member_name(member)
        if member.is_dir() or not _wanted(name):
            continue
        if why := _refusal(member, name):
            unread.append(Unread(file=name, why=why))
        else:
            found[name] = lambda member=member: archive.open(member)  # type: ignore[misc]
    return Shelf(dict(sorted(found.items())), tuple(unread))


def _member_name(member: zipfile.ZipInfo) -> str:
    """Some packers write UTF-8 without saying so (then it was read as cp437), or `\\`."""
    name = member.filename
    if not member.flag_bits & 0x800:
        with suppress(UnicodeError):  # then it was cp437
            name = name.encode("cp437").decode()
    parts = [part for part in name.replace("\\", "/").split("/") if part != "."]
    return clean("/".join(parts))


def _refusal(member: zipfile.ZipInfo, name: str) -> str | None:
    if name.startswith("/") or ".." in name.split("/"):
        return "Its path leads outside the export."
    if member.flag_bits & 1:
        return "It is encrypted."
    swollen = member.file_size > 2**20 and member.file_size > SWOLLEN * member.compress_size
    if member.file_size > LARGEST or swollen:
        return f"It would unpack to {member.file_size // 2**20} MB, which no export needs."
    return None


def _wanted(name: str) -> bool:
    parts = name.split("/")
    hidden = any(part.startswith(".") and part != ".." for part in parts)
    return name.lower().endswith(".json") and not hidden and "__MACOSX" not in parts


def _parsed(raw: bytes) -> Loaded:
    if not raw.strip():
        raise Broken("It is empty.")
    encoding = json.detect_encoding(raw)
    flaw = None
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode(encoding, "replace")
        flaw = "Some characters in it are not valid and were replaced."
    try:
        # numbers with a fraction stay as written: a timestamp does not survive a float
        data = json.loads(text, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        saved = _salvaged(text)
        if saved is None:
            raise Broken(f"It is not JSON (line {error.lineno}, column {error.colno}).") from error
        return Loaded(saved, f"It breaks off at {place}; what comes before was read.")
    except (RecursionError, ValueError) as error:
        raise Broken("It is not JSON anybody wrote: too deep, or a number too long.") from error
    return Loaded(data, flaw)


def _salvaged(text: str) -> object | None:
    """What a cut-off list holds up to the break: the list itself, or an object's `messages`."""
    start = len(text) - len(text.lstrip())
    if text.startswith("[", start):
        return _elements(text, start + 1) or None
    cut = _MESSAGES.search(text)
    if cut is None:
        return None
    try:
        head = json.loads(text[: cut.end()] + "]}", parse_float=str, parse_constant=str)
    except (RecursionError, ValueError):
        return None
    return {**head, "messages": _elements(text, cut.end())} if isinstance(head, dict) else None


def _elements(text: str, at: int) -> list[object]:
    decoder = json.JSONDecoder(parse_float=str, parse_constant=str)
    found: list[object] = []
    while True:
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        try:
            element, at = decoder.raw_decode(text, at)
        except (RecursionError, ValueError):
            return found
        found.append(element)
