"""What is kept between questions is what the database would say."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine import Memory, directory, recording
from engine.directory import Directory, PersonInfo
from engine.store import Rows

AUDIENCES = {name: frozenset(f"{name}{i}" for i in range(3)) for name in "abcd"}


class World:
    """A world that only has a version."""

    def __init__(self) -> None:
        self.changes = 0

    def read(self, graph: str, query: str, **params: Any) -> Rows:
        return []

    def read_versioned(self, graph: str, query: str, **params: Any) -> tuple[Rows, int]:
        return [], self.changes

    def version(self) -> int:
        return self.changes


class Asked:
    """Reads audiences, and says which."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def __call__(self, ids: Sequence[str]) -> dict[str, frozenset[str]]:
        self.ids += ids
        return {id: AUDIENCES[id] for id in ids}


def test_an_audience_is_read_once_until_the_directory_is_read_anew() -> None:
    world, read = World(), Asked()
    known = Directory(world)
    for wanted in ("ab", "b", "bc"):
        assert known.audiences(wanted, read) == {id: AUDIENCES[id] for id in wanted}
    assert read.ids == ["a", "b", "c"]
    world.changes += 1  # somebody was forgotten
    known.refresh()
    known.audiences("a", read)
    assert read.ids == ["a", "b", "c", "a"]


def test_no_more_audiences_are_kept_than_fit_or_one_question_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directory, "KEPT", 7)
    known, read = Directory(World()), Asked()
    for wanted in ("ab", "abcd", "abcd", "d", "a"):
        assert known.audiences(wanted, read) == {id: AUDIENCES[id] for id in wanted}
    assert read.ids == ["a", "b", "c", "d"]
    known = Directory(World())
    for wanted in ("ab", "c", "a"):
        known.audiences(wanted, read)
    assert read.ids[4:] == ["a", "b", "c", "a"]


def test_what_was_read_while_somebody_was_forgotten_is_not_kept() -> None:
    world = World()
    known = Directory(world)

    def slowly(ids: Sequence[str]) -> dict[str, frozenset[str]]:
        world.changes += 1
        known.refresh()
        return {id: AUDIENCES[id] for id in ids}

    known.audiences("a", slowly)
    read = Asked()
    known.audiences("a", read)
    assert read.ids == ["a"]


def test_a_new_name_is_used_from_the_next_question_on(memory: Memory) -> None:
    memory.say("maya", "plan", "approved", room="hall")
    assert [one.person.name for one in memory.who_knows("plan").people] == ["maya"]
    memory.describe(people=[PersonInfo("maya", "Maya Stern")])
    assert [one.person.name for one in memory.who_knows("plan").people] == ["Maya Stern"]


def test_who_was_forgotten_is_in_no_answer_about_a_large_audience(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "INLINE", 2)
    memory.join(["ann", "bob", "cid", "dee"], "hall")
    memory.say("ann", "plan", "approved", room="hall")
    assert len(memory.who_knows("plan").people) == 4
    memory.forget("dee")
    assert {one.person.id for one in memory.who_knows("plan").people} == {"ann", "bob", "cid"}
