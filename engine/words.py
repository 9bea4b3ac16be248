"""Where somebody's id or name stands in what is written: as a word of its own, and nowhere else.

`U1` is not in `U12`, `Ann` not in `Annual`. It refuses to know what is done about it.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

SOMEBODY = "somebody"
_LONGEST = 200  # of an id; engine/events.py
_ID = re.compile(r"[A-Za-z0-9_-]+")
_NUMBERED = re.compile(r"[a-z]+-[0-9a-f]{8}-[0-9]{9}")
"""The ids that `Memory` makes itself: a kind, a session, a number. Nobody's id is in them."""


@lru_cache(256)
def _words(words: frozenset[str]) -> re.Pattern[str]:
    longest = sorted(
        words - {SOMEBODY}, key=lambda word: (-len(word), word)
    )  # "Ann Lee" before "Ann"
    if not longest:
        return re.compile(r"(?!)")  # whoever is called that is told from nobody
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])")


@lru_cache(256)
def _part(person: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^_-]){re.escape(person)}(?![^_-])")


def said_in(text: str | None, words: Iterable[str]) -> bool:
    """Whether one of the words stands in a text, upper and lower case as given."""
    return text is not None and bool(_words(frozenset(words)).search(text))


def cleared(text: str, words: Iterable[str]) -> str:
    """A text that says `somebody` in place of the words."""
    return _words(frozenset(words)).sub(SOMEBODY, text)


def part_of(id: str, person: str) -> bool:
    """Whether an id is made with a person's: it is one of the parts between `-` and `_`."""
    if person not in id or not _ID.fullmatch(id) or _NUMBERED.fullmatch(id):
        return False
    return bool(_part(person).search(id))


def renamed(id: str, person: str, mark: str) -> str:
    """An id with the person's mark in place of the person's id, always the same."""
    if not part_of(id, person):
        return id
    return fitted(_part(person).sub(short(mark), id))


def renamed_where(id: str, is_mark: Callable[[str], str | None]) -> str:
    """The same where the person is not known, only a mark: `is_mark` gives the mark of who is gone."""
    if _NUMBERED.fullmatch(id):
        return id
    parts, done, at = re.split(r"([_-])", id), list[str](), 0
    while at < len(parts):
        for end in range(len(parts), at, -2):
            mark = is_mark("".join(parts[at:end]))
            if mark is not None:
                done.append(short(mark))
                break
        else:
            end = at + 1
            done.append(parts[at])
        done += parts[end : end + 1]
        at = end + 1
    new = "".join(done)
    return id if new == id else fitted(new)


def short(mark: str) -> str:
    """What stands for somebody in an id."""
    return f"x{mark[:12]}"


def fitted(id: str) -> str:
    """An id that is no longer than one may be."""
    if len(id) <= _LONGEST:
        return id
    return f"{id[:150]}-{hashlib.sha256(id.encode()).hexdigest()[:32]}"


def noted_in(note: str, person: str) -> bool:
    """Whether a note, JSON or plain, names a person: in one of its texts, never in a field's name."""
    return person in note and any(said_in(text, [person]) for text in _texts(note))


def part_of_note(note: str, person: str) -> bool:
    """Whether an id in a note is made with the person's."""
    return person in note and any(part_of(text, person) for text in _texts(note))


def _texts(note: str) -> Iterator[str]:
    try:
        kept: Any = json.loads(note)
    except ValueError:
        kept = note
    # A number is the text that it is written as: the ids of some platforms are numbers.
    yield from _leaves(kept if isinstance(kept, list | dict) else note)


def _leaves(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from _leaves(one)
        case dict():
            for one in value.values():
                yield from _leaves(one)
        case _:
            pass
