"""What was acknowledged is there, whole, whatever was killed and whoever wrote at the same time."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine import Memory
from engine.events import Enter, Event, Exit, Notice, Report, Say, Tell, Unsee, any_event
from engine.recording import mind
from engine.server import Server
from tests.conftest import Workspace
from tests.engine.brute import Table

ROOT = Path(__file__).parents[2]
START = datetime(2026, 11, 30, 9, tzinfo=UTC)
END = START + timedelta(days=1)
PEOPLE = tuple("ABCDEFGH")
PATIENCE = 60

WRITER = """
import sys
from pathlib import Path
from engine import Memory
from engine.events import any_event

with Memory(sys.argv[1], state=Path(sys.argv[2])) as memory:
    print("ready", flush=True)
    for line in sys.stdin:
        event = any_event.validate_json(line)
        memory.record(event)
        print(event.id, flush=True)
"""


class Writer:
    """Another process that records what it is handed, and says so after each event."""

    def __init__(self, sid: str, state: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WRITER, sid, str(state)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.hears() == "ready"

    def hand(self, events: Sequence[Event]) -> None:
        assert self.process.stdin is not None
        for event in events:
            self.process.stdin.write(event.model_dump_json() + "\n")
        self.process.stdin.close()

    def hears(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def acknowledged(self, status: int = 0) -> list[str]:
        """Everything it said until its end, which came with this exit status."""
        assert self.process.stdout is not None
        said = self.process.stdout.read().split()
        assert self.process.wait(PATIENCE) == status
        return said

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def busy(dice: random.Random, count: int) -> list[Event]:
    """Events in the order in which they happened: people come, go and speak in one room."""
    events: list[Event] = []
    for number in range(count):
        who, other = dice.sample(PEOPLE, 2)
        at = START + timedelta(seconds=number)
        about = {"entity": "plan", "value": f"v{number}"}
        said = [event.id for event in events if event.kind in ("say", "report")]
        base: dict[str, Any] = {"id": f"e{number:04}", "at": at}
        match dice.randint(0, 9):
            case 0 | 1 | 2:
                events.append(Enter(**base, person=who, room="hall"))
            case 3:
                events.append(Exit(**base, person=who, room="hall"))
            case 4:
                events.append(Tell(**base, speaker=who, listeners=(other,), **about))
            case 5:
                events.append(Report(**base, speaker=who, about=other, room="hall", **about))
            case 6 if said:
                seen = dice.choice(said)
                events.append(Notice(**base, person=who, event=seen, room="hall"))
            case 7 if said:
                events.append(Unsee(**base, person=who, event=dice.choice(said), room="hall"))
            case _:
                events.append(Say(**base, speaker=who, room="hall", **about))
    return events


def in_the_graphs(memory: Memory) -> tuple[dict[str, frozenset[str]], dict[str, set[str]]]:
    """Of every statement who witnessed it, as the world says; and what is in each mind."""
    rows = memory._reading().rows("all_statements")
    kept = {
        person: {row.id for row in memory._reading().rows("all_statements", graph=mind(person))}
        for person in PEOPLE
    }
    return {row.id: row.people for row in rows}, kept


def assert_whole(memory: Memory) -> None:
    """Every statement is in the world and in the mind of each witness, and in no other mind."""
    witnesses, kept = in_the_graphs(memory)
    for person in PEOPLE:
        assert kept[person] == {id for id, people in witnesses.items() if person in people}


def assert_agrees(memory: Memory, events: Sequence[Event]) -> None:
    """Rosters, audiences and beliefs are those of the slow table."""
    table = Table(events)
    rows = {row.id: row for row in memory._reading().rows("all_statements")}
    assert set(rows) == {statement.id for statement in table.statements()}
    for statement in table.statements():
        ever = {p for p in PEOPLE if _ever_witnessed(table, p, statement.id)}
        assert rows[statement.id].people == ever, statement
    [here] = [room.here for room in memory.rooms() if room.id == "hall"]
    assert here == {p for p in PEOPLE if table.inside(p, "hall", (END, ""))}
    for chain in [(a, b) for a in PEOPLE[:3] for b in PEOPLE if a != b]:
        held = table.believes(chain, "plan", END)
        for mind_only in (False, True):
            told = memory.believes(chain, "plan", mind_only=mind_only)
            assert told.value == (held and held.statement.value), chain


def _ever_witnessed(table: Table, person: str, id: str) -> bool:
    statement = table.by_id(id)
    marks = table.marks(statement, person)
    moments = [statement.at, *(max(mark.at, statement.at) for mark in marks)]
    return any(table.witnessed(person, statement, at) for at in moments)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A state folder with a server of its own, which may be killed."""
    state = tmp_path / "state"
    yield state
    with Server(state):
        pass  # whoever used it last was killed, perhaps: end what is left


# ------------------------------------------------------------------------------- kill -9


@pytest.mark.parametrize("seed", range(4))
def test_after_a_kill_every_acknowledged_event_is_there_and_each_is_whole(
    folder: Path, seed: int
) -> None:
    dice = random.Random(seed)
    events = busy(dice, 160)
    sid = uuid.uuid4().hex
    with Writer(sid, folder) as writer:
        status = Server(folder).status()
        assert status is not None
        feeding = threading.Thread(target=writer.hand, args=(events,))
        feeding.start()
        before = [writer.hears() for _ in range(dice.randint(20, 120))]
        time.sleep(dice.random() / 200)  # somewhere inside of an event
        os.kill(status.pid, signal.SIGKILL)
        acknowledged = before + writer.acknowledged()
        feeding.join()

    assert acknowledged == [event.id for event in events], "it went on after the kill"
    with Memory(sid, state=folder) as memory:
        assert_whole(memory)
        assert_agrees(memory, events)
        assert [memory.record(event) for event in events] == [False] * len(events)


def test_a_writer_that_dies_with_the_server_leaves_whole_events(folder: Path) -> None:
    dice = random.Random(5)
    events = busy(dice, 160)
    sid = uuid.uuid4().hex
    with Writer(sid, folder) as writer:
        status = Server(folder).status()
        assert status is not None
        feeding = threading.Thread(target=_hand_until_it_breaks, args=(writer, events))
        feeding.start()
        acknowledged = [writer.hears() for _ in range(80)]
        writer.process.kill()
        os.kill(status.pid, signal.SIGKILL)
        feeding.join()
        acknowledged += writer.acknowledged(-signal.SIGKILL)  # what it had said, and nobody heard

    with Memory(sid, state=folder) as memory:
        assert_whole(memory)
        known = [event for event in events if not memory.record(event)]
        assert [event.id for event in known[: len(acknowledged)]] == acknowledged
        assert len(known) in (len(acknowledged), len(acknowledged) + 1)
        assert_agrees(memory, events)


def _hand_until_it_breaks(writer: Writer, events: Sequence[Event]) -> None:
    try:
        writer.hand(events)
    except BrokenPipeError:
        return


# ------------------------------------------------------------------------------- at the same time


def test_two_processes_recording_at_the_same_time_lose_nothing_and_agree(folder: Path) -> None:
    events = busy(random.Random(7), 160)
    sid = uuid.uuid4().hex
    with ExitStack() as stack:
        writers = [stack.enter_context(Writer(sid, folder)) for _ in range(2)]
        for number, writer in enumerate(writers):
            threading.Thread(target=writer.hand, args=(events[number::2],)).start()
        said = [id for writer in writers for id in writer.acknowledged()]

    assert sorted(said) == [event.id for event in events]
    with Memory(sid, state=folder) as memory:
        assert_whole(memory)
        assert_agrees(memory, events)


@pytest.mark.parametrize("shared", [True, False], ids=["one memory", "a memory each"])
def test_threads_lose_no_update_of_a_roster_or_an_audience(
    workspace: Workspace, state: Path, shared: bool
) -> None:
    events = busy(random.Random(11), 160)
    dice = random.Random(13)
    with workspace() as memory, ExitStack() as stack:
        memories = [
            memory if shared else stack.enter_context(Memory(memory.sid, state=state))
            for _ in range(6)
        ]
        shares = [dice.sample(events[n::6], len(events[n::6])) for n in range(6)]
        with ThreadPoolExecutor(6) as pool:
            jobs = [pool.submit(_record_all, *one) for one in zip(memories, shares, strict=True)]
            written = [new for job in jobs for new in job.result()]

        assert written == [True] * len(events)
        assert_whole(memory)
        assert_agrees(memory, events)


def _record_all(memory: Memory, events: Sequence[Event]) -> list[bool]:
    return [memory.record(any_event.validate_python(event)) for event in events]


def test_the_same_events_from_everybody_at_once_are_recorded_once(
    workspace: Workspace,
) -> None:
    events = busy(random.Random(17), 40)
    with workspace() as memory, ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(_record_all, memory, events) for _ in range(4)]
        written = sum(new for job in jobs for new in job.result())

        assert written == len(events)
        assert_whole(memory)
        assert_agrees(memory, events)


def test_a_past_moment_is_untouched_by_what_is_recorded_later(workspace: Workspace) -> None:
    events = busy(random.Random(19), 120)
    half = START + timedelta(seconds=60)
    with workspace() as memory:
        for event in events[:60]:
            memory.record(event)
        before = memory._reading(at=half).rows("statements", ["plan"])
        values = [memory.believes(p, "plan", at=half).value for p in PEOPLE]
        for event in events[60:]:
            memory.record(event)

        assert [memory.believes(p, "plan", at=half).value for p in PEOPLE] == values
        after = memory._reading(at=half).rows("statements", ["plan"])
        assert [row.id for row in after] == [row.id for row in before]
