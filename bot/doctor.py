"""What works here and what is missing, said so that somebody can act on it; asks, changes nothing.

It refuses to know how anything is repaired: each finding names the next step in words.
"""

import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from engine import SecondOrderError, workspaces


class Finding(NamedTuple):
    what: str
    ok: bool
    says: str


def findings[S](load: Callable[[], S], place: Callable[[S], dict[str, Any]]) -> Iterator[Finding]:
    """One finding after another, in the order in which things are needed."""
    yield _python()
    try:
        settings = load()
    except Exception as error:  # noqa: BLE001  the finding is whatever is wrong with the settings
        yield Finding("settings", False, getattr(error, "message", None) or str(error))
        return
    warnings: tuple[str, ...] = getattr(settings, "warnings", ())
    yield Finding("settings", True, " ".join(warnings) or "every value is one that can be used")
    where = place(settings)
    if "url" in where:
        yield _memory("server", where)
        return
    embedded, folder = _embedded(), _folder(Path(where["state"]))
    yield embedded
    yield folder
    if embedded.ok and folder.ok:
        yield _memory("memory", where)


class Tokens(Protocol):
    """The settings that connecting with Slack takes."""

    @property
    def slack_bot_token(self) -> str | None: ...
    @property
    def slack_app_token(self) -> str | None: ...
    @property
    def slack_signing_secret(self) -> str | None: ...
    @property
    def slack_client_id(self) -> str | None: ...
    @property
    def slack_client_secret(self) -> str | None: ...
    @property
    def public_url(self) -> str | None: ...


def missing_for_slack(settings: Tokens) -> str | None:
    """The setting that is missing to connect with Slack, in a sentence; None when none is."""
    where = "docs/slack.md says where it comes from"
    if not (settings.slack_bot_token or settings.slack_client_id):
        return f"There is nothing to connect to: set SECONDORDER_SLACK_BOT_TOKEN ({where})."
    if settings.slack_client_id and not settings.slack_bot_token:
        if not settings.slack_client_secret:
            return f"Set SECONDORDER_SLACK_CLIENT_SECRET as well ({where})."
        if not settings.public_url:
            return "Workspaces install the bot at its own address: set SECONDORDER_PUBLIC_URL."
    if settings.public_url and not settings.slack_signing_secret:
        return f"Set SECONDORDER_SLACK_SIGNING_SECRET as well ({where})."
    if not settings.public_url and not settings.slack_app_token:
        return f"Set SECONDORDER_SLACK_APP_TOKEN, or SECONDORDER_PUBLIC_URL ({where})."
    return None


def _python() -> Finding:
    version = platform.python_version()
    fine = sys.version_info >= (3, 12)
    return Finding("Python", fine, version if fine else f"{version}; 3.12 or newer is needed")


def _can_embed() -> bool:
    return os.name == "posix" and importlib.util.find_spec("redislite") is not None


def _embedded() -> Finding:
    if _can_embed():
        return Finding("embedded FalkorDB", True, "falkordblite is installed")
    return Finding(
        "embedded FalkorDB",
        False,
        "falkordblite is not installed; install it (make venv) or set SECONDORDER_REDIS_URL to a"
        " FalkorDB server",
    )


def _folder(state: Path) -> Finding:
    there = next((p for p in (state, *state.parents) if p.exists()), state)
    if not there.is_dir():
        return Finding("state folder", False, f"{there} is a file; choose a folder with --state")
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding("state folder", False, f"{there} cannot be written to; choose another")
    return Finding("state folder", True, f"{state}" + ("" if there == state else " (will be made)"))


def _memory(what: str, where: dict[str, Any]) -> Finding:
    if "state" in where and not Path(where["state"]).exists():
        return Finding(what, True, "empty: `secondorder replay EXPORT` fills it")
    try:
        known = workspaces(**where)
    except SecondOrderError as error:
        return Finding(what, False, error.message)
    if not known:
        return Finding(what, True, "answers; empty: `secondorder replay EXPORT` fills it")
    return Finding(what, True, f"answers; it remembers {', '.join(known)}")
