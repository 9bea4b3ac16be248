"""Random histories: a few people in a few rooms, everything that can happen, in any order."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from engine.events import (
    Enter,
    Event,
    Exit,
    Grade,
    Notice,
    Report,
    Retract,
    Say,
    Set,
    Statement,
    Tell,
    Unsee,
)
from tests.engine.brute import Table

START = datetime(2026, 11, 30, 9, tzinfo=UTC)

SPELLINGS = {
    "approved": ("approved", "Approved!", "the approved", "approved now", "APPROVED ✅"),
    "rejected": ("rejected", "*rejected*", "now rejected", "rejected by finance"),
    "5 %": ("5%", "5% since May"),
    "5": ("5", "“5”", "5, per the CFO"),
}
FORMS = {spelling: form for form, some in SPELLINGS.items() for spelling in some}
VALUES = [values[i] for i in range(5) for values in SPELLINGS.values() if i < len(values)]
GRADES: tuple[Grade, ...] = ("acknowledged", "engaged", "exposed", "reachable")


def form(value: str) -> str:
    """What the spellings above have in common; a value that is not among them stands for itself."""
    return FORMS.get(value, value)


class History(NamedTuple):
    """Events in the order of their recording, who and where, and the moments worth asking about."""

    events: tuple[Event, ...]
    people: tuple[str, ...]
    rooms: tuple[str, ...]
    entities: tuple[str, ...]

    @property
    def table(self) -> Table:
        return Table(self.events, form)

    @property
    def moments(self) -> list[datetime]:
        return sorted({event.at + timedelta(seconds=s) for event in self.events for s in (-1, 0)})

    @property
    def statements(self) -> list[Statement]:
        return [e for e in self.events if isinstance(e, Say | Tell | Report | Set)]


class _Stage:
    """Makes one event after the other; `draw` decides everything."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], private: bool) -> None:
        self.draw = draw
        self.private = private
        self.people = tuple("ABCDEF"[: draw(st.integers(3, 6))])
        self.rooms = ("hall", "lab", "roof")[: draw(st.integers(1, 3))]
        self.entities = ("plan", "date")[: draw(st.integers(1, 2))]
        self.clock = START
        self.made: list[Event] = []

    def one(self, some: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(some))

    def often(self, times_in_ten: int) -> bool:
        return bool(self.draw(st.integers(0, 9)) < times_in_ten)

    def some(self, people: Sequence[str]) -> list[str]:
        return [person for person in people if self.often(4)]

    def add(self, kind: type[Any], **fields: Any) -> None:
        # Letters from both ends: of two events of one moment, the later one may come first.
        id = f"{self.one('az')}{len(self.made)}"
        self.clock += timedelta(seconds=self.one((60, 60, 60, 0)))
        self.made.append(kind(id=id, at=self.clock, **fields))

    def about(self) -> dict[str, Any]:
        return {"entity": self.one(self.entities), "value": self.one(VALUES)}

    def perceived(self) -> dict[str, Any]:
        how = self.draw(st.integers(0, 9))
        if how < 2:
            return {"witnesses": {p: self.one(GRADES) for p in self.some(self.people)}}
        return {"crowd": self.draw(st.integers(0, 4))} if how < 4 else {}

    # ------------------------------------------------------------------------ what happens

    def opens(self) -> None:
        for room in self.rooms:
            for person in self.people:
                if self.often(6):
                    self.add(Enter, person=person, room=room, presumed=self.often(2))

    def enters(self) -> None:
        presumed = self.often(3)
        self.add(Enter, person=self.one(self.people), room=self.one(self.rooms), presumed=presumed)

    def leaves(self) -> None:
        self.add(Exit, person=self.one(self.people), room=self.one(self.rooms))

    def says(self) -> None:
        self.add(
            Say, speaker=self.one(self.people), room=self.one(self.rooms), decides=self.often(7),
            mentions=tuple(self.some(self.people)), **self.about(), **self.perceived(),
        )  # fmt: skip

    def edits(self) -> None:
        said = self.said(Say)
        if said:
            old = self.one(said)
            which = "edits" if self.often(8) else "replaces"
            editor = old.speaker if self.often(8) else self.one(self.people)
            self.add(
                Say, speaker=editor, room=old.room, decides=self.often(7), **{which: old.id},
                **(self.about() | {"entity": old.entity}), **self.perceived(),
            )  # fmt: skip

    def tells(self) -> None:
        some = self.some(self.people) or [self.one(self.people)]
        room = "direct" if self.often(3) else None
        speaker = self.one(self.people)
        self.add(Tell, speaker=speaker, listeners=tuple(some), room=room, **self.about())

    def reports(self) -> None:
        self.add(
            Report, speaker=self.one(self.people), about=self.one(self.people),
            room=self.one(self.rooms), **self.about(), **self.perceived(),
        )  # fmt: skip

    def sets(self) -> None:
        by, room = self.one((None, *self.people)), self.one((None, *self.rooms))
        self.add(Set, by=by, room=room, **self.about())

    def notices(self) -> None:
        self.marks(Notice, grade=self.one(GRADES))

    def unsees(self) -> None:
        self.marks(Unsee)

    def marks(self, kind: type[Notice | Unsee], **fields: Any) -> None:
        said = self.said(Say, Tell, Report, Set)
        if said:
            event = self.one(said)
            room = None if self.private and self.often(5) else event.room or "elsewhere"
            self.add(kind, person=self.one(self.people), event=event.id, room=room, **fields)

    def retracts(self) -> None:
        said = self.said(Say, Tell, Report, Set)
        if said:
            self.add(Retract, event=self.one(said).id)

    def said(self, *kinds: type[Event]) -> list[Any]:
        return [event for event in self.made if isinstance(event, kinds)]


@st.composite
def histories(
    draw: Callable[[st.SearchStrategy[Any]], Any], private: bool = True, longest: int = 22
) -> History:
    """Recorded late as often as not. `private`: people also press things that nobody else sees."""
    stage = _Stage(draw, private)
    stage.opens()
    kinds = (
        stage.says, stage.says, stage.says, stage.says, stage.enters, stage.leaves, stage.leaves,
        stage.edits, stage.tells, stage.reports, stage.reports, stage.sets, stage.notices,
        stage.notices, stage.unsees, stage.retracts,
    )  # fmt: skip
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=6, max_size=longest)):
        kind()
    events = draw(st.permutations(stage.made)) if draw(st.booleans()) else stage.made
    return History(tuple(events), stage.people, stage.rooms, stage.entities)


def chains(people: Sequence[str], longest: int = 4) -> st.SearchStrategy[tuple[str, ...]]:
    """Chains of different people."""
    some = st.lists(st.sampled_from(people), min_size=1, max_size=longest, unique=True)
    return some.map(tuple)
