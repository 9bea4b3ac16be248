"""What forgetting somebody writes: their words and beliefs go, from the world and from every mind.

A decision they made stays, as somebody's: without name, quote or mind. What others said stays as it
is, but for the words that are the person's id or name: whole words only (`engine.words`). An id that
was made with the person's (of a message, not of a person) is made with their mark instead. The keys of
rooms and entities stay, whatever they are made of: they are what others called those things.

It decides on what `Reads` shows and returns writes; a mark that cannot be turned back into an id keeps
the person from being recorded again.
"""

import hashlib
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

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
)
from engine.recording import WORLD, bar, mind, parsed, unbar
from engine.rules import FOREVER, is_somebody, same, speaker
from engine.store import Reads, Write
from engine.words import cleared, part_of, renamed, renamed_where, said_in

BATCH = 200
"""So many statements are rewritten in one transaction."""
_LONGEST = 10_000  # of a value or a name; engine/events.py
_SOMEBODY = "somebody-else"
_IDS = ("id", "event", "edits", "replaces")
"""The fields of an event that hold the id of one."""


def mark_of(sid: str, person: str) -> str:
    """What is kept of somebody who was forgotten: enough to recognise the id, not to read it."""
    return hashlib.sha256(f"{sid}|{person}".encode()).hexdigest()[:32]


def remaining(event: Event, sid: str, marks: Collection[str]) -> Event | None:
    """What may be recorded of an event when some people were forgotten; None if nothing."""

    def gone(person: str | None) -> bool:
        return person is not None and mark_of(sid, person) in marks

    def mark(part: str) -> str | None:
        found = mark_of(sid, part)
        return found if found in marks else None

    ids = {name: id for name in _IDS if isinstance(id := getattr(event, name, None), str)}
    event = event.model_copy(update={name: renamed_where(id, mark) for name, id in ids.items()})
    match event:
        case Enter() | Exit() | Notice() | Unsee():
            return None if gone(event.person) else event
        case Retract():
            # What they edited away stays away, whoever it was.
            edited = {"edited_by": _SOMEBODY} if gone(event.edited_by) else {}
            return event.model_copy(update=edited)
        case Tell():
            others = tuple(p for p in event.listeners if not gone(p))
            if gone(event.speaker) or not others:
                return None
            return event.model_copy(update={"listeners": others})
        case Set():
            return event.model_copy(update={"by": None}) if gone(event.by) else event
        case Report():
            if gone(event.speaker) or gone(event.about):
                return None
            return event.model_copy(update={"witnesses": _without(event, gone)})
        case Say():
            if gone(event.speaker):
                return None
            kept = tuple(p for p in event.mentions if not gone(p))
            return event.model_copy(update={"witnesses": _without(event, gone), "mentions": kept})


def _without(event: Say | Report, gone: Any) -> Mapping[str, Any] | None:
    if event.witnesses is None:
        return None
    return {person: grade for person, grade in event.witnesses.items() if not gone(person)}


class _Words(NamedTuple):
    """A statement with everybody in whose mind it stands; `crowd`: as a large audience.

    `keepers`: who still has it. `void`: it was never said. `fell`: its source no longer says it.
    """

    statement: Statement
    quote: str | None
    witnesses: frozenset[str]
    keepers: frozenset[str]
    crowd: bool
    void: bool
    fell: bool
    trusted: frozenset[str] = frozenset()


class _Whom(NamedTuple):
    """Who is forgotten: their id, what stands for it in ids, and the words they are called by."""

    id: str
    mark: str
    words: frozenset[str]


def removals(sid: str, person: str, settled: Collection[str], reads: Reads) -> list[Write]:
    """The first step: what was theirs goes, and what spoke of them is rewritten, statement by
    statement; what is left to understand anew is marked so. Asked again until it returns nothing.

    `settled`: the statements that settled a value, as things stand.
    """
    called = {name for id, name, *_ in reads("people") if id == person and name and name.strip()}
    whom = _Whom(person, mark_of(sid, person), frozenset({person, *called}))
    writes: list[Write] = []
    for words in _involving(whom, reads):
        writes += _removed(words, whom, settled)
    for graph_writes in (
        _marks_removed(whom, reads),
        _moves_removed(whom, reads),
        _names_removed(whom, reads),
    ):
        writes += graph_writes
    # Last: the name is needed until nothing is called by it.
    if not writes and (reads("known_person", person=person) or reads("rooms_been", person=person)):
        writes.append(Write(WORLD, "delete_person", {"person": person}))
    return writes


def _involving(whom: _Whom, reads: Reads) -> list[_Words]:
    """Some of the statements in which they stand; none when there are no more. What only holds the
    same letters is read over, a batch at a time."""
    members = bar([whom.id])
    audiences = [a for a, there in reads("all_audiences") if whom.id in unbar(there)]
    past = ""
    while True:
        found = reads(
            "involving", person=whom.id, bar=members, words=sorted(whom.words),
            audiences=audiences, past=past, most=BATCH,
        )  # fmt: skip
        ids = [id for [id] in found]
        some = [words for words in _words(ids, reads) if _involves(words, whom)]
        if some or not ids:
            return some
        past = ids[-1]


def _involves(words: _Words, whom: _Whom) -> bool:
    statement = words.statement
    people = {speaker(statement)}
    match statement:
        case Say():
            people |= {*statement.mentions, *(statement.witnesses or ())}
        case Report():
            people |= {statement.about, *(statement.witnesses or ())}
        case Tell():
            people |= {*statement.listeners}
        case Set():
            pass
    ids = (getattr(statement, name, None) for name in _IDS)
    texts = (statement.value, statement.name, words.quote)
    return (
        whom.id in people | words.witnesses | words.trusted
        or any(id is not None and part_of(id, whom.id) for id in ids)
        or any(said_in(text, whom.words) for text in texts)
    )


def _words(ids: Sequence[str], reads: Reads) -> Iterable[_Words]:
    if not ids:
        return
    audiences = {a: unbar(m) for a, m in reads("all_audiences")}
    for row in reads("words", ids=list(ids)):
        (id, source, value, name, quote, members, audience, people, until, void, fell,
         trusted) = row  # fmt: skip
        statement = parsed(source, value, name)
        assert isinstance(statement, Say | Tell | Report | Set), id
        there = audiences.get(audience or "", frozenset()) | unbar(members)
        later = [one.strip("|") for one in people or ()]
        still = {one for one, end in zip(later, until or (), strict=True) if end == FOREVER}
        large = audience is not None
        yield _Words(
            statement, quote, there | set(later), there | still, large, void, fell, unbar(trusted)
        )


def _removed(words: _Words, whom: _Whom, settled: Collection[str]) -> list[Write]:
    statement, person = words.statement, whom.id
    others = sorted(p for p in words.witnesses if p != person and not is_somebody(p))
    writes = [Write(mind(p), "unwitness", {"id": statement.id}) for p in others]
    if words.crowd:
        stale = {"bar": bar([person])}
        writes += [Write(mind(p), "delete_stale_audiences", stale) for p in others]
    kept = _kept(statement, person, words, statement.id in settled)
    if kept is None:
        return [*writes, Write(WORLD, "delete_event", {"id": statement.id})]
    kept = _scrubbed(kept, whom)
    theirs = speaker(statement) == person
    row: dict[str, Any] = {
        "id": kept.id,
        "kind": kept.kind,
        "by": speaker(kept),
        "about": kept.about if isinstance(kept, Report) else None,
        "value": kept.value,
        "same": same(kept.value),
        "name": kept.name,
        "target": (kept.edits or kept.replaces) if isinstance(kept, Say) else None,
        "mentions": bar(kept.mentions if isinstance(kept, Say) else ()),
        "parties": None,
        "source": kept.model_dump_json(exclude={"quote", "link", "value", "name"}),
        # Nobody, until it is understood anew: the next transactions do that.
        "members": bar(()),
        "audience": None,
        "sight_people": None,
        "sight_since": None,
        "sight_until": None,
        "sight_grades": None,
        "trusted": None,
        "unsettled": True,
    }
    if isinstance(statement, Tell) and isinstance(kept, Tell):
        row["parties"] = bar({kept.speaker, *kept.listeners})
    if theirs or said_in(words.quote, whom.words):
        row["quote"] = None
    if theirs:
        row["link"] = None
    if kept.id != statement.id and isinstance(statement, Tell | Report):
        writes.append(Write(WORLD, "rename_told", {"id": statement.id, "new": kept.id}))
    return [*writes, Write(WORLD, "rewrite_event", {"id": statement.id, "row": row})]


def _kept(statement: Statement, person: str, words: _Words, settles: bool) -> Statement | None:
    """What stays of a statement without the person, or None."""
    if words.void and speaker(statement) == person:
        return None
    fields = statement.model_dump(exclude={"kind"})
    match statement:
        case Say() | Set() if speaker(statement) == person:
            somebody = f"somebody-{secrets.token_hex(6)}"
            if isinstance(statement, Set):
                return Set(**fields | {"by": somebody})
            if settles:
                return Say(**_unwitnessed(fields, person) | {"speaker": somebody})
            if not statement.decides:
                return None
            # It restated, or no longer stands: it informed its hearers, and still does.
            if words.fell and not words.keepers - {person}:
                return None
            informed = words.keepers if words.fell else words.witnesses
            heard = tuple(sorted(informed - {person})) or (somebody,)
            shared = {k: v for k, v in fields.items() if k in Tell.model_fields}
            return Tell(**shared | {"speaker": somebody, "listeners": heard})
        case Say() | Set():
            return type(statement)(**_unwitnessed(fields, person))
        case Tell():
            listeners = tuple(p for p in statement.listeners if p != person)
            if statement.speaker == person or not listeners:
                return None
            return Tell(**fields | {"listeners": listeners})
        case Report():
            if statement.speaker == person:
                return None
            if statement.about != person:
                return Report(**_unwitnessed(fields, person))
            del fields["about"]
            return Say(**_unwitnessed(fields, person) | {"decides": False})


def _unwitnessed(fields: dict[str, Any], person: str) -> dict[str, Any]:
    if fields.get("witnesses") is not None:
        fields["witnesses"] = {p: g for p, g in fields["witnesses"].items() if p != person}
    if "mentions" in fields:
        fields["mentions"] = tuple(p for p in fields["mentions"] if p != person)
    return fields


def _scrubbed(statement: Statement, whom: _Whom) -> Statement:
    """Without the person's id, or a word they are called by: in the ids, the value, the name."""
    fields = {
        name: renamed(id, whom.id, whom.mark)
        for name in _IDS
        if (id := getattr(statement, name, None)) is not None
    }
    fields["value"] = cleared(statement.value, whom.words)[:_LONGEST]
    if statement.name is not None:
        fields["name"] = cleared(statement.name, whom.words)[:_LONGEST]
    return statement.model_copy(update=fields)


def _marks_removed(whom: _Whom, reads: Reads) -> list[Write]:
    """What they pressed goes; what is about a statement that has another id now follows it."""
    writes: list[Write] = []
    for id, source in reads("marks_by", person=whom.id):
        mark = parsed(source)
        assert isinstance(mark, Notice | Unsee | Retract), id
        if isinstance(mark, Notice | Unsee) and mark.person == whom.id:
            writes.append(Write(WORLD, "delete_event", {"id": id}))
            continue
        fields = {
            "id": renamed(mark.id, whom.id, whom.mark),
            "event": renamed(mark.event, whom.id, whom.mark),
        }
        if isinstance(mark, Retract) and mark.edited_by == whom.id:
            fields["edited_by"] = _SOMEBODY
        kept = mark.model_copy(update=fields)
        if kept != mark:
            row = {"id": kept.id, "target": kept.event, "source": kept.model_dump_json()}
            writes.append(Write(WORLD, "rewrite_event", {"id": id, "row": row}))
    return writes


def _moves_removed(whom: _Whom, reads: Reads) -> list[Write]:
    person = whom.id
    writes = [
        Write(WORLD, "set_here", {"id": room, "here": bar(unbar(here) - {person})})
        for room, here in reads("rooms_of", bar=bar([person]))
    ]
    writes += [
        Write(WORLD, "forget_newest", {"id": room})
        for room, newest in reads("newest_naming", person=person)
        if part_of(newest, person)
    ]
    writes += [
        Write(WORLD, "rename_move", {"id": id, "new": renamed(id, person, whom.mark)})
        for [id] in reads("moves_named", person=person)
        if part_of(id, person)
    ]
    writes += [
        Write(
            WORLD,
            "list_members",
            {"room": room, "at": at, "members": bar(unbar(listed) - {person})},
        )
        for room, at, listed in reads("listings")
        if person in unbar(listed)
    ]
    named = [(id, people) for id, people in reads("deciders") if person in unbar(people)]
    writes += [
        Write(WORLD, "rename_deciders", {"id": id, "people": bar(unbar(people) - {person})})
        for id, people in named
    ]
    return writes


def _names_removed(whom: _Whom, reads: Reads) -> list[Write]:
    """What people call a room, and what they confirmed that something is called."""
    writes = [
        Write(WORLD, "rename_room", {"id": room, "name": cleared(name, whom.words)})
        for room, name in reads("rooms_called", words=sorted(whom.words))
        if name != room and said_in(name, whom.words)
    ]
    folded = frozenset(word.casefold() for word in whom.words)
    for kind, name, entity, scope in reads("links_named", words=sorted(folded)):
        if kind == "alias" and said_in(name, folded):
            fields = {"kind": kind, "name": name, "entity": entity, "scope": scope}
            writes.append(Write(WORLD, "delete_link", fields))
    return writes
