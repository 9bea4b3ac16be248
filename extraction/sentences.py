"""Where a message's sentences are, and which lines are not its author's own words.

It knows quotes, forwards, headings, questions and corrections, and no reference.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from extraction import words
from extraction.markup import EMOJI

SENTENCE_LIMIT = 2_000  # longer than this without a full stop is a paste, not a sentence
BLANK = f" \t\n{EMOJI}*_~"

_SORRY = r"(?:(?:sorry|oops|whoops|ugh|argh|ah|my\s+bad|no)[\s,!.:—–-]*)"
EDIT = re.compile(
    r"[\[(*\s]*(?:edit(?:ed)?|update[d]?|upd|correction|korrektur)\s?[0-9]{0,2}\s?(?:\([^()]{0,20}\))?\s?[:\]]\s*"
)
MEANT = re.compile(
    rf"[\[(*\s,;—–-]*(?:{_SORRY}{{1,3}}i\s+mean|{_SORRY}{{0,3}}(?:i\s+meant|meant)|should\s+read|that\s+should\s+be)(?!\w)(?:\s+to\s+(?:say|write|type))?[\s:,]*"
)
# A correction inside a line begins a sentence of its own.
_CUE_INSIDE = re.compile(
    rf"[\[(]\s?(?:edit(?:ed)?|update[d]?|upd|correction)\s?[0-9]{{0,2}}\s?:|(?<!\w)edit\s?[0-9]?:|(?<!\w){_SORRY}{{1,3}}i\s+meant?(?!\w)|(?<!\w)i\s+meant(?!\w)"
    r"|(?<!\w)(?<!error\s)(?<!course\s)(?<!color\s)(?<!colour\s)(?<!the\s)(?<!a\s)correction\s?:"
    rf"|(?:[,;]\s?|\s[—–-]{{1,3}}\s)(?!ignore)(?:{words.TAKEN_BACK})(?!\s+(?:the|about|my|that|his|her|their|your|on|if)\b)|(?<=\s)(?:{words.TAKEN_BACK})(?=\s?(?:$|[.!)]))"
)
_END = re.compile(rf"(?:[.!?…]+|[.!]*[。！？؟]+)[\"')\]{EMOJI}]*(?=\s|$)|[。！？؟]+")
_ABBREVIATION = re.compile(words.ABBREVIATION)
# "[10:32] <maya> ...": a pasted log, in which somebody else speaks.
_LOG = re.compile(
    r"\s*(?:[\[(]?(?:[0-9-]{8,10}[ t])?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[ap]m)?[\])]?\s*)?<[@+%~&]?[\w.\[\]|^-]{1,32}>\s"
    r"|\s*[\[(](?:[0-9-]{8,10}[ t])?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[ap]m)?[\])]\s*[\w.-]{1,32}:\s"
)
_HEADING = re.compile(words.HEADING)
_FORWARD = re.compile(words.FORWARD)


class Sentence(NamedTuple):
    start: int
    end: int
    asks: bool
    line: int  # counted from 1
    opens: bool  # first in its line
    cue: Literal["", "edit", "meant"]  # it corrects what was said before


def sentences(plain: str) -> Iterator[Sentence]:
    """Sentences of the lines that are the author's own words, in order."""
    start, muted = 0, False
    for number, line in enumerate(plain.split("\n"), 1):
        end = start + len(line)
        bare = line.strip(BLANK + "-•")
        if not bare:
            muted = False
        elif line.lstrip().startswith(">>>") or _FORWARD.fullmatch(bare[:300]):
            return
        elif len(bare) <= 120 and bare.endswith(":") and _HEADING.search(bare):
            muted = True
        elif not muted and not line.lstrip().startswith(">") and not _LOG.match(line):
            yield from _split(plain, start, end, number)
        start = end + 1


def _split(plain: str, start: int, end: int, line: int) -> Iterator[Sentence]:
    opens, at = True, start
    cuts: dict[int, bool] = {}  # where a sentence ends, and whether it asks
    for stop in _END.finditer(plain, start, end):
        mark = stop.group()
        if mark.startswith(".") and len(mark) == 1:
            before = plain[max(start, stop.start() - 8) : stop.start()]
            if _ABBREVIATION.search(before) and (
                not before[-1:].isdigit() or not plain[start : stop.start()].strip(" 0123456789")
            ):
                continue
        cuts[stop.end()] = any(c in mark for c in "?？؟")
    for cue_inside in _CUE_INSIDE.finditer(plain, start, end):
        cuts.setdefault(cue_inside.start(), False)
    cuts.setdefault(end, False)
    for cut, asks in sorted(cuts.items()):
        if cut == start:
            continue
        first, last = at, cut
        while first < last and plain[first] in " \t":
            first += 1
        while last > first and plain[last - 1] in " \t":
            last -= 1
        at = cut
        if last - first > SENTENCE_LIMIT or first == last:
            continue
        cue: Literal["", "edit", "meant"] = ""
        if edit := EDIT.match(plain, first, last):
            cue = "meant" if "corre" in edit.group() or "korre" in edit.group() else "edit"
        elif MEANT.match(plain, first, last):
            cue = "meant"
        asks = asks or plain.startswith("¿", first) or _japanese_question(plain, last)
        yield Sentence(first, last, asks, line, opens, cue)
        opens = False


def _japanese_question(plain: str, end: int) -> bool:
    return plain[max(0, end - 4) : end].rstrip("。.? ").endswith(("か", "까", "나요"))
