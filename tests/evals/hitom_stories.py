"""Hi-ToM's language: numbered stories and questions in, sentences and engine events out.

It knows the benchmark's templates and the vocabulary of the engine, and refuses to know the
database, the labels and what anybody believes. The data is Hi-ToM's (He et al., EMNLP 2023
Findings, https://github.com/ying-hui-he/Hi-ToM_dataset, Apache-2.0); none of it is copied here.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol

from engine.events import Enter, Event, Exit, Grade, Say, Set, Tell

WAITING_ROOM = "waiting_room"  # where the story parks people: no room, so no entry and no exit
EVERYWHERE = "everywhere"  # the room of a public claim, which everybody hears wherever they are
BEGIN = datetime(2023, 6, 12, tzinfo=UTC)  # any moment does: a story says only what came first


class StoryError(ValueError):
    """One sentence about a story or a question that is not in the benchmark's language."""


# ------------------------------------------------------------------------------- sentences


class Entered(NamedTuple):
    people: tuple[str, ...]
    room: str


class Stated(NamedTuple):
    thing: str
    place: str


class Moved(NamedTuple):
    person: str
    thing: str
    place: str


class Stayed(NamedTuple):
    person: str
    room: str


class Left(NamedTuple):
    person: str
    room: str


class Claimed(NamedTuple):
    speaker: str
    thing: str
    place: str


class Told(NamedTuple):
    speaker: str
    hearer: str
    thing: str
    place: str


class Noise(NamedTuple):
    """A distractor: it changes nothing, and names people, places and things that are not there."""

    text: str


type Sentence = Entered | Stated | Moved | Stayed | Left | Claimed | Told | Noise

_W = r"([A-Za-z0-9_-]+)"
_TEMPLATES: tuple[tuple[re.Pattern[str], Callable[..., Sentence]], ...] = tuple(
    (re.compile(pattern), made)
    for pattern, made in (
        (rf"((?:{_W}, )*{_W},? and {_W}|{_W}) entered the {_W}\.", lambda *g: _entered(g[0], g[-1])),
        (rf"The {_W} is in the {_W}\.", Stated),
        (rf"{_W} moved the {_W} to the {_W}\.", Moved),
        (rf"{_W} made no movements and stayed in the {_W} for 1 minute\.", Stayed),
        (rf"{_W} exited the {_W}\.", Left),
        # Released claims have no "the" before the thing; the current generator ends with " now".
        (rf"{_W} publicly claimed that (?:the )?{_W} is in the {_W}(?: now)?\.", Claimed),
        (rf"{_W} privately told {_W} that (?:the )?{_W} is in the {_W}(?: now)?\.", Told),
        (rf"({_W} (?:saw an?|lost (?:his|her|their)|likes the|dislikes the) {_W}\.)",
         lambda *g: Noise(g[0])),
    )
)  # fmt: skip


def _entered(people: str, room: str) -> Entered:
    return Entered(tuple(re.split(r",? and |, ", people)), room)


def lines(story: str) -> tuple[str, ...]:
    """The numbered lines, without their numbers. The rest (instructions, `***`) is no story."""
    numbered = (re.match(r"\d+ +(.*\S)", line.strip()) for line in story.splitlines())
    return tuple(match[1] for match in numbered if match)


def sentence(line: str) -> Sentence:
    """What one line says, its number taken off."""
    for pattern, made in _TEMPLATES:
        if match := pattern.fullmatch(line):
            return made(*match.groups())
    raise StoryError(f"no sentence of Hi-ToM reads {_quoted(line)}")


def sentences(story: str) -> list[Sentence]:
    """What happens, line by line; the line numbered n is at n - 1."""
    found: list[Sentence] = []
    for number, line in enumerate(lines(story), 1):
        try:
            found.append(sentence(line))
        except StoryError as problem:
            raise StoryError(f"story line {number}: {problem}") from None
    if not found:
        raise StoryError("the story has no numbered line")
    return found


def cast(story: Sequence[Sentence]) -> tuple[str, ...]:
    """Whoever takes part, in order of appearance; who is only named by a distractor does not."""
    found: dict[str, None] = {}
    for said in story:
        match said:
            case Entered(people, _):
                found |= dict.fromkeys(people)
            case Moved(person, _, _) | Stayed(person, _) | Left(person, _):
                found[person] = None
            case Claimed(speaker, _, _):
                found[speaker] = None
            case Told(speaker, hearer, _, _):
                found |= dict.fromkeys((speaker, hearer))
            case Stated() | Noise():
                pass
    return tuple(found)


# ------------------------------------------------------------------------------- questions


class Question(NamedTuple):
    """Where `chain` thinks that `thing` is; an empty chain asks where it really is."""

    chain: tuple[str, ...]
    thing: str

    @property
    def order(self) -> int:
        return len(self.chain)


_REALITY = re.compile(rf"Where is the {_W} really\?")
_THOUGHT = re.compile(rf"Where does {_W}(?: really)? think ((?:{_W} thinks )*)the {_W} is\?")


def question(text: str) -> Question:
    """What one question asks."""
    asked = text.strip()
    if match := _REALITY.fullmatch(asked):
        return Question((), match[1])
    if match := _THOUGHT.fullmatch(asked):
        chain = (match[1], *re.findall(rf"{_W} thinks ", match[2]))
        if len(set(chain)) == len(chain):
            return Question(chain, match[4])
        raise StoryError(f"{_quoted(asked)} names a person twice, which the rules leave open")
    raise StoryError(f"no question of Hi-ToM reads {_quoted(asked)}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:120] + "…")


# ------------------------------------------------------------------------------- events


class Extractor(Protocol):
    """Reads a story (its numbered lines) into events, in any order; `at` and `id` say which.

    People, things and places are called by the story's own names. Raises StoryError.
    """

    def __call__(self, story: str, /) -> list[Event]: ...


def template(story: str) -> list[Event]:
    """The events of a story in the benchmark's own language, for the policy `exit_order`.

    A line is a second, and what happens within it a microsecond apart. Whoever enters a room is
    shown where everything in it is: the authors' code does that and the text never says so.
    """
    return events(sentences(story))


def events(told: Sequence[Sentence]) -> list[Event]:
    """The same of a story that somebody else has read into sentences; the one at n - 1 is line n."""
    return list(_events(told, dict.fromkeys(cast(told), "exposed")))


def _events(told: Sequence[Sentence], everybody: Mapping[str, Grade]) -> Iterator[Event]:
    room: str | None = None  # the one being visited: rooms are visited one at a time
    kept_in: dict[str, str | None] = {}  # the room of each thing
    truth: dict[str, str] = {}
    for number, said in enumerate(told, 1):
        mark = _Mark(number)
        match said:
            case Entered(people, entered) if entered != WAITING_ROOM:
                room = entered
                for person in people:
                    yield Enter(**mark.next(), person=person, room=room)
                for thing, place in truth.items():
                    if kept_in.get(thing) == room:
                        yield Set(**mark.next(), room=room, entity=thing, value=place)
            case Stated(thing, place):
                kept_in[thing], truth[thing] = room, place
                yield Set(**mark.next(), room=room, entity=thing, value=place)
            case Moved(person, thing, place):
                truth[thing] = place
                yield Set(**mark.next(), room=room, entity=thing, value=place, by=person)
            case Left(person, left) if left != WAITING_ROOM:
                yield Exit(**mark.next(), person=person, room=left)
            case Claimed(speaker, thing, place):
                yield Say(
                    **mark.next(), speaker=speaker, room=EVERYWHERE, decides=False,
                    witnesses=everybody, entity=thing, value=place,
                )  # fmt: skip
            case Told(speaker, hearer, thing, place):
                yield Tell(
                    **mark.next(), speaker=speaker, listeners=(hearer,), entity=thing, value=place
                )
            case Entered() | Left() | Stayed() | Noise():
                pass


def moment(number: int) -> datetime:
    """When the story line numbered `number` is over, and the next has not begun."""
    return BEGIN + timedelta(seconds=number, milliseconds=500)


def line_of(event: str) -> int:
    """The number of the story line that an event of `template` came from."""
    return int(event.split("-")[0])


class _Mark:
    """The ids and moments of one line's events, in order."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._count = 0

    def next(self) -> dict[str, Any]:
        at = BEGIN + timedelta(seconds=self._line, microseconds=self._count)
        self._count += 1
        return {"id": f"{self._line:04d}-{self._count:02d}", "at": at}
