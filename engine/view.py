"""One person's own mind, read through that person's database user.

Whatever is asked here, the database refuses everything but this one mind, and every write: what a
view does not say, it could not have read. It knows the mind and what is common knowledge in the
workspace (`Commons`), and refuses to know what is true.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import NamedTuple, Self

from engine import answers
from engine.answers import Names
from engine.beliefs import Belief, Differing
from engine.errors import InvalidInput, UnknownPerson
from engine.links import Links
from engine.reading import Reading, belief_of, identify, nearest, quoted
from engine.recording import mind
from engine.rules import Chain, is_somebody
from engine.store import Keyhole


class Commons(NamedTuple):
    """What the owner of a mind may know beside it; the default is nothing.

    `names`: of people, of rooms they may read or were in, and who wants to be left out; what
    entities are called, the mind knows itself. `absent`: who is in no list (bots, who is gone).
    """

    names: Names = Names({}, {}, {})
    links: Links = Links({}, {})
    absent: frozenset[str] = frozenset()


class View:
    """The mind of `person`, an id; a context manager. Whoever saw nothing yet knows nothing.

    An unknown name raises UnknownPerson or UnknownEntity, with suggestions from this mind only; to
    an empty mind every entity is merely unknown. Raises NotAllowed once the person was forgotten.
    """

    def __init__(self, person: str, keyhole: Keyhole, commons: Commons | None = None) -> None:
        self.person = person
        self._keyhole = keyhole
        self._commons = commons or Commons()

    def __repr__(self) -> str:
        return f"View({self.person!r})"

    def close(self) -> None:
        self._keyhole.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---------------------------------------------------------------------------- asking

    def believes(self, entity: str, at: datetime | None = None) -> Belief:
        """What the owner believes."""
        return self._belief((self.person,), entity, at)

    def what_does_believe(
        self, chain: str | Sequence[str], entity: str, at: datetime | None = None
    ) -> Belief:
        """What somebody believes, as the owner thinks; `["A", "B"]` reads "A thinks that B
        believes". The answer's chain begins with the owner."""
        people = [chain] if isinstance(chain, str) else list(chain)
        if not people:
            raise InvalidInput("A chain names at least one person.")
        return self._belief(self._reading().chain([self.person, *people]), entity, at)

    def who_is_misinformed(
        self, entity: str | None = None, at: datetime | None = None
    ) -> tuple[Differing, ...]:
        """Of whom the owner thinks that they hold something else than the owner, newest first;
        about every entity or about one. Of whom nothing is known, nothing is said."""
        look = self._reading(at)
        if entity is None:
            rows = look.rows("all_statements")
        else:
            rows = look.rows("statements", [self._key(entity)])
        found = answers.by_entity(rows)
        names = self._names(look, found)
        return tuple(answers.differing(self.person, found, names, self._commons.absent, look.at))

    def context_for(self, talking_to: str) -> str:
        """What the owner should have in mind when talking to somebody, for a prompt; one line an
        entity. Empty when there is nothing to mind."""
        look, other = self._reading(), identify(talking_to)
        if other == self.person:
            raise InvalidInput("That takes two different people.")
        self._check([other])
        found = answers.by_entity(look.rows("all_statements"))
        return answers.context(self.person, other, found, self._names(look, found))

    # ---------------------------------------------------------------------------- inside

    def _belief(self, chain: Chain, entity: str, at: datetime | None) -> Belief:
        """One Cypher read, and the entity's name; more only where a name is not found as it is."""
        look = self._reading(at)
        key = look.links.key(identify(entity))
        rows = look.believed(chain, key)
        self._check(chain, seen=bool(rows))
        if not rows:
            known = self._key(entity)
            rows = [] if known == key else look.believed(chain, known)
            key = known
        return belief_of(rows, chain, key, self._names(look, [key]), look.at)

    def _reading(self, at: datetime | None = None) -> Reading:
        return Reading(self._keyhole, at=at, graph=mind(self.person), links=self._commons.links)

    def _key(self, entity: str) -> str:
        """The key of an entity in this mind, whenever it was spoken of."""
        look = self._reading()
        return look.known(entity) if look.entities() else look.links.key(identify(entity))

    def _names(self, look: Reading, entities: Iterable[str]) -> Names:
        called = look.entity_names(entities)
        return self._commons.names._replace(entities=called)

    def _check(self, people: Iterable[str], seen: bool = False) -> None:
        """Who wants to be left out is not there, like who is not. `seen`: all are in the mind."""
        names = self._commons.names
        known = {self.person, *names.people}
        strangers = [p for p in people if p in names.left_out or not (seen or p in known)]
        if not strangers:
            return
        met = {
            person
            for row in self._reading().rows("all_statements")
            for person in (*row.people, row.by, row.about)
            if person and person not in names.left_out and not is_somebody(person)
        }
        for person in strangers:
            if person not in met:
                near = [names.person(p).name for p in met - self._commons.absent]
                raise UnknownPerson(
                    f"Nobody here is called {quoted(person)}.", nearest(person, near)
                )
