"""Which decision is meant: exact names bind, likeness only proposes, and near things stay apart."""

import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extraction import Known, Passage, Statement, Window
from extraction.entities import (
    MOST,
    Bindings,
    Bound,
    Names,
    New,
    Proposed,
    Question,
    Subject,
    alike,
    bind,
    form,
    parts,
    resolve,
)
from extraction.references import entity_id

NOW = datetime(2027, 1, 4, 9, tzinfo=UTC)


def known(*names: str) -> list[Known]:
    return [Known(id=entity_id(name), name=name) for name in names]


# --- what is exact --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("decision-42", "decision-42"), ("DECISION-42", "decision-42"), ("decision 42", "decision-42"),
        ("Decision–42", "decision-42"), ("The Launch  Date", "launch date"),
        ("launch date", "the launch date"), ("“launch date”", "launch date"),
        ("launch date?", "launch date"), ("ＬＡＵＮＣＨ　ＤＡＴＥ", "launch date"),
        ("Straße", "STRASSE"), ("go‐live", "go-live"), ("PREIS", "Preis"), ("LUNCH", "lunch"),
        ("date of release-2.4", "release-2.4 date"), ("release-2.4's date", "release-2.4 date"),
        ("date for the release-2.4", "release-2.4 date"), ("Termin für OPS-17", "OPS-17 Termin"),
        ("release-2.4の日付", "release-2.4 日付"), ("release-2.4의 날짜", "release-2.4 날짜"),
        ("الميـــزانية", "الميزانية"), ("المِيزانِيَّة", "الميزانية"), ("ميزانية ٢٠٢٦", "ميزانية 2026"),
        ("会議室\u200b", "会議室"), ("ｻｰﾊﾞｰ移行", "サーバー移行"), ("회의 일정", "회의  일정"),
        ("\u1112\u116c\u110b\u1174", "회의"), ("Pru\u0308fung", "Prüfung"),
    ],
)  # fmt: skip
def test_the_same_name_binds_however_it_is_written(written: str, name: str) -> None:
    assert resolve(written, known(name, "another thing")) == Bound(entity_id(name))


def test_a_key_comes_before_an_alias_and_an_alias_before_a_name() -> None:
    things = [
        Known(id="sso", name="single sign-on", aliases=("login",)),
        Known(id="x-1", name="login"),
        Known(id="login-2", name="SSO"),
    ]
    assert resolve("SSO", things) == Bound("sso")
    assert resolve("Login", things) == Bound("sso")
    assert resolve("login", things[1:]) == Bound("x-1")
    assert resolve("login", things[1:], {"Login": "login-2"}) == Bound("login-2")


def test_a_short_name_is_found_exactly_before_anything_like_it() -> None:
    things = known("SSO", "single sign-on", "SSOs", "SSO rollout")
    assert resolve("sso", things) == Bound("sso")
    assert resolve("PR", known("PR", "PRs", "press release")) == Bound("pr")
    assert resolve("sso", known("single sign-on")) == Proposed("sso", "sso", ("single-sign-on",))


def test_a_name_that_two_have_is_asked_and_binds_to_neither() -> None:
    two = [Known(id="a-1", name="the freeze"), Known(id="a-2", name="Freeze")]
    assert resolve("freeze", two) == Proposed("freeze", "freeze", ("a-1", "a-2"))
    claimed = [Known(id=id, name=id, aliases=("the big one",)) for id in ("a-1", "a-2")]
    assert resolve("The big one", claimed) == Proposed("The big one", "big-one", ("a-1", "a-2"))
    assert Names(claimed).claims("the big one") == ("a-1", "a-2")


# --- what is alike --------------------------------------------------------------------------------

ALIKE = [
    # spaces, hyphens, separators
    ("front end freeze", "frontend freeze"), ("launchdate", "launch date"), ("go live", "golive"),
    ("release 2.4", "release-2.4"), ("decision_42", "decision-42"),
    ("release-2.4 go no go", "release-2.4 go/no-go"),
    # another order, one slip, initials
    ("date of the launch", "launch date"), ("hackathon venu", "hackathon venue"),
    ("organisation chart", "organization chart"), ("single sign-on", "SSO"),
    # German: endings, umlauts, compounds
    ("Angebots", "Angebot"), ("der neue Preis", "neuer Preis"), ("die Preise", "Preis"),
    ("Pruefung", "Prüfung"), ("Sommerfest-Termin", "Sommerfesttermin"), ("Café-Name", "Cafe-Name"),
    ("Termin des Sommerfests", "Sommerfesttermin"), ("Plan der Termine", "Terminplan"),
    # Korean: particles and spaces
    ("회의 일정은", "회의 일정"), ("회의일정", "회의 일정"), ("출시일이", "출시일"), ("출시일을", "출시일"),
    ("회의실에서", "회의실"), ("예산으로", "예산"),
    # Japanese: particles, the long vowel at the end
    ("会議の日程", "会議日程"), ("発売日は", "発売日"), ("発売日を", "発売日"), ("サーバー移行", "サーバ移行"),
    # Arabic: the article, hamza, ta marbuta
    ("الميزانية", "ميزانية"), ("ميزانيه", "ميزانية"), ("الإطلاق", "الاطلاق"), ("للميزانية", "ميزانية"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "name"), ALIKE)
def test_another_spelling_is_proposed_and_never_bound(written: str, name: str) -> None:
    assert alike(written, name)
    assert alike(name, written)
    assert resolve(written, known(name, "another thing")) == Proposed(
        written, entity_id(written), (entity_id(name),)
    )
    assert isinstance(resolve(name, known(written)), Proposed)


APART = [
    # keys
    ("decision-42", "decision-43"), ("decision-42", "decision-420"), ("decision-42", "decision-4"),
    ("OPS-17", "OPS-71"), ("OPS-17", "OPS-017"), ("OPS-17", "OPT-17"), ("PRJ-1", "PROJ-1"),
    ("decison-42", "decision-42"), ("decision-42", "decision"), ("decisions-42 date", "decision-42 date"),
    # versions, numbers, dates
    ("release 2.4", "release 2.5"), ("release-2.4", "release-24"), ("release-2.4", "release-2.4.1"),
    ("Q3 budget", "Q4 budget"), ("budget", "budget 2026"), ("v2 limit", "v3 limit"),
    ("2027-01-04 sync", "2027-01-05 sync"), ("June review", "July review"), ("Freitag", "Feiertag"),
    ("Tuesday sync", "Thursday sync"), ("Monday lunch", "Sunday lunch"), ("phase one", "phase two"),
    ("seventh sprint", "seventy sprint"), ("erste Phase", "zweite Phase"), ("100% rollout", "rollout"),
    # slots, qualifiers, a word more or less
    ("release-2.4 date", "release-2.4 go/no-go"), ("release-2.4", "release-2.4 date"),
    ("release-2.4 date", "release-2.5 date"), ("launch date", "launch"), ("launch date", "launch venue"),
    ("EU pricing", "US pricing"), ("staging deploy", "production deploy"), ("plan A", "plan B"),
    ("plan A", "plan"), ("no freeze", "freeze"), ("internal audit", "external audit"),
    ("iOS launch", "Android launch"), ("server", "serverless"), ("new page", "news page"),
    ("C version", "C++ version"), ("C# version", "C++ version"), ("launch date", "lunch date"),
    ("move from A to B", "move from B to A"), ("LA office", "office"), ("SSO", "SSD"), ("API", "APM"),
    # German compounds, Korean, Japanese, Chinese, Arabic
    ("Sommerfest", "Sommerfesttermin"), ("Preisliste", "Preis"), ("3월 회의", "4월 회의"),
    ("월요일 회의", "화요일 회의"), ("가을 행사", "가 행사"), ("회의 일정", "회의 장소"),
    ("第一回会議", "第二回会議"), ("部長会議", "課長会議"), ("発売日", "発売"), ("三月会议", "四月会议"),
    ("ميزانية التسويق", "ميزانية المبيعات"), ("المرحلة الأولى", "المرحلة الثانية"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), APART)
def test_near_things_are_not_even_proposed(a: str, b: str) -> None:
    assert not alike(a, b)
    assert resolve(a, known(b)) == New(entity_id(a))
    assert resolve(b, known(a)) == New(entity_id(b))


keys = st.builds(
    "{}{}{}".format,
    st.sampled_from(["decision", "OPS", "ops", "réf", "заявка"]),
    st.sampled_from(["-", "_"]),
    st.integers(0, 10**6),
)


@given(keys, keys)
@example("decision-42", "decision-420")
def test_two_keys_are_one_only_where_letters_and_digits_are_equal(a: str, b: str) -> None:
    found = resolve(a, known(b))
    if form(a) == form(b):
        assert found == Bound(entity_id(b))
    elif form(a).replace("_", "-") == form(b).replace("_", "-"):
        assert isinstance(found, Proposed)
    else:
        assert found == New(entity_id(a))


names = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from([
            "launch", "date", "of", "the", "for", "der", "Preis", "Preise", "2", "2.4", "release-2.4",
            "회의", "일정은", "会議の", "日程", "الميزانية", "-", "SSO", "=", "'s", "の", "x",
        ]),
        max_size=6,
    ).map(" ".join),
)  # fmt: skip


@given(st.lists(names, max_size=6), names)
@example(["\ud800"], "\ud800")
@example([""], "\u0640")
def test_any_text_is_resolved_and_only_to_what_is_known(called: list[str], name: str) -> None:
    things = [Known(id=f"e{n}", name=one) for n, one in enumerate(called)]
    match resolve(name, things):
        case Bound(entity):
            [thing] = [one for one in things if one.id == entity]
            assert form(thing.name) == form(name) or entity == entity_id(name)
        case Proposed(_, key, candidates):
            assert key == entity_id(name)
            assert 0 < len(candidates) <= MOST
            assert {*candidates} <= {one.id for one in things}
        case New(key):
            assert key == entity_id(name)
            assert form(name) not in {form(one) for one in called}
    assert form(form(name)) == form(name)


def test_a_paste_is_no_reason_to_stop() -> None:
    for text in ("x" * 40_000, "of " * 20_000, "a-1 " * 10_000, "の" * 40_000, "- " * 20_000):
        assert resolve(text, known("launch date")) == New(entity_id(text[:300]))


def test_the_likest_are_proposed_first_and_only_some() -> None:
    things = known("chart of organisation", "organization chart", "organisations chart", "organisationchart", "venue")  # fmt: skip
    found = resolve("organisation chart", things)
    assert isinstance(found, Proposed)
    assert len(found.candidates) == MOST
    assert found.candidates[0] == "organisations-chart"


# --- subjects and slots ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "subject", "slot"),
    [
        ("release-2.4", "release-2.4", ""), ("release-2.4 date", "release-2.4", "date"),
        ("date of release-2.4", "release-2.4", "date"), ("OPS-17 owner", "ops-17", "owner"),
        ("release-2.4 go/no-go", "release-2.4", "go/no-go"), ("launch date", "launch date", ""),
        ("release 2.4 date", "release 2.4", "date"), ("Release-2.4の日付", "release-2.4", "日付"),
        ("release-2.4.1 date", "release-2.4.1", "date"), ("décision: x", "décision: x", ""),
    ],
)  # fmt: skip
def test_a_name_is_a_subject_or_one_slot_of_it(name: str, subject: str, slot: str) -> None:
    assert parts(name) == Subject(subject, slot)


def test_slots_are_apart_and_found_together() -> None:
    things = known(
        "release-2.4 date", "go/no-go of release-2.4", "release-2.5 date", "release-2.4",
        "hackathon venue", "hackathon date", "launch date", "release-2.4.1 date",
    )  # fmt: skip
    called = Names(things)
    assert [called.named(one) for one in called.of_subject("Release-2.4")] == [
        "release-2.4 date", "go/no-go of release-2.4",
    ]  # fmt: skip
    assert called.resolve("release-2.4") == Bound(entity_id("release-2.4"))
    assert called.resolve("date of release-2.4") == Bound(entity_id("release-2.4 date"))
    assert called.resolve("release-2.4 owner") == New(entity_id("release-2.4 owner"))
    assert [called.named(e) for e in called.of_subject("the hackathon")] == [
        "hackathon date", "hackathon venue",
    ]  # fmt: skip
    assert called.of_subject("launch") == []  # one thing with more words is no subject
    assert called.of_subject("") == called.of_subject("release-2") == []
    assert {called.named(e) for e in called.beside(entity_id("release-2.4 date"))} == {
        "release-2.4", "go/no-go of release-2.4",
    }  # fmt: skip
    assert called.beside(entity_id("launch date")) == []


# --- statements -----------------------------------------------------------------------------------


def said(
    name: str, value: str = "x", entity: str | None = None, message: str = "C1-1"
) -> Statement:
    return Statement(
        kind="say", message=message, speaker="U1", entity=entity or entity_id(name), name=name,
        value=value, decides=True, quote=f"{name}: {value}",
    )  # fmt: skip


def window(*things: Known, threads: dict[str, str] | None = None) -> Window:
    passage = Passage(id="C1-1", author="U9", room="C1", at=NOW, text="?")
    return Window(passages=(passage,), entities=things, threads=threads or {})


def test_a_new_name_that_is_exactly_known_is_bound_under_its_known_name() -> None:
    launch = Known(id="launch-date", name="the launch date", aliases=("go-live",))
    release = known("release-2.4 date")[0]
    found = bind(
        window(launch, release),
        [said("The Launch Date"), said("Go-Live", entity="go-live"), said("date of release-2.4")],
    )
    assert [(one.entity, one.name) for one in found.statements] == [
        ("launch-date", "The Launch Date"), ("launch-date", "the launch date"),
        (release.id, "release-2.4 date"),
    ]  # fmt: skip
    assert found.questions == []


def test_what_is_only_alike_keeps_its_own_entity_and_is_asked_of_its_author() -> None:
    statement = said("회의 일정은", "다음 주 화요일")
    found = bind(window(*known("회의 일정")), [statement])
    asked = Question("C1-1", "U9", "회의 일정은", statement.entity, (entity_id("회의 일정"),))
    assert found == Bindings([statement], [asked])


def test_known_things_threads_and_decisions_by_text_are_left_alone() -> None:
    things = window(*known("launch date", "no freeze"), threads={"C1-0": "decided-C1-0-0"})
    statements = [
        said("launch date"),
        said("date of the launch", entity="decided-C1-0-0"),
        said("no freezes", entity="decided-C1-1-0"),
        said("decision-43"),
    ]
    assert bind(things, statements) == Bindings(statements, [])


def test_new_names_of_one_window_are_held_against_each_other() -> None:
    statements = [said("Sommerfest"), said("Sommerfests"), said("sommerfest"), said("Sommer-Fest")]
    found = bind(window(), statements)
    assert [one.entity for one in found.statements] == [
        "sommerfest", "sommerfests", "sommerfest", "sommer-fest",
    ]  # fmt: skip
    assert [(one.entity, one.candidates[0]) for one in found.questions] == [
        ("sommerfests", "sommerfest"), ("sommer-fest", "sommerfest"),
    ]  # fmt: skip


def test_values_and_quotes_stay_in_the_words_they_were_said_in() -> None:
    for name, value in (
        ("회의 일정은", "화요일로"), ("発売日は", "来週の金曜日"), ("Preise", "15 € pro Kopf"),
        ("الميزانية", "مُعتَمَدة ١٢٠ ألف"),
    ):  # fmt: skip
        for others in ([], known("회의 일정", "発売日", "Preis", "ميزانية"), known(name)):
            [one] = bind(window(*others), [said(name, value)]).statements
            assert (one.value, one.quote) == (value, f"{name}: {value}")


def test_a_new_key_that_an_alias_or_another_separator_claims_is_no_new_thing() -> None:
    claimed = Known(id="launch-date", name="launch date", aliases=("ops-17",))
    assert bind(window(claimed), [said("OPS-17")]).statements[0].entity == "launch-date"
    assert bind(window(*known("ops_17")), [said("OPS-17")]).questions[0].candidates == ("ops_17",)


def test_near_things_of_one_message_stay_apart() -> None:
    pairs = [pair for pair in APART if all(map(entity_id, pair))]
    for a, b in itertools.chain(pairs, ((b, a) for a, b in pairs)):
        statement = said(a)
        assert bind(window(*known(b)), [statement]) == Bindings([statement], [])
