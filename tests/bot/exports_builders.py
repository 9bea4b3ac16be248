"""Small exports, built in code: what the platforms write, with only the fields that matter."""

import json
import zipfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from bot.chat import Enter, Exit, Message, Workspace

type Files = Mapping[str, object]
"""Path inside the export to what it holds: JSON, or bytes as they are."""

BORN = 1_700_000_000
"""When rooms were made; messages are seconds later."""


def raw(content: object) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()


def as_folder(folder: Path, files: Files) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw(content))
    return folder


def as_zip(path: Path, files: Files, prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(prefix + name, raw(content))
    return path


def ts(seconds: float, micro: int = 100) -> str:
    return f"{BORN + int(seconds)}.{micro:06}"


def user(id: str, name: str = "", **more: object) -> dict[str, object]:
    name = name or id.lower()
    return {"id": id, "team_id": "T1", "name": name, "profile": {"display_name": ""}, **more}


def channel(
    id: str, name: str, members: object = ("U1", "U2"), **more: object
) -> dict[str, object]:
    listed = list(members) if isinstance(members, tuple) else members
    return {"id": id, "name": name, "created": BORN, "members": listed, **more}


def line(
    seconds: float, text: str = "hello", by: str | None = "U1", **more: object
) -> dict[str, object]:
    said: dict[str, object] = {"type": "message", "ts": ts(seconds), "text": text, **more}
    return said if by is None else {**said, "user": by}


def moved(seconds: float, who: str, subtype: str = "channel_join") -> dict[str, object]:
    return line(seconds, f"<@{who}> moved", by=who, subtype=subtype)


def slack(*lines: object, **indexes: object) -> dict[str, object]:
    """A workspace of U1 and U2 with one public room, and its lines on one day."""
    return {
        "channels.json": indexes.pop("channels", [channel("C1", "plans")]),
        "users.json": indexes.pop("users", [user("U1", "ann"), user("U2", "bo")]),
        **{f"{name}.json": index for name, index in indexes.items()},
        "plans/2023-11-14.json": list(lines),
    }


def author(id: str, name: str = "", bot: bool = False, **more: object) -> dict[str, object]:
    name = name or f"user{id}"
    # since 2023 everybody's discriminator is 0000
    return {"id": id, "name": name, "discriminator": "0000", "nickname": name, "isBot": bot, **more}


def post(id: str, content: str = "hello", by: str = "11", **more: object) -> dict[str, object]:
    at = datetime.fromisoformat("2024-03-01T10:00:00+00:00") + timedelta(seconds=int(id) % 10_000)
    return {
        "id": id,
        "type": "Default",
        "timestamp": at.isoformat(),
        "timestampEdited": None,
        "content": content,
        "author": author(by),
        "reactions": [],
        "mentions": [],
        **more,
    }


def discord(
    *messages: object, id: str = "500", name: str = "plans", guild: str = "900", **more: object
) -> dict[str, object]:
    return {
        "guild": {"id": guild, "name": "Acme", "iconUrl": ""},
        "channel": {
            "id": id,
            "type": "GuildTextChat",
            "categoryId": "400",
            "category": "Text",
            "name": name,
            "topic": None,
            **more,
        },
        "dateRange": {"after": None, "before": None},
        "exportedAt": "2024-04-01T00:00:00+00:00",
        "messages": list(messages),
        "messageCount": len(messages),
    }


def messages(workspace: Workspace) -> list[Message]:
    return [heard for heard in workspace.heard if isinstance(heard, Message)]


def moves(workspace: Workspace) -> list[tuple[str, str, str, float]]:
    """Who, in which room, did what, seconds after rooms were made."""
    found = []
    for heard in workspace.heard:
        if isinstance(heard, Enter | Exit):
            word = "exit" if isinstance(heard, Exit) else "presumed" if heard.presumed else "enter"
            found.append((heard.person, heard.room, word, heard.at.timestamp() - BORN))
    return found
