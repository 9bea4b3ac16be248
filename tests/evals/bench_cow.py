"""The other design, as a baseline: each mind holds nested perspectives, kept up by copy-on-write.

A mind is `(:Perspective {chain})-[:INHERITS]->` its parent and `-[:BELIEVES]->(:Value)`; nothing is
deleted, an outdated edge gets `active: false, until`. An event updates every perspective made only
of witnesses and first freezes the old value in the children that are not. Every perspective is made
at the start: one made late inherits what its subject never saw. One update a mind, every mind in
one `MULTI`, an index on `chain`; no world, no stream and no reading beforehand, which ours has.

It knows statements that settle a value and private words, in the order in which they happen; it
knows no edits, reports, grades, late arrivals or readers.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import Any

import redis
from falkordb.helpers import stringify_param_value

from engine.events import Say, Set, Tell
from engine.rules import micros, speaker

type Chain = tuple[str, ...]

INDEX = "CREATE INDEX FOR (p:Perspective) ON (p.chain)"

PERSPECTIVES = """
UNWIND $rows AS row CREATE (p:Perspective) SET p = row
"""

INHERITS = """
MATCH (p:Perspective) WHERE p.depth > 1
MATCH (outer:Perspective {chain: p.outer})
CREATE (p)-[:INHERITS]->(outer)
"""

FREEZE = """
UNWIND $chains AS chain
MATCH (p:Perspective {chain: chain})
OPTIONAL MATCH (p)-[:INHERITS*0..6]->(q:Perspective)-[b:BELIEVES {entity: $entity, active: true}]->(v:Value)
WITH p, max(CASE WHEN b IS NOT NULL THEN [q.depth, v.name] END) AS held
WHERE held IS NULL OR held[0] < p.depth
MERGE (v:Value {name: CASE WHEN held IS NULL THEN '' ELSE held[1] END})
CREATE (p)-[:BELIEVES {entity: $entity, active: true, t: $t, via: 'retained', src: $src, event: $event}]->(v)
"""

UPDATE = """
MERGE (v:Value {name: $value})
WITH v
UNWIND $chains AS chain
MATCH (p:Perspective {chain: chain})
OPTIONAL MATCH (p)-[old:BELIEVES {entity: $entity, active: true}]->()
SET old.active = false, old.until = $t
CREATE (p)-[:BELIEVES {entity: $entity, active: true, t: $t, via: $via, src: $src, event: $event}]->(v)
"""

UPDATE_AT_ONCE = """
MATCH (p:Perspective)-[old:BELIEVES {entity: $entity, active: true}]->() WHERE p.chain IN $chains
SET old.active = false, old.until = $t
WITH count(old) AS outdated
MERGE (v:Value {name: $value})
WITH v
MATCH (p:Perspective) WHERE p.chain IN $chains
CREATE (p)-[:BELIEVES {entity: $entity, active: true, t: $t, via: $via, src: $src, event: $event}]->(v)
"""

RESOLVE = """
MATCH (p:Perspective {chain: $chain})
MATCH (p)-[:INHERITS*0..6]->(q:Perspective)-[b:BELIEVES {entity: $entity, active: true}]->(v:Value)
RETURN v.name, q.depth AS depth ORDER BY depth DESC LIMIT 1
"""


class Perspectives:
    """The minds of some people, each with every chain of different people up to `depth`.

    `at_once`: the perspectives are updated in one sweep over the mind's edges instead of one after
    the other; the fastest way to do it that we found.
    """

    def __init__(
        self,
        client: redis.Redis,
        name: str,
        people: Sequence[str],
        *,
        depth: int = 3,
        at_once: bool = False,
    ) -> None:
        self._client = client
        self._update = UPDATE_AT_ONCE if at_once else UPDATE
        self._name = name
        self._chains = {
            person: [
                (person, *others)
                for length in range(depth)
                for others in permutations([p for p in people if p != person], length)
            ]
            for person in people
        }
        self._touched = cache(self._split)
        for person, chains in self._chains.items():
            rows = [
                {"chain": _path(chain), "outer": _path(chain[:-1]), "depth": len(chain)}
                for chain in chains
            ]
            self._together(
                (person, INDEX, ""), (person, PERSPECTIVES, _header(rows=rows)), (person, INHERITS, "")
            )  # fmt: skip

    def record(self, event: Say | Tell | Set, present: Iterable[str]) -> None:
        """Into the minds of its witnesses; `present`: who is in its room."""
        author = speaker(event)
        heard = frozenset(event.listeners if isinstance(event, Tell) else present)
        witnesses = heard | ({author} if author else set())
        about = _header(
            entity=event.entity, t=micros(event), src=author or "", event=event.id
        )  # fmt: skip
        value = _header(value=event.value, via="told" if isinstance(event, Tell) else "witnessed")
        commands: list[tuple[str, str, str]] = []
        for person, (whole, frozen) in self._touched(witnesses).items():
            if frozen:
                commands.append((person, FREEZE, f"{frozen} {about}"))
            commands.append((person, self._update, f"{whole} {about} {value}"))
        self._together(*commands)

    def believes(self, chain: Chain, entity: str) -> str | None:
        """What the mind of the chain's first person says that the chain believes; None: unknown."""
        text = f"CYPHER {_header(chain=_path(chain), entity=entity)} {RESOLVE}"
        answer: Any = self._client.execute_command("GRAPH.RO_QUERY", self._key(chain[0]), text)  # type: ignore[no-untyped-call]
        rows = answer[1]
        return (rows[0][0] or None) if rows else None

    def perspectives(self) -> int:
        """How many there are, over all minds."""
        return sum(map(len, self._chains.values()))

    def _split(self, witnesses: frozenset[str]) -> Mapping[str, tuple[str, str]]:
        """Of each witness's perspectives, as query parameters: those made only of witnesses, and
        their children that are not."""
        found: dict[str, tuple[str, str]] = {}
        for person in sorted(witnesses & self._chains.keys()):
            chains = self._chains[person]
            whole = [_path(chain) for chain in chains if witnesses.issuperset(chain)]
            frozen = [
                _path(chain)
                for chain in chains
                if chain[-1] not in witnesses and witnesses.issuperset(chain[:-1])
            ]
            found[person] = (_header(chains=whole), _header(chains=frozen) if frozen else "")
        return found

    def _together(self, *commands: tuple[str, str, str]) -> None:
        with self._client.pipeline(transaction=True) as pipe:
            for person, query, header in commands:
                text = f"CYPHER {header} {query}" if header else query
                pipe.execute_command("GRAPH.QUERY", self._key(person), text, "--compact")  # type: ignore[no-untyped-call]
            pipe.execute()

    def _key(self, person: str) -> str:
        return f"cow:{{{self._name}}}:mind:{person}"


def _path(chain: Iterable[str]) -> str:
    return ">".join(chain)


def _header(**params: Any) -> str:
    return " ".join(f"{name}={stringify_param_value(value)}" for name, value in params.items())
