"""One workspace that is open: what is heard goes in, what is asked is answered, what is due is posted.

It refuses to know which platform it is of and what the settings are called. It owns everything that
works for one workspace, and the order in which that begins and ends.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from bot import lines
from bot.app import Bot
from bot.chat import Chat, Heard, Kept, Person, Room
from bot.chat import Desk as DeskLike
from bot.desk import Desk
from bot.digest import Digests
from bot.inbox import Inbox, Pace
from bot.outbox import Outbox
from bot.perception import Crowds
from engine import Memory
from engine.events import Moment


class Ways(NamedTuple):
    """What a team set for its workspaces; see the settings."""

    pace: Pace = Pace()
    crowds: Crowds = Crowds()
    digests: Mapping[str, str] = {}
    shifts: Sequence[str] = ()
    notice: timedelta = timedelta(minutes=15)


class Marks:
    """Small notes of an adapter that survive a restart."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def get(self, key: str) -> str | None:
        noted = await asyncio.to_thread(self._memory.noted, f"mark:{key}")
        return noted[-1] if noted else None

    async def put(self, key: str, value: str) -> None:
        await asyncio.to_thread(self._put, f"mark:{key}", value)

    def _put(self, key: str, value: str) -> None:
        self._memory.note(key, {value: datetime.now(UTC)})
        self._memory.unnote(key, [old for old in self._memory.noted(key) if old != value])


class House:
    """Opened with a memory that it closes in the end. `measured` makes a desk one that is measured."""

    desk: DeskLike

    def __init__(
        self,
        memory: Memory,
        bot: Bot,
        ways: Ways | None = None,
        measured: Callable[[DeskLike], DeskLike] = lambda desk: desk,
        heard: Callable[[Heard], None] = lambda heard: None,
    ) -> None:
        ways = ways or Ways()
        self.memory = memory
        self.inbox = Inbox(memory, bot, ways.pace)
        self.outbox = Outbox(memory)
        self.digests = Digests(memory, self.outbox, ways.digests, ways.shifts, ways.notice)
        self._ways, self._measured, self._heard = ways, measured, heard
        self.marks = Marks(memory)
        self._bot = bot
        self._stop = asyncio.Event()
        self._working: list[asyncio.Task[None]] = []
        self._desk: Desk | None = None

    async def begin(self, chat: Chat, me: str) -> None:
        """Applies, answers, posts and wakes up for what is scheduled, until `close`. `me`: who we are in
        this workspace."""
        self._desk = Desk(self.memory, self.outbox, self.digests, me, self._ways.crowds)
        self.desk = self._measured(self._desk)
        self._working = [
            asyncio.ensure_future(self.inbox.run(self._stop)),
            asyncio.ensure_future(self.outbox.run(chat, self._desk.compose, self._stop)),
        ]
        await self.digests.start()

    async def close(self) -> None:
        """Ends what works; what is stored is applied by whoever opens the workspace next."""
        self._stop.set()
        self.digests.stop()
        if self._desk is not None:
            await self._desk.finish()
        await asyncio.gather(*self._working, return_exceptions=True)
        await asyncio.to_thread(self.memory.close)

    # ---------------------------------------------------------------------------- what a chat tells

    async def hear(self, heard: Heard) -> None:
        """Returns once it is stored; raises an error of `engine.errors` where it cannot be."""
        if await asyncio.to_thread(self.inbox.put, heard):
            self._heard(heard)

    async def meet(self, people: Sequence[Person], rooms: Sequence[Room], at: Moment) -> None:
        """Learns whom and which rooms there are, as of a moment."""
        await asyncio.to_thread(self._apart, lambda: self._bot.meet(people, rooms, at))

    async def listed(self, rooms: Sequence[Room], at: Moment) -> None:
        """Learns who was listed where: who came and left unseen follows from it."""

        def listed() -> None:
            self._bot.list_members(rooms, at)
            self._bot.agree_with_lists()

        await asyncio.to_thread(self._apart, listed)

    async def kept(self, room: str, since: Moment) -> Sequence[Kept]:
        """The lines of a room that are remembered since then."""
        return await asyncio.to_thread(lines.remembered, self.memory, room, since)

    def _apart(self, do: Callable[[], None]) -> None:
        """While nothing is applied: both change what the bot knows of who is where."""
        with self.inbox.applying:
            do()
