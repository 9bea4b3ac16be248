"""How questions are asked: people and decisions in every form, nonsense, and the shape of answers."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot import questions
from bot.chat import Command
from engine import Memory, PersonInfo
from engine.beliefs import Announcement, Handoff, Misinformed, Recorded, WhoKnows
from engine.errors import (
    InvalidInput,
    SecondOrderError,
    UnknownEntity,
    UnknownPerson,
    UnknownRoom,
)
from engine.events import Enter, Report, Say, Tell
from tests import conftest

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
PEOPLE = (
    PersonInfo("U1", "Ann", "ann"),
    PersonInfo("U2", "Bo Lee", "bo"),
    PersonInfo("U3", "N'Golo Kanté", "ngolo"),
    PersonInfo("U4", "Zoë", "zoe"),
    PersonInfo("U5", "Sam", "sam.one"),
    PersonInfo("U6", "Sam", "sam.two"),
    PersonInfo("U7", "Eve", "eve", gone=True),
    PersonInfo("U8", "Lee, Kim", "kim"),
    PersonInfo("UB", "Helper", "helper", bot=True),
    PersonInfo("100200300", "дядя Ваня", "vanya"),
)
ROOMS = (("C1", "general", "public"), ("C2", "product", "public"), ("P1", "vault", "private"))
HERE = {"C1": ("U1", "U2", "U3", "U4", "U5", "U6", "U8"), "C2": ("U1", "U2"), "P1": ("U1", "U8")}


def fill(memory: Memory) -> None:
    memory.describe(PEOPLE, ROOMS)
    for room, people in HERE.items():
        for person in people:
            at = NOW - timedelta(days=9)
            memory.record(Enter(id=f"in-{room}-{person}", at=at, person=person, room=room))
    clock = iter(NOW + timedelta(minutes=n) for n in range(-99, 0))

    def say(speaker: str, room: str, entity: str, value: str, **more: Any) -> None:
        at = next(clock)
        id = f"{room}-{at:%H%M}"
        memory.record(Say(id=id, at=at, speaker=speaker, room=room, entity=entity, value=value,
                          quote=f"{entity}: {value}", link=f"https://x/{id}", **more))  # fmt: skip

    say("U1", "C1", "decision-42", "approved", name="Decision-42")
    say("U2", "C2", "decision-42", "rejected")
    say("U1", "C1", "C1-1700-1", "no freeze this year", name="no freeze this year")
    say("U1", "C1", "launch-date", "5 May", name="the launch date")
    say("U1", "P1", "secret-1", "sell")
    memory.record(Report(id="told-1", at=next(clock), speaker="U2", room="C2", about="U3",
                         entity="decision-42", value="rejected"))  # fmt: skip
    memory.record(Tell(id="tell-1", at=next(clock), speaker="U2", listeners=("U4",), room="D1",
                       entity="launch-date", value="4 May"))  # fmt: skip


@pytest.fixture(scope="module")
def filled(workspace: conftest.Workspace) -> Iterator[Memory]:
    with workspace() as memory:
        fill(memory)
        yield memory


type Ask = Callable[..., questions.Answer]


@pytest.fixture(scope="module")
def ask(filled: Memory) -> Ask:
    return asking(filled)


def asking(memory: Memory) -> Ask:
    def ask(
        name: str, text: str = "", who: str = "U1", room: str = "", at: datetime = NOW
    ) -> questions.Answer:
        return questions.answer(memory, Command(name=name, text=text, who=who, room=room, at=at))

    return ask


def asked(ask: Ask, *command: str, **more: str) -> dict[str, Any]:
    """The answer as scripts read it."""
    found = json.loads(ask(*command, **more).model_dump_json(by_alias=True))
    assert isinstance(found, dict)
    return found


# --- people ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "<@U1> <@U2>", "<@U1|ann> <@U2|bo lee>", "<@U1><@U2>", "<@!U1> <@!U2>", "<@U1>,<@U2>",
        "@ann @bo", "@ann, @bo", "@ann@bo", "ann bo", "@Ann @Bo Lee", "Ann Bo Lee", "ANN BO LEE",
        "U1 U2", "@U1 @U2", "  @ann \t @bo  ", "<@U1> bo", "@ann\n@bo", "<@U1|> <@U2|@bo>",
    ],
)  # fmt: skip
def test_two_people_are_named_in_any_form(ask: Ask, text: str) -> None:
    answer = ask("handoff", text)
    assert isinstance(answer, Handoff)
    assert (answer.from_person.id, answer.to_person.id) == ("U1", "U2")


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("N'Golo Kanté", "U3"), ("@n'golo kanté", "U3"), ("@ngolo", "U3"), ("@zoe", "U4"),
        ("Zoë", "U4"), ("@ZOË", "U4"), ("@sam.one", "U5"), ("@Lee, Kim", "U8"), ("Lee, Kim", "U8"),
        ("<@100200300>", "100200300"), ("<@!100200300>", "100200300"), ("@Дядя Ваня", "100200300"),
        ("<@U7>", "U7"), ("@eve", "U7"),
    ],
)  # fmt: skip
def test_a_person_is_found_by_every_name(ask: Ask, text: str, id: str) -> None:
    answer = ask("handoff", f"{text} @ann")
    assert isinstance(answer, Handoff)
    assert answer.from_person.id == id
    assert ask("misinformed", text) == ask("misinformed", f"<@{id}>")
    assert ask("explain", f"{text} decision-42") == ask("explain", f"<@{id}> Decision-42")


def test_the_same_person_twice_is_said_and_no_crash(ask: Ask) -> None:
    for text in ("<@U1> <@U1>", "@ann <@U1|ann>", "ann Ann"):
        for name in ("handoff", "common-ground"):
            with pytest.raises(InvalidInput, match=r"^That takes two different people\.$"):
                ask(name, text)


@pytest.mark.parametrize(
    "text", ["<!subteam^S1|@team> <@U2>", "<!here> @bo", "<!channel>", "<@&5> <@U2>"]
)
def test_a_group_is_not_a_person(ask: Ask, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^A group is not a person: /handoff @from @to\.$"):
        ask("handoff", text)


@pytest.mark.parametrize(
    "text", ["", "  ", "@ann", "<@U1>", "@ann @bo @zoe", "@ann to @bo", ",", "<@U1> <@U2> <@U4>"]
)
def test_too_few_or_too_many_people_are_told_the_form(ask: Ask, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^Say it like this: /handoff @from @to\.$"):
        ask("handoff", text)


def test_somebody_unknown_brings_the_nearest_names(ask: Ask) -> None:
    with pytest.raises(UnknownPerson, match=r"^Nobody here is called 'zoe2'\.$") as caught:
        ask("handoff", "@zoe2 @ann")
    assert "Zoë" in caught.value.suggestions
    assert not {"Helper", "Eve"} & set(caught.value.suggestions)


def test_a_name_of_two_people_is_not_guessed(ask: Ask) -> None:
    with pytest.raises(UnknownPerson, match=r"Sam \(sam\.one\), Sam \(sam\.two\)\.$"):
        ask("handoff", "@Sam @ann")


@pytest.mark.parametrize("text", ["<@UB>", "@helper", "Helper", "UB"])
def test_a_program_is_nobody(ask: Ask, text: str) -> None:
    with pytest.raises(UnknownPerson, match="Nobody here"):
        ask("handoff", f"{text} @ann")


def test_the_asker_is_an_active_person(filled: Memory, memory: Memory) -> None:
    assert [questions.asker(filled, who).id for who in ("ann", "@Ann", "U1", "<@U1>")] == ["U1"] * 4
    for who in ("eve", "U7"):
        with pytest.raises(UnknownPerson, match=r"^Eve is not an active person"):
            questions.asker(filled, who)
    for who in ("helper", "nobody", "", "@", "<@U99>"):
        with pytest.raises(UnknownPerson, match="Nobody here"):
            questions.asker(filled, who)
    with pytest.raises(UnknownPerson, match="Nothing has been read"):
        questions.asker(memory, "ann")


# --- decisions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("decision-42", "decision-42"), ("DECISION-42", "decision-42"), ("decision 42", "decision-42"),
        ("`decision-42`", "decision-42"), ('"decision-42"', "decision-42"), ("“Decision-42”", "decision-42"),
        (" decision-42 ", "decision-42"), ("'decision-42'", "decision-42"),
        ("the launch date", "launch-date"), ("launch date", "launch-date"), ("Launch Date", "launch-date"),
        ("launch-date", "launch-date"), ("`The launch date`", "launch-date"),
        ("no freeze this year", "C1-1700-1"), ("No freeze this year", "C1-1700-1"), ("C1-1700-1", "C1-1700-1"),
    ],
)  # fmt: skip
def test_a_decision_is_found_in_any_form(ask: Ask, text: str, entity: str) -> None:
    answer = ask("whoknows", text)
    assert isinstance(answer, WhoKnows)
    assert answer.entity.id == entity
    plan = ask("announce-plan", text)
    assert isinstance(plan, Announcement)
    assert plan.entity.id == entity
    wrong = ask("misinformed", text)
    assert isinstance(wrong, Misinformed)
    assert {one.entity.id for one in wrong.beliefs} <= {entity}
    assert asked(ask, "explain", f"@ann {text}")["entity"]["id"] == entity


@pytest.mark.parametrize(
    "text", ["decision-4", "decision-420", "decision-43", "secret-2", "*", ".*", "42"]
)
def test_what_only_looks_like_it_is_unknown(ask: Ask, text: str) -> None:
    with pytest.raises(UnknownEntity, match="Nothing is known about"):
        ask("whoknows", text)


def test_an_unknown_decision_brings_the_nearest_readable_ones(ask: Ask) -> None:
    with pytest.raises(UnknownEntity) as caught:
        ask("whoknows", "decision-43")
    assert caught.value.suggestions[0] == "Decision-42"
    with pytest.raises(UnknownEntity) as caught:
        ask("whoknows", "secret-2", who="U2")
    assert "secret-1" not in caught.value.suggestions


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("whoknows", r"Say which decision: /whoknows decision-42\."),
        ("announce-plan", r"Say which decision: /announce-plan decision-42\."),
        ("explain", r"Say it like this: /explain @person decision\."),
        ("common-ground", r"Say it like this: /common-ground @a @b\."),
        ("decide", "A decision is made in a room"),
        ("same", "What a name means is said in a room"),
        ("different", r"Say it like this: /different the big launch = decision-42\."),
    ],
)
def test_an_empty_question_is_told_the_form(ask: Ask, name: str, form: str) -> None:
    for text in ("", "   ", "\n", *(["``", '""'] if "plan" in name or "who" in name else [])):
        with pytest.raises(SecondOrderError, match=f"^{form}"):
            ask(name, text)


def test_misinformed_takes_nothing_a_person_or_a_decision(ask: Ask) -> None:
    everything = ask("misinformed")
    assert isinstance(everything, Misinformed)
    assert {one.person.id for one in everything.beliefs} == {"U3", "U4", "U5", "U6", "U8"}
    one = ask("misinformed", "@zoe")
    assert isinstance(one, Misinformed)
    assert {belief.person.id for belief in one.beliefs} == {"U4"}
    assert ask("misinformed", "Zoë") == ask("misinformed", "<@U4>") == one
    with pytest.raises(UnknownPerson):
        ask("misinformed", "@nobody")
    with pytest.raises(UnknownEntity):
        ask("misinformed", "nobody")


# --- nonsense -------------------------------------------------------------------------------------

HOSTILE = [
    "x" * 10_000, "@" * 10_000, "<@" * 5_000, "@a " * 4_000, "é" * 10_000, "`" * 10_000,
    "\0", "a\0b", "\x1b[31mred\x1b[0m", "a\nb\nc", "\ud800", "\u202eabc", "\r\n", "\u2028",
    "'}) MATCH (n) DETACH DELETE n //", '"\\', "\\", "$entity", "{x: 1}", "%s %d {0}", "-- --as", "🚀" * 500,
    "<!channel>", "&lt;b&gt;", "../../etc/passwd", "$(rm -rf /)", "None", "null", "[]", "(?:a+)+$",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_nonsense_gets_an_answer_or_one_short_sentence(ask: Ask, filled: Memory, text: str) -> None:
    for name in (*questions.QUESTIONS, text):
        for who, typed in (("U1", text), ("U1", f"@ann {text}"), ("U2", f"{text} @bo")):
            said = ""
            try:
                ask(name, typed, who=who)
            except SecondOrderError as error:
                said = error.message
            assert said or name in ("misinformed", "mymind", "names", "status")
            assert len(said) < 400
            assert said.isprintable()
    assert len(filled.entities()) == 4
    with pytest.raises(UnknownPerson):
        questions.asker(filled, text)


@pytest.mark.parametrize(
    ("typed", "near"),
    [("whoknos", "/whoknows"), ("/announceplan", "/announce-plan"), ("mis-informed", "/misinformed")],
)  # fmt: skip
def test_an_unknown_command_brings_the_nearest_ones(ask: Ask, typed: str, near: str) -> None:
    with pytest.raises(InvalidInput, match=r"these are: /whoknows, .*/status\.$") as caught:
        ask(typed)
    assert caught.value.suggestions[0] == near


@pytest.mark.parametrize("name", ["whoknows", "/whoknows", "WhoKnows", "/WHOKNOWS"])
def test_a_command_is_found_with_and_without_its_slash_in_any_case(ask: Ask, name: str) -> None:
    assert isinstance(ask(name, "decision-42"), WhoKnows)


# --- /decide --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "entity", "name", "value"),
    [
        ("decision-7 ship friday", "decision-7", "decision-7", "ship friday"),
        ("decision-7: x", "decision-7", "decision-7", "x"),
        ("Decision-7 = x", "decision-7", "Decision-7", "x"),
        ("decision-7 -> x y", "decision-7", "decision-7", "x y"),
        ("decision-7 → x", "decision-7", "decision-7", "x"),
        ("decision-7 is approved", "decision-7", "decision-7", "approved"),
        ("decision-7: is it", "decision-7", "decision-7", "it"),
        ("decision-7 island", "decision-7", "decision-7", "island"),
        ("decision-7 https://a.b/c:d", "decision-7", "decision-7", "https://a.b/c:d"),
        ("ops_17 done: really", "ops_17", "ops_17", "done: really"),
        ("the launch day: 8 December", "launch-day", "the launch day", "8 December"),
        ("Launch  day :  8   December", "launch-day", "Launch day", "8 December"),
        ("*launch day*: `8 December`", "launch-day", "launch day", "8 December"),
        ("R&amp;D lead: <@U4> &lt;v2&gt;", None, "R&D lead", "@Zoë <v2>"),
        ("décision: oui", None, "décision", "oui"),
        ("decision-7\x1b[31m: re\x00d\nalert", None, "decision-7[31m", "red alert"),
        ("lunch: " + "x" * 200, "lunch", "lunch", "x" * 200),
    ],
)  # fmt: skip
def test_a_decision_is_recorded_as_it_was_meant(
    memory: Memory, text: str, entity: str | None, name: str, value: str
) -> None:
    fill(memory)
    answer = asking(memory)("decide", text, room="C1")
    assert isinstance(answer, Recorded)
    assert (answer.entity.name, answer.value) == (name, value)
    assert entity in (None, answer.entity.id)
    again = asking(memory)("whoknows", name, who="U2")
    assert isinstance(again, WhoKnows)
    assert (again.entity, again.value) == (answer.entity, value)
    assert again.decided is not None
    assert (again.decided.speaker, again.decided.room) == (
        answer.evidence.speaker,
        answer.evidence.room,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "decision-7",
        "decision-7:",
        "decision-7 ->",
        ": x",
        "ship friday",
        "lunch:",
        "\0: \0",
    ],
)
def test_a_decision_without_a_name_or_a_value_is_told_the_form(ask: Ask, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^Say it like this: /decide decision-42 ship friday"):
        ask("decide", text, room="C1")


def test_a_decision_is_short(ask: Ask) -> None:
    for text in ("a" * 81 + ": x", "lunch: " + "x" * 201, "decision-7 " + "x" * 10_001):
        with pytest.raises(InvalidInput, match=r"^A decision is short"):
            ask("decide", text, room="C1")


def test_only_people_who_are_in_a_room_decide_there(ask: Ask) -> None:
    for room in ("", "C9", "P1"):  # nowhere, no room, one that Bo may not read: all the same
        with pytest.raises(UnknownRoom, match="type /decide in the channel it is for"):
            ask("decide", "decision-7 x", who="U2", room=room)
    with pytest.raises(InvalidInput, match="Only people who are in the channel"):
        ask("decide", "decision-7 x", who="U4", room="C2")


def test_what_is_called_so_already_is_decided_anew(memory: Memory) -> None:
    fill(memory)
    ask = asking(memory)
    at = NOW + timedelta(hours=1)
    for text, entity in (("no freeze this year: a freeze", "C1-1700-1"), ("The Launch Date: June", "launch-date")):  # fmt: skip
        answer = ask("decide", text, who="U2", room="C2", at=at)
        assert isinstance(answer, Recorded)
        assert answer.entity.id == entity


def test_names_that_differ_are_different_things(memory: Memory) -> None:
    fill(memory)
    names = [
        "C version",
        "C++ version",
        "C# version",
        "A team",
        "the team",
        "100% rollout",
        "rollout",
    ]
    answers = [asking(memory)("decide", f"{name}: x", room="C1") for name in names]
    assert len({a.entity.id for a in answers if isinstance(a, Recorded)}) == len(names)


def test_a_command_that_is_delivered_twice_is_recorded_once(memory: Memory) -> None:
    fill(memory)
    first, before = asking(memory)("decide", "decision-7 x", room="C1"), memory.counts()
    assert asking(memory)("decide", "decision-7 x", room="C1") == first
    assert memory.counts() == before


# --- the shape of answers -------------------------------------------------------------------------

EVIDENCE = {"event", "at", "room", "speaker", "grade", "link", "quote"}
WRONG = {"entity", "people", "about", "thinks", "actually", "evidence"}
REF = {"id", "name"}


def nodes(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


def test_whoknows_as_json(ask: Ask) -> None:
    answer = asked(ask, "whoknows", "decision-42")
    assert set(answer) >= {"entity", "value", "disputed", "decided", "people", "wrong_about_others"}
    assert answer["entity"] == {"id": "decision-42", "name": "Decision-42"}
    assert (answer["value"], answer["disputed"]) == ("rejected", False)
    assert set(answer["decided"]) == EVIDENCE
    assert {frozenset(one) for one in answer["people"]} == {
        frozenset({"person", "status", "value", "grade", "evidence"})
    }
    assert [one["status"] for one in answer["people"]][:3] == ["knows", "knows", "stale"]
    assert {frozenset(one) for one in answer["wrong_about_others"]} == {frozenset(WRONG)}


def test_misinformed_as_json(ask: Ask) -> None:
    answer = asked(ask, "misinformed")
    assert set(answer) == {"beliefs", "wrong_about_others"}
    keys = {"person", "entity", "believes", "actual", "since", "evidence", "changed"}
    assert {frozenset(one) for one in answer["beliefs"]} == {frozenset(keys)}
    assert {frozenset(one) for one in answer["wrong_about_others"]} == {frozenset(WRONG)}


def test_announce_plan_as_json(ask: Ask) -> None:
    answer = asked(ask, "announce-plan", "decision-42")
    assert set(answer) >= {"entity", "value", "wrong_before", "plans"}
    assert answer["wrong_before"] == 5
    for plan in answer["plans"]:
        assert set(plan) >= {"messages", "wrong_after", "interrupted", "reached"}
        for message in plan["messages"]:
            assert set(message) >= {"to", "text"}
            assert list(message["to"]) in (["room"], ["person"])
            [to] = message["to"].values()
            assert set(to) == REF
    to = [m["to"] for plan in answer["plans"] for m in plan["messages"]]
    assert {kind for one in to for kind in one} == {"room", "person"}


def test_handoff_as_json(ask: Ask) -> None:
    answer = asked(ask, "handoff", "@bo @ann", who="U2")
    assert set(answer) == {"from", "to", "lacks", "wrong", "promises", "text"}
    assert (answer["from"], answer["to"]) == (
        {"id": "U2", "name": "Bo Lee"}, {"id": "U1", "name": "Ann"},
    )  # fmt: skip
    answer = asked(ask, "handoff", "@ann @ngolo")
    assert {frozenset(one) for one in answer["lacks"]} == {
        frozenset({"entity", "value", "evidence"})
    }
    keys = frozenset({"entity", "value", "holds", "evidence"})
    assert {frozenset(one) for one in answer["wrong"]} == {keys}
    keys = frozenset({"to", "entity", "told", "actual", "evidence"})
    assert {frozenset(one) for one in answer["promises"]} == {keys}


def test_the_other_answers_as_json(ask: Ask) -> None:
    explained = asked(ask, "explain", "@bo decision-42")
    assert set(explained) == {"chain", "entity", "value", "steps", "path"}
    assert set(asked(ask, "common-ground", "@ann @bo")) == {"people", "shared"}
    assert set(asked(ask, "mymind")) == {"person", "holds"}
    assert set(asked(ask, "status")) >= {
        "workspace", "people", "rooms", "messages", "statements", "entities",
    }  # fmt: skip


def test_everywhere_times_are_utc_and_things_have_an_id_and_a_name(ask: Ask) -> None:
    for command in (("whoknows", "decision-42"), ("misinformed",), ("handoff", "@ann @ngolo"),
                    ("explain", "@ann decision-42"), ("mymind",), ("common-ground", "@ann @bo"),
                    ("announce-plan", "decision-42")):  # fmt: skip
        for node in nodes(asked(ask, *command)):
            for key in {"at", "since"} & node.keys():
                assert re.fullmatch(r"2026-03-02T\d\d:\d\d:\d\d\.\d{6}Z", node[key])
            for key in {"person", "room", "entity", "speaker", "from", "to"} & node.keys():
                if node[key] is not None and set(node) != {"room"} and key != "to":
                    assert set(node[key]) == REF
            if "event" in node:
                assert set(node) == EVIDENCE
