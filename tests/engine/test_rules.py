"""One test for each sentence of the rule: which chains accept an event, and what follows from it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from engine.events import Enter, Exit, Grade, Notice, Report, Say, Set, Tell, Unsee
from engine.rules import (
    FOREVER,
    Row,
    Sight,
    Witnesses,
    accepts,
    belief,
    changed,
    decisions,
    derive,
    disputes,
    grade_of,
    groups,
    line,
    present,
    readable,
    same,
    shortened,
    since_of,
    to_micros,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = 1_000  # a moment after everything below

type Kind = Literal["say", "tell", "report", "set"]


def row(
    at: int,
    by: str | None,
    value: str = "approved",
    seen_by: str = "",
    kind: Kind = "say",
    **more: Any,
) -> Row:
    """A statement at `at`; `seen_by`: one letter for each witness beside the speaker."""
    fields = {
        "about": None, "there": False, "room": "hall", "entity": "plan", "same": same(value),
        "decides": kind in ("say", "set"), "members": frozenset(seen_by) | frozenset(by or ""),
    }  # fmt: skip
    return Row(at=at, id=f"e{at:04}", kind=kind, by=by, value=value, **(fields | more))


def mention(at: int, by: str, value: str, seen_by: str = "", **more: Any) -> Row:
    return row(at, by, value, seen_by, decides=False, **more)


def noticed(person: str, since: int, until: int = FOREVER, grade: Grade = "acknowledged") -> Sight:
    return Sight(person, since, until, grade)


def value(rows: list[Row], chain: str, at: int = LATER) -> str | None:
    held = belief(rows, tuple(chain), at)
    return held.row.value if held else None


def accepted(one: Row, chain: str, at: int = LATER) -> bool:
    return accepts(one, tuple(chain), at) is not None


# ------------------------------------------------------------------------------- the table


@pytest.mark.parametrize("kind", ["say", "set"])
def test_a_say_or_a_set_is_accepted_when_everyone_in_the_chain_witnessed_it(kind: Kind) -> None:
    one = row(1, "A", seen_by="BC", kind=kind)

    assert accepted(one, "ABC")
    assert accepted(one, "CB")
    assert not accepted(one, "ABD")
    assert not accepted(one, "DA")


def test_a_set_that_nobody_did_is_accepted_by_those_present() -> None:
    one = row(1, None, seen_by="BC", kind="set")

    assert accepted(one, "BC")
    assert not accepted(one, "A")


def test_a_tell_is_accepted_when_everyone_in_the_chain_is_speaker_or_listener() -> None:
    one = row(1, "A", seen_by="B", kind="tell")

    assert accepted(one, "AB")
    assert accepted(one, "BA")
    assert not accepted(one, "ABC")
    assert not accepted(one, "C")


def test_a_report_makes_its_hearers_think_that_its_subject_believes_it() -> None:
    one = row(1, "A", seen_by="B", kind="report", about="M")

    assert value([one], "BM") == "approved"
    assert value([one], "AM") == "approved"
    assert value([one], "ABM") == "approved"


def test_a_report_never_changes_its_subjects_own_belief() -> None:
    rows = [row(1, "A", "rejected", "BM"), row(2, "A", seen_by="B", kind="report", about="M")]

    assert value(rows, "M") == "rejected"


def test_a_report_says_nothing_of_others_to_those_who_did_not_hear_it() -> None:
    one = row(1, "A", seen_by="B", kind="report", about="M")

    assert value([one], "CM") is None
    assert value([one], "BCM") is None


def test_a_report_whose_subject_was_there_is_only_a_mention_by_its_speaker() -> None:
    rows = [
        row(1, "A", "rejected", "BM"),
        row(2, "A", "approved", "BM", kind="report", about="M", there=True),
    ]

    assert value(rows, "BM") == "rejected"
    assert value(rows, "BA") == "approved"


def test_the_speaker_of_a_report_also_mentions_it() -> None:
    rows = [row(1, "C", "rejected", "AB"), row(2, "A", seen_by="B", kind="report", about="M")]

    assert value(rows, "BA") == "approved", "what people say themselves is what they believe"
    assert value(rows, "B") == "rejected", "a mention does not displace"


def test_a_report_displaces_what_its_hearers_thought_of_its_subject() -> None:
    rows = [row(1, "A", "rejected", "BM"), row(2, "A", seen_by="B", kind="report", about="M")]

    assert value(rows, "BM") == "approved"


# ------------------------------------------------------------------------------- workplace


def test_the_newest_decision_is_believed() -> None:
    rows = [row(1, "A", "approved", "B"), row(2, "C", "rejected", "B")]

    assert value(rows, "B") == "rejected"
    assert value(rows, "A") == "approved"


def test_of_one_moment_the_larger_id_is_the_newer() -> None:
    early = row(1, "A", "approved", "B")
    late = early._replace(id=early.id + "b", value="rejected", same="rejected")

    assert value([late, early], "B") == "rejected"


def test_a_tell_displaces_like_a_decision() -> None:
    rows = [row(1, "A", "approved", "B"), row(2, "C", "rejected", "B", kind="tell")]

    assert value(rows, "B") == "rejected"


def test_a_mention_does_not_displace_a_decision_for_those_who_hear_it() -> None:
    rows = [row(1, "A", "approved", "BC"), mention(2, "B", "rejected", "AC")]

    assert value(rows, "C") == "approved"


def test_what_people_say_themselves_is_what_they_believe() -> None:
    rows = [row(1, "A", "approved", "BC"), mention(2, "B", "rejected", "AC")]

    assert value(rows, "B") == "rejected"
    assert value(rows, "CB") == "rejected"


def test_a_decision_after_ones_own_words_displaces_them() -> None:
    rows = [mention(1, "B", "rejected", "A"), row(2, "A", "approved", "B")]

    assert value(rows, "B") == "approved"


def test_a_chain_that_accepted_no_decision_believes_the_newest_mention() -> None:
    rows = [mention(1, "A", "approved", "BC"), mention(2, "D", "rejected", "BC")]

    assert value(rows, "C") == "rejected"


def test_own_words_go_before_newer_mentions_by_others() -> None:
    rows = [mention(1, "B", "approved", "A"), mention(2, "A", "rejected", "B")]

    assert value(rows, "B") == "approved"


def test_a_mention_does_not_count_against_a_decision_the_chain_came_to_witness_after_it() -> None:
    decision = row(1, "A", "approved", sights=(noticed("B", 3),))
    rows = [decision, mention(2, "B", "rejected", "A")]

    assert value(rows, "B", at=2) == "rejected"
    assert value(rows, "B", at=3) == "approved"


def test_own_decisions_do_count_against_a_decision_witnessed_later() -> None:
    decision = row(1, "A", "approved", sights=(noticed("B", 3),))
    rows = [decision, row(2, "B", "rejected", "A")]

    assert value(rows, "B", at=3) == "rejected"


def test_the_whole_chain_must_have_come_to_witness_it() -> None:
    decision = row(1, "A", "approved", "B", sights=(noticed("C", 3),))
    rows = [decision, mention(2, "B", "rejected", "AC")]

    assert value(rows, "B") == "rejected", "B knew of the decision when speaking"
    assert value(rows, "CB") == "approved", "C learned of the decision after B had spoken"


def test_a_notice_makes_a_witness_from_then_on_without_moving_the_event() -> None:
    noticed_late = row(1, "A", "approved", sights=(noticed("B", 5),))
    rows = [noticed_late, row(2, "C", "rejected", "B")]

    assert since_of(noticed_late, "B", 4) is None
    assert since_of(noticed_late, "B", 5) == 5
    assert value(rows, "B") == "rejected", "the event stays where it was said"


def test_a_past_moment_is_bounded_by_what_was_said_and_witnessed_by_then() -> None:
    rows = [row(1, "A", "approved", "B"), row(5, "A", "rejected", sights=(noticed("B", 8),))]

    assert [value(rows, "B", at) for at in (0, 1, 7, 8)] == [
        None, "approved", "approved", "rejected",
    ]  # fmt: skip


def test_unknown_is_an_answer() -> None:
    assert belief([], ("A",), LATER) is None


def test_a_belief_says_since_when_the_whole_chain_had_it() -> None:
    one = row(1, "A", seen_by="B", sights=(noticed("C", 7),))

    held = belief([one], ("B", "C"), LATER)

    assert held is not None
    assert held.since == 7


def test_a_repeated_neighbour_is_dropped() -> None:
    assert shortened("AABBBA") == ("A", "B", "A")


# ------------------------------------------------------------------------------- what is true


def truth(rows: list[Row], at: int = LATER) -> str | None:
    made = decisions(rows, at)
    return made[-1].value if made else None


def test_the_truth_is_the_newest_deciding_event() -> None:
    rows = [row(1, "A", "approved"), row(2, "B", "rejected", kind="set"), mention(3, "C", "paid")]

    assert truth(rows) == "rejected"
    assert truth(rows, at=1) == "approved"


@pytest.mark.parametrize("kind", ["tell", "report"])
def test_a_tell_and_a_report_never_change_the_truth(kind: Kind) -> None:
    rows = [row(1, "A", "approved", "B"), row(2, "A", "rejected", "B", kind=kind, about="M")]

    assert truth(rows) == "approved"


def test_nothing_is_true_of_what_was_only_mentioned() -> None:
    assert truth([mention(1, "A", "approved")]) is None


def test_a_statement_equal_to_what_its_speaker_believes_restates_and_is_no_change() -> None:
    rows = [row(1, "A", "approved", "B"), row(2, "C", "rejected"), row(3, "B", "Approved!")]

    assert [r.by for r in decisions(rows, LATER)] == ["A", "C"]
    assert truth(rows) == "rejected"


def test_a_restatement_informs_its_hearers() -> None:
    rows = [row(1, "A", "approved", "B"), row(2, "B", "Approved!", "D")]

    assert value(rows, "D") == "Approved!"


def test_a_value_new_to_its_speaker_is_a_decision_even_if_it_is_the_current_one() -> None:
    rows = [row(1, "A", "approved"), row(2, "B", "approved")]

    assert [r.by for r in decisions(rows, LATER)] == ["A", "B"]


def test_a_set_is_the_world_changing_and_never_restates() -> None:
    rows = [row(1, "A", "approved", kind="set"), row(2, "A", "approved", kind="set")]

    assert len(decisions(rows, LATER)) == 2


def test_two_deciders_who_do_not_know_of_each_other_are_in_dispute() -> None:
    rows = [row(1, "A", "approved"), row(2, "B", "rejected")]

    assert [r.by for r in disputes(decisions(rows, LATER), LATER)] == ["A"]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([row(1, "A", "yes", "B"), row(2, "B", "no")], id="the later one knew"),
        pytest.param([row(1, "A", "yes"), row(2, "B", "no", "A")], id="the earlier one heard"),
        pytest.param([row(1, "A", "yes"), row(2, "B", "Yes.")], id="the values are equal"),
        pytest.param([row(1, "A", "yes"), row(2, None, "no", kind="set")], id="nobody decided"),
        pytest.param([row(1, "A", "yes"), mention(2, "B", "no")], id="a mention is none"),
    ],
)
def test_there_is_no_dispute_when(rows: list[Row]) -> None:
    assert disputes(decisions(rows, LATER), LATER) == []


def test_a_dispute_ends_when_one_decider_witnesses_the_other_decision() -> None:
    rows = [row(1, "A", "approved"), row(2, "B", "rejected", sights=(noticed("A", 5),))]
    made = decisions(rows, LATER)

    assert len(disputes(made, 4)) == 1
    assert disputes(made, 5) == []


def test_a_decision_is_settled_once_somebody_who_witnessed_it_decides_again() -> None:
    rows = [row(1, "A", "approved", "C"), row(2, "C", "postponed"), row(3, "B", "rejected")]

    assert [r.by for r in disputes(decisions(rows, LATER), LATER)] == ["C"]


def test_who_witnesses_a_decision_after_having_decided_does_not_settle_it() -> None:
    rows = [row(1, "A", "approved", sights=(noticed("B", 5),)), row(2, "B", "rejected")]

    assert len(disputes(decisions(rows, 4), 4)) == 1


def test_whoever_holds_the_older_value_is_stale_all_the_same() -> None:
    rows = [row(1, "A", "approved"), row(2, "B", "rejected")]

    assert (value(rows, "A"), truth(rows)) == ("approved", "rejected")


def test_a_retracted_decision_that_nobody_else_can_have_seen_falls() -> None:
    rows = [row(1, "A", "approved", "B"), row(2, "C", "rejected", retracted=5, alone=True)]

    assert truth(rows, at=4) == "rejected"
    assert truth(rows, at=5) == "approved"
    assert value(rows, "C") == "rejected", "nobody un-learns"


def test_a_retracted_decision_that_others_can_have_seen_stands() -> None:
    rows = [row(1, "A", "approved", "B"), row(2, "C", "rejected", retracted=5, alone=False)]

    assert truth(rows) == "rejected"


def test_the_change_is_the_first_of_the_last_run_of_equal_decisions() -> None:
    rows = [row(1, "A", "no"), row(2, "B", "yes"), row(3, "C", "Yes!"), row(4, "D", "yes")]

    assert changed(decisions(rows, LATER)).by == "B"


# ------------------------------------------------------------------------------- equal values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Approved", "approved"),
        ("approved!", "“approved”"),
        ("approved ✅", "approved"),
        ("the approved version", "approved version"),
        ("now approved", "approved"),
        ("approved by Finance", "approved"),
        ("approved per the CFO", "approved"),
        ("approved since Tuesday", "approved"),
        ("approved by Finance since Monday", "approved"),
        ("don't ship", "dont ship"),
        ("  8   December ", "8 December"),
        ("ﬁxed", "fixed"),
    ],
)
def test_equal_values(one: str, other: str) -> None:
    assert same(one) == same(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2.4", "24"),
        ("-5", "5"),
        ("5%", "5"),
        ("1,000", "1.000"),
        ("10:30", "1030"),
        ("C++", "C"),
        ("by Friday", "by Monday"),
        ("ship by Friday", "ship"),
        ("approved", "not approved"),
        ("👍", "👎"),
        ("退款", "退货"),
    ],
)
def test_different_values(one: str, other: str) -> None:
    assert same(one) != same(other)


# ------------------------------------------------------------------------------- who is there


type Moves = Sequence[Enter | Exit]


def at(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def enter(seconds: int, person: str = "A", *, presumed: bool = False) -> Enter:
    return Enter(id=f"m{seconds}", at=at(seconds), person=person, room="hall", presumed=presumed)


def leave(seconds: int, person: str = "A") -> Exit:
    return Exit(id=f"m{seconds}", at=at(seconds), person=person, room="hall")


def in_room(moves: Moves, seconds: int) -> str:
    there = present(map(line, moves), (to_micros(at(seconds)), "x"))
    return "".join(sorted(there))


def test_one_is_in_a_room_from_entering_to_leaving() -> None:
    moves: Moves = [enter(1), leave(5), enter(2, "B")]

    assert [in_room(moves, s) for s in (0, 1, 4, 5, 9)] == ["", "A", "AB", "B", "B"]


def test_entering_twice_is_being_there() -> None:
    assert in_room([enter(1), enter(2), leave(3)], 4) == ""


def test_a_presumed_entry_counts() -> None:
    assert in_room([enter(1, presumed=True)], 2) == "A"


def test_a_presumed_entry_is_void_when_the_next_recorded_line_is_an_entry() -> None:
    moves: Moves = [enter(1, presumed=True), enter(5)]

    assert [in_room(moves, s) for s in (2, 6)] == ["", "A"]


def test_a_presumed_entry_stands_when_the_next_recorded_line_is_an_exit() -> None:
    moves: Moves = [enter(1, presumed=True), enter(2, presumed=True), leave(5)]

    assert [in_room(moves, s) for s in (2, 6)] == ["A", ""]


# ------------------------------------------------------------------------------- who witnessed


def say(**more: Any) -> Say:
    fields = {"id": "s", "at": NOON, "speaker": "S", "room": "hall", "entity": "plan", "value": "x"}
    return Say(**(fields | more))


def notice(seconds: int, person: str, grade: Grade = "acknowledged") -> Notice:
    return Notice(id=f"n{seconds}", at=at(seconds), person=person, event="s", grade=grade)


def unsee(seconds: int, person: str) -> Unsee:
    return Unsee(id=f"u{seconds}", at=at(seconds), person=person, event="s")


def witnesses(seen: Witnesses, seconds: int = 900) -> str:
    moment = to_micros(at(seconds))
    one = row(to_micros(NOON), None, members=seen.members, sights=seen.sights)
    people = (p for p in seen.people if since_of(one, p, moment) is not None)
    return "".join(sorted(people))


ROOM = frozenset("ABS")


def test_without_witnesses_everyone_in_the_room_witnessed_it() -> None:
    assert witnesses(derive(say(), ROOM)) == "ABS"


def test_the_speaker_is_a_witness_also_from_outside_the_room() -> None:
    assert witnesses(derive(say(), frozenset("A"))) == "AS"


def test_with_witnesses_only_they_and_the_speaker_witnessed_it() -> None:
    assert witnesses(derive(say(witnesses={"A": "engaged", "Z": "exposed"}), ROOM)) == "ASZ"


def test_to_be_able_to_scroll_to_it_is_not_to_have_seen_it() -> None:
    assert witnesses(derive(say(witnesses={"A": "reachable"}), ROOM)) == "S"


def test_in_a_crowd_presence_alone_makes_nobody_a_witness() -> None:
    assert witnesses(derive(say(crowd=2), ROOM)) == "S"
    assert witnesses(derive(say(crowd=3), ROOM)) == "ABS"


def test_a_report_has_the_witnesses_of_a_say() -> None:
    report = Report(id="s", at=NOON, speaker="S", about="M", room="hall", entity="plan", value="x")

    assert witnesses(derive(report, ROOM)) == "ABS"


def test_a_set_is_seen_by_those_present_and_by_whoever_did_it() -> None:
    change = Set(id="s", at=NOON, by="Z", room="hall", entity="plan", value="x")

    assert witnesses(derive(change, ROOM)) == "ABSZ"


def test_a_tell_is_heard_by_its_parties_and_nobody_else_can_notice_it() -> None:
    tell = Tell(id="s", at=NOON, speaker="S", listeners=("A",), entity="plan", value="x")

    assert witnesses(derive(tell, frozenset(), [notice(1, "B")])) == "AS"


def test_a_notice_of_a_mere_possibility_makes_no_witness() -> None:
    assert witnesses(derive(say(), frozenset(), [notice(1, "A", "reachable")])) == "S"


def test_after_an_unsee_the_person_is_no_witness() -> None:
    seen = derive(say(), ROOM, [unsee(5, "A")])

    assert [witnesses(seen, s) for s in (0, 4, 5)] == ["ABS", "ABS", "BS"]


def test_a_notice_after_an_unsee_makes_a_witness_again() -> None:
    seen = derive(say(), ROOM, [notice(9, "A"), unsee(5, "A")])

    assert [witnesses(seen, s) for s in (4, 5, 9)] == ["ABS", "BS", "ABS"]


def test_the_speaker_cannot_unsee() -> None:
    assert witnesses(derive(say(), ROOM, [unsee(5, "S")])) == "ABS"


def test_the_best_grade_counts_from_when_it_was_reached() -> None:
    seen = derive(say(), ROOM, [notice(5, "A"), notice(7, "A", "engaged")])
    one = row(to_micros(NOON), "S", members=seen.members, sights=seen.sights)

    grades = [grade_of(one, "A", to_micros(at(s))) for s in (4, 5, 9)]

    assert grades == ["exposed", "acknowledged", "acknowledged"]
    assert grade_of(one, "S", to_micros(NOON)) == "stated"


def edited(notices: list[Notice | Unsee], absent: str = "") -> str:
    """Who witnesses an edit, made at 60, of a message that A, B and S had in their room."""
    old = derive(say(), ROOM, notices)
    before = row(to_micros(NOON), "S", members=old.members, sights=old.sights)
    edit = say(id="t", at=at(60), edits="s")
    return witnesses(derive(edit, frozenset("ABSN"), (), before, frozenset(absent)), 60)


def test_whoever_was_merely_exposed_moves_with_an_edit() -> None:
    assert edited([]) == "ABS"


def test_who_came_after_the_message_is_not_informed_by_its_edit() -> None:
    assert "N" not in edited([])


def test_who_had_acknowledged_or_engaged_keeps_the_old_version() -> None:
    assert edited([notice(5, "A"), notice(6, "B", "engaged")]) == "S"


def test_who_acknowledges_after_the_edit_has_moved_already() -> None:
    assert edited([notice(70, "A")]) == "ABS"


def test_who_had_left_does_not_move_with_an_edit() -> None:
    assert edited([], absent="A") == "BS"


def test_who_never_saw_the_message_does_not_move_with_its_edit() -> None:
    assert edited([unsee(5, "A")]) == "BS"


# ------------------------------------------------------------------------------- many people


def test_people_of_one_group_witnessed_said_and_were_spoken_of_alike() -> None:
    rows = [
        row(1, "A", seen_by="BCD"),
        row(2, "A", seen_by="B", kind="report", about="M", sights=(noticed("C", 5),)),
    ]

    assert sorted(groups(rows)) == [("A",), ("B",), ("C",), ("D",), ("M",)]
    assert ("B", "C", "D") in groups(rows[:1])


def test_a_reader_reads_open_rooms_and_private_words_by_or_to_them() -> None:
    heard = row(1, "A", room="hall")
    told = row(2, "B", seen_by="R", kind="tell", room=None, parties=frozenset("BR"))
    own = row(3, "R", room=None, kind="set")
    others = row(4, "A", seen_by="B", kind="tell", room=None, parties=frozenset("AB"))
    elsewhere = row(5, "A", seen_by="R", room="lab")

    found = readable([heard, told, own, others, elsewhere], "R", frozenset({"hall"}))

    assert found == [heard, told, own]
