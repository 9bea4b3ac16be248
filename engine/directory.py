"""Who and which rooms there are, and what was confirmed to mean the same, kept until it changes.

Everybody who describes, links or forgets raises the workspace's version in the same transaction; a
directory is read anew when the version it was read at is not the one that holds. It refuses to
know who may read what: names of people and rooms are common knowledge, links are filtered for a
reader.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from engine.beliefs import Ref
from engine.links import Link, Links, linked
from engine.rules import is_somebody
from engine.store import Rows

type Audiences = Callable[[Sequence[str]], dict[str, frozenset[str]]]

NOBODY = -1
KEPT = 250_000
"""Up to so many names are kept in large audiences (some 10 MB), or those of one question."""

LEFT_OUT = 2  # how the database marks who wants to be left out of every answer


class Confirmed(NamedTuple):
    """A link, where somebody confirmed it (None: for everybody), and when, in microseconds."""

    link: Link
    room: str | None
    at: int

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it merges; an alias merges none."""
        return (self.link.name, self.link.entity) if self.link.kind == "merge" else ()


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


class World(Protocol):
    """What a directory is read from."""

    def read(self, graph: str, query: str, **params: Any) -> Rows: ...
    def read_versioned(self, graph: str, query: str, **params: Any) -> tuple[Rows, int]: ...
    def version(self) -> int: ...


class Directory:
    """One workspace's; `refresh` makes it current, everything else answers from what it holds."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._version = NOBODY
        self._links: list[Confirmed] = []
        self.people: dict[str, PersonInfo] = {}
        self.names: dict[str, str] = {}
        self.rooms: dict[str, str] = {}
        self.left_out: frozenset[str] = frozenset()
        self.hidden: frozenset[str] = frozenset()
        self.refs: dict[str, Ref] = {}
        self._audiences: dict[str, frozenset[str]] = {}

    def refresh(self, version: int | None = None) -> bool:
        """Makes it current (as of `version`, where that was just read); whether it was not."""
        current = self._world.version() if version is None else version
        if current == self._version:
            return False
        self.reload(current)
        return True

    def reload(self, version: int | None = None) -> None:
        """Reads everything anew, also people who came without being described."""
        current = self._world.version() if version is None else version
        people = [person(row) for row in self._world.read("world", "people")]
        self.people = {one.id: one for one in people}
        self.names = {one.id: one.name for one in people}
        self.refs = {p.id: Ref(id=p.id, name=p.name) for p in people if not is_somebody(p.id)}
        self.left_out = frozenset(one.id for one in people if one.private)
        self.hidden = frozenset(one.id for one in people if one.private or one.bot or one.gone)
        self.rooms = {id: name for id, name in self._world.read("world", "room_names") if name}
        self._audiences = {}
        links = self._world.read("world", "links", all=True, rooms=[])
        self._links = [
            Confirmed(Link(kind, name, key), room, at) for kind, name, key, room, at in links
        ]
        self._version = current

    def read_versioned(self, graph: str, query: str, **params: Any) -> tuple[Rows, int]:
        """A read, and the version that this directory should have to go with it."""
        return self._world.read_versioned(graph, query, **params)

    def audiences(self, ids: Iterable[str], read: Audiences) -> dict[str, frozenset[str]]:
        """The people of large audiences, read unless they are kept: an audience is called after who
        is in it, so it never changes. When somebody is forgotten, those who kept it drop it."""
        wanted, kept = set(ids), self._audiences
        missing = sorted(wanted - kept.keys())
        if not missing:
            return {id: kept[id] for id in wanted}
        asked = {id: kept[id] for id in wanted & kept.keys()} | read(missing)
        if self._audiences is kept:  # else it was read anew meanwhile, by another thread
            full = sum(map(len, kept.values())) + sum(map(len, asked.values())) > KEPT
            self._audiences = asked if full else kept | asked
        return asked

    def links(self, rooms: Iterable[str] | None, readable: Collection[str] | None = None) -> Links:
        """What was confirmed in these rooms, or for everybody; None is everything."""
        if not self._links:
            return NO_LINKS
        return linked((one.link for one in self.confirmed(rooms)), readable)

    def confirmed(self, rooms: Iterable[str] | None) -> list[Confirmed]:
        """Each link that was confirmed in these rooms, or for everybody; None is everything."""
        known = None if rooms is None else set(rooms)
        return [
            one for one in self._links if known is None or one.room is None or one.room in known
        ]


NO_LINKS = linked(())


def person(row: list[object]) -> PersonInfo:
    id, name, handle, zone, guest, gone, bot, private = row
    return PersonInfo(
        str(id), str(name or id), str(handle or ""), str(zone or ""),
        bool(guest), bool(gone), bool(bot), bool(private),
    )  # fmt: skip
