"""What is a value and what is not: where it ends, whether it settles anything.

It knows the words of words.py and no form of a statement. Places are `[start, end)` of the
displayed text, so that a value can be quoted as it was written.
"""

import re
from collections.abc import Collection, Mapping

from extraction import words
from extraction.markup import CODE, EMOJI, PERSON, Shown, fold, same
from extraction.references import Ref, Scene
from extraction.sentences import BLANK

VALUE_LIMIT = 80
TEXT_LIMIT = 200

_NO_VALUE = re.compile(words.NO_VALUE)
_ELSEWHERE = re.compile(words.ELSEWHERE)
_REPLY = re.compile(words.REPLY)
_POINTS = re.compile(words.POINTS)
_POLITE_IF = re.compile(words.POLITE_IF)
_BECAUSE = re.compile(words.BECAUSE)
_PERCENT = re.compile(
    r"[~≈]?[+-]?[0-9]+(?:[.,][0-9]+)?\s?(?:%|percent\b|prozent\b)(?:\s(?:done|complete|completed|finished|there|ready|of\s.*))?$"
)
_ALTERNATIVES = re.compile(r"\s(?:vs\.?|or|oder)\s")
_CHOICES = re.compile(r"[^\s/|,;()]+(?:\s[^\s/|,;()]+)?(?:\s?/\s?[^\s/|,;()]+(?:\s[^\s/|,;()]+)?)+")
# Before another settled word: that is how it was, or how it is not.
_BEFORE_NOW = re.compile(
    r"(?<!\w)(?:not|never|was|were|been|being|from|no\s+longer|previously|formerly|instead\s+of|rather\s+than|than|over|until|till|after|the|if|nicht|war)\s(?:\w+\s)?$"
)
_WORD_START = re.compile(r"(?<!\w)(?=\w)")
_HANDED = re.compile(words.HANDED)
_PAPERS = re.compile(words.PAPERS)
_DATE = re.compile(words.DATE)
_NUMBER = re.compile(words.NUMBER)
_NAME = re.compile(
    r"(?:\"?[A-ZÀ-ÖØ-Þ0-9][\w'&.+#/-]*\"?)(?:\s(?:of|and|&|for|the|<[\w. -]{1,30}>|v?[0-9][\w.]*|[A-ZÀ-ÖØ-Þ][\w'&.+#/-]*)){0,4}"
)
_ARROWS = re.compile(r".*(?:->|→|⇒|⟶|➡\ufe0f?)\s*")
_BESIDES = re.compile(words.BESIDES_SETTLED)
_BESIDES_LATER = re.compile(words.BESIDES_LATER)
_TAIL = re.compile(rf"\s?[{EMOJI}][\s{EMOJI}{PERSON}]*$")  # a nod to somebody
_POINTER = re.compile(r"\s(?:at|in|on|via|from|here|see|details|more|under|with|->|→)[\s:]*$")
_DANGLING = re.compile(words.DANGLING)
_SOON = re.compile(words.SOON.replace("{date}", words.DATE))
_CALL = re.compile(rf"(?:(?<=\s)|(?<=[,;(])|^){words.CALL}$")
_WITH_PERSON = re.compile(rf"(?<![\w']){words.WITH_PERSON}$")
_EITHER = re.compile(
    r"(?!(?:no|not|never|without|neither|kein\w*|nicht)\s)(?:either\s|entweder\s)?\S+(?:\s\S+){0,2}\s(?:or|oder|ou|vs\.?)"
    r"\s(?!(?:more|less|fewer|later|earlier|sooner|above|below|higher|lower|newer|older|better|greater|so|mehr|plus)(?:\s|$))"
    r"\S+(?:\s\S+){0,2}"
)
_REMARK = re.compile(words.REMARK)
_NOT_THAT = re.compile(r"(?:\s?[,;]|\s)\s?(?:and\s)?(?:not|instead|rather\s+than)\b")
_ON_DATE = re.compile(r"on\s(?=\S)")
_NOW_LAST = re.compile(rf"\s(?:{words.NOW})$")
_NO_TEXT = re.compile(words.NO_TEXT)
_EMPTY_TEXT = re.compile(words.EMPTY_TEXT)
_TITLE = re.compile(words.TITLE)
_CHATTER = re.compile(words.CHATTER)
_DECIDING = re.compile(words.DECIDING)
_CLAUSE = re.compile(rf"{words.CLAUSE}|{words.ERRAND}")
_DATE_FIRST = re.compile(rf"(?:{words.DATE})(?=$|\s?[(,;–—-])")
# "Is $40k, finance put it in the sheet".
_MEASURE_FIRST = re.compile(
    rf"(?P<value>{words.DATE}|{words.NUMBER}),\s(?!(?:or|and|not|but|nor|at|by|to|mostly|roughly|half|noon|midnight)(?!\w))[a-z']+\s\w"
)
_CUT_OFF = re.compile(words.CUT_OFF)
_STAGE = re.compile(words.STAGE)
_PATCH = re.compile(words.PATCH)
# A title names a part of a program, or begins with the part it is about.
_NAMED_PART = re.compile(r"\w\(|\w_\w|\w::\w|[a-z]\.[a-z]+\(?|^[\w.-]+:\s")
_DASHED = re.compile(r"\s(?:--|[–—])\s")
# "Fixed :mod:`asyncio`", "DAY_1: Final[int]".
_ROLE = re.compile(rf"\s?{EMOJI}+{CODE}|\[")
_CODE_LINE = re.compile(words.CODE_LINE)
_SMILE = re.compile(words.SMILE)
_DASHES = re.compile(r"[–—-]+\s")
WRAP = 45  # characters; shorter lines are not broken by a program
TITLE_WORDS = 4  # behind a ticket's key so many words are its title
_TO = re.compile(r"(?:to|on)\s+(?!be\b)")
OPEN_TEXT = re.compile(words.OPEN_TEXT)
OPEN = re.compile(words.OPEN)
# What may not begin a value may well begin a decision in words.
_TEXT_MAY_BEGIN = re.compile(
    r"(?:no|not|never|nothing|none|we|our|this|these|the|it|they|you|your|must|shall|will|won't|any|started?|looks?"
    r"|same|under|good|great|nice|kein|keine|nicht|pas|ne|aucune?|there)\b"
)
_UNDECIDED = re.compile(
    r"(?:(?:[\w']+\s+){1,2}will|(?:we|i|they|he|she|you|it)(?:'ll|\s+will|'re\s+going\s+to|\s+are\s+going\s+to)|will|to|not\s+to|not|we|i)\s+(?:\w+\s+)?(?:decide|vote|sleep\s+on|figure)\b"
    r"|(?:is\s+)?(?:will|to|shall|must)\s+be\s+(?:made|taken|decided|discussed|announced|determined|confirmed)\b"
    r"|decid(?:e|ing)\s+(?:later|tomorrow|soon|next|on\s+\w+day|this|after|when|at|in\s)|(?:nothing|none)(?:$|\s+(?:yet|for\s+now|so\s+far|final|concrete|definite|today|so|really|at\s+all))"
    r"|not?\s+(?:yet|decided|decision|idea|news|clue|made|taken|final|sure|change|changes|update|updates)\b|needed\b"
)


class Settled:
    """The words that settle a decision, of every language at once."""

    def __init__(self, settled: Mapping[str, Collection[str]]) -> None:
        every = {fold(word).strip() for many in settled.values() for word in many} - {""}
        choice = "|".join(
            re.escape(word).replace(r"\ ", r"\s") for word in sorted(every, key=len, reverse=True)
        )
        self.word = re.compile(
            rf"(?P<word>{choice or '(?!)'}){words.POLITE}(?!\(\))(?=$|[\s,.;:!()\[\]{EMOJI}—–/|。])"
        )
        self.goes_on = re.compile(
            rf"\s?(?:$|[,;.!:()\[{EMOJI}—–/|。-]|{words.AFTER_SETTLED})"
            rf"|\s(?:{choice or '(?!)'})(?=\s?(?:$|[,;.!(]))"  # closed fixed
        )
        self.next = re.compile(
            rf"[\s,/|&;{EMOJI}–—-]+(?:(?:or|vs\.?|oder|ou)\s+)?(?P<word>{choice or '(?!)'})(?!\w)"
        )
        self.every = frozenset(every)


class Values:
    """The values in one message."""

    def __init__(self, shown: Shown, scene: Scene, settled: Settled) -> None:
        self.shown = shown
        self.text = shown.text
        self.plain = shown.plain
        self.scene = scene
        self.settled = settled

    def leaves_open(self, start: int, end: int, pattern: re.Pattern[str]) -> bool:
        """Whether something in the sentence leaves it open; polite endings do not."""
        if not (found := pattern.search(self.plain, start, end)):
            return False
        if polite := _POLITE_IF.search(self.plain, start, end):
            return bool(
                (found.start() < polite.start() and found.end() <= polite.start())
                or pattern.search(self.plain, polite.end(), end)
            )
        return True

    def trim(self, start: int, end: int) -> tuple[int, int] | None:
        """Without spaces, emoji, closing punctuation and quotation marks around all of it."""
        plain = self.plain
        while start < end and plain[start] in BLANK + ",;:":
            start += 1
        while True:
            while end > start and plain[end - 1] in BLANK + ".!,;。！…":
                end -= 1
            if smile := _SMILE.search(plain, max(start + 1, end - 12), end):
                end = smile.start()
                continue
            pair = plain[start] + plain[end - 1] if end - start > 2 else ""
            if (
                pair in ('""', "''", "()", "「」", "『』")
                and pair[0] not in plain[start + 1 : end - 1]
            ):
                start, end = start + 1, end - 1
            elif (
                pair[1:] in (")", "]")
                and plain.count("([)]"[")]".index(pair[1:])], start, end) == 0
            ):
                end -= 1
            else:
                break
        return (start, end) if start < end else None

    def is_link_or_percent(self, span: tuple[int, int]) -> bool:
        for link in self.shown.within(*span, "link", "label"):
            if link.start <= span[0]:
                return True
        return bool(_PERCENT.match(self.plain[span[0] : span[1]]))

    def _unaddressed(self, start: int, end: int, *, bare: bool) -> tuple[int, int]:
        """Without the people called at the end: `friday, <@U2> fyi` is `friday`.

        `bare`: a mention alone is a call as well, unless the word before it needs it.
        """
        plain, at, kept = self.plain, end, end
        while at > start:
            called = people = closed = 0
            while at > start:
                near = plain[max(start, at - 16) : at]
                marks = self.shown.within(at - 1, at, "person", "group")
                if marks and self.text[marks[-1].start] == "@" and marks[-1].end == at:
                    people, at = people + 1, max(start, marks[-1].start)
                elif call := _CALL.search(near):
                    called, at = called + 1, at - len(near) + call.start()
                elif near[-1] == ")" and not (people or called or closed):
                    closed, at = 1, at - 1
                elif near[-1] == "(" and closed and people:
                    closed, called, at = 0, called + 1, at - 1
                elif near[-1] in " /&+" or (near[-1] in ":.!–—-" and (called or not people)):
                    at -= 1
                elif near[-1] in ",;" and not called:
                    called, at = (
                        int(bool(people) and not self._ends_in_person(start, at - 1)),
                        at - 1,
                    )
                else:
                    break
            if not people or closed:
                break
            if at <= start:  # nothing but people: they are the value
                first = self.shown.within(start, kept, "person", "group")
                kept = first[-1].end if first and called else kept
                break
            if (not called and not bare) or _WITH_PERSON.search(plain, max(start, at - 16), at):
                break
            kept = at
            if plain[at - 1] not in ",;" and not self._ends_in_person(start, at):
                break
        return start, kept

    def _ends_in_person(self, start: int, end: int) -> bool:
        while end > start and self.plain[end - 1] == " ":
            end -= 1
        return end > start and bool(self.shown.within(end - 1, end, "person"))

    def correction(
        self, start: int, end: int, ref: Ref, before: str, *, meant: bool, free: bool
    ) -> tuple[int, int] | None:
        """The value that takes the place of `before`; `free`: that was written as `KEY: value`."""
        if cut := _NOT_THAT.search(self.plain, start + 1, end):
            end = cut.start()
        strict = self.value(start, end, ref, free=False, limit=VALUE_LIMIT, named=meant)
        if strict and (
            meant or self._is_settled(strict) or not _REMARK.search(self.plain[slice(*strict)])
        ):
            return strict
        if not free:
            return None
        value = self.value(start, end, ref, free=True, limit=VALUE_LIMIT)
        if not value or _REMARK.search(self.plain[value[0] : value[1]]):
            return None
        return value if self._words(*value) <= max(3, len(before.split())) else None

    def _words(self, start: int, end: int) -> int:
        return len(self.text[start:end].split())

    def decision(self, start: int, end: int) -> tuple[int, int] | None:
        """The content of a decision in words, if it is one."""
        if dashes := _DASHES.match(self.plain, start, end):
            start = dashes.end()
        if (to := _TO.match(self.plain, start, end)) is not None:
            if _NO_TEXT.match(self.plain, start, end):
                return None
            start = to.end()
        if self.leaves_open(start, end, OPEN_TEXT) or _NO_TEXT.match(self.plain, start, end):
            return None
        span = self.trim(start, end)
        if span and span[1] - span[0] > TEXT_LIMIT and (cut := _BECAUSE.search(self.plain, *span)):
            span = self.trim(span[0], cut.start())
        if not span or span[1] - span[0] > TEXT_LIMIT:
            return None
        span = self._unaddressed(*span, bare=False)
        span = self.trim(*span) or span
        plain = self.plain[span[0] : span[1]]
        if _EITHER.fullmatch(plain):
            return None
        if _HANDED.fullmatch(plain) or _PAPERS.fullmatch(plain) or self.is_choice(span):
            return None
        first = _NO_VALUE.match(plain)
        if (first and not _TEXT_MAY_BEGIN.match(plain)) or _UNDECIDED.match(plain):
            return None
        if self.is_link_or_percent(span) or not any(c.isalnum() for c in plain):
            return None
        if _EMPTY_TEXT.fullmatch(plain) or _CUT_OFF.fullmatch(plain) or self._is_wrapped(span[1]):
            return None
        return span

    def _is_wrapped(self, end: int) -> bool:
        """Whether the text goes on in the next line, as mails and pasted minutes have it."""
        if self.plain[end : end + 1] != "\n":
            return False
        line = self.plain.rfind("\n", 0, end) + 1
        following = self.text[end + 1 : end + 20].lstrip(" ")
        return end - line > WRAP and following[:1].islower() and following[1:2] not in (".", ")")

    def settled_value(self, start: int, end: int, ref: Ref) -> tuple[int, int] | None:
        """The value in `[start, end)` if it begins with a word that settles."""
        value = self.value(start, end, ref, free=False, limit=VALUE_LIMIT, named=False, fact=True)
        return value if value and self._is_settled(value) else None

    def is_title(self, span: tuple[int, int], ref: Ref) -> bool:
        """Whether what stands behind `KEY:` is no value of it but the title of a ticket, a remark
        about it, or a sentence said to somebody who is called like a key."""
        key, plain = self.plain[ref.start : ref.end], self.plain[slice(*span)]
        word = re.match(r"[^\W\d_]*", key)
        if not word or word.group() in words.DECISIVE:
            return False
        if _ROLE.match(self.plain, span[1]):
            return True
        settled = self.settled.word.match(self.plain, *span)
        if settled and self.settled.goes_on.match(self.plain, settled.end(), span[1]):
            return False
        ticket = (
            self.text[ref.start : ref.start + word.end()].isupper() or word.group() in words.TICKET
        )
        if ticket and _POINTS.fullmatch(plain):
            return True
        if self._settles(span, ref, named=False) or _DATE_FIRST.match(plain):
            return False
        if _CLAUSE.match(plain):
            return True
        if not any(c.isdigit() for c in key):  # what somebody called it: a word is most often more
            if word.group() in words.COMMIT and _TITLE.match(plain):
                return True
            ticket = " " not in key and not plain[:1].isdigit()
            return ticket and self._length(plain) >= TITLE_WORDS and not _DECIDING.match(plain)
        if _PATCH.match(self.text, *span):
            return True
        if "_" in key and self.is_code(span):
            return True
        if not ticket or _STAGE.fullmatch(plain):
            return False
        if _TITLE.match(plain) or _CHATTER.match(plain) or _NAMED_PART.search(plain):
            return True
        if _DASHED.match(self.plain, span[1]):
            return True
        if _DECIDING.match(plain):
            return False
        length = self._length(plain)
        return length >= TITLE_WORDS or (length > 1 and self.text[span[0]].isupper())

    def is_code(self, span: tuple[int, int]) -> bool:
        """Whether `KEY = ...` is a line of a program."""
        return bool(_CODE_LINE.fullmatch(self.plain, *span))

    def _length(self, plain: str) -> int:
        """How many words; of a script without spaces about two characters are one."""
        return sum(1 if word < "\u2e80" else (len(word) + 1) // 2 for word in plain.split())

    def value(
        self,
        start: int,
        end: int,
        ref: Ref | None,
        *,
        free: bool,
        limit: int,
        exact: bool = False,
        text: bool = False,
        named: bool = True,
        fact: bool = False,
    ) -> tuple[int, int] | None:
        """The value in `[start, end)`, or None if it is none.

        `free`: any value will do; otherwise only one that settles. `exact`: a settled word alone.
        `text`: a decision in words, kept whole. `named`: a capitalised word is a value.
        `fact`: it must hold already.
        """
        span = self.trim(start, end)
        if span and _REPLY.match(self.plain, *span):
            return None
        if span and not text and (cut := _BECAUSE.search(self.plain, span[0] + 1, span[1])):
            span = self.trim(span[0], cut.start())
        if span and (arrow := _ARROWS.match(self.plain, *span)) and arrow.end() < span[1]:
            span = self.trim(arrow.end(), span[1])
        if span and (tail := _TAIL.search(self.plain, *span)) and tail.start() > span[0]:
            span = self.trim(span[0], tail.start())
        if span:
            around = self.plain[max(0, span[0] - 1) : span[0]] + self.plain[span[1] : span[1] + 1]
            span = self.trim(*self._unaddressed(*span, bare=not text))
            if span and around != '""' and _EITHER.fullmatch(self.plain, *span):
                return None
        if not span or _UNDECIDED.match(self.plain, *span):
            return None
        if _ELSEWHERE.fullmatch(self.plain, *span) or _HANDED.fullmatch(self.plain, *span):
            return None
        if self.is_choice(span):
            return None
        if _NO_VALUE.match(self.plain, *span) and not (
            self._is_settled(span) or self._is_person(span)  # somebody is called Will
        ):
            return None
        if self.is_link_or_percent(span):
            return None
        if links := self.shown.within(*span, "link"):  # approved https://...
            span = self.trim(span[0], links[0].start)
            if span and (left := _POINTER.search(self.plain, *span)):  # live at https://...
                span = self.trim(span[0], left.start())
            if not span:
                return None
        settled = self.settled.word.match(self.plain, *span)
        if settled:
            rest = (settled.end(), span[1])
            if _ALTERNATIVES.match(self.plain, *rest):
                return None
            if fact and _SOON.match(self.plain, *rest):
                return None
            besides = _BESIDES.match(self.plain, *rest) or _BESIDES_LATER.search(self.plain, *rest)
            if besides and not text:
                span = self.trim(span[0], self._undangled(settled.end(), besides.start())) or span
            if settled.end() >= span[1]:
                span = settled.span("word")
            elif not self.settled.goes_on.match(self.plain, *rest):
                settled = None
        if exact and not (settled and span == settled.span("word")):
            return None
        if not free and not settled:
            if now := _NOW_LAST.search(self.plain, *span):
                span = (span[0], self._undangled(span[0], now.start()))
            elif not self._settles(span, ref, named):
                if not (first := _MEASURE_FIRST.match(self.plain, *span)):
                    return None
                span = (span[0], first.end("value"))
                if on := _ON_DATE.match(self.plain, *span):
                    span = (on.end(), span[1])
            elif on := _ON_DATE.match(self.plain, *span):
                span = (on.end(), span[1])
        if span[1] - span[0] > limit:
            comma = self.plain.rfind(",", span[0], span[0] + limit)
            span = self.trim(span[0], comma) if comma > 0 else None
        if not span or not any(c.isalnum() for c in self.text[span[0] : span[1]]):
            return None
        if _PAPERS.fullmatch(self.plain, *span):
            return None
        return None if self._is_wrapped(span[1]) else span

    def is_choice(self, span: tuple[int, int]) -> bool:
        """Whether it is a ballot: `approved/rejected`, `yes | no`, `option A / option B`."""
        plain = self.plain
        if "|" in plain[slice(*span)]:
            return True
        if choices := _CHOICES.match(plain, *span):
            parts = [part.strip(" .!") for part in choices.group().split("/")]
            markable = [len(p) == 1 or p in words.CHOICE or p in self.settled.every for p in parts]
            if markable[0] and markable[1]:
                return True
            if choices.end() == span[1] and " / " in choices.group():
                return True
        first = self.settled.word.match(plain, *span)
        following = self.settled.next.match(plain, first.end(), span[1]) if first else None
        if not first or not following:
            return False
        pair = {first["word"], following["word"]}
        return len(pair) == 2 and len(pair & words.AGAINST) == 1

    def is_contradicted(self, start: int, end: int) -> bool:
        """`approved, then rejected`: a word for and a word against, and no order between them."""
        first = self.settled.word.match(self.plain, start, end)
        if not first:
            return False
        against = first["word"] in words.AGAINST
        for at in _WORD_START.finditer(self.plain, first.end(), end):
            other = self.settled.word.match(self.plain, at.start(), end)
            if (
                other
                and (other["word"] in words.AGAINST) is not against
                and not _BEFORE_NOW.search(
                    self.plain, max(first.end(), at.start() - 24), at.start()
                )
            ):
                return True
        return False

    def settles_late(self, start: int, end: int) -> bool:
        """Whether a word that settles stands in it, but behind another."""
        return not self._is_settled((start, end)) and self.settles_somewhere(start, end)

    def settles_somewhere(self, start: int, end: int) -> bool:
        """Whether a word that settles stands anywhere in `[start, end)`."""
        return any(
            self.settled.word.match(self.plain, at.start(), end)
            for at in _WORD_START.finditer(self.plain, start, end)
        )

    def _undangled(self, start: int, end: int) -> int:
        left = _DANGLING.search(self.plain, max(start, end - 24), end)
        return left.start() if left else end

    def _is_settled(self, span: tuple[int, int]) -> bool:
        return bool(self.settled.word.match(self.plain, *span))

    def _is_person(self, span: tuple[int, int]) -> bool:
        return same(self.plain[span[0] : span[1]]) in self.scene.people.plain

    def _settles(self, span: tuple[int, int], ref: Ref | None, named: bool) -> bool:
        """A date, a number, a name, or a value this entity was given before."""
        text = self.text[span[0] : span[1]]
        plain = fold(text)  # what stands in backticks as well
        if self.settled.word.fullmatch(plain):
            return True
        if ref and plain in self.scene.values.get(ref.entity, ()):
            return True
        if _DATE.fullmatch(plain) or _NUMBER.fullmatch(plain):
            return True
        if any(
            m.data and m.start == span[0] and m.end == span[1]
            for m in self.shown.within(*span, "person")
        ):
            return True
        if self._is_person(span):
            return True
        shouted = not any(c.islower() for c in self.text[max(0, span[0] - 8) : span[0]])
        first = re.split(r"[^\w]", plain, maxsplit=1)[0]
        return named and not shouted and bool(_NAME.fullmatch(text)) and first not in words.NO_NAME

    def displayed(self, start: int, end: int) -> str:
        return " ".join(self.text[start:end].split())
