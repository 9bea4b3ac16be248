"""Which keys and names mean the same entity, as confirmed by people; pure.

Nothing is merged by likeness: a link is somebody's decision, made in a room, counts for who may read
that room, and can be undone.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple


class Link(NamedTuple):
    """`name` is a folded name (kind `alias`) or an entity's key (kind `merge`) that means `entity`."""

    kind: Literal["alias", "merge"]
    name: str
    entity: str


class Links(NamedTuple):
    """`merged`: a key to the key it is answered under; `aliases`: a folded name to a key."""

    merged: Mapping[str, str]
    aliases: Mapping[str, str]

    def key(self, entity: str) -> str:
        return self.merged.get(entity, entity)

    def keys(self, entity: str) -> list[str]:
        """Every key that is answered under the same one as this."""
        wanted = self.key(entity)
        return sorted({wanted, *(key for key, into in self.merged.items() if into == wanted)})


def linked(links: Iterable[Link]) -> Links:
    """What the links amount to, in the order in which they were made; circles change nothing."""
    into: dict[str, str] = {}
    aliases: dict[str, str] = {}

    def root(key: str) -> str:
        while key in into:
            key = into[key]
        return key

    for link in links:
        if link.kind == "alias":
            aliases[link.name] = link.entity
        elif root(link.name) != root(link.entity):
            into[root(link.name)] = root(link.entity)
    merged = {key: root(key) for key in into}
    return Links(merged, {name: merged.get(key, key) for name, key in aliases.items()})


def folded(name: str) -> str:
    """How names are compared: whatever case, width of spaces and way of writing one character."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
