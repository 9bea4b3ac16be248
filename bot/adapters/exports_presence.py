"""Who was in a room when, as far as an export shows; it refuses to know any platform.

Exports hold few of the lines that say somebody came or went, so entries are *presumed* where the
rest of the export shows that somebody was there. Every id is made of what it says, never of how
much was read: overlapping exports agree, and the mind voids a presumed entry when the next
recorded line of that person in that room is an entry.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from bot.chat import Enter, Exit, Heard, Message

DAWN = datetime(2000, 1, 1, tzinfo=UTC)
"""Before every chat: where a room began when nobody knows when it did."""
TICK = timedelta(microseconds=1)
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, order=True)
class Move:
    """A line that says somebody came (`enters`) or went; `ts` is the platform's name of it."""

    at: datetime
    enters: bool
    ts: str


type Moves = Mapping[str, Sequence[Move]]
"""By person."""


def recorded(workspace: str, room: str, moves: Moves) -> Iterator[Enter | Exit]:
    for person, lines in moves.items():
        for line in lines:
            kind = Enter if line.enters else Exit
            word = "enter" if line.enters else "exit"
            id = event_id(workspace, room, person, word, line.ts)
            yield kind(id=id, at=line.at, person=person, room=room)


def presumed(
    workspace: str,
    room: str,
    created: datetime | None,
    moves: Moves,
    seen: Mapping[str, datetime | None],
) -> Iterator[Enter]:
    """`seen`: who was there, and until when that is known; None: to the end of the export."""
    for person in {**dict.fromkeys(moves), **dict.fromkeys(seen)}:
        lines = sorted(moves.get(person, ()))
        for at in _unrecorded(created, lines, person in seen, seen.get(person)):
            id = event_id(workspace, room, person, "presumed", f"{at:%Y%m%dT%H%M%S.%f}")
            yield Enter(id=id, at=at, person=person, room=room, presumed=True)


def _unrecorded(
    created: datetime | None, lines: Sequence[Move], was_seen: bool, until: datetime | None
) -> Iterator[datetime]:
    """When somebody must have come in without a line saying so."""
    if not lines:
        if was_seen:
            beginning = created or DAWN
            yield beginning if until is None or beginning <= until else DAWN
        return
    first, last = lines[0], lines[-1]
    if not first.enters:  # a leave without a join: here before
        yield created if created is not None and created < first.at else DAWN
    for line, following in pairwise(lines):
        if not line.enters and not following.enters and following.at > line.at + TICK:
            yield line.at + TICK
    if not last.enters and was_seen and (until is None or until > last.at):
        yield last.at + TICK


def event_id(*parts: str) -> str:
    """Of what is said only; what no id may hold becomes `-`, what is too long is shortened."""
    id = _UNFIT.sub("-", "-".join(parts))
    return id if len(id) <= 200 else f"{id[:160]}-{digest(id)}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def in_order(heard: Sequence[Heard]) -> tuple[Heard, ...]:
    """As it was said: who enters is there for what is said at that moment, who goes still was."""
    return tuple(sorted(heard, key=_place))


def _place(heard: Heard) -> tuple[datetime, int, str, str]:
    match heard:
        case Enter():
            return heard.at, 0, heard.id, ""
        case Message():
            return heard.at, 1, heard.room, heard.ts
        case Exit():
            return heard.at, 2, heard.id, ""
        case _:
            return heard.at, 1, heard.room, heard.name
