"""The rows of one entity as bits, for asking about many people at once; pure.

It gives exactly what `rules.belief` gives (a test holds both to it), and knows no other rule. A
thousand people who witnessed twenty statements are a few groups, and a pair of groups costs a few
operations on integers: second order is never asked pair by pair.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from engine.rules import Chain, Held, Row, belief, groups, since_of


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
        self._by_trust = any(row.trusted is not None for row in self.rows)
        for i, row in enumerate(self.rows):
            if row.decides or row.kind == "tell":
                self._displacing |= 1 << i
            if row.by is not None:
                self._said[row.by] |= 1 << i
            if row.kind == "report" and row.about is not None and not row.there:
                self._reported[row.about] |= 1 << i
        self._seen: dict[str, _Seen] = {}

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """The people of the rows, alike together: see `rules.groups`."""
        return groups(self.rows)

    def held(self, chain: Chain) -> Held | None:
        """What the chain believes; equal to `belief(rows, chain, at)`."""
        if self._by_trust:
            return belief(self.rows, chain, self.at)
        last = chain[-1]
        seen = [self._seen_by(person) for person in chain]
        common = seen[0].rows
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
            bits, late = 0, dict[int, int]()
            for i, row in enumerate(self.rows):
                since = since_of(row, person, self.at)
                if since is not None:
                    bits |= 1 << i
                    if since > row.at:
                        late[i] = since
            self._seen[person] = _Seen(bits, late)
        return self._seen[person]
