"""What a workspace hands things to, kept in lists; and a running adapter on the small Slack."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.adapters.slack import Habits, Kept, Setup, Slack, Team
from bot.chat import Command, Enter, Exit, Heard, Message, Person, Press, Reaction, Reply, Room
from bot.pages import Page
from engine.errors import StoreUnavailable
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_state import Workspace


class Desk:
    """Answers every question with its name and text; `answers` says otherwise."""

    def __init__(self) -> None:
        self.asked: list[Command] = []
        self.pressed: list[Press] = []
        self.homes: list[str] = []
        self.answers: Callable[[Command], Reply] = lambda command: Reply(
            page=Page(f"{command.name}: {command.text}")
        )
        self.after_press: Reply | None = Reply(page=Page("Pressed."), instead=True)

    async def ask(self, command: Command) -> Reply:
        self.asked.append(command)
        return self.answers(command)

    async def press(self, press: Press) -> Reply | None:
        self.pressed.append(press)
        return self.after_press

    async def home(self, person: str) -> Page:
        self.homes.append(person)
        return Page(f"The page of {person}")


class Notebook:
    """Marks in a dictionary: what survives a restart."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self.pages.get(key)

    async def put(self, key: str, value: str) -> None:
        self.pages[key] = value


class House:
    """Keeps what it is handed. `failing`: so many things cannot be stored before one can be."""

    def __init__(self, marks: Notebook | None = None) -> None:
        self.desk, self.marks = Desk(), marks or Notebook()
        self.heard: list[Heard] = []
        self.met: dict[str, Person] = {}
        self.rooms: dict[str, Room] = {}
        self.described: list[Room] = []
        self.lists: list[dict[str, frozenset[str]]] = []
        self.failing = 0
        self.strange = 0
        """So many descriptions fail before one can be kept."""
        self.tries = 0
        self.slow: Callable[[Heard], float] = lambda heard: 0.0

    async def hear(self, heard: Heard) -> None:
        self.tries += 1
        await asyncio.sleep(self.slow(heard))
        if self.failing:
            self.failing -= 1
            raise StoreUnavailable("The memory cannot be reached.")
        self.heard.append(heard)

    async def meet(self, people: Sequence[Person], rooms: Sequence[Room], at: datetime) -> None:
        if self.strange:
            self.strange -= 1
            raise StoreUnavailable("The memory cannot be reached.")
        self.met |= {one.id: one for one in people}
        self.rooms |= {one.id: one for one in rooms}
        self.described += rooms

    async def listed(self, rooms: Sequence[Room], at: datetime) -> None:
        self.lists.append({one.id: one.members or frozenset() for one in rooms})

    async def kept(self, room: str, since: datetime) -> list[Kept]:
        """As a memory would have it: what was heard so far, version by version."""
        found: dict[str, Kept] = {}
        for one in self.heard:
            if isinstance(one, Message) and one.room == room and one.at >= since:
                before = found.get(one.ts, Kept(one.ts, one.thread))
                found[one.ts] = before._replace(
                    edited=one.edited.at if one.edited else before.edited,
                    stated=before.stated or "decision" in one.text,
                    removed=before.removed or one.removed,
                )
        for one in self.heard:
            if isinstance(one, Reaction) and one.room == room and one.ts in found:
                before = found[one.ts]
                given = {(one.name, one.who)}
                now = before.reactions - given if one.removed else before.reactions | given
                found[one.ts] = before._replace(reactions=frozenset(now))
        return list(found.values())

    # ---------------------------------------------------------------------------- looking at it

    @property
    def messages(self) -> list[Message]:
        return [one for one in self.heard if isinstance(one, Message) and not one.system]

    @property
    def reactions(self) -> list[Reaction]:
        return [one for one in self.heard if isinstance(one, Reaction)]

    @property
    def moves(self) -> list[Enter | Exit]:
        return [one for one in self.heard if isinstance(one, Enter | Exit)]

    @property
    def said(self) -> list[tuple[str, str]]:
        """Room and text of every message, each version once, in the order they were stored."""
        return list(dict.fromkeys((one.room, one.text) for one in self.messages))


def a_workspace() -> Workspace:
    here = Workspace()
    for id in ("U1", "U2", "U3", "U4"):
        here.person(id)
    here.channel("C1", "plans", ["U1", "U2", here.bot])
    here.channel("C2", "elsewhere", ["U1", "U3"])
    here.channel("G1", "secret", ["U1", "U4", here.bot], "private")
    return here


def setup_of(slack: FakeSlack, **changes: Any) -> Setup:
    made = Setup(
        bot_token=slack.bot_token, app_token=slack.app_token, signing_secret=slack.secret,
        api_url=slack.url, port=0, ping=0.2, timeout=5.0, habits=Habits(flush=0.02),
    )  # fmt: skip
    return made._replace(**changes)


def clock_of(slack: FakeSlack) -> Callable[[], datetime]:
    return lambda: (
        datetime.fromtimestamp(slack.here.now, UTC)
        + timedelta(microseconds=max(0, slack.here.micros - int(slack.here.now * 1_000_000)))
    )


@asynccontextmanager
async def connected(slack: FakeSlack, house: House, **changes: Any) -> AsyncIterator[Team]:
    """The adapter, connected by Socket Mode, or by HTTP with a `public_url`; everything missed is
    read."""

    async def opened(_: str) -> House:
        return house

    adapter = Slack(setup_of(slack, **changes), opened, clock_of(slack))
    await adapter.start()
    try:
        if changes.get("public_url"):
            slack.http_url = f"http://127.0.0.1:{adapter.port}/slack/events"
        else:
            await slack.connected()
        [team] = adapter.teams.values()
        await until(lambda: team.live)
        await team.settled()
        slack.here.later(1)
        yield team
    finally:
        await adapter.close()


async def until(holds: Callable[[], Any], within: float = 5.0) -> None:
    """Waits until something holds."""
    async with asyncio.timeout(within):
        while not holds():
            await asyncio.sleep(0.005)


def run(
    doing: Callable[[FakeSlack, House, Team], Awaitable[None]], **changes: Any
) -> tuple[FakeSlack, House]:
    """Does something with a connected adapter; then nothing is left running."""

    async def inside() -> tuple[FakeSlack, House]:
        async with FakeSlack(a_workspace()) as slack:
            house = House()
            async with connected(slack, house, **changes) as team:
                await doing(slack, house, team)
            left = [
                task
                for task in asyncio.all_tasks()
                if task is not asyncio.current_task() and not _of_the_fake(task)
            ]
            assert not left, left
            return slack, house

    return asyncio.run(inside())


def _of_the_fake(task: "asyncio.Task[Any]") -> bool:
    name = getattr(task.get_coro(), "__qualname__", "")
    return task.done() or name.startswith(("RequestHandler", "FakeSlack"))
