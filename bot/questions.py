"""Every question, once: for slash commands, the console and whatever asks next.

A question is asked by somebody and answered from what that person may read. This module refuses to
know how an answer looks and where it goes. Unreadable names answer like missing ones, because both
are looked up among what the asker may read.
"""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from bot import backlog, handed, naming
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
    Named,
    Names,
    Recorded,
    Ref,
    Slot,
    Slots,
    Standing,
    WhoKnows,
)
from engine.errors import UnknownRoom
from engine.events import Say
from extraction import entities
from extraction.entities import Bound, Proposed, Question
from extraction.markup import read
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
    | Slots
    | Named
    | Names
)

_MENTION = r"<@!?(?P<id>[A-Za-z0-9]+)(?:\|[^<>]*)?>"
_APART = string.whitespace + ","
_WORD = re.compile(r"@?[^\s<>@,]*")
_GROUP = re.compile(r"<!subteam\^|<!(?:here|channel|everyone)|<@&")
_KEY = re.compile(r"[^\W\d_]{2,}[-_]\d+(?=\s|[:=→]|->|$)", re.ASCII)
_SETS = re.compile(r"[\s:=]*(?:(?:->|=>|→|is\b(?:\s+now\b)?)\s*)?", re.I)

NAME_LIMIT, VALUE_LIMIT = 80, 200
"""The most characters of what `/decide` takes as a name, and as a value."""

SLOTS = 20
"""So many decisions about one subject are answered together."""

_EQUALS = re.compile(r"\s+[=＝]+\s+|[=＝]+")
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


def answer(
    memory: Memory, command: Command, crowds: Crowds | None = None, shared: "Shared | None" = None
) -> Answer:
    """Answers one question; `command.who` is the asker's id. `shared`: from what all of some people
    may read, instead of from what the asker may."""
    name = command.name.removeprefix("/").casefold()
    if name not in QUESTIONS:
        known = ", ".join(f"/{question}" for question in QUESTIONS)
        raise InvalidInput(
            f"There is no command {f'/{name[:40]}'!r}; these are: {known}.",
            [f"/{near}" for near in nearest(name, QUESTIONS)],
        )
    reader = memory.reader(command.who) if shared is None else shared.reader
    people = visible(memory, reader, shared is not None and shared.guests)
    return QUESTIONS[name](Asking(memory, command, reader, people, crowds or Crowds()))


class Shared(NamedTuple):
    """What everybody of some people may read, and whether guests are among them."""

    reader: Reader
    guests: bool


def shared(memory: Memory, room: str, *others: str) -> Shared | None:
    """What everybody may read who may read a room now, and some others; None where nobody is known to
    be there. What was said to anybody in private is not in it."""
    where = next((one for one in memory.rooms() if one.id == room), RoomInfo(room, room))
    known = {p.id: p for p in memory.people(everyone=True)}
    here = {id for id in where.here if id not in known or not (known[id].bot or known[id].gone)}
    if not here:
        return None
    everybody = here | set(others)
    guests = any(id not in known or known[id].guest for id in everybody)
    anybody = {""} if where.open else set[str]()  # who may look into an open room reads it as well
    return Shared(Reader("", memory.shared(everybody | anybody)), guests)


def visible(memory: Memory, reader: Reader, guests: bool = False) -> list[PersonInfo]:
    """The people a reader may know of: full members know each other; a guest, and who is known from
    conversations only, is known where they can be met. `guests`: it is read by guests as well."""
    people = memory.people()
    met = memory.met(reader) | {reader.person}
    guest = guests or any(p.guest for p in people if p.id == reader.person)
    return [p for p in people if p.id in met or not (guest or p.guest)]


def named(memory: Memory, command: Command, answer: Answer) -> frozenset[str]:
    """The people that a question was about, as it was understood."""
    match answer:
        case Handoff():
            return frozenset({answer.from_person.id, answer.to_person.id})
        case Explanation():
            return frozenset(one.id for one in answer.chain)
        case CommonGround():
            return frozenset(one.id for one in answer.people)
        case Misinformed() if command.text.strip():
            # As `misinformed` understood it: a decision of that name comes first.
            reader, text = memory.reader(command.who), command.text.strip()
            if not text.startswith(("@", "<@")):
                with suppress(UnknownEntity):
                    memory.truth(text, reader=reader)
                    return frozenset()
            found = _matching(text, visible(memory, reader))
            return frozenset({found[0].id} if len(found) == 1 else ())
        case _:
            return frozenset()


# ------------------------------------------------------------------------------- the questions


def whoknows(asking: Asking) -> WhoKnows | Slots:
    """`/whoknows DECISION`: who knows the current value, who holds an old one. A subject that is no
    decision itself, like `release-2.4`, gets all decisions about it."""
    memory, reader = asking.memory, asking.reader
    try:
        answer = _about(asking, "whoknows", lambda entity: memory.who_knows(entity, reader=reader))
    except _Several as several:
        found = [memory.who_knows(slot, reader=reader) for slot in several.slots[:SLOTS]]
        return Slots(
            subject=several.subject,
            slots=tuple(
                Slot(entity=a.entity, value=a.value, disputed=a.disputed, decided=a.decided)
                for a in found
            ),
            more=len(several.slots) - len(found),
        )
    names = naming.names_for(memory, reader, apart=False)
    rooms = [room for room in memory.rooms() if room.id in reader.rooms & _spoken_in(answer)]
    return answer.model_copy(
        update={
            "related": tuple(
                Ref(id=other, name=names.named(other)) for other in names.beside(answer.entity.id)
            ),
            "perhaps": tuple(naming.questions(memory, reader, rooms, answer.entity.id)),
        }
    )


def _spoken_in(answer: WhoKnows) -> set[str]:
    shown = [answer.decided, *(one.evidence for one in answer.people)]
    return {one.room.id for one in shown if one is not None and one.room is not None}


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
    except UnknownEntity as unknown:
        known = _matching(text, asking.people)
        if len(known) != 1 and isinstance(unknown, _Several):
            found = [memory.misinformed(entity=slot, reader=reader) for slot in unknown.slots]
            return Misinformed(
                beliefs=tuple(one for some in found for one in some.beliefs),
                wrong_about_others=tuple(one for some in found for one in some.wrong_about_others),
            )
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
    over = handed.over(asking.memory, asking.reader.person, a.id, b.id)
    return asking.memory.handoff_delta(a.id, b.id, reader=asking.reader, over=over)


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
    room = _where(asking, "A decision is made", "decide")
    guests = {p.id for p in asking.people if p.guest}
    names = naming.names_for(memory, naming.everybody_in(room, memory.rooms(), guests))
    name, value = _decision(_displayed(asking), names)
    meant = names.resolve(name)
    entity = meant.entity if isinstance(meant, Bound) else entity_id(name)
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
    asked = []
    if isinstance(meant, Proposed):
        near = tuple(one for one in meant.candidates if one != entity)
        asked.append(Question(event.id, command.who, name, entity, near))
    memory.record_all([event], naming.notes_of(memory, room.id, asked, command.at))
    # As everybody reads it who is in the room: it is said there, aloud.
    called = memory.entities(naming.everybody_in(room, memory.rooms(), guests), apart=True)[entity]
    return memory.recorded(event).model_copy(update={"entity": Ref(id=entity, name=called)})


def same(asking: Asking) -> Named:
    """`/same NAME = DECISION`: both mean one decision, for who may read this channel. `NAME` may be a
    name that nothing has yet, or another decision."""
    room = _where(asking, "What a name means is said", "same")
    return naming.confirm(asking.memory, asking.reader, room, *_pair(asking, "same"))


def different(asking: Asking) -> Named:
    """`/different NAME = DECISION`: they are not one decision. Takes back what `/same` said, in every
    channel you are in, and answers the question whether they are."""
    mine = [room for room in asking.memory.rooms() if asking.command.who in room.here]
    return naming.take_back(asking.memory, asking.reader, mine, *_pair(asking, "different"))


def names(asking: Asking) -> Names:
    """`/names [DECISION]`: which names wait for somebody to say what they mean, and which mean what."""
    memory, reader = asking.memory, asking.reader
    rooms = [room for room in memory.rooms() if room.id in reader.rooms]
    about = None
    if asking.text:
        about = _about(asking, "names", lambda one: memory.truth(one, reader=reader)).entity.id
    return naming.listed(memory, reader, rooms, about)


QUESTIONS: Mapping[str, Callable[[Asking], Answer]] = {
    "whoknows": whoknows,
    "misinformed": misinformed,
    "announce-plan": announce_plan,
    "handoff": handoff,
    "decide": decide,
    "explain": explain,
    "common-ground": common_ground,
    "names": names,
    "same": same,
    "different": different,
    "mymind": mymind,
    "status": status,
}


def standing(memory: Memory, reader: Reader | None = None) -> Standing:
    """What was read so far and what is not read yet, where the reader may read; everything for the
    operator."""
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
        inbox=backlog.standing(memory, {room.id: room.name for room in rooms}, reader is None),
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
        names = naming.names_for(asking.memory, asking.reader, apart=False)
        exact = {*names.claims(entity)} or {entity_id(entity)} & names.keys()
        if len(exact) == 1:
            return ask(exact.pop())
        slots = names.of_subject(entity)
        if exact or not slots:
            raise
        raise _Several(entity, slots, [names.named(slot) for slot in slots]) from None


class _Several(UnknownEntity):
    """A subject was named, which is no decision itself but has decisions, `slots`."""

    def __init__(self, subject: str, slots: Sequence[str], called: Sequence[str]) -> None:
        super().__init__(
            f"There is more than {subject!r}; say which decision about it.", called[:5]
        )
        self.subject = subject
        self.slots = slots


def _where(asking: Asking, what: str, command: str) -> RoomInfo:
    """The room where it was typed, by somebody who is in it."""
    rooms = {room.id: room for room in asking.memory.rooms() if room.id in asking.reader.rooms}
    if asking.command.room not in rooms:
        raise UnknownRoom(f"{what} in a room: type /{command} in the channel it is for.")
    room = rooms[asking.command.room]
    if asking.command.who not in room.here:
        verb = "decide" if command == "decide" else "say that"
        raise InvalidInput(f"Only people who are in the channel can {verb} there.")
    return room


def _displayed(asking: Asking) -> str:
    return read(asking.text, {p.id: p.name for p in asking.people}).text


def _pair(asking: Asking, command: str) -> tuple[str, str]:
    """Two names with `=` between them; without one, two words."""
    text = " ".join(_displayed(asking).split())
    pieces = _EQUALS.split(text, maxsplit=1) if _EQUALS.search(text) else text.split(" ")
    found = [piece.strip("`\"'“”‘’ ")[:_ASKED_LIMIT] for piece in pieces]
    if len(found) != 2 or not all(found):
        raise InvalidInput(f"Say it like this: /{command} the big launch = decision-42.")
    return found[0], found[1]


def _decision(text: str, names: entities.Names) -> tuple[str, str]:
    """What is decided, and how: a key and its value, or a name, a colon and its value."""
    text = " ".join(text.split())
    key, head = _KEY.match(text), text.partition(":")[0].strip()
    if key and entities.parts(head).slot and len(names.claims(head)) == 1:
        key = None  # "OPS-17 owner: Maya", where there is such a decision
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


def can_be_decided(name: str, value: str) -> bool:
    """Whether `/decide NAME: VALUE` takes them as they are."""
    short = len(name) <= NAME_LIMIT and len(value) <= VALUE_LIMIT
    return short and ":" not in name and "\n" not in name
