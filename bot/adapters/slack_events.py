"""What an event of Slack tells, as plain values; pure.

It refuses to know how events arrive and what is done about them. An event that tells nothing new (a
link's preview, a counter, an app that draws its card anew) tells nothing here. Platform facts:
sections A4, A5 and B3 of the Slack research; the numbers in comments are its cases of section C.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bot.adapters.slack_records import (
    Record,
    about_another,
    as_id,
    as_record,
    as_text,
    as_ts,
    first_text,
    is_bot,
    moment_of,
    permalink,
    person_of,
    said,
    subtype_of,
)
from bot.chat import Command, Enter, Exit, Heard, Message, Person, Reaction
from engine.events import Moment

QUESTION_LIMIT = 3_000  # characters; nobody asks longer, and a page may be pasted


class Own(NamedTuple):
    """Who we are there: our user, our bot, our app."""

    workspace: str
    user: str
    bot: str = ""
    app: str = ""


class Known(NamedTuple):
    """A person as the platform describes them now; `at`: as of when."""

    person: Person
    at: Moment


class Came(NamedTuple):
    """We are in a room from now on."""

    room: str
    at: Moment


class Went(NamedTuple):
    """We are in a room no longer, and hear nothing of it."""

    room: str
    at: Moment


class Renewed(NamedTuple):
    """Something about a room changed; it has to be asked for anew. `closed`: it is private by now."""

    room: str
    closed: bool = False


class Renamed(NamedTuple):
    """A room has another id from now on; what was known under the old one is of the new one."""

    old: str
    new: str


class Look(NamedTuple):
    """Something happened in a room that no event tells: its history (or a thread) has to be read."""

    room: str
    thread: str | None = None


class LookEverywhere(NamedTuple):
    """Events were withheld from us."""


class Opened(NamedTuple):
    """Somebody opened our page."""

    person: str


class Uninstalled(NamedTuple):
    """We were thrown out of the workspace."""


type News = (
    Heard | Known | Came | Went | Renewed | Renamed | Look | LookEverywhere | Opened | Uninstalled
)

_ROOMS = frozenset(
    f"{kind}_{what}"
    for kind in ("channel", "group")
    for what in (
        "rename",
        "archive",
        "unarchive",
        "deleted",
        "shared",
        "unshared",
        "created",
        "open",
    )
)
_OPENED = frozenset({"channel_convert_to_private", "channel_convert_to_public"})


def news(event: Record, own: Own, people: Mapping[str, Person]) -> list[News]:
    """What one event tells, in order; nothing for one that is unknown or broken."""
    return list(_news(event, own, people))


def _news(event: Record, own: Own, people: Mapping[str, Person]) -> Iterator[News]:
    at = as_ts(event.get("event_ts")) or as_ts(event.get("ts"))
    room = _room(event)
    match as_text(event.get("type")):
        case "message":
            yield from _message(event, own, people)
        case "app_mention":
            yield from _asked(event, own, event)
        case "reaction_added" | "reaction_removed":
            yield from _reaction(event, people)
        case "member_joined_channel" | "member_left_channel" if room and at:
            yield from _moved(event, room, at, own, people)
        case "channel_left" | "group_left" if room and at:
            yield Went(room, moment_of(at))
        case "user_change" | "team_join" | "user_profile_changed" if at:
            person = person_of(as_record(event.get("user")))
            if person is not None:
                yield Known(_placed(person, event, own), moment_of(at))
        case "channel_id_changed":
            old = as_id(event.get("old_channel_id"))
            new = as_id(event.get("new_channel_id"))
            if old and new and old != new:
                yield Renamed(old, new)
        case "channel_history_changed" | "group_history_changed" | "im_history_changed" if room:
            yield Look(room)
        case "app_home_opened":
            person_id = as_id(event.get("user"))
            if person_id and event.get("tab", "home") == "home":
                yield Opened(person_id)
        case "app_uninstalled":
            yield Uninstalled()
        case "tokens_revoked" if as_record(event.get("tokens")).get("bot"):
            yield Uninstalled()
        case "app_rate_limited":
            yield LookEverywhere()
        case kind if kind in _ROOMS and room:
            yield Renewed(room)
        case _:
            return


def room_in(event: Record) -> str | None:
    """The channel that an event is about, None for one about no channel."""
    return _room(event) or _room(as_record(event.get("item")))


def _room(event: Record) -> str | None:
    """A channel's id; some events carry the channel as an object."""
    channel = event.get("channel")
    return as_id(channel) or as_id(as_record(channel).get("id"))


def _placed(person: Person, event: Record, own: Own) -> Person:
    """Who belongs to another organisation reads only where they are, as a guest does."""
    team = as_id(as_record(event.get("user")).get("team_id"))
    return person if team in (None, own.workspace) else person.model_copy(update={"guest": True})


# ------------------------------------------------------------------------------- messages


def _message(event: Record, own: Own, people: Mapping[str, Person]) -> Iterator[News]:
    room, subtype = _room(event), subtype_of(event)
    if room is None:
        return
    match subtype:
        case "message_changed":
            yield from _changed(event, room, people)
        case "message_deleted":
            yield from _deleted(event, room, people)
        case "message_replied":  # C9: the reply itself may never come
            thread = as_ts(as_record(event.get("message")).get("thread_ts"))
            if thread:
                yield Look(room, thread)
        case kind if kind in _OPENED:
            yield Renewed(room, closed=kind == "channel_convert_to_private")
        case _:
            message = said(event, room, people)
            if message is None:
                return
            yield message.model_copy(update={"reactions": {}})
            direct = event.get("channel_type") in ("im", "app_home")
            if direct and message.author is not None and not message.system:
                yield from _asked(event, own, event)


def _changed(event: Record, room: str, people: Mapping[str, Person]) -> Iterator[News]:
    """An edit is one only where the text became another one (C1, C2)."""
    message, before = as_record(event.get("message")), as_record(event.get("previous_message"))
    if subtype_of(message) == "tombstone":
        yield from _gone(message, before, event, room, people)
        return
    new = about_another(event, room, people)
    if new is None:
        return
    old = said({**message, **before, "ts": new.ts}, room, people) if before else None
    if new.edited is not None and (old is None or old.text != new.text):
        yield new.model_copy(update={"reactions": {}})
        return
    latest = as_ts(message.get("latest_reply"))
    if latest is not None and latest != as_ts(before.get("latest_reply")):
        yield Look(room, as_ts(message.get("thread_ts")) or new.ts)


def _deleted(event: Record, room: str, people: Mapping[str, Person]) -> Iterator[News]:
    ts = as_ts(event.get("deleted_ts"))
    if ts is not None:
        yield from _gone({"ts": ts}, as_record(event.get("previous_message")), event, room, people)


def _gone(
    now: Record, before: Record, event: Record, room: str, people: Mapping[str, Person]
) -> Iterator[News]:
    """Its own `ts` is that of the message; the event's is when it went."""
    ts, when = as_ts(now.get("ts")), as_ts(event.get("event_ts")) or as_ts(event.get("ts"))
    if ts is None:
        return
    kept = {key: before[key] for key in ("user", "thread_ts", "bot_id") if key in before}
    old = said({**kept, "ts": ts, "text": ""}, room, people)
    if old is not None:
        gone = None if when is None else moment_of(when)
        yield old.model_copy(update={"text": "", "removed": True, "gone": gone, "edited": None})


# ------------------------------------------------------------------------------- people


def _reaction(event: Record, people: Mapping[str, Person]) -> Iterator[News]:
    item, who = as_record(event.get("item")), as_id(event.get("user"))
    room, ts = as_id(item.get("channel")), as_ts(item.get("ts"))
    at, name = as_ts(event.get("event_ts")), first_text(event.get("reaction"))
    if item.get("type") == "message" and who and room and ts and at and name:
        if is_bot(who, people):
            return
        yield Reaction(
            room=room, ts=ts, at=moment_of(at), who=who, name=name,
            removed=event.get("type") == "reaction_removed",
        )  # fmt: skip


def _moved(
    event: Record, room: str, at: str, own: Own, people: Mapping[str, Person]
) -> Iterator[News]:
    who, enters = as_id(event.get("user")), event.get("type") == "member_joined_channel"
    if who is None:
        return
    if who == own.user:
        yield (Came if enters else Went)(room, moment_of(at))
    elif not is_bot(who, people):
        kind = Enter if enters else Exit
        id = f"{own.workspace}-{room}-{kind.__name__.lower()}-{who}-{at.replace('.', '_')}"
        yield kind(id=id, at=moment_of(at), person=who, room=room)


# ------------------------------------------------------------------------------- questions


def _asked(event: Record, own: Own, where: Record) -> Iterator[News]:
    """`@bot whoknows decision-42`, in a thread too, and the same without the mention in a direct
    message. The message itself comes as an event of its own (C3)."""
    who, room, ts = as_id(event.get("user")), _room(where), as_ts(event.get("ts"))
    if who is None or room is None or ts is None or event.get("bot_id"):
        return
    text = as_text(event.get("text"))[:QUESTION_LIMIT]
    mentioned = re.match(rf"\s*<@{re.escape(own.user)}(?:\|[^>]*)?>[\s:,]*", text)
    direct = event.get("channel_type") in ("im", "app_home")
    if not direct and mentioned is None:
        return  # spoken of, not spoken to
    name, *rest = text[mentioned.end() if mentioned else 0 :].split(maxsplit=1)[:2] or [""]
    name = name.removeprefix("/").rstrip(":,").casefold()
    if name:
        yield Command(
            name=name, text="".join(rest).strip(), who=who, room=room, at=moment_of(ts), ts=ts,
            thread=as_ts(event.get("thread_ts")),
        )  # fmt: skip


def links(url: str, message: Message, channel: str = "") -> Message:
    """With its permalink, where the workspace's address is known; `channel`: what Slack calls its
    room now."""
    if not url:
        return message
    link = permalink(url, channel or message.room, message.ts, message.thread)
    return message.model_copy(update={"link": link})
