"""Which promises were handed over, so that a second handover does not repeat them.

It is known to whoever handed over and to whom it was handed: others see the handoff as it was. What
else is handed over is told, and remembered as such; a promise is about what somebody else believes.
"""

import json
from collections.abc import Collection
from datetime import datetime

from engine import Memory
from engine.memory import Notes

MOST = 20_000


def over(memory: Memory, who: str, a: str, b: str) -> frozenset[str]:
    """The statements of a that were promises and were handed to b, as far as `who` knows."""
    found = map(json.loads, memory.noted("handed"))
    return frozenset(
        one["event"]
        for one in found
        if (one["from"], one["to"]) == (a, b) and who in (one["by"], one["to"])
    )


def notes(by: str, a: str, b: str, events: Collection[str], at: datetime) -> list[Notes]:
    kept = {
        json.dumps({"by": by, "event": event, "from": a, "to": b}): at for event in sorted(events)
    }
    return [Notes("handed", kept, MOST)] if kept else []
