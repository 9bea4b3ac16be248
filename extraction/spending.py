"""What reading costs, and what happens when a day's money is spent; it knows no model and no message.

Plain values: whoever stores and shows them is told of every call as it is paid.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Literal, NamedTuple

from engine.errors import InvalidInput
from extraction.answers import Usage

MILLION = 1_000_000
CACHE_READ, CACHE_WRITE = 0.1, 1.25
"""What a token of the prompt costs beside its usual price when the cache had it, or took it."""

PRICES: Mapping[str, tuple[float, float]] = {
    "claude-haiku-5-5": (0.10, 0.50),  # of prompts up to 100,000 tokens; ours are far shorter
    "claude-sonnet-5-5": (2.0, 10.0),
    "claude-opus-5-5": (4.0, 20.0),
}
"""Dollars for a million tokens in and out, as listed in October 2026
(https://platform.claude.com/docs/en/models/haiku-5-5/overview)."""

RULES_ALONE = 1.1
"""At so many times the cap sorting stops as well."""

KEEPS = 300.0
"""Seconds for which a prompt is cached after it was last used."""

Regime = Literal["model", "sorting", "rules"]
"""Who reads: the model; the rules, while the model only says which messages they may have missed;
the rules alone."""


class Spent(NamedTuple):
    """What calls to one model for one room cost on one day (UTC). `room` is empty outside of rooms."""

    room: str
    day: date
    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0
    dollars: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Both together; they are of the same room, day and model."""
        sums = (a + b for a, b in zip(self[3:], other[3:], strict=True))
        return Spent(*self[:3], *sums)  # type: ignore[arg-type]


class Standing(NamedTuple):
    """Where the day's money stands, in dollars."""

    regime: Regime
    spent: float
    cap: float
    day: date

    def __str__(self) -> str:
        money = f"${self.spent:.2f} of ${self.cap:.2f} today"
        match self.regime:
            case "model":
                return money
            case "sorting":
                return f"{money}: messages are only sorted, the rules read"
            case "rules":
                return f"{money}: the rules alone read"


class Report(NamedTuple):
    """What today cost, by room and model, and how often the prompt was paid for although it had
    just been sent (`uncached`)."""

    standing: Standing
    spent: tuple[Spent, ...]
    uncached: int

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self.uncached:
            return ()
        calls = "call" if self.uncached == 1 else "calls"
        return (f"the prompt is not being cached ({self.uncached} {calls} today)",)


type Recorder = Callable[[Spent], None]
"""Is told of every call when it is paid: one call's `Spent`, to be added to what was before."""


class Meter:
    """Counts the day's money. Safe to use from several threads.

    `cap`: dollars a day; 0 calls no model. `so_far`: what was spent today before this process.
    Raises InvalidInput for a model without a price: a cap could not be kept.
    """

    def __init__(
        self,
        prices: Mapping[str, tuple[float, float]] = PRICES,
        cap: float = 5.0,
        *,
        models: tuple[str, ...] = (),
        recorder: Recorder | None = None,
        so_far: float = 0.0,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for model in models:
            if model not in prices:
                raise InvalidInput(f"There is no price for the model {model}.", sorted(prices))
        self.clock = clock
        self._prices = prices
        self._cap = cap
        self._recorder = recorder
        self._today = today
        self._day = today()
        self._before = so_far
        self._spent: dict[tuple[str, str], Spent] = {}
        self._uncached = 0
        self._ended: dict[str, float] = {}  # by prompt: when a call with it was over
        self._lock = threading.Lock()

    def add(self, room: str, model: str, prompt: str, usage: Usage, began: float) -> Spent:
        """Counts one call. `prompt` names what is the same in many calls; `began` is by `clock`."""
        with self._lock:
            self._turn()
            price_in, price_out = self._prices.get(model, (0.0, 0.0))
            weighed = usage.input + CACHE_READ * usage.cache_read + CACHE_WRITE * usage.cache_write
            dollars = (price_in * weighed + price_out * usage.output) / MILLION
            one = Spent(
                room, self._day, model, 1,
                usage.input, usage.output, usage.cache_read, usage.cache_write, dollars,
            )  # fmt: skip
            before = self._spent.get((room, model), Spent(room, self._day, model))
            self._spent[room, model] = before.plus(one)
            # Calls that ran at the same time could not know of each other's prompt.
            ended = self._ended.get(prompt)
            if ended is not None and ended <= began < ended + KEEPS and not usage.cache_read:
                self._uncached += 1
            self._ended[prompt] = max(self.clock(), ended or 0.0)
        if self._recorder is not None:
            self._recorder(one)
        return one

    def standing(self) -> Standing:
        with self._lock:
            return self._standing()

    def report(self) -> Report:
        with self._lock:
            return Report(self._standing(), tuple(self._spent.values()), self._uncached)

    def _standing(self) -> Standing:
        self._turn()
        spent = self._before + sum(one.dollars for one in self._spent.values())
        regime: Regime = "model"
        if spent >= self._cap * RULES_ALONE:
            regime = "rules"
        elif spent >= self._cap:
            regime = "sorting"
        return Standing(regime, spent, self._cap, self._day)

    def _turn(self) -> None:
        """Begins again with nothing when the day has changed."""
        if (today := self._today()) != self._day:
            self._day, self._before, self._spent, self._uncached = today, 0.0, {}, 0
