"""What an event writes: into the world, and into the mind of everybody who witnessed it.

It decides on what `Reads` shows and returns writes; it refuses to know how they reach the database.
Nothing here depends on the order of recording: a late arrival re-derives what it bears upon.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from engine.events import (
    Enter,
    Event,
    Exit,
    Notice,
    Report,
    Retract,
    Say,
    Set,
    Statement,
    Tell,
    Unsee,
    any_event,
)
from engine.rules import (
    FOREVER,
    Dropped,
    Line,
    Row,
    Sight,
    Witnesses,
    counting,
    derive,
    is_somebody,
    latest_exits,
    left,
    line,
    micros,
    present,
    same,
    speaker,
    stays,
    trusting,
)
from engine.store import Reads, Rows, Write

INLINE = 24  # larger audiences are written once and referred to
WORLD = "world"
_NAMED = (
    "id", "at", "kind", "by", "room", "entity", "value", "same", "name", "decides", "void",
    "retracted", "plain", "special", "there", "members",
)  # fmt: skip
"""The properties that a row of a mind has when nothing is special about it."""


def mind(person: str) -> str:
    return f"mind:{person}"


def bar(people: Iterable[str]) -> str:
    """People as one string in which each is found by `|id|`."""
    return "".join(f"|{person}" for person in sorted(people)) + "|"


def unbar(text: str | None) -> frozenset[str]:
    return frozenset(person for person in (text or "").split("|") if person)


type Policy = Literal["workplace", "exit_order", "authority"]
"""How what is said becomes what is believed; `docs/architecture.md`, "The rule"."""


class Fate(NamedTuple):
    """What became of a statement, as of what is known: beside who witnessed it.

    `decides`: it settles the value, its speaker being somebody who may. `void`: it was never said.
    `trusted`, `retracted`, `alone`: see `Row`. `gone`: when its source was last deleted or edited so
    that it no longer says it; 0 if neither. `unlinked`: there is no message left to link to.
    """

    decides: bool
    trusted: frozenset[str] | None = None
    void: bool = False
    retracted: int = 0
    alone: bool = False
    gone: int = 0
    unlinked: bool = False

    @property
    def texts(self) -> dict[str, None]:
        """The fields of the world's row that must no longer hold what was written."""
        unquoted = {"quote": None} if self.gone or self.void else {}
        return unquoted | ({"link": None} if self.unlinked or self.void else {})


class Authority(NamedTuple):
    """From a moment on, these people decide an entity."""

    at: int
    id: str
    people: frozenset[str]


def writes_for(event: Event, reads: Reads, policy: Policy = "workplace") -> list[Write]:
    """Everything that recording the event writes; nothing when it is known already."""
    match event:
        case Enter() | Exit():
            return _moved(event, reads, policy)
        case Say() | Tell() | Report() | Set():
            return _stated(event, reads, policy)
        case Notice() | Unsee() | Retract():
            return _marked(event, reads, policy)


def understood_anew(ids: Sequence[str], reads: Reads, policy: Policy) -> list[Write]:
    """Writes the witnesses of these statements, and their minds, from what was recorded."""
    return _Recall(reads, policy).understood(ids, anew=True)


def writes_for_authority(
    entity: str, authority: Authority, reads: Reads, policy: Policy
) -> list[Write]:
    """Who decides an entity from a moment on; what was said after it is understood anew."""
    if any(known[1] == authority.id for known in reads("authorities", entity=entity)):
        return []
    row = {
        "entity": entity,
        "at": authority.at,
        "id": authority.id,
        "people": bar(authority.people),
    }
    later = [id for [id] in reads("stated_since", entity=entity, since=authority.at)]
    recall = _Recall(reads, policy, authority=(entity, authority))
    return [Write(WORLD, "authorise", {"row": row}), *recall.understood(later)]


# ------------------------------------------------------------------------------- coming and going


def _moved(event: Enter | Exit, reads: Reads, policy: Policy) -> list[Write]:
    [[known, here, newest_at, newest_id]] = reads("before_move", id=event.id, room=event.room)
    if known:
        return []
    stay = f"{event.room}|{event.person}"
    own = [_line(row) for row in reads("moves_of", stay=stay)]
    new = line(event)
    before = stays(own).get(event.person, [])
    after = stays([*own, new]).get(event.person, [])
    inside = unbar(here) - {event.person}
    if after and after[-1][1][0] == FOREVER:
        inside |= {event.person}
    newest = max((newest_at or 0, newest_id or ""), (new.at, new.id))
    row = {
        "id": event.id,
        "at": new.at,
        "person": event.person,
        "room": event.room,
        "stay": stay,
        "entered": new.entered,
        "presumed": new.presumed,
    }
    room = {"here": bar(inside), "newest_at": newest[0], "newest_id": newest[1]}
    writes = [Write(WORLD, "move", {"row": row, "after": room})]
    edges = {edge for stretch in set(before) ^ set(after) for edge in stretch}
    changed_from = min(edges, default=None)
    affected: list[str] = []
    if changed_from is not None:
        affected = [id for [id] in reads("spoken_since", room=event.room, since=changed_from[0])]
    if policy == "exit_order":
        exits = set(counting(own)) ^ set(counting([*own, new]))
        left_at = min((one.at for one in exits if not one.entered), default=None)
        if left_at is not None:  # a line can also make an earlier presumed one count, or void it
            affected += [id for [id] in reads("heard_since", since=left_at)]
    if not affected:
        return writes
    return writes + _Recall(reads, policy, moves=(event,)).understood(affected)


# ------------------------------------------------------------------------------- statements


def _stated(event: Statement, reads: Reads, policy: Policy) -> list[Write]:
    [[known, here, newest_at, newest_id, referred, restricted]] = reads(
        "before_statement", id=event.id, room=event.room or "", entity=event.entity
    )
    if known:
        return []
    at = micros(event)
    linked = isinstance(event, Say) and (event.edits or event.replaces)
    late = (at, event.id) < (newest_at or 0, newest_id or "")
    if referred or linked or late or restricted or policy != "workplace":
        recall = _Recall(reads, policy, statement=event)
        touched = [event.id]
        if isinstance(event, Say) and event.replaces:
            touched.append(event.replaces)
        return recall.understood(touched) + _about(event)
    roster = frozenset[str]() if isinstance(event, Tell) else unbar(here)
    seen, fate = derive(event, roster), Fate(decides=_decides(event))
    return [
        *_first_written(event, seen, fate),
        *_about(event),
        *_into_minds(event, {person: seen for person in seen.people}, fate),
    ]


def _decides(event: Statement) -> bool:
    """Whether it settles the value, if its speaker may."""
    return event.decides if isinstance(event, Say) else isinstance(event, Set)


def _first_written(event: Statement, seen: Witnesses, fate: Fate) -> list[Write]:
    row, author = _known(world_row(event, seen, fate)), speaker(event)
    if author is not None and event.room is not None:
        return [*_audience(seen), Write(WORLD, "say_event", {"row": row})]
    said = {"row": row, "said": [author] if author else []}
    return [*_audience(seen), Write(WORLD, "state_event", said)]


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """A row that is new, without what it leaves open: shorter to send and to read."""
    return {name: value for name, value in row.items() if value is not None}


def _about(event: Statement) -> list[Write]:
    """The world's edges beside the statement itself: where, who told whom, who was named."""
    at, writes = micros(event), list[Write]()
    if event.room is not None and speaker(event) is None:
        writes.append(Write(WORLD, "place_event", {"id": event.id, "room": event.room}))
    match event:
        case Tell():
            told = {
                "by": event.speaker,
                "listeners": sorted(set(event.listeners) - {event.speaker}),
                "id": event.id,
                "at": at,
                "room": event.room,
                "private": True,
            }
            writes.append(Write(WORLD, "told", told))
        case Report():
            told = {
                "by": event.speaker,
                "listeners": [event.about],
                "id": event.id,
                "at": at,
                "room": event.room,
                "private": False,
            }
            writes.append(Write(WORLD, "told", told))
        case Say() | Set():
            pass
    if not isinstance(event, Set | Tell) and event.witnesses:
        writes.append(Write(WORLD, "meet", {"people": sorted(event.witnesses)}))
    return writes


def _stated_row(event: Statement, decides: bool) -> dict[str, Any]:
    """What the world and a mind both keep of a statement."""
    return {
        "id": event.id,
        "at": micros(event),
        "kind": event.kind,
        "by": speaker(event),
        "about": event.about if isinstance(event, Report) else None,
        "room": event.room,
        "entity": event.entity,
        "value": event.value,
        "same": same(event.value),
        "name": event.name,
        "decides": decides,
    }


def world_row(event: Statement, seen: Witnesses, fate: Fate) -> dict[str, Any]:
    """A statement as the world keeps it: what was recorded, and who is understood to have seen it."""
    return {
        **_stated_row(event, fate.decides),
        "shown": isinstance(event, Set | Tell) or event.witnesses is None,
        "mentions": bar(event.mentions if isinstance(event, Say) else ()),
        "parties": bar({event.speaker, *event.listeners}) if isinstance(event, Tell) else None,
        "quote": event.quote,
        "link": event.link,
        "target": (event.edits or event.replaces) if isinstance(event, Say) else None,
        "source": event.model_dump_json(exclude={"quote", "link", "value", "name"}),
        **understood_row(event, seen, fate),
        **fate.texts,
    }


def _plain(event: Statement, seen: Witnesses, fate: Fate) -> bool:
    """Whether everybody who saw it saw it as it was said, and nothing else decides who accepts it."""
    return not (seen.sights or fate.trusted is not None or isinstance(event, Report))


def _ways(event: Statement, seen: Witnesses, fate: Fate) -> dict[str, bool]:
    """How it may be read: `plain` rows are accepted by who was there and by nobody else; `special`
    ones need more than a look at their members, or do not displace."""
    plain = _plain(event, seen, fate)
    displaces = fate.decides or isinstance(event, Tell)
    inline = bool(seen.sights) or len(seen.members) <= INLINE
    return {"plain": plain, "special": fate.void or not (plain and displaces and inline)}


def understood_row(event: Statement, seen: Witnesses, fate: Fate) -> dict[str, Any]:
    """What may be understood otherwise later: who saw it, and what became of it."""
    return {
        **_seen_row(event, seen),
        **_ways(event, seen, fate),
        "decides": fate.decides,
        "void": fate.void,
        "retracted": fate.retracted,
        "alone": fate.alone,
        "gone": fate.gone or None,
        "unlinked": fate.unlinked or None,
        "trusted": None if fate.trusted is None else bar(fate.trusted),
    }


def _seen_row(event: Statement, seen: Witnesses) -> dict[str, Any]:
    inline = bool(seen.sights) or len(seen.members) <= INLINE
    return {
        "there": _there(event, seen),
        "members": bar(seen.members) if inline else "",
        "audience": None if inline else _audience_id(seen.members),
        "sight_people": [f"|{s.person}|" for s in seen.sights] or None,
        "sight_since": [s.since for s in seen.sights] or None,
        "sight_until": [s.until for s in seen.sights] or None,
        "sight_grades": [s.grade for s in seen.sights] or None,
    }


def _there(event: Statement, seen: Witnesses) -> bool:
    """Whether the person a report is about was there, as of the moment it was said."""
    if not isinstance(event, Report):
        return False
    at = micros(event)
    return event.about in seen.members or any(
        s.person == event.about and s.since <= at for s in seen.sights
    )


def mind_row(event: Statement, seen: Witnesses, fate: Fate) -> dict[str, Any]:
    """A statement as one witness keeps it: values, ids and audiences, never what was written."""
    return {
        **_stated_row(event, fate.decides),
        "void": False,
        "retracted": 0,
        **_ways(event, seen, fate),
        "trusted": None if fate.trusted is None else bar(fate.trusted),
        **_seen_row(event, seen),
    }


def _audience_id(members: frozenset[str]) -> str:
    return hashlib.sha256(bar(members).encode()).hexdigest()[:20]


def _audience(seen: Witnesses) -> list[Write]:
    if seen.sights or len(seen.members) <= INLINE:
        return []
    return [Write(WORLD, "keep_audience", _crowd(seen))]


def _crowd(seen: Witnesses) -> dict[str, Any]:
    return {"id": _audience_id(seen.members), "members": bar(seen.members)}


def _into_minds(event: Statement, seen: Mapping[str, Witnesses], fate: Fate) -> list[Write]:
    """One row for each witness; equal rows are built once."""
    built: dict[Witnesses, tuple[str, dict[str, Any]]] = {}
    writes: list[Write] = []
    for person, known in sorted(seen.items()):
        if is_somebody(person):
            continue
        if known not in built:
            built[known] = _into_mind(mind_row(event, known, fate), known)
        query, params = built[known]
        writes.append(Write(mind(person), query, params))
    return writes


def _into_mind(row: dict[str, Any], seen: Witnesses) -> tuple[str, dict[str, Any]]:
    """The query that writes a row into a mind, and what it is handed. Where nothing is special about
    it each property is named: twice as fast as setting them all, and the most frequent write."""
    rest = {name for name, value in row.items() if value is not None}.difference(_NAMED)
    if not rest:
        return "witness", {name: row[name] for name in _NAMED}
    if rest == {"audience"}:
        named = {name: row[name] for name in _NAMED}
        return "witness_among", named | {"audience": row["audience"], "crowd": bar(seen.members)}
    if row["audience"] is not None:
        return "witness_rarely_among", {"row": _known(row), **_crowd(seen)}
    return "witness_rarely", {"row": _known(row)}


# ------------------------------------------------------------------------------- later evidence


def _marked(event: Notice | Unsee | Retract, reads: Reads, policy: Policy) -> list[Write]:
    [[known]] = reads("before_mark", id=event.id)
    if known:
        return []
    return _marking([event]) + _Recall(reads, policy, mark=event).understood([event.event])


def writes_for_marks(
    events: Sequence[str],
    marks: Sequence[Notice | Unsee | Retract],
    ours: Callable[[Notice | Unsee | Retract], bool],
    reads: Reads,
    policy: Policy,
) -> list[Write]:
    """What is concluded of some statements: `marks`, and no others of those that are `ours`.

    A mark that is not concluded any more is withdrawn as if it had never been recorded.
    """
    known = {
        mark.id: mark
        for _, _, kind, source in reads("marks", ids=list(events))
        if kind in ("notice", "unsee", "retract")
        and isinstance(mark := _mark(source), Notice | Unsee | Retract)
    }
    wanted = {mark.id: mark for mark in marks}
    withdrawn = [mark for id, mark in known.items() if id not in wanted and ours(mark)]
    new = [mark for id, mark in wanted.items() if id not in known]
    if not withdrawn and not new:
        return []
    gone = frozenset(mark.id for mark in withdrawn)
    writes = _marking(new)
    if gone:
        writes.append(Write(WORLD, "unmark_events", {"ids": sorted(gone)}))
    affected = dict.fromkeys(mark.event for mark in (*withdrawn, *new))
    return writes + _Recall(reads, policy, marks=new, withdrawn=gone).understood(list(affected))


def _marking(marks: Sequence[Notice | Unsee | Retract]) -> list[Write]:
    writes = [
        Write(WORLD, "mark_event", {
            "row": {
                "id": mark.id,
                "at": micros(mark),
                "kind": mark.kind,
                "target": mark.event,
                "void": False,
                "source": mark.model_dump_json(),
            }
        })
        for mark in marks
    ]  # fmt: skip
    people = {mark.person for mark in marks if not isinstance(mark, Retract)}
    return [*writes, Write(WORLD, "meet", {"people": sorted(people)})] if people else writes


# ------------------------------------------------------------------------------- re-deriving


class _Stored(NamedTuple):
    statement: Statement
    seen: Witnesses
    there: bool
    fate: Fate


type _Mark = Notice | Unsee | Retract | Say


class _Recall:
    """The facts of the world that bear upon some statements, with the event that is being recorded.

    `eye` below is whose view is derived: None the world's (everything counts), "" what is common
    knowledge (nothing that was pressed in private), a person's id that person's own.
    """

    def __init__(
        self,
        reads: Reads,
        policy: Policy,
        *,
        moves: Sequence[Enter | Exit] = (),
        statement: Statement | None = None,
        mark: Notice | Unsee | Retract | None = None,
        marks: Sequence[Notice | Unsee | Retract] = (),
        withdrawn: frozenset[str] = frozenset(),
        authority: tuple[str, Authority] | None = None,
    ) -> None:
        self._reads = reads
        self._policy = policy
        self._new_authority = authority
        self._new_moves = moves
        self._new = statement
        self._new_marks = [*marks, *([] if mark is None else [mark])]
        self._withdrawn = withdrawn
        self._stored: dict[str, _Stored] = {}
        self._statements: dict[str, Statement] = {}
        self._marks: dict[str, list[_Mark]] = {}
        self._lines: dict[str, list[Line]] = {}
        self._derived: dict[tuple[str, str | None, bool], Witnesses] = {}
        self._anew = False

    def understood(self, ids: Sequence[str], anew: bool = False) -> list[Write]:
        """The writes that bring these statements, and the edits that follow from them, up to date;
        `anew`: as if nobody had had them in mind."""
        self._anew = anew
        affected = self._with_edits(ids)
        self._load_rooms()
        return [write for id in affected for write in self._writes(id)]

    def _with_edits(self, ids: Sequence[str]) -> list[str]:
        """The ids that are known statements and their other versions; earlier ones are loaded."""
        affected: list[str] = []
        waiting = list(dict.fromkeys(ids))
        while waiting:
            self._load(waiting)
            affected += [id for id in waiting if id in self._statements and id not in affected]
            first = {self._first(id) for id in waiting} | set(waiting)
            self._load(sorted(first - self._marks.keys()))
            versions = {v.id for id in first for v in self._versions(id)}
            waiting = sorted(versions - set(affected))
        earlier = self._earlier()
        while earlier:  # a version may be edited from one that was edited itself
            self._load(earlier)
            earlier = self._earlier()
        return affected

    def _first(self, id: str) -> str:
        """The version that this one says it was edited from, or itself."""
        known = self._statements.get(id)
        return known.edits or id if isinstance(known, Say) else id

    def _versions(self, first: str) -> list[Say]:
        """What was edited from a version, as far as it is known."""
        marks = self._marks.get(first, [])
        return [mark for mark in marks if isinstance(mark, Say) and mark.edits == first]

    def _earlier(self) -> list[str]:
        """What the known statements were edited from, as far as it was not looked for yet."""
        first = {self._first(id) for id in self._statements}
        return sorted(first - self._marks.keys())

    def _load(self, ids: Sequence[str]) -> None:
        stored = self._reads("sources", ids=list(ids))
        audiences = large_audiences(stored, 5, self._reads)
        for row in stored:
            self._stored[row[0]] = _stored(row, audiences)
            self._statements[row[0]] = self._stored[row[0]].statement
        if self._new is not None:
            self._statements[self._new.id] = self._new
        marks: dict[str, list[_Mark]] = {id: [] for id in ids}
        for target, id, _, source in self._reads("marks", ids=list(ids)):
            if id not in self._withdrawn:
                marks[target].append(_mark(source))
        new: Sequence[Statement | Notice | Unsee | Retract | None] = (*self._new_marks, self._new)
        for mark in new:
            target = _target(mark)
            if target in marks:
                marks[target].append(mark)  # type: ignore[arg-type]
        self._marks.update(marks)

    def _load_rooms(self) -> None:
        rooms = sorted({s.room for s in self._statements.values() if s.room is not None})
        self._lines = {room: [] for room in rooms}
        for room, *row in self._reads("moves", rooms=rooms):
            self._lines[room].append(_line(row))
        for move in self._new_moves:
            self._lines.setdefault(move.room, []).append(line(move))

    # ---------------------------------------------------------------------------- deciding

    def _witnesses(self, id: str, eye: str | None, dropped: bool = True) -> Witnesses:
        """`dropped` False: as if no edit had ever dropped it."""
        if (id, eye, dropped) not in self._derived:
            self._derived[id, eye, dropped] = self._derive(id, eye, dropped)
        return self._derived[id, eye, dropped]

    def _derive(self, id: str, eye: str | None, dropped: bool) -> Witnesses:
        statement = self._statements[id]
        moment = (micros(statement), id)
        lines = self._lines.get(statement.room or "", [])
        roster = frozenset[str]() if isinstance(statement, Tell) else present(lines, moment)
        notices = [
            mark
            for mark in self._marks[id]
            if isinstance(mark, Notice | Unsee)
            and (eye is None or mark.room is not None or mark.person == eye)
        ]
        edited = None
        earlier = self._edited(statement)
        if earlier is not None:
            # Who moves with a text moves with all of it: also where an edit had dropped this before.
            edited = _bare_row(earlier, self._witnesses(earlier.id, eye, dropped=False))
        absent = left(lines, moment) if edited is not None else frozenset[str]()
        edits = [
            Dropped(micros(mark), mark.id, mark.edited_by, left(lines, (micros(mark), mark.id)))
            for mark in (self._retractions(id) if dropped else ())
            if mark.edited_by is not None
        ]
        return derive(statement, roster, notices, edited, absent, edits)

    def _retractions(self, id: str) -> list[Retract]:
        return [mark for mark in self._marks[id] if isinstance(mark, Retract)]

    def _edited(self, statement: Statement) -> Statement | None:
        """The version that this one replaced: the newest known one before it."""
        if not isinstance(statement, Say) or not statement.edits:
            return None
        ids = [statement.edits, *(version.id for version in self._versions(statement.edits))]
        known = [self._statements[id] for id in ids if id in self._statements]
        moment = (micros(statement), statement.id)
        before = [old for old in known if (micros(old), old.id) < moment]
        return max(before, key=lambda old: (micros(old), old.id), default=None)

    def _private(self, id: str) -> frozenset[str]:
        """Who pressed something in private about the statement, or about what it was edited from."""
        pressed = {
            mark.person
            for mark in self._marks[id]
            if isinstance(mark, Notice | Unsee) and mark.room is None
        }
        earlier = self._edited(self._statements[id])
        if earlier is not None:
            pressed |= self._private(earlier.id)
        return frozenset(pressed)

    def _fate(self, id: str, seen: Witnesses) -> Fate:
        statement, marks = self._statements[id], self._retractions(id)
        gone = [micros(mark) for mark in marks if not mark.void]
        deleted = [micros(m) for m in marks if not (m.void or m.edited_by)]
        fell = [micros(mark) for mark in marks if mark.edited_by]
        if deleted and self._alone(statement, min(deleted)):
            fell.append(min(deleted))
        replaced = any(isinstance(mark, Say) and mark.replaces == id for mark in self._marks[id])
        return Fate(
            decides=_decides(statement) and self._may_decide(statement),
            trusted=self._trusted(statement, seen),
            void=replaced or any(mark.void for mark in marks),
            retracted=min(fell or gone, default=0),
            alone=bool(fell),
            gone=max(gone, default=0),
            unlinked=bool(deleted),
        )

    def _may_decide(self, statement: Statement) -> bool:
        """Whether its speaker was among those who decide the entity, as of its moment."""
        given = [
            Authority(at, id, unbar(people))
            for at, id, people in self._reads("authorities", entity=statement.entity)
        ]
        if self._new_authority is not None and self._new_authority[0] == statement.entity:
            given.append(self._new_authority[1])
        named = max((a for a in given if a.at <= micros(statement)), default=None)
        if named is None:
            return self._policy != "authority"
        return speaker(statement) in named.people

    def _trusted(self, statement: Statement, seen: Witnesses) -> frozenset[str] | None:
        if self._policy != "exit_order" or not isinstance(statement, Say | Tell):
            return None
        people = sorted({statement.speaker, *seen.people})
        lines = [(room, _line(row)) for room, *row in self._reads("moves_by", people=people)]
        lines += [(move.room, line(move)) for move in self._new_moves if move.person in people]
        exits = latest_exits(lines, (micros(statement), statement.id))
        return trusting(statement.speaker, seen.people, exits)

    def _alone(self, statement: Statement, until: int) -> bool:
        """Whether nobody else can have seen it: named with any grade, or in the room meanwhile."""
        said = (micros(statement), statement.id)
        could = set(self._witnesses(statement.id, None, dropped=False).people)
        if not isinstance(statement, Set | Tell):
            could |= set(statement.witnesses or ())
        could |= {m.person for m in self._marks[statement.id] if isinstance(m, Notice)}
        could |= {
            person
            for person, stretches in stays(self._lines.get(statement.room or "", [])).items()
            if any(since[0] <= until and end > said for since, end in stretches)
        }
        return not could - {speaker(statement)}

    def _writes(self, id: str) -> list[Write]:
        statement, before = self._statements[id], self._stored.get(id)
        seen = self._witnesses(id, None)
        fate, private = self._fate(id, seen), self._private(id)
        minds = {
            person: self._witnesses(id, person if person in private else "")
            for person in (frozenset() if fate.void else seen.people)
        }
        if before is None:
            return _first_written(statement, seen, fate) + _into_minds(statement, minds, fate)
        now = _Stored(statement, seen, _there(statement, seen), fate)
        if now == before and not private and not self._anew:
            return []
        change = understood_row(statement, seen, fate) | fate.texts | {"unsettled": None}
        writes = [*_audience(seen), Write(WORLD, "understand_event", {"id": id, "row": change})]
        # A mind does not hold whether the source is still there.
        still = before.fate._replace(
            retracted=fate.retracted, alone=fate.alone, gone=fate.gone, unlinked=fate.unlinked
        )
        if now == before._replace(fate=fate) and still == fate and not private and not self._anew:
            return writes
        nobody = self._anew or before.fate.void
        had = () if nobody else sorted(p for p in before.seen.people if not is_somebody(p))
        gone = [Write(mind(p), "unwitness", {"id": id}) for p in had]
        return writes + gone + _into_minds(statement, minds, fate)


def _target(event: Statement | Notice | Unsee | Retract | None) -> str | None:
    match event:
        case Say():
            return event.edits or event.replaces
        case Notice() | Unsee() | Retract():
            return event.event
        case _:
            return None


def _mark(source: str) -> _Mark:
    event = parsed(source)
    assert isinstance(event, Notice | Unsee | Retract | Say)
    return event


def parsed(source: str, value: str = "…", name: str | None = None) -> Event:
    """An event as it was recorded, without the sentence it came from."""
    fields: dict[str, Any] = json.loads(source)
    if "entity" in fields:
        fields |= {"value": value, "name": name}
    return any_event.validate_python(fields)


def _stored(row: Sequence[Any], audiences: Mapping[str, frozenset[str]]) -> _Stored:
    (id, source, value, name, members, audience, people, since, until, grades, there, decides,
     trusted, void, retracted, alone, gone, unlinked) = row  # fmt: skip
    statement = parsed(source, value, name)
    assert isinstance(statement, Say | Tell | Report | Set), id
    seen = witnesses_of(members, audience, people, since, until, grades, audiences)
    known_trust = None if trusted is None else unbar(trusted)
    fate = Fate(decides, known_trust, void, retracted, alone, gone or 0, bool(unlinked))
    return _Stored(statement, seen, there, fate)


def witnesses_of(
    members: str,
    audience: str | None,
    people: list[str] | None,
    since: list[int] | None,
    until: list[int] | None,
    grades: list[Any] | None,
    audiences: Mapping[str, frozenset[str]],
) -> Witnesses:
    """What the properties of a statement say about its witnesses."""
    sights = zip(people or (), since or (), until or (), grades or (), strict=True)
    return Witnesses(
        audiences[audience] if audience else unbar(members),
        tuple(Sight(person.strip("|"), a, b, grade) for person, a, b, grade in sights),
    )


def large_audiences(rows: Rows, column: int, reads: Reads) -> dict[str, frozenset[str]]:
    """The people of the large audiences that these rows refer to."""
    ids = sorted({row[column] for row in rows if row[column]})
    return {id: unbar(members) for id, members in reads("audiences", ids=ids)} if ids else {}


def _bare_row(statement: Statement, seen: Witnesses) -> Row:
    """Enough of a row to ask who witnessed it, and how well."""
    return Row(
        micros(statement),
        statement.id,
        statement.kind,
        speaker(statement),
        None,
        False,
        statement.room,
        statement.entity,
        "",
        "",
        False,
        seen.members,
        seen.sights,
    )


def _line(row: Sequence[Any]) -> Line:
    at, id, person, entered, presumed = row
    return Line(at, id, person, entered, presumed)
