"""The specification as a table that is looked up the slow way: who witnessed what, who believes what.

Written from the design (the events, the rule, the readers), not from the engine: every question goes
through all events again, one person at a time, and nothing is kept up to date. It knows no graph,
no mind and no order of recording. Where the design leaves a choice, "Read as" says what is meant.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

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
from engine.recording import Policy

type When = tuple[datetime, str]
type Chain = Sequence[str]

BEST_FIRST: tuple[Grade, ...] = ("stated", "acknowledged", "engaged", "exposed", "reachable")
END: When = (datetime.max.replace(tzinfo=UTC), "")


def when(event: Event) -> When:
    return (event.at, event.id)


def author(statement: Statement) -> str | None:
    return statement.by if isinstance(statement, Set) else statement.speaker


class Naming(NamedTuple):
    """From a moment on, only these people decide what is kept under a key."""

    key: str
    people: tuple[str, ...]
    at: datetime


class Merge(NamedTuple):
    """Somebody confirms in a room (None: for everybody) that one key means another, or takes it back
    there (None: wherever it was confirmed)."""

    key: str
    into: str
    room: str | None = None
    undo: bool = False


class Agreed(NamedTuple):
    """What holds beside what happened, each in the order in which it was agreed upon."""

    policy: Policy = "workplace"
    namings: tuple[Naming, ...] = ()
    merges: tuple[Merge, ...] = ()


NOTHING = Agreed()


class Belief(NamedTuple):
    statement: Statement
    since: datetime


class Accepted(NamedTuple):
    """A statement that a chain accepts: does it displace, and since when has all the chain had it?"""

    statement: Statement
    displaces: bool
    since: datetime


class Table:
    """Everything that follows from some events. `form` maps each spelling of a value to one."""

    def __init__(
        self,
        events: Iterable[Event],
        form: Callable[[str], str] = str.casefold,
        agreed: Agreed = NOTHING,
    ) -> None:
        self.events = sorted({event.id: event for event in events}.values(), key=when)
        self.form = form
        self.agreed = agreed
        self.void = {e.replaces for e in self.events if isinstance(e, Say) and e.replaces}
        self._by_id = {event.id: event for event in self.events}
        self._since_id = cache(self._since)
        self.inside = cache(self._inside)

    # ------------------------------------------------------------------------ who may look

    def readable_by(self, person: str, rooms: Iterable[str]) -> "Table":
        """The table of a reader: unreadable events never happened.

        Read as: a notice, an unsee and a retraction are as readable as what they are about; that
        somebody may not decide shows to everybody; a merge counts where it was confirmed, for who
        can read something under both keys.
        """
        known = set(rooms)
        events = [e for e in self.events if _readable(e, person, known)]
        keys = set(Table(events).keys)
        merges = tuple(
            m
            for m in self.agreed.merges
            if m.undo or (m.room in {None, *known} and {m.key, m.into} <= keys)
        )
        return Table(events, self.form, self.agreed._replace(merges=merges))

    def mind(self, person: str) -> "Table":
        """The table of a person's own mind: what others pressed in private is not in it."""
        events = [e for e in self.events if not _private_to_others(e, person)]
        return Table(events, self.form, self.agreed)

    # ------------------------------------------------------------------------ who was there

    def _inside(self, person: str, room: str, moment: When) -> bool:
        earlier = [line for line in self.lines(person, room) if when(line) < moment]
        return bool(earlier) and isinstance(earlier[-1], Enter)

    def lines(self, person: str, room: str) -> list[Enter | Exit]:
        """The membership lines that count: a presumed entry does not when an entry was recorded
        next, a presumed exit does not when an exit was.

        Read as: this depends on all that is known, not on the moment that is asked about.
        """
        own = [
            e
            for e in self.events
            if isinstance(e, Enter | Exit) and e.person == person and e.room == room
        ]
        return [line for i, line in enumerate(own) if not _is_void(line, own[i + 1 :])]

    def left(self, person: str, room: str | None, moment: When) -> bool:
        if room is None or self.inside(person, room, moment):
            return False
        return any(isinstance(e, Enter) and when(e) < moment for e in self.lines(person, room))

    @property
    def people(self) -> list[str]:
        """Everybody who is named anywhere."""
        return sorted({person for event in self.events for person in _named(event)})

    # ------------------------------------------------------------------------ who witnessed

    def statements(self, entity: str | None = None) -> Iterator[Statement]:
        """What was said about an entity, under whichever of its keys; in order."""
        for event in self.events:
            if not isinstance(event, Say | Tell | Report | Set) or event.id in self.void:
                continue
            if entity is None or self.key(entity) == self.key(event.entity):
                yield event

    @property
    def entities(self) -> list[str]:
        return sorted({self.key(statement.entity) for statement in self.statements()})

    @property
    def keys(self) -> list[str]:
        """What was spoken of, under every key by itself."""
        return sorted({statement.entity for statement in self.statements()})

    def key(self, key: str) -> str:
        """The key that a key is answered under.

        Read as: of two that are merged, with whatever means the same by then, the one merged into
        stands for all; confirming it again changes nothing; what is taken back leaves the others.
        """
        stands_for: dict[str, str] = {}
        for one in self._standing_merges():
            here, there = (stands_for.get(k, k) for k in (one.key, one.into))
            group = {here, *(k for k, into in stands_for.items() if into == here)}
            stands_for |= {k: there for k in group} if here != there else {}
        return stands_for.get(key, key)

    def _standing_merges(self) -> list[Merge]:
        standing: list[Merge] = []
        for one in self.agreed.merges:
            if one.undo:
                rooms = {m.room for m in standing} if one.room is None else {one.room}
                standing = [m for m in standing if m[:2] != one[:2] or m.room not in rooms]
            elif one not in standing:
                standing.append(one)
        return standing

    def may_decide(self, statement: Statement) -> bool:
        """Whether what its author says settles anything; what others decide is a mention.

        Read as: the latest naming from that moment or before holds, of one moment the one that was
        made last; it goes by the key that was used. Where nobody was named yet everybody decides, and
        nobody does under policy `authority`.
        """
        named = [
            n for n in self.agreed.namings if n.key == statement.entity and n.at <= statement.at
        ]
        if not named:
            return self.agreed.policy != "authority"
        return author(statement) in max(named[::-1], key=lambda naming: naming.at).people

    def marks(self, statement: Statement, person: str) -> list[Notice | Unsee]:
        """What was said later about whether this person saw it.

        Read as: the author always did, and what was told in private only its parties can have.
        """
        if person == author(statement):
            return []
        if isinstance(statement, Tell) and person not in statement.listeners:
            return []
        return [
            e
            for e in self.events
            if isinstance(e, Notice | Unsee) and e.event == statement.id and e.person == person
        ]

    def witnessed(self, person: str, statement: Statement, at: datetime) -> bool:
        return self.since(person, statement, at) is not None

    def since(self, person: str, statement: Statement, at: datetime) -> datetime | None:
        """Since when the person counts as a witness, asked at a moment; None: does not."""
        return self._since_id(person, statement.id, at)

    def _since(self, person: str, id: str, at: datetime) -> datetime | None:
        statement = self.by_id(id)
        since = statement.at if self.grade_at_first(person, statement) else None
        for mark in self.marks(statement, person):
            if mark.at > at:
                break
            if isinstance(mark, Unsee):
                since = None
            elif since is None and mark.grade != "reachable":
                since = max(mark.at, statement.at)
        return since

    def grade(self, person: str, statement: Statement, at: datetime) -> Grade | None:
        """How well the person perceived it, by everything up to a moment."""
        best = self.grade_at_first(person, statement)
        for mark in self.marks(statement, person):
            if mark.at > at:
                break
            if isinstance(mark, Unsee):
                best = None
            elif mark.grade != "reachable":
                best = min((best or mark.grade, mark.grade), key=BEST_FIRST.index)
        return best

    def grade_at_first(self, person: str, statement: Statement) -> Grade | None:
        """How well the person perceived it as it was said."""
        if person == author(statement):
            return "stated"
        match statement:
            case Tell():
                return statement.grade if person in statement.listeners else None
            case Set():
                return "exposed" if self._present(person, statement) else None
            case Say(edits=str(edited)) if (old := self._earlier(edited, statement)) is not None:
                moves = self.grade(person, old, statement.at) == "exposed"
                gone = self.left(person, statement.room, when(statement))
                return "exposed" if moves and not gone else None
            case Say() | Report():
                if statement.witnesses is not None:
                    grade = statement.witnesses.get(person)
                    return None if grade == "reachable" else grade
                if self._crowded(statement):
                    return None
                return "exposed" if self._present(person, statement) else None

    def _earlier(self, id: str, statement: Statement) -> Statement | None:
        """The newest version from before: the one with this id, or another edit of it. Read as:
        void or not."""
        versions = [self._statement(id)]
        versions += [e for e in self._by_id.values() if isinstance(e, Say) and e.edits == id]
        old = [one for one in versions if one is not None and when(one) < when(statement)]
        return max(old, key=when, default=None)

    def by_id(self, id: str) -> Statement:
        statement = self._statement(id)
        assert statement is not None, id
        return statement

    def _statement(self, id: str) -> Statement | None:
        event = self._by_id.get(id)
        return event if isinstance(event, Say | Tell | Report | Set) else None

    def _present(self, person: str, statement: Statement) -> bool:
        return statement.room is not None and self.inside(person, statement.room, when(statement))

    def _crowded(self, statement: Say | Report) -> bool:
        """Read as: who speaks in a room is one of the people in it."""
        there = {person for person in self.people if self._present(person, statement)}
        return statement.crowd is not None and len(there | {statement.speaker}) > statement.crowd

    # ------------------------------------------------------------------------ who believes

    def believes(
        self, chain: Chain, entity: str, at: datetime, before: When = END
    ) -> Belief | None:
        """What a chain believes at a moment, from what was said before `before`."""
        accepted = list(self.accepted(chain, entity, at, before))
        displacing = [one for one in accepted if one.displaces]
        own = [one for one in accepted if author(one.statement) == chain[-1]]
        held = accepted[-1:]
        if displacing or own:
            held = max(displacing[-1:], own[-1:], key=lambda one: [when(x.statement) for x in one])
        if displacing and held and not held[0].displaces:
            came_to_know_later = displacing[-1].since > held[0].statement.at
            held = displacing[-1:] if came_to_know_later else held
        return Belief(held[0].statement, held[0].since) if held else None

    def accepted(
        self, chain: Chain, entity: str, at: datetime, before: When = END
    ) -> Iterator[Accepted]:
        """The statements that a chain accepts, in the order they were said."""
        for statement in self.statements(entity):
            if statement.at <= at and when(statement) < before:
                one = self._accept(chain, statement, at)
                if one is not None:
                    yield one

    def _accept(self, chain: Chain, statement: Statement, at: datetime) -> Accepted | None:
        if self.agreed.policy == "exit_order" and isinstance(statement, Say | Tell):
            return self._heard(chain, statement, at)
        displaces = isinstance(statement, Tell) or self._decides(statement)
        if isinstance(statement, Report) and self._is_told_of(chain, statement):
            return self._all_witnessed(chain[:-1], statement, at, displaces=True)
        return self._all_witnessed(chain, statement, at, displaces=displaces)

    def _heard(self, chain: Chain, statement: Say | Tell, at: datetime) -> Accepted | None:
        """Policy `exit_order`: who hears it from somebody they trust believes it, and that the speaker
        does; the speaker thinks so of everybody who heard it. Nothing else follows from it."""
        people, speaker = tuple(chain), statement.speaker
        for hearer in self.people:
            trusts = hearer != speaker and self.trusts(hearer, statement)
            if (people in ((hearer,), (hearer, speaker)) and trusts) or (
                people == (speaker, hearer) and hearer != speaker
            ):
                return self._all_witnessed([hearer], statement, at, displaces=True)
        return None

    def trusts(self, hearer: str, statement: Say | Tell) -> bool:
        """Read as: who left a room, whichever, before the speaker last left one; never is earliest."""
        mine, theirs = (self._last_left(p, when(statement)) for p in (hearer, statement.speaker))
        return theirs is not None and (mine is None or mine < theirs)

    def _last_left(self, person: str, moment: When) -> datetime | None:
        rooms = {e.room for e in self.events if isinstance(e, Exit)}
        left = [e for room in rooms for e in self.lines(person, room) if isinstance(e, Exit)]
        return max((e.at for e in left if when(e) < moment), default=None)

    def _decides(self, statement: Statement) -> bool:
        """Read as: whoever changes the world decides, like whoever says so."""
        made = isinstance(statement, Set) or (isinstance(statement, Say) and statement.decides)
        return made and self.may_decide(statement)

    def _is_told_of(self, chain: Chain, report: Report) -> bool:
        """Read as: "was not there" is "did not witness it when it was said"."""
        there = self.witnessed(report.about, report, report.at)
        return len(chain) > 1 and chain[-1] == report.about and not there

    def _all_witnessed(
        self, chain: Chain, statement: Statement, at: datetime, *, displaces: bool
    ) -> Accepted | None:
        latest = statement.at
        for person in chain:
            since = self.since(person, statement, at)
            if since is None:
                return None
            latest = max(latest, since)
        return Accepted(statement, displaces, latest)

    # ------------------------------------------------------------------------ what is true

    def decisions(self, entity: str, at: datetime) -> list[Statement]:
        """What settled the value, oldest first."""
        return [s for s in self.statements(entity) if s.at <= at and self._settles(s, at)]

    def truth(self, entity: str, at: datetime) -> Statement | None:
        made = self.decisions(entity, at)
        return made[-1] if made else None

    def _settles(self, statement: Statement, at: datetime) -> bool:
        """Read as: a `set` is the world changing, not somebody's words: it never restates."""
        if not self._decides(statement):
            return False
        if not isinstance(statement, Say):
            return not self._fell(statement, at)
        return not self.restates(statement) and not self._fell(statement, at)

    def restates(self, say: Say) -> bool:
        before = self.believes([say.speaker], say.entity, say.at, before=when(say))
        return before is not None and self.equal(before.statement, say)

    def _fell(self, statement: Statement, at: datetime) -> bool:
        """Whether it was retracted by then and nobody but its author can have seen it.

        Read as: who is named with any grade, or was in the room at any time in between, could.
        """
        retractions = [e for e in self.events if isinstance(e, Retract) and e.event == statement.id]
        if not retractions or retractions[0].at > at:
            return False
        until = retractions[0].at
        others = [person for person in self.people if person != author(statement)]
        return not any(self._could_have_seen(person, statement, until) for person in others)

    def _could_have_seen(self, person: str, statement: Statement, until: datetime) -> bool:
        said_to = isinstance(statement, Say | Report) and person in (statement.witnesses or {})
        noticed = any(isinstance(mark, Notice) for mark in self.marks(statement, person))
        ever = self.grade_at_first(person, statement) is not None
        return said_to or noticed or ever or self.around(person, statement, until)

    def around(self, person: str, statement: Statement, until: datetime) -> bool:
        """Whether the person was in its room then, or at any time up to a moment after it."""
        if statement.room is None:
            return False
        if self.inside(person, statement.room, when(statement)):
            return True
        return any(
            isinstance(line, Enter) and when(line) > when(statement) and line.at <= until
            for line in self.lines(person, statement.room)
        )

    def equal(self, one: Statement, other: Statement) -> bool:
        return self.form(one.value) == self.form(other.value)

    def rivals(self, entity: str, at: datetime) -> list[Statement]:
        """The decisions that stand against the truth; disputed while there are any."""
        made = self.decisions(entity, at)
        return [
            one
            for i, one in enumerate(made[:-1])
            if not self.equal(one, made[-1])
            and not any(self._settled_by(one, later) for later in made[i + 1 :])
            and self._unaware_of_each_other(one, made[-1], at)
        ]

    def _settled_by(self, decision: Statement, later: Statement) -> bool:
        decider = author(later)
        return decider is not None and self.witnessed(decider, decision, later.at)

    def _unaware_of_each_other(self, one: Statement, other: Statement, at: datetime) -> bool:
        """Read as: where nobody is named as the decider, nobody disputes."""
        a, b = author(one), author(other)
        if a is None or b is None:
            return False
        return not self.witnessed(a, other, at) and not self.witnessed(b, one, at)


def _readable(event: Event, person: str, rooms: set[str]) -> bool:
    match event:
        case Tell():
            return event.room in rooms or person in (event.speaker, *event.listeners)
        case Set(room=None):
            return event.by == person
        case Say() | Report() | Set() | Enter() | Exit():
            return event.room in rooms
        case Notice() | Unsee() | Retract():
            return True


def _private_to_others(event: Event, person: str) -> bool:
    return isinstance(event, Notice | Unsee) and event.room is None and event.person != person


def _is_void(line: Enter | Exit, later: Sequence[Enter | Exit]) -> bool:
    recorded = [other for other in later if not other.presumed]
    return line.presumed and bool(recorded) and isinstance(recorded[0], type(line))


def _named(event: Event) -> Iterator[str]:
    match event:
        case Enter() | Exit() | Notice() | Unsee():
            yield event.person
        case Tell():
            yield from (event.speaker, *event.listeners)
        case Say() | Report():
            yield event.speaker
            yield from event.witnesses or {}
            if isinstance(event, Report):
                yield event.about
        case Set(by=str(by)):
            yield by
        case Set() | Retract():
            pass
