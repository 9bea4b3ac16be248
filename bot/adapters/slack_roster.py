"""Who there is, which rooms we are in and who is in them, asked of Slack.

It refuses to know what is done with the lists. Whoever cannot be looked up is known by id (C12), a list
is read to its end (C11), and a kind of conversation that we have no scope for is left out. Platform
facts: sections A5 and A9 of the Slack research.
"""

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import NamedTuple

from bot.adapters.slack_records import (
    Record,
    as_id,
    as_list,
    as_moment,
    as_record,
    first_text,
    is_bot,
    person_of,
)
from bot.adapters.slack_web import Refused, Web, next_cursor
from bot.chat import Person, Room

KINDS = ("public_channel", "private_channel", "mpim", "im")
PAGE = 200


class Roster(NamedTuple):
    """`rooms`: those we are in, with their members."""

    people: Mapping[str, Person]
    rooms: Mapping[str, Room]


async def read(web: Web, workspace: str) -> Roster:
    """All of it. Raises slack_web.Refused where not even people may be listed."""
    people = {one.id: one for one in await members_of_workspace(web, workspace)}
    rooms: dict[str, Room] = {}
    for record in await conversations(web):
        room = await with_members(web, record, people)
        if room is not None:
            rooms[room.id] = room
    present = {one for room in rooms.values() for one in room.members or ()}
    for id in sorted(present - people.keys()):
        people[id] = await person(web, id, workspace)
    return Roster(people, {id: named(room, people) for id, room in rooms.items()})


async def members_of_workspace(web: Web, workspace: str) -> list[Person]:
    found = []
    async with aclosing(web.pages("users.list", "members", PAGE)) as pages:
        async for page in pages:
            found += [
                placed(one, record, workspace) for record in page if (one := person_of(record))
            ]
    return found


async def conversations(web: Web) -> list[Record]:
    """The conversations we are in, of every kind that we have a scope for."""
    found: list[Record] = []
    for kind in KINDS:
        try:
            async with aclosing(
                web.pages("users.conversations", "channels", PAGE, types=kind)
            ) as pages:
                async for page in pages:
                    found += page
        except Refused as refused:
            if refused.error != "missing_scope":
                raise
    return found


async def with_members(web: Web, record: Record, people: Mapping[str, Person]) -> Room | None:
    """A conversation with who is in it now; None for what is none. Programs are not listed."""
    room = room_of(record)
    if room is None:
        return None
    if room.kind == "direct":
        other = as_id(record.get("user"))
        ids = set() if other is None else {other}
    else:
        try:
            ids = await members(web, room.id)
        except Refused:
            return room
    return room.model_copy(
        update={"members": frozenset(id for id in ids if not is_bot(id, people))}
    )


async def members(web: Web, room: str) -> set[str]:
    """The ids of everybody in a conversation, to the end of the list."""
    found: set[str] = set()
    cursor: str | None = None
    while cursor != "":
        answer = await web.read("conversations.members", channel=room, limit=PAGE, cursor=cursor)
        found |= {id for one in as_list(answer.get("members")) if (id := as_id(one))}
        cursor = next_cursor(answer)
    return found


async def person(web: Web, id: str, workspace: str) -> Person:
    """Somebody no list names: of another organisation, or too new. The id is enough."""
    try:
        record = as_record((await web.read("users.info", user=id)).get("user"))
    except Refused:
        return unknown(id)
    found = person_of(record)
    return unknown(id) if found is None or found.id != id else placed(found, record, workspace)


def unknown(id: str) -> Person:
    """Reads only where they are, until more is known."""
    return Person(id=id, name=f"external member ({id})", guest=True)


def placed(person: Person, record: Record, workspace: str) -> Person:
    """Who belongs to another organisation reads only where they are, as a guest does."""
    team = as_id(record.get("team_id"))
    return person if team in (None, workspace) else person.model_copy(update={"guest": True})


def room_of(record: Record) -> Room | None:
    """A conversation as `conversations.info` has it, without its members. What is not said to be open
    is not: prefixes of ids tell nothing."""
    id = as_id(record.get("id"))
    if id is None:
        return None
    if record.get("is_im") is True:
        kind = "direct"
    elif record.get("is_mpim") is True:
        kind = "group"
    else:
        kind = "public" if record.get("is_private") is False else "private"
    return Room.model_validate({
        "id": id, "name": first_text(record.get("name_normalized"), record.get("name")) or id,
        "kind": kind, "created": as_moment(record.get("created")),
        "archived": record.get("is_archived") is True,
    })  # fmt: skip


def named(room: Room, people: Mapping[str, Person]) -> Room:
    """A conversation without a name is called after the people in it."""
    if room.kind not in ("direct", "group") or not room.members:
        return room
    return room.model_copy(update={"name": _party(room.members, people)})


def _party(members: Iterable[str], people: Mapping[str, Person]) -> str:
    return ", ".join(sorted(people[id].name if id in people else id for id in members))
