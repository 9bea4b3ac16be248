"""What waits, what failed, what is held for somebody to look at, and what reading costs: kept and told.

It refuses to know how messages are read and applied. What is told is told room by room, so that
nobody hears of a room they may not read: not of a message that failed there, not of a count.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from bot.chat import Message
from engine import Memory
from engine.beliefs import Behind, Cost, Inbox, Ref, Review, SetAside
from engine.errors import StoreError
from engine.memory import Notes
from engine.rules import from_micros, to_micros
from extraction import Statement
from extraction.answers import Answer, Asked
from extraction.gate import Held
from extraction.spending import Spent

HELD = 200
"""So many statements of a room wait for somebody to look at them, the newest."""

DAYS = 7
"""So many days of costs are told."""

_MOVES = "\n"  # in no room's id


def lane_of(room: str, moves: bool) -> str:
    """Where it waits: a room's lane, or another one for who comes to the room and goes."""
    return room + _MOVES if moves else room


def room_of(lane: str) -> str:
    return lane.removesuffix(_MOVES)


def standing(memory: Memory, names: Mapping[str, str], everything: bool) -> Inbox:
    """What may be told of these rooms (id to name); `everything`: also of rooms nobody described."""
    queue = memory.queue()

    def told(room: str) -> bool:
        return everything or room in names

    left_out = {one.id for one in memory.people(everyone=True) if one.private}
    waits = [some for lane, some in queue.backlog().items() if told(room_of(lane))]
    return Inbox(
        waiting=sum(some.waiting for some in waits),
        oldest=min((from_micros(some.oldest) for some in waits), default=None),
        behind=behind(memory),
        aside=tuple(
            SetAside(
                key=one.entry.key,
                room=_ref(room_of(one.entry.lane), names),
                at=from_micros(one.entry.at),
                since=from_micros(one.since),
                why=one.why,
            )
            for one in queue.asides()
            if told(room_of(one.entry.lane))
        ),
        review=tuple(one for room in names for one in reviews(memory, room, names, left_out)),
        spent=tuple(cost for cost in costs(memory, names) if told(cost.room.id)),
    )


def behind(memory: Memory) -> Behind | None:
    """Since when nothing can be read, and why; that it is so is no secret of any room."""
    since = memory.queue().behind()
    return since and Behind(since=from_micros(since.since), why=since.why)


# ------------------------------------------------------------------------------- set aside


def put_back(memory: Memory, keys: Collection[str] = ()) -> int:
    """Has what was set aside applied again (default: all of it); how many there were."""
    queue = memory.queue()
    wanted = [one.entry.key for one in queue.asides() if not keys or one.entry.key in keys]
    return queue.put_back(wanted, to_micros(datetime.now(UTC)))


# ------------------------------------------------------------------------------- held for review


class Doubt(NamedTuple):
    """A statement that is not believed, and why. `message`: the one it was read in, of which no more
    than the quoted sentence is kept."""

    message: Message
    statement: Statement
    reason: str
    note: str


def notes_of(message: Message, held: Sequence[Held]) -> list[Notes]:
    """What somebody should look at, as it is kept."""
    notes = {
        json.dumps({
            "reason": one.reason,
            "statement": one.statement.model_dump(mode="json"),
            "message": message.model_copy(
                update={"text": one.statement.quote[:200], "reactions": {}}
            ).model_dump(mode="json"),
        }): message.at
        for one in held
    }  # fmt: skip
    return [Notes(_review(message.room), notes, HELD)] if notes else []


def doubts(memory: Memory, room: str) -> Iterator[Doubt]:
    """What is held of a room's messages, oldest first."""
    for note in memory.noted(_review(room)):
        fields = json.loads(note)
        yield Doubt(
            Message.model_validate(fields["message"]),
            Statement.model_validate(fields["statement"]),
            fields["reason"],
            note,
        )


def drop_doubts(memory: Memory, room: str, some: Iterable[Doubt]) -> None:
    memory.unnote(_review(room), [one.note for one in some])


def drop_review(memory: Memory, message: Message) -> None:
    """What was held of a message goes with the text it was held of."""
    found = [one for one in doubts(memory, message.room) if one.message.ts == message.ts]
    drop_doubts(memory, message.room, found)


def reviews(
    memory: Memory, room: str, names: Mapping[str, str], left_out: Collection[str]
) -> Iterator[Review]:
    """The same as it is told; nothing of who wants to be left out of every answer."""
    for message, one, reason, *_ in doubts(memory, room):
        if not {message.author, one.speaker, one.about}.isdisjoint(left_out):
            continue
        yield Review(
            message=one.message,
            room=_ref(room, names),
            at=message.at,
            entity=one.name or one.entity,
            value=one.value,
            quote=one.quote,
            reason=reason,
        )


# ------------------------------------------------------------------------------- answers


class Answered:
    """What a model answered, kept with the memory: to read the same again costs nothing, until
    somebody is forgotten, or anybody's words are taken back or changed."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def get(self, asked: Asked) -> Answer | None:
        text = self._memory.kept(asked.key)
        return None if text is None else Answer.model_validate(json.loads(text))

    def put(self, asked: Asked, model: str, answer: Answer) -> None:
        with suppress(StoreError):  # it is of use all the same
            # In ASCII: a model can write halves of characters, which nobody can store as they are.
            self._memory.keep(asked.key, json.dumps(answer.model_dump()))


# ------------------------------------------------------------------------------- costs


def recorder(memory: Memory) -> Callable[[Spent], None]:
    """Adds up what calls cost, by day and room, across restarts and processes."""

    def record(one: Spent) -> None:
        sums = {f"{one.room}|{what}": float(getattr(one, what)) for what in _SUMS}
        with suppress(
            StoreError
        ):  # what was read and paid for is not lost for the sake of its bill
            memory.tally(_spent(one.day), sums)

    return record


def spent_on(memory: Memory, day: date) -> float:
    """What all reading cost on one day, in dollars."""
    return sum(
        amount for what, amount in memory.tallied(_spent(day)).items() if what.endswith("|dollars")
    )


def costs(memory: Memory, names: Mapping[str, str], today: date | None = None) -> Iterator[Cost]:
    """What each room cost on the last `DAYS` days, the newest first."""
    last = today or datetime.now(UTC).date()
    for day in (last - timedelta(days=n) for n in range(DAYS)):
        rooms: dict[str, dict[str, float]] = defaultdict(dict)
        for field, amount in memory.tallied(_spent(day)).items():
            room, _, what = field.rpartition("|")
            rooms[room][what] = amount
        for room, sums in sorted(rooms.items()):
            yield Cost(
                day=day,
                room=_ref(room, names),
                calls=round(sums.get("calls", 0)),
                tokens_in=round(sum(sums.get(what, 0) for what in _IN)),
                tokens_out=round(sums.get("tokens_out", 0)),
                dollars=round(sums.get("dollars", 0.0), 6),
            )


_IN = ("tokens_in", "cache_read", "cache_write")
_SUMS = ("calls", "tokens_out", "dollars", *_IN)


def _spent(day: date) -> str:
    return f"spent:{day.isoformat()}"


def _review(room: str) -> str:
    return f"review:{room}"


def _ref(room: str, names: Mapping[str, str]) -> Ref:
    return Ref(id=room, name=names.get(room, room))
