"""A history read by a model: through the inbox, in windows, and for nothing when it is read again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from bot import backlog
from bot.app import Bot, begin_replay, end_replay
from bot.chat import Edit, Message, Person, Room, Workspace
from bot.inbox import Inbox, Pace
from engine import Memory
from extraction.claude import claude
from tests.extraction.claude_api import Api, answer, data_of, kind_of, problem, sorted_as, stated

T0 = datetime(2027, 3, 1, 10, tzinfo=UTC)
ROOM = Room(id="C1", name="general", members=frozenset({"U1", "U2"}))
PEOPLE = (Person(id="U1", name="Ann"), Person(id="U2", name="Ben"))
AT_ONCE = Pace(grace=0, quiet=0, patience=0)


def message(number: int, who: str, text: str, **more: Any) -> Message:
    at = T0 + timedelta(minutes=number)
    return Message(room="C1", ts=f"{number}.0", at=at, author=who, text=text, **more)


TALK = (
    message(1, "U1", "shall we move the offsite to the lake house?"),
    message(2, "U2", "ok, let's do that"),
    message(3, "U1", "great, booking it"),
)


def reply(request: dict[str, Any]) -> httpx2.Response:
    """A model that finds the acceptance in the second message."""
    texts = [one["text"] for one in data_of(request)["messages"]]
    if kind_of(request) == "sort":
        return answer(sorted_as(*("decision" if "let's" in text else "none" for text in texts)))
    accepted = texts.index("ok, let's do that") + 1
    found = stated(
        message=accepted, speaker=2, new_name="the offsite", value="lake house",
        quote="ok, let's do that",
    )  # fmt: skip
    return answer({"statements": [found]})


def workspace(*heard: Message) -> Workspace:
    return Workspace(id="T1", platform="slack", people=PEOPLE, rooms=(ROOM,), heard=heard)


def taken_in(memory: Memory, api: Api, *heard: Message) -> int:
    """How much is left unread."""
    reads = claude("sk-1", answers=backlog.Answered(memory), scribes=None, http_client=api.client())
    bot = Bot(memory, reads)
    begin_replay(bot, workspace(*heard))
    inbox = Inbox(memory, bot, AT_ONCE)
    try:
        return inbox.take_in(heard)
    finally:
        inbox.close()
        end_replay(bot)


def kept(memory: Memory, database: Any) -> str:
    return str(database.hgetall(f"so:{{{memory.sid}}}:kept"))


def test_an_acceptance_in_a_second_message_is_read_in_its_window(memory: Memory) -> None:
    api = Api(reply)
    assert taken_in(memory, api, *TALK) == 0
    assert [kind_of(one) for one in api.requests] == ["sort", "read"]  # one window, two calls
    assert memory.truth("offsite").value == "lake house"
    assert memory.believes("U1", "offsite").value == "lake house"


def test_reading_it_again_costs_nothing(memory: Memory, database: Any) -> None:
    api = Api(reply)
    taken_in(memory, api, *TALK)
    before = memory.counts()
    database.delete(f"so:{{{memory.sid}}}:inbox:done")  # as if it were a month ago
    assert taken_in(memory, api, *TALK) == 0
    assert len(api.requests) == 2
    assert memory.counts() == before


@pytest.mark.parametrize(
    "change",
    [
        {"removed": True, "text": ""},
        {"text": "something else", "edited": Edit(at=T0 + timedelta(hours=2), by="U2")},
    ],
)
def test_what_a_model_answered_goes_with_the_words(
    memory: Memory, database: Any, change: dict[str, Any]
) -> None:
    taken_in(memory, Api(reply), *TALK)
    assert "lake" in kept(memory, database)
    taken_in(memory, Api(lambda _: answer(sorted_as("none"))), TALK[1].model_copy(update=change))
    assert "lake" not in kept(memory, database)


def test_what_a_model_answered_goes_when_somebody_is_forgotten(
    memory: Memory, database: Any
) -> None:
    taken_in(memory, Api(reply), *TALK)
    assert "lake" in kept(memory, database)
    memory.forget("U1")
    assert "lake" not in kept(memory, database)


def test_a_key_that_is_not_accepted_leaves_all_waiting_and_says_since_when(memory: Memory) -> None:
    refused = Api(lambda _: problem(401, "authentication_error", "invalid x-api-key"))
    assert taken_in(memory, refused, *TALK) == len(TALK)
    behind = backlog.behind(memory)
    assert behind is not None
    assert "key" in behind.why
    assert taken_in(memory, Api(reply), *TALK) == 0
    assert backlog.behind(memory) is None
    assert memory.truth("offsite").value == "lake house"
