"""What an extractor is shown: what everyone in the message's room may read, said before it.

The windows that a real bot builds are looked at, and those of a context alone.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.app import Bot, Rules
from bot.chat import Edit, Enter, Exit, Message, Person, Room
from bot.context import Context, Spoken, message_id
from engine import Memory, PersonInfo
from extraction import Statement, Window, rules

T0 = datetime(2024, 3, 1, 10, tzinfo=UTC)
FULL = [PersonInfo(id, id) for id in ("ann", "bo", "cy")]
GUEST = PersonInfo("gus", "gus", guest=True)
PUBLIC = Room(id="plans", name="plans", members=frozenset({"ann", "bo", "cy"}))
OTHER = Room(id="den", name="den", members=frozenset({"ann"}))
SECRET = Room(id="secret", name="secret", kind="private", members=frozenset({"ann", "bo"}))
VAULT = Room(id="vault", name="vault", kind="private", members=frozenset({"ann", "bo", "cy"}))
GROUP = Room(id="three", name="three", kind="group", members=frozenset({"ann", "bo", "cy"}))
DIRECT = Room(id="dm", name="dm", kind="direct", members=frozenset({"ann", "bo"}))
ROOMS = (PUBLIC, OTHER, SECRET, VAULT, GROUP, DIRECT)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def message(seconds: float, room: Room = PUBLIC, text: str = "hi", **more: object) -> Message:
    fields = {"room": room.id, "ts": str(seconds), "at": at(seconds), "author": "ann", "text": text}
    return Message.model_validate(fields | more)


def spoken(seconds: float, room: Room | str, entity: str, value: str = "blue") -> Spoken:
    id = room if isinstance(room, str) else room.id
    return Spoken(at(seconds), f"{id}-{seconds}-{entity}", entity, entity.upper(), value, id)


def context(*said: Spoken, rooms: tuple[Room, ...] = ROOMS, guests: bool = False) -> Context:
    made = Context()
    made.meet([*FULL, *([GUEST] if guests else [])], rooms)
    made.learn(said)
    return made


def shown(made: Context, seconds: float, room: Room = PUBLIC) -> dict[str, tuple[str, ...]]:
    """Entities to the values that a message is read against."""
    window = made.window(message(seconds, room), False)
    return {one.id: one.values for one in window.entities}


def with_guest(room: Room) -> Room:
    return room.model_copy(update={"members": (room.members or frozenset()) | {"gus"}})


class TestOnlyWhatEverybodyThereMayRead:
    @pytest.mark.parametrize("private", [SECRET, VAULT, GROUP, DIRECT])
    def test_a_private_rooms_entities_and_values_are_not_shown_for_a_public_message(
        self, private: Room
    ) -> None:
        made = context(spoken(1, private, "ops-1"), spoken(2, PUBLIC, "ops-2", "red"))
        made.learn([spoken(3, private, "ops-2", "green")])
        assert shown(made, 9) == {"ops-2": ("red",)}

    @pytest.mark.parametrize("private", [SECRET, VAULT, GROUP, DIRECT])
    def test_public_ones_are_shown_in_a_private_room_beside_its_own(self, private: Room) -> None:
        made = context(spoken(1, private, "ops-1"), spoken(2, PUBLIC, "ops-2", "red"))
        assert shown(made, 9, private) == {"ops-1": ("blue",), "ops-2": ("red",)}

    def test_a_private_room_is_not_shown_in_another(self) -> None:
        made = context(spoken(1, SECRET, "ops-1"))
        assert [shown(made, 9, room) for room in (VAULT, GROUP, DIRECT, OTHER)] == [{}] * 4

    def test_public_rooms_are_shown_in_each_other(self) -> None:
        assert shown(context(spoken(1, OTHER, "ops-1")), 9) == {"ops-1": ("blue",)}

    def test_a_room_nobody_described_is_readable_by_nobody_else(self) -> None:
        made = context(spoken(1, "nowhere", "ops-1"), spoken(2, PUBLIC, "ops-2"))
        assert shown(made, 9) == {"ops-2": ("blue",)}
        nowhere = Room(id="nowhere", name="nowhere")
        assert set(shown(made, 9, nowhere)) == {"ops-1", "ops-2"}

    def test_what_was_said_in_no_room_is_shown_in_none(self) -> None:
        made = context(spoken(1, "", "ops-1"))
        assert [shown(made, 9, room) for room in ROOMS] == [{}] * len(ROOMS)

    def test_a_room_that_was_made_private_is_not_shown_any_more(self) -> None:
        made = context(spoken(1, OTHER, "ops-1"))
        assert shown(made, 9) == {"ops-1": ("blue",)}
        made.meet([], [OTHER.model_copy(update={"kind": "private"})])
        assert shown(made, 10) == {}

    def test_where_a_guest_is_only_rooms_of_that_guest_are_shown(self) -> None:
        rooms = (with_guest(PUBLIC), OTHER, with_guest(SECRET))
        said = spoken(1, PUBLIC, "ops-1"), spoken(2, OTHER, "ops-2"), spoken(3, SECRET, "ops-3")
        made = context(*said, rooms=rooms, guests=True)
        assert set(shown(made, 9, PUBLIC)) == {"ops-1"}
        assert set(shown(made, 9, SECRET)) == {"ops-1", "ops-3"}
        assert set(shown(made, 9, OTHER)) == {"ops-1", "ops-2"}

    def test_a_guest_may_be_in_any_room_whose_members_nobody_reported(self) -> None:
        hall = Room(id="hall", name="hall")
        said = spoken(1, OTHER, "ops-1"), spoken(2, hall, "ops-2")
        for guests, expected in ((False, {"ops-1", "ops-2"}), (True, {"ops-2"})):
            made = context(*said, rooms=(*ROOMS, hall), guests=guests)
            assert set(shown(made, 9, hall)) == expected

    def test_threads_are_those_of_the_messages_own_room(self) -> None:
        made = context()
        made.start_thread(SECRET.id, "1", ["ops-1"])
        assert made.window(message(9), False).threads == {}
        assert made.window(message(9, SECRET), False).threads == {"secret-1": "ops-1"}


class TestOnlyWhatWasSaidBefore:
    def test_a_message_is_read_against_what_was_said_before_it(self) -> None:
        made = context(spoken(5, PUBLIC, "ops-1", "blue"), spoken(8, PUBLIC, "ops-1", "red"))
        assert shown(made, 5) == {}
        assert shown(made, 6) == {"ops-1": ("blue",)}
        assert shown(made, 9) == {"ops-1": ("red", "blue")}

    def test_whatever_was_read_in_between(self) -> None:
        made = context(spoken(5, PUBLIC, "ops-1", "blue"), spoken(8, PUBLIC, "ops-1", "red"))
        assert [len(shown(made, when).get("ops-1", ())) for when in (9, 6, 5, 7, 9)] == [
            2,
            1,
            0,
            1,
            2,
        ]

    def test_what_is_learnt_late_was_said_when_it_was_said(self) -> None:
        made = context(spoken(8, PUBLIC, "ops-1", "red"))
        assert shown(made, 9) == {"ops-1": ("red",)}
        made.learn([spoken(5, PUBLIC, "ops-1", "blue")])
        assert shown(made, 9) == {"ops-1": ("red", "blue")}

    def test_values_are_newest_first_wherever_they_were_given(self) -> None:
        said = spoken(1, SECRET, "ops-1", "a"), spoken(2, PUBLIC, "ops-1", "b")
        made = context(*said, spoken(3, SECRET, "ops-1", "c"), spoken(4, PUBLIC, "ops-1", "a"))
        assert shown(made, 9, SECRET) == {"ops-1": ("a", "c", "b")}
        assert shown(made, 9, PUBLIC) == {"ops-1": ("a", "b")}

    def test_the_same_statement_is_learnt_once(self) -> None:
        made = context(spoken(5, PUBLIC, "ops-1"), spoken(5, PUBLIC, "ops-1"))
        made.learn([spoken(5, PUBLIC, "ops-1")])
        assert shown(made, 9) == {"ops-1": ("blue",)}

    def test_as_long_as_nothing_is_said_the_same_entities_are_shown(self) -> None:
        made = context(spoken(5, PUBLIC, "ops-1"))
        first = made.window(message(9), False).entities
        assert made.window(message(10, OTHER), False).entities is first


class TestThreads:
    def test_a_thread_is_about_the_only_entity_its_first_message_spoke_of(self) -> None:
        made = context()
        made.start_thread(PUBLIC.id, "1", ["ops-1", "ops-1"])
        made.start_thread(PUBLIC.id, "2", ["ops-1", "ops-2"])
        made.start_thread(PUBLIC.id, "3", [])
        window = made.window(message(9, thread="1"), False)
        assert window.threads == {message_id(PUBLIC.id, "1"): "ops-1"}
        assert window.passages[0].thread == "plans-1"


class Watched:
    """The deterministic extractor, with what it was shown by the time of the message."""

    windowed = False

    def __init__(self) -> None:
        self.windows: dict[float, Window] = {}
        self._rules = rules.Rules()

    def extract(self, window: Window) -> list[Statement]:
        [passage] = window.passages
        self.windows[(passage.at - T0).total_seconds()] = window
        return self._rules.extract(window)

    def known(self, seconds: float) -> Mapping[str, tuple[str, ...]]:
        return {one.id: one.values for one in self.windows[seconds].entities}


def bot(memory: Memory, watched: Watched) -> Bot:
    made = Bot(memory, watched)
    made.meet([Person(id=one.id, name=one.name) for one in FULL], ROOMS)
    made.remember()
    return made


class TestTheBotShowsNoMore:
    SAID = (
        message(1, SECRET, "decision-1: blue"),
        message(2, PUBLIC, "decision-2: red"),
        message(3, DIRECT, "decision-3: green"),
        message(4, PUBLIC, "anything new?"),
        message(5, SECRET, "anything new?"),
        message(6, PUBLIC, "decision-1 is blue"),
        message(7, SECRET, "decision-1 is blue"),
    )

    def test_while_it_listens_and_after_it_was_started_again(self, memory: Memory) -> None:
        for _ in range(2):
            watched = Watched()
            listening = bot(memory, watched)
            for heard in self.SAID:
                listening.hear(heard)
            assert watched.known(1) == {}
            assert watched.known(2) == {}
            assert watched.known(4) == {"decision-2": ("red",)}
            assert watched.known(5) == {"decision-1": ("blue",), "decision-2": ("red",)}

    def test_a_value_given_in_private_does_not_make_a_public_statement(
        self, memory: Memory
    ) -> None:
        listening = bot(memory, Watched())
        for heard in self.SAID:
            listening.hear(heard)
        rooms = [one.room for one in memory.spoken() if one.entity == "decision-1"]
        assert rooms == ["secret", "secret"]

    def test_a_guest_who_comes_narrows_what_is_shown_there_and_who_leaves_widens_it_again(
        self, memory: Memory
    ) -> None:
        watched = Watched()
        listening = Bot(memory, watched)
        people = [*FULL, GUEST]
        listening.meet(
            [Person(id=one.id, name=one.name, guest=one.guest) for one in people], ROOMS, at(0)
        )
        for person in sorted(PUBLIC.members or ()):
            listening.hear(Enter(id=f"in-{person}", at=at(-9), person=person, room="plans"))
        listening.hear(message(1, OTHER, "decision-1: blue"))
        listening.hear(message(2))
        listening.hear(Enter(id="come", at=at(3), person="gus", room="plans"))
        listening.hear(message(4))
        listening.hear(Exit(id="go", at=at(5), person="gus", room="plans"))
        listening.hear(message(6))
        assert [sorted(watched.known(n)) for n in (2, 4, 6)] == [["decision-1"], [], ["decision-1"]]

    def test_an_edit_is_known_from_its_own_moment_on(self, memory: Memory) -> None:
        watched = Watched()
        listening = bot(memory, watched)
        edited = Edit(at=at(500), by="ann")
        listening.hear(message(1, PUBLIC, "decision-1: blue", edited=edited))
        for seconds in (400, 600):
            listening.hear(message(seconds))
        assert watched.known(400) == {}
        assert watched.known(600) == {"decision-1": ("blue",)}

    def test_a_late_message_is_not_shown_what_came_after_it(self, memory: Memory) -> None:
        watched = Watched()
        listening = bot(memory, watched)
        listening.hear(message(10, PUBLIC, "decision-1: blue"))
        listening.hear(message(20))
        listening.hear(message(5, PUBLIC, "decision-1 is blue"))
        assert watched.known(20) == {"decision-1": ("blue",)}
        assert watched.known(5) == {}
        assert len(memory.spoken()) == 1


class Together(Watched):
    windowed = True


def read_together(
    memory: Memory, *messages: Message, context: Sequence[Message] = (), team: Rules | None = None
) -> list[list[str]]:
    """The texts of each window, in brackets what is context."""
    made = Bot(memory, Together(), team)
    made.meet([Person(id=one.id, name=one.name) for one in FULL], ROOMS)
    windows = made.windows(messages, context)
    return [[f"[{p.text}]" if p.context else p.text for p in one.passages] for one in windows]


class TestWindows:
    def test_a_rooms_own_talk_is_read_in_bursts_and_a_thread_by_itself(
        self, memory: Memory
    ) -> None:
        found = read_together(
            memory,
            message(0, text="a"),
            message(5, text="b"),
            message(7, SECRET, text="s"),
            message(8, text="a1", thread="0"),
            message(605, text="c"),
            message(1206, text="d"),
            message(90_000, text="a2", thread="0"),
        )
        assert found == [
            ["a", "b", "c"],
            ["s"],
            ["[a]", "a1", "a2"],
            ["[a]", "[b]", "[c]", "d"],
        ]

    def test_a_window_holds_up_to_twenty_and_shows_as_many_before_them(
        self, memory: Memory
    ) -> None:
        talk = [message(n, text=str(n)) for n in range(45)]
        first, second, third = read_together(memory, *reversed(talk))
        assert first == [str(n) for n in range(20)]
        assert second == [*(f"[{n}]" for n in range(20)), *(str(n) for n in range(20, 40))]
        assert third == [*(f"[{n}]" for n in range(20, 40)), *(str(n) for n in range(40, 45))]

    def test_earlier_messages_are_shown_of_the_same_conversation_only(self, memory: Memory) -> None:
        root, other = message(0, text="root"), message(1, text="other")
        earlier = [
            root,
            other,
            message(2, SECRET, text="secret"),
            message(3, text="reply", thread="0"),
            message(4, text="elsewhere", thread="1"),
            message(99, text="later", thread="0"),
        ]
        reply = message(50, text="now", thread="0")
        assert read_together(memory, reply, context=earlier) == [["[root]", "[reply]", "now"]]

    def test_an_edit_is_read_without_the_version_it_edits(self, memory: Memory) -> None:
        old = message(1, text="old")
        new = message(1, text="new", edited=Edit(at=at(99), by="ann"))
        assert read_together(memory, new, context=[old]) == [["new"]]

    @pytest.mark.parametrize(
        "mute",
        [
            {"system": True},
            {"removed": True},
            {"forwarded": True},
            {"app": "jira"},
            {"app": "build", "posing": True},
            {"author": None},
        ],
    )
    def test_nobodys_words_are_not_read(self, memory: Memory, mute: dict[str, Any]) -> None:
        team = Rules(apps=frozenset({"build"}))
        one = message(1, text="mute", **mute)
        shown = [] if {"system", "removed", "forwarded"} & mute.keys() else ["[mute]"]
        found = read_together(memory, one, message(2, text="hi"), team=team)
        assert found == [[*shown, "hi"]]
        assert read_together(memory, one, team=team) == []

    def test_a_named_program_is_read_as_itself(self, memory: Memory) -> None:
        made = Bot(memory, Together(), Rules(apps=frozenset({"build"})))
        before = memory.people()
        [window] = made.windows([message(1, app="build")])
        assert [(p.author, p.app) for p in window.passages] == [("app-build", False)]
        assert memory.people() == before

    def test_one_by_one_there_is_a_window_for_each(self, memory: Memory) -> None:
        made = Bot(memory, Watched())
        windows = made.windows([message(1), message(2)], [message(0)])
        assert [len(one.passages) for one in windows] == [1, 1]

    def test_a_window_knows_what_was_known_before_its_first_message_and_nothing_private(
        self, memory: Memory
    ) -> None:
        made = bot(memory, Together())
        for heard in TestTheBotShowsNoMore.SAID:
            made.apply(heard, made.read(made.windows([heard])[0]).statements.get(
                message_id(heard.room, heard.ts), ()))  # fmt: skip
        [window] = made.windows([message(8), message(9)])
        assert {one.id: one.values for one in window.entities} == {"decision-2": ("red",)}
        [early] = made.windows([message(1.5), message(9)])
        assert early.entities == ()

    def test_what_is_learnt_later_does_not_change_a_window(self, memory: Memory) -> None:
        made = bot(memory, Together())
        [window] = made.windows([message(8)])
        people = dict(window.people)
        made.meet([Person(id="new", name="New")], [])
        assert window.people == people

    def test_what_is_not_believed_is_held(self, memory: Memory) -> None:
        class Invents(Together):
            def extract(self, window: Window) -> list[Statement]:
                [one] = self._rules.extract(window)
                return [one, one.model_copy(update={"quote": "I never wrote that"})]

        made = Bot(memory, Invents())
        made.meet([Person(id=one.id, name=one.name) for one in FULL], ROOMS)
        [window] = made.windows([message(1, text="decision-1: blue")])
        reading = made.read(window)
        assert [len(some) for some in reading.statements.values()] == [1]
        assert [one.statement.quote for one in reading.held] == ["I never wrote that"]
