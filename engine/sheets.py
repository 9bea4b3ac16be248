"""The rows of one entity as bits, for asking about many people at once; pure.

It gives exactly what `rules.belief` and `rules.decisions` give (a test holds it to them), and knows no
other rule. A thousand people who witnessed twenty statements are a few groups, and a pair of groups
costs a few operations on integers: second order is never asked pair by pair.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from engine.rules import Chain, Held, Row, belief, groups, settles


class _Seen(NamedTuple):
    """What somebody witnessed: a bit per row, and since when where that was later than it was said."""

    rows: int
    late: dict[int, int]


class Sheet:
    """Rows in order, the newest highest, asked at one moment."""

    def __init__(self, rows: Sequence[Row], at: int) -> None:
        self.rows = sorted((row for row in rows if row.at <= at), key=lambda row: row.moment)
        self.at = at
        self._displacing = 0
        self._said: dict[str, int] = defaultdict(int)
        self._reported: dict[str, int] = defaultdict(int)
        self._audiences: dict[frozenset[str], int] = defaultdict(int)
        self._sights: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self._by_trust = any(row.trusted is not None for row in self.rows)
        for i, row in enumerate(self.rows):
            bit = 1 << i
            self._audiences[row.members] |= bit
            for sight in row.sights:
                self._sights[sight.person].append((i, sight.since, sight.until))
            if row.decides or row.kind == "tell":
                self._displacing |= bit
            if row.by is not None:
                self._said[row.by] |= bit
            if row.kind == "report" and row.about is not None and not row.there:
                self._reported[row.about] |= bit
        self._seen: dict[str, _Seen] = {}

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """The people of the rows, alike together: see `rules.groups`."""
        return groups(self.rows)

    @cached_property
    def holding(self) -> list[Held | None]:
        """What each of the groups believes."""
        return [self.held((together[0],)) for together in self.groups]

    @cached_property
    def decisions(self) -> list[Row]:
        """What settled the value, oldest first: see `rules.decisions`."""
        places = {row.id: i for i, row in enumerate(self.rows)}

        def before(row: Row, author: str) -> Held | None:
            i = places[row.id]
            if self._by_trust:
                return belief(self.rows[:i], (author,), row.at)
            seen = (
                self._seen_at(author, row.at) if author in self._sights else self._seen_by(author)
            )
            return self._held((author,), [seen], (1 << i) - 1)

        return [row for row in self.rows if settles(row, self.at, before)]

    def held(self, chain: Chain) -> Held | None:
        """What the chain believes; equal to `belief(rows, chain, at)`."""
        if self._by_trust:
            return belief(self.rows, chain, self.at)
        return self._held(chain, [self._seen_by(person) for person in chain])

    def wrong_ideas(self) -> Iterator[tuple[int, int, Row]]:
        """Which group thinks, by which row, that which group holds what it does not.

        Groups by their place in `groups`: the thinkers, the others. Unknown is never wrong, on
        either side, and people of one group are never wrong about each other: they have accepted the same.
        """
        first = [together[0] for together in self.groups]
        seen = [self._seen_by(person).rows for person in first]
        plain = [not (self._by_trust or self._said[p] or self._reported[p]) for p in first]
        actual = [None if held is None else held.row.same for held in self.holding]
        values = [row.same for row in self.rows]
        for i, mine in enumerate(seen):
            for j, theirs in enumerate(seen):
                if i == j or actual[j] is None:
                    continue
                if plain[j]:
                    # They said nothing: it is the newest that displaces, or the newest of all.
                    common = mine & theirs
                    at = (common & self._displacing or common).bit_length() - 1
                    if at >= 0 and values[at] != actual[j]:
                        yield i, j, self.rows[at]
                    continue
                thought = self.held((first[i], first[j]))
                if thought is not None and thought.row.same != actual[j]:
                    yield i, j, thought.row

    def touched(self, person: str) -> bool:
        """Whether somebody counted as a witness of anything at any time until now."""
        return bool(self._seen_by(person).rows) or any(
            since <= self.at for _, since, _ in self._sights.get(person, ())
        )

    def _held(self, chain: Chain, seen: Sequence[_Seen], among: int = -1) -> Held | None:
        """What the chain believes whose people have seen this, from some of the rows."""
        last = chain[-1]
        common = seen[0].rows & among
        for one in seen[1:-1]:
            common &= one.rows
        reported = common & self._reported[last] if len(chain) > 1 else 0
        accepted = (common & seen[-1].rows) | reported
        displacing = (accepted & self._displacing) | reported
        own = accepted & self._said[last]
        if not displacing:
            return self._at(own or accepted, seen, reported)
        if own.bit_length() <= displacing.bit_length():
            return self._at(displacing, seen, reported)
        newest = self._at(displacing, seen, reported)
        said = self._at(own, seen, reported)
        if newest and said and newest.since > said.row.at:
            return newest  # a mention from before the chain came to know of the decision
        return said

    def _at(self, rows: int, seen: Sequence[_Seen], reported: int) -> Held | None:
        """The newest of these rows, and since when the chain has had it."""
        if not rows:
            return None
        i = rows.bit_length() - 1
        people = seen[:-1] if reported >> i & 1 else seen
        said = self.rows[i].at
        return Held(self.rows[i], max((one.late.get(i, said) for one in people), default=said))

    def _seen_by(self, person: str) -> _Seen:
        if person not in self._seen:
            self._seen[person] = self._seen_at(person, self.at)
        return self._seen[person]

    def _seen_at(self, person: str, at: int) -> _Seen:
        bits, late = 0, dict[int, int]()
        for audience, rows in self._audiences.items():
            if person in audience:
                bits |= rows
        for i, since, until in self._sights.get(person, ()):
            if since <= at < until and not bits >> i & 1:
                late[i] = min(since, late.get(i, since))
        for i in late:
            bits |= 1 << i
        return _Seen(bits, late)
