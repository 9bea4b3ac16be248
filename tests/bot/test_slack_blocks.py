"""Pages as Block Kit: inside every limit, nothing parsed, nobody pinged."""

import json
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.slack_blocks import action, message
from bot.pages import Button, Line, Page, Section
from tests.fakes.slack import too_big

TEXT = st.text(alphabet=st.sampled_from(string.ascii_letters + " &<>|`*_~\n\"'é漢🎉"), max_size=900)
BUTTON = st.builds(
    Button, TEXT, st.just("plan"), st.text(string.ascii_letters, max_size=1900), st.booleans(),
    st.none() | TEXT,
)  # fmt: skip
LINKS = st.none() | st.just(
    "https://fake.slack.test/archives/C1/p18000000000001?thread_ts=1&cid=C1"
)
LINE = st.builds(Line, TEXT, LINKS, st.none() | BUTTON)
SECTION = st.builds(
    Section, TEXT, st.lists(LINE, min_size=1, max_size=60).map(tuple), st.integers(0, 500),
    st.none() | BUTTON,
)  # fmt: skip
PAGE = st.builds(
    Page, TEXT.filter(str.strip), st.lists(SECTION, max_size=6).map(tuple),
    st.lists(BUTTON, max_size=7).map(tuple),
)  # fmt: skip


@given(PAGE)
def test_every_page_is_taken_by_slack(page: Page) -> None:
    made = message(page)
    assert too_big(made) == ""
    assert made["text"]


@given(PAGE)
def test_what_is_left_out_is_counted(page: Page) -> None:
    written = [b["text"]["text"] for b in message(page)["blocks"] if "text" in b]
    written += [
        one["text"]
        for b in message(page)["blocks"]
        if b["type"] == "context"
        for one in b["elements"]
    ]
    shown = sum(text.count("• ") for text in written)
    counted = sum(
        int(found[1]) for text in written if (found := re.fullmatch(r"and (\d+) more", text))
    )
    whole = sum(len(section.lines) + section.more for section in page.sections)
    assert shown + counted == whole or len(written) == 1  # where nothing but the answer fits


def texts(page: Page) -> list[str]:
    return [
        block["text"]["text"] for block in message(page)["blocks"] if block["type"] == "section"
    ]


def test_the_answer_comes_first_and_each_line_carries_its_link() -> None:
    section = Section("Knows", (Line("Ann, said so", "https://x.test/a?b=1&c=2|d"), Line("Bo")))
    assert texts(Page("decision-42 is “a”: 2 know.", (section,))) == [
        "decision-42 is “a”: 2 know.",
        "*Knows*\n• Ann, said so <https://x.test/a?b=1&amp;c=2%7Cd|↗>\n• Bo",
    ]


def test_a_long_list_is_cut_counted_and_can_be_opened() -> None:
    rest = Button("Show all", "more", "whoknows decision-42")
    section = Section("Stale", tuple(Line(f"{n} {'x' * 80}") for n in range(400)), 14, rest)
    blocks = message(Page("head", (section,)))["blocks"]
    shown = sum(block["text"]["text"].count("• ") for block in blocks if "text" in block)
    last = blocks[-1]
    assert last["text"]["text"] == f"and {400 - shown + 14} more"
    assert action(last["accessory"]["action_id"]) == "more"
    assert 50 < shown < 400


@pytest.mark.parametrize("name", ["<!channel> Bob", "<@U1>", "a & b > c", "```code"])
def test_what_people_wrote_is_not_obeyed(name: str) -> None:
    made = message(Page(name, (Section(name, (Line(name),)),)))
    written = json.dumps(made, ensure_ascii=False)
    assert "<!channel" not in written
    assert "<@" not in written
    assert "```" not in written
    assert all(b["text"]["verbatim"] for b in made["blocks"])


def test_an_escape_is_never_torn_apart() -> None:
    for length in range(2_880, 2_910):
        [head] = texts(Page("x" * length + "&&&&&&&&"))
        assert head.rstrip("…").replace("&amp;", "").strip("x") == ""


def test_no_two_buttons_of_a_row_have_the_same_id() -> None:
    page = Page("head", buttons=tuple(Button(f"Plan {n}", "plan", str(n)) for n in range(7)))
    rows = [block["elements"] for block in message(page)["blocks"] if block["type"] == "actions"]
    assert [len(row) for row in rows] == [5, 2]
    ids = [one["action_id"] for row in rows for one in row]
    assert len(set(ids)) == 7
    assert {action(id) for id in ids} == {"plan"}
