"""What of a reading may be believed: every statement is held against the messages it is said to come from.

Pure, and the same for every extractor. It knows no model and no rule of language; it decides by
what is written in the window. What fails is not dropped: it is held, with its reason, for somebody
to look at, and the message can be read again.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from engine.events import whole
from extraction import Passage, Statement, Window, manner
from extraction.markup import Shown, fold, read
from extraction.references import entity_id
from extraction.sentences import Sentence, sentences

VALUE_LIMIT = 200
QUOTE_LIMIT = 200
NAME_LIMIT = 80
STATEMENT_LIMIT = 100  # of one message; more is a paste
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")  # engine.events.Id
_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")
_WORD = re.compile(r"\w+")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]")
_CASELESS = "\u0590"  # Hebrew, Arabic, Thai, Korean, Chinese, … come after the scripts with case
_OCCURRENCES = 20  # of one quote in one message that are looked at
_ENDING = 4  # letters that inflected forms of one word differ in, at most
_SMALL = frozenset(  # words that carry no meaning of their own; no denial is one of them
    [
        "a",
        "an",
        "the",
        "to",
        "at",
        "in",
        "on",
        "of",
        "by",
        "for",
        "and",
        "or",
        "is",
        "it",
        "be",
        "as",
        "we",
        "i",
        "so",
        "am",
        "im",
        "zu",
        "der",
        "die",
        "das",
        "den",
        "dem",
        "ein",
        "und",
        "oder",
        "el",
        "la",
        "los",
        "las",
        "un",
        "una",
        "en",
        "de",
        "y",
        "o",
        "le",
        "les",
        "des",
        "du",
        "et",
        "ou",
        "à",
        "au",
        "il",
        "lo",
        "di",
        "e",
    ]
)
# Names that are words as well, where they open a sentence and are followed like words.
_VERB_FIRST = re.compile(
    r"\s+(?:be|have|not|it|this|that|we|you|they|i|he|she|the|there)(?!\w)", re.IGNORECASE
)
_SOMEBODY = re.compile(
    r"(?<!\w)(?:you|u|y'all|him|her|them|he|she|they|both|everyone|everybody|all|team|dir|dich|du|ihr|ihm|ihn|ihnen|euch|er|sie"
    r"|te|ti|tú|usted|ustedes|os|le|les|él|ella|tu|toi|vous|lui|leur|elle|eux|ti|lei|voi)(?!\w)"
)

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
    "it holds on a condition only",
    "it tells somebody what to record",
    "it says the opposite of what was written",
    "the extractor is unsure of it",
    "its message states too much",
    "it does not have the shape of a statement",
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
    stands in the quoted sentences (or before them, where they accept it), denied there if and only if
    it is a denial, whose new name is in words of the talk, and whose people are known. What a whole
    sentence asks, makes depend on something, or orders somebody to record is not stated. Corrected rather than held: the
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
            passed.held.append(Held(statement=_storable(one), reason=judged))
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
        self._own: dict[str, list[Sentence]] = {}

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
        if _UNSTORABLE.search("".join((one.quote, one.value, one.name, one.entity))):
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
        found = _find(shown, one.quote, self._sentences(passage))
        if found is None:
            return "nothing of what it quotes is in the message"
        start, end, exact = found
        if not _is_covered(shown, start, end, self._sentences(passage)):
            return "what it quotes is not the author's own words"
        if not _holds_a_word(shown.text, start, end):
            return "nothing of what it quotes is in the message"
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

    def _sentences(self, passage: Passage) -> list[Sentence]:
        """The author's own."""
        if passage.id not in self._own:
            self._own[passage.id] = list(sentences(self._read(passage).plain))
        return self._own[passage.id]

    def _around(self, one: Statement, passage: Passage) -> list[Sentence]:
        """The whole sentences that a quote is of, however it was cut out of them."""
        own = self._sentences(passage)
        found = _find(self._read(passage), one.quote, own)
        start, end = found[:2] if found else (0, 0)
        return [sentence for sentence in own if sentence.start < end and start < sentence.end]

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
            if self._is_known(who, passage) and self._names_properly(passage, who)
        )
        if addressees != one.addressees:
            one = one.model_copy(update={"addressees": addressees})
        if one.kind == "say":
            return one if one.about is None else one.model_copy(update={"about": None})
        if one.about is None or not self._is_known(one.about, passage):
            return "the person it is about is nobody here"
        if one.about == one.speaker:
            return "it says what its speaker told themselves"
        if not self._speaks_of(passage, one.about):
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

    def _names_properly(self, passage: Passage, who: str) -> bool:
        """The same, but a name is written as one: "it will be rejected" does not speak of Will."""
        return self._mentions(passage, who) or named(
            self.window.people.get(who, ""), self._read(passage).text, proper=True
        )

    def _speaks_of(self, passage: Passage, who: str) -> bool:
        """By name; or by a word for a person ("you"), where it is known from the talk who that is."""
        if self._names_properly(passage, who):
            return True
        text = fold(self._read(passage).text)
        if not (_SOMEBODY.search(text) or any(c > _CASELESS for c in text if c.isalpha())):
            return False
        return who in self.authors or any(
            self._names_properly(other, who) for other in self.window.passages
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
        if reason := self._unsaid(one, value, passage):
            return reason
        return one if value == one.value else one.model_copy(update={"value": value})

    def _unsaid(self, one: Statement, value: str, passage: Passage) -> Reason | None:
        """Why a value is not what was said, if so.

        Its words are those of the quoted sentences. Only where these accept something, or name a part
        of it ("5 then"), are they those of one message before, or of the rest of this one. A known value
        need not be said again.
        """
        text = fold(self._read(passage).text)
        own = "\n".join(text[s.start : s.end] for s in self._around(one, passage))
        known = self.known.get(one.entity)
        names = (one.name, *((known.name, *known.aliases) if known else ()))
        if _anchored(value, own):
            return (
                None if _agrees(value, own, names) else "it says the opposite of what was written"
            )
        again = known is not None and any(fold(value) == fold(before) for before in known.values)
        if again and manner.denies(own) == manner.denies(fold(value)):
            return None
        if not (manner.assents(own) or (_shares(value, own) and _agrees(value, own, names))):
            return "its value was not said"
        before = self.window.passages[: self.places[passage.id] + 1]
        said = [fold(self._read(other).text) for other in before]
        found = [one for one in said if _anchored(value, f"{one}\n{own}")]
        if not found:
            return "its value was not said"
        if not any(_agrees(value, one, names) for one in found):
            return "it says the opposite of what was written"
        return None

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
        shown, value = self._read(passage), fold(one.value)
        around = self._around(one, passage)
        said = [(shown.plain[s.start : s.end], fold(shown.text[s.start : s.end])) for s in around]
        if any(manner.orders(plain) for plain, _ in said):
            return "it tells somebody what to record"
        holding = [each for each in said if value in each[1]] or said
        name = fold(one.name)
        if any(c.isdigit() for c in name) and not any(name in text for _, text in said):
            # "is decision-82 approved? decision-83 is": what is asked is about another thing.
            own = ((shown.plain[s.start : s.end], s) for s in self._sentences(passage))
            own_texts = [(plain, fold(shown.text[s.start : s.end])) for plain, s in own]
            holding = [each for each in own_texts if name in each[1]] or holding
        for plain, text in holding:
            about = value if value in plain else ""
            asks = manner.asks(plain, about) or manner.asks(text, about, (name,))
            if asks and (one.decides or manner.opens_a_question(plain)):
                return "it was asked, not stated"
            if one.kind == "say" and manner.is_conditional(plain):
                return "it holds on a condition only"
        return one


def _storable(one: Statement) -> Statement:
    """As it can be kept for somebody to look at, whatever an extractor made up."""
    fields = ("message", "speaker", "entity", "name", "value", "quote")
    broken = {field: whole(text) for field in fields if whole(text := getattr(one, field)) != text}
    if one.about is not None and whole(one.about) != one.about:
        broken["about"] = whole(one.about)
    addressees = tuple(map(whole, one.addressees))
    if not broken and addressees == one.addressees:
        return one
    return one.model_copy(update={**broken, "addressees": addressees})


def _find(shown: Shown, quote: str, own: Sequence[Sentence]) -> tuple[int, int, bool] | None:
    """Where a quote stands in the displayed text, and whether it is as it was written.

    As written; else as displayed; else as displayed but for case, kinds of quotes and dashes, and
    spaces. What is struck out or in a code block is not displayed, so it is never found. Where it
    stands more than once, the author's `own` words count.
    """
    first: tuple[int, int, bool] | None = None
    for found in _places(shown, quote):
        if _is_covered(shown, found[0], found[1], own):
            return found
        first = first or found
    return first


def _places(shown: Shown, quote: str) -> Iterator[tuple[int, int, bool]]:
    bare = quote.strip()
    if not bare:
        return
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
            yield inside[0], inside[-1] + 1, True
        at = shown.raw.find(quote, at + 1)
    at = shown.text.find(bare)
    for _ in range(_OCCURRENCES):
        if at < 0:
            break
        yield at, at + len(bare), False
        at = shown.text.find(bare, at + 1)
    pieces = [re.escape(piece) for piece in fold(bare).split()]
    loose = re.finditer(r"\s+".join(pieces), fold(shown.text))
    for one in islice(loose, _OCCURRENCES):
        yield one.start(), one.end(), False


def _is_covered(shown: Shown, start: int, end: int, own: Sequence[Sentence]) -> bool:
    """Whether every word and sign of `[start, end)` is in the author's own sentences."""
    at, some = start, False
    for sentence in own:
        if sentence.end <= start or end <= sentence.start:
            continue
        some = True
        if any(c.isalnum() or c == ">" for c in shown.text[at : sentence.start]):
            return False
        at = max(at, sentence.end)
    return some and not any(c.isalnum() or c == ">" for c in shown.text[at:end])


def _holds_a_word(text: str, start: int, end: int) -> bool:
    """Whether a whole word of two letters stands there, or a sign of a script without case."""
    since, until = start, end
    while since > 0 and text[since - 1 : since + 1].isalnum():
        since -= 1
    while until < len(text) and text[until - 1 : until + 1].isalnum():
        until += 1
    for word in _WORD.finditer(text, since, until):
        letters = [c for c in word.group() if c.isalpha()]
        if any(c > _CASELESS for c in letters):
            return True
        if len(letters) > 1 and start <= word.start() and word.end() <= end:
            return True
    return False


def _positions(shown: Shown, since: int, until: int) -> range:
    """The displayed characters that were written in `raw[since:until]`, and perhaps their neighbours."""
    return range(bisect_left(shown.low, since), bisect_right(shown.low, until))


def named(name: str, text: str, *, proper: bool = False) -> bool:
    """Whether folded `text` holds the name, or a part of it that is a word of its own.

    `proper`: `text` is as displayed, and the name is written as one there: with an initial capital
    where its script has them, and not as the verb that opens a sentence ("Will it …", "May be").
    """
    whole_name = " ".join(fold(name).split()).removeprefix("@")
    if not whole_name:
        return False
    parts = {whole_name, *(part for part in re.split(r"[\s._-]+", whole_name) if len(part) > 1)}
    folded = fold(text) if proper else text
    return any(
        not proper or _is_proper(text, at, end)
        for part in parts
        for at, end in _standing(part, folded)
    )


def _standing(part: str, text: str) -> Iterator[tuple[int, int]]:
    if part not in text:
        return
    if part[0] > "\u2e80":  # no spaces around words there
        at = text.find(part)
        yield at, at + len(part)
        return
    # An ending may follow ("bens", "마야가"), another word may not come before.
    pattern = rf"(?<!\w){re.escape(part)}(?:(?!\w)|s(?!\w)|(?=[\u2e80-\uffff]))"
    for found in re.finditer(pattern, text):
        yield found.start(), found.start() + len(part)


def _is_proper(text: str, at: int, end: int) -> bool:
    if text[at].islower():
        return False
    opens = not text[:at].rstrip(" *_\"'(") or text[:at].rstrip(" *_\"'(")[-1] in ".!?\n:"
    return not (opens and _VERB_FIRST.match(text, end))


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
    """Whether words are the talk's own: literally in it, or each that carries meaning, as it is or
    inflected ("reject" for "rejected"), and what has a digit exactly.

    So nothing is translated, no date worked out, and no key invented.
    """
    plain = " ".join(fold(words).split())
    if _is_written(plain, " ".join(said.split())):
        return True
    tokens = _WORD.findall(plain)
    spoken = set(_WORD.findall(said))
    heavy = [token for token in tokens if token not in _SMALL] or tokens
    return bool(heavy) and all(token in spoken or _begins(token, spoken) for token in heavy)


def _is_written(plain: str, said: str) -> bool:
    """Literally, and not as a part of a longer word where the script has a space between them."""
    if not plain:
        return False
    before = r"(?<!\w)" if plain[0] <= _CASELESS and plain[0].isalnum() else ""
    after = r"(?![^\W\u0590-\uffff])" if plain[-1] <= _CASELESS and plain[-1].isalnum() else ""
    return bool(re.search(before + re.escape(plain) + after, said))


def _begins(token: str, spoken: Collection[str]) -> bool:
    """Whether an inflected form of it is among the words: most of it, from its beginning, and endings
    of a few letters; two signs of a script without case. Never what has a digit."""
    if any(c.isdigit() for c in token):
        return False
    if token[0] > _CASELESS:
        return len(token) > 1 and any(token[:2] in word for word in spoken)
    for word in spoken:
        longer = max(len(token), len(word))
        alike = (a == b for a, b in zip(token, word, strict=False))
        shared = next((n for n, same in enumerate(alike) if not same), min(len(token), len(word)))
        if shared > 3 and longer - shared <= _ENDING and 2 * shared > longer:
            return True
    return False


def _shares(value: str, said: str) -> bool:
    """Whether it names a part of the value that says which."""
    spoken = set(_WORD.findall(said))
    return any(token in spoken for token in _WORD.findall(fold(value)) if token not in _SMALL)


def _agrees(value: str, said: str, names: Sequence[str]) -> bool:
    """Whether the words are denied where they stand if and only if the value is a denial."""
    plain = fold(value)
    for name in names:  # what it is called denies nothing ("no-fly list")
        if name and fold(name) not in plain:
            said = said.replace(fold(name), " ")
    denied = manner.denies(plain)
    return any(manner.denies(said[start:end]) == denied for start, end in _clauses_of(plain, said))


def _clauses_of(plain: str, said: str) -> list[tuple[int, int]]:
    """Where a value stands, widened to whole clauses; else the clauses that share most words with it."""
    clauses = manner.clauses(said)
    found: list[tuple[int, int]] = []
    at = said.find(plain)
    for _ in range(_OCCURRENCES):
        if at < 0:
            break
        touched = [one for one in clauses if one[0] < at + len(plain) and at < one[1]]
        if touched:
            found.append((touched[0][0], touched[-1][1]))
        at = said.find(plain, at + 1)
    if found:
        return found
    words = [token for token in _WORD.findall(plain) if token not in _SMALL]
    tokens = [token for token in words if not manner.denies(token)] or words
    shares = [sum(_anchored(token, said[a:b]) for token in tokens) for a, b in clauses]
    best = max(shares, default=0)
    return [one for one, share in zip(clauses, shares, strict=True) if share == best and best]
