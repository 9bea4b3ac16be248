"""One workspace of Slack: what happens there is handed on, who is where is kept up to date, what was
missed is read, questions are answered and pages are posted.

It refuses to know how events arrive, how Slack is asked (`slack_web` does), and what an answer says.
What an event tells is handed on before `take` returns, so that only then it is acknowledged; the rest
(answering, looking things up, reading what was missed) is done afterwards. What people wrote is never
logged.
"""

import asyncio
import json
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol

import structlog

from bot.adapters import slack_catchup as catchup
from bot.adapters import slack_roster as roster
from bot.adapters.slack_blocks import fallback
from bot.adapters.slack_blocks import message as in_blocks
from bot.adapters.slack_catchup import Gap, Hole, Marks, Watched, ts_of
from bot.adapters.slack_events import (
    Came,
    Known,
    Look,
    LookEverywhere,
    News,
    Opened,
    Own,
    Renamed,
    Renewed,
    Uninstalled,
    Went,
    links,
    news,
    room_in,
)
from bot.adapters.slack_records import (
    Record,
    as_id,
    as_list,
    as_record,
    as_text,
    as_ts,
    moment_of,
    permalink,
)
from bot.adapters.slack_web import Limited, Lost, Refused, Web, next_cursor
from bot.chat import (
    Command,
    Desk,
    Enter,
    Exit,
    Heard,
    Kept,
    Message,
    NotSent,
    PerhapsSent,
    Person,
    Place,
    Press,
    Reaction,
    Reply,
    Room,
    Sent,
)
from bot.pages import Page
from engine.errors import SecondOrderError
from engine.events import Moment

SORRY = "That did not work, and it is our fault: nothing was changed. Please ask again in a minute."
TOO_LONG = frozenset({
    "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long",
})  # fmt: skip
POSTED = "secondorder_post"
"""What our posts are called in their metadata; `key` is the key they are found by."""

ASKED = 5_000
"""So many questions are remembered, so that none is answered twice (C3, C4)."""
_ASKED_KEPT = 100  # of them beyond a restart
_CLOCKS = 120  # seconds that Slack's clock and ours may differ
_ANSWERED_WITHIN = 30.0  # seconds; a desk answers within one
_log = structlog.get_logger("secondorder.slack")

_WHY_NOT = {
    "channel_not_found": "That conversation cannot be found, or we are not in it.",
    "not_in_channel": "We are not in that channel; somebody has to invite us.",
    "is_archived": "That channel is archived.",
    "user_not_found": "That person cannot be found.",
    "cannot_dm_bot": "A program cannot be written to.",
    "restricted_action": "Posting there is restricted to some people.",
    "missing_scope": "We lack a scope for that; the app has to be installed again.",
    "no_text": "There is nothing to post.",
    "account_inactive": "We were thrown out of that workspace.",
    "token_revoked": "We were thrown out of that workspace.",
}


class House(Protocol):
    """What one workspace's news are handed to. `hear` returns once it is stored, and raises an error
    of `engine.errors` where it cannot be: then it is delivered again."""

    @property
    def desk(self) -> Desk: ...

    @property
    def marks(self) -> Marks: ...

    async def hear(self, heard: Heard) -> None: ...

    async def meet(self, people: Sequence[Person], rooms: Sequence[Room], at: Moment) -> None:
        """Learns whom and which rooms there are, as of a moment."""
        ...

    async def listed(self, rooms: Sequence[Room], at: Moment) -> None:
        """Learns who was listed where, as of a moment: who came and left unseen follows from it."""
        ...

    async def kept(self, room: str, since: Moment) -> Sequence[Kept]:
        """The lines of a room that are remembered since then."""
        ...


class Habits(NamedTuple):
    """`page`: so many lines are asked for at a time (15 where Slack allows no more). `back`: how far
    back changes are looked for after an interruption. `flush`: seconds between two notes of how far was
    heard."""

    page: int = 200
    back: timedelta = timedelta(days=14)
    flush: float = 5.0


class Team:
    """A workspace; it is a `bot.chat.Chat`. `begin`, then `take` events, then `close`."""

    def __init__(
        self,
        own: Own,
        url: str,
        web: Web,
        house: House,
        habits: Habits | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.own, self.url, self.web, self.house = own, url, web, house
        self.people: dict[str, Person] = {}
        self.rooms: dict[str, Room] = {}
        self.removed = False
        """We were thrown out of the workspace."""
        self.live = False
        """Events come, and what was missed before is being read."""
        self._habits = habits or Habits()
        self._clock = clock
        self._watched: dict[str, Watched] = {}
        self._unwritten: set[str] = set()
        self._breaks: tuple[Gap, ...] = ()
        self._alive: Moment | None = None  # when events last came, or would have
        self._names: dict[str, str] = {}  # what Slack calls a room now -> what it was first called
        self._asked: OrderedDict[str, None] = OrderedDict()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._jobs: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._job = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._roster_read = False

    # ---------------------------------------------------------------------------- coming and going

    async def begin(self) -> None:
        """Learns who is where; raises slack_web.Refused where that is not allowed."""
        me = Person(id=self.own.user, name="us", bot=True)
        self.people[self.own.user] = me
        self._names = json.loads(await self.house.marks.get("names") or "{}")
        for one in json.loads(await self.house.marks.get("asked") or "[]"):
            self._asked[one] = None
        self._breaks = catchup.loaded(await self.house.marks.get("breaks")).gaps
        alive = as_ts(await self.house.marks.get("alive"))
        self._alive = None if alive is None else moment_of(alive)
        await self._read_roster()
        self._roster_read = True
        self._spawn(self._work())
        self._spawn(self._flush_often())

    async def connected(self) -> None:
        """Events come from now on; they may not have for a while. What was said meanwhile is read
        beside what comes."""
        now, alive = self._clock(), self._alive
        if alive is not None and now - alive >= catchup.SHORT:
            gap = Gap(None, alive, now, "disconnected")
            self._breaks = (*self._breaks, gap)[-catchup.MOST_GAPS :]
            await self.house.marks.put("breaks", catchup.dumped(Watched(gaps=self._breaks)))
        if not self._roster_read:
            self._ask_for("roster")
        self._roster_read = False
        for room in list(self.rooms):
            await self._change(room, lambda state: catchup.broken(state, ts_of(now)))
            self._ask_for("room", room)
        self.live = True

    def disconnected(self) -> None:
        """Nothing comes for now."""
        self.live = False

    async def settled(self) -> None:
        """Waits until everything missed is read and everybody is answered."""
        while self._jobs or not self._idle.is_set() or self._answering():
            await asyncio.sleep(0.005)

    def _answering(self) -> bool:
        return any(task.get_name() == "answer" for task in self._tasks)

    async def close(self) -> None:
        """Ends what is under way; what is not finished is gone on with next time."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(SecondOrderError):
            await self._flush()

    def gaps(self) -> list[Gap]:
        """When which room was not watched, oldest first."""
        found = [*self._breaks]
        for room, state in self._watched.items():
            found += state.gaps
            for hole in state.holes:
                until = moment_of(hole.until) if hole.until else None
                found.append(Gap(room, moment_of(hole.since), until, "behind"))
        return sorted(found, key=lambda gap: (gap.since, gap.room or ""))

    # ---------------------------------------------------------------------------- what happens

    async def take(self, event: Record) -> None:
        """Hands on what an event tells, in the order in which events of a room come. Raises an error
        of `engine.errors` where it cannot be stored."""
        channel = room_in(event)
        room = self.first_name(channel)
        later: list[News] = []
        async with self._turns[room]:
            for one in news(self._renamed(event), self.own, self.people):
                try:
                    await self._store(one, event)
                except SecondOrderError:
                    if room in self.rooms:  # it may never come again
                        self._mark_broken(room)
                    raise
                later.append(one)
            ts = as_ts(event.get("event_ts")) or as_ts(event.get("ts"))
            if room in self._watched and ts:
                self._watched[room] = catchup.heard(self._watched[room], ts)
                self._unwritten.add(room)
        for one in later:
            self._follow(one)

    async def _store(self, one: News, event: Record) -> None:
        """What has to be kept before the event is acknowledged."""
        match one:
            case Message() | Reaction() | Enter() | Exit():
                await self._know(one, event)
                if isinstance(one, Message):
                    one = links(self.url, one, self._channel(one.room))
                await self.house.hear(one)
                self._moved(one)
            case Known(person, at):
                await self._described(person, at)
            case Renamed(old, new):
                self._names[new] = self.first_name(old)
                await self.house.marks.put("names", json.dumps(self._names))
            case Renewed(room, closed) if closed and room in self.rooms:
                await self._placed(self.rooms[room].model_copy(update={"kind": "private"}))
            case Came(room, at) if room not in self.rooms:
                await self._change(room, lambda state: catchup.came(state, at))
            case Went(room, at):
                await self._change(room, lambda state: catchup.went(state, room, at, "away"))
                self.rooms.pop(room, None)
            case _:
                pass

    def _follow(self, one: News) -> None:
        """What can wait until it is acknowledged."""
        match one:
            case Command():
                key = f"{one.room}/{one.ts}"
                if key not in self._asked:
                    self._asked[key] = None
                    while len(self._asked) > ASKED:
                        self._asked.popitem(last=False)
                    self._spawn(self._answer(one, key), "answer")
            case Opened(person):
                self._spawn(self.show_own_page(person), "answer")
            case Came(room, _) | Renewed(room, _):
                self._ask_for("info", room)
            case Renamed(old, _):
                self._ask_for("info", self.first_name(old))
            case Look(room, None):
                self._mark_broken(room)
            case Look(room, str() as thread):
                self._ask_for("thread", room, thread)
            case LookEverywhere():
                self._ask_for("roster")
                for room in self.rooms:
                    self._mark_broken(room)
            case Uninstalled():
                self.removed = True
            case _:
                pass

    # ---------------------------------------------------------------------------- who and where

    async def _know(self, one: Message | Reaction | Enter | Exit, event: Record) -> None:
        """Nobody and no room is spoken of before it is described, be it by its id alone: a room is
        private until it is known to be open, a person reads only where they are."""
        if one.room not in self.rooms:
            kind = {"channel": "public", "mpim": "group", "im": "direct", "app_home": "direct"}
            told = kind.get(as_text(event.get("channel_type")), "private")
            who = _who(one)
            members = frozenset({who} - {""}) if told == "direct" else None
            room = Room.model_validate({
                "id": one.room, "name": one.room, "kind": told, "members": members,
            })  # fmt: skip
            await self._placed(room)
            now = ts_of(self._clock())
            await self._change(one.room, lambda state: catchup.begun(state, now))
            self._ask_for("info", one.room)
        who = _who(one)
        if who and who not in self.people:
            stranger = roster.unknown(who)
            await self.house.meet([stranger], [], self._clock())
            self.people[who] = stranger  # only now: what failed is done again
            self._ask_for("person", who)

    def _moved(self, one: Heard) -> None:
        if isinstance(one, Enter | Exit) and one.room in self.rooms:
            room = self.rooms[one.room]
            members = set(room.members or ())
            (members.add if isinstance(one, Enter) else members.discard)(one.person)
            self.rooms[one.room] = room.model_copy(update={"members": frozenset(members)})

    async def _described(self, person: Person, at: Moment) -> None:
        """Whoever is deactivated leaves every room: Slack does not say so itself (C13). Most of what
        Slack tells of people (what they do just now) is nothing that is kept."""
        if self.people.get(person.id) != person:
            await self.house.meet([person], [], at)
            self.people[person.id] = person
        if not person.gone or person.bot:
            return
        stamp = ts_of(at).replace(".", "_")
        for room in [one for one in self.rooms.values() if person.id in (one.members or ())]:
            id = f"{self.own.workspace}-{room.id}-exit-{person.id}-{stamp}"
            left = Exit(id=id, at=at, person=person.id, room=room.id)
            await self.house.hear(left)
            self._moved(left)

    async def _placed(self, room: Room) -> None:
        await self.house.meet([], [room], self._clock())
        self.rooms[room.id] = room

    async def _read_roster(self) -> None:
        """Everybody, every room and who is in it, as of when the question was asked."""
        at, before = self._clock(), set(self.rooms)
        found = await roster.read(self.web, self.own.workspace)
        rooms = {
            first: room.model_copy(update={"id": first})
            for room in found.rooms.values()
            for first in [self.first_name(room.id)]
        }
        await self.house.meet(list(found.people.values()), list(rooms.values()), at)
        await self.house.listed(list(rooms.values()), at)
        self.people.update(found.people)
        # What came and went while that was asked is known from its event.
        left = before - self.rooms.keys()
        for gone in sorted((before & self.rooms.keys()) - rooms.keys()):
            await self._change(gone, lambda state: catchup.went(state, gone, at, "away"))  # noqa: B023
            del self.rooms[gone]
        for room in [one for one in rooms if one not in left]:
            await self._change(room, lambda state: catchup.begun(state, ts_of(at)))
            self.rooms[room] = rooms[room]

    async def _read_room(self, room: str) -> None:
        """One room as it is now."""
        at = self._clock()
        try:
            answer = await self.web.read("conversations.info", channel=self._channel(room))
        except Refused as refused:
            if refused.error in ("channel_not_found", "not_in_channel"):
                await self._change(room, lambda state: catchup.went(state, room, at, "away"))
                self.rooms.pop(room, None)
            return
        record = as_record(answer.get("channel"))
        found = await roster.with_members(self.web, record, self.people)
        if found is None:
            return
        if record.get("is_member") is False and found.kind in ("public", "private"):
            if room in self.rooms:
                await self._change(room, lambda state: catchup.went(state, room, at, "away"))
                self.rooms.pop(room, None)
            return
        new = {
            id: await roster.person(self.web, id, self.own.workspace)
            for id in sorted(found.members or ())
            if id not in self.people
        }
        found = roster.named(found, self.people | new).model_copy(update={"id": room})
        await self.house.meet(list(new.values()), [found], at)
        await self.house.listed([found], at)
        self.people |= new
        self.rooms[room] = found
        await self._change(room, lambda state: catchup.begun(state, ts_of(at)))

    async def _read_person(self, id: str) -> None:
        at = self._clock()
        found = await roster.person(self.web, id, self.own.workspace)
        await self.house.meet([found], [], at)
        self.people[id] = found

    # ---------------------------------------------------------------------------- rooms that moved

    def first_name(self, channel: str | None) -> str:
        """What a room is known as: its id may change, what is remembered stays under the first."""
        return self._names.get(channel or "", channel or "")

    def _channel(self, room: str) -> str:
        """What Slack calls a room now."""
        return next((new for new, old in reversed(self._names.items()) if old == room), room)

    def _renamed(self, event: Record) -> Record:
        channel = room_in(event)
        first = self.first_name(channel)
        if channel is None or first == channel or event.get("type") == "channel_id_changed":
            return event
        item = as_record(event.get("item"))
        if item:
            return {**event, "item": {**item, "channel": first}}
        return {**event, "channel": first}

    # ---------------------------------------------------------------------------- what was missed

    async def _change(self, room: str, how: Callable[[Watched], Watched]) -> None:
        """Changes how far a room was heard, and keeps it."""
        if room not in self._watched:
            self._watched[room] = catchup.loaded(await self.house.marks.get(f"room {room}"))
        state = how(self._watched[room])
        self._watched[room] = state
        await self.house.marks.put(f"room {room}", catchup.dumped(state))

    def _mark_broken(self, room: str) -> None:
        """Something may be missing of a room; it is read."""
        if room not in self.rooms:
            return
        state = self._watched.get(room, Watched())
        self._watched[room] = catchup.broken(state, ts_of(self._clock()))
        self._unwritten.add(room)
        self._ask_for("room", room)

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(self._habits.flush)
            with suppress(SecondOrderError):
                await self._flush()

    async def _flush(self) -> None:
        if self.live:
            self._alive = self._clock()
            await self.house.marks.put("alive", ts_of(self._alive))
        while self._unwritten:
            room = next(iter(self._unwritten))
            await self._change(room, lambda state: state)
            self._unwritten.discard(room)

    def _ask_for(self, what: str, room: str = "", thread: str = "") -> None:
        self._jobs[what, room, thread] = None
        self._job.set()

    async def _work(self) -> None:
        """Looks up and reads what was asked for, one after the other."""
        while True:
            if not self._jobs:
                self._idle.set()
                await self._job.wait()
            self._job.clear()
            self._idle.clear()
            while self._jobs:
                job, _ = self._jobs.popitem(last=False)
                try:
                    await self._do(*job)
                except Refused as refused:
                    _log.warning("Slack refused", what=job[0], room=job[1], error=refused.error)
                except SecondOrderError as error:
                    _log.warning("the memory did not answer", kind=error.kind)
                    self._jobs[job] = None
                    await asyncio.sleep(min(1.0, self._habits.flush))
                except Exception as error:  # noqa: BLE001 - one bad answer must not end everything
                    _log.error("something went wrong", what=job[0], kind=type(error).__name__)

    async def _do(self, what: str, room: str, thread: str) -> None:
        match what:
            case "roster":
                await self._read_roster()
            case "info":
                await self._read_room(room)
            case "person":
                await self._read_person(room)
            case "thread":
                await catchup.read_thread(
                    self._reading(), room, self._channel(room), thread, thread
                )
            case _:
                await self._read_missed(room)

    async def _read_missed(self, room: str) -> None:
        """Everything of a room that was missed; where it breaks off it is gone on with."""

        async def progress(hole: Hole, until: str | None, top: str) -> Hole:
            await self._change(room, lambda state: catchup.shrunk(state, hole, until, top))
            return hole if until is None else hole._replace(until=until)

        while room in self.rooms and (holes := self._watched[room].holes):
            try:
                await catchup.read_hole(
                    self._reading(), room, self._channel(room), holes[-1], progress
                )
            except Refused as refused:
                now, gone = self._clock(), refused.error in ("not_in_channel", "channel_not_found")
                since = moment_of(holes[0].since)
                why: Any = "away" if gone else "unreadable"
                gap = Gap(room, since, None if gone else now, why)
                await self._change(
                    room,
                    lambda s: s._replace(holes=(), gaps=(*s.gaps, gap)[-catchup.MOST_GAPS :]),  # noqa: B023
                )
                if gone:
                    self.rooms.pop(room, None)
                raise

    def _reading(self) -> catchup.Reading:
        return catchup.Reading(
            self.web, self._put, self.house.kept, self.people, self._clock, self._habits.page,
            self._habits.back,
        )  # fmt: skip

    async def _put(self, one: Heard) -> None:
        """Stores what was read, beside what comes; waits while nothing can be stored."""
        wait, waits = 0.05, True
        while waits:
            try:
                if isinstance(one, Message | Reaction):
                    await self._know(one, {})
                if isinstance(one, Message):
                    one = links(self.url, one, self._channel(one.room))
                await self.house.hear(one)
                waits = False
            except SecondOrderError as error:
                _log.warning("what was read cannot be stored yet", kind=error.kind)
                await asyncio.sleep(wait)
                wait = min(30.0, wait * 2)

    # ---------------------------------------------------------------------------- answering

    async def ask(self, command: Command) -> Reply:
        """What the desk answers, or that it could not."""
        return await self._of_desk(self.house.desk.ask(command)) or Reply(page=Page(SORRY))

    async def press(self, press: Press) -> Reply | None:
        """What the desk says to a pressed button, None for nothing."""
        return await self._of_desk(self.house.desk.press(press))

    async def _of_desk(self, asking: Awaitable[Reply | None]) -> Reply | None:
        try:
            return await asyncio.wait_for(asking, _ANSWERED_WITHIN)
        except Exception as error:  # noqa: BLE001 - whoever asks gets an answer
            _log.error("the desk failed", kind=type(error).__name__)
            return Reply(page=Page(SORRY))

    async def _answer(self, command: Command, key: str) -> None:
        """Answers a question that a message asked, where it was asked."""
        reply = await self.ask(command)
        with suppress(NotSent, PerhapsSent):
            await self._say_to(command, reply)
        if key in self._asked:
            newest = list(self._asked)[-_ASKED_KEPT:]
            with suppress(SecondOrderError):
                await self.house.marks.put("asked", json.dumps(newest))

    async def _say_to(self, command: Command, reply: Reply) -> None:
        room = self.rooms.get(command.room)
        params = {"channel": self._channel(command.room)}
        if room is not None and room.kind == "direct":
            await self._post(params | _in(command.thread), reply.page)
        elif reply.aloud:
            await self._post(params | _in(command.thread or command.ts), reply.page)
        else:
            try:
                await self._post(
                    params | _in(command.thread) | {"user": command.who}, reply.page,
                    method="chat.postEphemeral",
                )  # fmt: skip
            except NotSent:
                await self._post({"channel": await self.direct(command.who)}, reply.page)

    async def show_own_page(self, person: str, reply: Reply | None = None) -> None:
        """Somebody's own page as it is now; `reply`: what is said there first."""
        try:
            page = await asyncio.wait_for(self.house.desk.home(person), _ANSWERED_WITHIN)
        except Exception as error:  # noqa: BLE001 - whoever asks gets an answer
            _log.error("the desk failed", kind=type(error).__name__)
            page = Page(SORRY)
        if reply is not None:
            page = page._replace(head=f"{reply.page.head}\n{page.head}")
        with suppress(NotSent, PerhapsSent):
            await self.show_home(person, page)

    # ---------------------------------------------------------------------------- posting

    async def post(self, where: Place, page: Page, key: str, mentions: Sequence[str] = ()) -> Sent:
        metadata = {"event_type": POSTED, "event_payload": {"key": key}}
        params = {"channel": self._channel(where.room), "metadata": metadata}
        answer = await self._post(params | _in(where.thread), page, mentions)
        ts = as_ts(answer.get("ts"))
        if ts is None:
            raise PerhapsSent("Slack did not say what it posted.")
        room = self.first_name(as_id(answer.get("channel"))) or where.room
        return self._sent(room, ts, where.thread)

    def _sent(self, room: str, ts: str, thread: str | None) -> Sent:
        link = permalink(self.url, self._channel(room), ts, thread) if self.url else None
        return Sent(room=room, ts=ts, at=moment_of(ts), link=link)

    async def _post(
        self,
        params: Mapping[str, object],
        page: Page,
        mentions: Sequence[str] = (),
        method: str = "chat.postMessage",
    ) -> Record:
        """Posts a page; nothing in it is made a link or a name. What is too long is said in short,
        once (C17)."""
        plain = {"unfurl_links": False, "unfurl_media": False, "link_names": False, "parse": "none"}
        async with self._sending():
            try:
                return await self.web.ask(method, **plain, **params, **in_blocks(page, mentions))
            except Refused as refused:
                if refused.error not in TOO_LONG:
                    raise
            return await self.web.ask(method, **plain, **params, text=fallback(page, mentions))

    async def find(self, where: Place, key: str, since: Moment) -> Sent | None:
        oldest = catchup.earlier(ts_of(since), _CLOCKS)
        params: dict[str, object] = {
            "channel": self._channel(where.room), "oldest": oldest, "inclusive": True,
            "limit": self._habits.page, "include_all_metadata": True,
        }  # fmt: skip
        method = "conversations.history"
        if where.thread is not None:
            method, params["ts"] = "conversations.replies", where.thread
        async with self._sending():
            cursor: str | None = None
            while cursor != "":
                answer = await self.web.ask(method, **params, cursor=cursor)
                for line in map(as_record, as_list(answer.get("messages"))):
                    metadata = as_record(line.get("metadata"))
                    ours = metadata.get("event_type") == POSTED
                    ts = as_ts(line.get("ts"))
                    if ours and ts and as_record(metadata.get("event_payload")).get("key") == key:
                        return self._sent(where.room, ts, where.thread)
                cursor = next_cursor(answer)
        return None

    async def direct(self, person: str) -> str:
        async with self._sending():
            answer = await self.web.ask("conversations.open", users=person)
        id = as_id(as_record(answer.get("channel")).get("id"))
        if id is None:
            raise NotSent("Slack did not say which conversation that is.")
        if id not in self.rooms:
            room = Room(id=id, name=id, kind="direct", members=frozenset({person}))
            await self._placed(roster.named(room, self.people))
            now = ts_of(self._clock())
            await self._change(id, lambda state: catchup.begun(state, now))
        return id

    async def show_home(self, person: str, page: Page) -> None:
        view = {"type": "home", "blocks": in_blocks(page)["blocks"]}
        async with self._sending():
            await self.web.ask("views.publish", user_id=person, view=view)

    @asynccontextmanager
    async def _sending(self) -> AsyncIterator[None]:
        """What Slack says, in the words of `bot.chat`."""
        try:
            yield
        except Limited as limited:
            raise NotSent("Slack wants us to wait.", later=limited.after) from None
        except Refused as refused:
            why = _WHY_NOT.get(refused.error, f"Slack refused it ({refused.error}).")
            raise NotSent(why) from None
        except Lost as lost:
            if lost.sent:
                raise PerhapsSent("Slack did not answer.") from None
            raise NotSent("Slack cannot be reached.", later=5.0) from None

    # ---------------------------------------------------------------------------- what runs beside

    def _spawn(self, doing: Coroutine[Any, Any, None], name: str = "work") -> None:
        task = asyncio.create_task(doing, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _in(thread: str | None) -> dict[str, object]:
    return {} if thread is None else {"thread_ts": thread}


def _who(one: Message | Reaction | Enter | Exit) -> str:
    match one:
        case Message():
            return one.author or ""
        case Reaction():
            return one.who
        case Enter() | Exit():
            return one.person
