"""What one event of Slack tells; cases of section C of the Slack research, by their number."""

from typing import Any

import pytest

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
    news,
)
from bot.adapters.slack_records import moment_of
from bot.chat import Command, Enter, Exit, Message, Person, Reaction
from tests.fakes.slack_state import Happened, Workspace

OWN = Own("T1", "U0BOT", "B0BOT", "A1")
PEOPLE = {
    "U0BOT": Person(id="U0BOT", name="us", bot=True),
    "U9BOT": Person(id="U9BOT", name="deploys", bot=True),
    "U1": Person(id="U1", name="Ann"),
}


def here() -> Workspace:
    made = Workspace()
    for id in ("U1", "U2", "U3"):
        made.person(id)
    made.channel("C1", "plans", ["U1", "U2", made.bot])
    return made


def told(*events: Any) -> list[News]:
    found: list[News] = []
    for event in events:
        found += news(event.event if isinstance(event, Happened) else event, OWN, PEOPLE)
    return found


def one(*events: Any) -> Any:
    [only] = told(*events)
    return only


def message(text: str, ts: str = "1800000000.000100", **more: Any) -> dict[str, Any]:
    return {"type": "message", "channel": "C1", "user": "U1", "text": text, "ts": ts} | more


class TestMessages:
    def test_a_message_is_what_was_said_where_and_when(self) -> None:
        ts, happened = here().say("U1", "C1", "decision-42: approved")
        said = one(*happened)
        assert isinstance(said, Message)
        assert (said.room, said.ts, said.author) == ("C1", ts, "U1")
        assert (said.text, said.at) == ("decision-42: approved", moment_of(ts))
        assert (said.thread, said.app, said.system, said.removed) == (None, None, False, False)

    def test_a_links_preview_is_no_edit(self) -> None:
        """C1, whether it comes after its message or before it."""
        before = message("decision-42 is approved https://ex.test/a")
        preview = {
            "type": "message", "subtype": "message_changed", "hidden": True, "channel": "C1",
            "ts": "1800000001.000200", "message": before | {"attachments": [{"title": "A"}]},
            "previous_message": before,
        }  # fmt: skip
        assert len(told(before, preview)) == 1
        assert len(told(preview, before)) == 1

    def test_a_preview_of_an_edited_message_is_no_further_edit(self) -> None:
        edited = message("new") | {"edited": {"user": "U1", "ts": "1800000009.000000"}}
        preview = {
            "type": "message", "subtype": "message_changed", "channel": "C1",
            "ts": "1800000010.000200", "message": edited | {"attachments": [{}]},
            "previous_message": edited,
        }  # fmt: skip
        assert told(preview) == []

    def test_an_app_that_draws_its_card_anew_says_nothing(self) -> None:
        """C2: no user in either half, and the text unchanged."""
        card = {
            "bot_id": "B7",
            "subtype": "bot_message",
            "ts": "1800000000.000100",
            "text": "ticket 9",
        }
        again = {
            "type": "message", "subtype": "message_changed", "channel": "C1",
            "ts": "1800000001.000200", "message": card | {"blocks": [{}]}, "previous_message": card,
        }  # fmt: skip
        assert told(again) == []
        assert told(again | {"message": {}}) == []
        assert told(again | {"message": None, "previous_message": 7}) == []

    def test_an_edit_is_the_message_as_it_reads_now(self) -> None:
        """C7: it carries everything that is needed where the message itself comes later."""
        place = here()
        ts, first = place.say("U1", "C1", "decision-42: approved")
        [edit] = told(*place.edit("C1", ts, "decision-42: rejected", by="U2"))
        assert isinstance(edit, Message)
        assert (edit.ts, edit.at, edit.author) == (ts, moment_of(ts), "U1")
        assert edit.text == "decision-42: rejected"
        assert edit.edited is not None
        assert (edit.edited.by, edit.edited.at > edit.at) == ("U2", True)
        original = one(*first)
        assert original.edited is None

    def test_a_broadcast_reply_is_one_statement_for_the_whole_channel(self) -> None:
        """C8."""
        place = here()
        root, _ = place.say("U1", "C1", "plan")
        _, happened = place.say(
            "U2", "C1", "decision-42 moved to Friday", thread=root, broadcast=True
        )
        said = one(*happened)
        assert (said.broadcast, said.thread, said.author) == (True, root, "U2")

    def test_a_reply_belongs_to_its_thread(self) -> None:
        place = here()
        root, _ = place.say("U1", "C1", "plan")
        _, happened = place.say("U2", "C1", "fine", thread=root)
        assert (one(*happened).thread, one(*happened).broadcast) == (root, False)

    def test_a_reply_that_shows_only_in_its_root_is_looked_for(self) -> None:
        """C9, in both disguises."""
        root = message("plan", "1800000040.000100", thread_ts="1800000040.000100", reply_count=1,
                       latest_reply="1800000041.000200")  # fmt: skip
        replied = {
            "type": "message", "subtype": "message_replied", "hidden": True, "channel": "C1",
            "ts": "1800000041.000300", "message": root,
        }  # fmt: skip
        assert told(replied) == [Look("C1", "1800000040.000100")]
        counted = replied | {
            "subtype": "message_changed", "previous_message": message("plan", "1800000040.000100")
        }  # fmt: skip
        assert told(counted) == [Look("C1", "1800000040.000100")]
        assert told(counted | {"previous_message": root}) == []

    def test_a_deletion_is_its_message_removed_and_says_nothing_of_its_words(self) -> None:
        place = here()
        ts, _ = place.say("U1", "C1", "decision-42: approved")
        gone = one(*place.delete("C1", ts))
        assert (gone.ts, gone.removed, gone.text, gone.author) == (ts, True, "", "U1")
        assert gone.gone is not None
        assert gone.gone > gone.at

    def test_a_tombstone_is_a_deletion_and_no_word_of_anybodys(self) -> None:
        place = here()
        root, _ = place.say("U1", "C1", "decision-42: approved")
        place.say("U2", "C1", "fine", thread=root)
        gone = one(*place.delete("C1", root))
        assert (gone.ts, gone.removed, gone.text, gone.author) == (root, True, "", "U1")

    def test_programs_say_nothing_as_a_person(self) -> None:
        """C26, also where a program posts under a person's name."""
        for more in (
            {"user": "U9BOT", "bot_id": "B9", "app_id": "A9"}, {"user": "U9BOT"},
            {"bot_id": "B9"}, {"subtype": "bot_message", "username": "Ann", "user": None},
        ):  # fmt: skip
            said = one(message("decision-42 is approved", **more))
            assert said.author is None
            assert said.app is not None

    def test_our_own_posts_are_a_programs(self) -> None:
        said = one(message("decision-42 is approved", user="U0BOT", bot_id="B0BOT"))
        assert (said.author, "B0BOT" in said.app_ids) == (None, True)

    @pytest.mark.parametrize(
        "subtype",
        ["channel_join", "channel_topic", "pinned_item", "huddle_thread", "sh_room_created",
         "ekm_access_denied", "reminder_add", "assistant_app_thread", "something_new"],
    )  # fmt: skip
    def test_lines_of_the_platform_are_nobodys(self, subtype: str) -> None:
        assert one(message("x", subtype=subtype)).system

    def test_a_message_without_text_is_read_from_its_blocks(self) -> None:
        blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "decision-42: a &amp; b"}}]
        assert one(message("", blocks=blocks)).text == "decision-42: a &amp; b"

    def test_text_is_handed_on_as_it_was_typed(self) -> None:
        """C15, C18: who parses it knows Slack's escapes and every form of a mention."""
        text = "<@U1|ann> <@W2>\u00a0decision-42 is “R&amp;D &lt;v2&gt;” <!subteam^S1>"
        assert one(message(text)).text == text

    @pytest.mark.parametrize(
        "broken",
        [
            {}, {"type": "message"}, message("x", ts="oops"), message("x", channel=None),
            {"type": "message", "subtype": "message_changed", "channel": "C1"},
            {"type": "message", "subtype": "message_deleted", "channel": "C1"},
            {"type": "reaction_added", "item": None}, {"type": "member_joined_channel"},
            {"type": "user_change", "user": None}, {"type": "channel_id_changed"}, {"type": ["x"]},
            {"type": "app_mention"}, {"type": "channel_left"},
        ],
    )  # fmt: skip
    def test_what_is_broken_tells_nothing(self, broken: dict[str, Any]) -> None:
        assert told(broken) == []

    def test_a_text_that_is_none_is_no_text(self) -> None:
        """A3: bolt's own matcher fails on it."""
        assert one(message("x") | {"text": None}).text == ""


class TestReactions:
    def test_a_reaction_is_kept_with_its_tone(self) -> None:
        """C22: given twice in two tones and taken back once, it still stands; so both are told."""
        place = here()
        ts, _ = place.say("U1", "C1", "decision-42: approved")
        happened = [
            *place.react("U3", "C1", ts, "+1::skin-tone-4"), *place.react("U3", "C1", ts, "+1"),
            *place.unreact("U3", "C1", ts, "+1"),
        ]  # fmt: skip
        given = told(*happened)
        assert [(one.name, one.who, one.removed) for one in given if isinstance(one, Reaction)] == [
            ("+1::skin-tone-4", "U3", False), ("+1", "U3", False), ("+1", "U3", True),
        ]  # fmt: skip

    def test_programs_and_files_give_none(self) -> None:
        event = {
            "type": "reaction_added", "user": "U0BOT", "reaction": "eyes", "event_ts": "1800000001.0",
            "item": {"type": "message", "channel": "C1", "ts": "1800000000.000100"},
        }  # fmt: skip
        assert told(event) == []
        assert told(event | {"user": "U1", "item": {"type": "file", "file": "F1"}}) == []
        assert len(told(event | {"user": "U1"})) == 1


class TestPeopleAndRooms:
    def test_who_comes_and_goes_has_an_id_that_is_the_same_when_told_again(self) -> None:
        place = here()
        came, _ = place.join("U3", "C1")
        [left] = place.leave("U3", "C1")
        enter, again, exit = told(came, came, left)
        assert isinstance(enter, Enter)
        assert isinstance(exit, Exit)
        assert enter == again
        assert (enter.person, enter.room, enter.id != exit.id) == ("U3", "C1", True)

    def test_when_we_come_and_go_ourselves_that_is_about_the_room(self) -> None:
        """C10: three events say so, and not each of them always comes."""
        place = here()
        [went] = place.leave(place.bot, "C1")
        came, _ = place.join(place.bot, "C1")
        left = {"type": "member_left_channel", "user": "U0BOT", "channel": "C1", "event_ts": "1.0"}
        private = {"type": "group_left", "channel": "G1", "event_ts": "1.0"}
        assert [type(one) for one in told(went, came, left, private)] == [Went, Came, Went, Went]

    def test_other_programs_do_not_come(self) -> None:
        event = {
            "type": "member_joined_channel",
            "user": "U9BOT",
            "channel": "C1",
            "event_ts": "1.0",
        }
        assert told(event) == []

    def test_a_person_is_as_described_and_of_another_team_a_guest(self) -> None:
        """C13; A9."""
        place = here()
        [gone] = place.deactivate("U3")
        known = one(gone)
        assert isinstance(known, Known)
        assert (known.person.id, known.person.gone, known.person.guest) == ("U3", True, False)
        stranger = {"type": "user_change", "user": {"id": "W1", "team_id": "T2"}, "event_ts": "1.0"}
        assert one(stranger).person.guest

    def test_a_room_that_changed_is_asked_for_anew_and_a_closed_one_is_known_as_that(self) -> None:
        assert told(*here().close("C1")) == [Renewed("C1", closed=True)]
        renamed = {
            "type": "channel_rename",
            "channel": {"id": "C1", "name": "new"},
            "event_ts": "1.0",
        }
        assert told(renamed) == [Renewed("C1")]
        archived = {"type": "group_archive", "channel": "G1", "event_ts": "1.0"}
        assert told(archived) == [Renewed("G1")]

    def test_an_id_that_changed_and_a_history_that_did(self) -> None:
        changed = {"type": "channel_id_changed", "old_channel_id": "C1", "new_channel_id": "C2"}
        assert told(changed) == [Renamed("C1", "C2")]
        assert told({"type": "channel_history_changed", "channel": "C1"}) == [Look("C1")]
        assert told({"type": "app_rate_limited"}) == [LookEverywhere()]

    def test_who_throws_us_out_takes_the_bots_token(self) -> None:
        assert told({"type": "app_uninstalled"}) == [Uninstalled()]
        assert told({"type": "tokens_revoked", "tokens": {"oauth": ["U1"]}}) == []
        assert told({"type": "tokens_revoked", "tokens": {"bot": ["U0BOT"]}}) == [Uninstalled()]

    def test_only_our_page_is_a_page(self) -> None:
        event = {"type": "app_home_opened", "user": "U1", "tab": "home"}
        assert told(event, event | {"tab": "messages"}) == [Opened("U1")]


class TestQuestions:
    def test_a_mention_is_a_question_and_the_message_beside_it_is_none(self) -> None:
        """C3."""
        ts, happened = here().say("U1", "C1", "<@U0BOT> whoknows decision-42")
        said, asked = told(*happened)
        assert isinstance(said, Message)
        assert isinstance(asked, Command)
        assert (asked.name, asked.text, asked.ts) == ("whoknows", "decision-42", ts)
        assert (asked.who, asked.room, asked.thread) == ("U1", "C1", None)

    def test_in_a_thread_the_question_knows_its_thread(self) -> None:
        place = here()
        root, _ = place.say("U2", "C1", "plan")
        _, happened = place.say("U1", "C1", "  <@U0BOT>: Explain <@U2> decision-42", thread=root)
        [_, asked] = told(*happened)
        assert isinstance(asked, Command)
        assert (asked.name, asked.text, asked.thread) == ("explain", "<@U2> decision-42", root)

    @pytest.mark.parametrize("text", ["ask <@U0BOT> about it", "<@U0BOT>", "<@U0BOT>  ", "<@U9>"])
    def test_whoever_speaks_of_us_or_says_nothing_asks_nothing(self, text: str) -> None:
        assert told(message(text, type="app_mention")) == []

    def test_in_a_direct_message_no_mention_is_needed(self) -> None:
        said, asked = told(message("/whoknows decision-42", channel="D1", channel_type="im"))
        assert isinstance(said, Message)
        assert isinstance(asked, Command)
        assert (asked.name, asked.text) == ("whoknows", "decision-42")

    def test_programs_ask_nothing(self) -> None:
        assert told(message("<@U0BOT> status", type="app_mention", bot_id="B9")) == []
        answer = message(
            "We are fine.", channel="D1", channel_type="im", user="U0BOT", bot_id="B0BOT"
        )
        assert [type(one) for one in told(answer)] == [Message]

    def test_a_page_that_was_pasted_is_cut(self) -> None:
        asked = one(message("<@U0BOT> explain " + "x" * 9_000, type="app_mention"))
        assert len(asked.text) < 3_001
