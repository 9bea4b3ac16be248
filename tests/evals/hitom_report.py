"""Hi-ToM's files in, a score and the audit of the released labels out; pure but for reading.

It knows the layout of the data and of the reference answers, and no database. An answer is a place,
or None for no belief.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.evals.hitom_replay import Held, Table
from tests.evals.hitom_stories import Question, StoryError, lines, question, sentences

type Answer = str | None


class FileError(Exception):
    """One sentence: which file, which row, what is wrong with it."""


# ------------------------------------------------------------------------------- files


class _DataRow(BaseModel):
    story: str
    question: str
    answer: str | None = None
    prompting_type: str = "unnamed"
    sample_id: int | None = None


class _Data(BaseModel):
    data: list[_DataRow]


class _AnswerRow(BaseModel):
    index: int
    question: str | None = None
    reference_answer: str | None


_ANSWERS: TypeAdapter[list[_AnswerRow]] = TypeAdapter(list[_AnswerRow])


class Row(NamedTuple):
    """One question of the data. `story` is its numbered lines; `style` how models were prompted."""

    number: int
    sample: int | None
    style: str
    story: tuple[str, ...]
    text: str
    asked: Question
    labelled: bool
    label: Answer
    prose: str = ""

    @property
    def story_text(self) -> str:
        """The story as its numbered lines alone: the same for each way to prompt a model; or as prose."""
        return self.prose or "\n".join(
            f"{number} {line}" for number, line in enumerate(self.story, 1)
        )


def read_rows(file: Path) -> list[Row]:
    """The questions of a data file, in its order. Raises FileError."""
    data = _read(file, TypeAdapter(_Data)).data
    rows = [_row(file, number, row) for number, row in enumerate(data)]
    if not rows:
        raise FileError(f"{file} holds no questions.")
    return rows


def _row(file: Path, number: int, row: _DataRow) -> Row:
    try:
        asked = question(row.question)
    except StoryError as problem:
        raise FileError(f"{file}, row {number}: {problem}.") from None
    labelled = "answer" in row.model_fields_set
    return Row(
        number, row.sample_id, row.prompting_type, lines(row.story), row.question.strip(),
        asked, labelled, row.answer, "" if lines(row.story) else row.story.strip(),
    )  # fmt: skip


def read_answers(file: Path, rows: Sequence[Row]) -> dict[int, Answer]:
    """The reference answers by row number. Raises FileError.

    An `index` is a row's place in the data file or, where the questions say so, its `sample_id`.
    """
    found = _read(file, _ANSWERS)
    if not found:
        raise FileError(f"{file} holds no answers.")
    problem = ""
    for numbering in ({row.number: row for row in rows}, _by_sample(rows)):
        if not (misfit := _misfit(found, numbering)):
            return {numbering[one.index].number: one.reference_answer for one in found}
        problem = problem or misfit
    raise FileError(f"{file}: {problem}")


def _by_sample(rows: Sequence[Row]) -> dict[int, Row]:
    found = {row.sample: row for row in rows if row.sample is not None}
    return found if len(found) == len(rows) else {}


def _misfit(answers: Iterable[_AnswerRow], rows: Mapping[int, Row]) -> str:
    seen: set[int] = set()
    for one in answers:
        if one.index not in rows:
            return f"index {one.index} is no row of the data."
        if one.question is not None and one.question.strip() != rows[one.index].text:
            return f"index {one.index} has another question than that row of the data."
        if one.index in seen:
            return f"index {one.index} is answered twice."
        seen.add(one.index)
    return ""


def _read[T](file: Path, layout: TypeAdapter[T]) -> T:
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{file} is not UTF-8 text.") from None
    except OSError as problem:
        raise FileError(f"{file} cannot be read: {problem.strerror}.") from None
    try:
        return layout.validate_python(json.loads(text))
    except json.JSONDecodeError as problem:
        raise FileError(f"{file}, line {problem.lineno}: this is not JSON.") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        where = " ".join(str(part) for part in first["loc"])
        raise FileError(f"{file}, {where or 'as a whole'}: {first['msg']}.") from None


# ------------------------------------------------------------------------------- scores


def score(
    rows: Iterable[Row], given: Sequence[Answer], right: Mapping[int, Answer]
) -> dict[str, Any]:
    """How many answers are right, of the rows that have a right one; all and by order."""
    total, correct = Counter[int](), Counter[int]()
    for row in rows:
        if row.number in right:
            total[row.asked.order] += 1
            correct[row.asked.order] += given[row.number] == right[row.number]
    return {
        "correct": correct.total(),
        "total": total.total(),
        "by_order": {
            str(order): {"correct": correct[order], "total": total[order]}
            for order in sorted(total)
        },
    }


def labels(rows: Iterable[Row]) -> dict[int, Answer]:
    """The released labels by row number."""
    return {row.number: row.label for row in rows if row.labelled}


def score_of_labels(rows: Sequence[Row], given: Sequence[Answer]) -> dict[str, Any]:
    """Agreement with the released labels, and what nobody can exceed who answers a question the
    same way twice: the labels contradict each other."""
    released = labels(rows)
    styles = sorted({row.style for row in rows if row.labelled})
    copies = [[row.label for row in same if row.labelled] for same in _copies(rows)]
    most = sum(max(Counter(own).values()) for own in copies if own)
    return score(rows, given, released) | {
        "by_prompting_style": {
            style: score([row for row in rows if row.style == style], given, released)
            for style in styles
        },
        "ceiling": {"correct": most, "total": len(released)},
        "distinct_questions": len(copies),
        "with_two_labels": sum(len(set(own)) > 1 for own in copies),
    }


def _copies(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows that ask the same question about the same story, together."""
    found: dict[tuple[tuple[str, ...], Question], list[Row]] = {}
    for row in rows:
        found.setdefault((row.story, row.asked), []).append(row)
    return list(found.values())


def summary(report: Mapping[str, Any]) -> str:
    """A report for people."""
    released = report["released_labels"]
    told = [
        f"Hi-ToM, {report['system']} (stories read by {report['extractor']}, {report['seconds']} s)",
        "",
        f"{'':26}{'all':>22}" + "".join(f"{'order ' + order:>11}" for order in report["by_order"]),
        _line(report["against"], report),
    ]
    if report["against"] != "released labels":
        told.append(_line("released labels", released))
    told += [_line(f"  {style}", own) for style, own in released["by_prompting_style"].items()]
    top = released["ceiling"]
    if released["with_two_labels"]:
        told += [
            "",
            f"{top['total']} labels on {released['distinct_questions']} distinct questions, "
            f"{released['with_two_labels']} of which carry two different labels: no system that",
            "answers a question the same way twice can agree with more than "
            f"{top['correct']} of them ({top['correct'] / top['total']:.1%}).",
        ]
    return "\n".join(told) + "\n"


def _line(name: str, one: Mapping[str, Any]) -> str:
    def part(of: Mapping[str, int]) -> str:
        return f"{of['correct']}/{of['total']}"

    share = f"{part(one)} ({one['correct'] / one['total']:.2%})" if one["total"] else "none"
    return f"{name:26}{share:>22}" + "".join(f"{part(o):>11}" for o in one["by_order"].values())


# ------------------------------------------------------------------------------- the audit


class _Case(NamedTuple):
    """A row with what the rules, and the authors' code before its fix, say about it."""

    row: Row
    ours: Answer
    reference: Held | None
    permuted: Held | None
    known_places: frozenset[str]

    @property
    def contradicts(self) -> bool:
        return self.row.label != _place(self.reference)


_OPENING = """\
# Hi-ToM: released labels that contradict the benchmark's own rules

Written by `python -m tests.evals.hitom --data FILE --audit tests/evals/results/LABEL_ERRORS.md`; not
edited by hand. Questions and labels are quoted from the Hi-ToM data (He et al., "Hi-ToM: A Benchmark
for Evaluating Higher-Order Theory of Mind Reasoning in Large Language Models", EMNLP 2023 Findings;
https://github.com/ying-hui-he/Hi-ToM_dataset, Apache-2.0). The stories are not repeated here.
"""

_METHOD = """\
*Row* counts from 0 in the data file. *Reference* is a brute-force replay of the story by the rules
(`tests/evals/hitom_replay.py`: what every chain of people believes, after every line). *Ours* is what
the engine answered from the database in the run that wrote this file. *Line* is the story line that
decides the reference: the last one that addresses the chain.

## Why they are wrong

Until a commit of 2023-06-12 ("fix permutation bug", `9117f35d`) the authors' code updated a nested
belief on a *move* only where the people of the chain came in one fixed order (those still in the room
as they had entered, the mover last); on entering and on stating, every order was updated. A replay
with that mistake put back ("the old code" below) says which labels come from there:
"""


def audit(rows: Sequence[Row], given: Sequence[Answer]) -> str:
    """The labels that contradict the rules, as Markdown; the same data give the same text."""
    cases = _cases(rows, given)
    wrong = [case for case in cases if case.contradicts]
    pairs = [same for same in _copies(rows) if len({row.label for row in same}) > 1]
    by_number = {case.row.number: case for case in cases}
    return "\n".join(
        [
            _OPENING,
            *_counts(cases, wrong, pairs),
            "",
            _METHOD,
            *_causes(cases),
            "",
            f"## The {len(wrong)} labels",
            "",
            "| row | style | order | question | released label | reference | ours | line | why |",
            "|--:|---|--:|---|---|---|---|--:|---|",
            *(_entry(case) for case in wrong),
            "",
            f"## The {len(pairs)} questions with two different labels",
            "",
            "| rows | question | labels | reference |",
            "|---|---|---|---|",
            *(_pair(pair, by_number) for pair in pairs),
            "",
        ]
    )


def _cases(rows: Sequence[Row], given: Sequence[Answer]) -> list[_Case]:
    """The labelled rows. Raises StoryError."""
    tables: dict[tuple[str, ...], tuple[Table, Table, dict[str, set[str]]]] = {}
    found: list[_Case] = []
    for row in rows:
        if not row.labelled:
            continue
        if row.story not in tables:
            story = sentences(row.story_text)
            places: dict[str, set[str]] = {}
            for said in story:
                if (thing := getattr(said, "thing", None)) is not None:
                    places.setdefault(thing, set()).add(getattr(said, "place", ""))
            tables[row.story] = Table(story), Table(story, permuted=True), places
        table, old, places = tables[row.story]
        found.append(
            _Case(
                row,
                given[row.number],
                table.answer(row.asked),
                old.answer(row.asked),
                frozenset(places.get(row.asked.thing, ())),
            )
        )
    return found


def _counts(
    cases: Sequence[_Case], wrong: Sequence[_Case], pairs: Sequence[Sequence[Row]]
) -> list[str]:
    styles = sorted({case.row.style for case in cases})
    orders = sorted({case.row.asked.order for case in cases})
    distinct = len(_copies(case.row for case in cases))
    agree = sum(case.ours == _place(case.reference) for case in cases)
    told = [
        f"**{len(wrong)} of {len(cases)} labels differ from the reference.** We agree with the "
        f"reference in {agree} of {len(cases)} rows.",
        f"**{len(pairs)} of the {distinct} distinct questions carry two different labels**, so no "
        "system that answers a question",
        "the same way twice can agree with more than "
        f"{len(cases) - sum(_fewest(pair) for pair in pairs)} of the {len(cases)} labels.",
        "",
        "| wrong labels | " + " | ".join(f"order {order}" for order in orders) + " | all |",
        "|---|" + "--:|" * (len(orders) + 1),
    ]
    for name, some in (
        *((style, [case for case in wrong if case.row.style == style]) for style in styles),
        ("all", list(wrong)),
    ):
        by_order = Counter(case.row.asked.order for case in some)
        told.append(
            f"| {name} | " + " | ".join(str(by_order[o]) for o in orders) + f" | {len(some)} |"
        )
    return told


def _fewest(pair: Sequence[Row]) -> int:
    return len(pair) - max(Counter(row.label for row in pair).values())


def _causes(cases: Sequence[_Case]) -> list[str]:
    told: list[str] = []
    for style in sorted({case.row.style for case in cases}):
        own = [case for case in cases if case.row.style == style]
        old = [case for case in own if case.row.label == _place(case.permuted)]
        edited = [case for case in own if case.row.label != _place(case.permuted)]
        line = (
            f"* **{style}**: {len(old)} of {len(own)} labels equal the old code's output, "
            f"{sum(case.contradicts for case in old)} of them wrong."
        )
        if edited:
            bad = [case for case in edited if case.contradicts]
            spoilt = sum(_place(case.permuted) == _place(case.reference) for case in bad)
            line += (
                f" The other {len(edited)} were changed afterwards: {len(edited) - len(bad)} are "
                f"right, {len(bad)} are not, and {spoilt} of those replaced a label that had been "
                "right."
            )
        told.append(line)
    return told


def _entry(case: _Case) -> str:
    row = case.row
    line = case.reference.line if case.reference else "-"
    return (
        f"| {row.number} | {row.style} | {row.asked.order} | {row.text} | {_shown(row.label)} "
        f"| {_shown(_place(case.reference))} | {_shown(case.ours)} | {line} | {_why(case)} |"
    )


def _why(case: _Case) -> str:
    if case.row.label == _place(case.permuted):
        at = f"at line {case.permuted.line}" if case.permuted else "nowhere"
        return f"old code: it stopped {at}"
    why = "changed afterwards"
    if _place(case.permuted) == _place(case.reference):
        why += "; the old code was right"
    else:
        why += f"; the old code said {_shown(_place(case.permuted))}"
    if case.row.label is not None and case.row.label not in case.known_places:
        why += f"; a place where no {case.row.asked.thing} ever was or was said to be"
    return why


def _pair(pair: Sequence[Row], by_number: Mapping[int, _Case]) -> str:
    numbers = ", ".join(str(row.number) for row in pair)
    reference = _place(by_number[pair[0].number].reference)
    shown = ", ".join(
        f"{_shown(row.label)} ({row.style}{'' if row.label == reference else ', wrong'})"
        for row in pair
    )
    return f"| {numbers} | {pair[0].text} | {shown} | {_shown(reference)} |"


def _place(held: Held | None) -> Answer:
    return held.place if held else None


def _shown(answer: Answer) -> str:
    return "no belief" if answer is None else f"`{answer}`"
