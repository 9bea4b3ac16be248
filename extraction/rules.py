"""Statements without a model: the forms people are told to write, and nothing that needs a guess.

It refuses to know rooms, rights and who may decide: an app's message reads like anybody's, and the
caller drops what does not count. Precision before recall; the specification is the table "The
deterministic extractor" of the contracts.

    message -> displayed text (markup.py) -> lines -> sentences -> references -> form -> statement
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import pairwise

from extraction import Known, Passage, Statement, Window, words
from extraction.markup import EMOJI, PERSON, fold, read, same
from extraction.references import (
    People,
    Ref,
    Scene,
    entity_id,
    mentions_alias,
    references,
    scene_of,
)
from extraction.sentences import EDIT, MEANT, Sentence, sentences
from extraction.values import OPEN, OPEN_TEXT, TEXT_LIMIT, VALUE_LIMIT, Settled, Values
from extraction.words import SETTLED, STOP

__all__ = ["SETTLED", "STOP", "Rules", "entity_id"]

QUOTE_LIMIT = 200
NAME_LIMIT = 80
STATEMENT_LIMIT = 100  # of one message; more is a paste

# Cheap questions before anything is read properly: could this message say anything at all?
_MAYBE = re.compile(
    r"(?<![0-9])[-_‐‑‒–−][\u200b-\u200f\u2060-\u2069*_~]{0,4}[0-9]"
    r"|decid|decis|agreed|resol|beschl|entscheidung|décision|決定|결정|قرار",
    re.IGNORECASE,
)
_MAYBE_NEXT = re.compile(r"update|plans?\b|\bnow\b|\bbeen\b|\bgot\b", re.IGNORECASE)


class Frame(Enum):
    """What the words before the reference make of the statement."""

    SAY = auto()
    DECIDE = auto()  # after "we decided" or "decision:"
    MENTION = auto()  # I think, somebody told me
    REPORT = auto()  # I told somebody
    MOVE = auto()  # we moved KEY to


class Form(Enum):
    """What stands between the reference and its value."""

    GIVEN = auto()  # : = ->, or changed from x to: any value
    IS = auto()  # only a value that settles
    WAS = auto()  # the same, and only a mention


@dataclass(frozen=True, slots=True)
class Lead:
    frame: Frame
    about: tuple[str, ...] = ()


@dataclass(slots=True)
class Draft:
    """A statement with its places in the displayed text; `core` is from reference to value."""

    entity: str
    name: str
    value: str
    frame: Frame
    decides: bool
    core: tuple[int, int]
    sentence: Sentence
    about: tuple[str, ...] = ()
    by_text: bool = False
    given: bool = False  # any value would have done


# --- patterns -----------------------------------------------------------------------------------

_BULLET = r"[-*•‣▪●◦–—·]\s|[0-9]{1,2}[.)]\s|[a-z][.)]\s|\[x\]\s?"
_LEAD_SKIP = re.compile(
    rf"\s+|{_BULLET}|[{EMOJI}]+|\(?(?:cc|to)?\s?[{PERSON}\ue003]+[\s,:)]*|[,!:.…~—–-]+\s?"
)
_LEAD_OPENER = re.compile(rf"{words.OPENER}(?![\w'-])")
_LEAD_THINK = re.compile(rf"{words.THINK}(?:\s+(?:that|que|dass))?(?![\w'])")
_PEOPLE = rf"@?[{PERSON}]+(?:\s?(?:,|and|&|und|y|et)\s?[{PERSON}]+)*"
_LEAD_REPORT = re.compile(
    rf"(?:(?:(?:i|we)(?:'ve|\s+have)?\s+)?(?:(?:just|already|also|finally)\s+)*(?:told|informed|notified|reminded)\s+(?P<a>{_PEOPLE})"
    rf"|(?:i|we)(?:'ve|\s+have)?\s+(?:(?:just|already|also|finally)\s+)*let\s+(?P<b>{_PEOPLE})\s+know)"
    rf"(?:\s+{words.TIME})?(?:\s*[:,])?(?:\s+that)?(?!\w)"
)
_LEAD_TOLD_ME = re.compile(
    rf"(?!(?:nobody|no|none|who|you|never|hardly|\w+\s+(?:never|hardly|not|\w+n't))\b)(?:(?:(?:i|we)\s+)?(?:just\s+)?heard\s+from\s+[{PERSON}]+|(?:i|we)\s+(?:was|were|got)\s+(?:just\s+)?told|(?:[{PERSON}]+|(?:the\s+)?[\w.'-]{{1,30}}(?:\s+[\w.'-]{{1,30}})?)\s+(?:(?:just|already|also)\s+)?(?:told|informed|tells)\s+(?:me|us))"
    rf"(?:\s+{words.TIME})?(?:\s*:)?(?:\s+that)?(?!\w)"
)
_LEAD_MOVE = re.compile(
    rf"(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+|now\s+|also\s+)?(?:{words.MOVED})(?!\w)(?:\s+the(?!\w))?"
)
# "After the call, KEY is approved": a circumstance, closed by a comma.
_SETTING = re.compile(
    r"(?:after|following|based\s+on|as\s+(?:discussed|agreed|planned)|thanks\s+to|given|during|since|today|yesterday|this\s+(?:morning|week)"
    r"|(?:in|at)\s+(?:the|today's|yesterday's|our)\s+(?:meeting|call|stand-?up|sync|review|retro|planning|board))\b[^,]{0,80},\s"
)
_NOT_LEAD = re.compile(words.NOT_OURS)

_BETWEEN = r"\s?(?:,|;|&|/|(?:,\s?)?(?<!\w)(?:and|but|und|aber|y|pero|et|mais)(?!\w))\s?"
_JOINED = re.compile(rf"{_BETWEEN}(?:(?:and|but|also|that|the|now|then|so)\s+){{0,2}}")

_ASIDE = r"(?:\s\([^()\n]{1,60}\))?"
_GIVEN = re.compile(
    rf"{_ASIDE}\]?\s?(?:(?<![:=<>!~-])(?::=?|=>|={{1}}|-{{1,2}}>|[→⇒⟶➡➜➔]\ufe0f?)(?![=:~)(/\\]))\s*"
)
_ARROW = re.compile(r"[=-]>|[→⇒⟶➡➜➔]")
_MOVED = re.compile(
    rf"{_ASIDE}(?:\s(?:has|have|had|was|were|is|are|got|been|just|now|finally|officially)|'s){{0,4}}\s(?P<verb>{words.MOVED})"
    r"(?:\s(?:back|over))?(?:\sfrom\s(?P<old>.{1,80}?))?\s(?:to|into)\s"
)
_MOVES_TO_ANYTHING = ("moved", "switched", "changed")
_TO_DO = re.compile(rf"(?:{words.TO_DO})\b")
_FROM_TO = re.compile(r"(?:\s(?:back|over))?(?:\sfrom\s(?P<old>.{1,80}?))?\sto\s")
_IS = re.compile(
    rf"{_ASIDE}(?:(?P<past>{words.PAST})|(?:{words.COPULA}))"
    rf"(?!{words.NOT_COPULA})(?P<adverbs>(?:\s+(?:{words.ADVERB}|{words.NOW}|{words.STILL})(?!\w))*)\s?:?\s?"
)
_NOW = re.compile(rf"(?<!\w)(?:{words.NOW})(?!\w)")
_STILL = re.compile(rf"(?<!\w)(?:{words.STILL})(?!\w)")

_LABEL = re.compile(
    rf"(?:{words.LABEL})\s?(?:\([^()\n]{{0,40}}\)\s?)?(?::(?!\S*[/\\])|\s[–—]\s|\s->\s)\s*"
)
_SHOUTED = re.compile(rf"(?:{words.SHOUTED_LABEL})\s?:\s*(?=\S+\s\S+\s\S)")
_HASH = re.compile(words.HASH_LABEL)
_WE_DECIDED = re.compile(
    rf"{words.WE_DECIDED}(?:\s(?:{words.TIME}|{words.HOW})(?=\s(?:that|to)\b))?(?:\swith\s[^,.]{{1,40}}?(?=\sthat\b))?(?:\s?:|\sthat\b)?\s*"
)
_SPEAKER = re.compile(
    r"[\s*]*(?:[\[(]?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?[\])]?\s)?(\w[\w.'-]{0,30}(?:\s\w[\w.'-]{0,30}){0,2})[\s*]*:\s"
)
_BESIDE = re.compile(r"(?:[\s:\"'(\[]|on|for|about|re|regarding|that|the)*")
_TO_BE = re.compile(r"[\s)\],]*(?:to\s+be\s+|to\s+)?")
_VERB_KEY = re.compile(rf"(?:to\s+)?({'|'.join(words.VERBS)})\s+(?:the\s+)?")
_MOVE_KEY = re.compile(rf"(?:to\s+)?(?:{words.MOVES})\s+(?:the\s+)?")
_AGAINST = re.compile(r"not\b|never\b|against\b|nicht\b|kein")
_FOR_KEY = re.compile(r"\s?(?:[(\[]|,?\s(?:for|on|in|re|about|regarding)\s(?:the\s)?)$")
_CONCERNING = re.compile(
    rf"(?:\s|{_BULLET}|[{EMOJI}{PERSON}])*(?:for|on|re|regarding|about|concerning|as\s+for)?:?\s?(?:the\s)?[(\[]?$"
)
_NEXT = re.compile(
    rf"(?:\s|{_BULLET}|[{EMOJI}{PERSON}])*(?:\[|\()?(?:update|updated|change\s+of\s+plans?|plan\s+change|new\s+plan)\s?[0-9]{{0,2}}(?::|\s[–—-]\s)\s*"
)

# "This is now closed", said in a thread about one thing.
_THIS = re.compile(
    rf"(?:\s|[{EMOJI}{PERSON}]|(?:{words.OPENER})(?![\w'-]),?\s)*(?:this|it|this\s(?:one|issue|ticket|bug))(?!\w)(?=\s|'s)"
)

_TAKEN_BACK = re.compile(rf"[\s(,;—–-]*(?:{words.TAKEN_BACK})")
_IT = re.compile(
    rf"(?:(?:it|that|this)(?:'s(?:\s+been)?|\s+(?:is|has\s+been|had\s+been|was)|\s+got)|now|es\s+ist|está|c'est)(?:\s+(?:{words.ADVERB}|{words.NOW}))*\s+"
)

_TAG = re.compile(rf"(?:{words.TAG})[?!？]+$")
_HEDGE = re.compile(rf"(?:(?<=\S){words.HEDGE})$")
_SARCASM = re.compile(words.SARCASM)
_PAUSE = rf"(?:[,;(\[—–]\s*|\s-{{1,3}}\s*|(?<!\.)\.{{2,9}}\s*|…\s*|[{EMOJI}]\s*|[:;]-?[)p]\s*)"
_JOKE = re.compile(rf"(?:{_PAUSE}{words.JOKE}|(?:{_PAUSE}|\s){words.UNDONE})[\s.!)\]{EMOJI}]*$")
_SHOUTED_NOT = re.compile(r"[a-z]\W*\sNOT[\s.!)]*$")
_UNDONE = re.compile(words.UNDONE)
_UNDONE_AFTER = re.compile(words.UNDONE_AFTER.format(undone=words.UNDONE, joke=words.JOKE))
_OH_GREAT = re.compile(words.OH_GREAT)
_ROLLING_EYES = re.compile(words.ROLLING_EYES)
_UNRIPE = re.compile(
    rf"[(\[]\s?{words.UNRIPE}[)\]]|(?:\s[–—-]{{1,3}}|,)\s{words.UNRIPE}(?=[\s.!]*$)"
)
_IN_PART = re.compile(words.IN_PART)
_OPINION = re.compile(words.OPINION)
_NOT_SO = re.compile(words.NOT_SO)
_DENIES = re.compile(words.DENIES)
_ABOUT_MESSAGE = re.compile(words.ABOUT_MESSAGE)

# Ballots: what may be ticked, several of them in a line, one in each line, and the call to vote.
_UNTICKED = re.compile(r"[☐□▢◻⬜]|\[\s?\]|\(\s\)")
_CHOICE_BEFORE = re.compile(
    r"(?:(?:^|[\s(])[a-z0-9]{1,2}[.)]|[0-9]\ufe0f?\u20e3|(?<!\w)(?:or|vs\.?|oder|ou)|[/|])[\s(]*$"
)
_LISTED = re.compile(rf"\s*(?:{_BULLET}|[0-9]\ufe0f?\u20e3|[{EMOJI}])")
_CALL_TO_VOTE = re.compile(
    r"(?:^|[\n.!?—–-])[^\w\n]{0,6}(?:(?:please|pls|so|ok|everyone|all|now|let's|and)[\s,:]{1,3}){0,3}(?:(?:vote|poll|react|pick|choose)(?!\w)|which\s+(?:one|of)|cast\s)"
)

_NOBODY = People({})


class Rules:
    """The deterministic extractor.

    `stop`: what looks like a key and is none (an entry with digits stops exactly that, a bare word
    any number). `settled`: the words that settle a decision after "is", by language.
    """

    windowed = False

    def __init__(
        self,
        stop: Collection[str] = STOP,
        settled: Mapping[str, Collection[str]] = SETTLED,
    ) -> None:
        self.stop = frozenset(fold(word).strip() for word in stop)
        self.settled = Settled(settled)
        # What was worked out for the last window; most windows share it.
        self._entities: tuple[Known, ...] = ()
        self._people = _NOBODY
        self._known = Scene(_NOBODY)

    def extract(self, window: Window) -> list[Statement]:
        """The statements of the window's passages, in the order they were made."""
        if self._entities != window.entities:  # the same objects compare at once
            self._entities = window.entities
            self._known = scene_of(window.entities, _NOBODY)
        threads = dict(window.threads)
        scene: Scene | None = None
        found: list[Statement] = []
        for passage in window.passages:
            if passage.context:
                continue
            thread = threads.get(passage.thread or "") if passage.thread != passage.id else None
            if not self._could_state(passage.text, thread, scene or self._known):
                continue
            scene = scene or self._scene(window)
            statements = _Message(self, passage, scene, thread).statements()
            found += statements
            for s in statements:
                scene.known.setdefault(s.entity.lower(), Known(id=s.entity, name=s.name))
                scene.values[s.entity] = scene.values.get(s.entity, frozenset()) | {fold(s.value)}
            if passage.thread in (None, passage.id) and statements:
                if len(statements) == 1 and statements[0].kind == "say":
                    threads[passage.id] = statements[0].entity
                else:
                    threads.pop(passage.id, None)
        return found

    def _scene(self, window: Window) -> Scene:
        if self._people.names != window.people:
            self._people = People(window.people)
        known = self._known
        return replace(
            known, people=self._people, known=dict(known.known), values=dict(known.values)
        )

    def _could_state(self, text: str, thread: str | None, scene: Scene) -> bool:
        """The cheap question most messages end at."""
        return bool(
            _MAYBE.search(text)
            or (thread and _MAYBE_NEXT.search(text))
            or ("`" in text and (scene.known or "changed from" in text.lower()))
            or (scene.aliases and mentions_alias(text, scene.aliases))
        )


class _Message:
    """One message being read: its text, and the drafts so far."""

    def __init__(self, rules: Rules, passage: Passage, scene: Scene, thread: str | None) -> None:
        self.rules = rules
        self.passage = passage
        self.scene = scene
        self.thread = thread
        shown = read(passage.text, scene.people.names)
        if "@" in shown.plain:  # names written out; an unknown one is nobody
            shown = shown.naming(scene.people.forms, scene.people.longest)
        self.shown = shown
        self.text = self.shown.text
        self.plain = self.shown.plain
        self.drafts: list[Draft] = []
        self.refs: dict[str, Ref] = {}  # every entity named so far, where it was named first
        self.aliases = [alias for alias in scene.aliases if alias in self.plain]
        self.values = Values(self.shown, scene, rules.settled)

    def statements(self) -> list[Statement]:
        for sentence in sentences(self.plain):
            if len(self.drafts) >= STATEMENT_LIMIT:
                break
            self._read(sentence)
        found: list[Statement] = []
        for draft in self._without_ballots():
            found += self._state(draft, len(found))
        return found

    def _without_ballots(self) -> list[Draft]:
        """Without list items that offer a choice: two values of one thing, or a call to vote."""
        listed = [d for d in self.drafts if not d.sentence.cue and self._is_listed(d)]
        if len(listed) < 2:
            return self.drafts
        offered: dict[str, set[str]] = {}
        for draft in listed:
            offered.setdefault(draft.entity, set()).add(fold(draft.value))
        votes = bool(_CALL_TO_VOTE.search(self.plain))
        out = {id(d) for d in listed if votes or len(offered[d.entity]) > 1}
        return [d for d in self.drafts if id(d) not in out]

    def _is_listed(self, draft: Draft) -> bool:
        line = self.plain.rfind("\n", 0, draft.sentence.start) + 1
        return bool(_LISTED.match(self.plain, line))

    def _state(self, draft: Draft, number: int) -> list[Statement]:
        sentence = draft.sentence
        quote = self.shown.quote(sentence.start, sentence.end, draft.core, QUOTE_LIMIT)
        written = quote + draft.value + draft.name
        if (
            not quote
            or not draft.value
            or any(c == "\0" or "\ud800" <= c <= "\udfff" for c in written)
        ):
            return []
        addressees = dict.fromkeys(
            m.data
            for m in self.shown.within(sentence.start, sentence.end, "person")
            if m.data and self._takes_part(m.data)
        )
        report = draft.frame is Frame.REPORT
        return [
            Statement(
                kind="report" if report else "say",
                message=self.passage.id,
                speaker=self.passage.author,
                entity=draft.entity,
                name=draft.name,
                value=draft.value,
                decides=draft.decides and not report,
                quote=quote,
                number=number + i,
                about=about,
                addressees=tuple(addressees),
            )
            for i, about in enumerate(draft.about if report else (None,))
        ]

    def _takes_part(self, who: str) -> bool:
        """The bot is mentioned and is no person; without a list of people everybody is."""
        people = self.scene.people.names
        return not people or who in people

    # --- one sentence ---------------------------------------------------------------------------

    def _read(self, sentence: Sentence) -> None:
        if sentence.cue == "edit" and self.thread and not (self.refs or self.drafts):
            sentence = sentence._replace(cue="")  # "update:" in a decision's thread
        plain, end = self.plain, sentence.end
        body = sentence.start
        if back := _TAKEN_BACK.match(plain, body, end):
            said_before = plain[:body].rstrip()
            if sentence.opens or said_before.endswith(tuple(".!?…。！？")):
                self.drafts.clear()
            else:  # "blue, scratch that" speaks of its own line
                self.drafts = [d for d in self.drafts if d.sentence.line != sentence.line]
            body = back.end()
        elif sentence.cue:
            if cue := EDIT.match(plain, body, end) or MEANT.match(plain, body, end):
                body = cue.end()
            if plain[sentence.start : body].lstrip(" *,;-–—")[:1] in ("(", "["):
                end = body + len(plain[body:end].rstrip(" .!)]"))
        refs = references(self.shown, body, end, self.scene, self.aliases, self.rules.stop)
        tail = plain[max(body, end - 40) : end]
        written = self.text[sentence.start : sentence.end]
        if (refs and _OH_GREAT.match(plain, body, end)) or _UNTICKED.search(written):
            self._name(refs)
            return
        if not (refs or sentence.opens or sentence.cue) and (
            _UNDONE_AFTER.match(plain, body, end) or _ROLLING_EYES.search(written)
        ):
            self.drafts = [d for d in self.drafts if d.sentence.line != sentence.line]
            return
        if not sentence.cue and (
            _JOKE.search(tail)
            or _UNRIPE.search(plain, body, end)
            or _SHOUTED_NOT.search(self.text[max(body, end - 40) : end])
            or _ROLLING_EYES.search(written)
            or (refs and _UNDONE.search(plain, body, end))
        ):
            self._name(refs)
            return
        if _SARCASM.search(tail):
            if not refs:  # a line of its own speaks of the whole message
                line = sentence.line
                self.drafts = [
                    d for d in self.drafts if not sentence.opens and d.sentence.line != line
                ]
            return
        hedged = False
        if sentence.asks:
            tag = _TAG.search(tail)
            if not tag:
                self._name(refs)
                return
            end, hedged = end - len(tail) + tag.start(), True
        elif hedge := _HEDGE.search(plain[max(body, end - 60) : end].rstrip(".! ")):
            end, hedged = max(body, end - 60) + hedge.start(), True
        found = self._by_text(sentence, body, end, refs, hedged)
        if found is None and not sentence.cue and self.thread and not self._leads(body, refs):
            found = self._next(sentence, body, end, hedged)
            if found is None and not (refs or self.drafts or self.refs):
                found = self._this(sentence, body, end, hedged)
        if found is None:
            found = self._by_reference(sentence, body, end, refs, hedged)
        if sentence.cue:
            self._correct(sentence, body, end, refs, found)
        else:
            self.drafts += found
        self._name(refs)

    def _name(self, refs: Sequence[Ref]) -> None:
        for ref in refs:
            if ref.known:
                self.refs.setdefault(ref.entity, ref)

    def _lead(self, start: int, end: int) -> Lead | None:
        """What stands before the reference, if all of it is known to change nothing."""
        plain, at, lead = self.plain, start, Lead(Frame.SAY)
        if setting := _SETTING.match(plain, at, end):
            if _NOT_LEAD.search(plain, at + 5, setting.end()):
                return None
            at = setting.end()
        while at < end:
            if skip := _LEAD_SKIP.match(plain, at, end):
                if told := _LEAD_TOLD_ME.match(plain, at, end):
                    lead, at = Lead(Frame.MENTION), told.end()
                elif self._somebody_else_told(at, skip.end(), end):
                    return None
                else:
                    at = skip.end()
            elif report := _LEAD_REPORT.match(plain, at, end):
                first, last = report.span("a" if report["a"] else "b")
                people = self.shown.within(first, last, "person")
                if not people or not all(m.data for m in people):
                    return None
                lead, at = (
                    Lead(Frame.REPORT, tuple(dict.fromkeys(m.data for m in people))),
                    report.end(),
                )
            elif moved := _LEAD_MOVE.match(plain, at, end):
                lead, at = Lead(Frame.MOVE), moved.end()
            elif told := _LEAD_TOLD_ME.match(plain, at, end):
                lead, at = Lead(Frame.MENTION), told.end()
            elif think := _LEAD_THINK.match(plain, at, end):
                lead, at = Lead(Frame.MENTION), think.end()
            elif opener := _LEAD_OPENER.match(plain, at, end):
                at = opener.end()
            elif (plain[at] == "[" and at == end - 1) or (plain[at] in "([" and at == start):
                at += 1
            else:
                return None
        return lead

    def _somebody_else_told(self, start: int, at: int, end: int) -> bool:
        """`<@U1> told <@U2> ...`: not the author's report; a leading mention of the bot is no one."""
        people = self.shown.within(start, at, "person")
        return bool(
            people
            and not self.plain[people[-1].end : at].strip()  # "@ben, told @maya" speaks to Ben
            and (report := _LEAD_REPORT.match(self.plain, at, end))
            and not report.group().startswith(("i ", "i'", "we ", "we'"))
            and self._takes_part(people[-1].data)
        )

    def _leads(self, body: int, refs: Sequence[Ref]) -> bool:
        """Whether a reference of its own comes right after `update:`."""
        following = _NEXT.match(self.plain, body)
        return bool(following and refs and refs[0].start - following.end() <= 4)

    def _by_reference(
        self,
        sentence: Sentence,
        start: int,
        end: int,
        refs: Sequence[Ref],
        hedged: bool,
        lead: Lead | None = None,
    ) -> list[Draft]:
        """Rows of the table that begin with a reference."""
        refs = [r for r in refs if r.end <= end]
        if not refs or self.values.leaves_open(start, end, OPEN):
            return []
        for one, other in pairwise(refs):
            near = self.plain[max(one.end, other.start - 8) : other.start].rstrip()
            again = one.entity == other.entity
            if (again and near.endswith(EMOJI)) or (
                _CHOICE_BEFORE.search(near) and (again or near.strip() not in ("/", "|"))
            ):
                return []  # A) KEY: x B) KEY: y
        first = refs[0]
        lead = lead or self._lead(start, first.start)
        starts = self._starts(refs, end, lead)
        drafts: list[Draft] = []
        together: list[Ref] = []
        for i, ref in enumerate(refs):
            if i and not starts[i]:
                continue
            following = next((j for j in range(i + 1, len(refs)) if starts[j]), len(refs))
            until = refs[following].start if following < len(refs) else end
            if following < len(refs):
                until = self._unjoin(ref.end, until)
                if until <= ref.end:  # KEY and KEY are ...
                    together.append(ref)
                    continue
            if lead is None and ref is not first and not starts[0]:
                lead = None if _NOT_LEAD.search(self.plain, start, ref.start) else Lead(Frame.SAY)
            if lead is not None:
                for one in (*together, ref):
                    if draft := self._form(
                        sentence, one, ref.end, until, lead, hedged, bool(together)
                    ):
                        drafts.append(draft)
            together = []
        return drafts

    def _starts(self, refs: Sequence[Ref], end: int, lead: Lead | None) -> list[bool]:
        """Which references begin a statement of their own: after *and*, *but* or a comma."""
        starts = [False] * len(refs)
        for i in range(len(refs) - 1, -1, -1):
            until = refs[i + 1].start if i + 1 < len(refs) else end
            speaks = bool(self._match_form(refs[i].end, until, lead))
            linked = (
                i + 1 < len(refs)
                and starts[i + 1]
                and bool(_JOINED.fullmatch(self.plain, refs[i].end, refs[i + 1].start))
            )
            joined = i == 0 or self._unjoin(refs[i - 1].end, refs[i].start) < refs[i].start
            starts[i] = joined and (speaks or linked)
        return starts

    def _unjoin(self, start: int, end: int) -> int:
        """Where the joining words before `end` begin; `end` itself if there are none."""
        near = max(start, end - 24)
        for joint in _JOINED.finditer(self.plain, near, end):
            if joint.end() == end:
                return joint.start()
        return end

    def _match_form(
        self, at: int, end: int, lead: Lead | None
    ) -> tuple[Form, re.Match[str]] | None:
        plain = self.plain
        if given := _GIVEN.match(plain, at, end):
            return Form.GIVEN, given
        if moved := _MOVED.match(plain, at, end):
            return Form.GIVEN, moved
        if lead and lead.frame is Frame.MOVE:
            move = _FROM_TO.match(plain, at, end)
            return (Form.GIVEN, move) if move else None
        if is_ := _IS.match(plain, at, end):
            return (Form.WAS if is_["past"] else Form.IS), is_
        return None

    def _form(
        self,
        sentence: Sentence,
        ref: Ref,
        at: int,
        end: int,
        lead: Lead,
        hedged: bool,
        several: bool,
    ) -> Draft | None:
        """The statement about `ref`, whose predicate stands in `[at, end)`."""
        matched = self._match_form(at, end, lead)
        if not matched:
            return None
        form, match = matched
        changed = "old" in match.re.groupindex and match["old"] is not None
        if ref.code and not ref.known and lead.frame is not Frame.DECIDE and not changed:
            return None
        if (
            several
            and match.re is _IS
            and not re.search(r"\b(?:are|have|were|sind|están|sont)\b", match.group())
        ):
            return None
        frame = Frame.DECIDE if lead.frame is Frame.MOVE else lead.frame
        free = form is Form.GIVEN or frame is Frame.DECIDE
        if match.re in (_FROM_TO, _MOVED):  # "changed to reflect the review" is no value
            anything = match.groupdict().get("verb") in _MOVES_TO_ANYTHING
            free = changed or (anything and not _TO_DO.match(self.plain, match.end(), end))
        still = False
        if match.re is _IS:
            free = free or bool(_NOW.search(match.group()))
            still = bool(_STILL.search(match["adverbs"]))
        exact = match.group().startswith("'s")
        present = form is Form.IS and not re.search(r"been|got", match.group())
        value = self.values.value(
            match.end(), end, ref, free=free, exact=exact, limit=VALUE_LIMIT, fact=present
        )
        if not value or _IN_PART.search(self.plain, value[1], end):
            return None
        if self.values.is_contradicted(value[0], end):
            return None
        if match.re is _IS and _OPINION.fullmatch(self.plain, *value):
            return None
        if match.re is _GIVEN and frame is Frame.SAY:
            by = match.group()
            if _ARROW.search(by) and self._leads_on(match.end(), value):
                return None
            if self.values.is_title(value, ref) if ":" in by else self._is_code(value, ref):
                return None
        if frame in (Frame.SAY, Frame.DECIDE) and (hedged or still or form is Form.WAS):
            frame = Frame.MENTION
        return Draft(
            ref.entity,
            ref.name,
            self.values.displayed(*value),
            frame,
            frame in (Frame.SAY, Frame.DECIDE),
            (min(ref.start, value[0]), value[1]),
            sentence,
            lead.about,
            given=free,
        )

    def _is_code(self, value: tuple[int, int], ref: Ref) -> bool:
        """`MAX_3 = "x"`, `df_2 = df.filter(x)`: a line of a program."""
        name = self.text[ref.start : ref.end]
        return self.values.is_code(value) or ("_" in name and name.isupper())

    def _leads_on(self, at: int, value: tuple[int, int]) -> bool:
        """`a -> b -> c`, or an arrow to another entity: a way through things, and no value."""
        if _ARROW.search(self.plain, at, value[1]):
            return True
        refs = references(self.shown, *value, self.scene, self.aliases, self.rules.stop)
        return any((ref.start, ref.end) == value and ref.known for ref in refs)

    # --- decisions in words ---------------------------------------------------------------------

    def _by_text(
        self, sentence: Sentence, start: int, end: int, refs: Sequence[Ref], hedged: bool
    ) -> list[Draft] | None:
        """`decision: TEXT` and `we decided TEXT`; None if the sentence is neither."""
        label = self._label(sentence, start, end)
        trigger = label or _WE_DECIDED.search(self.plain, start, end)
        if not trigger:
            return None
        if not label and (
            self._somebody_speaks(start, trigger.start())
            or _NOT_LEAD.search(self.plain, start, trigger.start())
            or self.plain[start : trigger.start()].count('"') % 2
        ):
            return []
        at = trigger.end()
        later = [r for r in refs if r.start >= at]
        if later and _BESIDE.fullmatch(self.plain, at, later[0].start):
            ref = later[0]
            if self._match_form(ref.end, end, None):
                return self._by_reference(
                    sentence, ref.start, end, later, hedged, Lead(Frame.DECIDE)
                )
            if ref.known and not self.values.leaves_open(at, end, OPEN):
                to = _TO_BE.match(self.plain, ref.end, end)
                after = to.end() if to else ref.end
                value = self.values.value(after, end, ref, free=True, limit=VALUE_LIMIT)
                return self._decided(sentence, ref, value, hedged)
            if ref.known:
                return []
        bound = [r for r in refs if r.known]
        earlier = [r for r in bound if r.end <= trigger.start()]
        if earlier and not _CONCERNING.fullmatch(self.plain, start, earlier[0].start):
            return []
        text = self.values.decision(at, end)
        if not bound:
            if not text or hedged:
                return []
            return [self._new(sentence, text, trigger.start())]
        ref = bound[0]
        if (
            not text
            or _AGAINST.match(self.plain, *text)
            or self.values.leaves_open(start, end, OPEN_TEXT)
        ):
            return []
        if ref.start >= at:
            verb = _VERB_KEY.fullmatch(self.plain, at, ref.start)
            rest = self.plain[ref.end : end].strip(" .!)]" + EMOJI)
            to = _FROM_TO.match(self.plain, ref.end, end)
            if to and _MOVE_KEY.fullmatch(self.plain, at, ref.start):
                value = self.values.value(to.end(), end, ref, free=True, limit=VALUE_LIMIT)
                return self._decided(sentence, ref, value, hedged)
            if verb and not rest:
                return [
                    Draft(
                        ref.entity,
                        ref.name,
                        words.VERBS[verb.group(1)],
                        Frame.MENTION if hedged else Frame.SAY,
                        not hedged,
                        (trigger.start(), ref.end),
                        sentence,
                    )
                ]
            about = _FOR_KEY.search(self.plain[max(at, ref.start - 16) : ref.start])
            if about and not rest:
                text = self.values.decision(at, ref.start - len(about.group()))
        if text and text[1] - text[0] > VALUE_LIMIT:
            text = None
        return self._decided(sentence, ref, text, hedged)

    def _somebody_speaks(self, start: int, end: int) -> bool:
        """`Maya: we decided ...`: a scribe writes down what Maya said."""
        named = _SPEAKER.match(self.plain, start, end)
        return bool(named and same(named.group(1)) in self.scene.people.forms)

    def _label(self, sentence: Sentence, start: int, end: int) -> re.Match[str] | None:
        """`decision:` at the start of a line, after bullets, emoji and mentions."""
        if not sentence.opens and not sentence.cue:
            return None
        at = start
        while at < end and (skip := _LEAD_SKIP.match(self.plain, at, end)):
            at = skip.end()
        if shouted := _SHOUTED.match(self.plain, at, end):
            return shouted if self.text[at : at + 6].isupper() else None
        return _LABEL.match(self.plain, at, end) or _HASH.match(self.plain, at, end)

    def _decided(
        self, sentence: Sentence, ref: Ref, value: tuple[int, int] | None, hedged: bool
    ) -> list[Draft]:
        if not value:
            return []
        frame = Frame.MENTION if hedged else Frame.SAY
        core = (min(ref.start, value[0]), max(ref.end, value[1]))
        return [
            Draft(
                ref.entity,
                ref.name,
                self.values.displayed(*value),
                frame,
                not hedged,
                core,
                sentence,
            )
        ]

    def _new(self, sentence: Sentence, text: tuple[int, int], core: int) -> Draft:
        """A decision that nobody gave a key: its entity is named after the message and the line."""
        base = f"decided-{re.sub(r'[^A-Za-z0-9_-]', '-', self.passage.id) or 'x'}-{sentence.line}"
        taken = {d.entity for d in self.drafts}
        entity, nth = base, 2
        while entity in taken:
            entity, nth = f"{base}b{nth}", nth + 1
        value = self.values.displayed(*text)
        return Draft(
            entity, _shorten(value), value, Frame.SAY, True, (core, text[1]), sentence, by_text=True
        )

    def _next(self, sentence: Sentence, start: int, end: int, hedged: bool) -> list[Draft] | None:
        """`update: TEXT` in the thread of a decision: its next value."""
        update = _NEXT.match(self.plain, start, end) if sentence.opens else None
        if not update or not self.thread:
            return None
        if self.values.leaves_open(start, end, OPEN):
            return []
        known = self.scene.known.get(self.thread.lower())
        limit = TEXT_LIMIT if self.thread.startswith("decided-") else VALUE_LIMIT
        value = self.values.value(
            update.end(), end, None, free=True, limit=limit, text=limit == TEXT_LIMIT
        )
        if not value:
            return []
        name = known.name if known else self.thread
        return [
            Draft(
                self.thread,
                name,
                self.values.displayed(*value),
                Frame.MENTION if hedged else Frame.SAY,
                not hedged,
                (update.start(), value[1]),
                sentence,
            )
        ]

    def _this(self, sentence: Sentence, start: int, end: int, hedged: bool) -> list[Draft] | None:
        """`this is now closed` in the thread of one entity, before anything else is named."""
        this = _THIS.match(self.plain, start, end) if sentence.opens else None
        if not this or not self.thread or self.values.leaves_open(start, end, OPEN):
            return None
        is_ = _IS.match(self.plain, this.end(), end)
        if not is_ or is_["past"] or not (_NOW.search(is_.group()) or "been" in is_.group()):
            return None
        known = self.scene.known.get(self.thread.lower())
        ref = Ref(this.start(), this.end(), self.thread, known.name if known else self.thread)
        value = self.values.settled_value(is_.end(), end, ref)
        return self._decided(sentence, ref, value, hedged) if value else None

    # --- corrections ----------------------------------------------------------------------------

    def _correct(
        self, sentence: Sentence, body: int, end: int, refs: Sequence[Ref], found: list[Draft]
    ) -> None:
        """The later text counts: `EDIT:` restates or adds, `I meant` takes back what it follows."""
        if found:
            if found[0].by_text and (old := [d for d in self.drafts if d.by_text]):
                found = [replace(found[0], entity=old[-1].entity)]
            elif sentence.cue == "meant" and self.drafts:
                self.drafts.pop()
            same = {d.entity for d in found}
            self.drafts = [d for d in self.drafts if d.entity not in same] + found
            return
        last = self.drafts[-1] if self.drafts else None
        if (
            refs
            and sentence.cue == "meant"
            and last
            and not self.plain[refs[0].end : end].strip(" .!)]")
        ):
            ref = refs[0]
            self.drafts[-1] = replace(last, entity=ref.entity, name=ref.name, by_text=False)
            return
        if refs:
            if self._denies(body, end):
                gone = {ref.entity for ref in refs}
                self.drafts = [d for d in self.drafts if d.entity not in gone]
            return
        not_so = _NOT_SO.match(self.plain, body, end)
        at = not_so.end() if not_so else body
        it = _IT.match(self.plain, at, end)
        at = it.end() if it else at
        if last is None and not it:
            return
        subjects = {d.entity for d in self.drafts} or self.refs.keys()
        ref_of = next((r for r in self.refs.values() if r.entity in subjects), None)
        gate = Ref(at, at, last.entity if last else (ref_of.entity if ref_of else ""), "")
        value = None
        if not self.values.leaves_open(body, end, OPEN):
            meant = sentence.cue == "meant"
            edit = meant or not self.plain.startswith("upd", sentence.start)
            free = last is not None and last.given and edit and not it
            before = last.value if last else ""
            value = self.values.correction(at, end, gate, before, meant=meant, free=free)
            if value and self.values.settles_late(*value):
                value = None  # "legal rejected it"
        if value and len(subjects) == 1 and (last or ref_of):
            if last:
                draft = replace(
                    last,
                    value=self.values.displayed(*value),
                    core=(sentence.start, value[1]),
                    sentence=sentence,
                )
                self.drafts[-1:] = [draft]
            elif ref_of:
                self.drafts += self._decided(sentence, ref_of, value, False)
                self.drafts[-1].core = (at, value[1])
        elif (
            sentence.cue == "meant"
            and last
            and not re.match(r"(?:to|that|it|this)\b", self.plain[at:end])
        ):
            self.drafts.pop()  # taken back for something that cannot be read
        elif last and (
            self._denies(body, end)
            or (
                not self.plain.startswith("upd", sentence.start)
                and not _ABOUT_MESSAGE.search(self.plain[body:end])
                and self.values.settles_somewhere(body, end)
            )
        ):  # what was said does not hold, and what holds cannot be read
            line = sentence.line
            self.drafts = [d for d in self.drafts if not sentence.opens and d.sentence.line != line]

    def _denies(self, start: int, end: int) -> bool:
        return bool(
            _DENIES.search(self.plain, start, end)
            and not _ABOUT_MESSAGE.search(self.plain[start:end])
        )


def _shorten(text: str) -> str:
    if len(text) <= NAME_LIMIT:
        return text
    cut = text.rfind(" ", NAME_LIMIT // 2, NAME_LIMIT - 1)
    return text[: cut if cut > 0 else NAME_LIMIT - 1].rstrip(" ,;:-") + "…"
