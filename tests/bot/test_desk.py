"""What people get from commands, buttons and their own page, and what no button gives to anybody.

Privacy is tested as in `test_access`: a workspace is read twice, whole and without what somebody may not
read; whatever that person types, presses or forges, both answer in the same bytes.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot import actions, questions, render
from bot.adapters import exports
from bot.app import Bot, replay
from bot.chat import Command, Enter, Message, NotSent, Press, Reaction, Reply, Room
from bot.desk import NOT_ALOUD, NOTHING_STATED, SORRY, Desk
from bot.pages import Button
from bot.telling import CHANGED, MISSING, OUTDATED
from engine import Memory
from engine.beliefs import Announcement, Status, WhoKnows
from engine.errors import StoreUnavailable
from extraction.rules import Rules
from tests import conftest
from tests.bot.offices import NOON, RUNNER, US, House, button, buttons_of, loop, shown
from tests.bot.test_access import (
    ANN,
    ASKING,
    BO,
    CY,
    DEE,
    FAY,
    GIL,
    LATER,
    OFFICE,
    Scribe,
    everything,
)  # fmt: skip

__all__ = ["loop"]

ACME = Path(__file__).parents[2] / "examples" / "acme" / "workspace"
CLUB = Room(id="C1", name="general", members=frozenset({ANN, BO, CY, GIL}))
VAULT = Room(id="P1", name="vault", kind="private", members=frozenset({ANN, BO}))
SIDE = Room(id="C2", name="product", members=frozenset({ANN, BO, CY}))


def office(*rooms: Room) -> Scribe:
    return Scribe({room.id: room for room in (CLUB, VAULT, SIDE, *rooms)})


def stale() -> Scribe:
    """#general heard that it is approved; #product, without Gil, that it is rejected."""
    it = office()
    it.says("C1", ANN, "ops-1: approved")
    it.passes(hours=2)
    it.says("C2", BO, "ops-1: rejected")
    return it


@pytest.fixture
def house(memory: Memory) -> House:
    stale().office.read_into(memory)
    return House(memory)


def who_knows(memory: Memory, who: str, entity: str = "ops-1") -> WhoKnows:
    return memory.who_knows(entity, reader=memory.reader(who))


def in_a_room(reply: Reply, room: str) -> Button:
    """The button of the first plan that posts there."""
    for section in reply.page.sections:
        if any(f"Post in #{room}" in line.text for line in section.lines):
            return next(line.button for line in section.lines if line.button)
    raise AssertionError(f"no plan posts in #{room}")


def status(memory: Memory, who: str, entity: str = "ops-1", asker: str = ANN) -> Status:
    found = {one.person.id: one.status for one in who_knows(memory, asker, entity).people}
    return found[who]


# --- answers --------------------------------------------------------------------------------------


def test_an_answer_is_for_the_asker_alone(house: House) -> None:
    reply = house.ask(ANN, "/whoknows ops-1")
    assert not reply.aloud
    assert reply.page.head == "ops-1 is “rejected”: 3 know and 1 has an old value."


def test_an_answer_is_heard_where_everybody_gets_the_same_one(house: House) -> None:
    assert house.ask(ANN, "whoknows ops-1 --aloud").aloud
    assert house.ask(ANN, "whoknows —aloud ops-1").aloud
    assert not house.ask(ANN, "whoknows ops-1aloud", "C1").aloud


def test_an_answer_is_not_heard_where_somebody_may_not_read_all_of_it(memory: Memory) -> None:
    it = stale()
    it.says("P1", BO, "ops-1: on hold")
    it.says("P1", BO, "vault-2: sell")
    it.office.read_into(memory)
    house = House(memory)
    for line in ("whoknows ops-1 --aloud", "misinformed --aloud", "whoknows vault-2 --aloud"):
        reply = house.ask(ANN, line)
        assert not reply.aloud
        assert NOT_ALOUD in shown(reply)
        assert not house.ask(ANN, line, "C404").aloud
    assert house.ask(ANN, "whoknows ops-1 --aloud", "P1").aloud
    assert house.ask(GIL, "whoknows ops-1 --aloud").aloud  # what Gil reads, everybody does


def test_a_guest_in_the_room_keeps_an_answer_from_being_heard(memory: Memory) -> None:
    it = Scribe({
        "C1": Room(id="C1", name="general", members=frozenset({ANN, BO, DEE})),
        "C2": Room(id="C2", name="product", members=frozenset({ANN, BO})),
    })  # fmt: skip
    it.says("C1", ANN, "ops-1: approved")
    it.says("C2", ANN, "date-6: monday")
    it.office.read_into(memory)
    house = House(memory)
    assert not house.ask(ANN, "whoknows date-6 --aloud", "C1").aloud
    assert house.ask(ANN, "whoknows date-6 --aloud", "C2").aloud


def test_what_is_heard_in_an_open_room_everybody_who_may_open_it_may_read(memory: Memory) -> None:
    """Only Ann and Bo are in #product, and both read #vault; but everybody can open #product."""
    it = Scribe({
        "C2": Room(id="C2", name="product", members=frozenset({ANN, BO})), "P1": VAULT,
    })  # fmt: skip
    it.says("P1", ANN, "vault-2: sell")
    it.office.read_into(memory)
    assert not House(memory).ask(ANN, "whoknows vault-2 --aloud", "C2").aloud


def test_a_decision_is_made_aloud_and_named_as_the_room_knows_it(memory: Memory) -> None:
    it = office()
    it.says("P1", ANN, "OPS-1: secret")
    it.says("C1", BO, "ops-1: open")
    it.office.read_into(memory)
    reply = House(memory).ask(ANN, "/decide ops-1 closed", "C1")
    assert reply.aloud
    assert reply.page.head.startswith("Recorded: ops-1 is “closed”")


def test_help_is_given_for_nothing_and_for_what_is_unknown(house: House) -> None:
    for line in ("help", "", "/whoknows"):
        assert "decision-42" in shown(house.ask(ANN, line))
    assert "There is no command '/whoknowz'" in shown(house.ask(ANN, "whoknowz ops-1"))
    assert "Did you mean: /whoknows?" in shown(house.ask(ANN, "whoknowz ops-1"))


@pytest.mark.parametrize("text", ["@alice @bob", "<@U1> @alice", "@ann @alicia.j"])
def test_a_plain_name_that_nobody_has_gets_a_helpful_sentence(house: House, text: str) -> None:
    said = house.ask(ANN, f"handoff {text}").page.head
    assert "Pick a person from the list" in said


@pytest.mark.parametrize("text", ["<@U1> <@U1>", "<!subteam^S1|@team> <@U2>", "", "<@U1>"])
def test_people_that_cannot_be_meant_get_a_sentence(house: House, text: str) -> None:
    page = house.ask(ANN, f"handoff {text}").page
    assert page.head.endswith(".")
    assert page.sections == ()


def test_whoever_is_not_known_gets_a_sentence_and_nothing_else(house: House) -> None:
    for who in ("U404", US):
        assert "not known here yet" in shown(house.ask(who, "whoknows ops-1"))
        assert "not known here yet" in shown(house.home(who))
        assert "not known here yet" in shown(house.press(who, actions.plan("ops-1")))


def test_an_answer_says_since_when_reading_is_behind(house: House) -> None:
    house.memory.queue().fall_behind("The model does not answer.", 1_780_000_000_000_000)
    assert "Reading is behind since" in shown(house.ask(ANN, "whoknows ops-1"))
    assert "Reading is behind since" in shown(house.home(ANN))


def test_a_memory_that_is_away_and_a_bug_are_one_sentence(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(error: Exception) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise error

        return fail

    monkeypatch.setattr(Desk, "_question", fails(StoreUnavailable("redis://user:secret@host")))
    assert "secret" not in shown(house.ask(ANN, "whoknows ops-1"))
    monkeypatch.setattr(Desk, "_question", fails(KeyError("what people wrote")))
    assert house.ask(ANN, "whoknows ops-1").page.head == SORRY


def test_a_long_list_is_shown_whole_in_parts(memory: Memory) -> None:
    it = office()
    for n in range(40):
        it.says("C1", ANN, f"ops-{n}: approved")
    it.office.read_into(memory)
    house = House(memory)
    first = house.ask(BO, "mymind")
    assert first.page.sections[0].more == 40 - render.MOST
    seen = {line.text for line in first.page.sections[0].lines}
    turned = house.press(BO, button(first, actions.MORE))
    while True:
        seen |= {line.text for section in turned.page.sections for line in section.lines}
        on = [one for one in buttons_of(turned) if one.label == "Go on"]
        if not on:
            break
        turned = house.press(BO, on[0])
    assert turned.instead
    assert len(seen) == 40


# --- posting a plan -------------------------------------------------------------------------------


def test_posting_a_plan_repairs_what_it_said_it_would(house: House) -> None:
    plan = house.ask(BO, "announce-plan ops-1")
    reply = house.press(BO, in_a_room(plan, "general"))
    assert reply.instead
    assert reply.page.head == "1 was wrong about ops-1, nobody is now."
    [post] = house.chat.posts
    assert post.page.head == "ops-1 is now: rejected"
    assert post.mentions == (GIL,)  # whom it is for
    after = who_knows(house.memory, GIL)
    assert {one.status for one in after.people} == {"knows"}
    assert not after.disputed
    assert after.decided is not None
    assert after.decided.speaker is not None
    assert after.decided.speaker.id == BO  # an announcement decides nothing


def test_a_posted_plan_is_not_posted_again(house: House) -> None:
    wanted = button(house.ask(BO, "announce-plan ops-1"), actions.POST)

    async def twice() -> None:
        presses = [house._driven(house.desk.press(_press(wanted, BO, house))) for _ in range(2)]
        await asyncio.gather(*presses)

    RUNNER.run(twice())
    late = house.press(BO, wanted)
    assert len(house.chat.posts) == 1
    assert "Nobody needs telling" in late.page.head


def test_a_plan_of_a_value_that_has_changed_is_not_posted(house: House) -> None:
    wanted = button(house.ask(BO, "announce-plan ops-1"), actions.POST)
    house.ask(BO, "decide ops-1 postponed", "C2")
    reply = house.press(BO, wanted)
    assert reply.page.head.startswith(CHANGED)
    assert "postponed" in shown(reply)
    assert house.chat.posts == []


@pytest.mark.parametrize("room", ["general", None])
def test_what_changes_while_it_waits_is_not_posted(house: House, room: str | None) -> None:
    """C24: looked at again at the moment it is posted."""
    plan = house.ask(BO, "announce-plan ops-1")
    wanted = in_a_room(plan, room) if room else button(plan, actions.POST)
    compose = house.compose

    def changed(order: Any) -> Any:
        house.compose = compose
        at = house.clock + timedelta(seconds=1)
        command = Command(name="decide", text="ops-1 postponed", who=BO, room="C2", at=at)
        asyncio.run(house.desk.ask(command))
        return compose(order)

    house.compose = changed
    reply = house.press(BO, wanted)
    assert house.chat.posts == []
    assert "not posted" in shown(reply)


def test_a_deleted_source_is_not_announced(memory: Memory) -> None:
    it = stale()
    it.office.read_into(memory)
    house = House(memory)
    wanted = button(house.ask(BO, "announce-plan ops-1"), actions.POST)
    [said] = [h for h in it.heard if isinstance(h, Message) and h.room == "C2"]
    bot = Bot(memory, Rules())
    bot.hear(said.model_copy(update={"removed": True, "gone": house.clock}))
    bot.settle()
    reply = house.press(BO, wanted)
    assert all(post.page.sections[0].lines[0].link is None for post in house.chat.posts)
    assert "ops-1" in reply.page.head


def test_somebody_else_presses_with_their_own_rights(memory: Memory) -> None:
    it = stale()
    it.says("P1", ANN, "vault-2: sell")
    it.office.read_into(memory)
    house = House(memory)
    wanted = button(house.ask(BO, "announce-plan ops-1"), actions.POST)
    reply = house.press(GIL, wanted)
    assert house.chat.posts == []
    assert "hold" not in shown(reply)
    for forged in (f"vault-2 {wanted.value.split()[1]}", "nothing-1 abc"):
        theirs = house.press(GIL, wanted._replace(value=forged))
        assert "Nothing is known about" in theirs.page.head


def test_what_the_presser_alone_may_read_is_not_posted(memory: Memory) -> None:
    it = stale()
    it.says("P1", BO, "ops-1: on hold")
    it.office.read_into(memory)
    house = House(memory)
    for one in buttons_of(house.ask(BO, "announce-plan ops-1")):
        house.press(BO, one)
    for post in house.chat.posts:
        assert post.where.room in ("P1", f"DM-{ANN}", f"DM-{BO}")


def test_a_post_that_cannot_be_sent_is_told_to_whoever_asked(house: House) -> None:
    wanted = button(house.ask(BO, "announce-plan ops-1"), actions.POST)
    house.chat.faults = [NotSent("I am not in that channel.")] * 1
    reply = house.press(BO, wanted)
    assert "not posted. I am not in that channel." in shown(reply)
    assert "1 was wrong about ops-1, 1 still is." in reply.page.head
    assert house.chat.posts == []


def test_got_it_stamps_the_version_that_was_announced(house: House) -> None:
    house.press(BO, in_a_room(house.ask(BO, "announce-plan ops-1"), "general"))
    [post] = house.chat.posts
    got = button(post.page, actions.GOT)
    for _ in range(2):
        reply = house.press(GIL, got, post.where.room, post.sent.ts)
        assert not reply.instead
        assert reply.page.head == "Noted: ops-1 is “rejected”."
    found = {one.person.id: one for one in who_knows(house.memory, ANN).people}
    assert (found[GIL].status, found[GIL].grade) == ("knows", "acknowledged")
    house.ask(BO, "decide ops-1 postponed", "C2")
    late = house.press(GIL, got, post.where.room, post.sent.ts)
    assert "It has changed since: it is now “postponed”" in late.page.head
    assert status(house.memory, GIL) == "stale"


def test_a_reaction_to_an_announcement_acknowledges_it(house: House) -> None:
    house.press(BO, in_a_room(house.ask(BO, "announce-plan ops-1"), "general"))
    [post] = house.chat.posts
    bot = Bot(house.memory, Rules())
    bot.begin_anew()
    at = post.sent.at + timedelta(minutes=1)
    bot.hear(Reaction(room=post.sent.room, ts=post.sent.ts, at=at, who=GIL, name="eyes"))
    bot.settle([post.sent.room])
    found = {one.person.id: one for one in who_knows(house.memory, ANN).people}
    assert found[GIL].grade == "acknowledged"


def test_an_announcement_reaches_in_a_large_room_whom_it_mentions(memory: Memory) -> None:
    people = [f"UX{n}" for n in range(40)]
    crowd = Room(id="C7", name="all", members=frozenset({ANN, BO, GIL, *people}))
    it = office(crowd)
    it.says("C1", ANN, "ops-1: approved")
    it.passes(hours=2)
    it.says("C2", BO, "ops-1: rejected")
    it.office.read_into(memory)
    house = House(memory)
    page = house.ask(BO, "announce-plan ops-1")
    assert "#all (mentioning Gil)" in shown(page)
    wanted = [
        section.lines[0].button
        for section in page.page.sections
        if any("#all" in line.text for line in section.lines)
    ]
    assert wanted[0] is not None
    house.press(BO, wanted[0])
    [post] = house.chat.in_room("C7")
    assert post.mentions == (GIL,)
    assert status(house.memory, GIL) == "knows"
    others = {one.person.id for one in who_knows(memory, ANN).having("knows")}
    assert not others & set(people)


@pytest.fixture(scope="module")
def acme(workspace: conftest.Workspace) -> Iterator[House]:
    with workspace() as memory:
        export = exports.read(ACME)
        replay(Bot(memory, Rules()), export)
        yield House(memory, max(heard.at for heard in export.heard) + timedelta(days=1))


def test_every_plan_of_acme_comes_true_when_it_is_posted(acme: House) -> None:
    """Predicted is measured: who is wrong afterwards, decision by decision and asker by asker."""
    memory, posted = acme.memory, 0
    people = [one for one in memory.people() if not (one.bot or one.gone)]
    for person in people[::4]:
        for entity in sorted(memory.entities(memory.reader(person.id))):
            page = acme.ask(person.id, f"announce-plan {entity}")
            plans = [one for one in buttons_of(page) if one.action == actions.POST]
            if not plans:
                continue
            before = _announcement(memory, person.id, entity)
            decided = memory.truth(entity).evidence
            acme.press(person.id, plans[posted % len(plans)])
            acme.deliver()
            after = _announcement(memory, person.id, entity)
            assert after.wrong_before == before.plans[posted % len(plans)].wrong_after, entity
            assert memory.truth(entity).evidence == decided
            posted += 1
    assert posted >= 5
    assert len({post.key for post in acme.chat.posts}) == len(acme.chat.posts)


def _announcement(memory: Memory, who: str, entity: str) -> Announcement:
    answer = questions.answer(
        memory, Command(name="announce-plan", text=entity, who=who, room="", at=NOON)
    )
    assert isinstance(answer, Announcement)
    return answer


def _press(one: Button, who: str, house: House) -> Any:
    return Press(action=one.action, value=one.value, who=who, room="C1", at=house.clock)


# --- handing over ---------------------------------------------------------------------------------


def test_a_second_handoff_is_empty(memory: Memory) -> None:
    it = stale()
    it.says("C2", ANN, "date-6: monday")
    it.says("C1", ANN, f"told <@{GIL}> ops-1 is approved")
    it.office.read_into(memory)
    house = House(memory)
    first = house.ask(ANN, "handoff @ann @gil")
    reply = house.press(ANN, button(first, actions.HAND))
    assert reply.page.head == "Handed over to Gil."
    [post] = house.chat.posts
    assert post.where.room == f"DM-{GIL}"
    assert "date-6: monday" in shown(post.page)
    again = house.ask(ANN, "handoff @ann @gil")
    assert again.page.head.startswith("Nothing to hand over")
    assert house.press(ANN, button(first, actions.HAND)).page.head.startswith("Nothing")
    assert len(house.chat.posts) == 1
    assert status(memory, GIL, "date-6") == "knows"
    found = {one.person.id: one for one in who_knows(memory, ANN, "date-6").people}
    assert found[GIL].grade == "exposed"  # written to is not yet read
    house.press(GIL, button(post.page, actions.GOT))
    found = {one.person.id: one for one in who_knows(memory, ANN, "date-6").people}
    assert found[GIL].grade == "acknowledged"


def test_what_the_other_may_not_read_is_listed_to_the_presser_alone(memory: Memory) -> None:
    it = stale()
    it.says("P1", BO, "vault-2: sell")
    it.office.read_into(memory)
    house = House(memory)
    reply = house.press(BO, button(house.ask(BO, "handoff @bo @gil"), actions.HAND))
    assert "tell them by hand" in shown(reply)
    assert "vault-2" in shown(reply)
    assert all("vault" not in shown(post.page) for post in house.chat.posts)


def test_a_handoff_by_somebody_else_is_made_with_their_rights(memory: Memory) -> None:
    it = stale()
    it.says("P1", BO, "vault-2: sell")
    it.office.read_into(memory)
    house = House(memory)
    wanted = button(house.ask(BO, "handoff @bo @gil"), actions.HAND)
    reply = house.press(GIL, wanted)
    assert house.chat.posts == []
    assert "vault" not in shown(reply)


# --- what somebody saw ----------------------------------------------------------------------------


def test_i_know_this_and_i_never_saw_this(house: House) -> None:
    mind = house.ask(GIL, "mymind")
    know = button(mind, actions.KNOW)
    for _ in range(2):
        assert house.press(GIL, know).page.head == "Noted: ops-1 is “rejected”."
    assert status(house.memory, GIL) == "knows"
    unseen = button(house.ask(GIL, "mymind"), actions.UNSEEN)
    for _ in range(2):
        assert house.press(GIL, unseen).page.head == "Noted: you never saw that."
    assert status(house.memory, GIL) == "stale"
    house.press(GIL, know)  # an old page: it was pressed before, and says nothing new
    assert status(house.memory, GIL) == "stale"
    house.press(GIL, button(house.ask(GIL, "mymind"), actions.KNOW))
    assert status(house.memory, GIL) == "knows"


def test_nobody_can_unsay_by_a_button(house: House) -> None:
    event = who_knows(house.memory, BO).decided
    assert event is not None
    reply = house.press(BO, actions.unseen(event.event, house.clock))
    assert reply.page.head == "You said that yourself."
    assert status(house.memory, BO) == "knows"


def test_who_missed_this(memory: Memory) -> None:
    it = stale()
    ts = it.says("C2", BO, "ops-1: postponed")
    two = it.says("C2", BO, "date-6: monday\nvalue-2: open")
    nothing = it.says("C2", BO, "hello")
    secret = it.says("P1", BO, "vault-2: sell")
    it.office.read_into(memory)
    house = House(memory)
    page = house.ask(ANN, "who-missed", "C2", ts=ts)
    assert "Gil has “approved”" in shown(page)
    assert {one.action for one in page.page.buttons} == {
        actions.PLAN, actions.KNOW, actions.UNSEEN,
    }  # fmt: skip
    assert "date-6: monday" in shown(house.ask(ANN, "who-missed", "C2", ts=two))
    for room, one in (("C2", nothing), ("P1", secret), ("P9", secret), ("C2", "1.2")):
        assert house.ask(GIL, "who-missed", room, ts=one).page.head == NOTHING_STATED


def test_a_mention_is_recorded_as_a_decision(memory: Memory) -> None:
    it = stale()
    ts = it.says("C2", CY, "I think ops-1 is postponed")
    it.office.read_into(memory)
    house = House(memory)
    page = house.ask(ANN, "record", "C2", ts=ts)
    reply = house.press(ANN, button(page, actions.RECORD), "C2")
    assert reply.aloud
    assert "ops-1 is “postponed”" in reply.page.head
    assert memory.truth("ops-1").value == "postponed"
    assert not house.press(ANN, button(page, actions.RECORD), "C2").aloud  # it is decided by now
    assert "/decide" in shown(house.ask(ANN, "record", "C2", ts="1.2"))
    assert house.press(GIL, actions.record("no-such-event"), "C2").page.head == MISSING


# --- one's own page -------------------------------------------------------------------------------


def test_the_own_page_shows_what_is_stale_what_can_be_corrected_and_who_asked(house: House) -> None:
    house.ask(ANN, "explain @gil ops-1")
    house.ask(ANN, "explain @gil ops-1")
    house.ask(BO, "misinformed @gil")
    house.ask(GIL, "misinformed @gil")
    own = shown(house.home(GIL))
    assert "You have 1 outdated value" in own
    assert "it is now “rejected”" in own
    assert "Ann, 1 time, last on 1 Jun 2026" in own
    assert "Bo, 1 time" in own
    assert "Gil," not in own
    assert "What you might correct for others" in shown(house.home(BO))
    assert "Gil has “approved” for ops-1" in shown(house.home(BO))
    assert "Who asked about you" not in shown(house.home(BO))


def test_leaving_oneself_out_and_coming_back(house: House) -> None:
    assert "left out" in shown(house.press(GIL, button(house.home(GIL), actions.OPT_OUT)))
    assert "Gil" not in shown(house.ask(ANN, "whoknows ops-1"))
    assert "You are left out" in shown(house.home(GIL))
    assert house.ask(GIL, "whoknows ops-1").page.head.startswith("ops-1 is")  # may ask all the same
    mind = house.ask(GIL, "mymind")
    assert mind.page.head == "You asked to be left out, so nothing is thought of you."
    house.press(GIL, button(mind, actions.OPT_IN))
    assert status(house.memory, GIL) == "stale"


def test_only_oneself_is_forgotten_and_after_it_nothing_is_known(house: House) -> None:
    house.ask(ANN, "explain @gil ops-1")
    assert buttons_of(house.ask(ANN, "forget @gil")) == []
    assert buttons_of(house.ask(ANN, "forget")) == []
    asked = house.ask(GIL, "forget me")
    reply = house.press(GIL, button(asked, actions.FORGET))
    RUNNER.run(house.desk.finish())
    assert "forgotten" in reply.page.head
    assert house.memory.forgets(GIL)
    assert "You asked to be forgotten" in shown(house.ask(GIL, "whoknows ops-1"))
    assert "You asked to be forgotten" in shown(house.press(GIL, button(asked, actions.FORGET)))
    assert house.memory.noted(f"asked:{GIL}") == []
    assert "Gil" not in shown(house.ask(ANN, "whoknows ops-1"))


def test_an_order_of_somebody_who_is_forgotten_is_not_posted(house: House) -> None:
    async def ordered() -> None:
        wanted = button(await house.desk.ask(_command("announce-plan ops-1", BO)), actions.POST)
        await house.desk.press(_press(wanted, BO, house))  # nobody pumps: it waits

    RUNNER.run(ordered())
    house.memory.forget(BO)
    house.deliver()
    assert house.chat.posts == []


def _command(line: str, who: str) -> Command:
    name, _, text = line.partition(" ")
    return Command(name=name, text=text, who=who, room="C1", at=NOON)


# --- as if it had never been said -----------------------------------------------------------------


@pytest.mark.parametrize("who", ASKING)
def test_commands_pages_and_presses_are_as_if_the_unreadable_had_never_been_said(
    workspace: conftest.Workspace, who: str
) -> None:
    with workspace() as full, workspace() as some:
        OFFICE.read_into(full)
        OFFICE.for_(who).read_into(some)
        houses = [House(full, LATER), House(some, LATER)]
        lines = list(everything())[ASKING.index(who) % 3 :: 3]
        lines += [("forget", "me"), ("status", "digest"), ("help", ""), ("forget", "@bo")]
        for name, text in lines:
            for room in ("C1", "P1") if name in ("whoknows", "misinformed") else ("C1",):
                one, other = (
                    house.at(LATER).ask(who, f"{name} {text} --aloud", room) for house in houses
                )
                assert _same(one, full) == _same(other, some), (name, text, room)
        assert _same(houses[0].at(LATER).home(who), full) == _same(
            houses[1].at(LATER).home(who), some
        )
        messages = {(h.room, h.ts) for h in OFFICE.heard if isinstance(h, Message)}
        for room, ts in sorted(messages):
            for name in ("who-missed", "record"):
                one, other = (house.at(LATER).ask(who, name, room, ts=ts) for house in houses)
                assert _same(one, full) == _same(other, some), (name, room, ts)


@pytest.mark.parametrize("who", [CY, DEE, GIL])
def test_forged_buttons_give_what_typing_gives(workspace: conftest.Workspace, who: str) -> None:
    """Buttons of somebody who may read everything, pressed by somebody who may not."""
    with workspace() as full, workspace() as some:
        OFFICE.read_into(full)
        OFFICE.for_(who).read_into(some)
        house, less = House(full, LATER), House(some, LATER)
        pages = [
            house.ask(ANN, line)
            for line in (
                "whoknows vault-2", "announce-plan ops-1", "announce-plan vault-2", "misinformed",
                "handoff @ann @gil", "handoff @bo @ann", "mymind", "explain @bo vault-2",
            )
        ]  # fmt: skip
        wanted = {one for page in pages for one in buttons_of(page)}
        events = [one.event for one in full.spoken()]
        wanted |= {actions.got((event,)) for event in events}
        wanted |= {actions.know(event, LATER) for event in events[:6]}
        wanted |= {actions.unseen(event, LATER) for event in events[6:12]}
        wanted |= {actions.record(event) for event in events}
        wanted |= {actions.later(room, "2026-06-01") for room in ("P1", "C1", "P9")}
        wanted |= {Button("", actions.MORE, f"{q} 0") for q in (
            "whoknows vault-2", "misinformed", "handoff U1 U2", "explain U2 vault-2", "nonsense U1",
            "decide U1 x", "common-ground U1 U2", "status", "mymind", "misinformed-person U1",
        )}  # fmt: skip
        for n, one in enumerate(sorted(wanted, key=repr)):
            now = LATER + timedelta(hours=n)
            here = house.at(now).pressed(who, one)
            there = less.at(now).pressed(
                who, one._replace(value=one.value.replace(full.sid, some.sid))
            )
            assert _same(here, full) == _same(there, some), one
        assert [_posted(post, full) for post in house.chat.posts] == [
            _posted(post, some) for post in less.chat.posts
        ]


def _posted(post: Any, memory: Memory) -> str:
    return f"{post.where} {shown(post.page)}".replace(memory.sid, "SID")


def _same(what: Any, memory: Memory) -> str:
    return shown(what).replace(memory.sid, "SID")


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "x" * 5_000,
        "a b c d e f",
        "vault-2\n0",
        "é",
        "ops-1 -1",
        "../..",
        "{}",
        "whoknows  0",
    ],
)
def test_nonsense_in_a_button_is_a_sentence(house: House, value: str) -> None:
    known = [getattr(actions, name) for name in dir(actions) if name.isupper() and name[0] != "_"]
    for action in (*known, "nonsense"):
        if action in (
            actions.FORGET,
            actions.OPT_OUT,
            actions.QUIET,
            actions.NAMED,
            actions.OPT_IN,
        ):
            continue  # whatever they hold, they are about the presser
        reply = house.press(GIL, Button("", action, value))
        assert reply.page.head
        assert reply.page.head != SORRY, (action, value)
    assert house.chat.posts == []
    assert OUTDATED in shown(house.press(GIL, Button("", "nonsense", value)))


def test_whoever_comes_into_a_room_keeps_a_plan_from_saying_what_they_may_not_read(
    memory: Memory,
) -> None:
    it = office()
    it.says("P1", BO, "vault-2: hold")
    it.says("P1", ANN, "I think vault-2 is hold")
    it.passes(hours=2)
    it.moves("P1", ANN)
    it.says("P1", BO, "vault-2: sell")
    it.moves("P1", ANN)
    it.office.read_into(memory)
    house = House(memory)
    page = house.ask(BO, "announce-plan vault-2", "P1")
    wanted = button(page, actions.POST)
    at = house.clock
    memory.record(Enter(id="dee-comes", at=at, person=DEE, room="P1"))
    house.press(BO, wanted, "P1")
    assert all("vault" not in shown(p.page) for p in house.chat.in_room("C1"))
    assert all(p.where.room in ("P1", f"DM-{ANN}") for p in house.chat.posts)
    assert FAY not in {m for p in house.chat.posts for m in p.mentions}
