"""Nothing that a chat delivered is lost, and nothing happens twice: whatever is killed, delivered
again, out of order, or read by a model that cannot answer.

The time is told to the inbox, so nothing here waits. What is compared is the memory itself: every node
of every graph, and every answer, against a memory that read the same talk undisturbed.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bot import backlog, questions, render
from bot.adapters import exports
from bot.app import Bot, replay
from bot.chat import Command, Edit, Enter, Exit, Heard, Message, Person, Room, Workspace
from bot.inbox import LONGEST_PAUSE, Inbox, Pace, Progress, heard_in, key_of, reconsider, stored
from bot.lines import without
from engine import Memory
from engine.beliefs import Standing
from engine.errors import StoreRefused, StoreUnavailable, TooMuchWaiting
from engine.queue import Queue
from extraction import CannotRead, Statement, Window, rules
from extraction.answers import Answer, Asked
from extraction.gate import Held
from extraction.spending import Spent
from tests.bot import histories
from tests.bot.exports_builders import as_folder
from tests.bot.test_replay import answers, graphs

type Opened = Callable[[], AbstractContextManager[Memory]]

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
LATER = AT + timedelta(days=365)
"""So late that everything that ever came is ripe."""

PLANS = Room(id="C1", name="plans", members=frozenset({"U1", "U2", "U3"}))
SECRET = Room(id="G1", name="secret", kind="private", members=frozenset({"U1", "U2"}))
PEOPLE = [Person(id=id, name=name) for id, name in (("U1", "Ann"), ("U2", "Bo"), ("U3", "Cy"))]


def message(
    second: float, text: str = "hello", room: str = "C1", by: str = "U1", **more: Any
) -> Message:
    at = AT + timedelta(seconds=second)
    return Message(room=room, ts=f"{at.timestamp():.6f}", at=at, author=by, text=text, **more)


def entered(second: float, who: str, room: str = "C1") -> Enter:
    at = AT + timedelta(seconds=second)
    return Enter(
        id=f"enter-{room}-{who}-{int(at.timestamp() * 1000)}", at=at, person=who, room=room
    )


class Windows:
    """A windowed extractor that reads by rule, and can be made to fail. `seen`: the texts of each
    window, in brackets what is context."""

    windowed = True

    def __init__(self) -> None:
        self.seen: list[list[str]] = []
        self.fails: Callable[[Sequence[str]], Exception | None] = lambda texts: None
        self.gate: threading.Event | None = None
        self._rules = rules.Rules()
        self._lock = threading.Lock()

    def extract(self, window: Window) -> list[Statement]:
        texts = [f"[{p.text}]" if p.context else p.text for p in window.passages]
        gate = self.gate
        with self._lock:
            self.seen.append(texts)
        if gate is not None:
            assert gate.wait(20)
        if (error := self.fails(texts)) is not None:
            raise error
        with self._lock:
            return self._rules.extract(window)


def listening(memory: Memory, extractor: Any = None) -> Bot:
    bot = Bot(memory, extractor or rules.Rules())
    bot.meet(PEOPLE, [PLANS, SECRET], AT)
    for room in (PLANS, SECRET):
        for person in sorted(room.members or ()):
            memory.record(entered(-100, person, room.id))
    return bot


def pumped(inbox: Inbox, now: datetime = LATER) -> Progress:
    """Pumps until nothing happens any more at this moment."""
    while True:
        progress = inbox.pump(now)
        wait([job.future for job in inbox._jobs], 20)
        if not progress.applied and not inbox._jobs:
            return progress


def workspace_of(history: histories.History, folder: Path) -> Workspace:
    return exports.read(as_folder(folder / uuid.uuid4().hex, histories.export(history)))


def meeting(memory: Memory, export: Workspace, extractor: Any = None) -> Bot:
    """A bot that was told what an export tells of people and rooms."""
    as_of = newest(export)
    bot = Bot(memory, extractor or rules.Rules())
    bot.meet(export.people, export.rooms, as_of)
    bot.list_members(export.rooms, as_of)
    return bot


def newest(export: Workspace) -> datetime:
    return max(one.at for one in export.heard if isinstance(one, Message))


def everything(memory: Memory, database: Any) -> tuple[dict[str, str], str]:
    """Every answer and every node, the workspace's own id taken out."""
    memory.agree_with_lists()
    kept = json.dumps(graphs(database, memory), sort_keys=True)
    return answers(memory), kept.replace(memory.sid, "<sid>")


@pytest.fixture
def undisturbed(workspace: Opened, database: Any) -> Iterator[Callable[[Workspace], Any]]:
    """What a memory holds after reading an export from its beginning to its end."""

    with ExitStack() as stack:

        def read(export: Workspace) -> Any:
            memory = stack.enter_context(workspace())
            replay(Bot(memory, rules.Rules()), export)
            return everything(memory, database)

        yield read


def waiting(memory: Memory) -> int:
    return sum(some.waiting for some in memory.queue().backlog().values())


# ------------------------------------------------------------------------------- storing


class TestStoring:
    def test_what_was_put_is_there_for_any_process_before_it_is_acknowledged(
        self, memory: Memory, workspace: Opened
    ) -> None:
        inbox = Inbox(memory, listening(memory))
        assert inbox.put(message(1, "decision-1: approved"))
        [entry] = Queue(memory._store).entries([key_of(message(1))])
        assert heard_in(entry.body) == message(1, "decision-1: approved")

    def test_everything_that_is_heard_comes_back_as_it_was(self) -> None:
        heard: list[Heard] = [
            message(1, "half \ud800 and NUL \0 and \u202e ü 😀", thread="1.5", link="https://x"),
            message(2, reactions={"eyes": ("U1", "U2")}, edited=Edit(at=AT, by="U2"), system=True),
            entered(3, "U1"),
            Exit(id="x", at=AT, person="U1", room="C1", presumed=True),
        ]
        assert [heard_in(stored(one, AT).body) for one in heard] == heard
        for nonsense in ("[]", "{}", '{"Message": {}}', '{"Nothing": {}}', '"x"', "3"):
            with pytest.raises(ValueError, match=r"."):
                heard_in(nonsense)

    def test_a_command_is_answered_and_never_stored(self, memory: Memory) -> None:
        asked = Command(name="whoknows", text="x", who="U1", room="C1", at=AT)
        with pytest.raises(TypeError):
            Inbox(memory, listening(memory)).put(asked)

    def test_a_key_is_what_was_said_and_names_nobody(self) -> None:
        said = message(1, "a", by="UZOE")
        same = [said, message(1, "a with a preview"), message(1, app="someone")]
        others: list[Heard] = [
            message(1, room="C2"),
            message(2),
            message(1, edited=Edit(at=AT, by="UZOE")),
            message(1, edited=Edit(at=LATER, by="UZOE")),
            message(1, removed=True),
            message(1, reactions={"eyes": ("UZOE",)}),
            message(1, reactions={"eyes": ("U2",)}),
            entered(1, "UZOE"),
            entered(1, "U2"),
            Exit(id="out", at=AT + timedelta(seconds=1), person="UZOE", room="C1"),
        ]
        assert len({key_of(one) for one in same}) == 1
        keys = [key_of(one) for one in (said, *others)]
        assert len(set(keys)) == len(keys)
        assert not any("UZOE" in key for key in keys)
        assert len(key_of(message(1, room="C" * 5000))) <= 150

    def test_when_too_much_waits_it_is_refused_and_the_rest_goes_on(self, memory: Memory) -> None:
        inbox = Inbox(memory, listening(memory), Pace(most=2))
        inbox.put(message(1, "decision-1: approved"))
        inbox.put(message(2))
        with pytest.raises(TooMuchWaiting):
            inbox.put(message(3))
        pumped(inbox)
        assert memory.truth("decision-1").value == "approved"
        assert inbox.put(message(3))

    def test_where_the_memory_is_gone_it_is_not_acknowledged(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inbox = Inbox(memory, listening(memory))

        def gone() -> Any:
            raise StoreUnavailable("The memory cannot be reached: is its server running?")

        monkeypatch.setattr(memory._store, "_again", lambda ask: gone())
        with pytest.raises(StoreUnavailable):
            inbox.put(message(1))


# ------------------------------------------------------------------------------- order


class TestOrder:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("extractor", [rules.Rules, Windows])
    def test_in_whatever_order_and_however_often_it_comes_it_ends_like_a_replay(
        self, memory: Memory, database: Any, tmp_path: Path, undisturbed: Any, seed: int,
        extractor: Callable[[], Any],
    ) -> None:  # fmt: skip
        export = workspace_of(histories.history(seed, 60), tmp_path)
        inbox = Inbox(memory, meeting(memory, export, extractor()))
        pick = random.Random(seed)
        coming = [one for one in export.heard for _ in range(pick.choice((1, 1, 2)))]
        pick.shuffle(coming)
        now = LATER
        for number, heard in enumerate(coming):
            inbox.put(heard, now)
            if number % 25 == 24:  # what is said earlier may still come
                now += timedelta(minutes=10)
                pumped(inbox, now)
        assert pumped(inbox, now + timedelta(minutes=10)).left == 0
        assert waiting(memory) == 0
        # Every answer. What a late arrival leaves behind in a graph (an audience nobody refers to)
        # depends on when it came.
        assert everything(memory, database)[0] == undisturbed(export)[0]

    def test_within_the_grace_it_is_put_in_order_and_nothing_is_applied_before(
        self, memory: Memory
    ) -> None:
        inbox = Inbox(memory, listening(memory), Pace(grace=2))
        inbox.put(message(20, "decision-1 is mauve"), AT)  # means something after the other only
        inbox.put(message(10, "decision-1: mauve", by="U2"), AT + timedelta(seconds=1))
        assert inbox.pump(AT + timedelta(seconds=1.9)).applied == 0
        assert inbox.pump(AT + timedelta(seconds=2)).applied == 2
        assert memory.counts()["statements"] == 2

    def test_read_by_rule_every_message_is_read_after_all_that_was_said_before_it_anywhere(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In each lane only the head is seen; the other lanes do not run ahead of it."""
        monkeypatch.setattr("bot.inbox.SEEN", 4)
        applied: list[datetime] = []
        bot = listening(memory)
        apply = bot.apply

        def noted(heard: Heard, *rest: Any) -> None:
            applied.append(heard.at)
            apply(heard, *rest)

        monkeypatch.setattr(bot, "apply", noted)
        inbox = Inbox(memory, bot, Pace(full=1))
        for second in range(12):
            inbox.put(message(second))
        for second in range(12):
            inbox.put(message(second + 0.5, room="G1", by="U2"))
        inbox.put(entered(3.2, "U2", "G1"))
        pumped(inbox)
        assert len(applied) == 25
        assert applied == sorted(applied)

    def test_a_room_that_cannot_be_read_holds_up_no_other_and_nobody_who_comes_or_goes(
        self, memory: Memory
    ) -> None:
        reads = Windows()
        inbox = Inbox(memory, listening(memory, reads))
        inbox.put(message(1, "decision-1: paused"))
        inbox.put(entered(2, "U3", "G1"))
        inbox.pump(LATER)
        wait([job.future for job in inbox._jobs], 20)
        stuck = reads.gate = threading.Event()  # what begins to be read now does not end
        inbox.put(message(3, "decision-1: rejected"))
        inbox.pump(LATER)
        while len(reads.seen) < 2:
            inbox.pump(LATER)
        reads.gate = None
        inbox.put(message(4, "decision-2: approved", room="G1"))
        inbox.pump(LATER)
        wait([job.future for job in inbox._jobs if "C1" not in str(job.some)], 20)
        inbox.pump(LATER)
        assert memory.truth("decision-2").value == "approved"
        assert "U3" in {id for room in memory.rooms() if room.id == "G1" for id in room.here}
        assert memory.truth("decision-1").value == "paused"
        stuck.set()
        pumped(inbox)
        assert memory.truth("decision-1").value == "rejected"


# ------------------------------------------------------------------------------- windows


class TestWindows:
    def fed(self, memory: Memory, pace: Pace | None = None) -> tuple[Inbox, Windows]:
        reads = Windows()
        return Inbox(memory, listening(memory, reads), pace), reads

    def test_a_conversation_is_read_when_nobody_has_written_for_a_while(
        self, memory: Memory
    ) -> None:
        inbox, reads = self.fed(memory, Pace(quiet=20))
        inbox.put(message(1, "a"), AT)
        inbox.put(message(2, "b"), AT + timedelta(seconds=15))
        pumped(inbox, AT + timedelta(seconds=34))
        assert reads.seen == []
        pumped(inbox, AT + timedelta(seconds=35))
        assert reads.seen == [["a", "b"]]

    def test_it_is_read_in_any_case_when_the_first_has_waited_long(self, memory: Memory) -> None:
        inbox, reads = self.fed(memory, Pace(quiet=20, patience=60))
        for second in range(0, 70, 10):
            inbox.put(message(second, str(second)), AT + timedelta(seconds=second))
            pumped(inbox, AT + timedelta(seconds=second))
        assert reads.seen == [["0", "10", "20", "30", "40", "50", "60"]]

    def test_it_is_read_when_there_is_no_room_for_more_and_goes_on_where_it_ended(
        self, memory: Memory
    ) -> None:
        inbox, reads = self.fed(memory, Pace(full=3))
        for second in range(7):
            inbox.put(message(second, str(second)), AT)
        pumped(inbox, AT + timedelta(seconds=3))
        assert reads.seen == [["0", "1", "2"], ["[0]", "[1]", "[2]", "3", "4", "5"]]

    def test_a_thread_is_read_after_its_root_and_with_it(self, memory: Memory) -> None:
        inbox, reads = self.fed(memory)
        root = message(1, "decision: no freeze")
        inbox.put(message(3, "update: a freeze", thread=root.ts, by="U2"))
        inbox.put(message(2, "lunch?"))
        inbox.put(root)
        pumped(inbox)
        assert reads.seen == [
            ["decision: no freeze", "lunch?"],
            ["[decision: no freeze]", "update: a freeze"],
        ]
        assert {len(one.changes) for one in memory.timelines()} == {2}

    def test_two_versions_of_a_message_are_not_read_side_by_side(self, memory: Memory) -> None:
        inbox, reads = self.fed(memory)
        edit = Edit(at=AT + timedelta(hours=1), by="U1")
        inbox.put(message(1, "decision-1: approved"))
        inbox.put(message(1, "decision-1: rejected", edited=edit))
        pumped(inbox)
        assert [one[-1] for one in reads.seen] == ["decision-1: approved", "decision-1: rejected"]

    def test_what_is_looked_back_at_is_bounded(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.inbox.REMEMBERED", 10)
        inbox, reads = self.fed(memory, Pace(full=5))
        for second in range(50):
            inbox.put(message(second, "x" * 9000, room="C1" if second % 2 else "G1"))
        pumped(inbox)
        assert len(inbox._recent._messages) == 10
        assert sum(map(len, inbox._recent._talks.values())) <= 40
        longest = max(len(text) for seen in reads.seen for text in seen if text.startswith("["))
        assert longest < 5000

    def test_only_so_many_are_read_at_a_time(self, memory: Memory) -> None:
        inbox, reads = self.fed(memory, Pace(readers=2))
        reads.gate = threading.Event()
        for number in range(6):
            inbox.put(message(number, "hello", thread=f"{number}.5"))
        assert inbox.pump(LATER).reading == 2
        assert inbox.pump(LATER).reading == 2
        reads.gate.set()
        pumped(inbox)
        assert len(reads.seen) == 6


# ------------------------------------------------------------------------------- killed


class Killed(BaseException):
    """What a process that is killed never catches."""


TALK: Sequence[Heard] = (
    entered(0, "U3", "G1"),
    message(1, "decision-1: approved, OPS-7: paused"),
    message(2, "told <@U3> that decision-1 is rejected", by="U2", reactions={"eyes": ("U1", "U3")}),
    message(3, "lunch?"),
    message(4, "decision-2: done", room="G1", by="U2"),
    message(5, "decision-1: rejected", by="U3"),
)


class TestKilled:
    @pytest.mark.parametrize("extractor", [rules.Rules, Windows])
    def test_at_every_single_step_it_goes_on_where_it_was(
        self, workspace: Opened, database: Any, extractor: Callable[[], Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """Before and after every write: what was read is kept, each event, what leaves, what is settled."""

        def ended(deadly: int | None) -> tuple[Any, int]:
            with workspace() as memory:
                bot = listening(memory, read := extractor())
                for heard in TALK:
                    Inbox(memory, bot).put(heard, AT)
                store, steps = memory._store, iter(range(10**6))
                change, beside = store.change, store.beside

                def mortal(do: Callable[..., Any]) -> Callable[..., Any]:
                    def doing(*args: Any) -> Any:
                        if next(steps) == deadly:
                            raise Killed
                        done = do(*args)
                        if next(steps) == deadly:
                            raise Killed
                        return done

                    return doing

                monkeypatch.setattr(store, "change", mortal(change))
                monkeypatch.setattr(store, "beside", mortal(beside))
                try:
                    pumped(Inbox(memory, bot))
                    whole = True
                except Killed:
                    whole = False
                    database.delete(store.key("inbox:reader"))  # as it does by running out
                if deadly is None:
                    assert whole
                count = next(steps)
                monkeypatch.undo()
                again = Inbox(memory, listening(memory, read))
                assert pumped(again).left == 0
                assert waiting(memory) == 0
                return everything(memory, database), count

        expected, steps = ended(None)
        assert steps > 40
        for deadly in range(0, steps, 1 if steps < 60 else 3):
            assert ended(deadly)[0] == expected, deadly

    @pytest.mark.parametrize("windowed", [True, False])
    def test_what_was_read_is_not_read_again(
        self, memory: Memory, database: Any, monkeypatch: pytest.MonkeyPatch, windowed: bool
    ) -> None:
        reads = Windows()
        reads.windowed = windowed
        inbox = Inbox(memory, listening(memory, reads))
        inbox.put(message(1, "decision-1: approved, OPS-7: paused"), AT)
        if windowed:
            inbox.pump(LATER)
            wait([job.future for job in inbox._jobs], 20)
        record_all = memory.record_all

        def killed(events: Sequence[Any], *rest: Any) -> Any:
            if not events:
                return record_all(events, *rest)
            memory.record(events[0])
            raise Killed

        monkeypatch.setattr(memory, "record_all", killed)
        with pytest.raises(Killed):
            inbox.pump(LATER)
        monkeypatch.setattr(memory, "record_all", record_all)
        database.delete(memory._store.key("inbox:reader"))
        reads.fails = lambda texts: AssertionError("it was read again")
        pumped(Inbox(memory, listening(memory, reads)))
        assert memory.counts()["statements"] == 2
        assert len(reads.seen) == 1

    def test_with_kill_9_under_load_it_ends_like_an_undisturbed_one(
        self, tmp_path: Path, database: Any, undisturbed: Any, pytestconfig: pytest.Config
    ) -> None:
        """Two processes apply in turns, whichever has the lease, while a third goes on storing."""
        length, rounds = (10_000, 10) if pytestconfig.getoption("--thorough") else (150, 3)
        folder = tmp_path / "export"
        export = exports.read(as_folder(folder, histories.export(histories.history(5, length))))
        state, pick, halfway = tmp_path / "state", random.Random(5), 0
        with Memory("killed", state=state) as memory:
            inbox = Inbox(memory, meeting(memory, export))
            coming, share = list(export.heard), len(export.heard) // rounds + 1
            for number in range(rounds):
                two = [Pumping(folder, state, newest(export)) for _ in range(2)]
                with two[0] as one, two[1] as other:
                    for process in (one, other):
                        process.is_ready()
                    for heard in coming[number * share : (number + 1) * share]:
                        inbox.put(heard, AT)
                    for process in (one, other):
                        time.sleep(pick.random() * 0.1)  # anywhere, also in the middle of a write
                        process.kill()
                halfway += waiting(memory) > 0
            assert halfway
            assert memory.counts()["statements"] > 0
            memory._store._node.delete(memory._store.key("inbox:reader"))
            assert pumped(Inbox(memory, meeting(memory, export)), LATER).left == 0
            told = everything(memory, memory._store._node)
        assert told == undisturbed(export)


PUMPING = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from bot.adapters import exports
from bot.app import Bot
from bot.inbox import Inbox, Pace
from engine import Memory
from extraction.rules import Rules

export = exports.read(Path(sys.argv[1]))
with Memory("killed", state=sys.argv[2]) as memory:
    bot = Bot(memory, Rules())
    bot.meet(export.people, export.rooms, datetime.fromisoformat(sys.argv[3]))
    inbox = Inbox(memory, bot, Pace(lease=0.2, full=5))
    print("ready", flush=True)
    while True:
        inbox.pump(datetime(2100, 1, 1, tzinfo=UTC))
"""


class Pumping:
    """Another process that applies whatever it may."""

    def __init__(self, export: Path, state: Path, as_of: datetime) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PUMPING, str(export), str(state), as_of.isoformat()],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.PIPE,
            text=True,
        )

    def is_ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL

    def __enter__(self) -> "Pumping":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


# ------------------------------------------------------------------------------- two bots


class TestTwoBots:
    def test_both_store_one_applies_and_the_other_goes_on_when_it_is_gone(
        self, memory: Memory, database: Any, workspace: Opened
    ) -> None:
        one, other = (Inbox(memory, listening(memory)) for _ in range(2))
        one.put(message(1, "decision-1: approved"))
        assert not other.put(message(1, "decision-1: approved"))
        other.put(message(2, "decision-1: rejected", by="U2"))
        assert one.pump(LATER).applied == 2
        other.put(message(3, "decision-1 is rejected"))
        assert other.pump(LATER) == Progress(False)
        database.delete(memory._store.key("inbox:reader"))  # as it does by running out
        assert other.pump(LATER).applied == 1
        assert one.pump(LATER) == Progress(False)
        assert memory.counts()["statements"] == 3

    def test_whoever_takes_over_knows_what_the_other_heard(
        self, memory: Memory, database: Any
    ) -> None:
        """What is believed, whose thread it is, and who wrote in the room."""
        one, other = (Inbox(memory, listening(memory)) for _ in range(2))
        pumped(other)  # has looked at an empty memory
        other.close()
        root = message(1, "decision: no freeze")
        for heard in (root, message(2, "decision-1: mauve", by="U2")):
            one.put(heard)
        pumped(one)
        one.close()
        other.put(message(3, "update: a freeze", thread=root.ts))
        other.put(message(4, "decision-1 is mauve"))
        pumped(other)
        assert memory.counts()["statements"] == 4

    def test_whoever_lost_the_lease_in_the_middle_writes_nothing_more(
        self, memory: Memory, database: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bot = listening(memory)
        one, other = Inbox(memory, bot), Inbox(memory, listening(memory))
        for second in (1, 2, 3):
            one.put(message(second, f"decision-{second}: approved"))
        apply, calls = bot.apply, list[Heard]()

        def slow(heard: Heard, *args: Any) -> None:
            calls.append(heard)
            if len(calls) == 2:
                database.delete(memory._store.key("inbox:reader"))
                other.pump(LATER - timedelta(days=300))
            apply(heard, *args)

        monkeypatch.setattr(bot, "apply", slow)
        assert one.pump(LATER) == Progress(False)
        assert len(calls) == 2
        assert memory.counts()["statements"] == 3  # by the other
        assert waiting(memory) == 0


# ------------------------------------------------------------------------------- what fails


class TestPoison:
    def test_it_is_tried_set_aside_and_named_and_the_rest_goes_on(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reads = rules.Rules()
        extract, calls = reads.extract, list[str]()

        def failing(window: Window) -> list[Statement]:
            calls.append(window.passages[0].text)
            if "xyzzy" in calls[-1]:
                raise RuntimeError(calls[-1])
            return extract(window)

        monkeypatch.setattr(reads, "extract", failing)
        inbox = Inbox(memory, listening(memory, reads))
        for heard in (message(1), message(2, "xyzzy", room="G1"), message(3, "decision-1: done")):
            inbox.put(heard)
        assert pumped(inbox).left == 0
        assert calls.count("xyzzy") == 3
        assert memory.truth("decision-1").value == "done"
        [aside] = questions.standing(memory).inbox.aside
        assert (aside.key, aside.room.name) == (key_of(message(2, room="G1")), "secret")
        assert aside.why == "It could not be applied (RuntimeError)."
        assert "xyzzy" not in questions.standing(memory).model_dump_json()

        monkeypatch.undo()
        assert backlog.put_back(memory) == 1
        pumped(inbox)
        assert questions.standing(memory).inbox.aside == ()
        assert questions.standing(memory).messages == 3

    def test_what_the_memory_refuses_is_set_aside_unless_it_refuses_everything(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        change = memory._store.change

        def refusing(decide: Any, *beside: Any) -> bool:
            if "xyzzy" in repr(decide):
                raise StoreRefused("The memory refused a query; this is a bug worth reporting.")
            return change(decide, *beside)

        monkeypatch.setattr(memory._store, "change", refusing)
        inbox = Inbox(memory, listening(memory))
        inbox.put(message(1, "decision-1: xyzzy"))
        inbox.put(message(2, "decision-2: done"))
        with monkeypatch.context() as patch:
            patch.setattr(Queue, "failed", lambda *_: memory._store.change("xyzzy"))  # type: ignore[arg-type]
            with pytest.raises(StoreRefused):
                inbox.pump(LATER)
        assert (waiting(memory), questions.standing(memory).inbox.aside) == (2, ())
        pumped(inbox)
        assert [one.why for one in questions.standing(memory).inbox.aside] == [
            "The memory refused it."
        ]
        assert memory.truth("decision-2").value == "done"

    def test_of_a_window_only_the_bad_message_is_set_aside(self, memory: Memory) -> None:
        reads = Windows()
        reads.fails = lambda texts: CannotRead("It was refused.") if "xyzzy" in texts else None
        inbox = Inbox(memory, listening(memory, reads))
        for second, text in enumerate(("decision-1: a", "xyzzy", "decision-2: b", "decision-3: c")):
            inbox.put(message(second, text))
        assert pumped(inbox).left == 0
        assert [one.why for one in questions.standing(memory).inbox.aside] == ["It was refused."]
        assert sorted(memory.entities()) == ["decision-1", "decision-2", "decision-3"]
        assert len([texts for texts in reads.seen if "xyzzy" in texts]) == 3

    def test_nobody_hears_of_what_failed_where_they_may_not_read(self, memory: Memory) -> None:
        reads = Windows()
        reads.fails = lambda texts: CannotRead("It was refused.") if "xyzzy" in texts else None
        inbox = Inbox(memory, listening(memory, reads))
        inbox.put(message(1, "xyzzy", room="G1"))
        pumped(inbox)
        inbox.put(message(2, "hello", room="G1"))
        backlog.recorder(memory)(Spent("G1", datetime.now(UTC).date(), "m", 1, 10, 1, 0, 0, 0.5))

        def told(person: str) -> Any:
            asked = Command(name="status", text="", who=person, room="C1", at=AT)
            return questions.answer(memory, asked)

        inside, outside = told("U1").inbox, told("U3").inbox
        assert (len(inside.aside), inside.waiting, len(inside.spent)) == (1, 1, 1)
        assert outside == type(outside)()


class TestWithoutAKey:
    def test_in_mid_day_nothing_is_lost_and_everybody_is_told_since_when(
        self, memory: Memory
    ) -> None:
        reads = Windows()
        inbox = Inbox(memory, listening(memory, reads))
        inbox.put(message(1, "decision-1: approved"), AT)
        pumped(inbox, AT + timedelta(minutes=1))
        reads.fails = lambda texts: CannotRead("The key is not accepted.", later=60)
        noon = AT + timedelta(hours=3)
        inbox.put(message(10_000, "decision-1: rejected", by="U2"), noon)
        inbox.put(entered(10_001, "U3", "G1"), noon)
        for minutes in range(1, 120):
            pumped(inbox, noon + timedelta(minutes=minutes))
        assert 10 < len(reads.seen) < 60  # it looks again, less and less often

        assert "U3" in {id for room in memory.rooms() if room.id == "G1" for id in room.here}
        status = questions.answer(memory, Command(name="status", text="", who="U3", room="", at=AT))
        assert isinstance(status, Standing)
        assert (status.inbox.waiting, status.inbox.aside) == (1, ())
        style = render.Style(UTC, {})
        said = "Reading is behind since 30 Nov 2026 12:01: the key is not accepted."
        assert said in render.text(render.page(status, style))
        asked = Command(name="whoknows", text="decision-1", who="U3", room="", at=AT)
        page = render.page(questions.answer(memory, asked), style)
        assert "approved" in page.head
        assert said in render.text(render.behind(page, backlog.behind(memory), style))

        reads.fails = lambda texts: None
        pumped(inbox, noon + timedelta(days=1))
        assert memory.truth("decision-1").value == "rejected"
        assert backlog.behind(memory) is None
        assert render.behind(page, backlog.behind(memory), style) == page

    def test_who_comes_and_goes_does_not_wait_for_an_extractor_that_reads_one_by_one_either(
        self, memory: Memory
    ) -> None:
        reads = Windows()
        reads.windowed = False
        reads.fails = lambda texts: CannotRead("No answer.", later=60)
        inbox = Inbox(memory, listening(memory, reads))
        inbox.put(message(1, "decision-1: done"))
        inbox.put(entered(2, "U3", "G1"))
        inbox.put(message(3, "decision-1: done"))
        assert pumped(inbox).left == 2
        assert len(reads.seen) == 1
        assert "U3" in {id for room in memory.rooms() if room.id == "G1" for id in room.here}
        reads.fails = lambda texts: None
        assert pumped(inbox, LATER + timedelta(hours=1)).left == 0
        assert backlog.behind(memory) is None

    def test_it_looks_with_one_window_at_a_time_until_one_was_read(self, memory: Memory) -> None:
        reads = Windows()
        reads.fails = lambda texts: CannotRead("No answer.", later=0)
        inbox = Inbox(memory, listening(memory, reads))
        for number in range(8):
            inbox.put(message(number, "hello", thread=f"{number}.5"), AT)
        now = AT + timedelta(minutes=5)
        pumped(inbox, now)
        assert len(reads.seen) == 4
        for _ in range(3):
            now += timedelta(seconds=2 * LONGEST_PAUSE)
            pumped(inbox, now)
        assert len(reads.seen) == 7
        reads.fails = lambda texts: None
        now += timedelta(seconds=2 * LONGEST_PAUSE)
        assert pumped(inbox, now).left == 0

    def test_a_restart_does_not_forget_since_when(self, memory: Memory, database: Any) -> None:
        reads = Windows()
        reads.fails = lambda texts: CannotRead("No answer.", later=5)
        inbox = Inbox(memory, listening(memory, reads))
        inbox.put(message(1, "decision-1: done"), AT)
        pumped(inbox, AT + timedelta(minutes=1))
        since = backlog.behind(memory)
        inbox.close()
        again = Inbox(memory, listening(memory, reads))
        pumped(again, AT + timedelta(hours=1))
        assert since is not None
        assert backlog.behind(memory) == since
        reads.fails = lambda texts: None
        pumped(again, AT + timedelta(hours=2))
        assert backlog.behind(memory) is None


class TestReview:
    HELD = Statement(
        kind="say", message="", speaker="U1", entity="decision-9", name="decision-9",
        value="perhaps", decides=True, quote="decision-9 is perhaps",
    )  # fmt: skip

    def reviewed(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Inbox:
        bot = listening(memory)
        read = bot.read

        def held(window: Window) -> Any:
            one = self.HELD.model_copy(update={"message": window.passages[0].id})
            reading = read(window)
            if "perhaps" not in window.passages[0].text:
                return reading
            return reading._replace(held=(Held(statement=one, reason="it was asked, not stated"),))

        monkeypatch.setattr(bot, "read", held)
        inbox = Inbox(memory, bot)
        inbox.put(message(1, "decision-9 is perhaps", room="G1"))
        pumped(inbox)
        return inbox

    def test_what_the_gate_held_is_told_with_its_reason_to_who_may_read_it(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.reviewed(memory, monkeypatch)
        [one] = questions.standing(memory).inbox.review
        assert (one.entity, one.value, one.reason) == (
            "decision-9", "perhaps", "it was asked, not stated",
        )  # fmt: skip
        page = render.page(questions.standing(memory), render.Style(UTC, {}))
        assert "decision-9: “perhaps” in #secret, 30 Nov 2026 09:00: it was asked" in render.text(
            page
        )
        outside = questions.standing(memory, memory.reader("U3"))
        assert outside.inbox.review == ()

    def test_what_an_extractor_does_not_believe_itself_is_told_too(self, memory: Memory) -> None:
        class Doubting(Windows):
            def read(self, window: Window) -> Any:
                one = TestReview.HELD.model_copy(update={"message": window.passages[0].id})
                held = [Held(statement=one, reason="it is about nothing known")]
                return Found(self.extract(window), held)

        class Found(NamedTuple):
            statements: list[Statement]
            held: list[Held]

        inbox = Inbox(memory, listening(memory, Doubting()))
        inbox.put(message(1, "decision-1: approved"))
        pumped(inbox)
        assert memory.truth("decision-1").value == "approved"
        reasons = [one.reason for one in questions.standing(memory).inbox.review]
        assert reasons == ["it is about nothing known"]

    def test_no_more_than_the_sentence_is_kept_of_the_message(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inbox = self.reviewed(memory, monkeypatch)
        inbox.put(message(5, "xyzzy. decision-9 is perhaps", room="G1"))
        pumped(inbox)
        assert len(memory.noted("review:G1")) == 2
        assert "xyzzy" not in repr(memory.noted("review:G1"))

    def test_judged_again_it_is_believed_once_what_was_missing_is_known(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bot, newcomer = listening(memory), "U7"
        one = Statement(
            kind="report", message="", speaker="U1", about=newcomer, entity="decision-1",
            name="decision-1", value="approved", decides=False,
            quote="told <@U7> that decision-1 is approved",
        )  # fmt: skip
        monkeypatch.setattr(
            bot._extractor,
            "extract",
            lambda window: [one.model_copy(update={"message": window.passages[0].id})],
        )
        inbox = Inbox(memory, bot)
        inbox.put(message(1, "I told <@U7> that decision-1 is approved, by the way"))
        pumped(inbox)
        [held] = questions.standing(memory).inbox.review
        assert held.reason == "the person it is about is nobody here"
        assert reconsider(memory, bot) == 0
        bot.meet([Person(id=newcomer, name="Dee")], [], AT)
        assert reconsider(memory, bot) == 1
        assert questions.standing(memory).inbox.review == ()
        assert memory.believes(["U2", newcomer], "decision-1").value == "approved"
        assert reconsider(memory, bot) == 0

    def test_it_goes_with_the_text_it_was_held_of(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inbox = self.reviewed(memory, monkeypatch)
        inbox.put(message(1, "", room="G1", removed=True))
        pumped(inbox)
        assert questions.standing(memory).inbox.review == ()

    def test_nothing_is_told_of_who_wants_to_be_left_out(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.reviewed(memory, monkeypatch)
        memory.optout("U1")
        assert questions.standing(memory).inbox.review == ()

    def test_only_so_many_of_a_room_are_kept(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.backlog.HELD", 3)
        inbox = self.reviewed(memory, monkeypatch)
        for second in range(2, 9):
            inbox.put(message(second, "perhaps", room="G1"))
        pumped(inbox)
        kept = [one.message for one in questions.standing(memory).inbox.review]
        assert kept == [f"G1-{message(second).ts}" for second in (6, 7, 8)]


def test_what_reading_costs_is_added_up_by_day_and_room_across_restarts(memory: Memory) -> None:
    listening(memory)
    today = datetime.now(UTC).date()
    for day in (today, today, today - timedelta(days=1), today - timedelta(days=30)):
        backlog.recorder(memory)(Spent("C1", day, "claude-haiku-5-5", 1, 100, 20, 5, 2, 0.25))
    backlog.recorder(memory)(Spent("", today, "claude-haiku-5-5", 1, 1, 1, 0, 0, 0.1))
    assert backlog.spent_on(memory, today) == pytest.approx(0.6)
    spent = [one for one in questions.standing(memory).inbox.spent if one.room.id]
    assert [(one.day, one.room.name, one.calls, one.tokens_in, one.dollars) for one in spent] == [
        (today, "plans", 2, 214, 0.5),
        (today - timedelta(days=1), "plans", 1, 107, 0.25),
    ]


# ------------------------------------------------------------------------------- forgetting


class TestForgetting:
    def test_nothing_of_somebody_is_left_in_what_waits_what_failed_and_what_is_remembered(
        self, memory: Memory, database: Any
    ) -> None:
        canary = "UZCANARY"
        reads = Windows()
        reads.fails = lambda texts: CannotRead("Refused.") if "bad" in str(texts) else None
        bot = listening(memory, reads)
        bot.meet([Person(id=canary, name="Zoe")], [], AT)
        memory.record(entered(0, canary))
        inbox = Inbox(memory, bot)
        inbox.put(message(1, "decision-1: secret-of-z", by=canary))
        inbox.put(message(2, f"told <@{canary}> that decision-1 is rejected"))
        pumped(inbox)
        inbox.put(message(3, "bad secret-of-z", by=canary))
        inbox.put(message(4, f"bad <@{canary}>"))
        pumped(inbox)
        inbox.put(message(5, "decision-2: secret-of-z", by=canary))
        inbox.put(message(6, f"<@{canary}> decision-2: done", by="U2"))
        inbox.put(entered(7, canary))
        inbox.put(message(8, "decision-3: secret-of-z", reactions={"eyes": (canary, "U2")}))
        held = inbox._recent

        memory.forget(canary)

        left = []
        for key in database.keys(memory._store.key("*")):
            if database.type(key) != "graphdata":
                left += [key] if canary in f"{key} {_shown(database, key)}" else []
        assert left == []
        inboxes = [_shown(database, key) for key in database.keys(memory._store.key("inbox*"))]
        assert "decision-2: done" in repr(inboxes)
        assert "decision-2: secret-of-z" not in repr(inboxes)
        pumped(inbox)
        assert inbox._recent is not held
        assert canary not in repr(inbox._recent._messages)
        assert memory.truth("decision-2").value == "done"
        assert memory.truth("decision-3").value == "secret-of-z"  # as somebody else said it
        assert canary not in repr(memory.noted("heard:C1"))

    def test_who_has_a_longer_id_keeps_what_is_remembered_of_them(self, memory: Memory) -> None:
        bot = listening(memory)
        bot.meet([Person(id="U1", name="Una"), Person(id="U12", name="Ulf")], [], AT)
        for number, who in enumerate(("U1", "U12")):
            memory.record(entered(number, who))
        inbox = Inbox(memory, bot)
        inbox.put(message(2, "decision-1: done", by="U12", reactions={"eyes": ("U12",)}))
        pumped(inbox)
        keys = ("heard:C1", "lines:C1", "stated:C1", "reacted:C1")
        before = [memory.noted(key) for key in keys]
        assert "U12" in repr(before)

        memory.forget("U1", lambda note: without(note, "U1"))

        assert [memory.noted(key) for key in keys] == before
        event = "T1-C1-U12-1-say"
        kept = json.dumps({"ts": "1", "at": AT.isoformat(), "author": "U12",
                           "said": [[event, AT.isoformat(), True]]})  # fmt: skip
        assert event in (without(kept, "U1") or "")
        assert event not in (without(kept, "U12") or "")

    def test_a_message_of_theirs_that_comes_afterwards_is_not_remembered(
        self, memory: Memory, database: Any
    ) -> None:
        bot = listening(memory)
        inbox = Inbox(memory, bot)
        memory.forget("U3")
        inbox.put(message(1, "decision-1: mine", by="U3"))
        assert pumped(inbox).left == 0
        assert memory.counts()["statements"] == 0
        assert memory.noted("heard:C1") == []
        for key in database.keys(memory._store.key("inbox*")):
            assert "U3" not in _shown(database, key)


def _shown(database: Any, key: str) -> str:
    match database.type(key):
        case "stream":
            return str(database.xrange(key))
        case "hash":
            return str(database.hgetall(key))
        case "zset":
            return str(database.zrange(key, 0, -1))
        case "set":
            return str(database.smembers(key))
        case _:
            return ""


# ------------------------------------------------------------------------------- load


class TestLoad:
    def test_a_hundred_messages_a_second_are_stored_while_commands_answer(
        self, memory: Memory, pytestconfig: pytest.Config
    ) -> None:
        """At several times that pace, while what came before is being applied."""
        count = 6_000 if pytestconfig.getoption("--thorough") else 1_500
        inbox = Inbox(memory, listening(memory), Pace(grace=0))
        stop = threading.Event()
        took_to_answer: list[float] = []

        def pumping() -> None:
            while not stop.is_set():
                inbox.pump(LATER)

        def asking() -> None:
            while not stop.is_set():
                before = time.monotonic()
                questions.answer(
                    memory, Command(name="misinformed", text="", who="U3", room="C1", at=AT)
                )
                took_to_answer.append(time.monotonic() - before)

        threads = [threading.Thread(target=do) for do in (pumping, asking)]
        for thread in threads:
            thread.start()
        before = time.monotonic()
        for number in range(count):
            text = f"decision-{number % 7}: v{number}" if number % 10 == 0 else "some talk"
            inbox.put(message(number * 0.01, text, by=f"U{1 + number % 3}"))
        took = time.monotonic() - before
        stop.set()
        for thread in threads:
            thread.join()
        pumped(inbox)
        slow = sorted(took_to_answer)[int(len(took_to_answer) * 0.95)]
        assert memory.notes("lines:C1") == count
        assert memory.counts()["statements"] == count // 10
        assert count / took > 100, f"{count / took:.0f} a second"
        assert slow < 0.5

    def test_a_long_backlog_is_not_held_in_this_process(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.inbox.SEEN", 50)
        inbox = Inbox(memory, listening(memory), Pace(full=10))
        for number in range(300):
            inbox.put(message(number))
        most = 0
        while inbox.pump(LATER).applied:
            most = max(most, len(inbox._waiting) + 50)
        assert memory.notes("lines:C1") == 300
        assert most <= 100


def test_it_runs_until_it_is_told_to_stop_and_lets_another_go_on(memory: Memory) -> None:
    async def running() -> None:
        inbox = Inbox(memory, listening(memory), Pace(grace=0))
        stop = asyncio.Event()
        task = asyncio.create_task(inbox.run(stop, pause=0.01))
        inbox.put(message(1, "decision-1: done"))
        while not memory.counts()["statements"]:
            await asyncio.sleep(0.01)
        stop.set()
        await task

    asyncio.run(asyncio.wait_for(running(), 30))
    assert memory.queue().hold(5) is True


def test_what_goes_wrong_while_it_runs_does_not_end_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox(memory, listening(memory), Pace(grace=0))
    pump, failures = inbox.pump, [RuntimeError("bug"), StoreUnavailable("away")]

    async def running() -> None:
        stop = asyncio.Event()

        def failing(now: datetime) -> Progress:
            if failures:
                raise failures.pop()
            stop.set()
            return pump(now)

        monkeypatch.setattr(inbox, "pump", failing)
        waits = list[float]()

        async def at_once(task: Any, seconds: float) -> None:
            waits.append(seconds)
            task.close()

        monkeypatch.setattr("bot.inbox.asyncio.wait_for", at_once)
        await inbox.run(stop)
        assert waits[:2] == [1.0, 5.0]

    inbox.put(message(1, "decision-1: done"))
    asyncio.run(running())
    assert memory.truth("decision-1").value == "done"


def test_it_goes_on_after_the_memory_was_away(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox(memory, listening(memory))
    inbox.put(message(1, "decision-1: done"))
    with monkeypatch.context() as patch:
        patch.setattr(memory._store, "change", _away)
        with pytest.raises(StoreUnavailable):
            inbox.pump(LATER)
    assert questions.standing(memory).inbox.aside == ()  # it was not the message's fault
    pumped(inbox)
    assert memory.truth("decision-1").value == "done"


def _away(*_: object) -> bool:
    raise StoreUnavailable("The memory cannot be reached: is its server running?")


class TestEditsOfOneMoment:
    """Slack gives whole seconds: two edits can have the same."""

    WHEN = Edit(at=AT + timedelta(hours=1), by="U1")

    def versions(self, when: Edit) -> list[Message]:
        first = message(1, "decision-1: approved")
        texts = ("decision-1: rejected", "decision-1: cancelled")
        return [first, *(first.model_copy(update={"text": t, "edited": when}) for t in texts)]

    @pytest.mark.parametrize("when", [WHEN, Edit(at=AT + timedelta(seconds=20), by="U1")])
    @pytest.mark.parametrize("at_once", [True, False])
    @pytest.mark.parametrize("turned", [True, False])
    def test_what_came_later_stands(
        self, memory: Memory, when: Edit, at_once: bool, turned: bool
    ) -> None:
        inbox = Inbox(memory, listening(memory))
        first, *edits = self.versions(when)
        for n, one in enumerate([first, *(reversed(edits) if turned else edits)]):
            assert inbox.put(one, AT + timedelta(hours=2, seconds=n))
            if not at_once:
                pumped(inbox)
        pumped(inbox)
        assert memory.truth("decision-1").value == ("rejected" if turned else "cancelled")

    def test_delivered_again_they_change_nothing(self, memory: Memory, database: Any) -> None:
        inbox = Inbox(memory, listening(memory))
        for n, one in enumerate(self.versions(self.WHEN)):
            inbox.put(one, AT + timedelta(hours=2, seconds=n))
        pumped(inbox)
        before = memory.counts()
        assert not any(inbox.put(one) for one in self.versions(self.WHEN))
        database.delete(f"so:{{{memory.sid}}}:inbox:done")  # as if it were a month ago
        for n, one in enumerate(reversed(self.versions(self.WHEN))):
            inbox.put(one, LATER - timedelta(hours=2) + timedelta(seconds=n))
        pumped(inbox)
        assert memory.counts() == before
        assert memory.truth("decision-1").value == "cancelled"


class TestWhatCannotBeWritten:
    def test_half_a_character_in_a_reading_stops_nobody(self, memory: Memory) -> None:
        class Broken(Windows):
            def extract(self, window: Window) -> list[Statement]:
                said = window.passages[-1]
                return [
                    *super().extract(window),
                    Statement(
                        kind="say", message=said.id, speaker=said.author, entity="x-1",
                        name="\ud800", value="Friday", decides=True, quote="Friday",
                    ),
                ]  # fmt: skip

        inbox = Inbox(memory, listening(memory, Broken()))
        inbox.put(message(1, "ship on Friday"), AT)
        inbox.put(message(2, "decision-1: approved", "G1"), AT)
        pumped(inbox)
        assert memory.truth("decision-1").value == "approved"
        assert [one.reason for one in backlog.doubts(memory, "C1")] == ["its text cannot be stored"]

    def test_an_answer_with_half_a_character_is_kept(self, memory: Memory) -> None:
        answer = Answer(answer={"a": "\ud800"})
        backlog.Answered(memory).put(Asked("k", "read"), "m", answer)
        assert backlog.Answered(memory).get(Asked("k", "read")) == answer
