"""What was never said, and what its source no longer says: nothing of it is left, or just enough."""

import random
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine import Memory, Reader, UnknownEntity, rules
from engine.events import (
    Event,
    Grade,
    Notice,
    Report,
    Retract,
    Say,
    Set,
    Statement,
    Tell,
    Unsee,
    any_event,
)
from tests.conftest import Workspace
from tests.engine.brute import BEST_FIRST, Table, author, when
from tests.engine.conftest import NOON, after
from tests.engine.histories import History, form, histories, recorded
from tests.engine.test_properties import (
    everything,
    few_count_as_many,
    from_memory,
    from_table,
    half,
    many,
    questions,
    seeds,
)

__all__ = ["few_count_as_many", "many"]

# ------------------------------------------------------------------------------- the slow table


class TakenBack(Table):
    """The table that knows of two more ways in which a source goes; see `Retract`."""

    def __init__(self, events: Iterable[Event], form: Callable[[str], str] = str.casefold) -> None:
        super().__init__(events, form)
        self.void |= {e.event for e in self.events if isinstance(e, Retract) and e.void}

    def readable_by(self, person: str, rooms: Iterable[str]) -> "TakenBack":
        return TakenBack(super().readable_by(person, rooms).events, self.form)

    def mind(self, person: str) -> "TakenBack":
        return TakenBack(super().mind(person).events, self.form)

    def drops(self, statement: Statement) -> list[Retract]:
        ours = [e for e in self.events if isinstance(e, Retract) and e.event == statement.id]
        return [one for one in ours if one.edited_by]

    def story(
        self, person: str, statement: Statement, at: datetime
    ) -> tuple[datetime | None, Grade | None]:
        """Since when and how well, after everything up to a moment, one thing after the other."""
        grade = self.grade_at_first(person, statement)
        since = statement.at if grade else None
        gone = False
        marks = [(one.at, 0, one.id, one) for one in self.marks(statement, person)]
        edits = [(one.at, 1, one.id, one) for one in self.drops(statement)]
        for moment, _, _, one in sorted([*marks, *edits], key=lambda mark: mark[:3]):
            if moment > at:
                break
            if isinstance(one, Retract):
                left = self.left(person, statement.room, when(one))
                moves = grade == "exposed" and person != author(statement) and not left
                if moves or person == one.edited_by:
                    since, grade = None, None
                gone = True
            elif isinstance(one, Unsee):
                since, grade = None, None
            elif isinstance(one, Notice) and one.grade != "reachable" and (since or not gone):
                since = since or max(one.at, statement.at)
                grade = min((grade or one.grade, one.grade), key=BEST_FIRST.index)
        return since, grade

    def _since(self, person: str, id: str, at: datetime) -> datetime | None:
        return self.story(person, self.by_id(id), at)[0]

    def _fell(self, statement: Statement, at: datetime) -> bool:
        if any(drop.at <= at for drop in self.drops(statement)):
            return True
        plain = [
            e for e in self.events if not isinstance(e, Retract) or not (e.void or e.edited_by)
        ]
        return Table._fell(Table(plain, self.form), statement, at)


@st.composite
def taken_back(draw: Callable[[st.SearchStrategy[Any]], Any]) -> History:
    """A history in which some things were never said, and some were edited away, in any order."""
    history: History = draw(histories(longest=16))
    events, said = list(history.events), history.statements
    for i in range(draw(st.integers(1, 4)) if said else 0):
        way = draw(st.sampled_from([{}, {"void": True}, *({"edited_by": p} for p in "ABC")]))
        event = draw(st.sampled_from(said))
        at = draw(st.sampled_from([m for m in history.moments if m >= event.at]))
        mark = Retract(id=f"{draw(st.sampled_from('az'))}-r{i}", at=at, event=event.id, **way)
        events.insert(draw(st.integers(0, len(events))), mark)
    return history._replace(events=tuple(events))


def table_of(history: History) -> TakenBack:
    return TakenBack(history.events, form)


@given(history=taken_back(), dice=seeds)
def test_world_and_minds_believe_what_the_table_believes_of_what_was_taken_back(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    table = table_of(history)
    minds = {person: table.mind(person) for person in history.people}
    with workspace() as memory:
        recorded(memory, history)
        assert sorted(memory.entities()) == table.entities
        assert memory.counts()["statements"] == len(list(table.statements()))
        assert memory.counts()["entities"] == len(table.entities)
        rows = memory._reading().rows("all_statements")
        for chain, entity, at in questions(dice, history, table, many):
            held = from_table(table.believes(chain, entity, at))
            assert from_memory(memory.believes, chain, entity, at) == held, (chain, entity, at)
            known = from_table(minds[chain[0]].believes(chain, entity, at))
            told = from_memory(memory.believes, chain, entity, at, mind_only=True)
            assert told == known, (chain, entity, at)
            moment = rules.to_micros(at)
            own = [row for row in rows if row.entity == entity]
            made = rules.decisions(own, moment)
            assert [row.id for row in made] == [s.id for s in table.decisions(entity, at)]
            assert [row.id for row in rules.disputes(made, moment)] == [
                s.id for s in table.rivals(entity, at)
            ]
            for row in (row for row in own if row.at <= moment):
                for person in history.people:
                    grade = table.story(person, table.by_id(row.id), at)[1]
                    assert rules.grade_of(row, person, moment) == grade, (row.id, person, at)


@half
@given(history=taken_back(), dice=seeds)
def test_the_order_in_which_things_are_taken_back_never_shows(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    shuffled = dice.sample(history.events, len(history.events))
    with workspace() as memory, workspace() as other:
        recorded(memory, history)
        recorded(other, history, shuffled)
        assert everything(memory, history) == everything(other, history)


@half
@given(history=taken_back(), dice=seeds)
def test_for_a_reader_nothing_unreadable_was_taken_back(
    workspace: Workspace, many: int, history: History, dice: random.Random
) -> None:
    rooms = frozenset(room for room in (*history.rooms, "direct") if dice.random() < 0.5)
    reader = Reader(dice.choice(history.people), rooms)
    table = table_of(history).readable_by(reader.person, rooms)
    with workspace() as memory:
        recorded(memory, history)
        assert sorted(memory.entities(reader)) == table.entities
        for chain, entity, at in questions(dice, history, table, many // 2):
            held = from_table(table.believes(chain, entity, at))
            assert from_memory(memory.believes, chain, entity, at, reader=reader) == held


# ------------------------------------------------------------------------------- never said


def said(id: str = "e1", value: str = "yes", seconds: int = 1, **more: Any) -> Say:
    fields = {"speaker": "Ann", "room": "hall", "entity": "refund"} | more
    return Say(id=id, at=after(seconds), value=value, **fields)


def voided(event: str = "e1", seconds: int = 5) -> Retract:
    return Retract(id=f"{event}-void", at=after(seconds), event=event, void=True)


def edited(event: str = "e1", seconds: int = 100, by: str = "Ann") -> Retract:
    return Retract(id=f"{event}-edit{seconds}", at=after(seconds), event=event, edited_by=by)


@pytest.mark.parametrize("late", [False, True])
def test_what_was_never_said_is_in_no_answer_and_in_no_mind(memory: Memory, late: bool) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    events: list[Event] = [said(quote="Refund: yes", link="https://chat.example/1"), voided()]
    for event in reversed(events) if late else events:
        memory.record(event)
    memory.record(Notice(id="n", at=after(9), person="Bob", event="e1", room="hall"))

    assert memory.entities() == {}
    assert (memory.counts()["statements"], memory.counts()["entities"]) == (0, 0)
    with pytest.raises(UnknownEntity):
        memory.timeline("refund")
    for mind_only in (False, True):
        for at in (after(2), None):
            with pytest.raises(UnknownEntity):
                memory.believes("Bob", "refund", at=at, mind_only=mind_only)
    assert memory._store.read("mind:Bob", "all_statements", **_operator()) == []
    [[quote, link]] = _world(memory, "MATCH (e:Event {id: 'e1'}) RETURN e.quote, e.link")
    assert (quote, link) == (None, None)


def _operator() -> dict[str, Any]:
    return {"all": True, "rooms": [], "reader": "||", "person": "", "at": rules.FOREVER - 1}


def _world(memory: Memory, query: str) -> list[list[Any]]:
    graph: Any = memory._store._node
    from falkordb.graph import Graph  # the driver, past everything of ours

    return list(Graph(graph, memory._store.key("world")).ro_query(query).result_set)


def test_what_was_never_said_leaves_no_mind_behind_where_there_was_none(memory: Memory) -> None:
    memory.record(voided())
    memory.record(said(witnesses={"Bob": "exposed"}))
    memory.record(Notice(id="n", at=after(9), person="Bob", event="e1", room="hall"))

    keys = memory._store._node.scan_iter(memory._store.key("mind:*"))
    assert list(keys) == []


def test_the_value_before_holds_where_the_newer_one_was_never_said(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(said())
    memory.record(said("e2", "no", 3))
    memory.record(Retract(id="gone", at=after(4), event="e2"))
    memory.record(voided("e2"))

    assert memory.believes(["Bob", "Ann"], "refund").value == "yes"
    assert [one.value for one in memory.timeline("refund").changes] == ["yes"]


def test_what_was_never_said_goes_from_a_copy_that_is_made_later(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(said())
    memory.record(voided())
    fork = memory.fork(f"{memory.sid}-copy")
    try:
        assert fork.entities() == {}
        fork.record(said("e2", "no", 9))
        fork.record(voided("e2", 12))
        assert fork.entities() == {}
    finally:
        fork.drop()
        fork.close()


def test_a_retraction_is_of_one_kind() -> None:
    with pytest.raises(ValidationError):
        Retract(id="r", at=NOON, event="e1", void=True, edited_by="Ann")
    old = '{"id":"r","at":"2026-11-30T12:00:00Z","kind":"retract","event":"e1"}'
    assert any_event.validate_json(old) == Retract(id="r", at=NOON, event="e1")


# ------------------------------------------------------------------------------- edited away


@pytest.fixture
def dropped(memory: Memory) -> Memory:
    """Ann said "no" and then "yes"; Bob reacted, Cid was there, Dan had left; then "yes" went."""
    memory.join(["Ann", "Bob", "Cid", "Dan"], "hall", at=NOON)
    memory.record(said("e0", "no"))
    memory.record(said("e1", "yes", 2, quote="Refund: yes", link="https://chat.example/1"))
    memory.record(Notice(id="n", at=after(3), person="Bob", event="e1", room="hall"))
    memory.leave("Dan", "hall", at=after(50))
    memory.record(edited())
    return memory


@pytest.mark.parametrize("mind_only", [False, True])
def test_who_was_merely_exposed_and_the_editor_no_longer_hold_what_was_edited_away(
    dropped: Memory, mind_only: bool
) -> None:
    def held(*chain: str, at: datetime | None = None) -> str | None:
        return dropped.believes(chain, "refund", at=at, mind_only=mind_only).value

    assert [held(p) for p in ("Ann", "Bob", "Cid", "Dan")] == ["no", "yes", "no", "yes"]
    assert [held(p, at=after(99)) for p in ("Ann", "Bob", "Cid", "Dan")] == ["yes"] * 4
    assert held("Bob", "Cid") == "no"
    assert held("Bob", "Dan") == "yes"
    assert held("Cid", "Ann", at=after(99)) == "yes"


def test_what_was_edited_away_no_longer_stands(dropped: Memory) -> None:
    assert dropped.truth("refund").value == "no"
    assert dropped.truth("refund", at=after(99)).value == "yes"
    assert [one.person.id for one in dropped.misinformed().beliefs] == ["Bob", "Dan"]


def test_the_sentence_goes_and_the_link_stays_where_a_message_was_edited(dropped: Memory) -> None:
    kept = dropped.believes("Bob", "refund").evidence
    assert kept is not None
    assert (kept.quote, kept.link) == (None, "https://chat.example/1")

    dropped.record(Retract(id="gone", at=after(200), event="e1"))

    kept = dropped.believes("Bob", "refund").evidence
    assert kept is not None
    assert (kept.quote, kept.link) == (None, None)


def test_nobody_comes_to_see_what_was_edited_away(dropped: Memory) -> None:
    for person in ("Cid", "Eve"):
        late = Notice(id=f"late-{person}", at=after(150), person=person, event="e1", room="hall")
        dropped.record(late)

    assert [dropped.believes(p, "refund").value for p in ("Cid", "Eve")] == ["no", None]


def test_who_moved_with_a_text_moves_with_its_next_version_too(dropped: Memory) -> None:
    dropped.record(said("e2", "perhaps", 200, edits="e1"))
    dropped.record(said("e3", "blue", 100, edits="e1", entity="colour"))

    people = ("Ann", "Bob", "Cid", "Dan")
    assert [dropped.believes(p, "refund").value for p in people] == [
        "perhaps", "yes", "perhaps", "yes",
    ]  # fmt: skip
    assert [dropped.believes(p, "colour").value for p in people] == ["blue", None, "blue", None]


def test_an_edit_of_an_edit_reaches_whom_the_first_version_reached(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(said())
    memory.record(said("e2", "no", 100, edits="e1", witnesses={"Cid": "exposed"}))
    memory.record(said("e3", "perhaps", 200, edits="e2"))

    assert memory.believes("Bob", "refund").value == "perhaps"
    assert memory.believes("Cid", "refund").value is None


def test_an_editor_who_is_not_the_author_leaves_it_to_the_author(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(said())
    memory.record(Notice(id="n", at=after(3), person="Bob", event="e1", room="hall"))
    memory.record(edited(by="Bob"))

    assert memory.believes("Ann", "refund").value == "yes"
    assert memory.believes("Bob", "refund").value is None


def test_who_left_before_the_edit_keeps_it_also_when_that_is_heard_of_later(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(said())
    memory.record(edited())
    assert memory.believes("Bob", "refund").value is None

    memory.leave("Bob", "hall", at=after(50))

    assert memory.believes("Bob", "refund").value == "yes"
    assert memory.believes("Bob", "refund", mind_only=True).value == "yes"


def test_who_came_before_the_deletion_could_have_seen_it_also_when_that_is_heard_of_later(
    memory: Memory,
) -> None:
    memory.record(said())
    memory.record(Retract(id="gone", at=after(100), event="e1"))
    assert memory.truth("refund").value is None

    memory.join("Bob", "hall", at=after(50))

    assert memory.truth("refund").value == "yes"


@pytest.mark.parametrize("kind", [Tell, Report, Set])
def test_any_statement_can_be_edited_away(memory: Memory, kind: type[Any]) -> None:
    own: dict[type[Any], dict[str, Any]] = {
        Tell: {"speaker": "Ann", "listeners": ("Bob",)},
        Report: {"speaker": "Ann", "about": "Eve", "room": "hall"},
        Set: {"by": "Ann", "room": "hall"},
    }
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(kind(id="e1", at=after(1), entity="refund", value="yes", **own[kind]))
    before = memory.believes("Bob", "refund").value
    memory.record(edited())

    assert before == "yes"
    assert memory.believes("Ann", "refund").value is None
    assert memory.believes("Bob", "refund").value == ("yes" if kind is Tell else None)
    if kind is Report:
        assert memory.believes(["Bob", "Eve"], "refund").value is None


# ------------------------------------------------------------------------------- forgetting


def test_forgetting_the_editor_brings_nothing_back(dropped: Memory) -> None:
    dropped.record(said("v1", "never", 20, entity="colour"))
    dropped.record(voided("v1", 25))
    dropped.forget("Ann")

    def told() -> list[str | None]:
        held = [dropped.believes(p, "refund").value for p in ("Bob", "Cid", "Dan")]
        return [*held, dropped.truth("refund").value]

    assert told() == ["yes", "no", "yes", "no"]
    assert "colour" not in dropped.entities()
    dropped.record(said("e9", "blue", 300, speaker="Cid", entity="colour"))
    dropped.record(Retract(id="e9-edit", at=after(400), event="e9", edited_by="Ann"))
    assert dropped.believes("Dan", "colour").value is None
    assert told() == ["yes", "no", "yes", "no"]
    nodes = _world(dropped, "MATCH (n) RETURN properties(n)")
    assert "Ann" not in str(nodes)


def test_forgetting_a_witness_brings_nothing_back(dropped: Memory) -> None:
    dropped.record(voided("e0", 30))
    dropped.forget("Cid")

    assert [dropped.believes(p, "refund").value for p in ("Ann", "Bob", "Dan")] == [
        None, "yes", "yes",
    ]  # fmt: skip
    assert dropped.truth("refund").value is None


def test_what_was_taken_back_stays_so_after_a_restart(tmp_path: Path) -> None:
    with Memory("back", state=tmp_path) as memory:
        memory.join(["Ann", "Bob"], "hall", at=NOON)
        for event in (said(), edited(), said("e2", "no", 9, entity="date"), voided("e2", 12)):
            memory.record(event)
    with Memory("back", state=tmp_path) as memory:
        assert memory.believes("Bob", "refund").value is None
        assert memory.believes("Bob", "refund", at=after(2)).value == "yes"
        assert list(memory.entities()) == ["refund"]
