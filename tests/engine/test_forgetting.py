"""Forgetting, leaving out, naming who decides, and confirming what means the same."""

import itertools
import json
import random
import re
import subprocess
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from falkordb.graph import Graph

import engine.memory
from engine import Memory, Reader, UnknownEntity, UnknownPerson
from engine.directory import PersonInfo
from engine.events import Enter, Notice, Retract, Say, Tell, Unsee
from engine.forgetting import removals
from engine.queue import Entry
from engine.reading import RoomInfo
from engine.words import part_of, renamed, renamed_where
from tests.engine.conftest import after

CANARIES = ("ZCANARY", "mention-of-z", "secret-of-z", "told-z", "quote-of-z")


def traces(memory: Memory, words: tuple[str, ...] = CANARIES) -> list[str]:
    """Every key, graph, note and database user in which one of the words stands."""
    client: Any = memory._store._node
    found = []
    for key in client.scan_iter("*"):
        match client.type(key):
            case "graphdata":
                graph = Graph(client, key)
                nodes = graph.ro_query("MATCH (n) RETURN labels(n), properties(n)").result_set
                edges = graph.ro_query("MATCH ()-[r]->() RETURN properties(r)").result_set
                text = f"{key} {nodes} {edges}"
            case "zset":
                text = f"{key} {client.zrange(key, 0, -1)}"
            case "hash":
                text = f"{key} {client.hgetall(key)}"
            case "stream":
                text = f"{key} {client.xrange(key)}"
            case _:
                text = f"{key}"
        found += [f"{word} in {key}" for word in words if word in text]
    return found + [f"{word} in the ACL" for word in words if word in str(client.acl_list())]


def peopled(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "ZCANARY", "Cid"], "room")
    memory.say("ZCANARY", "d-1", "approved", room="room")
    memory.say("Bob", "d-1", "rejected", room="room")
    memory.say("ZCANARY", "d-2", "mention-of-z", room="room", decides=False)
    memory.tell("ZCANARY", "Ann", "d-3", "secret-of-z")
    memory.tell("Ann", "ZCANARY", "d-3", "told-z")
    memory.tell("Ann", ["ZCANARY", "Bob"], "d-4", "told-both")
    memory.report("Ann", "ZCANARY", "d-1", "rejected", room="room")
    memory.set("d-5", "done", by="ZCANARY", room="room")
    crowd = [f"p{i}" for i in range(40)]
    memory.join([*crowd, "ZCANARY"], "hall")  # more than stand in a row: a large audience
    memory.say("p1", "d-6", "big", room="hall")
    at = memory.timeline("d-6").changes[0].evidence.at
    memory.record(Notice(id="seen-ZCANARY", at=at, person="ZCANARY", event="x", room="hall"))
    quoted = Say(
        id="quoted", at=at, speaker="Ann", room="room", entity="d-7", value="x",
        quote="<@ZCANARY> says quote-of-z", mentions=("ZCANARY",),
    )  # fmt: skip
    memory.record(quoted)
    memory.note("heard:room", {'{"author":"ZCANARY"}': at})
    for number, by in enumerate(("ZCANARY", "Ann")):
        body = '{"text": "to <@ZCANARY>"}'
        memory.queue().put(Entry(f"room/{number}", "room", number, by, body, number))


def told(memory: Memory) -> list[object]:
    chains = (["Ann"], ["Bob", "Ann"], ["Cid"])
    decided = [memory.truth(entity).value for entity in ("d-1", "d-5", "d-6", "d-7")]
    held = [memory.believes(c, "d-1", mind_only=m).value for c in chains for m in (False, True)]
    nested = memory.believes(["p3", "p4"], "d-6", mind_only=True).value
    return [decided, held, nested, memory.believes("Bob", "d-4", mind_only=True).value]


def test_nothing_is_left_of_who_was_forgotten_before_and_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "s"
    with Memory("canary", state=state) as memory:
        peopled(memory)
        with memory.view("ZCANARY") as view:
            view.believes("d-1")
        before = told(memory)
        assert traces(memory)

        memory.forget("ZCANARY")

        assert traces(memory) == []
        assert told(memory) == before  # what others hold, and what was decided, stays
        decided = memory.timeline("d-1").changes[0].evidence
        assert decided.speaker is not None
        assert decided.speaker.name == "somebody"
        with pytest.raises(UnknownPerson):
            memory.believes("ZCANARY", "d-1")
    with Memory("canary", state=state) as memory:
        assert traces(memory) == []
        assert told(memory) == before
    found = subprocess.run(["grep", "-rla", "ZCANARY", state], capture_output=True, text=True)
    assert found.stdout == ""


def test_a_room_forgets_that_its_newest_line_named_them(memory: Memory) -> None:
    peopled(memory)
    at = memory.timeline("d-6").changes[0].evidence.at + timedelta(days=1)
    memory.record(Enter(id="enter-ZCANARY-hall", at=at, person="ZCANARY", room="hall"))

    memory.forget("ZCANARY")

    assert traces(memory) == []
    memory.record(Enter(id="later", at=at, person="Bob", room="hall"))
    assert "Bob" in {id for room in memory.rooms() if room.id == "hall" for id in room.here}


def test_who_was_forgotten_is_not_recorded_again(memory: Memory) -> None:
    peopled(memory)
    memory.forget("ZCANARY")
    at = memory.timeline("d-6").changes[0].evidence.at

    memory.record(Enter(id="back", at=at, person="ZCANARY", room="room"))
    memory.say("ZCANARY", "d-8", "again", room="room")
    memory.tell("Ann", ["ZCANARY", "Bob"], "d-9", "both")

    assert traces(memory, ("ZCANARY",)) == []
    assert memory.believes("Bob", "d-9").value == "both"
    with pytest.raises(UnknownEntity):
        memory.truth("d-8")
    memory.forget("ZCANARY")  # asked again, it has nothing left to do


def test_who_wants_to_be_left_out_is_in_no_answer_count_or_plan(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "Cid"], "room")
    memory.say("Ann", "d-1", "x", room="room")
    memory.leave(["Ann", "Cid"])
    memory.say("Bob", "d-1", "y", room="room")

    memory.optout("Ann")

    answers = (
        memory.who_knows("d-1"),
        memory.misinformed(),
        memory.timeline("d-1"),
        memory.plan_announcements("d-1"),
    )
    assert not any("Ann" in answer.model_dump_json() for answer in answers)
    assert memory.plan_announcements("d-1").wrong_before == 1
    assert "Ann" not in {p.id for p in memory.people()}
    for ask in (lambda: memory.believes("Ann", "d-1"), lambda: memory.handoff_delta("Ann", "Bob")):
        with pytest.raises(UnknownPerson):
            ask()
    memory.optout("Ann", False)
    assert memory.believes("Ann", "d-1").value == "x"


def test_only_those_named_decide_from_then_on(memory: Memory) -> None:
    memory.join(["Ann", "Bob", "Cid"], "room")
    memory.say("Ann", "d-1", "x", room="room")
    memory.say("Bob", "d-1", "y", room="room")
    assert memory.truth("d-1").value == "y"

    memory.authorise("d-1", ["Ann"])

    assert memory.truth("d-1").value == "x"
    assert memory.believes("Bob", "d-1").value == "y"  # what he says himself is what he believes
    assert memory.believes("Cid", "d-1", mind_only=True).value == "x"
    memory.authorise("d-1", ["Bob"])
    assert memory.truth("d-1").value == "y"


def test_who_is_named_decides_from_that_moment_on_whatever_ids_are_called(memory: Memory) -> None:
    """What is said at the very moment is said under the naming."""
    memory.authorise("d-1", ["Ann"], at=after(5))
    for id, value in (("A-1", "x"), ("z-1", "y")):
        memory.record(
            Say(id=id, at=after(5), speaker="Bob", room="room", entity="d-1", value=value)
        )

    assert memory.truth("d-1").value is None


def test_under_authority_nobody_decides_until_somebody_is_named(state: Path) -> None:
    with Memory(f"named-{uuid.uuid4().hex}", state=state, policy="authority") as memory:
        memory.join(["Ann", "Bob"], "room")
        memory.say("Ann", "d-1", "x", room="room")
        assert memory.truth("d-1").value is None
        memory.authorise("d-1", ["Ann"])
        assert memory.truth("d-1").value == "x"


def test_a_merge_reroutes_beliefs_for_who_may_read_where_it_was_confirmed(memory: Memory) -> None:
    memory.join(["Ann", "Bob"], "room")
    memory.join("Ann", "den")
    memory.say("Ann", "d-1", "x", room="room")
    memory.say("Ann", "launch", "y", room="room")

    memory.merge("launch", "d-1", room="den")

    assert memory.truth("d-1").value == "y"
    assert memory.believes("Bob", "launch").value == "y"
    assert memory.entities() == {"d-1": "d-1"}
    outside = Reader("Bob", frozenset({"room"}))
    assert memory.truth("d-1", reader=outside).value == "x"
    memory.unmerge("launch", "d-1")
    assert memory.truth("d-1").value == "x"


def test_an_alias_is_another_name_until_it_is_taken_back(memory: Memory) -> None:
    memory.join("Ann", "room")
    memory.say("Ann", "d-1", "x", room="room")

    memory.alias("The  Big Launch", "d-1", room="room")

    assert memory.truth("the big launch").value == "x"
    with pytest.raises(UnknownEntity):
        memory.truth("the big launch", reader=Reader("Bob", frozenset({"elsewhere"})))
    memory.unalias("the big launch", "d-1")
    with pytest.raises(UnknownEntity):
        memory.truth("the big launch")


def test_the_database_keeps_no_query_of_its_own(memory: Memory) -> None:
    """Parameters are what people wrote; FalkorDB keeps a thousand queries a graph where it may."""
    server: Any = memory._store._node
    assert server.execute_command("GRAPH.CONFIG", "GET", "CMD_INFO") == ["CMD_INFO", False]
    peopled(memory)
    kept = f"telemetry{{{memory._store.key('world')}}}"
    server.xadd(kept, {"Query parameters": "ZCANARY"})  # by a server that was told to
    memory.forget("ZCANARY")
    assert not server.exists(kept)


# ------------------------------------------------------------------------------- whole words only


ALIKE = ("a", "ed", "room", "Ann", "Anna", "U1", "U12", "x-1", "somebody")
"""Ids that are in one another, in words, and in the names of fields."""
WORDS = ("Annual budget approved", "edited", "roomy", "U123 it is", "Ann-Marie", "an aed", "x-12")


def talk(memory: Memory, whom: str, draw: random.Random) -> None:
    """What makes no difference to others: whoever is forgotten decides, listens and reacts."""
    memory.describe(people=[PersonInfo(p, p) for p in ALIKE])
    at = 0
    for place, p in itertools.product(("hall", "den", "Annex"), ALIKE):
        if draw.random() < 0.8:
            memory.record(Enter(id=f"in-{place}-{p}", at=after(at), person=p, room=place))
    ids = []
    for n in range(30):
        at += 1
        speaker, place = draw.choice(ALIKE), draw.choice(("hall", "den", "Annex"))
        entity, value = draw.choice(("plan", "Annual", "edge", "d-1")), draw.choice(WORDS)
        others = [p for p in ALIKE if p not in (whom, speaker)]
        if draw.random() < 0.2 and speaker != whom:
            heard = (*draw.sample(others, 2), *([whom] if draw.random() < 0.5 else []))
            said: Any = Tell(
                id=f"m-{n}",
                at=after(at),
                speaker=speaker,
                listeners=heard,
                entity=entity,
                value=value,
            )
        else:
            said = Say(
                id=f"m-{n}", at=after(at), speaker=speaker, room=place, entity=entity, value=value,
                mentions=tuple(draw.sample(ALIKE, 2)), quote=f"so: {value}",
                witnesses=dict.fromkeys(draw.sample(ALIKE, 4), "exposed"),
            )  # fmt: skip
            ids.append(said.id)
        memory.record(said)
        if ids and draw.random() < 0.3:
            person, event = draw.choice(others), draw.choice(ids)
            kind = Notice if draw.random() < 0.5 else Unsee
            memory.record(kind(id=f"k-{n}", at=after(at), person=person, event=event, room="hall"))
    for n, p in enumerate(ALIKE):
        memory.note("heard:hall", {json.dumps({"author": p, "n": n, "room": "hall"}): after(n)})
    memory.note("quiet", {p: after(0) for p in ALIKE})
    memory.tally("spent", dict.fromkeys(ALIKE, 1.0))


def held(memory: Memory, whom: str) -> list[object]:
    """All that others hold and keep, but for who said it."""
    others = [p for p in ALIKE if p != whom]
    entities = sorted(memory.entities())
    chains = [*([p] for p in others), *map(list, itertools.permutations(others[:4], 2))]
    beliefs = [(b.value, b.since) for c in chains for e in entities if (b := memory.believes(c, e))]
    decided = [[change.value for change in memory.timeline(e).changes] for e in entities]
    notes = [n for n in memory.noted("heard:hall") if json.loads(n)["author"] != whom]
    quiet = [n for n in memory.noted("quiet") if n != whom]
    sums = {name: amount for name, amount in memory.tallied("spent").items() if name != whom}
    return [memory.entities(), beliefs, decided, notes, quiet, sums]


def standing(memory: Memory, whom: str) -> list[str]:
    """Where an id stands as a word: in what is a value, never in the name of a field."""
    client: Any = memory._store._node
    word, found = re.compile(rf"(?<![\w-]){re.escape(whom)}(?![\w-])"), []
    for key in client.scan_iter(memory._store.key("*")):
        match client.type(key):
            case "graphdata":
                graph = Graph(client, key)
                nodes = graph.ro_query("MATCH (n) RETURN properties(n)").result_set
                edges = graph.ro_query("MATCH ()-[r]->() RETURN properties(r)").result_set
                for [fields] in [*nodes, *edges]:
                    given = json.loads(fields.get("source") or "{}")
                    people = [given.pop("witnesses", None) or ()]
                    values = [v for k, v in fields.items() if k not in ("source", "kind", "label")]
                    given.pop("kind", None)
                    texts = [str(v) for v in (*values, *given.values(), *people)]
                    found += [f"{key}: {text}" for text in texts if word.search(text)]
            case "zset":
                texts = client.zrange(key, 0, -1)
                texts = [re.sub(r'"\w+":', "", text) for text in texts]
                found += [f"{key}: {text}" for text in texts if word.search(text)]
            case "hash":
                found += [f"{key}: {name}" for name in client.hgetall(key) if name == whom]
    return found


@pytest.mark.parametrize("whom", ALIKE)
def test_whoever_is_called_like_a_part_of_a_word_goes_and_nobody_elses_words_change(
    memory: Memory, whom: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(memory, whom, random.Random(ALIKE.index(whom)))
    before, rounds, asked = held(memory, whom), itertools.count(), removals

    def counted(*given: Any) -> Any:
        assert next(rounds) < 20, "it does not end"
        return asked(*given)

    monkeypatch.setattr(engine.memory, "removals", counted)
    assert whom == "somebody" or standing(memory, whom)

    memory.forget(whom)

    assert held(memory, whom) == before
    if whom != "somebody":
        assert standing(memory, whom) == []


def test_what_others_chose_as_a_key_stays_and_forgetting_ends(memory: Memory) -> None:
    """A room or an entity that is named after somebody is not theirs."""
    memory.join(["Ann", "Bob", "Cid"], "dm-Ann")
    memory.join(["Ann", "Bob", "Cid"], "Ann-room")
    for entity in ("Ann", "Ann-plan", "Annual-plan"):
        memory.say("Bob", entity, "yes", room="Ann-room")

    memory.forget("Ann")

    assert set(memory.entities()) == {"Ann", "Ann-plan", "Annual-plan"}
    assert {memory.believes("Cid", e).value for e in memory.entities()} == {"yes"}


def test_a_person_goes_from_what_others_wrote_by_id_and_by_name(memory: Memory) -> None:
    memory.describe(
        people=[PersonInfo("UZ9", "Zoe Zander"), PersonInfo("Bob", "Bob")],
        rooms=[RoomInfo("r", "UZ9 and Bob", False, frozenset(), "private")],
    )
    memory.join(["UZ9", "Bob"], "r")
    at = after(1)
    for id, value in (("m-1", "ask <@UZ9> or Zoe Zander"), ("m-2", "UZ99 and Zoe Zanders")):
        memory.record(
            Say(
                id=id, at=at, speaker="Bob", room="r", entity=id, value=value,
                name=f"{value} idea", quote=f"well: {value}",
            )
        )  # fmt: skip
    memory.alias("the UZ9 thing", "m-1")
    memory.tally("used:UZ9", {"n": 1.0})
    memory.tally("spent", {"UZ9": 1.0, "UZ99": 2.0})

    memory.forget("UZ9")

    assert memory.believes("Bob", "m-1").value == "ask <@somebody> or somebody"
    assert memory.believes("Bob", "m-2").value == "UZ99 and Zoe Zanders"
    assert memory.timeline("m-2").changes[0].evidence.quote == "well: UZ99 and Zoe Zanders"
    assert memory.tallied("spent") == {"UZ99": 2.0}
    found = traces(memory, ("UZ9",))
    assert not any("used:" in where for where in found)
    assert standing(memory, "UZ9") == []
    assert standing(memory, "uz9") == []  # what is compared is folded
    assert standing(memory, "Zoe Zander") == []


def test_what_was_said_of_a_message_named_after_somebody_still_holds(memory: Memory) -> None:
    """It goes by another id from then on, and all that refers to it follows."""
    memory.join(["Bob", "Cid", "Dan", "ZV"], "r", at=after(0))
    for id, at, entity in (("m-ZV-1", 1, "d"), ("m-ZV-2", 2, "e"), ("m-ZV-3", 3, "f")):
        memory.record(Say(id=id, at=after(at), speaker="Bob", room="r", entity=entity, value="x"))
    memory.record(Unsee(id="u", at=after(4), person="Cid", event="m-ZV-1", room="r"))
    memory.record(Retract(id="v-ZV", at=after(5), event="m-ZV-2", void=True))
    memory.record(Retract(id="w", at=after(6), event="m-ZV-3", edited_by="ZV"))

    def known() -> list[str | None]:
        return [memory.believes(p, e).value for p in ("Bob", "Cid", "Dan") for e in ("d", "f")]

    before = known()
    assert before[2] is None

    memory.forget("ZV")

    assert known() == before
    assert "e" not in memory.entities()
    assert traces(memory, ("ZV",)) == []
    again = Say(id="m-ZV-1", at=after(1), speaker="Bob", room="r", entity="d", value="x")
    memory.record(again)
    assert memory.counts()["statements"] == 2  # known already, by its other id
    assert traces(memory, ("ZV",)) == []


@pytest.mark.parametrize(
    ("id", "person", "there"),
    [
        ("m-U1-2", "U1", True), ("m-U12-2", "U1", False), ("U1", "U1", True), ("m_x-1", "x-1", True),
        ("say-0123abcd-000000001", "say", False), ("ask U1-x", "U1", False),
    ],
)  # fmt: skip
def test_an_id_is_made_with_anothers_where_that_is_a_part_of_it(
    id: str, person: str, there: bool
) -> None:
    assert part_of(id, person) is there
    new = renamed(id, person, "f" * 32)
    assert (new != id) is there
    assert not part_of(new, person)
    if " " not in id:
        assert renamed_where(id, lambda part: "f" * 32 if part == person else None) == new
