"""What is concluded of who saw a statement can end, and is taken back when it follows no more."""

import random
from datetime import datetime
from typing import Any

import pytest
import redis

from engine import Memory, rules
from engine.events import GRADES, Enter, Grade, Notice, Retract, Say, Unsee
from engine.memory import Notes, Span
from engine.recording import _bare_row
from tests.bot.test_replay import graphs
from tests.engine.conftest import NOON, after

SAID = Say(id="said", at=NOON, speaker="A", room="r", entity="key", value="blue")


def notice(id: str, minute: int, until: int | None = None, grade: Grade = "engaged") -> Notice:
    return Notice(id=id, at=after(minute), person="B", event="said", grade=grade, room="r",
                  until=None if until is None else after(until))  # fmt: skip


def grade_at(marks: list[Notice | Unsee], there: bool, moment: datetime) -> Grade | None:
    """Straight from the words: what is there, has not ended, and was not denied since."""
    denied = [mark.at for mark in marks if isinstance(mark, Unsee) and mark.at <= moment]
    last = max(denied, default=NOON)
    grades: list[Grade] = ["exposed"] if there and not denied else []
    for mark in marks:
        begun = isinstance(mark, Notice) and last <= mark.at <= moment
        if begun and isinstance(mark, Notice) and (mark.until is None or moment < mark.until):
            grades.append(mark.grade)
    return min(grades, key=GRADES.index, default=None)


@pytest.mark.parametrize("seed", range(300))
def test_a_notice_that_ends_leaves_what_the_rest_shows(seed: int) -> None:
    pick, marks = random.Random(seed), list[Notice | Unsee]()
    minutes = pick.sample(range(1, 40), pick.randint(1, 6))
    for number, minute in enumerate(minutes):
        if pick.random() < 0.2:
            marks.append(Unsee(id=f"m{number}", at=after(minute), person="B", event="said"))
        else:
            until = pick.choice([None, minute + pick.randint(1, 20)])
            grade = pick.choice(GRADES[1:4])
            marks.append(notice(f"m{number}", minute, until, grade))
    there = pick.random() < 0.5
    seen = rules.derive(SAID, frozenset({"B"} if there else ()), marks)
    row = _bare_row(SAID, seen)
    for minute in range(62):
        moment = rules.to_micros(after(minute))
        assert rules.grade_of(row, "B", moment) == grade_at(marks, there, after(minute)), minute


class TestConcluding:
    @pytest.fixture(autouse=True)
    def room(self, memory: Memory) -> None:
        memory.record(Enter(id="in", at=after(-5), person="A", room="r"))
        memory.record(SAID)

    def ours(self, mark: Any) -> bool:
        return str(mark.id).startswith("ours")

    def value(self, memory: Memory, who: str = "B", **more: Any) -> str | None:
        return memory.believes(who, "key", **more).value

    def test_what_follows_no_more_is_taken_back_as_if_it_had_never_been(
        self, memory: Memory, database: redis.Redis
    ) -> None:
        memory.record(notice("pressed", 1).model_copy(update={"person": "C"}))
        before = graphs(database, memory)
        marks: list[Notice | Retract] = [notice("ours-1", 3)]
        marks += [Retract(id="ours-2", at=after(9), event="said", void=True)]
        assert memory.conclude(["said"], marks[:1], self.ours)
        assert (self.value(memory), self.value(memory, mind_only=True)) == ("blue", "blue")
        assert not memory.conclude(["said"], marks[:1], self.ours)
        assert memory.conclude(["said"], marks, self.ours)
        assert memory.counts()["statements"] == 0
        assert memory.conclude(["said"], [], self.ours)
        assert self.value(memory, "C") == "blue"
        after_all = graphs(database, memory)
        after_all = {key: nodes for key, nodes in after_all.items() if nodes}  # B's mind is empty
        people = {str(node) for nodes in after_all.values() for node in nodes} - {
            str(node) for nodes in before.values() for node in nodes
        }
        assert all("[Person]" in node for node in people)

    def test_one_that_takes_the_place_of_another_does_it_at_once(self, memory: Memory) -> None:
        memory.conclude(["said"], [notice("ours-1", 3)], self.ours)
        memory.conclude(["said"], [notice("ours-2", 3, until=7)], self.ours)
        assert self.value(memory, at=after(6)) == "blue"
        assert self.value(memory, at=after(7)) is None

    def test_of_other_statements_nothing_is_taken_back(self, memory: Memory) -> None:
        other = SAID.model_copy(update={"id": "other", "entity": "lock"})
        memory.record(other)
        memory.conclude(["said"], [notice("ours-1", 3)], self.ours)
        memory.conclude(["other"], [], self.ours)
        assert self.value(memory) == "blue"


def test_notes_are_found_by_their_time_and_the_time_by_the_note(memory: Memory) -> None:
    memory.record_all([], [Notes("k", {f"n{minute}": after(minute) for minute in range(5)})])
    spans = [Span("k", after(1), after(3)), Span("k", after(9), after(9)), Span("no", NOON, NOON)]
    assert memory.noted_within(spans) == [["n1", "n2", "n3"], [], []]
    assert memory.noted_at("k", ["n2", "x"]) == {"n2": after(2)}
    assert memory.noted_within([]) == []
    assert memory.noted_at("k", []) == {}
