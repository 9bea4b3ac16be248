"""Whether the answers whose cost is measured are right: Hi-ToM's questions and random histories."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine import Memory, Reader, UnknownEntity
from tests.engine.histories import History, histories, recorded
from tests.evals.hitom import answers
from tests.evals.hitom_replay import Table
from tests.evals.hitom_report import Row, read_rows
from tests.evals.hitom_stories import Question, lines, sentences
from tests.shared import FOLDER

STORY = """
1 Ann, Bob and Cid entered the den.
2 The fig is in the green_box.
3 Ann moved the fig to the blue_box.
4 Ann exited the den.
5 Bob moved the fig to the red_box.
6 Bob exited the den.
7 Cid made no movements and stayed in the den for 1 minute.
8 Cid exited the den.
9 Ann, Bob and Cid entered the hall.
10 Ann publicly claimed that fig is in the green_box.
11 Bob privately told Cid that the fig is in the blue_box.
"""
"""Where the data is not beside the repository: every chain is asked about this one instead."""


def hitom(state: Path, every: int = 1) -> tuple[int, int]:
    """`(right, asked)` against the replayed rules; of the stories one in `every`."""
    data = FOLDER / "hitom" / "Hi-ToM_data.json"
    rows = read_rows(data) if data.exists() else _own_rows()
    stories = list(dict.fromkeys(row.story for row in rows))
    tables = {story: Table(sentences(_told(story))) for story in stories[::every]}
    asked = [row for row in rows if row.story in tables]
    given = answers(
        [row._replace(number=n) for n, row in enumerate(asked)],
        partial(Memory, state=state, policy="exit_order"),
    )
    expected = [tables[row.story].answer(row.asked) for row in asked]
    right = [(held and held.place) == told for held, told in zip(expected, given, strict=True)]
    return sum(right), len(right)


def _own_rows() -> list[Row]:
    story = lines(STORY)
    chains = [(), *Table(sentences(_told(story))).chains()]
    return [
        Row(n, None, "", story, "", Question(chain, "fig"), False, None)
        for n, chain in enumerate(chains)
    ]


def _told(story: tuple[str, ...]) -> str:
    return "\n".join(f"{number} {line}" for number, line in enumerate(story, 1))


def random_histories(state: Path, examples: int, questions: int = 40) -> tuple[int, int]:
    """`(right, asked)` against the brute-force table: chains to depth 4, past times, readers."""
    right: list[bool] = []

    @settings(
        max_examples=examples, derandomize=True, database=None, deadline=None,
        phases=(Phase.generate,), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(history=histories(agreed=True), seed=st.integers(0, 2**32))
    def ask(history: History, seed: int) -> None:
        with _recorded(state, history) as memory:
            right.extend(_asked(memory, history, random.Random(seed), questions))

    ask()
    return sum(right), len(right)


@contextmanager
def _recorded(state: Path, history: History) -> Iterator[Memory]:
    with Memory(uuid4().hex, state=state, policy=history.policy) as memory:
        yield recorded(memory, history)


def _asked(memory: Memory, history: History, dice: random.Random, many: int) -> Iterator[bool]:
    rooms = frozenset(room for room in (*history.rooms, "direct") if dice.random() < 0.5)
    reader = Reader(dice.choice(history.people), rooms)
    tables = {None: history.table, reader: history.table.readable_by(reader.person, rooms)}
    for _ in range(many if history.table.entities else 0):
        chain = tuple(dice.sample(history.people, dice.randint(1, min(4, len(history.people)))))
        entity, at = dice.choice(history.table.entities), dice.choice(history.moments)
        who = dice.choice((None, reader))
        held = tables[who].believes(chain, entity, at)
        try:
            told = memory.believes(chain, entity, at=at, reader=who)
        except UnknownEntity:  # nothing about it is readable
            yield held is None and entity not in tables[who].entities
            continue
        shown = told.evidence.event if told.evidence else None
        yield (held and (held.statement.id, held.statement.value)) == (
            None if told.value is None else (shown, told.value)
        )
