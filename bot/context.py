"""What an extractor is shown beside a message: only what everyone in its room may read.

It refuses to know how statements are found and where they are kept. Values are shown as of the
message's own moment, so that reading the same history again reads the same out of it.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from bot.chat import Message, Room
from engine import PersonInfo
from engine.directory import Confirmed
from engine.links import Link
from engine.rules import to_micros
from extraction import Known, Passage, Window

BURST = timedelta(minutes=10)
"""A pause of more than this in a room's own talk ends a window."""

FULL = 20
"""So many messages at most are read in one window …"""

BEFORE = 20
"""… and so many earlier ones of the same conversation are shown with them, beside a thread's root."""


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


class _Called(NamedTuple):
    """What is known, the confirmed names it goes by, and both together."""

    known: tuple[Known, ...]
    links: list[Link]
    shown: tuple[Known, ...]


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
        self._called: dict[frozenset[str], _Called] = {}
        self._confirmed: list[Confirmed] = []
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

    def confirm(self, links: Iterable[Confirmed]) -> None:
        """All that was confirmed so far; an alias counts from its moment on, where its room is read."""
        self._confirmed = [one for one in links if one.link.kind == "alias"]

    def start_thread(self, room: str, root: str, entities: Iterable[str]) -> None:
        """A message was the only statement about one entity: its thread is about that entity."""
        about = list(dict.fromkeys(entities))
        if len(about) == 1:
            self._threads.setdefault(room, {})[message_id(room, root)] = about[0]

    def window(self, message: Message, app: bool) -> Window:
        """One message and what may be shown with it, until something else is learnt."""
        self._pass(message.at)
        return Window.model_construct(
            passages=(self._passage(message, app, False),),
            people=self._people,
            entities=self._entities(message.room),
            threads=self._threads.get(message.room, {}),
        )

    def talk(self, spoken: Sequence[tuple[Message, bool]], read: int) -> Window:
        """Messages of one conversation, in order, each with whether a program wrote it; the first
        ones, up to `read`, are context. What is known is as of the first that is not.

        The window is nobody's but the caller's: another thread may read it.
        """
        first = spoken[read][0]
        self._pass(first.at)
        passages = tuple(
            self._passage(message, app, number < read)
            for number, (message, app) in enumerate(spoken)
        )
        about = self._threads.get(first.room, {})
        roots = {passage.thread or passage.id for passage in passages}
        return Window.model_construct(
            passages=passages,
            people=dict(self._people),
            entities=self._entities(first.room),
            threads={root: about[root] for root in sorted(roots & about.keys())},
        )

    def _passage(self, message: Message, app: bool, context: bool) -> Passage:
        room = self._rooms.get(message.room)
        return Passage(
            id=message_id(message.room, message.ts),
            author=message.author or message.app or "",
            room=message.room,
            at=message.at,
            text=message.text,
            thread=None if message.thread is None else message_id(message.room, message.thread),
            app=app,
            direct=room is not None and room.kind == "direct",
            context=context,
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
        return self._with_aliases(rooms, self._shown[rooms])

    def _with_aliases(self, rooms: frozenset[str], known: tuple[Known, ...]) -> tuple[Known, ...]:
        """The very same tuple as long as nothing changes: what is made of it is kept by others."""
        now = 0 if self._now is None else to_micros(self._now)
        links = [
            one.link
            for one in self._confirmed
            if one.at <= now and (one.room is None or one.room in rooms)
        ]
        if not links:
            return known
        kept = self._called.get(rooms)
        if kept is None or kept.known is not known or kept.links != links:
            aliases: dict[str, list[str]] = defaultdict(list)
            for link in links:
                aliases[link.entity].append(link.name)
            shown = tuple(
                one.model_copy(update={"aliases": tuple(aliases[one.id])})
                if one.id in aliases
                else one
                for one in known
            )
            kept = self._called[rooms] = _Called(known, links, shown)
        return kept.shown

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


def conversations(messages: Iterable[Message]) -> list[list[Message]]:
    """Messages by what they are read with: a thread's replies, or a burst of a room's own talk, in
    the order they were said, up to `FULL` of them; ordered by their first."""
    talks: dict[tuple[str, str], list[Message]] = defaultdict(list)
    for one in sorted(messages, key=lambda one: (one.at, one.ts)):
        talks[one.room, conversation(one)].append(one)
    found: list[list[Message]] = []
    for (_, thread), talk in talks.items():
        burst: list[Message] = []
        for one in talk:
            pause = bool(burst) and not thread and one.at - burst[-1].at > BURST
            if pause or len(burst) == FULL:
                found.append(burst)
                burst = []
            burst.append(one)
        found.append(burst)
    return sorted(found, key=lambda some: (some[0].at, some[0].room, some[0].ts))


def conversation(message: Message) -> str:
    """Where in its room it was said: the root of its thread, empty for the room's own talk."""
    return "" if message.thread in (None, message.ts) else message.thread


def shown_before(some: Sequence[Message], earlier: Iterable[Message]) -> list[Message]:
    """Of earlier messages those that are shown with these of one conversation: its thread's root, and
    the last before them; no version of a message that is to be read."""
    first, own = some[0], {one.ts for one in some}
    thread = conversation(first)
    latest: dict[str, Message] = {}
    for one in sorted(earlier, key=lambda one: (one.at, one.ts)):
        if one.room == first.room and one.at <= first.at and one.ts not in own:
            latest[one.ts] = one
    root = [latest.pop(thread)] if thread in latest else []
    talk = [one for one in latest.values() if conversation(one) == thread]
    return [*root, *talk[-BEFORE:]]
