"""Random histories: a few people in a few rooms, everything that can happen, in any order."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from engine import PersonInfo
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
from engine.memory import Memory
from engine.recording import Policy
from tests.engine.brute import NOTHING, Agreed, Merge, Naming, Table

START = datetime(2026, 11, 30, 9, tzinfo=UTC)

SPELLINGS = {
    "approved": ("approved", "Approved!", "the approved", "approved now", "APPROVED ✅"),
    "rejected": ("rejected", "*rejected*", "now rejected", "rejected by finance"),
    "5 %": ("5%", "5% since May"),
    "5": ("5", "“5”", "5, per the CFO"),
}
DEN = "den"  # where something may be agreed upon, and nothing else is said
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
    agreed: Agreed = NOTHING

    @property
    def table(self) -> Table:
        return Table(self.events, form, self.agreed)

    @property
    def policy(self) -> Policy:
        return self.agreed.policy

    @property
    def moments(self) -> list[datetime]:
        return sorted({event.at + timedelta(seconds=s) for event in self.events for s in (-1, 0)})

    @property
    def statements(self) -> list[Statement]:
        return [e for e in self.events if isinstance(e, Say | Tell | Report | Set)]


class _Stage:
    """Makes one event after the other; `draw` decides everything."""

    def __init__(
        self, draw: Callable[[st.SearchStrategy[Any]], Any], private: bool, least: int, most: int
    ) -> None:
        self.draw = draw
        self.private = private
        self.people = tuple("ABCDEF"[: draw(st.integers(3, 6))])
        self.rooms = ("hall", "lab", "roof")[: draw(st.integers(1, 3))]
        self.entities = ("plan", "date", "place")[: draw(st.integers(least, most))]
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
        presumed = self.often(3)
        self.add(Exit, person=self.one(self.people), room=self.one(self.rooms), presumed=presumed)

    def leaves_unseen(self) -> None:
        """Somebody was taken to have left, something is said, and then they leave, or come."""
        person, room = self.one(self.people), self.one(self.rooms)
        self.add(Exit, person=person, room=room, presumed=True)
        for kind in (self.says, self.leaves, self.says)[: self.draw(st.integers(1, 3))]:
            kind()
        self.add(self.one((Exit, Exit, Enter)), person=person, room=room, presumed=self.often(2))

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
        grade = "exposed" if self.often(3) else "acknowledged"
        self.add(
            Tell, speaker=speaker, listeners=tuple(some), room=room, grade=grade, **self.about()
        )

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

    # ------------------------------------------------------------------------ what is agreed upon

    def agrees(self, merging: bool) -> Agreed:
        """Now and then who decides, from a moment on, and which keys mean the same."""
        if merging:
            return Agreed(merges=tuple(self.merges((1, 2, 3), (*self.rooms, DEN, DEN))))
        policy, moments = self.one(("workplace", "workplace", "authority")), [START, *self.moments]
        namings = [
            Naming(self.one(self.entities), tuple(self.some(self.people)), self.one(moments))
            for _ in range(self.one((0, 1, 2, 3) if policy == "authority" else (0, 0, 0, 1)))
        ]
        return Agreed(policy, tuple(namings), tuple(self.merges((0, 1, 2, 4), (None, *self.rooms))))

    def merges(self, many: Sequence[int], rooms: Sequence[str | None]) -> Iterator[Merge]:
        keys, made = Table(self.made).keys, list[Merge]()
        for _ in range(self.one(many) if len(keys) > 1 else 0):
            room = self.one(rooms)
            if made and self.often(4):
                yield self.one(made)._replace(room=room, undo=True)
            else:
                one, other = self.draw(st.permutations(keys))[:2]
                made.append(Merge(one, other, room))
                yield made[-1]

    @property
    def moments(self) -> list[datetime]:
        return [event.at for event in self.made]

    def said(self, *kinds: type[Event]) -> list[Any]:
        return [event for event in self.made if isinstance(event, kinds)]


@st.composite
def histories(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    private: bool = True,
    longest: int = 22,
    agreed: bool = False,
    restless: bool = False,
    merging: bool = False,
) -> History:
    """Recorded late as often as not. `private`: people also press things that nobody else sees;
    `agreed`: who decides and what means the same is agreed upon, for `recorded` to record too;
    `restless`: much coming and going, and much of it presumed; `merging`: of what is agreed upon only
    what means the same, always, and often in a den that nobody needs to be in."""
    stage = _Stage(draw, private, 1 + merging, 3 if agreed or merging else 2)
    stage.opens()
    kinds = (
        stage.says, stage.says, stage.says, stage.says, stage.enters, stage.leaves, stage.leaves,
        stage.edits, stage.tells, stage.reports, stage.reports, stage.sets, stage.notices,
        stage.notices, stage.unsees, stage.retracts,
    )  # fmt: skip
    more = (stage.says, stage.says, stage.tells, stage.leaves, stage.leaves_unseen)
    some = (*more, *kinds) if restless else kinds
    for kind in draw(st.lists(st.sampled_from(some), min_size=6, max_size=longest)):
        kind()
    events = draw(st.permutations(stage.made)) if draw(st.booleans()) else stage.made
    also = stage.agrees(merging) if agreed or merging else NOTHING
    return History(tuple(events), stage.people, stage.rooms, stage.entities, also)


def recorded(memory: Memory, history: History, events: Sequence[Event] | None = None) -> Memory:
    """Everybody is known from the start, so that only what happened decides the answers.

    Who decides is named while things happen, and may hold from earlier on.
    """
    memory.describe(people=[PersonInfo(person, person) for person in history.people])
    some = history.events if events is None else events
    namings = list(history.agreed.namings)
    between = len(some) // (len(namings) + 1) + 1
    for i, event in enumerate(some, 1):
        memory.record(event)
        for naming in namings[i // between - 1 : i // between] if i % between == 0 else ():
            memory.authorise(naming.key, naming.people, at=naming.at)
    for naming in namings[len(some) // between :]:
        memory.authorise(naming.key, naming.people, at=naming.at)
    spoken_of = {event.entity for event in some if isinstance(event, Say | Tell | Report | Set)}
    for merge in history.agreed.merges:
        if merge.undo:
            memory.unmerge(merge.key, merge.into, room=merge.room)
        elif {merge.key, merge.into} <= spoken_of or events is None:
            memory.merge(merge.key, merge.into, room=merge.room)
        else:  # of some of the events: nobody who saw only those could confirm it
            memory._link("merge", merge.key, merge.into, merge.room)
    return memory


def chains(people: Sequence[str], longest: int = 4) -> st.SearchStrategy[tuple[str, ...]]:
    """Chains of different people."""
    some = st.lists(st.sampled_from(people), min_size=1, max_size=longest, unique=True)
    return some.map(tuple)
