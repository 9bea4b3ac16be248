"""A workspace as it is at one moment, under another name; what happens in either stays there.

Graphs are dumped, restored and renamed: a third of a millisecond each, where GRAPH.COPY takes tens.
Restored alone a graph still carries its old name and refuses every write; the renaming repairs that
(FalkorDB 4.22; before, it could crash: https://github.com/FalkorDB/FalkorDB/issues/2048). So a small
graph is tried on every server before it is relied upon, and every copy is counted. Where it does not
hold, graphs are copied one by one. This knows commands and keys, and nothing of what a graph means.
"""

import re
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from engine.errors import InvalidInput, StoreRefused, StoreUnavailable
from engine.store import Command, Store, Wire, key_of, query

SAFE = 42_200  # of the graph module: from here on a restored graph is one of its own
_TRIES = 20  # of a snapshot in which no key came or went, and of a copy while nothing was written
_COPIES = 200  # tries of one GRAPH.COPY: one fork at a time is all that a server has
_PAUSE = 0.05
_GRAPH, _NOTES = b"graphdata", b"zset"

_tried: dict[tuple[bytes, bytes], bool] = {}  # whether restoring holds between two running servers
_copying = threading.Lock()


class _Copy(NamedTuple):
    """One key as it was: its short name, whether it is a graph, its content, and its size."""

    name: str
    graph: bool
    content: bytes
    size: Sequence[Any]


def fork(store: Store, name: str) -> None:
    """Copies the world, every mind and the notes; not what is on its way in or out, and no drawings.

    The copy is of one moment, and is there whole or not at all.
    """
    store.read("world", "schema")  # wakes the server, should it have gone
    sid = store.sid
    with store.wire() as source, store.wire(name) as target:
        _new(target, name)
        store.list_fork(name)
        try:
            whole = _restores(source, target, sid, name) and _restored(sid, name, source, target)
            if not whole:
                _copied_one_by_one(sid, name, source, target)
        except StoreRefused:
            store.unlist_fork(sid, name)
            raise


def _new(target: Wire, name: str) -> None:
    if target.ask("KEYS", key_of(name, "*")):
        raise InvalidInput(f"There is a workspace called {name} already: a fork is a new one.")


def forked_from(store: Store) -> str | None:
    """The workspace that this one is a fork of."""
    rows = store.read("world", "fork_of")
    return rows[0][0] if rows else None


def drop(store: Store) -> None:
    """Deletes a fork, with its users."""
    origin = forked_from(store)
    if origin is None:
        raise InvalidInput("Only a fork can be dropped, and this workspace is none.")
    with store.wire() as wire:
        gone = _deleted(wire, store.sid)
    people = [name.removeprefix("mind:") for name in gone if name.startswith("mind:")]
    store.drop_users(people)
    store.unlist_fork(origin, store.sid)


# ------------------------------------------------------------------------------- restoring


def _restored(sid: str, name: str, source: Wire, target: Wire) -> bool:
    """Whether every key arrived as it was; where not, none of them is left."""
    copies = _snapshot(source, sid)
    target.ask("WATCH", key_of(name, "world"))
    _new(target, name)
    commands: list[Command] = []
    made: list[str] = []
    for number, copy in enumerate(copies):
        arriving, there = key_of(name, f"arriving:{number}"), key_of(name, copy.name)
        commands += [("RESTORE", arriving, 0, copy.content), ("RENAME", arriving, there)]
        made += [arriving, there]
    commands.append(query(key_of(name, "world"), "mark_fork", {"source": sid}))
    sizes = [size for copy in copies for size in _sizes(name, copy.name, copy.graph)]
    try:
        answers = target.together(*commands, *sizes)
    except StoreRefused:
        _remove(target, made)
        return False
    if answers is None:
        _new(target, name)
        return False
    expected = [size for copy in copies for size in copy.size]
    if [_rows(answer) for answer in answers[len(commands) :]] == expected:
        return True
    _remove(target, made)
    return False


def _snapshot(wire: Wire, sid: str) -> list[_Copy]:
    """Every key as it was at one moment, the world last."""
    prefix = key_of(sid, "").encode()
    for _ in range(_TRIES):
        found = _kinds(wire, sid)
        graphs, notes = found
        names = [*notes, *graphs]
        keys = [prefix + name.encode() for name in names]
        sizes = [size for name in graphs for size in _sizes(sid, name, True)]
        answers = wire.together(("KEYS", key_of(sid, "*")), *(("DUMP", k) for k in keys), *sizes)
        assert answers is not None  # nothing is watched
        if not set(keys) <= set(answers[0]) or _of_ours(answers[0], prefix) - set(keys):
            continue  # somebody was met, or forgotten, in between
        dumps = answers[1 : len(keys) + 1]
        counted = [_rows(answer) for answer in answers[len(keys) + 1 :]]
        return [_Copy(n, False, dump, []) for n, dump in zip(notes, dumps, strict=False)] + [
            _Copy(n, True, dump, counted[2 * i : 2 * i + 2])
            for i, (n, dump) in enumerate(zip(graphs, dumps[len(notes) :], strict=True))
        ]
    raise StoreUnavailable("The memory is too busy to be copied at one moment. Try again.")


def _of_ours(keys: Sequence[bytes], prefix: bytes) -> set[bytes]:
    """The keys that are graphs by their names."""
    return {k for k in keys if _is_ours(k.removeprefix(prefix).decode())}


def _is_ours(name: str) -> bool:
    return name == "world" or name.startswith("mind:")


def _kinds(wire: Wire, sid: str) -> tuple[list[str], list[str]]:
    """The short names of the graphs, the world last, and of the notes."""
    keys: list[bytes] = sorted(wire.ask("KEYS", key_of(sid, "*")))
    names = [key.decode().removeprefix(key_of(sid, "")) for key in keys]
    graphs = [name for name in names if _is_ours(name)]
    left = ("view:", "inbox", "outbox")
    others = [name for name in names if not _is_ours(name) and not name.startswith(left)]
    # Asked one by one: a transaction would end what is watched.
    notes = [name for name in others if wire.ask("TYPE", key_of(sid, name)) == _NOTES]
    return sorted(graphs, key=lambda name: (name == "world", name)), notes


def _sizes(sid: str, name: str, graph: bool) -> list[Command]:
    """How many nodes and edges there are; both are known without counting."""
    key = key_of(sid, name)
    return [query(key, text, read=True) for text in ("nodes", "edges")] if graph else []


def _rows(answer: Any) -> Any:
    """What a query answered, without how long it took."""
    return answer[:-1]


# ------------------------------------------------------------------------------- the trial


def _restores(source: Wire, target: Wire, sid: str, name: str) -> bool:
    """Whether restoring and renaming holds from the one server to the other; tried once."""
    servers = (_run_id(source), _run_id(target))
    if servers not in _tried:
        _tried[servers] = min(_version(source), _version(target)) >= SAFE and _trial(
            source, target, sid, name
        )
    return _tried[servers]


def _trial(source: Wire, target: Wire, sid: str, name: str) -> bool:
    """A small graph with an index is copied; then either is written to, and the other looked at."""
    token = secrets.token_hex(8)  # never the same name twice
    ours, theirs = key_of(sid, f"trial:{token}"), key_of(name, f"trial:{token}")
    arriving = key_of(name, f"arriving:{token}")

    def content(key: str) -> list[Command]:
        return [
            query(key, "people", read=True),
            query(key, "known_person", {"person": "Ann"}, read=True),
            query(key, "nodes", read=True),
        ]

    def add(key: str, person: str) -> Command:
        return query(
            key, "describe_person", {"id": person, "at": 0, "row": {"name": f"{person} “1”"}}
        )

    def looks(wire: Wire, key: str) -> list[Any]:
        return [_rows(answer) for answer in wire.together(*content(key)) or ()]

    try:
        source.together(query(ours, "index_person"), add(ours, "Ann"), add(ours, "Bob"))
        before = looks(source, ours)
        dump = (source.together(("DUMP", ours)) or [b""])[0]
        target.together(("RESTORE", arriving, 0, dump), ("RENAME", arriving, theirs))
        same = looks(target, theirs) == before == looks(source, ours)
        target.together(add(theirs, "Cy"))
        alone = looks(source, ours) == before != looks(target, theirs)
        after = looks(target, theirs)
        source.together(add(ours, "Dee"))
        return same and alone and looks(target, theirs) == after != looks(source, ours)
    except StoreRefused:
        return False
    finally:
        _remove(source, [ours])
        _remove(target, [theirs, arriving])


def _run_id(wire: Wire) -> bytes:
    found = re.search(rb"run_id:(\w+)", wire.ask("INFO", "server"))
    return found[1] if found else b""


def _version(wire: Wire) -> int:
    for module in wire.ask("MODULE", "LIST"):
        one = (
            module
            if isinstance(module, dict)
            else dict(zip(module[::2], module[1::2], strict=True))
        )
        if one.get(b"name") == b"graph":
            return int(one[b"ver"])
    return 0


# ------------------------------------------------------------------------------- copying


def _copied_one_by_one(sid: str, name: str, source: Wire, target: Wire) -> None:
    """Slower, and only on one server: begun again when something was recorded meanwhile."""
    if _run_id(source) != _run_id(target):
        raise StoreRefused("Graphs cannot be copied to another server here: choose another name.")
    for _ in range(_TRIES):
        source.ask("WATCH", key_of(sid, "world"))
        graphs, notes = _kinds(source, sid)
        made: list[str] = []
        try:
            for key in notes:
                target.ask("COPY", key_of(sid, key), key_of(name, key))
                made.append(key_of(name, key))
            for graph in graphs:
                _copied(target, key_of(sid, graph), key_of(name, graph))
                made.append(key_of(name, graph))
            if source.together(("PING",)) is not None:
                target.together(query(key_of(name, "world"), "mark_fork", {"source": sid}))
                return
        except StoreRefused as error:
            _remove(target, made)
            raise StoreRefused("This server cannot copy a workspace.") from error
        _remove(target, made)
    raise StoreUnavailable("The memory is too busy to be copied at one moment. Try again.")


def _copied(wire: Wire, source: str, copy: str) -> None:
    for _ in range(_COPIES):
        with _copying:
            try:
                wire.ask("GRAPH.COPY", source, copy)
            except StoreRefused as error:
                if "could not fork" not in str(error.__cause__):
                    raise
            else:
                return
        time.sleep(_PAUSE)
    raise StoreUnavailable("The server is busy with other copies. Try again.")


# ------------------------------------------------------------------------------- deleting


def _deleted(wire: Wire, sid: str) -> list[str]:
    """Deletes every key of a workspace, and returns their short names."""
    gone: list[str] = []
    keys = wire.ask("KEYS", key_of(sid, "*"))
    while keys:
        _remove(wire, keys)
        gone += [key.decode().removeprefix(key_of(sid, "")) for key in keys]
        keys = wire.ask("KEYS", key_of(sid, "*"))
    return gone


def _remove(wire: Wire, keys: Sequence[str | bytes]) -> None:
    """As one; a graph that was restored and not renamed lets itself be deleted as a key only."""
    kinds = wire.together(*(("TYPE", key) for key in keys)) if keys else ()
    wire.together(*_deletions(keys, kinds or ()))


def _deletions(keys: Sequence[str | bytes], kinds: Sequence[bytes]) -> Iterator[Command]:
    for key, kind in zip(keys, kinds, strict=True):
        name = key.decode() if isinstance(key, bytes) else key
        if kind == _GRAPH and ":arriving:" not in name:
            yield ("GRAPH.DELETE", key)
        elif kind != b"none":
            yield ("DEL", key)
