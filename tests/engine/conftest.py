"""The support story that several tests of the engine tell."""

from datetime import UTC, datetime, timedelta

import pytest

from engine import Memory

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def after(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.fixture
def support(memory: Memory) -> Memory:
    """The six lines of the engine's own documentation."""
    memory.join(["Maya", "Billing"], "chat", at=NOON)
    memory.say("Billing", "refund", "approved", room="chat", at=after(1))
    memory.leave("Maya", at=after(2))
    memory.set("refund", "rejected", room="chat", by="Finance", at=after(3))
    return memory
