"""Aliases and merges: chains of them, undone in any order, and only for who may read both sides."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from engine import InvalidInput, Memory, PersonInfo, Reader, UnknownEntity
from engine.beliefs import Ref
from engine.events import Say
from engine.links import Link, linked

KEYS = ("a", "b", "c", "d")
ROOM = "hall"


@pytest.fixture
def four(memory: Memory) -> Memory:
    """Four entities with a value each, in one room that Ann and Bob are in; the last said is d's."""
    memory.join(["Ann", "Bob"], ROOM)
    for key in KEYS:
        memory.say("Ann", key, f"value of {key}", room=ROOM)
    return memory


def groups(memory: Memory) -> set[frozenset[str]]:
    """Which of the four are answered as one."""
    found: dict[str, set[str]] = {}
    for key in KEYS:
        found.setdefault(memory.truth(key).entity.id, set()).add(key)
    return {frozenset(group) for group in found.values()}


def as_said(pairs: set[tuple[str, str]]) -> set[frozenset[str]]:
    """Connected by pairs, worked out by hand."""
    found = {frozenset([key]) for key in KEYS}
    for a, b in pairs:
        touching = {group for group in found if a in group or b in group}
        found = (found - touching) | {frozenset().union(*touching)}
    return found


CHAINS = [
    [("a", "b"), ("b", "c")],
    [("b", "c"), ("a", "b")],
    [("a", "b"), ("b", "c"), ("c", "a")],
    [("a", "b"), ("c", "d"), ("b", "c")],
    [("a", "b"), ("b", "a")],
]


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_chains_of_merges_are_undone_in_any_order(
    four: Memory, chain: list[tuple[str, str]]
) -> None:
    for order in itertools.permutations(chain):
        said = set(chain)
        for one, into in chain:
            four.merge(one, into, room=ROOM)
        assert groups(four) == as_said(said)
        for one, into in order:
            four.unmerge(one, into, room=ROOM)
            said.discard((one, into))
            assert groups(four) == as_said(said)
        assert four.links() == []
        assert {four.truth(key).value for key in KEYS} == {f"value of {key}" for key in KEYS}


def test_an_alias_means_what_it_was_confirmed_for_when_a_merge_is_undone(four: Memory) -> None:
    four.merge("b", "c", room=ROOM)
    four.alias("The Thing", "b", room=ROOM)
    assert four.truth("the thing").entity.id == "c"
    four.unmerge("b", "c")
    assert four.truth("the thing").entity.id == "b"
    four.merge("b", "d", room=ROOM)
    assert four.truth("the thing").entity.id == "d"


def test_an_alias_of_an_alias_means_the_entity(four: Memory) -> None:
    four.alias("one name", "a", room=ROOM)
    four.alias("another name", "One Name", room=ROOM)
    four.unalias("one name", "a")
    assert four.truth("another name").entity.id == "a"
    assert four.aliases() == [("another name", "a", ROOM)]


def test_confirming_again_changes_nothing(four: Memory) -> None:
    four.merge("a", "b", room=ROOM)
    four.merge("a", "c", room=ROOM)
    four.alias("it all", "a", room=ROOM)
    before, answer = four.links(), four.who_knows("a")
    for _ in range(2):
        four.merge("a", "b", room=ROOM)
        four.alias("It  all", "a", room=ROOM)
    assert four.links() == before
    assert four.who_knows("a") == answer
    for _ in range(2):
        four.unmerge("a", "b", room=ROOM)
        four.unalias("it all", "a", room=ROOM)
    assert [one.link for one in four.links()] == [Link("merge", "a", "c")]


def test_what_was_confirmed_elsewhere_stays(four: Memory) -> None:
    four.join("Ann", "den")
    for room in (ROOM, "den", None):
        four.merge("a", "b", room=room)
        four.alias("it", "a", room=room)
    four.unmerge("a", "b", room=ROOM)
    four.unalias("it", "a", room="")
    held = {(one.link.kind, one.room) for one in four.links()}
    assert held == {("merge", "den"), ("merge", None), ("alias", ROOM), ("alias", "den")}
    assert [one.room for one in four.links(Reader("Bob", frozenset({ROOM})))] == [ROOM, None]


def test_one_entity_is_not_merged_with_itself_nor_with_nothing(four: Memory) -> None:
    four.alias("it", "a", room=ROOM)
    for other in ("a", "it"):
        with pytest.raises(InvalidInput, match="two different entities"):
            four.merge("a", other, room=ROOM)
    for one, other in (("a", "z"), ("z", "a")):
        with pytest.raises(UnknownEntity, match="Nothing is known about 'z'"):
            four.merge(one, other, room=ROOM)


def failure(ask: Callable[[], object]) -> str:
    with pytest.raises(UnknownEntity) as caught:
        ask()
    assert set(caught.value.suggestions) <= set(KEYS)
    return caught.value.message


def test_a_merge_tells_nobody_of_a_side_they_may_not_read(four: Memory) -> None:
    four.join("Ann", "vault")
    four.say("Ann", "secret", "sell", room="vault")
    four.merge("secret", "a", room=ROOM)
    four.merge("b", "secret", room=ROOM)
    bob = Reader("Bob", frozenset({ROOM}))
    ann = Reader("Ann", frozenset({ROOM, "vault"}))

    assert (
        four.truth("b", reader=ann).entity.id == four.truth("secret", reader=ann).entity.id == "a"
    )
    assert four.entities(bob) == {key: key for key in KEYS}
    assert four.truth("b", reader=bob).value == "value of b"
    for ask in (four.who_knows, four.truth, four.timeline):
        unreadable = failure(lambda: ask("secret", reader=bob))  # noqa: B023
        missing = failure(lambda: ask("nobody", reader=bob))  # noqa: B023
        assert unreadable.replace("secret", "nobody") == missing
    with pytest.raises(UnknownEntity):
        four.believes("Bob", "secret", reader=bob)
    with four.view("Bob") as view:
        assert view.believes("b").value == "value of b"


def test_links_amount_to_the_same_in_any_order_but_for_the_name() -> None:
    links = [Link("merge", "a", "b"), Link("merge", "c", "b"), Link("merge", "d", "a")]
    for order in itertools.permutations(links):
        found = linked(order)
        assert {found.key(key) for key in KEYS} == {found.key("a")}
        assert set(found.keys("a")) == set(KEYS)
    readable = linked(links, readable={"a", "c", "d"})
    assert [readable.key(key) for key in KEYS] == ["a", "b", "c", "a"]


# ------------------------------------------------------------------------------- who need not know


ANN = Reader("Ann", frozenset({ROOM, "den"}))


@pytest.fixture
def one_in_the_den(memory: Memory) -> Memory:
    """To who reads the den, the deal is the crow; to everybody else those are two things."""
    memory.describe(rooms=[(ROOM, ROOM, "public"), ("den", "den", "private")])
    memory.join(["Ann", "Bob"], ROOM)
    memory.join("Ann", "den")
    memory.tell("Ann", "Bob", "crow", "red")
    memory.leave("Bob", ROOM)
    memory.say("Ann", "deal", "blue", room=ROOM)
    memory.merge("deal", "crow", room="den")
    return memory


def test_a_plan_tells_nobody_of_a_merge_they_may_not_know(one_in_the_den: Memory) -> None:
    told = one_in_the_den.plan_announcements("deal", reader=ANN, asker="Ann")

    assert told.entity.name == "crow"  # to who asks
    [plan] = told.plans
    assert [post.text.split(" (")[0] for post in plan.messages] == ["deal is now: blue"]

    one_in_the_den.merge("deal", "crow", room=ROOM)
    [plan] = one_in_the_den.plan_announcements("deal", reader=ANN, asker="Ann").plans
    assert [post.text.split(" (")[0] for post in plan.messages] == ["crow is now: blue"]


def test_a_post_goes_by_what_everybody_in_its_room_knows(one_in_the_den: Memory) -> None:
    """The room is open: also who is not in it reads what is posted there."""
    one_in_the_den.join("Bob", ROOM)
    one_in_the_den.join("Bob", "den")
    told = one_in_the_den.plan_announcements("deal", [ROOM], reader=ANN, asker="Ann")

    texts = {post.to.room is not None: post.text for p in told.plans for post in p.messages}
    assert texts[True].startswith("deal is now: blue")
    assert texts[False].startswith("crow is now: blue")


def test_a_wording_goes_by_what_its_recipient_knows(one_in_the_den: Memory) -> None:
    for merged, name in ((False, "deal"), (True, "crow")):
        if merged:
            one_in_the_den.merge("deal", "crow", room=ROOM)
        worded = one_in_the_den.wording("deal", ANN, person="Bob")
        assert worded is not None
        assert worded.entity == Ref(id=name, name=name)


def test_a_handover_tells_nobody_of_a_merge_they_may_not_know(one_in_the_den: Memory) -> None:
    told = one_in_the_den.handoff_delta("Ann", "Bob", reader=ANN)

    assert [(one.entity.name, one.holds) for one in told.wrong] == [("crow", "red")]
    assert [one.told for one in told.promises] == ["red"]
    assert told.text.splitlines()[1:] == ["• deal: blue"]
    handed = one_in_the_den.handover("Ann", "Bob", ANN)
    assert [one.entity for one in handed.things] == [Ref(id="deal", name="deal")]
    assert handed.promises == ()

    one_in_the_den.merge("deal", "crow", room=ROOM)
    assert one_in_the_den.handoff_delta("Ann", "Bob", reader=ANN).text.splitlines()[1:] == [
        "• crow: blue (no longer red)",
        "• Bob was told crow: red; it is now blue",
    ]


def test_a_prompt_goes_by_what_its_reader_knows(one_in_the_den: Memory) -> None:
    one_in_the_den.join(["Bob", "Cy"], ROOM)
    one_in_the_den.say("Cy", "deal", "blue", room=ROOM)
    one_in_the_den.say("Ann", "deal", "green", room="den")
    for merged in (False, True):
        if merged:
            one_in_the_den.merge("deal", "crow", room=ROOM)
        context = one_in_the_den.context_for("Bob", talking_to="Cy")
        with one_in_the_den.view("Bob") as view:
            assert context == view.context_for("Cy")
        assert ("crow: you hold “red”" in context) is not merged


def test_a_prompt_calls_things_as_its_reader_heard_them_called(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], ROOM)
    memory.join("Ann", "den")
    for name, room in (("The SECRET deal", "den"), ("the deal", ROOM)):
        memory.record(
            Say(
                id=f"s-{room}", at=datetime(2026, 1, 1, len(room), tzinfo=UTC), speaker="Ann",
                room=room, entity="deal", name=name, value="red", witnesses={"Bob": "exposed"}
                if room == ROOM else {},
            )
        )  # fmt: skip
    memory.describe(people=[PersonInfo("Cy", "Cy")])

    assert memory.context_for("Bob", talking_to="Cy").startswith("- the deal: you hold “red”")


def test_what_was_just_said_is_called_as_it_was_said(one_in_the_den: Memory) -> None:
    said = Say(
        id="s", at=datetime(2026, 12, 24, tzinfo=UTC), speaker="Bob", room=ROOM,
        entity="deal", name="The Deal", value="green",
    )  # fmt: skip
    one_in_the_den.record(said)

    assert one_in_the_den.recorded(said).entity == Ref(id="deal", name="The Deal")


# --------------------------------------------------------------------------- undoing, however written


@pytest.mark.parametrize("again", ["DECISION-42", "decision-42", "d42"])
def test_what_was_confirmed_is_undone_however_it_is_written(memory: Memory, again: str) -> None:
    memory.join(["ann", "bob"], "r")
    memory.say("ann", "decision-42", "x", room="r")
    memory.say("bob", "decision-43", "y", room="r")
    memory.alias("d42", "Decision-42")
    memory.merge(again, "Decision-43")
    assert memory.merged() == {"decision-42": "decision-43"}
    memory.unmerge(again, "DECISION-43")
    assert memory.merged() == {}
    memory.unalias("d42", again)
    assert memory.aliases() == []


# --------------------------------------------------------------------------- where may be posted


def test_whoever_is_left_out_of_answers_reads_what_is_posted_all_the_same(memory: Memory) -> None:
    memory.describe(rooms=[("priv", "priv", "private"), ("team", "team", "private")])
    memory.join(["ann", "bob", "olga"], "team")
    memory.join("ann", "priv")
    memory.say("ann", "x", "old", room="team")
    memory.say("ann", "x", "secret", room="priv")
    memory.join("bob", "priv")
    for out in (False, True):
        memory.optout("olga", out)
        found = memory.plan_announcements("x", reader=memory.reader("ann"), asker="ann")
        posted = {post.to.room.id for p in found.plans for post in p.messages if post.to.room}
        assert "team" not in posted


def test_no_plan_posts_where_the_asker_may_not(memory: Memory) -> None:
    memory.describe(
        rooms=[("r", "r", "private"), ("far", "far", "private"), ("hall", "hall", "public")]
    )
    memory.join(["ann", "bob", "cid"], "r")
    memory.join(["bob", "cid"], "far")
    memory.join(["bob", "cid"], "hall")
    memory.say("ann", "x", "old", room="r")
    memory.leave("bob", "r")
    memory.leave("cid", "r")
    memory.say("ann", "x", "new", room="r")
    reader = memory.reader("ann")
    for rooms in (None, ["far", "hall", "r"], ["far"]):
        found = memory.plan_announcements("x", rooms, reader=reader, asker="ann")
        posted = {post.to.room.id for p in found.plans for post in p.messages if post.to.room}
        assert "far" not in posted
        assert rooms is not None or "hall" not in posted
