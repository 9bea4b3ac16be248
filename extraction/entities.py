"""Which decision is meant by a name: exact names bind, likeness only proposes; pure.

It knows no form of a statement and refuses to merge anything: where two names are merely alike, the
statement stays with its own entity and somebody is asked (`bot.naming`). That near things stay apart
comes first: a proposal that is wrong costs attention, so it is made for a different *spelling* of the
same words only. A number, a date, a version or a word more or less makes another thing, and is not
even proposed.

**The key of a slot.** A decision is a subject, or one slot of a subject: `release-2.4`, `release-2.4
date`, `release-2.4 go/no-go`. Each is an entity of its own, under the key of the name it was first given
(`entity_id("release-2.4 date")`); `parts` tells subject and slot of any name. The slots of a subject
are found together and never answer for each other.

**What is exact.** Two names are the same when they are so after: Unicode's compatibility and case
folding (full and half width, ß and ss), any kind of dash, quote and space, decimal digits of any
script, marks around the name, a leading "the", invisible marks; in Arabic without vowel signs and
tatweel; "date of release-2.4", "release-2.4's date" and "release-2.4の date" as "release-2.4 date".

**What is alike.** Spaces or hyphens elsewhere; a Korean or Japanese particle or an Arabic article more
or less, hamza and ta marbuta; a German or English ending, umlauts written out, a compound taken apart
("Sommerfesttermin", "Termin des Sommerfests"); one slip in a long word; initials of three or more.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from extraction import Known, Statement, Window
from extraction.references import entity_id

MOST = 3
"""So many candidates are proposed for a name, the likest."""

_LONGEST = 300  # characters of a name that are looked at
_LIKELY = 40.0  # likeness (0 to 100) of words put in order, below which names are not compared
_SLIP = 6  # a word has so many letters before one of them may be a slip


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u0640\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufe00-\ufe0f\ufeff]"
)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—−﹣－"), "-") | dict.fromkeys(map(ord, "‘’‚‛′`´"), "'")
_QUOTES, _ENDS = " \t\"'“”„«»「」『』", " .,:;!?…。、؟،؛"
_LEADING = re.compile(r"the (?=\S)")
# A subject that carries its number: release-2.4, OPS-17, q3, "release 2.4".
_NUMBERED = r"[^\W\d_]+[-_ ]?\d+(?:\.\d+)*"
_FIRST = re.compile(rf"({_NUMBERED})(?![\w.-]*[0-9a-z])(?:'s (?=\S)| ?[の의](?: |(?=\S))| )(.+)")
_LAST = re.compile(
    rf"(.+?) (?:of|for|von|vom|für|des|zu|zum|zur) (?:(?:the|der|die|das) )?({_NUMBERED})"
)
_SUBJECT = re.compile(_NUMBERED)
_KEY = re.compile(r"[^\W\d_]{2,}[-_]\d+")
_NUMBER = re.compile(r"\d+")
_APART = re.compile(r"[^\w+#%&@$€£°]+|_+")  # C, C++ and C# are three

# Not "a" and "la": plan A, the LA office.
_ARTICLES = frozenset(_listed("the der die das den dem des el los las le les"))
_OF = frozenset(_listed("of for von vom für fuer des der zu zum zur de du del"))
# What stands in a row of its own kind: another one of these is another thing, however it is spelt.
_FIXED = frozenset(_listed(
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec januar februar maerz mai juni juli oktober"
    " dezember janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    " monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag"
    " freitag samstag sonntag feiertag lundi mardi mercredi jeudi vendredi samedi dimanche lunes"
    " martes miercoles jueves viernes sabado domingo today tomorrow yesterday heute morgen gestern"
    " spring summer autumn winter fruehling sommer herbst quarter quartal"
    " first second third fourth fifth sixth seventh eighth ninth tenth seventy seventeen"
    " sixteen fourteen fifteen eighteen nineteen hundred thousand erste zweite dritte vierte"
    " fuenfte sechste siebte achte neunte zehnte hundert tausend premier deuxieme troisieme"
    " internal external interim public private"
))  # fmt: skip
_KOREAN = _listed(
    "에서는 에서의 으로는 에서 에게 으로 까지 부터 이나 은 는 이 가 을 를 에 의 로 와 과 도 만"
)
_JAPANESE = _listed("については について では には から まで より は が を に へ と で も の")
_ARABIC = ("وال", "بال", "كال", "فال", "لل", "ال")
_ARABIC_LETTERS = {ord(a): b for many, b in (("أإآٱ", "ا"), ("ة", "ه"), ("ى", "ي")) for a in many}
_GERMAN_LETTERS = {ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"}
_ENDINGS = ("en", "es", "em", "e", "n", "s")
_DECLINED = frozenset(("e", "en", "em", "er", "es"))
_JOINTS = r"(?:s|es|n|en|e|er)?"


class Bound(NamedTuple):
    """The name is that entity's: its key, a confirmed alias, or its name written another way."""

    entity: str


class Proposed(NamedTuple):
    """The name is nobody's yet, under `key`, and may mean one of `candidates`, the likest first."""

    name: str
    key: str
    candidates: tuple[str, ...]


class New(NamedTuple):
    """Nothing known is called like that."""

    key: str


type Resolution = Bound | Proposed | New


class Subject(NamedTuple):
    """`slot`: which decision about the subject; empty where the name has none."""

    subject: str
    slot: str


class Question(NamedTuple):
    """What somebody has to say: whether what a message calls `name`, a new entity, is one of the
    candidates. `author`: who wrote it."""

    message: str
    author: str
    name: str
    entity: str
    candidates: tuple[str, ...]


class Bindings(NamedTuple):
    """Statements, each about the entity it means as far as that is certain, and what is not."""

    statements: list[Statement]
    questions: list[Question]


# ------------------------------------------------------------------------------- which one is meant


class Names:
    """What the entities are called that may be meant, as everybody who reads along may know them.

    `aliases`: further confirmed names, each with the key it means.
    """

    def __init__(self, known: Iterable[Known], aliases: Mapping[str, str] | None = None) -> None:
        self._names: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._aliases: dict[str, set[str]] = defaultdict(set)
        self._called: dict[str, set[str]] = defaultdict(set)
        for one in known:
            self.add(one)
        for alias, entity in (aliases or {}).items():
            self._aliases[form(alias)].add(entity)

    def add(self, one: Known) -> None:
        self._names[one.id] = one.name
        self._keys.setdefault(one.id.casefold(), one.id)
        self._called[form(one.name)].add(one.id)
        for alias in one.aliases:
            self._aliases[form(alias)].add(one.id)

    def __contains__(self, entity: str) -> bool:
        return entity in self._names

    def keys(self) -> set[str]:
        return set(self._names)

    def all(self) -> list[str]:
        """What every entity is called."""
        return list(self._names.values())

    def named(self, entity: str) -> str:
        return self._names.get(entity, entity)

    def resolve(self, name: str) -> Resolution:
        """What is exactly so is bound; what two claim is asked, like what is only alike."""
        name = name[:_LONGEST]
        claimed = self.claims(name)
        if len(claimed) == 1:
            return Bound(claimed[0])
        key = entity_id(name)
        near = claimed[:MOST] or self._alike(form(name))
        return Proposed(name, key, near) if near else New(key)

    def claims(self, name: str, *, aliases: bool = True) -> tuple[str, ...]:
        """The entities that are called exactly so: by key, else by confirmed alias, else by name."""
        name = name[:_LONGEST]
        key = name if name in self._names else self._keys.get(entity_id(name))
        if key is not None:
            return (key,)
        wanted = form(name)
        meant = self._aliases.get(wanted) if aliases else None
        return tuple(sorted(meant or self._called.get(wanted, set())))

    def of_subject(self, name: str) -> list[str]:
        """The slots of a subject, by name; without a number in it, a subject has two or more."""
        subject = form(name)
        if not subject:
            return []
        found = [e for e, called in self._names.items() if _is_slot(form(called), subject)]
        enough = 1 if _SUBJECT.fullmatch(subject) else 2
        return (
            sorted(found, key=lambda e: (form(self._names[e]), e)) if len(found) >= enough else []
        )

    def beside(self, entity: str) -> list[str]:
        """The other decisions about the subject of one."""
        subject = _parts(form(self.named(entity))).subject
        found = [*sorted(self._called.get(subject, set())), *self.of_subject(subject)]
        return [other for other in dict.fromkeys(found) if other != entity]

    def _alike(self, wanted: str) -> tuple[str, ...]:
        forms = {**self._called, **self._aliases}
        words = _compared(wanted)
        likely = {
            one: words_
            for one in forms
            if one and (words_ := _compared(one)).numbers == words.numbers
        }
        scores = {
            one: score
            for _, score, one in process.extract(
                words.sorted,
                {one: words_.sorted for one, words_ in likely.items()},
                scorer=fuzz.ratio,
                score_cutoff=_LIKELY,
                limit=None,
            )
        }
        near = [
            one
            for one, words_ in likely.items()
            if ((one in scores or words.joined & words_.joined) and _spelt_alike(words, words_))
            or _abbreviates(words, words_)
        ]
        near.sort(key=lambda one: (-scores.get(one, 0.0), one))
        return tuple(dict.fromkeys(e for one in near for e in sorted(forms[one])))[:MOST]


def resolve(
    name: str, known: Iterable[Known], aliases: Mapping[str, str] | None = None
) -> Resolution:
    """Which of the known entities a name means. `aliases`: confirmed names, each with its key."""
    return Names(known, aliases).resolve(name)


def bind(window: Window, statements: Sequence[Statement]) -> Bindings:
    """Statements about new names, bound to what everybody in the room knows under that very name.

    What is only alike stays under its own key, and is asked. Statements about what is known already,
    what a thread is about, or a sentence that decides by itself are as they were.
    """
    known = {one.id for one in window.entities} | set(window.threads.values())
    open_ = [one for one in statements if one.entity not in known and _by_name(one)]
    if all(_is_new_key(one, known, window.entities) for one in open_):
        return Bindings(list(statements), [])
    names, authors = Names(window.entities), {one.id: one.author for one in window.passages}
    bound, questions = list[Statement](), list[Question]()
    for one in statements:
        if one.entity in known or one.entity in names or not _by_name(one):
            bound.append(one)
            continue
        match names.resolve(one.name):
            case Bound(entity):
                one = one.model_copy(update={"entity": entity, "name": names.named(entity)})
            case Proposed(name, _, candidates):
                author = authors.get(one.message, one.speaker)
                questions.append(Question(one.message, author, name, one.entity, candidates))
                names.add(Known(id=one.entity, name=one.name))
            case New():
                names.add(Known(id=one.entity, name=one.name))
        bound.append(one)
    return Bindings(bound, questions)


def _by_name(one: Statement) -> bool:
    """Whether its entity is nothing but what it is called; a decision by text is named after it."""
    return entity_id(one.name) == one.entity


def _is_new_key(one: Statement, known: set[str], entities: Sequence[Known]) -> bool:
    """Whether it is about a key like `decision-43` that nothing known can be: what most new things are,
    found without reading thousands of names."""
    wanted = form(one.name)
    return (
        _KEY.fullmatch(wanted) is not None
        and not {wanted.replace("-", "_"), wanted.replace("_", "-")} & known
        and not any(wanted == e.name.casefold() for e in entities)
        and not any(wanted == form(alias) for e in entities for alias in e.aliases)
    )


# ------------------------------------------------------------------------------- one name


@lru_cache(maxsize=50_000)
def form(name: str) -> str:
    """What is the same for every exact way of writing a name; see the top of this module."""
    text = unicodedata.normalize("NFKC", name[:_LONGEST].translate(_DASHES))
    text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text).casefold()).translate(_DASHES)
    if not text.isascii():
        text = "".join(_digit(c) for c in text)
    text = " ".join(text.split()).strip(_QUOTES).rstrip(_ENDS).strip(_QUOTES)
    text = _LEADING.sub("", text, count=1)
    subject, slot = _parts(text)
    return f"{subject} {slot}" if slot else text


def parts(name: str) -> Subject:
    """The subject of a name and its slot: "date of release-2.4" is ("release-2.4", "date")."""
    return _parts(form(name))


def _parts(text: str) -> Subject:
    for pattern, subject, slot in ((_FIRST, 1, 2), (_LAST, 2, 1)):
        if found := pattern.fullmatch(text):
            return Subject(found[subject], found[slot])
    return Subject(text, "")


def _is_slot(name: str, subject: str) -> bool:
    """Whether a name begins with all words of a subject, or ends with "of" it, and says more."""
    if name.startswith(subject):
        after = name[len(subject) :]
        return bool(re.match(r"(?:'s)?\s+\S|[/:]\s*\S|[の의]\s*\S", after))
    ends = re.search(rf"\S (?:{'|'.join(sorted(_OF))}) (?:the )?{re.escape(subject)}", name)
    return ends is not None and ends.end() == len(name)


def _digit(c: str) -> str:
    value = unicodedata.decimal(c, None)
    return c if value is None else str(value)


# ------------------------------------------------------------------------------- two names


class _Compared(NamedTuple):
    """A name as it is compared with others: in each `order` its words may stand in."""

    orders: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...]
    subject: str
    sorted: str
    joined: frozenset[str]


def alike(a: str, b: str) -> bool:
    """Whether one name may be the other, spelt differently; never said of what is near only."""
    one, other = _compared(form(a)), _compared(form(b))
    return one.numbers == other.numbers and (_spelt_alike(one, other) or _abbreviates(one, other))


@lru_cache(maxsize=50_000)
def _compared(name: str) -> _Compared:
    orders = tuple(dict.fromkeys(_orders(name)))
    subject = _parts(name).subject
    return _Compared(
        orders,
        tuple(sorted(_NUMBER.findall(name))),
        _joined(_words(subject)) if _SUBJECT.fullmatch(subject) else "",
        " ".join(sorted(orders[0])),
        frozenset(map(_joined, orders)),
    )


def _orders(name: str) -> Iterator[tuple[str, ...]]:
    """The words as they stand; and, around an "of", the other way around."""
    pieces = name.split(" ")
    yield tuple(_words(name))
    for at, piece in enumerate(pieces):
        if piece in _OF and 0 < at < len(pieces) - 1:
            before, after = _words(" ".join(pieces[:at])), _words(" ".join(pieces[at + 1 :]))
            yield (*after, *before)


def _words(text: str) -> list[str]:
    """The words of a name without a leading article, each without what only inflects it."""
    text = re.sub(r"(?<=[\u3400-\u9fff\u30a0-\u30ff])の(?=[\u3400-\u9fff\u30a0-\u30ff])", " ", text)
    words = [word for word in _APART.split(text.translate(_GERMAN_LETTERS)) if word]
    if len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return [_bare(word) for word in words]


@lru_cache(maxsize=50_000)
def _bare(word: str) -> str:
    if word.isascii():
        return word
    first = word[-1]
    if "\uac00" <= first <= "\ud7a3":
        return _without(word, _KOREAN, end=True, least=2)
    if "\u3040" <= first <= "\u30ff" or "\u3400" <= first <= "\u9fff":
        word = re.sub(r"(?<=[ァ-ヺー][ァ-ヺ])ー(?![ァ-ヺー])", "", word)
        return _without(word, _JAPANESE, end=True, least=2)
    if "\u0620" <= first <= "\u064a":
        return _without(word.translate(_ARABIC_LETTERS), _ARABIC, end=False, least=3)
    plain = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in plain if not unicodedata.combining(c)))


def _without(word: str, parts: Sequence[str], *, end: bool, least: int) -> str:
    for part in parts:  # the longest first
        if len(word) - len(part) >= least and (word.endswith if end else word.startswith)(part):
            return word[: -len(part)] if end else word[len(part) :]
    return word


def _spelt_alike(one: _Compared, other: _Compared) -> bool:
    if one.subject != other.subject:
        return False  # another key, or a thing with a number and one without
    return bool(one.joined & other.joined) or any(
        _same_words(a, b) or _taken_apart(a, b) or _taken_apart(b, a)
        for a in one.orders
        for b in other.orders
    )


def _same_words(a: Sequence[str], b: Sequence[str]) -> bool:
    return len(a) == len(b) and all(map(_variants, a, b))


def _taken_apart(whole: Sequence[str], apart: Sequence[str]) -> bool:
    """Whether one word on the one side is a compound of two on the other, and the rest agrees."""
    if len(apart) != len(whole) + 1:
        return False
    for at, word in enumerate(whole):
        first, second = apart[at], apart[at + 1]
        if min(len(first), len(second)) < 3 or _NUMBER.search(word):
            continue
        stems = {first, *(first.removesuffix(ending) for ending in _ENDINGS if len(first) > 5)}
        if any(
            re.fullmatch(f"{re.escape(stem)}{_JOINTS}{re.escape(second)}", word) for stem in stems
        ):
            rest = zip(
                [*whole[:at], *whole[at + 1 :]], [*apart[:at], *apart[at + 2 :]], strict=True
            )
            return all(_variants(a, b) for a, b in rest)
    return False


def _variants(a: str, b: str) -> bool:
    """Whether two words are one: with another ending, or with one slip in many letters."""
    if a == b:
        return True
    if _NUMBER.search(a + b) or a[0] != b[0] or _FIXED & {a, b} or not (_cased(a) and _cased(b)):
        return False
    short, long = sorted((a, b), key=len)
    if len(short) >= 4 and long.startswith(short) and long[len(short) :] in _ENDINGS:
        return True
    common = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(short))
    if any(a[:n] == b[:n] and {a[n:], b[n:]} <= _DECLINED for n in (common, common - 1) if n >= 3):
        return True
    return len(short) >= _SLIP and OSA.distance(a, b, score_cutoff=1) <= 1


def _cased(word: str) -> bool:
    """Letters that come in two cases: elsewhere one of them more is a word more."""
    return word.upper() != word


def _abbreviates(one: _Compared, other: _Compared) -> bool:
    """SSO is single sign-on."""
    for short, long in ((one, other), (other, one)):
        [word, *more], words = short.orders[0] or ("",), long.orders[0]
        if not more and 3 <= len(word) <= 6 and len(words) == len(word) and _cased(word):
            return all(w.startswith(c) for w, c in zip(words, word, strict=True)) and not (
                _NUMBER.search(word)
            )
    return False


def _joined(words: Sequence[str]) -> str:
    return "".join(words)
