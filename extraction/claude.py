"""Statements with Claude: a cheap pass that sorts messages, a strong one that reads what was flagged.

The only importer of anthropic: its answers become values and its errors become `CannotRead` here.
It refuses to know what is kept: what a model says passes through the gate like anybody's reading,
and nothing people wrote is logged or stands in an error.

    window -> rules (certain, free) -> pieces -> sort -> flagged? -> read -> gate -> beside the rules
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from email.utils import mktime_tz, parsedate_tz
from functools import cache
from typing import Any, Literal, NamedTuple

import anthropic
from anthropic.types import Message
from pydantic import BaseModel, ValidationError

from extraction import CannotRead, Statement, Window, asking
from extraction.answers import Answer, Answers, Asked, Pass, Remembered, Usage, Wanted, key_of
from extraction.asking import Read, Sheet, Sort, Sorting
from extraction.gate import Held, admit
from extraction.rules import Rules
from extraction.spending import PRICES, Meter, Recorder, Report, Standing

SORT_MODEL, READ_MODEL = "claude-haiku-5-5", "claude-sonnet-5-5"
API = "https://api.anthropic.com"
TIMEOUT = 120.0  # seconds for one attempt
RETRIES = 2  # by the SDK: 408, 409, 429, 5xx and connection errors
PATIENCE = 10.0  # seconds; asked to wait longer, the window goes back to whoever called
DAY = 86_400.0
SPLITS = 2  # how often a window that is too long is halved

type Effort = Literal["low", "medium", "high"]


class _How(NamedTuple):
    effort: Effort
    tokens: int  # of the answer, its thinking included; twice as many the second time
    setting: str  # where its model is chosen


_HOW: Mapping[Pass, _How] = {
    "sort": _How("low", 4_000, "SECONDORDER_SORT_MODEL"),
    "read": _How("medium", 8_000, "SECONDORDER_READ_MODEL"),
    "story": _How("medium", 8_000, "SECONDORDER_READ_MODEL"),
}
_KEY = "SECONDORDER_ANTHROPIC_API_KEY"
_FINISHED = ("end_turn", "stop_sequence")


class TooLong(CannotRead):
    """Its question or its answer does not fit; half of it may. `cut`: the answer was cut off."""

    def __init__(self, why: str, *, cut: bool) -> None:
        super().__init__(why)
        self.cut = cut


class Unanswered(CannotRead):
    """There is no recorded answer, and nobody to ask."""


class _Garbled(CannotRead):
    """The answer is not of the shape that was asked for."""


# ------------------------------------------------------------------------------- the model


def connect(
    key: str,
    base_url: str | None = None,
    *,
    retries: int = RETRIES,
    http_client: Any = None,
) -> anthropic.Anthropic:
    """A client that takes neither key nor address from the environment and tells nobody what is said.

    Redirects are not followed: what people wrote goes to the address that was configured and nowhere
    else. `http_client`: an httpx2.Client to send with (tests, proxies); it follows none from now on.
    """
    sends = (
        anthropic.DefaultHttpxClient(follow_redirects=False) if http_client is None else http_client
    )
    sends.follow_redirects = False
    # The SDK logs whole requests at the level DEBUG, and would trace them.
    logging.getLogger("anthropic").setLevel(logging.WARNING)
    return anthropic.Anthropic(
        api_key=key,
        base_url=base_url or API,
        timeout=TIMEOUT,
        max_retries=retries,
        http_client=sends,
        middleware=[_impatient],
        open_telemetry=False,
    )


def _impatient(request: Any, call_next: Callable[[Any], Any]) -> Any:
    """The SDK sleeps as long as `retry-after` says, hours if need be; a thread of ours must not."""
    response = call_next(request)
    if _retry_after(response.http_response.headers, 0.0) > PATIENCE:
        response.http_response.headers["x-should-retry"] = "false"
    return response


def _retry_after(headers: Mapping[str, str], otherwise: float) -> float:
    """Seconds, at most a day; read as the SDK reads it, or it would sleep where we see nothing."""
    asked = headers.get("retry-after", "")
    for text, unit in ((headers.get("retry-after-ms", ""), 1000), (asked, 1)):
        with suppress(ValueError):
            return min(max(0.0, float(text) / unit), DAY)
    if (moment := parsedate_tz(asked)) is not None:
        return min(max(0.0, mktime_tz(moment) - time.time()), DAY)
    return otherwise


class Model:
    """Asks a model for JSON of a given shape; whatever goes wrong is a CannotRead.

    `models`: who answers which pass. `answers`: looked up first, and told every answer that was of
    use. `wanted`: told every request that has no answer. Without a `client` nothing is sent: what
    has no recorded answer is Unanswered, or, unless `offline`, the key is missing.
    """

    def __init__(
        self,
        client: anthropic.Anthropic | None,
        *,
        models: Mapping[Pass, str] | None = None,
        answers: Answers | None = None,
        wanted: Wanted | None = None,
        meter: Meter | None = None,
        offline: bool = False,
    ) -> None:
        given = models or {}
        self.models: Mapping[Pass, str] = {
            "sort": given.get("sort", SORT_MODEL),
            "read": given.get("read", READ_MODEL),
            "story": given.get("story", given.get("read", READ_MODEL)),
        }
        self.meter = meter or Meter()
        self.offline = offline
        self._client = client
        self._answers = Remembered() if answers is None else answers
        self._wanted = wanted

    def asked(
        self, kind: Pass, system: str, content: str, shape: type[BaseModel],
        case: str | None = None, part: int = 0,
    ) -> Asked:  # fmt: skip
        """The request as a store of answers knows it."""
        model, how = self.models[kind], _HOW[kind]
        return Asked(
            key_of(kind, model, how.effort, system, schema_of(shape), content), kind, case, part
        )

    def knows(self, asked: Asked) -> bool:
        return self._answers.get(asked) is not None

    def ask[T: BaseModel](
        self,
        kind: Pass,
        system: str,
        content: str,
        shape: type[T],
        *,
        room: str = "",
        case: str | None = None,
        part: int = 0,
    ) -> T:
        """The answer, validated. `system` is what never changes, `content` what is asked about.

        At most one call and, where the answer is cut off or no JSON of that shape, one more. Raises
        CannotRead: TooLong if half of it may do.
        """
        asked = self.asked(kind, system, content, shape, case, part)
        if (known := self._answers.get(asked)) is not None:
            return _used(known, shape)
        if self._wanted is not None:
            self._wanted.put(asked, self.models[kind], system, content, schema_of(shape))
        if self._client is None:
            if self.offline or self._wanted is not None:
                raise Unanswered("There is no recorded answer for it.", 0)
            raise CannotRead(f"The key for the model is missing: {_KEY}.", 600)
        return self._call(self._client, asked, system, content, shape, room)

    def _call[T: BaseModel](
        self, client: anthropic.Anthropic, asked: Asked, system: str, content: str,
        shape: type[T], room: str,
    ) -> T:  # fmt: skip
        model, limit = self.models[asked.kind], _HOW[asked.kind].tokens
        try:
            answer = self._send(client, asked.kind, system, content, shape, limit, room)
            used = _used(answer, shape)
        except (TooLong, _Garbled) as problem:
            if isinstance(problem, TooLong) and not problem.cut:
                raise
            answer = self._send(client, asked.kind, system, content, shape, 2 * limit, room)
            used = _used(answer, shape)
        self._answers.put(asked, model, answer)
        return used

    def _send(
        self, client: anthropic.Anthropic, kind: Pass, system: str, content: str,
        shape: type[BaseModel], limit: int, room: str,
    ) -> Answer:  # fmt: skip
        model, how = self.models[kind], _HOW[kind]
        began = self.meter.clock()
        try:
            message = client.messages.create(
                model=model,
                max_tokens=limit,
                # What is asked changes, what it is asked with does not: up to here it is cached.
                system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
                messages=[{"role": "user", "content": content}],
                output_config={
                    "effort": how.effort,
                    "format": {"type": "json_schema", "schema": schema_of(shape)},
                },
            )
        except anthropic.AnthropicError as error:
            raise _translated(error, model, how.setting) from None
        except (ValueError, TypeError):  # an answer that is no JSON at all
            raise _odd() from None
        answer = _answer(message)
        self.meter.add(
            room, model, key_of(model, system, schema_of(shape)), answer.usage or Usage(), began
        )
        return answer

    def problems(self) -> tuple[str, ...]:
        """What keeps the models from being asked, one sentence each; asking this costs nothing."""
        if self._client is None:
            return (f"The key for the model is missing: {_KEY}.",)
        found: dict[str, None] = {}
        for kind, model in self.models.items():
            try:
                self._client.models.retrieve(model)
            except anthropic.AnthropicError as error:
                found[_translated(error, model, _HOW[kind].setting).why] = None
        return tuple(found)

    def forget(self) -> None:
        """Nothing of any answer is left in memory."""
        if isinstance(self._answers, Remembered):
            self._answers.forget()


@cache
def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """What the API is told: every field required, nothing beside them. It never depends on a
    window, or no prompt would be found in the cache."""
    return anthropic.transform_schema(shape)


def _answer(message: Message) -> Answer:
    try:
        # A thinking block may come first.
        text = "".join(block.text for block in message.content if block.type == "text")
        counted = message.usage
        usage = Usage(
            input=counted.input_tokens,
            output=counted.output_tokens,
            cache_read=counted.cache_read_input_tokens or 0,
            cache_write=counted.cache_creation_input_tokens or 0,
        )
        stopped = message.stop_reason
    except (AttributeError, TypeError, ValidationError):
        raise _odd() from None
    answer = _json(text) if stopped in _FINISHED else None
    return Answer(answer=answer, stop_reason=stopped, usage=usage)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _used[T: BaseModel](answer: Answer, shape: type[T]) -> T:
    """The answer in its shape; why it stopped is asked before what it says."""
    match answer.stop_reason:
        case "end_turn" | "stop_sequence" | None:
            pass
        case "max_tokens":
            raise TooLong("The model's answer was cut off.", cut=True)
        case "model_context_window_exceeded":
            raise TooLong("It is more than the model can read at once.", cut=False)
        case "refusal":
            raise CannotRead("The model declined to read it.")
        case _:
            raise _Garbled("The model did not finish its answer.")
    given = answer.answer
    try:
        return shape.model_validate(_json(given) if isinstance(given, str) else given)
    except (ValidationError, RecursionError):
        raise _Garbled("The model's answer is not of the shape that was asked for.") from None


def _odd() -> CannotRead:
    return CannotRead("What answered is not the model's API.", 60)


def _translated(error: anthropic.AnthropicError, model: str, setting: str) -> CannotRead:
    """Why it was not read, in our words: theirs may hold what people wrote."""
    if isinstance(error, anthropic.APITimeoutError):
        return CannotRead("The model did not answer in time.", 30)
    if isinstance(error, anthropic.APIConnectionError):
        return CannotRead("The model cannot be reached.", 30)
    if not isinstance(error, anthropic.APIStatusError):
        return _odd()
    wait = _retry_after(error.response.headers, 60)
    kind = error.type or ""
    match error.status_code:
        case 401 | 403:
            return CannotRead(
                f"The key is missing or not accepted by the model's API: {_KEY}.", 600
            )
        case 402:
            return CannotRead("The account of the key has no credit left.", 600)
        case 404:
            return CannotRead(f"The model {model} is not known: {setting} names it.", 600)
        case 413:
            return TooLong("It is more than the API takes at once.", cut=False)
        case 429:
            return CannotRead("The model's API asks to go slower.", wait)
        case 529 | 503:
            return CannotRead("The model is overloaded.", wait)
        case status if status >= 500:
            return CannotRead("The model's API has a problem of its own.", wait)
        case _:
            return _refused(kind, (error.api_message or "").lower(), model, setting)


def _refused(kind: str, message: str, model: str, setting: str) -> CannotRead:
    """A request that the API does not take as it is. There is no code for these two, only words."""
    if kind == "billing_error":
        return CannotRead("The account of the key has no credit left.", 600)
    if "too long" in message or ("exceed" in message and "token" in message):
        return TooLong("It is more than the model can read at once.", cut=False)
    if kind == "not_found_error" or message.startswith("model") or "model:" in message:
        return CannotRead(f"The model {model} was not accepted: {setting} names it.", 600)
    # Not the message's fault, as far as anybody can tell: it waits.
    return CannotRead(f"The API did not take the question; {setting} names {model}.", 600)


# ------------------------------------------------------------------------------- the extractor


class Reading(NamedTuple):
    """A window that was read.

    `sorts`: the messages the model sorted. `unread`: the messages that the model did not read
    although it flagged them, or was not asked, because the day's money is spent.
    """

    statements: list[Statement]
    held: list[Held]
    sorts: Mapping[str, Sort]
    unread: frozenset[str]
    standing: Standing


class _Piece(NamedTuple):
    statements: list[Statement]
    sorts: dict[str, Sort]
    unread: frozenset[str]
    held: tuple[Held, ...] = ()


class Claude:
    """The extractor that reads with a model. Safe to use from several threads.

    `rules` read everything first; what they find is certain. `scribes`: see `gate.admit`. `review`
    is told what the gate held. `sorting`: False reads every window without sorting it first.
    """

    windowed = True

    def __init__(
        self,
        model: Model,
        *,
        rules: Rules | None = None,
        scribes: Collection[str] | None = (),
        review: Callable[[Held], None] | None = None,
        sorting: bool = True,
    ) -> None:
        self.model = model
        self._rules = rules or Rules()
        self._one_at_a_time = threading.Lock()  # the rules remember the last window's entities
        self._scribes = scribes
        self._review = review
        self._sorting = sorting

    def extract(self, window: Window, case: str | None = None) -> list[Statement]:
        """The statements of the window's passages, in the order they were made; raises CannotRead.

        `case`: the name under which answers from outside are looked up.
        """
        reading = self.read(window, case)
        if self._review is not None:
            for held in reading.held:
                self._review(held)
        return reading.statements

    def read(self, window: Window, case: str | None = None) -> Reading:
        """The same, with everything there is to know about it; nobody is told."""
        if len({passage.room for passage in window.passages}) > 1:
            raise CannotRead("Its messages are of several rooms, which are never read together.")
        with self._one_at_a_time:
            certain = admit(window, self._rules.extract(window))
        standing = self.model.meter.standing()
        found: list[Statement] = []
        sorts: dict[str, Sort] = {}
        unread: set[str] = set()
        misshapen: list[Held] = []
        for part, piece in enumerate(asking.pieces(window)):
            if not asking.shows_anything(piece):
                continue
            read = self._piece(piece, case, part, SPLITS)
            found += read.statements
            sorts |= read.sorts
            unread |= read.unread
            misshapen += read.held
        admitted = admit(window, found, self._scribes)
        return Reading(
            asking.joined(window, certain.statements, admitted.statements),
            [*certain.held, *misshapen, *admitted.held],
            sorts,
            frozenset(unread),
            standing,
        )

    def report(self) -> Report:
        """What today cost, and where the day's money stands."""
        return self.model.meter.report()

    def forget(self) -> None:
        """Nothing that anybody wrote is left in memory."""
        self.model.forget()

    def _piece(self, window: Window, case: str | None, part: int, splits: int) -> _Piece:
        try:
            return self._asked(window, case, part)
        except TooLong:
            smaller = asking.halves(window)
            if splits == 0 or len(smaller) == 1:
                raise
            parts = [self._piece(half, None, 0, splits - 1) for half in smaller]
        return _Piece(
            [one for half in parts for one in half.statements],
            {id: sort for half in parts for id, sort in half.sorts.items()},
            frozenset(id for half in parts for id in half.unread),
            tuple(one for half in parts for one in half.held),
        )

    def _asked(self, window: Window, case: str | None, part: int) -> _Piece:
        """At most two calls, however many messages there are."""
        own = frozenset(passage.id for passage in window.passages if not passage.context)
        regime = self.model.meter.standing().regime
        if regime == "rules":
            return _Piece([], {}, own)
        asked = asking.sheet(window)
        room = window.passages[0].room
        sorts: dict[str, Sort] = {}
        flagged = own
        if self._sorting and not self._only_read(asked, case, part):
            try:
                sorting = self._ask("sort", asked, Sorting, room, case, part)
            except Unanswered:
                with suppress(Unanswered):  # so that both questions are written down at once
                    self._ask("read", asked, Read, room, case, part)
                raise
            sorts, flagged = asking.sorts(asked, sorting), asking.flagged(asked, sorting)
        if not flagged:
            return _Piece([], sorts, frozenset())
        if self.model.meter.standing().regime != "model":
            return _Piece([], sorts, flagged)
        answer = self._ask("read", asked, Read, room, case, part)
        held = tuple(asking.misshapen(asked, answer))
        return _Piece(asking.statements(asked, answer), sorts, frozenset(), held)

    def _only_read(self, asked: Sheet, case: str | None, part: int) -> bool:
        """Who answers from outside need not sort first."""
        if not self.model.offline:
            return False
        sort = self.model.asked("sort", asking.prompt("sort"), asked.content, Sorting, case, part)
        read = self.model.asked("read", asking.prompt("read"), asked.content, Read, case, part)
        return not self.model.knows(sort) and self.model.knows(read)

    def _ask[T: BaseModel](
        self, kind: Literal["sort", "read"], asked: Sheet, shape: type[T], room: str,
        case: str | None, part: int,
    ) -> T:  # fmt: skip
        return self.model.ask(
            kind, asking.prompt(kind), asked.content, shape, room=room, case=case, part=part
        )


def claude(
    key: str | None,
    *,
    base_url: str | None = None,
    sort_model: str = SORT_MODEL,
    read_model: str = READ_MODEL,
    prices: Mapping[str, tuple[float, float]] = PRICES,
    cap: float = 5.0,
    so_far: float = 0.0,
    recorder: Recorder | None = None,
    review: Callable[[Held], None] | None = None,
    rules: Rules | None = None,
    scribes: Collection[str] | None = (),
    answers: Answers | None = None,
    wanted: Wanted | None = None,
    offline: bool = False,
    sorting: bool = True,
    http_client: Any = None,
) -> Claude:
    """The extractor, ready to read.

    `cap`: dollars a day; `so_far`: what was spent today already. `recorder` is told of every call
    when it is paid, `review` of every statement that was held; both may be told from any thread.
    `offline` asks nobody: only what `answers` know is read. Raises InvalidInput for a model that
    has no price.
    """
    models: dict[Pass, str] = {"sort": sort_model, "read": read_model}
    meter = Meter(prices, cap, models=(sort_model, read_model), recorder=recorder, so_far=so_far)
    client = connect(key, base_url, http_client=http_client) if key and not offline else None
    model = Model(
        client, models=models, answers=answers, wanted=wanted, meter=meter, offline=offline
    )
    return Claude(model, rules=rules, scribes=scribes, review=review, sorting=sorting)
