"""Who perceived what, and with what grade; pure.

It turns statements into the engine's events and lines of a room into evidence of having seen them.
It refuses to know how messages were read or where events go. The rules are those of
`docs/architecture.md`, "Perception" (rule 1 of the product; section B of the Slack research).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
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
    """

    at: datetime
    ts: str
    author: str | None
    thread: str | None = None
    shown: bool = True
    mentions: tuple[str, ...] = ()
    said: tuple[tuple[str, datetime], ...] = ()
    removed: bool = False


class Thread(NamedTuple):
    """Who takes part in a thread before a moment: its root's author, repliers, people mentioned."""

    people: frozenset[str] = frozenset()


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
    thread: Thread,
    crowd: int = SMALL,
) -> list[Say | Tell | Report]:
    """What a message's statements are as events, with who perceived them.

    `people`: everybody who can perceive (programs cannot). `thread`: who took part in the message's
    thread before it. `crowd`: in rooms with more people, being there makes nobody a witness.
    """
    return [
        _event(message, one, id, room, people, thread, crowd)
        for one, id in zip(statements, _ids(message, statements, workspace), strict=True)
    ]


def _ids(message: Message, statements: Sequence[Statement], workspace: str) -> list[str]:
    """One identity per message and entity, so that an edit finds the version it edits."""
    base, ids = source(workspace, message.room, message.ts), list[str]()
    for one in statements:
        id = f"{base}-{one.entity}"
        if one.kind == "report":
            id += f"-about-{one.about}"
        again = sum(other == id or other.startswith(f"{id}-again") for other in ids)
        ids.append(f"{id}-again{again}" if again else id)
    return ids


def _event(
    message: Message,
    one: Statement,
    id: str,
    room: Room,
    people: frozenset[str],
    thread: Thread,
    crowd: int,
) -> Say | Tell | Report:
    at, version = message.at, dict[str, str]()
    if message.edited is not None and message.edited.at > message.at:
        earlier = id
        id = f"{id}-v{int(message.edited.at.timestamp() * 1_000_000)}"
        if message.edited.at - message.at <= REPLACES:
            version = {"replaces": earlier}
        else:
            at, version = message.edited.at, {"edits": earlier}
    stated = {"id": id, "at": at, "entity": one.entity, "value": one.value, "name": one.name,
              "quote": one.quote, "link": message.link}  # fmt: skip
    members = (room.members or frozenset()) & people
    if one.kind == "report" and one.about is not None:
        seen = _seen(message, room, members, people, thread, one.addressees)
        return Report(**stated, speaker=one.speaker, room=room.id, about=one.about,
                      witnesses=seen, crowd=crowd)  # fmt: skip
    if room.kind == "direct":
        others = tuple(sorted((room.members or frozenset()) - {one.speaker})) or (one.speaker,)
        return Tell(**stated, speaker=one.speaker, listeners=others, room=room.id)
    seen = _seen(message, room, members, people, thread, one.addressees)
    return Say(**stated, **version, speaker=one.speaker, room=room.id, decides=one.decides,
               witnesses=seen, crowd=crowd, mentions=tuple(p for p in one.addressees if p in people))  # fmt: skip


def _seen(
    message: Message,
    room: Room,
    members: frozenset[str],
    people: frozenset[str],
    thread: Thread,
    mentions: Iterable[str],
) -> dict[str, Grade] | None:
    """Witnesses where they are not simply whoever is in the room: in threads and conversations."""
    if room.kind == "direct":
        return dict.fromkeys(sorted(members), "exposed")
    if message.thread in (None, message.ts) or message.broadcast:
        return None
    return dict.fromkeys(sorted((thread.people | set(mentions)) & people), "exposed")


# ------------------------------------------------------------------------------- later evidence


def taking_part(lines: Iterable[Line], root: str, before: datetime) -> Thread:
    """Who takes part in a thread before a moment, from the lines of its room."""
    people: set[str] = set()
    for one in lines:
        if one.at < before and root in (one.ts, one.thread):
            people |= {one.author} if one.author else set()
            people |= set(one.mentions)
    return Thread(frozenset(people))


def engagements(lines: Sequence[Line], room: str, people: frozenset[str]) -> list[Notice | Retract]:
    """What the lines of a room show about who saw which statements, and which were taken back.

    A pure function of all lines known: it may be asked again whenever lines arrive, in any order,
    and gives the same events for the same lines. A person's first sign counts.
    """
    ordered = sorted(merged(lines))
    shown = [one for one in ordered if one.shown]
    threads: dict[str, list[Line]] = {}
    for one in ordered:
        if one.thread is not None:
            threads.setdefault(one.thread, []).append(one)
    found: list[Notice | Retract] = []
    for one in ordered:
        versions = sorted(one.said, key=lambda said: (said[1], said[0]))
        for i, (event, at) in enumerate(versions):
            later = [when for _, when in versions[i + 1 :] if when > at]
            until = min(later, default=None)
            signs = _signs(one, at, until, ordered, shown, threads)
            found += [
                Notice(id=f"{event}-seen-{person}", at=when, person=person, event=event,
                       grade="engaged", room=room)
                for person, when in sorted(signs.items())
                if person in people
            ]  # fmt: skip
            if one.removed:
                found.append(Retract(id=f"{event}-gone", at=at, event=event))
    return found


def _signs(
    stated: Line,
    at: datetime,
    until: datetime | None,
    ordered: Sequence[Line],
    shown: Sequence[Line],
    threads: Mapping[str, Sequence[Line]],
) -> dict[str, datetime]:
    """Person to the moment of the first sign that the statement was seen, `until` a later version."""
    replies = _after(threads.get(stated.thread or stated.ts, ()), at, None)
    signs = [one for one in replies if one.ts != stated.ts]
    if stated.shown:
        signs += [one for one in _after(shown, at, at + NEARBY) if one.ts != stated.ts][
            :NEARBY_LINES
        ]
    answers = _after(ordered, at, at + ANSWERS_WITHIN) if stated.mentions else []
    signs += [one for one in answers if one.author in stated.mentions]
    first: dict[str, datetime] = {}
    for one in sorted(signs):
        if one.author not in (None, stated.author) and (until is None or one.at < until):
            first.setdefault(one.author, one.at)
    return first


def _after(lines: Sequence[Line], at: datetime, until: datetime | None) -> list[Line]:
    start = bisect_right(lines, at, key=lambda one: one.at)
    end = len(lines) if until is None else bisect_right(lines, until, key=lambda one: one.at)
    return list(lines[start:end])


def merged(lines: Iterable[Line]) -> list[Line]:
    """One line per `ts`: a message heard in several versions said everything that any of them said."""
    found: dict[str, Line] = {}
    for one in sorted(lines, key=lambda one: (one.ts, one.removed, one.said, one.mentions)):
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
        )  # fmt: skip
    return list(found.values())


def acknowledged(
    message: Message, said: Iterable[Say | Tell | Report], people: frozenset[str]
) -> list[Notice]:
    """What reactions show. In an export they have no time: they count as given when it was said,
    after its edit."""
    reactors = sorted({p for some in message.reactions.values() for p in some} & people)
    return [
        Notice(id=f"{event.id}-ack-{person}", at=event.at, person=person, event=event.id,
               grade="acknowledged", room=message.room)
        for event in said
        for person in reactors
        if person != event.speaker
    ]  # fmt: skip
