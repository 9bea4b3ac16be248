"""What is to be posted is stored first, posted once, and remembered from the answer of the chat.

It refuses to know what a post says: an `Order` names it in ids, and what people wrote is looked up at the
moment it is posted (`compose`), from what still stands then and what its readers may read then. A post
whose answer was lost may be there or not: it is looked for by its key before it is repeated, also
after a crash. What was told is kept beside the order while that is open, and goes with it.

One process posts: it holds the lease of the queue `outbox` (`engine.queue`); every process stores.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from pydantic import BaseModel, ConfigDict

from bot import lines
from bot.chat import Chat, NotSent, PerhapsSent, Place, Sent
from bot.pages import Page
from bot.perception import Line, Said
from engine import Memory
from engine.errors import StoreError, Superseded
from engine.events import Event, Notice, Say, any_event
from engine.memory import Notes
from engine.queue import Entry
from engine.rules import from_micros, to_micros

PACE = timedelta(seconds=1)
"""In one room there is a post a second at most (section A6 of the Slack research)."""

ANSWERS_WITHIN = 30.0
"""Seconds after which it is not known any more whether a post arrived."""

LEASE = 90.0
"""Seconds; longer than looking for a post, posting it and remembering it may take."""

GIVES_UP = timedelta(days=1)
"""After so long it is not tried again."""

_LONGEST_PAUSE = 300.0
_KEPT_OUTCOMES = 1_000
_log = structlog.get_logger("secondorder.outbox")


class Order(BaseModel):
    """One thing to post: of what `kind`, `about` which ids, in a `room` or to a `person`.

    `key` names it: the same thing ordered twice has the same. `by`: who asked for it, empty for
    nobody. `why`: a sentence about what went wrong, where that is what is told.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    key: str
    by: str = ""
    room: str = ""
    person: str = ""
    about: tuple[str, ...] = ()
    why: str = ""

    @property
    def lane(self) -> str:
        return self.room or self.person


class Written(NamedTuple):
    """A post as it is now. `events`: what it becomes when it is posted, oldest first; their moments
    and links are those of the post. `notes`: what is kept then."""

    page: Page
    mentions: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    notes: tuple[Notes, ...] = ()


type Compose = Callable[[Order], Written | str]
"""What an order says now, or in a sentence why it is not to be posted any more."""


class Outcome(NamedTuple):
    """What became of an order. `why`: in a sentence, where it was not posted."""

    posted: bool
    why: str = ""


class _Kept(BaseModel):
    """What is kept of a post while it is not known whether it arrived."""

    place: str
    tried: datetime
    events: tuple[dict[str, Any], ...] = ()
    notes: tuple[tuple[str, dict[str, datetime], int | None], ...] = ()


def key_of(*parts: str) -> str:
    """The name of a post: nobody's id can be read in it."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


class Outbox:
    """One workspace's. `put`, `wait` and `pump` are of one event loop."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._queue = memory.queue(name="outbox")
        self._posting = asyncio.Lock()
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._outcomes: dict[str, Outcome] = {}
        self._waited: dict[str, int] = {}
        self._not_before: dict[str, datetime] = {}
        self._failures: dict[str, int] = {}

    # ---------------------------------------------------------------------------- ordering

    async def put(self, orders: Iterable[Order], now: datetime) -> int:
        """Stores what is to be posted; how many of it was new. Raises StoreError, TooMuchWaiting."""
        new = 0
        for order in orders:
            at = to_micros(now)
            entry = Entry(order.key, order.lane, at, order.by, order.model_dump_json(), at)
            new += await asyncio.to_thread(self._queue.put, entry)
        self._wake.set()
        return new

    async def wait(self, keys: Sequence[str], seconds: float) -> dict[str, Outcome]:
        """What became of these orders; of those that are not posted after so long, nothing."""
        for key in keys:
            self._waited[key] = self._waited.get(key, 0) + 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while len(await self._known(keys)) < len(keys):
                        self._changed.clear()
                        with suppress(TimeoutError):
                            await asyncio.wait_for(self._changed.wait(), seconds / 4)
        finally:
            for key in keys:
                self._waited[key] -= 1
                if not self._waited[key]:
                    del self._waited[key]
        return await self._known(keys)

    async def _known(self, keys: Sequence[str]) -> dict[str, Outcome]:
        known = {key: self._outcomes[key] for key in keys if key in self._outcomes}
        if len(known) == len(keys):
            return known
        return await asyncio.to_thread(self.outcomes, keys)

    def outcomes(self, keys: Collection[str]) -> dict[str, Outcome]:
        """What became of orders that were put, here or in another process."""
        waits = {entry.key for entry in self._queue.entries(list(keys))}
        failed = {one.entry.key: one.why for one in self._queue.asides()}
        return {
            key: self._outcomes.get(key)
            or (Outcome(False, failed[key]) if key in failed else Outcome(True))
            for key in keys
            if key not in waits
        }

    # ---------------------------------------------------------------------------- posting

    async def run(self, chat: Chat, compose: Compose, stop: asyncio.Event) -> None:
        """Posts what is due until `stop` is set; then another process may go on."""
        while not stop.is_set():
            self._wake.clear()
            wait = 1.0
            try:
                wait = await self.pump(chat, compose, datetime.now(UTC))
            except StoreError as error:
                _log.warning("the memory did not answer", kind=error.kind)
            woken = [asyncio.ensure_future(one.wait()) for one in (self._wake, stop)]
            await asyncio.wait(woken, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            for one in woken:
                one.cancel()
        with suppress(StoreError):
            await asyncio.to_thread(self._queue.let_go)

    async def pump(self, chat: Chat, compose: Compose, now: datetime) -> float:
        """Posts what is due now, one thing in each room; in how many seconds to look again."""
        async with self._posting:
            return await self._pump(chat, compose, now)

    async def _pump(self, chat: Chat, compose: Compose, now: datetime) -> float:
        if await asyncio.to_thread(self._queue.hold, LEASE) is None:
            return 5.0
        heads = await asyncio.to_thread(self._queue.heads, 1)
        first = {lane: head.first[0][1] for lane, head in heads.items() if head.first}
        due = {lane: key for lane, key in first.items() if self._due(lane, key) <= now}
        entries = await asyncio.to_thread(self._queue.entries, list(due.values()))
        await asyncio.gather(*(self._deliver(chat, compose, entry, now) for entry in entries))
        self._changed.set()
        if entries:
            return 0.05
        left = [(self._due(lane, key) - now).total_seconds() for lane, key in first.items()]
        return min([5.0, *(max(0.05, seconds) for seconds in left)])

    def _due(self, lane: str, key: str) -> datetime:
        never = datetime.min.replace(tzinfo=UTC)
        return max(self._not_before.get(f"key {key}", never), self._not_before.get(lane, never))

    async def _deliver(self, chat: Chat, compose: Compose, entry: Entry, now: datetime) -> None:
        try:
            order = Order.model_validate_json(entry.body)
            await self._try(chat, compose, entry, order, now)
        except Superseded:
            pass  # another process goes on with it
        except NotSent as error:
            await self._refused(entry, order, error, now)
        except (PerhapsSent, TimeoutError):
            self._again(entry, 1.0, now)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad order must not stop the others
            _log.error("something could not be posted", kind=type(error).__name__)
            why = f"It could not be put together ({type(error).__name__})."
            await self._give_up(entry, why, now)

    async def _try(
        self, chat: Chat, compose: Compose, entry: Entry, order: Order, now: datetime
    ) -> None:
        kept = _Kept.model_validate_json(entry.read) if entry.read else None
        room = kept.place if kept else order.room or await chat.direct(order.person)
        where, sent = Place(room=room), None
        if entry.tries:  # it was tried before: it may be there
            tried = kept.tried if kept else from_micros(entry.arrived)
            async with asyncio.timeout(ANSWERS_WITHIN):
                sent = await chat.find(where, order.key, tried - timedelta(minutes=5))
        if sent is None or kept is None:
            written = await asyncio.to_thread(compose, order)
            if isinstance(written, str):
                if sent is None:
                    await asyncio.to_thread(self._take_out, entry, Outcome(False, written), now)
                    return
                written = Written(Page(""))  # it is there, and says nothing that still stands
            kept = _kept(written, room, now)
            if sent is None:
                await asyncio.to_thread(self._begin, entry, kept)
                async with asyncio.timeout(ANSWERS_WITHIN):
                    sent = await chat.post(where, written.page, order.key, written.mentions)
        self._not_before[order.lane] = now + PACE
        await asyncio.to_thread(self._remember, entry, order, kept, sent, now)

    def _begin(self, entry: Entry, kept: _Kept) -> None:
        """From here on it may be there."""
        self._queue.keep_read({entry.key: kept.model_dump_json()})
        self._queue.failed(entry)

    def _remember(self, entry: Entry, order: Order, kept: _Kept, sent: Sent, now: datetime) -> None:
        """Everything that the post became, and with the last of it the order goes."""
        events = _stamped([any_event.validate_python(one) for one in kept.events], sent)
        notes = [Notes(*one) for one in kept.notes]
        said = tuple(Said(one.id, one.at) for one in events if isinstance(one, Say))
        if said and order.room:
            mentions = {p for one in events if isinstance(one, Say) for p in one.mentions}
            line = Line(sent.at, sent.ts, None, mentions=tuple(sorted(mentions)), said=said)
            notes = lines.joined([*notes, *lines.kept(order.room, line)])
        done = self._queue.done(entry, to_micros(now))
        self._memory.record_all(events, notes, done)
        self._learn(entry.key, Outcome(True))

    def _take_out(self, entry: Entry, outcome: Outcome, now: datetime) -> None:
        self._memory.record_all([], beside=self._queue.done(entry, to_micros(now)))
        self._learn(entry.key, outcome)

    def _learn(self, key: str, outcome: Outcome) -> None:
        self._outcomes[key] = outcome
        while len(self._outcomes) > _KEPT_OUTCOMES:
            self._outcomes.pop(next(iter(self._outcomes)))
        self._failures.pop(key, None)
        self._not_before.pop(f"key {key}", None)

    async def _refused(self, entry: Entry, order: Order, error: NotSent, now: datetime) -> None:
        if error.later is not None and now - from_micros(entry.arrived) < GIVES_UP:
            self._again(entry, error.later, now)
            return
        await self._give_up(entry, error.why, now)
        if order.by and order.kind != "failed" and order.key not in self._waited:
            about = (order.room,) if order.room else ()
            failed = Order(
                kind="failed", key=key_of("failed", order.key), person=order.by, by=order.by,
                about=about, why=error.why,
            )  # fmt: skip
            await self.put([failed], now)

    async def _give_up(self, entry: Entry, why: str, now: datetime) -> None:
        await asyncio.to_thread(self._queue.set_aside, entry, why, to_micros(now))
        self._learn(entry.key, Outcome(False, why))

    def _again(self, entry: Entry, seconds: float, now: datetime) -> None:
        """Tries it again after so long, or twice as long each time."""
        failures = self._failures[entry.key] = self._failures.get(entry.key, 0) + 1
        pause = max(seconds, min(_LONGEST_PAUSE, 2.0 ** (failures - 1)))
        self._not_before[f"key {entry.key}"] = now + timedelta(seconds=pause)


# ------------------------------------------------------------------------------- plain values


def _kept(written: Written, room: str, now: datetime) -> _Kept:
    return _Kept(
        place=room,
        tried=now,
        events=tuple(json.loads(one.model_dump_json()) for one in written.events),
        notes=tuple((one.key, dict(one.notes), one.most) for one in written.notes),
    )


def _stamped(events: Sequence[Event], sent: Sent) -> list[Event]:
    """Events as of the post that they came with, one after the other; what we had to know before
    comes before."""
    last = len(events) - 1
    stamped: list[Event] = []
    for n, one in enumerate(events):
        update: dict[str, Any] = {"at": sent.at - timedelta(microseconds=last - n)}
        if not isinstance(one, Notice) and "link" in type(one).model_fields:
            update["link"] = sent.link if isinstance(one, Say) else None
        stamped.append(one.model_copy(update=update))
    return stamped
