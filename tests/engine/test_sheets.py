"""Asking about many people at once says what asking about each of them, row by row, says.

Random rows, also such as no history makes; what is compared with is `rules`, one chain at a time.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import permutations
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.answers import Names, Scene, Stay, false_beliefs, who_knows, wrong_about_others
from engine.beliefs import Ref, WrongAboutOthers
from engine.events import Grade
from engine.planning import Hall, announcement
from engine.reading import Reader
from engine.rules import (
    FOREVER,
    Row,
    Sight,
    belief,
    decisions,
    grade_of,
    groups,
    is_somebody,
    since_of,
)
from engine.sheets import Sheet

PEOPLE = ("ann", "Bob", "cid", "dee", "eve", "somebody-1", "robot")
NAMES = Names({"ann": "Zoe", "cid": "anne"}, {}, {})
HIDDEN = frozenset(("robot",))
END = 12
type Kind = Literal["say", "tell", "report", "set"]
GRADES: tuple[Grade, ...] = ("stated", "acknowledged", "engaged", "exposed")
often = settings(max_examples=settings().max_examples * 10)  # no database: a case takes a moment


def some(rng: random.Random, most: int = len(PEOPLE)) -> frozenset[str]:
    return frozenset(rng.sample(PEOPLE, rng.randint(0, most)))


def random_row(rng: random.Random, n: int, usual: frozenset[str], trust: bool) -> Row:
    at = n // 2
    kind: Kind = rng.choice(("say", "say", "say", "tell", "report", "set"))
    by = None if kind == "set" and rng.random() < 0.5 else rng.choice(PEOPLE)
    members = usual ^ some(rng, 2) if rng.random() < 0.7 else some(rng)
    later = [
        Sight(person, since, rng.choice((FOREVER, FOREVER, rng.randint(since + 1, END + 2))), grade)
        for person in some(rng, 4 if rng.random() < 0.4 else 0) - members
        for since in (rng.choice((at, at, rng.randint(at, END))),)
        for grade in (rng.choice(GRADES),)
    ]
    if by is not None and rng.random() < 0.9:  # not if what they said was edited away
        members |= {by}
    value = rng.choice("xyz")
    fields: dict[str, Any] = {
        "about": rng.choice(PEOPLE) if kind == "report" else None,
        "there": rng.random() < 0.3,
        "room": None if kind == "tell" else rng.choice(("hall", "nook")),
        "decides": kind == "set" or (kind == "say" and rng.random() < 0.7),
        "shown": rng.random() < 0.7,
        "retracted": rng.choice((0, 0, 0, rng.randint(at, END))),
        "alone": rng.random() < 0.5,
        "mentions": some(rng, 1),
        "trusted": some(rng, 4) if trust else None,
    }
    return Row(
        at=at, id=f"e{n:02}", kind=kind, by=by, entity="plan", value=value, same=value,
        members=members, sights=tuple(sorted(later)), **fields,
    )  # fmt: skip


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Rows in any order, at any moment; one in six where trust plays a part."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    usual, trust = some(rng), rng.random() < 1 / 6
    rows = [random_row(rng, n, usual, trust) for n in range(rng.randint(0, 9))]
    rng.shuffle(rows)
    return Scene({"plan": rows}, rng.randint(0, END), NAMES, modelled)


def modelled(person: str) -> bool:
    return person not in HIDDEN and not is_somebody(person)


@often
@given(scenes())
def test_a_sheet_believes_and_decides_what_the_rules_do(scene: Scene) -> None:
    rows, at = scene.rows["plan"], scene.at
    sheet = Sheet(rows, at)
    assert sheet.decisions == decisions(rows, at)
    for length in (1, 2, 3):
        for chain in permutations(PEOPLE[:5], length):
            assert sheet.held(chain) == belief(rows, chain, at), chain


@often
@given(scenes())
def test_people_of_a_group_are_alike_and_everybody_is_in_one(scene: Scene) -> None:
    rows = scene.rows["plan"]
    found = groups(rows)
    named = {row.by for row in rows} | {row.about for row in rows}
    witnesses = {person for row in rows for person in row.people}
    assert Counter(p for together in found for p in together) == Counter(
        (named - {None}) | witnesses
    )
    for together in found:
        assert len(together) == 1 or not named & set(together)
        for row in rows:
            for at in range(END + 1):
                seen = {since_of(row, person, at) for person in together}
                trusted = {person in (row.trusted or ()) for person in together}
                assert len(seen) == len(trusted) == 1


@often
@given(scenes())
def test_second_order_is_what_every_pair_says(scene: Scene) -> None:
    lines = wrong_about_others("plan", scene)
    assert Counter(pairs_of(lines)) == Counter(wrong_pairs(scene))
    assert {
        (ids(line.people), ids(line.about), line.thinks, line.actually, line.evidence.event)
        for line in lines
    } == set(grouped(scene))
    made = decisions(scene.rows["plan"], scene.at)
    knowing = [{knows(scene, made, p.id) for p in line.people} for line in lines]
    assert all(len(one) == 1 for one in knowing)
    assert knowing == sorted(knowing, key=lambda one: one != {True})
    for line in lines:
        for people in (line.people, line.about):
            assert list(people) == sorted(people, key=lambda ref: (ref.name.casefold(), ref.id))
            assert list(people) == [NAMES.person(ref.id) for ref in people]


def pairs_of(lines: Sequence[WrongAboutOthers]) -> Iterator[tuple[str, str, str, str, str]]:
    for line in lines:
        for a in line.people:
            for b in line.about:
                if a != b:
                    yield a.id, b.id, line.thinks, line.actually, line.evidence.event


def wrong_pairs(scene: Scene) -> Iterator[tuple[str, str, str, str, str]]:
    rows = scene.rows["plan"]
    for a, b in permutations(filter(modelled, PEOPLE), 2):
        thought, held = belief(rows, (a, b), scene.at), belief(rows, (b,), scene.at)
        if thought and held and thought.row.same != held.row.same:
            yield a, b, thought.row.value, held.row.value, thought.row.id


def grouped(scene: Scene) -> Iterator[tuple[frozenset[str], frozenset[str], str, str, str]]:
    """Who is wrong about the same people, one by one; people who are all wrong about each other are
    wrong about the same people, and who is up to date stands apart."""
    made = decisions(scene.rows["plan"], scene.at)
    wrong: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for a, b, *line in wrong_pairs(scene):
        wrong.setdefault((line[0], line[1], line[2]), {}).setdefault(a, set()).add(b)
    for what, thinking in wrong.items():
        lines: dict[tuple[bool, frozenset[str]], set[str]] = {}
        for person, about in thinking.items():
            knowing, everyone = knows(scene, made, person), about | {person}
            mutual = any(
                about | {person} == others | {other} and knowing == knows(scene, made, other)
                for other, others in thinking.items()
                if other != person
            )
            lines.setdefault((knowing, frozenset(everyone if mutual else about)), set()).add(person)
        for (_, whom), people in lines.items():
            yield frozenset(people), whom, *what


def ids(people: Sequence[Ref]) -> frozenset[str]:
    return frozenset(one.id for one in people)


def knows(scene: Scene, made: Sequence[Row], person: str) -> bool:
    held = belief(scene.rows["plan"], (person,), scene.at)
    return bool(held and made and held.row.same == made[-1].same)


@often
@given(scenes())
def test_first_order_is_what_everybody_says(scene: Scene) -> None:
    rows = scene.rows["plan"]
    made = decisions(rows, scene.at)
    expected = []
    for person in filter(modelled, PEOPLE):
        held = belief(rows, (person,), scene.at)
        if held and made and held.row.same != made[-1].same:
            grade = grade_of(held.row, person, scene.at)
            expected.append((person, held.row.value, held.since, held.row.id, grade))
    found = [
        (one.person.id, one.believes, micros(one.since), one.evidence.event, one.evidence.grade)
        for one in false_beliefs(scene)
    ]
    assert sorted(found) == sorted(expected)
    for person in filter(modelled, PEOPLE):
        own = [one for one in false_beliefs(scene) if one.person.id == person]
        assert false_beliefs(scene, person) == own


def micros(moment: datetime) -> int:
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)


# ------------------------------------------------------------------------------- who knows


@often
@given(scenes(), st.integers(0, 2**32).map(random.Random))
def test_who_knows_is_what_is_said_of_everybody(scene: Scene, rng: random.Random) -> None:
    stays = {
        room: {person: stretches(rng, scene.at) for person in PEOPLE} for room in ("hall", "nook")
    }
    elsewhere = {
        room: {p: own for p, own in spent.items() if own and not in_audience(scene, p)}
        for room, spent in stays.items()
    }
    told = who_knows("plan", scene, elsewhere)
    expected = {p: one for p in filter(modelled, PEOPLE) if (one := standing(scene, stays, p))}
    found = {
        one.person.id: (one.status, one.value, one.grade, one.evidence and one.evidence.event)
        for one in told.people
    }
    assert found == expected
    assert len(told.people) == len(found)
    order = ["knows", "stale", "could_have_seen", "unaware"]
    shown = [(order.index(o.status), o.person.name.casefold(), o.person.id) for o in told.people]
    assert shown == sorted(shown)
    assert list(told.wrong_about_others) == wrong_about_others("plan", scene)


def stretches(rng: random.Random, at: int) -> list[Stay]:
    edges = sorted(rng.sample(range(END + 3), 2 * rng.randint(0, 2)))
    found = [Stay((a, ""), (b, "")) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [stay for stay in found if stay.since[0] <= at]


def in_audience(scene: Scene, person: str) -> bool:
    """Where they were is not looked up: `Reading.elsewhere`."""
    return any(
        person in row.members
        for row in scene.rows["plan"]
        if row.trusted is None and row.at <= scene.at
    )


type Stands = tuple[str, str | None, Grade | None, str | None]


def standing(scene: Scene, stays: dict[str, dict[str, list[Stay]]], person: str) -> Stands | None:
    rows = sorted((r for r in scene.rows["plan"] if r.at <= scene.at), key=lambda r: r.moment)
    made = decisions(rows, scene.at)
    held = belief(rows, (person,), scene.at)
    if held is not None:
        status = "unaware" if not made else "knows" if knows(scene, made, person) else "stale"
        return status, held.row.value, grade_of(held.row, person, scene.at), held.row.id
    reached = [row for row in rows if reach(row, person, stays)]
    if not reached and not any(person in row.people_by(scene.at) for row in rows):
        return None
    for wanted in ("exposed", "reachable"):
        for row in reversed(reached):
            current = bool(made) and row.same == made[-1].same and row.kind != "tell"
            if current and reach(row, person, stays) == wanted:
                return "could_have_seen", None, reach(row, person, stays), row.id
    return "unaware", None, None, None


def reach(row: Row, person: str, stays: dict[str, dict[str, list[Stay]]]) -> Grade | None:
    own = stays.get(row.room or "", {}).get(person, [])
    if row.shown and any(stay.since <= row.moment < stay.until for stay in own):
        return "exposed"
    return "reachable" if any(stay.until > row.moment for stay in own) else None


# ------------------------------------------------------------------------------- plans


@often
@given(scenes(), st.integers(0, 2**32).map(random.Random))
def test_a_plan_leaves_wrong_whom_asking_everybody_finds_wrong(
    scene: Scene, rng: random.Random
) -> None:
    """As if the value had been said to everybody whom the plan reaches."""
    rows = [row for row in scene.rows["plan"] if row.at <= scene.at]
    scene = scene._replace(rows={"plan": rows})
    made = decisions(rows, scene.at)
    may = {person: rng.sample(("hall", "nook"), rng.randint(0, 2)) for person in PEOPLE}
    halls = {name: some(rng) - HIDDEN - {"somebody-1"} for name in ("one", "two", "three")}
    told = announcement(
        "plan",
        scene,
        [Hall(name, people, 25, people) for name, people in halls.items()],
        None,
        {person: Reader(person, frozenset(rooms)) for person, rooms in may.items()},
    )
    if not made:
        assert told.plans == ()
        return
    holds = {p: belief(rows, (p,), scene.at) for p in filter(modelled, PEOPLE)}
    wrong = {p for p, held in holds.items() if held and held.row.same != made[-1].same}
    assert told.wrong_before == len(wrong)
    for plan in told.plans:
        to = [message.to for message in plan.messages]
        reached = {one.person.id for one in to if one.person}.union(
            *(halls[one.room.id] for one in to if one.room)
        )
        last = max(row.at for row in rows)
        said = made[-1]._replace(
            at=min(last + 1, scene.at), id="~", kind="say", by=None, decides=True,
            members=frozenset(reached), sights=(),
        )  # fmt: skip
        after = [belief([*rows, said], (person,), scene.at) for person in wrong]
        left = sum(held is not None and held.row.same != made[-1].same for held in after)
        assert plan.wrong_after == left
