"""Who perceived what, and with what grade; pure.

It turns statements into the engine's events and lines of a room into evidence of having seen them.
It refuses to know how messages were read or where events go. The rules are those of
`docs/architecture.md`, "Perception" (rule 1 of the product; section B of the Slack research).
"""

import hashlib
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from bot.chat import Message, Room
from engine.events import Grade, Notice, Report, Retract, Say, Tell, Unsee
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


class Said(NamedTuple):
    """One statement of a message: its event, and when it came to say so. `first`: the event that the
    message's first version has of the same thing; empty where versions are not linked by it."""

    event: str
    at: datetime
    first: str = ""


class Line(NamedTuple):
    """One version of a line of a room as it is remembered: who, when, where; never what was written.

    `thread`: the root's `ts`, None outside threads. `shown`: the whole room sees it (not a reply
    kept to its thread). `said`: the statements of this version. `edited`: when it came to say what
    this version says, None where it always did; `soon`: when an edit within a minute made it so, as
    if it had been written so; `editor`: who edited it. `reactions`: what is shown with this version
    without a time, as name and person. `removed`: it is gone, since `gone` where that is known.
    `words`: of an edit, what tells its text from another's (`words_of`).
    """

    at: datetime
    ts: str
    author: str | None
    thread: str | None = None
    shown: bool = True
    mentions: tuple[str, ...] = ()
    said: tuple[Said, ...] = ()
    removed: bool = False
    edited: datetime | None = None
    soon: datetime | None = None
    editor: str | None = None
    reactions: tuple[tuple[str, str], ...] = ()
    gone: datetime | None = None
    words: str = ""


class Reacted(NamedTuple):
    """Somebody reacted to a line, or (`removed`) took it back; `name` with its skin tone."""

    ts: str
    at: datetime
    who: str
    name: str
    removed: bool = False


def line(
    message: Message,
    mentions: Iterable[str],
    said: Iterable[Say | Tell | Report],
    people: frozenset[str] = frozenset(),
) -> Line:
    """`people`: whose reactions count."""
    edited, edit = _edited(message), message.edited
    return Line(
        at=message.at,
        ts=message.ts,
        author=None if message.system or message.removed else message.author,
        thread=message.thread,
        shown=message.thread in (None, message.ts) or message.broadcast,
        mentions=tuple(sorted(set(mentions))),
        said=tuple(Said(event.id, event.at, _first(event)) for event in said),
        removed=message.removed,
        edited=edited,
        soon=None if edit is None or edited is not None else max(edit.at, message.at),
        editor=None if edit is None or edited is None else edit.by,
        reactions=tuple(
            sorted(
                (name, person)
                for name, some in message.reactions.items()
                for person in set(some) & people
            )
        ),
        gone=message.gone if message.removed else None,
        words=words_of(message),
    )


def words_of(message: Message) -> str:
    """A short hash of what an edit says, so that another edit of the same moment is told from it."""
    if message.edited is None or message.removed:
        return ""
    told = f"{message.room}/{message.ts}/{message.text}".encode("utf-8", "replace")
    return hashlib.sha256(told).hexdigest()[:12]


def _first(event: Say | Tell | Report) -> str:
    return (event.edits or event.replaces or event.id) if isinstance(event, Say) else ""


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
    at, version, speaker = message.at, dict[str, str](), one.speaker
    if message.edited is not None and message.edited.at > message.at:
        earlier = _fit(id)
        id = f"{id}-v{_micros(message.edited.at)}"
        if (edited := _edited(message)) is None:
            version = {"replaces": earlier}
        else:
            at, version = edited, {"edits": earlier}
            if speaker == message.author and message.edited.by in people:
                speaker = message.edited.by  # whoever edits it says it
    stated = {"id": _fit(id), "at": at, "entity": one.entity, "value": one.value,
              "name": one.name, "quote": one.quote, "link": message.link}  # fmt: skip
    members = room.members or frozenset()
    if one.kind == "report" and one.about is not None:
        return Report(**stated, speaker=speaker, room=room.id, about=one.about,
                      witnesses=_seen(message, room, people), crowd=crowd)  # fmt: skip
    if room.kind == "direct":
        others = tuple(sorted(members - {speaker})) or (speaker,)
        return Tell(**stated, speaker=speaker, listeners=others, room=room.id)
    return Say(**stated, **version, speaker=speaker, room=room.id, decides=one.decides,
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


class _Version(NamedTuple):
    """What a message said from `moment` on, `until` it was edited or removed."""

    moment: datetime
    line: Line
    until: datetime | None = None


class _Story(NamedTuple):
    """What became of one message: the versions that stood, in order; `never`: the statements of
    versions that were replaced within a minute; whether it is gone, and since when if that is known."""

    stood: Sequence[_Version]
    never: Sequence[Said]
    removed: bool
    gone: datetime | None


class _Talk(NamedTuple):
    """The lines of a room in order: all, those shown to the whole room, and by thread with its root.

    `inside`: who reads the room, since when; None where that may be anybody. `reacted`: by line.
    """

    lines: Sequence[Line]
    shown: Sequence[Line]
    threads: Mapping[str, Sequence[Line]]
    inside: Mapping[str, datetime] | None
    reacted: Mapping[str, Sequence[Reacted]]


def _talk(
    lines: Iterable[Line],
    reacted: Iterable[Reacted],
    room: Room,
    came: Mapping[str, datetime],
) -> _Talk:
    ordered = sorted(merged(lines), key=lambda one: (one.at, one.ts))
    threads: dict[str, list[Line]] = defaultdict(list)
    for one in ordered:
        threads[one.thread or one.ts].append(one)
    inside: dict[str, datetime] | None = None
    if room.kind != "public" and room.members is not None:
        wrote = {one.author for one in ordered if one.author}
        inside = {**dict.fromkeys(room.members | wrote, _EPOCH), **came}
    of: dict[str, list[Reacted]] = defaultdict(list)
    for sign in set(reacted):
        of[sign.ts].append(sign)
    return _Talk(ordered, [one for one in ordered if one.shown], threads, inside, of)


type Concluded = Notice | Unsee | Retract


def engagements(
    lines: Sequence[Line],
    room: Room,
    people: frozenset[str],
    reacted: Iterable[Reacted] = (),
    only: Collection[str] | None = None,
    came: Mapping[str, datetime] | None = None,
) -> list[Concluded]:
    """What the lines of a room show about who saw which statements, and what became of those.

    A pure function of all lines known: it may be asked again whenever lines arrive, in any order,
    and gives the same events for the same lines. A person's first sign counts. `only`: of the
    statements of these lines (by `ts`); then the lines that bear upon them are enough. `came`: since
    when people were in a room that not everybody reads, where that is known.
    """
    talk = _talk(lines, reacted, room, came or {})
    stories = _stories(lines)
    found: list[Concluded] = []
    for one in talk.lines:
        if only is None or one.ts in only:
            found += _shown_by(one, stories[one.ts], talk, people, room.id)
    return found


def is_concluded(mark: Concluded) -> bool:
    """Whether it was made here, and not by somebody who pressed something."""
    match mark:
        case Notice():
            return mark.id in (_exposed(mark.event, mark.person), _seen_id(mark), _ack_id(mark))
        case Unsee():
            return mark.id == _unmoved(mark.event, mark.person)
        case Retract():
            return mark.id in {_gone_id(mark.event, at) for at in (None, mark.at)} | {
                _never_id(mark.event), _cut_id(mark.event, mark.at)
            }  # fmt: skip


def _shown_by(
    message: Line, story: _Story, talk: _Talk, people: frozenset[str], room: str
) -> Iterator[Concluded]:
    """What is known of one message: version by version who saw it, and how its statements ended."""
    acknowledged = _acknowledged(story, talk.reacted.get(message.ts, ()))
    for number, version in enumerate(story.stood):
        said = (
            version.line.said if number or not story.never else (*story.never, *version.line.said)
        )
        if not said and not number:
            continue
        author = version.line.editor or message.author
        stated = message._replace(mentions=version.line.mentions, author=author)
        before = frozenset[str]()
        if number or version.moment > message.at:
            before = _before(stated, version.moment, acknowledged[:number], talk)
        if number:
            yield from _cut(story.stood[:number], version, author)
            fixed = before | ({message.author} if message.author else set())
            fresh = {p for p, since, _ in acknowledged[number] if since == version.moment}
            for person in sorted((fixed & people) - fresh - {author or ""}):
                for one in _unlinked(said, story.stood[number - 1]):
                    yield Unsee(id=_unmoved(one.event, person), at=one.at, person=person,
                                event=one.event, room=room)  # fmt: skip
        for one in said:
            yield from _sightings(
                stated, one, version, before, acknowledged[number], talk, people, room
            )
    ever = [one for version in story.stood for one in version.line.said]
    for one in story.never:
        yield Retract(id=_never_id(one.event), at=one.at, event=one.event, void=True)
    if story.removed:
        for one in ever:
            at = one.at if story.gone is None else max(story.gone, one.at)
            stamp = None if story.gone is None else at
            yield Retract(id=_gone_id(one.event, stamp), at=at, event=one.event)


def _cut(earlier: Sequence[_Version], edit: _Version, editor: str | None) -> Iterator[Retract]:
    """What earlier versions said and this one no longer does; it is cut once."""
    if editor is None:
        return
    linked = [{one.first for one in v.line.said if one.first} for v in (*earlier, edit)]
    for number, version in enumerate(earlier):
        *between, now = linked[number + 1 :]
        for one in version.line.said:
            if one.first not in now and all(one.first in there for there in between):
                yield Retract(id=_cut_id(one.event, edit.moment), at=edit.moment, event=one.event,
                              edited_by=editor)  # fmt: skip


def _unlinked(said: Iterable[Said], earlier: _Version) -> list[Said]:
    """Statements that the version before did not make of the same thing: nobody moves with them."""
    known = {one.first for one in earlier.line.said if one.first}
    return [one for one in said if one.first not in known]


def _sightings(
    stated: Line,
    said: Said,
    version: _Version,
    before: frozenset[str],
    acknowledged: Iterable[tuple[str, datetime, datetime | None]],
    talk: _Talk,
    people: frozenset[str],
    room: str,
) -> Iterator[Notice]:
    """Who saw one statement of a version."""
    event = said.event
    for person in sorted(_reached(stated, before, talk) & people):
        yield Notice(id=_exposed(event, person), at=said.at, person=person, event=event,
                     grade="exposed", room=room)  # fmt: skip
    for person, when in sorted(_signs(stated, version.moment, version.until, talk).items()):
        if person in people:
            sign = Notice(id="-", at=when, person=person, event=event, grade="engaged", room=room)
            yield sign.model_copy(update={"id": _seen_id(sign)})
    for person, since, until in acknowledged:
        if person in people and person != stated.author:
            sign = Notice(id="-", at=since, person=person, event=event, room=room, until=until)
            yield sign.model_copy(update={"id": _ack_id(sign)})


def _exposed(event: str, person: str) -> str:
    return _fit(f"{event}-in-{person}")


def _seen_id(sign: Notice) -> str:
    return _fit(f"{sign.event}-seen-{sign.person}-{_micros(sign.at)}")


def _ack_id(sign: Notice) -> str:
    until = "" if sign.until is None else f"-{_micros(sign.until)}"
    return _fit(f"{sign.event}-ack-{sign.person}-{_micros(sign.at)}{until}")


def _unmoved(event: str, person: str) -> str:
    return _fit(f"{event}-not-{person}")


def _never_id(event: str) -> str:
    return _fit(f"{event}-never")


def _cut_id(event: str, at: datetime) -> str:
    return _fit(f"{event}-cut-{_micros(at)}")


def _gone_id(event: str, at: datetime | None) -> str:
    return _fit(f"{event}-gone" if at is None else f"{event}-gone-{_micros(at)}")


def _before(
    stated: Line,
    at: datetime,
    earlier: Sequence[Sequence[tuple[str, datetime, datetime | None]]],
    talk: _Talk,
) -> frozenset[str]:
    """Who had engaged with what stood there before an edit, or acknowledged it and not taken it back."""
    acknowledged = {
        person
        for some in earlier
        for person, since, until in some
        if since < at and (until is None or until > at)
    }
    return frozenset(acknowledged | _signs(stated, stated.at, at, talk).keys())


def _reached(stated: Line, before: frozenset[str], talk: _Talk) -> frozenset[str]:
    """Whom a reply that is kept to its thread reaches: root author, earlier repliers, mentioned.

    An edit does not reach whoever had engaged with what stood there before it. A mention reaches
    nobody from outside a room that only the people in it read.
    """
    if stated.shown or stated.thread is None:
        return frozenset()
    earlier = [one for one in talk.threads[stated.thread] if one.at < stated.at]
    named = {person for one in (*earlier, stated) for person in one.mentions}
    if talk.inside is not None:
        named = {p for p in named if p in talk.inside and talk.inside[p] <= stated.at}
    reached = frozenset({one.author for one in earlier if one.author} | named)
    return reached - before - {stated.author or ""}


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


# ------------------------------------------------------------------------------- reactions


def _acknowledged(
    story: _Story, reacted: Iterable[Reacted]
) -> list[list[tuple[str, datetime, datetime | None]]]:
    """By version, who acknowledged it, since when and until when (None: still).

    A reaction is about what stood there when it was given. One without a time was given with the
    version that it is shown with. Somebody who takes one back may have given another.
    """
    found: list[list[tuple[str, datetime, datetime | None]]] = [[] for _ in story.stood]
    if not story.stood:
        return found
    given = _given(story, reacted)
    for person in sorted(given):
        by_version: dict[int, list[tuple[datetime, datetime | None]]] = defaultdict(list)
        for since, until in given[person]:
            if story.gone is None or since < story.gone:
                later = [n for n, version in enumerate(story.stood) if version.moment <= since]
                by_version[max(later, default=0)].append((since, until))
        for number, stretches in by_version.items():
            found[number] += [(person, *stretch) for stretch in _joined(stretches)]
    return found


def _given(
    story: _Story, reacted: Iterable[Reacted]
) -> dict[str, list[tuple[datetime, datetime | None]]]:
    """Person to the stretches of time for which a reaction of theirs was there, one by one."""
    found: dict[str, list[tuple[datetime, datetime | None]]] = defaultdict(list)
    timeless: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for version in story.stood:
        for name, person in version.line.reactions:
            timeless[person, name].append(version.moment)
    given: dict[tuple[str, str], datetime] = {}
    for one in sorted(reacted, key=lambda one: (one.at, one.removed, one.who, one.name)):
        if not one.removed:
            given.setdefault((one.who, one.name), one.at)
            continue
        if (since := given.pop((one.who, one.name), None)) is not None:
            found[one.who].append((since, one.at))
        plain = (one.who, plain_name(one.name))
        taken = [since for since in timeless[plain] if since <= one.at]
        found[one.who] += [(since, one.at) for since in taken]
        timeless[plain] = [since for since in timeless[plain] if since > one.at]
    for (person, _), since in given.items():
        found[person].append((since, None))
    for (person, _), moments in timeless.items():
        found[person] += [(since, None) for since in moments]
    return found


def plain_name(reaction: str) -> str:
    """A reaction's name without its skin tone."""
    return reaction.split("::skin-tone-")[0]


def _joined(
    stretches: Iterable[tuple[datetime, datetime | None]],
) -> list[tuple[datetime, datetime | None]]:
    """Stretches of time that touch or overlap, as one."""
    found: list[tuple[datetime, datetime | None]] = []
    for since, until in sorted(stretches, key=lambda one: (one[0], _micros(one[1] or _EPOCH))):
        if until is not None and until <= since:
            continue
        if found and (found[-1][1] is None or since <= found[-1][1]):
            last_since, last = found.pop()
            ends = None if last is None or until is None else max(last, until)
            found.append((last_since, ends))
        else:
            found.append((since, until))
    return found


# ------------------------------------------------------------------------------- versions


def _stories(lines: Iterable[Line]) -> Mapping[str, _Story]:
    """By `ts`, what became of each message."""
    of: dict[str, list[Line]] = defaultdict(list)
    for one in lines:
        of[one.ts].append(one)
    return {ts: _story(some) for ts, some in of.items()}


def _story(lines: Sequence[Line]) -> _Story:
    versions: dict[tuple[datetime, datetime], Line] = {}
    for one in sorted(lines, key=_version):
        if not one.removed:
            key = (one.edited or _EPOCH, one.soon or _EPOCH)
            versions[key] = _joint(versions[key], one) if key in versions else one
    removed = [one for one in lines if one.removed]
    gone = min((one.gone for one in removed if one.gone is not None), default=None)
    at_first = [line for (edited, _), line in sorted(versions.items()) if edited == _EPOCH]
    later = [line for (edited, _), line in sorted(versions.items()) if edited != _EPOCH]
    standing = [*at_first[-1:], *later]
    moments = [one.edited or one.at for one in standing]
    ends = [*moments[1:], gone]
    return _Story(
        [_Version(*each) for each in zip(moments, standing, ends, strict=False)],
        [said for one in at_first[:-1] for said in one.said],
        bool(removed),
        gone,
    )


def _joint(one: Line, other: Line) -> Line:
    """The same version, heard twice."""
    return one._replace(
        author=one.author or other.author,
        mentions=tuple(sorted({*one.mentions, *other.mentions})),
        said=tuple(sorted({*one.said, *other.said})),
        editor=one.editor or other.editor,
        reactions=tuple(sorted({*one.reactions, *other.reactions})),
    )


def _version(one: Line) -> tuple[object, ...]:
    """What tells two versions of a line apart, in an order that any of them can be put in."""
    return (
        one.ts, one.removed, str(one.edited or ""), str(one.soon or ""), one.said, one.mentions,
        one.author or "", one.editor or "", one.reactions, str(one.gone or ""), one.thread or "",
        one.shown, one.words,
    )  # fmt: skip


def _micros(when: datetime) -> int:
    return (when - _EPOCH) // timedelta(microseconds=1)


def merged(lines: Iterable[Line]) -> list[Line]:
    """One line per `ts`: a message heard in several versions said everything that any of them said,
    but for those that were replaced within a minute."""
    of: dict[str, list[Line]] = defaultdict(list)
    for one in sorted(lines, key=_version):
        of[one.ts].append(one)
    return [_merged(some) for some in of.values()]


def _merged(versions: Sequence[Line]) -> Line:
    soon = max((one.soon for one in versions if one.soon is not None), default=None)
    stood = [one for one in versions if one.edited is not None or one.soon == soon]
    return Line(
        at=versions[-1].at,
        ts=versions[-1].ts,
        author=next((one.author for one in reversed(versions) if one.author), None),
        thread=next((one.thread for one in reversed(versions) if one.thread), None),
        shown=any(one.shown for one in versions),
        mentions=tuple(sorted({person for one in stood for person in one.mentions})),
        said=tuple(sorted({said for one in stood for said in one.said})),
        removed=any(one.removed for one in versions),
        edited=max((one.edited for one in versions if one.edited is not None), default=None),
    )
