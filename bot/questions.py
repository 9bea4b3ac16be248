"""Every question, once: for slash commands, the console and whatever asks next.

A question is asked by somebody and answered from what that person may read. This module refuses to
know how an answer looks and where it goes. Unreadable names answer like missing ones, because both
are looked up among what the asker may read.
"""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bot.chat import Command
from bot.perception import Crowds
from engine import (
    InvalidInput,
    Memory,
    PersonInfo,
    Reader,
    RoomInfo,
    UnknownEntity,
    UnknownPerson,
    folded,
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
    Ref,
    Standing,
    WhoKnows,
)
from engine.errors import UnknownRoom
from engine.events import Say
from extraction.markup import fold, read
from extraction.rules import entity_id

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
_APART = string.whitespace + ","
_WORD = re.compile(r"@?[^\s<>@,]*")
_GROUP = re.compile(r"<!subteam\^|<!(?:here|channel|everyone)|<@&")
_KEY = re.compile(r"[^\W\d_]{2,}[-_]\d+(?=\s|[:=→]|->|$)", re.ASCII)
_SETS = re.compile(r"[\s:=]*(?:(?:->|=>|→|is\b(?:\s+now\b)?)\s*)?", re.I)

NAME_LIMIT, VALUE_LIMIT = 80, 200
"""The most characters of what `/decide` takes as a name, and as a value."""

_ASKED_LIMIT = 300  # nothing has a longer name, so nothing is missed and errors stay a sentence


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
            f"There is no command {f'/{name[:40]}'!r}; these are: {known}.",
            [f"/{near}" for near in nearest(name, QUESTIONS)],
        )
    reader = memory.reader(command.who)
    asking = Asking(memory, command, reader, visible(memory, reader), crowds or Crowds())
    return QUESTIONS[name](asking)


def visible(memory: Memory, reader: Reader) -> list[PersonInfo]:
    """The people a reader may know of: full members know each other; a guest, and who is known from
    conversations only, is known where they can be met."""
    people = memory.people()
    met = memory.met(reader) | {reader.person}
    guest = any(p.guest for p in people if p.id == reader.person)
    return [p for p in people if p.id in met or not (guest or p.guest)]


# ------------------------------------------------------------------------------- the questions


def whoknows(asking: Asking) -> WhoKnows:
    """`/whoknows DECISION`: who knows the current value, who holds an old one."""
    return _about(
        asking, "whoknows", lambda entity: asking.memory.who_knows(entity, reader=asking.reader)
    )


def misinformed(asking: Asking) -> Misinformed:
    """`/misinformed [@PERSON | DECISION]`: every belief that no longer holds."""
    memory, reader, text = asking.memory, asking.reader, asking.text
    if not text:
        return memory.misinformed(reader=reader)
    if text.startswith(("@", "<@")):
        [one] = _people(asking, 1, "misinformed [@person | decision]")
        return memory.misinformed(person=one.id, reader=reader)
    try:
        return _about(
            asking, "misinformed", lambda one: memory.misinformed(entity=one, reader=reader)
        )
    except UnknownEntity:
        known = _matching(text, asking.people)
        if len(known) != 1:
            raise
        return memory.misinformed(person=known[0].id, reader=reader)


def announce_plan(asking: Asking) -> Announcement:
    """`/announce-plan DECISION`: the fewest messages that repair what people hold."""
    mine = [room for room in asking.memory.rooms() if asking.command.who in room.here]
    return _about(
        asking,
        "announce-plan",
        lambda entity: asking.memory.plan_announcements(
            entity,
            [room.id for room in mine],
            reader=asking.reader,
            asker=asking.command.who,
            small={room.id: asking.crowds.of(room.id, room.name) for room in mine},
        ),
    )


def handoff(asking: Asking) -> Handoff:
    """`/handoff @FROM @TO`: what the second lacks or has wrong that the first knows."""
    a, b = _people(asking, 2, "handoff @from @to")
    return asking.memory.handoff_delta(a.id, b.id, reader=asking.reader)


def explain(asking: Asking) -> Explanation:
    """`/explain @PERSON DECISION`: the events a belief rests on."""
    named = _named(asking.text, asking.people)
    rest = asking.text[len(named) :].strip(_APART)
    if not named or not rest:
        raise InvalidInput("Say it like this: /explain @person decision.")
    one = person(named, asking.people)
    about = asking._replace(command=asking.command.model_copy(update={"text": rest}))
    return _about(
        about,
        "explain @person",
        lambda entity: asking.memory.explain(one.id, entity, reader=asking.reader),
    )


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
    rooms = {room.id: room for room in memory.rooms() if room.id in asking.reader.rooms}
    if command.room not in rooms:
        raise UnknownRoom("A decision is made in a room: type /decide in the channel it is for.")
    room = rooms[command.room]
    if command.who not in room.here:
        raise InvalidInput("Only people who are in the channel can decide there.")
    name, value = _decision(read(asking.text, {p.id: p.name for p in asking.people}).text)
    entity = _bound(asking, room, name) or _key(name)
    micros = int(command.at.timestamp() * 1_000_000)
    event = Say(
        id=f"{memory.sid}-{room.id}-decide-{command.who}-{micros}-{entity}",
        at=command.at,
        speaker=command.who,
        room=room.id,
        entity=entity,
        value=value,
        name=name,
        quote=f"{name}: {value}"[:200],
        crowd=asking.crowds.of(room.id, room.name),
    )
    memory.record(event)
    called = memory.entities(asking.reader)[entity]  # not as some unreadable room calls it
    return memory.recorded(event).model_copy(update={"entity": Ref(id=entity, name=called)})


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
    everybody = memory.people() if reader is None else visible(memory, reader)
    people = [p for p in everybody if not p.bot]
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
    wanted = text.strip().removeprefix("@")[:60]
    if found:
        ids = ", ".join(f"{p.name} ({p.handle or p.id})" for p in found[:5])
        raise UnknownPerson(f"More than one person is called {wanted!r}: {ids}.")
    called = {form: p.name for p in people if not (p.bot or p.gone) for form in (p.handle, p.name)}
    near = dict.fromkeys(called[form] for form in nearest(wanted, called))
    raise UnknownPerson(f"Nobody here is called {wanted!r}.", list(near))


def _matching(text: str, people: Sequence[PersonInfo]) -> list[PersonInfo]:
    """Programs are nobody: one that posted in a private room only is not to be found out here."""
    people = [p for p in people if not p.bot]
    mention = re.fullmatch(_MENTION, text.strip())
    wanted = mention["id"] if mention else text.strip().removeprefix("@")
    exact = [p for p in people if p.id == wanted]
    if exact or mention:
        return exact
    sought = folded(wanted)
    for field in ("handle", "name"):
        found = [p for p in people if folded(getattr(p, field)) == sought]
        if found:
            return [p for p in found if not p.gone] or found
    return []


def _people(asking: Asking, count: int, usage: str) -> list[PersonInfo]:
    if _GROUP.search(asking.text):
        raise InvalidInput(f"A group is not a person: /{usage}.")
    named, rest = list[str](), asking.text.strip(_APART)
    while rest and len(named) <= count:
        named.append(_named(rest, asking.people))
        rest = rest[len(named[-1]) :].lstrip(_APART)
    if len(named) != count:
        raise InvalidInput(f"Say it like this: /{usage}.")
    found = [person(one, asking.people) for one in named]
    if len({one.id for one in found}) != count:
        raise InvalidInput("That takes two different people.")
    return found


def _named(text: str, people: Sequence[PersonInfo]) -> str:
    """How the text begins: a mention, else the longest name of somebody, else a word."""
    mention = re.match(_MENTION, text)
    if mention:
        return mention[0]
    start = len(text) - len(text.removeprefix("@"))
    forms = {form for p in people if not p.bot for form in (p.name, p.handle, p.id)} - {""}
    for form in sorted(forms, key=len, reverse=True):
        end = start + len(form)
        if (
            folded(text[start:end]) == folded(form)
            and text[end : end + 1].strip(f"{_APART}@<") == ""
        ):
            return text[:end]
    word = _WORD.match(text)
    return (word[0] if word else "") or text[:1]


def _about[T](asking: Asking, usage: str, ask: Callable[[str], T]) -> T:
    """Asks about what was typed: a key, a name, or a name written another way."""
    entity = asking.text.strip("`\"'“”‘’ ")[:_ASKED_LIMIT]
    if not entity:
        raise InvalidInput(f"Say which decision: /{usage} decision-42.")
    try:
        return ask(entity)
    except UnknownEntity:
        if _key(entity) not in asking.memory.entities(asking.reader):
            raise
        return ask(_key(entity))


def _decision(text: str) -> tuple[str, str]:
    """What is decided, and how: a key and its value, or a name, a colon and its value."""
    text = " ".join(text.split())
    key = _KEY.match(text)
    if key:
        name, value = key[0], _SETS.sub("", text[key.end() :], count=1)
    else:
        name, _, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not name or not value:
        raise InvalidInput(
            "Say it like this: /decide decision-42 ship friday, or /decide the launch date: 8 December."
        )
    if len(name) > NAME_LIMIT or len(value) > VALUE_LIMIT:
        raise InvalidInput(
            f"A decision is short: a name of up to {NAME_LIMIT} characters and a value of up to"
            f" {VALUE_LIMIT}."
        )
    return name, value


def _bound(asking: Asking, room: RoomInfo, name: str) -> str | None:
    """What is called exactly so already, where everybody in the room may read it."""
    guests = {p.id for p in asking.people if p.guest}
    open_ = set() if room.here & guests else {r.id for r in asking.memory.rooms() if r.open}
    known = asking.memory.entities(Reader("", frozenset({room.id} | open_)))
    called = [key for key, other in known.items() if fold(other) == fold(name)]
    return called[0] if len(called) == 1 else None


def _key(name: str) -> str:
    """The key of a thing with this name; "the launch date" is the launch date."""
    first, _, rest = name.partition(" ")
    return entity_id(rest if first.casefold() == "the" and rest.strip() else name)
