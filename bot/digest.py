"""The scheduled posts: what has become outdated in a channel, and what is to be handed over.

A digest holds what everybody who may read its channel may read by themselves: at most five items, only
what is new or worse since the last one, and none where there is none. A shift's reminder goes to whoever
hands over, and says what the other lacks. It refuses to know how a post is sent.

Schedules are notes of the memory (or settings); jobs are made from them whenever this starts. A period is
one local day. What is due is told by the schedule, the clock and the last period alone, so that a digest
is sent once a period, also across changes of the clocks, and late rather than never after downtime.

    digests            a schedule of each room: {"room", "at", "zone", "days"}, or {"room", "off"}
    digest-sent        rooms (or shifts) with their periods         digest-quiet   who is not named
    digest-shown:<r>   marks of what was shown, without an id       digest-later:<r>   … and is to come again
    digest-items:<r>   the marks of each digest
"""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.date import DateTrigger

from bot import actions, questions, render
from bot.chat import Command, Press, Reply
from bot.outbox import Order, Outbox, Written, key_of
from bot.pages import Page
from bot.render import Style
from engine import InvalidInput, Memory, RoomInfo
from engine.beliefs import FalseBelief, Handoff
from engine.errors import SecondOrderError, StoreError
from engine.memory import Notes

ITEMS = 5
"""So many items a digest has at most."""

SNOOZE = timedelta(hours=20)
"""After so long what was put off comes again: by the next day's digest, whenever it was pressed."""

LATE = timedelta(days=2)
"""A digest that is older than this is not sent any more: the next one is due."""

_SHOWN, _SENT, _DIGESTS = 5_000, 2_000, 30
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"(\d{1,2})[:.](\d{2})")
USAGE = "Say it like this: /status digest 9:00 Europe/Lisbon mon-fri, or /status digest off."
_log = structlog.get_logger("secondorder.digest")


class When(NamedTuple):
    """A time of day in a zone, on some days of the week (Monday is 0)."""

    at: time
    zone: str
    days: frozenset[int]

    @property
    def text(self) -> str:
        days = [_DAYS[day] for day in sorted(self.days)]
        run = sorted(self.days) == list(range(min(self.days), max(self.days) + 1))
        named = f"{days[0]}-{days[-1]}" if run and len(days) > 2 else ",".join(days)
        return f"{self.at:%H:%M} {self.zone} {named}".removeprefix("0")


class Shift(NamedTuple):
    """At the end of a shift, whom `giver` hands over to; `giver` and `taker` are ids."""

    when: When
    giver: str
    taker: str

    @property
    def name(self) -> str:
        return key_of("shift", self.giver, self.taker, self.when.text)[:16]


class _Due(NamedTuple):
    """A period that has come; `order` None where there is nothing to send for it."""

    period: str
    order: Order | None


class Digests:
    """One workspace's. `defaults`: schedules by a room's id or name, as they are typed. `shifts`: as
    they are typed, with two people at the end; they are reminded `notice` before."""

    def __init__(
        self,
        memory: Memory,
        outbox: Outbox,
        defaults: Mapping[str, str] | None = None,
        shifts: Sequence[str] = (),
        notice: timedelta = timedelta(minutes=15),
    ) -> None:
        self._memory = memory
        self._outbox = outbox
        self._defaults = {room: when_in(text, "UTC") for room, text in (defaults or {}).items()}
        self._shifts = tuple(shifts)
        for text in shifts:
            _split(text)
        self._notice = notice
        self._scheduler: AsyncIOScheduler | None = None

    # ---------------------------------------------------------------------------- when

    async def start(self) -> None:
        """Sends what was missed and makes the jobs; needs a running event loop."""
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._scheduler.start()
        await self._turn()

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None

    async def _turn(self) -> None:
        """Sends what is due, and wakes up when the next thing is."""
        now = datetime.now(UTC)
        soon = now + timedelta(minutes=10)  # also for people and rooms that are described later
        try:
            await self.tick(now)
            soon = min([soon, *await asyncio.to_thread(self.coming, now)])
        except StoreError as error:
            _log.warning("the memory did not answer", kind=error.kind)
            soon = now + timedelta(seconds=10)
        if self._scheduler is not None:
            self._scheduler.add_job(
                self._turn, DateTrigger(soon), id="turn", replace_existing=True,
                misfire_grace_time=None, coalesce=True,
            )  # fmt: skip

    def coming(self, now: datetime) -> list[datetime]:
        """When something is due next."""
        found = [next_due(when, now) for when in self.schedules().values()]
        shifts = (next_due(one.when, now + self._notice) for one in self._known_shifts())
        return [*found, *(at - self._notice for at in shifts)]

    async def tick(self, now: datetime) -> int:
        """Has everything posted that is due and was not; how many."""
        due = await asyncio.to_thread(self._due, now)
        orders = [one.order for one in due if one.order is not None]
        new = await self._outbox.put(orders, now)
        # Only now: whoever dies before this does it again, and the outbox knows its key.
        periods = dict.fromkeys((one.period for one in due), now)
        notes = [Notes("digest-sent", periods, _SENT)] if due else []
        await asyncio.to_thread(self._memory.record_all, [], notes)
        return new

    def _due(self, now: datetime) -> list[_Due]:
        sent = set(self._memory.noted("digest-sent"))
        due: list[_Due] = []
        for room, when in self.schedules().items():
            at = last_due(when, now)
            if at is None or (period := _period(room, at)) in sent:
                continue
            key, about = key_of("digest", period), (at.date().isoformat(),)
            order = Order(kind="digest", key=key, room=room, about=about)
            due.append(_Due(period, order if _begun(room, at, sent, now) else None))
        for shift in self._known_shifts():
            at = last_due(shift.when, now + self._notice)
            if at is None or (period := _period(shift.name, at)) in sent:
                continue
            people = (shift.giver, shift.taker, f"{at:%H:%M}")
            key = key_of("shift", period)
            order = Order(kind="shift", key=key, person=shift.giver, about=people)
            due.append(_Due(period, order if _begun(shift.name, at, sent, now) else None))
        return due

    def schedules(self) -> dict[str, When]:
        """The digests by room: as somebody said there, else as the settings say."""
        rooms = {room.id: room for room in self._memory.rooms()}
        by_name = {room.name: id for id, room in rooms.items()}
        found = {
            room if room in rooms else by_name.get(room.removeprefix("#"), ""): when
            for room, when in self._defaults.items()
        }
        for one in map(json.loads, self._memory.noted("digests")):
            if one.get("off"):
                found.pop(one["room"], None)
            else:
                text = f"{one['at']} {one['zone']} {one['days']}"
                found[one["room"]] = when_in(text, "UTC")
        return {id: when for id, when in found.items() if id in rooms and not rooms[id].archived}

    def _known_shifts(self) -> list[Shift]:
        """The shifts whose people are known by now."""
        people = [p for p in self._memory.people() if not (p.bot or p.gone)]
        found: list[Shift] = []
        for text in self._shifts:
            when, giver, taker = _split(text)
            try:
                a, b = questions.person(giver, people), questions.person(taker, people)
            except SecondOrderError:
                continue
            found.append(Shift(when_in(when, "UTC"), a.id, b.id))
        return found

    # ---------------------------------------------------------------------------- being told

    def command(self, command: Command, zone: str) -> str:
        """`/status digest …`: what is scheduled where it was typed, in a sentence."""
        text = command.text.strip().split(maxsplit=1)
        wanted = text[1].strip() if len(text) > 1 else ""
        room = self._mine(command.who, command.room)
        if room is None:
            raise InvalidInput("A digest is for a channel you are in: type it there.")
        if room.kind == "direct":
            raise InvalidInput("A digest is for a channel; in private, /misinformed shows it all.")
        name = room.name if room.name.startswith("#") else f"#{room.name}"
        if not wanted:
            known = self.schedules().get(room.id)
            return (
                f"{name} gets a digest at {known.text}."
                if known
                else f"{name} gets no digest. {USAGE}"
            )
        when = None if wanted.casefold() == "off" else when_in(wanted, zone or "UTC")
        fields: dict[str, object] = {"room": room.id, "off": True}
        if when is not None:
            at, place, days = when.text.split(" ")
            fields = {"room": room.id, "at": at, "zone": place, "days": days}
        known_notes = self._memory.noted("digests")
        old = [note for note in known_notes if json.loads(note)["room"] == room.id]
        self._memory.note("digests", {json.dumps(fields): command.at})
        self._memory.unnote("digests", [one for one in old if one != json.dumps(fields)])
        if when is None:
            return f"{name} gets no digest any more."
        # What was due today before it was scheduled is not late.
        period = last_due(when, command.at)
        begun = {_period(room.id, period): command.at} if period else {}
        self._memory.note("digest-sent", begun)
        return f"{name} gets a digest at {when.text}, when there is something new."

    def put_off(self, press: Press) -> Reply:
        """ "Not now": what a digest showed comes again a day later, if it is still so."""
        fields = actions.fields(press.value, 2)
        room = self._mine(press.who, fields[0]) if fields else None
        items = {}
        if room is not None:
            notes = map(json.loads, self._memory.noted(f"digest-items:{room.id}"))
            items = {one["period"]: one["marks"] for one in notes}
        if fields is None or room is None or fields[1] not in items:
            return _said("That digest is not there, as far as you may read.")
        until = press.at + SNOOZE
        self._memory.note(f"digest-later:{room.id}", dict.fromkeys(items[fields[1]], until))
        return _said("These come again tomorrow, if they are still so.")

    def quieten(self, person: str, at: datetime, quiet: bool = True) -> None:
        """From now on a person is named in no digest; or in digests again."""
        if quiet:
            self._memory.note("digest-quiet", {person: at})
        else:
            self._memory.unnote("digest-quiet", [person])

    def is_quiet(self, person: str) -> bool:
        return person in self._memory.noted("digest-quiet")

    def _mine(self, who: str, room: str) -> RoomInfo | None:
        """A room that somebody is in."""
        found = (one for one in self._memory.rooms() if one.id == room and who in one.here)
        return next(found, None)

    # ---------------------------------------------------------------------------- what is posted

    def compose(self, order: Order, now: datetime | None = None) -> Written | str:
        """What an order of ours says as things stand now."""
        try:
            if order.kind == "shift":
                return self._reminder(order)
            return self._digest(order, now or datetime.now(UTC))
        except SecondOrderError as error:
            return error.message

    def _digest(self, order: Order, now: datetime) -> Written | str:
        room, [period] = order.room, order.about
        shared = questions.shared(self._memory, room)
        if shared is None:
            return "Nobody is there."
        quiet = set(self._memory.noted("digest-quiet"))
        wrong = [
            one
            for one in self._memory.misinformed(reader=shared.reader).beliefs
            if one.person.id not in quiet
        ]
        shown = set(self._memory.noted(f"digest-shown:{room}"))
        later = self._memory.noted_at(
            f"digest-later:{room}", self._memory.noted(f"digest-later:{room}")
        )
        again = {mark for mark, until in later.items() if until <= now}
        here = next((r.here for r in self._memory.rooms() if r.id == room), frozenset())
        items = [
            some
            for some in _by_entity(wrong)
            if {self._item_mark(room, one) for one in some} - (shown - again)
        ]
        items.sort(
            key=lambda some: -sum(one.person.id in here for one in some)
        )  # keeps the newest first
        if not items:
            return "There is nothing new."
        told = [one for some in items[:ITEMS] for one in some]
        marks = [self._item_mark(room, one) for one in told]
        self._memory.unnote(f"digest-later:{room}", again & set(marks))
        names = {p.id: p.name for p in questions.visible(self._memory, *shared)}
        names |= {r.id: r.name for r in self._memory.rooms() if r.id in shared.reader.rooms}
        when = self.schedules().get(room)
        style = Style(zone_of(when.zone if when else ""), names)
        page = render.digest(items[:ITEMS], style)
        page = page._replace(buttons=(actions.later(room, period), actions.quiet()))
        kept = json.dumps({"period": period, "marks": marks})
        notes = (
            Notes(f"digest-shown:{room}", dict.fromkeys(marks, now), _SHOWN),
            Notes(f"digest-items:{room}", {kept: now}, _DIGESTS),
        )
        return Written(page, (), (), notes)

    def _item_mark(self, room: str, one: FalseBelief) -> str:
        """That a person holds an old value, which was changed by something: no id can be read in it."""
        parts = (one.entity.id, one.changed.event, one.person.id)
        return key_of(self._memory.sid, room, *parts)[:20]

    def _reminder(self, order: Order) -> Written | str:
        giver, taker, at = order.about
        command = Command(
            name="handoff", text=f"<@{giver}> <@{taker}>", who=giver, room="", at=datetime.now(UTC)
        )
        answer = questions.answer(self._memory, command)
        assert isinstance(answer, Handoff)
        if not (answer.lacks or answer.wrong or answer.promises):
            return "There is nothing to hand over."
        person = next(p for p in self._memory.people() if p.id == giver)
        names = {p.id: p.name for p in self._memory.people()}
        style = Style(zone_of(person.zone), names, giver, command.at, f"handoff {giver} {taker}")
        page = render.page(answer, style)
        head = f"Your shift ends at {at}. {page.head}" if at else page.head
        return Written(page._replace(head=head))


# ------------------------------------------------------------------------------- plain values


def when_in(text: str, zone: str) -> When:
    """`9:00 [Europe/Lisbon] [mon-fri]` in any order after the time; the days default to mon-fri."""
    first, *rest = text.split() or [""]
    found = _TIME.fullmatch(first)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or len(rest) > 2:
        raise InvalidInput(USAGE)
    days: frozenset[int] | None = None
    for word in rest:
        if (some := _days(word)) is not None:
            days = some
        else:
            zone = word
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(f"There is no time zone {zone[:40]!r}. {USAGE}") from None
    return When(time(int(found[1]), int(found[2])), zone, days or frozenset(range(5)))


def _days(word: str) -> frozenset[int] | None:
    if word.casefold() in ("daily", "everyday"):
        return frozenset(range(7))
    found = set[int]()
    for part in word.casefold().split(","):
        first, _, last = part.partition("-")
        if first[:3] not in _DAYS or (last and last[:3] not in _DAYS):
            return None
        a = _DAYS.index(first[:3])
        b = _DAYS.index(last[:3]) if last else a
        found |= {n % 7 for n in range(a, b + 1 if b >= a else b + 8)}
    return frozenset(found)


def last_due(when: When, now: datetime) -> datetime | None:
    """The last moment, up to now, at which it was due, in its zone. One of each local day: a time
    that a change of the clocks skips is an hour later, one that comes twice is the first."""
    zone = zone_of(when.zone)
    today = now.astimezone(zone).date()
    for back in range(9):
        at = datetime.combine(today - timedelta(days=back), when.at, zone)
        if at.weekday() in when.days and at.astimezone(UTC) <= now:
            return at
    return None


def next_due(when: When, now: datetime) -> datetime:
    """The first moment after now at which it is due, in UTC."""
    zone = zone_of(when.zone)
    today = now.astimezone(zone).date()
    for ahead in range(9):
        at = datetime.combine(today + timedelta(days=ahead), when.at, zone)
        if at.weekday() in when.days and at.astimezone(UTC) > now:
            return at.astimezone(UTC)
    raise AssertionError("every week has such a day")


def zone_of(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _split(text: str) -> tuple[str, str, str]:
    """`17:00 Europe/Lisbon mon-fri @alice @bob`."""
    words = text.split()
    if len(words) < 3:
        raise InvalidInput(
            f"A shift is written like this: 17:00 Europe/Lisbon mon-fri @alice @bob, not {text[:60]!r}."
        )
    when = " ".join(words[:-2])
    when_in(when, "UTC")
    return when, words[-2], words[-1]


def _period(what: str, at: datetime) -> str:
    """The local day that is due, of a room or a shift."""
    return f"{what} {at.date().isoformat()}"


def _begun(what: str, at: datetime, sent: Iterable[str], now: datetime) -> bool:
    """Whether it is to be sent: what is scheduled for the first time begins with the next period, and
    what is long past is not made up for."""
    return now - at <= LATE and any(one.startswith(f"{what} ") for one in sent)


def _by_entity(wrong: Iterable[FalseBelief]) -> list[list[FalseBelief]]:
    found: dict[str, list[FalseBelief]] = {}
    for one in wrong:
        found.setdefault(one.entity.id, []).append(one)
    return list(found.values())


def _said(sentence: str) -> Reply:
    return Reply(page=Page(sentence))
