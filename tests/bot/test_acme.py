"""The demo workspace answers as a careful colleague would: row by row of its `expected.md`.

The export is replayed once, through the real pipeline into a real FalkorDB. What the tables do not
say holds as well, for everybody and every decision: evidence can be followed, and nothing that the
asker may not read is in the answer.
"""

import functools
import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from bot import questions
from bot.adapters import exports
from bot.app import Bot, replay
from bot.chat import Command, Message, Room, Workspace
from engine import Memory
from engine.beliefs import Announcement, Handoff, Misinformed, Recipient, Status, WhoKnows
from engine.errors import SecondOrderError
from extraction.rules import Rules
from tests import conftest
from tests.bot import acme_tables as cells
from tests.bot.acme_tables import Row

ACME = Path(__file__).parents[2] / "examples" / "acme"
TABLES = cells.tables(ACME / "expected.md")
STATEMENTS, WHOKNOWS = TABLES["The statements"], TABLES["/whoknows"]
MISINFORMED, PLANS, HANDOFF = TABLES["/misinformed"], TABLES["/announce-plan"], TABLES["/handoff"]

READERS = (
    "Bilal", "Eli", "Esteban", "Helen", "Jörg", "Lena", "N'Golo", "Priya", "Rafael", "Sean", "Tom", "Zoë",
)  # fmt: skip
"""One of the people with each set of rooms to read; Tom for all who read the public ones."""


class Question(NamedTuple):
    """Who asks what; people are named as they are displayed."""

    who: str
    command: str
    about: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.who} /{self.command} {' '.join(self.about)}".strip()


class Acme:
    """The workspace as it was exported, and a memory that has read it."""

    def __init__(self, memory: Memory, export: Workspace) -> None:
        self.memory = memory
        self.export = export
        self.ids = {person.name: person.id for person in export.people}
        self.guests = {person.id for person in export.people if person.guest}
        self.messages = {h.link: h for h in export.heard if isinstance(h, Message)}
        self.room_by_id = {room.id: room for room in export.rooms}
        self.answer = functools.cache(self._answer)

    def _answer(self, asked: Question) -> questions.Answer | SecondOrderError:
        text = " ".join(f"<@{self.ids[a]}>" if a in self.ids else a for a in asked.about)
        command = Command(
            name=asked.command, text=text, who=self.ids[asked.who], room="",
            at=self.export.heard[-1].at,
        )  # fmt: skip
        try:
            return questions.answer(self.memory, command)
        except SecondOrderError as error:
            return error

    def room(self, label: str) -> Room:
        """The room that a table means: `#name`, `#name (thread)`, `direct: A, B`, `group: A, B, C`."""
        if label.startswith("#"):
            name = label.removeprefix("#").removesuffix(" (thread)")
            [found] = [room for room in self.export.rooms if room.name == name]
            return found
        kind, _, names = label.partition(": ")
        members = {self.ids[name] for name in names.split(", ")}
        [found] = [
            room
            for room in self.export.rooms
            if (room.kind, room.members or frozenset()) == (kind, frozenset(members))
        ]
        return found

    def recipients(self, to: Recipient) -> set[str]:
        """The names of those who read what is posted there."""
        if to.person is not None:
            return {to.person.name}
        assert to.room is not None
        members = self.room_by_id[to.room.id].members or frozenset()
        return {name for name, id in self.ids.items() if id in members}

    def said(self, question: Question) -> str:
        """An answer or an error as it is sent, without the name of the memory."""
        match self.answer(question):
            case SecondOrderError() as error:
                return repr((error.kind, error.message, error.suggestions))
            case answer:
                return answer.model_dump_json().replace(self.memory.sid, "")

    def may_read(self, who: str, room: Room) -> bool:
        """By the rule of the product, from the export alone: own rooms, and public ones if no guest."""
        own = self.ids[who] in (room.members or ())
        return own or (room.kind == "public" and self.ids[who] not in self.guests)

    @functools.cached_property
    def statements(self) -> dict[str, "Statement"]:
        """Everything that was stated, by the event that remembers it."""
        found: dict[str, Statement] = {}
        people = {person.id: person.name for person in self.export.people if not person.bot}
        for entity in self.memory.entities():
            for person in (one.person for one in self.memory.who_knows(entity).people):
                for step in self.memory.explain(person.id, entity).steps:
                    shown = step.evidence
                    assert shown.room is not None
                    assert shown.speaker is not None
                    one = found.setdefault(
                        shown.event,
                        Statement(
                            f"{shown.at:%Y-%m-%d}", shown.room.id, shown.speaker.name,
                            "decides" if step.displaces else "mention",
                            entity, step.value, set(),
                        ),
                    )  # fmt: skip
                    one.witnesses.add(person.name)
        for event, one in found.items():
            if one.kind == "mention":
                for id, name in people.items():
                    if self._reported(event, one, id):
                        found[event] = one._replace(kind=f"report about {name}")
        names = self.memory.entities()
        return {event: one._replace(entity=names[one.entity]) for event, one in found.items()}

    def _reported(self, event: str, one: "Statement", about: str) -> bool:
        if self.ids[one.speaker] == about:
            return False
        steps = self.memory.explain([self.ids[one.speaker], about], one.entity).steps
        return any(step.evidence.event == event and step.how == "reported" for step in steps)


class Statement(NamedTuple):
    day: str
    room: str
    speaker: str
    kind: str
    entity: str
    value: str
    witnesses: set[str]


@pytest.fixture(scope="module")
def acme(workspace: conftest.Workspace) -> Iterator[Acme]:
    export = exports.read(ACME / "workspace")
    with workspace() as memory:
        replay(Bot(memory, Rules()), export)
        yield Acme(memory, export)


def asked(row: Row, command: str) -> Question:
    if command == "handoff":
        return Question(row["as"], command, (row["from"], row["to"]))
    return Question(row["as"], command, () if row["about"] == "everything" else (row["about"],))


def named(rows: Iterable[Row], *columns: str) -> list[Any]:
    """Each row as a test case, named after the cells that tell it apart."""
    return [pytest.param(row, id=" | ".join(row[column] for column in columns)) for row in rows]


ASKED: dict[Question, list[Row]] = {}
for _command, _rows in (
    ("whoknows", WHOKNOWS),
    ("misinformed", MISINFORMED),
    ("announce-plan", PLANS),
    ("handoff", HANDOFF),
):
    for _row in _rows:
        ASKED.setdefault(asked(_row, _command), []).append(_row)

every_question = pytest.mark.parametrize("question", [pytest.param(q, id=str(q)) for q in ASKED])


# --- the tables themselves ------------------------------------------------------------------------


def test_every_row_of_the_file_is_read() -> None:
    lines = [line for line in (ACME / "expected.md").read_text().splitlines() if line[:1] == "|"]
    heads = 2 * len(TABLES)  # a heading and a rule each
    assert set(TABLES) == {
        "The statements", "/whoknows", "/misinformed", "/announce-plan", "/handoff",
    }  # fmt: skip
    assert sum(len(rows) for rows in TABLES.values()) == len(lines) - heads
    assert all(len(rows) >= 10 for rows in TABLES.values())


@pytest.mark.parametrize("command", ["whoknows", "misinformed", "announce-plan", "handoff"])
def test_every_question_is_asked_as_at_least_three_people_and_answered(command: str) -> None:
    here = {question: rows for question, rows in ASKED.items() if question.command == command}
    assert len({question.who for question in here}) >= 3
    full = [q for q, rows in here.items() if not _error(rows)]
    assert len({question.who for question in full}) >= 3


@pytest.mark.parametrize("rows", [WHOKNOWS, PLANS, HANDOFF, STATEMENTS])
def test_no_row_stands_twice(rows: list[Row]) -> None:
    keys = [tuple(v for k, v in row.items() if k != "why") for row in rows]
    assert len(set(keys)) == len(keys)


def _error(rows: list[Row]) -> str | None:
    kinds = {kind for row in rows for cell in row.values() if (kind := cells.error(cell))}
    assert len(kinds) <= 1
    assert not kinds or len(rows) == 1
    return next(iter(kinds), None)


# --- what was stated ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", named(STATEMENTS, "day", "room", "speaker", "entity", "value"))
def test_it_was_stated_and_seen_by(acme: Acme, row: Row) -> None:
    at_that_place = (row["day"], acme.room(row["room"]).id, row["speaker"])
    found = [
        one
        for one in acme.statements.values()
        if (one.day, one.room, one.speaker) == at_that_place and one.entity == row["entity"]
    ]
    assert [(one.kind, one.value, sorted(one.witnesses)) for one in found] == [
        (row["kind"], row["value"], cells.people(row["witnesses"]))
    ]


def test_nothing_else_was_stated(acme: Acme) -> None:
    expected = [
        (r["day"], acme.room(r["room"]).id, r["speaker"], r["kind"], r["entity"], r["value"])
        for r in STATEMENTS
    ]
    assert sorted(one[:-1] for one in acme.statements.values()) == sorted(expected)
    assert len(acme.memory.spoken()) == len(STATEMENTS)


# --- the four questions ---------------------------------------------------------------------------


@pytest.mark.parametrize("row", named(WHOKNOWS, "as", "about"))
def test_whoknows(acme: Acme, row: Row) -> None:
    answer = acme.answer(asked(row, "whoknows"))
    if kind := cells.error(row["value"]):
        assert _kind(answer) == kind
        return
    assert isinstance(answer, WhoKnows)
    statuses: tuple[Status, ...] = ("knows", "could_have_seen", "unaware")
    by_status = {s: sorted(one.person.name for one in answer.having(s)) for s in statuses}
    expected = {s: cells.people(row[s.replace("_", " ")]) for s in statuses}
    assert {
        "value": answer.value,
        "disputed": answer.disputed,
        "stale": sorted((one.person.name, one.value) for one in answer.having("stale")),
        "wrong about others": sorted(
            pair
            for line in answer.wrong_about_others
            for pair in cells.each_of(
                (p.name for p in line.people), (p.name for p in line.about), line.thinks
            )
        ),
    } | {s: len(by_status[s]) if isinstance(expected[s], int) else by_status[s] for s in statuses} == {
        "value": row["value"],
        "disputed": {"yes": True, "no": False}[row["disputed"]],
        "stale": cells.holding(row["stale"]),
        "wrong about others": cells.thinking(row["wrong about others"]),
    } | expected  # fmt: skip
    holds = {one.person.id: one.value for one in answer.people}
    assert len(holds) == len(answer.people)
    for line in answer.wrong_about_others:
        assert {holds[person.id] for person in line.about} == {line.actually} != {line.thinks}


@pytest.mark.parametrize("row", named(MISINFORMED, "as", "about", "person", "entity"))
def test_misinformed(acme: Acme, row: Row) -> None:
    answer = acme.answer(asked(row, "misinformed"))
    if kind := cells.error(row["person"]):
        assert _kind(answer) == kind
        return
    if row["person"] == cells.NOTHING:
        assert _false_beliefs(answer) == []
    else:
        assert (row["person"], row["entity"], row["believes"], row["actual"]) in (
            _false_beliefs(answer)
        )


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(question, id=str(question))
        for question, rows in ASKED.items()
        if question.command == "misinformed" and not _error(rows)
    ],
)
def test_nobody_else_is_misinformed(acme: Acme, question: Question) -> None:
    expected = [(r["person"], r["entity"], r["believes"], r["actual"]) for r in ASKED[question]]
    beliefs = [one for one in expected if one[0] != cells.NOTHING]
    assert _false_beliefs(acme.answer(question)) == sorted(beliefs)


def _false_beliefs(answer: object) -> list[tuple[str, str, str, str]]:
    assert isinstance(answer, Misinformed)
    return sorted((b.person.name, b.entity.name, b.believes, b.actual) for b in answer.beliefs)


@pytest.mark.parametrize("row", named(PLANS, "as", "about"))
def test_announce_plan(acme: Acme, row: Row) -> None:
    answer = acme.answer(asked(row, "announce-plan"))
    if kind := cells.error(row["wrong before"]):
        assert _kind(answer) == kind
        return
    assert isinstance(answer, Announcement)
    best = answer.plans[0] if answer.plans else None
    to = [message.to for message in best.messages] if best else []
    assert {
        "wrong before": answer.wrong_before,
        "best plan": (_rooms(to), sorted(one.person.name for one in to if one.person)),
        "wrong after": best.wrong_after if best else answer.wrong_before,
        "interrupted": best.interrupted if best else 0,
    } == {
        "wrong before": int(row["wrong before"]),
        "best plan": cells.plan(row["best plan"]),
        "wrong after": int(row["wrong after"]),
        "interrupted": int(row["interrupted"]),
    }
    assert len(answer.by_hand) == int(row["wrong after"])  # who is left is named to the asker


def _rooms(to: Iterable[Recipient]) -> list[str]:
    return sorted(one.room.name for one in to if one.room)


@pytest.mark.parametrize("row", named(HANDOFF, "as", "from", "to"))
def test_handoff(acme: Acme, row: Row) -> None:
    answer = acme.answer(asked(row, "handoff"))
    assert isinstance(answer, Handoff)
    assert {
        "from": answer.from_person.name,
        "to": answer.to_person.name,
        "lacks": sorted((one.entity.name, one.value) for one in answer.lacks),
        "wrong": sorted((one.entity.name, one.value, one.holds) for one in answer.wrong),
        "promises": sorted((one.to.name, one.entity.name, one.told) for one in answer.promises),
    } == {
        "from": row["from"],
        "to": row["to"],
        "lacks": cells.lacks(row["lacks"]),
        "wrong": cells.wrong(row["wrong"]),
        "promises": cells.promises(row["promises"]),
    }


def _kind(answer: object) -> str:
    assert isinstance(answer, SecondOrderError), f"an answer instead of an error: {answer!r}"
    return answer.kind


# --- evidence -------------------------------------------------------------------------------------


@every_question
def test_every_line_is_backed_by_a_message_that_can_be_opened(
    acme: Acme, question: Question
) -> None:
    answer = acme.answer(question)
    if isinstance(answer, SecondOrderError):
        assert _error(ASKED[question])
        return
    nodes = list(_nodes(answer.model_dump(mode="json")))
    for node in nodes:
        if "evidence" in node:
            assert node["evidence"] or node.get("status") == "unaware"
    shown = [node for node in nodes if {"event", "at"} <= node.keys()]
    assert shown or isinstance(answer, Announcement) or _is_empty(answer)
    for one in shown:
        message = acme.messages[one["link"]]
        assert re.fullmatch(
            r"https://acme\.slack\.com/archives/[CGD]\w+/p\d{16}(\?.*)?", one["link"]
        )
        assert (one["room"]["id"], one["speaker"]["id"]) == (message.room, message.author)
        assert 0 < len(one["quote"]) <= 200
        assert _displayed(one["quote"]) in _displayed(message.text)


@every_question
def test_everybody_and_every_room_is_called_by_name(acme: Acme, question: Question) -> None:
    answer = acme.answer(question)
    names = {person.id: person.name for person in acme.export.people}
    names |= {room.id: room.name for room in acme.export.rooms}
    if isinstance(answer, BaseModel):
        refs = [n for n in _nodes(answer.model_dump(mode="json")) if n.keys() == {"id", "name"}]
        assert {
            ref["id"]: ref["name"] for ref in refs if ref["id"] in names
        }.items() <= names.items()


def _is_empty(answer: questions.Answer) -> bool:
    match answer:
        case Misinformed():
            return not answer.beliefs and not answer.wrong_about_others
        case Handoff():
            return not answer.lacks and not answer.wrong and not answer.promises
    return False


def _nodes(value: object) -> Iterator[dict[str, Any]]:
    """Every object in an answer's JSON, however deep."""
    match value:
        case dict():
            yield value
            for inner in value.values():
                yield from _nodes(inner)
        case list():
            for inner in value:
                yield from _nodes(inner)


def _displayed(text: str) -> str:
    return " ".join(html.unescape(text).split())


# --- what recipients and askers may read ----------------------------------------------------------


@pytest.mark.parametrize("who", READERS)
def test_a_proposed_post_carries_only_what_every_recipient_may_read(acme: Acme, who: str) -> None:
    for entity in ENTITIES:
        answer = acme.answer(Question(who, "announce-plan", (entity,)))
        if not isinstance(answer, Announcement):
            continue
        for post in [post for plan in answer.plans for post in plan.messages]:
            assert answer.value is not None
            assert answer.value in post.text
            [link] = re.findall(r"https://\S+", post.text)
            source = acme.room_by_id[acme.messages[link].room]
            for recipient in acme.recipients(post.to):
                assert acme.may_read(recipient, source), (entity, post, recipient)


@pytest.mark.parametrize("who", READERS)
def test_nothing_unreadable_is_in_any_answer(acme: Acme, who: str) -> None:
    secrets = _secrets(acme, who)
    assert len(secrets) > 10
    for question in _questions(who):
        answer = acme.answer(question)
        if isinstance(answer, SecondOrderError):
            readable = {row["entity"] for row in _readable(acme, who)} | set(acme.ids)
            assert set(answer.suggestions) <= readable
        else:
            text = answer.model_dump_json()
            assert [
                one for one in secrets if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)
            ] == []


def test_what_is_kept_from_some_is_answered_to_others(acme: Acme) -> None:
    """The test above looks for things that answers do contain."""
    answers = [acme.answer(question) for who in READERS for question in _questions(who)]
    text = "\n".join(a.model_dump_json() for a in answers if isinstance(a, BaseModel))
    for row in STATEMENTS:
        assert row["value"] in text
        assert acme.room(row["room"]).id in text


@pytest.mark.parametrize("who", ["Tom", "Lena", "Esteban", "Rafael", "Jörg"])
def test_answers_are_as_if_the_unreadable_had_never_been_said(
    acme: Acme, workspace: conftest.Workspace, who: str
) -> None:
    rooms = tuple(room for room in acme.export.rooms if acme.may_read(who, room))
    ids = {room.id for room in rooms}
    heard = tuple(one for one in acme.export.heard if one.room in ids)
    assert len(heard) < len(acme.export.heard)
    with workspace() as memory:
        less = Acme(memory, acme.export.model_copy(update={"rooms": rooms, "heard": heard}))
        replay(Bot(memory, Rules()), less.export)
        for question in _questions(who):
            assert less.said(question) == acme.said(question), question


def test_readers_stand_for_everybody(acme: Acme) -> None:
    def readable(who: str) -> frozenset[str]:
        return frozenset(room.id for room in acme.export.rooms if acme.may_read(who, room))

    asking = [p.name for p in acme.export.people if not p.bot and not p.gone]
    assert {readable(who) for who in READERS} == {readable(who) for who in asking}


ENTITIES = sorted({row["entity"] for row in STATEMENTS})


def _questions(who: str) -> list[Question]:
    """Everything this person can be expected to ask."""
    found = [
        Question(who, command, (entity,))
        for command in ("whoknows", "announce-plan")
        for entity in ENTITIES
    ]
    found += [Question(who, "handoff", (row["from"], row["to"])) for row in HANDOFF]
    return list(dict.fromkeys([Question(who, "misinformed"), *found]))


def _readable(acme: Acme, who: str) -> list[Row]:
    return [row for row in STATEMENTS if acme.may_read(who, acme.room(row["room"]))]


def _secrets(acme: Acme, who: str) -> set[str]:
    """What stands only where this person may not read: rooms, decisions, values and sentences."""
    hidden = {room.id: room for room in acme.export.rooms if not acme.may_read(who, room)}
    texts: dict[bool, set[str]] = {True: set(), False: set()}
    for message in acme.messages.values():
        texts[message.room in hidden] |= set(filter(None, message.text.splitlines()))
    words: dict[bool, set[str]] = {True: set(), False: set()}
    for row in STATEMENTS:
        words[acme.room(row["room"]).id in hidden] |= {row["entity"], row["value"]}
    open_text = "\n".join(texts[False])
    secrets = {one for one in words[True] - words[False] if one not in open_text}
    secrets |= {one for one in texts[True] if len(one) >= 12 and one not in open_text}
    return secrets | set(hidden) | {room.name for room in hidden.values() if room.kind != "direct"}
