"""What a chat delivers is stored before it is acknowledged, and applied once, in the order it was said.

It refuses to know which platform delivered, what a message says, and what applying it writes. Storing
(`put`) and applying (`pump`) may be different processes: whoever holds the lease applies, everybody
stores. `run` pumps until it is told to stop; everything else is synchronous and is told the time.

**Which order holds.** The memory does not depend on the order in which events are written; what is
*read* out of a message may depend on what was read before it. So:

* An extractor that reads message by message (`windowed` is false) reads everything that waits in the
  order in which it was said, across all rooms, and what it reads is written at once. What came within
  `grace` of each other is put in order; what comes later still is read when it comes, as of its moment.
* A windowed extractor is slow, and what it may look back at is its own room (and the names of what is
  known in open ones). Messages of one room are applied in the order they were said; rooms do not wait for
  each other. A conversation (a thread, or the room's own talk) is read window by window, each after the
  one before it was applied, a thread after its root. Conversations are read side by side.
* Who comes and who goes is applied as soon as it is ripe, whatever waits to be read: what somebody may
  read hangs on it.

**What happens in between.** What was read is kept beside the entry before anything is written, where
reading it again could read something else: a windowed extractor, or several statements in one message.
The entry leaves in the transaction of the last event that it became. Killed anywhere, it goes on there.

What cannot be read is tried again, alone, and set aside after `tries`; the rest goes on. While nothing
can be read (no key, no network), everything waits, and it is known since when.

Earlier messages are shown to a windowed extractor as context. They are held in this process alone, the
newest few thousand, and are gone when it ends: text is kept nowhere, so the first windows after a
restart are read without them.
"""

import asyncio
import hashlib
import json
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import batched
from typing import Any, NamedTuple, get_args

import structlog
from pydantic import BaseModel

from bot import backlog, lines, naming
from bot.app import Bot, Reading
from bot.chat import Command, Enter, Exit, Heard, Message, Reaction
from bot.context import BEFORE, FULL, conversation, message_id
from bot.perception import words_of
from engine import Memory
from engine.errors import StoreError, StoreRefused, Superseded
from engine.events import whole
from engine.queue import MOST, Entry
from engine.rules import to_micros
from extraction import CannotRead, Statement
from extraction.entities import Question
from extraction.gate import Held

SEEN = 2_000
"""So many entries are held in this process at a time, or a few of each lane where more lanes wait."""

SETTLES = timedelta(seconds=2)
"""While messages keep coming, who saw what is worked out this often."""

TAKEN = 5_000
"""So many things of a history are stored at a time."""

DRAINING = 60.0
"""Whoever waits for everything to be read waits at most so many seconds for reading to go on."""

LONGEST_PAUSE = 300.0
"""Seconds at most between two tries while nothing can be read."""

REMEMBERED, CLIPPED = 5_000, 4_000
"""So many earlier messages are held to look back at, and so many characters of each."""

_KINDS: Mapping[str, type[BaseModel]] = {one.__name__: one for one in get_args(Heard.__value__)}
_log = structlog.get_logger("secondorder.inbox")


class Pace(NamedTuple):
    """When things happen, in seconds, and how much at once; the settings say what each is for."""

    grace: float = 2.0
    quiet: float = 20.0
    patience: float = 120.0
    full: int = FULL
    readers: int = 4
    tries: int = 3
    most: int = MOST
    lease: float = 15.0


class Progress(NamedTuple):
    """What one pump did. `applying`: this process holds the lease. `left`: what it still sees
    waiting. `reading`: the windows that are being read."""

    applying: bool
    applied: int = 0
    left: int = 0
    reading: int = 0


class _Kept(BaseModel):
    """What was read out of a message: what may be believed, and what waits for somebody."""

    statements: tuple[Statement, ...] = ()
    held: tuple[Held, ...] = ()
    questions: tuple[Question, ...] = ()


class _Waiting(NamedTuple):
    entry: Entry
    heard: Heard

    @property
    def order(self) -> tuple[int, str, int, str]:
        """As it was said; edits of the same moment as they came."""
        key = self.entry.key
        if isinstance(self.heard, Message) and self.heard.edited is not None:
            key = key.replace(f"/{words_of(self.heard)}", "", 1)
        return self.entry.at, key, self.entry.arrived, self.entry.key


class _Job(NamedTuple):
    """A window that is being read, and the messages that are read out of it."""

    future: Future[Reading]
    some: tuple[_Waiting, ...]


class Inbox:
    """One workspace's. `put` may be called from any thread, `pump` from one at a time."""

    def __init__(self, memory: Memory, bot: Bot, pace: Pace | None = None) -> None:
        self.applying = threading.Lock()
        """Held while something is applied: what the bot knows of people and rooms is not to change."""
        self._memory = memory
        self._bot = bot
        self._pace = pace or Pace()
        self._queue = memory.queue(self._pace.most)
        self._pool: ThreadPoolExecutor | None = None
        self._begun = False
        self._forgetting = False
        self._held_at = 0.0
        self._waiting: dict[str, _Waiting] = {}
        self._lanes: dict[str, list[_Waiting]] = {}
        self._cut: set[str] = set()
        self._jobs: list[_Job] = []
        self._recent = _Recent()
        self._failures = 0
        self._behind = False
        self._paused_until: datetime | None = None
        self._settled_at: datetime | None = None

    # ---------------------------------------------------------------------------- storing

    def put(self, heard: Heard, now: datetime | None = None) -> bool:
        """Stores one thing heard, on disk before it returns; whether it was new. `now`: when it came.

        Raises TooMuchWaiting, or StoreUnavailable: then it is not stored, and the chat is not to be
        told that it was, so that it delivers it again.
        """
        return self._queue.put(stored(heard, now or datetime.now(UTC)))

    # ---------------------------------------------------------------------------- applying

    def pump(self, now: datetime) -> Progress:
        """Applies what is ripe and has what reads begin; returns without waiting for it.

        Does nothing where another process applies. Raises StoreError where the memory cannot be
        reached: nothing is lost, it is asked again.
        """
        with self.applying:
            return self._pump(now)

    def _pump(self, now: datetime) -> Progress:
        try:
            if not self._hold():
                return Progress(False)
            self._collect(now)
            self._look(now)
            applied = self._apply(now)
            if not applied or self._settled_at is None or now - self._settled_at >= SETTLES:
                self._settle(now)
            if self._bot.windowed:
                self._send(now)
        except Superseded:
            self._drop()
            return Progress(False)
        return Progress(True, applied, len(self._waiting), len(self._jobs))

    async def run(self, stop: asyncio.Event, pause: float = 0.25) -> None:
        """Pumps until `stop` is set; then lets another process go on."""
        while not stop.is_set():
            rest = pause
            try:
                progress = await asyncio.to_thread(self.pump, datetime.now(UTC))
                rest = 0.0 if progress.applied else pause
            except StoreError as error:
                _log.warning("the memory did not answer", kind=error.kind)
                rest = max(pause, 1.0)
            except Exception as error:  # noqa: BLE001 - what arrives is stored meanwhile
                _log.error("applying failed", kind=type(error).__name__)
                rest = max(pause, 5.0)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), rest)
        await asyncio.to_thread(self.close)

    def drain(self, watch: Callable[[int], None] = lambda left: None) -> int:
        """Applies all that waits; returns how much is left, where nothing can be read for long or
        another process applies. `watch` is told how much is left, now and then."""
        while True:
            now = datetime.now(UTC)
            progress = self.pump(now)
            watch(progress.left)
            if not progress.applying or not progress.left:
                return progress.left
            pause = (self._paused_until - now).total_seconds() if self._paused_until else 0.0
            if pause > DRAINING:
                return progress.left
            if progress.reading:
                wait([job.future for job in self._jobs], 1.0, FIRST_COMPLETED)
            elif not progress.applied:
                time.sleep(min(1.0, max(pause, 0.05)))

    def take_in(
        self, heard: Iterable[Heard], watch: Callable[[int], None] = lambda number: None
    ) -> int:
        """Stores a whole history, some thousand things at a time, and applies it; returns how much
        waits in the end. `watch` is told how much was stored and applied so far."""
        stored, left = 0, 0
        for some in batched(heard, TAKEN):
            for one in some:
                self.put(one)
            stored += len(some)
            left = self.drain(partial(_count_done, watch, stored))
            if left:
                break  # the rest waits where it is, and is stored when it is taken in again
        return left

    def close(self) -> None:
        """Lets another process go on at once. What is being read is read again there."""
        self._drop()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        with suppress(StoreError):
            self._queue.let_go()

    def _hold(self) -> bool:
        """Whether we apply. Whoever begins to knows nothing: another may have applied since."""
        new = self._queue.hold(self._pace.lease)
        self._held_at = time.monotonic()
        if new is None:
            self._drop()
            return False
        if new or not self._begun:
            self._drop()
            self._forgetting = self._memory.heed_forgotten()
            self._bot.begin_anew()
            self._behind = self._queue.behind() is not None
            self._begun = True
            self._keep_holding()
        return True

    def _keep_holding(self) -> None:
        """In the middle of long work; where the lease has run out and nobody took it, it is ours."""
        if time.monotonic() - self._held_at > self._pace.lease / 3:
            if self._queue.hold(self._pace.lease) is not False:
                raise Superseded("It took too long: another process has applied since.")
            self._held_at = time.monotonic()

    def _drop(self) -> None:
        """What this process knows of what waits, and what it remembers of what people wrote."""
        for job in self._jobs:
            job.future.cancel()
        self._waiting, self._lanes, self._cut, self._jobs = {}, {}, set(), []
        self._recent = _Recent()
        self._begun = False

    def _look(self, now: datetime) -> None:
        """Which entries are next, lane by lane; bodies are fetched once."""
        heads = self._queue.heads(2 * self._pace.full, SEEN)
        keys = [key for head in heads.values() for _, key in head.first]
        known = {key: self._waiting[key] for key in keys if key in self._waiting}
        for entry in self._queue.entries([key for key in keys if key not in known]):
            if self._forgetting and entry.by and self._memory.forgets(entry.by):
                self._keep_holding()
                self._memory.record_all([], beside=self._queue.done(entry, to_micros(now)))
                continue
            try:
                known[entry.key] = _Waiting(entry, heard_in(entry.body))
            except ValueError:  # another version of this program stored it
                self._queue.set_aside(entry, "This version does not understand it.", to_micros(now))
        self._waiting = known
        self._lanes = {
            lane: sorted(
                (known[key] for _, key in head.first if key in known), key=lambda one: one.order
            )
            for lane, head in heads.items()
        }
        self._cut = {lane for lane, head in heads.items() if head.more}

    # ---------------------------------------------------------------------------- writing

    def _apply(self, now: datetime) -> int:
        if self._bot.windowed:
            return sum(self._apply_line(line, now) for line in self._lanes.values())
        return self._apply_line(self._in_one_line(), now)

    def _in_one_line(self) -> list[_Waiting]:
        """All lanes as one, as far as that is certain: of a long lane only the head is known."""
        ends = [self._lanes[lane][-1].order for lane in self._cut if self._lanes[lane]]
        line = sorted(self._waiting.values(), key=lambda one: one.order)
        return [one for one in line if not ends or one.order <= min(ends)]

    def _apply_line(self, line: Sequence[_Waiting], now: datetime) -> int:
        """Applies from the front what is ripe, or was said before something that is, until
        something has to be read first; who comes and goes does not wait for that."""
        since = to_micros(now) - int(self._pace.grace * 1_000_000)
        ripe = [n for n, one in enumerate(line) if one.entry.arrived <= since]
        applied, waits = 0, False
        for one in line[: ripe[-1] + 1 if ripe else 0]:
            if waits and not isinstance(one.heard, Enter | Exit):
                continue
            self._keep_holding()
            done = self._try(one, now)
            waits = waits or done is None
            applied += bool(done)
        return applied

    def _try(self, one: _Waiting, now: datetime) -> bool | None:
        """Whether it was applied; None where it has to be read first. What fails is set aside."""
        for _ in range(max(1, self._pace.tries - one.entry.tries)):
            try:
                kept = self._read_of(one, now)
                if kept is None:
                    return None
                self._write(one, kept, now)
            except StoreRefused:  # where it is not the message's fault, counting is refused as well
                why = "The memory refused it."
            except StoreError:
                raise
            except CannotRead as error:
                if error.later is not None:
                    self._pause(error.why, error.later, now)
                    return None
                why = error.why
            except Exception as error:  # noqa: BLE001 - one bad message must not stop the others
                why = f"It could not be applied ({type(error).__name__})."
            else:
                return True
            if self._fail(one, why, now):
                break
        return False

    def _read_of(self, one: _Waiting, now: datetime) -> _Kept | None:
        """What was read out of it; None where it has to be read and was not."""
        if not isinstance(one.heard, Message):
            return _Kept()
        if one.entry.read is not None:
            return _Kept.model_validate_json(one.entry.read)
        if self._bot.windowed or self._is_paused(now):
            return None
        readings = [self._bot.read(window) for window in self._bot.windows([one.heard], [])]
        kept = _kept(one.heard, readings)
        if len(kept.statements) > 1:  # interrupted after one of them, the others are to be the same
            self._queue.keep_read({one.entry.key: kept.model_dump_json()})
        self._succeed()
        return kept

    def _write(self, one: _Waiting, kept: _Kept, now: datetime) -> None:
        """Everything that it became, and with the last of it the entry goes."""
        entry, heard = one
        if isinstance(heard, Message):
            heard = lines.told_apart(self._memory, heard)
        done = self._queue.done(entry, to_micros(now), heard.room)
        if isinstance(heard, Message) and (heard.removed or heard.edited is not None):
            backlog.drop_review(self._memory, heard)
            naming.drop(self._memory, heard.room, message_id(heard.room, heard.ts))
            if lines.replaces_another(self._memory, heard):
                self._memory.drop_kept()  # what a model answered to the words that are gone
        held = backlog.notes_of(heard, kept.held) if isinstance(heard, Message) else []
        held += naming.notes_of(self._memory, heard.room, kept.questions, heard.at)
        self._bot.apply(heard, kept.statements, held, done)
        if isinstance(heard, Message) and self._bot.windowed:
            self._recent.add(heard)
        self._waiting.pop(entry.key, None)

    def _fail(self, one: _Waiting, why: str, now: datetime) -> bool:
        """Counts a failure; whether it was the last, and the entry is set aside."""
        tries = self._queue.failed(one.entry)
        if tries < self._pace.tries:
            self._renew(one, tries=tries)
            return False
        self._queue.set_aside(one.entry, why, to_micros(now))
        self._waiting.pop(one.entry.key, None)
        _log.warning("a message was set aside", key=one.entry.key)
        return True

    def _renew(self, one: _Waiting, **changes: Any) -> None:
        key = one.entry.key
        if key in self._waiting:
            known = self._waiting[key]
            self._waiting[key] = known._replace(entry=known.entry._replace(**changes))

    def _settle(self, now: datetime) -> None:
        """Writes what the lines applied so far show about who saw what."""
        for room in self._queue.touched():
            self._keep_holding()
            self._bot.settle([room], self._queue.fence)
            self._keep_holding()
            self._queue.settled(room)
        self._settled_at = now

    # ---------------------------------------------------------------------------- reading windows

    def _send(self, now: datetime) -> None:
        """Has windows read that are due, the oldest first; one alone after a failure of all."""
        limit = 1 if self._behind else self._pace.readers
        due = [some for line in self._lanes.values() for some in self._due(line, now)]
        for some in sorted(due, key=lambda some: some[0].order):
            if len(self._jobs) >= limit or self._is_paused(now):
                return
            self._begin(some, now)

    def _due(self, line: Sequence[_Waiting], now: datetime) -> list[list[_Waiting]]:
        """Of each conversation of a room what is to be read next, where it is time for that."""
        busy = {one.entry.key for job in self._jobs for one in job.some}
        fresh: dict[str, list[_Waiting]] = defaultdict(list)
        earlier, closed = set[str](), set[str]()
        for key in [one.entry.key for one in line]:
            one = self._waiting.get(key)
            if one is None or not isinstance(one.heard, Message):
                continue
            talk = conversation(one.heard)
            if talk and talk in earlier:
                closed.add(talk)  # its root comes first
            if one.entry.read is not None or key in busy:
                closed.add(talk)
            elif talk not in closed:
                fresh[talk].append(one)
            earlier.add(one.heard.ts)
        portions = (portion(some, self._pace.full) for some in fresh.values())
        return [some for some in portions if is_due(some, to_micros(now), self._pace)]

    def _begin(self, some: Sequence[_Waiting], now: datetime) -> None:
        messages = [one.heard for one in some if isinstance(one.heard, Message)]
        try:
            windows = self._bot.windows(messages, self._recent.before(messages))
        except Exception as error:  # noqa: BLE001 - one bad message must not stop the others
            self._fail_all(some, f"It could not be shown to be read ({type(error).__name__}).", now)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._pace.readers, "reading")
        by_message = {message_id(m.room, m.ts): one for m, one in zip(messages, some, strict=True)}
        for window in windows:
            asked = tuple(
                by_message.pop(passage.id)
                for passage in window.passages
                if not passage.context and passage.id in by_message
            )
            if asked:
                self._jobs.append(_Job(self._pool.submit(self._bot.read, window), asked))
        nothing = _Kept().model_dump_json()
        self._keep([(one, nothing) for one in by_message.values()])  # nothing is to be read there

    def _collect(self, now: datetime) -> None:
        """Keeps what was read meanwhile."""
        ended = [job for job in self._jobs if job.future.done()]
        self._jobs = [job for job in self._jobs if not job.future.done()]
        for job in ended:
            try:
                reading = job.future.result()
                read = [
                    (one, _kept(one.heard, [reading]))
                    for one in job.some
                    if isinstance(one.heard, Message)
                ]
                texts = [kept.model_dump_json() for _, kept in read]
            except CannotRead as error:
                if error.later is None:
                    self._fail_all(job.some, error.why, now)
                else:
                    self._pause(error.why, error.later, now)
            except Exception as error:  # noqa: BLE001 - one bad message must not stop the others
                self._fail_all(job.some, f"It could not be read ({type(error).__name__}).", now)
            else:
                self._keep([(one, text) for (one, _), text in zip(read, texts, strict=True)])
                self._succeed()

    def _keep(self, read: Sequence[tuple[_Waiting, str]]) -> None:
        texts = {one.entry.key: text for one, text in read}
        self._queue.keep_read(texts)
        for one, _ in read:
            self._renew(one, read=texts[one.entry.key])

    def _fail_all(self, some: Sequence[_Waiting], why: str, now: datetime) -> None:
        """From now on each is read alone, so that only the bad one of them is set aside."""
        for one in some:
            self._fail(one, why, now)

    # ---------------------------------------------------------------------------- when nothing can be read

    def _is_paused(self, now: datetime) -> bool:
        return self._paused_until is not None and now < self._paused_until

    def _pause(self, why: str, later: float, now: datetime) -> None:
        """Nothing is read until then; twice as long after each time."""
        self._queue.fall_behind(why, to_micros(now))
        self._behind = True
        if not self._is_paused(now):
            self._failures += 1
            wait = max(later, min(LONGEST_PAUSE, 2.0**self._failures))
            self._paused_until = now + timedelta(seconds=wait)

    def _succeed(self) -> None:
        if self._behind:
            self._queue.catch_up()
        self._behind, self._failures, self._paused_until = False, 0, None


class _Recent:
    """What was said lately, for looking back at; in this process alone, and only so much of it."""

    def __init__(self) -> None:
        self._messages: OrderedDict[tuple[str, str], Message] = OrderedDict()
        self._talks: dict[tuple[str, str], deque[str]] = {}

    def add(self, message: Message) -> None:
        where = (message.room, message.ts)
        if message.removed:
            self._messages.pop(where, None)
            return
        if message.system:
            return
        if where not in self._messages:
            talk = self._talks.setdefault(
                (message.room, conversation(message)), deque(maxlen=BEFORE)
            )
            talk.append(message.ts)
        clipped = message.model_copy(update={"text": message.text[:CLIPPED]})
        self._messages[where] = clipped
        while len(self._messages) > REMEMBERED:
            (room, ts), gone = self._messages.popitem(last=False)
            if self._talks.get((room, conversation(gone)), deque([""]))[-1] == ts:
                del self._talks[room, conversation(gone)]  # nothing newer was said there

    def before(self, messages: Sequence[Message]) -> list[Message]:
        """The messages before these (of one conversation), oldest first, its root included."""
        first = messages[0]
        talk = conversation(first)
        shown = {talk} if talk else set[str]()
        shown.update(self._talks.get((first.room, talk), ()))
        found = [self._messages.get((first.room, ts)) for ts in shown]
        asked = {message.ts for message in messages}
        earlier = [m for m in found if m is not None and m.at <= first.at and m.ts not in asked]
        return sorted(earlier, key=lambda message: (message.at, message.ts))


def reconsider(memory: Memory, bot: Bot) -> int:
    """Judges what is held for review once more, as things stand now: somebody or something it is
    about may have become known. How many of them are believed now."""
    believed = 0
    for room in memory.rooms():
        for doubt in list(backlog.doubts(memory, room.id)):
            for window in bot.windows([doubt.message]):
                reading = bot.judge(window, [doubt.statement])
                if reading.statements:
                    found = [one for some in reading.statements.values() for one in some]
                    said = doubt.message
                    bot.apply(
                        said, found, naming.notes_of(memory, said.room, reading.questions, said.at)
                    )
                    backlog.drop_doubts(memory, room.id, [doubt])
                    believed += 1
        bot.settle([room.id])
    return believed


# ------------------------------------------------------------------------------- plain values


def _count_done(watch: Callable[[int], None], stored: int, left: int) -> None:
    watch(max(0, stored - left))


def key_of(heard: Heard) -> str:
    """What was said, as one word: room, timestamp, kind and version. Nobody's id is in it.

    The same message under two types, or delivered again with a link's preview, has one key; its
    edit, its removal and each reaction have others.
    """
    kind = type(heard).__name__.lower()
    if isinstance(heard, Message):
        version = [heard.ts, kind]
        if heard.edited is not None:
            # Two edits can have one moment; only their words tell them apart.
            version += [f"v{to_micros(heard.edited.at)}", words_of(heard)]
        if heard.removed:
            version.append("removed")
        if heard.reactions:
            version.append(_mark(sorted(heard.reactions.items())))
        parts = [heard.room, *version]
    else:
        which = heard.ts if isinstance(heard, Reaction) else str(to_micros(heard.at))
        parts = [heard.room, which, kind, _mark(heard.model_dump(mode="json"))]
    key = whole("/".join(parts)).replace("\0", "")
    return key if len(key) <= 150 else f"{key[:100]}/{_mark(key)}"


def stored(heard: Heard, now: datetime) -> Entry:
    """One thing heard as an entry that came at `now`. Raises TypeError for a command: it is answered."""
    if isinstance(heard, Command):
        raise TypeError("a command is answered, not stored")
    body = json.dumps({type(heard).__name__: heard.model_dump(mode="json")})
    moves = isinstance(heard, Enter | Exit)
    return Entry(
        key_of(heard), backlog.lane_of(whole(heard.room), moves), to_micros(heard.at),
        whole(_whose(heard) or ""), body, to_micros(now),
    )  # fmt: skip


def _whose(heard: Message | Reaction | Enter | Exit) -> str | None:
    match heard:
        case Message():
            return heard.author
        case Reaction():
            return heard.who
        case Enter() | Exit():
            return heard.person


def heard_in(body: str) -> Heard:
    """What `stored` stored; raises ValueError for what it did not."""
    try:
        [(kind, fields)] = json.loads(body).items()
        return _KINDS[kind].model_validate(fields)  # type: ignore[return-value]
    except (KeyError, AttributeError) as error:
        raise ValueError("it is nothing that a chat reports") from error


def portion(some: Sequence[_Waiting], full: int) -> list[_Waiting]:
    """So many of a conversation's messages as are read together: what failed before is read alone,
    and two versions of a message are not shown side by side."""
    taken: list[_Waiting] = []
    for one in some[:full]:
        versions = {other.heard.ts for other in taken if isinstance(other.heard, Message)}
        again = isinstance(one.heard, Message) and one.heard.ts in versions
        if taken and (again or one.entry.tries or taken[0].entry.tries):
            break
        taken.append(one)
    return taken


def is_due(some: Sequence[_Waiting], now: int, pace: Pace) -> bool:
    """Whether it is time to read them: nobody has written for a while, the first has waited long, or
    there is no room for more."""
    arrived = [one.entry.arrived for one in some]
    return bool(some) and (
        len(some) >= pace.full
        or some[0].entry.tries > 0
        or now - max(arrived) >= pace.quiet * 1_000_000
        or now - min(arrived) >= pace.patience * 1_000_000
    )


def _kept(message: Message, readings: Iterable[Reading]) -> _Kept:
    """Of what was read, what is of this message."""
    id = message_id(message.room, message.ts)
    found = list(readings)
    return _Kept(
        statements=tuple(one for reading in found for one in reading.statements.get(id, ())),
        held=tuple(one for reading in found for one in reading.held if one.statement.message == id),
        questions=tuple(one for reading in found for one in reading.questions if one.message == id),
    )


def _mark(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
