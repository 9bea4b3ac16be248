"""Who asked about whom, so that everybody can see who asked about them.

Kept by day and kind of question alone: not what was asked, not when exactly, not what was answered. It
refuses to know how questions are answered.
"""

import json
from collections import Counter
from collections.abc import Collection
from datetime import date, datetime
from typing import NamedTuple

from engine import Memory
from engine.memory import Notes

MOST = 200
"""So many questions about one person are remembered, the newest."""


class Asked(NamedTuple):
    """On one day somebody asked this kind of question about a person."""

    by: str
    what: str
    day: date


def keep(memory: Memory, by: str, what: str, about: Collection[str], at: datetime) -> None:
    """Keeps that somebody asked about these people; about oneself is nobody's business."""
    day = at.date().isoformat()
    for person in sorted(set(about) - {by}):
        note = json.dumps({"about": person, "by": by, "day": day, "what": what})
        memory.record_all([], [Notes(_key(person), {note: at}, MOST)])


def about(memory: Memory, person: str) -> list[Asked]:
    """Who asked about a person, the newest first."""
    found = [json.loads(note) for note in memory.noted(_key(person))]
    return [
        Asked(one["by"], one["what"], date.fromisoformat(one["day"])) for one in reversed(found)
    ]


def tally(some: Collection[Asked]) -> list[tuple[str, date, int]]:
    """By person and the last day: how many kinds of question on how many days, newest first."""
    last: dict[str, date] = {}
    for one in some:
        last[one.by] = max(one.day, last.get(one.by, one.day))
    counts = Counter(one.by for one in some)
    return sorted(
        ((by, day, counts[by]) for by, day in last.items()), key=lambda one: one[1], reverse=True
    )


def _key(person: str) -> str:
    """Emptied, and with that gone, when the person is forgotten: every note holds the id."""
    return f"asked:{person}"
