"""A mind that is drawn says what the mind says, holds only what differs, and follows nothing later."""

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidInput, Memory, PersonInfo, UnknownPerson, perspectives, recording
from engine.events import Report, Say, Tell
from engine.recording import Policy, mind
from engine.rules import FOREVER
from tests.conftest import Workspace
from tests.engine.histories import History, histories

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
seeds = st.integers(0, 2**32).map(random.Random)


def after(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


@pytest.fixture
def support(memory: Memory) -> Memory:
    """Maya hears that the refund is approved, and leaves before it is rejected."""
    memory.join(["Maya", "Billing", "Finance"], "chat", at=NOON)
    memory.say("Billing", "refund", "approved", room="chat", at=after(1))
    memory.leave("Maya", "chat", at=after(2))
    memory.say("Finance", "refund", "rejected", room="chat", at=after(3))
    return memory


def edges(database: Any, memory: Memory, person: str) -> list[list[Any]]:
    """Every BELIEVES edge of a drawing, by chain and time."""
    text = (
        "MATCH (p:Perspective)-[b:BELIEVES]->(v:Value) RETURN p.chain AS chain, b.entity,"
        " b.active, b.t AS t, b.until, b.via, b.src, v.name, v.unknown ORDER BY chain, t"
    )
    rows: list[list[Any]] = database.execute_command(
        "GRAPH.RO_QUERY", f"so:{{{memory.sid}}}:view:{person}", text
    )[1]
    return rows


def nodes(database: Any, memory: Memory, person: str) -> list[list[Any]]:
    text = (
        "MATCH (p:Perspective) OPTIONAL MATCH (p)-[:INHERITS]->(q:Perspective)"
        " RETURN p.chain AS chain, p.depth, p.person, q.chain ORDER BY chain"
    )
    key = f"so:{{{memory.sid}}}:view:{person}"
    rows: list[list[Any]] = database.execute_command("GRAPH.RO_QUERY", key, text)[1]
    return rows


# ------------------------------------------------------------------------------- it agrees


@pytest.fixture(scope="module", autouse=True)
def few_count_as_many() -> Iterator[None]:
    """Audiences of three are kept like those of a thousand, and rows are written by the handful."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "INLINE", 2)
        patch.setattr(perspectives, "_ROWS", 7)
        yield


def assert_agrees(memory: Memory, history: History, dice: random.Random, many: int) -> None:
    """The drawing's answers are the mind's, for chains to depth 3 and any moment."""
    memory.describe(people=[PersonInfo(person, person) for person in history.people])
    for person in history.people:
        memory.materialise(person, depth=3)
    spoken_of = memory.entities()
    for _ in range(many):
        chain = dice.sample(history.people, dice.randint(1, min(3, len(history.people))))
        entity, at = dice.choice(history.entities), dice.choice([*history.moments, None])
        if entity not in spoken_of:
            continue
        held = memory.believes(chain, entity, at=at, mind_only=True).value
        assert memory.materialised(chain, entity, at=at) == held, (chain, entity, at)


@given(history=histories(), dice=seeds)
def test_a_drawing_says_what_the_mind_says(
    workspace: Workspace, request: pytest.FixtureRequest, history: History, dice: random.Random
) -> None:
    with workspace() as memory:
        for event in history.events:
            memory.record(event)
        thorough = request.config.getoption("--thorough")
        assert_agrees(memory, history, dice, 200 if thorough else 40)


@given(history=histories(longest=12), dice=seeds)
@pytest.mark.parametrize("policy", ["exit_order", "authority"])
def test_it_does_so_under_every_policy(
    state: Any, database: Any, history: History, dice: random.Random, policy: Policy
) -> None:
    with Memory(f"{policy}-{dice.getrandbits(60)}", state=state, policy=policy) as memory:
        if policy == "authority":
            memory.authorise(history.entities[0], dice.sample(history.people, 2))
        for event in history.events:
            memory.record(event)
        assert_agrees(memory, history, dice, 20)
        for key in database.keys(f"so:{{{memory.sid}}}:*"):
            if database.type(key) == "graphdata":
                database.execute_command("GRAPH.DELETE", key)


def test_who_trusts_a_speaker_is_drawn_apart_from_who_does_not(state: Path) -> None:
    """Bob and Dan left before Ann did, Cy after her; all three heard it."""
    with Memory(uuid.uuid4().hex, state=state, policy="exit_order") as memory:
        memory.join(["Ann", "Bob", "Cy", "Dan"], "hall", at=NOON)
        for minutes, person in enumerate(("Bob", "Dan", "Ann", "Cy"), 1):
            memory.leave(person, "hall", at=after(minutes))
            memory.join(person, "lab", at=after(minutes))
        memory.say("Ann", "ball", "box", room="lab", at=after(9))
        for chain in (["Bob"], ["Cy"], ["Bob", "Ann"], ["Bob", "Dan", "Ann"]):
            memory.materialise(chain[0], depth=3)
            held = memory.believes(chain, "ball", mind_only=True).value
            assert held == (None if "Cy" in chain or len(chain) == 3 else "box")
            assert memory.materialised(chain, "ball") == held, chain


@given(history=histories(), dice=seeds)
def test_a_perspective_holds_only_what_differs(
    workspace: Workspace, history: History, dice: random.Random
) -> None:
    """Straight from the rows: never two equal neighbours, never an empty leaf, never an overlap."""
    with workspace() as memory:
        for event in history.events:
            memory.record(event)
        person = dice.choice(history.people)
        rows = memory._reading().rows("all_statements", graph=mind(person))
    known = perspectives.known_people(person, rows)
    found = perspectives.perspectives(person, known, rows, 3)
    inner = {one.within for one in found}
    for n, one in enumerate(found):
        assert one.holds or n in inner or n == 0, one
        assert (one.within is None) == (n == 0)
        if one.within is not None:
            assert found[one.within].chain == one.chain[:-1]
        for entity in history.entities:
            own = [s for s in one.holds if s.entity == entity]
            assert own == sorted(own, key=lambda s: s.since)
            ends = [s.until or FOREVER for s in own]
            assert all(s.since < end for s, end in zip(own, ends, strict=True))
            assert all(a <= b.since for a, b in zip(ends, own[1:], strict=False))
            for s in own:
                outer = at_moment(found, one.within, entity, s.since)
                assert s.value != outer, (one.chain, s)


def at_moment(
    found: list[perspectives.Perspective], number: int | None, entity: str, at: int
) -> str | None:
    while number is not None:
        for s in found[number].holds:
            if s.entity == entity and s.since <= at and (s.until is None or at < s.until):
                return s.value
        number = found[number].within
    return None


# ------------------------------------------------------------------------------- what is drawn


def test_only_what_differs_is_drawn(support: Memory, database: Any) -> None:
    assert support.materialise("Billing") == f"so:{{{support.sid}}}:view:Billing"

    assert nodes(database, support, "Billing") == [
        ["Billing", 1, "Billing", None],
        ["Billing>Maya", 2, "Maya", "Billing"],
    ]
    one, two = 1796040060000000, 1796040180000000
    assert edges(database, support, "Billing") == [
        ["Billing", "refund", "false", one, two, "said", "Billing", "approved", None],
        ["Billing", "refund", "true", two, None, "heard", "Finance", "rejected", None],
        ["Billing>Maya", "refund", "true", two, None, "retained", "Billing", "approved", None],
    ]


def test_who_knows_nothing_of_it_is_marked_unknown(memory: Memory, database: Any) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.join("Cy", "lab", at=NOON)
    memory.say("Ann", "refund", "yes", room="hall", at=after(1))
    memory.join("Cy", "hall", at=after(2))
    memory.say("Ann", "date", "May", room="hall", at=after(3))
    memory.materialise("Ann", depth=3)

    assert [row for row in edges(database, memory, "Ann") if row[1] == "refund" and row[0] > "Ann"] == [
        [chain, "refund", "true", 1796040060000000, None, "retained", None, "", "true"]
        for chain in ("Ann>Bob>Cy", "Ann>Cy")
    ]  # fmt: skip
    assert memory.materialised(["Ann", "Cy"], "refund") is None
    assert memory.materialised(["Ann", "Cy", "Bob"], "refund") is None
    assert memory.materialised(["Ann", "Bob"], "refund") == "yes"


def test_a_stranger_to_the_mind_is_not_thought_to_know(support: Memory) -> None:
    support.say("Zed", "date", "May", room="lab", at=after(4))
    support.materialise("Billing")

    assert support.materialised(["Billing", "Zed"], "refund") is None
    assert support.materialised("Billing", "date") is None


def test_a_report_is_what_is_thought_of_others(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.report("Ann", "Maya", "refund", "yes", room="hall", at=after(1))
    memory.materialise("Bob")

    assert memory.materialised(["Bob", "Maya"], "refund") == "yes"


def test_it_is_replaced_whole_and_follows_nothing_by_itself(support: Memory, database: Any) -> None:
    support.materialise("Billing", depth=3)
    before = edges(database, support, "Billing")
    support.say("Billing", "refund", "paid", room="chat", at=after(5))
    assert edges(database, support, "Billing") == before

    support.materialise("Billing", depth=1)

    assert [row[7] for row in edges(database, support, "Billing")] == [
        "approved", "rejected", "paid",
    ]  # fmt: skip
    assert nodes(database, support, "Billing") == [["Billing", 1, "Billing", None]]


def test_a_past_moment_is_read_from_the_drawing(support: Memory) -> None:
    support.materialise("Finance")

    told = [
        [support.materialised(chain, "refund", at=after(m)) for m in (0, 1, 2, 3)]
        for chain in ("Finance", ["Finance", "Maya"])
    ]
    assert told == [
        [None, "approved", "approved", "rejected"],
        [None, "approved", "approved", "approved"],
    ]


def test_a_mind_without_anything_is_one_perspective(memory: Memory, database: Any) -> None:
    memory.describe(people=[PersonInfo("Ann", "Ann")])
    memory.materialise("Ann", depth=4)

    assert nodes(database, memory, "Ann") == [["Ann", 1, "Ann", None]]


def test_what_cannot_be_drawn_is_said_in_one_sentence(support: Memory) -> None:
    with pytest.raises(UnknownPerson):
        support.materialise("Nobody")
    for depth in (0, 5):
        with pytest.raises(InvalidInput, match="a depth of 1 to 4"):
            support.materialise("Billing", depth=depth)


def test_a_drawing_that_would_be_too_large_is_refused(memory: Memory, database: Any) -> None:
    crowd = [f"P{n}" for n in range(700)]
    memory.record(
        Say(
            id="s", at=NOON, speaker="Ann", room="hall", entity="refund", value="yes",
            witnesses=dict.fromkeys(crowd, "exposed"),
        )
    )  # fmt: skip
    memory.materialise("Ann", depth=2)

    with pytest.raises(InvalidInput, match="more than 200,000 perspectives") as refused:
        memory.materialise("Ann", depth=3)

    assert refused.value.message.count(".") == 1
    assert nodes(database, memory, "Ann") == [["Ann", 1, "Ann", None]], "the last one stands"


def test_quotes_emoji_and_long_values_survive(memory: Memory) -> None:
    value = '“it\'s” \\ "so" \n 🙂 \u202eright to left ' + "x" * 5_000
    memory.say("Ann", "refund", value, room="hall", at=NOON)
    memory.materialise("Ann")

    assert memory.materialised("Ann", "refund") == value.strip()


# ------------------------------------------------------------------------------- who may be in it


def test_who_wants_to_be_left_out_is_in_no_drawing(support: Memory, database: Any) -> None:
    support.materialise("Billing")
    support.optout("Maya")
    assert not database.exists(f"so:{{{support.sid}}}:view:Billing")

    support.materialise("Billing", depth=3)

    assert "Maya" not in str(nodes(database, support, "Billing"))
    support.optout("Finance")
    support.materialise("Billing")
    assert "Finance" not in str(edges(database, support, "Billing"))
    with pytest.raises(UnknownPerson):
        support.materialise("Finance")


def test_who_was_forgotten_is_in_no_drawing(support: Memory, database: Any) -> None:
    support.materialise("Billing")
    support.materialise("Maya")
    support.forget("Maya")
    assert not database.keys(f"so:{{{support.sid}}}:view:*")

    support.materialise("Billing", depth=3)

    assert "Maya" not in str(nodes(database, support, "Billing"))


def test_a_private_word_is_drawn_only_in_the_minds_of_its_parties(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "Cy"], "hall", at=NOON)
    memory.say("Ann", "refund", "yes", room="hall", at=after(1))
    memory.record(
        Tell(id="t", at=after(2), speaker="Ann", listeners=("Bob",), entity="refund", value="no")
    )
    memory.record(
        Report(id="r", at=after(3), speaker="Cy", about="Ann", room="hall", entity="x", value="1")
    )
    memory.materialise("Bob")
    memory.materialise("Cy")

    assert memory.materialised(["Bob", "Ann"], "refund") == "no"
    assert memory.materialised(["Bob", "Cy"], "refund") == "yes"
    assert memory.materialised(["Cy", "Ann"], "refund") == "yes"
