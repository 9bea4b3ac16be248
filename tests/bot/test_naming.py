"""What names mean: asked of people once, confirmed in a room, taken back by whoever could confirm it."""

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bot import naming, questions, render
from bot.app import Bot
from bot.chat import Command, Edit, Message, Person, Room
from bot.inbox import Inbox, Pace
from engine import InvalidInput, Memory, PersonInfo, UnknownEntity
from engine.beliefs import Misinformed, Named, Names, Recorded, Slots, WhoKnows
from engine.errors import SecondOrderError, UnknownRoom
from engine.events import Enter, Say
from extraction import Known, Passage, Statement, Window, rules
from extraction.entities import Question, bind
from extraction.references import entity_id

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
PEOPLE = (
    PersonInfo("U1", "Ann", "ann"),
    PersonInfo("U2", "Bo", "bo"),
    PersonInfo("U3", "Cy", "cy"),
    PersonInfo("U4", "Gil", "gil", guest=True),
)
ROOMS = (("C1", "general", "public"), ("C2", "product", "public"), ("P1", "vault", "private"))
HERE = {"C1": ("U1", "U2", "U4"), "C2": ("U1", "U2", "U3"), "P1": ("U1", "U3")}

type Ask = Callable[..., questions.Answer]


@pytest.fixture
def office(memory: Memory) -> Memory:
    memory.describe(PEOPLE, ROOMS)
    for room, people in HERE.items():
        for person in people:
            at = NOW - timedelta(days=9)
            memory.record(Enter(id=f"in-{room}-{person}", at=at, person=person, room=room))
    for number, (speaker, room, name, value) in enumerate((
        ("U1", "C1", "launch date", "5 May"),
        ("U2", "C1", "decision-42", "approved"),
        ("U2", "C2", "decision-43", "rejected"),
        ("U1", "C2", "release-2.4 date", "8 December"),
        ("U2", "C2", "go/no-go of release-2.4", "go"),
        ("U1", "P1", "secret plan", "sell"),
    )):  # fmt: skip
        at = NOW - timedelta(hours=9 - number)
        memory.record(Say(id=f"s-{number}", at=at, speaker=speaker, room=room, value=value,
                          entity=entity_id(name), name=name))  # fmt: skip
    return memory


@pytest.fixture
def ask(office: Memory) -> Ask:
    clock: Iterator[int] = itertools.count()

    def ask(name: str, text: str = "", who: str = "U1", room: str = "C1") -> questions.Answer:
        at = NOW + timedelta(minutes=next(clock))
        return questions.answer(office, Command(name=name, text=text, who=who, room=room, at=at))

    return ask


def named(ask: Ask, name: str, text: str, **more: str) -> Named:
    answer = ask(name, text, **more)
    assert isinstance(answer, Named)
    return answer


def listed(ask: Ask, text: str = "", **more: str) -> Names:
    answer = ask("names", text, **more)
    assert isinstance(answer, Names)
    return answer


def asked(ask: Ask, **more: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.name, tuple(ref.id for ref in one.like)) for one in listed(ask, **more).asked]


def meant(ask: Ask, name: str, who: str = "U1") -> str | None:
    """Which decision a name is answered as; None where nothing is known."""
    try:
        answer = ask("whoknows", name, who=who)
    except UnknownEntity:
        return None
    assert isinstance(answer, WhoKnows)
    return answer.entity.id


def hear(memory: Memory, room: str, name: str, value: str, *, by: str = "U2", at: datetime = NOW,
         message: str = "m-1") -> str:  # fmt: skip
    """A message states something about a name: as it is read, bound and written. Returns the key."""
    guests = {p.id for p in PEOPLE if p.guest}
    [place] = [one for one in memory.rooms() if one.id == room]
    known = memory.entities(naming.everybody_in(place, memory.rooms(), guests), apart=True)
    window = Window(
        passages=(Passage(id=message, author=by, room=room, at=at, text=f"{name}: {value}"),),
        entities=tuple(Known(id=id, name=called) for id, called in known.items()),
    )
    statement = Statement(
        kind="say", message=message, speaker=by, entity=entity_id(name), name=name, value=value,
        decides=True, quote=f"{name}: {value}",
    )  # fmt: skip
    bound = bind(window, [statement])
    [one] = bound.statements
    event = Say(id=message, at=at, speaker=by, room=room, entity=one.entity, name=one.name,
                value=one.value, quote=one.quote)  # fmt: skip
    memory.record_all([event], naming.notes_of(memory, room, bound.questions, at))
    return one.entity


# --- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "first", "value"),
    [
        ("date of the launch", "launch date", "6 May"),
        ("회의 일정은", "회의 일정", "다음 주 화요일"),
        ("発売日は", "発売日", "来週の金曜日"),
        ("Termin des Sommerfests", "Sommerfesttermin", "3. Juli"),
        ("الميزانية", "ميزانية", "مُعتَمَدة"),
    ],
)
def test_what_is_alike_is_asked_and_stays_apart_until_somebody_says(
    office: Memory, ask: Ask, name: str, first: str, value: str
) -> None:
    known = hear(office, "C1", first, "früher", at=NOW - timedelta(hours=1), message="m-0")
    key = hear(office, "C1", name, value)
    assert key != known
    assert asked(ask) == [(name, (known,))]
    assert meant(ask, name) == key

    assert named(ask, "same", f"{name} = {first}").changed
    answer = ask("whoknows", first)
    assert isinstance(answer, WhoKnows)
    assert (answer.entity.id, answer.value) == (known, value)
    assert answer.decided is not None
    assert answer.decided.quote == f"{name}: {value}"
    assert asked(ask) == []

    assert named(ask, "different", f"{name} = {first}").changed
    assert meant(ask, name) == key
    assert asked(ask) == []


def test_the_same_name_written_another_way_is_no_question(office: Memory, ask: Ask) -> None:
    assert hear(office, "C1", "The Launch  Date", "7 May") == "launch-date"
    assert hear(office, "C2", "date of release-2.4", "x", message="m-2") == entity_id(
        "release-2.4 date"
    )
    assert asked(ask) == []


@pytest.mark.parametrize(
    "name", ["decision-420", "decision-44", "decison-42", "launch venue", "release-2.5 date"]
)
def test_near_names_are_not_asked(office: Memory, ask: Ask, name: str) -> None:
    assert hear(office, "C1", name, "x") == entity_id(name)
    assert asked(ask) == []


def test_a_question_is_asked_once_and_not_again_after_no(office: Memory, ask: Ask) -> None:
    hear(office, "C1", "launchdate", "6 May")
    for number in range(2):  # heard again, and by another name that is the same
        later = NOW + timedelta(minutes=number)
        questions_ = [Question(f"m-{number}", "U2", "LaunchDate", "launchdate", ("launch-date",))]
        assert naming.notes_of(office, "C1", questions_, later) == []
    assert asked(ask) == [("launchdate", ("launch-date",))]
    assert named(ask, "different", "launchdate = launch date", who="U2").changed
    assert asked(ask) == []
    again = [Question("m-9", "U2", "launchdate", "launchdate", ("launch-date",))]
    assert naming.notes_of(office, "C1", again, NOW) == []
    assert naming.notes_of(office, "C2", again, NOW) != []  # another room was not asked yet


def test_a_no_to_one_candidate_leaves_the_others_asked(office: Memory, ask: Ask) -> None:
    hear(office, "C1", "launch dates", "x", at=NOW - timedelta(hours=1), message="m-0")
    hear(office, "C1", "launchdate", "y")
    assert ("launchdate", ("launch-date",)) in asked(ask)
    one = Question("m-2", "U2", "launch-dates", "launch-dates", ("launch-date", "launchdate"))
    for notes in naming.notes_of(office, "C1", [one], NOW):
        office.note(notes.key, notes.notes)
    named(ask, "different", "launch dates = launchdate")
    assert ("launch-dates", ("launch-date",)) in asked(ask)


def test_what_was_taken_back_is_not_asked(office: Memory, ask: Ask) -> None:
    named(ask, "same", "launchdate = launch date")
    named(ask, "different", "launchdate = launch date")
    hear(office, "C1", "launchdate", "6 May")
    assert asked(ask) == []


def test_a_question_goes_with_its_message_and_may_come_back_with_another(
    office: Memory, ask: Ask
) -> None:
    hear(office, "C1", "launchdate", "6 May")
    naming.drop(office, "C1", "m-0")
    assert asked(ask) != []
    naming.drop(office, "C1", "m-1")
    assert asked(ask) == []
    again = [Question("m-2", "U1", "launchdate", "launchdate", ("launch-date",))]
    assert naming.notes_of(office, "C1", again, NOW) != []


def test_a_question_goes_with_its_author(office: Memory, ask: Ask) -> None:
    hear(office, "C1", "launchdate", "6 May", by="U2")
    office.forget("U2")
    assert office.noted("alike:C1") == []
    assert "launchdate" not in "".join(office.noted("alike-asked:C1"))
    assert asked(ask) == []


def test_questions_are_bounded(office: Memory) -> None:
    for number in range(naming.MOST + 5):
        one = Question(f"m-{number}", "U2", f"x{number}", f"x{number}", ("launch-date",))
        office.record_all([], naming.notes_of(office, "C1", [one], NOW + timedelta(seconds=number)))
    kept = office.noted("alike:C1")
    assert len(kept) == naming.MOST
    assert "m-0" not in kept[0]


def test_a_question_is_seen_by_who_may_read_its_room_and_both_decisions(
    office: Memory, ask: Ask
) -> None:
    hear(office, "P1", "secretplan", "keep", by="U3")  # alike: secret plan, of that room
    hear(office, "P1", "launchdate", "6 May", by="U3", message="m-2")
    hear(office, "C2", "go no go of release-2.4", "x", message="m-3")
    assert len(asked(ask, who="U1")) == len(asked(ask, who="U3")) == 3
    assert [name for name, _ in asked(ask, who="U2")] == ["go no go of release-2.4"]
    assert asked(ask, who="U4") == []  # a guest reads only general


def test_names_are_listed_of_one_decision(office: Memory, ask: Ask) -> None:
    hear(office, "C1", "launchdate", "6 May")
    named(ask, "same", "the big one = decision-42")
    everything = listed(ask)
    assert (len(everything.asked), len(everything.confirmed)) == (1, 1)
    for text, expected in (("launch date", (1, 0)), ("launchdate", (1, 0)), ("The big one", (0, 1)),
                           ("decision-43", (0, 0))):  # fmt: skip
        found = listed(ask, text)
        assert (len(found.asked), len(found.confirmed)) == expected
    with pytest.raises(UnknownEntity):
        listed(ask, "nobody")


def test_who_asks_about_a_decision_is_told_what_may_be_the_same(office: Memory, ask: Ask) -> None:
    key = hear(office, "C1", "launchdate", "6 May")
    for name in ("launchdate", "launch date"):
        answer = ask("whoknows", name)
        assert isinstance(answer, WhoKnows)
        assert [one.entity.id for one in answer.perhaps] == [key]
        page = render.text(render.page(answer, render.Style(UTC, {})))
        assert "/same launchdate = launch date or /different launchdate = launch date" in page
    answer = ask("whoknows", "decision-42")
    assert isinstance(answer, WhoKnows)
    assert answer.perhaps == ()


# --- confirming and taking back -------------------------------------------------------------------


def test_a_name_that_nothing_has_becomes_an_alias_in_either_order(ask: Ask) -> None:
    for text in (
        "the big one = decision-42",
        "decision-42 = the BIG one",
        "`The  big one`＝`DECISION-42`",
    ):
        answer = named(ask, "same", text)
        assert (answer.entity.id, answer.same) == ("decision-42", True)
        assert meant(ask, "The Big One") == "decision-42"
        assert named(ask, "different", text).changed
        assert meant(ask, "the big one") is None


def test_two_decisions_become_one_under_the_second(ask: Ask) -> None:
    answer = named(ask, "same", "launch date = decision-42")
    assert (answer.entity.id, answer.changed) == ("decision-42", True)
    assert meant(ask, "launch date") == meant(ask, "decision-42") == "decision-42"
    assert [(one.name, one.merged, one.entity.id) for one in listed(ask).confirmed] == [
        ("launch date", "launch-date", "decision-42")
    ]
    assert meant(ask, "decision-43") == "decision-43"


@pytest.mark.parametrize("text", ["the big one = decision-42", "launch date = decision-42"])
def test_pressed_twice_is_pressed_once(office: Memory, ask: Ask, text: str) -> None:
    first = named(ask, "same", text)
    held = office.links()
    second = named(ask, "same", text)
    assert (first.changed, second.changed, second.same) == (True, False, True)
    assert office.links() == held
    back = named(ask, "different", text)
    again = named(ask, "different", text)
    assert (back.changed, again.changed, again.same) == (True, False, False)
    assert office.links() == []
    assert named(ask, "same", text).changed  # and it can be confirmed again


def test_what_is_confirmed_counts_for_who_may_read_the_room(ask: Ask) -> None:
    named(ask, "same", "the deal = decision-42", room="P1")
    assert meant(ask, "the deal", who="U1") == meant(ask, "the deal", who="U3") == "decision-42"
    assert meant(ask, "the deal", who="U2") is None
    assert listed(ask, who="U2").confirmed == ()
    named(ask, "same", "the thing = decision-42", room="C1")
    assert {meant(ask, "the thing", who=p.id) for p in PEOPLE} == {"decision-42"}


def test_it_is_confirmed_in_a_room_by_somebody_who_is_there(ask: Ask) -> None:
    for room in ("", "C9", "P1"):
        with pytest.raises(
            UnknownRoom, match=r"^What a name means is said in a room: type /same in"
        ):
            ask("same", "the deal = decision-42", who="U2", room=room)
    with pytest.raises(InvalidInput, match="Only people who are in the channel can say that there"):
        ask("same", "the deal = decision-42", who="U3", room="C1")


def test_it_is_taken_back_by_anybody_who_could_have_confirmed_it_and_nobody_else(
    office: Memory, ask: Ask
) -> None:
    named(ask, "same", "the deal = decision-42", who="U1", room="C1")
    with pytest.raises(InvalidInput, match="confirmed in a channel you are not in"):
        ask("different", "the deal = decision-42", who="U3", room="C2")
    assert named(ask, "different", "the deal = decision-42", who="U2", room="").changed
    office.alias("the deal", "decision-42")
    with pytest.raises(InvalidInput, match="for everybody, by whoever runs this memory"):
        ask("different", "the deal = decision-42")


def test_in_every_room_one_is_in_it_is_taken_back(office: Memory, ask: Ask) -> None:
    for room in ("C1", "C2", "P1"):
        named(ask, "same", "the deal = decision-42", room=room)
    answer = named(ask, "different", "the deal = decision-42", who="U2")
    assert [room.id for room in answer.rooms] == ["C1", "C2"]
    assert [one.room for one in office.links()] == ["P1"]


def test_an_unreadable_decision_is_a_missing_one(office: Memory, ask: Ask) -> None:
    """Whatever is typed about it, and whatever was confirmed about it where one may not read."""

    def said(command: str, text: str, who: str) -> str:
        try:
            answer = ask(command, text, who=who)
        except SecondOrderError as error:
            return f"{error.kind} {error.message} {error.suggestions}"
        return answer.model_dump_json()

    named(ask, "same", "secret plan = launch date", room="P1")
    named(ask, "same", "the exit = secret plan", room="P1")
    for who in ("U2", "U4"):
        for command, text in (
            ("whoknows", "{}"), ("names", "{}"), ("different", "{} = launch date"),
            ("different", "{} = nothing"), ("same", "{} = nothing"), ("names", ""),
        ):  # fmt: skip
            for unreadable in ("secret plan", "the exit"):
                missing = said(command, text.format("absent-1"), who)
                shown = said(command, text.format(unreadable), who)
                assert shown.replace(unreadable, "absent-1") == missing
        # Confirmed as a new name, it is one: for them it was nothing before.
        assert named(ask, "same", "secret plan = decision-42", who=who).changed
        assert named(ask, "different", "secret plan = decision-42", who=who).changed
    assert meant(ask, "secret plan") == "launch-date"


def test_a_name_in_two_rooms_is_one_for_who_may_read_one_of_them(office: Memory, ask: Ask) -> None:
    for number, (room, value) in enumerate((("P1", "no"), ("C1", "yes"))):
        office.record(Say(id=f"f-{number}", at=NOW, speaker="U1", room=room, value=value,
                          entity=f"decided-{room}-1", name="no freeze"))  # fmt: skip
    assert meant(ask, "No freeze", who="U2") == "decided-C1-1"
    with pytest.raises(UnknownEntity, match="More than one decision is called 'no freeze'"):
        ask("whoknows", "no freeze", who="U1")
    with pytest.raises(UnknownEntity, match="More than one decision is called 'no freeze'"):
        ask("same", "no freeze = decision-42", who="U1")
    assert named(ask, "same", "no freeze = decision-42", who="U2").changed


def test_chains_are_taken_back_link_by_link_in_any_order(office: Memory, ask: Ask) -> None:
    links = ("launch date = decision-42", "decision-42 = decision-43", "the deal = launch date")
    for order in itertools.permutations(links):
        for text in links:
            assert named(ask, "same", text, room="C1" if "43" not in text else "C2").changed
        assert {meant(ask, n) for n in ("the deal", "launch date", "decision-42")} == {
            "decision-43"
        }
        for text in order:
            assert named(ask, "different", text).changed
        assert office.links() == []
        assert meant(ask, "launch date") == "launch-date"


def test_what_is_one_only_through_another_says_through_what(ask: Ask) -> None:
    named(ask, "same", "launch date = decision-42")
    named(ask, "same", "decision-42 = decision-43")
    with pytest.raises(InvalidInput, match=r"^They are one through decision-42: /names shows"):
        ask("different", "launch date = decision-43")


def test_a_name_that_means_something_else_is_taken_back_first(ask: Ask) -> None:
    named(ask, "same", "the deal = decision-42")
    for text in ("the deal = decision-43", "decision-43 = the deal"):
        with pytest.raises(
            InvalidInput, match=r"already; take that back first: /different the deal = decision-42$"
        ):
            ask("same", text)
    assert named(ask, "same", "the agreement = the deal").entity.id == "decision-42"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Say it like this: /same the big launch = decision-42."),
        ("decision-42", "Say it like this"), ("= decision-42", "Say it like this"),
        ("one two three", "Say it like this"), ("a =", "Say it like this"),
        ("decision-42 = Decision-42", "That takes two different names."),
        ("x = decision-42", "A name has two letters or more"),
        ("!! = decision-42", "A name has two letters or more"),
        (f"{'long ' * 30}= decision-42", "A name has two letters or more, and up to 80 characters"),
        ("nothing = nowhere", "Nothing is known about 'nowhere'"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_gets_one_sentence(ask: Ask, text: str, said: str) -> None:
    with pytest.raises(SecondOrderError) as caught:
        ask("same", text)
    assert caught.value.message.startswith(said)


def test_exact_forms_of_one_name_are_the_same_already(ask: Ask) -> None:
    answer = named(ask, "same", "date of release-2.4 = launch date")
    assert answer.changed
    assert named(ask, "different", "release-2.4 date = launch date").changed


def test_a_decision_by_command_binds_to_a_confirmed_name_and_asks_about_an_alike_one(
    office: Memory, ask: Ask
) -> None:
    named(ask, "same", "the big one = decision-42")
    answer = ask("decide", "The Big One: rejected")
    assert isinstance(answer, Recorded)
    assert answer.entity.id == "decision-42"
    answer = ask("decide", "launchdate: 9 May")
    assert isinstance(answer, Recorded)
    assert answer.entity.id == "launchdate"
    assert asked(ask) == [("launchdate", ("launch-date",))]


# --- subjects -------------------------------------------------------------------------------------


def test_a_subject_finds_all_its_decisions_and_one_of_them_answers_for_itself(ask: Ask) -> None:
    found = ask("whoknows", "Release-2.4")
    assert isinstance(found, Slots)
    assert [(one.entity.name, one.value) for one in found.slots] == [
        ("release-2.4 date", "8 December"), ("go/no-go of release-2.4", "go"),
    ]  # fmt: skip
    one = ask("whoknows", "date of release-2.4")
    assert isinstance(one, WhoKnows)
    assert one.value == "8 December"
    assert [ref.name for ref in one.related] == ["go/no-go of release-2.4"]
    ask("decide", "release-2.4 owner: Bo")
    assert isinstance(ask("whoknows", "release-2.4"), Slots)
    owner = ask("whoknows", "release-2.4 owner")
    assert isinstance(owner, WhoKnows)
    assert owner.value == "Bo"
    assert meant(ask, "release-2.5") is None


def test_other_questions_about_a_subject_ask_back_or_tell_all(office: Memory, ask: Ask) -> None:
    office.record(Say(id="late", at=NOW, speaker="U3", room="C2", value="9 December",
                      entity=entity_id("release-2.4 date"), witnesses={"U3": "stated"}))  # fmt: skip
    found = ask("misinformed", "release-2.4")
    assert isinstance(found, Misinformed)
    assert {one.entity.name for one in found.beliefs} == {"release-2.4 date"}
    with pytest.raises(UnknownEntity, match="say which decision about it") as caught:
        ask("announce-plan", "release-2.4")
    assert set(caught.value.suggestions) == {"release-2.4 date", "go/no-go of release-2.4"}


def test_a_subject_shows_only_what_the_asker_may_read(office: Memory, ask: Ask) -> None:
    office.record(Say(id="p", at=NOW, speaker="U1", room="P1", value="1 million",
                      entity=entity_id("release-2.4 price"), name="release-2.4 price"))  # fmt: skip
    mine, theirs = ask("whoknows", "release-2.4"), ask("whoknows", "release-2.4", who="U2")
    assert isinstance(mine, Slots)
    assert isinstance(theirs, Slots)
    assert (len(mine.slots), len(theirs.slots)) == (3, 2)
    one = ask("whoknows", "release-2.4 date", who="U2")
    assert isinstance(one, WhoKnows)
    assert [ref.name for ref in one.related] == ["go/no-go of release-2.4"]


def test_a_decision_about_a_slot_of_a_key_is_recorded_there(ask: Ask) -> None:
    ask("decide", "owner of decision-42: Ann")
    for text, value in (("decision-42 owner: Bo", "Bo"), ("owner of decision-42: Cy", "Cy")):
        answer = ask("decide", text)
        assert isinstance(answer, Recorded)
        assert answer.entity.name == "owner of decision-42"
        assert answer.value == value
    whole = ask("whoknows", "decision-42")
    assert isinstance(whole, WhoKnows)
    assert whole.value == "approved"
    assert [ref.name for ref in whole.related] == ["owner of decision-42"]


# --- in talk --------------------------------------------------------------------------------------


class Named_:
    """Reads `NAME = VALUE`, as a model reads what nobody put into a form."""

    windowed = False

    def extract(self, window: Window) -> list[Statement]:
        found = []
        for one in window.passages:
            name, is_, value = one.text.partition(" = ")
            if is_:
                found.append(Statement(
                    kind="say", message=one.id, speaker=one.author, entity=entity_id(name),
                    name=name, value=value, decides=True, quote=one.text,
                ))  # fmt: skip
        return found


def talking(office: Memory, extractor: rules.Rules | Named_) -> Bot:
    bot = Bot(office, extractor)
    people = [Person(id=p.id, name=p.name, handle=p.handle, guest=p.guest) for p in PEOPLE]
    rooms = [
        Room(id=id, name=name, kind="public" if kind == "public" else "private",
             members=frozenset(HERE[id]))
        for id, name, kind in ROOMS
    ]  # fmt: skip
    bot.meet(people, rooms, NOW - timedelta(days=9))
    bot.remember()
    return bot


def message(room: str, text: str, minute: int, *, by: str = "U1") -> Message:
    """Said in the future, since what is confirmed is confirmed now."""
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=minute)
    return Message(room=room, ts=f"{minute}.0", at=at, author=by, text=text)


def test_a_confirmed_name_binds_in_talk_where_everybody_may_read_it(
    office: Memory, ask: Ask
) -> None:
    bot = talking(office, rules.Rules())
    bot.hear(message("C1", "the big one: nothing yet", 1))
    named(ask, "same", "the big one = decision-42", room="C1")
    named(ask, "same", "the exit = decision-43", room="P1")
    bot.hear(message("C1", "the big one: rejected", 2))
    bot.hear(message("C2", "the exit: approved", 3))
    bot.hear(message("P1", "the exit: postponed", 4))
    values = {name: office.truth(name).value for name in ("decision-42", "decision-43")}
    assert values == {"decision-42": "rejected", "decision-43": "postponed"}
    named(ask, "different", "the big one = decision-42")
    bot.hear(message("C1", "the big one: approved", 5))
    assert office.truth("decision-42").value == "rejected"


def test_a_name_in_talk_is_bound_or_asked_and_a_question_goes_when_it_is_edited(
    office: Memory, ask: Ask
) -> None:
    bot = talking(office, Named_())
    inbox = Inbox(office, bot, Pace(grace=0))
    same = message("C1", "The Launch Date = 6 May", 1)
    near = message("C1", "date of the launch = 7 May", 2)
    for one in (same, near):
        inbox.put(one)
        inbox.pump(one.at + timedelta(minutes=1))
    assert office.truth("launch-date").value == "6 May"
    assert office.truth("date-of-the-launch").value == "7 May"
    assert asked(ask) == [("date of the launch", ("launch-date",))]
    edit = Edit(at=near.at + timedelta(seconds=30), by="U1")
    inbox.put(near.model_copy(update={"text": "never mind", "edited": edit}))
    inbox.pump(near.at + timedelta(minutes=2))
    assert office.noted("alike:C1") == []
    inbox.close()


def test_an_export_read_again_asks_nothing_again(office: Memory, ask: Ask) -> None:
    said = [message("C1", "date of the launch = 7 May", 1), message("C1", "launchdate = 8 May", 2)]
    for _ in range(2):
        bot = talking(office, Named_())
        for one in said:
            bot.hear(one)
        assert len(asked(ask)) == 2
        assert len(office.noted("alike:C1")) == 2
