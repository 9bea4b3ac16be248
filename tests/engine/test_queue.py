"""What arrives is stored once, waits in the order it was said, and leaves with what it became."""

import json
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine import Memory
from engine.errors import Superseded, TooMuchWaiting
from engine.events import Say
from engine.memory import Notes
from engine.queue import KEPT, Backlog, Behind, Entry, Queue, without
from engine.store import Beside

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
NOW = int(AT.timestamp()) * 1_000_000


def entry(number: int, lane: str = "C1", by: str = "U1", text: str = "hello") -> Entry:
    body = json.dumps({"author": by, "text": text})
    return Entry(f"{lane}/{number:04}", lane, NOW + number, by, body, NOW)


def said(number: int) -> Say:
    return Say(
        id=f"e{number}", at=AT + timedelta(seconds=number), speaker="U1", room="C1",
        entity="d-1", value=f"v{number}",
    )  # fmt: skip


def keys(queue: Queue) -> list[str]:
    return [key for head in queue.heads(1000).values() for _, key in head.first]


def held(memory: Memory, most: int = 100) -> Queue:
    queue = memory.queue(most)
    assert queue.hold(60)
    return queue


def test_what_waits_comes_back_as_it_was_in_the_order_it_was_said(memory: Memory) -> None:
    queue = memory.queue()
    some = [entry(3), entry(1, text="ü “\u202e” 😀\n"), entry(2, "C2"), entry(2)]
    assert [queue.put(one) for one in some] == [True] * 4
    first = [(NOW + n, f"C1/{n:04}") for n in (1, 2, 3)]
    assert queue.heads(3) == {"C1": (first, False), "C2": ([(NOW + 2, "C2/0002")], False)}
    assert queue.heads(1)["C1"] == (first[:1], True)
    assert queue.heads(1, total=4)["C1"] == (first[:2], True)  # as many as that is for each lane
    assert queue.entries(["C1/0001", "C2/0002", "gone"]) == [some[1], some[2]]
    assert queue.backlog() == {"C1": Backlog(3, NOW + 1), "C2": Backlog(1, NOW + 2)}


def test_a_key_is_stored_once_while_it_waits_after_it_was_applied_and_when_it_is_set_aside(
    memory: Memory,
) -> None:
    queue = held(memory)
    assert queue.put(entry(1))
    assert not queue.put(entry(1))
    memory.record_all([], beside=queue.done(entry(1), NOW))
    assert not queue.put(entry(1))
    assert queue.put(entry(2))
    queue.set_aside(entry(2), "It cannot be read.", NOW)
    assert not queue.put(entry(2))
    assert keys(queue) == []


def test_what_was_applied_is_remembered_for_a_week_and_no_longer(memory: Memory) -> None:
    queue = held(memory)
    for number in (1, 2, 3):
        queue.put(entry(number))
    memory.record_all([], beside=queue.done(entry(1), NOW))
    memory.record_all([], beside=queue.done(entry(2), NOW + KEPT))
    assert not queue.put(entry(1))
    memory.record_all([], beside=queue.done(entry(3), NOW + KEPT + 1))
    assert queue.put(entry(1))
    assert not queue.put(entry(2))


def test_marks_of_what_was_applied_do_not_grow_without_end(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.queue.MARKS", 3)
    queue = held(memory)
    for number in range(10):
        queue.put(entry(number))
        memory.record_all([], beside=queue.done(entry(number), NOW + number))
    assert memory._store._node.zcard(memory._store.key("inbox:done")) == 3


def test_more_than_may_wait_is_refused_and_leaves_nothing(memory: Memory) -> None:
    queue = held(memory, most=2)
    queue.put(entry(1))
    queue.put(entry(2))
    with pytest.raises(TooMuchWaiting, match="2 messages wait"):
        queue.put(entry(3))
    assert not queue.put(entry(2))  # what is there already is no more than that
    assert len(keys(queue)) == 2
    queue.set_aside(entry(1), "why", NOW)
    with pytest.raises(TooMuchWaiting):
        queue.put(entry(3))
    memory.record_all([], beside=queue.done(entry(2), NOW))
    assert queue.put(entry(3))


def test_an_entry_leaves_in_the_transaction_that_writes_the_last_of_its_events(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = held(memory)
    queue.put(entry(1))
    change, calls = memory._store.change, list[Any]()

    def counted(decide: Any, beside: Beside) -> bool:
        written = change(decide, beside)
        calls.append((len(beside.commands) > 0, keys(queue)))
        return written

    monkeypatch.setattr(memory._store, "change", counted)
    noted = [Notes("lines:C1", {"line": AT})]
    new = memory.record_all([said(1), said(2), said(3)], noted, queue.done(entry(1), NOW, "C1"))
    assert new == 3
    assert calls == [(False, ["C1/0001"]), (False, ["C1/0001"]), (True, [])]
    assert memory.noted("lines:C1") == ["line"]
    assert queue.touched() == ["C1"]


def test_what_was_written_before_an_interruption_is_not_written_again(memory: Memory) -> None:
    queue = held(memory)
    queue.put(entry(1))
    memory.record(said(1))
    assert memory.record_all([said(1), said(2)], beside=queue.done(entry(1), NOW)) == 1
    assert memory.record_all([said(1), said(2)], beside=queue.done(entry(1), NOW)) == 0
    assert (memory.counts()["events"], keys(queue)) == (2, [])


class TestTheLease:
    def test_one_applies_and_another_goes_on_when_it_is_let_go_or_has_run_out(
        self, memory: Memory, database: Any
    ) -> None:
        one, other = memory.queue(), memory.queue()
        assert one.hold(60) is True
        assert one.hold(60) is False  # still ours
        assert other.hold(60) is None
        other.let_go()  # it is not its own
        assert one.hold(60) is False
        one.let_go()
        assert other.hold(60) is True
        assert database.pttl(memory._store.key("inbox:reader")) > 50_000

    def test_one_that_ran_out_and_that_nobody_took_is_still_ours(
        self, memory: Memory, database: Any
    ) -> None:
        one, other = held(memory), memory.queue()
        database.delete(memory._store.key("inbox:reader"))
        assert one.hold(60) is False
        database.delete(memory._store.key("inbox:reader"))
        assert other.hold(60) is True
        database.delete(memory._store.key("inbox:reader"))
        assert one.hold(60) is True

    def test_whoever_lost_it_writes_nothing_any_more(self, memory: Memory) -> None:
        one, other = held(memory), memory.queue()
        one.put(entry(1))
        one.let_go()
        assert other.hold(60)
        attempts: list[Callable[[], object]] = [
            lambda: memory.record_all([said(1), said(2)], beside=one.done(entry(1), NOW)),
            lambda: memory.record_all([], [Notes("n", {"n": AT})], one.done(entry(1), NOW)),
            lambda: one.keep_read({"C1/0001": "[]"}),
            lambda: one.failed(entry(1)),
            lambda: one.set_aside(entry(1), "why", NOW),
            lambda: one.settled("C1"),
        ]
        for attempt in attempts:
            with pytest.raises(Superseded):
                attempt()
        assert memory.counts()["events"] == 0
        assert memory.noted("n") == []
        assert other.entries(keys(other)) == [entry(1)]
        assert other.asides() == []

    def test_losing_it_in_the_middle_of_an_event_writes_nothing_of_it(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, other = held(memory), memory.queue()
        one.put(entry(1))
        writes_for = memory._writes_for

        def interrupted(*args: Any) -> Any:
            writes = writes_for(*args)
            one.let_go()
            other.hold(60)
            return writes

        monkeypatch.setattr(memory, "_writes_for", interrupted)
        with pytest.raises(Superseded):
            memory.record_all([said(1)], beside=one.done(entry(1), NOW))
        monkeypatch.undo()
        assert memory.counts()["events"] == 0
        assert keys(other) == ["C1/0001"]


def test_what_was_read_and_how_often_it_failed_stays_with_an_entry_and_goes_with_it(
    memory: Memory, database: Any
) -> None:
    queue = held(memory)
    queue.put(entry(1))
    queue.keep_read({"C1/0001": '["read"]'})
    assert [queue.failed(entry(1)), queue.failed(entry(1))] == [1, 2]
    [waiting] = queue.entries(["C1/0001"])
    assert (waiting.read, waiting.tries) == ('["read"]', 2)
    memory.record_all([], beside=queue.done(waiting, NOW))
    left = [key.split("inbox")[1] for key in database.keys(memory._store.key("inbox*"))]
    assert sorted(left) == ["", ":done", ":last", ":reader"]
    assert database.xlen(memory._store.key("inbox")) == 0


def test_what_was_set_aside_is_kept_with_its_reason_and_can_be_put_back(memory: Memory) -> None:
    queue = held(memory)
    for number in (2, 1):
        queue.put(entry(number))
        queue.failed(entry(number))
        queue.set_aside(entry(number), f"why {number}", NOW + number)
    assert [(a.entry.key, a.why, a.since) for a in queue.asides()] == [
        ("C1/0001", "why 1", NOW + 1),
        ("C1/0002", "why 2", NOW + 2),
    ]
    assert queue.put_back(["C1/0002", "another"], NOW + 9) == 1
    assert queue.put_back(["C1/0002"], NOW + 9) == 0
    assert queue.entries(keys(queue)) == [entry(2)._replace(arrived=NOW + 9)]
    assert [one.entry.key for one in queue.asides()] == ["C1/0001"]


def test_since_when_nothing_can_be_read_is_known_to_everybody_until_it_can(memory: Memory) -> None:
    queue = memory.queue()
    assert queue.behind() is None
    queue.fall_behind("The key is not accepted.", NOW)
    queue.fall_behind("No answer.", NOW + 5)
    assert memory.queue().behind() == Behind(NOW, "No answer.")
    queue.catch_up()
    assert queue.behind() is None


def test_it_survives_the_death_of_the_server(tmp_path: Path) -> None:
    with Memory("queue", state=tmp_path / "s") as memory:
        queue = memory.queue()
        for number in range(50):
            queue.put(entry(number))
        os.kill(json.loads((tmp_path / "s" / "server.json").read_text())["pid"], signal.SIGKILL)
        assert [one.key for one in queue.entries(keys(queue))] == [f"C1/{n:04}" for n in range(50)]
        assert not queue.put(entry(7))


class TestForgetting:
    def test_an_id_goes_from_what_others_said_and_what_cannot_be_told_apart_goes_whole(
        self,
    ) -> None:
        body = json.dumps({"a": ["Z"], "text": "told <@Z>\nZ: Zoë, U1Z, x-Zed"}, ensure_ascii=False)
        cleared = {"a": ["somebody"], "text": "told <@somebody>\nsomebody: Zoë, U1Z, x-Zed"}
        assert json.loads(without("Z", body) or "") == cleared
        assert without("Q", body) == body
        assert without("Z", '["join-Z-C1"]') is None

    def test_what_only_holds_the_letters_of_an_id_is_left_as_it_is(self, memory: Memory) -> None:
        body = json.dumps({"Ann": "Annual", "text": "Ann-Marie asked Anna\nabout mañAnn"})
        assert without("Ann", body) == body
        memory.join(["Ann", "Anna"], "hall")
        queue = held(memory)
        queue.put(entry(1, by="Anna", text="Annual: Ann-Marie agrees"))
        queue.keep_read({entry(1).key: '["Anna"]'})
        before = list(queue.entries(keys(queue)))

        memory.forget("Ann")

        assert list(queue.entries(keys(queue))) == before

    def test_nothing_is_left_of_somebody_and_what_others_said_still_waits(
        self, memory: Memory, database: Any
    ) -> None:
        memory.join("ZCANARY", "hall")
        queue = held(memory)
        theirs, other = entry(1, by="ZCANARY"), entry(2, text="told <@ZCANARY> that d-1 is done")
        private = entry(3, lane="dm-ZCANARY")
        aside = [entry(4, by="ZCANARY"), entry(5, text="<@ZCANARY> d-1: x"), entry(6)]
        for one in (theirs, other, private, *aside, entry(7)):
            queue.put(one)
        queue.keep_read({other.key: '["about ZCANARY"]', entry(7).key: "[]"})
        for one in aside:
            queue.set_aside(one, "why ZCANARY", NOW)

        memory.forget("ZCANARY")

        everything = ""
        for key in database.keys(memory._store.key("inbox*")):
            read: dict[str, Callable[[Any], Any]] = {
                "stream": database.xrange,
                "hash": database.hgetall,
                "set": database.smembers,
                "string": database.get,
                "zset": lambda key: database.zrange(key, 0, -1),
            }
            everything += f"{key} {read[str(database.type(key))](key)}"
        assert "ZCANARY" not in everything
        waiting = {one.key: one for one in queue.entries(keys(queue))}
        assert set(waiting) == {other.key, entry(7).key}
        assert "told <@somebody> that d-1 is done" in waiting[other.key].body
        assert (waiting[other.key].read, waiting[entry(7).key].read) == (None, "[]")
        assert [one.entry.key for one in queue.asides()] == [aside[1].key, aside[2].key]

    def test_whoever_applies_begins_anew(self, memory: Memory) -> None:
        memory.join("Z", "hall")
        queue = held(memory)
        queue.put(entry(1))
        memory.forget("Z")
        with pytest.raises(Superseded):
            memory.record_all([said(1)], beside=queue.done(entry(1), NOW))
        assert queue.hold(60) is True
