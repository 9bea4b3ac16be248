"""What a person sees of a message, with the way back to what was written.

It knows Slack's and Discord's markup and no rule about decisions. Everything here is linear in the
length of the text: a paste of 40,000 characters is data, not a reason to stop.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

type Kind = Literal["code", "link", "label", "person", "group", "emoji"]

# What stands in `plain` for text that is shown but must not be read as words. Private-use
# characters in the message itself become U+FFFD, so nobody can type one of these.
CODE, LINK, PERSON, GROUP, EMOJI = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"
_MASK: dict[Kind, str] = {
    "code": CODE,
    "link": LINK,
    "person": PERSON,
    "group": GROUP,
    "emoji": EMOJI,
}

# Everything that is not shown as it is written. Repeats are bounded or end at the next opener.
_TOKEN = re.compile(
    r"(?P<entity>&(?:amp|lt|gt);)"
    r"|(?P<angle><[^<>\n]{1,2000}>)"
    r"|(?P<masked>\[[^\[\]\n]{1,200}\]\(https?://[^\s()<>]{1,1000}\))"
    r"|(?P<url>\b(?:https?://|www\.)[^\s<>]+)"
    r"|(?P<ticks>`+)"
    r"|(?P<short>(?<![^\W_]):[a-z0-9_+'-]{0,40}[a-z+][a-z0-9_+'-]{0,40}:(?::skin-tone-[2-6]:)?)"
    # Pictures, except the arrows U+2794..U+27BE, which separate a key from its value.
    r"|(?P<emoji>(?:[\U0001f000-\U0001faff\u2600-\u2793\u2b00-\u2bff\u231a-\u23ff]"
    r"|[0-9#*]\ufe0f?\u20e3)[\ufe0f\u200d\u20e3\U0001f000-\U0001faff\u2600-\u2793]*)"
    # Not visible: zero width, direction marks, soft hyphen, controls (not tab, not line ends).
    r"|(?P<unseen>[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    r"\x00-\x08\x0e-\x1f\x7f]+)"
    r"|(?P<mark>\*+|_+|~+)"
)
_PERSON = re.compile(r"@!?([\w.-]{1,80})(?:\|(.*))?")
_CHANNEL = re.compile(r"#([A-Za-z0-9]+)(?:\|(.*))?")
_ADDRESS = re.compile(r"(?:https?|ftp|mailto|tel|slack):[^|]*(?:\|(.*))?")
_PICTURE = re.compile(r"a?:\w{1,64}:[0-9]+")
_AT = re.compile(r"(?<![\w.@/])@(?=\w)")
# Accents and vowel signs written as characters of their own belong to the letter before them.
_SIGNS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u3099\u309a"
)
_EDGE = re.compile(rf"(?<=[\w{_SIGNS}])(?![\w{_SIGNS}])")
_WORD = re.compile(rf"\w[\w{_SIGNS}.-]{{0,40}}(?<=[\w{_SIGNS}])")
_LOOKS_LIKE_ADDRESS = re.compile(r"\s*(?:https?://|www\.|[\w.-]+@|[\w-]+(?:\.[\w-]+)+/)")

_BLANKS = frozenset(
    " \t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000"
)
_FOLD = {
    ord(a): b
    for many, b in (
        ("“”„‟«»″＂", '"'),
        ("‘’‚‛′＇", "'"),
        ("‐‑‒−", "-"),
        ("：", ":"),
        ("＝", "="),
        ("".join(_BLANKS), " "),
        ("\r\x0b\x0c\x85\u2028\u2029", "\n"),
    )
    for a in many
} | {point: "\ufffd" for point in range(0xE000, 0xE010)}


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of `Shown.text` that is more than text: `[start, end)`.

    `data`: a person's id (empty where the name could not be resolved), else empty.
    """

    kind: Kind
    start: int
    end: int
    data: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """`text` as displayed; `plain` the same length, in lower case, quotes, colons and spaces made
    plain, code, addresses, people and pictures masked. Struck text is in neither.

    Character `i` was written at `raw[low[i]:high[i]]`; `low` and `high` never fall.
    """

    raw: str
    text: str
    plain: str
    low: list[int]
    high: list[int]
    marks: tuple[Mark, ...]

    def within(self, start: int, end: int, *kinds: Kind) -> list[Mark]:
        """The marks of these kinds that touch `[start, end)`, in order."""
        found: list[Mark] = []
        for at in range(bisect_right(self.marks, start, key=lambda m: m.end), len(self.marks)):
            mark = self.marks[at]
            if mark.start >= end:
                break
            if mark.kind in kinds:
                found.append(mark)
        return found

    def naming(self, names: Mapping[str, str], longest: int) -> "Shown":
        """With every written `@name` marked as a person: the longest of `names` (its form from
        `same` to the id) that fits, else the next word with no id."""
        plain, marks = list(self.plain), list(self.marks)
        for at in _AT.finditer(self.plain):
            first = at.end()
            ends = [
                first + edge.end() for edge in _EDGE.finditer(self.plain[first : first + longest])
            ]
            for end in reversed(ends):
                name = same(self.plain[first:end])
                if name in names:
                    marks.append(Mark("person", at.start(), end, names[name]))
                    break
            else:
                word = _WORD.match(self.plain, first)
                if not word:
                    continue
                end = word.end()
                marks.append(Mark("person", at.start(), end))
            plain[at.start() : end] = PERSON * (end - at.start())
        marks.sort(key=lambda m: m.start)
        return Shown(self.raw, self.text, "".join(plain), self.low, self.high, tuple(marks))

    def quote(self, start: int, end: int, inner: tuple[int, int], limit: int) -> str:
        """What was written for `[start, end)`: a substring of `raw` of at most `limit` characters.

        Longer ones are cut around `inner`, between words where there are any, and never inside
        an escape, a mention or a link.
        """
        if self.high[end - 1] - self.low[start] <= limit:
            return self.raw[self.low[start] : self.high[end - 1]]
        first, last = inner
        while last - first > 1 and self.high[last - 1] - self.low[first] > limit:
            last -= 1
        if last < inner[1] and (space := self.plain.rfind(" ", first + limit // 2, last)) > 0:
            last = space
        # To the right as far as it fits, then to the left.
        until = bisect_right(self.high, self.low[first] + limit, last - 1, end)
        if until < end and (space := self.plain.rfind(" ", last, until + 1)) >= last:
            until = space
        until = max(last, until if until == end or self.plain[until] == " " else last)
        since = first
        while since > start and self.high[until - 1] - self.low[since - 1] <= limit:
            since -= 1
        if since > start:
            space = self.plain.find(" ", since, first)
            since = space + 1 if space >= 0 else first
        found = self.raw[self.low[since] : self.high[until - 1]]
        return found if len(found) <= limit else ""


def fold(text: str) -> str:
    """Lower case and plain punctuation, character for character: the length never changes."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return lower.translate(_FOLD)


def same(name: str) -> str:
    """One form for every way of writing a name: composed or not, upper or lower case."""
    if name.isascii():
        return fold(name)
    whole = unicodedata.normalize("NFKC", fold(name)).casefold()
    return unicodedata.normalize("NFKC", whole)


def read(raw: str, people: Mapping[str, str]) -> Shown:
    """The message as displayed. `people`: id to the name people read, for mentions."""
    return _Reader(raw, people).read()


class _Reader:
    def __init__(self, raw: str, people: Mapping[str, str]) -> None:
        self.raw = raw
        self.people = people
        self.text: list[str] = []
        self.low: list[int] = []
        self.high: list[int] = []
        self.owner: list[int] = []  # index of the character's mark in `found`, or -1
        self.found: list[tuple[Kind, str]] = []
        self.runs: list[tuple[int, int]] = []  # runs of * _ ~, as positions in `text`

    def read(self) -> Shown:
        raw, at = self.raw, 0
        while token := _TOKEN.search(raw, at):
            self._copy(at, token.start())
            at = self._token(token)
        self._copy(at, len(raw))
        self._drop(self._emphasis())
        return self._shown()

    def _copy(self, start: int, end: int, owner: int = -1) -> None:
        """Shown exactly as written."""
        self.text.extend(self.raw[start:end])
        self.low.extend(range(start, end))
        self.high.extend(range(start + 1, end + 1))
        self.owner.extend([owner] * (end - start))

    def _put(self, shown: str, start: int, end: int, owner: int = -1) -> None:
        """Shown otherwise: every character stands for the whole of `raw[start:end]`."""
        self.text.extend(shown)
        self.low.extend([start] * len(shown))
        self.high.extend([end] * len(shown))
        self.owner.extend([owner] * len(shown))

    def _mark(self, kind: Kind, data: str = "") -> int:
        self.found.append((kind, data))
        return len(self.found) - 1

    def _token(self, token: re.Match[str]) -> int:
        """Shows one token; returns where to read on."""
        start, end = token.span()
        written = token.group()
        match token.lastgroup:
            case "entity":
                self._put({"&amp;": "&", "&lt;": "<", "&gt;": ">"}[written], start, end)
            case "angle":
                return self._angle(written[1:-1], start, end)
            case "masked":
                self._label(start + 1, start + written.index("]("), start, end)
            case "url":
                while end - start > 5 and self.raw[end - 1] in ".,;:!?)]}'\"*_~":
                    end -= 1
                self._put(self.raw[start:end], start, end, self._mark("link"))
            case "ticks":
                return self._code(start, end)
            case "short" | "emoji":
                self._put(written, start, end, self._mark("emoji"))
            case "mark":
                self.runs.append((len(self.text), len(self.text) + end - start))
                self._copy(start, end)
            case _:
                pass  # unseen
        return end

    def _angle(self, inside: str, start: int, end: int) -> int:
        if person := _PERSON.fullmatch(inside):
            who, label = person.group(1), person.group(2)
            name = self.people.get(who) or label or who
            self._put("@" + _line(name).removeprefix("@"), start, end, self._mark("person", who))
        elif channel := _CHANNEL.fullmatch(inside):
            name = "#" + _line(channel.group(2) or channel.group(1))
            self._put(name, start, end, self._mark("group"))
        elif inside.startswith(("!", "@&")):
            name = "@" + _line(inside.rpartition("|")[2].split("^")[0]).lstrip("!@&")
            if inside.startswith("!date^") and "|" in inside:
                self._put(name[1:], start, end)
            else:
                self._put(name, start, end, self._mark("group"))
        elif address := _ADDRESS.fullmatch(inside):
            if address.group(1):
                self._label(start + 1 + address.start(1), end - 1, start, end)
            else:
                self._put(inside, start, end, self._mark("link"))
        elif _PICTURE.fullmatch(inside):
            self._put(inside, start, end, self._mark("emoji"))
        else:  # a plain <, as Discord leaves it
            self._copy(start, start + 1)
            return start + 1
        return end

    def _label(self, first: int, last: int, start: int, end: int) -> None:
        """A link shown as its label. A long address stays out of the quote."""
        label = self.raw[first:last]
        kind: Kind = "link" if _LOOKS_LIKE_ADDRESS.match(label) else "label"
        owner = self._mark(kind)
        at = first
        for piece in re.split(r"(&(?:amp|lt|gt);)", label):
            shown = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}.get(piece)
            if end - start <= 120:
                self._put(shown or piece, start, end, owner)
            elif shown:
                self._put(shown, at, at + len(piece), owner)
            else:
                self._copy(at, at + len(piece), owner)
            at += len(piece)

    def _code(self, start: int, end: int) -> int:
        """A block is not shown at all, unclosed to the end of the message; a span is marked."""
        if end - start >= 3:
            closing = self.raw.find("```", end)
            self._put("\n", start, end)
            if closing < 0:
                return len(self.raw)
            after = closing + 3
            while after < len(self.raw) and self.raw[after] == "`":
                after += 1
            return after
        line = self.raw.find("\n", end)
        closing = self.raw.find(self.raw[start:end], end, line if line >= 0 else len(self.raw))
        if closing <= end:  # none, or nothing inside
            return end
        self._copy_code(end, closing, start, closing + end - start)
        return closing + end - start

    def _copy_code(self, first: int, last: int, start: int, end: int) -> None:
        owner, at = self._mark("code"), first
        for piece in re.split(r"(&(?:amp|lt|gt);)", self.raw[first:last]):
            shown = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}.get(piece)
            if shown:
                self._put(shown, at, at + len(piece), owner)
            else:
                self._copy(at, at + len(piece), owner)
            at += len(piece)
        if self.owner and self.owner[-1] == owner:  # the ticks belong to the outer characters
            self.high[-1] = end
            head = len(self.owner) - 1
            while head > 0 and self.owner[head - 1] == owner:
                head -= 1
            self.low[head] = start

    def _emphasis(self) -> set[int]:
        """Positions not shown: pairs of * _ ~ around words, and the text between two ~.

        A marker opens before a visible character and closes after one, at a word's edge unless it
        is doubled; pairs stay on one line.
        """
        gone: set[int] = set()
        opened: dict[str, tuple[int, int]] = {}
        line = 0
        for first, last in self.runs:
            if "\n" in self.text[line:first]:
                opened.clear()
            line = first
            run = "".join(self.text[first:last])
            before = self.text[first - 1] if first else " "
            after = self.text[last] if last < len(self.text) else " "
            loose = len(run) > 1 and run[0] != "_"
            closes = not before.isspace() and (loose or not (after.isalnum() or after == "_"))
            opens = not after.isspace() and (loose or not (before.isalnum() or before == "_"))
            if closes and run in opened:
                since, inside = opened.pop(run)
                gone.update(range(since, inside), range(first, last))
                if run[0] == "~":
                    gone.update(range(since, last))
                elif first > inside:  # a quote keeps the markers of what it holds
                    self.low[inside] = min(self.low[since], self.low[inside])
                    self.high[first - 1] = self.high[last - 1]
            elif opens:
                opened[run] = (first, last)
        return gone

    def _drop(self, gone: set[int]) -> None:
        """Leaves these out, and all but the first of several spaces in a row.

        Without runs of spaces no pattern over a sentence can turn quadratic on them.
        """
        blank = False
        for i, c in enumerate(self.text):
            if i in gone:
                continue
            if blank and c in _BLANKS:
                gone.add(i)
            blank = c in _BLANKS
        if gone:
            kept = [i for i in range(len(self.text)) if i not in gone]
            self.text = [self.text[i] for i in kept]
            self.low = [self.low[i] for i in kept]
            self.high = [self.high[i] for i in kept]
            self.owner = [self.owner[i] for i in kept]

    def _shown(self) -> Shown:
        text = "".join(self.text)
        plain = list(fold(text))
        marks: list[Mark] = []
        if self.found:
            start = 0
            for at in range(1, len(self.owner) + 1):
                if at == len(self.owner) or self.owner[at] != self.owner[start]:
                    if self.owner[start] >= 0:
                        kind, data = self.found[self.owner[start]]
                        marks.append(Mark(kind, start, at, data))
                        if mask := _MASK.get(kind):
                            plain[start:at] = mask * (at - start)
                    start = at
        return Shown(self.raw, text, "".join(plain), self.low, self.high, tuple(marks))


def _line(name: str) -> str:
    """A name on one line, however long or odd it is."""
    return " ".join(name.split())
