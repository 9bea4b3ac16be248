"""What an extractor is shown beside a message: only what everyone in its room may read.

It refuses to know how statements are found and where they are kept. Values are shown as of the
message's own moment, so that reading the same history again reads the same out of it.
"""

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from bot.chat import Message, Room
from extraction import Known, Passage, Window

OPEN = ""
"""The scope of everything said where every full member may read."""


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

    def __init__(self, people: Mapping[str, str], rooms: Mapping[str, Room]) -> None:
        self.people = dict(people)
        self.rooms = dict(rooms)
        self._waiting: list[Spoken] = []
        self._seen: set[str] = set()
        self._known: dict[str, dict[str, Known]] = {}
        self._tuples: dict[str, tuple[Known, ...]] = {}
        self._threads: dict[str, dict[str, str]] = {}

    def learn(self, spoken: Iterable[Spoken]) -> None:
        """Statements to know of from their moment on; known ones are not learnt twice."""
        for one in spoken:
            if one.event not in self._seen:
                self._seen.add(one.event)
                heapq.heappush(self._waiting, one)

    def start_thread(self, room: str, root: str, entities: Iterable[str]) -> None:
        """A message was the only statement about one entity: its thread is about that entity."""
        about = list(dict.fromkeys(entities))
        if len(about) == 1:
            self._threads.setdefault(room, {})[message_id(room, root)] = about[0]

    def window(self, message: Message, app: bool) -> Window:
        """One message and what may be shown with it."""
        self._pass(message.at)
        room = self.rooms.get(message.room)
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
            people=self.people,
            entities=self._entities(message.room),
            threads=self._threads.get(message.room, {}),
        )

    def _pass(self, until: datetime) -> None:
        while self._waiting and self._waiting[0].at < until:
            one = heapq.heappop(self._waiting)
            scope = self._scope(one.room)
            known = self._known.setdefault(scope, {})
            values = known[one.entity].values if one.entity in known else ()
            name = known[one.entity].name if one.entity in known else one.name
            known[one.entity] = Known(
                id=one.entity, name=name, values=tuple(dict.fromkeys((one.value, *values)))
            )
            self._tuples.clear()

    def _entities(self, room: str) -> tuple[Known, ...]:
        scope = self._scope(room)
        if scope not in self._tuples:
            shown = dict(self._known.get(OPEN, {}))
            own = {} if scope == OPEN else self._known.get(scope, {})
            for id, known in own.items():
                values = (*known.values, *(shown[id].values if id in shown else ()))
                shown[id] = known.model_copy(update={"values": tuple(dict.fromkeys(values))})
            self._tuples[scope] = tuple(shown.values())
        return self._tuples[scope]

    def _scope(self, room: str) -> str:
        known = self.rooms.get(room)
        return OPEN if known is not None and known.kind == "public" else room
