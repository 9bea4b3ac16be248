"""Which chains accept an event, and what follows from it: the specification, in code.

Pure functions on plain values; nothing here knows the database. The rule they spell out is in
`docs/architecture.md` ("The rule"): *what a chain of people believes about an entity is decided by
the events that the chain accepts*. Moments are integers, microseconds since 1970 (UTC).
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from engine.events import (
    GRADES,
    Enter,
    Event,
    Exit,
    Grade,
    Notice,
    Say,
    Set,
    Statement,
    Tell,
    Unsee,
)

FOREVER = 9_000_000_000_000_000_000  # later than any moment, and still a 64-bit integer
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WITNESSING = frozenset(GRADES) - {"reachable"}  # to be able to scroll to it is not to have seen it
KEEPS_OLD = frozenset(("stated", "acknowledged", "engaged"))  # an edit does not move these

type Chain = tuple[str, ...]


# ------------------------------------------------------------------------------- equal values

_ATTRIBUTION = re.compile(r"^(.*?\S)\s+(by|per|since)\s+(\S.*)$", re.S)
_DEADLINE = re.compile(
    r"(the )?(next |this |end of |eo)?"
    r"(\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|today|tonight|tomorrow|noon|midnight|d\b|w\b|q\d|week|month|quarter|year|end\b)"
)
_DROPPED_WORDS = frozenset(("a", "an", "the", "now"))


def same(value: str) -> str:
    """The form in which two values are compared.

    Case, punctuation, emoji, articles, *now* and a trailing "by/per/since …" go. What tells numbers
    apart stays (2.4 is not 24, -5 is not 5, 5% is not 5), and "by Friday" is a deadline, not an
    attribution. A value of nothing else (an emoji, "now") is compared as it stands.
    """
    text = " ".join(unicodedata.normalize("NFKC", value).casefold().split())
    attributed = _ATTRIBUTION.match(text)
    while attributed and not (attributed[2] == "by" and _DEADLINE.match(attributed[3])):
        text = attributed[1]
        attributed = _ATTRIBUTION.match(text)
    kept = "".join(_kept(text, i) for i in range(len(text)))
    words = kept.split()
    return " ".join(w for w in words if w not in _DROPPED_WORDS) or " ".join(words) or text


def _kept(text: str, i: int) -> str:
    char, kind = text[i], unicodedata.category(text[i])
    if kind[0] in "LNM" or kind in ("Sm", "Sc") or char in "%#":
        return "" if char in "\ufe0e\ufe0f\u20e3" else char  # the emoji selectors are marks
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    if (
        char in ".,/:-"
        and after.isdigit()
        and (before.isdigit() or (char == "-" and not before.strip()))
    ):
        return char
    return "" if char in "'’`" or kind in ("So", "Sk", "Cf") else " "


def is_somebody(person: str) -> bool:
    """Whether an id stands for somebody who was forgotten: they have neither name nor mind."""
    return person.startswith("somebody-")


# ------------------------------------------------------------------------------- who is in a room


class Line(NamedTuple):
    """One membership line of a room: somebody came or went."""

    at: int
    id: str
    person: str
    entered: bool
    presumed: bool = False


def line(event: Enter | Exit) -> Line:
    entered = isinstance(event, Enter)
    return Line(micros(event), event.id, event.person, entered, event.presumed)


def stays(lines: Iterable[Line]) -> dict[str, list[tuple[tuple[int, str], tuple[int, str]]]]:
    """Per person the stretches spent in the room, as half-open `(at, id)` intervals in order.

    A presumed entry is void when the person's next recorded line is an entry, a presumed exit when
    it is an exit.
    """
    by_person: dict[str, list[Line]] = defaultdict(list)
    for one in lines:
        by_person[one.person].append(one)
    return {person: _stretches(own) for person, own in by_person.items()}


def counting(own: Iterable[Line]) -> list[Line]:
    """Of one person's lines in one room those that are not void (see `stays`), in order."""
    recorded_next: Line | None = None
    valid: list[Line] = []
    for one in sorted(own, reverse=True):
        if not one.presumed:
            recorded_next = one
        elif recorded_next is not None and recorded_next.entered == one.entered:
            continue
        valid.append(one)
    return valid[::-1]


def _stretches(own: Iterable[Line]) -> list[tuple[tuple[int, str], tuple[int, str]]]:
    stretches: list[tuple[tuple[int, str], tuple[int, str]]] = []
    since: tuple[int, str] | None = None
    for one in counting(own):
        if one.entered and since is None:
            since = (one.at, one.id)
        elif not one.entered and since is not None:
            stretches.append((since, (one.at, one.id)))
            since = None
    if since is not None:
        stretches.append((since, (FOREVER, "")))
    return stretches


def disagreements(
    lines: Iterable[Line], listed: frozenset[str], at: int
) -> tuple[frozenset[str], frozenset[str]]:
    """Who a member list of a moment shows to have left unseen, and who to have come unseen."""
    found = stays(lines)
    inside = {
        person
        for person, stretches in found.items()
        if any(since[0] <= at < until[0] for since, until in stretches)
    }
    return frozenset(inside - listed), frozenset(listed - inside)


def present(lines: Iterable[Line], moment: tuple[int, str]) -> frozenset[str]:
    """Who is in the room at `(at, id)`."""
    return frozenset(
        person
        for person, stretches in stays(lines).items()
        if any(since < moment < until for since, until in stretches)
    )


def left(lines: Iterable[Line], moment: tuple[int, str]) -> frozenset[str]:
    """Who had been in the room and is not in it at `(at, id)`."""
    spent = stays(lines).items()
    been = {person for person, stretches in spent if any(since < moment for since, _ in stretches)}
    return frozenset(been) - present(lines, moment)


# ------------------------------------------------------------------------------- who witnessed


class Sight(NamedTuple):
    """One stretch in which somebody counts as a witness, where that is not simply "was there"."""

    person: str
    since: int
    until: int
    grade: Grade


class Witnesses(NamedTuple):
    """`members` were there from the moment it was said; `sights` hold everybody else."""

    members: frozenset[str]
    sights: tuple[Sight, ...] = ()

    @property
    def people(self) -> frozenset[str]:
        return self.members | {sight.person for sight in self.sights}


def micros(event: Event) -> int:
    """When it happened, in whole microseconds since 1970 (UTC)."""
    return to_micros(event.at)


def to_micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_micros(at: int) -> datetime:
    return EPOCH + timedelta(microseconds=at)


def speaker(statement: Statement) -> str | None:
    return statement.by if isinstance(statement, Set) else statement.speaker


class Dropped(NamedTuple):
    """The source of a statement was edited and no longer says it. `absent`: who had left by then."""

    at: int
    id: str
    by: str
    absent: frozenset[str] = frozenset()


def derive(
    statement: Statement,
    roster: frozenset[str],
    notices: Iterable[Notice | Unsee] = (),
    edited: "Row | None" = None,
    absent: frozenset[str] = frozenset(),
    dropped: Iterable[Dropped] = (),
) -> Witnesses:
    """Who witnessed a statement, from when to when and how well.

    `roster`: who was in its room then. `notices`: everything later said about who saw it, in any
    order. `edited`: the earlier version, when this is an edit of a known one, as if nothing of it had
    been dropped; `absent`: who had left its room by then. `dropped`: the edits that no longer say it.
    """
    author = speaker(statement)
    members, graded = _at_once(statement, roster, edited, absent)
    if author is not None:
        members |= {author}
    at = micros(statement)
    open_: dict[str, list[Sight]] = defaultdict(list)
    closed: list[Sight] = []
    for person, grade in graded.items():
        if person != author:
            open_[person].append(Sight(person, at, FOREVER, grade))

    def close(person: str, moment: int) -> None:
        nonlocal members, closed
        if person in members:
            members -= {person}
            grade = "stated" if person == author else _plain_grade(statement.kind)
            open_[person].append(Sight(person, at, FOREVER, grade))
        closed += [
            s._replace(until=min(s.until, moment))
            for s in open_.pop(person, [])
            if s.since < moment
        ]

    gone = False
    for mark in sorted([*notices, *dropped], key=_in_order):
        if isinstance(mark, Dropped):
            gone = True
            for person in _movers(mark, members, open_, author, _plain_grade(statement.kind)):
                close(person, max(mark.at, at))
            continue
        person, moment = mark.person, max(micros(mark), at)
        if person == author or (isinstance(statement, Tell) and person not in statement.listeners):
            continue  # the speaker is always a witness; a private word is heard by its parties
        if isinstance(mark, Unsee):
            close(person, moment)
        elif mark.grade in WITNESSING:
            until = FOREVER if mark.until is None else to_micros(mark.until)
            held = [(s.grade, s.until) for s in open_[person] if s.until > moment]
            held += [("exposed", FOREVER)] * (person in members)
            if until <= moment or (gone and not held):
                continue  # what can be seen there by then is something else
            better = GRADES.index(mark.grade)
            if all(better < GRADES.index(grade) or until > end for grade, end in held):
                open_[person].append(Sight(person, moment, until, mark.grade))
    sights = closed + [sight for stretch in open_.values() for sight in stretch]
    return Witnesses(members, tuple(sorted(sights)))


def _in_order(mark: Notice | Unsee | Dropped) -> tuple[int, bool, str]:
    """Of one moment, what shows who saw a text comes before the edit that changed it."""
    if isinstance(mark, Dropped):
        return mark.at, True, mark.id
    return micros(mark), False, mark.id


def _movers(
    edit: Dropped,
    members: frozenset[str],
    sights: Mapping[str, Sequence[Sight]],
    author: str | None,
    plain: Grade,
) -> list[str]:
    """Who no longer has what an edit dropped: its editor, and who was merely exposed and is there."""
    exposed = {
        person
        for person in (members | sights.keys()) - edit.absent - {author}
        if {s.grade for s in sights.get(person, ()) if s.until > edit.at}
        | ({plain} if person in members else set())
        == {"exposed"}
    }
    return sorted(exposed | {edit.by})


def _at_once(
    statement: Statement, roster: frozenset[str], edited: "Row | None", absent: frozenset[str]
) -> tuple[frozenset[str], dict[str, Grade]]:
    """Who perceives it as it is said: the merely exposed, and the others with their grades."""
    if isinstance(statement, Tell):
        if statement.grade == _plain_grade(statement.kind):
            return frozenset(statement.listeners), {}
        return frozenset(), dict.fromkeys(statement.listeners, statement.grade)
    if isinstance(statement, Set):
        return roster, {}
    if isinstance(statement, Say) and edited is not None:
        moved = {
            person
            for person in edited.people - absent
            if grade_of(edited, person, micros(statement)) == "exposed"
        }
        return frozenset(moved), {}
    if statement.witnesses is not None:
        seen = {p: g for p, g in statement.witnesses.items() if g in WITNESSING}
        members = frozenset(p for p, g in seen.items() if g == "exposed")
        return members, {p: g for p, g in seen.items() if g != "exposed"}
    if statement.crowd is not None and len(roster | {statement.speaker}) > statement.crowd:
        return frozenset(), {}
    return roster, {}


# ------------------------------------------------------------------------------- what is accepted


class Row(NamedTuple):
    """A statement about an entity as somebody may read it, with who witnessed it.

    `there`: the person a report is about was there. `shown`: to everybody in the room, not only to
    some of them. `retracted`: when its source was deleted, or edited so that it no longer says it,
    0 if neither. `alone`: it fell then, nobody but its author having seen it, or being edited away. `parties`: between whom it was private. `trusted`: under
    policy `exit_order`, who trusts its speaker; None where that plays no part. `merged`: the key
    under which it was said, where a merge has it answered under another.
    """

    at: int
    id: str
    kind: Literal["say", "tell", "report", "set"]
    by: str | None
    about: str | None
    there: bool
    room: str | None
    entity: str
    value: str
    same: str
    decides: bool
    members: frozenset[str]
    sights: tuple[Sight, ...] = ()
    shown: bool = True
    retracted: int = 0
    alone: bool = False
    mentions: frozenset[str] = frozenset()
    quote: str | None = None
    link: str | None = None
    name: str | None = None
    parties: frozenset[str] = frozenset()
    trusted: frozenset[str] | None = None
    merged: str | None = None

    @property
    def key(self) -> str:
        """The key under which it was said."""
        return self.merged or self.entity

    @property
    def people(self) -> frozenset[str]:
        return self.members | {sight.person for sight in self.sights}

    def people_by(self, at: int) -> frozenset[str]:
        """Whoever counted as a witness at any time up to `at`."""
        return self.members | {sight.person for sight in self.sights if sight.since <= at}

    @property
    def moment(self) -> tuple[int, str]:
        return (self.at, self.id)


class Held(NamedTuple):
    """A belief: the row that decides it, and since when the whole chain has had it."""

    row: Row
    since: int


def since_of(row: Row, person: str, at: int) -> int | None:
    """Since when `person` counts as a witness of the row, asked at `at`; None if not."""
    if person in row.members:
        return row.at
    moments = [s.since for s in row.sights if s.person == person and s.since <= at < s.until]
    return min(moments, default=None)


def grade_of(row: Row, person: str, at: int) -> Grade | None:
    """The best grade of `person`'s perception of the row, asked at `at`."""
    if person == row.by and person in row.members:
        return "stated"
    grades = [s.grade for s in row.sights if s.person == person and s.since <= at < s.until]
    if person in row.members:
        grades.append(_plain_grade(row.kind))
    return min(grades, key=GRADES.index, default=None)


def _plain_grade(kind: str) -> Grade:
    """How well somebody perceived a statement by being where it was made."""
    return "acknowledged" if kind == "tell" else "exposed"


def accepts(row: Row, chain: Chain, at: int) -> tuple[bool, int] | None:
    """Whether the chain accepts the row: (it displaces, since when the chain has it), or None."""
    if row.trusted is not None:
        return _hears(row, chain, at)
    last = chain[-1]
    reported = row.kind == "report" and row.about == last and not row.there and len(chain) > 1
    since = row.at
    for person in chain[:-1] if reported else chain:
        seen = since_of(row, person, at)
        if seen is None:
            return None
        since = max(since, seen)
    return reported or row.decides or row.kind == "tell", since


def _hears(row: Row, chain: Chain, at: int) -> tuple[bool, int] | None:
    """Policy `exit_order` (Hi-ToM): what was said or told is believed by who trusts the speaker,
    who also thinks that the speaker believes it; the speaker thinks so of everybody who heard it.
    Nobody else's idea of anybody changes. Source: research/hitom.md, section 4.
    """
    match chain:
        case (hearer,) if hearer != row.by and hearer in (row.trusted or ()):
            pass
        case (hearer, other) if other == row.by and hearer in (row.trusted or ()):
            pass
        case (author, hearer) if author == row.by:
            pass
        case _:
            return None
    since = since_of(row, hearer, at)
    return None if since is None else (True, since)


def latest_exits(
    lines: Iterable[tuple[str, Line]], moment: tuple[int, str] = (FOREVER, "")
) -> dict[str, int]:
    """When each person last left any room before `(at, id)`, from lines with their rooms; leaving
    that is void counts for nothing."""
    by_stay: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for room, one in lines:
        by_stay[room, one.person].append(one)
    latest: dict[str, int] = {}
    for own in by_stay.values():
        for one in counting(own):
            if not one.entered and (one.at, one.id) < moment:
                latest[one.person] = max(one.at, latest.get(one.person, one.at))
    return latest


def trusting(author: str, hearers: Iterable[str], exits: Mapping[str, int]) -> frozenset[str]:
    """Who of the hearers trusts the author: those who left any room before the author's latest
    exit. `exits` are latest exits; who never left is earliest, and ties are not trusted."""
    latest = exits.get(author)
    return frozenset(
        hearer
        for hearer in hearers
        if hearer != author
        and latest is not None
        and (hearer not in exits or exits[hearer] < latest)
    )


def belief(
    rows: Iterable[Row], chain: Chain, at: int, before: tuple[int, str] = (FOREVER, "")
) -> Held | None:
    """What the chain believes at `at` from the rows of one entity; None is "unknown".

    Policy `workplace`: the newest row that decides or informs, or what `last` said later, unless
    that is a mention from before the chain came to know of the decision. A chain that has accepted
    neither believes the newest mention. Only rows earlier than `before` count.
    """
    displaced: Held | None = None
    own: Held | None = None
    own_displaces = False
    newest: Held | None = None
    for row in rows:
        if row.at > at or row.moment >= before:
            continue
        accepted = accepts(row, chain, at)
        if accepted is None:
            continue
        displaces, since = accepted
        held = Held(row, since)
        if displaces:
            displaced = _newer(displaced, held)
        if row.by == chain[-1] and _newer(own, held) is held:
            own, own_displaces = held, displaces
        newest = _newer(newest, held)
    if displaced is None:
        return own or newest
    if own is None or own.row.moment < displaced.row.moment:
        return displaced
    if not own_displaces and displaced.since > own.row.at:
        return displaced
    return own


def _newer(a: Held | None, b: Held) -> Held:
    return b if a is None or b.row.moment > a.row.moment else a


def shortened(chain: Iterable[str]) -> Chain:
    """A chain without repeated neighbours: A thinks that A thinks is what A thinks."""
    short: list[str] = []
    for person in chain:
        if not short or short[-1] != person:
            short.append(person)
    return tuple(short)


# ------------------------------------------------------------------------------- what is true


def decisions(rows: Iterable[Row], at: int) -> list[Row]:
    """The rows that settled the value up to `at`, oldest first; restatements are none.

    A statement equal to what its speaker already believed *restates*: it informs its hearers and
    is neither a change nor a dispute.
    """
    ordered = sorted(rows, key=lambda row: row.moment)

    def before(row: Row, author: str) -> Held | None:
        return belief(ordered, (author,), row.at, before=row.moment)

    return [row for row in ordered if row.at <= at and settles(row, at, before)]


def settles(row: Row, at: int, before: Callable[[Row, str], Held | None]) -> bool:
    """Whether it is a decision; `before` says what its author believed when making it."""
    if not row.decides or (row.retracted and row.retracted <= at and row.alone):
        return False
    if row.kind != "say" or row.by is None:
        return row.kind == "set"
    held = before(row, row.by)
    return held is None or held.row.same != row.same


def disputes(made: Sequence[Row], at: int) -> list[Row]:
    """The decisions that stand against the truth (the last of `made`): another value, unsettled,
    and neither decider knows of the other's."""
    if not made:
        return []
    truth = made[-1]
    return [
        row
        for i, row in enumerate(made[:-1])
        if row.same != truth.same
        and row.by is not None
        and truth.by is not None
        and not _settled(row, made[i + 1 :])
        and since_of(truth, row.by, at) is None
        and since_of(row, truth.by, at) is None
    ]


def _settled(row: Row, later: Iterable[Row]) -> bool:
    """Settled once somebody who had witnessed it decides again."""
    return any(
        other.by is not None and since_of(row, other.by, other.at) is not None for other in later
    )


def changed(made: Sequence[Row]) -> Row:
    """The decision that brought the current value: the first of the last run of equal ones."""
    first = made[-1]
    for row in reversed(made):
        if row.same != first.same:
            break
        first = row
    return first


# ------------------------------------------------------------------------------- many people


def groups(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The people of the rows, those together who witnessed, said and were spoken of alike.

    People of one group believe the same, and are believed the same of: second order is asked
    group by group, never pair by pair. Who said something or was spoken of is a group alone.
    """
    named = {p for row in rows for p in (row.by, row.about) if p is not None}
    sights: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for i, row in enumerate(rows):
        for sight in row.sights:
            sights[sight.person].append((i, sight.since, sight.until))
    audiences = list({row.members for row in rows})
    trusted = list({row.trusted for row in rows if row.trusted is not None})
    # Audiences differ by a few people: only who is not in all of them has to be looked at.
    usual = audiences[0] if audiences else frozenset[str]()
    apart = named.union(sights, *(audience ^ usual for audience in audiences))
    apart |= {person for trusting in trusted for person in trusting & usual}
    together: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for person in sorted(apart):
        there = tuple(person in audience for audience in (*audiences, *trusted))
        marks = (there, tuple(sights.get(person, ())), person if person in named else None)
        together[marks].append(person)
    found = [tuple(people) for people in together.values()]
    if rest := usual - apart:
        found.append(tuple(sorted(rest)))
    return sorted(found)


def readable(
    rows: Iterable[Row], person: str | None, rooms: frozenset[str] | Mapping[str, object]
) -> list[Row]:
    """The rows that exist for a reader: what was said in `rooms`, and private words by or to them."""
    return [
        row
        for row in rows
        if row.room in rooms
        or person in row.parties
        or (row.room is None and row.by is not None and row.by == person)
    ]
