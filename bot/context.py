"""What an extractor is shown beside a message: only what everyone in its room may read.

It refuses to know how statements are found and where they are kept. Values are shown as of the
message's own moment, so that reading the same history again reads the same out of it.
"""

import heapq
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from bot.chat import Message, Room
from engine import PersonInfo
from extraction import Known, Passage, Window


def message_id(room: str, ts: str) -> str:
    """A message's own name in the whole workspace; `ts` is unique within its room only."""
    return f"{room}-{ts}"


class Spoken(NamedTuple):
    """One statement, as a message after it may be read against."""

    at: datetime
    event: str
    entity: str
    name: str
    value: str
    room: str


class Context:
    """Knows what was spoken of, room by room, as time passes."""

    def __init__(self) -> None:
        self._people: dict[str, str] = {}
        self._guests: frozenset[str] = frozenset()
        self._rooms: dict[str, Room] = {}
        self._readable: dict[str, frozenset[str]] = {}
        self._waiting: list[Spoken] = []
        self._passed: list[Spoken] = []
        self._now: datetime | None = None
        self._learnt: set[str] = set()
        self._known: dict[frozenset[str], dict[str, Known]] = {}
        self._shown: dict[frozenset[str], tuple[Known, ...]] = {}
        self._threads: dict[str, dict[str, str]] = {}

    def meet(self, people: Iterable[PersonInfo], rooms: Iterable[Room]) -> None:
        """Who there is, and which rooms; whom and what it knows already is as it is said now."""
        people = list(people)
        guests = {person.id for person in people if person.guest}
        self._guests = self._guests - {person.id for person in people} | guests
        # Programs are no people: "KEY is Deploybot" names nobody.
        self._people |= {person.id: person.name for person in people if not person.bot}
        self._rooms |= {room.id: room for room in rooms}
        self._readable.clear()

    def learn(self, spoken: Iterable[Spoken]) -> None:
        """Statements to know of from their moment on; known ones are not learnt twice."""
        for one in spoken:
            if one.event not in self._learnt:
                self._learnt.add(one.event)
                heapq.heappush(self._waiting, one)
                if self._now is not None and one.at < self._now:
                    self._now = None  # it belongs among those that have passed

    def start_thread(self, room: str, root: str, entities: Iterable[str]) -> None:
        """A message was the only statement about one entity: its thread is about that entity."""
        about = list(dict.fromkeys(entities))
        if len(about) == 1:
            self._threads.setdefault(room, {})[message_id(room, root)] = about[0]

    def window(self, message: Message, app: bool) -> Window:
        """One message and what may be shown with it."""
        self._pass(message.at)
        room = self._rooms.get(message.room)
        passage = Passage(
            id=message_id(message.room, message.ts),
            author=message.author or message.app or "",
            room=message.room,
            at=message.at,
            text=message.text,
            thread=None if message.thread is None else message_id(message.room, message.thread),
            app=app,
            direct=room is not None and room.kind == "direct",
        )
        return Window.model_construct(
            passages=(passage,),
            people=self._people,
            entities=self._entities(message.room),
            threads=self._threads.get(message.room, {}),
        )

    def _pass(self, until: datetime) -> None:
        """Goes on, or back, to a moment: what is said later is not known then."""
        if self._now is None or until < self._now:
            self._waiting += self._passed
            heapq.heapify(self._waiting)
            self._passed, self._known, self._shown = [], {}, {}
        self._now = until
        while self._waiting and self._waiting[0].at < until:
            one = heapq.heappop(self._waiting)
            self._passed.append(one)
            for rooms, known in self._known.items():
                if one.room in rooms:
                    _add(known, one)
                    self._shown.pop(rooms, None)

    def _entities(self, room: str) -> tuple[Known, ...]:
        rooms = self._readable_beside(room)
        if rooms not in self._known:
            self._known[rooms] = {}
            for one in self._passed:
                if one.room in rooms:
                    _add(self._known[rooms], one)
        if rooms not in self._shown:
            self._shown[rooms] = tuple(self._known[rooms].values())
        return self._shown[rooms]

    def _readable_beside(self, room: str) -> frozenset[str]:
        """The rooms that everyone in a room may read: itself, and the public ones; but guests read
        only rooms they are in, and may be in any room whose members nobody reported."""
        if room not in self._readable:
            guests = self._guests & self._members(room, self._guests)
            readable = {
                one.id
                for one in self._rooms.values()
                if one.kind == "public" and guests <= self._members(one.id, frozenset())
            }
            self._readable[room] = frozenset(readable | {room})
        return self._readable[room]

    def _members(self, room: str, unknown: frozenset[str]) -> frozenset[str]:
        known = self._rooms.get(room)
        return unknown if known is None or known.members is None else known.members


def _add(known: dict[str, Known], one: Spoken) -> None:
    values = known[one.entity].values if one.entity in known else ()
    known[one.entity] = Known(
        id=one.entity, name=one.name, values=tuple(dict.fromkeys((one.value, *values)))
    )
