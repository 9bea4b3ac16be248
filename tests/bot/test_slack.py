"""The Slack adapter with the real bolt, on the small Slack.

Cases of section C of the Slack research are named by their number. What one event tells is tested in
`test_slack_events`, how a page looks in `test_slack_blocks`.
"""

import asyncio
import html
import json
import logging
import random
import re
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from slack_sdk.oauth.installation_store import Bot, FileInstallationStore

from bot.adapters.slack import SCOPES, Habits, Setup, Slack, Team
from bot.adapters.slack_catchup import OVERLAP
from bot.chat import Command, Enter, Exit, Message, NotSent, PerhapsSent, Place, Reply
from bot.pages import Button, Line, Page, Section
from engine.errors import InvalidInput
from tests.bot.slack_doubles import (
    House,
    a_workspace,
    clock_of,
    connected,
    run,
    setup_of,
    until,
)
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_state import Happened
from tests.fakes.slack_state import Refused as Denied

BLUE = Page("decision-42 is “blue”.")


def texts(house: House, room: str = "C1") -> list[str]:
    return [text for where, text in house.said if where == room]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        many = metafunc.config.getoption("--thorough")
        metafunc.parametrize("seed", range(40 if many else 3))


# ------------------------------------------------------------------------------- the tap


class TestDelivery:
    def test_what_is_said_is_stored_before_it_is_acknowledged(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.say("U1", "C1", "decision-42: approved")
            [message] = house.messages
            assert (message.author, message.text) == ("U1", "decision-42: approved")
            name = message.ts.replace(".", "")
            assert message.link == f"https://fake.slack.test/archives/C1/p{name}"

        run(doing)

    def test_what_cannot_be_stored_is_not_acknowledged_and_comes_again(self) -> None:
        """C4 (the first attempt never reached the store), C5."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.patience = 0.2
            house.failing = 2
            await slack.say("U1", "C1", "decision-42: approved")
            assert texts(house) == ["decision-42: approved"]
            assert house.tries >= 3

        run(doing)

    def test_by_http_too_a_failed_store_is_no_success(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.retries = (0.0,)
            house.failing = 1
            await slack.say("U1", "C1", "decision-42: approved")
            assert texts(house) == ["decision-42: approved"]
            assert house.tries >= 2
            assert len(slack.acknowledged) == 1

        run(doing, public_url="https://bot.test")

    @pytest.mark.parametrize("public_url", ["", "https://bot.test"])
    def test_events_of_a_channel_are_stored_in_the_order_in_which_they_come(
        self, public_url: str
    ) -> None:
        """Bolt's own dispatching does not keep it (section 0)."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            house.slow = lambda one: 0.05 if getattr(one, "text", "") == "first" else 0.0
            happened = [
                slack.here.say("U1", "C1", text)[1] for text in ("first", "second", "third")
            ]
            other = slack.here.say("U4", "G1", "beside")[1]
            first = asyncio.create_task(slack.tell(happened[0]))
            await until(lambda: house.tries)
            await asyncio.gather(
                first, slack.tell(happened[1]), slack.tell(happened[2]), slack.tell(other)
            )
            assert set(texts(house)) == {"first", "second", "third"}
            assert texts(house)[0] == "first"
            assert house.said[0] == ("G1", "beside"), "rooms do not wait for each other"
            if not public_url:
                assert texts(house) == ["first", "second", "third"]

        run(doing, public_url=public_url)

    def test_every_event_that_is_subscribed_to_is_acknowledged(self) -> None:
        """An unknown type answered by 404 would be a failed delivery (A1)."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.patience = 0.5
            kinds = [
                "channel_rename",
                "channel_created",
                "user_huddle_changed",
                "no_such_thing",
                "",
            ]
            for kind in kinds:
                event = {"type": kind, "event_ts": slack.here.tick(), "channel": {"id": "C1"}}
                await slack.tell([Happened(event, None)])
            broken: list[Any] = [{}, {"type": 7}, {"type": "message", "channel": ["C1"], "ts": {}}]
            for event in broken:
                await slack.tell([Happened(event, None)])
            assert len(slack.acknowledged) == len(kinds) + len(broken)
            assert house.messages == []

        run(doing)

    def test_app_rate_limited_has_no_event_and_means_that_events_were_withheld(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.here.say("U1", "C1", "withheld")
            envelope = slack.envelope({}, None) | {"type": "app_rate_limited"}
            del envelope["event"]
            await slack._deliver("events_api", envelope, 1)
            assert envelope["event_id"] in slack.acknowledged
            await team.settled()
            assert texts(house) == ["withheld"]

        run(doing)

    def test_an_event_of_another_workspace_is_acknowledged_and_dropped(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            _, happened = slack.here.say("U1", "C1", "theirs")
            envelope = slack.envelope(happened[0].event, "C1")
            envelope["authorizations"][0]["team_id"] = "T9"
            await slack._deliver("events_api", envelope, 1)
            assert envelope["event_id"] in slack.acknowledged
            assert house.messages == []

        run(doing)

    def test_in_shared_channels_the_authorisation_says_whose_an_event_is(self) -> None:
        """A1: the envelope may name the other organisation."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            _, happened = slack.here.say("U1", "C1", "ours")
            envelope = slack.envelope(happened[0].event, "C1") | {"team_id": "T9"}
            await slack._deliver("events_api", envelope, 1)
            assert texts(house) == ["ours"]

        run(doing)

    def test_what_people_wrote_is_logged_nowhere(
        self, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
    ) -> None:
        caplog.set_level(logging.DEBUG)

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.patience = 0.2
            house.failing = 2
            await slack.say("U1", "C1", "xyzzy-said")
            house.slow = lambda heard: 1 / 0
            slack.delivery.retries = ()
            await slack.say("U1", "C1", "xyzzy-bug")
            house.desk.answers = lambda command: 1 / 0  # type: ignore[assignment,return-value]
            await slack.command("U1", "C1", "/whoknows", "xyzzy-asked")

        run(doing)
        assert "xyzzy" not in caplog.text
        shown = capsys.readouterr()
        assert "xyzzy" not in shown.out + shown.err


class TestHttp:
    def test_the_handshake_is_answered(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            answer = await posted(slack, {"type": "url_verification", "challenge": "abc"})
            assert answer[0] == 200
            assert "abc" in answer[1]

        run(doing, public_url="https://bot.test")

    def test_what_is_not_signed_as_it_should_be_is_refused(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            _, happened = slack.here.say("U1", "C1", "forged")
            envelope = slack.envelope(happened[0].event, "C1")
            for stamp, signature in [
                (str(int(time.time())), "v0=00"), (str(int(time.time()) - 400), None), ("soon", None),
                (None, None),
            ]:  # fmt: skip
                assert (await posted(slack, envelope, stamp, signature))[0] == 401
            assert house.messages == []

        run(doing, public_url="https://bot.test")

    def test_the_check_of_the_certificate_is_answered_unsigned(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            assert slack.http_url is not None
            async with (
                aiohttp.ClientSession() as session,
                session.post(slack.http_url, data={"ssl_check": "1", "token": "x"}) as answer,
            ):
                assert answer.status == 200

        run(doing, public_url="https://bot.test")

    def test_commands_and_buttons_come_by_http_too(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            hook = await slack.command("U1", "C1", "/whoknows", "decision-42")
            await until(lambda: hook.posts)
            again = await slack.press(
                "U1", "C1", {"action_id": "plan:0", "value": "v"}, {"ts": "1.2"}
            )
            await until(lambda: again.posts)

        run(doing, public_url="https://bot.test")


async def posted(
    slack: FakeSlack, envelope: Any, stamp: str | None = "", signature: str | None = ""
) -> tuple[int, str]:
    """Posts an envelope; a stamp and a signature that are given take the place of the right ones."""
    body = json.dumps(envelope)
    right = str(int(time.time())) if stamp == "" else stamp
    headers = {"content-type": "application/json"}
    if right is not None:
        headers["x-slack-request-timestamp"] = right
        headers["x-slack-signature"] = signature or slack.signature(right, body)
    assert slack.http_url is not None
    async with (
        aiohttp.ClientSession() as session,
        session.post(slack.http_url, data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


# ------------------------------------------------------------------------------- questions


class TestQuestions:
    def test_a_command_is_acknowledged_at_once_and_answered_to_whoever_asked(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            waits = asyncio.Event()
            ask = house.desk.ask

            async def slowly(command: Command) -> Reply:
                await waits.wait()
                return await ask(command)

            house.desk.ask = slowly  # type: ignore[method-assign]
            hook = await slack.command("U1", "C1", "/whoknows", "  <@U2|bo>\u00a0decision-42 ")
            assert slack.acknowledged, "acknowledged while the desk still thinks"
            assert hook.posts == []
            waits.set()
            await until(lambda: hook.posts)
            [post] = hook.posts
            assert post["response_type"] == "ephemeral"
            assert post["text"] == "whoknows:   &lt;@U2|bo&gt;\u00a0decision-42 "
            [command] = house.desk.asked
            assert (command.name, command.who, command.room) == ("whoknows", "U1", "C1")
            assert command.text == "  <@U2|bo>\u00a0decision-42 ", "as typed (A7)"

        run(doing)

    def test_said_aloud_it_is_said_in_the_channel(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            house.desk.answers = lambda _: Reply(page=BLUE, aloud=True)
            hook = await slack.command("U1", "C1", "/decide", "decision-42 blue")
            await until(lambda: hook.posts)
            assert hook.posts[0]["response_type"] == "in_channel"

        run(doing)

    def test_a_command_where_we_are_not_is_answered_by_its_response_url_alone(self) -> None:
        """C14."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            before = len(slack.calls)
            hook = await slack.command("U1", "D0HUMAN", "/whoknows", "decision-42")
            await until(lambda: hook.posts)
            assert len(hook.posts) == 1
            assert [method for method, _ in slack.calls[before:]] == []

        run(doing)

    def test_a_command_may_have_another_name_at_slack(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            hook = await slack.command("U1", "C1", "/so-handoff", "<@U1> <@U2>")
            await until(lambda: hook.posts)
            assert house.desk.asked[0].name == "handoff"

        run(doing, commands={"handoff": "so-handoff"})

    def test_whoever_asks_is_answered_although_the_desk_fails(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            house.desk.answers = lambda _: 1 / 0  # type: ignore[assignment,return-value]
            hook = await slack.command("U1", "C1", "/whoknows", "x")
            await until(lambda: hook.posts)
            assert "nothing was changed" in hook.posts[0]["text"]
            await slack.say("U1", "C1", f"<@{slack.here.bot}> whoknows x")
            await until(lambda: slack.ephemeral)
            assert "nothing was changed" in slack.ephemeral[0]["text"]

        run(doing)

    def test_what_slack_finds_too_long_is_said_in_short_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """C17."""
        section = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}
        many = {"text": "long", "blocks": [section] * 51}
        monkeypatch.setattr("bot.adapters.slack.in_blocks", lambda page: many)

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            lines = tuple(Line(f"{n} {'x' * 80}") for n in range(400))
            page = Page("400 hold an old value.", (Section("Stale", lines),))
            house.desk.answers = lambda _: Reply(page=page)
            hook = await slack.command("U1", "C1", "/misinformed")
            await until(lambda: hook.posts)
            assert hook.refused == 1
            assert hook.posts[0]["text"] == "400 hold an old value.\nStale: 400"
            assert "blocks" not in hook.posts[0]

        run(doing)

    def test_four_hundred_people_are_answered_inside_the_limits(self) -> None:
        """C17: the small Slack refuses what Slack would."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            lines = tuple(Line(f"{n} {'x' * 80}") for n in range(400))
            page = Page("400 hold an old value.", (Section("Stale", lines),))
            house.desk.answers = lambda _: Reply(page=page)
            hook = await slack.command("U1", "C1", "/misinformed")
            await until(lambda: hook.posts)
            assert hook.refused == 0
            assert "more" in json.dumps(hook.posts[0]["blocks"][-1])

        run(doing)

    def test_a_mention_is_one_message_and_one_question_answered_to_the_asker(self) -> None:
        """C3, and C4: whatever is delivered twice."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.duplicates = 1.0
            text = f"<@{slack.here.bot}> decision-42 is rejected"
            ts = await slack.say("U1", "C1", text)
            await until(lambda: slack.ephemeral)
            await team.settled()
            assert texts(house) == [text]
            [command] = house.desk.asked
            assert (command.name, command.text, command.ts) == ("decision-42", "is rejected", ts)
            [told] = slack.ephemeral
            assert (told["channel"], told["user"]) == ("C1", "U1")
            assert "thread_ts" not in told

        run(doing)

    def test_a_question_is_not_answered_again_after_a_restart(self) -> None:
        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                house = House()
                ts, happened = slack.here.say("U1", "C1", f"<@{slack.here.bot}> status")
                async with connected(slack, house) as team:
                    await slack.tell(happened)
                    await until(lambda: house.desk.asked)
                    await team.settled()
                async with connected(slack, house) as team:
                    await slack.tell(happened)
                    await team.settled()
                assert [one.ts for one in house.desk.asked] == [ts]

        asyncio.run(doing())

    def test_in_a_thread_it_is_answered_in_the_thread(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            root = await slack.say("U2", "C1", "decision-42: blue")
            await slack.say("U1", "C1", f"<@{slack.here.bot}> whoknows decision-42", thread=root)
            await until(lambda: slack.ephemeral)
            assert slack.ephemeral[0]["thread_ts"] == root
            assert house.desk.asked[0].thread == root
            house.desk.answers = lambda _: Reply(page=BLUE, aloud=True)
            await slack.say("U1", "C1", f"<@{slack.here.bot}> decide it", thread=root)
            await until(lambda: any(BLUE.head in text for text in texts(house)))
            aloud = next(one for one in house.messages if BLUE.head in one.text)
            assert aloud.thread == root

        run(doing)

    def test_who_cannot_be_answered_in_the_channel_is_answered_directly(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.faults["chat.postEphemeral"] = [Fault(error="user_not_in_channel")]
            await slack.say("U1", "C1", f"<@{slack.here.bot}> status")
            await until(lambda: direct_to(slack, "U1"))
            assert direct_to(slack, "U1") == ["status: "]

        run(doing)

    def test_in_a_direct_message_every_line_is_a_question(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            room = slack.here.direct(["U1"]).id
            await slack.say("U1", room, "whoknows decision-42")
            await until(lambda: len(direct_to(slack, "U1")) == 2)
            assert direct_to(slack, "U1")[1] == "whoknows: decision-42"
            await team.settled()
            assert [one.text for one in house.desk.asked] == ["decision-42"], "not our own answer"
            assert house.rooms[room].kind == "direct"
            assert house.rooms[room].members == frozenset({"U1"})

        run(doing)

    def test_speaking_of_us_is_no_question(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.say("U1", "C1", f"ask <@{slack.here.bot}> about it")
            await team.settled()
            assert house.desk.asked == []

        run(doing)

    def test_programs_are_not_answered(self) -> None:
        """C26: no two bots talk to each other for ever."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            mention = f"<@{slack.here.bot}> decision-42 is approved"
            await slack.say("U9BOT", "C1", mention, bot_id="B9", app_id="A9")
            await team.settled()
            assert house.desk.asked == []
            [message] = house.messages
            assert (message.author, message.app is not None) == (None, True)

        run(doing)

    def test_message_shortcuts_are_questions_about_their_message(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            root = await slack.say("U2", "C1", "decision-42: blue")
            reply = await slack.say("U2", "C1", "or green", thread=root)
            first = await slack.shortcut("U1", "C1", "who_missed", root)
            second = await slack.shortcut("U1", "C1", "record_decision", reply)
            await until(lambda: first.posts and second.posts)
            asked = [(one.name, one.ts, one.thread, one.room) for one in house.desk.asked]
            assert asked == [("who-missed", root, root, "C1"), ("record", reply, root, "C1")]
            assert first.posts[0]["response_type"] == "ephemeral"

        run(doing)

    def test_a_pressed_button_says_what_it_was_given(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            hook = await slack.press(
                "U2",
                "C1",
                {"action_id": "plan:3", "value": "decision-42"},
                {"ts": "1800000000.000100"},
            )
            await until(lambda: hook.posts)
            [press] = house.desk.pressed
            assert (press.action, press.value, press.who) == ("plan", "decision-42", "U2")
            assert (press.room, press.ts) == ("C1", "1800000000.000100")
            assert hook.posts[0]["replace_original"] is True
            house.desk.after_press = None
            silent = await slack.press(
                "U2", "C1", {"action_id": "plan:3", "value": "x"}, {"ts": "1.0"}
            )
            await team.settled()
            await until(lambda: len(house.desk.pressed) == 2)
            assert silent.posts == []

        run(doing)

    def test_whoever_opens_our_page_sees_their_own_as_it_is_now(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.open_home("U1")
            await until(lambda: "U1" in slack.views)
            assert "The page of U1" in json.dumps(slack.views["U1"])
            assert slack.views["U1"]["type"] == "home"

        run(doing)


def direct_to(slack: FakeSlack, user: str) -> list[str]:
    channel = slack.here.direct([user])
    return [one["text"] for _, one in sorted(channel.messages.items())]


# ------------------------------------------------------------------------------- who and where


class TestRoster:
    def test_at_the_start_everybody_and_every_room_we_are_in_is_known(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            assert {"U1", "U2", "U3", "U4", slack.here.bot} <= house.met.keys()
            assert house.met[slack.here.bot].bot
            assert {one.id: one.kind for one in house.rooms.values()} == {
                "C1": "public", "G1": "private",
            }  # fmt: skip
            assert house.lists == [{"C1": {"U1", "U2"}, "G1": {"U1", "U4"}}]

        run(doing)

    def test_members_are_read_to_the_end(self) -> None:
        """C11: pages of 100, 0 (with a cursor) and 150, with a 429 before the last."""

        async def doing() -> None:
            here = a_workspace()
            people = [here.person(f"U{n}").id for n in range(1000, 1250)]
            here.channel("C7", "all", [*people, here.bot])
            async with FakeSlack(here) as slack:
                slack.pages["conversations.members"] = {"C7": [100, 0, 151]}
                slack.faults["conversations.members"] = [Fault(), Fault(), Fault(limit=0.05)]
                house = House()
                async with connected(slack, house):
                    assert house.lists[0]["C7"] == set(people)

        asyncio.run(doing())

    def test_who_comes_and_who_goes_is_told(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.join("U3", "C1")
            await slack.leave("U2", "C1")
            [came, left] = house.moves
            assert (type(came), came.person, came.room) == (Enter, "U3", "C1")
            assert (type(left), left.person, left.room) == (Exit, "U2", "C1")
            assert team.rooms["C1"].members == frozenset({"U1", "U3"})

        run(doing)

    def test_whoever_is_deactivated_leaves_every_room(self) -> None:
        """C13: Slack does not say so itself."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.tell(slack.here.deactivate("U1"))
            assert [(one.person, one.room) for one in house.moves] == [("U1", "C1"), ("U1", "G1")]
            assert all(isinstance(one, Exit) for one in house.moves)
            assert house.met["U1"].gone
            assert house.met["U1"].name == "u1"

        run(doing)

    def test_who_cannot_be_looked_up_is_known_by_id(self) -> None:
        """C12: nobody is dropped, nothing is aborted."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.here.person("W0EXT", team="T2", known=False)
            slack.here.one("C1").external = True
            await slack.say("W0EXT", "C1", "decision-42: approved", user_team="T2")
            assert house.messages[0].author == "W0EXT"
            assert house.met["W0EXT"].name == "external member (W0EXT)"
            assert house.met["W0EXT"].guest, "reads only where they are"
            slack.here.person("W1EXT", "visitor", team="T2")
            await slack.join("W1EXT", "C1")
            await team.settled()
            assert house.met["W1EXT"].name == "visitor"
            assert house.met["W1EXT"].guest

        run(doing)

    def test_members_of_other_organisations_are_in_the_lists(self) -> None:
        async def doing() -> None:
            here = a_workspace()
            here.person("W0EXT", team="T2", known=False)
            here.one("C1").members.append("W0EXT")
            async with FakeSlack(here) as slack:
                house = House()
                async with connected(slack, house):
                    assert house.lists[0]["C1"] == {"U1", "U2", "W0EXT"}
                    assert house.met["W0EXT"].guest

        asyncio.run(doing())

    def test_a_kind_of_conversation_without_a_scope_is_left_out(self) -> None:
        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                slack.scopes = slack.scopes - {"mpim:read", "im:read", "groups:read"}
                house = House()
                async with connected(slack, house):
                    assert house.rooms.keys() == {"C1"}

        asyncio.run(doing())

    def test_a_room_that_we_come_into_is_listed_as_of_then(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.here.say("U3", "C2", "before our time")
            await slack.join(slack.here.bot, "C2")
            await until(lambda: house.lists[-1].get("C2") == frozenset({"U1", "U3"}))
            await team.connected()
            await team.settled()
            assert texts(house, "C2") == [], "no claims about what was said before"
            await slack.say("U3", "C2", "after it")
            assert texts(house, "C2") == ["after it"]

        run(doing)

    def test_a_room_that_is_not_known_yet_is_not_open(self) -> None:
        """What is said there is described before it is stored, as privately as the event allows."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.here.channel("C8", "new", ["U1", slack.here.bot], "private")
            slack.faults["conversations.info"] = [Fault(status=500)] * 2
            await slack.say("U1", "C8", "decision-42: approved")
            assert house.rooms["C8"].kind == "private"
            slack.here.channel("C9", "newer", ["U1", slack.here.bot])
            ts, _ = slack.here.say("U1", "C9", "unseen")
            house.described.clear()
            await slack.react("U1", "C9", ts)
            assert next(one.kind for one in house.described if one.id == "C9") == "private"
            await team.settled()
            assert house.rooms["C9"].kind == "public"
            assert house.rooms["C9"].name == "newer"

        run(doing)

    def test_nothing_is_stored_of_a_room_or_a_person_that_could_not_be_described(self) -> None:
        """Else a memory would take a room it never heard of for an open one."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.here.channel("C8", "new", ["W9", slack.here.bot], "private")
            slack.here.person("W9", team="T2", known=False)
            slack.delivery.retries, slack.delivery.patience = (0.0, 0.0, 0.0), 0.3
            for failing in (1, 2):
                house.strange = failing
                await slack.say("W9", "C8", "decision-42: approved")
                assert house.messages
                assert house.rooms["C8"].kind == "private"
                assert "W9" in house.met
                await team.settled()
                team.rooms.pop("C8")
                team.people.pop("W9")
                house.rooms.pop("C8")
                house.met.pop("W9")

        run(doing)

    def test_what_somebody_does_just_now_is_not_described_anew(self) -> None:
        """Slack tells of every status that is set."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            house.met.clear()
            shown = slack.here.users["U1"].shown()
            for status in ("lunch", "back"):
                user = shown | {"profile": shown["profile"] | {"status_text": status}}
                event = {"type": "user_change", "user": user, "event_ts": slack.here.tick()}
                await slack.tell([Happened(event, None)])
            assert house.met == {}
            event = {"type": "user_change", "user": shown | {"tz": "Asia/Tokyo"},
                     "event_ts": slack.here.tick()}  # fmt: skip
            await slack.tell([Happened(event, None)])
            assert house.met["U1"].zone == "Asia/Tokyo"

        run(doing)

    def test_a_room_that_comes_while_the_lists_are_read_is_not_taken_for_left(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            passes = iter(range(2))
            gate = slack.answering["conversations.members"] = Gate(lambda: next(passes, None))
            team._ask_for("roster")
            await until(lambda: asked_of(slack, "conversations.members", "C1")[1:])
            slack.here.channel("C8", "new", ["U1", slack.here.bot])
            await slack.say("U1", "C8", "just now")
            await slack.leave(slack.here.bot, "G1")
            gate.open.set()
            del slack.answering["conversations.members"]
            await team.settled()
            assert team.rooms.keys() == {"C1", "C8"}
            assert [(gap.room, gap.why) for gap in team.gaps()] == [("G1", "away")]

        run(doing)

    def test_a_channel_that_becomes_private_is_so_before_it_is_acknowledged(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.faults["conversations.info"] = [Fault(status=500)]
            await slack.tell(slack.here.close("C1"))
            assert house.rooms["C1"].kind == "private"

        run(doing)

    def test_a_room_keeps_what_is_remembered_of_it_under_another_id(self) -> None:
        """A5: the id changes as soon as a share is begun."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            channels = slack.here.channels
            channels["C1NEW"] = channels.pop("C1")
            channels["C1NEW"].id = "C1NEW"
            event = {
                "type": "channel_id_changed", "old_channel_id": "C1", "new_channel_id": "C1NEW",
                "event_ts": slack.here.tick(),
            }  # fmt: skip
            await slack.tell([Happened(event, None)])
            ts = await slack.say("U1", "C1NEW", "decision-42: approved")
            await slack.react("U2", "C1NEW", ts)
            [message], [reaction] = house.messages, house.reactions
            assert (message.room, reaction.room) == ("C1", "C1")
            assert "/archives/C1NEW/" in (message.link or "")
            sent = await team.post(Place(room="C1"), BLUE, "k1")
            assert sent.room == "C1"
            assert slack.here.one("C1NEW").messages[sent.ts]["text"] == BLUE.head
            slack.here.say("U1", "C1NEW", "missed")
            await team.connected()
            await team.settled()
            assert ("C1", "missed") in house.said
            assert all(room == "C1" for room, _ in house.said)

        run(doing)


# ------------------------------------------------------------------------------- what was missed


class TestCatchingUp:
    def test_what_was_said_while_the_connection_was_away_is_read(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            root = await slack.say("U1", "C1", "plan?")
            slack.delivery.lost = True
            await slack.say("U2", "C1", "decision-42: approved")
            await slack.say("U2", "C1", "decision-43: rejected", thread=root)
            await slack.say("U2", "C1", "decision-44: shown", thread=root, broadcast=True)
            slack.delivery.lost = False
            await slack.disconnect()
            await until(lambda: len(texts(house)) == 4)
            await team.settled()
            ours = {one.text: one for one in house.messages}
            assert ours["decision-43: rejected"].thread == root
            assert ours["decision-44: shown"].broadcast
            assert all(one.link for one in house.messages)

        run(doing)

    def test_while_slack_is_silent_a_new_connection_is_made(self) -> None:
        """C6: the connection stands, and nothing comes."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.say("U1", "C1", "one")
            await slack.say("U1", "C1", "two")
            slack.delivery.silent = True
            slack.here.say("U1", "C1", "unheard")
            began = time.monotonic()
            await until(lambda: "unheard" in texts(house))
            assert time.monotonic() - began < 3

        run(doing, silence=0.3)

    def test_after_a_restart_it_goes_on_where_it_was(self) -> None:
        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                house = House()
                async with connected(slack, house):
                    await slack.say("U1", "C1", "heard")
                slack.here.later(3600)
                slack.here.say("U1", "C1", "while we were away")
                slack.here.say("U4", "G1", "there too")
                slack.here.one("C1").members.remove("U2")
                async with connected(slack, house) as team:
                    assert texts(house) == ["heard", "while we were away"]
                    assert texts(house, "G1") == ["there too"]
                    assert house.lists[-1]["C1"] == {"U1"}
                    [gap] = team.gaps()
                    assert (gap.room, gap.why) == (None, "disconnected")
                    assert gap.until is not None
                    assert gap.until - gap.since >= timedelta(seconds=3600)

        asyncio.run(doing())

    def test_interrupted_it_goes_on_where_it_broke_off(self) -> None:
        """A page that was read is not read again; nor is anything left out."""

        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                house = House()
                habits = Habits(page=10, back=timedelta(0), flush=0.02)
                async with connected(slack, house, habits=habits):
                    await slack.say("U1", "C1", "begin")
                slack.here.later(OVERLAP + 10)
                for number in range(45):
                    slack.here.say("U1", "C1", f"n{number}")
                adapter = Slack(setup_of(slack, habits=habits), opened_by(house), clock_of(slack))
                pages = iter(range(3))
                history = slack.answering["conversations.history"] = Gate(lambda: next(pages, None))
                await adapter.start()
                await history.held.wait()
                await adapter.close()
                assert 0 < len([t for t in texts(house) if t.startswith("n")]) < 45
                before = len(asked_of(slack, "conversations.history", "C1"))
                del slack.answering["conversations.history"]
                house.heard.clear()
                async with connected(slack, house, habits=habits) as team:
                    assert [gap for gap in team.gaps() if gap.why == "behind"] == []
                later = asked_of(slack, "conversations.history", "C1")[before:]
                assert any(one.get("latest") for one in later), "not from the newest again"
                assert {f"n{n}" for n in range(15)} <= set(texts(house))

        asyncio.run(doing())

    def test_a_limit_is_waited_for_and_nothing_is_left_out(self) -> None:
        """C25: Retry-After is honoured, and the cursor kept."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.lost = True
            for number in range(25):
                await slack.say("U1", "C1", f"n{number}")
            slack.delivery.lost = False
            slack.faults["conversations.history"] = [
                Fault(), Fault(limit=0.2), Fault(limit=0.2), Fault(limit=0.2), Fault(status=502),
            ]  # fmt: skip
            began = time.monotonic()
            await team.connected()
            hook = await slack.command("U1", "C1", "/status")
            await until(lambda: hook.posts)
            assert time.monotonic() - began < 0.5, "nobody waits for it"
            await team.settled()
            assert time.monotonic() - began >= 0.6
            assert set(texts(house)) == {f"n{n}" for n in range(25)}

        run(doing, habits=Habits(page=10, flush=0.02))

    def test_the_pace_is_that_of_the_settings(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.lost = True
            for number in range(25):
                await slack.say("U1", "C1", f"n{number}")
            slack.delivery.lost = False
            began = time.monotonic()
            await team.connected()
            await team.settled()
            assert time.monotonic() - began >= 0.3, "three pages here, one there"
            assert all(
                one["limit"] == "10" for one in asked_of(slack, "conversations.history", "C1")
            )

        run(doing, habits=Habits(page=10, flush=0.02), pace={"conversations.history": 0.1})

    def test_edits_and_deletions_that_were_missed_are_found(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            edited = await slack.say("U1", "C1", "decision-42: approved")
            gone = await slack.say("U1", "C1", "decision-43: approved")
            root = await slack.say("U1", "C1", "plan?")
            reply = await slack.say("U2", "C1", "decision-44: approved", thread=root)
            lost = await slack.say("U2", "C1", "decision-45: approved", thread=root)
            preview = await slack.say("U1", "C1", "see https://ex.test")
            slack.here.later(600)
            await slack.say("U2", "C1", "anything")
            stood = len(house.heard)
            slack.delivery.lost = True
            await slack.edit("C1", edited, "decision-42: rejected", by="U2")
            await slack.delete("C1", gone)
            await slack.edit("C1", reply, "decision-44: rejected")
            await slack.delete("C1", lost)
            await slack.edit("C1", preview, "see https://ex.test", attachments=[{"title": "A"}])
            slack.delivery.lost = False
            await team.connected()
            await team.settled()
            news = [one for one in house.heard[stood:] if isinstance(one, Message)]
            told = {one.ts: one for one in news if one.text != "anything"}
            assert told.keys() == {edited, gone, reply, lost}
            edit = told[edited].edited
            assert edit is not None
            assert edit.by == "U2"
            assert told[edited].text == "decision-42: rejected"
            assert told[gone].removed
            assert told[lost].removed
            assert told[lost].thread == root
            assert told[reply].text == "decision-44: rejected"

        run(doing)

    def test_the_root_of_a_thread_that_was_deleted_leaves_a_tombstone(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            root = await slack.say("U1", "C1", "decision-42: approved")
            await slack.say("U2", "C1", "fine", thread=root)
            slack.delivery.lost = True
            await slack.delete("C1", root)
            slack.delivery.lost = False
            await team.connected()
            await team.settled()
            await team.connected()
            await team.settled()
            assert [one.ts for one in house.messages if one.removed] == [root]

        run(doing)

    def test_reactions_that_were_missed_are_found(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            ts = await slack.say("U1", "C1", "decision-42: approved")
            other = await slack.say("U1", "C1", "decision-43: approved")
            await slack.react("U2", "C1", other, "eyes")
            slack.delivery.lost = True
            await slack.react("U2", "C1", ts, "+1::skin-tone-4")
            await slack.unreact("U2", "C1", other, "eyes")
            slack.delivery.lost = False
            await team.connected()
            await team.settled()
            await team.connected()
            await team.settled()
            told = [(one.ts, one.who, one.name, one.removed) for one in house.reactions]
            assert told == [
                (other, "U2", "eyes", False), (ts, "U2", "+1::skin-tone-4", False),
                (other, "U2", "eyes", True),
            ]  # fmt: skip

        run(doing)

    def test_a_reply_that_only_its_root_tells_of_is_fetched(self) -> None:
        """C9."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            root = await slack.say("U1", "C1", "plan?")
            slack.here.say("U2", "C1", "decision-42: approved", thread=root)
            event = {
                "type": "message", "subtype": "message_replied", "hidden": True, "channel": "C1",
                "channel_type": "channel", "message": slack.here.message("C1", root),
                "ts": slack.here.tick(), "event_ts": slack.here.tick(),
            }  # fmt: skip
            await slack.tell([Happened(event, "C1")])
            await team.settled()
            assert texts(house) == ["plan?", "decision-42: approved"]

        run(doing)

    def test_where_we_were_removed_is_not_watched_until_we_are_back(self) -> None:
        """C10."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.say("U1", "C1", "heard")
            await slack.leave(slack.here.bot, "C1")
            [gap] = team.gaps()
            assert (gap.room, gap.until, gap.why) == ("C1", None, "away")
            slack.here.later(3600)
            slack.here.say("U1", "C1", "not for us")
            await slack.join(slack.here.bot, "C1")
            await until(lambda: "C1" in team.rooms)
            await team.connected()
            await team.settled()
            assert texts(house) == ["heard"]
            [gap] = team.gaps()
            assert gap.until is not None

        run(doing)

    def test_a_removal_that_nobody_told_us_of_is_found(self) -> None:
        """C10, when the event does not come: history says `not_in_channel`."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.faults["conversations.history"] = [Fault(error="not_in_channel")] * 2
            await team.connected()
            await team.settled()
            assert {(gap.room, gap.why, gap.until) for gap in team.gaps()} == {
                ("C1", "away", None), ("G1", "away", None),
            }  # fmt: skip
            assert team.rooms == {}

        run(doing)

    def test_what_cannot_be_stored_now_is_stored_later(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.here.say("U1", "C1", "decision-42: approved")
            house.failing = 3
            await team.connected()
            await team.settled()
            assert texts(house) == ["decision-42: approved"]

        run(doing)

    def test_what_slack_gave_up_delivering_is_read(self) -> None:
        """Its tries are over before the memory is back; the history still has it."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.delivery.patience, slack.delivery.retries = 0.2, ()
            house.failing = 1
            await slack.say("U1", "C1", "decision-42: approved")
            await team.settled()
            assert texts(house) == ["decision-42: approved"]

        run(doing)


def test_whatever_was_missed_it_ends_as_it_stands_in_slack(seed: int) -> None:
    """What is told of each message, last of all, is how Slack shows it: whatever was delivered, lost,
    delivered twice or in another order, with connections that broke, limits and restarts between."""

    async def doing() -> None:
        pick = random.Random(seed)
        async with FakeSlack(a_workspace(), seed) as slack:
            house = House()
            habits = Habits(page=pick.choice([3, 10, 200]), flush=0.02)
            for _ in range(3):
                async with connected(slack, house, habits=habits) as team:
                    for _ in range(3):
                        slack.delivery.lost = pick.random() < 0.5
                        slack.delivery.duplicates = pick.choice([0.0, 0.5])
                        await happen(slack, pick)
                        slack.delivery.lost = False
                        slack.faults["conversations.history"] = [Fault(limit=0.01)]
                        slack.faults["conversations.replies"] = [Fault(status=500)]
                        await team.connected()
                        await team.settled()
                slack.here.later(pick.choice([1, 4000]))
                slack.delivery.lost = True
                await happen(slack, pick)
            slack.delivery.lost = False
            async with connected(slack, house, habits=habits):
                pass
            for room in ("C1", "G1"):
                assert told_of(house, room) == shown_in(slack, room)

    asyncio.run(doing())


async def happen(slack: FakeSlack, pick: random.Random) -> None:
    """A few things that people do."""
    for _ in range(8):
        slack.here.later(pick.choice([1, 30, 300]))
        room = slack.here.one(pick.choice(["C1", "G1"]))
        who = pick.choice([one for one in room.members if one != slack.here.bot])
        there = [ts for ts, one in room.messages.items() if not one.get("subtype")]
        recent = there[-6:]
        match pick.choice(["say", "say", "reply", "edit", "delete", "react", "unreact"]):
            case "reply" if roots := [t for t in recent if "thread_ts" not in room.messages[t]]:
                await slack.say(
                    who, room.id, f"decision-{slack.here.micros}", thread=pick.choice(roots)
                )
            case "edit" if recent:
                await slack.edit(
                    room.id, pick.choice(recent), f"decision-{slack.here.micros}: paused", by=who
                )
            case "delete" if recent:
                await slack.delete(room.id, pick.choice(recent))
            case "react" if recent:
                with suppress(Denied):
                    await slack.react(
                        who, room.id, pick.choice(recent), pick.choice(["eyes", "+1"])
                    )
            case "unreact" if given := [
                (ts, user, one["name"])
                for ts in recent
                for one in room.messages[ts].get("reactions", [])
                for user in one["users"]
            ]:
                ts, user, name = pick.choice(given)
                await slack.unreact(user, room.id, ts, name)
            case _:
                await slack.say(who, room.id, f"decision-{slack.here.micros}: approved")


def told_of(house: House, room: str) -> dict[str, tuple[str, frozenset[tuple[str, str]]]]:
    """Of each message that was not deleted what it says last, and who reacted."""
    said: dict[str, Message] = {}
    gone: set[str] = set()
    for one in house.messages:
        if one.room == room:
            gone |= {one.ts} if one.removed else set()
            before = said.get(one.ts)
            if before is None or (one.edited and one.edited.at) or before.edited is None:
                newer = before is None or before.edited is None or (
                    one.edited is not None and one.edited.at >= before.edited.at
                )  # fmt: skip
                said[one.ts] = one if newer else said[one.ts]
    given: dict[tuple[str, str, str], bool] = {}
    for reaction in sorted(house.reactions, key=lambda one: one.at):
        if reaction.room == room:
            given[reaction.ts, reaction.name, reaction.who] = not reaction.removed
    return {
        ts: (
            one.text,
            frozenset((n, w) for (t, n, w), stands in given.items() if t == ts and stands),
        )
        for ts, one in said.items()
        if ts not in gone
    }


def shown_in(slack: FakeSlack, room: str) -> dict[str, tuple[str, frozenset[tuple[str, str]]]]:
    return {
        ts: (
            one["text"],
            frozenset((r["name"], who) for r in one.get("reactions", []) for who in r["users"]),
        )
        for ts, one in slack.here.one(room).messages.items()
        if not one.get("subtype")
    }


class Gate:
    """Holds an answer back from when `passes` gives None, until `open` is set."""

    def __init__(self, passes: Any) -> None:
        self._passes = passes
        self.held, self.open = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        if self._passes() is None:
            self.held.set()
            await self.open.wait()


def opened_by(house: House) -> Any:
    async def opened(_: str) -> House:
        return house

    return opened


def asked_of(slack: FakeSlack, method: str, channel: str) -> list[dict[str, Any]]:
    return [one for name, one in slack.calls if name == method and one.get("channel") == channel]


# ------------------------------------------------------------------------------- posting


class TestPosting:
    def test_a_post_carries_its_key_and_pings_only_whom_it_is_for(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            page = Page("<!channel> <@U9> decision-42", (Section("Now", (Line("<!here> & co"),)),))
            sent = await team.post(Place(room="C1"), page, "k1", ["U1", "W2", "U1", "<!here>"])
            posted = slack.here.message("C1", sent.ts)
            assert posted["metadata"]["event_payload"] == {"key": "k1"}
            assert posted["text"].startswith("<@U1> <@W2>\n&lt;!channel&gt; &lt;@U9&gt;")
            assert posted["blocks"][0]["text"]["text"] == "<@U1> <@W2>"
            rest = json.dumps(posted["blocks"][1:])
            assert "<!" not in rest
            assert "<@" not in rest
            [(_, params)] = [one for one in slack.calls if one[0] == "chat.postMessage"]
            for plain in ("unfurl_links", "unfurl_media", "link_names"):
                assert params[plain] == "false"
            assert params["parse"] == "none"
            assert sent.link == f"https://fake.slack.test/archives/C1/p{sent.ts.replace('.', '')}"

        run(doing)

    def test_our_own_post_comes_back_as_a_programs(self) -> None:
        """Nobody's belief (C26), but its deletion by an admin is not missed (section 0)."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            sent = await team.post(Place(room="C1"), BLUE, "k1")
            await until(lambda: house.messages)
            [message] = house.messages
            assert (message.author, message.ts) == (None, sent.ts)
            assert "B0BOT" in message.app_ids
            await slack.delete("C1", sent.ts)
            assert house.messages[-1].removed

        run(doing)

    def test_in_a_thread_it_is_posted_and_found_there(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            root = await slack.say("U1", "C1", "decision-42: blue")
            place = Place(room="C1", thread=root)
            since = team.rooms["C1"].created
            assert since is not None
            sent = await team.post(place, BLUE, "k1")
            assert await team.find(place, "k1", since) == sent
            assert await team.find(place, "k2", since) is None
            ahead = sent.at + timedelta(seconds=60)  # our clock, and not Slack's
            assert await team.find(place, "k1", ahead) == sent
            assert await team.find(Place(room="C1"), "k1", since) is None
            assert f"thread_ts={root}" in (sent.link or "")

        run(doing)

    def test_a_post_whose_answer_was_lost_is_found(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            before = team.rooms["C1"].created
            assert before is not None
            slack.faults["chat.postMessage"] = [Fault(drop=True)]
            with pytest.raises(PerhapsSent):
                await team.post(Place(room="C1"), BLUE, "k1")
            found = await team.find(Place(room="C1"), "k1", before)
            assert found is not None
            ours = [one for one in slack.here.one("C1").messages.values() if "metadata" in one]
            assert [one["ts"] for one in ours] == [found.ts], "never posted again by itself"
            slack.faults["chat.postMessage"] = [Fault(status=503)]
            with pytest.raises(PerhapsSent):
                await team.post(Place(room="C1"), BLUE, "k2")
            assert await team.find(Place(room="C1"), "k2", before) is None

        run(doing)

    def test_a_refusal_says_why_and_a_limit_says_when(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            slack.here.channel("C5", "old", ["U1", slack.here.bot]).archived = True
            for room, why in [("C2", "invite"), ("G9", "cannot be found"), ("C5", "archived")]:
                with pytest.raises(NotSent, match=why) as caught:
                    await team.post(Place(room=room), BLUE, "k")
                assert caught.value.later is None
            slack.faults["chat.postMessage"] = [Fault(limit=7)]
            with pytest.raises(NotSent) as caught:
                await team.post(Place(room="C1"), BLUE, "k")
            assert caught.value.later == 7.0

        run(doing)

    def test_a_direct_message_goes_to_the_conversation_with_one_person(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            room = await team.direct("U2")
            await team.post(Place(room=room), BLUE, "k")
            assert direct_to(slack, "U2") == [BLUE.head]
            assert house.rooms[room].kind == "direct"
            with pytest.raises(NotSent):
                await team.direct("U404")

        run(doing)

    def test_an_own_page_with_buttons_is_shown(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            page = Page("Yours", buttons=(Button("Opt out", "opt-out", "me"),))
            await team.show_home("U2", page)
            assert "opt-out" in json.dumps(slack.views["U2"])

        run(doing)


# ------------------------------------------------------------------------------- several workspaces


def by_oauth(slack: FakeSlack, folder: Path) -> dict[str, Any]:
    return {
        "bot_token": "", "client_id": "cid", "client_secret": "secret", "installs": folder,
        "public_url": "https://bot.test",
    }  # fmt: skip


def installed(folder: Path, **fields: Any) -> FileInstallationStore:
    """A folder in which one workspace has installed us."""
    store = FileInstallationStore(base_dir=str(folder), client_id="cid")
    bot = Bot(bot_id="B0BOT", bot_user_id="U0BOT", installed_at=1.0, **fields)
    store.save_bot(bot)
    return store


class TestInstallations:
    def test_a_workspace_installs_us_and_is_heard_from_then_on(self, tmp_path: Path) -> None:
        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                opened: dict[str, House] = {}

                async def open(team: str) -> House:
                    return opened.setdefault(team, House())

                adapter = Slack(setup_of(slack, **by_oauth(slack, tmp_path)), open, clock_of(slack))
                await adapter.start()
                base = f"http://127.0.0.1:{adapter.port}/slack"
                slack.http_url = f"{base}/events"
                async with aiohttp.ClientSession() as browser:
                    async with browser.get(f"{base}/install") as page:
                        link = re.search(r'href="([^"]*authorize[^"]*)"', await page.text())
                        cookie = page.headers["Set-Cookie"].split(";")[0]
                    assert link is not None
                    asked = parse_qs(urlsplit(html.unescape(link[1])).query)
                    assert set(asked["scope"][0].split(",")) == set(SCOPES)
                    assert asked["redirect_uri"] == ["https://bot.test/slack/oauth_redirect"]
                    await slack.say("U1", "C1", "not installed yet")
                    assert opened == {}
                    back = {"code": slack.code, "state": asked["state"][0]}
                    async with browser.get(
                        f"{base}/oauth_redirect", params=back, headers={"Cookie": cookie}
                    ) as done:
                        assert done.status == 200
                    async with browser.get(f"{base}/oauth_redirect", params=back) as forged:
                        assert forged.status >= 400
                await slack.say("U1", "C1", "decision-42: approved")
                assert "decision-42: approved" in texts(opened["T1"])
                await slack.tell([Happened({"type": "app_uninstalled"}, None)])
                await until(lambda: not adapter.teams)
                assert list(tmp_path.glob("cid/*/bot-latest")) == []
                await adapter.close()

        asyncio.run(doing())

    def test_what_is_installed_is_connected_at_the_start(self, tmp_path: Path) -> None:
        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                installed(tmp_path, team_id="T1", bot_token=slack.bot_token)
                house = House()
                async with connected(slack, house, **by_oauth(slack, tmp_path)):
                    assert house.rooms.keys() == {"C1", "G1"}

        asyncio.run(doing())

    def test_a_token_that_ends_is_refreshed_once_and_kept_before_it_is_used(
        self, tmp_path: Path
    ) -> None:
        """C20: nothing came in since; two posts are due at once."""

        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                store = installed(tmp_path, team_id="T1", bot_token=slack.bot_token)
                house = House()
                async with connected(slack, house, **by_oauth(slack, tmp_path)) as team:
                    store.save_bot(expired("T1"))
                    slack.refreshing = {"r1"}
                    slack.bot_token = "xoxb-not-yet"
                    posts = [team.post(Place(room="C1"), BLUE, key) for key in ("a", "b")]
                    await asyncio.gather(*posts)
                    kept = store.find_bot(enterprise_id=None, team_id="T1")
                    assert kept is not None
                    assert kept.bot_token == slack.bot_token
                    assert kept.bot_refresh_token in slack.refreshing
                    assert [one for one, _ in slack.calls].count("oauth.v2.access") == 1

        asyncio.run(doing())

    def test_two_processes_refresh_a_token_once(self, tmp_path: Path) -> None:
        """C20: a refresh token is good for once; who comes second takes what the first got."""

        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                store = installed(tmp_path, team_id="T1", bot_token=slack.bot_token)
                setup = by_oauth(slack, tmp_path)
                async with (
                    connected(slack, House(), **setup) as one,
                    connected(slack, House(), **setup) as other,
                ):
                    store.save_bot(expired("T1"))
                    slack.refreshing = {"r1"}
                    posts = [team.post(Place(room="C1"), BLUE, "k") for team in (one, other)]
                    await asyncio.gather(*posts)
                    assert len(slack.refreshing) == 1, "used once, and a new one given"

        asyncio.run(doing())

    def test_an_organisations_installation_is_found_and_each_team_is_apart(
        self, tmp_path: Path
    ) -> None:
        """C21."""

        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                slack.here.team = "T5"
                installed(
                    tmp_path, enterprise_id="E1", team_id=None, is_enterprise_install=True,
                    bot_token=slack.bot_token,
                )  # fmt: skip
                opened: dict[str, House] = {}

                async def open(team: str) -> House:
                    return opened.setdefault(team, House())

                adapter = Slack(setup_of(slack, **by_oauth(slack, tmp_path)), open, clock_of(slack))
                await adapter.start()
                slack.http_url = f"http://127.0.0.1:{adapter.port}/slack/events"
                _, happened = slack.here.say("U1", "C1", "decision-42: approved")
                envelope = slack.envelope(happened[0].event, "C1")
                envelope["authorizations"][0] |= {
                    "enterprise_id": "E1",
                    "is_enterprise_install": True,
                }
                await slack._deliver("events_api", envelope, 1)
                assert opened.keys() == {"T5"}
                assert texts(opened["T5"]) == ["decision-42: approved"]
                listing = [params for method, params in slack.calls if method == "users.list"]
                assert [one["team_id"] for one in listing] == ["T5"]
                envelope = json.loads(json.dumps(envelope).replace("T5", "T6"))
                await slack._deliver("events_api", envelope, 1)
                assert opened.keys() == {"T5", "T6"}
                await adapter.close()

        asyncio.run(doing())


def expired(team: str) -> Bot:
    return Bot(
        team_id=team, bot_token="xoxb-old", bot_id="B0BOT", bot_user_id="U0BOT", installed_at=1.0,
        bot_refresh_token="r1", bot_token_expires_at=int(time.time()) - 3600,
    )  # fmt: skip


# ------------------------------------------------------------------------------- connecting


class TestConnecting:
    def test_what_is_missing_to_connect_with_is_said(self) -> None:
        for setup in (
            Setup(), Setup(bot_token="x"), Setup(bot_token="x", public_url="https://x.test"),
            Setup(client_id="a", client_secret="b", app_token="x"),
        ):  # fmt: skip
            with pytest.raises(InvalidInput):
                Slack(setup, opened_by(House()))

    def test_a_port_that_is_taken_is_said(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            taken = int(slack.url.split(":")[2].split("/")[0])
            setup = setup_of(slack, public_url="https://bot.test", port=taken)
            with pytest.raises(InvalidInput, match="cannot be listened on"):
                await Slack(setup, opened_by(House())).run(asyncio.Event())

        run(doing)

    def test_variables_of_another_app_of_slack_change_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Bolt would read them."""
        for name in ("BOT_TOKEN", "APP_TOKEN", "SIGNING_SECRET", "CLIENT_ID", "CLIENT_SECRET"):
            monkeypatch.setenv(f"SLACK_{name}", "of another app")

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.say("U1", "C1", "decision-42: approved")
            assert texts(house) == ["decision-42: approved"]
            hook = await slack.command("U1", "C1", "/whoknows", "x")
            await until(lambda: hook.posts)

        run(doing)

    @pytest.mark.parametrize("which", ["bot_token", "app_token"])
    def test_a_wrong_token_is_said_at_the_start(self, which: str) -> None:
        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                adapter = Slack(setup_of(slack, **{which: "wrong"}), opened_by(House()))
                with pytest.raises(InvalidInput, match="invalid_auth"):
                    await adapter.run(asyncio.Event())

        asyncio.run(doing())

    def test_a_missing_scope_is_named(self) -> None:
        async def doing() -> None:
            async with FakeSlack(a_workspace()) as slack:
                slack.scopes = slack.scopes - {"users:read"}
                adapter = Slack(setup_of(slack), opened_by(House()))
                with pytest.raises(InvalidInput, match="users:read"):
                    await adapter.run(asyncio.Event())

        asyncio.run(doing())

    @pytest.mark.parametrize("silent", [False, True])
    def test_it_ends_cleanly_right_after_a_reconnection(self, silent: bool) -> None:
        """A2: the SDK's own `close` stumbles then. `run` looks for what is left running."""

        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            await slack.disconnect()
            if silent:
                slack.delivery.silent = True
            else:
                await slack.connected()

        run(doing)

    def test_what_is_being_answered_is_still_answered_at_the_end(self) -> None:
        async def doing(slack: FakeSlack, house: House, team: Team) -> None:
            ask = house.desk.ask

            async def slowly(command: Command) -> Reply:
                await asyncio.sleep(0.1)
                return await ask(command)

            house.desk.ask = slowly  # type: ignore[method-assign]
            await slack.command("U1", "C1", "/status")

        slack, _ = run(doing)
        [hook] = slack.hooks.values()
        assert len(hook.posts) == 1
