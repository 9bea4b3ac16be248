"""A small Slack on loopback: the Web API with state, Socket Mode, signed HTTP and response URLs.

It enforces what Slack enforces (tokens, scopes, membership, paging, five answers to a response URL)
and misbehaves when it is told to (429, 500, lost answers, duplicates, another order, silence). It
knows nothing of the bot but its tokens. What may be wrong in a fake: section D of the Slack research.
"""

import asyncio
import hashlib
import hmac
import itertools
import json
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

from tests.fakes.slack_state import Channel, Happened, Refused, Workspace

type Answer = dict[str, Any]

HISTORY = {"public": "channels", "private": "groups", "im": "im", "mpim": "mpim"}
ALL_SCOPES = frozenset(
    [
        "commands",
        "chat:write",
        "channels:read",
        "channels:history",
        "groups:read",
        "groups:history",
        "im:history",
        "im:read",
        "im:write",
        "mpim:read",
        "mpim:history",
        "users:read",
        "reactions:read",
        "app_mentions:read",
        "usergroups:read",
    ]
)
LISTED = {
    "public_channel": "channels",
    "private_channel": "groups",
    "im": "im",
    "mpim": "mpim",
}
SCOPES = {
    "users.list": "users:read",
    "users.info": "users:read",
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "conversations.open": "im:write",
    "usergroups.list": "usergroups:read",
    "usergroups.users.list": "usergroups:read",
}
USES, MINUTES = 5, 30  # of a response URL


@dataclass
class Fault:
    """What a method does wrong the next time it is called, instead of what it should.

    `limit`: answers 429 with that Retry-After (seconds). `status`: answers that status. `drop`: does
    what it should, and then the answer is lost. `error`: answers `ok: false` with it.
    """

    limit: float | None = None
    status: int | None = None
    drop: bool = False
    error: str | None = None


@dataclass
class Hook:
    """A response URL: what was posted to it."""

    until: float
    user: str
    channel: str
    posts: list[dict[str, Any]] = field(default_factory=list)
    refused: int = 0


@dataclass
class Delivery:
    """How events reach the app. `lost`: none do, nor are they tried again."""

    duplicates: float = 0.0
    shuffled: int = 0
    lost: bool = False
    silent: bool = False
    patience: float = 3.0
    retries: tuple[float, ...] = (0.0, 0.05, 0.25)


class FakeSlack:
    """`async with FakeSlack() as slack`: `slack.url` is what the bot is pointed at.

    Whatever happens in `slack.here` is told to the app by `await slack.tell(happened)`; the short
    forms `say`, `edit`, `delete`, `react`, … do both.
    """

    def __init__(self, here: Workspace | None = None, seed: int = 0) -> None:
        self.here = here or Workspace()
        self.bot_token, self.app_token = "xoxb-fake", "xapp-fake"
        self.secret, self.app_id = "signing-secret", "A1"
        self.code = "installation-code"
        """What the browser brings back when somebody agreed to install the app."""
        self.refreshing: set[str] = set()
        """The refresh tokens that are good, each for once."""
        self.scopes = ALL_SCOPES
        self.delivery = Delivery()
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.answering: dict[str, Callable[[], Awaitable[None]]] = {}
        """What is awaited before a method answers."""
        self.pages: dict[str, dict[str, list[int]]] = defaultdict(dict)
        """How long the pages of a method are, by channel; the usual length where that is not said."""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.ephemeral: list[dict[str, Any]] = []
        self.views: dict[str, dict[str, Any]] = {}
        self.modals: list[dict[str, Any]] = []
        self.hooks: dict[str, Hook] = {}
        self.acknowledged: dict[str, float] = {}
        """How long the app took to acknowledge, in seconds, by envelope."""
        self.answers: dict[str, Any] = {}
        self.http_url: str | None = None
        """Where signed requests go; None for Socket Mode."""
        self.url = ""
        self._random = random.Random(seed)
        self._sockets: list[web.WebSocketResponse] = []
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._numbers = itertools.count(1)
        self._held: list[dict[str, Any]] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._connected = asyncio.Event()

    # ---------------------------------------------------------------------------- coming up

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_get("/socket", self._socket)
        app.router.add_post("/hook/{hook}", self._hook)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self._base = f"{host}:{port}"
        self.url = f"http://{self._base}/api/"
        self._client = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for socket in list(self._sockets):
            await socket.close()
        await self._client.close()
        await self._runner.cleanup()

    async def connected(self, within: float = 30.0) -> None:
        """Waits until the app has opened a socket."""
        await asyncio.wait_for(self._connected.wait(), within)

    # ---------------------------------------------------------------------------- what people do

    async def say(self, user: str, channel: str, text: str, **more: Any) -> str:
        ts, happened = self.here.say(user, channel, text, **more)
        await self.tell(happened)
        return ts

    async def edit(self, channel: str, ts: str, text: str, **more: Any) -> None:
        await self.tell(self.here.edit(channel, ts, text, **more))

    async def delete(self, channel: str, ts: str) -> None:
        await self.tell(self.here.delete(channel, ts))

    async def react(self, user: str, channel: str, ts: str, name: str = "+1") -> None:
        await self.tell(self.here.react(user, channel, ts, name))

    async def unreact(self, user: str, channel: str, ts: str, name: str = "+1") -> None:
        await self.tell(self.here.unreact(user, channel, ts, name))

    async def join(self, user: str, channel: str, **more: Any) -> None:
        await self.tell(self.here.join(user, channel, **more))

    async def leave(self, user: str, channel: str) -> None:
        await self.tell(self.here.leave(user, channel))

    async def command(self, user: str, channel: str, command: str, text: str = "") -> Hook:
        """Somebody types a slash command; returns its response URL's hook once it is acknowledged."""
        url, hook = self._new_hook(user, channel)
        where = self.here.channels.get(channel)
        form = {
            "command": command, "text": text, "user_id": user,
            "user_name": self.here.users[user].name, "team_id": self.here.team,
            "channel_id": channel, "api_app_id": self.app_id, "response_url": url,
            "channel_name": where.name if where else "directmessage",
            "trigger_id": f"{next(self._numbers)}.trigger", "is_enterprise_install": "false",
        }  # fmt: skip
        await self._deliver("slash_commands", form, tries=1)
        return hook

    async def press(
        self, user: str, channel: str, action: dict[str, Any], message: dict[str, Any]
    ) -> Hook:
        """Somebody presses a button of a message: `action` is its `action_id`, `value`, …"""
        url, hook = self._new_hook(user, channel)
        payload = {
            "type": "block_actions", "user": {"id": user, "team_id": self.here.team},
            "team": {"id": self.here.team}, "api_app_id": self.app_id,
            "channel": {"id": channel}, "message": message, "response_url": url,
            "container": {"type": "message", "channel_id": channel,
                          "message_ts": message.get("ts", "")},
            "trigger_id": f"{next(self._numbers)}.trigger",
            "actions": [{"type": "button", "action_ts": self.here.tick()} | action],
        }  # fmt: skip
        await self._deliver("interactive", payload, tries=1)
        return hook

    async def shortcut(self, user: str, channel: str, callback: str, ts: str) -> Hook:
        """Somebody picks a message shortcut."""
        url, hook = self._new_hook(user, channel)
        payload = {
            "type": "message_action", "callback_id": callback, "response_url": url,
            "user": {"id": user, "team_id": self.here.team}, "team": {"id": self.here.team},
            "channel": {"id": channel, "name": self.here.one(channel).name},
            "message": dict(self.here.message(channel, ts)), "message_ts": ts,
            "trigger_id": f"{next(self._numbers)}.trigger", "api_app_id": self.app_id,
        }  # fmt: skip
        await self._deliver("interactive", payload, tries=1)
        return hook

    async def open_home(self, user: str) -> None:
        event = {"type": "app_home_opened", "user": user, "tab": "home", "channel": "D0HOME",
                 "event_ts": self.here.tick()}  # fmt: skip
        await self.tell([Happened(event, None)])

    # ---------------------------------------------------------------------------- delivery

    async def tell(self, happened: Iterable[Happened]) -> None:
        """Delivers events as Slack would: those of channels the bot is in, perhaps not in order,
        perhaps more than once. With `delivery.shuffled` they wait for `flush`."""
        for event, channel in happened:
            if channel is not None and self.here.bot not in self.here.one(channel).members:
                continue
            envelope = self.envelope(event, channel)
            self._held.append(envelope)
            if self._random.random() < self.delivery.duplicates:
                again = envelope | {"event_id": f"Ev{next(self._numbers):08d}"}
                self._held.append(again)
        if len(self._held) > self.delivery.shuffled:
            await self.flush()

    async def flush(self) -> None:
        """Delivers what is held back, in another order where that is wanted."""
        held, self._held = self._held, []
        if self.delivery.shuffled:
            self._random.shuffle(held)
        if self.delivery.lost:
            return
        await asyncio.gather(
            *(self._deliver("events_api", one, 1 + len(self.delivery.retries)) for one in held)
        )

    def envelope(self, event: dict[str, Any], channel: str | None) -> dict[str, Any]:
        external = channel is not None and self.here.one(channel).external
        return {
            "token": "verification", "type": "event_callback", "api_app_id": self.app_id,
            "team_id": self.here.team, "context_team_id": self.here.team,
            "context_enterprise_id": None, "event": event,
            "event_id": f"Ev{next(self._numbers):08d}",
            "event_time": int(float(event.get("event_ts", self.here.now))),
            "is_ext_shared_channel": external, "event_context": "4-fake",
            "authorizations": [{
                "enterprise_id": None, "team_id": self.here.team, "user_id": self.here.bot,
                "is_bot": True, "is_enterprise_install": False,
            }],
        }  # fmt: skip

    async def _deliver(self, type: str, payload: dict[str, Any], tries: int) -> None:
        reason = ""
        for attempt in range(tries):
            if attempt:
                await asyncio.sleep(self.delivery.retries[attempt - 1])
            reason = await self._try(type, payload, attempt, reason)
            if not reason:
                return

    async def _try(self, type: str, payload: dict[str, Any], attempt: int, reason: str) -> str:
        """Why it was not acknowledged; empty when it was."""
        began = time.monotonic()
        try:
            if self.http_url is not None:
                status, body = await self._post(type, payload, attempt, reason)
                if status >= 300:
                    return "http_error"
                answer: Any = json.loads(body) if body[:1] in ("{", "[") else body
            else:
                answer = await self._send(type, payload, attempt, reason)
        except TimeoutError:
            return "http_timeout"
        except (aiohttp.ClientError, ConnectionError):
            return "connection_failed"
        key = payload.get("event_id") or payload.get("trigger_id", "")
        self.acknowledged[key] = time.monotonic() - began
        self.answers[key] = answer
        return ""

    async def _send(self, type: str, payload: dict[str, Any], attempt: int, reason: str) -> Any:
        sockets = [one for one in self._sockets if not one.closed]
        if not sockets or self.delivery.silent:
            raise ConnectionError("nobody listens")
        id = f"envelope-{next(self._numbers)}"
        envelope = {
            "envelope_id": id, "type": type, "payload": payload, "retry_attempt": attempt,
            "retry_reason": reason, "accepts_response_payload": type != "events_api",
        }  # fmt: skip
        self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            await self._random.choice(sockets).send_json(envelope)
            return await asyncio.wait_for(self._waiting[id], self.delivery.patience)
        finally:
            self._waiting.pop(id, None)

    async def _post(
        self, type: str, payload: dict[str, Any], attempt: int, reason: str
    ) -> tuple[int, str]:
        if type == "events_api":
            body, kind = json.dumps(payload), "application/json"
        else:
            fields = payload if type == "slash_commands" else {"payload": json.dumps(payload)}
            body, kind = urlencode(fields), "application/x-www-form-urlencoded"
        stamp = str(int(time.time()))
        headers = {"content-type": kind, "x-slack-request-timestamp": stamp,
                   "x-slack-signature": self.signature(stamp, body)}  # fmt: skip
        if attempt:
            headers |= {"x-slack-retry-num": str(attempt), "x-slack-retry-reason": reason}
        limit = aiohttp.ClientTimeout(total=self.delivery.patience)
        assert self.http_url is not None
        async with self._client.post(
            self.http_url, data=body, headers=headers, timeout=limit
        ) as answer:
            return answer.status, await answer.text()

    def signature(self, stamp: str, body: str) -> str:
        """As Slack signs the raw body of a request."""
        text = f"v0:{stamp}:{body}".encode()
        return "v0=" + hmac.new(self.secret.encode(), text, hashlib.sha256).hexdigest()

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Asks the app to connect anew, as Slack does every few hours."""
        for socket in [one for one in self._sockets if not one.closed]:
            await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})
            await socket.close()

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._sockets.append(socket)
        self._connected.set()
        count = sum(not one.closed for one in self._sockets)
        await socket.send_json({
            "type": "hello", "num_connections": count,
            "connection_info": {"app_id": self.app_id},
            "debug_info": {"host": "fake", "approximate_connection_time": 18060},
        })  # fmt: skip
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._acknowledge(json.loads(message.data))
        finally:
            self._sockets.remove(socket)
            if not self._sockets:
                self._connected.clear()
        return socket

    def _acknowledge(self, answer: dict[str, Any]) -> None:
        waiting = self._waiting.get(answer.get("envelope_id", ""))
        if waiting is not None and not waiting.done():
            waiting.set_result(answer.get("payload"))

    # ---------------------------------------------------------------------------- response URLs

    def _new_hook(self, user: str, channel: str) -> tuple[str, Hook]:
        name = f"h{next(self._numbers)}"
        self.hooks[name] = Hook(self.here.now + MINUTES * 60, user, channel)
        return f"http://{self._base}/hook/{name}", self.hooks[name]

    async def _hook(self, request: web.Request) -> web.Response:
        hook = self.hooks.get(request.match_info["hook"])
        if hook is None or len(hook.posts) >= USES or self.here.now > hook.until:
            if hook is not None:
                hook.refused += 1
            return web.json_response({"ok": False, "error": "used_url"}, status=404)
        body = await request.json()
        problem = too_big(body)
        if problem:
            hook.refused += 1
            return web.Response(text=problem, status=400)
        hook.posts.append(body)
        return web.Response(text="ok")

    # ---------------------------------------------------------------------------- the Web API

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method, params = request.match_info["method"], await _params(request)
        self.calls.append((method, params))
        if method in self.answering:
            await self.answering[method]()
        fault = self.faults[method].pop(0) if self.faults[method] else Fault()
        if fault.limit is not None:
            headers = {"Retry-After": str(fault.limit)}
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers=headers
            )
        if fault.status is not None:
            return web.Response(text="upstream", status=fault.status)
        if fault.error is not None:
            return web.json_response({"ok": False, "error": fault.error})
        try:
            self._admit(method, request, params)
            handler: Callable[[dict[str, Any]], Awaitable[Answer]] | None
            handler = getattr(self, "_do_" + method.replace(".", "_"), None)
            if handler is None:
                raise Refused("unknown_method")
            answer = {"ok": True} | await handler(params)
        except Refused as refused:
            needed = SCOPES.get(method, "")
            answer = {"ok": False, "error": refused.error}
            if refused.error == "missing_scope":
                answer |= {"needed": needed, "provided": ",".join(sorted(self.scopes))}
        if fault.drop:
            assert request.transport is not None
            request.transport.abort()
        headers = {"x-oauth-scopes": ",".join(sorted(self.scopes))}
        return web.json_response(answer, headers=headers)

    def _admit(self, method: str, request: web.Request, params: dict[str, Any]) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        token = token or params.get("token", "")
        if method == "oauth.v2.access":
            return
        wanted = self.app_token if method == "apps.connections.open" else self.bot_token
        if not token:
            raise Refused("not_authed")
        if token != wanted:
            raise Refused("invalid_auth")
        scope = SCOPES.get(method)
        if scope is not None and scope not in self.scopes:
            raise Refused("missing_scope")

    def _inside(self, params: dict[str, Any], needs: str) -> Channel:
        """The channel, if the bot is in it and has the scope for its kind."""
        where = self._seen(params)
        if f"{HISTORY[where.kind]}:{needs}" not in self.scopes:
            raise Refused("missing_scope")
        if self.here.bot not in where.members:
            raise Refused("not_in_channel")
        return where

    def _seen(self, params: dict[str, Any]) -> Channel:
        """The channel, if it is public or the bot is in it."""
        where = self.here.one(params.get("channel", ""))
        if where.kind != "public" and self.here.bot not in where.members:
            raise Refused("channel_not_found")
        return where

    async def _do_auth_test(self, _: dict[str, Any]) -> Answer:
        return {
            "url": "https://fake.slack.test/", "team": "Fake", "user": "secondorder",
            "team_id": self.here.team, "user_id": self.here.bot, "bot_id": "B0BOT",
            "is_enterprise_install": False,
        }  # fmt: skip

    async def _do_api_test(self, _: dict[str, Any]) -> Answer:
        return {}

    async def _do_oauth_v2_access(self, params: dict[str, Any]) -> Answer:
        """A token for a code, or for a refresh token; that one is good for once (section A10)."""
        answer = {
            "token_type": "bot", "app_id": self.app_id, "bot_user_id": self.here.bot,
            "scope": ",".join(sorted(self.scopes)), "is_enterprise_install": False,
            "team": {"id": self.here.team, "name": "Fake"}, "enterprise": None,
            "authed_user": {"id": "U1"},
        }  # fmt: skip
        if params.get("grant_type") == "refresh_token":
            if params.get("refresh_token") not in self.refreshing:
                raise Refused("invalid_refresh_token")
            number = next(self._numbers)
            self.refreshing = {f"refresh-{number}"}
            self.bot_token = f"xoxb-{number}"
            answer |= {"refresh_token": f"refresh-{number}", "expires_in": 43_200}
        elif params.get("code") != self.code:
            raise Refused("invalid_code")
        return answer | {"access_token": self.bot_token}

    async def _do_team_info(self, _: dict[str, Any]) -> Answer:
        return {"team": {"id": self.here.team, "name": "Fake", "domain": "fake"}}

    async def _do_apps_connections_open(self, _: dict[str, Any]) -> Answer:
        return {"url": f"ws://{self._base}/socket?ticket={next(self._numbers)}"}

    async def _do_users_list(self, params: dict[str, Any]) -> Answer:
        own = [u.shown() for u in self.here.users.values() if u.team == self.here.team]
        return _page("members", own, params, 1000)

    async def _do_users_info(self, params: dict[str, Any]) -> Answer:
        user = self.here.users.get(params.get("user", ""))
        if user is None or not user.known:
            raise Refused("user_not_found")
        return {"user": user.shown()}

    async def _do_conversations_list(self, params: dict[str, Any]) -> Answer:
        for kind in str(params.get("types", "public_channel")).split(","):
            if f"{LISTED[kind]}:read" not in self.scopes:
                raise Refused("missing_scope")
        kinds = {
            {"public_channel": "public", "private_channel": "private"}.get(kind, kind)
            for kind in str(params.get("types", "public_channel")).split(",")
        }
        archived = str(params.get("exclude_archived", "false")).lower() not in ("true", "1")
        shown = [
            where.shown(self.here.bot)
            for where in self.here.channels.values()
            if where.kind in kinds
            and (where.kind == "public" or self.here.bot in where.members)
            and (archived or not where.archived)
        ]
        return _page("channels", shown, params, 100)

    async def _do_users_conversations(self, params: dict[str, Any]) -> Answer:
        found = await self._do_conversations_list(params | {"limit": 1000, "cursor": ""})
        mine = [one for one in found["channels"] if one["is_member"]]
        return _page("channels", mine, params, 100)

    async def _do_conversations_info(self, params: dict[str, Any]) -> Answer:
        return {"channel": self._seen(params).shown(self.here.bot)}

    async def _do_conversations_members(self, params: dict[str, Any]) -> Answer:
        where = self._seen(params)
        lengths = self.pages["conversations.members"].get(where.id)
        return _page("members", list(where.members), params, 100, lengths)

    async def _do_conversations_history(self, params: dict[str, Any]) -> Answer:
        roots = self._inside(params, "history").roots()
        newest_first = [_shown(one, params) for one in _between(roots, params)[::-1]]
        return _page("messages", newest_first, params, 100) | {"pin_count": 0}

    async def _do_conversations_replies(self, params: dict[str, Any]) -> Answer:
        where, ts = self._inside(params, "history"), str(params.get("ts", ""))
        if ts not in where.messages:
            raise Refused("thread_not_found")
        root, *replies = where.thread(ts)
        lines = [_shown(one, params) for one in [root, *_between(replies, params)]]
        return _page("messages", lines, params, 1000)

    async def _do_conversations_open(self, params: dict[str, Any]) -> Answer:
        users = [one for one in str(params.get("users", "")).split(",") if one]
        if any(one not in self.here.users for one in users):
            raise Refused("user_not_found")
        return {"channel": {"id": self.here.direct(users).id}}

    async def _do_conversations_join(self, params: dict[str, Any]) -> Answer:
        where = self._seen(params)
        if self.here.bot not in where.members:
            self._later(self.tell(self.here.join(self.here.bot, where.id)))
        return {"channel": where.shown(self.here.bot)}

    async def _do_chat_postMessage(self, params: dict[str, Any]) -> Answer:
        channel = params.get("channel", "")
        if channel in self.here.users:
            channel = self.here.direct([channel]).id
        where = self._seen({"channel": channel})
        if self.here.bot not in where.members:
            raise Refused("not_in_channel")
        if where.archived:
            raise Refused("is_archived")
        problem = too_big(params)
        if problem:
            raise Refused(problem)
        more = {k: params[k] for k in ("blocks", "metadata") if params.get(k)}
        ts, happened = self.here.say(
            self.here.bot, channel, str(params.get("text", "")),
            thread=params.get("thread_ts") or None, bot_id="B0BOT", app_id=self.app_id, **more,
        )  # fmt: skip
        self._later(self.tell(happened))
        return {"channel": channel, "ts": ts, "message": dict(where.messages[ts])}

    async def _do_chat_update(self, params: dict[str, Any]) -> Answer:
        channel, ts = params.get("channel", ""), str(params.get("ts", ""))
        if self.here.message(channel, ts).get("user") != self.here.bot:
            raise Refused("cant_update_message")
        more = {k: params[k] for k in ("blocks", "metadata") if k in params}
        self._later(self.tell(self.here.edit(channel, ts, str(params.get("text", "")), **more)))
        return {"channel": channel, "ts": ts, "text": params.get("text", "")}

    async def _do_chat_delete(self, params: dict[str, Any]) -> Answer:
        channel, ts = params.get("channel", ""), str(params.get("ts", ""))
        self._later(self.tell(self.here.delete(channel, ts)))
        return {"channel": channel, "ts": ts}

    async def _do_chat_postEphemeral(self, params: dict[str, Any]) -> Answer:
        where = self._inside(params, "history")
        if params.get("user") not in where.members:
            raise Refused("user_not_in_channel")
        self.ephemeral.append(params)
        return {"message_ts": self.here.tick()}

    async def _do_chat_getPermalink(self, params: dict[str, Any]) -> Answer:
        where = self._inside(params, "history")
        ts = str(params.get("message_ts", ""))
        message = self.here.message(where.id, ts)
        link = f"https://fake.slack.test/archives/{where.id}/p{ts.replace('.', '')}"
        if message.get("thread_ts", ts) != ts:
            link += f"?thread_ts={message['thread_ts']}&cid={where.id}"
        return {"channel": where.id, "permalink": link}

    async def _do_views_publish(self, params: dict[str, Any]) -> Answer:
        view = params["view"]
        if len(view.get("blocks", ())) > 100:
            raise Refused("invalid_arguments")
        self.views[params["user_id"]] = view
        return {"view": {"id": f"V{params['user_id']}"} | view}

    async def _do_views_open(self, params: dict[str, Any]) -> Answer:
        self.modals.append(params["view"])
        return {"view": {"id": f"V{next(self._numbers)}"} | params["view"]}

    async def _do_usergroups_users_list(self, params: dict[str, Any]) -> Answer:
        group = params.get("usergroup", "")
        if group not in self.here.groups:
            raise Refused("no_such_subteam")
        return {"users": list(self.here.groups[group])}

    async def _do_usergroups_list(self, _: dict[str, Any]) -> Answer:
        return {"usergroups": [{"id": id, "handle": id.lower()} for id in self.here.groups]}

    def _later(self, doing: Any) -> None:
        task = asyncio.ensure_future(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


# ------------------------------------------------------------------------------- plain values


async def _params(request: web.Request) -> dict[str, Any]:
    found: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        found |= await request.json()
    else:
        found |= {key: value for key, value in (await request.post()).items()}
    for key in ("blocks", "view", "metadata", "attachments"):
        if isinstance(found.get(key), str):
            found[key] = json.loads(found[key])
    return found


def _shown(message: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Metadata is given only to who asks for it."""
    if str(params.get("include_all_metadata", "")).lower() in ("true", "1"):
        return message
    return {key: value for key, value in message.items() if key != "metadata"}


def _page(
    name: str,
    items: list[Any],
    params: dict[str, Any],
    usual: int,
    lengths: list[int] | None = None,
) -> Answer:
    """One page: `limit` items (at most 999) from the cursor on, or as many as `lengths` says."""
    limit = min(int(params.get("limit") or usual), 999)
    start, _, number = str(params.get("cursor") or "c0").removeprefix("c").partition("p")
    begin, page = int(start), int(number or 0)
    if lengths is not None and page < len(lengths):
        limit = lengths[page]
    more = begin + limit < len(items)
    cursor = f"c{begin + limit}p{page + 1}" if more else ""
    return {
        name: items[begin : begin + limit],
        "has_more": more,
        "response_metadata": {"next_cursor": cursor},
    }


def _between(messages: list[dict[str, Any]], params: dict[str, Any]) -> list[dict[str, Any]]:
    """Those after `oldest` and before `latest`, or at them if `inclusive`."""
    oldest, latest = str(params.get("oldest") or ""), str(params.get("latest") or "")
    inclusive = str(params.get("inclusive", "")).lower() in ("true", "1")
    return [
        one
        for one in messages
        if (not oldest or one["ts"] > oldest or (inclusive and one["ts"] == oldest))
        and (not latest or one["ts"] < latest or (inclusive and one["ts"] == latest))
    ]


def too_big(body: dict[str, Any]) -> str:
    """The error with which Slack refuses a message, empty where it takes it (section A8)."""
    blocks = body.get("blocks") or []
    if len(blocks) > 50:
        return "invalid_blocks"
    if len(json.dumps(blocks, ensure_ascii=False)) > 13_200:
        return "msg_blocks_too_long"
    if len(str(body.get("text") or "")) > 4_000:
        return "msg_too_long"
    if not blocks and not body.get("text") and not body.get("delete_original"):
        return "no_text"
    return next(filter(None, map(_bad_block, blocks)), "")


def _bad_block(block: dict[str, Any]) -> str:
    texts = [block.get("text"), *block.get("fields", ())]
    for text in texts:
        longest = {"header": 150}.get(block["type"], 3_000)
        if isinstance(text, dict) and not 0 < len(text.get("text", "")) <= longest:
            return "invalid_blocks"
    most = {"context": 10, "actions": 25}.get(block["type"])
    elements = block.get("elements", [])
    if most is not None and not 0 < len(elements) <= most:
        return "invalid_blocks"
    for one in elements:
        if one.get("type") == "button" and (
            len(one["text"]["text"]) > 75
            or len(one.get("value", "")) > 2_000
            or len(one.get("action_id", "")) > 255
        ):
            return "invalid_blocks"
    return "invalid_blocks" if len(block.get("block_id", "")) > 255 else ""
