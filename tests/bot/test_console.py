"""The chat that is a prompt: what a typed line is, and what is said to somebody who typed nonsense."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.adapters.console import HELP, Console, Quit
from bot.chat import Command, Enter, Exit, Message, Person, Room
from engine.errors import InvalidInput, SecondOrderError, UnknownPerson, UnknownRoom

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
PEOPLE = (
    Person(id="U1", name="Ann", handle="ann"),
    Person(id="U2", name="Bo Lee", handle="bo"),
    Person(id="U3", name="N'Golo", handle="ngolo"),
    Person(id="U4", name="Eve", handle="eve", gone=True),
    Person(id="UB", name="Helper", handle="helper", bot=True),
)
ROOMS = (
    Room(id="C1", name="general", members=frozenset({"U1", "U2"})),
    Room(id="P1", name="vault", kind="private", members=frozenset({"U1"})),
    Room(id="C2", name="empty", members=None),
    Room(id="D1", name="Ann, Bo Lee", kind="direct", members=frozenset({"U1", "U2"})),
)


@pytest.fixture
def console() -> Console:
    return Console(PEOPLE, ROOMS, lambda: NOW, NOW - timedelta(hours=1))


def heard(console: Console, *lines: str) -> list[object]:
    return [console.hear(line) for line in lines]


def test_somebody_says_something_somewhere(console: Console) -> None:
    said = console.hear("@ann #general decision-42: approved")
    assert isinstance(said, Message)
    assert (said.author, said.room, said.text) == ("U1", "C1", "decision-42: approved")
    assert (said.at, said.ts) == (NOW, "1772442000.000000")


def test_who_and_where_are_kept_until_they_change(console: Console) -> None:
    assert console.prompt == "nobody yet> "
    heard(console, "/as @bo", "/in #general")
    assert console.prompt == "Bo Lee in #general> "
    said = console.hear("hello")
    assert isinstance(said, Message)
    assert (said.author, said.room) == ("U2", "C1")
    assert console.hear("@ann") is None
    assert console.prompt == "Ann in #general> "


@pytest.mark.parametrize("name", ["@ann", "@Ann", "@U1", "@ANN"])
def test_people_are_found_by_handle_name_or_id(console: Console, name: str) -> None:
    assert console.hear(name) is None
    assert console.who == PEOPLE[0]


def test_a_name_with_spaces_is_taken_after_as(console: Console) -> None:
    assert heard(console, "/as Bo Lee", "/as @N'Golo", "/as bo lee") == [None, None, None]
    assert console.who == PEOPLE[1]


@pytest.mark.parametrize("name", ["eve", "helper", "nobody", "", "@", "*"])
def test_only_active_people_can_be_anyone(console: Console, name: str) -> None:
    with pytest.raises(UnknownPerson, match=r"/people lists everybody\.$"):
        console.hear(f"/as {name}")


def test_a_question_is_asked_as_whoever_spoke_last(console: Console) -> None:
    heard(console, "@ann #general hello", "/in #general")
    asked = console.hear("/WhoKnows  decision-42 ")
    assert asked == Command(
        name="whoknows", text="decision-42", who="U1", room="C1", at=NOW + timedelta(microseconds=1)
    )
    other = console.hear("@bo /misinformed")
    assert isinstance(other, Command)
    assert (other.name, other.text, other.who) == ("misinformed", "", "U2")
    unknown = console.hear("/what-is-this  x")
    assert isinstance(unknown, Command)
    assert unknown.name == "what-is-this"


def test_one_begins_in_a_room_one_is_in(console: Console) -> None:
    asked = console.hear("@ann /status")
    assert isinstance(asked, Command)
    assert asked.room == "C1"


def test_a_question_can_be_asked_from_nowhere() -> None:
    asked = Console(PEOPLE, [], lambda: NOW, NOW).hear("@ann /status")
    assert isinstance(asked, Command)
    assert asked.room == ""


def test_coming_and_going(console: Console) -> None:
    with pytest.raises(InvalidInput, match=r"^Bo Lee is not in #vault; /join #vault first\.$"):
        console.hear("@bo #vault hello")
    came = console.hear("/join #vault")
    assert isinstance(came, Enter)
    assert (came.person, came.room) == ("U2", "P1")
    assert isinstance(console.hear("hello"), Message)
    went = console.hear("/leave")
    assert isinstance(went, Exit)
    assert (went.person, went.room) == ("U2", "P1")
    with pytest.raises(InvalidInput, match="is not in #vault"):
        console.hear("hello")


def test_rooms_that_nobody_reported_the_people_of_can_be_joined(console: Console) -> None:
    with pytest.raises(InvalidInput, match="is not in #empty"):
        console.hear("@ann #empty hello")
    assert isinstance(console.hear("/join empty"), Enter)
    assert isinstance(console.hear("@ann #C2 hello"), Message)


@pytest.mark.parametrize("room", ["nowhere", "", "#", "Ann, Bo Lee", "D1"])
def test_there_are_only_rooms_that_one_can_stand_in(console: Console, room: str) -> None:
    with pytest.raises(UnknownRoom, match=r"/rooms lists them all\.$"):
        console.hear(f"/in {room}")


def test_who_or_where_is_asked_for_when_it_is_missing(console: Console) -> None:
    for line in ("hello", "/whoknows x", "/join #general", "#general hello"):
        with pytest.raises(InvalidInput, match=r"^Say who you are first"):
            console.hear(line)
    empty = [room.model_copy(update={"members": frozenset()}) for room in ROOMS]
    fresh = Console(PEOPLE, empty, lambda: NOW, NOW)
    fresh.hear("/as ann")
    for line in ("hello", "/join", "/leave", "#general"):
        with pytest.raises(InvalidInput, match=r"^Say where you are first"):
            fresh.hear(line)


def test_what_there_is_to_read(console: Console) -> None:
    assert console.hear("/people") == "@ann, @bo, @ngolo"
    assert console.hear("/rooms") == "#empty, #general, #vault"
    assert console.hear("/help") == HELP
    assert all(
        part in HELP for part in ("/whoknows", "/as @maya", "/in #support", "/join", "/quit")
    )
    for line in ("/quit", "/exit", "/QUIT", "@ann /quit"):
        with pytest.raises(Quit):
            console.hear(line)


def test_an_empty_line_is_nothing(console: Console) -> None:
    assert heard(console, "", "   ", "\t", "\n") == [None] * 4


def test_time_never_stands_still_and_begins_after_what_was_read() -> None:
    clock: Iterator[datetime] = iter([NOW, NOW, NOW - timedelta(days=1), NOW + timedelta(hours=2)])
    begun = NOW + timedelta(hours=1)
    console = Console(PEOPLE, ROOMS, lambda: next(clock), begun)
    said = heard(
        console, "@ann #general a", "@ann #general b", "@ann #general c", "@ann #general d"
    )
    times = [one.at for one in said if isinstance(one, Message)]
    assert times == [
        *(begun + timedelta(microseconds=n) for n in (1, 2, 3)),
        NOW + timedelta(hours=2),
    ]
    assert len({one.ts for one in said if isinstance(one, Message)}) == 4


@pytest.mark.parametrize(
    "line",
    ["@" * 500, "#" * 500, "/" * 500, "@ann " * 200, "\x1b[31m", "\ud800", "@\0", "/as \x1b[31m", "#\u202e x",
     "x" * 10_000, "@ann #general " + "y" * 10_000, "<@U1> hi", "//", "/-", "/ x", "@ann @bo hi"],
    ids=lambda line: ascii(line[:16]),
)  # fmt: skip
def test_nonsense_is_something_or_one_sentence(console: Console, line: str) -> None:
    console.hear("/in #general")
    console.hear("/as ann")
    said = ""
    try:
        console.hear(line)
    except SecondOrderError as error:
        said = error.message
    assert len(said) < 400
    assert said.isprintable()
