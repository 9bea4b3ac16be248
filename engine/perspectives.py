"""A mind drawn as nested perspectives, each holding only what differs from the one it is in; pure.

For people who want to look at a mind. Answers are never read from here: a mind holds events, and
what follows from them is computed when it is asked (`engine.rules`). It refuses to know where the
drawing is kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import Any, NamedTuple

from engine.answers import by_entity, how
from engine.errors import InvalidInput
from engine.recording import bar
from engine.rules import FOREVER, Chain, Held, Row, belief, groups, is_somebody

DEEPEST = 4
MOST = 200_000  # perspectives and beliefs of one drawing: they are written in one transaction
_ROWS = 5_000  # written by one query of it
_STRANGER = -1  # the kind of whoever has nothing to do with an entity


def drawing(person: str) -> str:
    """The short name of the scratch graph in which a person's mind is drawn."""
    return f"view:{person}"


class Stretch(NamedTuple):
    """From `since` until before `until` (None: it still does) a perspective holds another value than
    the one it is in. `value` None: nothing, while the other holds something."""

    entity: str
    value: str | None
    since: int
    until: int | None
    via: str
    by: str | None
    event: str | None


class Perspective(NamedTuple):
    """`chain` A, B is what A thinks that B believes; `within` is the number of the perspective it is
    in, which comes before it in the list, None for the first."""

    chain: Chain
    within: int | None
    holds: tuple[Stretch, ...]


def known_people(person: str, rows: Iterable[Row]) -> list[str]:
    """The person, and everybody who is named in what the person witnessed."""
    found = {person}
    for row in rows:
        found |= {*row.people, *(one for one in (row.by, row.about) if one)}
    return sorted(one for one in found if not is_somebody(one))


def perspectives(
    person: str, people: Sequence[str], rows: Sequence[Row], depth: int
) -> list[Perspective]:
    """Those that differ from the one they are in at any time, and those that such a one is in; the
    person's own comes first, a shorter chain before a longer one.

    `people`: whom chains are made of. A perspective that is missing equals the one it would be in.
    """
    if not 1 <= depth <= DEEPEST:
        raise InvalidInput(f"A mind is drawn to a depth of 1 to {DEEPEST}.")
    others = [one for one in people if one != person]
    _bounded(1 + sum(_chains(len(others), d) for d in range(1, depth)))
    matters = [_Matter(entity, some) for entity, some in sorted(by_entity(rows).items())]
    kept: dict[Chain, list[Stretch]] = {}
    size = 0

    def grow(chain: Chain, before: Sequence[tuple[_Matter, tuple[int, ...]]]) -> bool:
        nonlocal size
        holds: list[Stretch] = []
        here: list[tuple[_Matter, tuple[int, ...]]] = []
        for matter, kinds in before:
            kinds = (*kinds, matter.kind(chain[-1]))
            holds += matter.stretches(kinds)
            if _STRANGER not in kinds:
                here.append((matter, kinds))  # beyond a stranger nobody knows anything of it
        needed = bool(holds)
        if here and len(chain) < depth:
            for other in others:
                if other not in chain:
                    needed |= grow((*chain, other), here)
        if needed or len(chain) == 1:
            kept[chain] = holds
            size = _bounded(size + 1 + len(holds))
        return needed

    grow((person,), [(matter, ()) for matter in matters])
    order = {chain: n for n, chain in enumerate(sorted(kept, key=lambda c: (len(c), c)))}
    return [Perspective(chain, order.get(chain[:-1]), tuple(kept[chain])) for chain in order]


def _chains(others: int, more: int) -> int:
    """How many chains of one person and so many more different ones there are."""
    count = 1
    for used in range(more):
        count *= max(0, others - used)
    return count


def _bounded(size: int) -> int:
    if size > MOST:
        raise InvalidInput(
            f"So deep, that mind has more than {MOST:,} perspectives and beliefs: draw it less deep."
        )
    return size


class _Matter:
    """One entity, as everybody may have known it at every moment at which anything changed.

    People who witnessed alike believe alike, and are one kind; so are all who have nothing to do
    with it.
    """

    def __init__(self, entity: str, rows: Sequence[Row]) -> None:
        self._entity = entity
        self._rows = rows
        self._kinds: dict[str, int] = {}
        self._faces: dict[int, str] = {}
        for n, people in enumerate(_alike(rows)):
            self._kinds |= dict.fromkeys(people, n)
            self._faces[n] = people[0]
        # Trust (policy exit_order) goes by who is where in the chain, everything else does not.
        self._ordered = any(row.trusted is not None for row in rows)
        moments = {row.at for row in rows}
        for row in rows:
            moments |= {moment for s in row.sights for moment in (s.since, s.until)}
        self._moments = sorted(moments - {FOREVER})
        self.stretches = cache(self._stretches)
        self._held = cache(self._held_by)

    def kind(self, person: str) -> int:
        return self._kinds.get(person, _STRANGER)

    def _stretches(self, kinds: tuple[int, ...]) -> list[Stretch]:
        """Where the chain holds another value than the chain without its last person."""
        own = self._of(kinds)
        outer = self._of(kinds[:-1])
        found: list[Stretch] = []
        face = tuple(self._faces.get(kind, "") for kind in kinds)
        ends = [*self._moments[1:], None]
        for since, until, here, there in zip(self._moments, ends, own, outer, strict=True):
            if _value(here) == _value(there):
                continue
            row = here.row if here else None
            absent = row is None or (there is not None and row.moment < there.row.moment)
            via = "retained" if absent or row is None else how(row, face)
            said = (None, None, None) if row is None else (row.value, row.by, row.id)
            value, by, event = said
            if found and found[-1].until == since and found[-1][4:] == (via, by, event):
                found[-1] = found[-1]._replace(until=until)
            else:
                found.append(Stretch(self._entity, value, since, until, via, by, event))
        return found

    def _of(self, kinds: tuple[int, ...]) -> Sequence[Held | None]:
        if not kinds or _STRANGER in kinds:
            return [None] * len(self._moments)
        if not self._ordered and len(kinds) > 2:
            kinds = (*sorted(set(kinds[:-1])), kinds[-1])
        return self._held(kinds)

    def _held_by(self, kinds: tuple[int, ...]) -> Sequence[Held | None]:
        face = tuple(self._faces[kind] for kind in kinds)
        return [belief(self._rows, face, moment) for moment in self._moments]


def _value(held: Held | None) -> str | None:
    return held.row.value if held else None


def _alike(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    """Groups of people who believe the same; who trusts a speaker is apart from who does not."""
    for people in groups(rows):
        apart: dict[tuple[bool, ...], list[str]] = {}
        for person in people:
            trusts = tuple(person in (row.trusted or ()) for row in rows)
            apart.setdefault(trusts, []).append(person)
        yield from apart.values()


# ------------------------------------------------------------------------------- as a graph


def drawn(
    found: Sequence[Perspective], people: Iterable[str], titles: dict[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The queries that write a drawing into an empty graph, in this order, with what they take.

    `people`: whom the mind knows. Nodes are numbered in the order of their creation, which is how
    edges name them.
    """
    values = sorted({s.value for one in found for s in one.holds if s.value is not None})
    names: list[str | None] = [None, *values]
    number = {value: len(found) + n for n, value in enumerate(names)}
    for some in _some(found):
        yield "draw_perspectives", {"rows": [_node(one, people, titles) for one in some]}
    for batch in _some(names):
        rows = [{"name": name or "", "unknown": True if name is None else None} for name in batch]
        yield "draw_values", {"rows": rows}
    inside = [[n, one.within] for n, one in enumerate(found) if one.within is not None]
    for pairs in _some(inside):
        yield "draw_inherits", {"rows": pairs}
    beliefs = [
        {"from": n, "to": number[s.value], "belief": _edge(s)}
        for n, one in enumerate(found)
        for s in one.holds
    ]
    for edges in _some(beliefs):
        yield "draw_beliefs", {"rows": edges}


def _node(one: Perspective, people: Iterable[str], titles: dict[str, str]) -> dict[str, Any]:
    return {
        "chain": path_of(one.chain),
        "title": " > ".join(titles.get(person, person) for person in one.chain),
        "depth": len(one.chain),
        "person": one.chain[-1],
        "people": bar(people) if one.within is None else None,
    }


def _edge(stretch: Stretch) -> dict[str, Any]:
    return {
        "entity": stretch.entity,
        "active": stretch.until is None,
        "t": stretch.since,
        "until": stretch.until,
        "via": stretch.via,
        "src": stretch.by,
        "event": stretch.event,
    }


def path_of(chain: Sequence[str]) -> str:
    """A chain as its perspective is called; no id holds the mark between two."""
    return ">".join(chain)


def _some[T](rows: Sequence[T]) -> Iterator[Sequence[T]]:
    cuts = [*range(0, len(rows), _ROWS), len(rows)]
    for start, end in pairwise(cuts):
        yield list(islice(rows, start, end))
