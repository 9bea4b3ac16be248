"""How a value reached somebody is the shortest way that the events allow and the reader may read."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Memory, PersonInfo, Reader
from engine.beliefs import Explanation
from engine.events import Enter, Event, Report, Say, Statement, Tell
from tests.conftest import Workspace
from tests.engine.brute import Table, author, when
from tests.engine.histories import History, histories

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATE = NOON + timedelta(days=1)
seeds = st.integers(0, 2**32).map(random.Random)

type Way = tuple[Statement, ...]


def after(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


# ------------------------------------------------------------------------------- the slow way


def ways(table: Table, chain: Sequence[str], entity: str, at: datetime) -> list[list[str]]:
    """Every way on which the value can have reached the chain's last person, tried out one by one:
    as ids of events, each with whom it reached. Those from a decision, or else from a beginning."""
    held = table.believes(chain, entity, at)
    if held is None:
        return [[]]
    value = table.form(held.statement.value)
    accepted = list(table.accepted(chain, entity, at))
    other = [
        a.statement for a in accepted if a.displaces and table.form(a.statement.value) != value
    ]
    other = [s for s in other if when(s) < when(held.statement)]
    arrived = [
        a.statement
        for a in accepted
        if table.form(a.statement.value) == value
        and when(a.statement) <= when(held.statement)
        and (not other or when(a.statement) > when(other[-1]))
    ]
    decided = [s for s in table.decisions(entity, at) if table.form(s.value) == value]
    if any(s in decided for s in arrived):
        return [[]]
    said = [s for s in table.statements(entity) if s.at <= at and table.form(s.value) == value]
    complete = [
        way for end in arrived for way in backwards(table, (end,), said)
    ]  # every way that cannot be made longer, and every end of one
    from_decider = [way for way in complete if _is_deciders(way[0], decided)]
    beginnings = [way for way in complete if not list(_before(table, way[0], said))]
    return [named(way, chain[-1]) for way in from_decider or beginnings]


def backwards(table: Table, way: Way, said: Sequence[Statement]) -> Iterator[Way]:
    yield way
    for earlier in _before(table, way[0], said):
        yield from backwards(table, (earlier, *way), said)


def _before(table: Table, statement: Statement, said: Sequence[Statement]) -> Iterator[Statement]:
    speaker = author(statement)
    for one in said:
        if when(one) < when(statement) and speaker is not None and author(one) != speaker:
            told_of = isinstance(one, Report) and one.about == speaker
            if told_of or table.witnessed(speaker, one, statement.at):
                yield one


def _is_deciders(statement: Statement, decided: Sequence[Statement]) -> bool:
    if author(statement) is None:
        return statement in decided
    return any(author(d) == author(statement) and when(d) <= when(statement) for d in decided)


def named(way: Way, last: str) -> list[str]:
    hops = [f"{author(a)} {a.id} {author(b)}" for a, b in pairwise(way)]
    end = way[-1]
    return hops if author(end) == last else [*hops, f"{author(end)} {end.id} {last}"]


def shown(told: Explanation) -> list[str]:
    return [
        f"{h.from_person and h.from_person.id} {h.evidence.event} {h.to_person and h.to_person.id}"
        for h in told.path
    ]


def newest(table: Table, way: list[str]) -> list[Any]:
    """Ways of one length in the order in which they are preferred, the last one first."""
    return [when(table.by_id(hop.split()[1])) for hop in reversed(way)]


def assert_shortest(table: Table, told: Explanation, expected: list[list[str]]) -> None:
    shortest = min(map(len, expected))
    equal = [way for way in expected if len(way) == shortest]
    assert shown(told) == max(equal, key=partial(newest, table))


@given(history=histories(longest=16), dice=seeds)
def test_a_path_is_the_shortest_of_all(
    workspace: Workspace, request: pytest.FixtureRequest, history: History, dice: random.Random
) -> None:
    check(workspace, request, history, history.table, dice, None)


@given(history=histories(longest=16), dice=seeds)
def test_for_a_reader_an_unreadable_hop_neither_shows_nor_shortens(
    workspace: Workspace, request: pytest.FixtureRequest, history: History, dice: random.Random
) -> None:
    rooms = frozenset(room for room in (*history.rooms, "direct") if dice.random() < 0.5)
    reader = Reader(dice.choice(history.people), rooms)
    table = history.table.readable_by(reader.person, rooms)
    check(workspace, request, history, table, dice, reader)


def check(
    workspace: Workspace,
    request: pytest.FixtureRequest,
    history: History,
    table: Table,
    dice: random.Random,
    reader: Reader | None,
) -> None:
    many = 60 if request.config.getoption("--thorough") else 15
    with workspace() as memory:
        memory.describe(people=[PersonInfo(person, person) for person in history.people])
        for event in history.events:
            memory.record(event)
        for _ in range(many if table.entities else 0):
            chain = dice.sample(history.people, dice.randint(1, min(3, len(history.people))))
            entity, at = dice.choice(table.entities), dice.choice(history.moments)
            if not any(s.at <= at for s in table.statements(entity)):
                continue
            told = memory.explain(chain, entity, at=at, reader=reader)
            expected = ways(table, chain, entity, at)
            assert_shortest(table, told, expected)


# ------------------------------------------------------------------------------- what it shows


def told_on(*events: Event) -> list[Event]:
    """Fin decides in #money, where Bil is; Bil tells Sam; Sam says it in #chat, where Maya is."""
    about = {"entity": "refund", "value": "rejected"}
    return [
        *(Enter(id=f"m-{p}", at=NOON, person=p, room="money") for p in ("Fin", "Bil")),
        *(Enter(id=f"c-{p}", at=NOON, person=p, room="chat") for p in ("Sam", "Maya")),
        Say(id="decided", at=after(1), speaker="Fin", room="money", **about),
        Tell(id="told", at=after(2), speaker="Bil", listeners=("Sam",), **about),
        Say(id="said", at=after(3), speaker="Sam", room="chat", decides=False, **about),
        *events,
    ]  # fmt: skip


@pytest.fixture
def passed_on(memory: Memory) -> Memory:
    for event in told_on():
        memory.record(event)
    return memory


def test_it_goes_from_mouth_to_mouth(passed_on: Memory) -> None:
    told = passed_on.explain("Maya", "refund")

    assert shown(told) == ["Fin decided Bil", "Bil told Sam", "Sam said Maya"]
    assert [hop.how for hop in told.path] == ["heard", "told", "heard"]
    assert [hop.evidence.grade for hop in told.path] == ["exposed", "acknowledged", "exposed"]
    assert told.model_dump(mode="json")["path"][0]["from"] == {"id": "Fin", "name": "Fin"}
    assert told.model_dump(mode="json")["path"][0]["to"]["id"] == "Bil"
    assert shown(passed_on.explain("Sam", "refund")) == ["Fin decided Bil", "Bil told Sam"]


def test_it_is_empty_for_who_was_there_and_for_who_knows_nothing(passed_on: Memory) -> None:
    passed_on.describe(people=[PersonInfo("Zed", "Zed")])

    for person in ("Fin", "Bil", "Zed"):
        assert passed_on.explain(person, "refund").path == ()
    assert passed_on.explain("Maya", "refund", at=after(2)).path == ()


def test_of_others_it_ends_with_what_the_chain_knows(passed_on: Memory) -> None:
    sam_of_maya = passed_on.explain(["Sam", "Maya"], "refund")
    maya_of_sam = passed_on.explain(["Maya", "Sam"], "refund")

    assert shown(sam_of_maya) == ["Fin decided Bil", "Bil told Sam", "Sam said Maya"]
    assert shown(maya_of_sam) == ["Fin decided Bil", "Bil told Sam"]
    assert passed_on.explain(["Maya", "Bil"], "refund").path == ()
    assert passed_on.explain(["Maya", "Bil"], "refund").value is None
    assert [s.evidence.event for s in sam_of_maya.steps] == ["said"]


def test_a_reader_sees_only_as_far_back_as_may_be_read(passed_on: Memory) -> None:
    read = partial(passed_on.explain, "Maya", "refund")

    assert shown(read(reader=Reader("Maya", frozenset({"chat"})))) == ["Sam said Maya"]
    assert shown(read(reader=Reader("Sam", frozenset({"chat"})))) == [
        "Bil told Sam", "Sam said Maya",
    ]  # fmt: skip
    both = frozenset({"chat", "money"})
    assert shown(read(reader=Reader("Maya", both))) == ["Sam said Maya"]
    assert shown(read(reader=Reader("Bil", both))) == shown(read())


def test_the_decider_may_have_told_it_later(passed_on: Memory) -> None:
    passed_on.tell("Fin", "Zed", "refund", "rejected", at=after(9))

    [hop] = passed_on.explain("Zed", "refund").path
    assert (hop.from_person and hop.from_person.id, hop.how) == ("Fin", "told")


def test_what_was_heard_after_it_was_passed_on_explains_nothing(memory: Memory) -> None:
    about = {"entity": "refund", "value": "rejected"}
    for event in (
        Tell(id="early", at=after(1), speaker="Bil", listeners=("Sam",), **about),
        Say(
            id="late",
            at=after(2),
            speaker="Fin",
            room="money",
            **about,
            witnesses={"Bil": "exposed"},
        ),
    ):
        memory.record(event)

    assert shown(memory.explain("Sam", "refund")) == ["Bil early Sam"]


def test_a_report_is_how_it_reached_whom_it_is_about(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(
        Report(
            id="r", at=after(1), speaker="Ann", about="Maya", room="hall", entity="refund",
            value="yes",
        )
    )  # fmt: skip
    memory.tell("Maya", "Zed", "refund", "yes", at=after(2))

    told = memory.explain(["Bob", "Maya"], "refund")
    assert shown(told) == ["Ann r Maya"]
    assert [hop.how for hop in told.path] == ["reported"]
    on = memory.explain("Zed", "refund")
    assert [(h.from_person and h.from_person.id, h.how) for h in on.path] == [
        ("Ann", "reported"), ("Maya", "told"),
    ]  # fmt: skip


def test_only_what_came_since_another_value_counts(passed_on: Memory) -> None:
    """Bil was there when it was rejected, but has it now from Sam."""
    passed_on.tell("Zed", "Bil", "refund", "approved", at=after(5))
    assert [h.how for h in passed_on.explain("Bil", "refund").path] == ["told"]
    passed_on.tell("Sam", "Bil", "refund", "rejected", at=after(6))

    path = passed_on.explain("Bil", "refund").path
    assert [h.from_person and h.from_person.id for h in path] == ["Fin", "Bil", "Sam"]


def test_who_wants_to_be_left_out_is_on_no_path(passed_on: Memory) -> None:
    passed_on.optout("Bil")

    told = passed_on.explain("Maya", "refund")

    assert "Bil" not in told.model_dump_json()
    assert shown(told) == ["Fin decided None", "None told Sam", "Sam said Maya"]


def test_what_nobody_in_particular_set_comes_from_nobody(memory: Memory) -> None:
    memory.join("Ann", "hall", at=NOON)
    memory.set("refund", "yes", room="hall", at=after(1))
    memory.tell("Ann", "Bob", "refund", "yes", at=after(2))

    path = memory.explain("Bob", "refund").path
    assert [(h.from_person and h.from_person.id, h.how) for h in path] == [
        (None, "saw"), ("Ann", "told"),
    ]  # fmt: skip


def test_of_equally_short_paths_the_newest_is_shown(passed_on: Memory) -> None:
    passed_on.tell("Bil", "Maya", "refund", "rejected", at=after(5))
    passed_on.tell("Bil", "Maya", "refund", "rejected", at=after(6))

    path = passed_on.explain("Maya", "refund").path
    assert [h.evidence.at for h in path] == [after(1), after(6)]


def test_so_is_the_newest_of_what_came_before(passed_on: Memory) -> None:
    """Fin told Bil once more before Bil told Sam."""
    passed_on.tell("Fin", "Bil", "refund", "rejected", at=after(1) + timedelta(seconds=30))

    path = passed_on.explain("Sam", "refund").path
    assert [h.how for h in path] == ["told", "told"]
