"""The only importer of falkordb: names of queries in, rows out, errors translated.

It refuses to know what a belief is. Every write goes through one MULTI/EXEC, and so does every
index: plain and transactional writers on one graph lose updates (measured, see
`docs/architecture.md`). Reads are `GRAPH.RO_QUERY`, which can neither write nor create a graph.

Each person has an ACL user that may do nothing but read one graph: their mind, or nothing yet.
"""

import hashlib
import hmac
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import redis
from falkordb import FalkorDB
from falkordb.graph import Graph
from falkordb.helpers import stringify_param_value
from falkordb.query_result import QueryResult
from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import (
    AskError,
    AuthenticationError,
    ClusterDownError,
    NoPermissionError,
    RedisClusterException,
    TryAgainError,
)
from redis.retry import Retry
from redis.sentinel import SentinelConnectionPool

from engine.errors import InvalidInput, NotAllowed, StoreRefused, StoreUnavailable, Superseded
from engine.queries import queries
from engine.server import Endpoint
from engine.words import noted_in, part_of_note, said_in

SCHEMA = 1
WORKSPACES = "so:workspaces"
DESCRIBING = frozenset(
    (
        "describe_person", "describe_room", "link", "unlink", "opt", "delete_person", "rename_room",
        "delete_link",
    )
)  # fmt: skip
"""The queries that change what a directory holds."""
_WITNESSING = frozenset(("witness", "witness_among", "witness_rarely", "witness_rarely_among"))
LARGE = 1_000  # nodes of a mind from which on it has an index: design/engine.md says when
SELDOM = 256  # of so many rows written into minds, one asks whether its mind has become large
TOWN = 200  # nodes of a world from which on its indexes are worth the megabyte they take
OFTEN = 32  # of so many changes of a world, one asks whether it has become that large
_TRIES = 400  # of an optimistic transaction; each failure means that somebody else succeeded
_PAUSE = 0.05  # seconds at most between two of them, drawn anew so that two do not keep step
_LONG = 120.0  # seconds to wait for a copy: a whole workspace is written in one go
_LOST = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.WatchError,  # the connection broke, and with it the watch
    ClusterDownError,
    RedisClusterException,  # is no RedisError
)

_CARRIED = ("path", "host", "port", "socket_timeout", "socket_connect_timeout")
_RIGHTS = {
    "enabled": True,
    "passwords": [],
    "keys": [],
    "channels": [],
    "selectors": [],
    "categories": ["-@all"],
    "commands": ["+graph.ro_query"],
}
"""What the server says of a person's user, with the password's hash and the key still to come."""

type Rows = list[list[Any]]  # scalars and lists of scalars: what FalkorDB answers is not typed


class Write(NamedTuple):
    """One query of a transaction: on `graph` (a short name, `world` or `mind:<id>`)."""

    graph: str
    query: str
    params: dict[str, Any]


class Reads(Protocol):
    """What a decision may look at, inside its own transaction."""

    def __call__(self, query: str, **params: Any) -> Rows: ...


type Command = tuple[str | bytes | int, ...]


class Beside(NamedTuple):
    """Commands on keys beside the graphs of a workspace, in one transaction (an event's own, where
    they come with one). They may be run twice, when the connection is lost in between.

    `lease`: a key, and what it holds as long as they may be run; else Superseded is raised.
    """

    commands: tuple[Command, ...] = ()
    lease: tuple[str, str] | None = None


NOTHING = Beside()


class Wire:
    """A connection to one server, spoken to in bytes: what a key is dumped as is no text."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def ask(self, *command: str | bytes | int) -> Any:
        self._connection.send_command(*command)
        return self._answer()

    def together(self, *commands: Command) -> list[Any] | None:
        """What each answered, in one MULTI/EXEC; None when something watched was changed."""
        packed = self._connection.pack_commands([("MULTI",), *commands, ("EXEC",)])
        self._connection.send_packed_command(packed)
        refused: list[StoreRefused] = []
        for _ in range(len(commands) + 1):
            try:
                self._answer()
            except StoreRefused as error:
                refused.append(error)
        try:
            answers: list[Any] | None = self._answer()
        except StoreRefused as error:
            raise (refused or [error])[0] from error
        with _translated():
            for answer in answers or ():
                if isinstance(answer, redis.ResponseError):
                    raise answer
        return answers

    def _answer(self) -> Any:
        with _translated():
            return self._connection.read_response(disable_decoding=True, timeout=_LONG)


class Graphs(Protocol):
    """What can be read: every graph of a workspace, or one of them."""

    def read(self, graph: str, query: str, **params: Any) -> Rows: ...


class Wake(Protocol):
    """Makes sure the server is up again and returns how to reach it."""

    def __call__(self) -> redis.Redis | redis.RedisCluster: ...


class Store:
    """One workspace's graphs. `wake` is called to connect, and again when the server went away.

    In a cluster a workspace lies on one node, and everything is asked of that node's own client, as
    if it were a single server. The cluster's pipeline will not do: when a connection breaks it sends
    a transaction again on another one, where nothing is watched (redis-py 8.1).
    """

    def __init__(
        self, sid: str, wake: Wake, policy: str | None = None, secret: str | None = None
    ) -> None:
        """Opens a workspace, or makes it with `policy` (default: workplace).

        The passwords of people's own users are derived from `secret` (default: from our own).
        """
        self._sid = sid
        self._secret = secret
        self._wake = wake
        self._waking = threading.Lock()
        self._writing = threading.Lock()
        self._indexed = False  # whether the world is known to have its indexes
        self._client = wake()
        with _translated():
            self._keep_no_queries()
            self.policy = self._make_world(policy)

    def _keep_no_queries(self) -> None:
        """FalkorDB would keep each graph's last queries with their parameters: what people wrote."""
        for server in self._servers():
            with suppress(redis.ResponseError, *_LOST):  # not ours to set, or away just now
                server.execute_command("GRAPH.CONFIG", "SET", "CMD_INFO", "no")  # type: ignore[no-untyped-call]

    def close(self) -> None:
        for server in self._servers():  # a cluster's client leaves those of its nodes open
            server.connection_pool.disconnect()
        self._client.close()

    def key(self, graph: str) -> str:
        """The key of a graph; the hash tag keeps a workspace on one node of a cluster."""
        return key_of(self._sid, graph)

    def read(self, graph: str, query: str, **params: Any) -> Rows:
        """The rows of one read; none when the graph does not exist."""
        return self._again(lambda: self._read(self._node, graph, query, params))

    def read_versioned(self, graph: str, query: str, **params: Any) -> tuple[Rows, int]:
        """The rows of one read, and the version of the directory as of then, in one round trip."""
        return self._again(lambda: self._read_versioned(graph, query, params))

    def version(self) -> int:
        """How often names, links or people were changed."""
        found: Any = self._again(lambda: self._node.get(self.key("version")))
        return int(found or 0)

    def change(self, decide: Callable[[Reads], Sequence[Write]], beside: Beside = NOTHING) -> bool:
        """Looks, decides and writes as one: whole or not at all, and nothing changed in between.

        `decide` may run several times. What is `beside` is done whether or not it has anything to
        write. Returns whether it had.
        """
        with self._writing:  # of one process, one after the other: a race would cost every loser
            written = self._again(lambda: self._change(decide, beside))
        if written is None:
            raise StoreUnavailable("The memory is too busy: others kept writing first. Try again.")
        return written

    def beside(self, beside: Beside) -> list[Any]:
        """What the commands answer, as one and in one round trip (two more with a lease)."""
        return self._again(lambda: self._beside(beside))

    def _beside(self, beside: Beside) -> list[Any]:
        pipe: Any
        with self._node.pipeline(transaction=len(beside.commands) > 1) as pipe:
            if beside.lease is not None:
                self._watch_lease(pipe, beside.lease)
                pipe.multi()
            for command in beside.commands:
                pipe.execute_command(*command)
            try:
                answers: list[Any] = pipe.execute()
            except redis.WatchError as error:
                raise _superseded() from error
            return answers

    def _watch_lease(self, pipe: Any, lease: tuple[str, str]) -> None:
        """Whoever holds it writes nothing into it meanwhile, so that a change means another one."""
        key, token = lease
        pipe.watch(key)
        if pipe.get(key) != token:
            raise _superseded()

    def redraw(self, graph: str, queries: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Writes a graph anew, in place of what it held, as one. Not for what is also written otherwise."""
        texts = [_text(query, params) for query, params in queries]
        with self._writing:
            self._again(lambda: self._redraw(self.key(graph), texts))

    def wipe(self, graphs: str) -> None:
        """Deletes the graphs whose short name matches a pattern like `view:*`."""
        with self._writing:
            for key in self._again(lambda: list(self._keys(graphs))):
                self._again(partial(self._redraw, str(key), []))

    def _redraw(self, key: str, texts: Sequence[str]) -> None:
        pipe: Any
        with self._node.pipeline(transaction=True) as pipe:
            pipe.watch(key)
            known = pipe.exists(key)
            pipe.multi()
            if known:
                pipe.execute_command("GRAPH.DELETE", key)
            for text in texts:
                pipe.execute_command("GRAPH.QUERY", key, text, "--compact")
            try:
                pipe.execute()
            except redis.WatchError:
                pass  # somebody else has drawn it, or deleted it, just now
            else:
                return
        self._redraw(key, texts)

    def journal(self, key: str, members: dict[str, float]) -> None:
        """Adds members to a sorted set of the workspace; known ones keep their place."""
        if members:
            self._again(lambda: self._node.zadd(self.key(key), members))

    def unjournal(self, key: str, members: Iterable[str]) -> None:
        """Takes members out of a sorted set of the workspace."""
        gone = tuple(members)
        if gone:
            self._again(lambda: self._node.zrem(self.key(key), *gone))

    def tally(self, key: str, amounts: Mapping[str, float], seconds: int) -> None:
        """Adds to the sums under a key of the workspace, which are kept for so long after that.

        After a lost connection it may add twice.
        """
        name = self.key(key)
        added: list[Command] = [
            ("HINCRBYFLOAT", name, what, repr(amount)) for what, amount in amounts.items()
        ]
        self.beside(Beside((*added, ("EXPIRE", name, seconds))))

    def tallied(self, key: str) -> dict[str, float]:
        """The sums under a key of the workspace."""
        [found] = self.beside(Beside((("HGETALL", self.key(key)),)))
        return {str(what): float(amount) for what, amount in found.items()}

    def journalled(self, key: str, low: float = 0, high: float = float("inf")) -> list[str]:
        """The members of a sorted set with a score from `low` to `high`, in order."""
        return self._again(
            lambda: [str(m) for m in self._node.zrangebyscore(self.key(key), low, high)]
        )

    def counted(self, pattern: str) -> int:
        """How many members the sorted sets hold whose key matches `pattern`."""
        if "*" not in pattern:
            one: Any = self._again(lambda: self._node.zcard(self.key(pattern)))
            return int(one)
        return self._again(lambda: sum(self._node.zcard(k) for k in self._keys(pattern)))

    def erase(
        self, graph: str, person: str, notes: Callable[[str], str | None] | None = None
    ) -> None:
        """Deletes a graph, the ACL user of a person, every note that holds the person's id as a word (or
        rewrites it) and every sum that is named by it, and has the append-only file written anew, so that it holds none of it."""
        self._again(lambda: self._erase(graph, person, notes or (lambda note: None)))

    def _erase(self, graph: str, person: str, notes: Callable[[str], str | None]) -> None:
        for key in map(str, self._keys("*")):
            match self._node.type(key):
                case "zset":
                    self._rewrite_notes(key, person, notes)
                case "hash" if self._node.ttl(key) != -1:  # a sum: nothing else of ours expires
                    self._drop_sums(key, person)
        pipe: Any
        with self._node.pipeline(transaction=True) as pipe:
            pipe.watch(self.key(graph))
            if pipe.exists(self.key(graph)):
                pipe.multi()
                pipe.execute_command("GRAPH.DELETE", self.key(graph))
                pipe.execute()
        for server in self._servers():
            self._drop_user(person, server)
            with suppress(redis.ResponseError):  # of another node of a cluster
                for kept in server.scan_iter(f"telemetry{{{self.key('*')}}}", count=1000):
                    server.delete(kept)
            _write_file_anew(server)

    def _rewrite_notes(self, key: str, person: str, notes: Callable[[str], str | None]) -> None:
        found: Any = self._node.zrange(key, 0, -1, withscores=True)
        pipe: Any
        with self._node.pipeline(transaction=True) as pipe:
            for note, score in found:
                theirs = noted_in(note, person)
                if not (theirs or part_of_note(note, person)):
                    continue
                kept = notes(note)
                if theirs and kept is not None and noted_in(kept, person):
                    kept = None
                elif not theirs and kept is None:
                    continue  # nobody knows what it means: an id that others made
                if kept != note:
                    pipe.zrem(key, note)
                    if kept is not None:
                        pipe.zadd(key, {kept: score})
            pipe.execute()

    def _drop_sums(self, key: str, person: str) -> None:
        if said_in(key.removeprefix(self.key("")), [person]):
            self._node.delete(key)
            return
        fields: Any = self._node.hkeys(key)
        theirs = [field for field in map(str, fields) if said_in(field, [person])]
        if theirs:
            self._node.hdel(key, *theirs)

    def user(self, person: str) -> str:
        """The name of a person's ACL user. No id has a colon, so no two people share one."""
        return f"so:{self._sid}:{person}"

    def keyhole(self, graph: str, person: str) -> "Keyhole":
        """One graph as a person's own user sees it; the user is made where it is missing."""
        password = self._password(person)
        self._again(lambda: self._admit(graph, person, password))
        return Keyhole(self, person, password)

    def client_as(self, person: str, password: str) -> redis.Redis:
        """A client of the server that holds the workspace, woken if need be, as a person's user."""
        return self._again(lambda: self._connect_as(self.user(person), password))

    def _connect_as(self, user: str, password: str) -> redis.Redis:
        self._node.exists(self.key("world"))  # is it up, and is the workspace still there?
        pool: Any = self._node.connection_pool
        given = pool.connection_kwargs
        kept = {k: v for k, v in given.items() if k in _CARRIED or k.startswith("ssl_")}
        if isinstance(pool, SentinelConnectionPool):
            kept["host"], kept["port"] = pool.get_master_address()  # type: ignore[no-untyped-call]
        kinds = (UnixDomainSocketConnection, SSLConnection, Connection)
        kind: Any = next(kind for kind in kinds if issubclass(pool.connection_class, kind))
        own = redis.ConnectionPool(
            connection_class=kind, username=user, password=password, decode_responses=True,
            retry=Retry(NoBackoff(), 0), **kept,
        )  # fmt: skip
        return redis.Redis.from_pool(own)

    def _password(self, person: str) -> str:
        given = self._node.connection_pool.connection_kwargs.get("password")
        key = self._secret or given or _secret_of_process()
        text = f"a person's own view|{self._sid}|{person}"
        return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()

    def _admit(self, graph: str, person: str, password: str) -> None:
        """On every node of a cluster; one that is away has no say in what another one holds."""
        if self._node.connection_pool.connection_kwargs.get("db"):
            raise NotAllowed("An ACL does not tell databases apart: views need database 0.")
        self._make_user(graph, person, password, self._node)
        for server in self._servers():
            with suppress(*_LOST):
                self._make_user(graph, person, password, server)

    def _make_user(self, graph: str, person: str, password: str, server: Any) -> None:
        mark = hashlib.sha256(password.encode()).hexdigest()
        pattern = f"~{self.key(graph)}"  # ids hold no glob character, and braces are none
        user = self.user(person)
        known = server.acl_getuser(user) or {}
        if {part: known.get(part) for part in _RIGHTS} == _RIGHTS | {
            "passwords": [mark],
            "keys": [pattern],
        }:
            return
        server.execute_command(
            "ACL SETUSER", user, "reset", "resetchannels", "on", f"#{mark}", pattern,
            "+GRAPH.RO_QUERY",
        )  # fmt: skip
        with suppress(redis.ResponseError):  # no ACL file: nothing to write
            server.acl_save()

    def _drop_user(self, person: str, server: Any) -> None:
        if server.acl_getuser(self.user(person)) is None:
            return
        server.acl_deluser(self.user(person))
        with suppress(redis.ResponseError):  # no ACL file: nothing to write
            server.acl_save()

    def _keys(self, pattern: str) -> Iterator[Any]:
        return iter(self._node.scan_iter(self.key(pattern), count=1000))

    @property
    def sid(self) -> str:
        return self._sid

    @contextmanager
    def wire(self, sid: str | None = None) -> Iterator[Wire]:
        """A connection to the server on which a workspace lies (default: this one)."""
        with _translated():
            pool: Any = self._node_of(sid or self._sid).connection_pool
            connection = pool.get_connection()
            try:
                yield Wire(connection)
            finally:
                connection.disconnect()  # whatever it watched, or had still to say, goes with it
                pool.release(connection)

    def list_fork(self, name: str) -> None:
        """Notes that there will be a fork, before it is made."""
        self._again(lambda: self._node.sadd(self.key("forks"), name))
        self._again(lambda: self._client.sadd(WORKSPACES, name))

    def unlist_fork(self, origin: str, name: str) -> None:
        """Notes that there is no such fork."""
        self._again(lambda: self._client.srem(WORKSPACES, name))
        self._again(lambda: self._node_of(origin).srem(key_of(origin, "forks"), name))

    def drop_users(self, people: Iterable[str]) -> None:
        """Deletes the ACL users of people, where they have one."""
        for server in self._servers():
            for person in people:
                self._again(partial(self._drop_user, person, server))

    def forks(self) -> list[str]:
        """The forks of this workspace that are there, by name."""
        found: Any = self._again(lambda: self._node.smembers(self.key("forks")))
        return [
            name
            for name in sorted(found)
            if self._again(partial(self._exists, key_of(name, "world"), name))
        ]

    def _exists(self, key: str, sid: str) -> bool:
        return bool(self._node_of(sid).exists(key))

    # ---------------------------------------------------------------------------- inside

    @property
    def _node(self) -> redis.Redis:
        """The server that holds the workspace; in a cluster, one of its nodes."""
        return self._node_of(self._sid)

    def _node_of(self, sid: str) -> redis.Redis:
        if isinstance(self._client, redis.Redis):
            return self._client
        node = self._client.get_node_from_key(key_of(sid, "world"))  # type: ignore[no-untyped-call]
        return self._client.get_redis_connection(node)

    def _servers(self) -> list[redis.Redis]:
        """The server; of a cluster every node, each with users and files of its own."""
        if isinstance(self._client, redis.Redis):
            return [self._client]
        nodes = self._client.get_nodes()  # type: ignore[no-untyped-call]
        return [self._client.get_redis_connection(node) for node in nodes]

    def _again[T](self, ask: Callable[[], T]) -> T:
        """Once more after the server went away: it may have been killed and come back."""
        client = self._client
        try:
            with _translated():
                return ask()
        except StoreUnavailable:
            self._look_again(client)
            with _translated():
                return ask()

    def _look_again(self, lost: redis.Redis | redis.RedisCluster) -> None:
        """Finds out where the workspace is now, once for all threads that lost it together."""
        with self._waking:
            if self._client is not lost:
                return
            if isinstance(lost, redis.RedisCluster):
                with suppress(redis.RedisError, RedisClusterException):
                    lost.exists(self.key("world"))  # redis-py follows, and remembers the way
                    return
            # Not closed: another thread may be in the middle of a question. The last one does it.
            self._client = self._wake()

    def _read(self, client: Any, graph: str, query: str, params: dict[str, Any]) -> Rows:
        return _rows(client, self.key(graph), query, params)

    def _read_versioned(self, graph: str, query: str, params: dict[str, Any]) -> tuple[Rows, int]:
        name = self.key(graph)
        with self._node.pipeline(transaction=False) as pipe:
            pipe.execute_command("GRAPH.RO_QUERY", name, _text(query, params), "--compact")  # type: ignore[no-untyped-call]
            pipe.get(self.key("version"))
            answer, version = pipe.execute(raise_on_error=False)
        for problem in (version, answer):
            if isinstance(problem, Exception) and "empty key" not in str(problem):
                raise problem
        if isinstance(answer, Exception):
            return [], int(version or 0)
        rows: Rows = QueryResult(Graph(self._node, name), answer).result_set
        return rows, int(version or 0)

    def _change(self, decide: Callable[[Reads], Sequence[Write]], beside: Beside) -> bool | None:
        """Whether `decide` wrote anything; None when others kept writing first."""
        world = self.key("world")
        for tried in range(_TRIES):
            pipe: Any  # redis-py types neither of the two ways in which a pipeline answers
            with self._node.pipeline(transaction=True) as pipe:
                if beside.lease is not None:
                    self._watch_lease(pipe, beside.lease)
                watched: set[str] = set()

                def reads(
                    query: str, pipe: Any = pipe, watched: set[str] = watched, **params: Any
                ) -> Rows:
                    if world in watched:
                        return self._read(pipe, "world", query, params)
                    watched.add(world)
                    return _watched(pipe, world, query, params)

                writes = decide(reads)
                if not writes and not beside.commands:
                    return False
                if not watched:
                    pipe.watch(world)  # what is watched, redis-py never sends twice
                pipe.multi()
                if any(write.query in DESCRIBING for write in writes):
                    pipe.incr(self.key("version"))
                texts: dict[tuple[str, int], str] = {}
                for write in writes:
                    # A thousand witnesses share one row: its text is made once.
                    same = (write.query, id(write.params))
                    if same not in texts:
                        texts[same] = _text(write.query, write.params)
                    key = self.key(write.graph)
                    pipe.execute_command("GRAPH.QUERY", key, texts[same], "--compact")
                for command in beside.commands:
                    pipe.execute_command(*command)
                try:
                    pipe.execute()
                except redis.WatchError:
                    time.sleep(random.uniform(0, min(tried / 1000, _PAUSE)))
                    continue
            self._index_large(write.graph for write in writes if write.query in _WITNESSING)
            self._index_world(writes)
            return bool(writes)
        return None

    def _index_large(self, minds: Iterable[str]) -> None:
        """Gives a mind that has become large its index; now and then, since most are small.

        After the event and not within it: an index changes no answer, and one that could not be made
        now is made with a later row. Watched, so that no mind comes back that is deleted meanwhile.
        """
        for mind in (mind for mind in minds if random.random() * SELDOM < 1):
            pipe: Any
            with suppress(*_LOST), self._node.pipeline(transaction=True) as pipe:
                pipe.watch(self.key(mind))
                size = self._read(pipe, mind, "nodes", {})
                if not size or size[0][0] < LARGE or self._read(pipe, mind, "indexed", {}) != [[0]]:
                    continue
                pipe.multi()
                text = _text("mind_index", {})
                pipe.execute_command("GRAPH.QUERY", self.key(mind), text, "--compact")
                pipe.execute()
                self._await_indexes(mind)

    def _index_world(self, writes: Sequence[Write]) -> None:
        """Gives a world that has grown its indexes: see `_index_large`, of which all holds here."""
        if self._indexed or not writes or random.random() * OFTEN >= 1:
            return
        world = self.key("world")
        pipe: Any
        with suppress(*_LOST), self._node.pipeline(transaction=True) as pipe:
            pipe.watch(world)
            size = self._read(pipe, "world", "nodes", {})
            if not size or size[0][0] < TOWN:
                return
            if self._read(pipe, "world", "indexed", {}) == [[0]]:
                pipe.multi()
                for name in (query for query in queries() if query.startswith("index_")):
                    pipe.execute_command("GRAPH.QUERY", world, _text(name, {}), "--compact")
                pipe.execute()
                self._await_indexes("world")
            self._indexed = True

    def _await_indexes(self, graph: str) -> None:
        """Until they are built, which is done in another thread: a graph that is deleted meanwhile takes
        the server with it. They are small when they are made; after a second nobody waits any more."""
        end = time.monotonic() + 1
        while self._read(self._node, graph, "unfinished", {}) != [[0]]:
            if time.monotonic() > end:
                return
            time.sleep(0.001)

    def _make_world(self, policy: str | None) -> str:
        """Makes the world if it is new; returns its policy, which never changes."""
        pipe: Any
        with self._node.pipeline(transaction=True) as pipe:
            pipe.watch(self.key("world"))
            made = self._read(pipe, "world", "schema", {})
            if made:
                return _agreed(str(made[0][1]), policy)
            # Listed first, and in no transaction: in a cluster that key may lie on another node.
            self._client.sadd(WORKSPACES, self._sid)
            pipe.multi()
            text = _text("make_schema", {"version": SCHEMA, "policy": policy or "workplace"})
            pipe.execute_command("GRAPH.QUERY", self.key("world"), text, "--compact")
            try:
                pipe.execute()
            except redis.WatchError:
                pass  # somebody else has made it just now
            else:
                return policy or "workplace"
        return self._make_world(policy)


def _write_file_anew(server: Any) -> None:
    """Has the append-only file written from what there is now, and waits for it: a server that ends
    before would keep the old one. One that is being written already may hold what has gone since."""
    ends, begun = time.monotonic() + _LONG, False
    while time.monotonic() < ends:
        try:
            said = server.info("persistence")
            if not (said["aof_rewrite_in_progress"] or said["aof_rewrite_scheduled"]):
                if begun:
                    return
                server.bgrewriteaof()
                begun = True
        except redis.ResponseError as error:
            if "in progress" not in str(error):
                return  # this server does not let us
        time.sleep(_PAUSE / 10)


class Keyhole:
    """A workspace as one person's user sees it: a single graph, which can only be read.

    Which one that is, the server decides; everything else it refuses with NotAllowed. When the user
    was deleted meanwhile, the person being forgotten, so is this.
    """

    def __init__(self, store: Store, person: str, password: str) -> None:
        self._store = store
        self._person = person
        self._password = password
        self._client = store.client_as(person, password)

    def __repr__(self) -> str:  # for the logs it may end up in
        return f"Keyhole({self._person!r})"

    def read(self, graph: str, query: str, **params: Any) -> Rows:
        """The rows of one read; none when the graph does not exist."""
        name = self._store.key(graph)
        try:
            with _translated():
                return _rows(self._client, name, query, params)
        except StoreUnavailable:
            # Not closed: another thread may be in the middle of a question. The last one does it.
            self._client = self._store.client_as(self._person, self._password)
            with _translated():
                return _rows(self._client, name, query, params)

    def close(self) -> None:
        self._client.close()


@cache
def _secret_of_process() -> str:
    return secrets.token_hex(32)


def _superseded() -> Superseded:
    return Superseded("Another process reads what arrives now; this one only stores it.")


def _agreed(made: str, wanted: str | None) -> str:
    if wanted not in (None, made):
        raise InvalidInput(f"This workspace was made with policy {made}, which cannot be changed.")
    return made


def _rows(client: Any, name: str, query: str, params: dict[str, Any]) -> Rows:
    text = _text(query, params)
    try:
        answer = client.execute_command("GRAPH.RO_QUERY", name, text, "--compact")
    except redis.ResponseError as error:
        if "empty key" in str(error):
            return []
        raise
    rows: Rows = QueryResult(Graph(client, name), answer).result_set
    return rows


def _watched(pipe: Any, name: str, query: str, params: dict[str, Any]) -> Rows:
    """Watches a graph and reads it, in one round trip."""
    if pipe.connection is None:
        pipe.connection = pipe.connection_pool.get_connection()
    commands = [("WATCH", name), ("GRAPH.RO_QUERY", name, _text(query, params), "--compact")]
    pipe.connection.send_packed_command(pipe.connection.pack_commands(commands))
    pipe.parse_response(pipe.connection, "WATCH")
    try:
        answer = pipe.parse_response(pipe.connection, "GRAPH.RO_QUERY")
    except redis.ResponseError as error:
        if "empty key" in str(error):
            return []
        raise
    rows: Rows = QueryResult(Graph(pipe, name), answer).result_set
    return rows


def key_of(sid: str, graph: str) -> str:
    """The key of a workspace's graph, or of something beside its graphs."""
    return f"so:{{{sid}}}:{graph}"


def query(
    key: str, name: str, params: dict[str, Any] | None = None, *, read: bool = False
) -> Command:
    """The command that runs a query."""
    return ("GRAPH.RO_QUERY" if read else "GRAPH.QUERY", key, _text(name, params or {}))


def _text(query: str, params: dict[str, Any]) -> str:
    header = " ".join(f"{name}={stringify_param_value(value)}" for name, value in params.items())
    return f"CYPHER {header} {queries()[query].text}" if header else queries()[query].text


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (AskError, TryAgainError) as error:  # a MovedError is an AskError
        raise StoreUnavailable("The memory is moving to another node. Try again.") from error
    except AuthenticationError as error:  # which redis-py counts as a lost connection
        raise NotAllowed("The server does not let this user in.") from error
    except _LOST as error:
        raise StoreUnavailable("The memory cannot be reached: is its server running?") from error
    except NoPermissionError as error:
        raise NotAllowed("The server does not let this user do that.") from error
    except redis.ResponseError as error:
        # the reason can hold what people wrote: it stays in the chained error, out of the sentence
        raise StoreRefused("The memory refused a query; this is a bug worth reporting.") from error


def known_workspaces(client: redis.Redis | redis.RedisCluster) -> tuple[str, ...]:
    """The ids of the workspaces on a server, in order; raises when it is no FalkorDB."""
    with _translated():
        found: Any = client.smembers(WORKSPACES)
        try:
            client.execute_command("GRAPH.RO_QUERY", "so:nothing", "RETURN 1")  # type: ignore[no-untyped-call]
        except redis.ResponseError as error:
            if "unknown command" in str(error).lower():
                raise StoreRefused("The server is no FalkorDB: it knows no graphs.") from error
            if "empty key" not in str(error):
                raise
    return tuple(sorted(found))


def connect(endpoint: Endpoint) -> redis.Redis:
    """A client of the embedded server."""
    return redis.Redis(
        unix_socket_path=endpoint.socket,
        username=endpoint.username,
        password=endpoint.password,
        decode_responses=True,
        retry=Retry(NoBackoff(), 0),  # where it went away it is woken: see `Store._again`
    )


def connect_url(url: str) -> Any:  # falkordb types nothing
    """A client of what answers at `redis://…`, `rediss://…` or `unix://…`.

    Where a node of a cluster answers, of the cluster; where a Sentinel does, of the master it names,
    which it is asked for again at every new connection.
    """
    try:
        client = redis.Redis.from_url(url, decode_responses=True)
    except ValueError as error:
        raise StoreUnavailable("The server's address is not one: redis://host:port is.") from error
    with _translated(), client:  # closed here; it opens itself again
        server: Any = client.info("server")
        match server["redis_mode"]:
            case "cluster":
                # The part of a cluster that is left goes on without the rest.
                return redis.RedisCluster.from_url(
                    url, decode_responses=True, require_full_coverage=False
                )
            case "sentinel":
                return FalkorDB.from_url(url).connection
    return client
