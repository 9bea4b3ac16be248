"""Which entity a piece of text names: a key, a confirmed alias, or words in backticks.

It knows no form of a statement. Exact names bind; likeness is not even looked at.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from extraction import Known
from extraction.markup import Shown, fold, same

# Letters of scripts that put spaces between words, so that a key's first letter can be found.
_L = r"a-z\u00df-\u00f6\u00f8-\u024f\u0300-\u036f\u0370-\u03ff\u0400-\u052f\u05d0-\u05ea\u0620-\u064a"
# decision-42. Not inside an address, path, file name, version, channel, or longer hyphenated word.
_KEY = re.compile(
    rf"(?<![{_L}0-9_/.@#$\\+=%&~–-])(?<![{_L}0-9]:)([{_L}]{{2,40}})[-_–]([0-9]{{1,18}})"
    rf"(?![{_L}0-9_])(?![-_–./@+%&#$\\]+[{_L}0-9])(?![@%/\\]|:[:/0-9])"
)


class Ref(NamedTuple):
    """An entity named at `[start, end)` of the displayed text. `known`: it may bind by itself,
    as a key, an alias or words in backticks that name an existing entity."""

    start: int
    end: int
    entity: str
    name: str
    code: bool = False  # in backticks
    known: bool = True


class People:
    """The people of a workspace, by the ways their names are written.

    `forms`: their names as `same` reads them, also joined by nothing, a dot, `_` or `-`, and their
    ids, each to the id; to nothing where two people share it.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = dict(names)
        self.plain = frozenset(same(name) for name in names.values())
        self.forms: dict[str, str] = {}
        for who, name in names.items():
            spaced = " ".join(same(name).removeprefix("@").split())
            joined = (spaced.replace(" ", by) for by in ("", ".", "_", "-"))
            for form in {same(who), spaced, *joined} - {""}:
                if self.forms.setdefault(form, who) != who:
                    self.forms[form] = ""
        self.longest = min(
            80, max((len(unicodedata.normalize("NFD", form)) for form in self.forms), default=0)
        )


@dataclass(slots=True)
class Scene:
    """What the window knows beside its messages; grows while its messages are read."""

    people: People
    known: dict[str, Known] = field(default_factory=dict)
    aliases: dict[str, Known | None] = field(default_factory=dict)  # None: two claim it
    values: dict[str, frozenset[str]] = field(default_factory=dict)


def entity_id(words_: str) -> str:
    """The entity's id for a key or a name in any script: `OPS-17` is `ops-17`, and "the launch date"
    is the launch date.

    It always matches ^[A-Za-z0-9_-]+$. `-` and `_` stay as written; whatever else cannot stay as it
    is, is told apart by six digits of a hash, so that two different names never share an id.
    """
    folded = " ".join(fold(words_).replace("–", "-").split())
    folded = folded.removeprefix("the ") or folded
    plain = folded.replace(" ", "-")
    if re.fullmatch(r"[a-z0-9_-]+", plain):
        return plain
    slug = re.sub(r"[^a-z0-9_]+", "-", folded).strip("-")[:60]
    return f"{slug or 'x'}-{hashlib.sha256(folded.encode(errors='replace')).hexdigest()[:6]}"


def scene_of(entities: tuple[Known, ...], people: People) -> Scene:
    """What holds for every window with these entities; an alias two of them claim binds nothing."""
    scene = Scene(people)
    for one in entities:
        scene.known[one.id.lower()] = one
        scene.values[one.id] = frozenset(fold(value).strip() for value in one.values)
        for alias in one.aliases:
            form = " ".join(fold(alias).split())
            if len(form) > 1 and scene.aliases.setdefault(form, one) is not one:
                scene.aliases[form] = None
    return scene


def mentions_alias(text: str, aliases: Mapping[str, object]) -> bool:
    """A cheap first question: may the message name one of them?"""
    squeezed = " ".join(fold(text).replace("&amp;", "&").split())
    return any(alias in squeezed for alias in aliases)


def references(
    shown: Shown,
    start: int,
    end: int,
    scene: Scene,
    aliases: Sequence[str],
    stop: Collection[str],
) -> list[Ref]:
    """Keys, confirmed aliases and words in backticks, leftmost and longest first.

    `aliases`: those of the scene that occur in the message at all.
    """
    found: list[Ref] = []
    for key in _KEY.finditer(shown.plain, start, end):
        word, digits = key.groups()
        name = shown.text[key.start() : key.end()]
        entity = entity_id(name)
        if word in stop or f"{word}-{digits}" in stop or key.group() in scene.people.forms:
            continue  # also user_42, who is somebody
        one = scene.known.get(entity) or scene.aliases.get(key.group())
        if one is None and key.group() in scene.aliases:
            continue  # two claim it
        found.append(Ref(*key.span(), one.id if one else entity, one.name if one else name))
    for alias in aliases:
        owner = scene.aliases[alias]
        at = shown.plain.find(alias, start, end)
        while at >= 0:
            last = at + len(alias)
            if owner and _stands_alone(shown.plain, at, last):
                found.append(Ref(at, last, owner.id, owner.name))
            at = shown.plain.find(alias, last, end)
    for code in shown.within(start, end, "code"):
        inside = shown.text[code.start : code.end].strip()
        form = " ".join(fold(inside).split())
        owner = scene.known.get(entity_id(inside)) or scene.aliases.get(form)
        if owner:
            found.append(Ref(code.start, code.end, owner.id, owner.name, code=True))
        elif 1 < len(inside) <= 60 and re.fullmatch(r"[\w][\w .-]*", inside):
            found.append(
                Ref(code.start, code.end, entity_id(inside), inside, code=True, known=False)
            )
    found.sort(key=lambda r: (r.start, -r.end))
    apart: list[Ref] = []
    for ref in found:
        if not apart or ref.start >= apart[-1].end:
            apart.append(ref)
    return apart


def _stands_alone(plain: str, start: int, end: int) -> bool:
    """Whether an alias is a word of its own; scripts without spaces have no such edge."""

    def edge(inner: str, outer: str, beyond: str) -> bool:
        if not outer or inner > "\u2e80":
            return True
        if outer in "-_./@#":
            return not beyond.isalnum()
        return not outer.isalnum() or outer > "\u2e80"

    before, after = plain[max(0, start - 1) : start], plain[end : end + 1]
    return edge(plain[start], before, plain[max(0, start - 2) : max(0, start - 1)]) and edge(
        plain[end - 1], after, plain[end + 1 : end + 2]
    )
