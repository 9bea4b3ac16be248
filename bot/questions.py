"""Every question, once: for slash commands, the console and whatever asks next.

A question is asked by somebody and answered from what that person may read. This module refuses to
know how an answer looks and where it goes. Unreadable names answer like missing ones, because both
are looked up among what the asker may read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bot.chat import Command
from bot.perception import Crowds
from engine import (
    InvalidInput,
    Memory,
    PersonInfo,
    Reader,
    UnknownEntity,
    UnknownPerson,
    identify,
    nearest,
)
from engine.beliefs import (
    Announcement,
    CommonGround,
    Explanation,
    Handoff,
    Mind,
    Misinformed,
    Recorded,
    Standing,
    WhoKnows,
)
from engine.errors import UnknownRoom
from engine.events import Say

type Answer = (
    WhoKnows
    | Misinformed
    | Announcement
    | Handoff
    | Explanation
    | CommonGround
    | Mind
    | Standing
    | Recorded
)

_MENTION = r"<@!?(?P<id>[A-Za-z0-9]+)(?:\|[^<>]*)?>"
_NAMED = re.compile(_MENTION + r"|@(?P<name>[^\s<>@,]+)|(?P<bare>[^\s<>@,]+)")
_GROUP = re.compile(r"<!subteam\^|<!(?:here|channel|everyone)|<@&")
_KEY = re.compile(r"[^\W\d_]{2,}[-_]\d+", re.ASCII)


class Asking(NamedTuple):
    """Who asks, what that person may read, and everybody who can be asked about."""

    memory: Memory
    command: Command
    reader: Reader
    people: Sequence[PersonInfo]
    crowds: Crowds

    @property
    def text(self) -> str:
        return self.command.text.strip()


def asker(memory: Memory, who: str) -> PersonInfo:
    """The person who asks, by id, handle or name."""
    people = memory.people()
    if not people:
        raise UnknownPerson(
            "Nothing has been read into this memory yet: `secondorder replay EXPORT` does that."
        )
    found = person(who, people)
    if found.bot or found.gone:
        raise UnknownPerson(f"{found.name} is not an active person of this workspace.")
    return found


def answer(memory: Memory, command: Command, crowds: Crowds | None = None) -> Answer:
    """Answers one question; `command.who` is the asker's id."""
    name = command.name.removeprefix("/").casefold()
    if name not in QUESTIONS:
        known = ", ".join(f"/{question}" for question in QUESTIONS)
        raise InvalidInput(
            f"There is no command /{name[:40]}; these are: {known}.",
            [f"/{near}" for near in nearest(name, QUESTIONS)],
        )
    asking = Asking(
        memory, command, memory.reader(command.who), memory.people(), crowds or Crowds()
    )
    return QUESTIONS[name](asking)


# ------------------------------------------------------------------------------- the questions


def whoknows(asking: Asking) -> WhoKnows:
    """`/whoknows DECISION`: who knows the current value, who holds an old one."""
    return asking.memory.who_knows(_entity(asking, "whoknows"), reader=asking.reader)


def misinformed(asking: Asking) -> Misinformed:
    """`/misinformed [@PERSON | DECISION]`: every belief that no longer holds."""
    memory, reader, text = asking.memory, asking.reader, asking.text
    if not text:
        return memory.misinformed(reader=reader)
    if text.startswith(("@", "<@")):
        [one] = _people(asking, 1, "misinformed [@person | decision]")
        return memory.misinformed(person=one.id, reader=reader)
    try:
        return memory.misinformed(entity=_entity(asking, "misinformed"), reader=reader)
    except UnknownEntity:
        known = _matching(text, asking.people)
        if len(known) != 1:
            raise
        return memory.misinformed(person=known[0].id, reader=reader)


def announce_plan(asking: Asking) -> Announcement:
    """`/announce-plan DECISION`: the fewest messages that repair what people hold."""
    entity = _entity(asking, "announce-plan")
    mine = [room for room in asking.memory.rooms() if asking.command.who in room.here]
    return asking.memory.plan_announcements(
        entity,
        [room.id for room in mine],
        reader=asking.reader,
        asker=asking.command.who,
        small={room.id: asking.crowds.of(room.id, room.name) for room in mine},
    )


def handoff(asking: Asking) -> Handoff:
    """`/handoff @FROM @TO`: what the second lacks or has wrong that the first knows."""
    a, b = _people(asking, 2, "handoff @from @to")
    return asking.memory.handoff_delta(a.id, b.id, reader=asking.reader)


def explain(asking: Asking) -> Explanation:
    """`/explain @PERSON DECISION`: the events a belief rests on."""
    found = _NAMED.match(asking.text)
    rest = asking.text[found.end() :].strip() if found else ""
    if not found or not rest:
        raise InvalidInput("Say it like this: /explain @person decision.")
    one = _person(found, asking)
    return asking.memory.explain(one.id, _plain(rest), reader=asking.reader)


def common_ground(asking: Asking) -> CommonGround:
    """`/common-ground @A @B`: what both know, and know that the other knows."""
    a, b = _people(asking, 2, "common-ground @a @b")
    return asking.memory.common_ground(a.id, b.id, reader=asking.reader)


def mymind(asking: Asking) -> Mind:
    """`/mymind`: what you are thought to know."""
    return asking.memory.mind_of(asking.command.who, reader=asking.reader)


def status(asking: Asking) -> Standing:
    """`/status`: how much was read, where you may read."""
    return standing(asking.memory, asking.reader)


def decide(asking: Asking) -> Recorded:
    """`/decide KEY VALUE` or `/decide NAME: VALUE`: records a decision, out loud, in the room."""
    command, memory = asking.command, asking.memory
    rooms = {room.id: room for room in memory.rooms()}
    if command.room not in rooms:
        raise UnknownRoom("A decision is made in a room: type /decide in the channel it is for.")
    if command.who not in rooms[command.room].here:
        raise InvalidInput("Only people who are in the channel can decide there.")
    name, value = _decision(asking.text)
    entity = _slug(name)
    micros = int(command.at.timestamp() * 1_000_000)
    event = Say(
        id=f"{memory.sid}-{command.room}-decide-{command.who}-{micros}",
        at=command.at,
        speaker=command.who,
        room=command.room,
        entity=entity,
        value=value,
        name=name,
        quote=f"{name}: {value}"[:200],
        crowd=asking.crowds.of(command.room, rooms[command.room].name),
    )
    memory.record(event)
    return memory.recorded(event)


QUESTIONS: Mapping[str, Callable[[Asking], Answer]] = {
    "whoknows": whoknows,
    "misinformed": misinformed,
    "announce-plan": announce_plan,
    "handoff": handoff,
    "decide": decide,
    "explain": explain,
    "common-ground": common_ground,
    "mymind": mymind,
    "status": status,
}


def standing(memory: Memory, reader: Reader | None = None) -> Standing:
    """What was read so far, where the reader may read; everything for the operator."""
    rooms = [r for r in memory.rooms() if reader is None or r.id in reader.rooms]
    entities = memory.entities(reader)
    people = [p for p in memory.people() if not p.bot]
    return Standing(
        workspace=memory.sid,
        people=len(people),
        rooms=len(rooms),
        messages=sum(memory.notes(f"lines:{room.id}") for room in rooms),
        statements=len(memory.spoken(reader)),
        entities=len(entities),
    )


# ------------------------------------------------------------------------------- what was typed


def person(text: str, people: Sequence[PersonInfo]) -> PersonInfo:
    """The one person meant by an id, a mention, a handle or a name."""
    found = _matching(text, people)
    if len(found) == 1:
        return found[0]
    wanted = text.strip().removeprefix("@")
    if found:
        ids = ", ".join(f"{p.name} ({p.handle or p.id})" for p in found[:5])
        raise UnknownPerson(f"More than one person is called {wanted!r}: {ids}.")
    names = [p.name for p in people if not p.bot and not p.gone]
    raise UnknownPerson(f"Nobody here is called {wanted!r}.", nearest(wanted, names))


def _matching(text: str, people: Sequence[PersonInfo]) -> list[PersonInfo]:
    """Programs are nobody: one that posted in a private room only is not to be found out here."""
    people = [p for p in people if not p.bot]
    mention = re.fullmatch(_MENTION, text.strip())
    wanted = mention["id"] if mention else text.strip().removeprefix("@")
    exact = [p for p in people if p.id == wanted]
    if exact or mention:
        return exact
    folded = wanted.casefold()
    for field in ("handle", "name"):
        found = [p for p in people if getattr(p, field).casefold() == folded and not p.gone]
        if found:
            return found
    return []


def _people(asking: Asking, count: int, usage: str) -> list[PersonInfo]:
    if _GROUP.search(asking.text):
        raise InvalidInput(f"A group is not a person: /{usage}.")
    named = list(_NAMED.finditer(asking.text))
    if len(named) != count:
        raise InvalidInput(f"Say it like this: /{usage}.")
    found = [_person(one, asking) for one in named]
    if len({one.id for one in found}) != count:
        raise InvalidInput("That takes two different people.")
    return found


def _person(named: re.Match[str], asking: Asking) -> PersonInfo:
    return person(named["id"] or named["name"] or named["bare"], asking.people)


def _entity(asking: Asking, usage: str) -> str:
    entity = _plain(asking.text)
    if not entity:
        raise InvalidInput(f"Say which decision: /{usage} decision-42.")
    return entity


def _plain(text: str) -> str:
    return text.strip().strip("`\"'“”").strip()


def _decision(text: str) -> tuple[str, str]:
    """What is decided, and how: a key and its value, or a name, a colon and its value."""
    key = _KEY.match(text)
    if key:
        name, rest = key[0], text[key.end() :].lstrip(" :=")
        rest = re.sub(r"^(?:->|→)\s*", "", rest)
    else:
        name, _, rest = text.partition(":")
    if not name.strip() or not rest.strip():
        raise InvalidInput(
            "Say it like this: /decide decision-42 ship friday, or /decide the launch date: 8 December."
        )
    return " ".join(name.split()), " ".join(rest.split())


def _slug(name: str) -> str:
    """The key of an entity with this name: the same for every spelling of the same words."""
    words = re.findall(r"\w+(?:-\w+)*", name.casefold())
    kept = words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words
    return identify("-".join(kept) or name)
