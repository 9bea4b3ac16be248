"""Being in the room is not knowing: rule 1 of the product, rule by rule.

Most rules are read off the events that perception makes. Those that only an edit, a crowd or a
thread in a memory can show are asked of a memory.
"""

import random
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bot import perception
from bot.chat import Edit, Message, Room
from bot.perception import Crowds, Line, Said, engagements, events
from engine import Memory
from engine.events import Enter, Event, Notice, Report, Retract, Say, Tell
from extraction import Statement

T0 = datetime(2024, 3, 1, 10, tzinfo=UTC)
HALF_AN_HOUR = 30 * 60
A_DAY = 24 * 3600
PEOPLE = frozenset({"ann", "bo", "cy", "di", "ed"})
PLANS = Room(id="plans", name="plans-2024")
SECRET = Room(id="secret", name="secret", kind="private", members=frozenset({"ann", "bo", "cy"}))
DIRECT = Room(id="dm", name="ann, bo", kind="direct", members=frozenset({"ann", "bo"}))


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    return f"{(at(seconds) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds():.6f}"


def message(
    seconds: float = 0,
    by: str | None = "ann",
    text: str = "",
    thread: float | None = None,
    edited: float | None = None,
    **more: object,
) -> Message:
    fields: dict[str, object] = {
        "room": "plans",
        "ts": stamp(seconds),
        "at": at(seconds),
        "author": by,
        "text": text,
        "thread": None if thread is None else stamp(thread),
        "edited": None if edited is None else Edit(at=at(edited), by=by or "app"),
    }
    return Message.model_validate(fields | more)


def statement(entity: str = "ops-1", by: str = "ann", **more: object) -> Statement:
    fields = {
        "kind": "say", "message": "m", "speaker": by, "entity": entity, "name": entity.upper(),
        "value": "approved", "decides": True, "quote": "quoted",
    }  # fmt: skip
    return Statement.model_validate(fields | more)


def perceived(
    heard: Message, *stated: Statement, room: Room = PLANS, crowd: int = 25
) -> list[Say | Tell | Report]:
    return events(heard, stated or (statement(),), room, "T1", PEOPLE, crowd)


def say(heard: Message, room: Room = PLANS, value: str = "approved") -> Say:
    [made] = perceived(heard, statement(by=heard.author or "app", value=value), room=room)
    assert isinstance(made, Say)
    return made


def line(
    seconds: float,
    by: str | None = "bo",
    said: str | None = None,
    mentions: Iterable[str] = (),
    **more: object,
) -> Line:
    """A line of the room; `said` names an event it stated when it was written."""
    edited = more.get("edited")
    when = at(edited) if isinstance(edited, int | float) else at(seconds)
    made = perception.line(message(seconds, by, **more), mentions, ())  # type: ignore[arg-type]
    return made if said is None else made._replace(said=(Said(said, when),))


def acknowledged(
    heard: Message, made: Iterable[Say | Tell | Report], people: frozenset[str]
) -> list[Notice]:
    """What the reactions shown with a message say."""
    wrote = perception.line(heard, (), made, people)
    found = engagements([wrote], PLANS.model_copy(update={"id": heard.room}), people)
    return [one for one in found if isinstance(one, Notice) and one.grade == "acknowledged"]


def seen(
    *lines: Line, room: Room = PLANS, people: frozenset[str] = PEOPLE
) -> dict[tuple[str, str, str], float]:
    """Event, person and grade, to the seconds at which the first sign of it was."""
    found: dict[tuple[str, str, str], float] = {}
    for one in engagements(lines, room, people):
        if isinstance(one, Notice):
            assert one.room == room.id
            found[one.event, one.person, one.grade] = (one.at - T0).total_seconds()
    return found


def engaged(*lines: Line, room: Room = PLANS, people: frozenset[str] = PEOPLE) -> dict[str, float]:
    """Who engaged with the event "said", and when."""
    found = seen(*lines, room=room, people=people)
    return {
        who: when
        for (event, who, grade), when in found.items()
        if (event, grade) == ("said", "engaged")
    }


def told(*lines: Line, room: Room = PLANS) -> set[str]:
    """Whom the event "said" reached in its thread."""
    found = seen(*lines, room=room)
    return {who for event, who, grade in found if (event, grade) == ("said", "exposed")}


class TestRooms:
    @pytest.mark.parametrize(("people", "witnesses"), [(25, 25), (26, 1)])
    def test_being_there_makes_a_witness_in_rooms_up_to_25_people(
        self, memory: Memory, people: int, witnesses: int
    ) -> None:
        crowd = [f"p{i:02}" for i in range(people - 1)]
        come_in(memory, "ann", *crowd)
        memory.record(say(message(60)))
        assert len(holders(memory, "approved")) == witnesses
        assert "ann" in holders(memory, "approved")

    def test_somebody_who_only_could_have_seen_a_change_is_never_misinformed(
        self, memory: Memory
    ) -> None:
        come_in(memory, "ann", *[f"p{i:02}" for i in range(30)])
        memory.record(say(message(60)))
        memory.record(say(message(120), value="rejected"))
        assert memory.misinformed().beliefs == ()
        assert {p.status for p in memory.who_knows("ops-1").people} == {"knows", "could_have_seen"}

    def test_the_limit_is_a_setting_by_id_before_name_before_the_usual_one(self) -> None:
        limits = Crowds(10, {"C1": 3, "general": 200})
        assert limits.of("C1", "general") == 3
        assert limits.of("C2", "general") == 200
        assert limits.of("C2", "plans") == 10
        assert Crowds().of("C2", "plans") == 25
        assert [e.crowd for e in perceived(message(), crowd=3) if isinstance(e, Say)] == [3]

    def test_a_group_conversation_is_a_room_with_its_members(self, memory: Memory) -> None:
        group = Room(id="plans", name="three", kind="group", members=frozenset({"ann", "bo", "cy"}))
        come_in(memory, "ann", "bo", "cy")
        memory.record(say(message(60), room=group))
        assert holders(memory, "approved") == {"ann", "bo", "cy"}

    def test_who_comes_later_has_not_heard_it(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo")
        memory.record(say(message(60)))
        memory.record(Enter(id="late", at=at(90), person="cy", room="plans"))
        assert holders(memory, "approved") == {"ann", "bo"}


class TestThreads:
    def test_a_reply_reaches_root_author_earlier_repliers_and_mentioned_people_and_nobody_else(
        self,
    ) -> None:
        root, reply = line(0, "ann", mentions=["di"]), line(100, "bo", thread=0)
        stated = line(200, "cy", "said", thread=0, mentions=["eve"])
        later, elsewhere = line(300, "ed", thread=0), line(150, "ed")
        assert told(root, reply, stated, later, elsewhere) == {"ann", "bo", "di"}

    def test_whom_the_reply_itself_mentions_it_reaches(self) -> None:
        assert told(line(0, "ann"), line(9, "bo", "said", thread=0, mentions=["di"])) == {
            "ann",
            "di",
        }

    def test_a_reply_is_for_nobody_at_once_but_its_author(self) -> None:
        assert say(message(9, thread=0)).witnesses == {}

    def test_a_reply_reaches_its_thread_in_a_memory(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo", "cy", "di")
        root, reply = message(60, "bo"), message(90, "ann", thread=60)
        hear(memory, (root, None), (reply, say(reply)))
        assert holders(memory, "approved") == {"ann", "bo"}
        reach = {p.person.id: p.grade for p in memory.who_knows("ops-1").people}
        assert reach["cy"] == "reachable"

    def test_programs_and_unknown_people_are_not_reached(self) -> None:
        root = line(0, None, mentions=["robot"])
        assert told(root, line(9, "ann", "said", thread=0)) == set()

    def test_a_root_that_is_gone_takes_nothing_away(self) -> None:
        assert told(line(5, "bo", thread=0), line(9, "ann", "said", thread=0)) == {"bo"}

    def test_a_mention_reaches_nobody_outside_a_private_room(self) -> None:
        stated = line(9, "ann", "said", thread=0, mentions=["cy", "ed"])
        assert told(line(0, "bo"), stated, room=SECRET) == {"bo", "cy"}
        assert told(line(0, "bo"), stated, line(99, "ed"), room=SECRET) == {"bo", "cy", "ed"}
        unknown = SECRET.model_copy(update={"members": None})
        assert told(line(0, "bo"), stated, room=unknown) == {"bo", "cy", "ed"}

    def test_a_root_and_a_broadcast_are_statements_for_the_whole_room(self) -> None:
        assert say(message(0, thread=0)).witnesses is None
        assert say(message(9, thread=0, broadcast=True)).witnesses is None
        shown = line(9, "ann", "said", thread=0, broadcast=True)
        assert told(line(0, "bo"), shown) == set()

    def test_a_broadcast_is_one_statement(self) -> None:
        assert len(perceived(message(9, thread=0, broadcast=True))) == 1

    def test_an_edit_of_a_reply_does_not_reach_who_had_engaged_with_what_stood_there(self) -> None:
        root, reply = line(0, "ann"), line(5, "di", thread=0)
        edited = line(9, "bo", "said", thread=0, edited=500)
        assert told(root, reply, edited, line(100, "di", thread=0)) == {"ann"}
        assert told(root, reply, edited, line(600, "di", thread=0)) == {"ann", "di"}


class TestPostingInTheRoom:
    def test_posting_within_30_minutes_engages(self) -> None:
        assert engaged(line(0, "ann", "said"), line(HALF_AN_HOUR)) == {"bo": HALF_AN_HOUR}
        assert engaged(line(0, "ann", "said"), line(HALF_AN_HOUR + 1)) == {}

    def test_posting_within_20_messages_engages(self) -> None:
        chatter = [line(i, "cy") for i in range(1, 20)]
        assert engaged(line(0, "ann", "said"), *chatter, line(20)) == {"cy": 1, "bo": 20}
        assert engaged(line(0, "ann", "said"), *chatter, line(20, "cy"), line(21)) == {"cy": 1}

    def test_replies_kept_to_threads_are_no_messages_of_the_room(self) -> None:
        replies = [line(i, "cy", thread=-9) for i in range(1, 30)]
        assert engaged(line(0, "ann", "said"), *replies, line(40)) == {"bo": 40}

    def test_a_reply_shown_to_the_room_is_posted_in_the_room(self) -> None:
        assert engaged(line(0, "ann", "said"), line(9, thread=-9, broadcast=True)) == {"bo": 9}

    def test_acting_before_is_no_sign(self) -> None:
        assert engaged(line(-1), line(0, "ann", "said")) == {}

    def test_the_first_sign_counts(self) -> None:
        assert engaged(line(0, "ann", "said"), line(30), line(20), line(10)) == {"bo": 10}

    def test_authors_do_not_engage_with_themselves(self) -> None:
        assert engaged(line(0, "ann", "said"), line(9, "ann")) == {}

    def test_programs_and_system_lines_do_not_engage(self) -> None:
        joined = line(5, "bo", system=True)
        assert engaged(line(0, "ann", "said"), line(3, None), line(4, "robot"), joined) == {}

    def test_a_reply_that_is_kept_to_its_thread_is_not_met_in_the_room(self) -> None:
        assert engaged(line(0, "ann"), line(5, "ann", "said", thread=0), line(9)) == {}


class TestReplying:
    @pytest.mark.parametrize("later", [60, 10 * A_DAY])
    def test_replying_in_its_thread_engages_at_any_later_time(self, later: float) -> None:
        assert engaged(line(0, "ann", "said"), line(later, thread=0)) == {"bo": later}

    def test_a_reply_engages_with_every_earlier_reply(self) -> None:
        lines = line(0, "cy"), line(5, "ann", "said", thread=0), line(A_DAY * 3, thread=0)
        assert engaged(*lines) == {"bo": A_DAY * 3}

    def test_replying_elsewhere_does_not_engage(self) -> None:
        assert engaged(line(0, "ann", "said"), line(HALF_AN_HOUR + 9, thread=-50)) == {}


class TestBeingMentioned:
    def test_who_is_mentioned_and_acts_anywhere_in_the_room_within_24_hours_has_engaged(
        self,
    ) -> None:
        asked = line(0, "ann", "said", mentions=["bo"])
        assert engaged(asked, line(A_DAY, thread=-50)) == {"bo": A_DAY}
        assert engaged(asked, line(A_DAY + 1, thread=-50)) == {}

    def test_who_was_not_mentioned_has_not(self) -> None:
        assert engaged(line(0, "ann", "said", mentions=["cy"]), line(A_DAY)) == {}

    def test_being_mentioned_alone_is_no_sign(self) -> None:
        assert engaged(line(0, "ann", "said", mentions=["bo"])) == {}
        assert engaged(line(-5), line(0, "ann", "said", mentions=["bo"])) == {}

    def test_people_are_mentioned_by_id_as_slack_and_discord_write_it(self) -> None:
        text = "<@U1> <@U2|bo lee> <@!33> <#C1|plans> <!here> <!subteam^S1> @ann <@>"
        assert perception.mentioned(text) == {"U1", "U2", "33"}


class TestReactions:
    def reactions(self, people: frozenset[str] = PEOPLE, **given: tuple[str, ...]) -> list[str]:
        heard = message(reactions=given)
        found = acknowledged(heard, perceived(heard), people)
        assert all(one.grade == "acknowledged" and one.room == "plans" for one in found)
        return [one.person for one in found]

    def test_a_reaction_acknowledges(self) -> None:
        assert self.reactions(eyes=("bo", "cy")) == ["bo", "cy"]

    def test_several_reactions_of_one_person_count_once(self) -> None:
        assert self.reactions(eyes=("bo",), plus=("bo",)) == ["bo"]

    def test_reactions_of_programs_and_of_the_author_show_nothing(self) -> None:
        assert self.reactions(eyes=("robot", "ann")) == []

    def test_a_reaction_is_about_every_statement_of_the_message(self) -> None:
        heard = message(reactions={"eyes": ("bo",)})
        both = perceived(heard, statement("ops-1"), statement("ops-2"))
        found = acknowledged(heard, both, PEOPLE)
        assert [one.event for one in found] == [one.id for one in both]
        assert len({one.id for one in found}) == 2

    def test_without_a_time_of_its_own_it_counts_as_at_the_time_of_its_message_after_its_edit(
        self,
    ) -> None:
        heard = message(0, edited=300, reactions={"eyes": ("bo",)})
        [one] = acknowledged(heard, perceived(heard), PEOPLE)
        assert one.at == at(300)

    def test_a_crowd_that_reacts_knows(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo", *[f"p{i:02}" for i in range(30)])
        heard = message(60, reactions={"eyes": ("bo",)})
        hear(memory, (heard, say(heard)))
        grades = {p.person.id: p.grade for p in memory.who_knows("ops-1").people if p.value}
        assert grades == {"ann": "stated", "bo": "acknowledged"}


class TestEdits:
    """Both versions were heard: a live chat, or an export from before the edit and one from after."""

    def versions(self, edited: float, **more: object) -> tuple[Message, Message]:
        return message(60, **more), message(60, edited=edited, **more)  # type: ignore[arg-type]

    def change(self, memory: Memory, edited: float, *others: Message, **more: object) -> None:
        old, new = self.versions(edited, **more)
        hear(
            memory, (old, say(old)), (new, say(new, value="rejected")), *((m, None) for m in others)
        )

    def test_within_60_seconds_it_replaces_the_message(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo")
        self.change(memory, 120, message(90, "bo"))
        assert holders(memory, "rejected") == {"ann", "bo"}
        assert [c.value for c in memory.timeline("ops-1").changes] == ["rejected"]
        assert memory.believes("bo", "ops-1", at=at(60)).value == "rejected"

    def test_after_60_seconds_it_is_a_value_of_its_own(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo")
        self.change(memory, 121)
        assert [c.value for c in memory.timeline("ops-1").changes] == ["approved", "rejected"]
        assert memory.believes("bo", "ops-1", at=at(120)).value == "approved"

    def test_it_informs_the_editor_and_moves_the_merely_exposed(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo")
        self.change(memory, 600)
        assert holders(memory, "rejected") == {"ann", "bo"}

    def test_who_had_engaged_keeps_the_old_value(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo", "cy")
        self.change(memory, 600, message(90, "bo"))
        assert holders(memory, "rejected") == {"ann", "cy"}
        assert holders(memory, "approved") == {"bo"}

    def test_who_had_acknowledged_keeps_the_old_value(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo", "cy")
        old, new = message(60, reactions={"eyes": ("bo",)}), message(60, edited=600)
        hear(memory, (old, say(old)), (new, say(new, value="rejected")))
        assert holders(memory, "approved") == {"bo"}

    def test_who_engaged_after_the_edit_engaged_with_the_new_version(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo", *[f"p{i:02}" for i in range(30)])
        self.change(memory, 600, message(700, "bo"))
        assert holders(memory, "rejected") == {"ann", "bo"}
        assert holders(memory, "approved") == set()
        assert memory.believes("bo", "ops-1", at=at(650)).value is None

    def test_a_sign_at_the_moment_of_the_edit_is_one_of_the_new_version(self) -> None:
        old, new = line(0, "ann", "old"), line(0, "ann", "new", edited=100)
        assert seen(old, new, line(99, "bo"), line(100, "cy"), line(101, "di")) == {
            ("old", "bo", "engaged"): 99,
            ("new", "di", "engaged"): 101,
        }

    def test_an_edit_that_states_nothing_ends_what_stood_there(self) -> None:
        old, gone = line(0, "ann", "said"), line(0, "ann", edited=100)
        assert engaged(old, gone, line(99, "bo"), line(101, "cy")) == {"bo": 99}

    def test_whom_only_the_edit_mentions_was_not_mentioned_before(self) -> None:
        old, new = line(0, "ann", "old"), line(0, "ann", "new", mentions=["bo"], edited=4000)
        assert seen(old, new, line(3000, thread=-9), line(5000, thread=-9)) == {
            ("new", "bo", "engaged"): 5000
        }

    def test_versions_name_what_they_were_edited_from(self) -> None:
        old, soon, late = message(0), message(0, edited=60), message(0, edited=61)
        assert say(soon).replaces == say(late).edits == say(old).id
        assert say(soon).at == at(0)
        assert say(late).at == at(61)
        assert len({say(old).id, say(soon).id, say(late).id}) == 3


class TestRemoval:
    def test_a_removed_message_takes_back_what_it_had_said(self) -> None:
        found = engagements([line(0, "ann", "said"), line(0, None, removed=True)], PLANS, PEOPLE)
        assert [(one.kind, one.event) for one in found] == [("retract", "said")]

    def test_every_version_is_taken_back(self) -> None:
        versions = line(0, "ann", "old"), line(0, "ann", "new", edited=100)
        found = engagements([*versions, line(0, None, removed=True)], PLANS, PEOPLE)
        assert {one.event for one in found if isinstance(one, Retract)} == {"old", "new"}

    def test_nobody_unlearns(self, memory: Memory) -> None:
        come_in(memory, "ann", "bo")
        heard = message(60)
        hear(memory, (heard, say(heard)), (message(60, None, removed=True), None))
        assert holders(memory, "approved") == {"ann", "bo"}
        shown = memory.who_knows("ops-1").decided
        assert shown is not None
        assert (shown.quote, shown.link) == (None, None)


class TestDirectMessages:
    def test_they_are_told_to_the_other_party(self) -> None:
        [made] = perceived(message(room="dm"), room=DIRECT)
        assert isinstance(made, Tell)
        assert (made.speaker, made.listeners, made.room) == ("ann", ("bo",), "dm")

    def test_one_to_a_program_is_nobody_elses_belief(self, memory: Memory) -> None:
        alone = DIRECT.model_copy(update={"members": frozenset({"ann"})})
        [made] = perceived(message(room="dm"), room=alone)
        assert isinstance(made, Tell)
        memory.record(made)
        assert holders(memory, "approved") == {"ann"}

    def test_its_replies_and_edits_are_told_too(self) -> None:
        for heard in (message(9, room="dm", thread=0), message(0, room="dm", edited=300)):
            assert [one.kind for one in perceived(heard, room=DIRECT)] == ["tell"]

    def test_a_conversation_whose_people_nobody_reported_informs_its_speaker(self) -> None:
        [made] = perceived(message(room="dm"), room=DIRECT.model_copy(update={"members": None}))
        assert isinstance(made, Tell)
        assert made.listeners == ("ann",)


class TestReports:
    def test_a_report_is_about_what_somebody_was_told(self) -> None:
        [made] = perceived(message(), statement(kind="report", about="bo", decides=False))
        assert isinstance(made, Report)
        assert (made.speaker, made.about, made.witnesses) == ("ann", "bo", None)

    def test_in_private_its_parties_hear_it(self) -> None:
        told_of_cy = statement(kind="report", about="cy", decides=False)
        [made] = perceived(message(room="dm"), told_of_cy, room=DIRECT)
        assert isinstance(made, Report)
        assert made.witnesses == {"ann": "exposed", "bo": "exposed"}


class TestIds:
    def test_several_statements_of_one_message_are_several_events(self) -> None:
        stated = [
            statement("ops-1"),
            statement("ops-1", value="rejected"),
            statement("ops-1-again1"),
            statement("ops-1", kind="report", about="bo", decides=False),
            statement("ops-1", kind="report", about="cy", decides=False),
            statement("ops-2"),
        ]
        assert len({one.id for one in perceived(message(), *stated)}) == len(stated)

    def test_they_are_the_same_for_the_same_message(self) -> None:
        assert perceived(message(edited=300)) == perceived(message(edited=300))

    def test_they_depend_on_workspace_room_and_time(self) -> None:
        [one], [other] = perceived(message(0)), perceived(message(1))
        assert one.id != other.id
        [elsewhere] = perceived(message(0, room="den"))
        [foreign] = events(message(0), (statement(),), PLANS, "T2", PEOPLE)
        assert len({one.id, elsewhere.id, foreign.id}) == 3

    @pytest.mark.parametrize("long", [1, 60, 140])
    def test_they_hold_only_what_an_id_may_hold(self, long: int) -> None:
        heard = message(0, room="C" * 80, edited=300, reactions={"eyes": ("p" * 80,)}, thread=-9)
        people = PEOPLE | {"p" * 80}
        stated = statement("x" * long), statement("x" * long, kind="report", about="p" * 80)
        made = events(heard, stated, PLANS, "T" * 60, people)
        wrote = perception.line(heard, ("p" * 80,), made)
        reply = perception.line(message(400, "p" * 80, thread=-9), (), ())
        found: list[Event] = [*made, *acknowledged(heard, made, people)]
        found += engagements([wrote, reply], PLANS, people)
        ids = [one.id for one in found]
        assert len(set(ids)) == len(ids) == 2 + 2 + 4
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,200}", id) for id in ids)

    def test_an_edit_names_a_long_id_as_its_first_version_has_it(self) -> None:
        [old], [new] = (
            events(message(0, edited=edited), (statement("x" * 190),), PLANS, "T1", PEOPLE)
            for edited in (None, 300)
        )
        assert isinstance(new, Say)
        assert new.edits == old.id != new.id


class TestEngagementsArePure:
    """The order of the lines never shows. Of lines that come in two parts, split by time, each part
    shows only what all of them show, so asking again when more lines are known only adds to it (who
    acted across the border, whom a thread reaches). Two kinds are promised less, because a part
    does not know of what happened to it since:

    * a sign from after an edit that is not known yet is taken as one of the old version (an export
      that holds the sign holds the edit: this takes an edit that was delivered late). That person
      gets the new version all the same; somebody who knows the old one only, in a room too large
      for presence to count, may then be thought to think that this person holds it;
    * where a message vanished between two exports without a tombstone, the later one has fewer
      lines to count to 20.
    """

    def history(self, seed: int, edits: bool) -> list[Line]:
        pick = random.Random(seed)
        lines, roots = list[Line](), [0.0]
        for i in range(pick.randint(5, 60)):
            when = float(i * pick.choice([20, 200, 2000]) + i)
            thread = pick.choice(roots) if pick.random() < 0.4 else None
            wrote = line(
                when,
                pick.choice([*sorted(PEOPLE), None, "robot"]),
                f"e{i}" if pick.random() < 0.3 else None,
                pick.sample(sorted(PEOPLE), pick.choice([0, 0, 1, 2])),
                thread=thread,
                broadcast=thread is not None and pick.random() < 0.2,
                system=pick.random() < 0.1,
            )
            lines.append(wrote)
            roots += [when] if thread is None else []
            if edits and wrote.said and pick.random() < 0.3:
                later = when + pick.choice([90.0, 900.0, 9000.0])
                lines.append(wrote._replace(said=(Said(f"e{i}-v", at(later)),), edited=at(later)))
            if wrote.said and pick.random() < 0.1:
                lines.append(wrote._replace(author=None, said=(), removed=True))
        return lines

    @pytest.mark.parametrize("seed", range(40))
    def test_the_order_and_repetition_of_lines_never_shows(self, seed: int) -> None:
        lines = self.history(seed, edits=True)
        shuffled = random.Random(seed).sample([*lines, *lines], 2 * len(lines))
        assert engagements(shuffled, PLANS, PEOPLE) == engagements(lines, PLANS, PEOPLE)

    @pytest.mark.parametrize("seed", range(40))
    def test_lines_split_by_time_show_together_what_all_of_them_show(self, seed: int) -> None:
        lines = self.history(seed, edits=False)
        border = random.Random(seed).choice(lines).at
        overlap = timedelta(seconds=random.Random(seed).choice([0, 60, 4000]))
        first = [one for one in lines if one.at <= border + overlap]
        second = [one for one in lines if one.at > border]
        whole = self.by_id(lines)
        for part in (first, second):
            assert self.by_id(part).items() <= whole.items()
            assert self.by_id(part) | self.by_id([*second, *first]) == whole

    def by_id(self, lines: Sequence[Line]) -> dict[str, Event]:
        return {one.id: one for one in engagements(lines, PLANS, PEOPLE)}

    def test_a_sign_from_after_an_edit_that_is_not_known_yet_is_one_of_the_old_version(
        self,
    ) -> None:
        old, new = line(0, "ann", "old"), line(0, "ann", "new", edited=100)
        sign = line(200, "bo")
        assert seen(old, sign) == {("old", "bo", "engaged"): 200}
        assert seen(old, new, sign) == {("new", "bo", "engaged"): 200}


def come_in(memory: Memory, *people: str) -> None:
    for person in people:
        memory.record(Enter(id=f"in-{person}", at=at(0), person=person, room="plans"))


def hear(memory: Memory, *heard: tuple[Message, Say | None]) -> None:
    """What was heard, as the bot remembers it."""
    lines = []
    people = PEOPLE | {p.id for p in memory.people()}
    for one, said in heard:
        made = [] if said is None else [said]
        shown: list[Event] = [*made]
        for event in shown:
            memory.record(event)
        lines.append(perception.line(one, (), made, people))
    for sign in engagements(lines, PLANS, people):
        memory.record(sign)


def holders(memory: Memory, value: str) -> set[str]:
    return {p.person.id for p in memory.who_knows("ops-1").people if p.value == value}
