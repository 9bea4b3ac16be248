"""Asking Slack's Web API: once, or for as long as it takes, page by page, at the pace it allows.

It refuses to know how a request is sent and what an answer is for. Three things can be wrong: Slack
refused, it wants to be asked later, or no answer came. Limits: sections A3 and A6 of the Slack research.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from bot.adapters.slack_records import Record, as_list, as_record, as_text

LONGEST_PAUSE = 60.0
"""Seconds at most between two tries while no answer comes."""

type Send = Callable[[str, Mapping[str, object]], Awaitable[Record]]
"""Sends one request: a method's name and its parameters. Raises Refused, Limited or Lost."""


class Refused(Exception):
    """Slack answered, and refused: `error` as it says it, `needed` the scope that is missing."""

    def __init__(self, error: str, needed: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.needed = needed


class Limited(Exception):
    """It was not done; it may be asked for again in `after` seconds."""

    def __init__(self, after: float) -> None:
        super().__init__(f"in {after} s")
        self.after = after


class Lost(Exception):
    """No answer came; `sent`: it may have been done all the same."""

    def __init__(self, sent: bool = True) -> None:
        super().__init__("no answer")
        self.sent = sent


class Web:
    """One workspace's API. `pace`: seconds from one question to the next, by method, for what is read
    patiently; beyond that Slack's own Retry-After holds."""

    def __init__(self, send: Send, pace: Mapping[str, float] | None = None) -> None:
        self._send = send
        self._pace = dict(pace or {})
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._next: dict[str, float] = {}

    async def ask(self, method: str, **params: object) -> Record:
        """Asks once."""
        given = {key: value for key, value in params.items() if value is not None}
        return await self._send(method, given)

    async def read(self, method: str, **params: object) -> Record:
        """Asks until there is an answer: later when it is told so, again when none came. For what
        changes nothing and nobody waits for. Raises Refused."""
        failures = 0
        while True:
            async with self._turns[method]:
                await self._wait(method)
                try:
                    return await self.ask(method, **params)
                except Limited as limited:
                    self._not_before(method, limited.after)
                except Lost:
                    failures += 1
                    self._not_before(method, min(LONGEST_PAUSE, 0.1 * 2.0**failures))

    async def pages(
        self, method: str, of: str, limit: int, **params: object
    ) -> AsyncGenerator[list[Record]]:
        """Every page of a list, to the end: an empty page with a cursor is not the last one (C11)."""
        cursor: str | None = None
        while cursor != "":
            answer = await self.read(method, limit=limit, cursor=cursor, **params)
            yield [as_record(one) for one in as_list(answer.get(of))]
            cursor = next_cursor(answer)

    async def _wait(self, method: str) -> None:
        pause = self._next.get(method, 0.0) - asyncio.get_running_loop().time()
        if pause > 0:
            await asyncio.sleep(pause)
        self._not_before(method, self._pace.get(method, 0.0))

    def _not_before(self, method: str, seconds: float) -> None:
        until = asyncio.get_running_loop().time() + max(0.0, seconds)
        self._next[method] = max(until, self._next.get(method, 0.0))


def next_cursor(answer: Record) -> str:
    """Where the next page begins; empty on the last one, whatever length it has."""
    metadata = as_record(answer.get("response_metadata"))
    return as_text(metadata.get("next_cursor"))
