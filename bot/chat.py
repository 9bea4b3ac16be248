"""The adapter contract: what a chat reports and what may be said in it.

It refuses to know any platform's field names, and what a message means. Ids are the platform's
own; times are UTC. Membership is reported in the engine's own words, as `Enter` and `Exit`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from bot.pages import Page
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
    the platform wrote (join, topic, pin): nobody stated it. `removed`: it was deleted, and `gone`
    when, where that is known (a tombstone in an export does not say). `reactions`: name of the
    reaction (no skin tone) to the people who gave it, where the platform does not say when.

    An edit is the message as it reads now, with `edited`; a deletion is the message with `removed`.
    Both have its own `ts` and `at`. Whoever reports an edit knows that the text changed: a link's
    preview or a counter is none.
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
    gone: Moment | None = None
    forwarded: bool = False
    link: str | None = None


class Reaction(_Frozen):
    """Somebody reacted to the message `ts` of a room, or (`removed`) took the reaction back, at `at`.

    `name` as the platform gives it, with its skin tone: somebody may give the same one in two of
    them, and take one back.
    """

    room: str
    ts: str
    at: Moment
    who: str
    name: str
    removed: bool = False


class Command(_Frozen):
    """Somebody asks: `name` without its slash, `text` as typed, `room` where it was typed.

    `ts`: the message it is about, or that asks it, None where no message does (a slash command).
    `thread`: the thread of that message, None outside threads.
    """

    name: str
    text: str
    who: str
    room: str
    at: Moment
    ts: str | None = None
    thread: str | None = None


class Press(_Frozen):
    """Somebody pressed a button of a page: its `action` and `value` as they were given.

    `ts`: the message that shows it, None where only the presser saw it.
    """

    action: str
    value: str
    who: str
    room: str
    at: Moment
    ts: str | None = None


class Place(_Frozen):
    """Where something is posted: a room, or a thread of it."""

    room: str
    thread: str | None = None


class Sent(_Frozen):
    """What was posted, as the platform has it."""

    room: str
    ts: str
    at: Moment
    link: str | None = None


class Reply(_Frozen):
    """What is answered. `aloud`: everybody in the room sees it, else only who asked. `instead`: it
    takes the place of the page with the pressed button."""

    page: Page
    aloud: bool = False
    instead: bool = False


class Kept(NamedTuple):
    """What is remembered of one line. `edited`: when the version that is known was written. `reactions`:
    name (as Slack gives it) and person. `stated`: it states something, so that its changes matter."""

    ts: str
    thread: str | None = None
    edited: Moment | None = None
    reactions: frozenset[tuple[str, str]] = frozenset()
    stated: bool = False
    removed: bool = False


class NotSent(Exception):
    """It was certainly not posted, and why, in one sentence; `later`: in so many seconds it may be."""

    def __init__(self, why: str, later: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.later = later


class PerhapsSent(Exception):
    """No answer came: it may have been posted, or not."""


class Desk(Protocol):
    """Who answers what the chat brings. Both return within a second, and never raise."""

    async def ask(self, command: Command) -> Reply: ...

    async def press(self, press: Press) -> Reply | None: ...

    async def home(self, person: str) -> Page: ...


class Chat(Protocol):
    """Where things are said; `post` raises NotSent or PerhapsSent."""

    async def post(self, where: Place, page: Page, key: str, mentions: Sequence[str] = ()) -> Sent:
        """Posts a page, naming people so that they are told; `key` names the post, and is found with
        it."""
        ...

    async def find(self, where: Place, key: str, since: Moment) -> Sent | None:
        """The post with that key, if there is one since then; raises NotSent where that cannot be
        looked up now."""
        ...

    async def direct(self, person: str) -> str:
        """The conversation between one person and us; raises NotSent."""
        ...

    async def show_home(self, person: str, page: Page) -> None:
        """Shows a person their own page, where the platform has such a place."""
        ...


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


type Heard = Message | Reaction | Command | Enter | Exit

Workspace.model_rebuild()

__all__ = [
    "Chat",
    "Command",
    "Desk",
    "Edit",
    "Enter",
    "Exit",
    "Heard",
    "Kept",
    "Message",
    "NotSent",
    "PerhapsSent",
    "Person",
    "Place",
    "Press",
    "Reaction",
    "Reply",
    "Room",
    "Sent",
    "Unread",
    "Workspace",
]
