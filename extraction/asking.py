"""What a model is asked about a window, and what its answer says; pure.

It knows no API: a request is two texts and a shape, an answer is that shape. People, entities and
messages go by numbers on closed lists; whatever number comes back that is on none of them becomes
an id that nobody has, and the gate holds it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)

from engine.events import whole
from extraction import Certainty, Known, Passage, Statement, Window
from extraction.gate import NAME_LIMIT, QUOTE_LIMIT, Held, named
from extraction.markup import fold, read
from extraction.references import entity_id

MESSAGES = 30  # to be read in one call; a longer window is several
CONTEXT = 40  # messages shown beside them at most, the nearest
BEFORE = 8  # messages shown as context before a piece of a longer window
PEOPLE = 100
ENTITIES = 40
VALUES = 3  # earlier values shown of an entity
HEAD, TAIL = 6_000, 2_000  # characters shown of a longer message

Sort = Literal["none", "decision", "change", "claim", "question", "tell", "ack", "retraction"]
"""What a message does, of all it does that which matters most. "tell": it says who was told."""

_FLAGGED: frozenset[Sort] = frozenset({"decision", "change", "claim", "tell", "retraction"})


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Sorted(_Answer):
    message: StrictInt
    sort: Sort
    needs_context: StrictBool


class Sorting(_Answer):
    """The first pass: one line for each message that is not context."""

    messages: list[Sorted]


class Stated(_Answer):
    """One statement, by numbers. Every field is always there; null is "none"."""

    kind: Literal["say", "report"]
    message: StrictInt
    speaker: StrictInt
    reported: StrictBool
    about: StrictInt | None
    addressees: list[StrictInt]
    entity: StrictInt | None
    new_name: str | None
    value: str
    decides: StrictBool
    certainty: Certainty
    quote: str


class Read(_Answer):
    """The second pass: what was stated, in order."""

    statements: list[Stated]
    _misshapen: tuple[object, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _apart(cls, given: object, handler: ModelWrapValidatorHandler["Read"]) -> "Read":
        """One statement that is none must not take the others with it."""
        if not isinstance(given, Mapping) or not isinstance(some := given.get("statements"), list):
            return handler(given)
        wrong = [at for at, one in enumerate(some) if not _is_stated(one)]
        right = [one for at, one in enumerate(some) if at not in set(wrong)]
        answer = handler({**given, "statements": right})
        answer._misshapen = tuple(some[at] for at in wrong)
        return answer

    @property
    def misshapen(self) -> tuple[object, ...]:
        """What stood among the statements without their shape, as it was answered."""
        return self._misshapen


def _is_stated(one: object) -> bool:
    try:
        Stated.model_validate(one)
    except (ValidationError, RecursionError):
        return False
    return True


class Sheet(NamedTuple):
    """A window as a model gets to see it: `content`, and what its numbers, counted from 1, mean."""

    window: Window
    people: tuple[str, ...]
    entities: tuple[Known, ...]
    messages: tuple[Passage, ...]
    content: str


# ------------------------------------------------------------------------------- the question


@cache
def prompt(name: Literal["sort", "read"]) -> str:
    """What never changes: how people talk (prompt.md), and what is asked for."""
    folder = Path(__file__).parent
    files = (folder / "prompt.md", folder / f"prompt_{name}.md")
    return "\n".join(file.read_text("utf-8").strip() + "\n" for file in files)


def sheet(window: Window) -> Sheet:
    """Everything about this window in one text of JSON between two marks that no message can write."""
    shown = [read(passage.text, window.people) for passage in window.passages]
    texts = [_cut(one.text) for one in shown]
    folded = fold("\n".join(texts))
    mentions = [
        dict.fromkeys(m.data for m in one.marks if m.kind == "person" and m.data) for one in shown
    ]
    people = _people(window, mentions, folded)
    entities = _entities(window, folded)
    number_of = {who: n for n, who in enumerate(people, 1)}
    entity_of = {one.id: n for n, one in enumerate(entities, 1)}
    message_of = {passage.id: n for n, passage in enumerate(window.passages, 1)}
    content = {
        "people": [
            {"n": n, "name": whole(window.people.get(who, "(not listed)"))}
            for who, n in number_of.items()
        ],
        "entities": [_entity(one, n) for n, one in enumerate(entities, 1)],
        "messages": [
            _message(window.passages[at], window, number_of, entity_of, message_of)
            | _mentions(number_of[who] for who in mentions[at] if who in number_of)
            | {"text": texts[at]}
            for at in range(len(texts))
        ],
    }
    return Sheet(window, people, entities, window.passages, enclosed(content))


def enclosed(content: object) -> str:
    """JSON between the marks. Nothing inside can write a mark: `<` and `>` are escaped."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    text = whole(text.replace("<", "\\u003c").replace(">", "\\u003e"))
    return f"<data>\n{text}\n</data>"


def _cut(text: str) -> str:
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n[…]\n{text[-TAIL:]}"


def _message(
    passage: Passage,
    window: Window,
    number_of: Mapping[str, int],
    entity_of: Mapping[str, int],
    message_of: Mapping[str, int],
) -> dict[str, object]:
    """What is known of a message beside its text; what is not so is left out."""
    message: dict[str, object] = {
        "n": message_of[passage.id],
        "author": number_of[passage.author],
        "at": passage.at.astimezone(UTC).strftime("%a %Y-%m-%d %H:%M UTC"),
    }
    if passage.context:
        message["context"] = True
    if passage.app:
        message["program"] = True
    if passage.direct:
        message["direct"] = True
    thread = passage.thread or passage.id
    if thread in message_of and thread != passage.id:
        message["replies_to"] = message_of[thread]
    about = window.threads.get(thread)
    if about is not None and about in entity_of:
        message["thread_about"] = entity_of[about]
    return message


def _mentions(numbers: Iterable[int]) -> dict[str, object]:
    found = list(numbers)
    return {"mentions": found} if found else {}


def _people(
    window: Window, mentions: Sequence[Mapping[str, object]], folded: str
) -> tuple[str, ...]:
    """Who writes, who is mentioned, who is named; everybody where there are few."""
    authors = dict.fromkeys(passage.author for passage in window.passages)
    others = {who: None for one in mentions for who in one if who in window.people}
    few = len(window.people) <= PEOPLE // 4
    for who, name in window.people.items():
        if who not in others and (few or named(name, folded)):
            others[who] = None
    for who in authors:
        others.pop(who, None)
    return (*authors, *tuple(others)[: max(0, PEOPLE - len(authors))])


def _entities(window: Window, folded: str) -> tuple[Known, ...]:
    """Those the threads are about, those that share words with the talk, then the newest."""
    threads = set()
    for passage in window.passages:
        threads.add(window.threads.get(passage.thread or passage.id))
    spoken = frozenset(_pieces(folded))

    def likely(at: int) -> tuple[bool, float, int]:
        one = window.entities[at]
        names = [frozenset(_pieces(fold(name))) for name in (one.name, *one.aliases)]
        shared = max((len(pieces & spoken) / len(pieces) for pieces in names if pieces), default=0)
        values = frozenset(p for value in one.values[:VALUES] for p in _pieces(fold(value)))
        valued = len(values & spoken) / len(values) if values else 0.0
        return one.id in threads, shared + valued / 4, at

    best = sorted(range(len(window.entities)), key=likely, reverse=True)[:ENTITIES]
    return tuple(window.entities[at] for at in sorted(best))


_SCRIPT = re.compile(r"[\u2e80-\ud7ff\uf900-\ufaff]+|[^\W_]+")


def _pieces(folded: str) -> Iterable[str]:
    """Words; of scripts without spaces, every two neighbours."""
    for run in _SCRIPT.findall(folded):
        if run[0] >= "\u2e80":
            yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
        else:
            yield run


def _entity(one: Known, n: int) -> dict[str, object]:
    entity: dict[str, object] = {"n": n, "name": whole(one.name)}
    if one.aliases:
        entity["aliases"] = [whole(alias) for alias in one.aliases]
    if one.values:
        entity["value"] = whole(one.values[0])
    if len(one.values) > 1:
        entity["earlier"] = [whole(value) for value in one.values[1 : 1 + VALUES]]
    return entity


# ------------------------------------------------------------------------------- pieces of a window


def pieces(window: Window, limit: int = MESSAGES) -> list[Window]:
    """Windows of at most `limit` messages to read, in order; none if there are none to read.

    Each is shown what came before it, and the first message of every thread it continues.
    """
    own = [at for at, passage in enumerate(window.passages) if not passage.context]
    if not own:
        return []
    if len(own) <= limit:
        return [_trimmed(window)]
    found: list[Window] = []
    place = {passage.id: at for at, passage in enumerate(window.passages)}
    for first in range(0, len(own), limit):
        chosen = own[first : first + limit]
        roots = {
            place[thread]
            for at in chosen
            if (thread := window.passages[at].thread) in place and place[thread] < at
        }
        earlier = range(max(0, chosen[0] - BEFORE), chosen[0])
        between = range(chosen[0], chosen[-1] + 1)
        shown = sorted({*roots, *earlier, *between})
        passages = tuple(
            window.passages[at]
            if at in chosen
            else window.passages[at].model_copy(update={"context": True})
            for at in shown
        )
        found.append(window.model_copy(update={"passages": passages}))
    return found


def _trimmed(window: Window) -> Window:
    """The same messages to read with no more context than helps."""
    beside = [at for at, passage in enumerate(window.passages) if passage.context]
    if len(beside) <= CONTEXT:
        return window
    roots = {passage.thread for passage in window.passages if not passage.context}
    far = {at for at in beside[:-CONTEXT] if window.passages[at].id not in roots}
    kept = tuple(one for at, one in enumerate(window.passages) if at not in far)
    return window.model_copy(update={"passages": kept})


def shows_anything(window: Window) -> bool:
    """Whether a message to read shows anything at all: a file without a word does not."""
    own = (passage for passage in window.passages if not passage.context)
    return any(read(passage.text, window.people).text.strip() for passage in own)


def halves(window: Window) -> list[Window]:
    """Two windows in place of one; the window alone if it holds a single message to read."""
    own = sum(not passage.context for passage in window.passages)
    return pieces(window, (own + 1) // 2) if own > 1 else [window]


# ------------------------------------------------------------------------------- the answer


def sorts(asked: Sheet, sorting: Sorting) -> dict[str, Sort]:
    """Each message to read with its sort; one that the model left out counts as a claim."""
    own = {n: one.id for n, one in enumerate(asked.messages, 1) if not one.context}
    said = {one.message: one for one in sorting.messages if one.message in own}
    found: dict[str, Sort] = {}
    for n, id in own.items():
        found[id] = said[n].sort if n in said else "claim"
    return found


def flagged(asked: Sheet, sorting: Sorting) -> frozenset[str]:
    """The messages that may state something: when in doubt, they do.

    A nod counts where it can only be understood by what it answers: it may accept a proposal.
    """
    nods = {one.message for one in sorting.messages if one.sort == "ack" and one.needs_context}
    nodding = {one.id for n, one in enumerate(asked.messages, 1) if n in nods}
    return frozenset(
        id
        for id, sort in sorts(asked, sorting).items()
        if sort in _FLAGGED or (sort == "ack" and id in nodding)
    )


def statements(asked: Sheet, answer: Read) -> list[Statement]:
    """What the answer says in ids, nothing checked: a number that means nobody is `?` and itself."""
    binding = _Binding(asked.window)
    found: list[Statement] = []
    for one in answer.statements:
        entity, name = binding.entity(asked, one)
        found.append(
            Statement(
                kind=one.kind,
                message=_at([passage.id for passage in asked.messages], one.message),
                speaker=_at(asked.people, one.speaker),
                entity=entity,
                name=name,
                value=one.value,
                decides=one.decides and one.kind == "say",
                quote=one.quote,
                about=None if one.about is None else _at(asked.people, one.about),
                addressees=tuple(_at(asked.people, n) for n in one.addressees),
                reported=one.reported,
                certainty=one.certainty,
            )
        )
    return found


def misshapen(asked: Sheet, answer: Read) -> list[Held]:
    """What of an answer is no statement, as far as it can be told what it was to be."""
    found: list[Held] = []
    for one in answer.misshapen:
        fields = one if isinstance(one, Mapping) else {}

        def number(name: str, fields: Mapping[str, object] = fields) -> int:
            given = fields.get(name)
            return given if type(given) is int else 0

        def text(name: str, fields: Mapping[str, object] = fields) -> str:
            given = fields.get(name)
            return whole(given[:QUOTE_LIMIT]) if isinstance(given, str) else ""

        statement = Statement(
            kind="say",
            message=_at([passage.id for passage in asked.messages], number("message")),
            speaker=_at(asked.people, number("speaker")),
            entity=_at([one.id for one in asked.entities], number("entity")),
            name=text("new_name"),
            value=text("value"),
            decides=False,
            quote=text("quote"),
        )
        found.append(Held(statement=statement, reason="it does not have the shape of a statement"))
    return found


def _at(ids: Sequence[str], n: int) -> str:
    return ids[n - 1] if 1 <= n <= len(ids) else f"?{n}"


class _Binding:
    """Which entity an answer means: its number, else exactly its name; likeness binds nothing."""

    def __init__(self, window: Window) -> None:
        self._ids = {one.id: one for one in window.entities}
        self._names: dict[str, Known | None] = {}
        for one in window.entities:
            for name in {_form(name) for name in (one.name, *one.aliases)} - {""}:
                self._names[name] = None if self._names.get(name, one) is not one else one

    def entity(self, asked: Sheet, one: Stated) -> tuple[str, str]:
        if one.entity is not None:
            if 1 <= one.entity <= len(asked.entities):
                known = asked.entities[one.entity - 1]
                return known.id, known.name
            return f"?{one.entity}", "?"
        name = " ".join((one.new_name or "").split())
        if not name:
            return "?", "?"
        if (id := entity_id(name)) in self._ids:
            return id, self._ids[id].name
        if (form := _form(name)) in self._names:
            bound = self._names[form]
            return (bound.id, bound.name) if bound else ("?", name)  # two are called that
        return (id, name) if len(name) <= NAME_LIMIT else ("?", name)


def _form(name: str) -> str:
    return " ".join(fold(name).split())


# ------------------------------------------------------------------------------- beside the rules


def joined(
    window: Window, rules: Sequence[Statement], model: Sequence[Statement]
) -> list[Statement]:
    """Both readings as one, in the order of the messages and, within one, of what is quoted.

    The rules are certain: about an entity of which they found something in a message the model adds
    nothing but whom somebody told. Only a decision that the rules had to name after its own words
    gives way, where the model knows which entity it is about.
    """
    kept = list(rules)
    for one in model:
        if any(_covers(other, one, other in rules) for other in kept):
            continue
        bound = any(known.id == one.entity for known in window.entities)
        same = [rule for rule in rules if _by_text(rule) and _overlaps(rule, one)]
        if same and not bound:
            continue
        kept = [rule for rule in kept if not any(rule is other for other in same)]
        kept.append(one)
    place = {passage.id: at for at, passage in enumerate(window.passages)}
    texts = {passage.id: passage.text for passage in window.passages}
    kept.sort(key=lambda one: (place[one.message], texts[one.message].find(one.quote), one.number))
    found: list[Statement] = []
    counts: dict[str, int] = {}
    for one in kept:
        number = counts.get(one.message, 0)
        counts[one.message] = number + 1
        found.append(one if one.number == number else one.model_copy(update={"number": number}))
    return found


def _covers(kept: Statement, one: Statement, certain: bool) -> bool:
    """Whether the message said that already, as far as we know."""
    if (kept.message, kept.entity) != (one.message, one.entity):
        return False
    if not certain and kept.speaker != one.speaker:  # two people's words in one scribe's line
        return False
    if one.kind == "report":
        return kept.kind == "report" and kept.about == one.about
    return certain or kept.kind == "say"


def _by_text(rule: Statement) -> bool:
    return rule.entity.startswith("decided-")


def _overlaps(rule: Statement, one: Statement) -> bool:
    if rule.message != one.message or one.kind != "say":
        return False
    mine, theirs = fold(rule.quote), fold(one.quote)
    return fold(one.value) in fold(rule.value) or mine in theirs or theirs in mine
