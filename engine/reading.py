"""What a question looks up: rows, names, who was where, and which keys mean the same.

One `Reading` is one reader's view at one moment: whatever that reader may not read is not in it. It
knows the database by the names of queries and refuses to know what follows from the rows.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process, utils

from engine import answers
from engine.answers import Names, Scene, Stay
from engine.beliefs import Belief
from engine.directory import NOBODY, Directory, PersonInfo
from engine.errors import InvalidInput, UnknownEntity, UnknownPerson
from engine.events import moment, whole
from engine.links import Link, Links, folded
from engine.recording import WORLD, bar, unbar, witnesses_of
from engine.rules import (
    FOREVER,
    Chain,
    Line,
    Row,
    from_micros,
    grade_of,
    is_somebody,
    shortened,
    stays,
    to_micros,
)
from engine.store import Graphs

ALWAYS = FOREVER - 1  # "now", for a question without a moment: nothing recorded is later
NEWEST = 3  # so long a chain `believes_newest` can be asked about
RECENT = 32  # nodes written last, which show how far back a belief is worth looking for at first
MANY = 64  # nodes of a graph from which on that saves anything
_NEAR = 60  # likeness (0 to 100) from which a name is worth suggesting


_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Reader(NamedTuple):
    """Who asks: what was said in `rooms` may be read, and private words by or to `person`."""

    person: str
    rooms: frozenset[str]


class RoomInfo(NamedTuple):
    """`open`: every full member may read it. `here`: who is in it now. `archived`: nobody can write."""

    id: str
    name: str
    open: bool = False
    here: frozenset[str] = frozenset()
    kind: str = ""
    archived: bool = False


def is_id(text: str) -> bool:
    return bool(_ID.fullmatch(text))


def identify(name: str) -> str:
    """The id for a name: the name itself where it can be one, else a stable mark made of it."""
    name = whole(name).strip()
    if not name or "\0" in name:
        raise InvalidInput("A name is missing: it is empty.")
    if _ID.fullmatch(name):
        return name
    return "x" + hashlib.sha256(name.encode()).hexdigest()[:20]


class Reading:
    """`reader` None is the operator, who may read everything; `at` None is now.

    `graph`: what is looked at; of a mind only the statements can be. `links` are handed in where
    the world cannot be read, and then there is no `directory` either.
    """

    def __init__(
        self,
        store: Graphs,
        reader: Reader | None = None,
        at: datetime | None = None,
        *,
        graph: str = WORLD,
        links: Links | None = None,
        directory: Directory | None = None,
    ) -> None:
        self._store = store
        self._kept = directory
        self._graph = graph
        self.reader = reader
        self.at = asked(at)
        if links is not None:
            self.links = links

    @cached_property
    def directory(self) -> Directory:
        """Who and which rooms there are, as of this reading."""
        assert self._kept is not None, "a mind holds no directory"
        self._kept.refresh()
        return self._kept

    @cached_property
    def links(self) -> Links:
        """Which keys and names mean the same, as far as the reader may know."""
        return self._links_in(self.directory)

    def _links_in(self, directory: Directory) -> Links:
        """A merge counts for who may read where it was confirmed, and something of both sides:
        else an unreadable key would answer as what it was merged into, and a missing one would not."""
        if self.reader is None:
            return directory.links(None)
        links = directory.links(self.reader.rooms)
        if not links.merged:
            return links
        keys = sorted({key for one in directory.confirmed(self.reader.rooms) for key in one.keys})
        rows = self._store.read(WORLD, "entity_names", entities=keys, **reading(self.reader))
        return directory.links(self.reader.rooms, {id for id, _ in rows})

    # ---------------------------------------------------------------------------- who and where

    def people(self) -> list[PersonInfo]:
        """Everybody, those who want to be left out marked, in the order of their ids."""
        self.directory.reload()  # people come without being described
        return sorted(self.directory.people.values())

    def rooms(self) -> list[RoomInfo]:
        """Every room, in the order of their ids."""
        rows = self._store.read(WORLD, "rooms")
        return sorted(
            RoomInfo(id, name or id, bool(open_), unbar(here), kind or "", bool(archived))
            for id, name, open_, here, kind, archived in rows
        )

    def entities(self) -> dict[str, str]:
        """The entities that were spoken of where the reader may read: key to name."""
        return self._as_answered(self.entities_apart())

    def _as_answered(self, names: Mapping[str, str]) -> dict[str, str]:
        return {
            self.links.key(id): names.get(self.links.key(id), name) for id, name in names.items()
        }

    def entities_apart(self) -> dict[str, str]:
        """The same, those that were merged each by itself."""
        rows = self._store.read(self._graph, "entities", **reading(self.reader))
        return {id: name or id for id, name in sorted(rows)}

    def readers(self, people: Iterable[str], undescribed: bool = False) -> dict[str, Reader]:
        """What each may read now: the rooms they are in, and open ones unless they are a guest.

        `undescribed`: rooms that nobody described are open too.
        """
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

    # ---------------------------------------------------------------------------- what is meant

    def chain(self, chain: str | Sequence[str]) -> tuple[str, ...]:
        people = [chain] if isinstance(chain, str) else list(chain)
        if not people:
            raise InvalidInput("A chain names at least one person.")
        short = shortened(identify(person) for person in people)
        if len(set(short)) != len(short):
            raise InvalidInput("A chain names each person once.")
        return short

    def pair(self, a: str, b: str) -> tuple[str, str]:
        one, other = self.one(a), self.one(b)
        if one == other:
            raise InvalidInput("That takes two different people.")
        return one, other

    def one(self, person: str) -> str:
        """The id of a person who may be asked about; who wants to be left out is not there."""
        id = identify(person)
        if id not in self.directory.people:
            self.directory.reload()
        if id in self.directory.people and id not in self.directory.left_out:
            return id
        near = [
            p.name for p in self.directory.people.values() if not (p.gone or p.private or p.bot)
        ]
        raise UnknownPerson(f"Nobody here is called {quoted(person)}.", nearest(person, near))

    def known(self, entity: str) -> str:
        """The key of an entity that the reader may know of; an unreadable one is a missing one."""
        return self.found(entity)[0]

    def found(self, entity: str) -> tuple[str, list[Row]]:
        """The key of an entity that the reader may know of, and what was said about it."""
        key = self.links.key(identify(entity))
        rows = self.rows("statements", [key])
        if not rows:
            known = self.entities_apart()
            meant = self._meant(entity, known, self.links)
            rows = self.rows("statements", [meant]) if meant not in (None, key) else []
            if meant is None or not rows:
                near = nearest(entity, self._as_answered(known).values())
                raise UnknownEntity(f"Nothing is known about {quoted(entity)}.", near)
            key = meant
        return key, rows

    def said(self, entity: str) -> str:
        """The key under which something is spoken of, whatever it was merged into."""
        known = self.entities_apart()
        meant = self._meant(entity, known, Links({}, self.links.aliases))
        if meant is None:
            near = nearest(entity, known.values())
            raise UnknownEntity(f"Nothing is known about {quoted(entity)}.", near)
        return meant

    def _meant(self, entity: str, known: Mapping[str, str], links: Links) -> str | None:
        """By key, by confirmed alias, by key in another case, by the name people read."""
        wanted = folded(whole(entity))
        key = identify(entity)
        if key in known:
            return links.key(key)
        if links.aliases.get(wanted) in known:
            return links.key(links.aliases[wanted])
        for same in (
            {links.key(k) for k in known if k.casefold() == key.casefold()},
            {links.key(k) for k, name in known.items() if folded(name) == wanted},
        ):
            if len(same) > 1:
                which = ", ".join(sorted(same))
                raise UnknownEntity(f"More than one decision is called {quoted(entity)}: {which}.")
            if same:
                return same.pop()
        return None

    # ---------------------------------------------------------------------------- rows and names

    def scene_of(self, entity: str) -> tuple[str, Scene]:
        """The key of an entity, and everything readable about it."""
        key, rows = self.found(entity)
        return key, self._scene({key: rows})

    def scene(self, entities: Sequence[str] | None = None) -> Scene:
        """Everything readable about these entities (default: all)."""
        query = "all_statements" if entities is None else "statements"
        return self._scene(answers.by_entity(self.rows(query, entities)))

    def _scene(self, found: dict[str, list[Row]]) -> Scene:
        hidden = self.directory.hidden
        return Scene(
            found,
            self.at,
            self._names({key: _called(rows) for key, rows in found.items()}),
            lambda p: p not in hidden and not is_somebody(p),
            self._merges() if self.links.merged else (),
        )

    def _merges(self) -> list[tuple[Link, str | None]]:
        found = self.directory.confirmed(None if self.reader is None else self.reader.rooms)
        return [(one.link, one.room) for one in found if one.link.kind == "merge"]

    def _names(self, entities: dict[str, str]) -> Names:
        known = self.directory
        return Names(known.names, known.rooms, entities, known.left_out, known.refs)

    def rows(
        self, query: str, entities: Iterable[str] | None = None, graph: str | None = None
    ) -> list[Row]:
        """The statements about some entities (with whatever is merged into them), or about all."""
        graph = graph or self._graph
        params: dict[str, Any] = {"at": self.at, **reading(self.reader)}
        if entities is not None:
            params["entities"] = [key for entity in entities for key in self.links.keys(entity)]
        rows = self._store.read(graph, query, **params)
        audiences = self._audiences({row[12] for row in rows if row[12]}, graph)
        found = [_row(row, audiences) for row in rows]
        if not self.links.merged:
            return found
        return [self._answered(row) for row in found]

    def _answered(self, row: Row) -> Row:
        """Under the key under which this reader is answered about it."""
        key = self.links.key(row.entity)
        return row if key == row.entity else row._replace(entity=key, merged=row.entity)

    def _audiences(self, ids: Iterable[str], graph: str) -> dict[str, frozenset[str]]:
        def read(missing: Sequence[str]) -> dict[str, frozenset[str]]:
            rows = self._store.read(graph, "audiences", ids=list(missing))
            return {id: _people_of(members) for id, members in rows}

        if not ids:
            return {}
        return read(sorted(ids)) if self._kept is None else self._kept.audiences(ids, read)

    def believed(self, chain: Chain, entity: str, graph: str | None = None) -> list[list[Any]]:
        """What a chain believes about the entity of a key, as one row for `belief_of`, or none."""
        graph = graph or self._graph
        if self._kept is None:
            return self._store.read(graph, "believes", **self._asks(chain, entity))
        # With the links as they were last known: if they have changed, it is asked again.
        self.links = self._links_in(self._kept)
        keys = self.links.keys(entity)
        rows, version, simple = list[list[Any]](), NOBODY, False
        if self.reader is None and len(keys) == 1 and len(chain) <= NEWEST:
            bars = {f"c{i}": f"|{chain[min(i, len(chain) - 1)]}|" for i in range(NEWEST)}
            rows, version = self._kept.read_versioned(
                graph, "believes_newest", entity=keys[0], at=self.at, **_back(), **bars
            )
            simple = bool(rows) and rows[0][0] is not None and not rows[0][-1]
            rows = [row[:-1] for row in rows]
        if not simple:
            rows, version = self._kept.read_versioned(
                graph, "believes", **self._asks(chain, self.links.key(entity))
            )
        if self._kept.refresh(version):
            return self.believed(chain, entity, graph)
        self.directory = self._kept
        return rows

    def _asks(self, chain: Chain, entity: str) -> dict[str, Any]:
        bars = [f"|{person}|" for person in chain]
        return {
            "entities": self.links.keys(entity),
            "chain": bars,
            "before_last": bars[:-1],
            **{f"c{i}": bars[min(i, len(bars) - 1)] for i in range(4)},
            "more": bars[4:],
            "first": chain[0],
            "last": chain[-1],
            "at": self.at,
            **_back(),
            **reading(self.reader),
        }

    def lines(self, rooms: Sequence[str]) -> dict[str, list[Line]]:
        """Every membership line of these rooms."""
        lines: dict[str, list[Line]] = {room: [] for room in rooms}
        for room, when, id, person, entered, presumed in self._store.read(
            WORLD, "moves", rooms=list(rooms)
        ):
            lines[room].append(Line(when, id, person, entered, presumed))
        return lines

    def elsewhere(self, rows: Iterable[Row]) -> dict[str, dict[str, list[Stay]]]:
        """Where those were, in the rooms of these rows, who were in no audience: room to person to
        stays, as far as they had begun. Who was in an audience believes something, and nobody asks.
        """
        # Under trust (policy exit_order) hearing is not yet believing.
        audiences = {row.members for row in rows if row.trusted is None}
        lines: dict[str, list[Line]] = {row.room: [] for row in rows if row.room is not None}
        wanted = list[str]()
        for room, here, left in self._store.read(WORLD, "visitors", rooms=sorted(lines)):
            others = unbar(here).union(left)
            for audience in audiences:
                others -= audience
            wanted += (f"{room}|{person}" for person in sorted(others))
        found = self._store.read(WORLD, "moves_of_some", stays=wanted) if wanted else []
        for room, when, id, person, entered, presumed in found:
            lines[room].append(Line(when, id, person, entered, presumed))
        # Cut only afterwards: whether a presumed entry counts can follow from a later line.
        return {
            room: {
                person: [Stay(since, until) for since, until in stretches if since[0] <= self.at]
                for person, stretches in stays(own).items()
                if stretches and stretches[0][0][0] <= self.at
            }
            for room, own in lines.items()
        }

    def names(self, entities: Iterable[str] = ()) -> Names:
        """What people read; of the entities, what these were first called."""
        called = self.entity_names(entities)
        return Names({}, {}, called) if self._kept is None else self._names(called)

    def entity_names(self, entities: Iterable[str]) -> dict[str, str]:
        keys = sorted(entities)
        if not keys:
            return {}
        rows = self._store.read(self._graph, "entity_names", entities=keys, **reading(self.reader))
        return {id: name for id, name in rows if name}


# ------------------------------------------------------------------------------- plain values


def nearest(wanted: str, names: Iterable[str], most: int = 3) -> list[str]:
    """The names most like the wanted one, best first."""
    found = process.extract(
        wanted[:200], sorted(set(names)), scorer=fuzz.WRatio, processor=utils.default_process,
        limit=most, score_cutoff=_NEAR,
    )  # fmt: skip
    return [name for name, _, _ in found]


def reading(reader: Reader | None) -> dict[str, Any]:
    if reader is None:
        return {"all": True, "rooms": [], "reader": "||", "person": ""}
    return {
        "all": False,
        "rooms": sorted(reader.rooms),
        "reader": bar([reader.person]),
        "person": reader.person,
    }


def _back() -> dict[str, int]:
    """How far back a belief is looked for at first; it never shows in the answer."""
    return {"recent": RECENT, "many": MANY}


def asked(at: datetime | None) -> int:
    return ALWAYS if at is None else to_micros(moment.validate_python(at))


def _called(rows: Iterable[Row]) -> str:
    """What the entity of these rows was first called; empty where it was called by its key."""
    named = ((row.moment, row.name) for row in rows if row.name)
    return min(named, default=((0, ""), ""))[1]


def _people_of(members: str) -> frozenset[str]:
    """A large audience; a name that stands in many of them is one string in all."""
    return frozenset(map(sys.intern, members.strip("|").split("|")))


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


def belief_of(
    rows: Sequence[Sequence[Any]], chain: Chain, entity: str, names: Names, at: int
) -> Belief:
    """What `Reading.believed` found, as an answer."""
    refs, about = tuple(names.person(person) for person in chain), names.entity(entity)
    if not rows:
        return Belief(chain=refs, entity=about)
    id, when, since, value, kind, by, room, quote, link, told, retracted, *seen_by = rows[0]
    members, people, sight_since, sight_until, grades, _ = seen_by
    # A large audience is not read again: the chain was found to be in it.
    seen = witnesses_of(members or bar(chain), None, people, sight_since, sight_until, grades, {})
    row = Row(
        when, id, kind, by, told, False, room, entity, value, "", False, seen.members,
        seen.sights, retracted=retracted, quote=quote, link=link,
    )  # fmt: skip
    return Belief(
        chain=refs,
        entity=about,
        value=value,
        how=answers.how(row, chain),
        since=from_micros(since),
        evidence=answers.evidence(row, names, grade_of(row, chain[0], at)),
    )


def quoted(name: str) -> str:
    """A name inside a sentence."""
    return repr(name if len(name) <= 80 else name[:80] + "…")
