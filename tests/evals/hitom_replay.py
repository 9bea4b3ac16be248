"""Hi-ToM by brute force: a table of what every chain of people believes, kept up to date in full.

The reference that the engine is held to, written from the benchmark's rules alone: it knows
sentences, and neither events, nor the engine, nor a database. Only `permuted` knows history: before
their commit 9117f35d (2023-06-12) the authors' code updated a nested chain on a move only if its
people came in one fixed order, and that code made the labels they released.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

from tests.evals.hitom_stories import (
    WAITING_ROOM,
    Claimed,
    Entered,
    Left,
    Moved,
    Noise,
    Question,
    Sentence,
    Stated,
    Stayed,
    Told,
    cast,
)

DEPTH = 4

type Chain = tuple[str, ...]


class Held(NamedTuple):
    """A place, and the number of the story line that put it there."""

    place: str
    line: int


class Table:
    """Everything after the last sentence. `truth` and `beliefs` lack what nobody ever learned."""

    def __init__(self, story: Sequence[Sentence], *, permuted: bool = False) -> None:
        self.cast = cast(story)
        self.truth: dict[str, Held] = {}
        self.beliefs: dict[tuple[Chain, str], Held] = {}
        self._permuted = permuted
        self._room = ""
        self._room_of: dict[str, str] = {}
        self._inside: list[str] = []
        self._exited: dict[str, int] = {}
        for number, sentence in enumerate(story, 1):
            self._happen(sentence, number)

    def answer(self, question: Question) -> Held | None:
        """What the question asks for; None is no belief."""
        if not question.chain:
            return self.truth.get(question.thing)
        return self.beliefs.get((question.chain, question.thing))

    def chains(self) -> list[Chain]:
        """All chains of one to four different people."""
        return list(_all_orders(self.cast))

    def _happen(self, sentence: Sentence, line: int) -> None:
        match sentence:
            case Entered(people, room):
                if room != WAITING_ROOM:
                    self._room = room
                    self._inside += people
                    for thing, where in self._room_of.items():
                        if where == room:
                            place = self.truth[thing].place
                            self._see(_all_orders(people), thing, Held(place, line))
            case Stated(thing, place):
                self._room_of[thing] = self._room
                self.truth[thing] = Held(place, line)
                self._see(_all_orders(self._inside), thing, Held(place, line))
            case Moved(person, thing, place):
                self.truth[thing] = Held(place, line)
                chains = _all_orders(self._inside)
                if self._permuted:
                    order = [one for one in self._inside if one != person] + [person]
                    chains = _in_order(order)
                self._see(chains, thing, Held(place, line))
            case Left(person, room):
                if room != WAITING_ROOM:
                    self._inside = [one for one in self._inside if one != person]
                    self._exited[person] = line
            case Claimed(speaker, thing, place):
                for hearer in self.cast:
                    if hearer != speaker:
                        self._hear(hearer, speaker, thing, Held(place, line))
            case Told(speaker, hearer, thing, place):
                self._hear(hearer, speaker, thing, Held(place, line))
            case Stayed() | Noise():
                pass

    def _see(self, chains: Iterable[Chain], thing: str, held: Held) -> None:
        for chain in chains:
            self.beliefs[chain, thing] = held

    def _hear(self, hearer: str, speaker: str, thing: str, held: Held) -> None:
        self.beliefs[(speaker, hearer), thing] = held
        if self._exited.get(speaker, 0) > self._exited.get(hearer, 0):
            self.beliefs[(hearer,), thing] = held
            self.beliefs[(hearer, speaker), thing] = held


def _all_orders(people: Sequence[str]) -> Iterable[Chain]:
    for length in range(1, DEPTH + 1):
        yield from permutations(people, length)


def _in_order(people: Sequence[str]) -> Iterable[Chain]:
    for length in range(1, DEPTH + 1):
        yield from combinations(people, length)
