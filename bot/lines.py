"""The lines of a room as they are kept, and which of them bear upon a new one.

It refuses to know what was written (no text is kept) and what follows from lines: that is
`bot.perception`. Each line is kept under several notes, so that a room of any length is looked up by
what matters:

    heard:<room>      every version of every line, by the moment of its message
    lines:<room>      the name (`ts`) of every message, by its moment
    threads:<room>    versions of replies, by their thread        reacted:<room>  reactions, by message
    stated:<room>     lines that stated something, by the moment from which on that stood there
    been:<room>       who was ever known to be in a room that not everybody reads
    unsettled:<room>  lines and reactions of which it is not yet worked out what they show
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

from bot.chat import Kept, Message
from bot.perception import ANSWERS_WITHIN, NEARBY, Line, Reacted, Said, merged, words_of
from engine import Memory
from engine.memory import Notes, Span
from engine.rules import from_micros, to_micros
from engine.words import part_of

EVERYTHING = "*"
"""Unsettled: all of a room, because something bears upon all of it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 1, 1, tzinfo=UTC)


class Unsettled(NamedTuple):
    """A line (or, `reacted`, only its reactions) of which it is not yet worked out what it shows."""

    at: datetime
    ts: str
    reacted: bool = False


class Bearing(NamedTuple):
    """Lines and reactions that are enough to work out what is known of the lines named in `only`
    (None: of all)."""

    lines: list[Line]
    reacted: list[Reacted]
    only: frozenset[str] | None = None


class Stated(NamedTuple):
    """A line that stated something: what stood there from `since` on, as far as others bear upon it."""

    since: datetime
    at: datetime
    ts: str
    thread: str | None
    shown: bool
    mentions: frozenset[str]
    events: tuple[str, ...]


def kept(room: str, line: Line) -> list[Notes]:
    """A line as notes."""
    text = _text(line)
    notes = [
        Notes(f"heard:{room}", {text: line.at}),
        Notes(f"lines:{room}", {line.ts: line.at}),
        Notes(f"unsettled:{room}", {unsettled(line.at, line.ts): line.at}),
    ]
    if line.thread not in (None, line.ts):
        notes.append(Notes(f"threads:{room}", {text: _drawer(line.thread)}))
    if line.said:
        since = {line.at, line.edited or line.at}
        notes.append(Notes(f"stated:{room}", {_stated_text(line, when): when for when in since}))
    return notes


def kept_reaction(room: str, reacted: Reacted, posted: datetime | None) -> list[Notes]:
    """A reaction as notes; `posted`: when its message was said, None where that is not heard yet."""
    text = json.dumps(
        [reacted.ts, to_micros(reacted.at), reacted.who, reacted.name, reacted.removed]
    )
    notes = [Notes(f"reacted:{room}", {text: _drawer(reacted.ts)})]
    if posted is not None:
        mark = unsettled(posted, reacted.ts, reacted=True)
        notes.append(Notes(f"unsettled:{room}", {mark: posted}))
    return notes


type How = Literal["listed", "wrote", "came"]
"""How it is known that somebody was in a room: as one of those in it, by writing there, by coming."""


def been(people: Iterable[str], how: How, at: datetime) -> set[str]:
    """That people were in a room, as it is kept."""
    when = to_micros(at) if how == "came" else 0
    return {json.dumps([how, person, when]) for person in people}


def kept_been(room: str, notes: Iterable[str], at: datetime) -> Notes:
    return Notes(f"been:{room}", dict.fromkeys(notes, at))


def inside(notes: Iterable[str]) -> dict[str, datetime]:
    """Since when people were in a room: who came, since then; who was only met there, always."""
    found: dict[str, datetime] = {}
    for how, person, when in sorted(json.loads(note) for note in notes):  # "came" comes first
        if how == "listed":
            found[person] = _EPOCH
        else:
            found.setdefault(person, from_micros(when))
    return found


def everything(room: str, at: datetime) -> Notes:
    """That all of a room is to be worked out again."""
    return Notes(f"unsettled:{room}", {EVERYTHING: at})


def joined(notes: Iterable[Notes]) -> list[Notes]:
    """The same notes, one entry per key."""
    found: dict[str, Notes] = {}
    for one in notes:
        before = found.get(one.key)
        known = {} if before is None else before.notes
        found[one.key] = one._replace(notes={**known, **one.notes})
    return list(found.values())


# ------------------------------------------------------------------------------- looking up


def all_of(memory: Memory, room: str) -> Bearing:
    return Bearing(
        [_line(text) for text in memory.noted(f"heard:{room}")],
        [_reacted(text) for text in memory.noted(f"reacted:{room}")],
    )


def stated(memory: Memory, room: str) -> list[Stated]:
    """The lines of a room that stated something."""
    return [_stated(text) for text in memory.noted(f"stated:{room}")]


def heard_since(memory: Memory, room: str, since: datetime) -> bool:
    """Whether anything was said in a room from a moment on."""
    [found] = memory.noted_within([Span(f"lines:{room}", since, _LAST)])
    return bool(found)


def events_of(memory: Memory, room: str, ts: str) -> tuple[str, ...]:
    """The statements of a message, of all its versions; none where it was not heard."""
    known = memory.noted_at(f"lines:{room}", [ts])
    return tuple(
        sorted({said.event for one in _versions(memory, room, known) for said in one.said})
    )


def remembered(memory: Memory, room: str, since: datetime) -> list[Kept]:
    """The messages of a room since a moment, oldest first."""
    [heard] = memory.noted_within([Span(f"heard:{room}", since, _LAST)])
    given = [_reacted(text) for text in memory.noted(f"reacted:{room}")]
    standing: dict[str, dict[tuple[str, str], bool]] = {}
    for one in sorted(given, key=lambda one: one.at):
        standing.setdefault(one.ts, {})[one.name, one.who] = not one.removed
    return [
        Kept(
            one.ts,
            one.thread,
            one.edited,
            frozenset(pair for pair, stands in standing.get(one.ts, {}).items() if stands),
            bool(one.said),
            one.removed,
        )
        for one in sorted(merged(map(_line, heard)), key=lambda one: (one.at, one.ts))
    ]


def posted(memory: Memory, room: str, ts: str) -> datetime | None:
    """When a message was said, None where it was not heard."""
    return memory.noted_at(f"lines:{room}", [ts]).get(ts)


def replaces_another(memory: Memory, message: Message) -> bool:
    """Whether it was heard before that this message said something else."""
    known = _versions(memory, message.room, {message.ts: message.at})
    edited = message.edited and message.edited.at
    return bool(known) and not any(
        one.removed == message.removed and (one.edited or one.soon) == edited for one in known
    )


def told_apart(memory: Memory, message: Message) -> Message:
    """An edit as it follows those of the same moment that were heard before it.

    Platforms give whole seconds, and people edit twice in one. What came later stands: it counts as
    written a microsecond after what is known to have been written then. What is known already keeps
    its moment, however often it comes. (Edited there and back within one moment, the way back is not
    told from the first time, and is not heard.)
    """
    if message.edited is None or message.removed:
        return message
    words, at = words_of(message), message.edited.at
    known = {
        one.edited or one.soon: one.words
        for one in _versions(memory, message.room, {message.ts: message.at})
        if one.words and not one.removed
    }
    while known.get(max(at, message.at), words) != words:
        at = max(at, message.at) + timedelta(microseconds=1)
    return message.model_copy(update={"edited": message.edited.model_copy(update={"at": at})})


def bearing_on(memory: Memory, room: str, new: Sequence[Unsettled]) -> Bearing:
    """The statements that these lines can bear upon, and all lines that bear upon those.

    A line bears upon what it states itself, on its thread (whom a later reply reaches, whose reply
    shows what), on what was said in the room within 30 minutes before it, and on what was said within
    24 hours before it to its author. A reaction bears upon its message.
    """
    own = _versions(memory, room, {one.ts: one.at for one in new})
    written = {one.ts for one in new if not one.reacted}
    fresh = merged(one for one in own if one.ts in written)
    affected = {one.ts: one.at for one in new}
    affected |= {one.ts: one.at for one in _thread_lines(memory, room, fresh) if one.said}
    near = [Span(f"stated:{room}", one.at - NEARBY, one.at) for one in fresh if one.shown]
    for other in map(_stated, chain.from_iterable(memory.noted_within(near))):
        if other.shown:
            affected[other.ts] = other.at
    for other in _answered(memory, room, fresh):
        affected[other.ts] = other.at
    return _around(memory, room, affected)


def _answered(memory: Memory, room: str, lines: Iterable[Line]) -> Iterator[Stated]:
    """What mentioned the author of a line within 24 hours before it, and since their last line: who
    acts twice is seen by the first."""
    written = [(one, one.author) for one in lines if one.author is not None]
    spans = [Span(f"stated:{room}", one.at - ANSWERS_WITHIN, one.at) for one, _ in written]
    for (one, author), texts in zip(written, memory.noted_within(spans), strict=True):
        name = json.dumps(author)
        asked = [_stated(text) for text in texts if name in text]
        asked = [other for other in asked if author in other.mentions]
        if not asked:
            continue
        span = Span(f"heard:{room}", min(other.since for other in asked), one.at)
        [heard] = memory.noted_within([span])
        before = (_line(text) for text in reversed(heard) if _by(author) in text)
        last = next((other.at for other in before if other.at < one.at), None)
        yield from (other for other in asked if last is None or other.since >= last)


def _around(memory: Memory, room: str, affected: Mapping[str, datetime]) -> Bearing:
    """Some lines (`ts` to moment) and all that bear upon them."""
    versions = _versions(memory, room, affected)
    speaking = {one.ts for one in versions if one.said}  # who states nothing is seen by nobody
    some = [one for one in versions if one.ts in speaking]
    lines = {*versions, *_thread_lines(memory, room, some)}
    moments = [(one, when) for one in some for when in {one.at, one.edited or one.at}]
    shown = [when for one, when in moments if one.shown]
    lines.update(map(_line, _heard(memory, room, shown, NEARBY)))
    asked = frozenset(person for one in some for person in one.mentions)
    mentioning = {one.ts for one in some if one.mentions}
    answers = {when for one, when in moments if one.ts in mentioning}
    lines.update(_first_answers(memory, room, answers, asked))
    drawers = [Span(f"reacted:{room}", _drawer(ts), _drawer(ts)) for ts in sorted(speaking)]
    reacted = [_reacted(text) for texts in memory.noted_within(drawers) for text in texts]
    return Bearing(list(lines), [one for one in reacted if one.ts in speaking], frozenset(affected))


def _versions(memory: Memory, room: str, of: Mapping[str, datetime]) -> list[Line]:
    """Every version of some lines (`ts` to moment)."""
    spans = [Span(f"heard:{room}", at, at) for at in sorted(set(of.values()))]
    found = (_line(text) for some in memory.noted_within(spans) for text in some)
    return [one for one in found if one.ts in of]


def _thread_lines(memory: Memory, room: str, lines: Iterable[Line]) -> list[Line]:
    """Every line of the threads of these, with the roots."""
    roots = {one.thread or one.ts for one in lines}
    spans = [Span(f"threads:{room}", _drawer(root), _drawer(root)) for root in sorted(roots)]
    replies = [_line(text) for some in memory.noted_within(spans) for text in some]
    known = memory.noted_at(f"lines:{room}", sorted(roots))
    return [*_versions(memory, room, known), *(one for one in replies if one.thread in roots)]


def _first_answers(
    memory: Memory, room: str, moments: Collection[datetime], people: frozenset[str]
) -> Iterator[Line]:
    """After each moment, within 24 hours, the first line of each of these people."""
    if not moments or not people:
        return
    texts = list(_heard(memory, room, moments, ANSWERS_WITHIN))
    for person in people:
        own = [_line(text) for text in texts if _by(person) in text]
        own.sort(key=lambda one: one.at)
        for moment in moments:
            first = bisect_right(own, moment, key=lambda one: one.at)
            yield from own[first : first + 1]


def _by(person: str) -> str:
    """How a line as it is kept shows whose it is."""
    return f'"author":{json.dumps(person)}'


def _heard(
    memory: Memory, room: str, moments: Iterable[datetime], length: timedelta
) -> Iterator[str]:
    """The lines of a room, as they are kept, from each moment on for so long; each once."""
    spans: list[Span] = []
    for since in sorted(set(moments)):
        if spans and since <= spans[-1].until:
            spans[-1] = spans[-1]._replace(until=since + length)
        else:
            spans.append(Span(f"heard:{room}", since, since + length))
    return chain.from_iterable(memory.noted_within(spans))


# ------------------------------------------------------------------------------- as it is kept


def unsettled(at: datetime, ts: str, reacted: bool = False) -> str:
    return json.dumps([to_micros(at), ts, reacted])


def unsettled_in(note: str) -> Unsettled:
    at, ts, reacted = json.loads(note)
    return Unsettled(from_micros(at), ts, reacted)


def without(note: str, person: str) -> str | None:
    """A note as it is kept when a person is forgotten: that something was written there stays, since
    others are seen by it to have been there; None where nothing is left."""
    _line.cache_clear()
    try:
        kept: Any = json.loads(note)
    except ValueError:
        return None
    match kept:
        case {"ts": _, "said": _}:
            line = _line.__wrapped__(note)
            return _text(
                line._replace(
                    author=None if line.author == person else line.author,
                    words="" if person in (line.author, line.editor) else line.words,
                    editor=None if line.editor == person else line.editor,
                    mentions=tuple(p for p in line.mentions if p != person),
                    reactions=tuple((name, p) for name, p in line.reactions if p != person),
                    said=tuple(one for one in line.said if not part_of(one.event, person)),
                )
            )
        case [int(), int(), str(), _, _, list(mentions), list(events)]:
            kept[5] = [p for p in mentions if p != person]
            kept[6] = [event for event in events if not part_of(event, person)]
            return json.dumps(kept)
        case _:
            return None


def _drawer(ts: str) -> datetime:
    """A moment that stands for a message, so that the notes about it lie together wherever it is in
    time; two messages seldom share one, and what is found there says whose it is."""
    digest = hashlib.sha256(ts.encode()).digest()
    return _EPOCH + timedelta(microseconds=int.from_bytes(digest[:6], "big"))


def _text(line: Line) -> str:
    """A line as it is kept, the same text for the same line; what is usual is left out."""
    fields = {
        name: value
        for name, value in line._asdict().items()
        if value != Line._field_defaults.get(name)
    }
    moments = {name: fields[name].isoformat() for name in _MOMENTS if name in fields}
    said = [(event, at.isoformat(), first) for event, at, first in line.said]
    return json.dumps(fields | moments | {"said": said}, separators=(",", ":"), sort_keys=True)


@lru_cache(4096)
def _line(text: str) -> Line:
    fields = json.loads(text)
    lists = {name: tuple(fields[name]) for name in ("mentions",) if name in fields}
    moments = {name: _moment(fields[name]) for name in _MOMENTS if name in fields}
    said = tuple(Said(event, _moment(at), *first) for event, at, *first in fields["said"])
    reactions = tuple((name, person) for name, person in fields.get("reactions", ()))
    kept = fields | lists | moments | {"said": said, "reactions": reactions}
    return Line(**{"author": None} | kept)


_MOMENTS = ("at", "edited", "soon", "gone")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _reacted(text: str) -> Reacted:
    ts, at, who, name, removed = json.loads(text)
    return Reacted(ts, from_micros(at), who, name, removed)


def _stated_text(line: Line, since: datetime) -> str:
    events = [one.event for one in line.said]
    fields = [to_micros(since), to_micros(line.at), line.ts, line.thread, line.shown]
    return json.dumps([*fields, list(line.mentions), events])


def _stated(text: str) -> Stated:
    since, at, ts, thread, shown, mentions, events = json.loads(text)
    return Stated(
        from_micros(since), from_micros(at), ts, thread, shown, frozenset(mentions), tuple(events)
    )
