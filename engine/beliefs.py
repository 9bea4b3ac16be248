"""What can be answered, with its evidence; frozen, and the JSON that scripts rely on.

It knows neither the database nor who asks: whatever stands in an answer, its reader may read.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from engine.events import Grade, Moment

type Status = Literal["knows", "stale", "could_have_seen", "unaware"]
type How = Literal["said", "heard", "told", "reported", "saw"]


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


At = Annotated[Moment, PlainSerializer(_iso, when_used="json")]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ref(_Answer):
    """A person, a room or an entity: the platform's id or the normalised key, and its name."""

    id: str
    name: str


class Evidence(_Answer):
    """What shows it. `grade`: how well the person in question perceived it."""

    event: str
    at: At
    room: Ref | None = None
    speaker: Ref | None = None
    grade: Grade | None = None
    link: str | None = None
    quote: str | None = None


class Belief(_Answer):
    """What a chain believes; `value` None is "unknown". `since`: when the whole chain had it."""

    chain: tuple[Ref, ...]
    entity: Ref
    value: str | None = None
    how: How | None = None
    since: At | None = None
    evidence: Evidence | None = None


class PersonStatus(_Answer):
    """`value`: what the person holds, None where nothing is known."""

    person: Ref
    status: Status
    value: str | None = None
    grade: Grade | None = None
    evidence: Evidence | None = None


class WrongAboutOthers(_Answer):
    """Each of `people` thinks that each of `about` holds `thinks`; they hold `actually`."""

    entity: Ref
    people: tuple[Ref, ...]
    about: tuple[Ref, ...]
    thinks: str
    actually: str
    evidence: Evidence


class WhoKnows(_Answer):
    """`decided`: what settled the current value, None while it was only mentioned.

    `rivals`: while disputed, the decisions that stand against it. `related`: other decisions about
    the same subject. `perhaps`: what may be the same, and nobody has said.
    """

    entity: Ref
    value: str | None
    disputed: bool
    decided: Evidence | None
    rivals: tuple["Change", ...] = ()
    people: tuple[PersonStatus, ...]
    wrong_about_others: tuple[WrongAboutOthers, ...]
    related: tuple[Ref, ...] = ()
    perhaps: tuple["Perhaps", ...] = ()

    def having(self, status: Status) -> tuple[PersonStatus, ...]:
        return tuple(one for one in self.people if one.status == status)


class FalseBelief(_Answer):
    """`since`: when the person came to hold it. `changed`: what made it outdated."""

    person: Ref
    entity: Ref
    believes: str
    actual: str
    since: At
    evidence: Evidence
    changed: Evidence


class Differing(_Answer):
    """Somebody who, as the owner of a view knows it, holds another value than the owner.

    `since`: when the owner came to think so. `evidence`: what it rests on; `shown`: what the owner's
    own value, `mine`, rests on.
    """

    person: Ref
    entity: Ref
    believes: str
    mine: str
    since: At
    evidence: Evidence
    shown: Evidence


class Misinformed(_Answer):
    beliefs: tuple[FalseBelief, ...]
    wrong_about_others: tuple[WrongAboutOthers, ...]


class Recipient(_Answer):
    """A room or a person; in JSON only the one that it is."""

    room: Ref | None = None
    person: Ref | None = None

    @model_serializer(mode="wrap")
    def _only_one(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in serialize(self).items() if value is not None}


class Post(_Answer):
    """`text` carries only what every recipient may read; `mentions`: whom it addresses by name."""

    to: Recipient
    text: str
    mentions: tuple[Ref, ...] = ()


class Plan(_Answer):
    """`wrong_after`: people still holding an outdated value. `interrupted`: who already knew."""

    messages: tuple[Post, ...]
    wrong_after: int
    interrupted: int
    reached: int


class Announcement(_Answer):
    """`plans`: best first. `by_hand`: who is wrong and may not read the source."""

    entity: Ref
    value: str | None
    wrong_before: int
    plans: tuple[Plan, ...]
    by_hand: tuple[Ref, ...] = ()


class Lacking(_Answer):
    entity: Ref
    value: str
    evidence: Evidence


class Mistaken(_Answer):
    entity: Ref
    value: str
    holds: str
    evidence: Evidence


class Promise(_Answer):
    """What `to` was told, which is no longer the current value and which `to` still holds."""

    to: Ref
    entity: Ref
    told: str
    actual: str
    evidence: Evidence


class Handoff(_Answer):
    """What `to_person` needs from `from_person`; in JSON `from` and `to`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", serialize_by_alias=True, validate_by_name=True
    )

    from_person: Ref = Field(alias="from")
    to_person: Ref = Field(alias="to")
    lacks: tuple[Lacking, ...]
    wrong: tuple[Mistaken, ...]
    promises: tuple[Promise, ...]
    text: str = ""


class HandedOver(_Answer):
    """One thing of a handover, as its recipient may read it; `event`: the statement it is from."""

    entity: Ref
    value: str
    event: str


class Handover(_Answer):
    """What the recipient of a handoff may be sent. `promises`: the statements it speaks of that were
    promises. `by_hand`: what the recipient may not read."""

    text: str
    things: tuple[HandedOver, ...] = ()
    promises: tuple[str, ...] = ()
    by_hand: tuple[Ref, ...] = ()


class Wording(_Answer):
    """What may be said to some people of a current value: named and valued as all of them may read
    it in `source`. `decided`: the statement that settled it, as the asker reads."""

    entity: Ref
    value: str
    source: Evidence
    decided: str


class Shared(_Answer):
    entity: Ref
    value: str
    evidence: Evidence


class CommonGround(_Answer):
    """What both know, and know that the other knows."""

    people: tuple[Ref, Ref]
    shared: tuple[Shared, ...]


class Step(_Answer):
    """One event that the chain accepted; `displaces`: it settles what the chain believes, else it
    is a mention. `decisive`: the one that the belief rests on."""

    evidence: Evidence
    value: str
    how: How
    since: At
    displaces: bool
    decisive: bool


class Hop(_Answer):
    """One statement that passed a value on; in JSON `from` and `to`, None for nobody in particular
    and for who wants to be left out."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", serialize_by_alias=True, validate_by_name=True
    )

    from_person: Ref | None = Field(alias="from")
    to_person: Ref | None = Field(alias="to")
    how: How
    evidence: Evidence


class Explanation(_Answer):
    """The chain of events behind a belief, oldest first.

    `path`: how the value reached the chain's last person from whoever decided it, or from as far back
    as can be seen; empty where that person was there when it was decided, or brought it up.
    """

    chain: tuple[Ref, ...]
    entity: Ref
    value: str | None
    steps: tuple[Step, ...]
    path: tuple[Hop, ...] = ()


class Change(_Answer):
    """One decision; `was`: the value before it, None for the first."""

    value: str
    was: str | None
    evidence: Evidence


class Timeline(_Answer):
    entity: Ref
    changes: tuple[Change, ...]


class Holding(_Answer):
    """What somebody holds about one entity; where it differs, `actual` is the current value and
    `newer` the statement that settled it."""

    entity: Ref
    value: str
    status: Status
    actual: str | None = None
    newer: str | None = None
    since: At
    evidence: Evidence


class Mind(_Answer):
    """What somebody is thought to know, newest first."""

    person: Ref
    holds: tuple[Holding, ...]


class LateUse(_Answer):
    """Somebody went on acting on a value that had been changed before."""

    person: Ref
    entity: Ref
    value: str
    actual: str
    evidence: Evidence
    changed: Evidence


class Behind(_Answer):
    """Since when nothing can be read, and why, in one sentence."""

    since: At
    why: str


class SetAside(_Answer):
    """A message that was tried and set aside; `key` says which one, and never what it says."""

    key: str
    room: Ref
    at: At
    since: At
    why: str


class Review(_Answer):
    """A statement that was read and is not believed, and why; `message` is where it was found."""

    message: str
    room: Ref
    at: At
    entity: str
    value: str
    quote: str
    reason: str


class Cost(_Answer):
    """What reading one room cost on one day (UTC)."""

    day: date
    room: Ref
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float


class Inbox(_Answer):
    """What has arrived and is not applied yet, what failed, and what reading cost this week, where
    the asker may read. `oldest`: when the first of what waits was said."""

    waiting: int = 0
    oldest: At | None = None
    behind: Behind | None = None
    aside: tuple[SetAside, ...] = ()
    review: tuple[Review, ...] = ()
    spent: tuple[Cost, ...] = ()


class Standing(_Answer):
    """How much is remembered, where the asker may read."""

    workspace: str
    people: int
    rooms: int
    messages: int
    statements: int
    entities: int
    inbox: Inbox = Inbox()


class Recorded(_Answer):
    """A decision that was just recorded."""

    entity: Ref
    value: str
    evidence: Evidence


class Slots(_Answer):
    """The decisions about one subject, each with its own value (None while nothing is decided), and
    how many more there are."""

    subject: str
    slots: tuple["Slot", ...]
    more: int = 0


class Slot(_Answer):
    entity: Ref
    value: str | None
    disputed: bool
    decided: Evidence | None


class Perhaps(_Answer):
    """A question to people: whether what a message in `room` called `name`, which is `entity` by
    itself, is one of those that are called alike."""

    name: str
    entity: Ref
    like: tuple[Ref, ...]
    room: Ref
    at: At


class Naming(_Answer):
    """A name that means `entity`, as somebody confirmed in `room` (None: for everybody). `merged`: the
    key of what it also is by itself."""

    name: str
    merged: str | None = None
    entity: Ref
    room: Ref | None
    at: At


class Names(_Answer):
    """What waits for an answer, and what was confirmed, oldest first."""

    asked: tuple[Perhaps, ...]
    confirmed: tuple[Naming, ...]


class Named(_Answer):
    """Whether `name` means `entity`, as it was just said for those who may read `rooms`; `changed`:
    it was not so before."""

    name: str
    entity: Ref
    same: bool
    changed: bool
    rooms: tuple[Ref, ...] = ()


class ErrorBody(_Answer):
    kind: str
    message: str
    suggestions: tuple[str, ...] = ()


class Failure(_Answer):
    error: ErrorBody
