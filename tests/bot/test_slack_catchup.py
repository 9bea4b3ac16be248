"""How far a room was heard, what is still to be read of it, and what a line of the history tells."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.slack_catchup import (
    OVERLAP,
    Gap,
    Hole,
    Watched,
    begun,
    broken,
    came,
    dumped,
    heard,
    loaded,
    missing,
    news_of,
    shrunk,
    ts_of,
    went,
)
from bot.adapters.slack_records import moment_of
from bot.chat import Kept, Message, Person, Reaction

NOW = "1800001000.000000"
LATER = moment_of("1800002000.000000")
PEOPLE = {"U1": Person(id="U1", name="Ann"), "U9": Person(id="U9", name="bot", bot=True)}


def ts(second: int) -> str:
    return f"{1_800_000_000 + second}.000000"


class TestWatching:
    def test_a_room_begins_when_we_come_and_nothing_before_is_read(self) -> None:
        state = broken(begun(Watched(), ts(500)), ts(600))
        assert state.holes == (Hole(ts(500)),)
        assert begun(state, ts(700)) == state

    def test_what_may_be_missing_begins_before_what_was_heard_last(self) -> None:
        """Events come in any order."""
        state = heard(begun(Watched(), ts(0)), ts(900))
        assert broken(state, NOW).holes == (Hole(ts(900 - OVERLAP)),)

    def test_an_older_event_takes_nothing_back(self) -> None:
        state = heard(heard(Watched(), ts(900)), ts(100))
        assert state.seen == ts(900)

    def test_what_broke_off_is_gone_on_with_and_what_came_since_is_another_hole(self) -> None:
        state = broken(heard(begun(Watched(), ts(0)), ts(500)), NOW)
        [hole] = state.holes
        state = shrunk(state, hole, ts(700), top=ts(900))
        assert state.holes == (hole._replace(until=ts(700)),)
        assert state.seen == ts(900)
        again = broken(state, NOW)
        assert again.holes == (hole._replace(until=ts(700)), Hole(ts(900 - OVERLAP)))
        assert broken(again, NOW) == again, "the newest hole reaches up to now"
        for one in again.holes:
            again = shrunk(again, one, None)
        assert again.holes == ()

    def test_where_we_are_not_nothing_is_read_and_it_is_said_since_when(self) -> None:
        state = went(broken(begun(Watched(), ts(0)), NOW), "C1", moment_of(ts(50)), "away")
        assert state.holes == ()
        assert went(state, "C1", moment_of(ts(60)), "away") == state
        back = came(state, moment_of(ts(900)))
        assert back.gaps == (Gap("C1", moment_of(ts(50)), moment_of(ts(900)), "away"),)
        assert broken(back, NOW).holes == (Hole(ts(900)),), "not what was said meanwhile"
        assert begun(state, ts(900)) == back

    @given(
        st.builds(
            Watched, st.just(ts(5)),
            st.lists(st.builds(Hole, st.just(ts(1)), st.sampled_from(["", ts(3)]))).map(tuple),
            st.lists(st.builds(
                Gap, st.sampled_from([None, "C1"]), st.just(moment_of(ts(1))),
                st.sampled_from([None, moment_of(ts(2))]), st.sampled_from(["away", "behind"]),
            )).map(tuple),
            st.sampled_from(["", ts(1)]),
        )
    )  # fmt: skip
    def test_it_is_the_same_after_a_restart(self, state: Watched) -> None:
        assert loaded(dumped(state)) == state

    def test_what_is_no_note_of_ours_is_none(self) -> None:
        for text in (None, "", "x", "[]", "7", '{"holes": 3}', '{"gaps": [[1]]}'):
            assert loaded(text) == Watched()

    @given(st.datetimes(timezones=st.just(LATER.tzinfo)).filter(lambda one: one.year > 1970))
    def test_a_moment_in_slacks_spelling_is_that_moment(self, moment: object) -> None:
        assert moment_of(ts_of(moment)) == moment  # type: ignore[arg-type]


def line(**more: object) -> dict[str, object]:
    return {"type": "message", "user": "U1", "text": "decision-42: blue", "ts": ts(100)} | more


class TestLines:
    def test_a_line_after_where_it_broke_off_is_news_and_one_before_it_is_none(self) -> None:
        [said] = news_of(line(), "C1", ts(50), None, PEOPLE, LATER)
        assert isinstance(said, Message)
        assert news_of(line(), "C1", ts(100), None, PEOPLE, LATER) == []
        assert news_of(line(), "C1", ts(50), Kept(ts(100)), PEOPLE, LATER) == []

    def test_an_edit_since_then_is_news_until_it_is_known(self) -> None:
        edited = line(edited={"user": "U1", "ts": ts(300)})
        for known in (None, Kept(ts(100)), Kept(ts(100), edited=moment_of(ts(200)))):
            assert len(news_of(edited, "C1", ts(250), known, PEOPLE, LATER)) == 1
        assert news_of(edited, "C1", ts(300), None, PEOPLE, LATER) == []
        known = Kept(ts(100), edited=moment_of(ts(300)))
        assert news_of(edited, "C1", ts(250), known, PEOPLE, LATER) == []

    def test_a_reaction_counts_from_when_it_was_seen_and_programs_give_none(self) -> None:
        shown = line(reactions=[{"name": "eyes", "users": ["U1", "U9"], "count": 2}])
        [given] = news_of(shown, "C1", ts(200), Kept(ts(100)), PEOPLE, LATER)
        assert given == Reaction(room="C1", ts=ts(100), at=LATER, who="U1", name="eyes")
        known = Kept(ts(100), reactions=frozenset({("eyes", "U1")}))
        assert news_of(shown, "C1", ts(200), known, PEOPLE, LATER) == []
        assert news_of(shown, "C1", ts(200), None, PEOPLE, LATER) == [], "said before we came"

    def test_a_list_of_reactions_that_slack_shortened_takes_nothing_back(self) -> None:
        known = Kept(ts(100), reactions=frozenset({("eyes", "U1"), ("eyes", "U2")}))
        short = line(reactions=[{"name": "eyes", "users": ["U1"], "count": 2}])
        assert news_of(short, "C1", ts(200), known, PEOPLE, LATER) == []
        whole = line(reactions=[{"name": "eyes", "users": ["U1"], "count": 1}])
        [back] = news_of(whole, "C1", ts(200), known, PEOPLE, LATER)
        assert isinstance(back, Reaction)
        assert (back.who, back.removed, back.at - LATER) == ("U2", True, timedelta(0))

    def test_what_is_kept_and_not_shown_is_gone_within_what_was_read(self) -> None:
        kept = [Kept(ts(n)) for n in (10, 20, 30, 40)] + [Kept(ts(25), removed=True)]
        assert missing(kept, [ts(20)], ts(15), ts(40)) == [Kept(ts(30))]
        assert missing(kept, [ts(20)], ts(15)) == [Kept(ts(30)), Kept(ts(40))]
