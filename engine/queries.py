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
