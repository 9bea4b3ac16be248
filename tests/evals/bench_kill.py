"""What `kill -9` costs: a process that records, killed together with its server, in mid-sentence.

python -m tests.evals.bench_kill SID FOLDER BEGIN    what is killed
"""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import NamedTuple

from engine import Memory
from engine.events import Enter, Say
from engine.recording import mind
from engine.server import Server

ROOT = Path(__file__).parents[2]
START = datetime(2026, 1, 1, tzinfo=UTC)
ROOM = "room"


class Losses(NamedTuple):
    """`acknowledged`: events the writer said were recorded. Of them `lost` are nowhere; of all that
    are anywhere `torn` are not in the world and in the mind of every witness."""

    acknowledged: int
    lost: int
    torn: int


def killed(folder: Path, people: int, kills: int, seed: int = 0) -> Losses:
    """Kills a writer and its server so many times, somewhere within an event, and counts."""
    dice, sid = random.Random(seed), uuid.uuid4().hex
    names = [f"p{i}" for i in range(people)]
    with Memory(sid, state=folder) as memory:
        for i, name in enumerate(names):
            memory.record(Enter(id=f"enter-{i}", at=START, person=name, room=ROOM))
    acknowledged: list[str] = []
    for kill in range(kills):
        acknowledged += _until_killed(folder, sid, (kill + 1) * 1_000_000, dice)
    with Memory(sid, state=folder) as memory:
        kept = [_ids(memory, graph) for graph in ("world", *map(mind, names))]
    anywhere, everywhere = set[str]().union(*kept), set(kept[0]).intersection(*kept)
    return Losses(len(acknowledged), len(set(acknowledged) - anywhere), len(anywhere - everywhere))


def _ids(memory: Memory, graph: str) -> set[str]:
    return {row.id for row in memory._reading().rows("all_statements", graph=graph)}


def _until_killed(folder: Path, sid: str, begin: int, dice: random.Random) -> Iterator[str]:
    """What a writer acknowledged until its end."""
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.evals.bench_kill", sid, str(folder), str(begin)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    with writer.stdout as said:
        for _ in range(dice.randint(20, 120)):
            yield said.readline().strip()
        time.sleep(dice.random() / 200)  # somewhere inside of an event
        status = Server(folder).status()
        assert status is not None
        os.kill(status.pid, signal.SIGKILL)
        writer.kill()
        for line in said:
            if line.endswith("\n"):  # it may die in the middle of a word
                yield line.strip()
    writer.wait()


def _write(sid: str, folder: Path, begin: int) -> None:
    """Records for ever, and says so after each event."""
    with Memory(sid, state=folder) as memory:
        for n in count(begin):
            at = START + timedelta(seconds=n)
            event = Say(
                id=f"say-{n}", at=at, speaker="p0", room=ROOM, entity="decision", value=f"v{n}"
            )
            memory.record(event)
            sys.stdout.write(event.id + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
