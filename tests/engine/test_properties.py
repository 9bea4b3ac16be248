"""Random histories: the engine, in the graph and in Python, says what the slow table says.

`pytest --thorough` asks 100,000 questions and more, on new histories each time.
"""

import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Memory, Reader, UnknownEntity, reading, recording, rules, store
from engine.beliefs import FalseBelief, Recipient, WrongAboutOthers
from engine.events import Enter, Exit, Say, Statement
from tests.conftest import Workspace
from tests.engine import naive
from tests.engine.brute import Agreed, Belief, Table
from tests.engine.histories import DEN, START, History, form, histories, recorded

seeds = st.integers(0, 2**32).map(random.Random)
half = settings(max_examples=settings().max_examples // 2)  # where a history costs more


@pytest.fixture(scope="module", autouse=True)
def few_count_as_many() -> Iterator[None]:
    """Audiences of three are kept like those of a thousand, what was said three lines ago is long
    ago, and a mind that holds six of them is large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "INLINE", 2)
        patch.setattr(reading, "RECENT", 3)
        patch.setattr(reading, "MANY", 2)
        patch.setattr(store, "LARGE", 6)
        patch.setattr(store, "SELDOM", 8)
        yield


@pytest.fixture(scope="session")
def many(request: pytest.FixtureRequest) -> int:
    """How many questions are asked about each history."""
    return 120 if request.config.getoption("--thorough") else 40


# ------------------------------------------------------------------------------- what is compared


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
    keys = table.keys
    if not keys:
        return []
    ask = partial(dice.choice, history.moments)
    return [(a_chain(dice, history.people), dice.choice(keys), ask()) for _ in range(many)]


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


@given(history=histories(agreed=True), dice=seeds)
def test_the_graph_believes_what_the_table_believes(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace(history.policy) as memory:
        recorded(memory, history)
        for chain, entity, at in questions(dice, history, table, many):
            expected = from_table(table.believes(chain, entity, at))
            assert from_memory(memory.believes, chain, entity, at) == expected, (chain, entity, at)


@given(history=histories(agreed=True), dice=seeds)
def test_a_mind_believes_what_its_own_table_believes(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    """Stronger than promised: a mind is the world without what others pressed in private."""
    table = history.table
    minds = {person: table.mind(person) for person in history.people}
    with workspace(history.policy) as memory:
        recorded(memory, history)
        for chain, entity, at in questions(dice, history, table, many):
            expected = from_table(minds[chain[0]].believes(chain, entity, at))
            told = from_memory(memory.believes, chain, entity, at, mind_only=True)
            assert told == expected, (chain, entity, at)


@given(history=histories(private=False, agreed=True), dice=seeds)
def test_where_audiences_are_common_knowledge_a_mind_equals_the_world(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    with workspace(history.policy) as memory:
        recorded(memory, history)
        for chain, entity, at in questions(dice, history, history.table, many // 2):
            world = memory.believes(chain, entity, at=at)
            in_mind = memory.believes(chain, entity, at=at, mind_only=True)
            assert (in_mind.value, in_mind.how, in_mind.since) == (
                world.value, world.how, world.since,
            )  # fmt: skip


@given(history=histories(agreed=True), dice=seeds)
def test_the_rule_in_python_equals_the_table(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace(history.policy) as memory:
        recorded(memory, history)
        rows = memory._reading().rows("all_statements")
    for chain, entity, at in questions(dice, history, table, many * 3):
        key, moment = table.key(entity), rules.to_micros(at)
        own = [row for row in rows if row.entity == key]
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


# ------------------------------------------------------------------------------- trust


def in_exit_order(history: History) -> History:
    """The same under that policy."""
    return history._replace(agreed=Agreed("exit_order"))


@half
@given(history=histories(private=False, restless=True).map(in_exit_order), dice=seeds)
def test_where_trust_decides_world_and_mind_believe_what_the_table_believes(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace(history.policy) as memory:
        recorded(memory, history)
        for chain, entity, at in questions(dice, history, table, many):
            expected = from_table(table.believes(chain, entity, at))
            for mind_only in (False, True):
                told = from_memory(memory.believes, chain, entity, at, mind_only=mind_only)
                assert told == expected, (chain, entity, at, mind_only)


@half
@given(history=histories(private=False, restless=True).map(in_exit_order), dice=seeds)
def test_where_trust_decides_people_of_one_group_are_alike(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    """What each believes, and of everybody else; what everybody else believes of each."""
    table = history.table
    with workspace(history.policy) as memory:
        recorded(memory, history)
        rows = memory._reading().rows("all_statements")
    for entity in table.entities:
        at = dice.choice(history.moments)
        groups = rules.groups([row for row in rows if row.entity == entity])
        people = [person for together in groups for person in together]
        assert len(people) == len(set(people))
        assert {p for s in table.statements(entity) for p in witnesses(table, s)} <= set(people)
        for together in groups:
            for a, b in itertools.combinations(together, 2):
                others = [p for p in history.people if p not in (a, b)]
                ways = [(a,), (a, b), *((a, p) for p in others), *((p, a) for p in others)]
                swap = {a: b, b: a}
                for way in ways:
                    one = table.believes(way, entity, at)
                    other = table.believes([swap.get(p, p) for p in way], entity, at)
                    assert from_table(one) == from_table(other), (way, together, entity, at)


@pytest.mark.parametrize(("comes_again", "believed"), [(False, None), (True, "yes")])
def test_leaving_that_is_void_makes_nobody_trusted(
    workspace: Workspace, comes_again: bool, believed: str | None
) -> None:
    """Ann was taken to have left the lab before she spoke; she left it after, and had not come again."""
    moves: list[tuple[type[Enter | Exit], int, bool]] = [(Exit, 2, True), (Exit, 5, False)]
    moves += [(Enter, 4, False)] if comes_again else []
    with workspace("exit_order") as memory:
        for n, order in enumerate(itertools.permutations([None, *moves])):
            hall, lab, ann, bob = (f"{name}{n}" for name in ("hall", "lab", "Ann", "Bob"))
            memory.record(Enter(id=f"in{n}", at=START, person=bob, room=hall))
            for one in order:
                if one is None:
                    at = START + timedelta(seconds=3)
                    memory.record(
                        Say(id=f"s{n}", at=at, speaker=ann, room=hall, entity="plan", value="yes")
                    )
                else:
                    kind, second, presumed = one
                    at = START + timedelta(seconds=second)
                    id = f"{second}-{n}"
                    memory.record(kind(id=id, at=at, person=ann, room=lab, presumed=presumed))
            told = memory.believes(bob, "plan", at=START + timedelta(seconds=9))
            assert told.value == believed, order


def witnesses(table: Table, statement: Statement) -> set[str]:
    moments = [e.at for e in table.events]
    return {p for p in table.people if any(table.witnessed(p, statement, m) for m in moments)}


# ------------------------------------------------------------------------------- readers


@half
@given(history=histories(agreed=True), dice=seeds)
def test_for_a_reader_unreadable_events_never_happened(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    rooms = frozenset(room for room in (*history.rooms, "direct") if dice.random() < 0.5)
    reader = Reader(dice.choice(history.people), rooms)
    table = history.table.readable_by(reader.person, rooms)
    with workspace(history.policy) as memory:
        recorded(memory, history)
        assert sorted(memory.entities(reader)) == table.entities
        for chain, entity, at in questions(dice, history, table, many):
            expected = from_table(table.believes(chain, entity, at))
            told = from_memory(memory.believes, chain, entity, at, reader=reader)
            assert told == expected, (reader, chain, entity, at)
        for entity in set(history.table.entities) - set(table.entities):
            with pytest.raises(UnknownEntity):
                memory.believes(history.people[0], entity, reader=reader)
        with workspace(history.policy) as without:
            recorded(without, history, [e for e in history.events if e in table.events])
            assert everything(memory, history, reader) == everything(
                without, history, Reader(reader.person, rooms)
            )


# ------------------------------------------------------------------------------- recording


@half
@given(history=histories(agreed=True), dice=seeds)
def test_the_order_of_recording_never_shows(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    shuffled = dice.sample(history.events, len(history.events))
    with workspace(history.policy) as memory, workspace(history.policy) as other:
        recorded(memory, history)
        recorded(other, history, shuffled)
        assert everything(memory, history) == everything(other, history)


@half
@given(history=histories(longest=10, agreed=True), dice=seeds)
def test_recording_twice_is_recording_once(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    with workspace(history.policy) as memory:
        recorded(memory, history)
        before = everything(memory, history)
        again = dice.sample(history.events, len(history.events))
        assert [memory.record(event) for event in again] == [False] * len(again)
        assert everything(memory, history) == before


# ------------------------------------------------------------------------------- the questions


@given(history=histories(agreed=True), dice=seeds)
def test_who_knows_equals_asking_person_by_person(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace(history.policy) as memory:
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


@given(history=histories(agreed=True), dice=seeds)
def test_false_beliefs_equal_asking_person_by_person(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace(history.policy) as memory:
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


@given(history=histories(agreed=True), dice=seeds)
def test_a_handoff_and_common_ground_equal_asking_one_by_one(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    table = history.table
    with workspace(history.policy) as memory:
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


class Office(NamedTuple):
    """Who may read which rooms, and who asks; nobody in particular may read the open ones."""

    open: frozenset[str]
    halls: dict[str, frozenset[str]]
    readers: dict[str, frozenset[str]]
    asker: str | None

    @property
    def reader(self) -> Reader | None:
        return None if self.asker is None else Reader(self.asker, self.readers[self.asker])

    def read(self, table: Table, person: str | None) -> Table:
        return table if person is None else table.readable_by(person, self.readers[person])

    def recipients(self, to: Recipient) -> list[str]:
        if to.person is not None:
            return [to.person.id]
        assert to.room is not None
        nobody = [NOBODY] if to.room.id in self.open else []
        return [*self.halls[to.room.id], *nobody]


NOBODY = "nobody"


def office(memory: Memory, history: History, dice: random.Random) -> Office:
    """Some rooms are open, and somebody or the operator asks."""
    kinds = {room: dice.choice(("public", "private")) for room in history.rooms}
    memory.describe(rooms=[(room, room, kind) for room, kind in kinds.items()])
    memory.describe(rooms=[("direct", "direct", "direct")])
    opened = frozenset(room for room, kind in kinds.items() if kind == "public")
    halls = {room.id: room.here for room in memory.rooms() if room.id in history.rooms}
    readers = {p: opened | {r for r in halls if p in halls[r]} for p in history.people}
    asker = dice.choice((None, None, *history.people))
    memory.describe(rooms=[(DEN, DEN, "private")])
    if asker is not None:
        memory.join(asker, DEN)
        readers[asker] |= {DEN}
    may = opened | halls.keys() if asker is None else readers[asker]
    return Office(
        opened, {r: halls[r] for r in halls if r in may}, {**readers, NOBODY: opened}, asker
    )


@given(
    history=histories(agreed=True) | histories(merging=True), dice=seeds, small=st.integers(1, 6)
)
def test_the_best_plan_is_the_best_of_all_plans(
    workspace: Workspace, history: History, dice: random.Random, small: int
) -> None:
    with workspace(history.policy) as memory:
        recorded(memory, history)
        there = office(memory, history, dice)
        table, at = there.read(history.table, there.asker), history.table.events[-1].at
        readers = {p: rooms for p, rooms in there.readers.items() if p != NOBODY}
        for entity in table.entities:
            best = naive.best_plan(table, entity, at, there.halls, readers, there.open, small)
            told = memory.plan_announcements(
                entity, rooms=there.halls, small=small, reader=there.reader
            )
            outcomes = [(p.wrong_after, p.interrupted, len(p.messages)) for p in told.plans]
            assert outcomes[:1] == ([best] if best else []), entity
            assert outcomes == sorted(outcomes)


@settings(max_examples=2 * settings().max_examples)
@given(history=histories(merging=True), dice=seeds, small=st.integers(1, 6))
def test_what_is_sent_is_what_every_recipient_would_read_as_well(
    workspace: Workspace, history: History, dice: random.Random, small: int
) -> None:
    """Under the name that is used, as far as each knows what means the same."""
    with workspace(history.policy) as memory:
        recorded(memory, history)
        there = office(memory, history, dice)
        table, at = there.read(history.table, there.asker), history.table.events[-1].at
        for entity in table.entities:
            told = memory.plan_announcements(
                entity, rooms=there.halls, small=small, reader=there.reader
            )
            for post in (post for plan in told.plans for post in plan.messages):
                found = re.fullmatch(r"(\S+) is now: (.+?)( \(.*\))?", post.text)
                assert found, post.text
                for person in there.recipients(post.to):
                    own = there.read(table, person)
                    truth = own.truth(found[1], at)
                    assert truth, (post.text, person)
                    assert form(truth.value) == form(found[2]), (post.text, person)
        for a, b in itertools.permutations(history.people, 2):
            own = there.read(table, b)
            knowing = Table(table.events, form, table.agreed._replace(merges=own.agreed.merges))
            for line in memory.handoff_delta(a, b, reader=there.reader).text.splitlines()[1:]:
                now = re.fullmatch(r"• (\S+): (.+?)( \(no longer (.+)\))?", line)
                then = re.fullmatch(r"• \S+ was told (\S+): (.+); it is now (.+)", line)
                name, value = (now[1], now[2]) if now else (then[1], then[3]) if then else ("", "")
                truth = own.truth(name, at)
                assert truth, line
                assert form(truth.value) == form(value), line
                held = knowing.believes([b], name, at)
                if now:
                    assert now[4] == (held and held.statement.value), line
                if then:
                    assert then[2] in {s.value for s in own.statements(name)}, line
