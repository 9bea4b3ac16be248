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
    a program. `direct`: a direct message to the bot.
    """

    id: str
    author: str
    room: str
    at: datetime
    text: str
    thread: str | None = None
    app: bool = False
    direct: bool = False


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


class Statement(_Frozen):
    """One thing that was stated.

    `kind` is `say`, or `report` about the person `about`. `entity` is a normalised key or the id
    of a known entity; `name` is what people read for it. `decides`: it settles the value, otherwise
    it mentions it. `quote` is a substring of the message (at most 200 characters); `number` counts
    the statements of one message from 0.
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


class Extractor(Protocol):
    def extract(self, window: Window) -> list[Statement]:
        """The statements of the window's passages, in the order they were made."""
        ...
