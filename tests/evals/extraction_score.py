"""What of the statements found was wanted, statement by statement.

A found statement is *right* when a wanted one agrees with it in all of these:

* the message it was made in;
* the kind: a decision, a mention (said or told, deciding or not), or a report;
* whom a report is about;
* the speaker, where the wanted statement names one;
* the entity: the same id, or both are `new:` (what a new one is called is nobody's fault: a message
  that brings up two new things is told apart by their values);
* the value, compared as the engine compares values (`engine.rules.same`): case, punctuation,
  articles and a trailing "by …" are no difference.

Each wanted statement is found once, so that saying it twice is one right and one that nobody
wanted. What agrees in message and entity and in nothing more is one line, *differs*, with what
differs; it counts as a miss and as a false statement. `loose` counts it as right where only the
value differs and at least half of all its words are shared: "go with Postgres" for "we go with
Postgres". Addressees and quotes are reported and decide nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.rules import same
from tests.evals.extraction_cases import Case, Kind, Stated

KINDS: tuple[Kind, ...] = ("decision", "mention", "report")
LOOSE = 0.5
_NEW = "new:"


class Pair(NamedTuple):
    """A wanted statement and the found one that is it, or one of them alone. `differs` names the
    fields they do not agree in; `overlap` is the share of words their values have in common."""

    case: Case
    want: Stated | None
    got: Stated | None
    differs: tuple[str, ...] = ()
    overlap: float = 1.0

    @property
    def right(self) -> bool:
        return self.want is not None and self.got is not None and not self.differs


def pairs(case: Case, got: Sequence[Stated]) -> list[Pair]:
    """Every wanted and every found statement of a case, once."""
    wants, gots = list(case.want or ()), list(got)
    matched: list[Pair] = []
    candidates = sorted(
        (
            (len(differs), -overlap(want.value, one.value), w, g, differs)
            for w, want in enumerate(wants)
            for g, one in enumerate(gots)
            if want.message == one.message and same_entity(want.entity, one.entity)
            if (differs := differences(want, one)) is not None
        ),
        key=lambda c: c[:4],
    )
    taken_wants: set[int] = set()
    taken_gots: set[int] = set()
    for _, shared, w, g, differs in candidates:
        if w not in taken_wants and g not in taken_gots:
            taken_wants.add(w)
            taken_gots.add(g)
            matched.append(Pair(case, wants[w], gots[g], differs, -shared))
    matched += [Pair(case, w, None) for i, w in enumerate(wants) if i not in taken_wants]
    matched += [Pair(case, None, g) for i, g in enumerate(gots) if i not in taken_gots]
    return matched


def same_entity(want: str, got: str) -> bool:
    if want.startswith(_NEW) and got.startswith(_NEW):
        return True
    return want == got


def differences(want: Stated, got: Stated) -> tuple[str, ...]:
    """In what a found statement is not the wanted one; they are about the same entity."""
    agree = {
        "kind": (want.kind == "report") == (got.kind == "report"),
        "decides": want.kind == got.kind or "report" in (want.kind, got.kind),
        "about": want.about == got.about,
        "speaker": want.speaker in ("", got.speaker),
        "value": same(want.value) == same(got.value),
    }
    return tuple(field for field, agrees in agree.items() if not agrees)


def overlap(want: str, got: str) -> float:
    """Shared words over all words, 0 to 1; in scripts without spaces, shared characters."""
    a, b = _words(want), _words(got)
    return len(a & b) / len(a | b) if a | b else 1.0


def _words(value: str) -> set[str]:
    found: set[str] = set()
    for word in same(value).split():
        found |= set(word) if word > "\u2e80" else {word}
    return found


# ------------------------------------------------------------------------------- figures


class Count(NamedTuple):
    wanted: int
    found: int
    right: int

    def figures(self) -> dict[str, Any]:
        """Precision, recall and F1 are None where there is nothing to divide by."""
        precision = self.right / self.found if self.found else None
        recall = self.right / self.wanted if self.wanted else None
        f1 = 2 * self.right / (self.wanted + self.found) if self.wanted + self.found else None
        return self._asdict() | {"precision": precision, "recall": recall, "f1": f1}


def _count(of: Iterable[Pair], *, loose: bool = False) -> Count:
    of = list(of)
    return Count(
        sum(one.want is not None for one in of),
        sum(one.got is not None for one in of),
        sum(
            one.right or (loose and one.differs == ("value",) and one.overlap >= LOOSE)
            for one in of
        ),
    )


def figures(all_pairs: Sequence[Pair]) -> dict[str, Any]:
    """Everything the command tells about statements, in the shape of its JSON.

    In `kinds` a statement counts under its own kind: a mention read as a decision is a wanted
    mention that was not found, and a decision that nobody wanted.
    """
    met = [one for one in all_pairs if one.want and one.got]
    return _count(all_pairs).figures() | {
        "kinds": {kind: _count_of(kind, all_pairs).figures() for kind in KINDS},
        "loose": _count(all_pairs, loose=True).figures(),
        "addressees_differ": sum(
            {*one.want.addressees} != {*one.got.addressees} for one in met if one.want and one.got
        ),
        "quotes_not_in_message": sum(
            not one.quote or one.quote not in _texts(pair.case)[one.message]
            for pair in all_pairs
            if (one := pair.got)
        ),
        "misses": [_miss(one) for one in all_pairs if not one.right],
    }


def _count_of(kind: Kind, of: Sequence[Pair]) -> Count:
    return Count(
        sum(one.want is not None and one.want.kind == kind for one in of),
        sum(one.got is not None and one.got.kind == kind for one in of),
        sum(one.right and one.got is not None and one.got.kind == kind for one in of),
    )


def _texts(case: Case) -> dict[str, str]:
    return {one.id: one.text for one in case.passages}


def _miss(one: Pair) -> dict[str, Any]:
    why = "differs" if one.want and one.got else "not found" if one.want else "not wanted"
    return {
        "case": one.case.id,
        "line": one.case.line,
        "why": why,
        "fields": list(one.differs),
        "overlap": round(one.overlap, 2) if why == "differs" else None,
        "wanted": dict(one.want.raw) if one.want else None,
        "found": dict(one.got.raw) if one.got else None,
    }


def summary(told: dict[str, Any]) -> str:
    """The same for a person to read."""
    lines = [
        f"{told['cases']} cases, {told['messages']} messages, read by {told['extractor']} in {told['seconds']} s.",
        "",
        f"{'':10}{'wanted':>8}{'found':>8}{'right':>8}{'precision':>11}{'recall':>9}{'F1':>8}",
        _row("all", told),
        *(_row(kind, told["kinds"][kind]) for kind in KINDS),
        _row("loose", told["loose"]),
        "",
        "loose: a value that shares half of its words counts as well.",
        f"Addressees differ in {told['addressees_differ']} statements; "
        f"{told['quotes_not_in_message']} quotes are not in their message.",
    ]
    for title, why in (
        ("Wanted, not found", "not found"),
        ("Found, not wanted", "not wanted"),
        ("Found, but not as wanted", "differs"),
    ):
        missed = [one for one in told["misses"] if one["why"] == why]
        if missed:
            lines += ["", f"{title} ({len(missed)}):", *map(_told, missed)]
    if told["held"]:
        lines += ["", "Held at the gate:"]
        lines += [f"  {count} because {why}." for why, count in told["held"].items()]
    if told["unread"]:
        lines += ["", f"Not read ({len(told['unread'])}):", *_reasons(told["unread"])]
    return "\n".join(lines) + "\n"


def _reasons(unread: Sequence[dict[str, Any]]) -> list[str]:
    """Each reason once, with the lines of the file that it holds for."""
    lines: dict[str, list[int]] = {}
    for one in unread:
        lines.setdefault(one["why"], []).append(one["line"])
    return [
        f"  line{'s' if len(at) > 1 else ''} {', '.join(map(str, at[:20]))}"
        + (f" and {len(at) - 20} more" if len(at) > 20 else "")
        + f": {why}"
        for why, at in lines.items()
    ]


def _row(name: str, of: dict[str, Any]) -> str:
    shares = "".join(
        f"{'-' if of[key] is None else format(of[key], '.3f'):>{width}}"
        for key, width in (("precision", 11), ("recall", 9), ("f1", 8))
    )
    return f"{name:10}{of['wanted']:>8}{of['found']:>8}{of['right']:>8}{shares}"


def _told(miss: dict[str, Any]) -> str:
    def one(said: dict[str, Any] | None) -> str:
        if said is None:
            return ""
        about = f" about {said['about']}" if said.get("about") else ""
        decides = "" if said.get("kind") == "report" or said.get("decides") else ", a mention"
        return f"{said.get('entity')} = {said.get('value')!r} ({said.get('kind')}{about}{decides}, message {said.get('message')})"

    fields = f" [{', '.join(miss['fields'])}]" if miss["fields"] else ""
    both = " -> ".join(filter(None, (one(miss["wanted"]), one(miss["found"]))))
    return f"  line {miss['line']}, {miss['case']}:{fields} {both}"
