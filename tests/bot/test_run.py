"""The real bot process against a small Slack: message in, minds changed, question asked, answered."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.slack import FakeSlack, Hook

ROOT = Path(__file__).parents[2]
WITHIN = 60.0  # seconds, on a busy machine


async def until(true: Callable[[], Any | Awaitable[Any]], what: str) -> Any:
    """Waits for a condition, and says what it was where it does not come true."""
    ends = time.monotonic() + WITHIN
    while time.monotonic() < ends:
        found = true()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"in {WITHIN} seconds there was never {what}")


class Running:
    """`secondorder run` as a process of its own, with its memory in a folder."""

    def __init__(self, slack: FakeSlack, state: Path, **settings: str) -> None:
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SECONDORDER_", "ANTHROPIC"))},
            "SECONDORDER_SLACK_API_URL": slack.url,
            "SECONDORDER_SLACK_BOT_TOKEN": slack.bot_token,
            "SECONDORDER_SLACK_APP_TOKEN": slack.app_token,
            "SECONDORDER_STATE": str(state),
            "SECONDORDER_GRACE": "0.2",
            "SECONDORDER_HEALTH_PORT": "0",
            "PYTHONPATH": str(ROOT),
        } | settings  # fmt: skip
        self._slack = slack
        self.log = ""

    async def __aenter__(self) -> "Running":
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=self._environment, cwd=ROOT,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await self._slack.connected(WITHIN)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(WITHIN):
            said = (await self.process.communicate())[1]
        self.log += said.decode()

    async def killed(self) -> None:
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def office() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        here = slack.here
        for id, name in (("U1", "ann"), ("U2", "bob"), ("U3", "cid"), ("U4", "dot")):
            here.person(id, name)
        here.channel("C1", "general", ["U1", "U2", "U3", here.bot])
        here.channel("G1", "secret", ["U1", "U2", here.bot], "private")
        yield slack


async def answered(slack: FakeSlack, user: str, command: str, text: str, room: str = "C1") -> str:
    """Everything that is shown as the answer to a slash command."""
    hook = await slack.command(user, room, command, text)
    await until(lambda: hook.posts, f"an answer to {command}")
    return shown(hook)


def shown(hook: Hook) -> str:
    assert all(post.get("response_type", "ephemeral") == "ephemeral" for post in hook.posts)
    return json.dumps(hook.posts, ensure_ascii=False)


async def knows(slack: FakeSlack, user: str, words: str, about: str = "decision-42") -> bool:
    return words in await answered(slack, user, "/whoknows", about)


def run(doing: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(doing(), 240))


def test_a_message_in_is_an_answer_out(tmp_path: Path) -> None:
    async def doing() -> None:
        async with office() as slack:
            async with Running(slack, tmp_path) as bot:
                await slack.say("U1", "C1", "decision-42: ship on friday")
                await until(lambda: knows(slack, "U2", "ship on friday"), "the decision")
                said = await answered(slack, "U2", "/whoknows", "decision-42")
                assert "3 know" in said
                assert "archives/C1/p" in said  # a link to where it was said
                began = time.monotonic()
                await answered(slack, "U3", "/misinformed", "")
                assert time.monotonic() - began < 5
            assert bot.process.returncode == 0
            assert "ship on friday" not in bot.log

    run(doing)


def test_what_was_said_in_a_private_channel_reaches_nobody_outside(tmp_path: Path) -> None:
    async def doing() -> None:
        async with office() as slack, Running(slack, tmp_path):
            await slack.say("U1", "G1", "decision-7: merge with Acme")
            await until(
                lambda: knows(slack, "U2", "Acme", "decision-7"), "the secret for its people"
            )
            outsider = await answered(slack, "U3", "/whoknows", "decision-7")
            missing = await answered(slack, "U3", "/whoknows", "decision-8")
            assert outsider.replace("decision-7", "decision-8") == missing
            for command, text in (("/misinformed", ""), ("/status", ""), ("/mymind", "")):
                assert "Acme" not in await answered(slack, "U3", command, text)

    run(doing)


def test_killed_in_the_middle_it_goes_on_and_catches_up(tmp_path: Path) -> None:
    async def doing() -> None:
        async with office() as slack:
            async with Running(slack, tmp_path) as bot:
                ts = await slack.say("U1", "C1", "decision-42: ship on friday")
                await slack.react("U3", "C1", ts)
                await until(lambda: knows(slack, "U2", "friday"), "the decision")
                await bot.killed()
            slack.delivery.lost = True
            await slack.edit("C1", ts, "decision-42: ship on monday", by="U1")
            slack.here.later(120)
            await slack.edit("C1", ts, "decision-42: ship on tuesday", by="U1")
            await slack.say("U2", "C1", "decision-43: no freeze")
            slack.delivery.lost = False
            async with Running(slack, tmp_path):
                await until(
                    lambda: knows(slack, "U2", "no freeze", "decision-43"), "what was missed"
                )
                await until(lambda: knows(slack, "U1", "tuesday"), "the edit that was missed")
                wrong = await answered(slack, "U1", "/misinformed", "decision-42")
                assert "cid has" in wrong  # had reacted to what stood there before
                assert "bob has" not in wrong

    run(doing)


def test_health_and_metrics_say_how_it_is_and_no_names(tmp_path: Path) -> None:
    async def doing() -> None:
        async with office() as slack:
            port = _free_port()
            async with Running(slack, tmp_path, SECONDORDER_HEALTH_PORT=str(port)):
                await slack.say("U1", "C1", "decision-42: ship on friday")
                await until(lambda: knows(slack, "U2", "friday"), "the decision")
                async with aiohttp.ClientSession() as session:
                    async with session.get(f"http://127.0.0.1:{port}/healthz") as answer:
                        assert answer.status == 200
                        assert (await answer.json())["ok"] is True
                    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                        text = await answer.text()
            assert 'secondorder_heard_total{kind="message",workspace="T1"} 1.0' in text
            assert "secondorder_answer_seconds_count" in text
            assert not any(name in text for name in ("friday", "decision", "bob", "U1", "C1"))

    run(doing)


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("missing", ["SECONDORDER_SLACK_BOT_TOKEN", "SECONDORDER_SLACK_APP_TOKEN"])
def test_without_a_token_it_says_which(tmp_path: Path, missing: str) -> None:
    async def doing() -> None:
        async with office() as slack:
            running = Running(slack, tmp_path, **{missing: ""})
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", "run", env=running._environment, cwd=ROOT,
                stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            async with asyncio.timeout(WITHIN):
                said = (await process.communicate())[1]
            assert process.returncode == 1
            assert missing in said.decode()
            assert said.decode().count("\n") == 1

    run(doing)


def test_the_doctor_names_a_missing_scope_and_what_breaks(tmp_path: Path) -> None:
    async def doing() -> None:
        async with office() as slack:
            slack.scopes = slack.scopes - {"reactions:read"}
            running = Running(slack, tmp_path)
            code, said = await _doctor(running)
            assert code == 1
            assert "NO  Slack scope reactions:read: it is missing: who reacted" in said
            assert "ok  Slack app token" in said
            slack.scopes = slack.scopes | {"reactions:read"}
            assert (await _doctor(running))[0] == 0
            slack.bot_token = "xoxb-another"
            code, said = await _doctor(running)
            assert code == 1
            assert "NO  Slack bot token: Slack says invalid_auth" in said

    run(doing)


async def _doctor(running: Running) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "doctor", env=running._environment, cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(WITHIN):
        said = (await process.communicate())[0]
    return process.returncode, said.decode()
