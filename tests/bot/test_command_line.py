"""The command line as scripts see it: what is printed where, and with which exit status.

On real state folders; in processes of their own where that is what is tested. Never a traceback,
and nothing on standard error but one sentence.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from bot import backlog
from bot.__main__ import app
from bot.app import Bot
from bot.chat import Message
from bot.inbox import Inbox, stored
from engine import Memory, PersonInfo
from engine.rules import to_micros
from engine.server import Server
from extraction import Statement
from extraction.gate import Held
from extraction.rules import Rules
from tests.bot.exports_builders import as_folder, as_zip, channel, line, slack, user

ROOT = Path(__file__).parents[2]
NOTHING_READ = (
    "Nothing has been read into this memory yet: `secondorder replay EXPORT` does that.\n"
)


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Argument = str | os.PathLike[str]


def run(*arguments: Argument, **settings: str) -> Ended:
    """In this process, which is fast; as at home, without the settings of whoever runs the tests."""
    done = CliRunner().invoke(
        app, list(map(str, arguments)), env={**unset(), **settings}, prog_name="secondorder"
    )
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)


def process(*arguments: Argument, stdin: bytes = b"", **settings: str) -> Ended:
    """As people start it."""
    done = subprocess.run(
        command(*arguments), cwd=ROOT, env=environment(**settings), capture_output=True, timeout=120,
        check=False, input=stdin,
    )  # fmt: skip
    ended = Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in ended.err, ended.err
    return ended


def command(*arguments: Argument) -> list[Argument]:
    return [sys.executable, "-W", "error", "-m", "bot", *arguments]


def unset() -> dict[str, str | None]:
    return {name: None for name in os.environ if name.startswith("SECONDORDER_")}


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in unset()}
    return kept | {"PYTHONUTF8": "1"} | settings


def refused(ended: Ended, sentence: str = "") -> str:
    """Status 1, and one sentence."""
    assert ended.status == 1, ended
    assert ended.err.count("\n") == 1
    assert sentence in ended.err
    return ended.err


FILES = slack(
    line(10, "decision-42: approved"),
    line(20, "ops-1: open", by="U2"),
    line(4000, "decision-42 changed from approved to rejected", by="U2"),
    line(5000, "thanks all"),
    channels=[channel("C1", "plans", ("U1", "U2", "U3"))],
    groups=[channel("G1", "vault", ("U1",))],
    users=[user("U1", "ann"), user("U2", "bo"), user("U3", "cy", tz="Asia/Tokyo")],
) | {"vault/2023-11-14.json": [line(6000, "secret-7: sell")]}


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_folder(tmp_path_factory.mktemp("export") / "acme", FILES)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder whose server stays up, so that commands need not start one each."""
    folder = tmp_path_factory.mktemp("state")
    with Server(folder):
        yield folder


@pytest.fixture(scope="module")
def replayed(served: Path, export: Path) -> Ended:
    return process("replay", export, "--state", served)


@pytest.fixture
def ask(served: Path, replayed: Ended) -> Callable[..., Ended]:
    assert replayed.status == 0, replayed.err
    return lambda who, *command, **more: run(
        "ask", "--state", served, "--as", who, *command, **more
    )


# --- replay ---------------------------------------------------------------------------------------


def test_a_replay_ends_with_a_page_that_is_useful_by_itself(replayed: Ended) -> None:
    assert (replayed.status, replayed.err) == (0, "")  # and no progress bar: nobody watches
    first, *rest = replayed.out.splitlines()
    assert first == "T1: 5 messages of 3 people in 2 rooms read; 4 statements about 3 decisions."
    assert rest[1] == "Changed"
    assert rest[2].startswith("  decision-42: “approved” → “rejected”, bo in #plans on 14 Nov 2023")
    assert "Decided once" in rest


def test_reading_it_again_changes_nothing(served: Path, export: Path, replayed: Ended) -> None:
    first = run("replay", export, "--state", served, "--json")
    assert first.err == ""
    assert list(first.json) == [
        "people", "rooms", "messages", "statements", "entities", "events", "changes", "unread",
    ]  # fmt: skip
    assert first.json | {"events": 0} == {
        "people": 3, "rooms": 2, "messages": 5, "statements": 4, "entities": 3, "events": 0,
        "changes": 1, "unread": [],
    }  # fmt: skip
    assert run("replay", export, "--state", served, "--json") == first
    assert run("replay", export, "--state", served) == replayed


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_cannot_be_read_is_said(tmp_path: Path, served: Path, form: list[str]) -> None:
    broken = as_zip(tmp_path / "broken.zip", FILES | {"plans/2023-11-15.json": b"{oops"})
    (tmp_path / "empty").mkdir()
    for path, why in (
        (tmp_path / "nowhere", "does not exist"),
        (Path(__file__), "is neither"),
        (tmp_path / "empty", "holds no JSON file"),
    ):
        ended = run("replay", path, "--state", served, *form)
        refused(ended, why)
        assert (ended.out == "") == (not form)
    ended = run("replay", broken, "--state", served, *form)
    assert ended.status == 0
    if form:
        assert [one["file"] for one in ended.json["unread"]] == ["plans/2023-11-15.json"]
    else:
        assert ended.err.startswith("Not read: plans/2023-11-15.json: ")
    assert "oops" not in ended.err  # nothing that people wrote


def test_a_replay_without_decisions_says_which_forms_to_write(tmp_path: Path) -> None:
    ended = run(
        "replay",
        as_folder(tmp_path / "quiet", slack(line(1, "hello"))),
        "--state",
        tmp_path / "state",
    )
    assert ended.status == 0
    assert "No decision was found" in ended.out


# --- ask ------------------------------------------------------------------------------------------


def test_a_question_is_asked_with_the_rights_of_the_asker(ask: Callable[..., Ended]) -> None:
    for command in (["/whoknows", "decision-42"], ["whoknows decision-42"]):
        ended = ask("ann", *command)
        assert (ended.status, ended.err) == (0, "")
        assert ended.out.startswith("decision-42 is “rejected”: 3 know.")
    assert ask("U1", "/whoknows", "secret-7").out.startswith("secret-7 is “sell”: 1 knows.")
    hidden, missing = ask("bo", "/whoknows secret-7"), ask("bo", "/whoknows", "secret-8")
    refused(hidden, "Nothing is known about 'secret-7'.")
    assert hidden == missing._replace(err=missing.err.replace("secret-8", "secret-7"))


def test_times_are_in_the_askers_zone(ask: Callable[..., Ended]) -> None:
    assert "on 14 Nov 2023 22:13" in ask("ann", "/whoknows", "ops-1").out
    assert "on 15 Nov 2023 07:13" in ask("cy", "/whoknows", "ops-1").out


def test_answers_and_errors_are_json_where_asked(ask: Callable[..., Ended]) -> None:
    answer = ask("ann", "/handoff", "@ann", "@bo", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert set(answer.json) == {"from", "to", "lacks", "wrong", "promises", "text"}
    error = ask("ann", "--json", "/whoknows", "decision-43")
    sentence = refused(error)
    body = error.json["error"]
    assert set(error.json) == {"error"}
    assert body == {
        "kind": "unknown_entity", "message": "Nothing is known about 'decision-43'.",
        "suggestions": ["decision-42"],
    }  # fmt: skip
    assert sentence == "Nothing is known about 'decision-43'. Did you mean: decision-42?\n"


@pytest.mark.parametrize(
    ("who", "command", "sentence"),
    [
        ("nobody", ["/status"], "Nobody here is called 'nobody'."),
        ("", ["/status"], "Nobody here is called ''."),
        ("ann", [""], "There is no command '/'"),
        ("ann", ["/whoknos", "x"], "Did you mean: /whoknows?"),
        ("ann", ["/handoff", "@ann", "@ann"], "That takes two different people."),
        ("ann", ["/decide", "decision-42 x"], "type /decide in the channel it is for."),
        ("ann", ["/whoknows", "--", "--json"], "Nothing is known about '--json'."),
        ("-x", ["/status"], "Nobody here is called '-x'."),
        ("ann", ["/whoknows", "'}) MATCH (n) DETACH DELETE n //"], "Nothing is known about"),
        ("ann", ["/whoknows", "$(touch pwned); `id`"], "Nothing is known about '$(touch pwned)"),
        (
            "ann",
            ["/whoknows", "\x1b[31mred\nline"],
            "Nothing is known about '\\x1b[31mred\\nline'.",
        ),
        ("ann", ["/\x1b[31m"], "There is no command '/\\x1b[31m'"),
        ("ann", ["/whoknows", "x" * 100_000], "Nothing is known about 'xxx"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_what_cannot_be_answered_is_one_sentence(
    ask: Callable[..., Ended], who: str, command: list[str], sentence: str
) -> None:
    ended = ask(who, *command)
    assert len(refused(ended, sentence)) < 600
    assert ended.out == ""


def test_bytes_that_are_no_text_are_survived(served: Path, replayed: Ended) -> None:
    asked = ["ask", "--state", str(served), "--as", "ann", "--json", os.fsdecode(b"/\xff")]
    ended = process(*asked, PYTHONIOENCODING="utf-8:strict")
    refused(ended, "There is no command")
    assert ended.json["error"]["kind"] == "invalid_input"


def test_a_terminal_that_knows_few_characters_gets_an_answer(served: Path, replayed: Ended) -> None:
    asked = ["ask", "--state", str(served), "--as", "ann", "/whoknows", "decision-42"]
    ended = process(*asked, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ended.status == 0
    assert "\\u201crejected\\u201d" in ended.out


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["nonsense"], ["ask"], ["ask", "/status"], ["ask", "--as", "ann"], ["replay"],
        ["replay", "a", "b"], ["ask", "--as", "ann", "/whoknows", "-x"], ["status", "--as", "ann"],
        ["demo", "--what"], ["doctor", "x"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_ends_with_two(arguments: list[str]) -> None:
    ended = run(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert "Usage: secondorder" in ended.err


def test_help_is_there_and_a_process_ends_as_it_should(served: Path, replayed: Ended) -> None:
    assert process("nonsense").status == 2
    refused(process("ask", "--state", served, "--as", "ann", "/whoknows", "x"), "Nothing is known")
    ended = process("--help")
    assert (ended.status, ended.err) == (0, "")
    assert all(command in ended.out for command in ("demo", "replay", "ask", "status", "doctor"))


# --- where the memory is --------------------------------------------------------------------------


def test_a_folder_that_never_saw_a_replay_says_what_to_do_and_stays_as_it_is(
    tmp_path: Path,
) -> None:
    for command in (["ask", "--as", "ann", "/status"], ["status"]):
        assert refused(run(*command, "--state", tmp_path / "new")) == NOTHING_READ
    assert run("status", "--json", SECONDORDER_STATE=str(tmp_path / "new")).json["error"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_named_by_option_or_by_setting(
    served: Path, replayed: Ended, tmp_path: Path
) -> None:
    named = run("status", "--state", served, SECONDORDER_STATE=str(tmp_path))
    assert (
        named.out == "T1: 5 messages of 3 people in 2 rooms read; 4 statements about 3 decisions.\n"
    )
    assert run("status", SECONDORDER_STATE=str(served)) == named
    # a folder that was named comes before a server that was set
    away = {"SECONDORDER_REDIS_URL": "redis://127.0.0.1:1"}
    assert run("status", "--state", served, **away) == named
    refused(run("status", SECONDORDER_STATE=str(served), **away), "cannot be reached")


def test_the_status_is_json_where_asked(served: Path, replayed: Ended) -> None:
    assert run("status", "--state", served, "--json").json == {
        "workspace": "T1", "people": 3, "rooms": 2, "messages": 5, "statements": 4, "entities": 3,
        "inbox": {
            "waiting": 0, "oldest": None, "behind": None, "aside": [], "review": [], "spent": [],
        },
    }  # fmt: skip


def test_two_workspaces_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    state = tmp_path / "state"
    users = [user("U1", "ann") | {"team_id": "T2"}, user("U2", "bo") | {"team_id": "T2"}]
    other = as_folder(tmp_path / "other", slack(line(1, "ops-9: done"), users=users))
    first = as_folder(tmp_path / "first", FILES)
    with Server(state):
        for export in (first, other):
            assert run("replay", export, "--state", state).status == 0
        both = run("ask", "--state", state, "--as", "ann", "/whoknows", "ops-9")
        refused(both, "Say which workspace with --workspace: T1, T2.")
        chosen = ["--state", str(state), "--as", "ann", "/whoknows", "ops-9", "--workspace"]
        assert run("ask", *chosen, "T2").out.startswith("ops-9 is “done”")
        refused(run("ask", *chosen, "T1"), "Nothing is known about 'ops-9'.")
        refused(run("ask", *chosen, "T3"), "There is no workspace 'T3'; there are: T1, T2.")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_bad_setting_is_refused_by_name(served: Path, form: list[str]) -> None:
    ended = run("status", "--state", served, *form, SECONDORDER_CROWD="many")
    assert refused(ended).startswith("SECONDORDER_CROWD cannot be used: ")
    assert "many" not in ended.err
    if form:
        assert ended.json["error"]["kind"] == "bad_setting"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path, export: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for command in (["status"], ["replay", str(export)]):
        refused(run(*command, "--state", tmp_path / "file"), "is a file")
    assert (tmp_path / "file").read_text() == "mine"


# --- doctor ---------------------------------------------------------------------------------------


def found(ended: Ended) -> Mapping[str, bool]:
    assert ended.err == ""
    findings = ended.json["findings"]
    assert all(set(one) == {"what", "ok", "says"} and one["says"] for one in findings)
    return {one["what"]: one["ok"] for one in findings}


def test_a_doctor_who_finds_nothing_wrong(served: Path, replayed: Ended, tmp_path: Path) -> None:
    ended = run("doctor", "--state", served)
    assert (ended.status, ended.err) == (0, "")
    assert all(one.startswith("ok  ") for one in ended.out.splitlines())
    assert ended.out.endswith("ok  memory: answers; it remembers T1\n")
    ended = run("doctor", "--json", "--state", tmp_path / "new")
    assert ended.status == 0
    assert all(found(ended).values())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("settings", "wrong", "says"),
    [
        ({"SECONDORDER_CROWD": "x"}, "settings", "SECONDORDER_CROWD cannot be used"),
        ({"SECONDORDER_REDIS_URL": "x"}, "settings", "SECONDORDER_REDIS_URL cannot be used"),
        ({"SECONDORDER_REDIS_URL": "redis://:hunter2@127.0.0.1:1"}, "server", "cannot be reached"),
        ({"SECONDORDER_STATE": __file__}, "state folder", "is a file"),
        ({"SECONDORDER_STATE": f"{__file__}/below"}, "state folder", "is a file"),
    ],
)
def test_a_doctor_who_finds_something(settings: dict[str, str], wrong: str, says: str) -> None:
    ended = run("doctor", "--json", **settings)
    assert ended.status == 1
    findings = found(ended)
    assert [what for what, ok in findings.items() if not ok] == [wrong]
    assert list(findings)[-1] == wrong  # what needs it is not looked at
    assert says in ended.json["findings"][-1]["says"]
    assert "hunter2" not in ended.out


# --- the demo -------------------------------------------------------------------------------------


def test_the_demo_answers_the_four_questions() -> None:
    ended = process("demo", "--no-prompt")
    assert (ended.status, ended.err) == (0, "")
    first, *rest = ended.out.splitlines()
    assert first.startswith("Acme: ")
    asked = [text for text in rest if "> /" in text]
    assert [text.split("> ")[1].split()[0] for text in asked] == [
        "/whoknows", "/misinformed", "/announce-plan", "/handoff",
    ]  # fmt: skip
    for text in asked:
        assert rest[rest.index(text) + 1].endswith(".")


def test_the_demos_prompt_listens_answers_and_survives_nonsense() -> None:
    lines = [
        b"hello", b"\xff\xfe", b"/as nobody", b"@priya #product zz-9: moon", b"/whoknows zz-9",
        b"@tom /misinformed @maya", b"/in #nowhere", b"/foo", b"/whoknows zz-8",
        b"@priya #product nothing decided here", b"/in #product", b"/decide zz-9 is the sun",
        b"/decide the tea: green", b"/whoknows tea", b"@tom #oncall hello", b"/join #oncall",
        b"@tom #oncall OPS-99: done", b"/leave", b"/people", b"/rooms", b"/help", b"",
        b"x" * 100_000, b"/whoknows " + b"y" * 100_000, b"\x1b[31m", b"/quit", b"never read",
    ]  # fmt: skip
    ended = process("demo", stdin=b"\n".join(lines))
    assert ended.status == 0
    said = ended.out.split("/people   /rooms   /help   /quit\n", 1)[1]
    for part in (
        "zz-9 is “moon”: ", "(1 statement)", "(nothing was stated)", "Recorded: zz-9 is “the sun” (in #product",
        "Recorded: the tea is “green” (", "the tea is “green”: ", "@priya", "#product",
    ):  # fmt: skip
        assert part in said
    errors = ended.err.splitlines()
    for part in (
        "Say who you are first: /as @name, or begin with @name.", "Nobody here is called 'nobody'",
        "There is no room '#nowhere'", "There is no command '/foo'", "Nothing is known about 'zz-8'",
        "is not in #oncall; /join #oncall first.", "Nothing is known about 'yyy",
    ):  # fmt: skip
        assert any(part in error for error in errors), part
    assert all(len(error) < 400 for error in errors)
    assert "\x1b" not in ended.out + ended.err


# --- whoever reads or stops us --------------------------------------------------------------------


def test_a_reader_who_is_gone_is_no_error_to_report(served: Path, replayed: Ended) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for form in ([], ["--json"]):
        done = subprocess.run(
            command("ask", "--state", served, "--as", "ann", "/status", *form),
            cwd=ROOT, env=environment(), stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (1, b"")
    os.close(writing)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_one_sentence(served: Path, replayed: Ended) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("status", "--state", served),
            cwd=ROOT, env=environment(), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"No space left" in done.stderr


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    for wait_for in ("Acme: ", "/people   /rooms"):  # while it reads, and at the prompt
        with subprocess.Popen(
            command("demo"), cwd=ROOT, env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stderr is not None
            for text in process.stdout:
                if text.startswith(wait_for):
                    break
            process.send_signal(signal.SIGINT)
            err = process.stderr.read()
            status = process.wait(60)
        assert "Traceback" not in err
        assert status in (0, 1, 130)


def test_what_waits_and_what_failed_is_said_and_can_be_tried_again(tmp_path: Path) -> None:
    at = datetime(2026, 11, 30, 9, tzinfo=UTC)
    sent = [
        Message(room="C1", ts=f"{n}.5", at=at, author="U1", text=f"decision-{n}: secret-{n}")
        for n in (1, 2)
    ]
    with Server(tmp_path), Memory("T1", state=tmp_path) as memory:
        memory.describe([PersonInfo("U1", "ann")], [("C1", "plans", "public")])
        inbox, queue = Inbox(memory, Bot(memory, Rules())), memory.queue()
        for one in sent:
            inbox.put(one, at)
        queue.hold(60)
        queue.set_aside(stored(sent[0], at), "It was refused.", 0)
        queue.let_go()
        queue.fall_behind("The key is not accepted.", to_micros(at))

        said = run("status", "--state", tmp_path).out
        assert "1 message, the oldest since 30 Nov 2026 09:00" in said
        assert "C1/1.5/message in #plans, 30 Nov 2026 09:00: It was refused." in said
        assert "Reading is behind since 30 Nov 2026 09:00: the key is not accepted." in said
        assert "secret" not in said
        asked = run("ask", "--state", tmp_path, "--as", "ann", "/mymind")
        assert "Reading is behind since 30 Nov 2026 09:00: the key is not accepted." in asked.out
        inboxes = run("status", "--state", tmp_path, "--json").json["inbox"]
        assert (inboxes["waiting"], len(inboxes["aside"])) == (1, 1)

        assert run("retry", "--state", tmp_path, "C1/nothing").out == (
            "Nothing of that was set aside.\n"
        )
        assert run("retry", "--state", tmp_path).out == "1 message is read again.\n"
        assert run("retry", "--state", tmp_path, "--json").json == {"retried": 0}
        assert run("status", "--state", tmp_path, "--json").json["inbox"]["waiting"] == 2


def test_what_is_not_believed_is_listed_and_judged_again(tmp_path: Path) -> None:
    at = datetime(2026, 11, 30, 9, tzinfo=UTC)
    text = "told <@U2> that decision-1 is approved"
    said = Message(room="C1", ts="1.5", at=at, author="U1", text=text)
    told = Statement(
        kind="report", message="C1-1.5", speaker="U1", about="U2", entity="decision-1",
        name="decision-1", value="approved", decides=False, quote=text,
    )  # fmt: skip
    held = [Held(statement=told, reason="the person it is about is nobody here")]
    with Server(tmp_path), Memory("T1", state=tmp_path) as memory:
        memory.describe([PersonInfo("U1", "ann")], [("C1", "plans", "public")])
        memory.record_all([], backlog.notes_of(said, held))

        page = run("review", "--state", tmp_path).out
        assert page.startswith("1 statement read but not believed.")
        assert "decision-1: “approved” in #plans, 30 Nov 2026 09:00: the person it is about" in page
        assert run("review", "--state", tmp_path, "--again", "--json").json["believed"] == 0
        memory.describe([PersonInfo("U2", "bo")])
        again = run("review", "--state", tmp_path, "--again").out
        assert again == "0 statements read but not believed. 1 statement is believed now.\n"
        assert memory.counts()["statements"] == 1
