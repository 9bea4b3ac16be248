"""Who perceived what, and with what grade; pure.

It turns statements into the engine's events and lines of a room into evidence of having seen them.
It refuses to know how messages were read or where events go. The rules are those of
`docs/architecture.md`, "Perception" (rule 1 of the product; section B of the Slack research).
"""

import hashlib
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from bot.chat import Message, Room
from engine.events import Grade, Notice, Report, Retract, Say, Tell
from extraction import Statement

REPLACES = timedelta(seconds=60)
"""An edit within this time replaces the message."""

NEARBY = timedelta(minutes=30)
"""Who posts in the channel within this time …"""

NEARBY_LINES = 20
"""… and within so many messages has engaged with what was said before."""

ANSWERS_WITHIN = timedelta(hours=24)
"""Who was mentioned and acts in the room within this time has engaged."""

SMALL = 25
"""In rooms of up to so many people, being there makes a witness."""

_MENTION = re.compile(r"<@!?([A-Za-z0-9]+)(?:\|[^<>]*)?>")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 200  # characters of an event's id
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Crowds(NamedTuple):
    """Up to how many people being in a room makes a witness: by the room's id or name, or `usual`."""

    usual: int = SMALL
    rooms: Mapping[str, int] = {}

    def of(self, id: str, name: str) -> int:
        return self.rooms.get(id, self.rooms.get(name, self.usual))


class Line(NamedTuple):
    """One line of a room as it is remembered: who, when, where; never what was written.

    `thread`: the root's `ts`, None outside threads. `shown`: the whole room sees it (not a reply
    kept to its thread). `said`: the events it stated, each with when it came to say so.
    `edited`: when it came to say what this version says, None where it always did.
    """

    at: datetime
    ts: str
    author: str | None
    thread: str | None = None
    shown: bool = True
    mentions: tuple[str, ...] = ()
    said: tuple[tuple[str, datetime], ...] = ()
    removed: bool = False
    edited: datetime | None = None


def line(message: Message, mentions: Iterable[str], said: Iterable[Say | Tell | Report]) -> Line:
    return Line(
        at=message.at,
        ts=message.ts,
        author=None if message.system or message.removed else message.author,
        thread=message.thread,
        shown=message.thread in (None, message.ts) or message.broadcast,
        mentions=tuple(sorted(set(mentions))),
        said=tuple((event.id, event.at) for event in said),
        removed=message.removed,
        edited=_edited(message),
    )


def mentioned(text: str) -> frozenset[str]:
    """The people a message addresses by id, in Slack's form and in Discord's."""
    return frozenset(_MENTION.findall(text))


def source(workspace: str, room: str, ts: str) -> str:
    """The identity of a message, as an event's id can hold it."""
    return _FOREIGN.sub("_", f"{workspace}-{room}-{ts}")


def events(
    message: Message,
    statements: Sequence[Statement],
    room: Room,
    workspace: str,
    people: frozenset[str],
    crowd: int = SMALL,
) -> list[Say | Tell | Report]:
    """What a message's statements are as events, with who perceived them at once.

    `people`: everybody who can perceive (programs cannot). `crowd`: in rooms with more people,
    being there makes nobody a witness. Whom a reply reaches in its thread is known of the thread,
    so `engagements` says it.
    """
    return [
        _event(message, one, id, room, people, crowd)
        for one, id in zip(statements, _ids(message, statements, workspace), strict=True)
    ]


def _ids(message: Message, statements: Sequence[Statement], workspace: str) -> list[str]:
    """One identity per message and entity, so that an edit finds the version it edits."""
    base, ids = source(workspace, message.room, message.ts), list[str]()
    for one in statements:
        first = f"{base}-{one.entity}" + (f"-about-{one.about}" if one.kind == "report" else "")
        id, again = first, 0
        while id in ids:
            again += 1
            id = f"{first}-again{again}"
        ids.append(id)
    return ids


def _fit(id: str) -> str:
    """An id that is too long for one is cut, and told from others by what was cut."""
    return (
        id if len(id) <= _LONGEST else f"{id[:160]}-{hashlib.sha256(id.encode()).hexdigest()[:20]}"
    )


def _event(
    message: Message,
    one: Statement,
    id: str,
    room: Room,
    people: frozenset[str],
    crowd: int,
) -> Say | Tell | Report:
    at, version = message.at, dict[str, str]()
    if message.edited is not None and message.edited.at > message.at:
        earlier = _fit(id)
        id = f"{id}-v{_micros(message.edited.at)}"
        if (edited := _edited(message)) is None:
            version = {"replaces": earlier}
        else:
            at, version = edited, {"edits": earlier}
    stated = {"id": _fit(id), "at": at, "entity": one.entity, "value": one.value,
              "name": one.name, "quote": one.quote, "link": message.link}  # fmt: skip
    members = room.members or frozenset()
    if one.kind == "report" and one.about is not None:
        return Report(**stated, speaker=one.speaker, room=room.id, about=one.about,
                      witnesses=_seen(message, room, people), crowd=crowd)  # fmt: skip
    if room.kind == "direct":
        others = tuple(sorted(members - {one.speaker})) or (one.speaker,)
        return Tell(**stated, speaker=one.speaker, listeners=others, room=room.id)
    return Say(**stated, **version, speaker=one.speaker, room=room.id, decides=one.decides,
               witnesses=_seen(message, room, people), crowd=crowd,
               mentions=tuple(p for p in one.addressees if p in people))  # fmt: skip


def _edited(message: Message) -> datetime | None:
    """When it came to say what it says now; an edit soon after counts as never having happened."""
    if message.edited is None or message.edited.at - message.at <= REPLACES:
        return None
    return message.edited.at


def _seen(message: Message, room: Room, people: frozenset[str]) -> dict[str, Grade] | None:
    """Witnesses where they are not simply whoever is in the room: in threads and conversations."""
    if room.kind == "direct":
        return dict.fromkeys(sorted((room.members or frozenset()) & people), "exposed")
    if message.thread in (None, message.ts) or message.broadcast:
        return None
    return {}


# ------------------------------------------------------------------------------- later evidence


class _Talk(NamedTuple):
    """The lines of a room in order: all, those shown to the whole room, and by thread with its root.

    `inside`: who reads the room, None where that may be anybody.
    """

    lines: Sequence[Line]
    shown: Sequence[Line]
    threads: Mapping[str, Sequence[Line]]
    inside: frozenset[str] | None


def _talk(lines: Iterable[Line], room: Room) -> _Talk:
    ordered = sorted(merged(lines))
    threads: dict[str, list[Line]] = defaultdict(list)
    for one in ordered:
        threads[one.thread or one.ts].append(one)
    inside = None
    if room.kind != "public" and room.members is not None:
        inside = room.members | {one.author for one in ordered if one.author}
    return _Talk(ordered, [one for one in ordered if one.shown], threads, inside)


def engagements(
    lines: Sequence[Line], room: Room, people: frozenset[str]
) -> list[Notice | Retract]:
    """What the lines of a room show about who saw which statements, and which were taken back.

    A pure function of all lines known: it may be asked again whenever lines arrive, in any order,
    and gives the same events for the same lines. A person's first sign counts.
    """
    talk = _talk(lines, room)
    versions = _versions(lines)
    found: list[Notice | Retract] = []
    for one in talk.lines:
        changes = {at for version in versions[one.ts] for at in _moments(version)}
        for version in versions[one.ts]:
            stated = one._replace(mentions=version.mentions)
            for event, at in version.said:
                until = min((when for when in changes if when > at), default=None)
                found += _sightings(stated, event, at, until, talk, people, room.id)
                if one.removed:
                    found.append(Retract(id=_fit(f"{event}-gone"), at=at, event=event))
    return found


def _sightings(
    stated: Line,
    event: str,
    at: datetime,
    until: datetime | None,
    talk: _Talk,
    people: frozenset[str],
    room: str,
) -> list[Notice]:
    """Who saw one statement, that was made at `at` and stood `until` its message was edited."""
    reached = sorted(_reached(stated, at, talk) & people)
    signs = sorted(_signs(stated, at, until, talk).items())
    return [
        Notice(id=_fit(f"{event}-in-{person}"), at=at, person=person, event=event,
               grade="exposed", room=room)
        for person in reached
    ] + [
        Notice(id=_fit(f"{event}-seen-{person}-{_micros(when)}"), at=when, person=person,
               event=event, grade="engaged", room=room)
        for person, when in signs if person in people
    ]  # fmt: skip


def _reached(stated: Line, at: datetime, talk: _Talk) -> frozenset[str]:
    """Whom a reply that is kept to its thread reaches: root author, earlier repliers, mentioned.

    An edit does not reach whoever had engaged with what stood there before it. A mention reaches
    nobody from outside a room that only the people in it read.
    """
    if stated.shown or stated.thread is None:
        return frozenset()
    earlier = [one for one in talk.threads[stated.thread] if one.at < stated.at]
    named = {person for one in (*earlier, stated) for person in one.mentions}
    if talk.inside is not None:
        named &= talk.inside
    before = _signs(stated, stated.at, at, talk) if at > stated.at else {}
    return frozenset({one.author for one in earlier if one.author} | named) - {
        stated.author or "",
        *before,
    }


def _signs(stated: Line, at: datetime, until: datetime | None, talk: _Talk) -> dict[str, datetime]:
    """Person to the moment of the first sign that the statement was seen, `until` a later version."""
    signs = _after(talk.threads[stated.thread or stated.ts], at, None)
    if stated.shown:
        nearby = [one for one in _after(talk.shown, at, at + NEARBY) if one.ts != stated.ts]
        signs += nearby[:NEARBY_LINES]
    answers = _after(talk.lines, at, at + ANSWERS_WITHIN) if stated.mentions else []
    signs += [one for one in answers if one.author in stated.mentions]
    first: dict[str, datetime] = {}
    for one in sorted(signs, key=lambda one: one.at):
        if one.author not in (None, stated.author) and (until is None or one.at < until):
            first.setdefault(one.author, one.at)
    return first


def _after(lines: Sequence[Line], at: datetime, until: datetime | None) -> list[Line]:
    start = bisect_right(lines, at, key=lambda one: one.at)
    end = len(lines) if until is None else bisect_right(lines, until, key=lambda one: one.at)
    return list(lines[start:end])


def _versions(lines: Iterable[Line]) -> Mapping[str, Sequence[Line]]:
    """By `ts`: what a message was heard to say, each saying once, with whom it mentioned then."""
    found: dict[str, dict[tuple[object, ...], Line]] = defaultdict(dict)
    for one in sorted(lines, key=_version):
        said = (one.edited, one.said)
        other = found[one.ts].get(said, one)
        mentions = tuple(sorted({*one.mentions, *other.mentions}))
        found[one.ts][said] = one._replace(mentions=mentions)
    return {ts: list(versions.values()) for ts, versions in found.items()}


def _version(one: Line) -> tuple[object, ...]:
    """What tells two versions of a line apart, in an order that any of them can be put in."""
    return one.ts, one.removed, str(one.edited or ""), one.said, one.mentions


def _moments(version: Line) -> list[datetime]:
    """When a version came to say what it says."""
    return [*(at for _, at in version.said), *filter(None, (version.edited,))]


def _micros(when: datetime) -> int:
    return (when - _EPOCH) // timedelta(microseconds=1)


def merged(lines: Iterable[Line]) -> list[Line]:
    """One line per `ts`: a message heard in several versions said everything that any of them said."""
    found: dict[str, Line] = {}
    for one in sorted(lines, key=_version):
        other = found.get(one.ts)
        found[one.ts] = one if other is None else Line(
            at=one.at,
            ts=one.ts,
            author=one.author or other.author,
            thread=one.thread or other.thread,
            shown=one.shown or other.shown,
            mentions=tuple(sorted({*one.mentions, *other.mentions})),
            said=tuple(sorted({*one.said, *other.said})),
            removed=one.removed or other.removed,
            edited=max(filter(None, (one.edited, other.edited)), default=None),
        )  # fmt: skip
    return list(found.values())


def acknowledged(
    message: Message, said: Iterable[Say | Tell | Report], people: frozenset[str]
) -> list[Notice]:
    """What reactions show. In an export they have no time: they count as given when it was said,
    after its edit."""
    reactors = sorted({p for some in message.reactions.values() for p in some} & people)
    return [
        Notice(id=_fit(f"{event.id}-ack-{person}"), at=event.at, person=person, event=event.id,
               grade="acknowledged", room=message.room)
        for event in said
        for person in reactors
        if person != event.speaker
    ]  # fmt: skip
