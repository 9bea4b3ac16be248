"""The adapter contract: what a chat reports and what may be said in it.

It refuses to know any platform's field names, and what a message means. Ids are the platform's
own; times are UTC. Membership is reported in the engine's own words, as `Enter` and `Exit`.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from engine.events import Enter, Exit, Moment


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Person(_Frozen):
    """`guest`: reads only the rooms it is in. `gone`: deactivated or deleted."""

    id: str
    name: str
    handle: str = ""
    zone: str = ""
    bot: bool = False
    guest: bool = False
    gone: bool = False


class Room(_Frozen):
    """`kind`: `public` is readable by every full member; the others by the people in it.

    `members`: as of when it was reported, None where that is not known.
    """

    id: str
    name: str
    kind: Literal["public", "private", "group", "direct"] = "public"
    members: frozenset[str] | None = None
    created: Moment | None = None
    archived: bool = False


class Edit(_Frozen):
    at: Moment
    by: str


class Message(_Frozen):
    """One line of a room, in the platform's own markup.

    `ts` is the platform's own name of it, unique within the room. `thread`: the `ts` of the thread
    it belongs to (the root's own `ts` on the root itself); `broadcast`: a reply shown to the whole
    room. `app`: the program that posted it (its name or id), None for a person; `app_ids`: every id it
    has; `posing`: its name was chosen with the post, as a webhook can. `system`: a line
    the platform wrote (join, topic, pin): nobody stated it. `removed`: a tombstone.
    `reactions`: name of the reaction (no skin tone) to the people who gave it.
    """

    room: str
    ts: str
    at: Moment
    author: str | None
    text: str = ""
    thread: str | None = None
    broadcast: bool = False
    edited: Edit | None = None
    reactions: Mapping[str, tuple[str, ...]] = {}
    app: str | None = None
    app_ids: tuple[str, ...] = ()
    posing: bool = False
    system: bool = False
    removed: bool = False
    forwarded: bool = False
    link: str | None = None


class Command(_Frozen):
    """Somebody asks: `name` without its slash, `text` as typed, `room` where it was typed."""

    name: str
    text: str
    who: str
    room: str
    at: Moment


class Unread(_Frozen):
    """A file (or part of one) that could not be read, and why, in one sentence."""

    file: str
    why: str


class Workspace(_Frozen):
    """Everything one export holds. `id` is the platform's id of the workspace, or a name for it.

    `heard` is in the order things were said.
    """

    id: str
    platform: Literal["slack", "discord"]
    people: tuple[Person, ...]
    rooms: tuple[Room, ...]
    heard: tuple["Heard", ...]
    unread: tuple[Unread, ...] = ()


type Heard = Message | Command | Enter | Exit

Workspace.model_rebuild()

__all__ = [
    "Command",
    "Edit",
    "Enter",
    "Exit",
    "Heard",
    "Message",
    "Person",
    "Room",
    "Unread",
    "Workspace",
]
