"""Random histories: the engine, in the graph and in Python, says what the slow table says.

`pytest --thorough` asks 100,000 questions and more, on new histories each time.
"""

import json
import random
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Memory, PersonInfo, Reader, UnknownEntity, recording, rules
from engine.beliefs import FalseBelief, WrongAboutOthers
from engine.events import Event
from tests.conftest import Workspace
from tests.engine import naive
from tests.engine.brute import Belief, Table
from tests.engine.histories import History, form, histories

seeds = st.integers(0, 2**32).map(random.Random)
half = settings(max_examples=settings().max_examples // 2)  # where a history costs more


@pytest.fixture(scope="module", autouse=True)
def few_count_as_many() -> Iterator[None]:
    """Audiences of three are kept like those of a thousand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "INLINE", 2)
        yield


@pytest.fixture(scope="session")
def many(request: pytest.FixtureRequest) -> int:
    """How many questions are asked about each history."""
    return 120 if request.config.getoption("--thorough") else 40


# ------------------------------------------------------------------------------- what is compared


def recorded(memory: Memory, history: History, events: Iterable[Event] | None = None) -> Memory:
    """Everybody is known from the start, so that only what happened decides the answers."""
    memory.describe(people=[PersonInfo(person, person) for person in history.people])
    for event in history.events if events is None else events:
        memory.record(event)
    return memory


type Answer = tuple[str, str, datetime] | None


def from_table(held: Belief | None) -> Answer:
    return held and (held.statement.id, held.statement.value, held.since)


def from_memory(ask: Any, chain: tuple[str, ...], entity: str, at: datetime, **how: Any) -> Answer:
    told = ask(chain, entity, at=at, **how)
    if told.value is None:
        assert told.evidence is None
        assert told.since is None
        return None
    assert told.evidence is not None
    return (told.evidence.event, told.value, told.since)


def a_chain(dice: random.Random, people: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dice.sample(people, dice.randint(1, min(4, len(people)))))


def questions(
    dice: random.Random, history: History, table: Table, many: int
) -> list[tuple[tuple[str, ...], str, datetime]]:
    """Chains to depth 4, at moments between all that happened."""
    entities = table.entities
    if not entities:
        return []
    ask = partial(dice.choice, history.moments)
    return [(a_chain(dice, history.people), dice.choice(entities), ask()) for _ in range(many)]


def everything(memory: Memory, history: History, reader: Reader | None = None) -> str:
    """All reads of a memory, as one text."""
    found: dict[str, Any] = {"entities": memory.entities(reader)}
    ask: dict[str, Any] = {"reader": reader}
    for entity in memory.entities(reader):
        found[entity] = [
            *(memory.believes(pair, entity, **ask) for pair in _pairs(history.people)),
            memory.who_knows(entity, **ask),
            memory.timeline(entity, **ask),
            memory.explain(history.people[:2], entity, **ask),
        ]
    for order in (1, 2):
        found[f"order {order}"] = memory.false_beliefs(order=order, **ask)
    for a, b in _pairs(history.people):
        if a != b:
            found[a + b] = [memory.common_ground(a, b, **ask), memory.handoff_delta(a, b, **ask)]
    if reader is None:
        found["rooms"] = [(room.id, sorted(room.here)) for room in memory.rooms()]
        found["counts"] = memory.counts()
    return json.dumps(found, default=_plain, indent=1)


def _pairs(people: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(a, b) for a in people for b in people]


def _plain(answer: Any) -> Any:
    return answer.model_dump(mode="json")


# ------------------------------------------------------------------------------- the rule


@given(history=histories(), dice=seeds)
def test_the_graph_believes_what_the_table_believes(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace() as memory:
        recorded(memory, history)
        for chain, entity, at in questions(dice, history, table, many):
            expected = from_table(table.believes(chain, entity, at))
            assert from_memory(memory.believes, chain, entity, at) == expected, (chain, entity, at)


@given(history=histories(), dice=seeds)
def test_a_mind_believes_what_its_own_table_believes(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    """Stronger than promised: a mind is the world without what others pressed in private."""
    table = history.table
    minds = {person: table.mind(person) for person in history.people}
    with workspace() as memory:
        recorded(memory, history)
        for chain, entity, at in questions(dice, history, table, many):
            expected = from_table(minds[chain[0]].believes(chain, entity, at))
            told = from_memory(memory.believes, chain, entity, at, mind_only=True)
            assert told == expected, (chain, entity, at)


@given(history=histories(private=False), dice=seeds)
def test_where_audiences_are_common_knowledge_a_mind_equals_the_world(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    with workspace() as memory:
        recorded(memory, history)
        for chain, entity, at in questions(dice, history, history.table, many // 2):
            world = memory.believes(chain, entity, at=at)
            in_mind = memory.believes(chain, entity, at=at, mind_only=True)
            assert (in_mind.value, in_mind.how, in_mind.since) == (
                world.value, world.how, world.since,
            )  # fmt: skip


@given(history=histories(), dice=seeds)
def test_the_rule_in_python_equals_the_table(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace() as memory:
        recorded(memory, history)
        rows = memory._reading().rows("all_statements")
    for chain, entity, at in questions(dice, history, table, many * 3):
        own, moment = [row for row in rows if row.entity == entity], rules.to_micros(at)
        held = rules.belief(own, chain, moment)
        assert (held and (held.row.id, held.row.value, rules.from_micros(held.since))) == (
            from_table(table.believes(chain, entity, at))
        )
        made = rules.decisions(own, moment)
        assert [row.id for row in made] == [s.id for s in table.decisions(entity, at)]
        assert [row.id for row in rules.disputes(made, moment)] == [
            s.id for s in table.rivals(entity, at)
        ]
        for row in own:
            for person in history.people:
                statement = table.by_id(row.id)
                grade = table.grade(person, statement, at) if row.at <= moment else None
                seen = rules.grade_of(row, person, moment) if row.at <= moment else None
                assert seen == grade, (row.id, person, at)


# ------------------------------------------------------------------------------- readers


@half
@given(history=histories(), dice=seeds)
def test_for_a_reader_unreadable_events_never_happened(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    rooms = frozenset(room for room in (*history.rooms, "direct") if dice.random() < 0.5)
    reader = Reader(dice.choice(history.people), rooms)
    table = history.table.readable_by(reader.person, rooms)
    with workspace() as memory:
        recorded(memory, history)
        assert sorted(memory.entities(reader)) == table.entities
        for chain, entity, at in questions(dice, history, table, many):
            expected = from_table(table.believes(chain, entity, at))
            told = from_memory(memory.believes, chain, entity, at, reader=reader)
            assert told == expected, (reader, chain, entity, at)
        for entity in set(history.table.entities) - set(table.entities):
            with pytest.raises(UnknownEntity):
                memory.believes(history.people[0], entity, reader=reader)
        with workspace() as without:
            recorded(without, history, [e for e in history.events if e in table.events])
            assert everything(memory, history, reader) == everything(
                without, history, Reader(reader.person, rooms)
            )


# ------------------------------------------------------------------------------- recording


@half
@given(history=histories(), dice=seeds)
def test_the_order_of_recording_never_shows(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    shuffled = dice.sample(history.events, len(history.events))
    with workspace() as memory, workspace() as other:
        recorded(memory, history)
        recorded(other, history, shuffled)
        assert everything(memory, history) == everything(other, history)


@half
@given(history=histories(longest=10), dice=seeds)
def test_recording_twice_is_recording_once(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    with workspace() as memory:
        recorded(memory, history)
        before = everything(memory, history)
        again = dice.sample(history.events, len(history.events))
        assert [memory.record(event) for event in again] == [False] * len(again)
        assert everything(memory, history) == before


# ------------------------------------------------------------------------------- the questions


@given(history=histories(), dice=seeds)
def test_who_knows_equals_asking_person_by_person(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace() as memory:
        recorded(memory, history)
        for _, entity, at in questions(dice, history, table, 6):
            if not any(s.at <= at for s in table.statements(entity)):
                with pytest.raises(UnknownEntity):
                    memory.who_knows(entity, at=at)
                continue
            told = memory.who_knows(entity, at=at)
            people = {p.person.id: (p.status, p.evidence and p.evidence.event) for p in told.people}
            assert people == naive.statuses(table, entity, at), (entity, at)
            truth = table.truth(entity, at)
            assert told.value == (truth and truth.value)
            assert (told.decided and told.decided.event) == (truth and truth.id)
            assert told.disputed is bool(table.rivals(entity, at))
            assert pairs(told.wrong_about_others) == sorted(
                naive.wrong_about_others(table, entity, at)
            ), (entity, at)


def pairs(lines: Iterable[WrongAboutOthers]) -> list[naive.WrongAbout]:
    """Grouped lines, spelled out again; nobody is in a line about themselves."""
    return sorted(
        naive.WrongAbout(
            person.id, about.id, form(line.thinks), form(line.actually), line.evidence.event
        )
        for line in lines
        for person in line.people
        for about in line.about
        if person != about
    )


@given(history=histories(), dice=seeds)
def test_false_beliefs_equal_asking_person_by_person(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace() as memory:
        recorded(memory, history)
        for at in dice.sample(history.moments, min(4, len(history.moments))):
            told = [one for one in memory.false_beliefs(at=at) if isinstance(one, FalseBelief)]
            wrong = [
                naive.Wrong(
                    o.person.id, o.entity.id, o.believes, o.actual, o.since, o.changed.event
                )
                for o in told
            ]
            assert sorted(wrong) == sorted(naive.false_beliefs(table, at)), at
            lines = memory.false_beliefs(order=2, at=at)
            assert pairs(one for one in lines if isinstance(one, WrongAboutOthers)) == sorted(
                line for e in table.entities for line in naive.wrong_about_others(table, e, at)
            ), at


@given(history=histories(), dice=seeds)
def test_a_handoff_and_common_ground_equal_asking_one_by_one(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace() as memory:
        recorded(memory, history)
        for at in dice.sample(history.moments, min(6, len(history.moments))):
            a, b = dice.sample(history.people, 2)
            told = memory.handoff_delta(a, b, at=at)
            expected = naive.handoff(table, a, b, at)
            assert {one.entity.id for one in told.lacks} == expected.lacks
            assert {(one.entity.id, one.holds) for one in told.wrong} == expected.wrong
            assert {
                (p.to.id, p.entity.id, p.evidence.event) for p in told.promises
            } == expected.promises, (a, b, at)
            shared = memory.common_ground(a, b, at=at).shared
            assert {(one.entity.id, form(one.value)) for one in shared} == naive.common_ground(
                table, a, b, at
            )


@given(history=histories(), dice=seeds, small=st.integers(1, 6))
def test_the_best_plan_is_the_best_of_all_plans(
    workspace: Workspace, history: History, dice: random.Random, small: int
) -> None:
    table = history.table
    kinds = {room: dice.choice(("public", "private")) for room in history.rooms}
    with workspace() as memory:
        recorded(memory, history)
        memory.describe(rooms=[(room, room, kind) for room, kind in kinds.items()])
        halls = {room.id: room.here for room in memory.rooms() if room.id in history.rooms}
        readers = {
            p: frozenset(r for r in kinds if kinds[r] == "public" or p in halls.get(r, ()))
            for p in history.people
        }
        for entity in table.entities:
            at = table.events[-1].at
            opened = frozenset(room for room, kind in kinds.items() if kind == "public")
            best = naive.best_plan(table, entity, at, halls, readers, opened, small)
            told = memory.plan_announcements(entity, rooms=history.rooms, small=small)
            outcomes = [(p.wrong_after, p.interrupted, len(p.messages)) for p in told.plans]
            assert outcomes[:1] == ([best] if best else []), entity
            assert outcomes == sorted(outcomes)
