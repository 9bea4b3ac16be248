"""What forgetting somebody writes: their words and beliefs go, from the world and from every mind.

A decision they made stays, as somebody's: without name, quote or mind. It decides on what `Reads`
shows and returns writes; a mark that cannot be turned back into an id keeps the person from being
recorded again.
"""

import hashlib
import json
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
    any_event,
)
from engine.recording import WORLD, bar, mind, parsed, unbar
from engine.rules import FOREVER, is_somebody, speaker
from engine.store import Reads, Write

BATCH = 200
"""So many statements are rewritten in one transaction."""
_SOMEBODY = "somebody-else"


def mark_of(sid: str, person: str) -> str:
    """What is kept of somebody who was forgotten: enough to recognise the id, not to read it."""
    return hashlib.sha256(f"{sid}|{person}".encode()).hexdigest()[:32]


def remaining(event: Event, sid: str, marks: Collection[str]) -> Event | None:
    """What may be recorded of an event when some people were forgotten; None if nothing."""

    def gone(person: str | None) -> bool:
        return person is not None and mark_of(sid, person) in marks

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


def removals(person: str, settled: Collection[str], reads: Reads) -> list[Write]:
    """The first step: what was theirs goes, and what spoke of them is rewritten, statement by
    statement; what is left to understand anew is marked so. Asked again until it returns nothing.

    `settled`: the statements that settled a value, as things stand.
    """
    ids = [id for [id] in reads("involving", person=person, bar=bar([person]), most=BATCH)]
    writes: list[Write] = []
    for words in _words(ids, reads):
        writes += _removed(words, person, settled)
    for graph_writes in (_marks_removed(person, reads), _moves_removed(person, reads)):
        writes += graph_writes
    return writes


def _words(ids: Sequence[str], reads: Reads) -> Iterable[_Words]:
    if not ids:
        return
    audiences = {a: unbar(m) for a, m in reads("all_audiences")}
    for id, source, value, name, quote, members, audience, people, until, void, fell in reads(
        "words", ids=list(ids)
    ):
        statement = parsed(source, value, name)
        assert isinstance(statement, Say | Tell | Report | Set), id
        there = audiences.get(audience or "", frozenset()) | unbar(members)
        later = [one.strip("|") for one in people or ()]
        still = {one for one, end in zip(later, until or (), strict=True) if end == FOREVER}
        large = audience is not None
        yield _Words(statement, quote, there | set(later), there | still, large, void, fell)


def _removed(words: _Words, person: str, settled: Collection[str]) -> list[Write]:
    statement = words.statement
    others = sorted(p for p in words.witnesses if p != person and not is_somebody(p))
    writes = [Write(mind(p), "unwitness", {"id": statement.id}) for p in others]
    if words.crowd:
        stale = {"bar": bar([person])}
        writes += [Write(mind(p), "delete_stale_audiences", stale) for p in others]
    kept = _kept(statement, person, words, statement.id in settled)
    if kept is None:
        return [*writes, Write(WORLD, "delete_event", {"id": statement.id})]
    kept = _scrubbed(kept, person)
    theirs = speaker(statement) == person
    row: dict[str, Any] = {
        "id": kept.id,
        "kind": kept.kind,
        "by": speaker(kept),
        "about": kept.about if isinstance(kept, Report) else None,
        "value": kept.value,
        "name": kept.name,
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
    if theirs or person in (words.quote or ""):
        row["quote"] = None
    if theirs:
        row["link"] = None
    return [*writes, Write(WORLD, "rewrite_event", {"id": statement.id, "row": row})]


def _kept(statement: Statement, person: str, words: _Words, settles: bool) -> Statement | None:
    """What stays of a statement without the person, or None."""
    if words.void and speaker(statement) == person:
        return None
    if (words.void or words.fell) and person in statement.id:
        return None  # under another id, nothing would say that it was taken back
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


def _scrubbed(statement: Statement, person: str) -> Statement:
    """Without the person's id anywhere: in the identity, the value, the name."""
    text = statement.model_dump_json()
    if person not in text:
        return statement
    fields: dict[str, Any] = json.loads(text)
    for key in ("id", "value", "name", "quote", "edits", "replaces"):
        if isinstance(fields.get(key), str):
            fields[key] = fields[key].replace(person, "somebody")
    if fields["id"] != statement.id:
        fields["id"] = f"{fields['id'][:180]}-{secrets.token_hex(4)}"
    scrubbed = any_event.validate_python(fields)
    assert isinstance(scrubbed, Say | Tell | Report | Set)
    return scrubbed


def _marks_removed(person: str, reads: Reads) -> list[Write]:
    writes: list[Write] = []
    for id, source in reads("marks_by", person=person):
        mark = parsed(source)
        if isinstance(mark, Retract) and mark.edited_by == person:
            mark = mark.model_copy(update={"edited_by": _SOMEBODY})
        kept = mark.model_dump_json()
        if person in kept:
            writes.append(Write(WORLD, "delete_event", {"id": id}))
        else:
            writes.append(Write(WORLD, "rewrite_event", {"id": id, "row": {"source": kept}}))
    return writes


def _moves_removed(person: str, reads: Reads) -> list[Write]:
    rooms = [(room, here) for room, here in reads("rooms_of", bar=bar([person]))]
    writes = [
        Write(WORLD, "set_here", {"id": room, "here": bar(unbar(here) - {person})})
        for room, here in rooms
    ]
    writes += [
        Write(WORLD, "forget_newest", {"id": room})
        for [room] in reads("newest_naming", person=person)
    ]
    if writes or reads("known_person", person=person):
        writes.append(Write(WORLD, "delete_person", {"person": person}))
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
