"""Record what happened, ask who believes what. It knows no platform and no language.

Calls are synchronous and take milliseconds. Every question takes a `reader`: whatever that reader
may not read does not exist for the answer, in any step of it.
"""

import hashlib
import itertools
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

import platformdirs
from pydantic import ValidationError
from rapidfuzz import fuzz, process, utils

from engine import answers, planning
from engine.answers import Names, Scene, Stay
from engine.beliefs import (
    Announcement,
    Belief,
    CommonGround,
    Explanation,
    FalseBelief,
    Handoff,
    LateUse,
    Mind,
    Misinformed,
    Recorded,
    Timeline,
    WhoKnows,
    WrongAboutOthers,
)
from engine.errors import InvalidInput, UnknownEntity, UnknownPerson
from engine.events import (
    Enter,
    Event,
    Exit,
    Grade,
    Report,
    Say,
    Set,
    Statement,
    Tell,
    any_event,
    moment,
    whole,
)
from engine.recording import (
    WORLD,
    Authority,
    Policy,
    bar,
    large_audiences,
    mind,
    unbar,
    witnesses_of,
    writes_for,
    writes_for_authority,
)
from engine.rules import FOREVER, Line, Row, from_micros, grade_of, shortened, stays, to_micros
from engine.server import Server
from engine.store import Store, Write, connect, connect_url, known_workspaces

ALWAYS = FOREVER - 1  # "now", for a question without a moment: nothing recorded is later
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_NEAR = 60  # likeness (0 to 100) from which a name is worth suggesting


class Reader(NamedTuple):
    """Who asks: what was said in `rooms` may be read, and private words by or to `person`."""

    person: str
    rooms: frozenset[str]


class PersonInfo(NamedTuple):
    """What the platform says of somebody. `gone`: deactivated. `guest`: reads only own rooms."""

    id: str
    name: str
    handle: str = ""
    zone: str = ""
    guest: bool = False
    gone: bool = False
    bot: bool = False


class RoomInfo(NamedTuple):
    """`open`: every full member may read it. `here`: who is in it now."""

    id: str
    name: str
    open: bool
    here: frozenset[str]
    kind: str


class Spoken(NamedTuple):
    """One statement. `name` is how its entity was called in it; `room` is empty for none."""

    at: datetime
    event: str
    entity: str
    name: str
    value: str
    room: str


def identify(name: str) -> str:
    """The id for a name: the name itself where it can be one, else a stable mark made of it."""
    name = whole(name).strip()
    if not name or "\0" in name:
        raise InvalidInput("A name is missing: it is empty.")
    if _ID.fullmatch(name):
        return name
    return "x" + hashlib.sha256(name.encode()).hexdigest()[:20]


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
    """

    def __init__(
        self,
        sid: str,
        *,
        url: str | None = None,
        state: Path | str | None = None,
        policy: Policy | None = None,
    ) -> None:
        if not _ID.fullmatch(sid):
            raise InvalidInput("A workspace's id is made of letters, digits, - and _.")
        self.sid = sid
        self._server: Server | None = None
        if url is None:
            folder = Path(state) if state else platformdirs.user_state_path("secondorder")
            self._server = Server(folder)
            server = self._server
            wake = lambda: connect(server.start())  # noqa: E731
        else:
            wake = partial(connect_url, url)
        try:
            self._store = Store(sid, wake, policy)
        except BaseException:
            if self._server is not None:
                self._server.stop()
            raise
        self._numbers = itertools.count()
        self._session = secrets.token_hex(4)
        self._clock = 0

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
        return self._store.change(partial(writes_for, event, policy=self.policy))

    @property
    def policy(self) -> Policy:
        return cast(Policy, self._store.policy)

    def authorise(self, entity: str, people: Iterable[str], *, at: datetime | None = None) -> None:
        """From `at` on (default: always) only these people decide the entity; what others decide
        is a mention. Named again from a later moment, the later naming holds from there."""
        deciders = frozenset(self._person_id(person) for person in people)
        key, since = identify(entity), 0 if at is None else _asked(at)
        named = f"authority-{to_micros(datetime.now(UTC)):020d}-{next(self._numbers):09d}"
        authority = Authority(since, named, deciders)
        decide = partial(writes_for_authority, key, authority, policy=self.policy)
        self._store.change(decide)

    def truth(
        self, entity: str, at: datetime | None = None, reader: Reader | None = None
    ) -> Belief:
        """The current value of an entity, None where nothing was decided."""
        key = self._known(entity, reader, at)
        scene = self._scene(reader, at, [key])
        return answers.truth(key, scene)

    def describe(
        self,
        people: Iterable[PersonInfo] = (),
        rooms: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        """Sets what people read. `rooms` are `(id, name, kind)`; kind `public` is open to every
        full member. Described again, the last description holds."""
        writes = [
            Write(WORLD, "describe_person", {"id": p.id, "row": _described(p)}) for p in people
        ]
        writes += [
            Write(WORLD, "describe_room", {"id": id, "row": _room_row(name, kind)})
            for id, name, kind in rooms
        ]
        for some in itertools.batched(writes, 500):
            self._store.change(lambda _, some=some: some)  # type: ignore[misc]

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

    def people(self) -> list[PersonInfo]:
        """Everybody, in the order of their ids."""
        rows = self._store.read(WORLD, "people")
        return sorted(
            PersonInfo(id, name or id, handle or "", zone or "", bool(guest), bool(gone), bool(bot))
            for id, name, handle, zone, guest, gone, bot in rows
        )

    def rooms(self) -> list[RoomInfo]:
        """Every room, in the order of their ids."""
        rows = self._store.read(WORLD, "rooms")
        return sorted(
            RoomInfo(id, name or id, bool(open_), unbar(here), kind or "")
            for id, name, open_, here, kind in rows
        )

    def entities(self, reader: Reader | None = None) -> dict[str, str]:
        """The entities that were spoken of where the reader may read: id to name."""
        rows = self._store.read(WORLD, "entities", **_reading(reader))
        return {id: name or id for id, name in sorted(rows)}

    def reader(self, person: str) -> Reader:
        """What a person may read now: the rooms they are in, and open ones unless they are a guest."""
        known = {p.id: p for p in self.people()}
        if person not in known:
            raise UnknownPerson(f"Nobody here is called {_quoted(person)}.")
        guest = known[person].guest
        rooms = {r.id for r in self.rooms() if person in r.here or (r.open and not guest)}
        return Reader(person, frozenset(rooms))

    def spoken(self, reader: Reader | None = None) -> list["Spoken"]:
        """Every statement that the reader may read, oldest first."""
        rows = sorted(self._rows("all_statements", WORLD, reader, ALWAYS), key=lambda r: r.moment)
        return [
            Spoken(from_micros(r.at), r.id, r.entity, r.name or r.entity, r.value, r.room or "")
            for r in rows
        ]

    def note(self, key: str, notes: Mapping[str, datetime]) -> None:
        """Keeps notes of the application beside the graphs, each once, in the order of time."""
        self._store.journal(key, {note: float(to_micros(at)) for note, at in notes.items()})

    def noted(self, key: str) -> list[str]:
        """The notes under a key, oldest first."""
        return self._store.journalled(key)

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
        people = self._chain(chain)
        key = self._key(entity)
        bars = [f"|{person}|" for person in people]
        rows = self._store.read(
            mind(people[0]) if mind_only else WORLD,
            "believes",
            entities=[key],
            chain=bars,
            before_last=bars[:-1],
            first=people[0],
            last=people[-1],
            at=_asked(at),
            **_reading(reader),
        )
        if not rows:
            found = self._must_exist(key, entity, people, reader, at)
            if found != key:
                return self.believes(people, found, at, reader, mind_only=mind_only)
        names = self._names(
            people, [row[6] for row in rows], [key], [row[5] for row in rows], reader
        )
        refs = tuple(names.person(person) for person in people)
        if not rows:
            return Belief(chain=refs, entity=names.entity(key))
        id, when, since, value, kind, by, room, quote, link, about, retracted, *seen_by = rows[0]
        members, sight_people, sight_since, sight_until, grades = seen_by
        # A large audience is not read again: the chain was found to be in it.
        seen = witnesses_of(
            members or bar(people), None, sight_people, sight_since, sight_until, grades, {}
        )
        row = Row(
            when, id, kind, by, about, False, room, key, value, "", False, seen.members,
            seen.sights, retracted=retracted, quote=quote, link=link,
        )  # fmt: skip
        return Belief(
            chain=refs,
            entity=names.entity(key),
            value=value,
            how=answers.how(row, people),
            since=from_micros(since),
            evidence=answers.evidence(row, names, grade_of(row, people[0], _asked(at))),
        )

    def who_knows(
        self, entity: str, at: datetime | None = None, reader: Reader | None = None
    ) -> WhoKnows:
        """Who holds the current value, who an old one, who could have seen it, who is wrong about
        whom."""
        key = self._known(entity, reader, at)
        return answers.who_knows(key, self._scene(reader, at, [key]))

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
        found = self.misinformed(person, entity, at, reader)
        return found.beliefs if order == 1 else found.wrong_about_others

    def misinformed(
        self,
        person: str | None = None,
        entity: str | None = None,
        at: datetime | None = None,
        reader: Reader | None = None,
    ) -> Misinformed:
        """Both orders at once: held values that are not current, wrong ideas of what others hold."""
        key = None if entity is None else self._known(entity, reader, at)
        who = None if person is None else self._one(person)
        scene = self._scene(reader, at, None if key is None else [key])
        return Misinformed(
            beliefs=tuple(answers.false_beliefs(scene, who)),
            wrong_about_others=tuple(answers.all_wrong_about_others(scene, who)),
        )

    def recorded(self, event: Statement) -> Recorded:
        """What a statement looks like now that it is recorded."""
        [row] = [
            r
            for r in self._rows("statements", WORLD, None, ALWAYS, [event.entity])
            if r.id == event.id
        ]
        names = self._names([], [row.room], [row.entity], [row.by])
        shown = answers.evidence(row, names, "stated")
        return Recorded(entity=names.entity(row.entity), value=row.value, evidence=shown)

    def handoff_delta(
        self, a: str, b: str, at: datetime | None = None, reader: Reader | None = None
    ) -> Handoff:
        """What b lacks or has wrong that a knows, and what a told others that has changed since."""
        one, other = self._pair(a, b)
        scene = self._scene(reader, at, None, [one, other])
        answer = answers.handoff(one, other, scene)
        recipient = self._readers([other], undescribed=reader is None)[other]
        return answer.model_copy(update={"text": planning.handoff_text(answer, scene, recipient)})

    def common_ground(
        self, a: str, b: str, at: datetime | None = None, reader: Reader | None = None
    ) -> CommonGround:
        """What both know, and know that the other knows."""
        one, other = self._pair(a, b)
        scene = self._scene(reader, at, None, [one, other])
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
        people = self._chain(chain)
        key = self._known(entity, reader, at)
        for person in people:
            self._one(person)
        return answers.explanation(people, key, self._scene(reader, at, [key], people))

    def timeline(
        self, entity: str, at: datetime | None = None, reader: Reader | None = None
    ) -> Timeline:
        """The decisions about an entity, oldest first."""
        key = self._known(entity, reader, at)
        scene = self._scene(reader, at, [key])
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

        `rooms`: where may be posted (default: every room). `small`: up to how many people a post
        in a room reaches everybody there; in a larger one it reaches those it mentions.
        """
        key = self._known(entity, reader, at)
        known = {room.id: room for room in self.rooms()}
        scene = self._scene(reader, at, [key])
        halls_named = scene.names.rooms | {id: room.name for id, room in known.items()}
        scene = scene._replace(names=scene.names._replace(rooms=halls_named))
        may = known.keys() if reader is None else known.keys() & reader.rooms
        wanted = may if rooms is None else [room for room in rooms if room in known]
        # What would be posted between two people is a direct message, and planned as one.
        allowed = [room for room in wanted if known[room].kind != "direct"]
        limits = dict.fromkeys(known, small) if isinstance(small, int) else small
        halls = [
            planning.Hall(
                id,
                frozenset(filter(scene.modelled, known[id].here)),
                limits.get(id, answers.SMALL_ROOM),
            )
            for id in sorted(allowed)
        ]
        everyone = {p for hall in halls for p in hall.people}
        everyone |= {p for row in scene.rows[key] for p in row.people}
        readers = self._readers(everyone, undescribed=reader is None)
        return planning.announcement(key, scene, halls, asker, readers)

    def mind_of(self, person: str, reader: Reader | None = None) -> Mind:
        """What one person is thought to know."""
        one = self._one(person)
        scene = self._scene(reader, None, None, [one])
        return Mind(person=scene.names.person(one), holds=tuple(answers.holdings(one, scene)))

    def late_uses(self, reader: Reader | None = None) -> tuple[LateUse, ...]:
        """Who went on acting on a value after it had been changed, newest first."""
        return tuple(answers.late_uses(self._scene(reader, None, None)))

    def timelines(self, reader: Reader | None = None) -> tuple[Timeline, ...]:
        """The decisions about every entity, by its key."""
        scene = self._scene(reader, None, None)
        return tuple(
            Timeline(entity=scene.names.entity(e), changes=tuple(answers.timeline(rows, scene)))
            for e, rows in sorted(scene.rows.items())
        )

    def context_for(self, person: str, talking_to: str) -> str:
        """What `person` should have in mind when talking to `talking_to`, for a prompt; one line an
        entity, read from the person's own mind. Empty when there is nothing to mind."""
        me, other = self._one(person), self._one(talking_to)
        rows = self._rows("all_statements", mind(me), None, ALWAYS)
        found = answers.by_entity(rows)
        names = self._names([me, other], [], found)
        return answers.context(me, other, found, names)

    # ---------------------------------------------------------------------------- inside

    def _chain(self, chain: str | Sequence[str]) -> tuple[str, ...]:
        people = [chain] if isinstance(chain, str) else list(chain)
        if not people:
            raise InvalidInput("A chain names at least one person.")
        short = shortened(identify(person) for person in people)
        if len(set(short)) != len(short):
            raise InvalidInput("A chain names each person once.")
        return short

    def _pair(self, a: str, b: str) -> tuple[str, str]:
        one, other = self._one(a), self._one(b)
        if one == other:
            raise InvalidInput("That takes two different people.")
        return one, other

    def _one(self, person: str) -> str:
        id = identify(person)
        if not any(row[0] == "person" for row in self._named_rows([id], [], [], None)):
            raise UnknownPerson(
                f"Nobody here is called {_quoted(person)}.", self._near_people(person)
            )
        return id

    def _near_people(self, name: str) -> list[str]:
        return nearest(name, [p.name for p in self.people() if not p.gone])

    def _key(self, entity: str) -> str:
        return identify(entity)

    def _known(self, entity: str, reader: Reader | None, at: datetime | None) -> str:
        """The key of an entity that the reader may know of; an unreadable one is a missing one."""
        key = self._key(entity)
        known = self.entities(reader)
        if key not in known:
            key = next((k for k in known if k.casefold() == key.casefold()), key)
        if key not in known:
            wanted = whole(entity).strip().casefold()
            called = [k for k, name in known.items() if name.casefold() == wanted]
            key = called[0] if len(called) == 1 else key
        if key in known:
            with suppress(KeyError):
                return self._spoken_of(key, reader, at)
        names = [name for name in known.values()]
        raise UnknownEntity(f"Nothing is known about {_quoted(entity)}.", nearest(entity, names))

    def _spoken_of(self, key: str, reader: Reader | None, at: datetime | None) -> str:
        if at is not None and not self._rows("statements", WORLD, reader, _asked(at), [key]):
            raise KeyError(key)
        return key

    def _must_exist(
        self,
        key: str,
        entity: str,
        people: Sequence[str],
        reader: Reader | None,
        at: datetime | None,
    ) -> str:
        """The key under which the entity is known, for an answer that found nothing."""
        for person in people:
            self._one(person)
        return key if key in self.entities(reader) else self._known(entity, reader, at)

    def _scene(
        self,
        reader: Reader | None,
        at: datetime | None,
        entities: Sequence[str] | None,
        more_people: Sequence[str] = (),
    ) -> Scene:
        """Everything readable about these entities (default: all) as of a moment."""
        asked = _asked(at)
        query = "all_statements" if entities is None else "statements"
        found = answers.by_entity(self._rows(query, WORLD, reader, asked, entities))
        rows = [row for some in found.values() for row in some]
        rooms = {row.room for row in rows if row.room is not None}
        stays_in = self._stays(sorted(rooms), asked)
        people = {p for row in rows for p in (*row.people, row.by, row.about) if p}
        people |= {p for room in stays_in.values() for p in room} | set(more_people)
        named = self._named_rows(sorted(people), sorted(rooms), sorted(found), reader)
        left_out = {id for kind, id, _, hidden in named if kind == "person" and hidden}
        return Scene(found, asked, _names(named), stays_in, lambda p: p not in left_out)

    def _rows(
        self,
        query: str,
        graph: str,
        reader: Reader | None,
        at: int,
        entities: Sequence[str] | None = None,
    ) -> list[Row]:
        params: dict[str, Any] = {"at": at, **_reading(reader)}
        if entities is not None:
            params["entities"] = list(entities)
        rows = self._store.read(graph, query, **params)
        reads = partial(self._store.read, graph)
        audiences = large_audiences(rows, 12, reads)
        return [_row(row, audiences) for row in rows]

    def _stays(self, rooms: Sequence[str], at: int) -> dict[str, dict[str, list[Stay]]]:
        lines: dict[str, list[Line]] = {room: [] for room in rooms}
        for room, when, id, person, entered, presumed in self._store.read(
            WORLD, "moves", rooms=list(rooms)
        ):
            lines[room].append(Line(when, id, person, entered, presumed))
        # Cut only afterwards: whether a presumed entry counts can follow from a later line.
        return {
            room: {
                person: [Stay(since[0], until[0]) for since, until in stretches if since[0] <= at]
                for person, stretches in stays(own).items()
                if stretches and stretches[0][0][0] <= at
            }
            for room, own in lines.items()
        }

    def _names(
        self,
        people: Iterable[str],
        rooms: Iterable[str | None],
        entities: Iterable[str],
        more_people: Iterable[str | None] = (),
        reader: Reader | None = None,
    ) -> Names:
        everyone = {p for p in (*people, *more_people) if p}
        known_rooms = {r for r in rooms if r}
        return _names(
            self._named_rows(sorted(everyone), sorted(known_rooms), sorted(entities), reader)
        )

    def _named_rows(
        self,
        people: Sequence[str],
        rooms: Sequence[str],
        entities: Sequence[str],
        reader: Reader | None,
    ) -> list[list[Any]]:
        return self._store.read(
            WORLD, "names", people=list(people), known_rooms=list(rooms), entities=list(entities),
            **_reading(reader),
        )  # fmt: skip

    def _readers(self, people: Iterable[str], undescribed: bool) -> dict[str, Reader]:
        """What each may read; rooms that nobody described are open when the operator plans."""
        guests = {p.id for p in self.people() if p.guest}
        rooms = self.rooms()
        open_ = frozenset(r.id for r in rooms if r.open or (undescribed and not r.kind))
        return {
            person: Reader(
                person,
                frozenset(r.id for r in rooms if person in r.here)
                | (frozenset() if person in guests else open_),
            )
            for person in people
        }


# ------------------------------------------------------------------------------- plain values


def nearest(wanted: str, names: Iterable[str], most: int = 3) -> list[str]:
    """The names most like the wanted one, best first."""
    found = process.extract(
        wanted[:200], sorted(set(names)), scorer=fuzz.WRatio, processor=utils.default_process,
        limit=most, score_cutoff=_NEAR,
    )  # fmt: skip
    return [name for name, _, _ in found]


def _reading(reader: Reader | None) -> dict[str, Any]:
    if reader is None:
        return {"all": True, "rooms": [], "reader": "||", "person": ""}
    return {
        "all": False,
        "rooms": sorted(reader.rooms),
        "reader": bar([reader.person]),
        "person": reader.person,
    }


def _asked(at: datetime | None) -> int:
    return ALWAYS if at is None else to_micros(moment.validate_python(at))


def _names(named: Iterable[Sequence[Any]]) -> Names:
    found: dict[str, dict[str, str]] = {"person": {}, "room": {}, "entity": {}}
    for kind, id, name, _ in named:
        if name:
            found[kind][id] = name
    return Names(found["person"], found["room"], found["entity"])


def _row(row: Sequence[Any], audiences: Mapping[str, frozenset[str]]) -> Row:
    (at, id, kind, by, about, there, room, entity, value, same, decides, members, audience,
     people, since, until, grades, shown, retracted, alone, mentions, quote, link, name,
     parties, trusted) = row  # fmt: skip
    seen = witnesses_of(members, audience, people, since, until, grades, audiences)
    return Row(
        at, id, kind, by, about, bool(there), room, entity, value, same, bool(decides),
        seen.members, seen.sights, shown is not False, retracted or 0, bool(alone),
        unbar(mentions), quote, link, name, unbar(parties),
        None if trusted is None else unbar(trusted),
    )  # fmt: skip


def _called(entity: str) -> dict[str, Any]:
    """An entity's key and, where they differ, what it was called."""
    key = identify(entity)
    return {"entity": key, "name": None if key == entity else _shown(entity)}


def _described(person: PersonInfo) -> dict[str, Any]:
    row = person._asdict()
    del row["id"]
    return row | {key: _shown(row[key]) for key in ("name", "handle", "zone")}


def _room_row(name: str, kind: str) -> dict[str, Any]:
    return {"name": _shown(name), "kind": kind, "open": kind == "public"}


def _shown(name: str) -> str:
    return whole(name).replace("\0", "").strip()[:10_000]


def _in_words(error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"] if part != "function-after")
    reason = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"The {field or 'event'} cannot be recorded: {reason}."


def _quoted(name: str) -> str:
    """A name inside a sentence."""
    return repr(name if len(name) <= 80 else name[:80] + "…")
