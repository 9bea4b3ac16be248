"""Language in, statements out; it knows the engine's vocabulary and no platform, no database.

An extractor reads a window of messages and says what was stated in it. It never decides who
perceived it and never writes a belief.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Passage(_Frozen):
    """One message as it was written, in the platform's own markup.

    `thread` is the id of the thread's first message (its own id there), or None. `app`: posted by
    a program. `direct`: a direct message to the bot. `context`: said earlier and shown so that the
    others can be understood; nothing is read out of it again.
    """

    id: str
    author: str
    room: str
    at: datetime
    text: str
    thread: str | None = None
    app: bool = False
    direct: bool = False
    context: bool = False


class Known(_Frozen):
    """An entity that exists already and that everyone in the room may read.

    `values`: every value it was ever given, newest first.
    """

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


class Window(_Frozen):
    """What an extractor gets to see.

    `people`: id to the name people read. `threads`: the id of a thread's first message to the
    entity that thread is about (a decision by text, or a key's only statement).
    """

    passages: tuple[Passage, ...]
    people: Mapping[str, str] = {}
    entities: tuple[Known, ...] = ()
    threads: Mapping[str, str] = {}


Certainty = Literal["certain", "likely", "unsure"]
"""How sure the extractor is that it was stated; a rule is certain."""


class Statement(_Frozen):
    """One thing that was stated.

    `kind` is `say`, or `report` about the person `about`. `entity` is a normalised key or the id
    of a known entity; `name` is what people read for it. `decides`: it settles the value, otherwise
    it mentions it. `quote` is a substring of the message (at most 200 characters); `number` counts
    the statements of one message from 0. `reported`: the speaker is not the author, who says what
    the speaker said (a scribe, hearsay); otherwise the author is the speaker.
    """

    kind: Literal["say", "report"]
    message: str
    speaker: str
    entity: str
    name: str
    value: str
    decides: bool
    quote: str
    number: int = 0
    about: str | None = None
    addressees: tuple[str, ...] = ()
    reported: bool = False
    certainty: Certainty = "certain"


class CannotRead(Exception):
    """A window that was not read, and why, in one sentence that quotes nobody.

    `later`: it may be read when it is tried again, after so many seconds (0: whenever); None: trying
    again will not help, somebody has to look at it.
    """

    def __init__(self, why: str, later: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.later = later


class Extractor(Protocol):
    """`windowed`: it reads a message better together with those around it, and may be slow; then
    whoever calls it gathers windows and calls it from several threads."""

    windowed: bool

    def extract(self, window: Window) -> list[Statement]:
        """The statements of the window's passages, in the order they were made; raises CannotRead."""
        ...
