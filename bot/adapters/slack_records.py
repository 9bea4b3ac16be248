"""One record of Slack, as exports and events have it, as what it says; pure.

It refuses to know where a record comes from, and what a message means. Nothing of a record is taken
on trust: what is not of the shape it should have is as if it were not there. Platform facts: section
A4 of the Slack research.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from bot.adapters.plain import clean
from bot.chat import Edit, Message, Person

type Record = Mapping[str, object]

SPOKEN = frozenset(
    {"", "bot_message", "file_comment", "file_share", "me_message", "thread_broadcast"}
)
"""Subtypes somebody said; every other one is a line the platform wrote."""
BOOKKEEPING = frozenset({"message_changed", "message_deleted", "message_replied"})
"""Lines about another line; what they repeat of it is not said again."""

SLACKBOT = "USLACKBOT"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
_TS = re.compile(r"([0-9]{1,11})(?:\.([0-9]{1,6}))?")
SHARED = re.compile(
    r"<@[A-Z0-9]+(?:\|[^>]*)?> (?:uploaded|shared) a file: <([^>]*)>"
    r"(?: and commented: (?P<words>.*))?",
    re.DOTALL,
)
_COMMENTED = re.compile(
    r"<@(?P<who>[A-Z0-9]+)(?:\|[^>]*)?> commented on .*?<[^>]*\|[^>]*>: (?P<words>.*)", re.DOTALL
)
_TONE = "::skin-tone-"


def person_of(record: Record) -> Person | None:
    id = as_id(record.get("id"))
    if id is None:
        return None
    profile = as_record(record.get("profile"))
    return Person(
        id=id,
        name=first_text(
            profile.get("display_name"),
            profile.get("real_name"),
            record.get("real_name"),
            record.get("name"),
        )
        or id,
        handle=as_text(record.get("name")).strip(),
        zone=as_text(record.get("tz")).strip(),
        bot=id == SLACKBOT or bool(record.get("is_bot")) or bool(record.get("is_app_user")),
        guest=any(
            record.get(flag) is True
            for flag in ("is_restricted", "is_ultra_restricted", "is_stranger")
        ),
        gone=bool(record.get("deleted")),
    )


def said(record: Record, room: str, people: Mapping[str, Person]) -> Message | None:
    """One line as the platform has it; None when its `ts` is none."""
    ts = as_ts(record.get("ts"))
    if ts is None:
        return None
    subtype = subtype_of(record)
    system = subtype not in SPOKEN and subtype != "tombstone"
    author, words = _who_and_what(record, subtype)
    if words is None:  # the platform's own words for a shared file
        system, words = True, clean(as_text(record.get("text")))
    bot = author is not None and is_bot(author, people)
    app = None if system and not bot else _app(record, subtype, people, author if bot else None)
    author_bot = author if bot else None
    if bot or (app is not None and not record.get("client_msg_id")):
        author = None  # never a person, whatever its name is
    if subtype == "tombstone":
        author, app, words = None, None, ""
    if subtype in BOOKKEEPING:
        words = ""
    blank = not words.strip() and not system and subtype != "tombstone"
    if blank:
        words = displayed(record.get("blocks"))
    edited = as_record(record.get("edited"))
    edited_ts = as_ts(edited.get("ts"))
    editor = as_id(edited.get("user")) or author or app
    return Message(
        room=room,
        ts=ts,
        at=moment_of(ts),
        author=author,
        text=words,
        thread=_thread(record, ts),
        broadcast=subtype == "thread_broadcast",
        edited=Edit(at=moment_of(edited_ts), by=editor) if edited_ts and editor else None,
        reactions=_reactions(record, people),
        app=app,
        app_ids=() if app is None else _app_ids(record, author_bot),
        posing=app is not None and not bot and not as_record(record.get("bot_profile")).get("name"),
        system=system,
        removed=subtype == "tombstone",
        forwarded=blank and not words and _shares(record),
    )


def _who_and_what(record: Record, subtype: str) -> tuple[str | None, str | None]:
    """Author and the words that are the author's; None for words: those are the platform's."""
    author, words = as_id(record.get("user")), clean(as_text(record.get("text")))
    if subtype == "file_share" and (shared := SHARED.fullmatch(words)):
        return author, shared["words"]
    if subtype == "file_comment":
        comment = as_record(record.get("comment"))
        told = _COMMENTED.fullmatch(words)
        author = as_id(comment.get("user")) or (as_id(told["who"]) if told else author)
        own = clean(as_text(comment.get("comment")))
        return author, own or (told["words"] if told else None)
    return author, words


def _app(record: Record, subtype: str, people: Mapping[str, Person], bot: str | None) -> str | None:
    """The name (or id) of the program that posted this, None for a person."""
    ids = [as_id(record.get("bot_id")), as_id(record.get("app_id"))]
    if bot is None and subtype != "bot_message" and not any(ids):
        return None
    profile = as_record(record.get("bot_profile"))
    name = first_text(profile.get("name"), record.get("username"))
    if not name and bot is not None:
        name = people[bot].name if bot in people else "Slackbot" if bot == SLACKBOT else ""
    return name or next((id for id in ids if id), None) or bot or "app"


def _app_ids(record: Record, bot: str | None) -> tuple[str, ...]:
    """Every id the program goes by: as a bot, as an app, as a user."""
    ids = (as_id(record.get("bot_id")), as_id(record.get("app_id")), bot)
    return tuple(id for id in ids if id)


def _thread(record: Record, ts: str) -> str | None:
    thread = as_ts(record.get("thread_ts"))
    if thread is None and (as_list(record.get("replies")) or as_int(record.get("reply_count")) > 0):
        return ts
    return thread


def _reactions(record: Record, people: Mapping[str, Person]) -> dict[str, tuple[str, ...]]:
    given: dict[str, dict[str, None]] = {}
    for reaction in as_list(record.get("reactions")):
        name = clean(as_text(as_record(reaction).get("name"))).split(_TONE)[0]
        for user in as_list(as_record(reaction).get("users")):
            id = as_id(user)
            if name and id is not None and not is_bot(id, people):
                given.setdefault(name, {})[id] = None
    return {name: tuple(ids) for name, ids in given.items()}


def _shares(record: Record) -> bool:
    """Somebody else's message handed on, or shown because its link was."""
    flags = ("is_share", "is_msg_unfurl")
    return any(
        as_record(attachment).get(flag) is True
        for attachment in as_list(record.get("attachments"))
        for flag in flags
    )


def displayed(blocks: object) -> str:
    """The words of rich text and section blocks, in Slack's markup."""
    return "\n".join(filter(None, (_block(as_record(block)) for block in as_list(blocks)))).strip()


def _block(block: Record) -> str:
    match block.get("type"):
        case "rich_text":
            parts = [_rich(as_record(part)) for part in as_list(block.get("elements"))]
            return "\n".join(filter(None, parts))
        case "section":
            parts = [_object(block.get("text")), *map(_object, as_list(block.get("fields")))]
            return "\n".join(filter(None, parts))
        case _:
            return ""


def _object(text: object) -> str:
    words = clean(as_text(as_record(text).get("text")))
    return words if as_record(text).get("type") == "mrkdwn" else _escaped(words)


def _rich(part: Record) -> str:
    elements = [as_record(element) for element in as_list(part.get("elements"))]
    match part.get("type"):
        case "rich_text_list":
            return "\n".join(f"• {words}" for words in map(_rich, elements) if words)
        case "rich_text_quote":
            lines = "".join(map(_run, elements)).split("\n")
            return "\n".join(f"&gt; {line}" for line in lines)
        case "rich_text_preformatted":
            return f"```{''.join(map(_run, elements))}```"
        case "rich_text_section":
            return "".join(map(_run, elements))
        case _:
            return ""


def _run(element: Record) -> str:
    def of(key: str) -> str:
        return clean(as_text(element.get(key)))

    match element.get("type"):
        case "text":
            return _styled(_escaped(of("text")), as_record(element.get("style")))
        case "link":
            label = of("text")
            return f"<{of('url')}|{_escaped(label)}>" if label else f"<{of('url')}>"
        case "user":
            return f"<@{of('user_id')}>"
        case "channel":
            return f"<#{of('channel_id')}>"
        case "usergroup":
            return f"<!subteam^{of('usergroup_id')}>"
        case "broadcast":
            return f"<!{of('range')}>"
        case "emoji":
            return f":{of('name')}:"
        case "date":
            return of("fallback")
        case _:
            return ""


def _styled(words: str, style: Record) -> str:
    """What changes the meaning stays: struck words do not count, code is quoted."""
    for flag, mark in (("code", "`"), ("bold", "*"), ("italic", "_"), ("strike", "~")):
        if style.get(flag) is True and words.strip():
            words = f"{mark}{words}{mark}"
    return words


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def about_another(record: Record, room: str, people: Mapping[str, Person]) -> Message | None:
    """What a line of bookkeeping tells of the message it is about."""
    subtype = subtype_of(record)
    if subtype == "message_changed" and isinstance(record.get("message"), dict):
        return said(as_record(record.get("message")), room, people)
    if subtype == "message_deleted" and (ts := as_ts(record.get("deleted_ts"))):
        gone = said({**as_record(record.get("previous_message")), "ts": ts}, room, people)
        update = {"text": "", "removed": True, "reactions": {}}
        return gone.model_copy(update=update) if gone else None
    return None


def link(site: str, line: Message) -> str:
    return permalink(f"https://{site}.slack.com/", line.room, line.ts, line.thread)


def permalink(url: str, room: str, ts: str, thread: str | None) -> str:
    """Of a line in the workspace at `url`; a reply's names its thread too."""
    link = f"{url.rstrip('/')}/archives/{room}/p{ts.replace('.', '')}"
    if thread is not None and thread != ts:
        link += f"?thread_ts={thread}&cid={room}"
    return link


# --- plain values, whatever a record holds --------------------------------------------------------


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_record(value: object) -> Record:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def as_int(value: object) -> int:
    return value if isinstance(value, int) else 0


def as_id(value: object) -> str | None:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def first_text(*values: object) -> str:
    return next((words for value in values if (words := clean(as_text(value)).strip())), "")


def subtype_of(record: Record) -> str:
    kind = record.get("type", "message")
    subtype = as_text(record.get("subtype"))
    return subtype or ("" if kind == "message" else as_text(kind))


def as_ts(value: object) -> str | None:
    """A timestamp in its one spelling: seconds, a dot, six digits."""
    if isinstance(value, bool):
        return None
    found = _TS.fullmatch(value if isinstance(value, str) else str(as_int(value) or ""))
    return f"{found[1]}.{(found[2] or '').ljust(6, '0')}" if found else None


def moment_of(ts: str) -> datetime:
    """Exactly, to the microsecond: no float in between."""
    seconds, _, fraction = ts.partition(".")
    return EPOCH + timedelta(seconds=int(seconds), microseconds=int(fraction))


def as_moment(value: object) -> datetime | None:
    """A time in seconds; 0 is Slack's way of not knowing."""
    ts = as_ts(value)
    return moment_of(ts) if ts is not None and moment_of(ts) > EPOCH else None


def is_bot(id: str, people: Mapping[str, Person]) -> bool:
    return id == SLACKBOT or (id in people and people[id].bot)
