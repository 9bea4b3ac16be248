"""What can happen, in the mind's words; it knows no platform, no language and no database.

Order is `(at, id)`: the order in which things were said. `id` is the source's own identity
(workspace, channel, timestamp, kind, edit version), so recording twice is recording once.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    model_validator,
)

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=200)]
"""Opaque: a platform's own id, or one made of a name by `engine.identify`."""

Grade = Literal["stated", "acknowledged", "engaged", "exposed", "reachable"]
"""How good the evidence is that somebody perceived something, best first."""

GRADES: tuple[Grade, ...] = ("stated", "acknowledged", "engaged", "exposed", "reachable")


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_utc)]
"""A point in time, kept in UTC with microseconds; a naive one is taken as UTC."""

moment: TypeAdapter[datetime] = TypeAdapter(Moment)


def whole(text: str) -> str:
    """Without the halves of broken characters, which no database can store."""
    return text.encode("utf-8", "replace").decode()


def _written(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL character cannot be stored")
    text = text.strip()
    if not text:
        raise ValueError("it is empty")
    return text


def _unbroken(text: Any) -> Any:
    return whole(text) if isinstance(text, str) else text


Shown = Annotated[
    str, AfterValidator(lambda text: text.replace("\0", "")), BeforeValidator(_unbroken)
]
Text = Annotated[
    str,
    StringConstraints(max_length=10_000),
    AfterValidator(_written),
    BeforeValidator(_unbroken),
]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id
    at: Moment


class Enter(_Event):
    """Somebody came into a room.

    `presumed`: nobody saw it happen, it was concluded (a member list, a leave without a join).
    A presumed entry is void when the next recorded line of that person in that room is an entry.
    """

    kind: Literal["enter"] = "enter"
    person: Id
    room: Id
    presumed: bool = False


class Exit(_Event):
    """Somebody left a room.

    `presumed`: concluded from a member list that does not name them. It is void when the next
    recorded line of that person in that room is an exit.
    """

    kind: Literal["exit"] = "exit"
    person: Id
    room: Id
    presumed: bool = False


class _Stated(_Event):
    entity: Id
    value: Text
    quote: Shown | None = Field(default=None, max_length=200)
    """The sentence it came from; kept in the world graph only."""
    link: Shown | None = Field(default=None, max_length=2_000)
    name: Shown | None = Field(default=None, max_length=10_000)
    """How people called the entity here; a reader sees the first name that reader may read."""


class _Spoken(_Stated):
    speaker: Id
    room: Id
    witnesses: Mapping[Id, Grade] | None = None
    """Who perceived it, beside the speaker. Without it, everyone in the room did."""
    crowd: int | None = Field(default=None, ge=0)
    """With more people than this in the room, presence alone makes nobody a witness."""


class Say(_Spoken):
    """Said in a room. `decides`: it settles the value; otherwise it only mentions it.

    `edits` names the version this one was edited from: its witnesses are the editor and those who
    had been no more than exposed to the old version; who had acknowledged or engaged keeps the old.
    `replaces` names a version that is void from the start (an edit within a minute).
    `mentions`: people addressed by name in it.
    """

    kind: Literal["say"] = "say"
    decides: bool = True
    edits: Id | None = None
    replaces: Id | None = None
    mentions: tuple[Id, ...] = ()

    @model_validator(mode="after")
    def _is_one_version(self) -> Self:
        if self.edits and self.replaces:
            raise ValueError("a version either edits an earlier one or replaces it")
        return self


class Tell(_Stated):
    """Said in private. `room` is a conversation of its own, readable by its parties.

    `grade`: how well its listeners perceived it; what was written to somebody is no more than
    exposed until they answer or say so.
    """

    kind: Literal["tell"] = "tell"
    speaker: Id
    listeners: tuple[Id, ...] = Field(min_length=1)
    room: Id | None = None
    grade: Literal["acknowledged", "exposed"] = "acknowledged"


class Report(_Spoken):
    """ "I told Maya it is approved": everyone there now thinks that `about` believes it."""

    kind: Literal["report"] = "report"
    about: Id


class Set(_Stated):
    """The world changes, seen by those present in `room` and by whoever did it."""

    kind: Literal["set"] = "set"
    by: Id | None = None
    room: Id | None = None


class Notice(_Event):
    """Later evidence that somebody saw an earlier event.

    With `room` it was visible there (a reaction, a reply); without, it was pressed in private and
    stays in the person's own mind and the world.

    `until`: from then on it shows nothing any more (a reaction that was taken back). What the person
    is a witness by is then what the rest shows, with its grade; who has nothing else is none.
    """

    kind: Literal["notice"] = "notice"
    person: Id
    event: Id
    grade: Grade = "acknowledged"
    room: Id | None = None
    until: Moment | None = None


class Unsee(_Event):
    """ "I never saw this": from then on the person is no witness of the event."""

    kind: Literal["unsee"] = "unsee"
    person: Id
    event: Id
    room: Id | None = None


class Retract(_Event):
    """What an event came from is gone; as it stands, deleted: its text goes, nobody un-learns.

    `void`: its source never said it (an edit within a minute): nobody heard it, nobody believes it.
    `edited_by`: its source was edited by this person and no longer says it. As with a new version,
    who was no more than exposed, and is still there, moves with the text: from then on they are no
    witness of it, and neither is the editor. Who had acknowledged, engaged or stated it keeps it. It
    no longer stands: the truth falls back. Whatever shows later that it was seen makes no witness.
    """

    kind: Literal["retract"] = "retract"
    event: Id
    void: bool = False
    edited_by: Id | None = None

    @model_validator(mode="after")
    def _went_in_one_way(self) -> Self:
        if self.void and self.edited_by:
            raise ValueError("what was never said was not edited away")
        return self


type Event = Enter | Exit | Say | Tell | Report | Set | Notice | Unsee | Retract
type Statement = Say | Tell | Report | Set
"""The events that are about an entity."""

any_event: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])
