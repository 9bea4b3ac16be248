"""The evaluation of extraction: our own cases, how statements are matched, and what the command bears."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.evals import extraction_score as score
from tests.evals.answering import KEY
from tests.evals.extraction import app, read, rules, scored
from tests.evals.extraction_cases import Case, Stated, name_of, predictions, read_cases

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases" / "extraction.jsonl"
KINDS = [
    "decision",
    "change",
    "restatement",
    "mention",
    "correction",
    "report",
    "question",
    "beside-question",
    "hypothetical",
    "sarcasm",
    "quote",
    "several",
    "pronoun",
    "unnamed",
    "acceptance",
    "negative",
    "future",
    "date",
    "code",
    "hearsay",
    "scribe",
    "bot",
    "direct",
    "hostile",
    "lang-ko",
    "lang-ja",
    "lang-de",
    "lang-ar",
    "lang-fr",
    "lang-es",
    "lang-pt",
    "lang-zh",
]

PEOPLE = [{"id": "U1", "name": "Maya"}, {"id": "U2", "name": "Ben"}]
ENTITY = {"id": "e1", "name": "launch date", "aliases": ["go-live"], "current_value": "1 May"}


def message(
    id: object = "m1", text: str = "decision-42: approved", **fields: Any
) -> dict[str, Any]:
    return {
        "id": id, "author": "U1", "room": "C1", "thread": None, "at": "2027-03-01T09:00:00Z",
        "text": text,
    } | fields  # fmt: skip


def statement(**fields: Any) -> dict[str, Any]:
    return {
        "kind": "say", "message": "m1", "speaker": "U1", "about": None, "addressees": [],
        "entity": "new:decision-42", "value": "approved", "decides": True,
        "quote": "decision-42: approved",
    } | fields  # fmt: skip


def case(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "c1", "people": PEOPLE, "entities": [ENTITY], "messages": list(messages or (message(),)),
        "want": [],
    } | fields  # fmt: skip


def written(folder: Path, *cases: object) -> Path:
    file = folder / "cases.jsonl"
    lines = (one if isinstance(one, str) else json.dumps(one) for one in cases)
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def stated(folder: Path, *cases: object) -> list[list[dict[str, Any]]]:
    """What the rules state in each of the cases."""
    read_, _ = read_cases(written(folder, *cases))
    return [[dict(one.raw) for one in found.stated] for found in read(read_, rules())]


def said(folder: Path, *messages: dict[str, Any], **fields: Any) -> list[tuple[str, str, str]]:
    (got,) = stated(folder, case(*messages, **fields))
    return [(one["message"], one["entity"], one["value"]) for one in got]


def run(*arguments: object) -> Result:
    """The command in this process, without a key."""
    return CliRunner(env={KEY: None}).invoke(app, [str(one) for one in arguments])


# --- our cases ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours() -> list[Case]:
    cases, unread = read_cases(CASES)
    assert unread == []
    return cases


def test_our_cases_are_many_and_of_every_kind(ours: list[Case]) -> None:
    kinds = Counter(str(one.id).rpartition("-")[0] for one in ours)
    assert len(ours) >= 200
    assert sum(len(one.passages) > 1 for one in ours) * 3 >= len(ours)
    assert {kind for kind in KINDS if kinds[kind] < 3} == set()
    assert len({one.id for one in ours}) == len(ours)
    assert max(map(len, CASES.read_text("utf-8").splitlines())) < 1_500
    nothing = [one for one in ours if not one.want]
    assert len(nothing) * 4 >= len(ours)


def test_what_our_cases_want_is_said_in_them(ours: list[Case]) -> None:
    for one in ours:
        texts = {passage.id: passage for passage in one.passages}
        entities = {known.id for known in one.entities}
        for want in one.want or ():
            passage = texts[want.message]
            assert want.quote in passage.text, one.id
            assert want.speaker == passage.author or want.speaker in one.people, one.id
            assert want.entity in entities or want.entity.startswith("new:"), one.id
            assert (want.kind == "report") is bool(want.about), one.id
            assert (want.raw["kind"] == "tell") is (passage.direct and not want.about), one.id


def test_the_rules_state_nothing_in_our_cases_that_nobody_stated(ours: list[Case]) -> None:
    found = read(ours, rules())
    told: dict[str, Any] = scored(ours, [one.stated for one in found])
    assert [miss for miss in told["misses"] if miss["why"] != "not found"] == []
    assert (told["precision"], told["quotes_not_in_message"]) == (1.0, 0)
    assert [why for one in found for why in one.held] == []
    assert told["recall"] > 0.7
    for kind in score.KINDS:
        assert told["kinds"][kind]["precision"] == 1.0
        assert 0.7 < told["kinds"][kind]["recall"] < 1.0  # what takes a model is wanted as well


def test_thousands_of_cases_take_seconds(ours: list[Case]) -> None:
    many = ours * 5
    start = time.process_time()
    read(many, rules())
    assert len(many) > 2_000
    assert time.process_time() - start < 5


def test_the_command_prints_figures_and_writes_predictions(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "tests.evals.extraction", "--cases", CASES, "--predictions", out, "--json"],
        cwd=ROOT, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["precision"] == 1.0
    assert told["cases"] == len(CASES.read_text("utf-8").splitlines())
    assert set(told["kinds"]) == {"decision", "mention", "report"}
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [one["id"] for one in lines] == [
        json.loads(line)["id"] for line in CASES.read_text("utf-8").splitlines()
    ]
    assert sum(len(one["got"]) for one in lines) == told["found"]
    assert set(lines[0]["got"][0]) == set(statement())
    # What was found, wanted: everything is right.
    again = [
        json.loads(line) | {"want": one["got"]}
        for line, one in zip(CASES.read_text("utf-8").splitlines(), lines, strict=True)
    ]
    told = json.loads(run("--cases", written(tmp_path, *again), "--json").stdout)
    assert (told["precision"], told["recall"], told["misses"]) == (1.0, 1.0, [])


def test_the_command_tells_a_person_every_miss(tmp_path: Path) -> None:
    wanted = [statement(value="rejected"), statement(entity="e1", value="2 May")]
    texts = (message(), message("m2", "decision-7: blue"))
    done = run("--cases", written(tmp_path, case(*texts, want=wanted), "{"))
    assert done.exit_code == 0
    for expected in (
        "Wanted, not found (1):\n  line 1, c1: e1 = '2 May' (say, message m1)",
        "Found, not wanted (1):\n  line 1, c1: new:decision-7 = 'blue' (say, message m2)",
        "[value] new:decision-42 = 'rejected' (say, message m1) -> new:decision-42 = 'approved'",
        "Not read (1):\n  line 2: this is not JSON.",
    ):
        assert expected in done.stdout


# --- how a case is read ---------------------------------------------------------------------------


def test_an_entity_is_named_by_its_id_its_name_and_its_aliases(tmp_path: Path) -> None:
    entities = [
        ENTITY,
        {"id": "e2", "name": "OPS-17", "aliases": ["login bug"]},
        {"id": "vendor-3"},
    ]
    texts = (
        "Launch date: 8 May",
        "go-live: 9 May",
        "OPS-17: done",
        "login bug: open",
        "vendor-3: Kiel",
    )
    messages = [message(f"m{i}", text) for i, text in enumerate(texts)]
    assert said(tmp_path, *messages, entities=entities) == [
        ("m0", "e1", "8 May"),
        ("m1", "e1", "9 May"),
        ("m2", "e2", "done"),
        ("m3", "e2", "open"),
        ("m4", "vendor-3", "Kiel"),
    ]


def test_the_current_value_counts_as_given_before(tmp_path: Path) -> None:
    teal = ENTITY | {"current_value": "teal"}
    text = message(text="launch date is teal")
    assert said(tmp_path, text) == []
    assert said(tmp_path, text, entities=[teal]) == [("m1", "e1", "teal")]


def test_what_a_message_established_is_known_to_the_next(tmp_path: Path) -> None:
    first, later = message("m1", "perk-4: mauve"), message("m2", "perk-4 is mauve", room="C2")
    assert said(tmp_path, first, later) == [
        ("m1", "new:perk-4", "mauve"),
        ("m2", "new:perk-4", "mauve"),
    ]
    private = first | {"room": "dm:U1"}
    assert said(tmp_path, private, later) == [("m1", "new:perk-4", "mauve")]


def test_the_order_of_messages_is_when_they_were_said(tmp_path: Path) -> None:
    later, first = message("m2", "perk-4 is mauve"), message("m1", "perk-4: mauve")
    first["at"] = "2027-03-01T08:59:00+00:00"
    assert [one[0] for one in said(tmp_path, later, first)] == ["m1", "m2"]
    first["at"] = None  # unknown: as they stand in the file
    assert [one[0] for one in said(tmp_path, later, first)] == ["m1"]


def test_a_thread_is_about_its_roots_only_entity(tmp_path: Path) -> None:
    root, reply = (
        message("m1", "decision: no freeze"),
        message("m2", "update: a freeze", thread="m1"),
    )
    assert said(tmp_path, root, reply)[1:] == [("m2", "new:no freeze", "a freeze")]
    two = root | {"text": "decision: no freeze\ndecision: no party"}
    assert [one[0] for one in said(tmp_path, two, reply)] == ["m1", "m1"]


def test_a_direct_message_tells(tmp_path: Path) -> None:
    ((one,),) = stated(tmp_path, case(message(room="dm:U1")))
    assert one["kind"] == "tell"
    assert score.KINDS[0] == "decision"  # and is scored like something said
    told = scored_of(tmp_path, case(message(room="dm:U1"), want=[statement()]))
    assert told["right"] == 1


def test_nothing_is_read_out_of_an_app_that_is_not_named(tmp_path: Path) -> None:
    bot = message(author="B1", app=True)
    file = written(tmp_path, case(bot, people=[{"id": "B1", "name": "Deploybot"}]))
    cases, _ = read_cases(file)
    for named, many in ((), 0), (("B2",), 0), (("B1",), 1), (("Deploybot",), 1):
        (found,) = read(cases, rules(), frozenset(named))
        assert len(found.stated) == many


@pytest.mark.parametrize(
    "id",
    [7, 1.5, "7", "release-2.4", "發布", "a b", "x" * 300, "né\u0301", "\ud800", "new:x", "<@U1>"],
)
def test_ids_may_be_anything_and_come_back_as_they_were(tmp_path: Path, id: object) -> None:
    one = case(
        message(id, "go-live: 9 May", author=id),
        id=id,
        people=[{"id": id, "name": "Maya"}],
        entities=[ENTITY | {"id": id}],
    )
    out = tmp_path / "out.jsonl"
    done = run("--cases", written(tmp_path, one), "--predictions", out)
    assert (done.exit_code, done.stderr) == (0, "")
    (line,) = out.read_text("utf-8").splitlines()
    got = json.loads(line)
    assert got["id"] == id
    assert [(s["message"], s["speaker"], s["entity"]) for s in got["got"]] == [(id, id, id)]


MALFORMED = {
    "not json": "this is not JSON",
    "[1]": "a case is an object",
    '{"id": 1}': '"messages" is missing or empty',
    '{"messages": []}': '"id" is missing',
    json.dumps(case(people="Maya")): '"people" is not a list of objects',
    json.dumps(case(people=[{"name": "Maya"}])): 'one of "people" has no "id"',
    json.dumps(case(entities=[ENTITY | {"aliases": "x"}])): '"aliases" of an entity is not a list',
    json.dumps(case(message(), message())): 'two of "messages" have the same "id"',
    json.dumps(case(message(None))): 'one of "messages" has no "id"',
    "[" * 100_000: "this is not JSON",
}


@pytest.mark.parametrize("line", MALFORMED, ids=lambda line: line[:30])
def test_a_line_that_is_no_case_is_listed_and_the_rest_goes_on(tmp_path: Path, line: str) -> None:
    file = written(tmp_path, case(), "", line, case(id="c2"))
    cases, unread = read_cases(file)
    assert [one.id for one in cases] == ["c1", "c2"]
    ((number, why, _),) = unread
    assert number == 3
    assert MALFORMED[line] in why
    assert why.endswith(".")


@pytest.mark.parametrize(
    ("want", "why"),
    [
        ([statement(message="m9")], 'a "message" that is none of the case'),
        ([statement(value=None)], 'lacks its "entity" or its "value"'),
        ([statement(kind=None)], 'has no "kind"'),
        ("none", '"want" is not a list of objects'),
    ],
)
def test_a_case_whose_want_cannot_be_read_is_read_and_not_scored(
    tmp_path: Path, want: object, why: str
) -> None:
    out, file = tmp_path / "out.jsonl", written(tmp_path, case(want=want))
    told = json.loads(run("--cases", file, "--predictions", out, "--json").stdout)
    assert (told["wanted"], told["found"], len(told["unread"])) == (0, 0, 1)
    assert why in told["unread"][0]["why"]
    assert len(json.loads(out.read_text("utf-8"))["got"]) == 1


def test_a_line_without_an_author_is_nobodys_statement(tmp_path: Path) -> None:
    assert said(tmp_path, message(author=None), message("m2", "decision-7: blue")) == [
        ("m2", "new:decision-7", "blue")
    ]


def test_what_is_left_out_of_a_case_is_empty(tmp_path: Path) -> None:
    bare = {"id": 1, "messages": [{"id": 1, "author": 2, "text": "decision-42: approved"}]}
    ((one,),) = stated(tmp_path, bare)
    assert (one["message"], one["speaker"], one["entity"]) == (1, 2, "new:decision-42")
    told = scored_of(tmp_path, bare)
    assert (told["wanted"], told["found"]) == (0, 0)  # nothing is wanted, so nothing is scored


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["--cases", "{folder}/none.jsonl"], 1, "none.jsonl cannot be read: No such file"),
        (["--cases", "{folder}/empty.jsonl"], 1, "empty.jsonl holds no case; it is empty."),
        (["--cases", "{folder}/bad.jsonl"], 1, "bad.jsonl holds no case; line 2: this is not JSON."),
        (["--cases", "{folder}/good.jsonl", "--extractor", "magic"], 2, "there is no 'magic'"),
        (["--cases", "{folder}/good.jsonl", "--predictions", "{folder}/no/x"], 2, "there is no folder"),
        (["--cases", "{folder}/good.jsonl", "--replay", "x"], 2, "are for --extractor claude"),
        (["--cases", "{folder}/good.jsonl", "--extractor", "claude"], 2, "needs a key in SECONDORDER_"),
        ([], 2, "--cases"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, arguments: list[str], status: int, why: str
) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "bad.jsonl").write_bytes(b"\n\xff{}\n")
    written(tmp_path, case()).rename(tmp_path / "good.jsonl")
    (tmp_path / "bad.jsonl").write_text("\n{\n")
    done = run(*(one.format(folder=tmp_path) for one in arguments))
    assert (done.exit_code, done.stdout) == (status, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


# --- what is right --------------------------------------------------------------------------------


def scored_of(folder: Path, *cases: object) -> dict[str, Any]:
    read_, _ = read_cases(written(folder, *cases))
    return scored(read_, [one.stated for one in read(read_, rules())])


def compared(folder: Path, want: list[dict[str, Any]], got: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of these statements, wanted and found in one case of two messages."""
    texts = (message(text="decision-42: approved " * 3), message("m2"))
    cases, _ = read_cases(written(folder, case(*texts, want=want), case(*texts, want=got)))
    found: tuple[Stated, ...] = cases[1].want or ()
    return scored(cases[:1], [found])


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ({}, {}),
        ({"value": "Approved!"}, {"value": "approved by Finance"}),
        ({"entity": "new:the postgres thing"}, {"entity": "new:decision-42"}),
        ({"speaker": None}, {"speaker": "U2"}),
        ({"kind": "tell"}, {"kind": "say"}),
        ({"kind": "decision", "decides": None}, {}),
        ({"kind": "mention", "decides": None}, {"decides": False}),
        ({"quote": "decision-42"}, {}),
        ({"addressees": ["U2"]}, {}),
    ],
)
def test_it_is_right_when_all_that_counts_agrees(
    tmp_path: Path, want: dict[str, Any], got: dict[str, Any]
) -> None:
    told = compared(tmp_path, [statement(**want)], [statement(**got)])
    assert (told["right"], told["misses"]) == (1, [])


@pytest.mark.parametrize(
    ("want", "got", "fields"),
    [
        ({}, {"value": "rejected"}, ["value"]),
        ({}, {"decides": False}, ["decides"]),
        ({}, {"speaker": "U2"}, ["speaker"]),
        ({}, {"kind": "report", "about": "U2"}, ["kind", "about"]),
        ({"kind": "report", "about": "U1"}, {"kind": "report", "about": "U2"}, ["about"]),
        ({"value": "2.4"}, {"value": "24"}, ["value"]),
    ],
)
def test_what_differs_is_one_line_a_miss_and_a_false_one(
    tmp_path: Path, want: dict[str, Any], got: dict[str, Any], fields: list[str]
) -> None:
    told = compared(tmp_path, [statement(**want)], [statement(**got)])
    ((why, differs),) = [(one["why"], one["fields"]) for one in told["misses"]]
    assert (why, differs) == ("differs", fields)
    assert (told["precision"], told["recall"], told["f1"]) == (0, 0, 0)


@pytest.mark.parametrize(
    "got",
    [{"message": "m2"}, {"entity": "e1"}],
)
def test_another_message_or_entity_is_another_statement(
    tmp_path: Path, got: dict[str, Any]
) -> None:
    told = compared(tmp_path, [statement()], [statement(**got)])
    assert [one["why"] for one in told["misses"]] == ["not found", "not wanted"]


def test_each_wanted_statement_is_found_once(tmp_path: Path) -> None:
    told = compared(tmp_path, [statement()], [statement(), statement()])
    assert (told["found"], told["right"], told["precision"], told["recall"]) == (2, 1, 0.5, 1.0)


def test_two_new_things_of_a_message_are_told_apart_by_their_values(tmp_path: Path) -> None:
    a, b = statement(entity="new:a", value="red wine"), statement(entity="new:b", value="green tea")
    assert compared(tmp_path, [a, b], [b, a])["right"] == 2
    nearly = b | {"value": "green tea please"}
    told = compared(tmp_path, [a, b], [nearly, a])
    assert (told["right"], told["loose"]["right"]) == (1, 2)
    assert [one["overlap"] for one in told["misses"]] == [0.67]


def test_a_value_that_shares_half_its_words_is_right_only_loosely(tmp_path: Path) -> None:
    for want, got, loose in (
        ("we go with Postgres", "go with Postgres", 1),
        ("we go with Postgres", "MySQL", 0),
        ("다음 주 화요일", "다음 주 화요일로", 1),
        ("金曜日の午後に延期", "金曜日", 0),
    ):
        told = compared(tmp_path, [statement(value=want)], [statement(value=got)])
        assert (told["right"], told["loose"]["right"]) == (0, loose), want


def test_a_kind_counts_under_what_it_was_said_to_be(tmp_path: Path) -> None:
    told = compared(tmp_path, [statement(decides=False)], [statement()])
    assert (told["kinds"]["mention"]["wanted"], told["kinds"]["mention"]["found"]) == (1, 0)
    assert (told["kinds"]["decision"]["wanted"], told["kinds"]["decision"]["found"]) == (0, 1)
    assert told["kinds"]["report"]["precision"] is None


# --- a model's answers ----------------------------------------------------------------------------


def test_requests_are_written_down_and_answers_from_outside_are_read(tmp_path: Path) -> None:
    prose = message(text="closing the poll: Thursday it is")
    file = written(tmp_path, case(prose, want=[statement(entity="new:poll", value="Thursday")]))
    asked = tmp_path / "asked.jsonl"
    done = run("--cases", file, "--extractor", "claude", "--requests", asked, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert [one["line"] for one in json.loads(done.stdout)["unread"]] == [1]
    reads = [json.loads(line) for line in asked.read_text("utf-8").splitlines()]
    (request,) = [one for one in reads if one["pass"] == "read"]
    assert request["case"] == "c1"
    assert "Thursday it is" in request["messages"][0]["content"]
    one = {
        "kind": "say", "message": 1, "speaker": 1, "reported": False, "about": None,
        "addressees": [], "entity": None, "new_name": "poll", "value": "Thursday", "decides": True,
        "certainty": "certain", "quote": "Thursday it is",
    }  # fmt: skip
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        json.dumps({"case": "c1", "pass": "read", "answer": {"statements": [one]}}) + "\n"
    )
    out = tmp_path / "out.jsonl"
    done = run(
        "--cases", file, "--extractor", "claude", "--replay", answers, "--predictions", out, "--json"
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert (told["right"], told["precision"], told["unread"]) == (1, 1.0, [])
    assert json.loads(out.read_text("utf-8"))["got"][0]["value"] == "Thursday"


def test_predictions_are_in_the_order_of_the_cases(tmp_path: Path) -> None:
    cases, _ = read_cases(written(tmp_path, case(id="b"), case(id="a"), case(id=3)))
    lines = predictions(cases, [one.stated for one in read(cases, rules())]).splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["b", "a", 3]


def test_one_wanted_statement_that_cannot_be_read_leaves_the_others_scored(tmp_path: Path) -> None:
    want = [statement(), statement(entity=None), statement(message="m9")]
    told = json.loads(run("--cases", written(tmp_path, case(want=want)), "--json").stdout)
    assert (told["wanted"], told["right"], len(told["unread"])) == (1, 1, 2)


def test_nobody_is_an_author_without_a_name(tmp_path: Path) -> None:
    assert said(tmp_path, message(author=""), message("m2", "decision-7: blue")) == [
        ("m2", "new:decision-7", "blue")
    ]


def test_a_line_that_is_no_case_has_a_line_of_predictions_where_it_has_an_id(
    tmp_path: Path,
) -> None:
    out, file = (
        tmp_path / "out.jsonl",
        written(tmp_path, '{"id": 7}', case(), '{"id": "x", "messages": 3}', "no"),
    )
    run("--cases", file, "--predictions", out)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(row["id"], len(row["got"])) for row in rows] == [(7, 0), ("c1", 1), ("x", 0)]


def test_no_two_rooms_of_any_cases_have_one_name() -> None:
    ids = ["a", "a#2", 1, "1", '["a",2]', "[1,1]", 2.5, "2.5"]
    bare = [Case(0, id, {}, (), (), None, {}) for id in ids]
    names = [name_of(one, room) for one in bare for room in (1, 2)]
    assert len(set(names)) == len(names)
    assert names[0] == "a"
