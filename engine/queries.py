"""Reads `queries.cypher`; knows its layout and nothing of what the statements mean."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_OPENING = re.compile(r"^// -- (\w+) --$", re.M)


class Query(NamedTuple):
    """`about` is the description, one paragraph; `text` is Cypher with `$parameters`."""

    name: str
    about: str
    text: str


@cache
def queries() -> dict[str, Query]:
    """Every statement by its name, in the order of the file."""
    parts = _OPENING.split((Path(__file__).parent / "queries.cypher").read_text("utf-8"))
    return {name: _query(name, body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _query(name: str, body: str) -> Query:
    lines = body.strip().splitlines()
    about = [line.removeprefix("// ") for line in lines if line.startswith("//")]
    text = [line for line in lines if not line.startswith("//")]
    return Query(name, " ".join(about), "\n".join(text).strip())


def rendered() -> str:
    """`docs/CYPHER.md`: every statement with its explanation, in the order of the file."""
    parts = [
        "# Every Cypher statement",
        "Made from `engine/queries.cypher` by `make docs`; a test holds"
        " the two together. Reads are sent as `GRAPH.RO_QUERY`, writes inside one `MULTI/EXEC`. People"
        " are written `|U1|`, lists of people `|U1|U2|`, moments as microseconds since 1970. The world"
        " of a workspace is `so:{sid}:world`, a mind `so:{sid}:mind:<person>`; statements look the same"
        " in both, so the same text reads either.",
    ]
    parts += [f"## {q.name}\n\n{q.about}\n\n```cypher\n{q.text}\n```" for q in queries().values()]
    return "\n\n".join(parts) + "\n"
