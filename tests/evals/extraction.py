"""How much of what people state an extractor finds, and how much of what it finds they stated.

    python -m tests.evals.extraction --cases FILE [--extractor rules|claude] [--predictions OUT] [--json]

A line of FILE is a case: `{"id", "people": [{"id", "name"}], "entities": [{"id", "name", "aliases",
"current_value"}], "messages": [{"id", "author", "room", "thread", "at", "text"}], "want":
[statements]}`. A statement is `{"kind", "message", "speaker", "about", "addressees", "entity": id or
"new:<name>", "value", "decides", "quote"}`. `thread` is the id of the thread's first message or
null; a room `dm:<id>` is a direct message; `"app": true` marks a program's message, out of which
nothing is read unless `--apps` names the program. `kind` is `say` (`tell` in a direct message) or
`report`. How statements are matched stands at the top of extraction_score.py.

OUT gets a line for each case, and for each line with an id that is none, in their order: `{"id", "got": [statements]}`.

Whence a model's answers come says answering.py; the name of a case in such files is its id, that of
the messages of its second room `["<id>",2]` (`name_of` in extraction_cases.py).
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple, NoReturn

import typer
from rich.console import Console
from rich.progress import track

from engine.errors import InvalidInput
from extraction.rules import Rules
from tests.evals import extraction_score as score
from tests.evals.answering import KEY, Answering, Record, Replay, Requests
from tests.evals.extraction_cases import (
    Case,
    CaseError,
    Extract,
    Found,
    Stated,
    Unread,
    found,
    predictions,
    read_cases,
)

EXTRACTORS = ("rules", "claude")
AT_ONCE = 8  # cases that a model reads at the same time


class Reader(NamedTuple):
    """Who reads the cases; `windowed` as in `Extractor`. `at_once`: how many at the same time."""

    extract: Extract
    windowed: bool
    at_once: int = 1


def rules() -> Reader:
    reads = Rules()
    return Reader(lambda window, name: reads.extract(window), windowed=reads.windowed)


def model(how: Answering) -> Reader:
    """Claude, or what it once answered. Raises InvalidInput for a file that cannot be used."""
    from extraction.claude import claude  # seconds, which the rules need not wait for

    reads = claude(
        how.asking_key,
        answers=how.answers(),
        wanted=how.wanted(),
        offline=how.offline,
        scribes=None,  # what the cases hold is whether it was understood who said it
    )
    return Reader(reads.extract, windowed=reads.windowed, at_once=AT_ONCE if how.asks else 1)


def read(
    cases: Sequence[Case],
    reader: Reader,
    apps: frozenset[str] = frozenset(),
    watch: Callable[[Iterator[Found], int], Iterable[Found]] = lambda found, cases: found,
) -> list[Found]:
    """What is stated in each case, in their order."""

    def one(case: Case) -> Found:
        return found(case, reader.extract, windowed=reader.windowed, apps=apps)

    if reader.at_once == 1:
        return list(watch(map(one, cases), len(cases)))
    with ThreadPoolExecutor(reader.at_once) as pool:
        return list(watch(pool.map(one, cases), len(cases)))


def scored(cases: Sequence[Case], got: Sequence[Sequence[Stated]]) -> dict[str, object]:
    """The figures of a run. A case that says nothing of what is wanted is read and not scored."""
    pairs = [
        pair
        for case, stated in zip(cases, got, strict=True)
        if case.want is not None
        for pair in score.pairs(case, stated)
    ]
    return score.figures(pairs)


# ------------------------------------------------------------------------------- the command

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def command(
    cases_file: Annotated[Path, typer.Option("--cases", help="The cases, one JSON line each.")],
    extractor: Annotated[
        str, typer.Option(help=f"Who reads them: {', '.join(EXTRACTORS)}.")
    ] = "rules",
    predictions_file: Annotated[
        Path | None, typer.Option("--predictions", help="Write there what was found.")
    ] = None,
    apps: Annotated[
        str, typer.Option(help="Programs whose messages count: ids or names, with commas.")
    ] = "",
    record: Record = None,
    replay: Replay = None,
    requests: Requests = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score an extractor on cases: precision, recall, by kind, and every miss.

    Exit status: 0 scored, whatever the score; 1 a file is no good; 2 wrong usage.
    """
    how = Answering(os.environ.get(KEY), record, replay, requests)
    if refused := how.refused(extractor, EXTRACTORS):
        _refuse(refused)
    if predictions_file is not None and not predictions_file.parent.is_dir():
        _refuse(f"--predictions: there is no folder {predictions_file.parent} to write into.")
    named = frozenset(name.strip() for name in apps.split(",")) - {""}
    begun = time.monotonic()
    try:
        cases, unread = read_cases(cases_file)
        read_by = rules() if extractor == "rules" else model(how)
        found = read(cases, read_by, named, _progress)
        if predictions_file is not None:
            written = predictions(cases, [one.stated for one in found], unread)
            predictions_file.write_text(written, "utf-8")
    except (CaseError, InvalidInput) as problem:
        _refuse(str(problem), 1)
    except OSError as problem:
        _refuse(f"{problem.filename}: {problem.strerror}", 1)
    unread += [
        Unread(case.line, why) for case, one in zip(cases, found, strict=True) for why in one.unread
    ]
    figures = {
        "cases": len(cases),
        "messages": sum(len(case.passages) for case in cases),
        "extractor": extractor,
        "seconds": round(time.monotonic() - begun, 1),
        **scored(cases, [one.stated for one in found]),
        "held": dict(Counter(why for one in found for why in one.held)),
        "unread": [one._asdict() for one in unread],
    }
    _print(json.dumps(figures, indent=2) + "\n" if as_json else score.summary(figures))


def _print(text: str) -> None:
    """Whatever the cases hold, on whatever terminal."""
    coding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(coding, "backslashreplace").decode(coding))


def _refuse(why: str, status: int = 2) -> NoReturn:
    sys.stderr.write(why + ("" if why.endswith((".", "?")) else ".") + "\n")
    raise typer.Exit(status)


def _progress(found: Iterator[Found], cases: int) -> Iterator[Found]:
    """A bar on a terminal, and nothing anywhere else."""
    console = Console(stderr=True)
    yield from track(
        found, "Cases", total=cases, console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip


def main() -> None:
    app(prog_name="python -m tests.evals.extraction")


if __name__ == "__main__":
    main()
