"""What a team can set, one field per `SECONDORDER_…` variable, and the only reader of the environment.

It knows nothing of ours. A value that cannot be used is refused by name at the start; the values
themselves stay out of every message, one of them may be a password.
"""

import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import platformdirs
from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    StringConstraints,
    ValidationError,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "SECONDORDER_"
ENV_FILE = f"{PREFIX}ENV_FILE"
"""Names a file of `NAME=value` lines; what the environment itself says comes first."""

SDK_KEY = "ANTHROPIC_API_KEY"
"""The variable that the model's own programs read."""

_OF_THE_TESTS = frozenset({f"{PREFIX}SHARED", f"{PREFIX}REQUIRE_SHARED"})
_REASONS = {
    "int_parsing": "it is not a whole number",
    "int_type": "it is not a whole number",
    "greater_than_equal": "it is less than 0",
    "float_parsing": "it is not a number",
    "finite_number": "it is not a number",
    "greater_than": "it is not more than 0",
    "bool_parsing": "it is neither true nor false",
    "tuple_type": "it is not a list",
    "mapping_type": "it is not a map",
    "dict_type": "it is not a map",
    "string_type": "it holds something that is not text",
    "string_too_short": "it is empty",
    "float_type": "it is not a number",
    "missing": "it is not two numbers for each model",
    "too_long": "it is not two numbers for each model",
}


class BadSetting(Exception):
    """One sentence that names the variables that cannot be used, and says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("it is not JSON") from None


def _at_home(folder: Path) -> Path:
    try:
        return folder.expanduser()
    except RuntimeError:
        raise ValueError("it names the home of nobody here") from None


def _address(url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        reachable = {
            "redis": parts.hostname and parts.port != 0,
            "rediss": parts.hostname and parts.port != 0,
            "unix": parts.path,
        }.get(parts.scheme)
    except ValueError:
        reachable = None
    if not reachable:
        raise ValueError("it is not the address of a server")
    return url


type Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _web_address(url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        reachable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        reachable = None
    if not reachable:
        raise ValueError("it is not the address of a server")
    return url


def _some_web_address(url: str) -> str:
    return _web_address(url) or url


type Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
type Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
type Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_decoded)]


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    state: Annotated[Path, AfterValidator(_at_home)] = Field(
        default_factory=lambda: platformdirs.user_state_path("secondorder"),
        examples=["/var/lib/secondorder"],
    )
    """The folder of the embedded memory (default: the platform's folder for a user's state)."""

    redis_url: Annotated[str | None, AfterValidator(_address)] = Field(
        default=None, repr=False, examples=["redis://:password@localhost:6379"]
    )
    """A FalkorDB server to use instead of the embedded one; it may carry a password."""

    crowd: NonNegativeInt = Field(default=25, examples=["25"])
    """Up to how many people in a room being there makes a witness; in larger ones, taking part."""

    crowds: Annotated[dict[str, NonNegativeInt], NoDecode, BeforeValidator(_decoded)] = Field(
        default={}, examples=['{"leadership": 60}']
    )
    """The same number for single rooms, by a room's id or name."""

    apps: Names = Field(default=(), examples=['["Deploybot"]'])
    """The programs whose posts may decide, by id or by their own name, not one chosen with a post."""

    stop_words: Names = Field(default=(), examples=['["room", "gpl-3"]'])
    """More things that look like a key and are none: a bare word stops every number after it."""

    settled_words: Annotated[dict[str, tuple[str, ...]], NoDecode, BeforeValidator(_decoded)] = (
        Field(default={}, examples=['{"de": ["gebongt"]}'])
    )
    """More words that settle something after "is", by language."""

    quotes: bool = Field(default=True, examples=["true"])
    """Whether the sentence a statement came from is kept (at most 200 characters)."""

    grace: Seconds = Field(default=2.0, examples=["2"])
    """Seconds in which what is delivered out of order is put in order before it is applied."""

    quiet: Seconds = Field(default=20.0, examples=["20"])
    """Seconds without another message after which a conversation is read by the model."""

    patience: Seconds = Field(default=120.0, examples=["120"])
    """Seconds after which it is read in any case."""

    readers: PositiveInt = Field(default=4, examples=["4"])
    """How many conversations are read at the same time."""

    tries: PositiveInt = Field(default=3, examples=["3"])
    """How often a message is tried before it is set aside (`secondorder retry` tries it again)."""

    waiting: PositiveInt = Field(default=100_000, examples=["100000"])
    """How many messages may wait; beyond that the platform is asked to deliver them again later."""

    anthropic_api_key: str | None = Field(default=None, repr=False, examples=["sk-ant-…"])
    """With a key Claude reads as well; ANTHROPIC_API_KEY is taken if this is not set."""

    anthropic_url: Annotated[str | None, AfterValidator(_web_address)] = Field(
        default=None, repr=False, examples=["https://proxy.example:8443"]
    )
    """Where the model's API is asked for, if not at its usual address: a proxy, for instance."""

    sort_model: Name = Field(default="claude-haiku-5-5", examples=["claude-haiku-5-5"])
    """The cheap model that only sorts messages: which of them may state something."""

    read_model: Name = Field(default="claude-sonnet-5-5", examples=["claude-sonnet-5-5"])
    """The strong model that reads what was flagged."""

    model_prices: Annotated[dict[str, tuple[Money, Money]], NoDecode, BeforeValidator(_decoded)] = (
        Field(
            default={
                "claude-haiku-5-5": (0.1, 0.5),
                "claude-sonnet-5-5": (2.0, 10.0),
                "claude-opus-5-5": (4.0, 20.0),
            },
            examples=['{"claude-sonnet-5-5": [2.0, 10.0]}'],
        )
    )
    """What a million tokens cost, in and out, in dollars, by model; a model without a price is refused."""

    daily_cap: Money = Field(default=5.0, examples=["5.0"])
    """Dollars a day (UTC) for the models; then messages are only sorted, at 1.1 times it rules alone read."""

    digests: Annotated[dict[str, Name], NoDecode, BeforeValidator(_decoded)] = Field(
        default={}, examples=['{"support": "9:00 Europe/Lisbon mon-fri"}']
    )
    """When a channel gets a digest, by its id or name; `/status digest 9:00` there says otherwise."""

    shifts: Names = Field(default=(), examples=['["17:00 Europe/Lisbon mon-fri @alice @bob"]'])
    """When a shift ends, who hands over and to whom: that person is reminded of what the other lacks."""

    shift_notice: NonNegativeInt = Field(default=15, examples=["15"])
    """Minutes before the end of a shift at which that happens."""

    slack_bot_token: str | None = Field(default=None, repr=False, examples=["xoxb-…"])
    """Of the one workspace the bot is installed in."""

    slack_app_token: str | None = Field(default=None, repr=False, examples=["xapp-…"])
    """For Socket Mode, which needs no address of ours."""

    slack_signing_secret: str | None = Field(default=None, repr=False, examples=["8f742231b10e"])
    """With a public address: what Slack signs its requests with."""

    slack_client_id: str | None = Field(default=None, examples=["1234.5678"])
    """With a public address and no token: lets several workspaces install the bot."""

    slack_client_secret: str | None = Field(default=None, repr=False, examples=["33fea0113f5b1"])
    """Belongs to it."""

    slack_api_url: Annotated[str, AfterValidator(_some_web_address)] = Field(
        default="https://slack.com/api/", examples=["https://slack.com/api/"]
    )
    """Where Slack's API is asked for."""

    slack_commands: Annotated[dict[str, Name], NoDecode, BeforeValidator(_decoded)] = Field(
        default={}, examples=['{"handoff": "so-handoff"}']
    )
    """Names of our commands at Slack, where another app has the usual one."""

    public_url: Annotated[str | None, AfterValidator(_web_address)] = Field(
        default=None, examples=["https://bot.example.com"]
    )
    """Where Slack reaches us; without it we reach Slack (Socket Mode)."""

    http_host: Name = Field(default="127.0.0.1", examples=["127.0.0.1"])
    """Where requests to the public address are listened for …"""

    http_port: NonNegativeInt = Field(default=3000, examples=["3000"])
    """… and on which port."""

    health_port: NonNegativeInt = Field(default=9470, examples=["9470"])
    """The port of /healthz and /metrics, on this machine only; 0 for none."""

    _warnings: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each `SECONDORDER_…` variable that sets nothing: probably a typo."""
        return self._warnings


VARIABLES = {f"{PREFIX}{name}".upper(): name for name in Settings.model_fields}
"""Every variable with the field it sets."""


def load() -> Settings:
    """What the environment says, and the file that it names; raises BadSetting."""
    file = os.environ.get(ENV_FILE) or None
    lines = _lines(file)
    try:
        found = Settings(_env_file=file, _env_file_encoding="utf-8")
    except ValidationError as error:
        raise BadSetting(_in_words(error)) from None
    if found.anthropic_api_key is None and (key := {**lines, **os.environ}.get(SDK_KEY)):
        found = found.model_copy(update={"anthropic_api_key": key})
    found._warnings = tuple(_unknown({**lines, **os.environ}))
    return found


def _lines(file: str | None) -> Mapping[str, str | None]:
    if file is None:
        return {}
    try:
        with open(file, encoding="utf-8") as stream:
            return dotenv_values(stream=stream)
    except (OSError, ValueError):
        raise BadSetting(
            f"{ENV_FILE} cannot be used: there is no file of that name to read."
        ) from None


def _in_words(error: ValidationError) -> str:
    return "; ".join({_reason(one): None for one in error.errors(include_input=False)}) + "."


def _reason(error: Any) -> str:
    field = str(error["loc"][0])
    reason = _REASONS.get(error["type"], error["msg"].removeprefix("Value error, "))
    [example] = Settings.model_fields[field].examples or [""]
    variable = f"{PREFIX}{field}".upper()
    return f"{variable} cannot be used: {reason} (for example {variable}={example})"


def _unknown(environment: Mapping[str, str | None]) -> list[str]:
    known = {*VARIABLES, ENV_FILE, *_OF_THE_TESTS}
    ours = sorted({name.upper() for name in environment if name.upper().startswith(PREFIX)})
    return [f"{name} sets nothing{_near(name)}" for name in ours if name not in known]


def _near(name: str) -> str:
    names = [known.removeprefix(PREFIX) for known in (*VARIABLES, ENV_FILE)]
    near = difflib.get_close_matches(name.removeprefix(PREFIX), names, n=1)
    return f"; {PREFIX}{near[0]} does." if near else "."
