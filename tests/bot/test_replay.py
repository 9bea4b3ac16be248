"""An export read into a memory, through the real pipeline: reading is idempotent, and nobody speaks
but who spoke.

Not promised, because the text of a message is kept nowhere: a statement that can only be understood
with what another export holds (`update:` in a thread whose root is there, `KEY is blue` where only
that one gave it the value blue) is not understood when it is read first. Reading its export again
afterwards heals that; `TestReadAgain` holds both.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import redis

from bot.adapters import exports
from bot.app import Bot, Rules, replay
from bot.chat import Workspace
from bot.perception import Crowds
from engine import Memory
from extraction import rules
from tests.bot import histories
from tests.bot.exports_builders import as_folder, channel, line, moved, slack, ts, user

type Opened = Callable[[], AbstractContextManager[Memory]]
type Read = Callable[..., Workspace]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Random histories: a few that are always the same, and with `--thorough` many."""
    if "history_seed" in metafunc.fixturenames:
        many = metafunc.config.getoption("--thorough")
        metafunc.parametrize("history_seed", range(100 if many else 5))


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """An export of the lines of `#plans`, or of the files given, as it is read."""

    def reading(
        *lines: object, files: Mapping[str, object] | None = None, **indexes: object
    ) -> Workspace:
        content = slack(*lines, **indexes) if files is None else files
        return exports.read(as_folder(tmp_path / uuid.uuid4().hex, content))

    return reading


def fed(memory: Memory, *workspaces: Workspace, team: Rules | None = None) -> Memory:
    """The memory, after each export was read by a bot of its own."""
    for one in workspaces:
        replay(Bot(memory, rules.Rules(), team), one)
    return memory


def held(memory: Memory, entity: str = "decision-1") -> dict[str, str | None]:
    """Who is counted at all, and the value each holds."""
    return {one.person.id: one.value for one in memory.who_knows(entity).people}


def answers(memory: Memory) -> dict[str, str]:
    """Everything that anybody may be told, about everything; the workspace's own id taken out."""
    known = {person.id for person in memory.people()}
    found: dict[str, Any] = {"counts": memory.counts(), "lines": memory.notes("lines:*")}
    for entity in memory.entities():
        found[f"who knows {entity}"] = memory.who_knows(entity).model_dump_json()
        found[f"timeline {entity}"] = memory.timeline(entity).model_dump_json()
        for person in known & {"U1", "U2", "U7"}:
            found[f"{person} on {entity}"] = memory.explain(person, entity).model_dump_json()
    for order in (1, 2):
        wrong = memory.false_beliefs(order=order)
        found[f"false beliefs {order}"] = [one.model_dump_json() for one in wrong]
    for person in known & {"U1", "U5"}:
        wrong_here = memory.misinformed(reader=memory.reader(person))
        found[f"false beliefs for {person}"] = wrong_here.model_dump_json()
    return {key: json.dumps(value).replace(f"{memory.sid}-", "") for key, value in found.items()}


def graphs(database: redis.Redis, memory: Memory) -> dict[str, list[str]]:
    """Every node of every graph: the world and all minds."""
    found = {}
    for key in sorted(database.keys(f"so:{{{memory.sid}}}:*")):
        if database.type(key) == "graphdata":
            query = "MATCH (n) RETURN labels(n), properties(n)"
            rows = database.execute_command("GRAPH.RO_QUERY", key, query)[1]  # type: ignore[no-untyped-call]
            found[str(key)] = sorted(map(repr, rows))
    return found


class TestAgain:
    def test_a_second_replay_changes_nothing(
        self, memory: Memory, database: redis.Redis, read: Read
    ) -> None:
        export = read(files=histories.export(histories.history(1, 100)))
        fed(memory, export)
        told, kept = answers(memory), graphs(database, memory)
        assert len(kept) > 20
        fed(memory, export)
        assert answers(memory) == told
        assert graphs(database, memory) == kept

    def test_the_same_bot_may_read_it_twice(
        self, memory: Memory, database: redis.Redis, read: Read
    ) -> None:
        export = read(files=histories.export(histories.history(2, 60)))
        bot = Bot(memory, rules.Rules())
        replay(bot, export)
        kept = graphs(database, memory)
        replay(bot, export)
        assert graphs(database, memory) == kept

    def test_a_message_that_is_delivered_twice_is_heard_once(
        self, memory: Memory, database: redis.Redis, read: Read
    ) -> None:
        bot, export = Bot(memory, rules.Rules()), read(line(10, "<@U2> decision-1: approved"))
        replay(bot, export)
        kept = graphs(database, memory)
        for heard in export.heard:
            bot.hear(heard)
        bot.settle(["C1"])
        assert graphs(database, memory) == kept

    def test_what_only_fits_what_was_said_later_still_does_not_fit(
        self, memory: Memory, read: Read
    ) -> None:
        export = read(line(10, "decision-1 is mauve"), line(20, "decision-1: mauve", by="U2"))
        fed(memory, export, export)
        assert memory.counts()["statements"] == 1


class TestOverlappingExports:
    """One history, split by time into two exports that may overlap, with the same index files."""

    def halves(self, seed: int) -> tuple[dict[str, object], dict[str, object], dict[str, object]]:
        """The later one reaches back to whatever changed after the earlier one was made."""
        pick, said = random.Random(seed), histories.history(seed, 45)
        border = pick.choice(said).second
        made = border + pick.choice([0, 600, 5000, 40_000])
        since = [border]
        for one in said:
            changes = [one.edit[0] if one.edit else 0, one.gone or 0]
            since += [one.second] if one.second <= made < max(changes) else []
        return (
            histories.export(said, until=made),
            histories.export(said, since=min(since)),
            histories.export(said),
        )

    def test_in_either_order_and_with_the_whole_afterwards_everybody_believes_the_same(
        self, workspace: Opened, read: Read, history_seed: int
    ) -> None:
        earlier, later, whole = (read(files=files) for files in self.halves(history_seed))
        with workspace() as one, workspace() as other:
            told = answers(fed(one, earlier, later))
            assert answers(fed(other, later, earlier)) == told
            assert answers(fed(one, whole)) == told
            assert answers(fed(other, whole, earlier)) == told

    def test_a_thread_that_crosses_the_border_reaches_its_root_author(
        self, workspace: Opened, read: Read
    ) -> None:
        root = read(line(10, "who takes it?", by="U1"))
        reply = read(line(99, "decision-1: approved", by="U2", thread_ts=ts(10)))
        for order in ((root, reply), (reply, root)):
            with workspace() as memory:
                assert held(fed(memory, *order)) == {"U1": "approved", "U2": "approved"}

    def test_an_engagement_that_crosses_the_border_counts(
        self, workspace: Opened, read: Read
    ) -> None:
        said = read(line(10, "decision-1: approved"))
        posted = read(line(99, "morning", by="U2"))
        for order in ((said, posted), (posted, said)):
            with workspace() as memory:
                fed(memory, *order, team=Rules(crowds=Crowds(1)))
                assert held(memory) == {"U1": "approved", "U2": "approved"}

    def test_a_late_join_in_the_later_export_only_ends_a_presumed_presence(
        self, workspace: Opened, read: Read
    ) -> None:
        said, joined = read(line(10, "decision-1: approved")), read(moved(50, "U2"))
        for order in ((said, joined), (joined, said)):
            with workspace() as memory:
                assert held(fed(memory, *order)) == {"U1": "approved", "U2": None}

    def test_an_edit_and_a_tombstone_that_only_the_later_export_has(
        self, workspace: Opened, read: Read
    ) -> None:
        before = read(
            line(10, "decision-1: approved"), line(400, "seen", by="U2", thread_ts=ts(10))
        )
        edited = {"user": "U1", "ts": ts(900)}
        after = read(line(10, "decision-1: rejected", edited=edited))
        gone = read(line(10, "This message was deleted.", by="USLACKBOT", subtype="tombstone"))
        for order in ((before, after), (after, before)):
            with workspace() as memory:
                assert held(fed(memory, *order)) == {"U1": "rejected", "U2": "approved"}
        for order in ((before, gone), (gone, before)):
            with workspace() as memory:
                fed(memory, *order)
                assert held(memory) == {"U1": "approved", "U2": "approved"}
                [change] = memory.timeline("decision-1").changes
                assert change.evidence.quote is None

    def test_the_earliest_spelling_names_a_decision(self, workspace: Opened, read: Read) -> None:
        early, late = read(line(10, "Ops-7: approved")), read(line(99, "OPS-7: rejected"))
        for order in ((early, late), (late, early)):
            with workspace() as memory:
                assert fed(memory, *order).entities() == {"ops-7": "Ops-7"}


class TestReadAgain:
    """What needs context that another export holds: read in order of time it is understood at once,
    else when its own export is read again."""

    @pytest.mark.parametrize(
        ("root", "reply"),
        [
            ("decision: no freeze this year", "update: a freeze in December"),
            ("decision-1: mauve", "decision-1 is mauve"),
        ],
    )
    def test_it_is_understood_once_its_context_is_known(
        self, workspace: Opened, read: Read, root: str, reply: str
    ) -> None:
        first = read(line(10, root))
        second = read(line(500, reply, by="U2", thread_ts=ts(10)))
        with workspace() as in_order, workspace() as reversed_:
            told = answers(fed(in_order, first, second))
            assert in_order.counts()["statements"] == 2
            fed(reversed_, second, first)
            assert reversed_.counts()["statements"] == 1
            assert answers(fed(reversed_, second)) == told


class TestNobodySpeaksButWhoSpoke:
    DECISION = "decision-1: approved"

    def stated(self, memory: Memory, *workspaces: Workspace, team: Rules | None = None) -> int:
        return fed(memory, *workspaces, team=team).counts()["statements"]

    def test_programs_do_not_decide(self, memory: Memory, read: Read) -> None:
        app = {"subtype": "bot_message", "bot_id": "B1", "username": "deploybot"}
        posted = line(10, self.DECISION, by=None, **app)
        modern = line(20, self.DECISION, by="U9", bot_id="B9", app_id="A9")
        assert self.stated(memory, read(posted, modern)) == 0

    def test_programs_named_in_the_settings_decide_and_are_nobody_that_knows(
        self, memory: Memory, read: Read
    ) -> None:
        app = {"subtype": "bot_message", "bot_id": "B1", "username": "deploybot"}
        export = read(line(10, self.DECISION, by=None, **app))
        team = Rules(apps=frozenset({"B1"}))
        assert self.stated(memory, export, team=team) == 1
        assert held(memory) == {"U1": "approved", "U2": "approved"}
        shown = memory.who_knows("decision-1").decided
        assert shown is not None
        assert shown.speaker is not None
        assert shown.speaker.name == "deploybot"
        told = answers(memory)
        assert answers(fed(memory, export, team=team)) == told

    def test_a_program_is_named_by_its_own_name_not_by_one_chosen_with_a_post(
        self, memory: Memory, read: Read
    ) -> None:
        own = {"bot_id": "B1", "app_id": "A1", "bot_profile": {"name": "deploybot"}}
        posing = {"subtype": "bot_message", "bot_id": "B2", "username": "deploybot"}
        export = read(
            line(10, self.DECISION, by=None, **posing),
            line(20, "decision-2: approved", by=None, **own),
        )
        assert self.stated(memory, export, team=Rules(apps=frozenset({"deploybot"}))) == 1
        assert list(memory.entities()) == ["decision-2"]

    @pytest.mark.parametrize("named", [frozenset[str](), frozenset({"B1"})])
    def test_a_webhook_named_like_a_person_is_never_that_person(
        self, memory: Memory, read: Read, named: frozenset[str]
    ) -> None:
        app = {"subtype": "bot_message", "bot_id": "B1", "username": "ann"}
        export = read(
            line(10, self.DECISION, by=None, **app), channels=[channel("C1", "plans", ("U2",))]
        )
        assert self.stated(memory, export, team=Rules(apps=named)) == len(named)
        if named:
            assert held(memory) == {"U2": "approved"}

    def test_a_program_s_user_does_not_decide(self, memory: Memory, read: Read) -> None:
        people = [user("U1", "ann"), user("U2", "bo"), user("U3", "helper", is_bot=True)]
        reacted = [{"name": "eyes", "users": ["U3"], "count": 1}]
        export = read(
            line(10, self.DECISION, by="U3"),
            line(20, "decision-2: approved", by="U1", reactions=reacted),
            line(30, "noted", by="U3"),
            users=people,
            channels=[channel("C1", "plans", ("U1", "U2", "U3"))],
        )
        assert self.stated(memory, export, team=Rules(crowds=Crowds(1))) == 1
        assert held(memory, "decision-2") == {"U1": "approved", "U2": None}

    def test_forwarded_text_and_system_lines_state_nothing(
        self, memory: Memory, read: Read
    ) -> None:
        shared = [{"is_share": True, "text": self.DECISION, "author_id": "U2"}]
        export = read(
            line(10, "", attachments=shared),
            line(20, self.DECISION, subtype="channel_topic", topic=self.DECISION),
            line(30, self.DECISION, subtype="channel_join"),
            line(40, self.DECISION, subtype="pinned_item"),
            line(50, self.DECISION, subtype="tombstone"),
        )
        assert self.stated(memory, export) == 0

    def test_a_preview_a_repeat_and_a_reply_count_are_no_statements(
        self, memory: Memory, read: Read
    ) -> None:
        said = line(10, f"{self.DECISION} https://ex.test/a")
        preview = line(11, "", subtype="message_changed", by=None,
                       message={**said, "attachments": [{"title": "A"}]}, previous_message=said)  # fmt: skip
        card = line(12, "", subtype="message_changed", by=None,
                    message={"bot_id": "B7", "subtype": "bot_message", "ts": ts(5), "text": "ticket 9"})  # fmt: skip
        replied = line(
            13, "", subtype="message_replied", by=None, message={**said, "reply_count": 1}
        )
        assert self.stated(memory, read(said, said, preview, card, replied)) == 1

    def test_a_reply_shown_to_the_room_is_one_statement_for_the_room(
        self, memory: Memory, read: Read
    ) -> None:
        root = line(10, "plan", by="U1")
        shown = line(
            20, self.DECISION, by="U2", subtype="thread_broadcast", thread_ts=ts(10), root=root
        )
        people = [user(id) for id in ("U1", "U2", "U3")]
        export = read(
            root, shown, users=people, channels=[channel("C1", "plans", ("U1", "U2", "U3"))]
        )
        assert self.stated(memory, export) == 1
        assert set(held(memory)) == {"U1", "U2", "U3"}
        assert set(held(memory).values()) == {"approved"}

    def test_a_skin_tone_is_no_other_person(self, memory: Memory, read: Read) -> None:
        given = [{"name": "+1::skin-tone-4", "users": ["U2"]}, {"name": "+1", "users": ["U2"]}]
        fed(memory, read(line(10, self.DECISION, reactions=given)), team=Rules(crowds=Crowds(1)))
        grades = {p.person.id: p.grade for p in memory.who_knows("decision-1").people}
        assert grades == {"U1": "stated", "U2": "acknowledged"}


class TestWhatAnExportLacks:
    def test_people_that_no_index_lists_speak_and_perceive(
        self, memory: Memory, read: Read
    ) -> None:
        reacted = [{"name": "eyes", "users": ["W8"], "count": 1}]
        export = read(
            line(10, "decision-1: approved", by="W9", reactions=reacted),
            line(20, "fine", by="W7"),
            channels=[channel("C1", "plans", ("U1",))],
        )
        fed(memory, export)
        assert held(memory) == dict.fromkeys(("U1", "W7", "W8", "W9"), "approved")

    def test_a_reply_without_its_root_is_heard(self, memory: Memory, read: Read) -> None:
        fed(memory, read(line(10, "decision-1: approved", by="W9", thread_ts=ts(1))))
        assert held(memory)["W9"] == "approved"

    def test_in_a_room_without_a_list_of_members_whoever_wrote_there_was_there(
        self, memory: Memory, read: Read
    ) -> None:
        room = {"id": "C1", "name": "plans", "created": 1_700_000_000}
        export = read(
            line(10, "decision-1: approved"), line(99_999, "hi", by="U2"), channels=[room]
        )
        assert held(fed(memory, export)) == {"U1": "approved", "U2": "approved"}

    def test_ids_and_names_as_long_as_they_come_survive(self, memory: Memory, read: Read) -> None:
        name = "ein-sehr-langer-name-" * 4
        who, other = "U" + "9" * 60, "U" + "8" * 60
        edited = {"user": who, "ts": ts(500)}
        files = {
            "users.json": [user(who), user(other)],
            f"{name}/2023-11-14.json": [
                line(10, "decision: no freeze this year", by=who, edited=edited),
                line(600, "told <@" + other + "> that decision-1 is approved", by=who),
                line(700, "ok", by=other, thread_ts=ts(10)),
            ],
        }
        export = read(files=files)
        told = answers(fed(memory, export))
        assert memory.counts()["statements"] == 2
        assert answers(fed(memory, export)) == told


class TestSettings:
    def test_quotes_can_be_kept_nowhere(
        self, memory: Memory, database: redis.Redis, read: Read
    ) -> None:
        said = line(10, "we decided that decision-1: approved by the xyzzy committee")
        fed(memory, read(said), team=Rules(quotes=False))
        [change] = memory.timeline("decision-1").changes
        assert change.evidence.quote is None
        assert "we decided" not in repr(graphs(database, memory))

    def test_otherwise_the_world_keeps_them_and_no_mind_does(
        self, memory: Memory, database: redis.Redis, read: Read
    ) -> None:
        fed(memory, read(line(10, "we decided that decision-1: approved")))
        holding = [
            key for key, rows in graphs(database, memory).items() if "we decided" in repr(rows)
        ]
        assert holding == [f"so:{{{memory.sid}}}:world"]

    def test_a_line_is_remembered_without_its_text(self, memory: Memory, read: Read) -> None:
        fed(memory, read(line(10, "xyzzy, we decided that decision-1: approved")))
        assert "xyzzy" not in repr(memory.noted("heard:C1"))


class TestAtScale:
    def test_3000_messages_are_read_at_the_pace_of_10000_a_minute(
        self, memory: Memory, read: Read
    ) -> None:
        export = read(files=histories.busy(3000))
        before = time.monotonic()
        fed(memory, export)
        assert memory.counts()["statements"] > 300
        assert time.monotonic() - before < 60 * 3000 / 10_000

    def test_remembering_one_more_line_does_not_write_the_room_again(
        self, memory: Memory, read: Read, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        export = read(files=histories.export(histories.history(3, 80)))
        bot = Bot(memory, rules.Rules())
        replay(bot, export)
        worked_out = list[object]()
        monkeypatch.setattr(memory, "conclude", lambda *args: worked_out.append(args))
        bot.settle()
        assert worked_out == []
        bot.hear(export.heard[-1])
        bot.settle()
        assert len(worked_out) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from bot.adapters import exports
from bot.app import Bot, replay
from engine import Memory
from engine.store import Store
from extraction.rules import Rules

export, state, after = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])

change = Store.change

def mortal(self, *args):
    global after
    after -= 1
    if after < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return change(self, *args)

Store.change = mortal
workspace = exports.read(export)
with Memory("killed", state=state) as memory:
    replay(Bot(memory, Rules()), workspace)
"""


class TestInterrupted:
    @pytest.mark.parametrize("seed", range(3))
    def test_killed_at_any_point_and_read_again_it_is_as_if_nothing_had_happened(
        self, tmp_path: Path, workspace: Opened, seed: int
    ) -> None:
        files = histories.export(histories.history(seed, 80))
        export = as_folder(tmp_path / "export", files)
        state = tmp_path / "state"
        after = random.Random(seed).randint(20, 110)
        command = [sys.executable, "-c", KILLED, str(export), str(state), str(after)]
        root = str(Path(__file__).parents[2])
        died = subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": root})
        assert died.returncode == -signal.SIGKILL
        with Memory("killed", state=state) as survivor, workspace() as undisturbed:
            told = answers(fed(undisturbed, exports.read(export)))
            assert answers(fed(survivor, exports.read(export))) == told
