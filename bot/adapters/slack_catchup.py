"""What happened while nobody told us: read from the history, so far back and at such a pace as Slack
allows, and gone on with after any interruption.

It refuses to know how Slack is asked and where things go. Of each room is kept up to where it was heard
(`seen`) and what is still to be read (`holes`); a hole is read from its newest end to its oldest, and
shrinks with each page. Whatever is read twice is recognised by the inbox. Facts: section A6 of the
Slack research.

What a history does not tell, and nobody can make good: when somebody came or left, reacted or deleted
something meanwhile, and what was written and deleted again. `Gap` says when that was. A thread is read
again where it has more or fewer replies than before, or a reply that states something: what else was
edited in old threads is left, one question for each of them would be too many.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Literal, NamedTuple, Protocol

import structlog

from bot.adapters.slack_records import (
    EPOCH,
    Record,
    as_id,
    as_int,
    as_list,
    as_record,
    as_ts,
    first_text,
    is_bot,
    moment_of,
    said,
)
from bot.adapters.slack_web import Refused, Web, next_cursor
from bot.chat import Heard, Kept, Message, Person, Reaction
from engine.events import Moment

OVERLAP = 120  # seconds read again before where it broke off: events come in any order
SHORT = timedelta(seconds=60)
"""A break of the connection that is no longer leaves no gap: everything is read again."""
MOST_GAPS = 50
"""So many gaps are remembered of a room, the newest."""

_NOT_OURS = frozenset({"not_in_channel", "channel_not_found", "missing_scope", "access_denied"})
_log = structlog.get_logger("secondorder.slack")


class Marks(Protocol):
    """Small notes that survive a restart."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, value: str) -> None: ...


class Gap(NamedTuple):
    """When a room (None: every room) was not watched. `behind`: it is being read; `until` None: it
    still is so."""

    room: str | None
    since: Moment
    until: Moment | None
    why: Literal["behind", "away", "disconnected", "unreadable"]


class Hole(NamedTuple):
    """To be read: what was said after `since`, and before `until` (empty: up to now). Both `ts`."""

    since: str
    until: str = ""


class Watched(NamedTuple):
    """How far a room was heard, and since when at all (`begun`)."""

    seen: str = ""
    holes: tuple[Hole, ...] = ()
    gaps: tuple[Gap, ...] = ()
    begun: str = ""


# ------------------------------------------------------------------------------- pure


def heard(state: Watched, ts: str) -> Watched:
    return state._replace(seen=max(state.seen, ts))


def broken(state: Watched, now: str) -> Watched:
    """From where it was heard on, something may be missing. A room that was never heard begins now."""
    if not state.seen:
        return begun(state, now)
    if any(hole.until == "" for hole in state.holes):
        return state  # nothing of it was read yet, and it reaches up to now
    since = max(earlier(state.seen, OVERLAP), state.begun)
    return state._replace(holes=(*state.holes, Hole(since)))


def begun(state: Watched, now: str) -> Watched:
    """A room is heard from now on, if it is not already: what was said before is nobody's news."""
    if any(gap.until is None for gap in state.gaps):
        return came(state, moment_of(now))
    return state if state.seen else state._replace(seen=now, begun=now)


def shrunk(state: Watched, hole: Hole, until: str | None, top: str = "") -> Watched:
    """A hole was read down to `until` (None: to its end); `top`: the newest that was read."""
    left = () if until is None else (hole._replace(until=until),)
    holes = tuple(other for other in state.holes if other != hole)
    return state._replace(holes=(*holes, *left), seen=max(state.seen, top))


def earlier(ts: str, seconds: float) -> str:
    return ts_of(max(EPOCH, moment_of(ts) - timedelta(seconds=seconds)))


def ts_of(moment: Moment) -> str:
    """A moment in Slack's own spelling."""
    micros = (moment - EPOCH) // timedelta(microseconds=1)
    return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


def went(state: Watched, room: str, at: Moment, why: Literal["away", "unreadable"]) -> Watched:
    """We hear nothing of it from then on."""
    if state.gaps and state.gaps[-1].until is None:
        return state
    gap = Gap(room, at, None, why)
    return state._replace(holes=(), gaps=(*state.gaps, gap)[-MOST_GAPS:])


def came(state: Watched, at: Moment) -> Watched:
    """We hear it from then on; what was said meanwhile we were not to hear."""
    gaps = tuple(gap if gap.until else gap._replace(until=at) for gap in state.gaps)
    return Watched(ts_of(at), (), gaps, ts_of(at))


def dumped(state: Watched) -> str:
    gaps = [
        [gap.room, ts_of(gap.since), None if gap.until is None else ts_of(gap.until), gap.why]
        for gap in state.gaps
    ]
    return json.dumps(
        {"seen": state.seen, "holes": state.holes, "gaps": gaps, "begun": state.begun}
    )


def loaded(text: str | None) -> Watched:
    """What `dumped` wrote; nothing for what it did not."""
    try:
        found = json.loads(text or "{}")
        return Watched(
            found.get("seen", ""),
            tuple(Hole(*hole) for hole in found.get("holes", ())),
            tuple(
                Gap(room, moment_of(since), None if until is None else moment_of(until), why)
                for room, since, until, why in found.get("gaps", ())
            ),
            found.get("begun", ""),
        )
    except (ValueError, TypeError, AttributeError):
        return Watched()


def given(record: Record, people: Mapping[str, Person]) -> set[tuple[str, str]]:
    """Who gave which reaction, by its name as Slack has it; programs give none."""
    return {
        (name, who)
        for reaction in map(as_record, as_list(record.get("reactions")))
        if (name := first_text(reaction.get("name")))
        for user in as_list(reaction.get("users"))
        if (who := as_id(user)) and not is_bot(who, people)
    }


def _all_named(record: Record, name: str) -> bool:
    """Whether everybody who gave a reaction is named: Slack shortens long lists."""
    for reaction in map(as_record, as_list(record.get("reactions"))):
        if first_text(reaction.get("name")) == name:
            return as_int(reaction.get("count")) <= len(as_list(reaction.get("users")))
    return True


def news_of(
    record: Record,
    room: str,
    since: str,
    known: Kept | None,
    people: Mapping[str, Person],
    at: Moment,
) -> list[Heard]:
    """What a line of the history tells beyond what is `known` of it, if it was heard up to `since`.

    A reaction counts as given, or taken back, when that was seen, at `at`: so what is told of one is
    always later than what was told before, and as in exports it is of the message as it reads now.
    """
    message = said(record, room, people)
    if message is None:
        return []
    new = known is None and message.ts > since
    found: list[Heard] = []
    if message.removed:
        if new or (known is not None and not known.removed):
            found.append(_gone(message))
        return found
    if new or _edited_since(message, since, known):
        found.append(message.model_copy(update={"reactions": {}}))
    if known is None and not new:
        return found  # said before we came: nobody's reaction to it means anything to us
    had = frozenset() if known is None else known.reactions
    has = given(record, people)
    for name, who in sorted(has - had):
        found.append(Reaction(room=room, ts=message.ts, at=at, who=who, name=name))
    for name, who in sorted(had - has):
        if _all_named(record, name):
            found.append(
                Reaction(room=room, ts=message.ts, at=at, who=who, name=name, removed=True)
            )
    return found


def _edited_since(message: Message, since: str, known: Kept | None) -> bool:
    if message.edited is None or ts_of(message.edited.at) <= since:
        return False
    return known is None or known.edited is None or message.edited.at > known.edited


def _gone(message: Message) -> Message:
    update = {"text": "", "removed": True, "reactions": {}, "edited": None}
    return message.model_copy(update=update)


def missing(kept: Iterable[Kept], shown: Iterable[str], after: str, before: str = "") -> list[Kept]:
    """Of what is kept between two `ts` (empty: to the end), what is not shown any more."""
    there = set(shown)
    return [
        one
        for one in kept
        if after < one.ts and (not before or one.ts < before)
        if one.ts not in there and not one.removed
    ]


def removal(room: str, kept: Kept) -> Message:
    """That a line is not there any more; since when is not told."""
    return Message(
        room=room, ts=kept.ts, at=moment_of(kept.ts), author=None, thread=kept.thread, removed=True
    )


# ------------------------------------------------------------------------------- reading


class Reading(NamedTuple):
    """What reading a room needs. `put` stores one thing heard, `people` are those known now, `now`
    tells the time.
    `page`: so many lines are asked for at a time. `back`: how far back threads, edits and deletions
    are looked for."""

    web: Web
    put: Callable[[Heard], Awaitable[None]]
    kept: Callable[[str, Moment], Awaitable[Sequence[Kept]]]
    people: Mapping[str, Person]
    now: Callable[[], Moment]
    page: int = 200
    back: timedelta = timedelta(days=14)


async def read_hole(
    reading: Reading,
    room: str,
    channel: str,
    hole: Hole,
    progress: Callable[[Hole, str | None, str], Awaitable[Hole]],
) -> None:
    """Reads one hole of a room (`channel`: what Slack calls it now). `progress(hole, until, top)` keeps
    how far it came and returns what is left of it. Raises slack_web.Refused."""
    floor = earlier(hole.since, reading.back.total_seconds())
    kept = {one.ts: one for one in await reading.kept(room, moment_of(floor))}
    standing = [one for one in kept.values() if one.thread in (None, one.ts)]
    cursor: str | None = None
    while cursor != "":
        at = reading.now()
        # Where it broke off is a `ts`, which outlives any cursor.
        answer = await reading.web.read(
            "conversations.history", channel=channel, limit=reading.page, oldest=floor,
            latest=hole.until or None, cursor=cursor,
        )  # fmt: skip
        lines = sorted(_lines(answer), key=lambda one: one[0])
        more = answer.get("has_more") is True or bool(next_cursor(answer))
        top = hole.until or (lines[-1][0] if lines else hole.since)
        down = lines[0][0] if lines else top
        for ts, record in lines:
            for one in news_of(record, room, hole.since, kept.get(ts), reading.people, at):
                await reading.put(one)
            await _thread_of(reading, room, channel, record, hole.since, kept)
        # What is kept was heard before this was asked, so that what is not shown is gone.
        for gone in missing(standing, [ts for ts, _ in lines], down if more else floor, hole.until):
            await reading.put(removal(room, gone))
        cursor = "" if not more else None if lines else next_cursor(answer)
        hole = await progress(hole, down if more else None, top)


async def _thread_of(
    reading: Reading, room: str, channel: str, root: Record, since: str, kept: Mapping[str, Kept]
) -> None:
    """Reads a thread where something may have happened since: a reply, fewer replies, or changes of a
    reply that states something."""
    ts, replies = as_ts(root.get("ts")), as_int(root.get("reply_count"))
    if ts is None or (not replies and not root.get("latest_reply")):
        return
    own = [one for one in kept.values() if one.thread == ts != one.ts]
    standing = [one for one in own if not one.removed]
    latest = as_ts(root.get("latest_reply")) or ""
    if latest > since or len(standing) > replies or any(one.stated for one in standing):
        try:
            await read_thread(reading, room, channel, ts, since, own)
        except Refused as refused:
            if refused.error in _NOT_OURS:
                raise
            _log.info("a thread could not be read", error=refused.error)


async def read_thread(
    reading: Reading,
    room: str,
    channel: str,
    root: str,
    since: str,
    kept: Sequence[Kept] = (),
) -> None:
    """Reads the replies of a thread from the first that is kept on, or those after `since`. Raises
    slack_web.Refused."""
    first = min([since, *(earlier(one.ts, 0.000001) for one in kept)])
    known = {one.ts: one for one in kept}
    shown: set[str] = set()
    cursor: str | None = None
    while cursor != "":
        at = reading.now()
        answer = await reading.web.read(
            "conversations.replies", channel=channel, ts=root, limit=reading.page,
            oldest=max(first, root), cursor=cursor,
        )  # fmt: skip
        for ts, record in sorted(_lines(answer), key=lambda one: one[0]):
            shown.add(ts)
            if ts != root:
                for one in news_of(record, room, since, known.get(ts), reading.people, at):
                    await reading.put(one)
        cursor = next_cursor(answer)
    for gone in missing(kept, shown, first):
        await reading.put(removal(room, gone))


def _lines(answer: Record) -> list[tuple[str, Record]]:
    records = (as_record(one) for one in as_list(answer.get("messages")))
    return [(ts, record) for record in records if (ts := as_ts(record.get("ts")))]
