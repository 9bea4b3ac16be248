"""The demo workspace answers as a careful colleague would: row by row of its `expected.md`.

The export is replayed once, through the real pipeline into a real FalkorDB. What the tables do not
say holds as well, for everybody and every decision: evidence can be followed, and nothing that the
asker may not read is in the answer.
"""

import functools
import html
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from bot import questions
from bot.adapters import exports
from bot.app import Bot, replay
from bot.chat import Command, Message, Room, Workspace
from engine import Memory
from engine.beliefs import Announcement, Handoff, Misinformed, Recipient, WhoKnows
from engine.errors import SecondOrderError
from extraction.rules import Rules
from tests import conftest
from tests.bot import acme_tables as cells
from tests.bot.acme_tables import Row

ACME = Path(__file__).parents[2] / "examples" / "acme"
TABLES = cells.tables(ACME / "expected.md")
STATEMENTS, WHOKNOWS = TABLES["The statements"], TABLES["/whoknows"]
MISINFORMED, PLANS, HANDOFF = TABLES["/misinformed"], TABLES["/announce-plan"], TABLES["/handoff"]

FILLER = ("Amara", "Kofi", "Lena", "Nadia")
CAST = (
    "Aiko", "Bilal", "Dara", "Eli", "Esteban", "Helen", "Jörg", "Lena", "Maya", "Mei", "N'Golo",
    "Priya", "Rafael", "Sean", "Tom", "Zoë", "Amara",
)  # fmt: skip
"""Everybody who ever says something, the guest, and one of those who only read."""


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
        [found] = [r for r in self.export.rooms if r.kind == kind and r.members == members]
        return found

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
            for id, name in people.items():
                for step in self.memory.explain(id, entity).steps:
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
                    one.witnesses.add(name)
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
    statuses = ("knows", "could_have_seen", "unaware")
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
def test_every_piece_of_evidence_leads_to_the_message_it_quotes(
    acme: Acme, question: Question
) -> None:
    answer = acme.answer(question)
    if _error(ASKED[question]):
        assert isinstance(answer, SecondOrderError)
        return
    assert isinstance(answer, BaseModel)
    shown = list(_evidence(answer.model_dump(mode="json")))
    if any(cells.NOTHING not in row.values() for row in ASKED[question]):
        assert shown
    for one in shown:
        assert re.fullmatch(r"https://acme\.slack\.com/archives/[CGD]\w+/p\d{16}(\?.*)?", one["link"])
        message = acme.messages[one["link"]]
        assert one["room"]["id"] == message.room
        assert one["speaker"]["id"] == message.author
        assert 0 < len(one["quote"]) <= 200
        assert one["quote"] in acme_text(acme, message)


def _evidence(value: object) -> Iterator[dict[str, Any]]:
    """Every piece of evidence in an answer's JSON, however deep."""
    match value:
        case {"event": str(), "at": str(), **rest}:
            yield {"event": value["event"], "at": value["at"], **rest}
        case dict():
            for inner in value.values():
                yield from _evidence(inner)
        case list():
            for inner in value:
                yield from _evidence(inner)


def acme_text(acme: Acme, message: Message) -> str:
    return message.text


# --- privacy --------------------------------------------------------------------------------------
