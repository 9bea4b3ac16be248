"""Slack and Discord exports as a chat that is a list.

It refuses to know the memory, the settings and what a message means: it looks at what was handed
in, finds out which platform's export it is, and has it read.
"""

from collections.abc import Callable
from pathlib import Path

from bot.adapters import exports_discord, exports_slack
from bot.adapters.exports_files import ACCEPTED, Shelf, opened
from bot.chat import Workspace
from engine.errors import InvalidInput


def read(path: Path, progress: Callable[[int, int], None] | None = None) -> Workspace:
    """Everything the export at `path` holds.

    `progress` hears how many files of how many were read. What is broken in the export is listed
    in `Workspace.unread`; `InvalidInput` when `path` is no export at all.
    """
    tell = progress or (lambda done, total: None)
    with opened(path) as shelf:
        if _is_slack(shelf):
            return exports_slack.read(shelf, tell)
        if any(exports_discord.is_channel(shelf.head(name)) for name in shelf.names):
            return exports_discord.read(shelf, tell)
        raise InvalidInput(f"{path} {_found(shelf)}; {ACCEPTED}.")


def _is_slack(shelf: Shelf) -> bool:
    """By its layout, unless the files that make the layout turn out to be Discord's."""
    home = exports_slack.root_of(shelf.names)
    if home is None:
        return False
    return not all(
        exports_discord.is_channel(shelf.head(name))
        for name in shelf.names
        if exports_slack.belongs(name, home)
    )


def _found(shelf: Shelf) -> str:
    if not shelf.names:
        return "holds no JSON file"
    if any(exports_slack.DAY.fullmatch(name) for name in shelf.names):
        return "looks like one channel of a Slack export: hand in the folder above it"
    if len(shelf.names) == 1:
        return "is neither"
    return f"holds {len(shelf.names)} JSON files, but neither kind of export"
