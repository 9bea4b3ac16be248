"""Which keys and names mean the same entity, as confirmed by people; pure.

Nothing is merged by likeness: a link is somebody's decision, made in a room, counts for who may read
that room, and can be undone.
"""

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple


class Link(NamedTuple):
    """`name` is a folded name (kind `alias`) or an entity's key (kind `merge`) that means `entity`."""

    kind: Literal["alias", "merge"]
    name: str
    entity: str


class Links(NamedTuple):
    """`merged`: a key to the key it is answered under; `aliases`: a folded name to the key it was
    confirmed for, which may be merged into another."""

    merged: Mapping[str, str]
    aliases: Mapping[str, str]

    def key(self, entity: str) -> str:
        return self.merged.get(entity, entity)

    def keys(self, entity: str) -> list[str]:
        """Every key that is answered under the same one as this."""
        wanted = self.key(entity)
        return sorted({wanted, *(key for key, into in self.merged.items() if into == wanted)})


def linked(links: Iterable[Link], readable: Collection[str] | None = None) -> Links:
    """What the links amount to, in the order in which they were made; circles change nothing.

    `readable`: the keys that the reader may know of (None: all). A merge of others does not exist
    for that reader: it would tell that they exist.
    """
    into: dict[str, str] = {}
    aliases: dict[str, str] = {}

    def root(key: str) -> str:
        while key in into:
            key = into[key]
        return key

    for link in links:
        if link.kind == "alias":
            aliases[link.name] = link.entity
        elif readable is not None and not {link.name, link.entity} <= set(readable):
            continue
        elif root(link.name) != root(link.entity):
            into[root(link.name)] = root(link.entity)
    merged = {key: root(key) for key in into}
    return Links(merged, aliases)


def folded(name: str) -> str:
    """How names are compared: whatever case, width of spaces and way of writing one character."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
