"""Slack as a chat: the only importer of slack_bolt and slack_sdk.

It refuses to know the memory, the settings and what is answered: it is handed plain values, and a `House`
for each workspace. Events come through one tap, which stands before everything else of bolt: what they
tell is stored before they are acknowledged, in the order in which those of a channel came, and
whatever cannot be stored is not acknowledged, so that Slack delivers it again. Commands, buttons and
shortcuts are acknowledged first and answered through their response URL. Platform facts: section A of
the Slack research.

The SDK's own log lines may hold what people wrote: only where something happened in it is logged.
"""

import asyncio
import json
import logging
import os
import re
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import structlog
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError, SlackTokenRotationError
from slack_sdk.oauth.installation_store import Bot, FileInstallationStore
from slack_sdk.oauth.state_store import FileOAuthStateStore
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack_blocks import action, fallback
from bot.adapters.slack_blocks import message as in_blocks
from bot.adapters.slack_catchup import Gap, Marks
from bot.adapters.slack_events import Own
from bot.adapters.slack_records import Record, as_id, as_list, as_record, as_text, as_ts
from bot.adapters.slack_team import TOO_LONG, Habits, House, Team
from bot.adapters.slack_web import Limited, Lost, Refused, Web
from bot.chat import Command, Kept, Press, Reply
from bot.pages import Page
from engine.errors import InvalidInput, SecondOrderError

SCOPES = (
    "app_mentions:read", "channels:history", "channels:read", "chat:write", "commands",
    "groups:history", "groups:read", "im:history", "im:read", "im:write", "reactions:read",
    "users:read",
)  # fmt: skip
"""What is asked for when a workspace installs us; the manifest says what each is for."""

SHORTCUTS = {"who_missed": "who-missed", "record_decision": "record"}
"""Callback ids of the message shortcuts, and the commands they are."""

EVENTS_PATH, INSTALL_PATH, REDIRECT_PATH = (
    "/slack/events",
    "/slack/install",
    "/slack/oauth_redirect",
)

_BY_TEAM = frozenset({"users.list", "users.conversations", "conversations.open"})
"""Methods that ask an organisation's token which workspace is meant."""
_TROUBLE = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_REFRESH_BEFORE = 60  # minutes before a token ends
_ENDS = 5.0  # seconds that what is under way has to end in
_log = structlog.get_logger("secondorder.slack")

type Open = Callable[[str], Awaitable[House]]
"""Opens the house of a workspace, by its team id."""
type Begun = Callable[[Team], Awaitable[None]]
type Lock = Callable[[str], AbstractAsyncContextManager[Any]]
"""Holds others off while a token is refreshed, by the name of the installation."""


class Setup(NamedTuple):
    """How we are connected.

    `bot_token`: of the one workspace; without it `client_id` and `client_secret` let workspaces install
    us, and their tokens lie in the folder `installs`. `app_token`: for Socket Mode. `public_url`: where
    Slack reaches us, then it is HTTP with `signing_secret`, on `host` and `port` (0: any).
    `commands`: our name of a command to the one it has at Slack. `pace`: seconds between two questions,
    by method. `silence`: seconds without anything from Slack after which a new connection is made.
    `ping`: seconds between two pings.
    """

    bot_token: str = ""
    app_token: str = ""
    signing_secret: str = ""
    public_url: str = ""
    host: str = "127.0.0.1"
    port: int = 3000
    client_id: str = ""
    client_secret: str = ""
    installs: Path | None = None
    api_url: str = "https://slack.com/api/"
    commands: Mapping[str, str] = {}
    pace: Mapping[str, float] = {}
    habits: Habits = Habits()
    silence: float = 600.0
    ping: float = 5.0
    timeout: float = 15.0


class Install(NamedTuple):
    """Which installation a token is of: a workspace's, or (`org`) a whole organisation's."""

    enterprise: str | None
    team: str | None
    org: bool = False


class Slack:
    """All workspaces that we are installed in: `start`, then `close`; or `run` until told to stop."""

    def __init__(
        self,
        setup: Setup,
        open: Open,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        lock: Lock | None = None,
        begun: Begun | None = None,
    ) -> None:
        """`begun` is told of each workspace once it is known who is where. Raises InvalidInput where
        something is missing to connect with."""
        _check(setup)
        self.teams: dict[str, Team] = {}
        self.port = 0
        """Where HTTP is listened for, once it is."""
        self._setup, self._open, self._clock, self._begun = setup, open, clock, begun
        self._names = {theirs.removeprefix("/"): ours for ours, theirs in setup.commands.items()}
        self._logger = _quiet()
        self._tokens = _Tokens(setup, self._client, lock or _in_this_process(), self._logger)
        self._opening: dict[str, asyncio.Lock] = {}
        self._session: aiohttp.ClientSession | None = None
        self._handler: _Handler | None = None
        self._runner: web.AppRunner | None = None
        self._listening: socket.socket | None = None
        self._watching: asyncio.Task[None] | None = None
        self._beside: set[asyncio.Task[Any]] = set()
        self._under_way = 0
        self._heard_at = time.monotonic()
        self._app: AsyncApp | None = None

    # ---------------------------------------------------------------------------- coming and going

    async def run(self, stop: asyncio.Event) -> None:
        """Is connected until `stop` is set. Raises InvalidInput where Slack does not let us in."""
        try:
            await self.start()
            await stop.wait()
        finally:
            await self.close()

    async def start(self) -> None:
        """Connects; what was missed is read from then on. Raises InvalidInput where Slack does not let
        us in, and StoreError where a memory cannot be opened."""
        limit = aiohttp.ClientTimeout(total=self._setup.timeout)
        self._session = aiohttp.ClientSession(timeout=limit)
        self._app = self._bolt()
        try:
            for install in self._tokens.installed():
                await self._begin(install)
        except (Refused, Limited, Lost) as wrong:
            raise InvalidInput(_why_not(wrong, "the bot's token")) from None
        if self._setup.public_url:
            await self._serve()
            await self._all_connected()
        else:
            await self._connect()

    async def close(self) -> None:
        """Ends everything; what was stored and not acknowledged is delivered again and recognised."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._listening is not None:
            # A connection that is accepted while the server closes is never closed itself by asyncio.
            asyncio.get_running_loop().remove_reader(self._listening.fileno())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended(), _ENDS)
        if self._runner is not None:
            await self._runner.cleanup()
        if self._handler is not None:
            await self._handler.end()
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        for team in self.teams.values():
            await team.close()
        if self._session is not None:
            await self._session.close()

    async def _ended(self) -> None:
        while self._under_way:
            await asyncio.sleep(0.01)

    @property
    def silent_for(self) -> float:
        """Seconds since Slack last sent us anything."""
        return time.monotonic() - self._heard_at

    def gaps(self, team: str) -> list[Gap]:
        """When which room of a workspace was not watched."""
        return self.teams[team].gaps() if team in self.teams else []

    # ---------------------------------------------------------------------------- workspaces

    async def _begin(self, install: Install, team: str = "") -> Team | None:
        """Opens a workspace; None where an organisation's installation does not name one."""
        token = await self._tokens.of(install)
        me = await self._send(token, "auth.test", {})
        id = team or as_id(me.get("team_id"))
        if id is None or (install.org and not team):
            return None
        own = Own(
            id, as_text(me.get("user_id")), as_text(me.get("bot_id")), as_text(me.get("app_id"))
        )

        async def send(method: str, params: Mapping[str, object]) -> Record:
            more = {"team_id": id} if install.org and method in _BY_TEAM else {}
            return await self._send(await self._tokens.of(install), method, {**params, **more})

        house = await self._open(id)
        opened = Team(
            own, as_text(me.get("url")), Web(send, self._setup.pace), house, self._setup.habits,
            self._clock,
        )  # fmt: skip
        await opened.begin()
        if self._begun is not None:
            await self._begun(opened)
        self.teams[id] = opened
        return opened

    async def _team_of(self, body: Record) -> Team | None:
        """Whose an event or a question is; an installation we do not know yet is opened. None for one
        that is not ours: then it is acknowledged, and nothing is done."""
        install, id = _whose(body)
        if id is None:
            return None
        if id not in self.teams and self._setup.bot_token == "":
            async with self._opening.setdefault(id, asyncio.Lock()):
                if id not in self.teams and await self._tokens.has(install):
                    team = await self._begin(install, id)
                    if team is not None:
                        await team.connected()
        return self.teams.get(id)

    async def _leave(self, team: Team, install: Install) -> None:
        """We were thrown out: nothing is asked there any more, and its tokens go."""
        self.teams.pop(team.own.workspace, None)
        await team.close()
        await self._tokens.drop(install)

    # ---------------------------------------------------------------------------- the tap

    def _bolt(self) -> AsyncApp:
        app = AsyncApp(
            logger=self._logger,
            client=self._client(None),
            signing_secret=self._setup.signing_secret or "socket mode does not sign",
            request_verification_enabled=bool(self._setup.public_url),
            before_authorize=self._tap,
            authorize=_authorize,
            ignoring_self_events_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )
        anything = re.compile(r".*", re.DOTALL)
        app.command(anything)(self._on_command)
        app.action(anything)(self._on_press)
        app.message_shortcut(anything)(self._on_shortcut)
        return app

    async def _tap(
        self, body: dict[str, Any], next_: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse | None:
        """Every request, verified by now. Events end here."""
        self._heard_at = time.monotonic()
        kind = body.get("type")
        if kind in ("event_callback", "app_rate_limited"):
            self._under_way += 1
            try:
                return BoltResponse(status=await self._stored(body))
            finally:
                self._under_way -= 1
        if kind in ("block_actions", "message_action", "url_verification") or "command" in body:
            return await next_()
        return BoltResponse(status=200)  # a dialogue that was closed, and the like

    async def _stored(self, body: Record) -> int:
        """200 once everything that an event tells is stored; otherwise it is to be sent again."""
        try:
            team = await self._team_of(body)
            if team is not None:
                event = as_record(body.get("event")) or {"type": as_text(body.get("type"))}
                await team.take(event)
                if team.removed:
                    self._spawn(self._leave(team, _whose(body)[0]))
        except SecondOrderError as error:
            _log.warning("an event could not be stored", kind=error.kind)
            return 503
        except (Refused, Limited, Lost) as wrong:
            _log.warning("a workspace could not be opened", kind=type(wrong).__name__)
            return 503
        except Exception as error:  # noqa: BLE001 - Slack tries again, and the others go on
            _log.error("an event failed", kind=type(error).__name__, event=body.get("event_id"))
            return 500
        return 200

    # ---------------------------------------------------------------------------- questions

    async def _on_command(self, ack: Any, respond: Any, body: dict[str, Any]) -> None:
        await ack()
        async with self._answering():
            name = as_text(body.get("command")).removeprefix("/")
            command = Command(
                name=self._names.get(name, name), text=as_text(body.get("text")),
                who=as_text(body.get("user_id")), room=as_text(body.get("channel_id")),
                at=self._clock(),
            )  # fmt: skip
            await self._ask(body, command, respond)

    async def _on_shortcut(self, ack: Any, respond: Any, body: dict[str, Any]) -> None:
        await ack()
        async with self._answering():
            callback = as_text(body.get("callback_id"))
            message = as_record(body.get("message"))
            command = Command(
                name=SHORTCUTS.get(callback, callback), text="",
                who=as_text(as_record(body.get("user")).get("id")),
                room=as_text(as_record(body.get("channel")).get("id")), at=self._clock(),
                ts=as_ts(body.get("message_ts")) or as_ts(message.get("ts")),
                thread=as_ts(message.get("thread_ts")),
            )  # fmt: skip
            await self._ask(body, command, respond)

    async def _ask(self, body: Record, command: Command, respond: Any) -> None:
        team = await self._found(body)
        if team is None:
            await _respond(respond, Reply(page=Page("We are not installed in this workspace.")))
            return
        room = team.first_name(command.room)
        reply = await team.ask(command.model_copy(update={"room": room}))
        await _respond(respond, reply)

    async def _on_press(self, ack: Any, respond: Any, body: dict[str, Any]) -> None:
        await ack()
        async with self._answering():
            team = await self._found(body)
            [pressed, *_] = [*map(as_record, as_list(body.get("actions"))), {}]
            who = as_id(as_record(body.get("user")).get("id"))
            if team is None or who is None or not pressed:
                return
            where = as_record(body.get("container"))
            channel = as_text(where.get("channel_id"))
            seen_by_all = channel and where.get("is_ephemeral") is not True
            press = Press(
                action=action(as_text(pressed.get("action_id"))), value=as_text(pressed.get("value")),
                who=who, room=team.first_name(channel), at=self._clock(),
                ts=as_ts(where.get("message_ts")) if seen_by_all else None,
            )  # fmt: skip
            reply = await team.press(press)
            if where.get("type") == "view":
                await team.show_own_page(who, reply)
            elif reply is not None:
                await _respond(respond, reply)

    async def _found(self, body: Record) -> Team | None:
        try:
            return await self._team_of(body)
        except (SecondOrderError, Refused, Limited, Lost) as wrong:
            _log.warning("a workspace could not be opened", kind=type(wrong).__name__)
            return None

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        """Somebody waits for an answer; nothing that goes wrong ends more than that."""
        self._under_way += 1
        try:
            yield
        except Exception as error:  # noqa: BLE001 - bolt would log what was asked
            _log.error("a question could not be answered", kind=type(error).__name__)
        finally:
            self._under_way -= 1

    # ---------------------------------------------------------------------------- Socket Mode

    async def _connect(self) -> None:
        assert self._app is not None
        client = self._client(None)
        try:
            opened = await client.apps_connections_open(app_token=self._setup.app_token)
        except Exception as error:  # noqa: BLE001 - translated, and told in a sentence
            raise InvalidInput(_why_not(_translated(error), "the app-level token")) from None
        handler = _Handler(self._app, self._setup, self._logger, client)
        self._handler = handler
        handler.client.wss_uri = opened["url"]
        handler.client.message_listeners.append(self._on_message)
        self._watching = asyncio.create_task(self._watch(handler.client))
        await handler.connect_async()  # type: ignore[no-untyped-call]

    async def _on_message(self, _: Any, message: dict[str, Any], __: str | None = None) -> None:
        self._heard_at = time.monotonic()
        if message.get("type") == "hello":  # every connection begins with one
            await self._all_connected()

    async def _all_connected(self) -> None:
        for team in list(self.teams.values()):
            try:
                await team.connected()
            except SecondOrderError as error:
                _log.warning("the memory did not answer", kind=error.kind)

    async def _watch(self, client: SocketModeClient) -> None:
        """Connects anew where nothing came for long, although the connection stands (C6)."""
        while True:
            await asyncio.sleep(min(self._setup.ping, self._setup.silence / 4))
            if not await client.is_connected():
                for team in self.teams.values():
                    team.disconnected()
                client.wss_uri = None  # an address is good for one connection
            elif self.silent_for > self._setup.silence:
                self._heard_at = time.monotonic()
                _log.info("nothing came for long: connecting anew")
                with suppress(Exception):
                    await client.connect_to_new_endpoint(force=True)

    # ---------------------------------------------------------------------------- HTTP

    async def _serve(self) -> None:
        server = web.Application()
        server.router.add_post(EVENTS_PATH, self._on_request)
        if self._setup.client_id:
            server.router.add_get(INSTALL_PATH, self._on_install)
            server.router.add_get(REDIRECT_PATH, self._on_redirect)
        self._runner = web.AppRunner(server, access_log=None, shutdown_timeout=_ENDS)
        await self._runner.setup()
        host, port = self._setup.host, self._setup.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listening = socket.create_server((host, port), family=family)
        except OSError:
            raise InvalidInput(f"Port {port} of {host} cannot be listened on.") from None
        await web.SockSite(self._runner, self._listening).start()
        self.port = self._runner.addresses[0][1]

    async def _on_request(self, request: web.Request) -> web.Response:
        assert self._app is not None
        stamp = request.headers.get("x-slack-request-timestamp", "")
        if not re.fullmatch(r"[0-9]{1,12}|", stamp):  # slack_sdk would raise (A3)
            return web.Response(status=401)
        try:
            asked = await to_bolt_request(request)
        except UnicodeDecodeError:
            return web.Response(status=400)
        return await to_aiohttp_response(await self._app.async_dispatch(asked))

    async def _on_install(self, request: web.Request) -> web.Response:
        return await self._oauth(request, self._tokens.flow().handle_installation)

    async def _on_redirect(self, request: web.Request) -> web.Response:
        return await self._oauth(request, self._tokens.flow().handle_callback)

    async def _oauth(
        self, request: web.Request, handle: Callable[[AsyncBoltRequest], Awaitable[BoltResponse]]
    ) -> web.Response:
        return await to_aiohttp_response(await handle(await to_bolt_request(request)))

    # ---------------------------------------------------------------------------- the Web API

    def _client(self, token: str | None) -> AsyncWebClient:
        """Nothing is tried again by itself: a post whose answer was lost may have been made."""
        return _Api(
            token=token, base_url=self._setup.api_url, session=self._session, retry_handlers=[],
            logger=self._logger, timeout=int(self._setup.timeout),
        )  # fmt: skip

    async def _send(self, token: str, method: str, params: Mapping[str, object]) -> Record:
        form = {key: _as_form(value) for key, value in params.items()}
        try:
            answer = await self._client(token).api_call(method, data=form)
        except Exception as error:  # noqa: BLE001 - translated, or raised again
            raise _translated(error) from None
        return as_record(answer.data)

    def _spawn(self, doing: Any) -> None:
        task = asyncio.ensure_future(doing)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


class _Api(AsyncWebClient):
    """Sends an app's secret in the form: the SDK would use what aiohttp is about to drop."""

    async def oauth_v2_access(self, **params: Any) -> AsyncSlackResponse:
        form = {key: value for key, value in params.items() if value is not None}
        return await self.api_call("oauth.v2.access", data=form)


class _Client(SocketModeClient):
    """Knows which of what it was told is under way; the SDK itself forgets."""

    def __init__(self, setup: Setup, logger: logging.Logger, web_client: AsyncWebClient) -> None:
        super().__init__(setup.app_token, logger, web_client, ping_interval=setup.ping)
        self.under_way: set[asyncio.Task[Any]] = set()

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            await super().run_message_listeners(message, raw_message)
        finally:
            self.under_way.discard(task)


class _Handler(AsyncSocketModeHandler):
    """Bolt's own, with our client."""

    client: _Client

    def __init__(
        self, app: AsyncApp, setup: Setup, logger: logging.Logger, web_client: AsyncWebClient
    ) -> None:
        self.app, self.app_token = app, setup.app_token
        self.client = _Client(setup, logger, web_client)
        self.client.socket_mode_request_listeners.append(self.handle)  # type: ignore[arg-type]

    async def end(self) -> None:
        """Ends the connection and every task of it. Right after a reconnection the SDK's own `close`
        stumbles over what is not there yet (A2)."""
        client = self.client
        client.closed, client.auto_reconnect_enabled = True, False
        tasks = {
            *client.under_way, client.current_session_monitor, client.message_receiver,
            client.message_processor,
        }  # fmt: skip
        running = [one for one in tasks if one is not None and one is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        with suppress(AttributeError, OSError, aiohttp.ClientError):
            await self.close_async()  # type: ignore[no-untyped-call]
        if not client.aiohttp_client_session.closed:
            await client.aiohttp_client_session.close()


class _Installs(FileInstallationStore):
    """Installations as files; each is written whole or not at all, and readable by us alone."""

    def save_bot(self, bot: Bot) -> None:
        if bot.bot_token is None:
            return
        folder = Path(self.base_dir, f"{bot.enterprise_id or 'none'}-{bot.team_id or 'none'}")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(vars(bot), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, folder / "bot-latest")


class _Tokens:
    """The token of each installation; one that ends soon is refreshed, by one at a time, and kept
    before it is used (C20)."""

    def __init__(
        self,
        setup: Setup,
        client: Callable[[str | None], AsyncWebClient],
        lock: Lock,
        logger: logging.Logger,
    ) -> None:
        self._setup, self._client, self._lock, self._logger = setup, client, lock, logger

    def _store(self) -> FileInstallationStore:
        return _Installs(
            base_dir=str(self._setup.installs), client_id=self._setup.client_id,
            historical_data_enabled=False, logger=self._logger,
        )  # fmt: skip

    def flow(self) -> AsyncOAuthFlow:
        """How a workspace installs us."""
        base = self._setup.public_url.rstrip("/")
        return AsyncOAuthFlow(
            client=self._client(None),
            logger=self._logger,
            settings=AsyncOAuthSettings(
                client_id=self._setup.client_id, client_secret=self._setup.client_secret,
                scopes=SCOPES, redirect_uri=f"{base}{REDIRECT_PATH}", install_path=INSTALL_PATH,
                redirect_uri_path=REDIRECT_PATH, installation_store=self._store(),
                state_store=FileOAuthStateStore(
                    expiration_seconds=600, base_dir=str(self._setup.installs),
                    client_id=self._setup.client_id, logger=self._logger,
                ),
            ),
        )  # fmt: skip

    def installed(self) -> list[Install]:
        """Every installation there is."""
        if self._setup.bot_token:
            return [Install(None, None)]
        assert self._setup.installs is not None
        folder = self._setup.installs / self._setup.client_id
        names = [one.parent.name for one in sorted(folder.glob("*-*/bot-latest"))]
        pairs = [name.partition("-")[::2] for name in names]
        return [
            Install(None if e == "none" else e, None if t == "none" else t, t == "none")
            for e, t in pairs
        ]

    async def has(self, install: Install) -> bool:
        return bool(self._setup.bot_token) or await self._bot(install) is not None

    async def of(self, install: Install) -> str:
        """The token, as it is now. Raises slack_web.Refused where we are not installed, and Lost where
        it cannot be refreshed now."""
        if self._setup.bot_token:
            return self._setup.bot_token
        bot = await self._bot(install)
        if bot is not None and not _ends(bot):
            return str(bot.bot_token)
        async with self._lock(f"{install.enterprise}-{install.team}"):
            return await self._refreshed(install)

    async def _refreshed(self, install: Install) -> str:
        bot = await self._bot(install)
        if bot is None:
            raise Refused("account_inactive")
        if _ends(bot):
            rotator = AsyncTokenRotator(
                client=self._client(None), client_id=self._setup.client_id,
                client_secret=self._setup.client_secret,
            )  # fmt: skip
            try:
                new = await rotator.perform_bot_token_rotation(
                    bot=bot, minutes_before_expiration=_REFRESH_BEFORE
                )
            except SlackTokenRotationError:
                return await self._of_another(install)
            except Exception as error:  # noqa: BLE001 - translated, or raised again
                raise _translated(error) from None
            if new is not None:
                await self._store().async_save_bot(new)
                bot = new
        return str(bot.bot_token)

    async def _of_another(self, install: Install) -> str:
        """A refresh token is good for once: another process may have used it, and keeps what it got."""
        for _ in range(20):
            bot = await self._bot(install)
            if bot is not None and not _ends(bot):
                return str(bot.bot_token)
            await asyncio.sleep(0.1)
        raise Lost(sent=False)

    async def _bot(self, install: Install) -> Any:
        return await self._store().async_find_bot(
            enterprise_id=install.enterprise, team_id=install.team,
            is_enterprise_install=install.org,
        )  # fmt: skip

    async def drop(self, install: Install) -> None:
        if not self._setup.bot_token:
            await self._store().async_delete_all(
                enterprise_id=install.enterprise, team_id=install.team
            )


async def _authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
    """What bolt wants to know; nothing that we do with it needs a token."""
    return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id)


# ------------------------------------------------------------------------------- plain values


def _check(setup: Setup) -> None:
    if not setup.bot_token and not (setup.client_id and setup.client_secret and setup.installs):
        raise InvalidInput(
            "Slack needs a bot token, or a client id, a client secret and a folder for installations."
        )
    if not setup.bot_token and not setup.public_url:
        raise InvalidInput("Workspaces can install SecondOrder only where there is a public URL.")
    if setup.public_url and not setup.signing_secret:
        raise InvalidInput("With a public URL Slack's requests are verified by a signing secret.")
    if not setup.public_url and not setup.app_token:
        raise InvalidInput("Slack needs an app-level token for Socket Mode, or a public URL.")


def _whose(body: Record) -> tuple[Install, str | None]:
    """Which installation a request is for, and the workspace: its first authorisation says it, not the
    envelope, which may name another organisation's (A1, C21)."""
    [first, *_] = [*map(as_record, as_list(body.get("authorizations"))), {}]
    team = (
        as_id(first.get("team_id"))
        or as_id(body.get("team_id"))
        or as_id(as_record(body.get("team")).get("id"))
        or as_id(as_record(body.get("user")).get("team_id"))
    )
    enterprise = (
        as_id(first.get("enterprise_id"))
        or as_id(body.get("enterprise_id"))
        or as_id(as_record(body.get("enterprise")).get("id"))
    )
    org = {**body, **first}.get("is_enterprise_install") in (True, "true")
    return Install(enterprise, None if org else team, org), team


def _translated(error: Exception) -> Exception:
    """What an error of the SDK means; bugs stay as they are."""
    match error:
        case SlackApiError(response=answer):
            status: int = getattr(answer, "status_code", 0) or getattr(answer, "status", 0)
            data = as_record(getattr(answer, "data", None))
            told = as_text(data.get("error"))
            if status == 429 or told in ("ratelimited", "rate_limited"):
                after = getattr(answer, "headers", {}).get("Retry-After", "30")
                return Limited(float(after) if re.fullmatch(r"[0-9.]{1,9}", after) else 30.0)
            if told and told not in _TROUBLE and status < 500:
                return Refused(told, as_text(data.get("needed")))
            return Lost()
        case aiohttp.ClientConnectorError():
            return Lost(sent=False)
        case aiohttp.ClientError() | OSError() | TimeoutError() | json.JSONDecodeError():
            return Lost()
        case _:
            return error


def _why_not(wrong: Exception, what: str) -> str:
    match wrong:
        case Refused(error="missing_scope", needed=needed):
            return f"Slack refused: the scope {needed or '(it does not say which)'} is missing."
        case Refused(error=error):
            return f"Slack refused {what} ({error})."
        case Limited(after=after):
            return f"Slack wants us to wait {after:.0f} seconds."
        case _:
            return "Slack cannot be reached."


def _as_form(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict() | list() | tuple():
            return json.dumps(value)
        case _:
            return str(value)


def _ends(bot: Any) -> bool:
    ends = bot.bot_token_expires_at
    return ends is not None and ends <= time.time() + _REFRESH_BEFORE * 60


async def _respond(respond: Any, reply: Reply) -> None:
    """Answers through the response URL: only whoever asked sees it, unless it is said aloud. What is too
    long is said in short, once (C17)."""
    how = {
        "response_type": "in_channel" if reply.aloud else "ephemeral",
        "replace_original": reply.instead,
    }
    answer = await respond(**in_blocks(reply.page), **how)
    if answer.status_code != 200 and answer.body.strip() in TOO_LONG:
        answer = await respond(text=fallback(reply.page), **how)
    if answer.status_code != 200:
        _log.warning("an answer was refused", status=answer.status_code)


def _in_this_process() -> Lock:
    locks: dict[str, asyncio.Lock] = {}
    return lambda name: locks.setdefault(name, asyncio.Lock())


class _Where(logging.Handler):
    """Says where in the SDK something happened, and never what it says about it."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        _log.warning("Slack's library noted something", where=record.funcName, kind=kind)


def _quiet() -> logging.Logger:
    """The SDK copies level and handlers of this to its own loggers."""
    logger = logging.Logger("secondorder.slack.sdk", logging.WARNING)
    logger.addHandler(_Where())
    return logger


__all__ = ["Gap", "Habits", "House", "Kept", "Marks", "Setup", "Slack", "Team"]


# ------------------------------------------------------------------------------- what is missing

WITHOUT = {
    "app_mentions:read": "`@bot …` is not heard",
    "channels:history": "nothing is heard in public channels",
    "channels:read": "nobody is known to be in a public channel",
    "chat:write": "nothing can be posted: no plans, no digests, no handoffs",
    "commands": "there are no slash commands and no shortcuts",
    "groups:history": "nothing is heard in private channels",
    "groups:read": "nobody is known to be in a private channel",
    "im:history": "questions in direct messages are not heard",
    "im:read": "direct messages are not known",
    "im:write": "nothing can be handed over to one person",
    "reactions:read": "who reacted is not known to have seen it",
    "users:read": "people have no names and no time zones, and guests count as members",
}


class Check(NamedTuple):
    """What was looked at, whether it will do, and what is to be done."""

    what: str
    ok: bool
    says: str


async def checked(setup: Setup) -> list[Check]:
    """Asks Slack whether the tokens are good and which scopes are missing; changes nothing."""
    found: list[Check] = []
    if setup.bot_token:
        found += await _bot_checked(setup)
    if setup.app_token and not setup.public_url:
        client = AsyncWebClient(token=setup.app_token, base_url=setup.api_url, timeout=15)
        try:
            await client.apps_connections_open(app_token=setup.app_token)
            found.append(Check("Slack app token", True, "Socket Mode lets us in"))
        except (SlackApiError, aiohttp.ClientError, TimeoutError, OSError) as wrong:
            says = f"{_named(wrong)}; it needs the scope connections:write, and Socket Mode on"
            found.append(Check("Slack app token", False, says))
    return found


async def _bot_checked(setup: Setup) -> list[Check]:
    client = AsyncWebClient(token=setup.bot_token, base_url=setup.api_url, timeout=15)
    try:
        me = await client.auth_test()
    except (SlackApiError, aiohttp.ClientError, TimeoutError, OSError) as wrong:
        says = f"{_named(wrong)}; install the app again and copy its token"
        return [Check("Slack bot token", False, says)]
    given = {k.lower(): v for k, v in me.headers.items()}.get("x-oauth-scopes", "")
    scopes = {one.strip() for one in given.split(",")}
    found = [Check("Slack bot token", True, f"we are {me.get('user')} in {me.get('team')}")]
    found += [
        Check(f"Slack scope {scope}", False, f"it is missing: {breaks}; add it and install again")
        for scope, breaks in WITHOUT.items()
        if scope not in scopes
    ]
    if all(one.ok for one in found):
        says = "all are there; which events are subscribed to Slack does not tell: compare them with the manifest if nothing is heard"
        found.append(Check("Slack scopes", True, says))
    return found


def _named(wrong: Exception) -> str:
    if isinstance(wrong, SlackApiError):
        return f"Slack says {wrong.response.get('error', 'no')}"
    return "Slack cannot be reached"
