"""From rows to answers; pure. It knows neither the database nor which rows were left out.

Everything here works on the rows one reader may read, so nothing unreadable can reach an answer.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from engine.beliefs import (
    Belief,
    Change,
    Differing,
    Evidence,
    Explanation,
    FalseBelief,
    Handoff,
    Holding,
    Hop,
    How,
    Lacking,
    LateUse,
    Mistaken,
    PersonStatus,
    Promise,
    Ref,
    Shared,
    Status,
    Step,
    WhoKnows,
    WrongAboutOthers,
)
from engine.events import Grade
from engine.paths import Passing, way
from engine.rules import (
    FOREVER,
    Chain,
    Row,
    accepts,
    belief,
    changed,
    decisions,
    disputes,
    from_micros,
    grade_of,
    groups,
    is_somebody,
)
from engine.sheets import Sheet

SMALL_ROOM = 25  # a promise made in a larger room was made to nobody in particular


class Names(NamedTuple):
    """What people read for ids; an id without a name is its own name.

    `left_out`: people who want to be in no answer.
    """

    people: dict[str, str]
    rooms: dict[str, str]
    entities: dict[str, str]
    left_out: frozenset[str] = frozenset()

    def person(self, id: str) -> Ref:
        return _ref(id, "somebody" if is_somebody(id) else self.people.get(id) or id)

    def room(self, id: str) -> Ref:
        return _ref(id, self.rooms.get(id) or id)

    def entity(self, id: str) -> Ref:
        return _ref(id, self.entities.get(id) or id)


def _ref(id: str, name: str) -> Ref:
    """Not validated again: an answer about a thousand people names them thousands of times."""
    return Ref.model_construct(id=id, name=name)


class Stay(NamedTuple):
    """One stretch somebody spent in a room, half-open, from `(at, id)` to `(at, id)`."""

    since: tuple[int, str]
    until: tuple[int, str]


type Stays = Mapping[str, Mapping[str, Sequence[Stay]]]
"""Room to person to stretches, in order."""


class Scene(NamedTuple):
    """What an answer is made from: the rows of a reader, asked at `at`.

    `modelled`: whether a person may appear in answers (bots and people who are gone may not).
    """

    rows: Mapping[str, Sequence[Row]]
    at: int
    names: Names
    stays: Stays
    modelled: Callable[[str], bool]


def by_entity(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.entity].append(row)
    return dict(found)


def evidence(row: Row, names: Names, grade: Grade | None = None) -> Evidence:
    """A row as evidence; who wants to be left out is neither its speaker nor in its quote."""
    unnamed = row.by in names.left_out
    return Evidence(
        event=row.id,
        at=from_micros(row.at),
        room=None if row.room is None else names.room(row.room),
        speaker=None if row.by is None or unnamed else names.person(row.by),
        grade=grade,
        link=row.link,
        quote=None if unnamed or _mentions(row.quote, names) else row.quote,
    )


def _mentions(quote: str | None, names: Names) -> bool:
    """Whether a quote speaks of somebody who wants to be left out."""
    if not quote or not names.left_out:
        return False
    text = quote.casefold()
    marks = {mark for id in names.left_out for mark in (id, names.people.get(id)) if mark}
    return any(mark.casefold() in text for mark in marks)


def how(row: Row, chain: Chain) -> How:
    last = chain[-1]
    if row.by == last:
        return "said"
    if row.kind == "report":
        return "reported" if row.about == last and not row.there else "heard"
    return {"tell": "told", "say": "heard", "set": "saw"}[row.kind]  # type: ignore[return-value]


# ------------------------------------------------------------------------------- one entity


def truth(entity: str, scene: Scene) -> Belief:
    """The newest decision, as the belief of nobody in particular."""
    made = decisions(scene.rows[entity], scene.at)
    ref = scene.names.entity(entity)
    if not made:
        return Belief(chain=(), entity=ref)
    row = made[-1]
    shown = evidence(row, scene.names, "stated" if row.by else None)
    return Belief(chain=(), entity=ref, value=row.value, since=from_micros(row.at), evidence=shown)


def who_knows(entity: str, scene: Scene) -> WhoKnows:
    rows, at, names = scene.rows[entity], scene.at, scene.names
    made = decisions(rows, at)
    truth = made[-1] if made else None
    rivals = disputes(made, at)
    sheet = Sheet(rows, at)
    people = [*_holding(sheet, truth, scene), *_without(sheet, truth, scene)]
    order: list[Status] = ["knows", "stale", "could_have_seen", "unaware"]
    ranks = {status: rank for rank, status in enumerate(order)}
    people.sort(key=lambda p: (ranks[p.status], p.person.name.casefold(), p.person.id))
    return WhoKnows(
        entity=names.entity(entity),
        value=truth.value if truth else None,
        disputed=bool(rivals),
        decided=evidence(truth, names, "stated") if truth else None,
        rivals=tuple(Change(value=r.value, was=None, evidence=evidence(r, names)) for r in rivals),
        people=tuple(people),
        wrong_about_others=tuple(_wrong_about_others(entity, sheet, made, scene)),
    )


def _holding(sheet: Sheet, truth: Row | None, scene: Scene) -> Iterator[PersonStatus]:
    """Everybody who holds a value, and how they stand to the current one."""
    for together in sheet.groups:
        held = sheet.held((together[0],))
        if held is None:
            continue
        grade = grade_of(held.row, together[0], scene.at)
        current = truth is not None and held.row.same == truth.same
        status: Status = "unaware" if truth is None else "knows" if current else "stale"
        shown = evidence(held.row, scene.names, grade)
        for person in filter(scene.modelled, together):
            # Not validated again: a thousand lines share these parts.
            yield PersonStatus.model_construct(
                person=scene.names.person(person),
                status=status,
                value=held.row.value,
                grade=grade,
                evidence=shown,
            )


def _without(sheet: Sheet, truth: Row | None, scene: Scene) -> Iterator[PersonStatus]:
    """Everybody who holds nothing, but once did or was where it was spoken of."""
    witnessed = frozenset[str]().union(*(row.people_by(scene.at) for row in sheet.rows))
    holding = {
        person
        for together in sheet.groups
        if sheet.held((together[0],)) is not None
        for person in together
    }
    rooms = {row.room: None for row in sheet.rows if row.room is not None}
    there = {person for room in rooms for person in scene.stays.get(room, ())}
    for person in filter(scene.modelled, (witnessed | there) - holding):
        reached = [row for row in sheet.rows if _reach(row, person, scene)]
        if reached or person in witnessed:
            yield _unknowing(person, truth, reached, scene)


def _unknowing(
    person: str, truth: Row | None, reached: Sequence[Row], scene: Scene
) -> PersonStatus:
    """Somebody without a value, who could have come across these rows."""
    ref = scene.names.person(person)
    for wanted in ("exposed", "reachable"):
        for row in reversed(reached):
            current = truth is not None and row.same == truth.same and row.kind != "tell"
            if current and _reach(row, person, scene) == wanted:
                grade: Grade = "exposed" if wanted == "exposed" else "reachable"
                shown = evidence(row, scene.names, grade)
                return PersonStatus(
                    person=ref, status="could_have_seen", grade=grade, evidence=shown
                )
    return PersonStatus(person=ref, status="unaware")


def _reach(row: Row, person: str, scene: Scene) -> Grade | None:
    """Whether somebody who is no witness could have come across it: there then, or there later."""
    stays = scene.stays.get(row.room or "", {}).get(person, ())
    if row.shown and any(stay.since <= row.moment < stay.until for stay in stays):
        return "exposed"
    return (
        "reachable"
        if any(stay.until > row.moment and stay.since[0] <= scene.at for stay in stays)
        else None
    )


def wrong_about_others(entity: str, scene: Scene) -> list[WrongAboutOthers]:
    """Who thinks that somebody holds a value while they hold another one.

    Asked group by group: people who witnessed alike are wrong alike. Unknown is never wrong, on
    either side. People who are up to date themselves come first.
    """
    rows = scene.rows[entity]
    return _wrong_about_others(entity, Sheet(rows, scene.at), decisions(rows, scene.at), scene)


def _wrong_about_others(
    entity: str, sheet: Sheet, made: Sequence[Row], scene: Scene
) -> list[WrongAboutOthers]:
    names, current = scene.names, made[-1].same if made else None
    kinds = sheet.groups
    own = [sheet.held((people[0],)) for people in kinds]
    lines: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    shown: dict[tuple[str, str, str], Row] = {}
    for i, thinkers in enumerate(kinds):
        for j, others in enumerate(kinds):
            actual = own[j]
            if actual is None or (i == j and len(thinkers) < 2):
                continue
            thought = sheet.held((thinkers[0], others[0] if i != j else others[1]))
            if thought is None or thought.row.same == actual.row.same:
                continue
            key = (thought.row.same, actual.row.same, thought.row.id)
            shown[key] = thought.row
            for thinker in filter(scene.modelled, thinkers):
                lines[key][thinker] |= {p for p in others if p != thinker and scene.modelled(p)}
    knowing = {
        person
        for people, held in zip(kinds, own, strict=True)
        if held is not None and held.row.same == current
        for person in people
    }
    actually = {held.row.same: held.row.value for held in own if held is not None}
    found: list[tuple[bool, WrongAboutOthers]] = []
    for key, thinking in lines.items():
        for people, about in _alike(thinking, knowing):
            line = WrongAboutOthers(
                entity=names.entity(entity),
                people=tuple(_named(people, names)),
                about=tuple(_named(about, names)),
                thinks=shown[key].value,
                actually=actually[key[1]],
                evidence=evidence(shown[key], names),
            )
            found.append((not people & knowing, line))
    found.sort(key=lambda one: (one[0], -len(one[1].people), one[1].model_dump_json()))
    return [line for _, line in found]


def _alike(
    thinking: Mapping[str, set[str]], knowing: Collection[str]
) -> list[tuple[set[str], set[str]]]:
    """`(people, about)`: thinkers who are wrong about the same people, as one line; nobody is in a
    line about themselves. People who are all wrong about each other are one line as well. Who is
    up to date stands apart from who is not.
    """
    mutual: dict[tuple[bool, frozenset[str]], set[str]] = defaultdict(set)
    for thinker, about in thinking.items():
        if about:
            mutual[thinker in knowing, frozenset(about | {thinker})].add(thinker)
    lines: dict[tuple[bool, frozenset[str]], set[str]] = defaultdict(set)
    for (knows, everyone), thinkers in mutual.items():
        for thinker in thinkers:
            others = everyone if len(thinkers) > 1 else everyone - {thinker}
            lines[knows, others].add(thinker)
    return [(people, set(about)) for (_, about), people in lines.items()]


def _named(people: Iterable[str], names: Names) -> list[Ref]:
    return sorted((names.person(p) for p in people), key=lambda ref: (ref.name.casefold(), ref.id))


# ------------------------------------------------------------------------------- everything known


def all_wrong_about_others(scene: Scene, person: str | None = None) -> list[WrongAboutOthers]:
    """Entity by entity; with `person`, only the lines in which that person is wrong."""
    found = [one for entity in sorted(scene.rows) for one in wrong_about_others(entity, scene)]
    return [one for one in found if person is None or person in {p.id for p in one.people}]


def false_beliefs(scene: Scene, person: str | None = None) -> list[FalseBelief]:
    """Every held value that is not the current one, newest change first."""
    found: list[tuple[int, str, FalseBelief]] = []
    for entity, rows in scene.rows.items():
        made = decisions(rows, scene.at)
        if not made:
            continue
        truth, change = made[-1], changed(made)
        for together in groups(rows):
            wrong = [p for p in together if person in (None, p) and scene.modelled(p)]
            held = belief(rows, (together[0],), scene.at) if wrong else None
            if held is None or held.row.same == truth.same:
                continue
            for one in wrong:
                answer = FalseBelief(
                    person=scene.names.person(one),
                    entity=scene.names.entity(entity),
                    believes=held.row.value,
                    actual=truth.value,
                    since=from_micros(held.since),
                    evidence=evidence(held.row, scene.names, grade_of(held.row, one, scene.at)),
                    changed=evidence(change, scene.names),
                )
                found.append((-change.at, entity, answer))
    found.sort(key=lambda one: (one[0], one[1], one[2].person.name.casefold(), one[2].person.id))
    return [answer for _, _, answer in found]


def handoff(a: str, b: str, scene: Scene) -> Handoff:
    """What b lacks or has wrong that a knows, and what a told others that has changed since."""
    lacks: list[tuple[int, Lacking]] = []
    wrong: list[tuple[int, Mistaken]] = []
    promises: list[tuple[int, Promise]] = []
    for entity, rows in scene.rows.items():
        made = decisions(rows, scene.at)
        if not made:
            continue
        truth, ref = made[-1], scene.names.entity(entity)
        promises += _promises(a, rows, truth, scene)
        knows, holds = belief(rows, (a,), scene.at), belief(rows, (b,), scene.at)
        if knows is None or knows.row.same != truth.same:
            continue
        shown = evidence(truth, scene.names)
        if holds is None:
            lacks.append((truth.at, Lacking(entity=ref, value=truth.value, evidence=shown)))
        elif holds.row.same != truth.same:
            mistaken = Mistaken(
                entity=ref, value=truth.value, holds=holds.row.value, evidence=shown
            )
            wrong.append((truth.at, mistaken))
    return Handoff(
        from_person=scene.names.person(a),
        to_person=scene.names.person(b),
        lacks=tuple(_newest_first(lacks)),
        wrong=tuple(_newest_first(wrong)),
        promises=tuple(_newest_first(promises)),
    )


def _newest_first[T: (Lacking, Mistaken, Promise)](found: list[tuple[int, T]]) -> list[T]:
    found.sort(key=lambda one: (-one[0], one[1].model_dump_json()))
    return [answer for _, answer in found]


def _promises(a: str, rows: Sequence[Row], truth: Row, scene: Scene) -> list[tuple[int, Promise]]:
    """The newest value a stated to each person that no longer holds and that the person still
    believes: told in private, in a room of at most 25, by mentioning them, or by report."""
    newest: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.moment):
        if row.by == a and row.at <= scene.at:
            newest |= dict.fromkeys(_promised_to(a, row), row)
    found: list[tuple[int, Promise]] = []
    for person, row in newest.items():
        if row.same == truth.same or not scene.modelled(person):
            continue
        holds = belief(rows, (person,), scene.at)
        if holds is not None and holds.row.same == truth.same:
            continue
        promise = Promise(
            to=scene.names.person(person),
            entity=scene.names.entity(row.entity),
            told=row.value,
            actual=truth.value,
            evidence=evidence(row, scene.names),
        )
        found.append((row.at, promise))
    return found


def _promised_to(a: str, row: Row) -> frozenset[str]:
    if row.kind == "report":
        return frozenset({row.about} if row.about else ())
    to = row.mentions
    at_once = row.members
    if not row.shown:  # said to some: they need not be as good as exposed to have been addressed
        at_once |= {sight.person for sight in row.sights if sight.since == row.at}
    if row.kind == "tell" or len(at_once) <= SMALL_ROOM:
        to |= at_once
    return to - {a}


def common_ground(a: str, b: str, scene: Scene) -> list[Shared]:
    """What [a], [b], [a, b] and [b, a] all hold."""
    found: list[tuple[int, Shared]] = []
    for entity, rows in scene.rows.items():
        held = [belief(rows, chain, scene.at) for chain in ((a,), (b,), (a, b), (b, a))]
        known = [one.row for one in held if one is not None]
        if len(known) == len(held) and len({row.same for row in known}) == 1:
            row = known[0]
            answer = Shared(
                entity=scene.names.entity(entity),
                value=row.value,
                evidence=evidence(row, scene.names),
            )
            found.append((row.at, answer))
    found.sort(key=lambda one: (-one[0], one[1].entity.id))
    return [answer for _, answer in found]


def explanation(chain: Chain, entity: str, scene: Scene) -> Explanation:
    """The events the chain accepted, oldest first."""
    rows = scene.rows[entity]
    held = belief(rows, chain, scene.at)
    steps: list[Step] = []
    for row in sorted(rows, key=lambda row: row.moment):
        accepted = accepts(row, chain, scene.at)
        if row.at > scene.at or accepted is None:
            continue
        displaces, since = accepted
        steps.append(
            Step(
                evidence=evidence(row, scene.names, grade_of(row, chain[0], scene.at)),
                value=row.value,
                how=how(row, chain),
                since=from_micros(since),
                displaces=displaces,
                decisive=held is not None and held.row.id == row.id,
            )
        )
    return Explanation(
        chain=tuple(scene.names.person(p) for p in chain),
        entity=scene.names.entity(entity),
        value=held.row.value if held else None,
        steps=tuple(steps),
        path=tuple(_hop(one, scene) for one in way(rows, chain, scene.at)),
    )


def _hop(one: Passing, scene: Scene) -> Hop:
    row, names = one.row, scene.names

    def shown(person: str | None) -> Ref | None:
        return None if person is None or person in names.left_out else names.person(person)

    return Hop(
        from_person=shown(row.by),
        to_person=shown(one.to),
        how=how(row, (one.to,)),
        evidence=evidence(row, names, grade_of(row, one.to, scene.at)),
    )


def timeline(rows: Sequence[Row], scene: Scene) -> list[Change]:
    """The decisions, oldest first, each with the value before it."""
    changes: list[Change] = []
    for row in decisions(rows, scene.at):
        was = changes[-1].value if changes else None
        shown = evidence(row, scene.names, "stated" if row.by else None)
        changes.append(Change(value=row.value, was=was, evidence=shown))
    return changes


def holdings(person: str, scene: Scene) -> list[Holding]:
    """What one person holds, newest first; a value of something undecided counts as known."""
    found: list[tuple[int, Holding]] = []
    for entity, rows in scene.rows.items():
        held = belief(rows, (person,), scene.at)
        if held is None:
            continue
        made = decisions(rows, scene.at)
        current = not made or made[-1].same == held.row.same
        holding = Holding(
            entity=scene.names.entity(entity),
            value=held.row.value,
            status="knows" if current else "stale",
            actual=None if current else made[-1].value,
            since=from_micros(held.since),
            evidence=evidence(held.row, scene.names, grade_of(held.row, person, scene.at)),
        )
        found.append((held.since, holding))
    found.sort(key=lambda one: (-one[0], one[1].entity.id))
    return [holding for _, holding in found]


def late_uses(scene: Scene) -> list[LateUse]:
    """Who said an old value after it had been changed, without deciding it again; newest first."""
    found: list[tuple[int, LateUse]] = []
    for entity, rows in scene.rows.items():
        made = decisions(rows, scene.at)
        settled = {row.id for row in made}
        for row in rows:
            before = [decision for decision in made if decision.moment < row.moment]
            if row.id in settled or row.by is None or row.kind == "report" or len(before) < 2:
                continue
            if row.same == before[-1].same or row.same not in {one.same for one in before}:
                continue
            if not scene.modelled(row.by):
                continue
            late = LateUse(
                person=scene.names.person(row.by),
                entity=scene.names.entity(entity),
                value=row.value,
                actual=before[-1].value,
                evidence=evidence(row, scene.names, "stated"),
                changed=evidence(changed(before), scene.names),
            )
            found.append((row.at, late))
    found.sort(key=lambda one: (-one[0], one[1].evidence.event))
    return [late for _, late in found]


def differing(
    me: str, found: Mapping[str, Sequence[Row]], names: Names, absent: Collection[str], at: int
) -> list[Differing]:
    """Of whom `me` thinks that they hold another value than `me`, from the rows of `me`'s own mind;
    newest first. Asked group by group, and never of who is absent from answers."""
    lines: list[Differing] = []
    for entity, rows in found.items():
        mine = belief(rows, (me,), at)
        if mine is None:
            continue
        for together in groups(rows):
            others = [
                p
                for p in together
                if p != me and p not in absent and p not in names.left_out and not is_somebody(p)
            ]
            theirs = belief(rows, (me, others[0]), at) if others else None
            if theirs is None or theirs.row.same == mine.row.same:
                continue
            lines += [
                Differing(
                    person=names.person(other),
                    entity=names.entity(entity),
                    believes=theirs.row.value,
                    mine=mine.row.value,
                    since=from_micros(theirs.since),
                    evidence=evidence(theirs.row, names, grade_of(theirs.row, me, at)),
                    shown=evidence(mine.row, names, grade_of(mine.row, me, at)),
                )
                for other in others
            ]
    lines.sort(key=lambda one: (one.person.name.casefold(), one.person.id, one.entity.id))
    lines.sort(key=lambda one: one.since, reverse=True)
    return lines


def context(me: str, other: str, found: Mapping[str, Sequence[Row]], names: Names) -> str:
    """What to mind in a conversation, from the rows of `me`'s own mind; one line an entity."""
    name = names.person(other).name
    lines: list[str] = []
    for entity in sorted(found):
        mine = belief(found[entity], (me,), FOREVER - 1)
        theirs = belief(found[entity], (me, other), FOREVER - 1)
        about = names.entity(entity).name
        if mine is None:
            continue
        if theirs is None:
            lines.append(
                f"- {about}: you hold “{mine.row.value}”; {name} is not known to have heard of it."
            )
        elif theirs.row.same != mine.row.same:
            lines.append(
                f"- {about}: you hold “{mine.row.value}”, while {name} still holds"
                f" “{theirs.row.value}”. Correct this before relying on it."
            )
    return "\n".join(lines)
