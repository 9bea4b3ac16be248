"""A mind that has become large: looked into from its newest end, and with an index; never another answer."""

from datetime import timedelta
from typing import Any

import pytest
import redis

from engine import Memory, store
from engine.events import Enter, Say
from engine.recording import mind
from engine.store import key_of
from tests.engine.conftest import NOON, after

LONG = 150  # statements: far more than the newest end holds


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mind of forty statements is large, and every one that is written asks."""
    monkeypatch.setattr(store, "LARGE", 40)
    monkeypatch.setattr(store, "SELDOM", 1)


@pytest.fixture
def talkative(memory: Memory) -> Memory:
    """Ann, Bob and Cy hear Ann change her mind every second; Dan hears it until the fifth."""
    memory.join(["Ann", "Bob", "Cy", "Dan"], "hall", at=NOON)
    for n in range(1, LONG):
        if n == 5:
            memory.leave("Dan", "hall", at=after(n))
        memory.record(said(n))
    return memory


def said(n: int, second: float | None = None, **more: Any) -> Say:
    at = NOON + timedelta(seconds=n if second is None else second)
    fields = {"speaker": "Ann", "room": "hall", "entity": "plan", "value": f"v{n}"}
    return Say(id=f"say-{n:03d}", at=at, **(fields | more))


def held(memory: Memory, *chain: str, second: int | None = None, entity: str = "plan") -> Any:
    at = None if second is None else after(second)
    world = memory.believes(chain, entity, at=at).value
    assert memory.believes(chain, entity, at=at, mind_only=True).value == world
    return world


def indexes(memory: Memory, database: Any, graph: str) -> list[Any]:
    text = "CALL db.indexes() YIELD properties RETURN properties"
    return list(database.execute_command("GRAPH.RO_QUERY", key_of(memory.sid, graph), text)[1])


@pytest.mark.parametrize("indexed", [False, True])
def test_the_newest_statement_is_believed_now_and_any_other_when_it_was(
    request: pytest.FixtureRequest, indexed: bool
) -> None:
    if indexed:
        request.getfixturevalue("soon")
    memory: Memory = request.getfixturevalue("talkative")

    for chain in (("Ann",), ("Ann", "Bob"), ("Cy", "Ann", "Bob")):
        assert held(memory, *chain) == f"v{LONG - 1}"
        assert held(memory, *chain, second=LONG - 2) == f"v{LONG - 2}"
        assert held(memory, *chain, second=7) == "v7"
        assert held(memory, *chain, second=0) is None


def test_what_the_newest_end_does_not_hold_is_found_further_back(talkative: Memory) -> None:
    assert held(talkative, "Dan") == "v4"
    assert held(talkative, "Ann", "Dan") == "v4"
    assert held(talkative, "Ann", "Dan", "Cy") == "v4"


def test_what_is_written_last_may_have_been_said_first(talkative: Memory) -> None:
    """The newest end is where was written last; what counts is when it was said."""
    for n in range(LONG, LONG + 40):
        talkative.record(said(n, second=0.5))

    assert held(talkative, "Ann") == f"v{LONG - 1}"
    assert held(talkative, "Ann", "Bob") == f"v{LONG - 1}"
    assert held(talkative, "Dan") == "v4"
    assert held(talkative, "Ann", second=1) == "v1"


def test_a_mention_at_the_newest_end_does_not_hide_the_decision_behind_it(
    talkative: Memory,
) -> None:
    for n in range(LONG, LONG + 40):
        talkative.record(said(n, speaker="Bob", decides=False, value="perhaps"))

    assert held(talkative, "Ann") == f"v{LONG - 1}"
    assert held(talkative, "Ann", "Bob") == "perhaps"


def test_what_is_said_about_something_else_hides_nothing(talkative: Memory) -> None:
    for n in range(LONG, LONG + 40):
        talkative.record(said(n, entity="date", value="May"))

    assert held(talkative, "Ann", "Bob") == f"v{LONG - 1}"
    assert held(talkative, "Ann", "Bob", entity="date") == "May"


@pytest.mark.usefixtures("soon")
def test_only_a_large_mind_has_an_index(talkative: Memory, database: Any) -> None:
    assert indexes(talkative, database, mind("Ann")) == [["[at, entity]"]]
    assert indexes(talkative, database, mind("Dan")) == []


def test_a_mind_that_is_deleted_meanwhile_does_not_come_back(
    memory: Memory, database: Any, soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody is forgotten while their mind is found to be large."""
    memory.record(Enter(id="in", at=NOON, person="Ann", room="hall"))
    monkeypatch.setattr(store, "LARGE", 1)
    asked, key = memory._store._read, key_of(memory.sid, mind("Ann"))

    def forgotten(client: Any, graph: str, query: str, params: dict[str, Any]) -> Any:
        rows = asked(client, graph, query, params)
        if query == "indexed" and graph == mind("Ann"):
            database.execute_command("GRAPH.DELETE", key)
        return rows

    monkeypatch.setattr(memory._store, "_read", forgotten)

    assert memory.record(said(1)) is True
    assert not database.exists(key)


def test_an_index_that_cannot_be_made_costs_no_event(
    memory: Memory, soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event is there; the index is made with a later one."""
    memory.record(Enter(id="in", at=NOON, person="Ann", room="hall"))
    monkeypatch.setattr(store, "LARGE", 1)
    asked = memory._store._read

    def away(client: Any, graph: str, query: str, params: dict[str, Any]) -> Any:
        if query == "nodes":
            raise redis.ConnectionError("away")
        return asked(client, graph, query, params)

    monkeypatch.setattr(memory._store, "_read", away)

    assert memory.record(said(1)) is True
    assert held(memory, "Ann") == "v1"
