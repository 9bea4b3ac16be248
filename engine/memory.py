"""Record what happened, ask who believes what. It knows no platform and no language.

Calls are synchronous and take milliseconds. Every question takes a `reader`: whatever that reader
may not read does not exist for the answer, in any step of it.
"""

import itertools
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

import platformdirs
from pydantic import ValidationError

from engine import answers, forks, planning
from engine.answers import Names
from engine.beliefs import (
    Announcement,
    Belief,
    CommonGround,
    Explanation,
    FalseBelief,
    Handoff,
    Handover,
    LateUse,
    Mind,
    Misinformed,
    Recorded,
    Ref,
    Timeline,
    WhoKnows,
    Wording,
    WrongAboutOthers,
)
from engine.directory import Confirmed, Directory, PersonInfo
from engine.errors import InvalidInput, UnknownEntity, UnknownPerson
from engine.events import (
    Enter,
    Event,
    Exit,
    Grade,
    Notice,
    Report,
    Retract,
    Say,
    Set,
    Statement,
    Tell,
    Unsee,
    any_event,
    whole,
)
from engine.forgetting import BATCH, mark_of, remaining, removals
from engine.links import folded
from engine.perspectives import drawing, drawn, known_people, path_of, perspectives
from engine.queue import MOST, QUEUES, Queue
from engine.reading import (
    ALWAYS,
    Reader,
    Reading,
    RoomInfo,
    asked,
    belief_of,
    identify,
    is_id,
    reading,
)
from engine.recording import (
    WORLD,
    Authority,
    Policy,
    bar,
    mind,
    unbar,
    understood_anew,
    writes_for,
    writes_for_authority,
    writes_for_marks,
)
from engine.rules import decisions, disagreements, from_micros, line, to_micros
from engine.server import Server
from engine.store import (
    NOTHING,
    Beside,
    Command,
    Reads,
    Store,
    Write,
    connect,
    connect_url,
    known_workspaces,
)
from engine.view import Commons, View


class Spoken(NamedTuple):
    """One statement. `name` is how its entity was called in it; `room` is empty for none."""

    at: datetime
    event: str
    entity: str
    name: str
    value: str
    room: str


KEPT = "kept"
"""The key of the application's texts."""


class Notes(NamedTuple):
    """Notes to keep under a key, each once; `most`: only so many, the newest."""

    key: str
    notes: Mapping[str, datetime]
    most: int | None = None


class Span(NamedTuple):
    """Some of the notes under a key: from a moment to a moment, both included."""

    key: str
    since: datetime
    until: datetime


def workspaces(*, url: str | None = None, state: Path | str | None = None) -> tuple[str, ...]:
    """The ids of the workspaces that a server or a state folder remembers, in order."""
    if url is not None:
        with connect_url(url) as client:
            return known_workspaces(client)
    folder = Path(state) if state else platformdirs.user_state_path("secondorder")
    with Server(folder) as server, connect(server.start()) as client:
        return known_workspaces(client)


class Memory:
    """One workspace's memory; a context manager.

    `sid` names the workspace. Without `url` an embedded FalkorDB serves the folder `state`
    (default: the platform's user state folder); `url` is a server or a cluster. `policy` is how what
    is said becomes what is believed; it is fixed when the workspace is made (default: workplace).
    From `secret` the passwords of people's own database users are derived (default: from our own
    password there).
    """

    def __init__(
        self,
        sid: str,
        *,
        url: str | None = None,
        state: Path | str | None = None,
        policy: Policy | None = None,
        secret: str | None = None,
    ) -> None:
        if not is_id(sid):
            raise InvalidInput("A workspace's id is made of letters, digits, - and _.")
        self.sid = sid
        self._another = partial(Memory, url=url, state=state, secret=secret)
        self._server: Server | None = None
        if url is None:
            folder = Path(state) if state else platformdirs.user_state_path("secondorder")
            self._server = Server(folder)
            server = self._server
            wake = lambda: connect(server.start())  # noqa: E731
        else:
            wake = partial(connect_url, url)
        try:
            self._store = Store(sid, wake, policy, secret)
        except BaseException:
            if self._server is not None:
                self._server.stop()
            raise
        self._numbers = itertools.count()
        self._session = secrets.token_hex(4)
        self._clock = 0
        self._directory = Directory(self._store)
        self._forgets = bool(self._store.read(WORLD, "forgotten"))

    def close(self) -> None:
        self._store.close()
        if self._server is not None:
            self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---------------------------------------------------------------------------- recording

    def record(self, event: Event) -> bool:
        """Writes an event, whole or not at all; returns whether it was new."""
        return self._store.change(partial(self._writes_for, event))

    def record_all(
        self, events: Sequence[Event], notes: Iterable[Notes] = (), beside: Beside = NOTHING
    ) -> int:
        """Writes the events of one thing that was heard, and with the last of them, in its
        transaction, the notes and what is `beside`; returns how many were new.

        One after the other, since an event may bear upon the next. Interrupted, it is done by doing
        it again: what was written already is known. All of it only while the lease of `beside` holds.
        """
        last = [*self._noting(notes), *beside.commands]
        before = beside._replace(commands=())
        new = sum(self._store.change(partial(self._writes_for, e), before) for e in events[:-1])
        with_last = beside._replace(commands=tuple(last))
        if events:
            return new + self._store.change(partial(self._writes_for, events[-1]), with_last)
        if last:
            self._store.beside(with_last)
        return 0

    def conclude(
        self,
        events: Iterable[str],
        marks: Iterable[Notice | Unsee | Retract],
        ours: Callable[[Notice | Unsee | Retract], bool],
        beside: Beside = NOTHING,
    ) -> bool:
        """What follows, from everything known by now, of who saw these statements (their ids), and of
        what became of them: `marks`, and none of `ours` (which tells them from what people pressed)
        that was concluded before and follows no more. Returns whether that changed anything.

        Written as one, some statements at a time, so that nobody is for a moment no witness of what
        they go on having seen.
        """
        of = defaultdict[str, list[Notice | Unsee | Retract]](list)
        for mark in marks:
            of[mark.event].append(mark)
        changed = False
        for some in itertools.batched(dict.fromkeys(events), 50):
            concluded = [mark for event in some for mark in of[event]]
            decide = partial(self._writes_for_marks, some, concluded, ours)
            changed = self._store.change(decide, beside) or changed
        return changed

    def _writes_for_marks(
        self,
        events: Sequence[str],
        marks: Sequence[Notice | Unsee | Retract],
        ours: Callable[[Notice | Unsee | Retract], bool],
        reads: Reads,
    ) -> list[Write]:
        forgotten = {mark for [mark] in reads("forgotten")} if self._forgets else set[str]()
        if forgotten:
            left = (remaining(mark, self.sid, forgotten) for mark in marks)
            marks = [m for m in left if isinstance(m, Notice | Unsee | Retract)]
        return writes_for_marks(events, marks, ours, reads, self.policy)

    def _noting(self, notes: Iterable[Notes]) -> Iterator[Command]:
        for one in notes:
            key = self._store.key(one.key)
            for note, at in one.notes.items():
                yield ("ZADD", key, to_micros(at), note)
            if one.most is not None:
                yield ("ZREMRANGEBYRANK", key, 0, -(one.most + 1))

    def queue(self, most: int = MOST, name: str = "inbox") -> Queue:
        """What has arrived for this workspace and is not applied yet, or (`outbox`) what is to be posted;
        up to `most` may wait."""
        return Queue(self._store, most, name)

    def _writes_for(self, event: Event, reads: Reads) -> list[Write]:
        marks = {mark for [mark] in reads("forgotten")} if self._forgets else set[str]()
        kept = remaining(event, self.sid, marks) if marks else event
        return [] if kept is None else writes_for(kept, reads, self.policy)

    @property
    def policy(self) -> Policy:
        return cast(Policy, self._store.policy)

    def authorise(self, entity: str, people: Iterable[str], *, at: datetime | None = None) -> None:
        """From `at` on (default: always) only these people decide the entity; what others decide
        is a mention. Named again from a later moment, the later naming holds from there."""
        deciders = frozenset(self._person_id(person) for person in people)
        key, since = identify(entity), 0 if at is None else asked(at)
        named = f"authority-{to_micros(datetime.now(UTC)):020d}-{next(self._numbers):09d}"
        authority = Authority(since, named, deciders)
        decide = partial(writes_for_authority, key, authority, policy=self.policy)
        self._store.change(decide)

    def truth(
        self, entity: str, at: datetime | None = None, reader: Reader | None = None
    ) -> Belief:
        """The current value of an entity, None where nothing was decided."""
        look = self._reading(reader, at)
        return answers.truth(*look.scene_of(entity))

    def alias(self, name: str, entity: str, *, room: str | None = None) -> None:
        """A name means an entity, for who may read `room` (default: everybody)."""
        self._link("alias", folded(whole(name)), self._reading().said(entity), room)

    def unalias(self, name: str, entity: str, *, room: str | None = None) -> None:
        """Takes an alias back: in `room` (empty: what holds for everybody; default: everywhere)."""
        self._unlink("alias", folded(whole(name)), self._meant(entity), room)

    def merge(self, entity: str, into: str, *, room: str | None = None) -> None:
        """Two entities are one, answered as `into`, for who may read `room` (default: everybody)."""
        # Each under its own key: what is said of one of them later is not said of the other.
        one, other = self._reading().said(entity), self._reading().said(into)
        if one == other:
            raise InvalidInput("That takes two different entities.")
        self._link("merge", one, other, room)

    def unmerge(self, entity: str, into: str, *, room: str | None = None) -> None:
        """Takes a merge back, in `room` (empty: what holds for everybody; default: everywhere): both
        are what they were."""
        self._unlink("merge", self._meant(entity), self._meant(into), room)

    def _meant(self, entity: str) -> str:
        """The key that confirming it went by, however it is written; of what nobody speaks of any more,
        what is written."""
        try:
            return self._reading().said(entity)
        except UnknownEntity:
            return identify(entity)

    def aliases(self) -> list[tuple[str, str, str]]:
        """The confirmed aliases as `(name, entity, room)`; room is empty for everybody."""
        return [
            (one.link.name, one.link.entity, one.room or "")
            for one in self.links()
            if one.link.kind == "alias"
        ]

    def links(self, reader: Reader | None = None) -> list[Confirmed]:
        """What was confirmed where the reader may read, in the order in which it was. It may be about
        what that reader may not read."""
        self._directory.refresh()
        return self._directory.confirmed(None if reader is None else reader.rooms)

    def merged(self, reader: Reader | None = None) -> dict[str, str]:
        """What is answered under another key: key to key."""
        return dict(self._reading(reader).links.merged)

    def _link(self, kind: str, name: str, entity: str, room: str | None) -> None:
        if not name:
            raise InvalidInput("A name is missing: it is empty.")
        where = None if room is None else self._room_id(room)
        row = {"kind": kind, "name": name, "entity": entity, "room": where, "undone": False,
               "scope": where or "", "at": to_micros(datetime.now(UTC))}  # fmt: skip
        self._store.change(lambda _: [Write(WORLD, "link", {"row": row})])

    def _unlink(self, kind: str, name: str, entity: str, room: str | None) -> None:
        params = {"kind": kind, "name": name, "entity": entity, "all": room is None,
                  "scope": identify(room) if room else ""}  # fmt: skip
        self._store.change(lambda _: [Write(WORLD, "unlink", params)])

    def forget(self, person: str, notes: Callable[[str], str | None] | None = None) -> None:
        """Erases a person's words and beliefs: from the world, from every mind that holds a copy,
        from the notes and from the ACL, and keeps them from being recorded again.

        What they decided stays as somebody's, without name, quote or mind. `notes` rewrites a note
        that holds their id (default: it is dropped). Interrupted, it goes on when asked again.
        """
        id = identify(person)
        known = {p.id for p in self.people(everyone=True)}
        if id not in known and not self.forgets(id):
            self._reading().one(person)  # says so, with the nearest names
        mark = mark_of(self.sid, id)
        self._store.change(lambda _: [Write(WORLD, "forget_mark", {"mark": mark})])
        self._forgets = True
        self.drop_kept()
        for name in QUEUES:
            self.queue(name=name).forget(id)
        settled = self._settled_by(id)
        while self._store.change(partial(removals, self.sid, id, settled)):
            pass
        while self._store.change(self._understand_anew):
            pass
        self._store.change(
            lambda reads: (
                [Write(WORLD, "delete_stale_audiences", {"bar": bar([id])})]
                if any(id in unbar(people) for _, people in reads("all_audiences"))
                else []
            )
        )
        self._store.wipe(drawing("*"))  # a drawing shows what others think of them, too
        self._store.erase(mind(id), id, notes)
        self._in_forks(lambda fork: fork.forget(person, notes))

    def heed_forgotten(self) -> bool:
        """Whether anybody was forgotten, also since this memory was opened and by another process."""
        self._forgets = self._forgets or bool(self._store.read(WORLD, "forgotten"))
        return self._forgets

    def forgets(self, person: str) -> bool:
        """Whether somebody with this id was forgotten."""
        mark = mark_of(self.sid, identify(person))
        return [mark] in self._store.read(WORLD, "forgotten")

    def _settled_by(self, person: str) -> frozenset[str]:
        """The statements of a person that settled a value, as things stand."""
        scene = self._reading().scene()
        made = [row for rows in scene.rows.values() for row in decisions(rows, ALWAYS)]
        return frozenset(row.id for row in made if row.by == person)

    def _understand_anew(self, reads: Reads) -> list[Write]:
        ids = [id for [id] in reads("unsettled", most=BATCH)]
        return understood_anew(ids, reads, self.policy) if ids else []

    def optout(self, person: str, out: bool = True) -> None:
        """From now on the person is in no answer, count or plan; `out=False` takes it back."""
        id = identify(person)
        if id not in {p.id for p in self.people(everyone=True)}:
            self._reading().one(person)  # says so, with the nearest names
        self._store.change(lambda _: [Write(WORLD, "opt", {"id": id, "private": out})])
        self._store.wipe(drawing("*"))
        self._in_forks(lambda fork: fork.optout(person, out))

    def describe(
        self,
        people: Iterable[PersonInfo] = (),
        rooms: Iterable[RoomInfo | tuple[str, str, str]] = (),
        at: datetime | None = None,
    ) -> None:
        """Sets what people read. `rooms` are `RoomInfo`, or short `(id, name, kind)`; kind `public`
        is open to every full member. Who is in them is not set here. `at`: as of when that was so
        (default: now); the latest description holds, in whatever order they are given."""
        since = to_micros(datetime.now(UTC)) if at is None else asked(at)
        writes = [
            Write(WORLD, "describe_person", {"id": p.id, "at": since, "row": _described(p)})
            for p in people
            if not (self._forgets and self.forgets(p.id))
        ]
        writes += [
            Write(WORLD, "describe_room", {"id": room[0], "at": since, "row": _room_row(room)})
            for room in rooms
        ]
        for some in itertools.batched(writes, 500):
            self._store.change(lambda _, some=some: some)  # type: ignore[misc]

    def list_members(self, lists: Mapping[str, Iterable[str]], at: datetime) -> None:
        """Who was in which room as of a moment, as somebody listed it; see `agree_with_lists`."""
        writes = [
            Write(WORLD, "list_members", {"room": room, "at": asked(at), "members": bar(members)})
            for room, members in lists.items()
        ]
        for some in itertools.batched(writes, 500):
            self._store.change(lambda _, some=some: some)  # type: ignore[misc]

    def agree_with_lists(self) -> None:
        """Concludes from member lists who came and who left unseen. The conclusions are presumed:
        recorded lines, also late ones, come before them."""
        look = self._reading()
        absent = {p.id for p in look.people() if p.bot or p.gone}
        lists = self._store.read(WORLD, "listings")
        lines = look.lines(sorted({room for room, _, _ in lists}))
        for room, at, members in lists:
            left, came = disagreements(lines[room], unbar(members), at)
            for kind, people in ((Exit, left - absent), (Enter, came - absent)):
                for person in sorted(people):
                    id = f"{self.sid}-{room}-listed-{kind.__name__}-{person}-{at}"[:200]
                    move = kind(id=id, at=from_micros(at), person=person, room=room, presumed=True)
                    self.record(move)
                    lines[room].append(line(move))

    def join(self, people: str | Iterable[str], room: str, *, at: datetime | None = None) -> None:
        """People come into a room."""
        for person in [people] if isinstance(people, str) else people:
            self._happen(Enter, at, person=self._person_id(person), room=self._room_id(room))

    def leave(
        self, people: str | Iterable[str], room: str | None = None, *, at: datetime | None = None
    ) -> None:
        """People leave a room, or every room they are in."""
        for person in [people] if isinstance(people, str) else people:
            id = self._person_id(person)
            left = [r.id for r in self.rooms() if id in r.here] if room is None else [room]
            for one in left:
                self._happen(Exit, at, person=id, room=self._room_id(one))

    def say(
        self,
        speaker: str,
        entity: str,
        value: str,
        *,
        room: str,
        decides: bool = True,
        witnesses: Mapping[str, Grade] | None = None,
        at: datetime | None = None,
    ) -> str:
        """Somebody says it in a room; returns the event's id."""
        seen = None
        if witnesses is not None:
            seen = {self._person_id(person): grade for person, grade in witnesses.items()}
        return self._happen(
            Say, at, speaker=self._person_id(speaker), room=self._room_id(room),
            **_called(entity), value=value, decides=decides, witnesses=seen,
        )  # fmt: skip

    def tell(
        self,
        speaker: str,
        listeners: str | Iterable[str],
        entity: str,
        value: str,
        *,
        at: datetime | None = None,
    ) -> str:
        """Somebody says it in private; returns the event's id."""
        to = [listeners] if isinstance(listeners, str) else listeners
        return self._happen(
            Tell, at, speaker=self._person_id(speaker), **_called(entity),
            listeners=tuple(self._person_id(one) for one in to), value=value,
        )  # fmt: skip

    def report(
        self,
        speaker: str,
        about: str,
        entity: str,
        value: str,
        *,
        room: str,
        at: datetime | None = None,
    ) -> str:
        """ "I told Maya": somebody reports in a room what `about` was told."""
        return self._happen(
            Report, at, speaker=self._person_id(speaker), about=self._person_id(about),
            room=self._room_id(room), **_called(entity), value=value,
        )  # fmt: skip

    def set(
        self,
        entity: str,
        value: str,
        *,
        room: str | None = None,
        by: str | None = None,
        at: datetime | None = None,
    ) -> str:
        """The world changes, seen by those in `room` and by whoever did it."""
        return self._happen(
            Set, at, **_called(entity), value=value,
            room=None if room is None else self._room_id(room),
            by=None if by is None else self._person_id(by),
        )  # fmt: skip

    def _happen(self, kind: type, at: datetime | None, **fields: Any) -> str:
        """Records one event as of `at` (default: now, and later than everything from here)."""
        if at is None:
            self._clock = max(self._clock + 1, to_micros(datetime.now(UTC)))
            at = from_micros(self._clock)
        # Zero-padded, so that events of one moment keep the order in which they were made.
        id = f"{kind.__name__.lower()}-{self._session}-{next(self._numbers):09d}"
        try:
            event = any_event.validate_python(kind(id=id, at=at, **fields))
        except ValidationError as error:
            raise InvalidInput(_in_words(error)) from error
        self.record(event)
        return id

    def _person_id(self, name: str) -> str:
        return self._named(name, lambda id: self.describe(people=[PersonInfo(id, name)]))

    def _room_id(self, name: str) -> str:
        return self._named(name, lambda id: self.describe(rooms=[(id, name, "")]))

    def _named(self, name: str, describe: Any) -> str:
        id = identify(name)
        if id != name:
            describe(id)
        return id

    # ---------------------------------------------------------------------------- who and where

    def people(self, everyone: bool = False) -> list[PersonInfo]:
        """The people, in the order of their ids; with `everyone`, also who wants to be left out."""
        return [p for p in self._reading().people() if everyone or not p.private]

    def rooms(self) -> list[RoomInfo]:
        """Every room, in the order of their ids."""
        return self._reading().rooms()

    def entities(self, reader: Reader | None = None, *, apart: bool = False) -> dict[str, str]:
        """The entities that were spoken of where the reader may read: key to name. `apart`: those
        that were merged each by itself."""
        look = self._reading(reader)
        return look.entities_apart() if apart else look.entities()

    def reader(self, person: str) -> Reader:
        """What a person may read now: the rooms they are in, and open ones unless they are a guest.
        Who wants to be left out of answers may ask all the same."""
        look, id = self._reading(), identify(person)
        if id not in {p.id for p in look.people() if p.private}:
            id = look.one(person)
        return look.readers([id])[id]

    def shared(self, people: Iterable[str]) -> frozenset[str]:
        """The rooms that every one of these people may read now, also who wants to be left out."""
        readers = self._reading().readers(people).values()
        rooms = [reader.rooms for reader in readers]
        return frozenset[str].intersection(*rooms) if rooms else frozenset()

    def met(self, reader: Reader) -> frozenset[str]:
        """Who was ever in a room that the reader may read, or said something there."""
        params = reading(reader)
        del params["person"]
        return frozenset(person for [person] in self._store.read(WORLD, "met", **params))

    def spoken(self, reader: Reader | None = None) -> list[Spoken]:
        """Every statement that the reader may read, oldest first, each under its own key."""
        rows = self._reading(reader).rows("all_statements")
        return [
            Spoken(from_micros(r.at), r.id, r.entity, r.name or r.entity, r.value, r.room or "")
            for r in rows
        ]

    def note(self, key: str, notes: Mapping[str, datetime]) -> None:
        """Keeps notes of the application beside the graphs, each once, in the order of time."""
        self._store.journal(key, {note: float(to_micros(at)) for note, at in notes.items()})

    def unnote(self, key: str, notes: Iterable[str]) -> None:
        """Drops notes."""
        self._store.unjournal(key, notes)

    def noted(self, key: str) -> list[str]:
        """The notes under a key, oldest first."""
        return self._store.journalled(key)

    def noted_within(self, spans: Sequence[Span]) -> list[list[str]]:
        """The notes of each span of time, both ends included, oldest first, in one round trip."""
        commands: list[Command] = [
            ("ZRANGEBYSCORE", self._store.key(key), to_micros(since), to_micros(until))
            for key, since, until in spans
        ]
        found = self._store.beside(Beside(tuple(commands))) if commands else []
        return [[str(note) for note in some] for some in found]

    def noted_at(self, key: str, notes: Iterable[str]) -> dict[str, datetime]:
        """The moments of those of these notes that are there."""
        asked_for = list(dict.fromkeys(notes))
        if not asked_for:
            return {}
        command: Command = ("ZMSCORE", self._store.key(key), *asked_for)
        [found] = self._store.beside(Beside((command,)))
        return {
            note: from_micros(int(at))
            for note, at in zip(asked_for, found, strict=True)
            if at is not None
        }

    def tally(self, key: str, amounts: Mapping[str, float], days: int = 90) -> None:
        """Adds amounts to sums of the application, by name; they are kept for so many days."""
        self._store.tally(key, amounts, days * 24 * 3600)

    def tallied(self, key: str) -> dict[str, float]:
        """The sums under a key, by name; none when there are none."""
        return self._store.tallied(key)

    def keep(self, name: str, text: str, days: int = 30) -> None:
        """Keeps a text of the application under a name; all of them go `days` after the last."""
        key = self._store.key(KEPT)
        kept: Command = ("HSET", key, name, text)
        self._store.beside(Beside((kept, ("EXPIRE", key, days * 24 * 3600))))

    def kept(self, name: str) -> str | None:
        """The text under a name."""
        [found] = self._store.beside(Beside((("HGET", self._store.key(KEPT), name),)))
        return None if found is None else str(found)

    def drop_kept(self) -> None:
        """Drops every text: whose words are in them nobody knows, so they go when anybody's go."""
        self._store.beside(Beside((("DEL", self._store.key(KEPT)),)))

    def notes(self, keys: str) -> int:
        """How many notes there are under the keys that match a pattern like `lines:*`."""
        return self._store.counted(keys)

    def counts(self) -> dict[str, int]:
        """What the memory holds: `events`, `statements`, `entities`; presumed entries not counted."""
        rows = self._store.read(WORLD, "counts")
        events, statements, entities = rows[0] if rows else (0, 0, 0)
        return {"events": int(events), "statements": int(statements), "entities": int(entities)}

    # ---------------------------------------------------------------------------- asking

    def believes(
        self,
        chain: str | Sequence[str],
        entity: str,
        at: datetime | None = None,
        reader: Reader | None = None,
        *,
        mind_only: bool = False,
    ) -> Belief:
        """What a chain believes; `["A", "B"]` reads "A thinks that B believes". One Cypher read.

        `mind_only`: read from the mind of the chain's first person instead of from the world.
        """
        look = self._reading(reader, at)
        people, key = look.chain(chain), identify(entity)
        graph = mind(people[0]) if mind_only else WORLD
        rows = look.believed(people, key, graph)
        if not rows or look.directory.left_out.intersection(people):
            for person in people:
                look.one(person)
        if not rows:
            known = self._reading(reader).known(entity)  # before it was spoken of: unknown
            rows = [] if known == look.links.key(key) else look.believed(people, known, graph)
            key = known
        key = look.links.key(key)
        # Called by its key in the row that counts, it has no other name that would be worth a read.
        names = look.names([] if rows and rows[0][-1] is None else [key])
        return belief_of(rows, people, key, names, look.at)

    def who_knows(
        self, entity: str, at: datetime | None = None, reader: Reader | None = None
    ) -> WhoKnows:
        """Who holds the current value, who an old one, who could have seen it, who is wrong about
        whom."""
        look = self._reading(reader, at)
        key, scene = look.scene_of(entity)
        return answers.who_knows(key, scene, look.elsewhere(scene.rows[key]))

    def false_beliefs(
        self,
        person: str | None = None,
        order: int = 1,
        at: datetime | None = None,
        reader: Reader | None = None,
        entity: str | None = None,
    ) -> tuple[FalseBelief, ...] | tuple[WrongAboutOthers, ...]:
        """Held values that are not current (order 1); wrong ideas of what others hold (order 2)."""
        if order not in (1, 2):
            raise InvalidInput("False beliefs are of order 1 (facts) or 2 (about others).")
        scene, who = self._wrong_in(person, entity, at, reader)
        if order == 1:
            return tuple(answers.false_beliefs(scene, who))
        return tuple(answers.all_wrong_about_others(scene, who))

    def misinformed(
        self,
        person: str | None = None,
        entity: str | None = None,
        at: datetime | None = None,
        reader: Reader | None = None,
    ) -> Misinformed:
        """Both orders at once: held values that are not current, wrong ideas of what others hold."""
        scene, who = self._wrong_in(person, entity, at, reader)
        return Misinformed(
            beliefs=tuple(answers.false_beliefs(scene, who)),
            wrong_about_others=tuple(answers.all_wrong_about_others(scene, who)),
        )

    def _wrong_in(
        self, person: str | None, entity: str | None, at: datetime | None, reader: Reader | None
    ) -> tuple[answers.Scene, str | None]:
        """What may be wrong of what the reader may read, and whose ideas are asked for."""
        look = self._reading(reader, at)
        scene = look.scene() if entity is None else look.scene_of(entity)[1]
        return scene, None if person is None else look.one(person)

    def recorded(self, event: Statement) -> Recorded:
        """What a statement looks like now that it is recorded, called as it calls its entity."""
        look = self._reading()
        [row] = [r for r in look.rows("statements", [event.entity]) if r.id == event.id]
        shown = answers.evidence(row, look.names(), "stated")
        entity = Ref(id=row.key, name=row.name or row.key)
        return Recorded(entity=entity, value=row.value, evidence=shown)

    def handoff_delta(
        self,
        a: str,
        b: str,
        at: datetime | None = None,
        reader: Reader | None = None,
        over: Collection[str] = (),
    ) -> Handoff:
        """What b lacks or has wrong that a knows, and what a told others that has changed since;
        without the promises (by their statements) that are `over`."""
        look = self._reading(reader, at)
        return self._handed(look, *look.pair(a, b), over)[0]

    def handover(self, a: str, b: str, reader: Reader, over: Collection[str] = ()) -> Handover:
        """What of the same may be sent to b, and what b may not read."""
        look = self._reading(reader)
        return self._handed(look, *look.pair(a, b), over)[1]

    def _handed(
        self, look: Reading, a: str, b: str, over: Collection[str]
    ) -> tuple[Handoff, Handover]:
        scene = look.scene()
        answer = answers.handoff(a, b, scene)
        kept = tuple(one for one in answer.promises if one.evidence.event not in over)
        answer = answer.model_copy(update={"promises": kept})
        recipient = look.readers([b], undescribed=look.reader is None)[b]
        handed = planning.handover(answer, scene, recipient)
        return answer.model_copy(update={"text": handed.text}), handed

    def common_ground(
        self, a: str, b: str, at: datetime | None = None, reader: Reader | None = None
    ) -> CommonGround:
        """What both know, and know that the other knows."""
        look = self._reading(reader, at)
        one, other = look.pair(a, b)
        scene = look.scene()
        shared = answers.common_ground(one, other, scene)
        people = (scene.names.person(one), scene.names.person(other))
        return CommonGround(people=people, shared=tuple(shared))

    def explain(
        self,
        chain: str | Sequence[str],
        entity: str,
        at: datetime | None = None,
        reader: Reader | None = None,
    ) -> Explanation:
        """The events a belief rests on, oldest first."""
        look = self._reading(reader, at)
        people = look.chain(chain)
        key, scene = look.scene_of(entity)
        for person in people:
            look.one(person)
        return answers.explanation(people, key, scene)

    def timeline(
        self, entity: str, at: datetime | None = None, reader: Reader | None = None
    ) -> Timeline:
        """The decisions about an entity, oldest first."""
        look = self._reading(reader, at)
        key, scene = look.scene_of(entity)
        changes = answers.timeline(scene.rows[key], scene)
        return Timeline(entity=scene.names.entity(key), changes=tuple(changes))

    def plan_announcements(
        self,
        entity: str,
        rooms: Iterable[str] | None = None,
        at: datetime | None = None,
        reader: Reader | None = None,
        asker: str | None = None,
        small: int | Mapping[str, int] = answers.SMALL_ROOM,
    ) -> Announcement:
        """The fewest messages that repair what people hold, best plan first, each simulated.

        `rooms`: where may be posted (default: every room; with an `asker`, those the asker is in); what
        the reader may not read is none of them. `small`: up to how many people a post in a room
        reaches everybody there; in a larger one it reaches those it mentions.
        """
        look = self._reading(reader, at)
        key, scene = look.scene_of(entity)
        known = {room.id: room for room in look.rooms()}
        halls_named = scene.names.rooms | {id: room.name for id, room in known.items()}
        scene = scene._replace(names=scene.names._replace(rooms=halls_named))
        may = known.keys() if reader is None else known.keys() & reader.rooms
        if rooms is None and asker is not None:
            may = {id for id in may if asker in known[id].here}
        wanted = may if rooms is None else may & set(rooms)
        limits = dict.fromkeys(known, small) if isinstance(small, int) else small
        reading = {p.id for p in look.people() if not (p.gone or p.bot)}
        counted = reading - look.directory.left_out  # who is left out reads all the same
        halls = [
            planning.Hall(
                id,
                known[id].here & counted,
                limits.get(id, answers.SMALL_ROOM),
                known[id].here & reading | ({planning.ANYBODY} if known[id].open else set()),
            )
            # What would be posted between two people is a direct message, and planned as one.
            for id in sorted(wanted)
            if known[id].kind != "direct" and not known[id].archived
        ]
        everyone = {p for hall in halls for p in hall.readers}
        everyone |= {p for row in scene.rows[key] for p in row.people}
        readers = look.readers(everyone, undescribed=reader is None)
        return planning.announcement(key, scene, halls, asker, readers)

    def wording(
        self, entity: str, reader: Reader, *, room: str | None = None, person: str | None = None
    ) -> Wording | None:
        """What may be said of the current value in a room, or to a person: everybody who may read it
        there may read its source. None where that is not so, or there is no value."""
        look = self._reading(reader)
        key, scene = look.scene_of(entity)
        people = frozenset({person} if person else ())
        for hall in (one for one in look.rooms() if one.id == room):
            active = {p.id for p in look.people() if not (p.gone or p.bot)}
            people = (hall.here & active) | (
                frozenset({planning.ANYBODY}) if hall.open else frozenset()
            )
        return planning.wording(key, scene, people, look.readers(people)) if people else None

    def mind_of(self, person: str, reader: Reader | None = None) -> Mind:
        """What one person is thought to know."""
        look = self._reading(reader)
        one, scene = look.one(person), look.scene()
        return Mind(person=scene.names.person(one), holds=tuple(answers.holdings(one, scene)))

    def late_uses(self, reader: Reader | None = None) -> tuple[LateUse, ...]:
        """Who went on acting on a value after it had been changed, newest first."""
        return tuple(answers.late_uses(self._reading(reader).scene()))

    def timelines(self, reader: Reader | None = None) -> tuple[Timeline, ...]:
        """The decisions about every entity, by its key."""
        scene = self._reading(reader).scene()
        return tuple(
            Timeline(entity=scene.names.entity(e), changes=tuple(answers.timeline(rows, scene)))
            for e, rows in sorted(scene.rows.items())
        )

    def context_for(self, person: str, talking_to: str) -> str:
        """What `person` should have in mind when talking to `talking_to`, for a prompt; one line an
        entity, read from the person's own mind. Empty when there is nothing to mind."""
        look = self._reading()
        me, other = look.one(person), look.one(talking_to)
        # What means the same, and what it is called, as this person may know and nobody else.
        links = self._reading(look.readers([me])[me]).links
        own = Reading(self._store, graph=mind(me), links=links, directory=self._directory)
        found = answers.by_entity(own.rows("all_statements"))
        return answers.context(me, other, found, own.names(found))

    def materialise(self, person: str, depth: int = 2) -> str:
        """Draws a person's mind as nested perspectives, for people who want to look at it: into a
        graph of its own, in place of the last drawing. Returns that graph's key.

        A perspective is there where it differs, at any time, from the one it is in: chains of up to
        `depth` people (at most 4). It is a picture of this moment and follows nothing later.
        """
        look = self._reading()
        one = look.one(person)
        rows = look.rows("all_statements", graph=mind(one))
        known = known_people(one, rows)
        names = look.names()
        people = [p for p in known if p not in names.left_out]
        rows = [row._replace(by=None) if row.by in names.left_out else row for row in rows]
        found = perspectives(one, people, rows, depth)
        self._store.redraw(drawing(one), drawn(found, people, names.people))
        return self._store.key(drawing(one))

    def materialised(
        self, chain: str | Sequence[str], entity: str, at: datetime | None = None
    ) -> str | None:
        """What the drawing of its first person's mind says that a chain believes, None is "unknown";
        for chains up to the depth it was drawn to."""
        look = self._reading(at=at)
        people, key = look.chain(chain), look.links.key(identify(entity))
        rows = self._store.read(
            drawing(people[0]),
            "drawn_belief",
            people=[bar([person]) for person in people],
            chain=[path_of(people[: n + 1]) for n in range(len(people))],
            entity=key,
            at=look.at,
        )
        return rows[0][0] if rows else None

    def fork(self, name: str) -> "Memory":
        """A copy of this workspace as it is now, under a new id: the world, every mind and the notes.
        What is recorded in either never shows in the other, but who is forgotten or left out here
        is so in its forks. Close it, or `drop` it."""
        if not is_id(name):
            raise InvalidInput("A workspace's id is made of letters, digits, - and _.")
        forks.fork(self._store, name)
        return self._another(name)

    def drop(self) -> None:
        """Deletes this fork, and closes it; nothing but a fork can be dropped."""
        forks.drop(self._store)
        self.close()

    def _in_forks(self, do: Callable[["Memory"], None]) -> None:
        for name in self._store.forks():
            with self._another(name) as fork, suppress(UnknownPerson):
                do(fork)

    def view(self, person: str) -> View:
        """One person's own mind, read as that person's database user; a context manager.

        What is common knowledge (names, who wants to be left out, which keys mean the same) is that
        of this moment.
        """
        look, id = self._reading(), identify(person)
        everyone, rooms = look.people(), look.rooms()
        if id not in {p.id for p in everyone}:
            look.one(person)  # says so, with the nearest names
        reader = look.readers([id])[id]
        been = {room for [room] in self._store.read(WORLD, "rooms_been", person=id)}
        left_out = frozenset(p.id for p in everyone if p.private and p.id != id)
        commons = Commons(
            names=Names(
                {p.id: p.name for p in everyone if p.id not in left_out},
                {r.id: r.name for r in rooms if r.id in reader.rooms | been},
                {},
                left_out,
            ),
            links=self._reading(reader).links,
            absent=frozenset(p.id for p in everyone if p.bot or p.gone),
        )
        return View(id, self._store.keyhole(mind(id), id), commons)

    def _reading(self, reader: Reader | None = None, at: datetime | None = None) -> Reading:
        return Reading(self._store, reader, at, directory=self._directory)


# ------------------------------------------------------------------------------- plain values


def _called(entity: str) -> dict[str, Any]:
    """An entity's key and, where they differ, what it was called."""
    key = identify(entity)
    return {"entity": key, "name": None if key == entity else _shown(entity)}


def _described(person: PersonInfo) -> dict[str, Any]:
    row = person._asdict()
    del row["id"], row["private"]  # theirs to say, not the platform's
    return row | {key: _shown(row[key]) for key in ("name", "handle", "zone")}


def _room_row(room: RoomInfo | tuple[str, str, str]) -> dict[str, Any]:
    if isinstance(room, RoomInfo):
        name, kind, archived = room.name, room.kind, room.archived
    else:
        (_, name, kind), archived = room, False
    return {"name": _shown(name), "kind": kind, "open": kind == "public", "archived": archived}


def _shown(name: str) -> str:
    return whole(name).replace("\0", "").strip()[:10_000]


def _in_words(error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"] if part != "function-after")
    reason = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"The {field or 'event'} cannot be recorded: {reason}."
