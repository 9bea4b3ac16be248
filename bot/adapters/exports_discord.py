"""Discord exports, as DiscordChatExporter writes them as JSON, as a chat that is a list.

It refuses to know the memory, the settings and what a message means. One file is one channel, or
a part of one. The shape is that of its `JsonMessageWriter`; platform facts: `research/discord.md`
A8, A10, A12.

What the shape does not say, and what is made of it:

* who may read a channel: every room of a server is `private`, so only people seen in it read it;
* who is in a channel: those who wrote there are presumed to have been there since it was made;
* a public thread is a thread of its parent (`categoryId` names the parent), a private one a room;
* a webhook: Discord marks its posts as a bot's. The discriminator `0000` marks nobody, since 2023
  it is everybody's.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from bot.adapters.exports_files import Broken, Shelf
from bot.adapters.exports_presence import Move, in_order, presumed, recorded
from bot.adapters.plain import clean
from bot.chat import Edit, Heard, Message, Person, Room, Unread, Workspace

type Record = Mapping[str, object]

DIRECT_GUILD = "0"
"""The server that direct messages are exported as."""
DIRECT_NAME = "direct-messages"
SPOKEN = frozenset({"", "Default", "Reply", "20", "23", "ChatInputCommand", "ContextMenuCommand"})
"""Kinds of message somebody (or an app, answering a command) said."""
COMES = frozenset({"RecipientAdd", "GuildMemberJoin", "1", "7"})
GOES = frozenset({"RecipientRemove", "2"})
OPEN_THREADS = frozenset({"GuildPublicThread", "GuildNewsThread"})
ROOM_KINDS: Mapping[str, Literal["group", "direct"]] = {
    "DirectTextChat": "direct",
    "DirectGroupTextChat": "group",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
_ID = re.compile(r"[0-9]{1,20}")
_TONE = re.compile("[\U0001f3fb-\U0001f3ff]|_tone[1-5]$")
_DELETED = re.compile(r"deleted[ _]user(?:[ _#][0-9a-f]+)?", re.IGNORECASE)
_MEDIA = re.compile(r"_Files/")


def is_channel(head: bytes) -> bool:
    """Whether a file that begins so is an export of a channel."""
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return begin.startswith(b"{") and b'"guild"' in begin and b'"channel"' in begin


def read(shelf: Shelf, progress: Callable[[int, int], None]) -> Workspace:
    unread = list(shelf.unread)
    servers: dict[str, _Server] = {}
    names = [name for name in shelf.names if not _MEDIA.search(name)]
    for done, name in enumerate(names, 1):
        data = _load(shelf, name, unread)
        if data is not None:
            server = servers.setdefault(_guild_id(data) or "", _Server())
            server.files.append(name)
            server.take(name, data, unread)
        progress(done, len(names))
    if not servers:
        return Workspace(
            id="discord", platform="discord", people=(), rooms=(), heard=(), unread=tuple(unread)
        )
    guild = min(servers, key=lambda id: (-len(servers[id].lines), id))
    for other, server in servers.items():
        if other != guild:
            why = "It belongs to another server than most of this export; replay it by itself."
            unread += [Unread(file=name, why=why) for name in server.files]
    return _workspace(guild, servers[guild], unread)


def _load(shelf: Shelf, name: str, unread: list[Unread]) -> Record | None:
    try:
        loaded = shelf.load(name)
    except Broken as error:
        unread.append(Unread(file=name, why=str(error)))
        return None
    if loaded.flaw:
        unread.append(Unread(file=name, why=loaded.flaw))
    data = loaded.data
    wrong = None
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        wrong = "It is no export of a channel: it has no list of `messages`."
    elif _guild_id(data) is None or _id(_dict(data.get("channel")).get("id")) is None:
        wrong = "It does not say which server and which channel it is from."
    if wrong is None and isinstance(data, dict):
        return data
    unread.append(Unread(file=name, why=wrong or ""))
    return None


def _guild_id(data: Record) -> str | None:
    return _id(_dict(data.get("guild")).get("id"))


@dataclass(frozen=True)
class _Channel:
    """Where a file's messages were said: `id` as Discord has it, `room` and `thread` as we do."""

    id: str
    room: Room
    thread: str | None
    guild: str


def _channel(data: Record) -> _Channel:
    record, guild = _dict(data.get("channel")), _guild_id(data) or DIRECT_GUILD
    id = _id(record.get("id")) or ""
    parent = _id(record.get("categoryId"))
    name = _words(record.get("name")).strip()
    kind = _text(record.get("type"))
    if kind in OPEN_THREADS and parent is not None and int(parent):
        title = _words(record.get("category")).strip()
        return _Channel(id, _room(parent, title, kind), id, guild)
    return _Channel(id, _room(id, name, kind), None, guild)


def _room(id: str, name: str, kind: str) -> Room:
    return Room(id=id, name=name or id, kind=ROOM_KINDS.get(kind, "private"), created=_made(id))


@dataclass
class _Server:
    """What has been read of one server; the order of reading never shows."""

    files: list[str] = field(default_factory=list)
    rooms: dict[str, Room] = field(default_factory=dict)
    lines: dict[tuple[str, str], Message] = field(default_factory=dict)
    moves: dict[str, dict[str, set[Move]]] = field(default_factory=lambda: defaultdict(dict))
    posts: dict[str, dict[str, datetime]] = field(default_factory=lambda: defaultdict(dict))
    """By room: the last time each person wrote there."""
    people: dict[str, tuple[datetime, Person]] = field(default_factory=dict)
    """With the time of the message that names them: the newest name counts."""

    def take(self, name: str, data: Record, unread: list[Unread]) -> None:
        channel = _channel(data)
        known = self.rooms.get(channel.room.id)
        if known is None or channel.thread is None or known.name == known.id:
            self.rooms[channel.room.id] = channel.room
        broken = 0
        for record in _list(data.get("messages")):
            message = said(_dict(record), channel)
            if message is None:
                broken += 1
                continue
            self._keep(message)
            self._note_people(message, _dict(record))
            self._note_presence(message, _dict(record), channel)
        if broken:
            what = "message has" if broken == 1 else "messages have"
            unread.append(Unread(file=name, why=f"{broken} {what} no usable `id` or `timestamp`."))

    def _keep(self, message: Message) -> None:
        key = (message.room, message.ts)
        known = self.lines.get(key)
        self.lines[key] = message if known is None else max(known, message, key=_version)

    def _note_people(self, message: Message, record: Record) -> None:
        shown = [record.get("author"), _dict(record.get("interaction")).get("user")]
        shown += _list(record.get("mentions"))
        for reaction in _list(record.get("reactions")):
            shown += _list(_dict(reaction).get("users"))
        for user in shown:
            person = _person(_dict(user))
            if person is not None:
                told = self.people.get(person.id)
                if told is None or (message.at, person.name) > (told[0], told[1].name):
                    self.people[person.id] = (message.at, person)

    def _note_presence(self, message: Message, record: Record, channel: _Channel) -> None:
        kind = _kind(record)
        if kind in COMES | GOES and channel.thread is None:
            named = [_person(_dict(user)) for user in _list(record.get("mentions"))]
            ids = [person.id for person in named if person is not None]
            for id in ids or filter(None, [message.author]):
                moves = self.moves[message.room].setdefault(id, set())
                moves.add(Move(message.at, kind in COMES, message.ts))
        if message.author is not None and not message.system:
            posts = self.posts[message.room]
            posts[message.author] = max(posts.get(message.author, message.at), message.at)


def said(record: Record, channel: _Channel) -> Message | None:
    """One message as the platform has it; None without an id or a time."""
    id = _id(record.get("id"))
    at = None if id is None else _time(record.get("timestamp")) or _made(id)
    if id is None or at is None:
        return None
    user = _dict(record.get("author"))
    person = _person(user)
    app = _name(user) or _id(user.get("id")) or "app" if user.get("isBot") is True else None
    author = person.id if person is not None else None
    words = _words(record.get("content"))
    edited = _time(record.get("timestampEdited"))
    editor = author or _id(user.get("id"))
    system = _kind(record) not in SPOKEN
    forward = (
        isinstance(record.get("forwardedMessage"), dict)
        or _dict(record.get("reference")).get("type") == "Forward"
    )
    where = "@me" if channel.guild == DIRECT_GUILD else channel.guild
    return Message(
        room=channel.room.id,
        ts=id,
        at=at,
        author=author,
        text=words,
        thread=channel.thread,
        edited=Edit(at=edited, by=editor) if edited and editor and not system else None,
        reactions=_reactions(record),
        app=app,
        system=system,
        forwarded=forward and not words.strip(),
        link=f"https://discord.com/channels/{where}/{channel.id}/{id}",
    )


def _kind(record: Record) -> str:
    kind = record.get("type")
    return str(kind) if isinstance(kind, int) else _text(kind)


def _person(user: Record) -> Person | None:
    """A person; None for a bot, which is named where it posts."""
    id = _id(user.get("id"))
    if id is None or user.get("isBot") is True:
        return None
    handle = _words(user.get("name")).strip()
    name = _name(user) or id
    return Person(id=id, name=name, handle=handle, gone=bool(_DELETED.fullmatch(handle or name)))


def _name(user: Record) -> str:
    return _words(user.get("nickname")).strip() or _words(user.get("name")).strip()


def _reactions(record: Record) -> dict[str, tuple[str, ...]]:
    given: dict[str, dict[str, None]] = {}
    for reaction in _list(record.get("reactions")):
        emoji = _dict(_dict(reaction).get("emoji"))
        name = _TONE.sub("", _words(emoji.get("name")) or _words(emoji.get("code")))
        for user in _list(_dict(reaction).get("users")):
            person = _person(_dict(user))
            if name and person is not None:
                given.setdefault(name, {})[person.id] = None
    return {name: tuple(ids) for name, ids in given.items()}


def _version(message: Message) -> tuple[datetime, int, str]:
    """The one to keep of two copies: the later edit."""
    edited = message.edited.at if message.edited else _EPOCH
    return edited, sum(map(len, message.reactions.values())), message.text


def _workspace(guild: str, server: _Server, unread: list[Unread]) -> Workspace:
    id = DIRECT_NAME if guild == DIRECT_GUILD else guild
    heard: list[Heard] = [*_threaded(server.lines)]
    for room in server.rooms.values():
        moves = {who: sorted(lines) for who, lines in server.moves.get(room.id, {}).items()}
        heard += recorded(id, room.id, moves)
        heard += presumed(id, room.id, room.created, moves, server.posts.get(room.id, {}))
    return Workspace(
        id=id,
        platform="discord",
        people=tuple(person for _, (_, person) in sorted(server.people.items())),
        rooms=tuple(room for _, room in sorted(server.rooms.items())),
        heard=in_order(heard),
        unread=tuple(dict.fromkeys(unread)),
    )


def _threaded(lines: Mapping[tuple[str, str], Message]) -> Iterator[Message]:
    """A thread has the id of the message it was started from: that one is its root."""
    roots = {(line.room, line.thread) for line in lines.values() if line.thread is not None}
    for key, line in lines.items():
        root = key in roots and line.thread is None
        yield line.model_copy(update={"thread": line.ts}) if root else line


# --- plain values, whatever the file holds --------------------------------------------------------


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _words(value: object) -> str:
    return clean(_text(value))


def _dict(value: object) -> Record:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def _time(value: object) -> datetime | None:
    """Written with the exporter's own offset; without one it is UTC."""
    try:
        at = datetime.fromisoformat(_text(value))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _made(id: str) -> datetime | None:
    """An id holds the millisecond it was made in; what is no such id holds Discord's first ones."""
    try:
        made = _DISCORD_EPOCH + timedelta(milliseconds=int(id) >> 22)
    except OverflowError:
        return None
    return made if made > _DISCORD_EPOCH else None
