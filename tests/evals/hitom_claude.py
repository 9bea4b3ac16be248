"""Hi-ToM stories read by a model: the benchmark's own lines, or any prose that tells the same.

The model says what happens; what anybody believes follows from that in the engine. It refuses to
know the questions and the labels. Answers are recorded and supplied as docs/extraction.md says,
with the pass "story" and `case_of` the story.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from engine.events import Event
from extraction import CannotRead
from extraction.asking import enclosed
from extraction.claude import Model
from tests.evals.hitom_stories import (
    Claimed,
    Entered,
    Extractor,
    Left,
    Moved,
    Sentence,
    Stated,
    StoryError,
    Told,
    events,
    lines,
)

_ARTICLE = re.compile(r"(?:the|an?|his|her|their)\s+(?=\S)", re.IGNORECASE)


class Happened(BaseModel):
    """One event, in the story's own names."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["enter", "exit", "set", "say", "tell"]
    people: list[str]
    to: str | None
    room: str | None
    thing: str | None
    place: str | None


class Story(BaseModel):
    """What happens, in order."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    events: list[Happened]


def reader(model: Model) -> Extractor:
    """Reads stories with a model, one call for each. What is missing or cannot be meant is a
    StoryError."""

    def read(story: str) -> list[Event]:
        try:
            answer = model.ask("story", prompt(), content(story), Story, case=case_of(story))
        except CannotRead as problem:
            raise StoryError(f"the story was not read: {problem.why.rstrip('.')}") from None
        return events(sentences_of(answer))

    return read


@cache
def prompt() -> str:
    return Path(__file__).with_name("hitom_prompt.md").read_text("utf-8")


def content(story: str) -> str:
    """The story between its marks: its numbered lines if it has any, otherwise all of it."""
    numbered = lines(story)
    told = "\n".join(f"{n} {line}" for n, line in enumerate(numbered, 1)) or story.strip()
    return enclosed({"story": told})


def case_of(story: str) -> str:
    """The name of a story in files of answers; however it was laid out."""
    return f"story-{hashlib.sha256(content(story).encode()).hexdigest()[:16]}"


def sentences_of(story: Story) -> list[Sentence]:
    """The answer in the benchmark's terms. Raises StoryError."""
    found = [sentence for n, one in enumerate(story.events, 1) for sentence in _sentences(one, n)]
    if not found:
        raise StoryError("nothing happens in the story")
    return found


def _sentences(one: Happened, n: int) -> Iterator[Sentence]:
    people = tuple(_named(person, n, "a person") for person in one.people)
    match one.kind:
        case "enter" if people:
            yield Entered(people, _named(one.room, n, "a room"))
        case "exit" if people:
            for person in people:
                yield Left(person, _named(one.room, n, "a room"))
        case "set" if not people:
            yield Stated(_thing(one.thing, n), _place(one.place, n))
        case "set" if len(people) == 1:
            yield Moved(people[0], _thing(one.thing, n), _place(one.place, n))
        case "say" if len(people) == 1:
            yield Claimed(people[0], _thing(one.thing, n), _place(one.place, n))
        case "tell" if len(people) == 1:
            hearer = _named(one.to, n, "a hearer")
            if hearer == people[0]:
                raise StoryError(f"event {n}: somebody tells themselves")
            yield Told(people[0], hearer, _thing(one.thing, n), _place(one.place, n))
        case _:
            raise StoryError(f"event {n}: it is not said by whom")


def _named(name: str | None, n: int, what: str) -> str:
    """`green_treasure_chest` for "the green treasure chest"."""
    bare = re.sub(r"[^\w]+", "_", _ARTICLE.sub("", (name or "").strip(), count=1)).strip("_")
    if not bare:
        raise StoryError(f"event {n}: {what} is missing")
    return bare


def _thing(name: str | None, n: int) -> str:
    return _named(name, n, "a thing").lower()


def _place(name: str | None, n: int) -> str:
    return _named(name, n, "a place").lower()
