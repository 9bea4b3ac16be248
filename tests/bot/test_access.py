"""An answer never tells the asker what the asker may not read (rule 2), on every path there is.

The strongest form of it: a workspace is read twice, whole and without everything that one person
may not read. Whatever that person then asks is answered by both in the same bytes.
"""

import functools
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bot import questions, render
from bot.__main__ import app
from bot.app import Bot, replay
from bot.app import Rules as Team
from bot.chat import Command, Edit, Enter, Exit, Heard, Message, Person, Room, Workspace
from engine import Memory
from engine.beliefs import Announcement, Handoff, Recipient
from engine.errors import SecondOrderError
from extraction.rules import Rules
from tests import conftest

DAWN = datetime(2026, 1, 1, tzinfo=UTC)
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
LATER = datetime(2026, 6, 1, tzinfo=UTC)

ANN, BO, CY, DEE, EVE, FAY, GIL = "U1", "U2", "U3", "U4", "U5", "U6", "U7"

PEOPLE = (
    Person(id=ANN, name="Ann", handle="ann"),
    Person(id=BO, name="Bo", handle="bo"),
    Person(id=CY, name="Cy", handle="cy"),
    Person(id=DEE, name="Dee", handle="dee", guest=True),
    Person(id=EVE, name="Eve", handle="eve", gone=True),
    Person(id=FAY, name="Fay", handle="fay"),
    Person(id=GIL, name="Gil", handle="gil"),
    Person(id="UB", name="Helper", handle="helper", bot=True),
)
ASKING = (ANN, BO, CY, DEE, FAY, GIL)

ROOMS = {
    room.id: room
    for room in (
        Room(id="C1", name="general", members=frozenset({ANN, BO, CY, EVE, FAY, GIL})),
        Room(id="C2", name="product", members=frozenset({ANN, BO, DEE})),
        Room(id="P1", name="vault", kind="private", members=frozenset({ANN, BO, CY})),
        Room(id="P2", name="partners", kind="private", members=frozenset({ANN, DEE})),
        Room(id="G1", name="Ann, Bo, Fay", kind="group", members=frozenset({ANN, BO, FAY})),
        Room(id="D1", name="Ann, Bo", kind="direct", members=frozenset({ANN, BO})),
        Room(id="D2", name="Cy, Fay", kind="direct", members=frozenset({CY, FAY})),
    )
}
PROGRAM = "Poster"
"""A program whose posts may decide."""


class Office(NamedTuple):
    """What happened in a workspace, and who is where at the end of it."""

    heard: tuple[Heard, ...]
    here: Mapping[str, frozenset[str]]
    rooms: Mapping[str, Room] = ROOMS

    def readable(self, who: str) -> frozenset[str]:
        """By the rule of the product: the rooms one is in, and public ones if one is no guest."""
        return frozenset(
            id
            for id, room in self.rooms.items()
            if who in self.here[id] or (room.kind == "public" and who != DEE)
        )

    def without(self, rooms: Collection[str]) -> "Office":
        """As if nothing had been said in some rooms; who came and went stays."""
        kept = (h for h in self.heard if not (isinstance(h, Message) and h.room in rooms))
        return self._replace(heard=tuple(kept))

    def for_(self, who: str) -> "Office":
        return self.without(self.rooms.keys() - self.readable(who))

    def recipients(self, to: Recipient) -> frozenset[str]:
        """Who can read what is posted there."""
        if to.person is not None:
            return frozenset({to.person.id})
        assert to.room is not None
        everybody = {p.id for p in PEOPLE if not (p.guest or p.gone or p.bot)}
        open_ = self.rooms[to.room.id].kind == "public"
        gone = {p.id for p in PEOPLE if p.gone or p.bot}
        return (self.here[to.room.id] | (everybody if open_ else frozenset())) - gone

    def read_into(self, memory: Memory) -> None:
        # An export lists who is there at its end.
        rooms = (r.model_copy(update={"members": self.here[r.id]}) for r in self.rooms.values())
        workspace = Workspace(
            id="acme", platform="slack", people=PEOPLE, rooms=tuple(rooms), heard=self.heard
        )
        replay(Bot(memory, Rules(), Team(apps=frozenset({PROGRAM}))), workspace)


class Scribe:
    """Writes down what happens, one line a minute."""

    def __init__(self, rooms: Mapping[str, Room] = ROOMS) -> None:
        self.rooms = rooms
        self.clock = START
        self.here = {room.id: set(room.members or ()) for room in rooms.values()}
        self.heard: list[Heard] = [
            Enter(id=f"dawn-{room}-{who}", at=DAWN, person=who, room=room, presumed=True)
            for room, people in self.here.items()
            for who in sorted(people)
        ]

    def passes(self, **time: float) -> None:
        self.clock += timedelta(**time)

    def says(self, room: str, who: str, text: str, **more: Any) -> str:
        """Says it and returns the line's own `ts`."""
        self.passes(minutes=1)
        ts = f"{self.clock.timestamp():.6f}"
        link = f"https://acme.slack.com/archives/{room}/p{ts.replace('.', '')}"
        message = Message(
            room=room, ts=ts, at=self.clock, author=who, text=text, link=link, **more
        )  # fmt: skip
        self.heard.append(message)
        return ts

    def moves(self, room: str, who: str) -> None:
        """Leaves, or comes back."""
        self.passes(minutes=1)
        kind = Exit if who in self.here[room] else Enter
        self.here[room] ^= {who}
        id = f"moved-{room}-{who}-{self.clock.timestamp():.0f}"
        self.heard.append(kind(id=id, at=self.clock, person=who, room=room))

    @property
    def office(self) -> Office:
        here = {room: frozenset(people) for room, people in self.here.items()}
        return Office(tuple(self.heard), here, self.rooms)


def built() -> Office:
    """One of everything that has been private in somebody's workspace."""
    it = Scribe()
    it.says("C1", ANN, "ops-1: approved", reactions={"+1": (GIL,)})
    it.passes(hours=1)
    it.says("P1", BO, "OPS-1: rejected", reactions={"eyes": (ANN,)})  # another value, and spelling
    it.says("P1", CY, "vault-2: sell")  # by somebody who leaves
    it.moves("P1", CY)
    root = it.says("P1", BO, "vault-2: hold, see you")
    it.says("P1", ANN, "vault-22: later", thread=root)  # a thread; a near name
    it.says("P1", BO, "<@U1> update: never", thread=root)
    it.says("C1", FAY, "value-2: open")  # a near name, in public
    it.says("P1", ANN, f"told <@{FAY}> vault-2 is hold")  # a report about a private matter
    it.says("C1", FAY, f"<@{GIL}> I think ops-1 is approved")
    it.passes(hours=1)
    it.says("D1", ANN, "pay-3: ten")
    it.says("D2", CY, "ops-1: paused")
    it.says("D2", FAY, "pay-3: five", reactions={"+1": (CY,)})
    it.says("G1", BO, "team-4: yes")
    it.passes(hours=1)
    edited = Edit(at=it.clock + timedelta(hours=1), by=BO)
    it.says("P1", BO, "board-5: split", edited=edited)
    it.says("P1", BO, "board-5: gone", removed=True)
    it.says("C1", ANN, "decision: no freeze this year")
    it.says("P1", BO, "decision: no freeze for the vault")
    it.says("C2", DEE, "date-6: friday")
    it.passes(hours=1)
    it.says("C2", ANN, "date-6: monday")
    it.says("P2", ANN, "date-6: cancelled", reactions={"+1": (DEE,)})
    it.says("P1", ANN, "ship-7: today", app=PROGRAM)  # a program that is in private rooms only
    it.says("C1", EVE, "old-8: kept")  # by somebody who is gone
    it.says("C1", GIL, "nothing to see here")
    it.says("D1", BO, f"I told <@{CY}> date-6 is monday")
    return it.office


OFFICE = built()
NAMES = (
    "ops-1", "OPS-1", "vault-2", "vault-22", "value-2", "pay-3", "team-4", "board-5", "date-6",
    "ship-7", "old-8", "no freeze this year", "no freeze for the vault", "vault-3", "vault", "x",
)  # fmt: skip
"""Everything that anybody spoke of, and things that nobody did."""

CALLED = ("@ann", "@bo", "@cy", "@dee", "@eve", "@fay", "@gil")
STRANGE = ("@poster", "@app-Poster", "@helper", "@U777", "@vault")


def everything() -> Iterator[tuple[str, str]]:
    """Every question, as `(name, text)`."""
    yield from (("misinformed", ""), ("mymind", ""), ("status", ""), ("nonsense", "vault-2"))
    yield from (
        ("names", ""),
        ("names", "vault-2"),
        ("whoknows", "vault"),
        ("different", "x = vault-2"),
    )
    for name in NAMES:
        for question in ("whoknows", "announce-plan"):
            yield question, name
    for name in ("ops-1", "vault-2", "no freeze for the vault"):
        yield "misinformed", name
    for person in (*CALLED, *STRANGE):
        yield "misinformed", person
        yield "explain", f"{person} vault-2"
        yield "handoff", f"{person} @ann"
    for person, name in itertools.product(CALLED, ("ops-1", "pay-3")):
        yield "explain", f"{person} {name}"
    for a, b in itertools.permutations(("@ann", "@bo", "@cy", "@dee", "@gil"), 2):
        yield "handoff", f"{a} {b}"
    for a, b in itertools.combinations(CALLED, 2):
        yield "common-ground", f"{a} {b}"


@functools.cache
def said(memory: Memory, who: str, question: str, text: str, room: str = "") -> str:
    """An answer as JSON and as people read it, or an error with everything it carries."""
    command = Command(name=question, text=text, who=who, room=room, at=LATER)
    style = render.Style(UTC, {p.id: p.name for p in PEOPLE})
    try:
        answer = questions.answer(memory, command)
    except SecondOrderError as error:
        return json.dumps([error.kind, error.message, error.suggestions])
    page = render.text(render.page(answer, style))
    return f"{answer.model_dump_json(by_alias=True)}\n{page}".replace(memory.sid, "SID")


@pytest.fixture(scope="module")
def whole(workspace: conftest.Workspace) -> Iterator[Memory]:
    with workspace() as memory:
        OFFICE.read_into(memory)
        yield memory


@pytest.fixture(scope="module")
def less(workspace: conftest.Workspace) -> Iterator[Callable[[str], Memory]]:
    """The memory that never heard what somebody may not read."""
    with ExitStack() as stack:

        @functools.cache
        def memory(who: str) -> Memory:
            opened = stack.enter_context(workspace())
            OFFICE.for_(who).read_into(opened)
            return opened

        yield memory


# --- as if it had never been said -----------------------------------------------------------------


@pytest.mark.parametrize("who", ASKING)
def test_every_answer_is_as_if_the_unreadable_had_never_been_said(
    whole: Memory, less: Callable[[str], Memory], who: str
) -> None:
    assert OFFICE.for_(who) != OFFICE
    for question, text in everything():
        assert said(whole, who, question, text) == said(less(who), who, question, text)


def test_the_questions_above_are_answered_with_what_is_private_to_those_who_may_read_it(
    whole: Memory,
) -> None:
    """The test above compares answers in which something stands."""
    text = "\n".join(said(whole, ANN, *question) for question in everything())
    for private in ("vault-22", "hold", "ten", "split", "no freeze for the vault", "cancelled"):
        assert private in text
    assert "“five”" in "\n".join(said(whole, CY, *question) for question in everything())


@pytest.mark.parametrize("who", [CY, DEE, GIL])
def test_the_command_line_prints_the_same_and_ends_the_same(
    whole: Memory, less: Callable[[str], Memory], state: Path, who: str
) -> None:
    for command in ("/whoknows vault-2", "/whoknows OPS-1", "/misinformed @ann", "/status",
                    "/handoff @ann @poster", "/announce-plan pay-3"):  # fmt: skip
        for form in ([], ["--json"]):
            arguments = ["ask", "--as", who, *form, command]
            assert printed(whole, state, arguments) == printed(less(who), state, arguments)


def printed(memory: Memory, state: Path, arguments: list[str]) -> tuple[int, str, str]:
    place = ["--state", str(state), "--workspace", memory.sid]
    result = CliRunner().invoke(app, [*arguments, *place])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout.replace(memory.sid, "SID"), result.stderr


@pytest.mark.parametrize("who", [CY, GIL])
def test_a_decision_is_echoed_as_if_the_unreadable_had_never_been_said(
    workspace: conftest.Workspace, who: str
) -> None:
    with workspace() as full, workspace() as some:
        OFFICE.read_into(full)
        OFFICE.for_(who).read_into(some)
        for text in ("ops-1 rejected", "vault-2: sell", "Vault-22: never", "PAY-3 ten"):
            assert said(full, who, "decide", text, "C1") == said(some, who, "decide", text, "C1")
        for room in ("P1", "D1", "P9", ""):  # one that may not be read is one that is not there
            answer = said(full, who, "decide", "ops-1: done", room)
            assert answer == said(full, who, "decide", "ops-1: done", "P9")


# --- what stands in an answer ---------------------------------------------------------------------


@pytest.mark.parametrize("who", ASKING)
def test_only_readable_rooms_are_named_in_answers(whole: Memory, who: str) -> None:
    readable = OFFICE.readable(who)
    for question, text in everything():
        answer = said(whole, who, question, text).partition("\n")[0]
        rooms = {id for id in re.findall(r'"room":\{"id":"(\w+)"', answer)}
        assert rooms <= readable, (question, text)
        linked = set(re.findall(r"/archives/(\w+)/", answer))
        assert linked <= readable, (question, text)


@pytest.mark.parametrize("who", ASKING)
def test_suggestions_are_readable_names(
    whole: Memory, less: Callable[[str], Memory], who: str
) -> None:
    known = set(less(who).entities().values()) | {p.name for p in PEOPLE if not (p.gone or p.bot)}
    known |= {f"/{name}" for name in questions.QUESTIONS}
    asked = [*NAMES, "vault-23", "pay-4", "team", "board", "no freeze for vault", "ship-70"]
    for name in asked:
        answer = said(whole, who, "whoknows", name)
        if answer.startswith("["):
            kind, message, suggestions = json.loads(answer)
            assert (kind, set(suggestions) - known) == ("unknown_entity", set())
            assert message == f"Nothing is known about {name!r}."


def test_what_somebody_told_in_private_is_not_even_counted(whole: Memory) -> None:
    seen = json.loads(said(whole, GIL, "status", "").partition("\n")[0])
    mine = OFFICE.for_(GIL).heard
    assert seen["messages"] == sum(isinstance(one, Message) for one in mine)
    assert seen["rooms"] == len(OFFICE.readable(GIL)) == 2
    assert seen["people"] == sum(not person.bot for person in PEOPLE)
    answer = json.loads(said(whole, GIL, "whoknows", "ops-1").partition("\n")[0])
    assert {one["status"] for one in answer["people"]} == {"knows"}


def test_who_left_a_private_room_no_longer_reads_what_was_said_there(whole: Memory) -> None:
    assert "unknown_entity" in said(whole, CY, "whoknows", "vault-2")
    assert "vault-2" not in said(whole, CY, "mymind", "")
    assert "sell" in said(whole, ANN, "whoknows", "vault-2")  # it is known of Cy to who may read


# --- what the bot is asked to post ----------------------------------------------------------------


def unreadable_to_a_recipient(office: Office, answer: Announcement) -> list[str]:
    """The posts whose source somebody who will read them may not read."""
    found = []
    for post in {post for plan in answer.plans for post in plan.messages}:
        [source] = re.findall(r"/archives/(\w+)/", post.text)
        readers = office.recipients(post.to)
        named = {person.id for person in post.mentions}
        if not named <= readers or any(source not in office.readable(one) for one in readers):
            found.append(post.model_dump_json())
    return found


@pytest.mark.parametrize("who", ASKING)
def test_a_proposed_post_carries_nothing_that_a_recipient_may_not_read(
    whole: Memory, who: str
) -> None:
    for name in NAMES:
        answer = announced(whole, who, name)
        if answer is not None:
            assert unreadable_to_a_recipient(OFFICE, answer) == []
            to = [post.to.room.id for p in answer.plans for post in p.messages if post.to.room]
            assert all(who in OFFICE.here[room] for room in to)


def test_there_are_plans_to_look_at(whole: Memory) -> None:
    found = [announced(whole, who, name) for who in ASKING for name in NAMES]
    plans = [plan for one in found if one for plan in one.plans]
    assert {bool(post.to.room) for plan in plans for post in plan.messages} == {True, False}


def announced(memory: Memory, who: str, name: str) -> Announcement | None:
    command = Command(name="announce-plan", text=name, who=who, room="", at=LATER)
    try:
        answer = questions.answer(memory, command)
    except SecondOrderError:
        return None
    assert isinstance(answer, Announcement)
    return answer


def rooms(*some: Room) -> dict[str, Room]:
    return {room.id: room for room in some}


VAULT = Room(id="P1", name="vault", kind="private", members=frozenset({ANN, BO}))


def test_a_public_room_is_read_by_more_than_the_people_in_it(memory: Memory) -> None:
    """Everybody in #product is in #vault as well, and everybody else can open #product."""
    it = Scribe(rooms(VAULT, Room(id="C2", name="product", members=frozenset({ANN, BO}))))
    it.says("C2", ANN, "ops-1: sell")
    it.says("P1", BO, "ops-1: hold")
    it.says("C2", ANN, "I think ops-1 is sell")
    it.office.read_into(memory)
    answer = announced(memory, BO, "ops-1")
    assert answer is not None
    assert answer.wrong_before == 1
    assert answer.plans
    assert unreadable_to_a_recipient(it.office, answer) == []


def test_a_post_calls_things_as_its_recipients_may_read_them(memory: Memory) -> None:
    it = Scribe(rooms(VAULT, Room(id="C1", name="general", members=frozenset({ANN, BO, GIL}))))
    it.says("P1", BO, "SecreT-1: sell")
    it.passes(hours=1)
    it.says("C1", ANN, "secret-1: sell")
    it.passes(hours=1)
    it.moves("C1", GIL)
    it.says("C1", ANN, "secret-1: hold")
    it.moves("C1", GIL)
    it.office.read_into(memory)
    answer = announced(memory, BO, "secret-1")
    assert answer is not None
    posts = [post for plan in answer.plans for post in plan.messages]
    assert posts
    assert all("SecreT" not in p.text for p in posts if GIL in it.office.recipients(p.to))


def test_a_handover_says_things_as_its_recipient_may_read_them(memory: Memory) -> None:
    general = Room(id="C1", name="general", members=frozenset({ANN, BO}))
    it = Scribe(rooms(VAULT, general, Room(id="C3", name="far", members=frozenset({GIL}))))
    it.says("P1", BO, "ops-1: hold by the secret board")
    it.says("C1", ANN, "ops-1: hold")
    it.office.read_into(memory)
    command = Command(name="handoff", text="@ann @gil", who=ANN, room="", at=LATER)
    answer = questions.answer(memory, command)
    assert isinstance(answer, Handoff)
    assert "hold" in answer.text
    assert "secret board" not in answer.text


@pytest.mark.parametrize("who", [ANN, BO, FAY])
def test_a_handover_carries_what_its_recipient_reads_as_well(
    whole: Memory, less: Callable[[str], Memory], who: str
) -> None:
    for to in ASKING:
        readable = f"{less(to).spoken()}"
        for giver in ASKING:
            if giver != to:
                command = Command(
                    name="handoff", text=f"<@{giver}> <@{to}>", who=who, room="", at=LATER
                )
                answer = questions.answer(whole, command)
                assert isinstance(answer, Handoff)
                for line in answer.text.splitlines()[1:]:
                    for name, value in re.findall(r"([\w-]+): (\w+)", line):
                        assert f"name='{name}', value='{value}'" in readable, line


# --- names that only private talk knows -----------------------------------------------------------


def test_somebody_who_was_only_spoken_of_in_private_is_nobody_to_others(
    workspace: conftest.Workspace,
) -> None:
    it = Scribe()
    it.says("P1", ANN, "told <@U777> vault-2 is approved")
    compared(workspace, it.office, GIL, [("handoff", "@ann @U777"), ("status", "")])


def test_what_a_guest_may_not_read_does_not_decide_what_is_read_out_of_the_guests_rooms(
    workspace: conftest.Workspace,
) -> None:
    """A value counts as settled where it was given before: to a guest, where the guest may read."""
    it = Scribe()
    it.says("C1", BO, "Ship-7: teal")
    it.says("P2", ANN, "ship-7 is teal")
    compared(workspace, it.office, DEE, [("whoknows", "ship-7"), ("status", "")])


def test_a_program_of_a_private_room_is_not_read_as_a_name_elsewhere(
    workspace: conftest.Workspace,
) -> None:
    """A person's name settles; who posts in #vault only is no name in #general."""
    it = Scribe()
    it.says("P1", ANN, "ship-7: today", app=PROGRAM)
    it.says("C1", BO, "ops-1 is poster")
    compared(workspace, it.office, GIL, [("whoknows", "ops-1"), ("status", "")])


def compared(
    workspace: conftest.Workspace, office: Office, who: str, asked: Iterable[tuple[str, str]]
) -> None:
    with workspace() as full, workspace() as some:
        office.read_into(full)
        office.for_(who).read_into(some)
        for question, text in asked:
            assert said(full, who, question, text) == said(some, who, question, text)
        for name in {text for question, text in asked if question == "announce-plan"}:
            answer = announced(full, who, name)
            assert answer is None or unreadable_to_a_recipient(office, answer) == []


# --- any small workspace --------------------------------------------------------------------------

KEYS = ("ops-1", "OPS-1", "ops-11", "date-2")
VALUES = ("approved", "rejected", "blue", "Friday")
TEXTS = (
    "{key}: {value}", "{key}: {value}", "{key} is {value}", "I think {key} is {value}",
    "told <@{person}> {key} is {value}", "<@{person}> told me {key} is {value}",
    "<@{person}> {key}: {value}", "decision: we go {value}", "update: {value}",
    "`{key}` is {value}", "decision: `{key}` {value}", "hello", "<@{person}> ok",
)  # fmt: skip


@st.composite
def offices(draw: st.DrawFn) -> Office:
    it, roots = Scribe(), dict[str, list[str]]()
    for _ in range(draw(st.integers(2, 12))):
        room = draw(st.sampled_from(sorted(ROOMS)))
        it.passes(minutes=draw(st.sampled_from((0, 10, 100))))
        if ROOMS[room].kind in ("public", "private") and draw(st.integers(0, 9)) == 0:
            it.moves(room, draw(st.sampled_from(sorted(ROOMS[room].members or ()))))
            continue
        if not it.here[room]:
            continue
        text = draw(st.sampled_from(TEXTS)).format(
            key=draw(st.sampled_from(KEYS)),
            value=draw(st.sampled_from(VALUES)),
            person=draw(st.sampled_from((ANN, BO, CY, DEE, FAY))),
        )
        more = draw(st.sampled_from(("", "", "thread", "edited", "reaction", "removed", "program")))
        people = sorted(it.here[room])
        extras: dict[str, dict[str, Any]] = {
            "thread": {"thread": draw(st.sampled_from(roots.get(room, [None])))},
            "edited": {"edited": Edit(at=it.clock + timedelta(minutes=5), by=people[0])},
            "reaction": {"reactions": {"+1": (draw(st.sampled_from(people)),)}},
            "removed": {"removed": True},
            "program": {"app": PROGRAM},
        }
        ts = it.says(room, draw(st.sampled_from(people)), text, **extras.get(more, {}))
        roots.setdefault(room, []).append(ts)
    return it.office


@given(data=st.data())
def test_any_workspace_answers_as_if_the_unreadable_had_never_been_said(
    workspace: conftest.Workspace, data: st.DataObject
) -> None:
    office = data.draw(offices())
    who = data.draw(st.sampled_from(ASKING))
    name = data.draw(st.sampled_from(("ops-1", "date-2", "we go blue", "ops-11", "ops-12")))
    a, b = data.draw(st.permutations(CALLED))[:2]
    asked = [
        ("whoknows", name), ("misinformed", ""), ("announce-plan", name), ("mymind", ""),
        ("handoff", f"{a} {b}"), ("explain", f"{a} {name}"), ("common-ground", f"{a} {b}"),
        ("status", ""), ("handoff", f"@poster {b}"),
    ]  # fmt: skip
    compared(workspace, office, who, asked)
