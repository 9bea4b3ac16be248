"""The outbox: what was stored is posted, once, whatever is lost in between; what was told is remembered."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
import redis

from bot.chat import NotSent, PerhapsSent
from bot.outbox import GIVES_UP, Order, Outbox, Written, key_of
from bot.pages import Page
from engine import Memory, PersonInfo
from engine.errors import StoreUnavailable
from engine.events import Enter, Event, Say
from engine.memory import Notes
from tests.bot.offices import NOON, RUNNER, loop
from tests.fakes.chat import FakeChat

__all__ = ["loop"]

ANN, BO = "U1", "U2"


class Post:
    """An outbox whose orders say something, and become a statement."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.box = Outbox(memory)
        self.chat = FakeChat(NOON)
        self.now = NOON
        self.said: Callable[[Order], Written | str] = self.written
        memory.describe(
            [PersonInfo(ANN, "Ann"), PersonInfo(BO, "Bo")], [("C1", "general", "public")]
        )
        for person in (ANN, BO):
            at = NOON - timedelta(days=1)
            memory.record(Enter(id=f"in-{person}", at=at, person=person, room="C1"))

    def written(self, order: Order) -> Written:
        events: tuple[Event, ...] = ()
        if order.room:
            events = (
                Say(id=f"said-{order.key}", at=NOON, speaker=ANN, room=order.room, entity="ops-1",
                    value="secretly approved", witnesses={BO: "exposed"}),
            )  # fmt: skip
        notes = (Notes("told", {order.key: self.now}),)
        return Written(Page(f"ops-1 is secretly approved: {order.key}"), (BO,), events, notes)

    def put(self, *orders: Order) -> int:
        return RUNNER.run(self.box.put(orders, self.now))

    def pump(self, **later: float) -> None:
        self.now += timedelta(**later)
        RUNNER.run(self.box.pump(self.chat, self.said, self.now))

    def reborn(self) -> None:
        """The process dies and another one goes on."""
        self.memory.queue(name="outbox").forget("nobody-at-all")  # which breaks the lease
        self.box = Outbox(self.memory)

    @property
    def keys(self) -> list[str]:
        return [one.key for one in self.chat.posts]

    def waiting(self) -> int:
        return sum(one.waiting for one in self.memory.queue(name="outbox").backlog().values())


def order(name: str, room: str = "C1", **more: str) -> Order:
    return Order(kind="say", key=key_of(name), room=room, by=more.pop("by", ANN), **more)


@pytest.fixture
def post(memory: Memory) -> Post:
    return Post(memory)


def test_what_is_ordered_is_posted_and_remembered_from_the_answer(post: Post) -> None:
    assert post.put(order("a")) == 1
    post.pump(seconds=1)
    [posted] = post.chat.posts
    assert (posted.where.room, posted.mentions) == ("C1", (BO,))
    [said] = post.memory.spoken()
    assert said.at == posted.sent.at
    assert post.memory.believes(BO, "ops-1").value == "secretly approved"
    assert post.memory.noted("told") == [key_of("a")]
    assert post.memory.noted("lines:C1") == [posted.sent.ts]  # so that reactions to it count


def test_the_same_thing_is_posted_once_however_often_it_is_ordered(post: Post) -> None:
    assert post.put(order("a"), order("a")) == 1
    post.pump(seconds=1)
    assert post.put(order("a")) == 0
    post.pump(seconds=5)
    post.reborn()
    assert post.put(order("a")) == 0
    post.pump(seconds=5)
    assert post.keys == [key_of("a")]


def test_a_post_whose_answer_was_lost_is_looked_for_and_not_repeated(post: Post) -> None:
    post.put(order("a"))
    post.chat.faults = ["lost"]
    post.pump(seconds=1)
    assert (len(post.keys), post.memory.spoken()) == (1, [])
    post.pump(seconds=5)
    assert (len(post.keys), post.chat.looked, post.waiting()) == (1, 1, 0)
    assert [one.at for one in post.memory.spoken()] == [post.chat.posts[0].sent.at]


def test_a_post_that_never_arrived_is_looked_for_and_repeated(post: Post) -> None:
    post.put(order("a"))
    post.chat.faults = [PerhapsSent("no answer came")]
    post.pump(seconds=1)
    assert post.keys == []
    post.pump(seconds=5)
    assert (len(post.keys), post.chat.looked) == (1, 1)


def test_while_it_cannot_be_looked_for_it_is_not_repeated(post: Post) -> None:
    post.put(order("a"))
    post.chat.faults = ["lost"]
    post.chat.blind = [NotSent("too many questions", later=30.0), PerhapsSent("no answer")]
    post.pump(seconds=1)
    post.pump(seconds=5)
    post.pump(seconds=5)  # not yet
    assert post.chat.looked == 1
    post.pump(seconds=30)
    post.pump(seconds=60)
    assert (len(post.keys), post.chat.looked, post.waiting()) == (1, 3, 0)


@pytest.mark.parametrize("dies_at", ["keep_read", "failed", "post", "lost", "record_all"])
def test_whoever_dies_in_the_middle_is_taken_over_without_a_second_post(
    post: Post, monkeypatch: pytest.MonkeyPatch, dies_at: str
) -> None:
    """Killed before each step, and with the answer lost: another process goes on."""

    def dies(*_: object, **__: object) -> None:
        raise StoreUnavailable("killed")

    post.put(order("a"))
    queue = post.box._queue
    with monkeypatch.context() as patch:
        if dies_at == "post":
            post.chat.faults = [StoreUnavailable("killed")]
        elif dies_at == "lost":
            post.chat.faults = ["lost"]
            patch.setattr(post.box, "_again", dies)
        else:
            patch.setattr(post.memory if dies_at == "record_all" else queue, dies_at, dies)
        with pytest.raises(StoreUnavailable):
            post.pump(seconds=1)
    post.reborn()
    post.pump(seconds=1)
    assert post.keys == [key_of("a")]
    assert post.waiting() == 0
    assert [one.event for one in post.memory.spoken()] == [f"said-{key_of('a')}"]
    assert post.memory.spoken()[0].at == post.chat.posts[0].sent.at


def test_what_was_told_is_what_was_posted_though_it_changed_meanwhile(post: Post) -> None:
    """Found after a crash, it is remembered as it was said, not as it would be said now."""
    post.put(order("a"))
    post.chat.faults = ["lost"]
    post.pump(seconds=1)
    post.reborn()
    post.said = lambda order: "It has changed."
    post.pump(seconds=1)
    assert [one.value for one in post.memory.spoken()] == ["secretly approved"]


def test_one_room_gets_a_post_a_second_and_rooms_do_not_wait_for_each_other(post: Post) -> None:
    post.put(order("a"), order("b"), order("c", room="C2"))
    post.pump()
    assert sorted(one.where.room for one in post.chat.posts) == ["C1", "C2"]
    post.pump(seconds=0.5)
    assert len(post.keys) == 2
    post.pump(seconds=0.5)
    assert len(post.keys) == 3


def test_what_is_refused_for_now_is_tried_later(post: Post) -> None:
    post.put(order("a"))
    post.chat.faults = [NotSent("too fast", later=20.0)] * 2
    post.pump()
    post.pump(seconds=19)
    assert len(post.chat.faults) == 1
    post.pump(seconds=2)
    post.pump(seconds=21)
    assert len(post.keys) == 1


def test_what_is_refused_for_good_is_told_to_whoever_asked(post: Post) -> None:
    def said(order: Order) -> Written:
        return Written(Page(f"{order.kind}: {order.why}"))

    post.said = said
    post.put(order("a"))
    post.chat.faults = [NotSent("I am not in that channel.")]
    post.pump()
    post.pump(seconds=1)
    [told] = post.chat.posts
    assert (told.where.room, told.page.head) == (f"DM-{ANN}", "failed: I am not in that channel.")
    assert post.box.outcomes([key_of("a")])[key_of("a")].why == "I am not in that channel."


def test_what_cannot_be_posted_for_a_day_is_given_up(post: Post) -> None:
    post.put(order("a", by=""))
    post.chat.faults = [NotSent("too fast", later=1.0)]
    post.pump(seconds=GIVES_UP.total_seconds() + 1)
    assert (post.waiting(), post.keys) == (0, [])
    assert not post.box.outcomes([key_of("a")])[key_of("a")].posted


def test_what_no_longer_stands_is_not_posted(post: Post) -> None:
    """C24."""
    post.said = lambda order: "It has changed."
    post.put(order("a"))
    post.pump()
    assert (post.keys, post.waiting()) == ([], 0)
    assert post.box.outcomes([key_of("a")])[key_of("a")] == (False, "It has changed.")


def test_one_bad_order_does_not_stop_the_others(post: Post) -> None:
    def said(order: Order) -> Written:
        if order.key == key_of("a"):
            raise KeyError("what people wrote")
        return Written(Page("fine"))

    post.said = said
    post.put(order("a"), order("b"))
    post.pump()
    post.pump(seconds=2)
    assert post.keys == [key_of("b")]
    assert "wrote" not in post.box.outcomes([key_of("a")])[key_of("a")].why


def test_one_process_posts_and_another_waits(post: Post) -> None:
    other = Outbox(post.memory)
    post.pump()
    post.put(order("a"))
    RUNNER.run(other.pump(post.chat, post.said, post.now))
    assert post.keys == []
    post.pump(seconds=1)
    assert post.keys == [key_of("a")]


def test_nothing_of_what_was_posted_stays(post: Post, database: redis.Redis) -> None:
    post.put(order("a"))
    assert "secretly" not in _stored(post.memory, database)
    post.chat.faults = ["lost"]
    post.pump()
    assert "secretly" in _stored(post.memory, database)  # while it is open
    post.pump(seconds=5)
    assert post.waiting() == 0
    assert "secretly" not in _stored(post.memory, database)


@pytest.mark.parametrize("who", [ANN, BO])
def test_forgetting_somebody_reaches_what_waits(
    post: Post, database: redis.Redis, who: str
) -> None:
    at_them = Order(kind="tell", key=key_of("b"), by=BO, person=ANN)
    about_them = Order(kind="say", key=key_of("c"), room="C1", about=("ops-1", ANN, BO))
    post.put(order("a"), at_them, about_them)
    post.chat.faults = ["lost", "lost", "lost"]
    post.pump()
    post.memory.forget(who)
    assert who not in _stored(post.memory, database)


def _stored(memory: Memory, database: redis.Redis) -> str:
    """Everything that lies in the outbox."""
    found: list[object] = []
    for key in database.keys(f"so:{{{memory.sid}}}:outbox*"):
        match database.type(key):
            case "stream":
                found.append(database.xrange(key))
            case "hash":
                found.append(database.hgetall(key))
            case "zset":
                found.append((key, database.zrange(key, 0, -1)))
            case "set":
                found.append(database.smembers(key))
            case "string":
                pass  # who holds the lease
    return repr(found)


def test_it_runs_until_it_is_told_to_stop(post: Post) -> None:
    async def run() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(post.box.run(post.chat, post.said, stop))
        await post.box.put([order("a")], NOON)
        outcomes = await post.box.wait([key_of("a")], 20.0)
        assert outcomes[key_of("a")].posted
        stop.set()
        await running

    RUNNER.run(run())
    other = Outbox(post.memory)  # the lease was given back
    post.put(order("b"))
    when: datetime = NOON + timedelta(minutes=1)
    RUNNER.run(other.pump(post.chat, post.said, when))
    assert post.keys == [key_of("a"), key_of("b")]


def test_waiting_for_what_is_not_posted_ends(post: Post) -> None:
    post.put(order("a"))
    assert RUNNER.run(post.box.wait([key_of("a")], 0.01)) == {}
