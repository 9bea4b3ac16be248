"""The command line, and the only place where settings meet adapters meet the engine.

Exit status: 0 done, 1 the answer is a clear error (one sentence on standard error), 2 wrong usage.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
import typer
from pydantic import BaseModel
from rich.console import Console as Terminal
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from bot import backlog, doctor, questions, render
from bot.adapters import exports
from bot.adapters.console import HELP, Console, Quit
from bot.app import Bot, Rules, begin_replay, end_replay, replay
from bot.chat import Command, Message, Workspace
from bot.health import Health
from bot.house import House, Ways
from bot.inbox import Inbox, Pace, reconsider
from bot.perception import Crowds
from config.settings import BadSetting, Settings, load
from engine import InvalidInput, Memory, PersonInfo, SecondOrderError, UnknownPerson, workspaces
from engine.beliefs import ErrorBody, Failure, Standing
from extraction import Extractor, rules, words

ACME = Path(__file__).resolve().parent.parent / "examples" / "acme" / "workspace"

app = typer.Typer(
    help="Knows who knows what in your workspace.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

State = Annotated[
    Path | None,
    typer.Option("--state", help="The folder of the embedded memory.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Which = Annotated[
    str | None,
    typer.Option(
        "--workspace", help="Which workspace, where there are several.", show_default=False
    ),
]


def main() -> None:
    _open_streams()
    app(prog_name="secondorder")


# ------------------------------------------------------------------------------- commands


@app.command("demo")
def demo_command(
    prompt: Annotated[
        bool, typer.Option("--prompt/--no-prompt", help="Ask on at a prompt.")
    ] = True,
) -> None:
    """Replay the Acme workspace and show the four questions answered."""
    with _answering(False), tempfile.TemporaryDirectory(prefix="so-") as folder:
        settings = _settings()
        workspace = exports.read(ACME)
        with Memory(workspace.id, state=folder) as memory:
            bot = _bot(memory, settings)
            _print(
                f"Acme: {len(workspace.rooms)} rooms, {len(workspace.people)} people. Replaying …"
            )
            replay(bot, workspace)
            for who, command in DEMO:
                _show_question(memory, settings, who, command)
            if prompt:
                _converse(memory, bot, settings, workspace)


DEMO = (
    ("priya", "/whoknows decision-42"),
    ("priya", "/misinformed decision-42"),
    ("priya", "/announce-plan decision-42"),
    ("joerg", "/handoff @joerg @zoe"),
)


@app.command("replay")
def replay_command(
    export: Annotated[Path, typer.Argument(help="A Slack or Discord export: a folder or a file.")],
    state: State = None,
    model: Annotated[
        bool,
        typer.Option(
            "--model", help="Have Claude read it as well; without this, nothing leaves the machine."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Read a workspace's own history into the memory; reading it again changes nothing."""
    with _answering(as_json):
        settings = _settings()
        if model and not settings.anthropic_api_key:
            raise InvalidInput("--model needs a key: set SECONDORDER_ANTHROPIC_API_KEY.")
        with _progress("Reading") as progress:
            workspace = exports.read(export, progress)
        with _memory(settings, state, workspace.id) as memory:
            with _progress("Remembering") as progress:
                left = _replay(memory, settings, workspace, progress, model)
            standing = questions.standing(memory)
            unread = [one.model_dump() for one in workspace.unread]
            if as_json:
                counts = standing.model_dump(exclude={"workspace", "inbox"})
                _print_json(
                    counts
                    | {
                        "events": memory.counts()["events"],
                        "changes": _changes(memory),
                        "unread": unread,
                    }
                )
                return
            page = render.history(
                standing, memory.timelines(), memory.late_uses(), _style(memory, None)
            )
            _print(render.text(page))
            for one in workspace.unread[:20]:
                _warn(f"Not read: {one.file}: {one.why}")
            if len(workspace.unread) > 20:
                _warn(f"… and {len(workspace.unread) - 20} more; --json lists them all.")
            if left:
                _warn(f"{left} messages wait to be read; the same command goes on with them.")


def _replay(
    memory: Memory,
    settings: Settings,
    workspace: Workspace,
    progress: Callable[[int, int], None],
    model: bool,
) -> int:
    """How many messages could not be read yet."""
    if not model:
        replay(_bot(memory, settings), workspace, progress)
        return 0
    bot, total = _bot(memory, settings, model=True), len(workspace.heard)
    begin_replay(bot, workspace)
    at_once = _pace(settings)._replace(grace=0.0, quiet=0.0, patience=0.0)
    inbox = Inbox(memory, bot, at_once)
    try:
        left = inbox.take_in(workspace.heard, lambda done: progress(done, total))
    finally:
        inbox.close()
    end_replay(bot)
    return left


def _changes(memory: Memory) -> int:
    return sum(len(one.changes) - 1 for one in memory.timelines() if one.changes)


@app.command("ask")
def ask_command(
    command: Annotated[list[str], typer.Argument(help="For example: /whoknows decision-42")],
    who: Annotated[str, typer.Option("--as", help="Who asks: an id, a handle or a name.")],
    state: State = None,
    workspace: Which = None,
    as_json: Json = False,
) -> None:
    """Ask one question as somebody, with that person's rights."""
    with _answering(as_json), _remembered(state, workspace) as (settings, memory):
        person = questions.asker(memory, who)
        name, _, text = " ".join(command).strip().partition(" ")
        asked = Command(name=name, text=text, who=person.id, room="", at=datetime.now(UTC))
        answer = questions.answer(memory, asked, _crowds(settings))
        if as_json:
            _print_model(answer)
        else:
            style = _style(memory, person)
            page = render.page(answer, style)
            if not isinstance(answer, Standing):  # which says so itself
                page = render.behind(page, backlog.behind(memory), style)
            _print(render.text(page))


@app.command("status")
def status_command(state: State = None, workspace: Which = None, as_json: Json = False) -> None:
    """Say what is remembered."""
    with _answering(as_json), _remembered(state, workspace) as (_, memory):
        standing = questions.standing(memory)
        if as_json:
            _print_model(standing)
        else:
            _print(render.text(render.page(standing, _style(memory, None))))


@app.command("retry")
def retry_command(
    keys: Annotated[
        list[str] | None, typer.Argument(help="Which messages, by key (default: all).")
    ] = None,
    state: State = None,
    workspace: Which = None,
    as_json: Json = False,
) -> None:
    """Have messages that were set aside read again; `status` names them."""
    with _answering(as_json), _remembered(state, workspace) as (_, memory):
        number = backlog.put_back(memory, keys or ())
        if as_json:
            _print_json({"retried": number})
        elif number:
            _print(f"{number} {'message is' if number == 1 else 'messages are'} read again.")
        else:
            _print("Nothing of that was set aside.")


@app.command("review")
def review_command(
    again: Annotated[
        bool, typer.Option("--again", help="Judge them once more, as things stand now.")
    ] = False,
    state: State = None,
    workspace: Which = None,
    as_json: Json = False,
) -> None:
    """Show what was read and is not believed, with the reasons."""
    with _answering(as_json), _remembered(state, workspace) as (settings, memory):
        believed = 0
        if again:
            bot = _bot(memory, settings)
            bot.begin_anew()
            believed = reconsider(memory, bot)
        left = questions.standing(memory).inbox.review
        if as_json:
            shown = [one.model_dump(mode="json") for one in left]
            _print_json({"believed": believed, "review": shown})
        else:
            _print(render.text(render.review(left, believed, _style(memory, None))))


@app.command("doctor")
def doctor_command(state: State = None, as_json: Json = False) -> None:
    """Say what works here, what is missing and what to do about it."""
    with _answering(as_json):
        findings = list(doctor.findings(load, lambda s: _place(s, state)))
        with suppress(BadSetting):  # which the findings say
            findings += _slack_findings(load(), state)
        if as_json:
            _print_json({"findings": [finding._asdict() for finding in findings]})
        else:
            for finding in findings:
                _print(f"{'ok ' if finding.ok else 'NO '} {finding.what}: {finding.says}")
        if not all(finding.ok for finding in findings):
            raise typer.Exit(1)


def _slack_findings(settings: Settings, state: Path | None) -> list[doctor.Finding]:
    """What is missing to connect with Slack, where somebody means to."""
    if not (settings.slack_bot_token or settings.slack_app_token or settings.slack_client_id):
        return []
    if missing := doctor.missing_for_slack(settings):
        return [doctor.Finding("Slack", False, missing)]
    from bot.adapters.slack import checked

    return [doctor.Finding(*one) for one in asyncio.run(checked(_slack(settings, state)))]


@app.command("run")
def run_command(state: State = None) -> None:
    """Connect to Slack, and stay up until told to stop."""
    with _answering(False):
        settings = _settings()
        if missing := doctor.missing_for_slack(settings):
            raise InvalidInput(missing)
        _log_as_json()
        asyncio.run(_run(settings, state))


async def _run(settings: Settings, state: Path | None) -> None:
    """Everything that stays up, until a signal; then it ends in order."""
    from bot.adapters.slack import Slack  # with its SDK: what does not connect need not wait for it

    stop, houses = asyncio.Event(), dict[str, House]()
    for signum in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has no such handlers
            asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    health = Health(houses, lambda: slack.silent_for)

    async def opened(workspace: str) -> House:
        memory = await asyncio.to_thread(_memory, settings, state, workspace)
        bot = _bot(memory, settings, model=settings.anthropic_api_key is not None)
        measured = partial(health.timed, workspace)
        houses[workspace] = House(
            memory, bot, _ways(settings), measured, health.listening(workspace)
        )
        return houses[workspace]

    async def begun(team: Any) -> None:
        await houses[team.own.workspace].begin(team, team.own.user)

    slack = Slack(_slack(settings, state), opened, begun=begun)
    served = await health.serve(settings.health_port) if settings.health_port else None
    try:
        await slack.run(stop)
    finally:
        for house in houses.values():
            await house.close()
        if served is not None:
            await served.cleanup()


def _slack(settings: Settings, state: Path | None) -> Any:
    from bot.adapters.slack import Setup

    return Setup(
        bot_token=settings.slack_bot_token or "",
        app_token=settings.slack_app_token or "",
        signing_secret=settings.slack_signing_secret or "",
        public_url=settings.public_url or "",
        host=settings.http_host,
        port=settings.http_port,
        client_id=settings.slack_client_id or "",
        client_secret=settings.slack_client_secret or "",
        installs=(state or settings.state) / "slack",
        api_url=settings.slack_api_url,
        commands=settings.slack_commands,
    )


def _ways(settings: Settings) -> Ways:
    notice = timedelta(minutes=settings.shift_notice)
    return Ways(_pace(settings), _crowds(settings), settings.digests, settings.shifts, notice)


def _log_as_json() -> None:
    """One JSON object a line on standard error; what people wrote is in none."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(20),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


# ------------------------------------------------------------------------------- putting together


def _settings() -> Settings:
    """The settings; what sets nothing is said, since it is probably a typo."""
    settings = load()
    for warning in settings.warnings:
        _warn(warning)
    return settings


def _bot(memory: Memory, settings: Settings, *, model: bool = False) -> Bot:
    team = Rules(frozenset(settings.apps), _crowds(settings), settings.quotes)
    reads = _rules(settings)
    return Bot(memory, _claude(memory, settings, reads) if model else reads, team)


def _claude(memory: Memory, settings: Settings, reads: rules.Rules) -> Extractor:
    from extraction.claude import claude  # seconds, which those without it need not wait for

    return claude(
        settings.anthropic_api_key,
        base_url=settings.anthropic_url,
        sort_model=settings.sort_model,
        read_model=settings.read_model,
        prices=settings.model_prices,
        cap=settings.daily_cap,
        so_far=backlog.spent_on(memory, datetime.now(UTC).date()),
        recorder=backlog.recorder(memory),
        rules=reads,
        scribes=None,  # the bot judges what they report itself: it knows which programs may speak
        answers=backlog.Answered(memory),
    )


def _rules(settings: Settings) -> rules.Rules:
    stop = (*words.STOP, *settings.stop_words)
    settled = {
        language: (*words.SETTLED.get(language, ()), *settings.settled_words.get(language, ()))
        for language in {*words.SETTLED, *settings.settled_words}
    }
    return rules.Rules(stop=stop, settled=settled)


def _pace(settings: Settings) -> Pace:
    return Pace(
        grace=settings.grace,
        quiet=settings.quiet,
        patience=settings.patience,
        readers=settings.readers,
        tries=settings.tries,
        most=settings.waiting,
    )


def _crowds(settings: Settings) -> Crowds:
    return Crowds(settings.crowd, settings.crowds)


def _place(settings: Settings, state: Path | None) -> dict[str, Any]:
    """Where the memory lives: a folder that was named, else a server, else the usual folder."""
    if state is None and settings.redis_url:
        return {"url": settings.redis_url}
    return {"state": state or settings.state}


def _memory(settings: Settings, state: Path | None, workspace: str) -> Memory:
    return Memory(workspace, **_place(settings, state))


@contextmanager
def _remembered(state: Path | None, workspace: str | None) -> Iterator[tuple[Settings, Memory]]:
    """The settings, and the memory of a workspace that was read before."""
    settings = _settings()
    with _memory(settings, state, _chosen(settings, state, workspace)) as memory:
        yield settings, memory


def _chosen(settings: Settings, state: Path | None, workspace: str | None) -> str:
    where = _place(settings, state)
    known = workspaces(**where) if "url" in where or where["state"].exists() else ()
    if not known:
        raise UnknownPerson(
            "Nothing has been read into this memory yet: `secondorder replay EXPORT` does that."
        )
    if workspace is not None and workspace not in known:
        raise InvalidInput(f"There is no workspace {workspace!r}; there are: {', '.join(known)}.")
    if workspace is None and len(known) > 1:
        raise InvalidInput(f"Say which workspace with --workspace: {', '.join(known)}.")
    return workspace or known[0]


def _style(memory: Memory, person: PersonInfo | None) -> render.Style:
    """A sentence may point to a room whose name the reader may not read."""
    rooms = memory.rooms()
    readable = memory.reader(person.id).rooms if person else {room.id for room in rooms}
    names = {p.id: p.name for p in memory.people()}
    names |= {room.id: room.name for room in rooms if room.id in readable}
    return render.Style(_zone(person.zone if person else ""), names)


def _zone(name: str) -> Any:
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


# ------------------------------------------------------------------------------- the demo's prompt


def _show_question(memory: Memory, settings: Settings, who: str, command: str) -> None:
    person = questions.asker(memory, who)
    name, _, text = command.partition(" ")
    asked = Command(name=name, text=text, who=person.id, room="", at=datetime.now(UTC))
    _print(f"\n{person.name}> {command}", bold=True)
    page = render.page(questions.answer(memory, asked, _crowds(settings)), _style(memory, person))
    _print(render.text(page))


def _converse(memory: Memory, bot: Bot, settings: Settings, workspace: Workspace) -> None:
    """Reads lines until the end, each answered before the next; an error is one sentence."""
    last = max((heard.at for heard in workspace.heard), default=datetime.now(UTC))
    console = Console(workspace.people, workspace.rooms, lambda: datetime.now(UTC), last)
    _print(f"\nNow you are anyone. For example:\n{HELP}\n")
    while True:
        try:
            line = _typed(console.prompt)
            if line is None:
                return
            _respond(console.hear(line), memory, bot, settings)
        except Quit:
            return
        except SecondOrderError as error:
            _warn(_sentence(error))


def _typed(prompt: str) -> str | None:
    try:
        return input(render.plain(prompt) + " " if sys.stdin.isatty() else "")
    except (EOFError, KeyboardInterrupt):
        return None


def _respond(heard: Any, memory: Memory, bot: Bot, settings: Settings) -> None:
    match heard:
        case None:
            return
        case str():
            _print("\n".join(map(render.plain, heard.splitlines())))
        case Command():
            person = next(p for p in memory.people() if p.id == heard.who)
            answer = questions.answer(memory, heard, _crowds(settings))
            _print(render.text(render.page(answer, _style(memory, person))))
        case Message():
            before = memory.counts()["statements"]
            bot.hear(heard)
            bot.settle([heard.room])
            new = memory.counts()["statements"] - before
            _print(f"({new} statement{'' if new == 1 else 's'})" if new else "(nothing was stated)")
        case _:
            bot.hear(heard)


# ------------------------------------------------------------------------------- in and out


@contextmanager
def _answering(as_json: bool) -> Iterator[None]:
    """Errors that people can do something about become one sentence and exit status 1."""
    try:
        yield
    except BadSetting as error:
        _fail(ErrorBody(kind="bad_setting", message=error.message), as_json)
    except SecondOrderError as error:
        body = ErrorBody(
            kind=error.kind, message=error.message, suggestions=tuple(error.suggestions)
        )
        _fail(body, as_json, _sentence(error))
    except BrokenPipeError:
        _stop_writing()  # whoever read us is gone; nobody is left to tell
        raise typer.Exit(1) from None
    except OSError as error:
        _stop_writing()
        _fail(ErrorBody(kind="system", message=f"The system refused: {error}."), as_json)


def _sentence(error: SecondOrderError) -> str:
    if not error.suggestions:
        return error.message
    return f"{error.message} Did you mean: {', '.join(error.suggestions)}?"


def _fail(body: ErrorBody, as_json: bool, sentence: str | None = None) -> None:
    if as_json:
        _print_model(Failure(error=body))
    _warn(sentence or body.message)
    raise typer.Exit(1)


def _open_streams() -> None:
    """Closed ones lead nowhere, and a character that one does not know is no reason to stop."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "r" if name == "stdin" else "w")  # noqa: SIM115
        stream.reconfigure(errors="replace" if name == "stdin" else "backslashreplace")
        setattr(sys, name, stream)


def _stop_writing() -> None:
    """What could not be written is not tried again at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, nothing elsewhere."""
    terminal = Terminal(stderr=True)
    if not terminal.is_terminal:
        yield lambda done, total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=terminal, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(text: str, bold: bool = False) -> None:
    if sys.stdout.isatty():
        Terminal().print(
            text, style="bold" if bold else None, markup=False, emoji=False, highlight=False,
            soft_wrap=True,
        )  # fmt: skip
    else:
        _write(text)


def _print_json(document: dict[str, Any]) -> None:
    _write(json.dumps(document, ensure_ascii=False, indent=2))


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()  # whoever reads a pipe gets each answer at once, and errors come here


def _print_model(model: BaseModel) -> None:
    _print_json(model.model_dump(mode="json", by_alias=True))


def _warn(sentence: str) -> None:
    sys.stderr.write(render.plain(sentence) + "\n")


if __name__ == "__main__":
    main()
