"""The small Slack enforces what Slack enforces; asked with the real SDK."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import FakeSlack, Fault, too_big

type Doing = Callable[[FakeSlack, AsyncWebClient], Awaitable[None]]


def run(doing: Doing) -> None:
    async def inside() -> None:
        async with FakeSlack() as slack:
            here = slack.here
            for id in ("U1", "U2", "U3"):
                here.person(id)
            here.channel("C1", "general", ["U1", "U2", here.bot])
            here.channel("C2", "elsewhere", ["U1"])
            here.channel("G1", "secret", ["U1"], "private")
            await doing(slack, AsyncWebClient(token=slack.bot_token, base_url=slack.url))

    asyncio.run(inside())


async def refused(asking: Awaitable[Any]) -> str:
    with pytest.raises(SlackApiError) as caught:
        await asking
    return str(caught.value.response["error"])


async def posted(url: str) -> int:
    async with aiohttp.ClientSession() as session, session.post(url, json={"text": "x"}) as answer:
        return answer.status


class Listening:
    """A Socket Mode client that acknowledges what it is told to."""

    def __init__(self, slack: FakeSlack, web: AsyncWebClient, deaf: int = 0) -> None:
        self.heard: list[SocketModeRequest] = []
        self._deaf = deaf
        self._client = SocketModeClient(app_token=slack.app_token, web_client=web)
        self._client.socket_mode_request_listeners.append(self._listen)

    async def _listen(self, client: AsyncBaseSocketModeClient, asked: SocketModeRequest) -> None:
        self.heard.append(asked)
        if self._deaf:
            self._deaf -= 1
            return
        await client.send_socket_mode_response(SocketModeResponse(asked.envelope_id))

    async def __aenter__(self) -> "Listening":
        await self._client.connect()  # type: ignore[no-untyped-call]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [asked.payload["event"] for asked in self.heard]


def test_a_token_and_its_scopes_are_asked_for() -> None:
    async def doing(slack: FakeSlack, web: AsyncWebClient) -> None:
        assert (await web.auth_test())["user_id"] == slack.here.bot
        stranger = AsyncWebClient(token="xoxb-other", base_url=slack.url)
        assert await refused(stranger.auth_test()) == "invalid_auth"
        slack.scopes = slack.scopes - {"users:read", "channels:history"}
        assert await refused(web.users_list()) == "missing_scope"
        assert await refused(web.conversations_history(channel="C1")) == "missing_scope"

    run(doing)


def test_the_bot_reads_only_where_it_is_and_sees_no_private_channel_from_outside() -> None:
    async def doing(slack: FakeSlack, web: AsyncWebClient) -> None:
        assert await refused(web.conversations_history(channel="C2")) == "not_in_channel"
        assert await refused(web.conversations_info(channel="G1")) == "channel_not_found"
        assert await refused(web.chat_postMessage(channel="G1", text="x")) == "channel_not_found"
        seen = await web.conversations_list(types="public_channel,private_channel")
        assert [one["id"] for one in seen["channels"]] == ["C1", "C2"]

    run(doing)


def test_events_come_only_from_where_the_bot_is_and_are_tried_again_until_acknowledged() -> None:
    async def doing(slack: FakeSlack, web: AsyncWebClient) -> None:
        slack.delivery.patience = 0.05
        async with Listening(slack, web, deaf=1) as app:
            await slack.say("U1", "C2", "unheard")
            ts = await slack.say("U1", "C1", "heard")
            assert [one["ts"] for one in app.events] == [ts, ts]
            assert [one.retry_attempt for one in app.heard] == [0, 1]
            assert app.events[0]["channel_type"] == "channel"

    run(doing)


def test_history_has_no_replies_but_broadcast_ones_and_pages_from_the_newest() -> None:
    async def doing(slack: FakeSlack, web: AsyncWebClient) -> None:
        root = await slack.say("U1", "C1", "root")
        await slack.say("U2", "C1", "reply", thread=root)
        shown = await slack.say("U2", "C1", "also here", thread=root, broadcast=True)
        first = await web.conversations_history(channel="C1", limit=1)
        assert [one["ts"] for one in first["messages"]] == [shown]
        rest = await web.conversations_history(
            channel="C1", cursor=first["response_metadata"]["next_cursor"]
        )
        assert [one["ts"] for one in rest["messages"]] == [root]
        assert rest["messages"][0]["reply_count"] == 2
        after = await web.conversations_history(channel="C1", oldest=root)
        assert [one["ts"] for one in after["messages"]] == [shown]
        thread = await web.conversations_replies(channel="C1", ts=root, oldest=shown)
        assert [one["ts"] for one in thread["messages"]] == [root]

    run(doing)


def test_a_fault_happens_once_and_a_lost_answer_was_still_done() -> None:
    async def doing(slack: FakeSlack, web: AsyncWebClient) -> None:
        slack.faults["auth.test"] = [Fault(limit=2)]
        assert await refused(web.auth_test()) == "ratelimited"
        assert (await web.auth_test())["ok"]
        slack.faults["chat.postMessage"] = [Fault(drop=True)]
        alone = AsyncWebClient(token=slack.bot_token, base_url=slack.url, retry_handlers=[])
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the client makes of it
            await alone.chat_postMessage(channel="C1", text="said once")
        assert [m["text"] for m in slack.here.channels["C1"].messages.values()] == ["said once"]

    run(doing)


def test_an_edit_a_deletion_and_a_tombstone_look_as_slack_sends_them() -> None:
    async def doing(slack: FakeSlack, web: AsyncWebClient) -> None:
        async with Listening(slack, web) as app:
            root = await slack.say("U1", "C1", "one")
            await slack.edit("C1", root, "two", by="U2")
            await slack.edit("C1", root, "two", attachments=[{"title": "A"}])
            await slack.say("U2", "C1", "reply", thread=root)
            await slack.delete("C1", root)
            changed, preview, gone = [
                one for one in app.events if one.get("subtype") == "message_changed"
            ]
            assert changed["message"]["edited"]["user"] == "U2"
            assert changed["previous_message"]["text"] == "one"
            assert preview["message"]["text"] == preview["previous_message"]["text"]
            assert gone["message"]["subtype"] == "tombstone"

    run(doing)


def test_a_response_url_takes_five_answers_for_thirty_minutes() -> None:
    async def doing(slack: FakeSlack, web: AsyncWebClient) -> None:
        async with Listening(slack, web) as app:
            hook = await slack.command("U1", "C1", "/whoknows", "decision-42")
            url = app.heard[0].payload["response_url"]
            answered = [await posted(url) for _ in range(6)]
            assert answered == [200] * 5 + [404]
            assert (len(hook.posts), hook.refused) == (5, 1)
            again = await slack.command("U1", "C1", "/whoknows", "decision-42")
            slack.here.later(31 * 60)
            assert await posted(app.heard[1].payload["response_url"]) == 404
            assert again.posts == []

    run(doing)


def test_what_is_too_big_is_refused() -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}
    assert too_big({"blocks": [section] * 51}) == "invalid_blocks"
    long = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_001}}
    assert too_big({"blocks": [long]}) == "invalid_blocks"
    many = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_000}}
    assert too_big({"blocks": [many] * 5}) == "msg_blocks_too_long"
    assert too_big({"text": "x" * 4_001}) == "msg_too_long"
    assert too_big({}) == "no_text"
    assert too_big({"blocks": [section], "text": "x"}) == ""


def test_signed_requests_carry_the_signature_of_the_raw_body() -> None:
    slack = FakeSlack()
    body = json.dumps({"a": "ü"})
    verifier = SignatureVerifier(slack.secret)
    stamp = str(int(time.time()))
    assert verifier.is_valid(body, stamp, slack.signature(stamp, body))
    assert not verifier.is_valid(body + " ", stamp, slack.signature(stamp, body))
