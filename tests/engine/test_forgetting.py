"""Forgetting, leaving out, naming who decides, and confirming what means the same."""

import subprocess
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from falkordb.graph import Graph

from engine import Memory, Reader, UnknownEntity, UnknownPerson
from engine.events import Enter, Notice, Say
from engine.queue import Entry
from tests.engine.conftest import after

CANARIES = ("ZCANARY", "mention-of-z", "secret-of-z", "told-z", "quote-of-z")


def traces(memory: Memory, words: tuple[str, ...] = CANARIES) -> list[str]:
    """Every key, graph, note and database user in which one of the words stands."""
    client: Any = memory._store._node
    found = []
    for key in client.scan_iter("*"):
        match client.type(key):
            case "graphdata":
                graph = Graph(client, key)
                nodes = graph.ro_query("MATCH (n) RETURN labels(n), properties(n)").result_set
                edges = graph.ro_query("MATCH ()-[r]->() RETURN properties(r)").result_set
                text = f"{key} {nodes} {edges}"
            case "zset":
                text = f"{key} {client.zrange(key, 0, -1)}"
            case "hash":
                text = f"{key} {client.hgetall(key)}"
            case "stream":
                text = f"{key} {client.xrange(key)}"
            case _:
                text = f"{key}"
        found += [f"{word} in {key}" for word in words if word in text]
    return found + [f"{word} in the ACL" for word in words if word in str(client.acl_list())]


def peopled(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "ZCANARY", "Cid"], "room")
    memory.say("ZCANARY", "d-1", "approved", room="room")
    memory.say("Bob", "d-1", "rejected", room="room")
    memory.say("ZCANARY", "d-2", "mention-of-z", room="room", decides=False)
    memory.tell("ZCANARY", "Ann", "d-3", "secret-of-z")
    memory.tell("Ann", "ZCANARY", "d-3", "told-z")
    memory.tell("Ann", ["ZCANARY", "Bob"], "d-4", "told-both")
    memory.report("Ann", "ZCANARY", "d-1", "rejected", room="room")
    memory.set("d-5", "done", by="ZCANARY", room="room")
    crowd = [f"p{i}" for i in range(40)]
    memory.join([*crowd, "ZCANARY"], "hall")  # more than stand in a row: a large audience
    memory.say("p1", "d-6", "big", room="hall")
    at = memory.timeline("d-6").changes[0].evidence.at
    memory.record(Notice(id="seen-ZCANARY", at=at, person="ZCANARY", event="x", room="hall"))
    quoted = Say(
        id="quoted", at=at, speaker="Ann", room="room", entity="d-7", value="x",
        quote="<@ZCANARY> says quote-of-z", mentions=("ZCANARY",),
    )  # fmt: skip
    memory.record(quoted)
    memory.note("heard:room", {'{"author":"ZCANARY"}': at})
    for number, by in enumerate(("ZCANARY", "Ann")):
        body = '{"text": "to <@ZCANARY>"}'
        memory.queue().put(Entry(f"room/{number}", "room", number, by, body, number))


def told(memory: Memory) -> list[object]:
    chains = (["Ann"], ["Bob", "Ann"], ["Cid"])
    decided = [memory.truth(entity).value for entity in ("d-1", "d-5", "d-6", "d-7")]
    held = [memory.believes(c, "d-1", mind_only=m).value for c in chains for m in (False, True)]
    nested = memory.believes(["p3", "p4"], "d-6", mind_only=True).value
    return [decided, held, nested, memory.believes("Bob", "d-4", mind_only=True).value]


def test_nothing_is_left_of_who_was_forgotten_before_and_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "s"
    with Memory("canary", state=state) as memory:
        peopled(memory)
        with memory.view("ZCANARY") as view:
            view.believes("d-1")
        before = told(memory)
        assert traces(memory)

        memory.forget("ZCANARY")

        assert traces(memory) == []
        assert told(memory) == before  # what others hold, and what was decided, stays
        decided = memory.timeline("d-1").changes[0].evidence
        assert decided.speaker is not None
        assert decided.speaker.name == "somebody"
        with pytest.raises(UnknownPerson):
            memory.believes("ZCANARY", "d-1")
    with Memory("canary", state=state) as memory:
        assert traces(memory) == []
        assert told(memory) == before
    found = subprocess.run(["grep", "-rla", "ZCANARY", state], capture_output=True, text=True)
    assert found.stdout == ""


def test_a_room_forgets_that_its_newest_line_named_them(memory: Memory) -> None:
    peopled(memory)
    at = memory.timeline("d-6").changes[0].evidence.at + timedelta(days=1)
    memory.record(Enter(id="enter-ZCANARY-hall", at=at, person="ZCANARY", room="hall"))

    memory.forget("ZCANARY")

    assert traces(memory) == []
    memory.record(Enter(id="later", at=at, person="Bob", room="hall"))
    assert "Bob" in {id for room in memory.rooms() if room.id == "hall" for id in room.here}


def test_who_was_forgotten_is_not_recorded_again(memory: Memory) -> None:
    peopled(memory)
    memory.forget("ZCANARY")
    at = memory.timeline("d-6").changes[0].evidence.at

    memory.record(Enter(id="back", at=at, person="ZCANARY", room="room"))
    memory.say("ZCANARY", "d-8", "again", room="room")
    memory.tell("Ann", ["ZCANARY", "Bob"], "d-9", "both")

    assert traces(memory, ("ZCANARY",)) == []
    assert memory.believes("Bob", "d-9").value == "both"
    with pytest.raises(UnknownEntity):
        memory.truth("d-8")
    memory.forget("ZCANARY")  # asked again, it has nothing left to do


def test_who_wants_to_be_left_out_is_in_no_answer_count_or_plan(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "Cid"], "room")
    memory.say("Ann", "d-1", "x", room="room")
    memory.leave(["Ann", "Cid"])
    memory.say("Bob", "d-1", "y", room="room")

    memory.optout("Ann")

    answers = (
        memory.who_knows("d-1"),
        memory.misinformed(),
        memory.timeline("d-1"),
        memory.plan_announcements("d-1"),
    )
    assert not any("Ann" in answer.model_dump_json() for answer in answers)
    assert memory.plan_announcements("d-1").wrong_before == 1
    assert "Ann" not in {p.id for p in memory.people()}
    for ask in (lambda: memory.believes("Ann", "d-1"), lambda: memory.handoff_delta("Ann", "Bob")):
        with pytest.raises(UnknownPerson):
            ask()
    memory.optout("Ann", False)
    assert memory.believes("Ann", "d-1").value == "x"


def test_only_those_named_decide_from_then_on(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "Cid"], "room")
    memory.say("Ann", "d-1", "x", room="room")
    memory.say("Bob", "d-1", "y", room="room")
    assert memory.truth("d-1").value == "y"

    memory.authorise("d-1", ["Ann"])

    assert memory.truth("d-1").value == "x"
    assert memory.believes("Bob", "d-1").value == "y"  # what he says himself is what he believes
    assert memory.believes("Cid", "d-1", mind_only=True).value == "x"
    memory.authorise("d-1", ["Bob"])
    assert memory.truth("d-1").value == "y"


def test_who_is_named_decides_from_that_moment_on_whatever_ids_are_called(memory: Memory) -> None:
    """What is said at the very moment is said under the naming."""
    memory.authorise("d-1", ["Ann"], at=after(5))
    for id, value in (("A-1", "x"), ("z-1", "y")):
        memory.record(
            Say(id=id, at=after(5), speaker="Bob", room="room", entity="d-1", value=value)
        )

    assert memory.truth("d-1").value is None


def test_under_authority_nobody_decides_until_somebody_is_named(state: Path) -> None:
    with Memory(f"named-{uuid.uuid4().hex}", state=state, policy="authority") as memory:
        memory.join(["Ann", "Bob"], "room")
        memory.say("Ann", "d-1", "x", room="room")
        assert memory.truth("d-1").value is None
        memory.authorise("d-1", ["Ann"])
        assert memory.truth("d-1").value == "x"


def test_a_merge_reroutes_beliefs_for_who_may_read_where_it_was_confirmed(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "room")
    memory.join("Ann", "den")
    memory.say("Ann", "d-1", "x", room="room")
    memory.say("Ann", "launch", "y", room="room")

    memory.merge("launch", "d-1", room="den")

    assert memory.truth("d-1").value == "y"
    assert memory.believes("Bob", "launch").value == "y"
    assert memory.entities() == {"d-1": "d-1"}
    outside = Reader("Bob", frozenset({"room"}))
    assert memory.truth("d-1", reader=outside).value == "x"
    memory.unmerge("launch", "d-1")
    assert memory.truth("d-1").value == "x"


def test_an_alias_is_another_name_until_it_is_taken_back(memory: Memory) -> None:
    memory.join("Ann", "room")
    memory.say("Ann", "d-1", "x", room="room")

    memory.alias("The  Big Launch", "d-1", room="room")

    assert memory.truth("the big launch").value == "x"
    with pytest.raises(UnknownEntity):
        memory.truth("the big launch", reader=Reader("Bob", frozenset({"elsewhere"})))
    memory.unalias("the big launch", "d-1")
    with pytest.raises(UnknownEntity):
        memory.truth("the big launch")


def test_the_database_keeps_no_query_of_its_own(memory: Memory) -> None:
    """Parameters are what people wrote; FalkorDB keeps a thousand queries a graph where it may."""
    server: Any = memory._store._node
    assert server.execute_command("GRAPH.CONFIG", "GET", "CMD_INFO") == ["CMD_INFO", False]
    peopled(memory)
    kept = f"telemetry{{{memory._store.key('world')}}}"
    server.xadd(kept, {"Query parameters": "ZCANARY"})  # by a server that was told to
    memory.forget("ZCANARY")
    assert not server.exists(kept)
