"""A desk with its outbox and a chat, for tests: presses are driven until they are answered."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot import render
from bot.chat import Command, Press, Reply
from bot.desk import Desk
from bot.digest import Digests
from bot.outbox import Order, Outbox, Written
from bot.pages import Button, Page
from engine import Memory, PersonInfo
from tests.fakes.chat import FakeChat

RUNNER = asyncio.Runner()
"""One event loop, as a process has one."""


@pytest.fixture(scope="session", autouse=True)
def loop() -> Iterator[None]:
    """Closes it; imported by the tests that use a house."""
    yield
    RUNNER.close()


US = "UBOT"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


class House:
    """Everything that answers in one workspace. `clock`: when people ask; what is posted is posted
    some seconds later, a second or more apart."""

    def __init__(self, memory: Memory, start: datetime = NOON, **digests: Any) -> None:
        memory.describe([PersonInfo(US, "SecondOrder", "secondorder", bot=True)])
        self.memory = memory
        self.clock = start
        self._ahead = timedelta()
        self.chat = FakeChat(start)
        self.outbox = Outbox(memory)
        self.digests = Digests(memory, self.outbox, **digests)
        self.desk = Desk(memory, self.outbox, self.digests, US, clock=lambda: self.clock)
        self.compose: Callable[[Order], Written | str] = self.desk.compose

    def passes(self, **time: float) -> None:
        self.clock += timedelta(**time)

    async def pump(self) -> None:
        self._ahead += timedelta(seconds=2)
        await self.outbox.pump(self.chat, self.compose, self.clock + self._ahead)

    async def _driven[T](self, asked: Awaitable[T]) -> T:
        task = asyncio.ensure_future(asked)
        while not task.done():
            await self.pump()
        return await task

    def run[T](self, asked: Coroutine[Any, Any, T]) -> T:
        """What it gives while everything that is due is posted."""
        return RUNNER.run(self._driven(asked))

    def deliver(self, rounds: int = 12) -> None:
        async def rounds_of() -> None:
            for _ in range(rounds):
                await self.pump()

        RUNNER.run(rounds_of())

    def at(self, moment: datetime) -> "House":
        """The same house at that moment."""
        self.clock = moment
        return self

    # ------------------------------------------------------------------------- as people do it

    def ask(self, who: str, line: str, room: str = "C1", **more: Any) -> Reply:
        name, _, text = line.partition(" ")
        self.passes(seconds=1)
        command = Command(name=name, text=text, who=who, room=room, at=self.clock, **more)
        return self.run(self.desk.ask(command))

    def press(self, who: str, button: Button, room: str = "C1", ts: str | None = None) -> Reply:
        reply = self.pressed(who, button, room, ts)
        assert reply is not None
        return reply

    def pressed(
        self, who: str, button: Button, room: str = "C1", ts: str | None = None
    ) -> Reply | None:
        self.passes(seconds=1)
        press = Press(
            action=button.action, value=button.value, who=who, room=room, at=self.clock, ts=ts
        )
        return self.run(self.desk.press(press))

    def home(self, who: str) -> Page:
        return self.run(self.desk.home(who))


def shown(reply: Reply | Page | None) -> str:
    """Everything that a reply shows, and what its buttons hold."""
    if reply is None:
        return "nothing"
    page = reply.page if isinstance(reply, Reply) else reply
    flags = f"{reply.aloud} {reply.instead}" if isinstance(reply, Reply) else ""
    return "\n".join([flags, render.text(page), *map(repr, buttons_of(page))])


def buttons_of(what: Reply | Page | None) -> list[Button]:
    if what is None:
        return []
    page = what.page if isinstance(what, Reply) else what
    lines = [line.button for section in page.sections for line in section.lines]
    rests = [section.rest for section in page.sections]
    return [one for one in (*lines, *rests, *page.buttons) if one is not None]


def button(what: Reply | Page | None, action: str) -> Button:
    """The first button for that."""
    return next(one for one in buttons_of(what) if one.action == action)
