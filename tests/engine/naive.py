"""Every question that is asked of the whole team, answered pair by pair on top of the table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain as joined
from itertools import combinations, permutations
from typing import NamedTuple

from engine.events import Report, Say, Statement, Tell
from tests.engine.brute import Belief, Table, author, when


class Wrong(NamedTuple):
    """One person's outdated value; `changed`: the event that made it outdated."""

    person: str
    entity: str
    believes: str
    actual: str
    since: datetime
    changed: str


class WrongAbout(NamedTuple):
    """`person` thinks that `about` holds `thinks`; `about` holds `actually`. `shown`: the event."""

    person: str
    about: str
    thinks: str
    actually: str
    shown: str


def belief(table: Table, person: str, entity: str, at: datetime) -> Belief | None:
    return table.believes([person], entity, at)


def statuses(table: Table, entity: str, at: datetime) -> dict[str, tuple[str, str | None]]:
    """Per person who belongs in the answer: the status, and the event it rests on."""
    found: dict[str, tuple[str, str | None]] = {}
    truth = table.truth(entity, at)
    for person in table.people:
        held = belief(table, person, entity, at)
        if held is not None:
            found[person] = (_standing(table, held, truth), held.statement.id)
        elif _concerned(table, person, entity, at):
            found[person] = _reach(table, person, entity, truth, at)
    return found


def _standing(table: Table, held: Belief, truth: Statement | None) -> str:
    if truth is None:
        return "unaware"
    return "knows" if table.equal(held.statement, truth) else "stale"


def _concerned(table: Table, person: str, entity: str, at: datetime) -> bool:
    """Held a belief at any time, or was in a room when it was spoken of or later."""
    said = [s for s in table.statements(entity) if s.at <= at]
    moments = {event.at for event in table.events if event.at <= at}
    held_once = any(table.witnessed(person, s, m) for s in said for m in moments if m >= s.at)
    return held_once or any(table.around(person, s, at) for s in said)


def _reach(
    table: Table, person: str, entity: str, truth: Statement | None, at: datetime
) -> tuple[str, str | None]:
    """Who holds nothing could have seen the current value, there and then rather than later."""
    current = [
        s
        for s in table.statements(entity)
        if s.at <= at and truth is not None and table.equal(s, truth) and not isinstance(s, Tell)
    ]
    there = [s for s in current if _shown_to_all(s) and _present(table, person, s)]
    around = [s for s in current if table.around(person, s, at)]
    for some in (there, around):
        if some:
            return ("could_have_seen", some[-1].id)
    return ("unaware", None)


def _shown_to_all(statement: Statement) -> bool:
    return not isinstance(statement, Say | Report) or statement.witnesses is None


def _present(table: Table, person: str, s: Statement) -> bool:
    return s.room is not None and table.inside(person, s.room, when(s))


def false_beliefs(table: Table, at: datetime) -> Iterator[Wrong]:
    for entity in table.entities:
        made = table.decisions(entity, at)
        for person in table.people if made else ():
            held = belief(table, person, entity, at)
            if held is not None and not table.equal(held.statement, made[-1]):
                yield Wrong(
                    person, entity, held.statement.value, made[-1].value, held.since,
                    _changed(table, made).id,
                )  # fmt: skip


def _changed(table: Table, made: Sequence[Statement]) -> Statement:
    """The first of the last run of equal decisions."""
    different = [i for i, one in enumerate(made) if not table.equal(one, made[-1])]
    return made[different[-1] + 1] if different else made[0]


def wrong_about_others(table: Table, entity: str, at: datetime) -> Iterator[WrongAbout]:
    for person, about in permutations(table.people, 2):
        thinks = table.believes([person, about], entity, at)
        actually = table.believes([about], entity, at)
        if thinks and actually and not table.equal(thinks.statement, actually.statement):
            yield WrongAbout(
                person,
                about,
                table.form(thinks.statement.value),
                table.form(actually.statement.value),
                thinks.statement.id,
            )


def common_ground(table: Table, a: str, b: str, at: datetime) -> set[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for entity in table.entities:
        held = [table.believes(one, entity, at) for one in ([a], [b], [a, b], [b, a])]
        forms = {table.form(one.statement.value) if one else None for one in held}
        if len(forms) == 1 and None not in forms:
            found |= {(entity, form) for form in forms if form is not None}
    return found


class Handover(NamedTuple):
    lacks: set[str]
    wrong: set[tuple[str, str]]
    promises: set[tuple[str, str, str]]


def handoff(table: Table, a: str, b: str, at: datetime, small: int = 25) -> Handover:
    """Entities b lacks, `(entity, holds)` b has wrong, `(to, entity, event)` promises of a."""
    lacks, wrong, promises = set[str](), set[tuple[str, str]](), set[tuple[str, str, str]]()
    for entity in table.entities:
        truth = table.truth(entity, at)
        if truth is None:
            continue
        promises |= {(to, entity, s.id) for to, s in _outdated(table, a, entity, truth, at, small)}
        knows, holds = belief(table, a, entity, at), belief(table, b, entity, at)
        if knows is None or not table.equal(knows.statement, truth):
            continue
        if holds is None:
            lacks.add(entity)
        elif not table.equal(holds.statement, truth):
            wrong.add((entity, holds.statement.value))
    return Handover(lacks, wrong, promises)


def _outdated(
    table: Table, a: str, entity: str, truth: Statement, at: datetime, small: int
) -> Iterator[tuple[str, Statement]]:
    """Read as: who knows the current value by now is owed nothing."""
    said = [s for s in table.statements(entity) if s.at <= at and author(s) == a]
    for person in set(table.people) | set(joined.from_iterable(map(_mentions, said))):
        stated = [s for s in said if person in _stated_to(table, s, small)]
        holds = belief(table, person, entity, at)
        up_to_date = holds is not None and table.equal(holds.statement, truth)
        if stated and not up_to_date and not table.equal(stated[-1], truth):
            yield person, stated[-1]


def _mentions(statement: Statement) -> tuple[str, ...]:
    return statement.mentions if isinstance(statement, Say) else ()


def _stated_to(table: Table, s: Statement, small: int) -> set[str]:
    """Read as: a report is stated to the person it is about."""
    if isinstance(s, Report):
        return {s.about}
    heard = {person for person in table.people if table.witnessed(person, s, s.at)}
    everyone = isinstance(s, Tell) or len(heard) <= small
    return ((heard if everyone else set()) | set(_mentions(s))) - {author(s) or ""}


# ------------------------------------------------------------------------------- announcements


def best_plan(
    table: Table,
    entity: str,
    at: datetime,
    halls: Mapping[str, frozenset[str]],
    readers: Mapping[str, frozenset[str]],
    open_rooms: frozenset[str],
    small: int,
) -> tuple[int, int, int] | None:
    """The best `(wrong after, interrupted, messages)` of all plans; None if there is nothing to do.

    Tried are all unions of up to three rooms with all sets of direct messages to wrong people;
    a plan that repairs nothing is none.
    `readers`: which rooms each person may read. A post must be readable by all who get it, and in
    one of the `open_rooms` by everybody, who reads the open rooms only.
    """
    truth = table.truth(entity, at)
    if truth is None:
        return None
    held = {person: belief(table, person, entity, at) for person in table.people}
    knowing = {p for p, b in held.items() if b is not None and table.equal(b.statement, truth)}
    wrong = {p for p, b in held.items() if b is not None} - knowing
    sources = {
        p: _sources(table, table.readable_by(p, readers[p]), entity, truth, at) for p in readers
    }
    anybody = _sources(table, table.readable_by("nobody", open_rooms), entity, truth, at)
    usable = [
        h
        for h in halls
        if halls[h]
        and _in_common(sources, halls[h])
        & (anybody if h in open_rooms else _in_common(sources, halls[h]))
    ]
    reached = {h: halls[h] if len(halls[h]) <= small else halls[h] & wrong for h in usable}
    told = sorted(p for p in wrong if sources.get(p))
    outcomes = [
        (len(wrong - all_), len(all_ & knowing), len(rooms) + len(direct))
        for rooms in _subsets(usable, 3)
        for direct in _subsets(told, len(told))
        for all_ in [frozenset(direct).union(*(reached[h] for h in rooms))]
        if wrong & all_
    ]
    return min(outcomes, default=None)


def _sources(table: Table, own: Table, entity: str, truth: Statement, at: datetime) -> set[str]:
    """Read as: where a recipient does not know that two things are one, each counts by itself."""
    found = set[str]()
    for thing in own.entities:
        current = own.truth(thing, at) if table.key(thing) == table.key(entity) else None
        if current is not None and own.equal(current, truth):
            found |= {s.id for s in own.statements(thing) if s.at <= at and own.equal(s, truth)}
    return found


def _in_common(sources: Mapping[str, set[str]], people: Iterable[str]) -> set[str]:
    return set.intersection(*(sources[person] for person in people))


def _subsets(some: Sequence[str], most: int) -> Iterator[tuple[str, ...]]:
    return joined.from_iterable(combinations(some, size) for size in range(most + 1))
