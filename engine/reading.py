"""What a question looks up: rows, names, who was where, and which keys mean the same.

One `Reading` is one reader's view at one moment: whatever that reader may not read is not in it. It
knows the database by the names of queries and refuses to know what follows from the rows.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process, utils

from engine import answers
from engine.answers import Names, Scene, Stay
from engine.beliefs import Belief
from engine.errors import InvalidInput, UnknownEntity, UnknownPerson
from engine.events import moment, whole
from engine.links import Link, Links, folded, linked
from engine.recording import WORLD, bar, large_audiences, unbar, witnesses_of
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
_NEAR = 60  # likeness (0 to 100) from which a name is worth suggesting


LEFT_OUT = 2  # how the database marks who wants to be left out of every answer
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Reader(NamedTuple):
    """Who asks: what was said in `rooms` may be read, and private words by or to `person`."""

    person: str
    rooms: frozenset[str]


class PersonInfo(NamedTuple):
    """What the platform says of somebody. `gone`: deactivated. `guest`: reads only own rooms.
    `private`: wants to be left out of every answer."""

    id: str
    name: str
    handle: str = ""
    zone: str = ""
    guest: bool = False
    gone: bool = False
    bot: bool = False
    private: bool = False


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
    the world cannot be read.
    """

    def __init__(
        self,
        store: Graphs,
        reader: Reader | None = None,
        at: datetime | None = None,
        *,
        graph: str = WORLD,
        links: Links | None = None,
    ) -> None:
        self._store = store
        self._graph = graph
        self.reader = reader
        self.at = asked(at)
        if links is not None:
            self.links = links

    @cached_property
    def links(self) -> Links:
        """Which keys and names mean the same, as far as the reader may know."""
        rows = self._store.read(WORLD, "links", **reading(self.reader))
        return linked(Link(kind, name, entity) for kind, name, entity, _ in rows)

    # ---------------------------------------------------------------------------- who and where

    def people(self) -> list[PersonInfo]:
        """Everybody, those who want to be left out marked, in the order of their ids."""
        rows = self._store.read(WORLD, "people")
        return sorted(
            PersonInfo(
                id, name or id, handle or "", zone or "", bool(guest), bool(gone), bool(bot),
                bool(private),
            )
            for id, name, handle, zone, guest, gone, bot, private in rows
        )  # fmt: skip

    def rooms(self) -> list[RoomInfo]:
        """Every room, in the order of their ids."""
        rows = self._store.read(WORLD, "rooms")
        return sorted(
            RoomInfo(id, name or id, bool(open_), unbar(here), kind or "", bool(archived))
            for id, name, open_, here, kind, archived in rows
        )

    def entities(self) -> dict[str, str]:
        """The entities that were spoken of where the reader may read: key to name."""
        rows = self._store.read(self._graph, "entities", **reading(self.reader))
        names = {id: name or id for id, name in sorted(rows)}
        return {
            self.links.key(id): names.get(self.links.key(id), name) for id, name in names.items()
        }

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
        named = self._named_rows([id], [], [])
        if any(row[0] == "person" and row[3] != LEFT_OUT for row in named):
            return id
        near = [p.name for p in self.people() if not p.gone and not p.private and not p.bot]
        raise UnknownPerson(f"Nobody here is called {quoted(person)}.", nearest(person, near))

    def known(self, entity: str) -> str:
        """The key of an entity that the reader may know of; an unreadable one is a missing one."""
        known = self.entities()
        key = self._meant(entity, known)
        if key is None or (self.at != ALWAYS and not self.rows("statements", [key])):
            near = nearest(entity, known.values())
            raise UnknownEntity(f"Nothing is known about {quoted(entity)}.", near)
        return key

    def _meant(self, entity: str, known: Mapping[str, str]) -> str | None:
        """By key, by confirmed alias, by key in another case, by the name people read."""
        wanted = folded(whole(entity))
        key = self.links.key(identify(entity))
        if key in known:
            return key
        if self.links.aliases.get(wanted) in known:
            return self.links.aliases[wanted]
        for same in (
            [k for k in known if k.casefold() == key.casefold()],
            [k for k, name in known.items() if folded(name) == wanted],
        ):
            if len(same) > 1:
                which = ", ".join(sorted(same))
                raise UnknownEntity(f"More than one decision is called {quoted(entity)}: {which}.")
            if same:
                return same[0]
        return None

    # ---------------------------------------------------------------------------- rows and names

    def scene(self, entities: Sequence[str] | None, more_people: Iterable[str] = ()) -> Scene:
        """Everything readable about these entities (default: all)."""
        query = "all_statements" if entities is None else "statements"
        found = answers.by_entity(self.rows(query, entities))
        rows = [row for some in found.values() for row in some]
        rooms = {row.room for row in rows if row.room is not None}
        stays_in = self.stays(sorted(rooms))
        people = {p for row in rows for p in (*row.people, row.by, row.about) if p}
        people |= {p for room in stays_in.values() for p in room} | set(more_people)
        named = self._named_rows(people, rooms, found)
        left_out = {id for kind, id, _, hidden in named if kind == "person" and hidden}
        return Scene(
            found,
            self.at,
            _names(named),
            stays_in,
            lambda p: p not in left_out and not is_somebody(p),
        )

    def rows(
        self, query: str, entities: Iterable[str] | None = None, graph: str | None = None
    ) -> list[Row]:
        """The statements about some entities (with whatever is merged into them), or about all."""
        graph = graph or self._graph
        params: dict[str, Any] = {"at": self.at, **reading(self.reader)}
        if entities is not None:
            params["entities"] = [key for entity in entities for key in self.links.keys(entity)]
        rows = self._store.read(graph, query, **params)
        audiences = large_audiences(rows, 12, partial(self._store.read, graph))
        found = [_row(row, audiences) for row in rows]
        if not self.links.merged:
            return found
        return [row._replace(entity=self.links.key(row.entity)) for row in found]

    def believed(self, chain: Chain, entity: str, graph: str | None = None) -> list[list[Any]]:
        """What a chain believes about the entity of a key, as one row for `belief_of`, or none."""
        bars = [f"|{person}|" for person in chain]
        return self._store.read(
            graph or self._graph,
            "believes",
            entities=self.links.keys(entity),
            chain=bars,
            before_last=bars[:-1],
            **{f"c{i}": bars[min(i, len(bars) - 1)] for i in range(4)},
            more=bars[4:],
            first=chain[0],
            last=chain[-1],
            at=self.at,
            **reading(self.reader),
        )

    def stays(self, rooms: Sequence[str]) -> dict[str, dict[str, list[Stay]]]:
        """Who was in these rooms, from when to when, as far as it had begun."""
        lines: dict[str, list[Line]] = {room: [] for room in rooms}
        for room, when, id, person, entered, presumed in self._store.read(
            WORLD, "moves", rooms=list(rooms)
        ):
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

    def names(
        self,
        people: Iterable[str | None],
        rooms: Iterable[str | None],
        entities: Iterable[str],
    ) -> Names:
        return _names(self._named_rows(people, rooms, entities))

    def _named_rows(
        self,
        people: Iterable[str | None],
        rooms: Iterable[str | None],
        entities: Iterable[str],
    ) -> list[list[Any]]:
        return self._store.read(
            self._graph,
            "names",
            people=sorted({p for p in people if p}),
            known_rooms=sorted({r for r in rooms if r}),
            entities=sorted(entities),
            **reading(self.reader),
        )


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


def asked(at: datetime | None) -> int:
    return ALWAYS if at is None else to_micros(moment.validate_python(at))


def _names(named: Iterable[Sequence[Any]]) -> Names:
    found: dict[str, dict[str, str]] = {"person": {}, "room": {}, "entity": {}}
    left_out = set[str]()
    for kind, id, name, hidden in named:
        if name:
            found[kind][id] = name
        if hidden == LEFT_OUT:
            left_out.add(id)
    return Names(found["person"], found["room"], found["entity"], frozenset(left_out))


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
    members, people, sight_since, sight_until, grades, *_ = seen_by
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
