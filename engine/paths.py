"""How a value reached somebody: who passed it on to whom, from whoever decided it; pure.

A way is made of statements of one value. Each was said by somebody whom the one before had reached
by then: they witnessed it, or it is a report that they were told. It knows neither the database nor
which statements were left out: on the rows one reader may read, it is that reader's way.
"""

from collections.abc import Sequence
from typing import NamedTuple

from engine.rules import Chain, Row, accepts, belief, decisions, since_of


class Passing(NamedTuple):
    """A statement, and whom it reached on the way: who said the next one, or the chain's last."""

    row: Row
    to: str


def way(rows: Sequence[Row], chain: Chain, at: int) -> list[Passing]:
    """The shortest way on which what a chain believes reached its last person; of equally short ones
    the one whose statements, from the last backwards, are newest.

    It begins with whoever decided the value, or, where no way from there can be seen, with somebody
    of whom it cannot be seen how they got it. Empty where the chain believes nothing, and where it
    knows that its last person was there when it was decided, or brought it up.
    """
    held = belief(rows, chain, at)
    if held is None:
        return []
    ordered = sorted((row for row in rows if row.at <= at), key=lambda row: row.moment)
    said = [row for row in ordered if row.same == held.row.same]
    arrived = _run([row for row in ordered if row.moment <= held.row.moment], held.row, chain, at)
    decided = {row.id for row in decisions(rows, at) if row.same == held.row.same}
    if any(row.id in decided for row in arrived):
        return []
    before = {row.id: [one for one in said if _reached(one, row)] for row in said}
    first = {
        row.id: any(d.id in decided and d.by == row.by and d.moment <= row.moment for d in said)
        and (row.by is not None or row.id in decided)
        for row in said
    }
    return (
        _shortest(said, arrived, before, first, chain[-1])
        or _shortest(
            said, arrived, before, {id: not some for id, some in before.items()}, chain[-1]
        )
        or []
    )


def _run(rows: Sequence[Row], held: Row, chain: Chain, at: int) -> list[Row]:
    """What the chain accepted of the value since it last believed another one, newest first."""
    found: list[Row] = []
    for row in reversed(rows):
        accepted = accepts(row, chain, at)
        if accepted is None:
            continue
        if row.same == held.same:
            found.append(row)
        elif accepted[0]:
            break
    return found


def _reached(row: Row, later: Row) -> bool:
    """Whether a statement had reached somebody else by the time they spoke."""
    if row.moment >= later.moment or later.by is None or row.by == later.by:
        return False
    told_of = row.kind == "report" and row.about == later.by
    return told_of or since_of(row, later.by, later.at) is not None


def _shortest(
    said: Sequence[Row],
    arrived: Sequence[Row],
    before: dict[str, list[Row]],
    first: dict[str, bool],
    last: str,
) -> list[Passing] | None:
    """None where no way begins with one of the `first`."""
    steps: dict[str, int] = {}  # from the beginning to whoever said it
    for row in said:
        if first[row.id]:
            steps[row.id] = 0
            continue
        known = [steps[one.id] for one in before[row.id] if one.id in steps]
        if known:
            steps[row.id] = 1 + min(known)
    ends = [(steps[r.id] + (r.by != last), i) for i, r in enumerate(arrived) if r.id in steps]
    if not ends:
        return None
    row = arrived[min(ends)[1]]
    found = [] if row.by == last else [Passing(row, last)]
    while steps[row.id]:
        assert row.by is not None
        nearer = [o for o in before[row.id] if steps.get(o.id, len(said)) == steps[row.id] - 1]
        earlier = max(nearer, key=lambda one: one.moment)
        found.append(Passing(earlier, row.by))
        row = earlier
    return found[::-1]
