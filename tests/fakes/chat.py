"""A chat in this process that keeps what is posted, and fails as it is told to."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from bot.chat import NotSent, PerhapsSent, Place, Sent
from bot.pages import Page


class Posted(NamedTuple):
    where: Place
    page: Page
    key: str
    mentions: tuple[str, ...]
    sent: Sent


class FakeChat:
    """`faults`: what the next posts meet, one each: an error, or `lost` (it arrives, the answer does
    not); `blind`: the next look-ups fail."""

    def __init__(self, start: datetime) -> None:
        self.posts: list[Posted] = []
        self.faults: list[Exception | str | None] = []
        self.blind: list[Exception] = []
        self.looked = 0
        self.homes: dict[str, Page] = {}
        self._clock = start

    async def post(self, where: Place, page: Page, key: str, mentions: Sequence[str] = ()) -> Sent:
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        self._clock += timedelta(seconds=1)
        ts = f"{self._clock.timestamp():.6f}"
        link = f"https://acme.slack.com/archives/{where.room}/p{ts.replace('.', '')}"
        sent = Sent(room=where.room, ts=ts, at=self._clock, link=link)
        self.posts.append(Posted(where, page, key, tuple(mentions), sent))
        if fault == "lost":
            raise PerhapsSent("no answer came")
        return sent

    async def find(self, where: Place, key: str, since: datetime) -> Sent | None:
        self.looked += 1
        if self.blind:
            raise self.blind.pop(0)
        assert since.tzinfo is UTC or since.utcoffset() == timedelta(0)
        return next((p.sent for p in self.posts if (p.where, p.key) == (where, key)), None)

    async def direct(self, person: str) -> str:
        if person == "UNREACHABLE":
            raise NotSent("They cannot be written to.")
        return f"DM-{person}"

    async def show_home(self, person: str, page: Page) -> None:
        self.homes[person] = page

    def in_room(self, room: str) -> list[Posted]:
        return [one for one in self.posts if one.where.room == room]
