"""What of a reading may be believed: every statement is held against the messages it is said to come from.

Pure, and the same for every extractor. It knows no model and no rule of language; it decides by
what is written in the window. What fails is not dropped: it is held, with its reason, for somebody
to look at, and the message can be read again.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from extraction import Passage, Statement, Window
from extraction.markup import Shown, fold, read
from extraction.references import entity_id
from extraction.sentences import sentences

VALUE_LIMIT = 200
QUOTE_LIMIT = 200
NAME_LIMIT = 80
STATEMENT_LIMIT = 100  # of one message; more is a paste
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")  # engine.events.Id
_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")
_WORD = re.compile(r"\w+")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]")
_CASELESS = "\u0590"  # Hebrew, Arabic, Thai, Korean, Chinese, … come after the scripts with case
_ASKS = re.compile(
    r"[\W_]*(?:is|are|was|were|do|does|did|has|have|should|shall|can|could|would|will|may|any|who"
    r"|what|when|where|which|why|how|ist|sind|hat|soll|wer|was|wann|est-ce|qui|quand|cuándo|qué)\b"
    r"|\s*¿"
)
_OCCURRENCES = 20  # of one quote in one message that are looked at

Reason = Literal[
    "the messages are of several rooms",
    "its message is not in the window",
    "its message was shown as context only",
    "nothing of what it quotes is in the message",
    "what it quotes is not the author's own words",
    "its speaker is nobody here",
    "its speaker did not write the message",
    "its message does not name its speaker",
    "it says what somebody else told somebody",
    "the person it is about is nobody here",
    "nobody spoke of the person it is about",
    "it says what its speaker told themselves",
    "it has no value",
    "its value is too long",
    "its value was not said",
    "it is about nothing known",
    "what it is about was not named",
    "its text cannot be stored",
    "it was asked, not stated",
    "the extractor is unsure of it",
    "its message states too much",
]


class Held(BaseModel):
    """A statement that is not believed, and why; `statement.message` says what to read again."""

    model_config = ConfigDict(frozen=True)

    statement: Statement
    reason: Reason


class Admitted(NamedTuple):
    """`statements` may be believed, in the order given; `held` wait for somebody."""

    statements: list[Statement]
    held: list[Held]


def admit(
    window: Window, statements: Sequence[Statement], scribes: Collection[str] | None = ()
) -> Admitted:
    """Which statements stand; admitting what was admitted changes nothing.

    A statement of the window's own messages, in one room, whose quote the author wrote, whose value
    and new name are words of the talk, and whose people are known. Corrected rather than held: the
    quote becomes the characters as they were written (at most 200); addressees the message does not
    name go; hearsay becomes its author's own mention.

    `scribes`: the authors, beside programs, who write down what others said (None: everybody). Only
    what they report is put into another's mouth: anybody can write "Maya: rejected".
    """
    gate = _Gate(window, scribes)
    passed = Admitted([], [])
    counts: dict[str, int] = {}
    for one in statements:
        counts[one.message] = counts.get(one.message, 0) + 1
        full = counts[one.message] > STATEMENT_LIMIT
        judged: Statement | Reason = "its message states too much" if full else gate.judge(one)
        if isinstance(judged, Statement):
            passed.statements.append(judged)
        else:
            passed.held.append(Held(statement=one, reason=judged))
    return passed


class _Gate:
    def __init__(self, window: Window, scribes: Collection[str] | None) -> None:
        self.window = window
        self.scribes = scribes
        self.one_room = len({passage.room for passage in window.passages}) <= 1
        self.places = {passage.id: at for at, passage in enumerate(window.passages)}
        self.authors = {passage.author for passage in window.passages}
        self.known = {one.id: one for one in window.entities}
        self._shown: dict[str, Shown] = {}
        self._said: dict[int, str] = {}

    def judge(self, one: Statement) -> Statement | Reason:
        """The statement as it may be believed, or why it may not."""
        if not self.one_room:
            return "the messages are of several rooms"
        at = self.places.get(one.message)
        if at is None:
            return "its message is not in the window"
        passage = self.window.passages[at]
        if passage.context:
            return "its message was shown as context only"
        if _UNSTORABLE.search(one.quote + one.value + one.name):
            return "its text cannot be stored"
        steps: tuple[Callable[[Statement, Passage], Statement | Reason], ...] = (
            self._quoted,
            self._spoken,
            self._about,
            self._valued,
            self._named,
            self._settled,
        )
        for step in steps:
            judged = step(one, passage)
            if not isinstance(judged, Statement):
                return judged
            one = judged
        return one

    # ---------------------------------------------------------------------------- the quote

    def _quoted(self, one: Statement, passage: Passage) -> Statement | Reason:
        shown = self._read(passage)
        found = _find(shown, one.quote)
        if found is None:
            return "nothing of what it quotes is in the message"
        start, end, exact = found
        own = sentences(shown.plain)
        if not any(sentence.start < end and start < sentence.end for sentence in own):
            return "what it quotes is not the author's own words"
        if exact and len(one.quote) <= QUOTE_LIMIT:
            return one
        inner = fold(shown.text[start:end]).find(fold(one.value.strip()))
        core = (start, start + 1)
        if one.value.strip() and inner >= 0:
            core = (start + inner, start + inner + len(one.value.strip()))
        quote = shown.quote(start, end, core, QUOTE_LIMIT)
        if not quote.strip():
            return "nothing of what it quotes is in the message"
        return one.model_copy(update={"quote": quote})

    def _read(self, passage: Passage) -> Shown:
        if passage.id not in self._shown:
            self._shown[passage.id] = read(passage.text, self.window.people)
        return self._shown[passage.id]

    # ---------------------------------------------------------------------------- the people

    def _spoken(self, one: Statement, passage: Passage) -> Statement | Reason:
        if one.speaker == passage.author:
            return one.model_copy(update={"reported": False}) if one.reported else one
        if not self._is_known(one.speaker, passage):
            return "its speaker is nobody here"
        if not one.reported:
            return "its speaker did not write the message"
        if not self._names(passage, one.speaker):
            return "its message does not name its speaker"
        if passage.app or self.scribes is None or passage.author in self.scribes:
            return one
        if one.kind == "report":
            return "it says what somebody else told somebody"
        return one.model_copy(
            update={"speaker": passage.author, "reported": False, "decides": False}
        )

    def _about(self, one: Statement, passage: Passage) -> Statement | Reason:
        addressees = tuple(
            who
            for who in dict.fromkeys(one.addressees)
            if self._is_known(who, passage) and self._names(passage, who)
        )
        if addressees != one.addressees:
            one = one.model_copy(update={"addressees": addressees})
        if one.kind == "say":
            return one if one.about is None else one.model_copy(update={"about": None})
        if one.about is None or not self._is_known(one.about, passage):
            return "the person it is about is nobody here"
        if one.about == one.speaker:
            return "it says what its speaker told themselves"
        if one.about not in self.authors and not any(
            self._names(other, one.about) for other in self.window.passages
        ):
            return "nobody spoke of the person it is about"
        return one.model_copy(update={"decides": False}) if one.decides else one

    def _is_known(self, who: str, passage: Passage) -> bool:
        """Without a list of people, whoever writes or is mentioned by id is one."""
        if self.window.people:
            return who in self.window.people or who in self.authors
        return who in self.authors or self._mentions(passage, who)

    def _names(self, passage: Passage, who: str) -> bool:
        """Whether the message speaks of somebody: a mention, the whole name, or a part of it."""
        return self._mentions(passage, who) or named(
            self.window.people.get(who, ""), fold(self._read(passage).text)
        )

    def _mentions(self, passage: Passage, who: str) -> bool:
        return any(m.kind == "person" and m.data == who for m in self._read(passage).marks)

    # ---------------------------------------------------------------------------- value and entity

    def _valued(self, one: Statement, passage: Passage) -> Statement | Reason:
        value = one.value.strip()
        if not any(c.isalnum() or ord(c) > 0x2190 for c in value):
            return "it has no value"
        if len(value) > VALUE_LIMIT:
            return "its value is too long"
        given = self.known[one.entity].values if one.entity in self.known else ()
        if not _anchored(value, "\n".join((self._said_until(passage), *map(fold, given)))):
            return "its value was not said"
        return one if value == one.value else one.model_copy(update={"value": value})

    def _named(self, one: Statement, passage: Passage) -> Statement | Reason:
        if one.entity in self.known or one.entity in self.window.threads.values():
            return one
        if not _ID.fullmatch(one.entity):
            return "it is about nothing known"
        name = one.name.strip()
        by_text = any(
            one.entity.startswith(f"decided-{_NOT_ID.sub('-', other.id) or 'x'}-")
            for other in self.window.passages[: self.places[passage.id] + 1]
        )
        if not name or len(name) > NAME_LIMIT or not (by_text or entity_id(name) == one.entity):
            return "it is about nothing known"
        said = self._said_until(passage)
        if not (_anchored(name.rstrip("…"), said) or _could_be_called(name, said)):
            return "what it is about was not named"
        return one

    def _said_until(self, passage: Passage) -> str:
        """What was shown of this message and of those before it."""
        at = self.places[passage.id]
        if at not in self._said:
            before = self.window.passages[: at + 1]
            self._said[at] = "\n".join(fold(self._read(other).text) for other in before)
        return self._said[at]

    # ---------------------------------------------------------------------------- how sure

    def _settled(self, one: Statement, passage: Passage) -> Statement | Reason:
        if one.certainty == "unsure":
            return "the extractor is unsure of it"
        asks = one.quote.rstrip(" *_)\"'”’").endswith(("?", "？", "؟"))
        if one.decides and asks and _ASKS.match(fold(one.quote)):
            return "it was asked, not stated"
        return one


def _find(shown: Shown, quote: str) -> tuple[int, int, bool] | None:
    """Where a quote stands in the displayed text, and whether it is as it was written.

    As written; else as displayed; else as displayed but for case, kinds of quotes and dashes, and
    spaces. What is struck out or in a code block is not displayed, so it is never found.
    """
    if not quote.strip():
        return None
    at = shown.raw.find(quote)
    for _ in range(_OCCURRENCES):
        if at < 0:
            break
        inside = [
            i
            for i in _positions(shown, at, at + len(quote))
            if at <= shown.low[i] and shown.high[i] <= at + len(quote)
        ]
        if inside and shown.text[inside[0] : inside[-1] + 1].strip():
            return inside[0], inside[-1] + 1, True
        at = shown.raw.find(quote, at + 1)
    bare = quote.strip()
    at = shown.text.find(bare)
    if at >= 0:
        return at, at + len(bare), False
    pieces = [re.escape(piece) for piece in fold(bare).split()]
    loose = re.search(r"\s+".join(pieces), fold(shown.text))
    return (loose.start(), loose.end(), False) if loose else None


def _positions(shown: Shown, since: int, until: int) -> range:
    """The displayed characters that were written in `raw[since:until]`, and perhaps their neighbours."""
    return range(bisect_left(shown.low, since), bisect_right(shown.low, until))


def named(name: str, text: str) -> bool:
    """Whether folded `text` holds the name, or a part of it that is a word of its own."""
    whole = " ".join(fold(name).split()).removeprefix("@")
    if not whole:
        return False
    parts = {whole, *(part for part in re.split(r"[\s._-]+", whole) if len(part) > 1)}
    return any(_stands_in(part, text) for part in parts)


def _stands_in(part: str, text: str) -> bool:
    if part not in text:
        return False
    if part[0] > "\u2e80":  # no spaces around words there
        return True
    # An ending may follow ("bens", "마야가"), another word may not come before.
    return bool(re.search(rf"(?<!\w){re.escape(part)}(?:(?!\w)|s(?!\w)|(?=[\u2e80-\uffff]))", text))


def _could_be_called(name: str, said: str) -> bool:
    """A thing that nobody named may get a name, in a script of the talk and without any number."""
    if any(c.isdigit() for c in name):
        return False
    return _scripts(name) <= _scripts(said)


def _scripts(text: str) -> set[str]:
    """LATIN, HANGUL, CJK, …: the first words of its letters' names. Japanese mixes three."""
    found = {unicodedata.name(c, "?").split()[0] for c in set(text) if c.isalpha()}
    return found | {"CJK"} if found & {"HIRAGANA", "KATAKANA"} else found


def _anchored(words: str, said: str) -> bool:
    """Whether words are the talk's own: literally in it, or at least half of those that carry
    meaning by their beginning ("reject" for "rejected"), and what has a digit exactly.

    So nothing is translated, no date worked out, and no key invented.
    """
    plain = " ".join(fold(words).split())
    if plain in " ".join(said.split()):
        return True
    tokens = _WORD.findall(plain)
    spoken = set(_WORD.findall(said))
    if any(token not in spoken for token in tokens if any(c.isdigit() for c in token)):
        return False
    heavy = [token for token in tokens if len(token) > 3 or token[0] > _CASELESS] or tokens
    found = sum(1 for token in heavy if token in spoken or _begins(token, said))
    return found > 0 and 2 * found >= len(heavy)


def _begins(token: str, said: str) -> bool:
    """Whether what its inflected forms share stands there, roughly: four letters, or two signs of
    a script without case."""
    if token[0] > _CASELESS:
        return len(token) > 1 and token[:2] in said
    return len(token) > 3 and token[:4] in said
