"""One's own mind and nothing else: the database itself refuses the rest, whatever people are called."""

import os
import random
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from redis.backoff import NoBackoff
from redis.retry import Retry

from engine import (
    InvalidInput,
    Memory,
    NotAllowed,
    PersonInfo,
    SecondOrderError,
    UnknownEntity,
    UnknownPerson,
    View,
    identify,
    recording,
)
from engine.events import Enter, Notice, Say, Unsee
from engine.links import Links
from engine.recording import mind
from engine.rules import same
from engine.server import Server
from engine.store import connect
from engine.view import Commons
from tests.conftest import Workspace
from tests.engine.conftest import NOON, after
from tests.engine.histories import History, histories


def raw(view: View) -> redis.Redis:
    """The view's own connection, for asking what a view never asks."""
    return view._keyhole._client


def told(client: redis.Redis, *command: Any) -> Any:
    return client.execute_command(*command)  # type: ignore[no-untyped-call]


def read(client: redis.Redis, key: str, query: str = "MATCH (e:Event) RETURN count(e)") -> Any:
    """The first value of a read."""
    return told(client, "GRAPH.RO_QUERY", key, query)[1][0][0]


def credentials(view: View) -> dict[str, Any]:
    kept = raw(view).connection_pool.connection_kwargs
    return {"username": kept["username"], "password": kept["password"]}


def stranger(socket: str, **known: Any) -> redis.Redis:
    """A client of one's own making."""
    return redis.Redis(unix_socket_path=socket, retry=Retry(NoBackoff(), 0), **known)


def refused(ask: Callable[[], object]) -> str:
    with pytest.raises(redis.exceptions.NoPermissionError) as caught:
        ask()
    return str(caught.value)


# ------------------------------------------------------------------------------- what it answers


def test_a_view_answers_from_the_owners_mind(support: Memory) -> None:
    with support.view("Billing") as billing, support.view("Maya") as maya:
        assert billing.believes("refund").value == "rejected"
        assert billing.believes("refund", at=after(2)).value == "approved"
        assert billing.what_does_believe("Maya", "refund").value == "approved"
        assert billing.what_does_believe("Maya", "refund").how == "heard"
        assert billing.what_does_believe(["Maya", "Finance"], "refund").value is None
        assert maya.believes("refund").value == "approved"
        assert maya.what_does_believe("Billing", "refund").value == "approved"
        assert billing.context_for("Maya") == support.context_for("Billing", talking_to="Maya")
        assert maya.context_for("Billing") == ""


def test_what_i_think_that_i_think_is_what_i_think(support: Memory) -> None:
    with support.view("Billing") as view:
        own = view.believes("refund")

        assert view.what_does_believe("Billing", "refund") == own
        assert [ref.id for ref in own.chain] == ["Billing"]
        assert view.what_does_believe(["Billing", "Maya"], "refund").chain[1].id == "Maya"


def test_who_is_misinformed_is_what_the_owner_knows_of_it(support: Memory) -> None:
    with support.view("Billing") as billing, support.view("Maya") as maya:
        [line] = billing.who_is_misinformed()

        assert (line.person.id, line.entity.id) == ("Maya", "refund")
        assert (line.believes, line.mine, line.since) == ("approved", "rejected", after(1))
        assert (line.evidence.at, line.evidence.grade) == (after(1), "stated")
        assert (line.shown.at, line.shown.grade) == (after(3), "exposed")
        assert (line.shown.room and line.shown.room.name) == "chat"
        assert billing.who_is_misinformed("refund") == (line,)
        assert billing.who_is_misinformed(at=after(2)) == ()
        assert maya.who_is_misinformed() == ()


def test_the_newest_comes_first(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "Cy"], "hall", at=NOON)
    for second, entity in ((1, "one"), (2, "two"), (3, "three")):
        memory.say("Ann", entity, "old", room="hall", at=after(second))
    memory.leave(["Bob", "Cy"], at=after(4))
    for entity in ("two", "three", "one"):
        memory.say("Ann", entity, "new", room="hall", at=after(5))

    with memory.view("Ann") as view:
        found = [(line.entity.id, line.person.id) for line in view.who_is_misinformed()]

    assert found == [(e, p) for e in ("three", "two", "one") for p in ("Bob", "Cy")]


def normal(answer: Any) -> Any:
    return (
        None if answer.value is None else answer.model_dump(exclude={"evidence": {"quote", "link"}})
    )


@given(history=histories(), dice=st.integers(0, 2**32).map(random.Random))
def test_views_answer_like_the_memory_does_from_the_same_mind(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    with pytest.MonkeyPatch.context() as patch, workspace() as memory:
        patch.setattr(recording, "INLINE", 2)  # few count as many
        memory.describe(people=[PersonInfo(person, person) for person in history.people])
        for event in history.events:
            memory.record(event)
        for owner in dice.sample(history.people, 2):
            with memory.view(owner) as view:
                assert_like_the_memory(memory, view, history, dice)


def assert_like_the_memory(
    memory: Memory, view: View, history: History, dice: random.Random
) -> None:
    me, others = view.person, [p for p in history.people if p != view.person]
    heard = {row.entity for row in memory._reading().rows("all_statements", graph=mind(me))}
    for entity in sorted(heard):
        for at in (None, *dice.sample(history.moments, 2)):
            values: dict[str, Any] = {}
            for chain in [[], *([o] for o in others), dice.sample(others, min(3, len(others)))]:
                own = view.what_does_believe(chain, entity, at) if chain else None
                own = own or view.believes(entity, at)
                expected = memory.believes([me, *chain], entity, at, mind_only=True)
                assert normal(own) == normal(expected), (me, chain, entity, at)
                if len(chain) < 2:
                    values["".join(chain)] = expected.value and same(expected.value)
            wrong = {o for o in others if values[o] and values[""] not in (None, values[o])}
            found = [line.person.id for line in view.who_is_misinformed(entity, at)]
            assert sorted(found) == sorted(wrong), (me, entity, at)
    for other in others:
        assert view.context_for(other) == memory.context_for(me, talking_to=other)


def test_what_was_pressed_in_private_shows_only_to_who_pressed_it(memory: Memory) -> None:
    for person in ("Ann", "Bob"):
        memory.record(Enter(id=f"in-{person}", at=NOON, person=person, room="hall"))
    said = Say(id="s", at=after(1), speaker="Ann", room="hall", entity="refund", value="yes")
    memory.record(said.model_copy(update={"witnesses": {}}))
    memory.record(said.model_copy(update={"id": "t", "at": after(2), "entity": "date"}))
    memory.record(Notice(id="n", at=after(3), person="Bob", event="s"))
    memory.record(Unsee(id="u", at=after(4), person="Bob", event="t"))

    with memory.view("Ann") as ann, memory.view("Bob") as bob:
        assert bob.believes("refund").value == "yes"
        assert bob.believes("date").value is None
        assert ann.what_does_believe("Bob", "refund").value is None
        assert ann.what_does_believe("Bob", "date").value == "yes"


def test_a_view_sees_what_is_recorded_after_it_was_opened(support: Memory) -> None:
    with support.view("Maya") as view:
        support.join("Maya", "chat", at=after(4))
        support.say("Billing", "refund", "refunded", room="chat", at=after(5))

        assert view.believes("refund").value == "refunded"


def test_a_view_works_with_nothing_but_the_mind(memory: Memory, database: redis.Redis) -> None:
    memory.describe(people=[PersonInfo("U1", "Ann"), PersonInfo("U2", "Bob")])
    memory.describe(rooms=[("C1", "the hall", "public")])
    memory.join(["U1", "U2"], "C1", at=NOON)
    memory.say("U1", "the launch date", "8 May", room="C1", at=after(1))
    memory.leave("U2", "C1", at=after(2))
    memory.say("U1", "the launch date", "9 May", room="C1", at=after(3))

    with memory.view("U1") as known:
        alone = View("U1", known._keyhole)
        for view, names in ((known, ("Ann", "Bob", "the hall")), (alone, ("U1", "U2", "C1"))):
            belief = view.what_does_believe("U2", "the launch date")
            assert belief.evidence is not None
            assert belief.evidence.room is not None
            shown = (belief.chain[0].name, belief.chain[1].name, belief.evidence.room.name)
            assert shown == names
            assert belief.entity.name == "the launch date"
            assert [line.person.name for line in view.who_is_misinformed()] == [names[1]]
            assert f"{names[1]} still holds “8 May”" in view.context_for("U2")


def test_rooms_one_was_in_have_names_and_others_do_not(memory: Memory) -> None:
    rooms = [("C1", "left"), ("C2", "secret"), ("C3", "open"), ("C4", "own")]
    memory.describe(
        rooms=[(id, name, "public" if name == "open" else "private") for id, name in rooms]
    )
    memory.join(["Ann"], "C1", at=NOON)
    memory.join(["Ann"], "C4", at=NOON)
    memory.join(["Bob"], "C2", at=NOON)
    memory.leave("Ann", "C1", at=after(1))

    with memory.view("Ann") as view:
        assert sorted(view._commons.names.rooms.values()) == ["left", "open", "own"]


# ------------------------------------------------------------------------------- the unknown


def test_who_witnessed_nothing_knows_nothing_and_gets_no_graph(
    memory: Memory, database: redis.Redis
) -> None:
    memory.describe(people=[PersonInfo("Ann", "Ann")])
    memory.join("Bob", "hall")
    memory.say("Bob", "refund", "yes", room="hall")

    with memory.view("Ann") as view:
        for entity in ("refund", "nothing of the kind"):
            belief = view.believes(entity)
            assert (belief.value, belief.evidence, belief.entity.name) == (
                None,
                None,
                identify(entity),
            )
            assert view.what_does_believe("Bob", entity).value is None
            assert view.who_is_misinformed(entity) == ()
        assert view.who_is_misinformed() == ()
        assert view.context_for("Bob") == ""
    assert not database.exists(memory._store.key("mind:Ann"))


def test_an_unknown_name_is_answered_from_the_own_mind(memory: Memory) -> None:
    memory.join(["Ann", "Maya"], "hall", at=NOON)
    memory.join(["Maja", "Mayo"], "board", at=NOON)
    memory.say("Ann", "decision-42", "yes", room="hall", at=after(1))
    memory.say("Maja", "decision-43", "no", room="board", at=after(2))

    with memory.view("Ann") as view:
        for entity in ("decision-43", "decision-44"):
            for ask in (
                lambda e: view.believes(e),
                lambda e: view.what_does_believe("Maya", e),
                lambda e: view.who_is_misinformed(e),
            ):
                with pytest.raises(UnknownEntity) as thing:
                    ask(entity)
                assert thing.value.suggestions == ("decision-42",)
        for naming in (lambda p: view.what_does_believe(p, "decision-42"), view.context_for):
            with pytest.raises(UnknownPerson) as person:
                naming("Mayaa")
            assert person.value.suggestions == ("Maya",)
        assert view.what_does_believe("Maja", "decision-42").value is None, (
            "a colleague, no witness"
        )
        assert view.believes("Decision-42").value == "yes"


def test_before_it_was_spoken_of_an_entity_is_unknown(support: Memory) -> None:
    with support.view("Billing") as view:
        assert view.believes("refund", at=NOON).value is None


def test_what_cannot_be_meant_is_refused(support: Memory) -> None:
    with support.view("Billing") as view:
        for ask in (
            lambda: view.believes(""),
            lambda: view.what_does_believe([], "refund"),
            lambda: view.what_does_believe(["Maya", "Finance", "Maya"], "refund"),
            lambda: view.what_does_believe("", "refund"),
            lambda: view.context_for("Billing"),
        ):
            with pytest.raises(InvalidInput):
                ask()


def test_nobody_has_no_view(support: Memory, database: redis.Redis) -> None:
    with pytest.raises(UnknownPerson) as caught:
        support.view("Mayra")

    assert caught.value.suggestions == ("Maya",)
    assert not [u for u in database.acl_users() if support.sid in u]


def test_who_is_left_out_keeps_their_own_view_and_is_in_no_other(support: Memory) -> None:
    with support.view("Billing") as before:
        assert before.who_is_misinformed() != ()
    support.optout("Maya")

    with support.view("Maya") as maya, support.view("Billing") as billing:
        own = maya.believes("refund")
        assert (own.value, own.chain[0].name) == ("approved", "Maya")
        assert billing.who_is_misinformed() == ()
        missing = failure(lambda: billing.what_does_believe("Zed", "refund"))
        left_out = failure(lambda: billing.what_does_believe("Maya", "refund"))
        assert left_out == (missing[0], missing[1].replace("Zed", "Maya"), ())
        assert failure(lambda: billing.context_for("Maya")) == left_out
    support.optout("Billing")
    with support.view("Maya") as maya:
        shown = maya.believes("refund").evidence
        assert shown is not None
        assert shown.speaker is None
    support.optout("Maya", out=False)
    with support.view("Billing") as billing:
        shown = billing.believes("refund", at=after(1)).evidence
        assert shown is not None
        assert (shown.speaker and shown.speaker.id) == "Billing"


def failure(ask: Callable[[], Any]) -> tuple[type, str, tuple[str, ...]]:
    with pytest.raises(SecondOrderError) as caught:
        ask()
    return type(caught.value), caught.value.message, caught.value.suggestions


def test_bots_and_who_is_gone_are_in_no_list(support: Memory) -> None:
    support.describe(people=[PersonInfo("Maya", "Maya", gone=True)])

    with support.view("Billing") as view:
        assert view.who_is_misinformed() == ()
        assert view.what_does_believe("Maya", "refund").value == "approved"


def test_merges_and_aliases_hold_for_who_may_read_where_they_were_made(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.join(["Ann"], "board", at=NOON)
    memory.say("Ann", "refund", "yes", room="hall", at=after(1))
    memory.say("Ann", "refunds", "no", room="hall", at=after(2))
    memory.merge("refunds", into="refund", room="board")
    memory.alias("the money", "refund", room="board")

    with memory.view("Ann") as ann, memory.view("Bob") as bob:
        assert ann.believes("refund").value == "no"
        assert ann.believes("refunds").entity.id == "refund"
        assert ann.believes("The Money").value == "no"
        assert ann.who_is_misinformed("the money") == ()
        assert bob.believes("refund").value == "yes"
        with pytest.raises(UnknownEntity):
            bob.believes("the money")


def test_links_are_handed_in(support: Memory) -> None:
    with support.view("Billing") as view:
        linked = View(
            "Billing", view._keyhole, Commons(links=Links({"it": "refund"}, {"that": "refund"}))
        )

        assert linked.believes("it").value == linked.believes("That").value == "rejected"


# ------------------------------------------------------------------------------- what is refused


@pytest.fixture
def tenants(workspace: Workspace) -> Iterator[tuple[Memory, Memory]]:
    """Two workspaces with the same people in them."""
    with workspace() as one, workspace() as other:
        for memory in (one, other):
            memory.join(["Maya", "Bob"], "hall")
            memory.say("Maya", "refund", f"of {memory.sid}", room="hall")
            memory.note("heard:hall", {"Maya said so": NOON})
        yield one, other


REFUSED: dict[str, tuple[str, ...]] = {
    "another mind": ("GRAPH.RO_QUERY", "{bob}", "MATCH (n) RETURN n"),
    "another tenant's namesake": ("GRAPH.RO_QUERY", "{namesake}", "MATCH (n) RETURN n"),
    "the world": ("GRAPH.RO_QUERY", "{world}", "MATCH (n) RETURN n"),
    "another tenant's world": ("GRAPH.RO_QUERY", "{far}", "MATCH (n) RETURN n"),
    "a mind that is not there": ("GRAPH.RO_QUERY", "{own}-2", "RETURN 1"),
    "a write": ("GRAPH.QUERY", "{own}", "CREATE (:Event)"),
    "a read that could write": ("GRAPH.QUERY", "{own}", "MATCH (n) RETURN n"),
    "a write into the world": ("GRAPH.QUERY", "{world}", "CREATE (:Event)"),
    "the list of graphs": ("GRAPH.LIST",),
    "deleting": ("GRAPH.DELETE", "{own}"),
    "deleting another": ("GRAPH.DELETE", "{bob}"),
    "copying": ("GRAPH.COPY", "{bob}", "{own}"),
    "copying away": ("GRAPH.COPY", "{own}", "{own}2"),
    "explaining": ("GRAPH.EXPLAIN", "{own}", "RETURN 1"),
    "profiling": ("GRAPH.PROFILE", "{own}", "RETURN 1"),
    "the slow log": ("GRAPH.SLOWLOG", "{own}"),
    "memory": ("GRAPH.MEMORY", "USAGE", "{own}"),
    "what others ask": ("GRAPH.INFO",),
    "a constraint": (
        "GRAPH.CONSTRAINT",
        "CREATE",
        "{own}",
        "UNIQUE",
        "NODE",
        "E",
        "PROPERTIES",
        "1",
        "x",
    ),
    "graph settings": ("GRAPH.CONFIG", "GET", "*"),
    "functions": ("GRAPH.UDF", "LIST"),
    "keys": ("KEYS", "*"),
    "scanning": ("SCAN", "0"),
    "settings": ("CONFIG", "GET", "*"),
    "users": ("ACL", "LIST"),
    "more rights": ("ACL", "SETUSER", "{user}", "+@all", "~*"),
    "who am I": ("ACL", "WHOAMI"),
    "emptying": ("FLUSHALL",),
    "emptying the database": ("FLUSHDB",),
    "notes": ("ZRANGE", "{notes}", "0", "-1"),
    "the list of workspaces": ("SMEMBERS", "so:workspaces"),
    "whether a key is there": ("EXISTS", "{own}"),
    "dumping": ("DUMP", "{own}"),
    "restoring": ("RESTORE", "{own}", "0", "x"),
    "renaming": ("RENAME", "{own}", "{bob}"),
    "deleting a key": ("DEL", "{own}"),
    "writing a key": ("SET", "{own}", "x"),
    "reading a key": ("GET", "{own}"),
    "other databases": ("SELECT", "1"),
    "swapping databases": ("SWAPDB", "0", "1"),
    "moving": ("MOVE", "{own}", "1"),
    "scripts": ("EVAL", "return redis.call('KEYS', '*')", "0"),
    "transactions": ("MULTI",),
    "channels": ("SUBSCRIBE", "x"),
    "publishing": ("PUBLISH", "x", "y"),
    "listening in": ("MONITOR",),
    "clients": ("CLIENT", "LIST"),
    "ending": ("SHUTDOWN",),
    "saving": ("BGREWRITEAOF",),
    "replication": ("REPLICAOF", "127.0.0.1", "1"),
    "modules": ("MODULE", "LIST"),
    "the server": ("INFO",),
    "being there": ("PING",),
}


def everything(database: redis.Redis, *memories: Memory) -> dict[str, Any]:
    """What the server holds of some workspaces, their users included."""
    users = database.acl_list()
    found: dict[str, Any] = {}
    for memory in memories:
        found[memory.sid] = sorted(user for user in users if memory.sid in user)
        for key in sorted(database.scan_iter(memory._store.key("*"))):
            graph = database.type(key) == "graphdata"
            every = "MATCH (n) RETURN collect(n {.*})"
            found[key] = read(database, key, every) if graph else database.zrange(key, 0, -1)
    return found


@pytest.mark.parametrize("command", REFUSED.values(), ids=REFUSED)
def test_the_database_refuses(
    tenants: tuple[Memory, Memory], database: redis.Redis, command: tuple[str, ...]
) -> None:
    one, other = tenants
    with one.view("Maya") as view:
        places = {
            "own": one._store.key("mind:Maya"),
            "bob": one._store.key("mind:Bob"),
            "world": one._store.key("world"),
            "namesake": other._store.key("mind:Maya"),
            "far": other._store.key("world"),
            "notes": one._store.key("heard:hall"),
            "user": one._store.user("Maya"),
        }
        before = everything(database, one, other)
        assert read(raw(view), places["own"]) == 1

        said = refused(lambda: told(raw(view), *(part.format(**places) for part in command)))

        assert said.startswith(("No permissions to access a key", f"User {places['user']} has no"))
        assert everything(database, one, other) == before
        assert view.believes("refund").value == f"of {one.sid}"


@pytest.mark.parametrize(
    "query",
    [
        "CREATE (:Event {id: 'x'})",
        "MERGE (:Event {id: 'x'})",
        "MATCH (n) DELETE n",
        "MATCH (n) SET n.value = 'x'",
        "MATCH (n) REMOVE n.value",
        "CREATE INDEX FOR (e:Event) ON (e.id)",
        "CALL db.idx.fulltext.createNodeIndex('Event', 'value')",
        "LOAD CSV FROM 'file://users.acl' AS row CREATE (:Row)",
    ],
)
def test_a_read_cannot_write(tenants: tuple[Memory, Memory], query: str) -> None:
    one, _ = tenants
    with one.view("Maya") as view:
        key = one._store.key("mind:Maya")
        with pytest.raises(redis.ResponseError, match="read-only"):
            read(raw(view), key, query)

        assert read(raw(view), key) == 1


@pytest.mark.parametrize("path", ["users.acl", "{state}/users.acl", "{up}{state}/users.acl"])
def test_a_read_cannot_open_the_servers_files(
    tenants: tuple[Memory, Memory], state: Path, path: str
) -> None:
    one, _ = tenants
    assert (state / "users.acl").exists()
    name = path.format(state=state, up="../" * 20)
    with one.view("Maya") as view, pytest.raises(redis.ResponseError, match="Error opening CSV"):
        read(raw(view), one._store.key("mind:Maya"), f"LOAD CSV FROM 'file://{name}' AS r RETURN r")


def test_a_refusal_has_a_name(tenants: tuple[Memory, Memory]) -> None:
    one, _ = tenants
    with one.view("Maya") as view:
        for graph in ("world", "mind:Bob"):
            with pytest.raises(NotAllowed, match=r"^The server does not let this user do that\.$"):
                view._keyhole.read(graph, "all_audiences")


def test_a_view_of_another_mind_through_ones_own_user_is_refused(
    tenants: tuple[Memory, Memory],
) -> None:
    one, _ = tenants
    with one.view("Maya") as view:
        stolen = View("Bob", view._keyhole)
        for ask in (
            lambda: stolen.believes("refund"),
            lambda: stolen.what_does_believe("Maya", "refund"),
            lambda: stolen.who_is_misinformed(),
            lambda: stolen.context_for("Maya"),
        ):
            with pytest.raises(NotAllowed):
                ask()


def test_the_default_user_is_closed(tenants: tuple[Memory, Memory], state: Path) -> None:
    one, _ = tenants
    with Server(state) as server:
        path = server.start().socket
    known: list[dict[str, Any]] = [{}, {"username": "default", "password": ""}, {"password": "x"}]
    for name in known:
        with (
            stranger(path, **name) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            read(client, one._store.key("mind:Maya"))


@pytest.mark.parametrize("other", [False, True], ids=["a wrong one", "the namesake's"])
def test_a_wrong_password_is_refused(
    tenants: tuple[Memory, Memory], state: Path, other: bool
) -> None:
    one, far = tenants
    with one.view("Maya") as view, far.view("Maya") as namesake, Server(state) as server:
        given = credentials(namesake)["password"] if other else "wrong"
        wrong = credentials(view) | {"password": given}
        with (
            stranger(server.start().socket, **wrong) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            read(client, one._store.key("mind:Maya"))


def test_names_that_look_alike_when_joined_are_two_users(
    state: Path, database: redis.Redis
) -> None:
    sid = uuid.uuid4().hex
    with Memory(sid, state=state) as short, Memory(f"{sid}-a", state=state) as long:
        short.join("a-b", "hall")
        short.say("a-b", "refund", "short", room="hall")
        long.join("b", "hall")
        long.say("b", "refund", "long", room="hall")
        with short.view("a-b") as one, long.view("b") as other:
            assert (one.believes("refund").value, other.believes("refund").value) == (
                "short",
                "long",
            )
            refused(lambda: read(raw(one), long._store.key("mind:b")))
            refused(lambda: read(raw(other), short._store.key("mind:a-b")))


# ------------------------------------------------------------------------------- hostile names

NAMES = [
    "Zoë",
    "日本",
    "a*b",
    "*",
    "?",
    "[a-z]",
    "x] ~*",
    "on ~* +@all nopass",
    "a ~so:*",
    "it's",
    'say "yes"',
    "back\\slash",
    "'}) MATCH (n) RETURN n //",
    "new\nline\ttab",
    "\u202eright to left\u202c",
    "שלום",
    "😀",
    "Maya:mind:Bob",
    "world",
    "e\u0301",
    "é",
    "a" * 500,
]


def test_whatever_people_are_called_each_reads_only_their_own_mind(
    memory: Memory, database: redis.Redis
) -> None:
    memory.join(NAMES, "hall", at=NOON)
    for number, name in enumerate(NAMES, 1):
        memory.tell(name, "Hub", "secret", f"of {number}", at=after(number))
    keys = {name: memory._store.key(mind(identify(name))) for name in NAMES}
    assert len(set(keys.values())) == len(NAMES)

    for number, name in enumerate(NAMES, 1):
        with memory.view(name) as view:
            belief = view.believes("secret")
            assert belief.value == f"of {number}"
            assert belief.chain[0].name == name.strip()
            for other, key in keys.items():
                if other != name:
                    refused(partial(read, raw(view), key))
            refused(partial(read, raw(view), memory._store.key("world")))
            user: Any = database.acl_getuser(credentials(view)["username"])
            assert user["keys"] == [f"~{keys[name]}"]
            assert user["commands"] == ["+graph.ro_query"]
    with memory.view("Hub") as view:
        wrong = {line.person.name for line in view.who_is_misinformed("secret")}
        assert wrong == set(NAMES) - {NAMES[-1]}, "Hub believes the last"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_hostile_question_is_a_question(support: Memory, name: str) -> None:
    with support.view("Billing") as view:
        with pytest.raises(UnknownEntity):
            view.believes(name)
        with pytest.raises(UnknownPerson):
            view.what_does_believe(name, "refund")
        with pytest.raises(UnknownPerson):
            view.context_for(name)


# ------------------------------------------------------------------------------- users and passwords


def test_a_password_is_nowhere_in_clear(
    support: Memory, state: Path, database: redis.Redis
) -> None:
    with support.view("Maya") as view:
        password = credentials(view)["password"]
        assert len(password) == 64
        for shown in (repr(view), str(view), repr(view._keyhole), repr(raw(view))):
            assert password not in shown
        assert repr(view) == "View('Maya')"
        assert password not in str(database.acl_list())
        files = [file for file in state.rglob("*") if file.is_file() and file.suffix != ".lock"]
        assert state / "users.acl" in files
        for file in files:
            with suppress(FileNotFoundError):  # the append-only file is rewritten meanwhile
                assert password.encode() not in file.read_bytes(), file


def test_a_user_is_made_once_and_brought_back_to_its_rights(
    support: Memory, state: Path, database: redis.Redis
) -> None:
    with support.view("Maya") as view:
        user, key = credentials(view)["username"], support._store.key("world")
    made = (state / "users.acl").stat().st_mtime_ns

    with support.view("Maya") as view:
        assert (state / "users.acl").stat().st_mtime_ns == made
        for more in (("allkeys",), ("+@all",), (">other",), ("&*",), ("(+@all ~*)",), ("off",)):
            told(database, "ACL SETUSER", user, *more)
            with support.view("Maya") as again:
                refused(partial(read, raw(again), key))
                refused(partial(told, raw(again), "PING"))
                known: Any = database.acl_getuser(user)
                assert (len(known["passwords"]), known["selectors"]) == (1, [])
    assert user in database.acl_users()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A state folder with a server of its own, which may be killed."""
    yield tmp_path / "state"
    with Server(tmp_path / "state"):
        pass  # whoever used it last was killed, perhaps: end what is left


def filled(folder: Path) -> Memory:
    memory = Memory("acme", state=folder)
    memory.join(["Maya", "日本"], "hall")
    memory.say("Maya", "refund", "yes", room="hall")
    return memory


def assert_let_in(folder: Path, known: dict[str, Any], own: str, other: str) -> None:
    """As those users, without a memory that could have made them anew."""
    with Server(folder) as server:
        endpoint = server.start()
        with stranger(endpoint.socket, **known) as client:
            assert read(client, own) == 1
            refused(lambda: read(client, other))
            refused(lambda: told(client, "GRAPH.LIST"))


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_users_survive_a_restart(folder: Path, killed: bool) -> None:
    with filled(folder) as memory, Server(folder) as server:
        keys = {p: memory._store.key(mind(identify(p))) for p in ("Maya", "日本")}
        known = {}
        for person in keys:
            with memory.view(person) as view:
                known[person] = credentials(view)
        if killed:
            status = server.status()
            assert status is not None
            os.kill(status.pid, signal.SIGKILL)

    assert_let_in(folder, known["Maya"], keys["Maya"], keys["日本"])
    assert_let_in(folder, known["日本"], keys["日本"], keys["Maya"])


def test_an_open_view_outlives_the_server(folder: Path) -> None:
    with filled(folder) as memory, memory.view("Maya") as view:
        before = view.believes("refund")
        status = Server(folder).status()
        assert status is not None
        os.kill(status.pid, signal.SIGKILL)

        assert view.believes("refund") == before
        refused(lambda: read(raw(view), memory._store.key("world")))
        with memory.view("日本") as other:
            assert other.believes("refund").value == "yes"


def test_who_is_forgotten_has_no_user_and_no_view(support: Memory, database: redis.Redis) -> None:
    with support.view("Maya") as maya, support.view("Billing") as billing:
        users = [support._store.user(person) for person in ("Maya", "Billing")]
        assert set(users) <= set(database.acl_users())

        support.forget("Maya")

        assert users[0] not in database.acl_users()
        assert users[1] in database.acl_users()
        with pytest.raises(NotAllowed, match=r"^The server does not let this user in\.$"):
            maya.believes("refund")
        assert users[0] not in database.acl_users(), "and asking brings nobody back"
        with pytest.raises(UnknownPerson):
            support.view("Maya")
        assert billing.believes("refund").value == "rejected"


# ------------------------------------------------------------------------------- secrets


def passwords(memory: Memory, *people: str) -> list[str]:
    found = []
    for person in people:
        with memory.view(person) as view:
            assert view.believes("refund").value is not None
            found.append(credentials(view)["password"])
    return found


def test_a_password_follows_from_the_secret_the_workspace_and_the_person(
    tenants: tuple[Memory, Memory], state: Path
) -> None:
    one, other = tenants
    derived = passwords(one, "Maya", "Bob") + passwords(other, "Maya", "Bob")
    with Memory(one.sid, state=state) as again:
        assert passwords(again, "Maya", "Bob") == derived[:2]
    with Memory(one.sid, state=state, secret="mine") as again:
        derived += passwords(again, "Maya", "Bob")
    assert len(set(derived)) == 6


def test_with_an_address_the_secret_is_ours_or_the_password_in_it(
    support: Memory, state: Path
) -> None:
    with Server(state) as server:
        endpoint = server.start()
    url = f"unix://{endpoint.username}:{endpoint.password}@{endpoint.socket}"
    own = passwords(support, "Maya")
    with Memory(support.sid, url=url) as far:
        assert passwords(far, "Maya") == own
    with Memory(support.sid, url=url, secret="mine") as far:
        assert passwords(far, "Maya") != own
    with Memory(support.sid, url=f"{url}?db=1") as elsewhere:
        elsewhere.join("Maya", "hall")
        with pytest.raises(NotAllowed, match="database 0"):
            elsewhere.view("Maya")


def test_without_any_secret_a_user_gets_a_new_password_from_each_process(
    support: Memory, state: Path, database: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    kwargs = support._store._node.connection_pool.connection_kwargs
    with support.view("Maya") as view:
        from_admin = credentials(view)["password"]
    monkeypatch.setitem(kwargs, "password", None)  # the open connection stays
    first = passwords(support, "Maya")

    assert first == passwords(support, "Maya") != [from_admin]
    monkeypatch.setattr("engine.store._secret_of_process", lambda: "another process")
    assert passwords(support, "Maya") != first


def test_a_password_that_is_no_longer_valid_is_named(support: Memory, state: Path) -> None:
    with support.view("Maya") as view, Memory(support.sid, state=state, secret="new") as other:
        assert view.believes("refund").value == "approved"
        other.view("Maya").close()
        assert view.believes("refund").value == "approved", "an open connection stays open"
        raw(view).connection_pool.disconnect()
        with pytest.raises(NotAllowed, match=r"^The server does not let this user in\.$"):
            view.believes("refund")


def test_our_own_wrong_password_is_named_too(state: Path) -> None:
    with Server(state) as server:
        path = server.start().socket
    with pytest.raises(NotAllowed):
        Memory("acme", url=f"unix://secondorder:wrong@{path}")


def test_the_admin_can_look_into_every_mind_and_a_person_cannot(
    support: Memory, state: Path
) -> None:
    """What the refusals above are measured against: the same reads, by who may."""
    with Server(state) as server, connect(server.start()) as client:
        for graph in ("world", "mind:Maya", "mind:Billing"):
            assert read(client, support._store.key(graph)) >= 1
