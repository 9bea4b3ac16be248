"""Hi-ToM: its language is read, the engine agrees with the rules belief by belief, the score counts."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from engine import Memory, UnknownEntity
from engine.events import Enter, Exit, Say, Set, Tell
from tests.evals import hitom, hitom_report
from tests.evals.hitom import System
from tests.evals.hitom_replay import Table
from tests.evals.hitom_report import FileError, Row, read_answers, read_rows
from tests.evals.hitom_stories import (
    Claimed,
    Entered,
    Left,
    Moved,
    Noise,
    Question,
    Sentence,
    Stated,
    Stayed,
    StoryError,
    Told,
    cast,
    line_of,
    lines,
    moment,
    question,
    sentence,
    sentences,
    template,
)
from tests.shared import shared

ROOT = Path(__file__).parents[2]
AUDIT = ROOT / "tests" / "evals" / "results" / "LABEL_ERRORS.md"
DATA, HALF = "hitom/Hi-ToM_data.json", "hitom/reference_answers.json"

type Opens = Callable[[str], Memory]


def numbered(told: str) -> str:
    """A story of these lines, laid out as the data does it."""
    given = [line.strip() for line in told.strip().splitlines()]
    return "\n".join(f"{n} {line}" for n, line in enumerate(given, 1)) + "\n\n"


@pytest.fixture(scope="module")
def opens(state: Path) -> Opens:
    return lambda sid: Memory(sid, state=state, policy="exit_order")


def remembered(opens: Opens, story: str) -> Memory:
    events = template(story)
    memory = opens(hitom.name_of(events))
    for event in events:
        memory.record(event)
    return memory


def chains(people: Iterable[str], depth: int = 4) -> list[tuple[str, ...]]:
    known = list(people)
    return [chain for k in range(1, depth + 1) for chain in permutations(known, k)]


# ------------------------------------------------------------------------------- the language


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("Ann entered the den.", Entered(("Ann",), "den")),
        ("Ann and Bob entered the TV_room.", Entered(("Ann", "Bob"), "TV_room")),
        ("Ann, Bob and Cid entered the pantry.", Entered(("Ann", "Bob", "Cid"), "pantry")),
        ("A, B, C, D and E entered the waiting_room.", Entered(tuple("ABCDE"), "waiting_room")),
        ("The fig is in the red_pantry.", Stated("fig", "red_pantry")),
        ("The peas is in the green_treasure_chest.", Stated("peas", "green_treasure_chest")),
        (
            "Ann moved the green_pepper to the blue_box.",
            Moved("Ann", "green_pepper", "blue_box"),
        ),
        ("Ann made no movements and stayed in the den for 1 minute.", Stayed("Ann", "den")),
        ("Ann exited the den.", Left("Ann", "den")),
        (
            "Ann publicly claimed that sweet_potato is in the red_box.",
            Claimed("Ann", "sweet_potato", "red_box"),
        ),
        ("Ann publicly claimed that fig is in the red_box now.", Claimed("Ann", "fig", "red_box")),
        (
            "Ann privately told Bob that the fig is in the red_box.",
            Told("Ann", "Bob", "fig", "red_box"),
        ),
        (
            "Ann privately told Bob that the fig is in the red_box now.",
            Told("Ann", "Bob", "fig", "red_box"),
        ),
        ("Ann saw a monkey.", Noise("Ann saw a monkey.")),
        ("Ann lost his gloves.", Noise("Ann lost his gloves.")),
        ("Ann likes the red_box.", Noise("Ann likes the red_box.")),
        ("Ann dislikes the fig.", Noise("Ann dislikes the fig.")),
    ],
)
def test_every_sentence_is_read(line: str, meant: Sentence) -> None:
    assert sentence(line) == meant


def test_only_numbered_lines_are_story() -> None:
    told = "Read the following story …\n1 Ann saw a cat.\n2 Ann entered the den.\n\n***\n"
    assert lines(told) == ("Ann saw a cat.", "Ann entered the den.")


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ("1 Ann saw a cat.\n2 Ann ate the fig.", "story line 2: no sentence .* 'Ann ate the fig.'"),
        ("Once upon a time.", "no numbered line"),
    ],
)
def test_what_is_no_story_is_said_by_line(told: str, problem: str) -> None:
    with pytest.raises(StoryError, match=problem):
        sentences(told)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Where is the fig really?", Question((), "fig")),
        ("Where does Ann really think the fig is?", Question(("Ann",), "fig")),
        ("Where does A think B thinks the sweet_potato is?", Question(("A", "B"), "sweet_potato")),
        ("Where does A think B thinks C thinks the fig is?", Question(tuple("ABC"), "fig")),
        (
            "Where does A think B thinks C thinks D thinks the fig is?",
            Question(tuple("ABCD"), "fig"),
        ),
    ],
)
def test_every_question_is_read(text: str, meant: Question) -> None:
    assert question(text) == meant


@pytest.mark.parametrize(
    "text", ["Where is the fig?", "Where does A think B thinks A thinks the fig is?", ""]
)
def test_what_the_rules_leave_open_is_refused(text: str) -> None:
    with pytest.raises(StoryError):
        question(text)


def test_a_distractor_brings_nobody_in() -> None:
    told = sentences(numbered("Zoe saw a cat.\nAnn entered the den.\nBob exited the den."))
    assert cast(told) == ("Ann", "Bob")


# ------------------------------------------------------------------------------- events

EXAMPLE = numbered(
    """
    Ann, Bob and Cid entered the den.
    The fig is in the red_box.
    Ann moved the fig to the blue_box.
    Ann exited the den.
    Bob moved the fig to the green_box.
    Bob exited the den.
    Cid made no movements and stayed in the den for 1 minute.
    Cid exited the den.
    Ann, Bob and Cid entered the waiting_room.
    Bob publicly claimed that fig is in the red_crate.
    Ann privately told Cid that the fig is in the blue_crate.
    Bob and Ann entered the den.
    The pear is in the red_box.
    """
)


def test_events_are_those_of_the_lines_in_order() -> None:
    events = template(EXAMPLE)
    assert events == sorted(events, key=lambda event: (event.at, event.id))
    assert len({event.id for event in events}) == len(events)
    by_line = Counter(line_of(event.id) for event in events)
    # Nothing for a stay (7) or the waiting room (9); who comes back (12) is shown where the fig is.
    assert by_line == {1: 3, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 8: 1, 10: 1, 11: 1, 12: 3, 13: 1}
    assert all(moment(line_of(e.id) - 1) < e.at < moment(line_of(e.id)) for e in events)


def test_each_sentence_becomes_its_events() -> None:
    by_line: dict[int, list[Any]] = {}
    for event in template(EXAMPLE):
        by_line.setdefault(line_of(event.id), []).append(event)
    assert [(e.person, e.room) for e in by_line[1] if isinstance(e, Enter)] == [
        ("Ann", "den"),
        ("Bob", "den"),
        ("Cid", "den"),
    ]
    [moved], [left], [claimed], [told] = by_line[3], by_line[4], by_line[10], by_line[11]
    assert isinstance(moved, Set)
    assert (moved.by, moved.room, moved.entity, moved.value) == ("Ann", "den", "fig", "blue_box")
    assert isinstance(left, Exit)
    assert isinstance(claimed, Say)
    assert claimed.witnesses == dict.fromkeys(("Ann", "Bob", "Cid"), "exposed")
    assert not claimed.decides
    assert isinstance(told, Tell)
    assert (told.speaker, told.listeners) == ("Ann", ("Cid",))
    shown = by_line[12][-1]
    assert isinstance(shown, Set)
    assert (shown.by, shown.room, shown.value) == (None, "den", "green_box")


# ------------------------------------------------------------------------------- the rules

LINES = (2, 3, 8, 10, 11, 12)
TABLE = {
    "": "red_box blue_box green_box green_box green_box green_box",
    "Ann": "red_box blue_box blue_box red_crate red_crate green_box",
    "Bob": "red_box blue_box green_box green_box green_box green_box",
    "Cid": "red_box blue_box green_box green_box green_box green_box",
    "Ann Bob": "red_box blue_box blue_box red_crate red_crate green_box",
    "Ann Cid": "red_box blue_box blue_box blue_box blue_crate blue_crate",
    "Bob Ann": "red_box blue_box blue_box red_crate red_crate green_box",
    "Bob Cid": "red_box blue_box green_box red_crate red_crate red_crate",
    "Cid Ann": "red_box blue_box blue_box blue_box blue_box blue_box",
    "Cid Bob": "red_box blue_box green_box green_box green_box green_box",
} | {
    " ".join(chain): "red_box blue_box blue_box blue_box blue_box blue_box"
    for chain in permutations(("Ann", "Bob", "Cid"), 3)
}
"""The worked example of the rules: a chain's value after each of LINES; the empty chain is truth."""


def test_the_worked_example_holds_belief_by_belief(opens: Opens) -> None:
    with remembered(opens, EXAMPLE) as memory:
        for chain, row in TABLE.items():
            found = [
                (memory.believes(chain.split(), "fig", moment(line)).value)
                if chain
                else memory.truth("fig", moment(line)).value
                for line in LINES
            ]
            assert found == row.split(), chain


def test_the_replay_has_the_worked_example_too() -> None:
    told = sentences(EXAMPLE)
    for at, line in enumerate(LINES):
        table = Table(told[:line])
        for chain, row in TABLE.items():
            held = table.answer(Question(tuple(chain.split()), "fig"))
            assert held is not None
            assert held.place == row.split()[at], (chain, line)


def test_a_belief_names_the_line_that_decides_it(opens: Opens) -> None:
    table = Table(sentences(EXAMPLE))
    with remembered(opens, EXAMPLE) as memory:
        for chain in chains(table.cast):
            held = table.beliefs[chain, "fig"]
            evidence = memory.believes(chain, "fig").evidence
            assert evidence is not None
            assert line_of(evidence.event) == held.line


LONG = numbered(
    """
    Zoe likes the red_box.
    Ann, Bob, Cid, Dot and Eve entered the TV_room.
    The green_pepper is in the red_box.
    Ann moved the green_pepper to the blue_box.
    Ann exited the TV_room.
    Bob made no movements and stayed in the TV_room for 1 minute.
    Zoe dislikes the green_pepper.
    Bob exited the TV_room.
    Cid moved the green_pepper to the green_box.
    Cid exited the TV_room.
    Dot exited the TV_room.
    Eve moved the green_pepper to the red_box.
    Eve exited the TV_room.
    Ann, Bob, Cid, Dot and Eve entered the waiting_room.
    Cid publicly claimed that green_pepper is in the red_crate now.
    Eve saw a dog.
    Eve privately told Cid that the green_pepper is in the blue_crate now.
    Bob, Ann and Eve entered the TV_room.
    The peas is in the blue_box.
    Bob moved the peas to the red_box.
    Bob exited the TV_room.
    Ann exited the TV_room.
    Eve moved the peas to the red_box.
    Eve exited the TV_room.
    Bob, Ann and Eve entered the waiting_room.
    Dot, Cid, Bob and Ann entered the pantry.
    The onion is in the red_pantry.
    Dot exited the pantry.
    Cid exited the pantry.
    Bob moved the onion to the blue_pantry.
    Bob exited the pantry.
    Ann moved the onion to the red_pantry.
    Ann exited the pantry.
    Dot, Cid, Bob and Ann entered the waiting_room.
    Ann privately told Eve that the peas is in the green_crate.
    Cid publicly claimed that peas is in the blue_crate.
    Cid and Dot entered the TV_room.
    The green_pepper is in the red_box.
    Cid moved the green_pepper to the green_box.
    Cid exited the TV_room.
    Dot exited the TV_room.
    Cid and Dot entered the waiting_room.
    Dot privately told Cid that the green_pepper is in the blue_box.
    Ann privately told Dot that the green_pepper is in the green_crate.
    """
)
"""Four chapters (five, three, four and two people), tells with and without "now"."""


def test_a_story_of_four_chapters_is_understood_line_by_line(opens: Opens) -> None:
    told = sentences(LONG)
    with remembered(opens, LONG) as memory:
        for line in (5, 15, 17, 18, 36, 43, len(told)):
            table = Table(told[:line])
            for thing in ("green_pepper", "peas", "onion"):
                for chain in chains(cast(told), 2) + chains(cast(told), 4)[25::7]:
                    held = table.answer(Question(chain, thing))
                    try:
                        found = memory.believes(chain, thing, moment(line)).value
                    except UnknownEntity:  # not brought in yet
                        found = None
                    assert found == (held and held.place), (line, chain, thing)


def test_what_a_chain_never_learned_is_no_belief(opens: Opens) -> None:
    table = Table(sentences(LONG))
    unlearned = [chain for chain in table.chains() if (chain, "peas") not in table.beliefs]
    with remembered(opens, LONG) as memory:
        for thing in ("green_pepper", "peas", "onion"):
            for chain in table.chains():
                held = table.answer(Question(chain, thing))
                found = hitom.answer(memory, Question(chain, thing))
                assert found == (held and held.place), (chain, thing)
        assert hitom.answer(memory, question("Where is the fig really?")) is None
        assert hitom.answer(memory, question("Where does Zoe really think the peas is?")) is None
        assert (
            hitom.answer(memory, question("Where does Ann think Zoe thinks the peas is?")) is None
        )
    assert ("Dot", "Eve") in unlearned
    assert ("Eve", "Cid", "Dot") in unlearned


def test_with_now_or_without_it_is_the_same_story() -> None:
    def plain(story: str) -> list[tuple[Any, ...]]:
        return [tuple(sentence(line)) for line in lines(story)]

    assert plain(LONG) == plain(LONG.replace(" now.", "."))
    assert template(LONG) == template(LONG.replace(" now.", "."))


# ------------------------------------------------------------------------------- files and scores


def written(file: Path, content: object) -> Path:
    file.write_text(json.dumps(content), "utf-8")
    return file


def data_row(text: str, label: str | None, **more: object) -> dict[str, object]:
    return {"story": EXAMPLE, "question": text, "answer": label, "prompting_type": "VP"} | more


FOUR = [
    data_row("Where is the fig really?", "green_box"),
    data_row("Where does Cid think Ann thinks the fig is?", "green_box"),
    data_row("Where does Cid really think the pear is?", None),
    data_row("Where does Cid think Ann thinks the fig is?", "blue_box", prompting_type="CoTP"),
]


@pytest.fixture
def four(tmp_path: Path) -> Path:
    return written(tmp_path / "data.json", {"data": FOUR})


def run(*arguments: object) -> Any:
    done = CliRunner().invoke(hitom.app, [str(one) for one in arguments])
    return json.loads(done.stdout) if done.exit_code == 0 else (done.exit_code, done.stderr)


def test_a_file_without_reference_is_scored_by_its_labels(four: Path, state: Path) -> None:
    done = run("--data", four, "--state", state, "--json")
    assert (done["correct"], done["total"], done["against"]) == (3, 4, "released labels")
    assert done["by_order"] == {
        "0": {"correct": 1, "total": 1},
        "1": {"correct": 1, "total": 1},  # null: Cid has never seen the pear
        "2": {"correct": 1, "total": 2},
    }
    released = done["released_labels"]
    assert (released["correct"], released["total"]) == (3, 4)
    assert released["ceiling"] == {"correct": 3, "total": 4}
    assert (released["distinct_questions"], released["with_two_labels"]) == (3, 1)
    assert released["by_prompting_style"]["CoTP"]["correct"] == 1


def test_a_reference_is_scored_where_it_answers(four: Path, state: Path, tmp_path: Path) -> None:
    answers = [
        {"index": 1, "question": FOUR[1]["question"], "reference_answer": "blue_box"},
        {"index": 2, "question": FOUR[2]["question"], "reference_answer": None},
    ]
    file = written(tmp_path / "answers.json", answers)
    done = run("--data", four, "--answers", file, "--state", state, "--json")
    assert (done["correct"], done["total"], done["against"]) == (2, 2, "answers.json")
    assert done["released_labels"]["total"] == 4


def test_a_wrong_null_is_wrong(four: Path, state: Path, tmp_path: Path) -> None:
    answers = [{"index": 0, "reference_answer": None}, {"index": 2, "reference_answer": "red_box"}]
    file = written(tmp_path / "answers.json", answers)
    done = run("--data", four, "--answers", file, "--state", state, "--json")
    assert (done["correct"], done["total"]) == (0, 2)


def test_the_ablations_know_less(four: Path, state: Path) -> None:
    rows = read_rows(four)
    opens = lambda sid: Memory(sid, state=state, policy="exit_order")  # noqa: E731
    assert hitom.answers(rows, opens, system=System.flat) == [
        "green_box",
        "green_box",
        "red_box",
        "green_box",
    ]
    assert hitom.answers(rows, opens, system=System.no_nesting)[1] == "green_box"  # Cid's own


def test_a_copy_of_a_story_is_recorded_once(tmp_path: Path, opens: Opens) -> None:
    instructed = "Read the following story and answer.\n" + EXAMPLE + "***\n"
    file = written(tmp_path / "d.json", {"data": [FOUR[0], FOUR[1] | {"story": instructed}]})
    opened: list[str] = []

    def counting(sid: str) -> Memory:
        opened.append(sid)
        return opens(sid)

    assert hitom.answers(read_rows(file), counting) == ["green_box", "blue_box"]
    assert len(opened) == 1


def test_another_extractor_is_scored_the_same_way(four: Path, opens: Opens) -> None:
    rows = read_rows(four)
    given = hitom.answers(rows, opens, extractor=lambda story: template(story)[:5])
    assert given == ["blue_box", "blue_box", None, "blue_box"]


def test_an_index_may_be_a_sample_id(tmp_path: Path) -> None:
    rows = read_rows(
        written(
            tmp_path / "data.json",
            {"data": [FOUR[0] | {"sample_id": 1}, FOUR[1] | {"sample_id": 0}]},
        )
    )
    by_place = [{"index": 0, "question": FOUR[0]["question"], "reference_answer": "here"}]
    by_sample = [{"index": 0, "question": FOUR[1]["question"], "reference_answer": "there"}]
    assert read_answers(written(tmp_path / "a.json", by_place), rows) == {0: "here"}
    assert read_answers(written(tmp_path / "b.json", by_sample), rows) == {1: "there"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "line 1: this is not JSON"),
        ('{"data": []}', "no questions"),
        ('{"data": [{"question": "?"}]}', "data 0 story: Field required"),
        ('{"data": [{"story": "1 Ann saw a cat.", "question": "Who?"}]}', "row 0: no question"),
    ],
)
def test_a_bad_data_file_is_said_in_one_sentence(
    tmp_path: Path, content: str, problem: str
) -> None:
    file = tmp_path / "data.json"
    file.write_text(content, "utf-8")
    with pytest.raises(FileError, match=problem):
        read_rows(file)


@pytest.mark.parametrize(
    ("index", "asked", "problem"),
    [
        (9, "Where is the fig really?", "index 9 is no row"),
        (1, "Where is the fig really?", "index 1 has another question"),
    ],
)
def test_answers_to_other_questions_are_refused(
    four: Path, tmp_path: Path, index: int, asked: str, problem: str
) -> None:
    answers = [{"index": index, "question": asked, "reference_answer": "red_box"}]
    with pytest.raises(FileError, match=problem):
        read_answers(written(tmp_path / "answers.json", answers), read_rows(four))


def test_a_story_that_cannot_be_read_is_named(tmp_path: Path, state: Path) -> None:
    file = written(
        tmp_path / "data.json", {"data": [FOUR[0], FOUR[0] | {"story": "1 Ann ate the fig."}]}
    )
    status, said = run("--data", file, "--state", state)
    assert status == 1
    assert said == ("Row 1: story line 1: no sentence of Hi-ToM reads 'Ann ate the fig.'.\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--extractor", "oracle"], "there is no 'oracle', only template, claude"),
        (["--audit", "x.md", "--ablation", "flat"], "leave --ablation out"),
        (["--state", "x", "--redis-url", "redis://localhost"], "give one"),
        (["--audit", "nowhere/x.md"], "no folder nowhere"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    four: Path, arguments: list[str], problem: str
) -> None:
    status, said = run("--data", four, *arguments)
    assert status == 2
    assert problem in said


# ------------------------------------------------------------------------------- the benchmark


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return read_rows(shared(DATA))


@pytest.fixture(scope="module")
def tables(rows: list[Row]) -> dict[tuple[str, ...], Table]:
    return {row.story: Table(sentences(row.story_text)) for row in rows}


@pytest.fixture(scope="module")
def reference(rows: list[Row], tables: dict[tuple[str, ...], Table]) -> dict[int, str]:
    """The place that the rules give to every row; in the benchmark there always is one."""
    found = {row.number: tables[row.story].answer(row.asked) for row in rows}
    return {number: held.place for number, held in found.items() if held}


class Full:
    """One run of the command over all of the data, and where its memory is."""

    def __init__(self, folder: Path, rows: list[Row], reference: dict[int, str]) -> None:
        self.state, self.audit = folder / "state", folder / "audit.md"
        self.answers = written(
            folder / "reference.json",
            [
                {
                    "index": row.number,
                    "question": row.text,
                    "reference_answer": reference[row.number],
                }
                for row in rows
            ],
        )
        self.report = self.ask("--audit", str(self.audit))

    def ask(self, *more: str) -> dict[str, Any]:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.evals.hitom", "--json"),
                *("--data", str(shared(DATA)), "--answers", str(self.answers)),
                *("--state", str(self.state), *more),
            ],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""  # no progress bar where there is no terminal
        report: dict[str, Any] = json.loads(done.stdout)
        return report


@pytest.fixture(scope="module")
def full(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], reference: dict[int, str]
) -> Full:
    return Full(tmp_path_factory.mktemp("hitom"), rows, reference)


def by_order(report: dict[str, Any]) -> list[int]:
    assert sum(one["correct"] for one in report["by_order"].values()) == report["correct"]
    assert sum(one["total"] for one in report["by_order"].values()) == report["total"]
    return [report["by_order"][str(order)]["correct"] for order in range(5)]


@pytest.mark.shared
def test_the_data_is_read_whole(rows: list[Row]) -> None:
    stories = {row.story for row in rows}
    kinds = Counter(type(said) for row in stories for said in map(sentence, row))
    assert len(stories) == 120
    assert kinds == {
        Left: 1000, Stayed: 513, Moved: 487, Entered: 480, Noise: 270, Stated: 240, Told: 103,
        Claimed: 57,
    }  # fmt: skip
    assert Counter(row.asked.order for row in rows) == dict.fromkeys(range(5), 240)


@pytest.mark.shared
def test_the_replay_is_the_reference(rows: list[Row], reference: dict[int, str]) -> None:
    half = read_answers(shared(HALF), rows)
    assert len(half) == 600
    assert {number: reference[number] for number in half} == half
    assert sum(row.label == reference[row.number] for row in rows) == 1053


@pytest.mark.shared
def test_the_mistake_put_back_gives_the_labels_that_were_never_regenerated(rows: list[Row]) -> None:
    for row in rows:
        if row.style == "VP":
            held = Table(sentences(row.story_text), permuted=True).answer(row.asked)
            assert held is not None
            assert held.place == row.label, row.number


@pytest.mark.shared
def test_every_question_is_answered_right_within_two_minutes(full: Full) -> None:
    assert (full.report["correct"], full.report["total"]) == (1200, 1200)
    assert by_order(full.report) == [240] * 5
    assert full.report["seconds"] < 120


@pytest.mark.shared
def test_agreement_with_the_released_labels_is_reported_beside_it(full: Full) -> None:
    released = full.report["released_labels"]
    assert (released["correct"], released["total"]) == (1053, 1200)
    assert by_order(released) == [240, 240, 205, 190, 178]
    styles = released["by_prompting_style"]
    assert by_order(styles["CoTP"]) == [120, 120, 115, 115, 113]
    assert by_order(styles["VP"]) == [120, 120, 90, 75, 65]
    assert released["ceiling"] == {"correct": 1062, "total": 1200}
    assert (released["distinct_questions"], released["with_two_labels"]) == (600, 138)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("ablation", "right", "labelled"),
    [("flat", [240, 132, 74, 82, 72], 637), ("no-nesting", [240, 240, 140, 116, 84], 785)],
)
def test_an_ablation_scores_what_is_published(
    full: Full, ablation: str, right: list[int], labelled: int
) -> None:
    report = full.ask("--ablation", ablation)
    assert by_order(report) == right
    assert report["correct"] == {"flat": 600, "no-nesting": 820}[ablation]
    assert report["released_labels"]["correct"] == labelled


@pytest.mark.shared
def test_the_audit_of_the_labels_is_up_to_date(full: Full) -> None:
    written_now = full.audit.read_text("utf-8")
    assert written_now == AUDIT.read_text("utf-8")
    assert len(re.findall(r"^\| \d+ \|", written_now, re.M)) == 147
    assert len(re.findall(r"^\| \d+, \d+ \|", written_now, re.M)) == 138


@pytest.mark.shared
def test_every_belief_of_a_story_is_that_of_the_rules(
    rows: list[Row], tables: dict[tuple[str, ...], Table], opens: Opens
) -> None:
    """Every chain to depth four about the asked thing, not only the chains that are asked about."""
    asked = {row.story: row for row in rows}
    compared = 0
    for story, row in list(asked.items())[::17]:
        table = tables[story]
        with remembered(opens, row.story_text) as memory:
            for chain in table.chains():
                held = table.beliefs[chain, row.asked.thing]
                assert memory.believes(chain, row.asked.thing).value == held.place, (chain, story)
                compared += 1
    assert compared == 8 * 205


def test_a_summary_says_what_the_figures_mean(four: Path, state: Path) -> None:
    done = CliRunner().invoke(hitom.app, ["--data", str(four), "--state", str(state)])
    assert "Hi-ToM, full (stories read by template" in done.stdout
    assert re.search(r"released labels +3/4 \(75\.00%\) +1/1 +1/1 +1/2", done.stdout)
    assert "4 labels on 3 distinct questions, 1 of which carry two" in done.stdout


def test_the_audit_explains_a_label(four: Path) -> None:
    rows = read_rows(four)
    told = hitom_report.audit(rows, ["green_box", "blue_box", None, "blue_box"])
    assert "**1 of 4 labels differ from the reference.**" in told
    assert (
        "| 1 | VP | 2 | Where does Cid think Ann thinks the fig is? | `green_box` | `blue_box` "
        "| `blue_box` | 3 | changed afterwards" in told
    )
    assert "| 1, 3 | Where does Cid think Ann thinks the fig is? |" in told
