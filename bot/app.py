"""What happens to each thing heard: it is read, perceived and remembered.

It refuses to know which platform it was heard on and how answers look. Everything is synchronous;
an adapter that lives in an event loop calls it in a thread.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, runtime_checkable

from bot import lines, naming, perception
from bot.chat import Command, Enter, Exit, Heard, Message, Person, Reaction, Room, Workspace
from bot.context import Context, Spoken, conversations, message_id, shown_before
from bot.perception import Crowds, Reacted
from engine import Memory, PersonInfo, RoomInfo, identify
from engine.events import Event, Report, Say, Tell
from engine.memory import Notes
from engine.store import NOTHING, Beside
from extraction import Extractor, Statement, Window
from extraction.entities import Question, bind
from extraction.gate import Held, admit

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
FLUSH = 2_000  # notes kept back before they are written together
MANY = 500  # new lines from which on all of a room is read to work out what they show


class Rules(NamedTuple):
    """What a team set: the programs that may decide, how large a room may be for presence alone to
    make a witness, and whether the sentence a statement came from is kept."""

    apps: frozenset[str] = frozenset()
    crowds: Crowds = Crowds()
    quotes: bool = True


class Judged(Protocol):
    """What an extractor found, and what it did not believe itself."""

    @property
    def statements(self) -> Sequence[Statement]: ...
    @property
    def held(self) -> Sequence[Held]: ...


@runtime_checkable
class Judge(Protocol):
    """An extractor that says what it did not believe itself."""

    def read(self, window: Window) -> Judged: ...


class Reading(NamedTuple):
    """What was read in a window: statements by the message they are of (`bot.context.message_id`), and
    what waits for somebody to look at it, or to say which decision is meant."""

    statements: Mapping[str, tuple[Statement, ...]] = {}
    held: tuple[Held, ...] = ()
    questions: tuple[Question, ...] = ()


class Bot:
    """Listens for one workspace and feeds its memory."""

    def __init__(self, memory: Memory, extractor: Extractor, rules: Rules | None = None) -> None:
        self._memory = memory
        self._extractor = extractor
        self._rules = rules or Rules()
        self._people: dict[str, PersonInfo] = {p.id: p for p in memory.people()}
        self._rooms: dict[str, Room] = {}
        self._recalled: dict[str, Room] = {}
        self._been: dict[str, set[str]] = {}
        self._met_at: dict[str, datetime] = {}
        self._unwritten: list[Notes] = []
        self._touched: set[str] = set()
        self._context = Context()

    # ---------------------------------------------------------------------------- who and where

    def meet(
        self, people: Iterable[Person], rooms: Iterable[Room], at: datetime | None = None
    ) -> None:
        """Learns whom and which rooms there are, as of a moment (default: now).

        What is known from later holds: an older export does not reopen a room that has become
        private since, nor bring back who is gone.
        """
        rooms, as_of = list(rooms), at or datetime.now(UTC)
        self._memory.describe(
            people=map(_info, people), rooms=[_room(room) for room in rooms], at=at
        )
        self._people = {p.id: p for p in self._memory.people(everyone=True)}
        known = {room.id: room for room in self._memory.rooms()}
        for room in rooms:
            current = {"kind": known[room.id].kind, "archived": known[room.id].archived}
            self._rooms[room.id] = room.model_copy(update=current)
            self._met_at[room.id] = as_of
            come = self._come(self._rooms[room.id], room.members or (), "listed", as_of)
            for one in come:
                self._memory.note(one.key, one.notes)
            self._came(room, come)
        self._context.meet(self._people.values(), [self._rooms[room.id] for room in rooms])

    def _come(self, room: Room, people: Iterable[str], how: lines.How, at: datetime) -> list[Notes]:
        """Keeps who was in a room that not everybody reads, since when: a mention there reaches nobody
        else. Where that bears upon what was said before, all of the room is worked out again."""
        if room.kind == "public" or room.members is None:
            return []
        known = self._ever_in(room.id)
        new = lines.been(people, how, at) - known
        if not new:
            return []
        before, after = lines.inside(known), lines.inside(known | new)
        changed = {when for person, when in after.items() if before.get(person) != when}
        changed |= {when for person, when in before.items() if after[person] != when}
        again = bool(changed) and lines.heard_since(self._memory, room.id, min(changed))
        everything = [lines.everything(room.id, at)] if again else []
        return [lines.kept_been(room.id, new, at), *everything]

    def _came(self, room: Room, notes: Iterable[Notes]) -> None:
        """That is written."""
        for one in notes:
            if one.key.startswith("been:"):
                self._ever_in(room.id).update(one.notes)
            self._touched.add(room.id)

    def _ever_in(self, room: str) -> set[str]:
        if room not in self._been:
            self._been[room] = set(self._memory.noted(f"been:{room}"))
        return self._been[room]

    def _where(self, room: str) -> Room:
        """A room as it was met, or else as it is remembered."""
        if room in self._rooms:
            return self._rooms[room]
        if room not in self._recalled:
            self._recalled = {one.id: _recalled(one) for one in self._memory.rooms()}
        return self._recalled.setdefault(room, Room(id=room, name=room))

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
            roots: dict[str, set[str]] = defaultdict(set)
            for line in lines.stated(self._memory, room):
                if line.thread in (None, line.ts):
                    roots[line.ts] |= {about[e] for e in line.events if e in about}
            for ts, entities in roots.items():
                self._context.start_thread(room, ts, sorted(entities))

    def _is_bot(self, person: str) -> bool:
        return person in self._people and self._people[person].bot

    # ---------------------------------------------------------------------------- hearing

    @property
    def windowed(self) -> bool:
        """Whether messages are better read together; then windows are for the caller to gather."""
        return self._extractor.windowed

    def windows(self, messages: Sequence[Message], context: Sequence[Message] = ()) -> list[Window]:
        """What is to be read of these messages, as windows in the order they were said.

        A window holds one message, or, where the extractor reads windows, up to 20 of a conversation
        (a thread, or a burst of a room's own talk) after those shown as context: the thread's root and
        what of `context` and of `messages` was said before. It holds what everybody in its room may
        read, as of its first message. Nobody's words, and a program's that was not named, are in none.
        """
        read = [self._as_speaker(one) for one in messages if not self._is_mute(one)]
        self._context.confirm(self._memory.links())
        if not self.windowed:
            return [self._context.window(one, False) for one in read]
        around = [*context, *messages]
        return [self._window(some, shown_before(some, around)) for some in conversations(read)]

    def _window(self, some: Sequence[Message], before: Sequence[Message]) -> Window:
        shown = [
            (one, True) if self._is_mute(one) else (self._as_speaker(one), False)
            for one in before
            if not (one.system or one.removed or one.forwarded)
        ]
        return self._context.talk([*shown, *((one, False) for one in some)], len(shown))

    def read(self, window: Window) -> Reading:
        """What a window's messages state, held against what was written. Writes nothing; it may take
        its time, and may be called from any thread. Raises extraction.CannotRead."""
        if isinstance(self._extractor, Judge):
            own = self._extractor.read(window)
            reading = self.judge(window, own.statements)
            return reading._replace(held=(*own.held, *reading.held))
        return self.judge(window, self._extractor.extract(window))

    def judge(self, window: Window, found: Sequence[Statement]) -> Reading:
        """Holds statements against the messages of a window."""
        if not found:
            return Reading()
        scribes = {one.author for one in window.passages if self._is_bot(one.author)}
        admitted = admit(window, found, scribes)
        bound = bind(window, admitted.statements)
        statements: dict[str, list[Statement]] = defaultdict(list)
        for one in bound.statements:
            statements[one.message].append(one)
        return Reading(
            {id: tuple(some) for id, some in statements.items()},
            tuple(admitted.held),
            tuple(bound.questions),
        )

    def apply(
        self,
        heard: Heard,
        statements: Sequence[Statement] | None = None,
        held: Sequence[Notes] = (),
        done: Beside = NOTHING,
    ) -> None:
        """Remembers one thing heard; of a message, `statements` are what was read in it. What is
        `held` and `done` is written in the transaction of the last thing that it becomes.

        Later evidence of who saw what is worked out by `settle`.
        """
        match heard:
            case Enter() | Exit():
                self._move(heard, held, done)
            case Message():
                self._hear_message(heard, statements or (), held, done)
            case Reaction():
                self._write([], [*self._reacted(heard), *held], done)
            case Command():
                raise TypeError("a command is answered, not remembered")

    def hear(self, heard: Heard) -> None:
        """Reads one thing heard, by itself, and remembers it."""
        if isinstance(heard, Message):
            readings = [self.read(window) for window in self.windows([heard])]
            id = message_id(heard.room, heard.ts)
            asked = [one for r in readings for one in r.questions if one.message == id]
            # Before: read again after an interruption, the name would be known, and nobody asked.
            self._memory.record_all([], naming.notes_of(self._memory, heard.room, asked, heard.at))
            self.apply(heard, [one for r in readings for one in r.statements.get(id, ())])
        else:
            self.apply(heard)

    def begin_anew(self) -> None:
        """Forgets what it knows from before: another process may have written since."""
        self._people = {p.id: p for p in self._memory.people(everyone=True)}
        self._recalled.clear()
        self._been.clear()
        self._context = Context()
        self._context.meet(self._people.values(), self._rooms.values())
        self.remember()

    def settle(self, rooms: Iterable[str] | None = None, beside: Beside = NOTHING) -> None:
        """Works out what the lines heard since it was last asked show about who saw which statement
        (default: in every room that this bot heard from), and writes it.

        Whatever they bear upon is worked out from all lines that are known by now, so that the order
        in which they came never shows; what does not follow any more is taken back.
        """
        self._flush()
        for room in sorted(self._touched if rooms is None else rooms):
            notes = self._memory.noted(f"unsettled:{room}")
            if lines.EVERYTHING in notes or len(notes) > MANY:
                known = -1
                while known != (known := self._memory.notes(f"heard:{room}")):
                    self._settle(room, None, beside)  # another process may hear meanwhile
                self._memory.unnote(f"unsettled:{room}", notes)
            else:
                for some in itertools.batched(notes, 100):
                    self._settle(room, some, beside)
                    self._memory.unnote(f"unsettled:{room}", some)
            self._touched.discard(room)

    def _settle(self, room: str, notes: Sequence[str] | None, beside: Beside) -> None:
        """Of what these unsettled lines can bear upon, or (None) of all of a room."""
        where = self._where(room)
        came = dict[str, datetime]()
        if where.members is not None and where.kind != "public":
            came = lines.inside(self._ever_in(room))
            where = where.model_copy(update={"members": frozenset()})
        if notes is None:
            known = lines.all_of(self._memory, room)
        else:
            known = lines.bearing_on(self._memory, room, [lines.unsettled_in(n) for n in notes])
        marks = perception.engagements(
            known.lines, where, self._perceiving, known.reacted, known.only, came
        )
        stated = [
            said.event
            for one in known.lines
            if known.only is None or one.ts in known.only
            for said in one.said
        ]
        self._memory.conclude(stated, marks, perception.is_concluded, beside)

    def _move(self, move: Enter | Exit, held: Sequence[Notes], done: Beside) -> None:
        if self._is_bot(move.person):
            self._write([], held, done)
            return
        room = self._rooms.get(move.room)
        come: list[Notes] = []
        if room is not None and isinstance(move, Enter):
            come = self._come(room, [move.person], "came", move.at)
        self._write([move], [*come, *held], done)
        if room is not None:
            self._came(room, come)
        if room is None or room.members is None or move.at <= self._met_at[room.id]:
            return  # who was listed then had come and gone before
        here = {one.id: one.here for one in self._memory.rooms()}.get(room.id, frozenset())
        self._rooms[room.id] = room.model_copy(update={"members": frozenset(here)})
        self._context.meet([], [self._rooms[room.id]])

    def _reacted(self, heard: Reaction) -> list[Notes]:
        if self._is_bot(heard.who):
            return []
        self._flush()
        self._touched.add(heard.room)
        reacted = Reacted(heard.ts, heard.at, heard.who, heard.name, heard.removed)
        posted = lines.posted(self._memory, heard.room, heard.ts)
        return lines.kept_reaction(heard.room, reacted, posted)

    def _hear_message(
        self,
        message: Message,
        statements: Sequence[Statement],
        held: Sequence[Notes],
        done: Beside,
    ) -> None:
        room = self._where(message.room)
        spoken = self._as_speaker(message)
        said = [] if self._is_mute(message) else self._stated(spoken, statements, room)
        mentions = {p for event in said if isinstance(event, Say) for p in event.mentions}
        mentions |= perception.mentioned(message.text)
        line = perception.line(
            message.model_copy(update={"edited": spoken.edited}),
            mentions & self._perceiving, said, self._perceiving,
        )  # fmt: skip
        self._touched.add(room.id)
        come = self._come(room, [line.author] if line.author else [], "wrote", line.at)
        self._write(said, [*lines.kept(room.id, line), *come, *held], done)
        self._came(room, come)
        self._context.learn(
            Spoken(e.at, e.id, e.entity, e.name or e.entity, e.value, room.id) for e in said
        )
        if said and message.thread in (None, message.ts):
            self._context.start_thread(room.id, message.ts, [event.entity for event in said])

    def _write(self, events: Sequence[Event], notes: Sequence[Notes], done: Beside) -> None:
        """All that one thing heard becomes: with the last event, in its transaction, the notes and
        what is done with it; or, where nothing is, the notes some time later, many at once."""
        if done.commands:
            self._flush()
            self._memory.record_all(events, lines.joined(notes), done)
            return
        self._memory.record_all(events, (), done)
        self._unwritten += notes
        if len(self._unwritten) >= FLUSH:
            self._flush()

    def _flush(self) -> None:
        if self._unwritten:
            self._memory.record_all([], lines.joined(self._unwritten))
            self._unwritten = []

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

    def _stated(
        self, message: Message, statements: Sequence[Statement], room: Room
    ) -> list[Say | Tell | Report]:
        # What is said of nobody's id is said of nobody: it would make a person of it.
        known = [one for one in statements if one.about is None or one.about in self._people]
        if not known:
            return []
        if message.app is not None and _speaker_of(message) not in self._people:
            self.meet([Person(id=_speaker_of(message), name=message.app, bot=True)], [], message.at)
        events = perception.events(
            message, known, room, self._memory.sid, self._perceiving,
            self._rules.crowds.of(room.id, room.name),
        )  # fmt: skip
        if self._rules.quotes:
            return events
        return [event.model_copy(update={"quote": None}) for event in events]

    def _as_speaker(self, message: Message) -> Message:
        """A named program speaks as itself, never as the person whose name it posts under."""
        if message.app is None:
            return message
        speaker = _speaker_of(message)
        edit = message.edited and message.edited.model_copy(update={"by": speaker})
        return message.model_copy(update={"author": speaker, "edited": edit})


def replay(
    bot: Bot, workspace: Workspace, progress: Callable[[int, int], None] | None = None
) -> None:
    """Feeds an export through the bot. Reading it again, or one that overlaps, changes nothing."""
    begin_replay(bot, workspace)
    for number, heard in enumerate(workspace.heard):
        bot.hear(heard)
        if progress is not None and number % 50 == 0:
            progress(number, len(workspace.heard))
    end_replay(bot)


def begin_replay(bot: Bot, workspace: Workspace) -> None:
    """Who and which rooms there are in an export."""
    as_of = max((h.at for h in workspace.heard if isinstance(h, Message)), default=BEGINNING)
    bot.meet(workspace.people, workspace.rooms, as_of)
    bot.list_members(workspace.rooms, as_of)
    bot.remember()


def end_replay(bot: Bot) -> None:
    """What follows from all of it."""
    bot.settle()
    bot.agree_with_lists()


def _speaker_of(message: Message) -> str:
    return identify(f"app-{message.app}")


def _room(room: Room) -> RoomInfo:
    return RoomInfo(room.id, room.name, kind=room.kind, archived=room.archived)


def _info(person: Person) -> PersonInfo:
    return PersonInfo(
        person.id, person.name, person.handle, person.zone, person.guest, person.gone, person.bot
    )


def _recalled(room: RoomInfo) -> Room:
    kind = room.kind if room.kind in ("private", "group", "direct") else "public"
    members = None if kind == "public" else frozenset(room.here)
    return Room.model_validate({
        "id": room.id, "name": room.name, "kind": kind, "members": members,
        "archived": room.archived,
    })  # fmt: skip
