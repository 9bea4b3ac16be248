"""Reads the tables of `examples/acme/expected.md`; it knows their notation and no answer.

The notation is described in that file ("Reading the tables"). Whatever does not follow it raises:
a row that cannot be read must not pass for a row that agrees.
"""

import re
from collections.abc import Iterable
from pathlib import Path

type Row = dict[str, str]
"""The cells of one line by their headings, without what a heading says in parentheses."""

NOTHING = "—"
_ERROR = "error: "


def tables(path: Path) -> dict[str, list[Row]]:
    """Every table by the `##` heading it stands under."""
    found: dict[str, list[Row]] = {}
    section, heads = "", list[str]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            section, heads = line.removeprefix("## ").strip(), []
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not heads:
            heads = [re.sub(r"\s*\(.*\)$", "", cell) for cell in cells]
            if section in found:
                raise ValueError(f"{path}:{number}: a second table under {section!r}")
            found[section] = []
        elif len(cells) != len(heads) or not all(cells):
            raise ValueError(f"{path}:{number}: the row does not have the cells of its heading")
        elif set("".join(cells)) != {"-"}:
            found[section].append(dict(zip(heads, cells, strict=True)))
    return found


def error(cell: str) -> str | None:
    """The kind of error that a cell stands for, None for an answer."""
    return cell.removeprefix(_ERROR) if cell.startswith(_ERROR) else None


def listed(cell: str, by: str = ",") -> list[str]:
    """The parts of a cell; none for `—`."""
    parts = [] if cell == NOTHING else [part.strip() for part in cell.split(by)]
    if len(set(parts)) != len(parts) or not all(parts):
        raise ValueError(f"something is missing or named twice: {cell!r}")
    return parts


def people(cell: str) -> list[str] | int:
    """The names in a cell, in order; `N people` is a group known by its number."""
    number = re.fullmatch(r"(\d+) people", cell)
    return int(number[1]) if number else sorted(listed(cell))


def holding(cell: str) -> list[tuple[str, str]]:
    """`Name (value), …`: who holds which value."""
    if cell == NOTHING:
        return []
    return sorted(_pair(part) for part in re.split(r"(?<=\)),\s*", cell))


def thinking(cell: str) -> list[tuple[str, str, str]]:
    """`A, B think C, D: value; …` pair by pair: who thinks that who else holds which value."""
    pairs: list[tuple[str, str, str]] = []
    for part in listed(cell, ";"):
        line = _whole(r"(?P<people>.+?) thinks? (?P<about>[^:]+): (?P<value>.+)", part)
        pairs += each_of(listed(line["people"]), listed(line["about"]), line["value"])
    return sorted(pairs)


def each_of(people: Iterable[str], about: Iterable[str], value: str) -> list[tuple[str, str, str]]:
    """A group as its pairs; nobody is wrong about themselves."""
    others = list(about)
    return [(one, other, value) for one in people for other in others if one != other]


def plan(cell: str) -> tuple[list[str], list[str]]:
    """`rooms; direct messages`: where a plan posts and to whom; two empty lists for no plan."""
    if cell == NOTHING:
        return [], []
    rooms, direct = cell.split(";")
    names = listed(rooms.strip())
    if not all(name.startswith("#") for name in names):
        raise ValueError(f"a room's name begins with #: {cell!r}")
    return sorted(name.removeprefix("#") for name in names), sorted(listed(direct.strip()))


def lacks(cell: str) -> list[tuple[str, str]]:
    """`entity (current value); …`"""
    return sorted(_pair(part) for part in listed(cell, ";"))


def wrong(cell: str) -> list[tuple[str, str, str]]:
    """`entity (current value, holds other value); …`"""
    found: list[tuple[str, str, str]] = []
    for part in listed(cell, ";"):
        entity, values = _pair(part)
        line = _whole(r"(?P<value>.+), holds (?P<holds>.+)", values)
        found.append((entity, line["value"], line["holds"]))
    return sorted(found)


def promises(cell: str) -> list[tuple[str, str, str]]:
    """`Name: entity (value told); …`"""
    found: list[tuple[str, str, str]] = []
    for part in listed(cell, ";"):
        line = _whole(r"(?P<to>[^:]+): (?P<told>.+)", part)
        found.append((line["to"], *_pair(line["told"])))
    return sorted(found)


def _pair(text: str) -> tuple[str, str]:
    line = _whole(r"(?P<name>[^()]+) \((?P<value>[^()]+)\)", text)
    return line["name"], line["value"]


def _whole(pattern: str, text: str) -> re.Match[str]:
    found = re.fullmatch(pattern, text)
    if found is None:
        raise ValueError(f"{text!r} does not follow the notation of the tables")
    return found
