"""What only a live chat says: edits, deletions, reactions added and taken back, in any order.

Who perceives what is asked of a memory that a real bot feeds; section B of the Slack research and
rule 1 of the product are the specification. The order in which things arrive never shows.
"""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import redis

from bot import app, lines
from bot.app import Bot, Rules
from bot.chat import Edit, Enter, Exit, Heard, Message, Person, Reaction, Room
from bot.perception import Crowds
from engine import Memory
from extraction import rules
from tests.bot.test_replay import graphs

type Opened = Callable[[], AbstractContextManager[Memory]]

T0 = datetime(2026, 3, 2, 9, tzinfo=UTC)
PEOPLE = ("UA", "UB", "UC", "UD", "UE")
PLANS = Room(id="C1", name="plans", members=frozenset(PEOPLE))
HALL = Room(id="C2", name="hall", members=frozenset(PEOPLE))  # too large for presence to count
SECRET = Room(id="G1", name="secret", kind="private", members=frozenset({"UA", "UB", "UC"}))
PAIR = Room(id="D1", name="pair", kind="direct", members=frozenset({"UA", "UB"}))
TEAM = Rules(crowds=Crowds(10, {"C2": 1}))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        many = metafunc.config.getoption("--thorough")
        metafunc.parametrize("seed", range(200 if many else 8))


def at(second: float) -> datetime:
    return T0 + timedelta(seconds=second)


def ts(second: float) -> str:
    return f"{at(second).timestamp():.6f}"


def said(second: float, by: str, text: str, room: str = "C1", **more: Any) -> Message:
    if "thread" in more:
        more["thread"] = ts(more["thread"])
    fields = {"room": room, "ts": ts(second), "at": at(second), "author": by, "text": text}
    return Message.model_validate(fields | more)


def edited(old: Message, second: float, text: str, by: str | None = None) -> Message:
    edit = Edit(at=at(second), by=by or old.author or "")
    return old.model_copy(update={"edited": edit, "text": text, "reactions": {}})


def deleted(old: Message, second: float | None) -> Message:
    return old.model_copy(
        update={
            "removed": True, "author": None, "text": "", "reactions": {},
            "gone": None if second is None else at(second),
        }
    )  # fmt: skip


def reacted(to: Message, second: float, who: str, name: str = "eyes") -> Reaction:
    return Reaction(room=to.room, ts=to.ts, at=at(second), who=who, name=name)


def took_back(to: Message, second: float, who: str, name: str = "eyes") -> Reaction:
    return reacted(to, second, who, name).model_copy(update={"removed": True})


def listening(memory: Memory, rooms: Iterable[Room] = (PLANS, HALL, SECRET, PAIR)) -> Bot:
    """A bot in rooms that people are in since before anything was said."""
    bot = Bot(memory, rules.Rules(), TEAM)
    bot.meet([Person(id=p, name=p[1:]) for p in PEOPLE], rooms, at(-100))
    for room in rooms:
        for person in sorted(room.members or ()):
            bot.hear(Enter(id=f"in-{room.id}-{person}", at=at(-200), person=person, room=room.id))
    return bot


def heard(memory: Memory, *things: Heard) -> Bot:
    bot = listening(memory)
    for one in things:
        bot.hear(one)
        bot.settle()
    return bot


def holders(
    memory: Memory, entity: str = "decision-1", when: float | None = None
) -> dict[str, str]:
    """Who holds which value."""
    moment = None if when is None else at(when)
    values = {p: memory.believes(p, entity, at=moment).value for p in PEOPLE}
    return {person[1:]: value for person, value in values.items() if value is not None}


def grade(memory: Memory, person: str, entity: str = "decision-1") -> str | None:
    return {p.person.id: p.grade for p in memory.who_knows(entity).people}.get(person)


def misinformed(memory: Memory) -> dict[str, str]:
    return {one.person.id[1:]: one.believes for one in memory.misinformed().beliefs}


APPROVED = said(0, "UA", "decision-1: approved")
IN_HALL = said(0, "UA", "decision-1: approved", "C2")


class TestEdits:
    def test_who_had_reacted_or_replied_holds_the_old_value_and_nobody_else_is_misinformed(
        self, memory: Memory
    ) -> None:
        heard(
            memory,
            APPROVED,
            reacted(APPROVED, 60, "UB"),
            said(120, "UC", "thanks", thread=0),
            edited(APPROVED, 600, "decision-1: rejected"),
            reacted(APPROVED, 700, "UD"),
        )
        assert holders(memory) == {
            "A": "rejected", "B": "approved", "C": "approved", "D": "rejected", "E": "rejected",
        }  # fmt: skip
        assert misinformed(memory) == {"B": "approved", "C": "approved"}
        assert [c.value for c in memory.timeline("decision-1").changes] == ["approved", "rejected"]

    def test_the_editor_is_informed_whoever_it_is_and_the_author_keeps_what_was_written(
        self, memory: Memory
    ) -> None:
        heard(memory, APPROVED, edited(APPROVED, 600, "decision-1: rejected", by="UB"))
        assert holders(memory)["B"] == "rejected"
        assert misinformed(memory) == {"A": "approved"}

    @pytest.mark.parametrize("text", ["never mind", "decision-2: paused"])
    def test_an_edit_that_no_longer_says_it_informs_its_editor(
        self, memory: Memory, text: str
    ) -> None:
        heard(memory, APPROVED, reacted(APPROVED, 60, "UB"), edited(APPROVED, 600, text, by="UC"))
        assert holders(memory, when=500) == dict.fromkeys("ABCDE", "approved")
        assert holders(memory) == {"A": "approved", "B": "approved"}
        assert memory.truth("decision-1").value is None

    def test_who_had_engaged_is_not_informed_by_what_an_edit_adds(self, memory: Memory) -> None:
        plain = said(0, "UA", "about the plan")
        heard(
            memory,
            plain,
            said(30, "UB", "thanks", thread=0),
            reacted(plain, 40, "UC"),
            reacted(plain, 50, "UD"),
            took_back(plain, 60, "UD"),
            edited(plain, 600, "decision-1: approved"),
        )
        assert holders(memory) == {"A": "approved", "D": "approved", "E": "approved"}

    def test_within_a_minute_it_replaces_the_message(self, memory: Memory) -> None:
        heard(
            memory,
            APPROVED,
            reacted(APPROVED, 5, "UB"),
            edited(APPROVED, 20, "decision-1: paused, decision-2: done"),
            edited(APPROVED, 50, "decision-1: rejected"),
        )
        assert holders(memory) == dict.fromkeys("ABCDE", "rejected")
        assert holders(memory, when=1) == dict.fromkeys("ABCDE", "rejected")
        assert memory.counts()["statements"] == 1
        assert grade(memory, "UB") == "acknowledged"

    def test_a_report_and_a_private_word_that_are_edited_move_who_was_merely_exposed(
        self, memory: Memory
    ) -> None:
        told = said(0, "UA", "told <@UE> that decision-1 is approved", "G1")
        private = said(0, "UA", "decision-2: approved", "D1")
        heard(
            memory,
            told,
            reacted(told, 10, "UB"),
            edited(told, 600, "told <@UE> that decision-1 is rejected"),
            private,
            edited(private, 600, "decision-2: rejected"),
        )
        thinks = {p: memory.believes([p, "UE"], "decision-1").value for p in ("UA", "UB", "UC")}
        assert thinks == {"UA": "rejected", "UB": "approved", "UC": "rejected"}
        assert holders(memory, "decision-2") == {"A": "rejected", "B": "rejected"}

    def test_who_had_answered_a_private_word_keeps_it(self, memory: Memory) -> None:
        private = said(0, "UA", "decision-2: approved", "D1")
        answer = said(60, "UB", "fine", "D1")
        heard(memory, private, answer, edited(private, 600, "decision-2: rejected"))
        assert holders(memory, "decision-2") == {"A": "rejected", "B": "approved"}

    @pytest.mark.parametrize("edit", [None, Edit(at=at(600), by="UA")])
    def test_an_edit_with_the_same_text_changes_nothing_that_anybody_believes(
        self, memory: Memory, edit: Edit | None
    ) -> None:
        again = APPROVED.model_copy(update={"edited": edit})
        heard(memory, APPROVED, reacted(APPROVED, 60, "UB"), again)
        assert holders(memory) == dict.fromkeys("ABCDE", "approved")
        assert len(memory.timeline("decision-1").changes) == 1
        assert misinformed(memory) == {}


class TestReactions:
    def test_a_reaction_acknowledges_from_when_it_was_given(self, memory: Memory) -> None:
        heard(memory, IN_HALL, reacted(IN_HALL, 3600, "UB"))
        assert holders(memory, when=3599) == {"A": "approved"}
        assert holders(memory, when=3600) == {"A": "approved", "B": "approved"}
        assert grade(memory, "UB") == "acknowledged"

    def test_taken_back_it_leaves_what_the_rest_shows(self, memory: Memory) -> None:
        heard(
            memory,
            APPROVED,
            *(reacted(APPROVED, 60, who) for who in ("UB", "UC")),
            said(90, "UC", "thanks", thread=0),
            *(took_back(APPROVED, 120, who) for who in ("UB", "UC")),
        )
        assert holders(memory) == dict.fromkeys("ABCDE", "approved")
        assert (grade(memory, "UB"), grade(memory, "UC")) == ("exposed", "engaged")

    def test_taken_back_where_nothing_else_shows_it_they_are_no_witness_from_then_on(
        self, memory: Memory
    ) -> None:
        heard(memory, IN_HALL, reacted(IN_HALL, 3600, "UB"), took_back(IN_HALL, 7200, "UB"))
        assert holders(memory, when=7199) == {"A": "approved", "B": "approved"}
        assert holders(memory) == {"A": "approved"}

    def test_in_two_skin_tones_it_is_there_until_both_are_taken_back(self, memory: Memory) -> None:
        toned = "+1::skin-tone-4"
        bot = heard(
            memory,
            IN_HALL,
            reacted(IN_HALL, 60, "UC", toned),
            reacted(IN_HALL, 61, "UC", "+1"),
            took_back(IN_HALL, 62, "UC", "+1"),
        )
        assert grade(memory, "UC") == "acknowledged"
        bot.hear(took_back(IN_HALL, 63, "UC", toned))
        bot.settle()
        assert holders(memory) == {"A": "approved"}

    def test_one_that_was_met_without_its_time_can_be_taken_back(self, memory: Memory) -> None:
        met = IN_HALL.model_copy(update={"reactions": {"+1": ("UB", "UC")}})
        heard(memory, met, took_back(IN_HALL, 60, "UB", "+1::skin-tone-2"))
        assert holders(memory, when=59) == dict.fromkeys("ABC", "approved")
        assert holders(memory) == {"A": "approved", "C": "approved"}

    def test_those_of_programs_and_of_people_nobody_knows_show_nothing(
        self, memory: Memory
    ) -> None:
        bot = listening(memory)
        bot.meet([Person(id="UBOT", name="bot", bot=True)], [])
        for one in (IN_HALL, reacted(IN_HALL, 60, "UBOT"), reacted(IN_HALL, 60, "UNEW")):
            bot.hear(one)
        bot.settle()
        assert {p.id for p in memory.people()} == {*PEOPLE, "UBOT"}
        assert holders(memory) == {"A": "approved"}

    def test_it_is_about_what_stood_there_then(self, memory: Memory) -> None:
        heard(
            memory,
            IN_HALL,
            reacted(IN_HALL, 60, "UB"),
            edited(IN_HALL, 600, "decision-1: rejected"),
            reacted(IN_HALL, 700, "UB", "tada"),
            reacted(IN_HALL, 700, "UC"),
            took_back(IN_HALL, 800, "UB", "tada"),
        )
        assert holders(memory, when=750) == {"A": "rejected", "B": "rejected", "C": "rejected"}
        assert holders(memory) == {"A": "rejected", "B": "approved", "C": "rejected"}

    def test_one_to_a_message_that_was_not_heard_yet_waits_for_it(self, memory: Memory) -> None:
        heard(memory, reacted(IN_HALL, 60, "UB"), IN_HALL)
        assert grade(memory, "UB") == "acknowledged"


class TestDeletions:
    def test_nobody_unlearns_and_the_text_is_erased(self, memory: Memory) -> None:
        heard(memory, APPROVED, deleted(APPROVED, 600))
        assert holders(memory) == dict.fromkeys("ABCDE", "approved")
        shown = memory.who_knows("decision-1").decided
        assert shown is not None
        assert (shown.quote, shown.link) == (None, None)

    def test_it_is_gone_from_when_it_was_deleted(self, memory: Memory) -> None:
        alone = Room(id="C3", name="alone", members=frozenset({"UA"}))
        bot = listening(memory, [alone])
        wrote = said(0, "UA", "decision-1: approved", "C3")
        bot.hear(wrote)
        bot.hear(deleted(wrote, 600))
        bot.settle()
        assert memory.truth("decision-1", at=at(599)).value == "approved"
        assert memory.truth("decision-1").value is None

    def test_what_is_written_there_afterwards_shows_nobody_saw_it(self, memory: Memory) -> None:
        heard(
            memory,
            IN_HALL,
            said(500, "UB", "ok", "C2", thread=0),
            deleted(IN_HALL, 600),
            said(700, "UC", "what was it?", "C2", thread=0),
        )
        assert holders(memory) == {"A": "approved", "B": "approved"}

    def test_a_tombstone_and_a_deletion_are_one(self, memory: Memory, database: Any) -> None:
        heard(memory, APPROVED, deleted(APPROVED, 600))
        once = graphs(database, memory)
        again = Bot(memory, rules.Rules(), TEAM)
        for one in (deleted(APPROVED, None), deleted(APPROVED, 600)):
            again.hear(one)
        again.settle()
        assert graphs(database, memory) == once


class TestThreads:
    def test_a_late_reply_is_a_sign_after_months(self, memory: Memory) -> None:
        later = 90 * 24 * 3600.0
        heard(memory, IN_HALL, said(later, "UB", "ok", "C2", thread=0))
        assert holders(memory) == {"A": "approved", "B": "approved"}

    def test_a_reply_before_its_root_ends_as_if_it_had_come_after_it(self, memory: Memory) -> None:
        root = said(0, "UB", "plan?", "C2")
        reply = said(60, "UA", "decision-1: approved", "C2", thread=0)
        heard(memory, reply, root)
        assert holders(memory) == {"A": "approved", "B": "approved"}

    def test_a_mention_in_a_private_room_reaches_who_came_before_it_and_not_who_comes_later(
        self, memory: Memory
    ) -> None:
        root = said(0, "UB", "plan?", "G1")
        reply = said(60, "UA", "<@UD> <@UE> decision-1: approved", "G1", thread=0)
        bot = heard(memory, root, reply)
        assert holders(memory) == {"A": "approved", "B": "approved"}
        for person, when in (("UD", 90), ("UE", 30)):  # the second was delivered late
            bot.hear(Enter(id=f"late-{person}", at=at(when), person=person, room="G1"))
            bot.settle()
        assert holders(memory) == {"A": "approved", "B": "approved", "E": "approved"}
        bot.hear(said(120, "UD", "got it", "G1", thread=0))
        bot.settle()
        assert holders(memory, when=119) == {"A": "approved", "B": "approved", "E": "approved"}
        assert holders(memory)["D"] == "approved"

    def test_who_is_mentioned_and_writes_hours_later_elsewhere_in_the_room_has_seen_it(
        self, memory: Memory
    ) -> None:
        asked = said(0, "UA", "<@UB> decision-1: approved", "C2")
        heard(memory, asked, said(3 * 3600, "UB", "morning", "C2"))
        assert holders(memory) == {"A": "approved", "B": "approved"}

    def test_so_has_who_is_mentioned_by_an_edit_and_writes_after_it(self, memory: Memory) -> None:
        days = 3 * 24 * 3600.0
        heard(
            memory,
            IN_HALL,
            edited(IN_HALL, days, "<@UB> <@UC> decision-1: rejected"),
            said(days, "UB", "hello", "C2"),
            said(days + 7200, "UB", "morning", "C2"),
        )
        assert holders(memory) == {"A": "rejected", "B": "rejected"}


# ------------------------------------------------------------------------------- in any order


def history(seed: int, length: int = 45) -> list[tuple[float, Heard]]:
    """Things heard, each with the second at which it happened."""
    pick = random.Random(seed)
    found: list[tuple[float, Heard]] = []
    written: list[Message] = []
    second, edits = 0.0, set[tuple[str, str, float]]()
    # Sometimes all in a rush, so that whoever comes late pushes others out of the next 20 lines.
    pauses, rooms = pick.choice([
        ([1, 7, 40, 90, 700, 2500, 30_000], [PLANS, HALL, SECRET, PAIR]),
        ([1, 2, 9], [HALL, HALL, PLANS]),
    ])  # fmt: skip
    for number in range(length):
        second += pick.choice(pauses)
        room = pick.choice(rooms)
        people = sorted(room.members or ())
        roll = pick.random()
        if roll < 0.5 or not written:
            more: dict[str, Any] = {}
            roots = [m for m in written if m.room == room.id and m.thread is None]
            if roots and pick.random() < 0.45:
                root = pick.choice(roots[-3:])
                more = {"thread": (root.at - T0).total_seconds()}
                more["broadcast"] = pick.random() < 0.2
            if pick.random() < 0.2:
                more["reactions"] = {"eyes": (pick.choice(people),)}
            one = said(second, pick.choice(people), words(pick), room.id, **more)
            written.append(one)
            found.append((second, one))
        elif roll < 0.68:
            old = pick.choice(written[-6:])
            when = (old.at - T0).total_seconds() + pick.choice([20, 50, 61, 700, 9000])
            by = old.author if pick.random() < 0.8 else pick.choice(PEOPLE)
            if (old.room, old.ts, when) not in edits:
                edits.add((old.room, old.ts, when))
                found.append((when, edited(old, when, words(pick), by)))
        elif roll < 0.74:
            old = pick.choice(written[-4:])
            found.append((second, deleted(old, second)))
        elif roll < 0.96:
            old, who = pick.choice(written[-5:]), pick.choice(PEOPLE)
            name = pick.choice(["eyes", "eyes::skin-tone-2", "+1"])
            found.append((second, reacted(old, second, who, name)))
            if pick.random() < 0.5:
                when = second + pick.choice([5, 500, 9000])
                found.append((when, took_back(old, when, who, name)))
        else:
            moves: list[type[Enter] | type[Exit]] = [Enter, Exit]
            kind, who, place = pick.choice(moves), pick.choice(PEOPLE), pick.choice([PLANS, SECRET])
            move = kind(id=f"move-{number}", at=at(second), person=who, room=place.id)
            found.append((second, move))
    return sorted(found, key=lambda one: one[0])


def words(pick: random.Random) -> str:
    key, value = f"decision-{pick.randint(1, 3)}", pick.choice(["approved", "rejected", "paused"])
    other = pick.choice(PEOPLE)
    return pick.choice([
        "ok", "thanks", f"<@{other}> have a look", f"{key}: {value}", f"{key}: {value}",
        f"<@{other}> {key}: {value}", f"{key}: {value}, OPS-7: {pick.choice(['done', 'open'])}",
        f"I think {key} is {value}", f"told <@{other}> that {key} is {value}",
    ])  # fmt: skip


def everything(memory: Memory) -> dict[str, Any]:
    """What anybody believes, at any time, and what is told about it."""
    found: dict[str, Any] = {"counts": memory.counts(), "wrong": memory.misinformed()}
    for entity in memory.entities():
        found[f"who knows {entity}"] = memory.who_knows(entity)
        found[f"timeline {entity}"] = memory.timeline(entity)
        for person in PEOPLE:
            for when in (None, 3000, 60_000):
                moment = None if when is None else at(when)
                belief = memory.believes(person, entity, at=moment)
                found[f"{person} on {entity} at {when}"] = belief.value
    return {
        name: (one.model_dump_json() if hasattr(one, "model_dump_json") else one)
        for name, one in found.items()
    }


def told(memory: Memory) -> str:
    return json.dumps(everything(memory), sort_keys=True).replace(memory.sid, "<sid>")


def kept(database: redis.Redis, memory: Memory) -> list[str]:
    """Every node of every graph, but for people of whom nothing is said: rooms name them, too."""
    found = []
    query = "MATCH (n) UNWIND keys(n) AS key WITH n, key ORDER BY key RETURN id(n), labels(n), key, n[key]"
    for graph in sorted(database.keys(memory._store.key("*"))):
        name = str(graph).rpartition(":")[2]
        if database.type(graph) == "graphdata":
            nodes: dict[int, list[str]] = defaultdict(list)
            rows = database.execute_command("GRAPH.RO_QUERY", graph, query)[1]  # type: ignore[no-untyped-call]
            for id, label, key, value in rows:
                nodes[id].append(f"{label} {key}={value}")
            found += [f"{name}: {node}" for node in sorted(map(repr, nodes.values()))]
    return [line.replace(memory.sid, "<sid>") for line in found]


def fed(memory: Memory, things: Sequence[Heard], pick: random.Random | None = None) -> None:
    """Everything heard; with `pick`, settled again and again, and by several bots in turn."""
    bot = listening(memory)
    for one in things:
        bot.hear(one)
        if pick is not None and pick.random() < 0.4:
            bot.settle()
        if pick is not None and pick.random() < 0.1:
            bot.settle()
            bot.begin_anew()
    bot.settle()


class TestInAnyOrder:
    def test_it_ends_as_if_everything_had_come_once_and_in_order(
        self, workspace: Opened, database: redis.Redis, seed: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """In order, it is worked out at the end, from all lines; otherwise as they come, from those
        that bear upon each."""
        things = [one for _, one in history(seed)]
        pick = random.Random(seed)
        mixed = pick.sample([*things, *things], 2 * len(things))
        with workspace() as once, workspace() as anyhow:
            fed(anyhow, mixed, pick)
            monkeypatch.setattr(app, "MANY", 0)
            fed(once, things)
            assert told(anyhow) == told(once)
            ours, theirs = kept(database, anyhow), kept(database, once)
            assert sorted(set(ours) ^ set(theirs)) == []
            assert ours == theirs

    def test_working_it_all_out_again_changes_nothing(
        self, memory: Memory, database: redis.Redis, seed: int
    ) -> None:
        things = [one for _, one in history(seed + 1000, 60)]
        pick = random.Random(seed)
        fed(memory, pick.sample(things, len(things)), pick)
        piecemeal = kept(database, memory)
        for room in (PLANS, HALL, SECRET, PAIR):
            one = lines.everything(room.id, T0)
            memory.note(one.key, one.notes)
            Bot(memory, rules.Rules(), TEAM).settle([room.id])
        assert kept(database, memory) == piecemeal


# ------------------------------------------------------------------------------- at length


class TestOneMoreLine:
    def test_only_what_it_can_bear_upon_is_read_again(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bot, pick = listening(memory), random.Random(7)
        for number in range(1500):
            text = words(pick) if pick.random() < 0.2 else "ok"
            bot.hear(said(number * 600, pick.choice(PEOPLE), text, "C2"))
        bot.settle()
        read: list[str] = []
        noted_within, noted = memory.noted_within, memory.noted

        def within(spans: Any) -> list[list[str]]:
            found = noted_within(spans)
            read.extend(note for some in found for note in some)
            return found

        def all_noted(key: str) -> list[str]:
            read.extend(found := noted(key))
            return found

        monkeypatch.setattr(memory, "noted_within", within)
        monkeypatch.setattr(memory, "noted", all_noted)
        bot.hear(said(1500 * 600, "UA", "decision-1: done", "C2"))
        bot.settle()
        assert 0 < len(read) < 450  # 24 hours are 144 lines

    def test_no_line_is_held_in_memory(self, memory: Memory) -> None:
        bot = listening(memory)
        for second in range(50):
            bot.hear(said(second, "UA", "canary", thread=0))
        bot.settle()
        held = {name: value for name, value in vars(bot).items() if name not in UNBOUND}
        assert ts(33) not in repr(held)


UNBOUND = {"_memory", "_extractor"}


class TestForgetting:
    def test_what_others_were_seen_by_stays_and_nothing_names_who_is_forgotten(
        self, memory: Memory, database: Any
    ) -> None:
        bot = heard(
            memory,
            IN_HALL,
            said(60, "UB", "<@UC> see this", "C2", thread=0),
            said(90, "UD", "<@UB> thanks", "C2", thread=0),
            reacted(IN_HALL, 100, "UB"),
            said(120, "UB", "decision-2: done", "C2"),
            edited(IN_HALL, 900, "decision-1: rejected", by="UB"),
        )
        assert holders(memory)["D"] == "approved"
        memory.forget("UB", partial(lines.without, person="UB"))
        one = lines.everything("C2", T0)
        memory.note(one.key, one.notes)
        bot.begin_anew()
        bot.settle(["C2"])
        assert memory.believes("UD", "decision-1").value == "approved"
        notes = [
            note
            for key in database.keys(memory._store.key("*"))
            if database.type(key) == "zset"
            for note in database.zrange(key, 0, -1)
        ]
        assert len(notes) > 10
        assert [note for note in notes if "UB" in note] == []
