"""From rows to answers; pure. It knows neither the database nor which rows were left out.

Everything here works on the rows one reader may read, so nothing unreadable can reach an answer.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain as joined
from itertools import compress
from types import MappingProxyType
from typing import NamedTuple, TypedDict

from pydantic import TypeAdapter

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
from engine.links import Link
from engine.paths import Passing, way
from engine.rules import (
    FOREVER,
    Chain,
    Row,
    accepts,
    belief,
    changed,
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

    `left_out`: people who want to be in no answer. `refs`: people as they are named, made once.
    """

    people: dict[str, str]
    rooms: dict[str, str]
    entities: dict[str, str]
    left_out: frozenset[str] = frozenset()
    refs: Mapping[str, Ref] = MappingProxyType({})

    def person(self, id: str) -> Ref:
        if id in self.refs:
            return self.refs[id]
        return Ref(id=id, name="somebody" if is_somebody(id) else self.people.get(id) or id)

    def room(self, id: str) -> Ref:
        return Ref(id=id, name=self.rooms.get(id) or id)

    def entity(self, id: str) -> Ref:
        return Ref(id=id, name=self.entities.get(id) or id)


class Stay(NamedTuple):
    """One stretch somebody spent in a room, half-open, from `(at, id)` to `(at, id)`."""

    since: tuple[int, str]
    until: tuple[int, str]


type Stays = Mapping[str, Mapping[str, Sequence[Stay]]]
"""Room to person to stretches, in order."""


class Scene(NamedTuple):
    """What an answer is made from: the rows of a reader, asked at `at`.

    `modelled`: whether a person may appear in answers (bots and people who are gone may not).
    `merges`: what was confirmed to mean the same where the reader may read, in order, each with its
    room (None: for everybody); whoever reads less knows of less.
    """

    rows: Mapping[str, Sequence[Row]]
    at: int
    names: Names
    modelled: Callable[[str], bool]
    merges: Sequence[tuple[Link, str | None]] = ()


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
    made = Sheet(scene.rows[entity], scene.at).decisions
    ref = scene.names.entity(entity)
    if not made:
        return Belief(chain=(), entity=ref)
    row = made[-1]
    shown = evidence(row, scene.names, "stated" if row.by else None)
    return Belief(chain=(), entity=ref, value=row.value, since=from_micros(row.at), evidence=shown)


def who_knows(entity: str, scene: Scene, elsewhere: Stays) -> WhoKnows:
    """Who holds what, who could have come across it, and who is wrong about whom.

    `elsewhere`: in the rooms where it was spoken of, the stays of everybody who was in no audience,
    as far as they had begun. Where the others were plays no part: they hold something.
    """
    sheet, names = Sheet(scene.rows[entity], scene.at), scene.names
    made = sheet.decisions
    truth = made[-1] if made else None
    rivals = disputes(made, scene.at)
    standings = _holding(sheet, truth, scene)
    standings.update(_without(sheet, truth, scene, elsewhere))
    crowd = _Crowd(standings, names)
    order: tuple[Status, ...] = ("knows", "stale", "could_have_seen", "unaware")
    lines: dict[Status, list[Mapping[str, object]]] = {status: [] for status in order}
    for ref in crowd.people:
        standing = standings[ref.id]
        lines[standing["status"]].append({"person": ref, **standing})
    return WhoKnows(
        entity=names.entity(entity),
        value=truth.value if truth else None,
        disputed=bool(rivals),
        decided=evidence(truth, names, "stated") if truth else None,
        rivals=tuple(Change(value=r.value, was=None, evidence=evidence(r, names)) for r in rivals),
        people=_statuses.validate_python(list(joined.from_iterable(lines.values()))),
        wrong_about_others=tuple(_wrong_about_others(entity, sheet, crowd, scene)),
    )


class _Standing(TypedDict):
    """A `PersonStatus` without the person; people who stand alike share one."""

    status: Status
    value: str | None
    grade: Grade | None
    evidence: Evidence | None


_statuses = TypeAdapter(tuple[PersonStatus, ...])
"""Makes a thousand at once, in less than half the time that `model_construct` takes."""


def _holding(sheet: Sheet, truth: Row | None, scene: Scene) -> dict[str, _Standing]:
    """Everybody who holds a value, and how they stand to the current one."""
    standings: dict[str, _Standing] = {}
    for together, held in zip(sheet.groups, sheet.holding, strict=True):
        if held is None:
            continue
        current = truth is not None and held.row.same == truth.same
        status: Status = "unaware" if truth is None else "knows" if current else "stale"
        for grade, people in _by_grade(held.row, together, scene):
            shown = evidence(held.row, scene.names, grade)
            standing = _Standing(status=status, value=held.row.value, grade=grade, evidence=shown)
            standings |= dict.fromkeys(people, standing)
    return standings


def _by_grade(
    row: Row, together: Iterable[str], scene: Scene
) -> Iterable[tuple[Grade | None, Sequence[str]]]:
    """People of one group, those together who perceived the row as well as each other."""
    people = [person for person in together if scene.modelled(person)]
    apart = set(people).intersection((row.by, *(sight.person for sight in row.sights)))
    there = [person for person in people if person not in apart] if apart else people
    graded: dict[Grade | None, list[str]] = {}
    if there:
        graded[grade_of(row, there[0], scene.at)] = there
    for person in apart:
        graded.setdefault(grade_of(row, person, scene.at), []).append(person)
    return graded.items()


def _without(
    sheet: Sheet, truth: Row | None, scene: Scene, elsewhere: Stays
) -> Iterator[tuple[str, _Standing]]:
    """Everybody who holds nothing, but once did or was where it was spoken of, then or later."""
    holding, lost = set[str](), set[str]()
    for together, held in zip(sheet.groups, sheet.holding, strict=True):
        if held is not None:
            holding.update(together)
        elif sheet.touched(together[0]):
            lost.update(together)
    begun: dict[str, tuple[int, str]] = {}
    for row in sheet.rows:
        if row.room is not None:
            begun.setdefault(row.room, row.moment)
    around: dict[str, dict[str, Sequence[Stay]]] = defaultdict(dict)
    for room, first in begun.items():
        for person, stays in elsewhere.get(room, {}).items():
            if stays and stays[-1].until > first:
                around[person][room] = stays
    current = [
        row
        for row in reversed(sheet.rows)
        if truth is not None and row.same == truth.same and row.kind != "tell"
    ]
    standings: dict[tuple[str, Grade] | None, _Standing] = {
        None: _Standing(status="unaware", value=None, grade=None, evidence=None)
    }
    for person in filter(scene.modelled, (lost | around.keys()) - holding):
        chance = _chance(current, around.get(person, {}))
        key = chance and (chance[0].id, chance[1])
        if chance and key not in standings:
            shown = evidence(chance[0], scene.names, chance[1])
            standings[key] = _Standing(
                status="could_have_seen", value=None, grade=chance[1], evidence=shown
            )
        yield person, standings[key]


def _chance(
    current: Iterable[Row], around: Mapping[str, Sequence[Stay]]
) -> tuple[Row, Grade] | None:
    """Which of these rows somebody who is no witness could have come across, and how well: one for
    which they were there, rather than one that they came to later."""
    later: Row | None = None
    for row in current:
        stays = around.get(row.room or "")
        if not stays:
            continue
        if row.shown and any(stay.since <= row.moment < stay.until for stay in stays):
            return row, "exposed"
        if later is None and stays[-1].until > row.moment:
            later = row
    return None if later is None else (later, "reachable")


class _Crowd:
    """The people of an answer in the order in which they are shown. Some of them are a number: a bit
    each, the first person's the highest, so that of two such numbers the higher one comes first."""

    def __init__(self, people: Iterable[str], names: Names) -> None:
        refs = map(names.person, people)
        self.people = sorted(refs, key=lambda ref: (ref.name.casefold(), ref.id))
        self._places = {ref.id: place for place, ref in enumerate(self.people, start=1)}
        self._named: dict[int, tuple[Ref, ...]] = {}

    def bits(self, people: Iterable[str]) -> int:
        """Those of these people who are in the answer."""
        digits = bytearray(b"0") * (len(self.people) + 1)
        for person in people:
            place = self._places.get(person)
            if place is not None:
                digits[place] = ord("1")
        return int(digits, 2)

    def named(self, bits: int) -> tuple[Ref, ...]:
        """Some people by name, in order; lines about the same people share them."""
        if bits not in self._named:
            digits = f"{bits:0{len(self.people)}b}".encode().translate(_CHOSEN)
            self._named[bits] = tuple(compress(self.people, digits))
        return self._named[bits]


_CHOSEN = bytes.maketrans(b"01", b"\0\1")


def wrong_about_others(entity: str, scene: Scene) -> list[WrongAboutOthers]:
    """Who thinks that somebody holds a value while they hold another one.

    Asked group by group: people who witnessed alike are wrong alike. Unknown is never wrong, on
    either side. People who are up to date themselves come first.
    """
    sheet = Sheet(scene.rows[entity], scene.at)
    people = filter(scene.modelled, joined.from_iterable(sheet.groups))
    return _wrong_about_others(entity, sheet, _Crowd(people, scene.names), scene)


def _wrong_about_others(
    entity: str, sheet: Sheet, crowd: _Crowd, scene: Scene
) -> list[WrongAboutOthers]:
    held = [None if one is None else one.row for one in sheet.holding]
    kinds = [crowd.bits(together) for together in sheet.groups]
    current = sheet.decisions[-1].same if sheet.decisions else None
    ideas: dict[tuple[str, str, int], int] = defaultdict(int)
    shown: dict[str, Row] = {}
    for i, j, row in sheet.wrong_ideas():
        actual = held[j]
        if actual is not None and kinds[i] and kinds[j]:
            ideas[row.id, actual.same, i] |= kinds[j]
            shown[row.id] = row
    knowing = [row is not None and row.same == current for row in held]
    lines = _alike(
        (_Line(id, same, knowing[i], about), kinds[i]) for (id, same, i), about in ideas.items()
    )
    ref, proofs = (
        scene.names.entity(entity),
        {id: evidence(row, scene.names) for id, row in shown.items()},
    )
    values = {row.same: row.value for row in held if row is not None}

    def order(line: _Line) -> tuple[bool, int, int, int, str, str, str]:
        people = lines[line]
        said = (shown[line.id].value, values[line.actual], line.id)
        return (not line.knows, -people.bit_count(), -people, -line.about, *said)

    return [
        # Not validated again: a thousand names in a line are those of other lines.
        WrongAboutOthers.model_construct(
            entity=ref,
            people=crowd.named(lines[line]),
            about=crowd.named(line.about),
            thinks=shown[line.id].value,
            actually=values[line.actual],
            evidence=proofs[line.id],
        )
        for line in sorted(lines, key=order)
    ]


class _Line(NamedTuple):
    """What people are wrong about: by which row, what it is actually, whether they are up to date
    themselves, and about whom, as bits."""

    id: str
    actual: str
    knows: bool
    about: int


def _alike(ideas: Iterable[tuple[_Line, int]]) -> dict[_Line, int]:
    """Lines, and whose they are, from what each group of people is wrong about; people are bits.

    Who is wrong about the same people shares a line, and nobody is in a line about themselves. People
    who are all wrong about each other are one line as well: there, each is wrong about the others.
    """
    lines: dict[_Line, int] = defaultdict(int)
    mutual: dict[_Line, list[int]] = defaultdict(list)
    for line, people in ideas:
        if (
            people.bit_count() > 1
        ):  # right about each other, so nobody is wrong with them in this way
            lines[line] |= people
        else:
            id, actual, knows, about = line
            mutual[_Line(id, actual, knows, about | people)].append(people)
    for everyone, thinkers in mutual.items():
        for one in thinkers:
            id, actual, knows, about = everyone
            others = everyone if len(thinkers) > 1 else _Line(id, actual, knows, about ^ one)
            lines[others] |= one
    return lines


# ------------------------------------------------------------------------------- everything known


def all_wrong_about_others(scene: Scene, person: str | None = None) -> list[WrongAboutOthers]:
    """Entity by entity; with `person`, only the lines in which that person is wrong."""
    found = [one for entity in sorted(scene.rows) for one in wrong_about_others(entity, scene)]
    return [one for one in found if person is None or person in {p.id for p in one.people}]


def false_beliefs(scene: Scene, person: str | None = None) -> list[FalseBelief]:
    """Every held value that is not the current one, newest change first."""
    found: list[tuple[int, str, FalseBelief]] = []
    for entity, rows in scene.rows.items():
        sheet = Sheet(rows, scene.at)
        if not sheet.decisions:
            continue
        truth, change = sheet.decisions[-1], changed(sheet.decisions)
        ref, brought = scene.names.entity(entity), evidence(change, scene.names)
        for together in sheet.groups if person is None else [(person,)]:
            held = sheet.held((together[0],))
            if held is None or held.row.same == truth.same:
                continue
            for grade, wrong in _by_grade(held.row, together, scene):
                shown = evidence(held.row, scene.names, grade)
                since = from_micros(held.since)
                found += [
                    (
                        -change.at,
                        entity,
                        FalseBelief(
                            person=scene.names.person(one),
                            entity=ref,
                            believes=held.row.value,
                            actual=truth.value,
                            since=since,
                            evidence=shown,
                            changed=brought,
                        ),
                    )
                    for one in wrong
                ]
    found.sort(key=lambda one: (one[0], one[1], one[2].person.name.casefold(), one[2].person.id))
    return [answer for _, _, answer in found]


def handoff(a: str, b: str, scene: Scene) -> Handoff:
    """What b lacks or has wrong that a knows, and what a told others that has changed since."""
    lacks: list[tuple[int, Lacking]] = []
    wrong: list[tuple[int, Mistaken]] = []
    promises: list[tuple[int, Promise]] = []
    for entity, rows in scene.rows.items():
        sheet = Sheet(rows, scene.at)
        if not sheet.decisions:
            continue
        truth, ref = sheet.decisions[-1], scene.names.entity(entity)
        promises += _promises(a, sheet, truth, scene)
        knows, holds = sheet.held((a,)), sheet.held((b,))
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


def _promises(a: str, sheet: Sheet, truth: Row, scene: Scene) -> list[tuple[int, Promise]]:
    """The newest value a stated to each person that no longer holds and that the person still
    believes: told in private, in a room of at most 25, by mentioning them, or by report."""
    newest: dict[str, Row] = {}
    for row in sheet.rows:
        if row.by == a:
            newest |= dict.fromkeys(_promised_to(a, row), row)
    found: list[tuple[int, Promise]] = []
    for person, row in newest.items():
        if row.same == truth.same or not scene.modelled(person):
            continue
        holds = sheet.held((person,))
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
    if not row.shown or row.kind == "tell":
        # Said to some: they need not be as good as exposed to have been addressed.
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
    for row in Sheet(rows, scene.at).decisions:
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
        made = Sheet(rows, scene.at).decisions
        current = not made or made[-1].same == held.row.same
        holding = Holding(
            entity=scene.names.entity(entity),
            value=held.row.value,
            status="knows" if current else "stale",
            actual=None if current else made[-1].value,
            newer=None if current else made[-1].id,
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
        made = Sheet(rows, scene.at).decisions
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
