"""Pages of plain text: the first line answers, numbers agree, and nothing hostile gets through."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from bot import questions, render
from bot.pages import Line, Page
from bot.render import Style
from engine.beliefs import (
    Announcement,
    Change,
    CommonGround,
    Evidence,
    Explanation,
    FalseBelief,
    Handoff,
    Holding,
    Lacking,
    LateUse,
    Mind,
    Misinformed,
    Mistaken,
    Named,
    Names,
    Naming,
    Perhaps,
    PersonStatus,
    Plan,
    Post,
    Promise,
    Recipient,
    Recorded,
    Ref,
    Shared,
    Slot,
    Slots,
    Standing,
    Status,
    Step,
    Timeline,
    WhoKnows,
    WrongAboutOthers,
)

AT = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)
HERE = Style(UTC, {"U1": "Ann", "C1": "general"})


class Cast:
    """Answers in which everything people wrote is `text`."""

    def __init__(self, text: str = "x", link: str | None = "https://x/1") -> None:
        self.text = text
        self.ref = Ref(id="R1", name=text)
        self.evidence = Evidence(
            event="e1",
            at=AT,
            room=self.ref,
            speaker=self.ref,
            grade="stated",
            link=link,
            quote=text,
        )
        self.wrong = WrongAboutOthers(
            entity=self.ref, people=(self.ref,), about=(self.ref,), thinks=text, actually=text,
            evidence=self.evidence,
        )  # fmt: skip

    def person(self, status: Status) -> PersonStatus:
        return PersonStatus(
            person=self.ref, status=status, value=self.text, grade="exposed", evidence=self.evidence
        )

    def who_knows(self, *statuses: Status, wrong: int = 0, disputed: bool = False) -> WhoKnows:
        change = Change(value=self.text, was=None, evidence=self.evidence)
        return WhoKnows(
            entity=self.ref, value=self.text, disputed=disputed, decided=self.evidence,
            rivals=(change,) * disputed, people=tuple(map(self.person, statuses)),
            wrong_about_others=(self.wrong,) * wrong, related=(self.ref,) * wrong,
            perhaps=(self.perhaps(),) * wrong,
        )  # fmt: skip

    def misinformed(self, beliefs: int, wrong: int = 0) -> Misinformed:
        found = tuple(
            FalseBelief(
                person=Ref(id=f"U{i}", name=self.text), entity=self.ref, believes=self.text,
                actual=self.text, since=AT, evidence=self.evidence, changed=self.evidence,
            )
            for i in range(beliefs)
        )  # fmt: skip
        return Misinformed(beliefs=found, wrong_about_others=(self.wrong,) * wrong)

    def announcement(self, wrong: int, *messages: int, by_hand: int = 0) -> Announcement:
        room = Post(to=Recipient(room=self.ref), text=f"{self.text} is now: {self.text}\nhttps://x", mentions=(self.ref,))  # fmt: skip
        person = Post(to=Recipient(person=self.ref), text=self.text)
        plans = tuple(
            Plan(messages=(room, *[person] * (n - 1)), wrong_after=0, interrupted=1, reached=n)
            for n in messages
        )
        return Announcement(
            entity=self.ref, value=self.text, wrong_before=wrong, plans=plans,
            by_hand=(self.ref,) * by_hand,
        )  # fmt: skip

    def handoff(self, lacks: int, wrong: int, promises: int) -> Handoff:
        ref, text, shown = self.ref, self.text, self.evidence
        return Handoff(
            from_person=ref, to_person=ref, text=text,
            lacks=(Lacking(entity=ref, value=text, evidence=shown),) * lacks,
            wrong=(Mistaken(entity=ref, value=text, holds=text, evidence=shown),) * wrong,
            promises=(Promise(to=ref, entity=ref, told=text, actual=text, evidence=shown),) * promises,
        )  # fmt: skip

    def explanation(self, steps: int) -> Explanation:
        step = Step(evidence=self.evidence, value=self.text, how="heard", since=AT, displaces=True, decisive=True)  # fmt: skip
        return Explanation(
            chain=(self.ref,), entity=self.ref, value=self.text if steps else None,
            steps=(step,) * steps,
        )  # fmt: skip

    def common_ground(self, shared: int) -> CommonGround:
        one = Shared(entity=self.ref, value=self.text, evidence=self.evidence)
        return CommonGround(people=(self.ref, self.ref), shared=(one,) * shared)

    def perhaps(self) -> Perhaps:
        return Perhaps(name=self.text, entity=self.ref, like=(self.ref,), room=self.ref, at=AT)

    def names(self, asked: int, confirmed: int) -> Names:
        one = Naming(name=self.text, entity=self.ref, room=self.ref, at=AT)
        return Names(asked=(self.perhaps(),) * asked, confirmed=(one,) * confirmed)

    def named(self, same: bool, changed: bool) -> Named:
        return Named(
            name=self.text, entity=self.ref, same=same, changed=changed, rooms=(self.ref,) * changed
        )

    def slots(self, number: int) -> Slots:
        slot = Slot(entity=self.ref, value=self.text, disputed=True, decided=self.evidence)
        return Slots(subject=self.text, slots=(slot,) * number)

    def mind(self, *statuses: Status) -> Mind:
        holds = tuple(
            Holding(entity=self.ref, value=self.text, status=status, actual=self.text, since=AT, evidence=self.evidence)
            for status in statuses
        )  # fmt: skip
        return Mind(person=self.ref, holds=holds)

    def everything(self, many: int = 3) -> list[questions.Answer]:
        every: tuple[Status, ...] = ("knows", "stale", "could_have_seen", "unaware")
        return [
            self.who_knows(*every * many, wrong=many, disputed=True),
            self.misinformed(many, many),
            self.announcement(many, *[many] * 5, by_hand=many),
            self.handoff(many, many, many),
            self.explanation(many),
            self.common_ground(many),
            self.mind(*every * many),
            Standing(workspace="w", people=2, rooms=2, messages=2, statements=2, entities=2),
            Recorded(entity=self.ref, value=self.text, evidence=self.evidence),
            self.slots(many),
            self.names(many, many),
            *(self.named(same, changed) for same in (True, False) for changed in (True, False)),
        ]

    def history(self, many: int = 3) -> Page:
        change = Change(value=self.text, was=self.text, evidence=self.evidence)
        late = LateUse(person=self.ref, entity=self.ref, value=self.text, actual=self.text, evidence=self.evidence, changed=self.evidence)  # fmt: skip
        lines = [Timeline(entity=self.ref, changes=(change,) * n) for n in (1, 2, many)]
        standing = Standing(workspace="w", people=1, rooms=1, messages=1, statements=1, entities=1)
        return render.history(standing, lines * many, [late] * many, HERE)


def head(answer: questions.Answer) -> str:
    return render.page(answer, HERE).head


def lines(page: Page) -> list[Line]:
    return [line for section in page.sections for line in section.lines]


def test_every_kind_of_answer_is_tried_here() -> None:
    kinds = {type(answer) for answer in Cast().everything()}
    assert kinds == set(get_args(questions.Answer.__value__))


# --- the first line -------------------------------------------------------------------------------


def test_the_first_line_is_the_answer() -> None:
    for answer in Cast("blue").everything():
        page = render.page(answer, HERE)
        assert render.text(page).splitlines()[0] == page.head
        assert page.head.endswith(".")
        assert 8 < len(page.head) < 200


@pytest.mark.parametrize(
    ("people", "said"),
    [
        ((), "x is “x”: 0 know."),
        (("knows",), "x is “x”: 1 knows."),
        (("knows", "knows"), "x is “x”: 2 know."),
        (("knows", "stale"), "x is “x”: 1 knows and 1 has an old value."),
        (("stale", "stale"), "x is “x”: 0 know and 2 have an old value."),
        (
            ("knows", "stale", "stale", "could_have_seen"),
            "x is “x”: 1 knows, 2 have an old value and 1 could have seen it.",
        ),
    ],
)
def test_numbers_agree_in_whoknows(people: Sequence[Status], said: str) -> None:
    assert head(Cast().who_knows(*people)) == said


def test_a_dispute_is_said_in_the_first_line() -> None:
    page = render.page(Cast().who_knows("knows", disputed=True), HERE)
    assert page.head == "x is “x”: 1 knows. It is disputed."
    assert "Also decided, by somebody who did not know" in [s.title for s in page.sections]


def test_what_is_not_decided_is_said() -> None:
    for people, said in (((), "0 people"), (("unaware",), "1 person")):
        answer = Cast().who_knows(*people).model_copy(update={"value": None, "decided": None})
        assert head(answer) == f"x: nothing is decided yet; {said} heard of it."
    nothing = Announcement(entity=Cast().ref, value=None, wrong_before=0, plans=())
    assert "nothing to announce" in head(nothing)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Cast().misinformed(0), "Nobody holds an outdated value, as far as you may read."),
        (Cast().misinformed(1), "1 person holds 1 outdated value."),
        (Cast().misinformed(2), "2 people hold 2 outdated values."),
        (Cast().misinformed(0, 1), "Nobody holds an outdated value, but somebody is wrong about others."),
        (Cast().announcement(0), "Nobody needs telling: no one holds an outdated value of x."),
        (Cast().announcement(1, 1), "1 person has an outdated value of x; 1 message leaves 0."),
        (Cast().announcement(2, 2), "2 people have an outdated value of x; 2 messages leave 0."),
        (
            Cast().announcement(1, by_hand=1),
            "1 person has an outdated value of x, and no message of yours may reach them.",
        ),
        (Cast().handoff(0, 0, 0), "Nothing to hand over: x has what x has, as far as you may read."),
        (
            Cast().handoff(1, 0, 1),
            "From x to x: 1 thing x has not heard of, 0 outdated, 1 promise to correct.",
        ),
        (
            Cast().handoff(0, 2, 2),
            "From x to x: 0 things x has not heard of, 2 outdated, 2 promises to correct.",
        ),
        (Cast().explanation(0), "x has not heard of x, as far as you may read."),
        (Cast().common_ground(0), "x and x share nothing that both know the other knows."),
        (Cast().common_ground(1), "x and x share 1 thing, and each knows that the other does."),
        (Cast().mind(), "You are not thought to know of any decision yet."),
        (Cast().mind("knows"), "You are thought to know 1 thing, 0 outdated."),
        (Cast().mind("knows", "stale"), "You are thought to know 2 things, 1 outdated."),
        (
            Standing(workspace="w", people=1, rooms=1, messages=1, statements=1, entities=1),
            "w: 1 message of 1 person in 1 room read; 1 statement about 1 decision.",
        ),
        (
            Standing(workspace="w", people=0, rooms=0, messages=0, statements=0, entities=0),
            "w: nothing has been read yet.",
        ),
        (Cast().slots(1), "There is 1 decision about x."),
        (Cast().slots(2), "There are 2 decisions about x."),
        (Cast().names(0, 0), "No name is in question and none was confirmed, as far as you may read."),
        (Cast().names(1, 0), "1 name waits for somebody to say what is meant; 0 confirmed."),
        (Cast().names(2, 1), "2 names wait for somebody to say what is meant; 1 confirmed."),
        (Cast().named(True, True), "“x” means x in #x."),
        (Cast().named(True, False), "“x” means x already."),
        (Cast().named(False, True), "“x” does not mean x in #x."),
        (Cast().named(False, False), "“x” does not mean x; there is nothing to take back."),
    ],
)  # fmt: skip
def test_numbers_agree_everywhere(answer: questions.Answer, said: str) -> None:
    assert head(answer) == said


def test_a_question_brings_what_to_type_for_yes_and_for_no() -> None:
    text = render.text(render.page(Cast().names(1, 1), HERE))
    assert "the same as x? /same x = x or /different x = x" in text
    assert "x = x, in #x on 31 Dec 2026" in text
    assert "/different x = x" in render.text(render.page(Cast().named(True, True), HERE))
    assert "R1 = R1" in render.text(render.page(Cast("a = b").names(1, 0), HERE))


def test_a_section_without_lines_is_not_shown() -> None:
    assert render.page(Cast().handoff(0, 1, 0), HERE).sections[0].title == "x has an old value of"
    for answer in Cast().everything(1):
        assert all(section.lines for section in render.page(answer, HERE).sections)


# --- long answers ---------------------------------------------------------------------------------


def test_long_lists_are_cut_and_the_rest_is_counted() -> None:
    for answer in Cast().everything(400):
        page = render.page(answer, HERE)
        assert len(lines(page)) <= 14 * len(page.sections)
        assert len(render.text(page)) < 20_000
    page = render.page(Cast().who_knows(*("stale",) * 400), HERE)
    assert page.head == "x is “x”: 0 know and 400 have an old value."
    assert "and 386 more" in render.text(page)
    assert "more" not in render.text(render.page(Cast().who_knows(*("stale",) * 14), HERE))


def test_many_people_in_one_line_are_counted() -> None:
    some = tuple(Ref(id=f"U{i}", name=f"P{i}") for i in range(8))
    wrong = Cast().wrong.model_copy(update={"people": some, "about": some[:1]})
    text = render.text(render.page(Misinformed(beliefs=(), wrong_about_others=(wrong,)), HERE))
    assert "P0, P1, P2, P3, P4, P5 and 2 more think that P0 has" in text


def test_a_long_course_of_changes_is_cut() -> None:
    assert max(len(line.text) for line in lines(Cast().history(500))) < 300


# --- hostile text ---------------------------------------------------------------------------------

HOSTILE = [
    "a\nb", "a\r\nb", "a\x85b", "a\u2028b\u2029c", "a\vb\fc", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b31m",
    "\x00", "a\x00b", "\x08\x08\x08", "\x7f", "\u202eevil", "\u2066x\u2069", "\u200fx", "\ud800", "x" * 10_000,
    "a\tb", " ", "\n", "[bold]x[/bold]", ":smile:", "[/]", "\\", "<!channel> & <b>", "{0} %s",
]  # fmt: skip
PRINTED = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]*")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:16]))
def test_nothing_hostile_breaks_a_line_or_reaches_the_terminal(text: str) -> None:
    hostile, harmless = Cast(text, link=f"https://x/{text}"), Cast("x")
    pages = [render.page(answer, Style(UTC, {"R1": text})) for answer in hostile.everything()]
    plain = [render.page(answer, HERE) for answer in harmless.everything()]
    for page, other in zip([*pages, hostile.history()], [*plain, harmless.history()], strict=True):
        shown = render.text(page)
        assert len(shown.split("\n")) == len(render.text(other).split("\n"))
        for line in shown.split("\n"):
            assert PRINTED.fullmatch(line), ascii(line[:200])
            assert len(line.split("https://")[0]) < 1_000
        for part in (
            page.head,
            *(s.title for s in page.sections),
            *(one.text for one in lines(page)),
        ):
            assert PRINTED.fullmatch(part), ascii(part[:200])


def test_what_people_write_stays_as_it_is() -> None:
    for text in (
        "Zoë",
        "N'Golo",
        "дядя Ваня",
        "日本語",
        "مرحبا",
        "👩‍👩‍👧",
        "R&D <v2>",
        "می‌خواهم",
        "[x] :smile:",
    ):
        assert text in render.text(render.page(Cast(text).who_knows("knows"), HERE))


def test_nothing_is_left_of_a_name_but_its_id() -> None:
    assert head(Cast("\x1b").who_knows("knows")).startswith("R1 is ")


# --- times, rooms, quotes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "when"),
    [
        (UTC, "31 Dec 2026 23:30"),
        (ZoneInfo("Europe/Berlin"), "1 Jan 2027 00:30"),
        (ZoneInfo("America/New_York"), "31 Dec 2026 18:30"),
        (ZoneInfo("Asia/Kathmandu"), "1 Jan 2027 05:15"),
        (timezone(timedelta(hours=14)), "1 Jan 2027 13:30"),
    ],
)
def test_times_are_in_the_readers_own_zone(zone: timezone, when: str) -> None:
    style = Style(zone, {})
    assert when in render.text(render.page(Cast().who_knows("knows"), style))
    assert when in render.text(render.page(Cast().handoff(1, 0, 0), style))
    since = render.text(render.page(Cast().misinformed(1), style))
    assert f"since {when[:-6]};" in since


@pytest.mark.parametrize(
    ("room", "place"),
    [
        ("general", "in #general on"), ("#general", "in #general on"), ("the lobby", "in the lobby on"),
        ("Ann, Bo", "between Ann and Bo on"), ("Ann, Bo, Cy", "between Ann, Bo and Cy on"),
    ],
)  # fmt: skip
def test_a_room_is_called_as_people_call_it(room: str, place: str) -> None:
    assert place in render.text(render.page(Cast(room).explanation(1), HERE))


def test_a_statement_without_a_room_or_a_speaker_is_shown() -> None:
    shown = Cast().evidence.model_copy(update={"room": None, "speaker": None, "link": None})
    answer = Cast().who_knows("knows").model_copy(update={"decided": shown})
    assert "\n  on 31 Dec 2026 23:30: “x”\n" in render.text(render.page(answer, HERE))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("told <@U1> it is done", "told @Ann it is done"),
        ("<@!U1>", "@Ann"),
        ("<@U9|bo>", "@bo"),
        ("<@U9>", "@U9"),
        ("see <#C1>", "see #general"),
        ("see <#C9>", "see #C9"),
        ("<https://a.b/c|the plan>", "the plan"),
        ("<https://a.b/c>", "https://a.b/c"),
        ("R&amp;D &lt;v2&gt;", "R&D <v2>"),
        ("&amp;lt;", "&lt;"),
        ("a < b", "a < b"),
    ],
)
def test_quotes_are_shown_as_they_are_displayed(written: str, shown: str) -> None:
    assert render.displayed(written, HERE.names) == shown
    quoted = Cast().evidence.model_copy(update={"quote": written})
    answer = Cast().who_knows("knows").model_copy(update={"decided": quoted})
    assert f": “{shown}”" in render.text(render.page(answer, HERE))


def test_links_stand_behind_their_lines() -> None:
    text = render.text(render.page(Cast(link="https://x/1").who_knows("knows"), HERE))
    assert "  x, was there, in #x on 31 Dec 2026 23:30  https://x/1" in text.splitlines()


# --- after a replay -------------------------------------------------------------------------------


def test_a_history_without_decisions_says_which_forms_to_write() -> None:
    standing = Standing(workspace="w", people=2, rooms=1, messages=9, statements=0, entities=0)
    text = render.text(render.history(standing, [], [], HERE))
    assert text.startswith("w: 9 messages of 2 people in 1 room read;")
    for form in ("OPS-17: fixed", "decision: …", "/decide", "model key"):
        assert form in text


def test_a_history_shows_what_changed_and_who_went_on_with_the_old_value() -> None:
    page = Cast("blue").history()
    assert [section.title for section in page.sections] == [
        "Changed", "Went on with the old value", "Decided once",
    ]  # fmt: skip
    assert "blue: “blue” → “blue”, blue in #blue" in render.text(page)
