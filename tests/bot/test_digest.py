"""Digests: once a period, only what is new or worse, never empty, and readable by everybody there."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import actions
from bot.chat import Enter, Room
from bot.digest import ITEMS, Digests, When, last_due, next_due, when_in
from bot.outbox import Outbox
from engine import InvalidInput, Memory, PersonInfo
from tests import conftest
from tests.bot.offices import RUNNER, House, button, loop, shown
from tests.bot.test_access import ANN, BO, CY, DEE, GIL, OFFICE, Scribe

__all__ = ["loop"]

MONDAY = datetime(2026, 3, 9, 8, 30, tzinfo=UTC)
LISBON = "Europe/Lisbon"
CLUB = Room(id="C1", name="general", members=frozenset({ANN, BO, CY, GIL}))
SIDE = Room(id="C2", name="product", members=frozenset({ANN, BO}))
VAULT = Room(id="P1", name="vault", kind="private", members=frozenset({ANN, BO, GIL}))


class Week:
    """Days on which digests are due at nine; `says` puts something into #general, then into #product."""

    def __init__(self, memory: Memory, **more: object) -> None:
        self.it = Scribe({room.id: room for room in (CLUB, SIDE, VAULT)})
        self.memory = memory
        self.more = more
        self.now = MONDAY

    def outdated(self, *keys: str, room: str = "C2") -> None:
        for key in keys:
            self.it.says("C1", ANN, f"{key}: approved")
        self.it.passes(hours=1)
        for key in keys:
            self.it.says(room, BO, f"{key}: rejected")

    def house(self) -> House:
        self.it.office.read_into(self.memory)
        return House(self.memory, self.now, **self.more)


def comes(house: House, at: datetime) -> list[str]:
    """What is posted when that moment has come, and everything due is."""
    before = len(house.chat.posts)
    house.at(at)
    RUNNER.run(house.digests.tick(at))
    house.deliver(6)
    return [shown(post.page) for post in house.chat.posts[before:]]


def scheduled(memory: Memory, *keys: str) -> House:
    week = Week(memory)
    week.outdated(*keys)
    house = week.house()
    said = house.ask(ANN, "status digest 9:00 UTC daily", "C1").page.head
    assert said == "#general gets a digest at 9:00 UTC mon-sun, when there is something new."
    return house


def after(house: House) -> House:
    """Another process, after that one died."""
    house.memory.queue(name="outbox").forget("nobody-at-all")  # which breaks the lease
    return House(house.memory, house.clock)


def day(n: int) -> datetime:
    return MONDAY.replace(hour=9, minute=1) + timedelta(days=n)


# --- what is in it --------------------------------------------------------------------------------


def test_a_digest_says_what_is_outdated_and_nothing_twice(memory: Memory) -> None:
    house = scheduled(memory, "ops-1")
    [first] = comes(house, day(0))
    assert "ops-1 is “rejected”" in first
    assert "Cy and Gil have “approved”" in first
    assert comes(house, day(1)) == []  # nothing is new: none is sent
    assert comes(house, day(2)) == []


def test_there_is_none_where_nothing_is_outdated(memory: Memory) -> None:
    assert comes(scheduled(memory), day(0)) == []


def test_what_got_worse_comes_again(memory: Memory) -> None:
    house = scheduled(memory, "ops-1")
    comes(house, day(0))
    house.at(day(0)).ask(BO, "decide ops-1 postponed", "C2")
    [again] = comes(house, day(1))
    assert "ops-1 is “postponed”" in again


def test_a_digest_holds_few_items_and_the_others_come_next(memory: Memory) -> None:
    house = scheduled(memory, *(f"ops-{n}" for n in range(8)))
    [first] = comes(house, day(0))
    [second] = comes(house, day(1))
    assert (first.count("“rejected”"), second.count("“rejected”")) == (ITEMS, 3)
    assert {f"ops-{n}" for n in range(8)} <= set((first + second).replace(":", " ").split())
    assert comes(house, day(2)) == []


def test_not_now_brings_it_again_the_next_day(memory: Memory) -> None:
    house = scheduled(memory, "ops-1")
    comes(house, day(0))
    later = button(house.chat.posts[0].page, actions.LATER)
    for who in (CY, GIL):
        assert "tomorrow" in house.at(day(0)).press(who, later, "C1", "1.2").page.head
    [again] = comes(house, day(1))
    assert "ops-1" in again
    assert comes(house, day(2)) == []


def test_not_now_is_for_who_is_there(memory: Memory) -> None:
    house = scheduled(memory, "ops-1")
    comes(house, day(0))
    later = button(house.chat.posts[0].page, actions.LATER)
    assert "not there" in house.at(day(0)).press(DEE, later, "C1").page.head
    assert "not there" in house.press(GIL, later._replace(value="C1 2026-01-01")).page.head
    assert comes(house, day(1)) == []


def test_not_for_me_leaves_somebody_out_of_digests(memory: Memory) -> None:
    house = scheduled(memory, "ops-1", "ops-2")
    page = house.home(GIL)
    house.press(GIL, button(page, actions.QUIET))
    [first] = comes(house, day(0))
    assert "Cy has “approved”" in first
    assert "Gil" not in first
    assert "Gil" in shown(house.ask(ANN, "whoknows ops-1"))  # of digests alone
    house.press(GIL, button(house.home(GIL), actions.NAMED))
    [second] = comes(house, day(1))
    assert "Gil" in second


def test_a_digest_holds_what_everybody_there_may_read(memory: Memory) -> None:
    week = Week(memory)
    week.outdated("ops-1", room="P1")  # Cy has what was said in #general, and cannot know better
    week.it.says("P1", ANN, "vault-2: sell")
    week.it.passes(hours=1)
    week.it.moves("P1", GIL)
    week.it.says("P1", BO, "vault-2: hold")
    week.it.moves("P1", GIL)
    house = week.house()
    for room in ("C1", "P1"):
        house.ask(ANN, "status digest 9:00 UTC daily", room)
    digests = comes(house, day(0))
    assert [post.where.room for post in house.chat.posts] == ["P1"]
    assert "vault-2" in digests[0]
    assert "Gil has “sell”" in digests[0]


def test_whoever_came_since_may_read_a_digest_as_well(memory: Memory) -> None:
    """Looked at when it is posted: a guest has come, who reads nothing but #general."""
    house = scheduled(memory, "ops-1")
    memory.describe([PersonInfo(DEE, "Dee", "dee", guest=True)])
    memory.record(Enter(id="dee-comes", at=day(0), person=DEE, room="C1"))
    assert comes(house, day(0)) == []


def test_a_digest_is_as_if_the_unreadable_had_never_been_said(
    workspace: conftest.Workspace,
) -> None:
    """Of any room, for anybody who is in it."""
    rooms = sorted(id for id, room in OFFICE.rooms.items() if room.kind != "direct")
    for who in (CY, DEE, GIL):
        with workspace() as full, workspace() as some:
            OFFICE.read_into(full)
            OFFICE.for_(who).read_into(some)
            found = []
            for memory in (full, some):
                house = House(memory, MONDAY, defaults=dict.fromkeys(rooms, "9:00 UTC daily"))
                RUNNER.run(house.digests.tick(day(0)))
                comes(house, day(1))
                found.append([
                    f"{post.where} {shown(post.page)}".replace(memory.sid, "SID")
                    for post in house.chat.posts
                    if who in OFFICE.here[post.where.room]
                ])  # fmt: skip
            assert found[0] == found[1]


# --- when it is sent ------------------------------------------------------------------------------


def test_it_is_sent_once_a_period_by_however_many(memory: Memory) -> None:
    house = scheduled(memory, "ops-1")
    other = Digests(memory, house.outbox)

    async def both() -> tuple[int, int]:
        return await asyncio.gather(house.digests.tick(day(0)), other.tick(day(0)))

    assert sum(RUNNER.run(both())) == 1
    assert RUNNER.run(house.digests.tick(day(0) + timedelta(hours=3))) == 0


def test_whoever_dies_after_ordering_it_does_not_send_it_twice(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = scheduled(memory, "ops-1")

    def dies(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "record_all", dies)
        with pytest.raises(RuntimeError):
            RUNNER.run(house.digests.tick(day(0)))
    again = after(house)
    assert len(comes(again, day(0))) == 1


def test_it_is_late_rather_than_never(memory: Memory) -> None:
    """C23: down from before it was due until an hour later."""
    house = scheduled(memory, "ops-1")
    later = after(house)
    assert len(comes(later, day(0) + timedelta(hours=1))) == 1
    house.at(day(0)).ask(BO, "decide ops-1 postponed", "C2")
    assert len(comes(after(later), day(1) + timedelta(hours=20))) == 1
    house.at(day(1) + timedelta(hours=21)).ask(BO, "decide ops-1 paused", "C2")
    assert len(comes(after(house), day(9))) == 1  # one, for all that was missed


@pytest.mark.parametrize("month", [3, 10])
def test_there_is_one_each_local_day_across_the_changes_of_the_clocks(month: int) -> None:
    """C23: daily at 07:30 in Lisbon, at every hour's quarter asked what was due last."""
    when = when_in(f"7:30 {LISBON} daily", "UTC")
    now, seen = datetime(2026, month, 20, tzinfo=UTC), list[datetime]()
    while now.day != 31:
        at = last_due(when, now)
        if at is not None and at not in seen:
            seen.append(at)
        now += timedelta(minutes=15)
    days = [at.date() for at in seen]
    assert len(days) == len(set(days)) == (days[-1] - days[0]).days + 1
    assert {at.astimezone(ZoneInfo(LISBON)).time() for at in seen} == {time(7, 30)}


@pytest.mark.parametrize("at", ["1:30", "0:00", "1:00", "2:00", "23:59"])
def test_a_time_that_is_skipped_or_comes_twice_is_due_once(at: str) -> None:
    when = when_in(f"{at} {LISBON} daily", "UTC")
    for start in (datetime(2026, 3, 27, tzinfo=UTC), datetime(2026, 10, 23, tzinfo=UTC)):
        days = [
            moment.date()
            for n in range(0, 5 * 24 * 60, 15)
            if (moment := last_due(when, start + timedelta(minutes=n))) is not None
        ]
        first, last = min(days), max(days)
        assert {first + timedelta(days=n) for n in range((last - first).days + 1)} == set(days)
        assert days == sorted(days)


@given(
    hour=st.integers(0, 23), minute=st.integers(0, 59), zone=st.sampled_from((LISBON, "UTC",
    "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia")),
    days=st.sets(st.integers(0, 6), min_size=1),
    now=st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)),
)  # fmt: skip
def test_what_is_due_next_is_what_was_due_last_when_it_has_come(
    hour: int, minute: int, zone: str, days: Iterable[int], now: datetime
) -> None:
    when = When(time(hour, minute), zone, frozenset(days))
    coming = next_due(when, now.replace(tzinfo=UTC))
    last = last_due(when, coming)
    assert coming > now.replace(tzinfo=UTC)
    assert last is not None
    assert last.astimezone(UTC) == coming
    assert last.weekday() in when.days
    assert when_in(when.text, "UTC") == when


def test_what_was_due_before_it_was_scheduled_is_not_late(memory: Memory) -> None:
    week = Week(memory)
    week.outdated("ops-1")
    house = week.house()
    house.at(day(0) + timedelta(hours=2)).ask(ANN, "status digest 9:00 UTC daily", "C1")
    assert comes(house, day(0) + timedelta(hours=3)) == []
    assert len(comes(house, day(1))) == 1


# --- how it is scheduled --------------------------------------------------------------------------


def test_a_schedule_is_said_in_the_channel_and_survives(memory: Memory) -> None:
    house = scheduled(memory, "ops-1")
    house.ask(ANN, f"status digest 7.30 {LISBON} mon,wed", "C1")
    again = House(memory, MONDAY)
    assert "#general gets a digest at 7:30 Europe/Lisbon mon,wed." in shown(
        again.ask(GIL, "status digest", "C1")
    )
    again.ask(GIL, "status digest off", "C1")
    assert "gets no digest" in shown(house.ask(ANN, "status digest", "C1"))
    assert comes(again, day(1)) == []


def test_the_zone_is_the_askers_where_none_is_said(memory: Memory) -> None:
    week = Week(memory)
    house = week.house()
    memory.describe([PersonInfo(ANN, "Ann", "ann", zone=LISBON)])
    assert f"9:00 {LISBON} mon-fri" in shown(house.ask(ANN, "status digest 9:00", "C1"))


def test_settings_schedule_and_what_was_said_there_comes_first(memory: Memory) -> None:
    week = Week(memory, defaults={"general": "9:00 UTC daily", "nowhere": "9:00", "C2": "10:00"})
    week.outdated("ops-1")
    house = week.house()
    assert {id: when.text for id, when in house.digests.schedules().items()} == {
        "C1": "9:00 UTC mon-sun", "C2": "10:00 UTC mon-fri",
    }  # fmt: skip
    assert comes(house, day(0)) == []  # it was not there yesterday
    comes(house, day(1))
    assert sorted(post.where.room for post in house.chat.posts) == ["C1", "C2"]
    house.ask(ANN, "status digest off", "C1")
    assert set(house.digests.schedules()) == {"C2"}


@pytest.mark.parametrize(
    "text", ["25:00", "9", "nine", "9:00 Mars/Base", "9:61", "9:00 a b c", "9:00 ../../etc"]
)
def test_a_schedule_that_cannot_be_meant_is_one_sentence(memory: Memory, text: str) -> None:
    house = Week(memory).house()
    assert "/status digest 9:00" in shown(house.ask(ANN, f"status digest {text}", "C1"))
    assert house.digests.schedules() == {}
    with pytest.raises(InvalidInput):
        Digests(memory, house.outbox, defaults={"C1": text})


def test_only_who_is_in_a_channel_schedules_there(memory: Memory) -> None:
    house = Week(memory).house()
    for who, room in ((CY, "P1"), (CY, "C2"), (GIL, "P9")):
        assert "type it there" in shown(house.ask(who, "status digest 9:00", room))
    assert house.digests.schedules() == {}


# --- shifts ---------------------------------------------------------------------------------------


def test_whoever_hands_over_is_reminded_before_the_shift_ends(memory: Memory) -> None:
    week = Week(memory, shifts=["17:00 UTC daily @ann @gil", "17:00 @nobody @gil"])
    week.outdated("ops-1")
    house = week.house()
    end = MONDAY.replace(hour=17, minute=0)
    comes(house, end)
    assert house.chat.posts == []  # known for the first time
    tomorrow = end + timedelta(days=1)
    assert comes(house, tomorrow - timedelta(minutes=16)) == []
    [reminder] = comes(house, tomorrow - timedelta(minutes=14))
    assert house.chat.posts[0].where.room == f"DM-{ANN}"
    assert "Your shift ends at 17:00. From Ann to Gil" in reminder
    house.press(ANN, button(house.chat.posts[0].page, actions.HAND), f"DM-{ANN}")
    assert house.chat.posts[-1].where.room == f"DM-{GIL}"
    assert comes(house, tomorrow + timedelta(days=1)) == []  # nothing is left to hand over


def test_a_shift_that_cannot_be_meant_is_refused_at_the_start(memory: Memory) -> None:
    for text in ("17:00", "17:00 @ann", "soon @ann @gil"):
        with pytest.raises(InvalidInput):
            Digests(memory, Outbox(memory), shifts=[text])


# --- jobs -----------------------------------------------------------------------------------------


def test_jobs_are_made_anew_at_every_start(memory: Memory) -> None:
    scheduled(memory, "ops-1")

    async def run() -> int:
        house = House(memory, MONDAY)
        await house.digests.start()
        try:
            scheduler = house.digests._scheduler
            assert scheduler is not None
            [job] = scheduler.get_jobs()
            assert job.misfire_grace_time is None
            assert job.next_run_time <= datetime.now(UTC) + timedelta(minutes=10)
            return len(house.digests.coming(datetime.now(UTC)))
        finally:
            house.digests.stop()

    assert RUNNER.run(run()) == 1


def test_forgetting_somebody_leaves_nothing_of_them_in_digests(memory: Memory) -> None:
    house = scheduled(memory, "ops-1")
    house.press(CY, button(house.home(CY), actions.QUIET))
    comes(house, day(0))
    memory.forget(CY)
    for key in ("digest-quiet", "digests", "digest-sent", "digest-shown:C1", "digest-items:C1"):
        assert not any(CY in note for note in memory.noted(key))
    assert not house.digests.is_quiet(CY)
