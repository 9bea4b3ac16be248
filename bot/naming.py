"""Which names mean the same decision, as people say: what is asked, confirmed, refused and taken back.

Nothing here is merged by likeness (`extraction.entities` only proposes): a question waits until
somebody answers it. What is confirmed in a room counts for who may read that room, and anybody who
could have confirmed it can take it back. A question names what its room's people wrote, so it is a
note of that room: bounded, shown to who may read the room and both decisions, and gone with its
message or its author. It refuses to know how a command was typed and how an answer looks.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from engine import InvalidInput, Memory, Reader, RoomInfo, UnknownEntity, folded, nearest
from engine.beliefs import Named, Names, Naming, Perhaps, Ref
from engine.directory import Confirmed
from engine.links import Link
from engine.memory import Notes
from engine.rules import from_micros
from extraction import Known, entities
from extraction.entities import Question, form

MOST = 100
"""So many questions of a room wait, the newest."""

ASKED = 2_000
"""So many answered pairs of a room are remembered, so that they are not asked again."""

NAME_LIMIT = 80
"""The most characters of a name that is confirmed."""


class _Side(NamedTuple):
    """What somebody typed. `key`: the decision it is called, None for none; `alias`: only because
    somebody confirmed it."""

    name: str
    key: str | None
    alias: bool = False

    @property
    def own(self) -> bool:
        """Whether it is a decision by itself."""
        return self.key is not None and not self.alias


# ------------------------------------------------------------------------------- what is known


def names_for(memory: Memory, reader: Reader, *, apart: bool = True) -> entities.Names:
    """What decisions are called where the reader may read, with confirmed names. `apart`: those that
    were merged each by itself, else as they are answered."""
    known = memory.entities(reader, apart=True)
    merged = {} if apart else memory.merged(reader)
    gone = {id: name for id, name in known.items() if id in merged}
    aliases = {form(word): merged[id] for id, name in gone.items() for word in (id, name)}
    aliases |= {
        form(one.link.name): merged.get(one.link.entity, one.link.entity)
        for one in memory.links(reader)
        if one.link.kind == "alias" and one.link.entity in known
    }
    if gone:
        known = memory.entities(reader)
    return entities.Names((Known(id=id, name=name) for id, name in known.items()), aliases)


def everybody_in(room: RoomInfo, rooms: Iterable[RoomInfo], guests: Collection[str]) -> Reader:
    """What everybody in a room may read: the room, and open ones unless a guest is there."""
    open_ = set() if room.here & set(guests) else {one.id for one in rooms if one.open}
    return Reader("", frozenset({room.id} | open_))


def called(names: entities.Names, name: str) -> str | None:
    """The decision that is called exactly so; UnknownEntity where more than one is."""
    claimed = names.claims(name)
    if len(claimed) > 1:
        which = ", ".join(claimed)
        raise UnknownEntity(f"More than one decision is called {name[:NAME_LIMIT]!r}: {which}.")
    return claimed[0] if claimed else None


# ------------------------------------------------------------------------------- questions


def notes_of(memory: Memory, room: str, questions: Sequence[Question], at: datetime) -> list[Notes]:
    """What is to be asked of a message's names, each pair of a room once and not after an answer."""
    if not questions:
        return []
    asked = set(memory.noted(_asked(room)))
    notes, marks = dict[str, datetime](), dict[str, datetime]()
    for one in questions:
        new = [entity for entity in one.candidates if _mark(one.name, entity) not in asked]
        if new:
            notes[_note(one, new, at)] = at
            marks |= {_mark(one.name, entity): at for entity in new}
            asked |= marks.keys()
    return [Notes(_waiting(room), notes, MOST), Notes(_asked(room), marks, ASKED)] if notes else []


def drop(memory: Memory, room: str, message: str) -> None:
    """What was asked of a message goes with its text; it may be asked again of another one."""
    for note, fields in _questions(memory, room):
        if fields["message"] == message:
            memory.unnote(_waiting(room), [note])
            memory.unnote(_asked(room), [_mark(fields["name"], e) for e in fields["like"]])


def questions(
    memory: Memory, reader: Reader, rooms: Iterable[RoomInfo], about: str | None = None
) -> Iterator[Perhaps]:
    """What waits for an answer in these rooms, oldest first; `about`: of one decision only."""
    waiting = [(room, fields) for room in rooms for _, fields in _questions(memory, room.id)]
    if not waiting:
        return
    known, merged = memory.entities(reader, apart=True), memory.merged(reader)

    def one_with(entity: str) -> str:
        return merged.get(entity, entity)

    for room, fields in waiting:
        entity = fields["entity"]
        like = [
            Ref(id=one, name=known[one])
            for one in fields["like"]
            if one in known and one_with(one) != one_with(entity)
        ]
        meant = {one_with(entity), *(one_with(one.id) for one in like)}
        if entity in known and like and (about is None or one_with(about) in meant):
            yield Perhaps(
                name=fields["name"],
                entity=Ref(id=entity, name=known[entity]),
                like=tuple(like),
                room=_ref(room),
                at=fields["at"],
            )


def listed(
    memory: Memory, reader: Reader, rooms: Sequence[RoomInfo], about: str | None = None
) -> Names:
    """What is asked and what is confirmed where the reader may read; `rooms`: those rooms."""
    known, merged = memory.entities(reader, apart=True), memory.merged(reader)
    places = {room.id: Ref(id=room.id, name=room.name) for room in rooms}
    confirmed = [
        Naming(
            name=known.get(one.link.name, one.link.name) if _merges(one) else one.link.name,
            merged=one.link.name if _merges(one) else None,
            entity=Ref(id=one.link.entity, name=known[one.link.entity]),
            room=places.get(one.room or ""),
            at=from_micros(one.at),
        )
        for one in _readable(memory, reader, known)
        if about is None
        or merged.get(about, about)
        in {merged.get(key, key) for key in (one.link.name, one.link.entity)}
    ]
    asked = sorted(questions(memory, reader, rooms, about), key=lambda one: one.at)
    return Names(asked=tuple(asked), confirmed=tuple(confirmed))


# ------------------------------------------------------------------------------- answers


def confirm(memory: Memory, reader: Reader, room: RoomInfo, one: str, other: str) -> Named:
    """Two names mean one decision, from now on for who may read the room.

    A name that nothing is called yet becomes an alias; of two decisions the first is answered as the
    second. Doing it again changes nothing. A name that was confirmed for another decision is taken
    back first.
    """
    if form(one) == form(other):
        raise InvalidInput("That takes two different names.")
    names = names_for(memory, reader)
    left, right = _side(names, one), _side(names, other)
    if left.key is None and right.key is None:
        raise _nothing(other, names)
    if left.own and right.own:
        return _merge(memory, names, room, left, right)
    meant = right if right.own or (right.key is not None and not left.own) else left
    alias = left if meant is right else right
    assert meant.key is not None
    if alias.key not in (None, meant.key):
        already = names.named(alias.key)
        raise InvalidInput(
            f"{_quoted(alias.name)} was confirmed for {already} already; take that back first:"
            f" /different {alias.name} = {already}"
        )
    return _alias(memory, names, room, alias.name, meant.key)


def take_back(
    memory: Memory, reader: Reader, rooms: Sequence[RoomInfo], one: str, other: str
) -> Named:
    """Two names do not mean one decision: what says so is undone in `rooms`, those where the person
    could have confirmed it, and what asks so there is answered. Doing it again changes nothing."""
    names, known = names_for(memory, reader), memory.entities(reader, apart=True)
    left, right = _side(names, one), _side(names, other)
    if left.key is None and right.key is None:
        raise _nothing(other, names)
    merged = memory.merged(reader)
    said = [
        link for link in _readable(memory, reader, known) if _says(link.link, left, right, merged)
    ]
    mine = {room.id: room for room in rooms}
    undone = [link for link in said if link.room in mine]
    if said and not undone:
        where = {link.room for link in said}
        raise InvalidInput(
            "That was confirmed for everybody, by whoever runs this memory."
            if where == {None}
            else "That was confirmed in a channel you are not in; whoever is there can take it back."
        )
    for link in undone:
        _undo(memory, link, names)
    refused = [room.id for room in rooms if _answer(memory, room.id, left, right)]
    if not undone and not refused and left.key and right.key and left.key != right.key:
        _check_apart(known, memory.merged(reader), left.key, right.key)
    entity = right.key if right.key is not None else left.key
    assert entity is not None
    where = {link.room for link in undone} | set(refused)
    return _named(
        names,
        one if right.key is not None else other,
        entity,
        same=False,
        changed=bool(where),
        rooms=[Ref(id=room.id, name=room.name) for room in rooms if room.id in where],
    )


def _alias(memory: Memory, names: entities.Names, room: RoomInfo, name: str, entity: str) -> Named:
    short = " ".join(name.split())
    if len(short) > NAME_LIMIT or sum(c.isalnum() for c in short) < 2:
        raise InvalidInput(f"A name has two letters or more, and up to {NAME_LIMIT} characters.")
    changed = not _holds(memory, Link("alias", folded(short), entity), room.id)
    if changed:
        memory.alias(short, entity, room=room.id)
    return _named(names, short, entity, same=True, changed=changed, rooms=[_ref(room)])


def _merge(
    memory: Memory, names: entities.Names, room: RoomInfo, left: _Side, right: _Side
) -> Named:
    assert left.key is not None
    assert right.key is not None
    if left.key == right.key:  # one name, written in two ways
        return _named(names, left.name, left.key, same=True, changed=False)
    either = (Link("merge", left.key, right.key), Link("merge", right.key, left.key))
    changed = not any(_holds(memory, link, room.id) for link in either)
    if changed:
        memory.merge(left.key, right.key, room=room.id)
    _answer(memory, room.id, left, right, rest=False)
    return _named(names, left.name, right.key, same=True, changed=changed, rooms=[_ref(room)])


def _answer(memory: Memory, room: str, left: _Side, right: _Side, *, rest: bool = True) -> bool:
    """Answers what is asked about these two in a room; whether anything was. `rest`: whether what else
    the same name may mean is still to be asked."""
    pairs = {(left.key, right.key), (right.key, left.key)}
    found = False
    for note, fields in _questions(memory, room):
        answered = [one for one in fields["like"] if (fields["entity"], one) in pairs]
        if answered:
            found = True
            memory.unnote(_waiting(room), [note])
            others = [one for one in fields["like"] if one not in answered]
            if others and rest:
                at = datetime.fromisoformat(fields["at"])
                memory.note(_waiting(room), {json.dumps(fields | {"like": others}): at})
    return found


def _undo(memory: Memory, one: Confirmed, names: entities.Names) -> None:
    """Takes a link back; it is not proposed again where it held."""
    name, entity, room = one.link.name, one.link.entity, one.room or ""
    undo = memory.unmerge if _merges(one) else memory.unalias
    undo(name, entity, room=room)
    marks = [_mark(names.named(name), entity), _mark(names.named(entity), name)]
    memory.note(_asked(room), dict.fromkeys(marks, from_micros(one.at)))


def _says(link: Link, left: _Side, right: _Side, merged: Any) -> bool:
    """Whether a link says that these two are one."""
    if link.kind == "merge":
        return {link.name, link.entity} == {left.key, right.key}
    return any(
        entity.key is not None
        and form(name.name) == form(link.name)
        and merged.get(entity.key, entity.key) == merged.get(link.entity, link.entity)
        for name, entity in ((left, right), (right, left))
    )


def _check_apart(known: dict[str, str], merged: dict[str, str], a: str, b: str) -> None:
    """Two that are one only through others are not taken apart by guessing where."""
    if merged.get(a, a) == merged.get(b, b):
        root = merged.get(a, a)
        between = [
            known[key] for key in known if merged.get(key, key) == root and key not in (a, b)
        ]
        raise InvalidInput(
            f"They are one through {', '.join(between) or 'something else'}: /names shows what was"
            " confirmed; take one of these back."
        )


# ------------------------------------------------------------------------------- pieces


def _side(names: entities.Names, name: str) -> _Side:
    own = names.claims(name, aliases=False)
    key = called(names, name)
    return _Side(name, key, alias=key is not None and key not in own)


def _readable(memory: Memory, reader: Reader, known: Collection[str]) -> list[Confirmed]:
    """What was confirmed where the reader may read, of decisions the reader may read."""
    return [
        one
        for one in memory.links(reader)
        if one.link.entity in known and (not _merges(one) or one.link.name in known)
    ]


def _holds(memory: Memory, link: Link, room: str) -> bool:
    return any(one.link == link and one.room == room for one in memory.links())


def _merges(one: Confirmed) -> bool:
    return one.link.kind == "merge"


def _named(
    names: entities.Names,
    name: str,
    entity: str,
    *,
    same: bool,
    changed: bool,
    rooms: Sequence[Ref] = (),
) -> Named:
    shown = Ref(id=entity, name=names.named(entity))
    return Named(name=name, entity=shown, same=same, changed=changed, rooms=tuple(rooms))


def _ref(room: RoomInfo) -> Ref:
    return Ref(id=room.id, name=room.name)


def _nothing(name: str, names: entities.Names) -> UnknownEntity:
    return UnknownEntity(f"Nothing is known about {_quoted(name)}.", nearest(name, names.all()))


def _quoted(name: str) -> str:
    return repr(name if len(name) <= NAME_LIMIT else name[:NAME_LIMIT] + "…")


def _questions(memory: Memory, room: str) -> list[tuple[str, dict[str, Any]]]:
    return [(note, json.loads(note)) for note in memory.noted(_waiting(room))]


def _note(one: Question, like: Sequence[str], at: datetime) -> str:
    """`by`: so that it goes when whoever wrote it is forgotten."""
    return json.dumps({
        "at": at.isoformat(), "by": one.author, "entity": one.entity, "like": list(like),
        "message": one.message, "name": one.name,
    })  # fmt: skip


def _mark(name: str, entity: str) -> str:
    """A pair that was asked, without what it says."""
    return hashlib.sha256(f"{form(name)}\n{entity}".encode(errors="replace")).hexdigest()[:24]


def _waiting(room: str) -> str:
    return f"alike:{room}"


def _asked(room: str) -> str:
    return f"alike-asked:{room}"
