"""Whether it works, for machines: `/healthz` and `/metrics` on a local port.

It refuses to know what anybody said: there are numbers here and ids of workspaces, never of a room or
a person, and no names.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from bot import backlog
from bot.chat import Command, Desk, Heard, Press, Reply
from bot.house import House
from bot.pages import Page
from engine.errors import SecondOrderError

SILENT = 1_800.0
"""Seconds without anything from the chat after which something must be wrong."""


class Health:
    """`houses`: the open ones by workspace. `silent_for`: seconds since the chat last sent anything."""

    def __init__(
        self, houses: Mapping[str, House], silent_for: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._houses = houses
        self._silent_for = silent_for
        self.registry = CollectorRegistry()
        self.heard = Counter(
            "secondorder_heard_total", "Things the chat delivered and that were stored.",
            ["workspace", "kind"], registry=self.registry,
        )  # fmt: skip
        self.asked = Histogram(
            "secondorder_answer_seconds", "How long an answer took.", ["workspace", "what"],
            registry=self.registry, buckets=(0.05, 0.1, 0.25, 0.5, 1, 2, 5),
        )  # fmt: skip
        self.registry.register(_Standing(self))

    def timed(self, workspace: str, desk: Desk) -> Desk:
        """The same desk, measured."""
        return _Timed(desk, self.asked, workspace)

    def listening(self, workspace: str) -> Callable[[Heard], None]:
        """Counts what was heard."""
        return lambda heard: self.heard.labels(workspace, type(heard).__name__.lower()).inc()

    def standing(self) -> dict[str, object]:
        """What `/healthz` says; raises an error of `engine.errors` where a memory does not answer."""
        waiting, aside, oldest, behind = 0, 0, 0.0, False
        for house in self._houses.values():
            one = backlog.standing(house.memory, {}, everything=True)
            waiting += one.waiting
            aside += len(one.aside)
            behind = behind or one.behind is not None
            if one.oldest is not None:
                oldest = max(oldest, (datetime.now(UTC) - one.oldest).total_seconds())
        silent = self._silent_for()
        return {
            "ok": silent < SILENT,
            "workspaces": len(self._houses),
            "waiting": waiting,
            "oldest_seconds": round(oldest, 3),
            "set_aside": aside,
            "reading_is_behind": behind,
            "chat_silent_seconds": round(silent, 3),
        }

    def collected(self) -> Iterator[Metric]:
        def gauge(name: str, says: str) -> GaugeMetricFamily:
            return GaugeMetricFamily(f"secondorder_{name}", says, labels=["workspace"])

        waiting = gauge("waiting", "Messages that are stored and not applied yet.")
        lag = gauge("lag_seconds", "How long ago the oldest of them was said.")
        aside = gauge("set_aside", "Messages that failed and were set aside.")
        behind = gauge("reading_behind", "1 while the model cannot be asked.")
        cost = gauge("model_dollars_today", "What reading cost today (UTC), in dollars.")
        now = datetime.now(UTC)
        for id, house in list(self._houses.items()):
            with suppress(SecondOrderError):
                one = backlog.standing(house.memory, {}, everything=True)
                since = (now - one.oldest).total_seconds() if one.oldest else 0.0
                waiting.add_metric([id], one.waiting)
                lag.add_metric([id], max(0.0, since))
                aside.add_metric([id], len(one.aside))
                behind.add_metric([id], float(one.behind is not None))
                cost.add_metric([id], backlog.spent_on(house.memory, now.date()))
        silent = GaugeMetricFamily(
            "secondorder_chat_silent_seconds", "Since the chat last sent anything."
        )
        silent.add_metric([], self._silent_for())
        yield from (waiting, lag, aside, behind, cost, silent)

    # ---------------------------------------------------------------------------- serving

    async def serve(self, port: int, host: str = "127.0.0.1") -> web.AppRunner:
        """Answers until the runner's `cleanup`; port 0 is any."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/metrics", self._metrics)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        return runner

    async def _healthz(self, _: web.Request) -> web.Response:
        try:
            said = await asyncio.to_thread(self.standing)
        except SecondOrderError as error:
            return web.json_response({"ok": False, "error": error.kind}, status=503)
        return web.json_response(said, status=200 if said["ok"] else 503)

    async def _metrics(self, _: web.Request) -> web.Response:
        body = await asyncio.to_thread(generate_latest, self.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Standing(Collector):
    """What is looked up when it is asked for."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        return self._health.collected()


class _Timed:
    def __init__(self, desk: Desk, asked: Histogram, workspace: str) -> None:
        self._desk, self._asked, self._workspace = desk, asked, workspace

    async def ask(self, command: Command) -> Reply:
        began = time.monotonic()
        try:
            return await self._desk.ask(command)
        finally:
            self._measured("question", began)

    async def press(self, press: Press) -> Reply | None:
        began = time.monotonic()
        try:
            return await self._desk.press(press)
        finally:
            self._measured("button", began)

    async def home(self, person: str) -> Page:
        began = time.monotonic()
        try:
            return await self._desk.home(person)
        finally:
            self._measured("home", began)

    def _measured(self, what: str, began: float) -> None:
        self._asked.labels(self._workspace, what).observe(time.monotonic() - began)
