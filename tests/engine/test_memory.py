"""The short methods, the answers' evidence, errors that help, hostile text, and the Cypher itself."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from falkordb import Edge, Node
from falkordb import Path as GraphPath
from falkordb.graph import Graph
from falkordb.helpers import stringify_param_value
from falkordb.query_result import QueryResult

import engine
from engine import (
    InvalidInput,
    Memory,
    PersonInfo,
    Reader,
    SecondOrderError,
    UnknownEntity,
    UnknownPerson,
    store,
)
from engine.beliefs import Evidence, Explanation, FalseBelief, Recipient
from engine.events import Enter, Notice, Report, Retract, Say, Tell, Unsee
from engine.queries import Query, queries
from tests.conftest import Workspace
from tests.engine.conftest import NOON, after

# ------------------------------------------------------------------------------- the example


def test_the_six_lines(support: Memory) -> None:
    assert support.believes("Maya", "refund").value == "approved"
    assert support.believes(["Billing", "Maya"], "refund").value == "approved"
    assert support.believes("Billing", "refund").value == "rejected"
    assert support.believes(["Maya", "Billing"], "refund").value == "approved"
    assert support.believes(["Billing", "Finance"], "refund").value == "rejected"
    assert support.believes("Finance", "refund").value == "rejected"
    assert support.context_for("Billing", talking_to="Maya") == (
        "- refund: you hold “rejected”, while Maya still holds “approved”."
        " Correct this before relying on it."
    )


def test_nothing_to_mind_is_an_empty_text(support: Memory) -> None:
    assert support.context_for("Maya", talking_to="Billing") == ""


def test_a_past_moment_is_asked_the_same_way(support: Memory) -> None:
    values = [support.believes("Billing", "refund", at=after(s)).value for s in (0, 1, 2, 3)]

    assert values == [None, "approved", "approved", "rejected"]


def test_who_knows_says_who_is_up_to_date_and_who_is_not(support: Memory) -> None:
    answer = support.who_knows("refund")

    assert (answer.value, answer.disputed) == ("rejected", False)
    assert {(p.person.id, p.status, p.value) for p in answer.people} == {
        ("Billing", "knows", "rejected"),
        ("Finance", "knows", "rejected"),
        ("Maya", "stale", "approved"),
    }
    [line] = answer.wrong_about_others
    assert [p.id for p in line.people] == ["Maya"]
    assert [p.id for p in line.about] == ["Billing"]
    assert (line.thinks, line.actually) == ("approved", "rejected")


def test_false_beliefs_of_both_orders(support: Memory) -> None:
    [first] = support.false_beliefs()

    assert isinstance(first, FalseBelief)
    assert (first.person.id, first.believes, first.actual) == ("Maya", "approved", "rejected")
    assert (first.since, first.changed.at) == (after(1), after(3))
    assert len(support.false_beliefs(order=2)) == 1
    assert support.false_beliefs("Billing") == ()


def test_a_handoff_says_what_is_wrong_and_what_was_promised(support: Memory) -> None:
    answer = support.handoff_delta("Billing", "Maya")

    assert [(w.entity.id, w.value, w.holds) for w in answer.wrong] == [
        ("refund", "rejected", "approved")
    ]
    assert [(p.to.id, p.told, p.actual) for p in answer.promises] == [
        ("Maya", "approved", "rejected")
    ]
    assert answer.lacks == ()


def test_common_ground_is_what_both_know_that_both_know(support: Memory) -> None:
    assert support.common_ground("Billing", "Maya").shared == ()
    [shared] = support.common_ground("Billing", "Finance").shared
    assert (shared.entity.id, shared.value) == ("refund", "rejected")


def test_a_timeline_has_each_value_with_the_one_before(support: Memory) -> None:
    changes = support.timeline("refund").changes

    assert [(c.was, c.value) for c in changes] == [(None, "approved"), ("approved", "rejected")]


def test_an_explanation_ends_with_what_decides(support: Memory) -> None:
    steps = support.explain("Billing", "refund").steps

    assert [(s.value, s.how, s.decisive) for s in steps] == [
        ("approved", "said", False),
        ("rejected", "saw", True),
    ]


def test_a_plan_is_simulated_before_it_is_proposed(support: Memory) -> None:
    answer = support.plan_announcements("refund")

    assert answer.wrong_before == 1
    best = answer.plans[0]
    assert [post.to for post in best.messages] == [
        Recipient(person=support.who_knows("refund").having("stale")[0].person)
    ]
    assert (best.wrong_after, best.interrupted, best.reached) == (0, 0, 1)


def test_leaving_without_a_room_is_leaving_them_all(memory: Memory) -> None:
    memory.join("Ann", "one")
    memory.join(["Ann", "Bob"], "two")

    memory.leave("Ann")

    assert {room.id: sorted(room.here) for room in memory.rooms()} == {"one": [], "two": ["Bob"]}


def test_told_in_private_and_reported(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall")
    memory.tell("Ann", ["Cy"], "refund", "approved")
    memory.report("Bob", "Dee", "refund", "rejected", room="hall")

    assert memory.believes(["Ann", "Cy"], "refund").value == "approved"
    assert memory.believes(["Ann", "Dee"], "refund").value == "rejected"
    assert memory.believes("Dee", "refund").value is None


def test_a_mention_and_named_witnesses(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall")
    memory.say("Ann", "refund", "late", room="hall", decides=False, witnesses={"Cy": "engaged"})

    assert memory.believes("Cy", "refund").value == "late"
    assert memory.believes("Bob", "refund").value is None
    assert memory.who_knows("refund").value is None


def test_events_made_here_come_one_after_the_other(memory: Memory) -> None:
    memory.join("Ann", "hall")
    for number in range(20):
        memory.say("Ann", "refund", f"version {number}", room="hall")

    assert memory.believes("Ann", "refund").value == "version 19"


def test_recording_says_whether_it_was_new(memory: Memory) -> None:
    event = Say(id="e1", at=NOON, speaker="Ann", room="hall", entity="refund", value="yes")

    assert [memory.record(event), memory.record(event)] == [True, False]


def test_a_workspace_does_not_see_another(workspace: Workspace) -> None:
    with workspace() as one, workspace() as other:
        one.say("Ann", "refund", "yes", room="hall")

        assert other.people() == []
        assert other.entities() == {}
        with pytest.raises(UnknownPerson):
            other.believes("Ann", "refund")


def test_an_entity_is_found_in_any_case_and_by_its_name(memory: Memory) -> None:
    memory.say("Ann", "Decision-42", "approved", room="hall")
    memory.say("Ann", "the launch date", "8 December", room="hall")

    assert memory.believes("Ann", "decision-42").value == "approved"
    assert memory.who_knows("decision-42").value == "approved"
    assert memory.believes("Ann", "The Launch Date").value == "8 December"
    assert memory.who_knows("The Launch Date").value == "8 December"
    assert memory.believes("Ann", "The Launch Date").entity.name == "the launch date"


# ------------------------------------------------------------------------------- evidence


def evidence_of(answer: Any) -> list[Evidence]:
    """Every piece of evidence in an answer."""
    if isinstance(answer, Evidence):
        return [answer]
    if isinstance(answer, tuple):
        return [one for part in answer for one in evidence_of(part)]
    fields = type(answer).model_fields if hasattr(type(answer), "model_fields") else {}
    return [one for name in fields for one in evidence_of(getattr(answer, name))]


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.believes("Maya", "refund"),
        lambda m: m.who_knows("refund"),
        lambda m: m.false_beliefs(),
        lambda m: m.false_beliefs(order=2),
        lambda m: m.handoff_delta("Billing", "Maya"),
        lambda m: m.common_ground("Billing", "Finance"),
        lambda m: m.explain(["Billing", "Maya"], "refund"),
        lambda m: m.timeline("refund"),
    ],
)
def test_every_answer_carries_its_evidence(support: Memory, ask: Callable[[Memory], Any]) -> None:
    found = evidence_of(ask(support))

    assert found
    for one in found:
        assert one.event
        assert NOON <= one.at <= after(3)
        assert (one.room and one.room.id) == "chat"
        assert (one.speaker and one.speaker.id) in ("Billing", "Finance")


def test_a_belief_says_how_well_it_was_perceived(support: Memory) -> None:
    graded = {
        person: (belief.evidence and belief.evidence.grade, belief.how)
        for person in ("Maya", "Billing", "Finance")
        for belief in [support.believes(person, "refund")]
    }

    assert graded == {
        "Maya": ("exposed", "heard"),
        "Billing": ("exposed", "saw"),
        "Finance": ("stated", "said"),
    }


def test_evidence_has_the_link_and_the_sentence_until_the_source_is_deleted(
    memory: Memory,
) -> None:
    said = Say(
        id="e1", at=NOON, speaker="Ann", room="hall", entity="refund", value="yes",
        quote="Refund: yes", link="https://chat.example/1", witnesses={"Bob": "engaged"},
    )  # fmt: skip
    memory.record(said)
    before = memory.believes("Bob", "refund").evidence

    memory.record(Retract(id="e2", at=after(5), event="e1"))
    belief = memory.believes("Bob", "refund")

    assert before is not None
    assert (before.quote, before.link) == ("Refund: yes", "https://chat.example/1")
    assert belief.value == "yes", "nobody un-learns"
    assert belief.evidence is not None
    assert (belief.evidence.quote, belief.evidence.link) == (None, None)


def test_a_statement_that_arrives_after_its_deletion_keeps_no_text(memory: Memory) -> None:
    memory.record(Retract(id="e2", at=after(5), event="e1"))
    memory.record(
        Say(id="e1", at=NOON, speaker="Ann", room="hall", entity="refund", value="yes", quote="x")
    )

    belief = memory.believes("Ann", "refund")

    assert belief.evidence is not None
    assert belief.evidence.quote is None


def test_a_mind_holds_no_text(memory: Memory, database: redis.Redis) -> None:
    memory.record(
        Say(
            id="e1",
            at=NOON,
            speaker="Ann",
            room="hall",
            entity="refund",
            value="yes",
            quote="secret words",
            link="https://secret.example",
        )
    )

    kept = database.dump(f"so:{{{memory.sid}}}:mind:Ann")

    assert memory.believes("Ann", "refund", mind_only=True).value == "yes"
    assert b"secret" not in str(kept).encode()


# ------------------------------------------------------------------------------- named errors


QUESTIONS: dict[str, Callable[[Memory, str, Reader | None], Any]] = {
    "believes": lambda m, e, r: m.believes("Ann", e, reader=r),
    "believes of others": lambda m, e, r: m.believes(["Ann", "Bob"], e, reader=r),
    "believes then": lambda m, e, r: m.believes("Ann", e, at=after(9), reader=r),
    "who_knows": lambda m, e, r: m.who_knows(e, reader=r),
    "who_knows then": lambda m, e, r: m.who_knows(e, at=after(9), reader=r),
    "false_beliefs": lambda m, e, r: m.false_beliefs(entity=e, reader=r),
    "false_beliefs of order 2": lambda m, e, r: m.false_beliefs(order=2, entity=e, reader=r),
    "explain": lambda m, e, r: m.explain("Ann", e, reader=r),
    "timeline": lambda m, e, r: m.timeline(e, reader=r),
    "plan_announcements": lambda m, e, r: m.plan_announcements(e, reader=r),
}
every_question = pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS.keys())


def failure(ask: Callable[[], Any]) -> tuple[str, str, tuple[str, ...]]:
    with pytest.raises(SecondOrderError) as caught:
        ask()
    return caught.value.kind, caught.value.message, caught.value.suggestions


@every_question
def test_an_unreadable_name_answers_like_a_missing_one(
    workspace: Workspace, ask: Callable[[Memory, str, Reader | None], Any]
) -> None:
    reader = Reader("Ann", frozenset({"hall"}))
    with workspace() as without, workspace() as with_secret:
        for memory in (without, with_secret):
            memory.join(["Ann", "Bob"], "hall", at=NOON)
            memory.say("Ann", "merger-2", "no", room="hall", at=after(1))
        with_secret.join(["Bob"], "board", at=after(2))
        with_secret.say("Bob", "merger-1", "yes", room="board", at=after(3))
        with_secret.tell("Bob", "Cy", "merger-1", "yes", at=after(3))
        assert "merger-1" in with_secret.entities()

        missing = failure(lambda: ask(without, "merger-1", reader))
        unreadable = failure(lambda: ask(with_secret, "merger-1", reader))

    assert missing == unreadable
    assert unreadable[0] == "unknown_entity"
    assert unreadable[2] == ("merger-2",)


@every_question
def test_an_unknown_entity_offers_only_names_the_reader_may_see(
    memory: Memory, ask: Callable[[Memory, str, Reader | None], Any]
) -> None:
    memory.say("Ann", "decision-42", "yes", room="hall", at=after(1))
    memory.say("Bob", "decision-43", "no", room="board", at=after(2))

    _, _, operators = failure(lambda: ask(memory, "decision-44", None))
    kind, message, readers = failure(
        lambda: ask(memory, "decision-44", Reader("Ann", frozenset({"hall"})))
    )

    assert set(operators) == {"decision-42", "decision-43"}
    assert (kind, readers) == ("unknown_entity", ("decision-42",))
    assert "decision-44" in message


def test_a_private_word_is_readable_by_its_parties_even_when_unseen(memory: Memory) -> None:
    memory.record(
        Tell(id="t", at=NOON, speaker="Ann", listeners=("Bob",), entity="refund", value="yes")
    )
    memory.record(Unsee(id="u", at=after(1), person="Bob", event="t"))

    assert list(memory.entities(Reader("Bob", frozenset()))) == ["refund"]
    assert list(memory.entities(Reader("Ann", frozenset()))) == ["refund"]
    assert list(memory.entities(Reader("Cy", frozenset()))) == []


def test_a_private_word_among_many_is_readable_by_each(memory: Memory) -> None:
    many = tuple(f"P{n}" for n in range(60))
    memory.record(
        Tell(id="t", at=NOON, speaker="Ann", listeners=many, entity="refund", value="yes")
    )

    for person in ("Ann", "P0", "P59"):
        reader = Reader(person, frozenset())
        assert memory.believes(["P3", "P4"], "refund", reader=reader).value == "yes"
    assert list(memory.entities(Reader("P", frozenset()))) == []


def test_a_plan_for_a_reader_only_posts_where_the_reader_may_read(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.join(["Bob", "Cy"], "board", at=NOON)
    memory.say("Ann", "refund", "yes", room="hall", at=after(1))
    memory.leave("Bob", "hall", at=after(2))
    memory.say("Ann", "refund", "no", room="hall", at=after(3))

    plans = memory.plan_announcements("refund", reader=Reader("Ann", frozenset({"hall"}))).plans

    assert "board" not in {m.to.room.id for plan in plans for m in plan.messages if m.to.room}


def test_an_unknown_person_is_named_and_the_nearest_offered(support: Memory) -> None:
    for ask in (
        lambda: support.believes("Mayra", "refund"),
        lambda: support.believes(["Billing", "Mayra"], "refund"),
        lambda: support.handoff_delta("Billing", "Mayra"),
        lambda: support.common_ground("Mayra", "Billing"),
        lambda: support.explain("Mayra", "refund"),
        lambda: support.false_beliefs("Mayra"),
        lambda: support.context_for("Billing", "Mayra"),
    ):
        kind, message, suggestions = failure(ask)
        assert (kind, suggestions) == ("unknown_person", ("Maya",))
        assert "Mayra" in message


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.believes([], "refund"),
        lambda m: m.believes("", "refund"),
        lambda m: m.believes(["Maya", "Billing", "Maya"], "refund"),
        lambda m: m.believes("Maya", ""),
        lambda m: m.believes("Maya", " \t"),
        lambda m: m.who_knows(""),
        lambda m: m.handoff_delta("Maya", "Maya"),
        lambda m: m.common_ground("Maya", "Maya"),
        lambda m: m.false_beliefs(order=3),
        lambda m: m.say("Maya", "refund", "", room="chat"),
        lambda m: m.say("Maya", "refund", " \n ", room="chat"),
        lambda m: m.say("", "refund", "yes", room="chat"),
        lambda m: m.say("Maya", "", "yes", room="chat"),
        lambda m: m.say("Maya", "refund", "yes", room=""),
        lambda m: m.say("Maya", "refund", "a\0b", room="chat"),
        lambda m: m.say("Ma\0ya", "refund", "yes", room="chat"),
        lambda m: m.say("Maya", "refund", "x" * 10_001, room="chat"),
        lambda m: m.say("Maya", "refund", "yes", room="chat", witnesses={"Ann": "guessed"}),
        lambda m: m.tell("Maya", [], "refund", "yes"),
        lambda m: m.join([""], "chat"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence_and_writes_nothing(
    support: Memory, ask: Callable[[Memory], Any]
) -> None:
    before = support.counts(), support.people(), support.rooms()

    kind, message, _ = failure(lambda: ask(support))

    assert kind == "invalid_input"
    assert re.fullmatch(r"[A-Z].{5,300}\.", message), message
    assert (support.counts(), support.people(), support.rooms()) == before


@pytest.mark.parametrize("sid", ["", "a b", "a}b", "a{b", "ü", "x" * 201, "a\n"])
def test_a_workspaces_id_is_opaque(sid: str, state: Path) -> None:
    with pytest.raises(InvalidInput):
        Memory(sid, state=state)


def test_an_error_is_one_sentence_however_long_the_name_was(memory: Memory) -> None:
    memory.join("Ann", "hall")
    for ask in (lambda: memory.who_knows("x" * 10_000), lambda: memory.believes("y" * 9_999, "z")):
        _, message, _ = failure(ask)
        assert len(message) < 400


# ------------------------------------------------------------------------------- hostile text


HOSTILE = [
    "it's",
    'say "yes"',
    "back\\slash",
    "ends with a backslash\\",
    "\\' quoted \\\" twice",
    "new\nline\r\nand\ttab",
    "$value and $row",
    "`backticks`",
    "'}) DETACH DELETE (n) //",
    '"]) RETURN 1 UNION MATCH (n) DELETE n //',
    "CYPHER value='x' RETURN 1",
    "{curly: 'braces'}",
    "|a|b|",
    "😀👩‍👩‍👧‍👦🇨🇭",
    "\u202eright to left\u202c \u200f",
    "שלום עליכם",
    "退款已批准",
    "Zoë Müller",
    "e\u0301",
    "\ufeffbom",
    "zero\u200bwidth",
    "a" * 10_000,
    "ünï " * 2_500,
    "null",
    "true",
    "-1",
    "\x01\x1f\x7f",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[1:30])
def test_hostile_text_is_data(memory: Memory, text: str) -> None:
    memory.join([text, "Bob"], text, at=NOON)
    memory.say(text, text, text, room=text, at=after(1))
    memory.tell("Bob", text, text, text + "2" if len(text) < 10_000 else "2", at=after(2))

    belief = memory.believes(text, text, at=after(1))
    answer = memory.who_knows(text)

    assert belief.value == text.strip()
    assert belief.entity.name == text.strip()
    assert belief.chain[0].name == text.strip()
    assert belief.evidence is not None
    assert (belief.evidence.room and belief.evidence.room.name) == text.strip()
    assert answer.value == text.strip()
    assert {p.person.name for p in answer.people} == {text.strip(), "Bob"}
    assert memory.believes(["Bob", text], text, at=after(1), mind_only=True).value == text.strip()
    assert memory.counts() == {"events": 4, "statements": 2, "entities": 1}
    assert text.strip() in memory.context_for(text, "Bob") + text.strip()


def test_halves_of_broken_characters_are_replaced(memory: Memory) -> None:
    memory.say("Ann\ud800", "refund\udfff", "yes\ud83d", room="hall\ud800")

    assert memory.believes("Ann\ud800", "refund\udfff").value == "yes?"
    failure(lambda: memory.who_knows("\ud800\ud801"))
    failure(lambda: memory.believes("\udc00", "refund"))


def test_a_quote_and_a_link_of_any_kind_are_kept(memory: Memory) -> None:
    for number, text in enumerate(HOSTILE):
        memory.record(
            Say(
                id=f"e{number}",
                at=after(number),
                speaker="Ann",
                room="hall",
                entity="refund",
                value=f"v{number}",
                quote=text[:200],
                link=text[:2_000],
            )
        )
        found = memory.believes("Ann", "refund").evidence
        assert found is not None
        assert (found.quote, found.link) == (text[:200], text[:2_000])


def test_descriptions_are_data_too(memory: Memory) -> None:
    for text in [*HOSTILE, "\ud800", "nul\0", ""]:
        memory.describe(
            people=[PersonInfo("U1", text, handle=text, zone=text)],
            rooms=[("C1", text, "public")],
        )
    memory.say("U1", "refund", "yes", room="C1")

    assert memory.believes("U1", "refund").value == "yes"


def test_names_that_only_look_alike_are_different_people(memory: Memory) -> None:
    memory.say("Zoë", "refund", "yes", room="hall")
    memory.say("Zoe\u0308", "refund", "no", room="lab")

    assert memory.believes("Zoë", "refund").value == "yes"
    assert memory.believes("Zoe\u0308", "refund").value == "no"


def test_an_edit_of_itself_or_in_a_circle_is_an_ordinary_statement(memory: Memory) -> None:
    memory.join("Bob", "hall", at=NOON)
    said = {"speaker": "Ann", "room": "hall", "entity": "refund"}
    memory.record(Say(id="a", at=after(1), value="one", edits="a", **said))
    memory.record(Say(id="b", at=after(2), value="two", edits="c", **said))
    memory.record(Say(id="c", at=after(3), value="three", edits="b", **said))

    assert memory.believes("Bob", "refund", at=after(1)).value == "one"
    assert memory.believes("Bob", "refund").value == "three"


def test_marks_of_what_never_arrives_change_nothing(memory: Memory) -> None:
    memory.record(Notice(id="n", at=NOON, person="Ann", event="never"))
    memory.record(Unsee(id="u", at=NOON, person="Ann", event="never"))
    memory.record(Retract(id="r", at=NOON, event="never"))

    assert memory.entities() == {}
    assert memory.false_beliefs() == ()


def test_a_report_about_its_own_speaker_is_what_they_say(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "hall", at=NOON)
    memory.record(
        Report(
            id="r",
            at=after(1),
            speaker="Ann",
            about="Ann",
            room="hall",
            entity="refund",
            value="yes",
        )
    )

    assert memory.believes(["Bob", "Ann"], "refund").value == "yes"
    assert memory.believes("Ann", "refund").value == "yes"


def test_moments_before_1970_and_far_away_are_kept(memory: Memory) -> None:
    old, far = datetime(1901, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    memory.join("Ann", "hall", at=old - timedelta(days=1))
    memory.say("Bob", "refund", "old", room="hall", at=old)
    memory.say("Bob", "refund", "far", room="hall", at=far)

    assert memory.believes("Ann", "refund", at=NOON).value == "old"
    assert memory.believes("Ann", "refund").value == "far"
    assert memory.timeline("refund").changes[0].evidence.at == old


def test_an_explanation_without_accepted_events_is_empty(support: Memory) -> None:
    answer = support.explain(["Finance", "Maya"], "refund")

    assert isinstance(answer, Explanation)
    assert (answer.value, answer.steps) == (None, ())


# ------------------------------------------------------------------------------- the Cypher


ENGINE = Path(engine.__file__).parent
SOURCES = {path.name: path.read_text("utf-8") for path in ENGINE.glob("*.py")}
RUN_BY_PREFIX = "index_"
ALL = [pytest.param(query, id=name) for name, query in queries().items()]

SAMPLES: dict[str, Any] = {
    "all": True, "at": 1, "since": 1, "most": 1, "many": 1, "recent": 1, "private": False, "version": 1, "inside": False,
    "row": {"id": "e1", "entity": "refund", "person": "Ann", "room": "chat"}, "after": {"here": "|"},
}  # fmt: skip
LISTS = (
    "audiences", "chain", "before_last", "entities", "ids", "listeners", "people", "rooms", "said",
    "words",
)  # fmt: skip


def parameters(query: Query) -> str:
    """Values for everything the text asks for."""
    names = sorted(set(re.findall(r"\$(\w+)", query.text)))
    lists: dict[str, Any] = {name: ["refund", "chat", "Ann", "e1"] for name in LISTS}
    values = {name: (lists | SAMPLES).get(name, "e1") for name in names}
    return "CYPHER " + " ".join(f"{n}={stringify_param_value(v)}" for n, v in values.items()) + " "


@pytest.mark.parametrize("query", ALL)
def test_every_text_is_valid_cypher(support: Memory, database: Any, query: Query) -> None:
    key = f"so:{{{support.sid}}}:world"

    plan = database.execute_command("GRAPH.EXPLAIN", key, parameters(query) + query.text)

    assert plan


@pytest.mark.parametrize("query", ALL)
def test_every_text_is_described_and_used(query: Query) -> None:
    asked = [name for name, text in SOURCES.items() if f'"{query.name}"' in text]

    assert query.about
    assert asked or query.name.startswith(RUN_BY_PREFIX)


READS = [pytest.param(q, id=n) for n, q in queries().items() if "RETURN" in q.text]


@pytest.mark.parametrize("query", READS)
def test_only_scalars_come_back(support: Memory, database: Any, query: Query) -> None:
    key = f"so:{{{support.sid}}}:world"

    answer = database.execute_command(
        "GRAPH.RO_QUERY", key, parameters(query) + query.text, "--compact"
    )

    for row in QueryResult(Graph(database, key), answer).result_set:
        for cell in row:
            parts = cell if isinstance(cell, list) else [cell]
            assert not any(isinstance(p, Node | Edge | GraphPath | dict) for p in parts)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_no_cypher_stands_in_python(name: str) -> None:
    cypher = r"\b(MATCH \(|OPTIONAL MATCH|MERGE \(|CREATE \(|CREATE INDEX|UNWIND \$|DETACH DELETE)"

    assert not re.search(cypher, SOURCES[name])


def test_nothing_of_a_value_reaches_the_text_of_a_query() -> None:
    assert [name for name, q in queries().items() if "%s" in q.text or "{{" in q.text] == []


def test_an_unknown_entity_is_an_unknown() -> None:
    assert issubclass(UnknownEntity, SecondOrderError)


# ------------------------------------------------------------------------------- as it grows


def test_a_world_gets_its_indexes_once_it_has_grown(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "TOWN", 30)
    monkeypatch.setattr(store, "OFTEN", 1)

    with workspace() as memory:

        def indexed() -> int:
            [[labels]] = memory._store.read("world", "indexed")
            return int(labels)

        memory.join([f"p{i}" for i in range(9)], "hall", at=NOON)
        memory.say("p1", "refund", "early", room="hall", at=after(1))
        before = (indexed(), memory.believes(["p2", "p3"], "refund").value)
        memory.join([f"q{i}" for i in range(9)], "lab", at=after(2))
        [[unfinished]] = memory._store.read("world", "unfinished")
        memory.say("p1", "refund", "late", room="hall", at=after(3))

        assert before == (0, "early")
        assert (indexed() > 0, unfinished) == (True, 0)
        assert memory.believes(["p2", "p3"], "refund").value == "late"
        assert memory.believes(["p2", "p3"], "refund", at=after(2)).value == "early"
        assert memory.record(Enter(id="again", at=after(9), person="p1", room="hall"))
        assert not memory.record(Enter(id="again", at=after(9), person="p1", room="hall"))


def test_who_says_something_is_in_the_graph_with_where_and_about_what(memory: Memory) -> None:
    memory.say("Ann", "refund", "yes", room="hall")
    memory.set("refund", "no", room="lab")
    memory.tell("Ann", "Bob", "refund", "yes")

    found = Graph(memory._store._node, memory._store.key("world")).ro_query(
        "MATCH (e:Event)-[:ABOUT]->(n:Entity) OPTIONAL MATCH (e)-[:IN]->(r:Room)"
        " OPTIONAL MATCH (p:Person)-[:SAID]->(e) RETURN e.kind, n.id, r.id, p.id ORDER BY e.kind"
    )

    assert found.result_set == [
        ["say", "refund", "hall", "Ann"], ["set", "refund", "lab", None], ["tell", "refund", None, "Ann"],
    ]  # fmt: skip
