"""What things cost here, as ratios to a bare query in the same run; it checks no answer.

    python -m tests.evals.bench [--json]

Everything runs on the real embedded FalkorDB, through the engine's own face. Ours and the baseline
take turns, so that whatever else the machine does weighs on both; times are medians, in
milliseconds. A bar that is missed is printed as missed and is no error: this measures.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import NamedTuple

import redis
from falkordb.graph import Graph

from engine import Memory
from engine.events import Enter, Say
from engine.server import Server
from engine.store import connect

START = datetime(2026, 1, 1, tzinfo=UTC)
ROOM, ENTITY = "room", "decision-1"
WARM, TURNS = 20, 200


class Row(NamedTuple):
    """One line of the table. `ours` and `baseline` are milliseconds; `bar` is the largest good ratio."""

    name: str
    ours: float
    baseline: float
    ratio: float
    bar: float
    holds: bool


class Bench:
    """One embedded server, and a workspace of its own for every question."""

    def __init__(self, state: Path, client: redis.Redis) -> None:
        self._state = state
        self._client = client
        self._numbers = count()

    def rows(self) -> Iterator[Row]:
        yield self.recording(16)
        yield self.nested(100)
        yield self.who_knows(200)

    def recording(self, people: int) -> Row:
        """One event into the world and the mind of everybody there, whole and durable."""
        with self._memory(people) as memory:
            say = self._sayings(memory)
            say()  # from here on every mind is there
            minds = [f"so:{{{memory.sid}}}:mind:p{i}" for i in range(people)]

            def bare() -> None:
                with self._client.pipeline(transaction=True) as pipe:
                    for mind in minds:
                        pipe.execute_command("GRAPH.QUERY", mind, "RETURN 1", "--compact")  # type: ignore[no-untyped-call]
                    pipe.execute()

            return _row(
                f"record, {people} witnesses : {people} x RETURN 1 in one MULTI", say, bare, 3
            )

    def nested(self, events: int) -> Row:
        """What A thinks that B thinks that C believes, read from A's own mind."""
        with self._memory(4) as memory:
            say = self._sayings(memory)
            for _ in range(events):
                say()
            mind = f"so:{{{memory.sid}}}:mind:p0"

            def ask() -> None:
                memory.believes(["p0", "p1", "p2"], ENTITY, mind_only=True)

            def bare() -> None:
                self._client.execute_command("GRAPH.RO_QUERY", mind, "RETURN 1", "--compact")  # type: ignore[no-untyped-call]

            return _row(f"nested read, {events} events in the mind : RETURN 1", ask, bare, 3)

    def who_knows(self, people: int) -> Row:
        """The complete answer, every line with its evidence."""
        with self._memory(people) as memory:
            say = self._sayings(memory)
            for _ in range(20):
                say()
            world = Graph(self._client, f"so:{{{memory.sid}}}:world")
            query = f"UNWIND range(1, {people}) AS i RETURN i, i + 1, i + 2, 'who', 'value'"

            def ask() -> None:
                memory.who_knows(ENTITY)

            def bare() -> None:
                world.ro_query(query)

            name = f"who knows, {people} people, 20 events : {people} rows of 5 scalars"
            return _row(name, ask, bare, 1.5)

    @contextmanager
    def _memory(self, people: int) -> Iterator[Memory]:
        """A workspace whose people p0, p1, … are all in one room."""
        with Memory(f"bench{next(self._numbers)}", state=self._state) as memory:
            for i in range(people):
                memory.record(Enter(id=f"enter-{i}", at=START, person=f"p{i}", room=ROOM))
            yield memory

    def _sayings(self, memory: Memory) -> Callable[[], None]:
        """Says the next thing, about the same entity, a second later than the last."""
        numbers = count(1)

        def say() -> None:
            n = next(numbers)
            at = START + timedelta(seconds=n)
            memory.record(
                Say(id=f"say-{n:06d}", at=at, speaker="p0", room=ROOM, entity=ENTITY, value=f"v{n}")
            )

        return say


def _row(name: str, ours: Callable[[], None], bare: Callable[[], None], bar: float) -> Row:
    """Takes turns until each side was heard often enough, the first rounds uncounted."""
    a, b = list[float](), list[float]()
    for turn in range(WARM + TURNS):
        one, other = _timed(ours), _timed(bare)
        if turn >= WARM:
            a.append(one)
            b.append(other)
    mine, base = statistics.median(a), statistics.median(b)
    return Row(name, round(mine, 3), round(base, 3), round(mine / base, 2), bar, mine / base <= bar)


def _timed(act: Callable[[], None]) -> float:
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        state = Path(folder)
        with Server(state) as server, connect(server.start()) as client:
            rows = list(Bench(state, client).rows())
    if "--json" in sys.argv[1:]:
        sys.stdout.write(json.dumps([row._asdict() for row in rows], indent=2) + "\n")
        return
    sys.stdout.write("    ours  baseline   ratio    bar         (medians, ms)\n")
    for row in rows:
        holds = "holds " if row.holds else "missed"
        sys.stdout.write(
            f"{row.ours:8.3f}  {row.baseline:8.3f}  {row.ratio:6.2f}  {row.bar:5.1f}  {holds}  {row.name}\n"
        )


if __name__ == "__main__":
    main()
