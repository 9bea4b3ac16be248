"""A fork is the workspace as it was, and from then on another one, however it was copied."""

import contextlib
import os
import random
import signal
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis

from engine import InvalidInput, Memory, PersonInfo, UnknownPerson, forks, recording, workspaces
from engine.errors import StoreRefused
from engine.events import Enter, Event
from engine.recording import mind
from engine.server import Server
from engine.store import Wire, connect_url
from tests.engine.test_cluster import CROWD, Cluster, cluster, history
from tests.engine.test_durability import assert_agrees, assert_whole, busy, folder

__all__ = ["cluster", "folder"]  # fixtures

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def full(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Every kind of event, and an audience that is written apart: three count as many here."""
    monkeypatch.setattr(recording, "INLINE", 2)
    for event in few():
        memory.record(event)
    memory.note("lines:hall", {"one": NOON})
    return memory


@pytest.fixture
def named(database: Any) -> Iterator[str]:
    """A name for a fork, which is cleared away afterwards."""
    name = f"fork-{uuid.uuid4().hex}"
    yield name
    for key in database.keys(f"so:{{{name}}}:*"):
        kind = database.type(key)
        database.execute_command("GRAPH.DELETE" if kind == "graphdata" else "DEL", key)


@pytest.fixture(params=["restored", "copied"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either way of copying."""
    if request.param == "copied":
        monkeypatch.setattr(forks, "_restores", lambda *_: False)
    else:
        monkeypatch.setattr(forks, "_copied_one_by_one", None)  # would fail if it were asked
    return str(request.param)


def few() -> list[Event]:
    """The history without its crowd: a server copies one graph after the other."""
    return [e for e in history("rejected") if not (isinstance(e, Enter) and e.person in CROWD[2:])]


def everything(memory: Memory) -> list[object]:
    """What lies in every graph, and a few answers made of it."""
    look = memory._reading()
    minds = [p.id for p in memory.people(everyone=True)]
    return [
        *(look.rows("all_statements", graph=graph) for graph in ("world", *map(mind, minds))),
        *(memory.who_knows(entity) for entity in memory.entities()),
        *(
            memory.believes(["Bo", "Cy"], e, mind_only=o)
            for e in memory.entities()
            for o in (False, True)
        ),
        memory.people(),
        memory.rooms(),
        memory.counts(),
    ]


# ------------------------------------------------------------------------------- it is the same


@pytest.mark.usefixtures("way")
def test_a_fork_answers_like_its_source(full: Memory, named: str) -> None:
    before = everything(full)
    with full.fork(named) as fork:
        assert fork.sid == named
        assert everything(fork) == before
        assert everything(full) == before
        assert fork.noted("lines:hall") == ["one"]
        assert fork.policy == full.policy


@pytest.mark.usefixtures("way")
def test_what_is_recorded_in_either_never_shows_in_the_other(
    full: Memory, named: str, state: Path
) -> None:
    before = everything(full)
    with full.fork(named) as fork:
        fork.say("Ada", "refund", "paid twice", room="hall")
        fork.say("New", "lunch", "at one", room="hall")
        fork.note("lines:hall", {"two": NOON})
        assert everything(full) == before
        assert full.noted("lines:hall") == ["one"]

        changed = everything(fork)
        full.say("Bo", "refund", "on hold", room="lab")
        full.describe(people=[PersonInfo("Ada", "Ada the Second")])
        assert everything(fork) == changed
        assert full.believes("Bo", "refund", mind_only=True).value == "on hold"
        assert fork.believes("Bo", "refund", mind_only=True).value == "paid twice"
    with Memory(named, state=state) as again:
        assert everything(again) == changed


@pytest.mark.usefixtures("way")
def test_recording_goes_on_in_a_fork_as_in_any_workspace(workspace: Any, named: str) -> None:
    events = busy(random.Random(3), 120)
    with workspace() as memory:
        for event in events[:60]:
            memory.record(event)
        with memory.fork(named) as fork:
            assert [fork.record(event) for event in events[:60]] == [False] * 60
            for event in events[60:]:
                fork.record(event)
            assert_whole(fork)
            assert_agrees(fork, events)
        assert_whole(memory)
        assert_agrees(memory, events[:60])


def test_a_fork_of_a_fork_is_one(full: Memory, named: str, database: redis.Redis) -> None:
    with full.fork(named) as fork, fork.fork(f"{named}-2") as second:
        assert everything(second) == everything(full)
        second.say("Ada", "refund", "paid", room="hall")
        assert everything(fork) == everything(full)
        second.drop()
        assert not database.keys(f"so:{{{named}-2}}:*")
        assert everything(fork) == everything(full)


def test_drawings_and_what_is_on_its_way_stay_behind(
    full: Memory, named: str, database: Any
) -> None:
    full.materialise("Ada")
    database.xadd(f"so:{{{full.sid}}}:inbox", {"message": "not yet applied"})
    with full.fork(named):
        kept = {key.split("}:")[1] for key in database.keys(f"so:{{{named}}}:*")}
    assert {"world", "mind:Ada", "lines:hall"} <= kept
    assert not {key for key in kept if key.startswith(("view:", "inbox", "forks", "arriving"))}


# ------------------------------------------------------------------------------- one moment


def test_it_is_of_one_moment_while_others_write(workspace: Any, named: str, state: Path) -> None:
    events = busy(random.Random(23), 160)
    with workspace() as memory, Memory(memory.sid, state=state) as other:
        for event in events[:40]:
            memory.record(event)
        writing = threading.Thread(target=lambda: [other.record(event) for event in events[40:]])
        writing.start()
        with memory.fork(named) as fork:
            writing.join()
            assert_whole(fork)
            known = [fork.record(event) for event in events].count(False)
            assert 40 <= known <= len(events)
            assert_whole(fork)
            assert_agrees(fork, events)
        assert_agrees(memory, events)


def test_who_is_met_while_it_is_taken_comes_along(
    full: Memory, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their mind is made between the listing of the keys and the moment they are read."""
    listed, said = forks._kinds, list[str]()

    def interrupted(wire: Any, sid: str) -> Any:
        found = listed(wire, sid)
        if not said:
            said.append(full.say("Newcomer", "refund", "paid", room="hall"))
        return found

    monkeypatch.setattr(forks, "_kinds", interrupted)
    with full.fork(named) as fork:
        assert fork.believes("Newcomer", "refund", mind_only=True).value == "paid"
        assert everything(fork) == everything(full)


def test_copying_one_by_one_begins_again_when_something_was_recorded(
    full: Memory, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_restores", lambda *_: False)
    copied, said = forks._copied, list[str]()

    def interrupted(wire: Any, source: str, copy: str) -> None:
        copied(wire, source, copy)
        if source.endswith(":world") and not said:
            said.append(full.say("Ada", "refund", "paid", room="hall"))

    monkeypatch.setattr(forks, "_copied", interrupted)
    with full.fork(named) as fork:
        assert said
        assert everything(fork) == everything(full)
        assert_same_rows(fork, full)


def assert_same_rows(one: Memory, other: Memory) -> None:
    for person in ("Ada", "Bo", "Cy", "Dee", "P1"):
        rows = [m._reading().rows("all_statements", graph=f"mind:{person}") for m in (one, other)]
        assert rows[0] == rows[1]


def test_a_server_that_can_fork_only_once_is_asked_again(
    full: Memory, named: str, database: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FalkorDB answers "could not fork" while another copy or a rewrite is under way."""
    monkeypatch.setattr(forks, "_restores", lambda *_: False)
    stop = threading.Event()

    def keep_copying() -> None:
        client = database.client()  # type: ignore[no-untyped-call]
        for n in range(1_000):
            if stop.is_set():
                return
            copy = f"so:{{{named}}}-busy:{n}"
            with contextlib.suppress(redis.ResponseError):
                client.execute_command("GRAPH.COPY", f"so:{{{full.sid}}}:world", copy)
                client.execute_command("GRAPH.DELETE", copy)

    busy_one = threading.Thread(target=keep_copying)
    busy_one.start()
    try:
        with full.fork(named) as fork:
            assert everything(fork) == everything(full)
    finally:
        stop.set()
        busy_one.join()


# ------------------------------------------------------------------------------- after a kill


@pytest.mark.parametrize("way", ["restored", "copied"])
def test_after_a_kill_both_are_there_and_still_two(
    folder: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "copied":
        monkeypatch.setattr(forks, "_restores", lambda *_: False)
    with Memory("one", state=folder) as memory:
        for event in few():
            memory.record(event)
        with memory.fork("two") as fork:
            fork.say("Ada", "refund", "paid", room="hall", at=NOON.replace(day=1, month=12))
            before = [everything(memory), everything(fork)]
            assert before[0] != before[1]

            kill(folder)

            assert [everything(memory), everything(fork)] == before
            memory.say("Ada", "refund", "on hold", room="hall", at=NOON.replace(day=2, month=12))
            assert everything(fork) == before[1]
            assert memory.believes("Bo", "refund").value == "on hold"
            with memory.fork("three") as third:
                assert everything(third) == everything(memory)


def kill(folder: Path) -> None:
    status = Server(folder).status()
    assert status is not None
    os.kill(status.pid, signal.SIGKILL)


# ------------------------------------------------------------------------------- refusals


def test_a_name_that_is_taken_is_refused_and_left_alone(full: Memory, state: Path) -> None:
    name = uuid.uuid4().hex
    with Memory(name, state=state) as other:
        other.say("Zed", "lunch", "at one", room="hall")
        for taken in (name, full.sid):
            with pytest.raises(InvalidInput, match="already") as refused:
                full.fork(taken)
            assert refused.value.message.endswith("a fork is a new one.")
        assert other.believes("Zed", "lunch").value == "at one"
        assert list(other.entities()) == ["lunch"]
        with pytest.raises(InvalidInput, match="is none"):
            other.drop()
        assert other.believes("Zed", "lunch").value == "at one"
    for bad in ("", "a b", "x}:", "*"):
        with pytest.raises(InvalidInput, match="letters, digits"):
            full.fork(bad)


def test_two_forks_of_one_name_at_once_are_one(full: Memory, named: str) -> None:
    told: list[str] = []

    def fork() -> None:
        try:
            with full.fork(named):
                told.append("made")
        except InvalidInput:
            told.append("refused")

    threads = [threading.Thread(target=fork) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["made", "refused", "refused", "refused"]


def test_a_server_that_cannot_copy_says_so_and_leaves_nothing(
    full: Memory, named: str, database: redis.Redis, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_restores", lambda *_: False)

    def broken(wire: Any, source: str, copy: str) -> None:
        if source.endswith(":world"):
            raise StoreRefused("The memory refused a query; this is a bug worth reporting.")
        wire.ask("GRAPH.COPY", source, copy)

    monkeypatch.setattr(forks, "_copied", broken)
    with pytest.raises(StoreRefused, match="cannot copy a workspace"):
        full.fork(named)
    assert not database.keys(f"so:{{{named}}}:*")
    assert named not in workspaces(state=state)


@pytest.mark.parametrize(
    "spoilt",
    [{"size": [[b"other"], [b"other"]]}, {"content": b"no dump"}],
    ids=["something is missing", "it cannot be read"],
)
def test_a_copy_that_is_not_whole_is_taken_back(
    full: Memory, named: str, spoilt: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it goes, and it is copied the other way."""
    taken, one_by_one = forks._snapshot, forks._copied_one_by_one
    other_way: list[str] = []

    def spoiling(wire: Any, sid: str) -> Any:
        *copies, world = taken(wire, sid)
        return [*copies, world._replace(**spoilt)]

    def watched(sid: str, name: str, source: Any, target: Any) -> None:
        assert not target.ask("KEYS", f"so:{{{name}}}:*")
        other_way.append(name)
        one_by_one(sid, name, source, target)

    monkeypatch.setattr(forks, "_snapshot", spoiling)
    monkeypatch.setattr(forks, "_copied_one_by_one", watched)
    with full.fork(named) as fork:
        assert other_way == [named]
        assert everything(fork) == everything(full)


# ------------------------------------------------------------------------------- the trial


def test_restoring_is_tried_once_per_server(
    full: Memory, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_tried", {})
    tried: list[object] = []
    trial = forks._trial

    def counted(*who: Any) -> bool:
        tried.append(who)
        return trial(*who)

    monkeypatch.setattr(forks, "_trial", counted)
    for n in range(2):
        with full.fork(f"{named}-{n}") as fork:
            fork.drop()
    assert len(tried) == 1
    assert list(forks._tried.values()) == [True]


@pytest.mark.parametrize(
    "left_out",
    [
        lambda command: command[0] != "RENAME",  # the trap: it still carries the old name
        lambda command: command[0] != "RESTORE",
    ],
)
def test_the_trial_finds_out_where_restoring_does_not_hold(
    full: Memory, named: str, left_out: Any, database: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Wire.together

    def crippled(wire: Any, *commands: Any) -> Any:
        return together(wire, *(c for c in commands if left_out(c)))

    monkeypatch.setattr(Wire, "together", crippled)
    with full._store.wire() as one, full._store.wire() as other:
        assert not forks._trial(one, other, full.sid, named)
    monkeypatch.undo()
    assert not database.keys(f"so:{{{full.sid}}}:trial:*")
    assert not database.keys(f"so:{{{named}}}:*")


def test_an_old_module_is_never_tried(
    full: Memory, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_tried", {})
    monkeypatch.setattr(forks, "_version", lambda wire: 42_001)
    monkeypatch.setattr(forks, "_trial", None)
    with full.fork(named) as fork:
        assert everything(fork) == everything(full)


# ------------------------------------------------------------------------------- its end


def test_a_dropped_fork_leaves_nothing(
    full: Memory, named: str, database: redis.Redis, state: Path
) -> None:
    before = everything(full)
    fork = full.fork(named)
    fork.materialise("Ada")
    with fork.view("Ada"):
        pass
    assert named in workspaces(state=state)
    assert f"so:{named}:Ada" in database.acl_users()

    fork.drop()

    assert not database.keys(f"so:{{{named}}}:*")
    assert f"so:{named}:Ada" not in database.acl_users()
    assert named not in workspaces(state=state)
    assert everything(full) == before
    with full.fork(named) as again:
        assert everything(again) == before


def test_who_is_forgotten_is_forgotten_in_forks_too(
    full: Memory, named: str, database: redis.Redis
) -> None:
    """Whoever made a copy must not have made their words last."""
    with full.fork(named) as fork, fork.fork(f"{named}-2") as second:
        fork.describe(people=[PersonInfo("Only", "Only here")])
        full.forget("Ada")
        full.optout("Cy")
        for one in (full, fork, second):
            assert "Ada" not in {p.id for p in one.people(everyone=True)}
            assert "Cy" not in {p.id for p in one.people()}
            assert not database.exists(f"so:{{{one.sid}}}:mind:Ada")
            assert b"Ada" not in dumped(database, f"so:{{{one.sid}}}:world")
            with pytest.raises(UnknownPerson):
                one.believes("Ada", "refund")
        assert "Only" in {p.id for p in fork.people()}
        second.drop()


def dumped(database: redis.Redis, key: str) -> bytes:
    payload = database.dump(key)
    assert payload
    return payload


# ------------------------------------------------------------------------------- a cluster


def test_a_fork_may_lie_on_another_node(cluster: Cluster) -> None:
    for node in (0, 2):
        sid, name = cluster.name_on(0, f"source{node}"), cluster.name_on(node, f"copy{node}")
        with Memory(sid, url=cluster.nodes[1].url) as memory:
            for event in history("rejected"):
                memory.record(event)
            before = everything(memory)
            with memory.fork(name) as fork:
                assert cluster.holders(name) == [node]
                assert everything(fork) == before
                fork.say("Ada", "refund", "paid", room="hall")
                assert everything(memory) == before
                with pytest.raises(InvalidInput, match="already"):
                    memory.fork(name)
                fork.drop()
            assert cluster.holders(name) == []
            with connect_url(cluster.nodes[0].url) as client:
                assert name not in client.smembers("so:workspaces")


def test_where_copies_do_not_travel_a_cluster_says_so(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_restores", lambda *_: False)
    sid, name = cluster.name_on(0, "stays"), cluster.name_on(2, "away")
    with Memory(sid, url=cluster.nodes[0].url) as memory:
        memory.say("Ada", "refund", "paid", room="hall")
        with pytest.raises(StoreRefused, match="choose another name"):
            memory.fork(name)
        assert cluster.holders(name) == []
