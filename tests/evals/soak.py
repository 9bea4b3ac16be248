"""A disturbed Slack ends in the memory that an undisturbed one ends in.

Both lives see the same things happen, at the same moments. In one of them events come twice and out of
order, Slack limits what may be asked, and the bot is away for a while in the middle and reads what it
missed.

    python -m tests.evals.soak [quick|full] [--seed N]

prints every answer in which the two differ, and nothing where they are alike.
"""

import asyncio
import random
import sys
import tempfile
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bot.adapters.slack import Setup, Slack
from bot.app import Bot
from bot.house import House, Ways
from bot.inbox import Pace
from engine import Memory
from engine.server import Server
from extraction.rules import Rules
from tests.bot.test_replay import answers
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_state import Refused

WITHIN = 120.0


class Size(NamedTuple):
    people: int
    rooms: int
    steps: int


WHAT = ("state", "chat", "reply", "edit", "delete", "react", "unreact", "join", "leave")
QUICK, FULL = Size(40, 4, 250), Size(1_000, 20, 5_000)


class Life:
    """A Slack, and a bot in it that can be away."""

    def __init__(self, slack: FakeSlack, state: Path) -> None:
        self.slack, self.state = slack, state
        self.sid = f"soak-{uuid.uuid4().hex[:12]}"
        self.houses: list[House] = []
        self.adapter: Slack | None = None

    async def come(self) -> None:
        here = self.slack.here
        setup = Setup(
            bot_token=self.slack.bot_token, app_token=self.slack.app_token,
            api_url=self.slack.url,
        )  # fmt: skip

        async def opened(_: str) -> House:
            memory = await asyncio.to_thread(Memory, self.sid, state=self.state)
            house = House(memory, Bot(memory, Rules()), Ways(Pace(grace=0.3)))
            self.houses.append(house)
            return house

        async def begun(team: object) -> None:
            await self.houses[-1].begin(team, here.bot)  # type: ignore[arg-type]

        clock = lambda: datetime.fromtimestamp(here.now, UTC)  # noqa: E731
        self.adapter = Slack(setup, opened, clock=clock, begun=begun)
        await self.adapter.start()
        await self.slack.connected(WITHIN)

    async def drained(self) -> None:
        """Until everything that came, and everything missed, is applied."""
        assert self.adapter is not None
        ends = time.monotonic() + WITHIN
        while time.monotonic() < ends:
            for team in self.adapter.teams.values():
                await asyncio.wait_for(team.settled(), WITHIN)
            queue = self.houses[-1].memory.queue()
            if not queue.backlog() and not queue.touched():
                return
            await asyncio.sleep(0.1)
        raise AssertionError("it never caught up")

    async def go(self) -> None:
        assert self.adapter is not None
        await self.adapter.close()
        await self.houses[-1].close()
        self.adapter = None


async def lived(size: Size, seed: int, state: Path, disturbed: bool) -> dict[str, str]:
    async with FakeSlack(seed=seed) as slack:
        here = slack.here
        for n in range(size.people):
            here.person(f"U{n + 1}", f"person {n + 1}")
        people = list(here.users)[1:]
        rooms = [f"C{n + 1}" for n in range(size.rooms)]
        dice = random.Random(seed)
        for n, room in enumerate(rooms):
            count = size.people if n == 0 else dice.randint(3, max(4, size.people // 4))
            here.channel(
                room, f"room-{n + 1}", [here.bot, *dice.sample(people, count)],
                "private" if n % 3 == 2 else "public",
            )  # fmt: skip
        life = Life(slack, state)
        await life.come()
        await life.drained()
        if disturbed:
            slack.delivery.duplicates, slack.delivery.shuffled = 0.2, 7
        script = Script(slack, dice, rooms)
        for step in range(size.steps):
            away = size.steps // 2 <= step < size.steps // 2 + size.steps // 10
            if disturbed and step == size.steps // 2:
                await slack.flush()
                await life.go()
                slack.delivery.lost = True
            if disturbed and step == size.steps // 2 + size.steps // 10:
                await slack.flush()
                slack.delivery.lost = False
                for method in ("conversations.history", "conversations.replies"):
                    slack.faults[method] = [Fault(limit=0.05) for _ in range(3)]
                await life.come()
            await script.step(away)
        await slack.flush()
        await life.drained()
        memory = life.houses[-1].memory
        found = await asyncio.to_thread(answers, memory)
        await life.go()
        return found


class Script:
    """What people do, the same in both lives. While the bot is away they only talk: when somebody
    came, reacted or deleted, and what stood there between two edits, no history tells afterwards."""

    def __init__(self, slack: FakeSlack, dice: random.Random, rooms: list[str]) -> None:
        self.slack, self.dice, self.rooms = slack, dice, rooms
        self.said: list[tuple[str, str]] = []

    async def step(self, away: bool) -> None:
        slack, dice, here = self.slack, self.dice, self.slack.here
        room = dice.choice(self.rooms)
        members = [one for one in here.one(room).members if one != here.bot]
        here.later(dice.choice([1, 5, 40, 70, 400, 2000]))
        what = dice.choices(
            WHAT, [6, 6, 4, 0, 0, 0, 0, 0, 0] if away else [6, 6, 4, 3, 1, 5, 1, 1, 1]
        )[0]
        who = dice.choice(members)
        decision = f"decision-{dice.randint(1, 12)}: {dice.choice(['red', 'blue', 'green'])}"
        known = [one for one in self.said if one[0] == room and one[1] in here.one(room).messages]
        match what:
            case "state":
                self.said.append((room, await slack.say(who, room, decision)))
            case "chat":
                self.said.append((room, await slack.say(who, room, "good morning")))
            case "reply" if known:
                root = here.one(room).messages[known[-1][1]]
                thread = root.get("thread_ts", root["ts"])
                text = dice.choice(["ok", decision, "update: purple"])
                self.said.append((room, await slack.say(who, room, text, thread=thread)))
            case "edit" if known:
                _, ts = dice.choice(known[-6:])
                if here.message(room, ts).get("subtype") != "tombstone":
                    await slack.edit(room, ts, decision)
            case "delete" if known:
                _, ts = dice.choice(known[-6:])
                if here.message(room, ts).get("subtype") != "tombstone":
                    await slack.delete(room, ts)
            case "react" | "unreact" if known:
                _, ts = dice.choice(known[-4:])
                try:
                    if what == "react":
                        await slack.react(who, room, ts)
                    elif any(
                        who in one["users"] for one in here.message(room, ts).get("reactions", ())
                    ):
                        await slack.unreact(who, room, ts)
                except Refused:
                    pass
            case "join":
                outside = [u for u in here.users if u not in here.one(room).members]
                if outside:
                    await slack.join(dice.choice(outside), room)
            case "leave" if len(members) > 3:
                await slack.leave(who, room)
            case _:
                pass


def different(size: Size, seed: int, state: Path) -> dict[str, tuple[str | None, str | None]]:
    """Every answer in which the two lives differ: undisturbed, then disturbed."""
    quiet = asyncio.run(lived(size, seed, state, disturbed=False))
    disturbed = asyncio.run(lived(size, seed, state, disturbed=True))
    return {
        key: (quiet.get(key), disturbed.get(key))
        for key in sorted(quiet | disturbed)
        if quiet.get(key) != disturbed.get(key)
    }


def main(size: Annotated[str, typer.Argument()] = "quick", seed: int = 1) -> None:
    """Exit status: 0 where both lives end alike, else 1."""
    with tempfile.TemporaryDirectory(prefix="so-") as folder, Server(Path(folder)):
        found = different(FULL if size == "full" else QUICK, seed, Path(folder))
    sys.stdout.write("".join(f"{key}\n  {a}\n  {b}\n" for key, (a, b) in found.items()))
    raise typer.Exit(bool(found))


if __name__ == "__main__":
    typer.run(main)
