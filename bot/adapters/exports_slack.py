"""A Slack export, from the layout of 2016 to today's, as a chat that is a list.

It refuses to know the memory, the settings and what a message means. E-mail addresses, phones,
pictures and tokens in an export are never looked at. What cannot be read is listed, the rest is
read; platform facts: `research/slack.md` A4, A12, C19.

What an export does not say, and what is made of it:

* a folder no index lists is a private room: nothing says that others may read it;
* who is listed nowhere, though people are, is from outside: a guest;
* who was in a room, but not since when, was there since it was made (`exports_presence`): its
  members and its maker; where there is no list of members, who wrote there; and deactivated
  people who wrote there, since deactivation takes them off the list;
* deactivated people leave at the last change of their account (`updated`), if they did nothing
  later; without one no exit is invented;
* links need the workspace's host: one that Slack itself wrote into the export, and only one.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from bot.adapters.exports_files import Broken, Loaded, Shelf
from bot.adapters.exports_presence import DAWN, Move, digest, event_id, in_order, presumed, recorded
from bot.adapters.slack_records import (
    EPOCH,
    SHARED,
    SLACKBOT,
    SPOKEN,
    Record,
    about_another,
    as_id,
    as_list,
    as_moment,
    as_record,
    as_text,
    as_ts,
    first_text,
    is_bot,
    link,
    person_of,
    said,
    subtype_of,
)
from bot.chat import Exit, Heard, Message, Person, Room, Unread, Workspace

type Kind = Literal["public", "private", "group", "direct"]

ROOM_FILES: Mapping[str, Kind] = {
    "channels.json": "public",
    "groups.json": "private",
    "mpims.json": "group",
    "dms.json": "direct",
}
CANVAS_TALK = "file_conversations.json"
PEOPLE_FILES = ("org_users.json", "users.json")
INDEXES = frozenset({*ROOM_FILES, *PEOPLE_FILES})
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json")

JOINS = frozenset({"channel_join", "group_join"})
LEAVES = frozenset({"channel_leave", "group_leave"})
NAMED, CANVAS = "named", "FC"
"""How ids begin that we made for a room, of its name or of the canvas it is about."""
_CONVERSATION = re.compile(r"[CDG][A-Z0-9]{6,}")
_CANVAS_FOLDER = re.compile(r"FC[:_-](F[A-Z0-9]+)[:_-].*", re.DOTALL)
_SITE = re.compile(r"https://([a-z0-9-]+(?:\.enterprise)?)\.slack\.com/")
_PERMALINK = re.compile(r"https://([a-z0-9-]+(?:\.enterprise)?)\.slack\.com/archives/([A-Z0-9]+)/p")


def root_of(names: Iterable[str]) -> str | None:
    """The folder (`""`, or with its `/`) that holds the export; None: this is no Slack export."""
    names = tuple(names)
    homes = {_folder(name) for name in names if _base(name) in INDEXES}
    if not homes:
        channels = {_folder(name) for name in names if DAY.fullmatch(_base(name))}
        homes = {_folder(channel.rstrip("/")) for channel in channels if channel}
    return min(homes, key=lambda home: (home.count("/"), home), default=None)


def belongs(name: str, home: str) -> bool:
    """Whether a file is what makes the layout: an index, or a day in a channel's folder."""
    folder, base = _folder(name), _base(name)
    if DAY.fullmatch(base):
        return folder != home and _folder(folder[:-1]) == home
    return folder == home and base in INDEXES


def read(shelf: Shelf, progress: Callable[[int, int], None]) -> Workspace:
    root = root_of(shelf.names) or ""
    desk = _Desk(shelf, root, list(shelf.unread))
    people = _people(desk)
    index = _index(desk, people)
    heap = _Heap(people)
    days = _days(desk)
    done, total = 0, sum(map(len, days.values()))
    for folder, files in days.items():
        room: Room | None = None
        for name in files:
            lines = _lines(desk, name)
            if room is None and lines:
                room = _room_of(folder, lines, index)
                index.rooms.setdefault(room.id, room)
            if room is not None:
                heap.take(room.id, lines)
            done += 1
            progress(done, total)
        if room is None and any(DAY.fullmatch(_base(name)) for name in files):
            room = _room_of(folder, (), index)  # nobody spoke, or nothing of it could be read
            index.rooms.setdefault(room.id, room)
    return _workspace(desk, people, index, heap)


@dataclass
class _Desk:
    """The export, and what could not be read of it."""

    shelf: Shelf
    root: str
    unread: list[Unread]
    teams: Counter[str] = field(default_factory=Counter)
    """How many of the listed people each team has."""
    left: dict[str, datetime] = field(default_factory=dict)
    """When the accounts of deactivated people were last changed."""

    def has(self, name: str) -> bool:
        return self.root + name in self.shelf.sources

    def load(self, name: str) -> Loaded | None:
        """None when it cannot be read, and then it is listed."""
        try:
            loaded = self.shelf.load(self.root + name)
        except Broken as error:
            self.note(name, str(error))
            return None
        if loaded.flaw:
            self.note(name, loaded.flaw)
        return loaded

    def note(self, name: str, why: str) -> None:
        self.unread.append(Unread(file=name, why=why))

    def entries(self, name: str) -> list[tuple[int, Record]]:
        """The objects of a file that is a list, with their place in it, counted from 1."""
        loaded = self.load(name)
        if loaded is None:
            return []
        data = loaded.data
        if not isinstance(data, list):
            self.note(name, "It holds no list.")
            return []
        found: list[tuple[int, Record]] = [
            (i, entry) for i, entry in enumerate(data, 1) if isinstance(entry, dict)
        ]
        if len(found) < len(data):
            sound = {i for i, _ in found}
            bad = [i for i in range(1, len(data) + 1) if i not in sound]
            self.note(name, f"{_counted(bad)} no object.")
        return found


# --- who and where -------------------------------------------------------------------------------


def _people(desk: _Desk) -> dict[str, Person]:
    """Everybody the export lists; a workspace's own list wins over the organisation's."""
    people: dict[str, Person] = {}
    for name in filter(desk.has, PEOPLE_FILES):
        bad = []
        for place, record in desk.entries(name):
            person = person_of(record)
            if person is None:
                bad.append(place)
                continue
            people[person.id] = person
            team, changed = as_id(record.get("team_id")), as_moment(record.get("updated"))
            if team is not None:
                desk.teams[team] += 1
            if person.gone and changed is not None:
                desk.left[person.id] = changed
        if bad:
            desk.note(name, f"{_counted(bad)} nobody with a usable `id`.")
    if not any(map(desk.has, PEOPLE_FILES)):
        desk.note("users.json", "It is missing: people are known by what their messages tell.")
    return people


@dataclass
class _Index:
    """What the export lists: rooms by id, who made them, and which folder is whose."""

    rooms: dict[str, Room] = field(default_factory=dict)
    canvases: dict[str, Room] = field(default_factory=dict)
    creators: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)


def _index(desk: _Desk, people: Mapping[str, Person]) -> _Index:
    index = _Index()
    for file, kind in ROOM_FILES.items():
        if desk.has(file):
            index.rooms |= _listed(desk, file, kind, people, index.creators)
        elif file == "channels.json":
            desk.note(file, "It is missing: rooms are known by the names of their folders.")
    if desk.has(CANVAS_TALK):  # comments on a canvas; a room only where there are any
        index.canvases = _listed(desk, CANVAS_TALK, "private", people, {})
    _name_folders(desk, index)
    return index


def _listed(
    desk: _Desk,
    file: str,
    kind: Kind,
    people: Mapping[str, Person],
    creators: dict[str, str],
) -> dict[str, Room]:
    rooms: dict[str, Room] = {}
    bad = []
    for place, record in desk.entries(file):
        room = _room(record, kind, people)
        if room is None:
            bad.append(place)
            continue
        rooms[room.id] = room
        creator = as_id(record.get("creator"))
        if creator is not None:
            creators[room.id] = creator
    if bad:
        desk.note(file, f"{_counted(bad)} no room with an `id` or a `name`.")
    return rooms


def _room(record: Record, kind: Kind, people: Mapping[str, Person]) -> Room | None:
    name = as_text(record.get("name")).strip()
    id = as_id(record.get("id")) or (_made_id(name) if name else None)
    if id is None:
        return None
    members = _members(record, people)
    archived = bool(record.get("is_archived"))
    return Room(
        id=id,
        name=name or _party(members, people) or id,
        kind=_kind(record, kind, name),
        # archiving empties the list, so an empty one then says nothing
        members=None if archived and not members else members,
        created=as_moment(record.get("created")),
        archived=archived,
    )


def _kind(record: Record, kind: Kind, name: str) -> Kind:
    if record.get("is_im") is True:
        return "direct"
    if record.get("is_mpim") is True or name.startswith("mpdm-"):
        return "group"
    if kind == "public" and record.get("is_private") is True:
        return "private"
    return kind


def _members(record: Record, people: Mapping[str, Person]) -> frozenset[str] | None:
    if not isinstance(record.get("members"), list):
        return None
    ids = (as_id(member) for member in as_list(record.get("members")))
    return frozenset(id for id in ids if id is not None and not is_bot(id, people))


def _party(members: Iterable[str] | None, people: Mapping[str, Person]) -> str:
    """What a conversation without a name is called: the people in it."""
    return ", ".join(sorted(people[id].name if id in people else id for id in members or ()))


def _name_folders(desk: _Desk, index: _Index) -> None:
    # of two rooms with one name the less public one has the folder: that can only say too little
    rank = {"direct": 0, "group": 0, "private": 1, "public": 2}
    rooms = sorted(
        (*index.rooms.values(), *index.canvases.values()),
        key=lambda room: (rank[room.kind], room.created or EPOCH, room.id),
    )
    for room in rooms:
        if room.kind == "direct":  # its folder has its id, its name is ours
            continue
        holder = index.folders.setdefault(_same(room.name), room.id)
        if holder != room.id:
            desk.note(
                f"{room.name}/",
                f"Several rooms have this name; its messages are taken as those of {holder}.",
            )
    index.folders.update((_same(id), id) for id in (*index.rooms, *index.canvases))


def _room_of(folder: str, lines: Iterable[Record], index: _Index) -> Room:
    """The listed room, or one made of the folder's name and, where every line tells it, its id.

    Nothing says that an unlisted room is public, so it is not: only people seen in it read it.
    """
    id = index.folders.get(_same(folder))
    if id is not None:
        return index.rooms.get(id) or index.canvases[id]
    canvas = _CANVAS_FOLDER.fullmatch(folder)
    told = {as_id(line.get("channel")) for line in lines}
    own = told.pop() if len(told) == 1 else None
    if own is None and _CONVERSATION.fullmatch(folder):
        own = folder
    if own is not None and own in index.rooms:
        return index.rooms[own]
    if own is None:
        own = f"{CANVAS}-{canvas[1]}" if canvas else _made_id(folder)
    direct: Kind = "direct" if own.startswith("D") and _CONVERSATION.fullmatch(own) else "private"
    return Room(id=own, name=folder, kind="group" if folder.startswith("mpdm-") else direct)


def _made_id(name: str) -> str:
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:40]
    return "-".join(filter(None, (NAMED, slug, digest(_same(name)))))


def _same(name: str) -> str:
    """Unpacking on a Mac takes letters with accents apart."""
    return unicodedata.normalize("NFC", name)


# --- what was said --------------------------------------------------------------------------------


def _days(desk: _Desk) -> dict[str, list[str]]:
    """The files of each channel's folder, in order."""
    days: dict[str, list[str]] = defaultdict(list)
    for path in desk.shelf.names:
        if not path.startswith(desk.root):
            if _base(path) in INDEXES:
                desk.note(_folder(path) or path, "Another export lies here; replay it by itself.")
            continue
        name = path.removeprefix(desk.root)
        parts = name.split("/")
        if len(parts) == 2:
            days[parts[0]].append(name)
        elif len(parts) > 2 and DAY.fullmatch(parts[-1]):
            desk.note(name, "It lies deeper than the folder of a channel.")
    return days


def _lines(desk: _Desk, name: str) -> list[Record]:
    """The messages of one file. What is no day may be a canvas or a list: nobody says those."""
    if not DAY.fullmatch(_base(name)):
        loaded = desk.load(name)
        data = as_list(loaded.data) if loaded else []
        lines: list[Record] = [line for line in data if isinstance(line, dict)]
        return lines if any("ts" in line and "text" in line for line in lines) else []
    entries = desk.entries(name)
    bad = [place for place, record in entries if as_ts(record.get("ts")) is None]
    if bad:
        desk.note(name, f"{_counted(bad)} no message with a usable `ts`.")
    return [record for _, record in entries]


# --- putting it together --------------------------------------------------------------------------


@dataclass
class _Heap:
    """What has been read so far; the order of reading never shows."""

    people: Mapping[str, Person]
    lines: dict[tuple[str, str], Message] = field(default_factory=dict)
    moves: dict[str, dict[str, set[Move]]] = field(default_factory=dict)
    posts: dict[str, dict[str, datetime]] = field(default_factory=dict)
    """By room: the last time a person wrote there, or was listed in a line."""
    introduced: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """People nobody listed, as their newest message names them: its ts, name, handle."""
    machines: set[str] = field(default_factory=set)
    """Users nobody listed that posted as a program."""
    teams: Counter[str] = field(default_factory=Counter)
    sites: set[str] = field(default_factory=set)
    hearsay: set[str] = field(default_factory=set)

    def take(self, room: str, records: Iterable[Record]) -> None:
        for record in records:
            message = said(record, room, self.people)
            if message is None:
                continue
            for heard in (message, about_another(record, room, self.people)):
                if heard is not None:
                    self._keep(heard)
            self._note_presence(message, record)
            self._note_names(message, record)
            self.sites |= _made_sites(record, self.people)

    def _keep(self, message: Message) -> None:
        key = (message.room, message.ts)
        known = self.lines.get(key)
        self.lines[key] = message if known is None else max(known, message, key=_version)

    def _note_presence(self, message: Message, record: Record) -> None:
        subtype, author = subtype_of(record), message.author
        if subtype == "channel_archive":
            for id in _members(record, self.people) or ():
                self._saw(message.room, id, message.at)
        if author is None:
            return
        if subtype in JOINS | LEAVES:
            moves = self.moves.setdefault(message.room, {}).setdefault(author, set())
            moves.add(Move(message.at, subtype in JOINS, message.ts))
        elif not message.system or subtype in SPOKEN:
            self._saw(message.room, author, message.at)

    def _saw(self, room: str, id: str, at: datetime) -> None:
        seen = self.posts.setdefault(room, {})
        seen[id] = max(seen.get(id, at), at)

    def _note_names(self, message: Message, record: Record) -> None:
        team, user = as_id(record.get("team")), as_id(record.get("user"))
        if team is not None:
            self.teams[team] += 1
        if user is None or user in self.people:
            return
        if message.app is not None and message.author is None:
            self.machines.add(user)
        profile = as_record(record.get("user_profile"))
        name = first_text(
            profile.get("display_name"), profile.get("real_name"), profile.get("name")
        )
        if name:
            told = (message.ts.rjust(20), name, as_text(profile.get("name")).strip())
            self.introduced[user] = max(self.introduced.get(user, told), told)


def _version(message: Message) -> tuple[bool, datetime, int, str]:
    """The one to keep of two copies: gone beats there, a later edit an earlier one."""
    edited = message.edited.at if message.edited else EPOCH
    return message.removed, edited, sum(map(len, message.reactions.values())), message.text


def _workspace(desk: _Desk, people: dict[str, Person], index: _Index, heap: _Heap) -> Workspace:
    id = _workspace_id(desk, index, heap)
    site = _site(index, heap)
    linked = {room for room in index.rooms if not room.startswith((NAMED, CANVAS))}
    machines = heap.machines
    heard: list[Heard] = [
        _finished(line, site if line.room in linked else None, machines)
        for line in heap.lines.values()
    ]
    listed = bool(people) and not any(note.file in PEOPLE_FILES for note in desk.unread)
    everybody = people | _unlisted(people, index, heap, outside=listed)
    for room in index.rooms.values():
        heard += _presence(id, room, index.creators.get(room.id), everybody, heap, desk.left)
    return Workspace(
        id=id,
        platform="slack",
        people=tuple(person for _, person in sorted(everybody.items())),
        rooms=tuple(_peopled(room, heap.machines) for _, room in sorted(index.rooms.items())),
        heard=in_order(heard),
        unread=tuple(dict.fromkeys(desk.unread)),
    )


def _peopled(room: Room, machines: set[str]) -> Room:
    if not room.members or not machines & room.members:
        return room
    return room.model_copy(update={"members": room.members - machines})


def _finished(line: Message, site: str | None, machines: set[str]) -> Message:
    update: dict[str, object] = {}
    if site is not None:
        update["link"] = link(site, line)
    if machines and any(machines & set(ids) for ids in line.reactions.values()):
        kept = {
            name: tuple(id for id in ids if id not in machines)
            for name, ids in line.reactions.items()
        }
        update["reactions"] = {name: ids for name, ids in kept.items() if ids}
    return line.model_copy(update=update) if update else line


def _unlisted(
    people: Mapping[str, Person], index: _Index, heap: _Heap, *, outside: bool
) -> dict[str, Person]:
    """People the export shows but does not list: from another workspace, or a list was missing."""
    shown = set(index.creators.values())
    for room in index.rooms.values():
        shown |= room.members or frozenset()
    for line in heap.lines.values():
        for ids in line.reactions.values():
            shown.update(ids)
        if line.author is not None:
            shown.add(line.author)
    shown.update(*heap.posts.values(), *heap.moves.values())
    found = {}
    for id in shown - people.keys() - {SLACKBOT}:
        _, name, handle = heap.introduced.get(id, ("", id, ""))
        bot = id in heap.machines
        found[id] = Person(id=id, name=name, handle=handle, bot=bot, guest=outside and not bot)
    return found


def _presence(
    workspace: str,
    room: Room,
    creator: str | None,
    people: Mapping[str, Person],
    heap: _Heap,
    left: Mapping[str, datetime],
) -> Iterator[Heard]:
    moves = {
        id: sorted(lines)
        for id, lines in heap.moves.get(room.id, {}).items()
        if not is_bot(id, people)
    }
    seen: dict[str, datetime | None] = {
        id: at
        for id, at in heap.posts.get(room.id, {}).items()
        if room.members is None or (id in people and people[id].gone)
    }
    if creator is not None and creator not in seen:
        seen[creator] = room.created or DAWN
    seen |= dict.fromkeys(room.members or ())
    seen = {id: until for id, until in seen.items() if not is_bot(id, people)}
    yield from recorded(workspace, room.id, moves)
    yield from presumed(workspace, room.id, room.created, moves, seen)
    yield from _deactivated(workspace, room, moves, seen, left, heap)


def _deactivated(
    workspace: str,
    room: Room,
    moves: Mapping[str, list[Move]],
    seen: Mapping[str, datetime | None],
    left: Mapping[str, datetime],
    heap: _Heap,
) -> Iterator[Exit]:
    """Nobody records that deactivated people go; by the last change of their account they had."""
    for id in sorted(left.keys() & (moves.keys() | seen.keys())):
        at, lines = left[id], moves.get(id, [])
        wrote = heap.posts.get(room.id, {}).get(id, DAWN)
        last = max([room.created or DAWN, wrote, *(line.at for line in lines)])
        stays = id in seen or (bool(lines) and lines[-1].enters)
        if stays and at > last:
            gone = event_id(workspace, room.id, id, "gone", f"{at:%Y%m%dT%H%M%S.%f}")
            yield Exit(id=gone, at=at, person=id, room=room.id)


def _workspace_id(desk: _Desk, index: _Index, heap: _Heap) -> str:
    """The team's own id, or one made of its oldest room, which every export of it holds."""
    for teams in (desk.teams, heap.teams):
        if teams:
            return min(teams, key=lambda team: (-teams[team], team))
    rooms = [room for room in index.rooms.values() if room.kind == "public"]
    rooms = rooms or list(index.rooms.values())
    if not rooms:
        return "slack"
    far = datetime.max.replace(tzinfo=UTC)
    return f"slack-{min(rooms, key=lambda room: (room.created or far, room.id)).id}"


def _site(index: _Index, heap: _Heap) -> str | None:
    """The workspace's host, when what the platform made (else what people linked) has just one."""
    hearsay = {
        site
        for line in heap.lines.values()
        if ".slack.com/archives/" in line.text
        for site, room in _PERMALINK.findall(line.text)
        if room in index.rooms
    }
    for sites in (heap.sites, hearsay):
        plain = {site for site in sites if not site.endswith(".enterprise")} or sites
        if plain:
            return next(iter(plain)) if len(plain) == 1 else None
    return None


def _made_sites(record: Record, people: Mapping[str, Person]) -> set[str]:
    """Hosts in links the platform itself made for this workspace, never in what people typed."""
    links: list[object] = []
    if as_id(record.get("user")) in people:
        files = [record.get("file"), *as_list(record.get("files"))]
        links += [as_record(file).get("permalink") for file in files]
    if subtype_of(record) == "file_share" and (shared := SHARED.match(as_text(record.get("text")))):
        links.append(shared[1])
    found = {site[1] for link in links if (site := _SITE.match(as_text(link)))}
    domain = as_text(record.get("team_domain"))
    return found | {domain} if re.fullmatch(r"[a-z0-9-]+", domain) else found


# --- plain values, whatever the file holds --------------------------------------------------------


def _counted(places: list[int]) -> str:
    """Entries 2, 5 and 7 of a file are ..."""
    shown = ", ".join(map(str, places[:3]))
    match len(places):
        case 1:
            return f"Entry {shown} is"
        case 2 | 3:
            return f"Entries {shown} are"
        case more:
            return f"Entries {shown} and {more - 3} more are"


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    """The folder a file lies in, with its `/`; empty at the top."""
    above, slash, _ = path.rpartition("/")
    return above + slash
