"""What happens to each thing heard: it is read, perceived and remembered.

It refuses to know which platform it was heard on and how answers look. Everything is synchronous;
an adapter that lives in an event loop calls it in a thread.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from bot import perception
from bot.chat import Enter, Exit, Heard, Message, Person, Room, Workspace
from bot.context import Context, Spoken
from bot.perception import Crowds, Line
from engine import Memory, PersonInfo, RoomInfo, identify
from engine.events import Report, Say, Tell, moment
from extraction import Extractor

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
FLUSH = 500  # lines kept back before they are written together


class Rules(NamedTuple):
    """What a team set: the programs that may decide, how large a room may be for presence alone to
    make a witness, and whether the sentence a statement came from is kept."""

    apps: frozenset[str] = frozenset()
    crowds: Crowds = Crowds()
    quotes: bool = True


class Bot:
    """Listens for one workspace and feeds its memory."""

    def __init__(self, memory: Memory, extractor: Extractor, rules: Rules | None = None) -> None:
        self._memory = memory
        self._extractor = extractor
        self._rules = rules or Rules()
        self._people: dict[str, PersonInfo] = {p.id: p for p in memory.people()}
        self._rooms: dict[str, Room] = {}
        self._lines: dict[str, list[Line]] = {}
        self._unwritten: dict[str, list[Line]] = defaultdict(list)
        self._settled: set[str] = set()
        self._context = Context()

    # ---------------------------------------------------------------------------- who and where

    def meet(
        self, people: Iterable[Person], rooms: Iterable[Room], at: datetime | None = None
    ) -> None:
        """Learns whom and which rooms there are, as of a moment (default: now).

        What is known from later holds: an older export does not reopen a room that has become
        private since, nor bring back who is gone.
        """
        rooms = list(rooms)
        self._memory.describe(
            people=map(_info, people), rooms=[_room(room) for room in rooms], at=at
        )
        self._people = {p.id: p for p in self._memory.people(everyone=True)}
        known = {room.id: room for room in self._memory.rooms()}
        for room in rooms:
            current = {"kind": known[room.id].kind, "archived": known[room.id].archived}
            self._rooms[room.id] = room.model_copy(update=current)
        self._context.meet(self._people.values(), [self._rooms[room.id] for room in rooms])

    @property
    def _perceiving(self) -> frozenset[str]:
        return frozenset(id for id, info in self._people.items() if not info.bot)

    def list_members(self, rooms: Iterable[Room], at: datetime) -> None:
        """Keeps who was listed where, as of a moment."""
        lists = {
            room.id: {p for p in room.members if not self._is_bot(p)}
            for room in rooms
            if room.members is not None
        }
        self._memory.list_members(lists, at)

    def agree_with_lists(self) -> None:
        """Concludes from the member lists who came or left unseen."""
        self._memory.agree_with_lists()

    def remember(self) -> None:
        """Recalls what was spoken of before, so that what is heard now is read against it."""
        spoken = self._memory.spoken()
        about = {one.event: one.entity for one in spoken}
        self._context.learn(Spoken(*one) for one in spoken)
        for room in {one.room for one in spoken if one.room}:
            for line in perception.merged(self._known_lines(room)):
                if line.said and line.thread in (None, line.ts):
                    self._context.start_thread(
                        room, line.ts, [about[e] for e, _ in line.said if e in about]
                    )

    def _is_bot(self, person: str) -> bool:
        return person in self._people and self._people[person].bot

    # ---------------------------------------------------------------------------- hearing

    def hear(self, heard: Heard) -> None:
        """Remembers one thing heard. Later evidence of who saw it is settled by `settle`."""
        match heard:
            case Enter() | Exit():
                if not self._is_bot(heard.person):
                    self._memory.record(heard)
            case Message():
                self._read(heard)
            case _:
                raise TypeError(f"a {type(heard).__name__} is answered, not remembered")

    def settle(self, rooms: Iterable[str] | None = None) -> None:
        """Writes what the lines heard so far show about who saw which statement."""
        for room in sorted(self._lines if rooms is None else rooms):
            self._write_lines(room)
            where = self._rooms.get(room) or Room(id=room, name=room)
            for event in perception.engagements(self._known_lines(room), where, self._perceiving):
                if event.id not in self._settled:
                    self._memory.record(event)
                    self._settled.add(event.id)

    def _read(self, message: Message) -> None:
        room = self._rooms.get(message.room) or Room(id=message.room, name=message.room)
        said = [] if self._is_mute(message) else self._stated(message, room)
        mentions = {p for event in said if isinstance(event, Say) for p in event.mentions}
        mentions |= perception.mentioned(message.text)
        line = perception.line(message, mentions & self._perceiving, said)
        self._known_lines(room.id).append(line)
        self._unwritten[room.id].append(line)
        if len(self._unwritten[room.id]) >= FLUSH:
            self._write_lines(room.id)
        for notice in perception.acknowledged(message, said, self._perceiving):
            self._memory.record(notice)

    def _is_mute(self, message: Message) -> bool:
        """Nobody stated it, or nobody whose word counts: a program that was not named."""
        known = {*message.app_ids, *(() if message.posing or not message.app else (message.app,))}
        named = bool(known & self._rules.apps)
        spoken = message.author is not None and not self._is_bot(message.author)
        return (
            message.system
            or message.removed
            or message.forwarded
            or not (named or (spoken and message.app is None))
        )

    def _stated(self, message: Message, room: Room) -> list[Say | Tell | Report]:
        window = self._context.window(self._as_speaker(message), False)
        # What is said of nobody's id is said of nobody: it would make a person of it.
        statements = [
            one
            for one in self._extractor.extract(window)
            if one.about is None or one.about in self._people
        ]
        if not statements:
            return []
        events = perception.events(
            message, statements, room, self._memory.sid, self._perceiving,
            self._rules.crowds.of(room.id, room.name),
        )  # fmt: skip
        for event in events:
            if not self._rules.quotes:
                event = event.model_copy(update={"quote": None})
            self._memory.record(event)
        self._context.learn(
            Spoken(e.at, e.id, e.entity, e.name or e.entity, e.value, room.id) for e in events
        )
        if message.thread in (None, message.ts):
            self._context.start_thread(room.id, message.ts, [event.entity for event in events])
        return events

    def _as_speaker(self, message: Message) -> Message:
        """A named program speaks as itself, never as the person whose name it posts under."""
        if message.app is None:
            return message
        id = identify(f"app-{message.app}")
        if id not in self._people:
            self.meet([Person(id=id, name=message.app, bot=True)], [], message.at)
        return message.model_copy(update={"author": id})

    # ---------------------------------------------------------------------------- lines

    def _known_lines(self, room: str) -> list[Line]:
        if room not in self._lines:
            self._lines[room] = [_line(text) for text in self._memory.noted(f"heard:{room}")]
        return self._lines[room]

    def _write_lines(self, room: str) -> None:
        new = self._unwritten.pop(room, [])
        self._memory.note(f"heard:{room}", {_text(one): one.at for one in new})
        self._memory.note(f"lines:{room}", {one.ts: one.at for one in new})


def replay(
    bot: Bot, workspace: Workspace, progress: Callable[[int, int], None] | None = None
) -> None:
    """Feeds an export through the bot. Reading it again, or one that overlaps, changes nothing."""
    as_of = max((h.at for h in workspace.heard if isinstance(h, Message)), default=BEGINNING)
    bot.meet(workspace.people, workspace.rooms, as_of)
    bot.list_members(workspace.rooms, as_of)
    bot.remember()
    for number, heard in enumerate(workspace.heard):
        bot.hear(heard)
        if progress is not None and number % 50 == 0:
            progress(number, len(workspace.heard))
    bot.settle()
    bot.agree_with_lists()


def _room(room: Room) -> RoomInfo:
    return RoomInfo(room.id, room.name, kind=room.kind, archived=room.archived)


def _info(person: Person) -> PersonInfo:
    return PersonInfo(
        person.id, person.name, person.handle, person.zone, person.guest, person.gone, person.bot
    )


def _text(line: Line) -> str:
    """A line as it is kept, the same text for the same line."""
    fields = line._asdict() | {
        "at": line.at.isoformat(),
        "said": [(event, at.isoformat()) for event, at in line.said],
        "edited": line.edited and line.edited.isoformat(),
    }
    return json.dumps(fields, separators=(",", ":"), sort_keys=True)


def _line(text: str) -> Line:
    fields = json.loads(text)
    return Line(**fields | {
        "at": moment.validate_python(fields["at"]),
        "mentions": tuple(fields["mentions"]),
        "edited": fields.get("edited") and moment.validate_python(fields["edited"]),
        "said": tuple((event, moment.validate_python(at)) for event, at in fields["said"]),
    })  # fmt: skip
