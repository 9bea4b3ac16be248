"""Hi-ToM (order 0 to 4 of "where does A think B thinks …"), answered from FalkorDB by the engine.

    python -m tests.evals.hitom --data FILE [--answers FILE] [--ablation flat|no-nesting] [--json]

Each story is read into events, the events are recorded, and each question is one read. The answers
are scored against `--answers` (else against the released labels) and always against the released
labels too, which contradict each other: see results/LABEL_ERRORS.md. Two systems that know less run
through the same harness and the same database: `flat` answers with the truth, `no-nesting` with what
the outermost person believes.

`--extractor claude` has a model read the stories (any prose that tells one will do); whence its answers
come says answering.py. A question about a story that was not read counts as answered wrong.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import track

from engine import Memory, SecondOrderError
from engine.errors import Unknown
from engine.events import Event
from engine.server import Server
from tests.evals import hitom_report as report
from tests.evals.answering import KEY, Answering, Record, Replay, Requests
from tests.evals.hitom_report import Answer, FileError, Row
from tests.evals.hitom_stories import Extractor, Question, StoryError, template

EXTRACTORS = ("template", "claude")
"""Who can read a story into events: the benchmark's own grammar, or a model."""

UNREAD = ""
"""The answer to a question about a story that could not be read: never the right one."""

type Opens = Callable[[str], Memory]
"""Opens the workspace of that name, with Hi-ToM's policy."""


class System(StrEnum):
    """Who answers. The ablations leave out what they are named after."""

    full = "full"
    flat = "flat"
    no_nesting = "no-nesting"


class Ablation(StrEnum):
    flat = "flat"
    no_nesting = "no-nesting"


# ------------------------------------------------------------------------------- the run


def answers(
    rows: Sequence[Row],
    opens: Opens,
    *,
    extractor: Extractor = template,
    system: System = System.full,
    lenient: bool = False,
    watch: Callable[[Sequence[str]], Iterator[str]] = iter,
) -> list[Answer]:
    """What the system answers to each row, in their order; raises FileError for a story that cannot be
    read, or, if `lenient`, answers UNREAD.

    Each distinct story is recorded once, in a workspace named after its events: to run again over
    the same database is to record nothing new.
    """
    of_story: dict[str, list[Row]] = {}
    for row in rows:
        of_story.setdefault(row.story_text, []).append(row)
    given: dict[int, Answer] = {}
    for story in watch(list(of_story)):
        asked = of_story[story]
        try:
            events = extractor(story)
        except StoryError as problem:
            if not lenient:
                raise FileError(f"Row {asked[0].number}: {problem}.") from None
            given |= {row.number: UNREAD for row in asked}
            continue
        with opens(name_of(events)) as memory:
            for event in events:
                memory.record(event)
            for row in asked:
                given[row.number] = answer(memory, row.asked, system)
    return [given[row.number] for row in rows]


def answer(memory: Memory, asked: Question, system: System = System.full) -> Answer:
    """Where the thing is, in truth or in somebody's mind; None is no belief. One read."""
    try:
        if not asked.chain or system is System.flat:
            return memory.truth(asked.thing).value
        chain = asked.chain[:1] if system is System.no_nesting else asked.chain
        return memory.believes(chain, asked.thing).value
    except Unknown:  # somebody or something that the story never brings in
        return None


def model(how: Answering) -> Extractor:
    """Claude, or what it once answered. Raises InvalidInput for a file that cannot be used."""
    from extraction.claude import Model, connect  # seconds, which the grammar need not wait for
    from tests.evals.hitom_claude import reader

    client = connect(how.asking_key) if how.asking_key and not how.offline else None
    return reader(Model(client, answers=how.answers(), wanted=how.wanted(), offline=how.offline))


def name_of(events: Sequence[Event]) -> str:
    """The workspace of these events, and of no others."""
    told = "\n".join(event.model_dump_json() for event in events)
    return f"hitom-{hashlib.sha256(told.encode()).hexdigest()[:20]}"


def scored(
    rows: Sequence[Row], given: Sequence[Answer], right: Mapping[int, Answer]
) -> dict[str, Any]:
    """The figures of a run: against the right answers, and against the released labels."""
    return report.score(rows, given, right) | {
        "released_labels": report.score_of_labels(rows, given)
    }


# ------------------------------------------------------------------------------- the command

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def command(
    data: Annotated[Path, typer.Option(help="Questions, laid out as Hi-ToM_data.json.")],
    answers_file: Annotated[
        Path | None,
        typer.Option(
            "--answers", help="Reference answers: index, question, reference_answer (may be null)."
        ),
    ] = None,
    ablation: Annotated[
        Ablation | None,
        typer.Option(help="Leave out the beliefs (flat), or all but the outermost person's."),
    ] = None,
    extractor: Annotated[
        str, typer.Option(help=f"Who reads the stories: {', '.join(EXTRACTORS)}.")
    ] = "template",
    audit: Annotated[
        Path | None,
        typer.Option(help="Write there which released labels contradict the rules, and why."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Keep the memory in this folder (default: a temporary one)."),
    ] = None,
    redis_url: Annotated[
        str | None, typer.Option(help="Use this FalkorDB instead of an embedded one.")
    ] = None,
    record: Record = None,
    replay: Replay = None,
    requests: Requests = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score the engine on Hi-ToM's questions.

    Exit status: 0 scored, whatever the score; 1 a file or the database is no good; 2 wrong usage.
    """
    how = Answering(os.environ.get(KEY), record, replay, requests)
    if refused := how.refused(extractor, EXTRACTORS):
        _refuse(refused)
    if state is not None and redis_url is not None:
        _refuse("--state and --redis-url name two databases: give one.")
    if audit is not None and ablation is not None:
        _refuse("--audit shows what the full system answers: leave --ablation out.")
    if audit is not None and not audit.parent.is_dir():
        _refuse(f"--audit: there is no folder {audit.parent} to write into.")
    system = System(ablation or "full")
    begun = time.monotonic()
    try:
        rows = report.read_rows(data)
        right = report.read_answers(answers_file, rows) if answers_file else report.labels(rows)
        if not right:
            raise FileError(f"{data} has no labels to score against: give --answers.")
        with _database(state, redis_url) as opens:
            given = answers(
                rows,
                opens,
                extractor=template if extractor == "template" else model(how),
                system=system,
                lenient=extractor != "template",
                watch=_progress,
            )
        if audit is not None:
            audit.write_text(report.audit(rows, given), "utf-8")
    except (FileError, SecondOrderError, OSError) as problem:
        _refuse(str(problem), 1)
    figures = scored(rows, given, right) | {
        "system": system.value,
        "extractor": extractor,
        "unread": given.count(UNREAD),
        "against": answers_file.name if answers_file else "released labels",
        "seconds": round(time.monotonic() - begun, 1),
    }
    sys.stdout.write(json.dumps(figures, indent=2) + "\n" if as_json else report.summary(figures))


def _refuse(why: str, status: int = 2) -> NoReturn:
    sys.stderr.write(why + ("" if why.endswith((".", "?")) else ".") + "\n")
    raise typer.Exit(status)


@contextmanager
def _database(state: Path | None, url: str | None) -> Iterator[Opens]:
    """Where the workspaces are; a temporary one goes with everything in it."""
    if url is not None:
        yield partial(Memory, url=url, policy="exit_order")
        return
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        where = state or Path(folder)
        with Server(where):
            yield partial(Memory, state=where, policy="exit_order")


def _progress(stories: Sequence[str]) -> Iterator[str]:
    """A bar on a terminal, and nothing anywhere else."""
    console = Console(stderr=True)
    yield from track(
        stories, "Stories", console=console, transient=True, disable=not console.is_terminal
    )


def main() -> None:
    app(prog_name="python -m tests.evals.hitom")


if __name__ == "__main__":
    main()
