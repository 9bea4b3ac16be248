"""What a Slack export says, oddity by oddity; the real one beside the repository, too."""

import os
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.adapters.exports import read
from bot.chat import Enter, Exit, Message, Person, Unread, Workspace
from tests.bot.exports_builders import (
    BORN,
    as_folder,
    as_zip,
    channel,
    line,
    messages,
    moved,
    moves,
    slack,
    ts,
    user,
)

SHARED = Path(os.environ.get("SECONDORDER_SHARED", Path(__file__).parents[3] / "shared"))


def of(tmp_path: Path, files: dict[str, object]) -> Workspace:
    return read(as_folder(tmp_path, files))


def one(tmp_path: Path, *lines: object, **indexes: object) -> Message:
    """The only message said (system lines aside)."""
    (found,) = messages(of(tmp_path, slack(*lines, **indexes)))
    return found


# --- the real one ---------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_real_export_is_read_whole() -> None:
    export = SHARED / "data" / "slack-export-datavis"
    if not export.exists():
        pytest.skip(f"the real Slack export is not at {export}")
    workspace = read(export)
    said = messages(workspace)
    assert len({(m.room, m.ts) for m in said}) == len(said) == 1382
    assert (len(workspace.people), len(workspace.rooms), workspace.unread) == (71, 16, ())
    assert sum(isinstance(h, Enter) and not h.presumed for h in workspace.heard) == 320
    assert sum(isinstance(h, Exit) for h in workspace.heard) == 3
    assert all(m.link for m in said)
    assert sum(m.edited is not None for m in said) == 37
    assert not [m for m in said if not m.system and "uploaded a file:" in m.text]
    assert all("@" not in person.handle for person in workspace.people)


# --- messages -------------------------------------------------------------------------------------


def test_a_message_is_read_exactly_to_the_microsecond(tmp_path: Path) -> None:
    said = one(tmp_path, line(5, "decision-42: approved", ts="1433562832.000005"))
    assert said.ts == "1433562832.000005"
    assert said.at == datetime(2015, 6, 6, 3, 53, 52, 5, tzinfo=UTC)
    assert (said.room, said.author, said.text, said.thread) == (
        "C1",
        "U1",
        "decision-42: approved",
        None,
    )
    assert said == Message(room="C1", ts=said.ts, at=said.at, author="U1", text=said.text)


def test_a_timestamp_that_became_a_number_keeps_its_digits(tmp_path: Path) -> None:
    files = slack()
    files["plans/2023-11-14.json"] = b'[{"ts": 1700000001.0001, "text": "x", "user": "U1"}]'
    (said,) = messages(of(tmp_path, files))
    assert said.ts == "1700000001.000100"


@pytest.mark.parametrize("bad", ["oops", None, "", "12.1234567", [], True, "١٢", -5])
def test_a_message_without_a_usable_ts_is_listed_and_the_rest_is_read(
    tmp_path: Path, bad: object
) -> None:
    workspace = of(tmp_path, slack(line(1, "secret", ts=bad), line(2, "sound")))
    assert [m.text for m in messages(workspace)] == ["sound"]
    (unread,) = workspace.unread
    assert unread.file == "plans/2023-11-14.json"
    assert unread.why == "Entry 1 is no message with a usable `ts`."


def test_a_line_in_two_files_is_one_message_and_the_later_edit_counts(tmp_path: Path) -> None:
    files = slack(line(1, "old"))
    files["plans/2023-11-15.json"] = [line(1, "new", edited={"user": "U1", "ts": ts(90)})]
    (said,) = messages(of(tmp_path, files))
    assert said.text == "new"
    assert said.edited is not None
    assert (said.edited.by, said.edited.at) == (
        "U1",
        datetime.fromtimestamp(BORN + 90, UTC) + timedelta(microseconds=100),
    )


def test_the_same_ts_in_two_rooms_is_two_messages(tmp_path: Path) -> None:
    files = slack(line(1), channels=[channel("C1", "plans"), channel("C2", "ops")])
    files["ops/2023-11-14.json"] = [line(1)]
    assert [(m.room, m.ts) for m in messages(of(tmp_path, files))] == [("C1", ts(1)), ("C2", ts(1))]


SYSTEM = [
    "channel_topic",
    "channel_purpose",
    "channel_name",
    "channel_archive",
    "group_join",
    "pinned_item",
    "bot_add",
    "huddle_thread",
    "reminder_add",
    "sh_room_created",
    "something_of_tomorrow",
]


@pytest.mark.parametrize("subtype", SYSTEM)
def test_a_line_the_platform_wrote_is_kept_as_a_system_line(tmp_path: Path, subtype: str) -> None:
    said = one(tmp_path, line(1, "set the topic: decision-42: approved", subtype=subtype))
    assert said.system
    assert said.author == "U1"


def test_a_me_message_is_said_by_its_author(tmp_path: Path) -> None:
    said = one(tmp_path, line(1, "thinks so", subtype="me_message"))
    assert (said.author, said.system) == ("U1", False)


def test_a_broadcast_reply_is_one_message_of_its_thread(tmp_path: Path) -> None:
    said = one(tmp_path, line(2, subtype="thread_broadcast", thread_ts=ts(1), root={"ts": ts(1)}))
    assert (said.broadcast, said.thread, said.system) == (True, ts(1), False)


def test_a_tombstone_keeps_no_text(tmp_path: Path) -> None:
    said = one(tmp_path, line(1, "This message was deleted.", by="USLACKBOT", subtype="tombstone"))
    assert (said.removed, said.text, said.author, said.app) == (True, "", None, None)


def test_a_reply_whose_root_is_not_in_the_export_keeps_its_thread(tmp_path: Path) -> None:
    assert one(tmp_path, line(9, by="U9", thread_ts=ts(1))).thread == ts(1)


@pytest.mark.parametrize(
    "more",
    [{"thread_ts": ts(1)}, {"replies": [{"ts": ts(2)}]}, {"reply_count": 1}],
    ids=["thread_ts", "replies without user", "only counted"],
)
def test_a_root_is_in_its_own_thread(tmp_path: Path, more: dict[str, object]) -> None:
    assert one(tmp_path, line(1) | more).thread == ts(1)


def test_reactions_have_no_skin_tone_and_count_people_once_and_no_bots(tmp_path: Path) -> None:
    said = one(
        tmp_path,
        line(
            1,
            reactions=[
                {"name": "+1::skin-tone-4", "users": ["U2", "U1"], "count": 9},
                {"name": "+1", "users": ["U1", "U9"], "count": 2},
                {"name": "eyes", "users": ["U7"], "count": 1},
            ],
        ),
        users=[user("U1"), user("U2"), user("U7", is_bot=True)],
    )
    assert said.reactions == {"+1": ("U2", "U1", "U9")}


def test_what_old_exports_say_of_a_shared_file_is_the_platforms_words(tmp_path: Path) -> None:
    text = "<@U1> uploaded a file: <https://acme.slack.com/files/ann/F1/a.txt|decision-42: done>"
    said = one(tmp_path, line(1, text, subtype="file_share", upload=True, bot_id=None))
    assert (said.system, said.author, said.app) == (True, "U1", None)


def test_a_comment_on_the_upload_is_what_the_person_said(tmp_path: Path) -> None:
    text = "<@U1> uploaded a file: <https://acme.slack.com/files/ann/F1/a|a> and commented: see\nit"
    said = one(tmp_path, line(1, text, subtype="file_share"))
    assert (said.system, said.author, said.text) == (False, "U1", "see\nit")


def test_a_modern_file_share_has_the_persons_own_text(tmp_path: Path) -> None:
    said = one(tmp_path, line(1, "decision-42: approved", subtype="file_share", files=[{}]))
    assert (said.system, said.text) == (False, "decision-42: approved")


def test_a_file_comment_is_by_who_commented(tmp_path: Path) -> None:
    text = "<@U2> commented on <@U1>’s file <https://acme.slack.com/files/a/F1/a|a>: looks good"
    modern = line(1, text, by=None, subtype="file_comment", comment={"user": "U2", "comment": "ok"})
    bare = line(2, text, by=None, subtype="file_comment")
    first, second = messages(of(tmp_path, slack(modern, bare)))
    assert (first.author, first.text, first.system) == ("U2", "ok", False)
    assert (second.author, second.text, second.system) == ("U2", "looks good", False)


def test_a_changed_line_brings_the_message_it_is_about_up_to_date(tmp_path: Path) -> None:
    changed = line(
        50,
        "",
        by=None,
        subtype="message_changed",
        message=line(1, "new", edited={"user": "U1", "ts": ts(49)}),
    )
    first, record = messages(of(tmp_path, slack(line(1, "old"), changed)))
    assert (first.text, first.system) == ("new", False)
    assert (record.text, record.system) == ("", True)


def test_a_deleted_line_takes_the_text_of_the_message_it_is_about(tmp_path: Path) -> None:
    deleted = line(
        50,
        "",
        by=None,
        subtype="message_deleted",
        deleted_ts=ts(1),
        previous_message=line(1, "old"),
    )
    first, record = messages(of(tmp_path, slack(line(1, "old"), deleted)))
    assert (first.removed, first.text, first.author) == (True, "", "U1")
    assert record.system


def test_a_replied_line_says_nothing_again(tmp_path: Path) -> None:
    replied = line(2, "", subtype="message_replied", message=line(1, "plan", reply_count=1))
    first, record = messages(of(tmp_path, slack(line(1, "plan"), replied)))
    assert (first.text, record.text, record.system) == ("plan", "", True)


def test_text_that_is_only_in_blocks_is_read_as_displayed(tmp_path: Path) -> None:
    def run(text: str, **style: bool) -> dict[str, object]:
        return {"type": "text", "text": text, "style": style}

    section = {
        "type": "rich_text_section",
        "elements": [
            run("R&D: "),
            run("old", strike=True),
            run(" new ", bold=False),
            {"type": "user", "user_id": "U2"},
            {"type": "link", "url": "https://ex.test", "text": "a<b"},
            {"type": "emoji", "name": "ok"},
        ],
    }
    quote = {"type": "rich_text_quote", "elements": [run("decision-42: no")]}
    blocks = [
        {"type": "rich_text", "elements": [section, quote]},
        {"type": "section", "text": {"type": "mrkdwn", "text": "*done*"}},
        {"type": "image"},
    ]
    said = one(tmp_path, line(1, "", blocks=blocks))
    assert said.text == (
        "R&amp;D: ~old~ new <@U2><https://ex.test|a&lt;b>:ok:\n&gt; decision-42: no\n*done*"
    )
    assert not said.forwarded


def test_a_forwarded_message_is_not_the_forwarders_words(tmp_path: Path) -> None:
    share = {"is_share": True, "text": "decision-42: approved", "author_id": "U2"}
    said = one(tmp_path, line(1, "", attachments=[share]))
    assert (said.forwarded, said.text, said.author) == (True, "", "U1")


def test_a_remark_on_a_forwarded_message_is_the_forwarders(tmp_path: Path) -> None:
    said = one(tmp_path, line(1, "look", attachments=[{"is_share": True, "text": "theirs"}]))
    assert (said.forwarded, said.text) == (False, "look")


def test_text_no_database_stores_is_mended(tmp_path: Path) -> None:
    files = slack()
    files["plans/2023-11-14.json"] = (
        rb'[{"ts":"5.000000","user":"U1","text":"a\u0000\ud83dz \ud83d\ude00"}]'
    )
    (said,) = messages(of(tmp_path, files))
    assert said.text == "a\ufffdz \N{GRINNING FACE}"


# --- apps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("post", "app"),
    [
        ({"subtype": "bot_message", "username": "ann", "bot_id": "B1"}, "ann"),
        ({"subtype": "bot_message"}, "app"),
        ({"bot_id": "B9", "app_id": "A9", "user": "U9BOT"}, "B9"),
        ({"bot_id": "B9", "bot_profile": {"name": "Jira"}, "user": "U1"}, "Jira"),
        ({"app_id": "A9", "user": "U1"}, "A9"),
        ({"user": "U7"}, "helper"),
        ({"user": "USLACKBOT"}, "Slackbot"),
    ],
)
def test_an_app_never_speaks_for_a_person(
    tmp_path: Path, post: dict[str, object], app: str
) -> None:
    users = [user("U1", "ann"), user("U7", "helper", is_bot=True)]
    said = one(tmp_path, line(1, "decision-42: approved", by=None, **post), users=users)
    assert (said.author, said.app, said.system) == (None, app, False)


def test_what_a_person_wrote_through_an_app_has_both(tmp_path: Path) -> None:
    said = one(tmp_path, line(1, app_id="A9", client_msg_id="x-1"))
    assert (said.author, said.app) == ("U1", "A9")


# --- people ---------------------------------------------------------------------------------------


def test_a_person_has_the_name_people_read_and_nothing_private(tmp_path: Path) -> None:
    record = user(
        "U1",
        "ann",
        tz="Europe/Lisbon",
        is_ultra_restricted=True,
        deleted=True,
        real_name="Ann Lee",
        profile={
            "display_name": " Annie ",
            "email": "ann@ex.test",
            "phone": "555",
            "image_72": "i",
        },
    )
    workspace = of(tmp_path, slack(users=[record], channels=[]))
    assert workspace.people == (
        Person(id="U1", name="Annie", handle="ann", zone="Europe/Lisbon", guest=True, gone=True),
    )
    assert "ex.test" not in workspace.model_dump_json()


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"profile": {"display_name": "", "real_name": "Ann Lee"}}, "Ann Lee"),
        ({"profile": None, "real_name": "Ann L"}, "Ann L"),
        ({"profile": {}, "real_name": "  "}, "ann"),
        ({"profile": [], "name": None}, "U1"),
    ],
)
def test_a_person_without_a_display_name_still_has_one(
    tmp_path: Path, record: dict[str, object], name: str
) -> None:
    workspace = of(tmp_path, slack(users=[user("U1", "ann") | record], channels=[]))
    assert [person.name for person in workspace.people] == [name]


def test_somebody_nobody_listed_is_a_person_by_what_the_newest_message_tells(
    tmp_path: Path,
) -> None:
    lines = [
        line(
            2, by="W0EXT", user_profile={"display_name": "", "real_name": "Ext Er", "name": "ext"}
        ),
        line(1, by="W0EXT", user_profile={"display_name": "Old"}),
        line(3, by="U8"),
    ]
    people = {person.id: person for person in of(tmp_path, slack(*lines)).people}
    assert people["W0EXT"] == Person(id="W0EXT", name="Ext Er", handle="ext", guest=True)
    assert people["U8"].name == "U8"


def test_without_a_list_of_people_nobody_is_a_guest(tmp_path: Path) -> None:
    files = slack(line(1))
    del files["users.json"]
    workspace = of(tmp_path, files)
    assert [(p.id, p.guest) for p in workspace.people] == [("U1", False), ("U2", False)]
    assert [unread.file for unread in workspace.unread] == ["users.json"]


def test_the_organisations_list_fills_in(tmp_path: Path) -> None:
    files = slack(users=[user("U1", "ann")], org_users=[user("U1", "no"), user("U2", "bo")])
    assert [person.handle for person in of(tmp_path, files).people] == ["ann", "bo"]


# --- rooms ----------------------------------------------------------------------------------------


def test_each_index_has_its_kind_of_room(tmp_path: Path) -> None:
    files = slack(
        channels=[channel("C1", "plans"), channel("C2", "old", is_archived=True, members=[])],
        groups=[channel("G1", "board")],
        mpims=[channel("G2", "mpdm-ann--bo-1")],
        dms=[{"id": "D0AAAAAAA", "created": BORN, "members": ["U1", "U2"]}],
    )
    files["D0AAAAAAA/2023-11-14.json"] = [line(1)]
    workspace = of(tmp_path, files)
    assert [(room.id, room.name, room.kind) for room in workspace.rooms] == [
        ("C1", "plans", "public"),
        ("C2", "old", "public"),
        ("D0AAAAAAA", "ann, bo", "direct"),
        ("G1", "board", "private"),
        ("G2", "mpdm-ann--bo-1", "group"),
    ]
    assert workspace.rooms[0].created == datetime.fromtimestamp(BORN, UTC)
    assert workspace.rooms[1].archived
    assert workspace.rooms[1].members is None  # archiving empties the list
    assert [m.room for m in messages(workspace)] == ["D0AAAAAAA"]


def test_a_channel_marked_private_is_private(tmp_path: Path) -> None:
    workspace = of(tmp_path, slack(channels=[channel("C1", "plans", is_private=True)]))
    assert workspace.rooms[0].kind == "private"


def test_a_folder_nobody_listed_is_a_private_room_with_a_lasting_id(tmp_path: Path) -> None:
    files = slack()
    files["größe & co/2023-11-14.json"] = [line(1, by="U2")]
    first = of(tmp_path / "a", files)
    files["größe & co/2023-11-15.json"] = [line(90_000)]
    second = of(tmp_path / "b", files)
    (room,) = [room for room in first.rooms if room.id != "C1"]
    assert (room.name, room.kind) == ("größe & co", "private")
    assert room in second.rooms
    assert messages(first)[0].link is None
    assert ("U2", room.id, "presumed") in [move[:3] for move in moves(first)]


@pytest.mark.parametrize(
    ("folder", "more", "id", "kind"),
    [
        ("D0BBBBBBB", {}, "D0BBBBBBB", "direct"),
        ("C0BBBBBBB", {}, "C0BBBBBBB", "private"),
        ("lost", {"channel": "C0LOST"}, "C0LOST", "private"),
        ("FC:F0AAA:Plan of plans", {}, "FC-F0AAA", "private"),
    ],
)
def test_a_real_id_is_taken_where_it_is_told(
    tmp_path: Path, folder: str, more: dict[str, object], id: str, kind: str
) -> None:
    files = slack()
    files[f"{folder}/2023-11-14.json"] = [line(1) | more]
    workspace = of(tmp_path, files)
    assert [(room.id, room.kind) for room in workspace.rooms if room.id != "C1"] == [(id, kind)]
    assert messages(workspace)[0].room == id


def test_comments_on_a_canvas_have_the_room_their_index_gives_them(tmp_path: Path) -> None:
    name = "FC:F0AAA:Plan"
    files = slack(file_conversations=[channel("C0CANVAS", name), channel("C0SILENT", "FC:F0BBB:x")])
    files[f"{name}/2023-11-14.json"] = [line(1)]
    assert [room.id for room in of(tmp_path, files).rooms] == ["C0CANVAS", "C1"]


def test_a_name_a_mac_took_apart_is_the_same_name(tmp_path: Path) -> None:
    files = slack(channels=[channel("C1", "café")])
    files["cafe\u0301/2023-11-14.json"] = [line(1)]
    assert {m.room for m in messages(of(tmp_path, files))} == {"C1"}


def test_of_two_rooms_with_one_name_the_private_one_has_the_folder(tmp_path: Path) -> None:
    workspace = of(tmp_path, slack(line(1), groups=[channel("G1", "plans")]))
    assert {m.room for m in messages(workspace)} == {"G1"}
    assert workspace.unread == (
        Unread(
            file="plans/",
            why="Several rooms have this name; its messages are taken as those of G1.",
        ),
    )


def test_canvases_and_lists_are_nothing_anybody_said(tmp_path: Path) -> None:
    files = slack(line(1), canvases=b"broken", lists=[], integration_logs=b"{", huddles=5)
    files["plans/canvas_in_the_conversation.json"] = [{"id": "F1", "title": "x"}]
    files["plans/attachments/x.json"] = b"broken"
    workspace = of(tmp_path, files)
    assert (len(messages(workspace)), workspace.unread) == (1, ())


# --- who was there --------------------------------------------------------------------------------

NOBODY = [channel("C1", "plans", members=())]


def test_a_join_and_a_leave_are_an_entry_and_an_exit(tmp_path: Path) -> None:
    lines = [moved(1, "U1"), moved(5, "U1", "channel_leave")]
    workspace = of(tmp_path, slack(*lines, channels=NOBODY))
    assert [move[:3] for move in moves(workspace)] == [("U1", "C1", "enter"), ("U1", "C1", "exit")]
    ids = [heard.id for heard in workspace.heard if not isinstance(heard, Message)]  # type: ignore[union-attr]
    assert ids == [f"T1-C1-U1-enter-{BORN + 1}-000100", f"T1-C1-U1-exit-{BORN + 5}-000100"]
    assert [m.system for m in messages(workspace)] == [True, True]


def test_a_member_without_a_join_was_there_from_the_beginning(tmp_path: Path) -> None:
    workspace = of(tmp_path, slack(moved(3, "U1")))
    assert moves(workspace) == [
        ("U2", "C1", "presumed", 0),
        ("U1", "C1", "enter", pytest.approx(3.0001)),
    ]


def test_a_leave_without_a_join_means_here_before(tmp_path: Path) -> None:
    workspace = of(tmp_path, slack(moved(5, "U1", "channel_leave"), channels=NOBODY))
    assert [move[2:] for move in moves(workspace)] == [
        ("presumed", 0),
        ("exit", pytest.approx(5.0001)),
    ]


def test_two_leaves_in_a_row_mean_back_in_between(tmp_path: Path) -> None:
    lines = [moved(1, "U1"), moved(5, "U1", "channel_leave"), moved(9, "U1", "channel_leave")]
    found = [move[2] for move in moves(of(tmp_path, slack(*lines, channels=NOBODY)))]
    assert found == ["enter", "exit", "presumed", "exit"]


def test_a_member_who_left_on_record_came_back_unrecorded(tmp_path: Path) -> None:
    lines = [moved(1, "U1"), moved(5, "U1", "channel_leave")]
    workspace = of(tmp_path, slack(*lines, channels=[channel("C1", "plans", members=("U1",))]))
    last = [heard for heard in workspace.heard if isinstance(heard, Enter | Exit)][-2:]
    assert [isinstance(heard, Exit) for heard in last] == [True, False]
    assert last[1].at - last[0].at == timedelta(microseconds=1)


def test_who_made_a_room_was_there_from_the_beginning(tmp_path: Path) -> None:
    rooms = [channel("C1", "plans", members=(), creator="U2")]
    assert moves(of(tmp_path, slack(channels=rooms))) == [("U2", "C1", "presumed", 0)]


def test_without_a_list_of_members_who_writes_was_there(tmp_path: Path) -> None:
    rooms = [channel("C1", "plans", members=None)]
    workspace = of(tmp_path, slack(line(4), line(5, by="U2"), channels=rooms))
    assert moves(workspace) == [("U1", "C1", "presumed", 0), ("U2", "C1", "presumed", 0)]


def test_with_a_list_of_members_writing_alone_is_no_membership(tmp_path: Path) -> None:
    assert moves(of(tmp_path, slack(line(4), channels=NOBODY))) == []


def test_archiving_names_who_was_there(tmp_path: Path) -> None:
    rooms = [channel("C1", "plans", members=(), is_archived=True)]
    lines = [line(5, subtype="channel_archive", members=["U1", "U2"])]
    found = moves(of(tmp_path, slack(*lines, channels=rooms)))
    assert [move[:3] for move in found] == [("U1", "C1", "presumed"), ("U2", "C1", "presumed")]


def test_a_room_of_unknown_age_began_before_everything(tmp_path: Path) -> None:
    rooms = [channel("C1", "plans", members=("U1",)) | {"created": 0}]
    workspace = of(tmp_path, slack(line(1), channels=rooms))
    assert workspace.rooms[0].created is None
    assert [h.at for h in workspace.heard if isinstance(h, Enter)] == [
        datetime(2000, 1, 1, tzinfo=UTC)
    ]


def test_bots_never_enter(tmp_path: Path) -> None:
    users = [user("U1"), user("U7", is_bot=True)]
    lines = [moved(1, "U7"), moved(2, "USLACKBOT"), moved(3, "U8"), line(4, by="U8", bot_id="B8")]
    rooms = [channel("C1", "plans", members=("U1", "U7", "U8"), creator="U7")]
    workspace = of(tmp_path, slack(*lines, users=users, channels=rooms))
    assert {move[0] for move in moves(workspace)} == {"U1"}
    assert workspace.rooms[0].members == frozenset({"U1"})


def test_who_was_deactivated_is_gone_from_their_rooms_by_the_last_change(tmp_path: Path) -> None:
    users = [user("U1"), user("U2", deleted=True, updated=BORN + 90)]
    lines = [line(4, by="U2")]
    rooms = [channel("C1", "plans", members=())]
    workspace = of(tmp_path, slack(*lines, users=users, channels=rooms))
    assert moves(workspace) == [("U2", "C1", "presumed", 0), ("U2", "C1", "exit", 90)]
    assert workspace.people[1].gone


@pytest.mark.parametrize("updated", [None, 0, BORN + 2, "soon"])
def test_no_exit_is_invented_when_no_later_change_dates_it(tmp_path: Path, updated: object) -> None:
    users = [user("U1"), user("U2", deleted=True, updated=updated)]
    workspace = of(tmp_path, slack(line(4, by="U2"), users=users, channels=NOBODY))
    assert [move[2] for move in moves(workspace)] == ["presumed"]


def test_who_enters_is_there_for_what_is_said_at_that_moment(tmp_path: Path) -> None:
    lines = [moved(1, "U1"), moved(2, "U1", "channel_leave")]
    heard = of(tmp_path, slack(*lines, channels=NOBODY)).heard
    assert [type(h) for h in heard] == [Enter, Message, Message, Exit]


# --- links and identity ---------------------------------------------------------------------------


def test_links_need_a_host_the_platform_itself_wrote(tmp_path: Path) -> None:
    made = line(1, files=[{"permalink": "https://acme.slack.com/files/U1/F1/a"}])
    reply = line(3, "see https://evil.slack.com/archives/C1/p1", thread_ts=ts(1))
    first, second = messages(of(tmp_path, slack(made, reply)))
    assert first.link == f"https://acme.slack.com/archives/C1/p{BORN + 1}000100"
    assert second.link == (
        f"https://acme.slack.com/archives/C1/p{BORN + 3}000100?thread_ts={ts(1)}&cid=C1"
    )


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("<https://acme.slack.com/archives/C1/p1700000001000100>", True),
        ("https://acme.slack.com/archives/C9/p1700000001000100", False),
        ("https://acme.slack.com/archives/C1/p1 https://other.slack.com/archives/C1/p1", False),
        ("https://acme.slack.com/help", False),
    ],
)
def test_a_host_people_link_to_counts_when_it_is_the_only_one(
    tmp_path: Path, text: str, known: bool
) -> None:
    assert (one(tmp_path, line(1, text)).link is not None) is known


def test_the_workspace_is_most_peoples_team(tmp_path: Path) -> None:
    users = [user("U1", team_id="T2"), user("U2", team_id="T1"), user("U3", team_id="T2")]
    assert of(tmp_path, slack(users=users)).id == "T2"


def test_the_workspace_is_the_messages_team_when_people_have_none(tmp_path: Path) -> None:
    users = [user("U1", team_id=None)]
    assert of(tmp_path, slack(line(1, team="T5"), users=users)).id == "T5"


def test_a_workspace_without_a_team_has_the_name_of_its_oldest_room(tmp_path: Path) -> None:
    rooms = [channel("C2", "new") | {"created": BORN + 9}, channel("C7", "plans")]
    assert of(tmp_path, slack(line(1), users=[], channels=rooms)).id == "slack-C7"


def _union(*workspaces: Workspace) -> tuple[set[object], set[object]]:
    said = {m.model_dump_json() for w in workspaces for m in messages(w)}
    kept = {
        h.model_dump_json()
        for w in workspaces
        for h in w.heard
        if isinstance(h, Exit) or (isinstance(h, Enter) and not h.presumed)
    }
    return set(said), set(kept)


LINES = [
    line(1, "a", files=[{"permalink": "https://acme.slack.com/files/U1/F1/a"}]),
    moved(2, "U1"),
    moved(3, "U1", "channel_leave"),
    line(4, "b", by="U2", thread_ts=ts(1)),
    moved(5, "U1"),
    moved(6, "U2", "channel_leave"),
    line(7, "c", by="U9", files=[]),
    line(8, "d", files=[{"permalink": "https://acme.slack.com/files/U1/F1/a"}]),
]


def test_overlapping_halves_are_the_whole_in_either_order(tmp_path: Path) -> None:
    def cut(name: str, start: int, stop: int) -> Workspace:
        days = {
            f"plans/2023-11-{14 + i}.json": [x] for i, x in enumerate(LINES) if start <= i < stop
        }
        return of(tmp_path / name, {**slack(), "plans/2023-11-14.json": [], **days})

    whole, early, late = cut("whole", 0, 8), cut("early", 0, 5), cut("late", 3, 8)
    assert early.id == late.id == whole.id
    assert early.rooms == late.rooms == whole.rooms
    assert _union(early, late) == _union(late, early) == _union(whole)
    for order in permutations([early, late]):
        assert _present(*order) == _present(whole)


def _present(*workspaces: Workspace) -> dict[tuple[str, str], bool]:
    """Who is in the room at each message, by the engine's rule for presumed entries."""
    found = {h.id: h for w in workspaces for h in w.heard if isinstance(h, Enter | Exit)}
    lines = sorted(found.values(), key=lambda h: (h.at, h.id))
    return {
        (message.ts, who): _inside([h for h in lines if h.person == who], message.at)
        for w in workspaces
        for message in messages(w)
        for who in ("U1", "U2")
    }


def _inside(lines: list[Enter | Exit], at: datetime) -> bool:
    inside = False
    for i, here in enumerate(lines):
        if here.at > at:
            break
        recorded = [h for h in lines[i + 1 :] if isinstance(h, Exit) or not h.presumed]
        is_presumed = isinstance(here, Enter) and here.presumed
        if not (is_presumed and recorded and isinstance(recorded[0], Enter)):
            inside = isinstance(here, Enter)
    return inside


# --- broken exports -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["channels.json", "groups.json", "dms.json", "mpims.json", "users.json"]
)
@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"{}", b"5", b"\xff\xfe\x00", b"[" * 99999]
)
def test_a_broken_index_is_listed_and_messages_are_read(
    tmp_path: Path, name: str, content: bytes
) -> None:
    workspace = of(tmp_path, {**slack(line(1)), name: content})
    assert name in {unread.file for unread in workspace.unread}
    assert [m.text for m in messages(workspace)] == ["hello"]


def test_missing_indexes_are_made_up_for(tmp_path: Path) -> None:
    workspace = of(tmp_path, {"plans/2023-11-14.json": [line(1)]})
    assert [(room.name, room.kind) for room in workspace.rooms] == [("plans", "private")]
    assert [person.id for person in workspace.people] == ["U1"]
    assert {unread.file for unread in workspace.unread} == {"channels.json", "users.json"}


def test_a_file_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    files = slack()
    whole = b'[{"ts":"5.000000","text":"a","user":"U1"},{"ts":"6.000000","te'
    workspace = of(tmp_path, {**files, "plans/2023-11-14.json": whole})
    assert [m.text for m in messages(workspace)] == ["a"]
    (unread,) = workspace.unread
    assert unread.why == "It breaks off at line 1, column 60; what comes before was read."


def test_entries_that_are_nothing_are_counted_not_quoted(tmp_path: Path) -> None:
    workspace = of(tmp_path, slack(1, line(1), "secret", None, [], {}))
    assert len(messages(workspace)) == 1
    assert [unread.why for unread in workspace.unread] == [
        "Entries 1, 3, 4 and 1 more are no object.",
        "Entry 6 is no message with a usable `ts`.",
    ]


def test_an_export_beside_the_export_is_named(tmp_path: Path) -> None:
    files = {f"a/{name}": content for name, content in slack(line(1)).items()}
    files |= {f"b/{name}": content for name, content in slack(line(2)).items()}
    workspace = of(tmp_path, files)
    assert len(messages(workspace)) == 1
    assert [unread.file for unread in workspace.unread] == ["b/"]


FIELDS = [
    "id", "name", "ts", "text", "user", "subtype", "type", "thread_ts", "edited", "reactions",
    "replies", "blocks", "elements", "attachments", "files", "bot_id", "app_id", "comment",
    "members", "created", "profile", "users", "message", "user_profile", "reply_count", "deleted",
    "updated", "channel", "permalink", "is_share",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)
SUBTYPES = st.sampled_from(
    ["file_share", "file_comment", "message_changed", "message_deleted", "channel_join",
     "channel_archive", "channel_leave", "tombstone", "bot_message", "nobody knows"]
)  # fmt: skip
GARBAGE = st.lists(
    st.fixed_dictionaries(
        {"ts": st.just("7.000000") | JSON, "id": JSON, "subtype": SUBTYPES | JSON}
    ).flatmap(
        lambda base: JSON.map(lambda more: {**more, **base} if isinstance(more, dict) else base)
    )
    | JSON,
    max_size=4,
)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example(name="plans/2023-11-13.json", garbage=[{"user": [], "ts": "7.000000", "type": {}}])
@given(
    name=st.sampled_from(
        ["channels.json", "groups.json", "dms.json", "mpims.json", "users.json", "org_users.json",
         "file_conversations.json", "plans/2023-11-13.json", "new/2023-11-14.json", "plans/x.json"]
    ),
    garbage=GARBAGE | JSON | st.binary(max_size=30),
)  # fmt: skip
def test_garbage_in_any_file_never_raises_and_sound_files_are_read(
    tmp_path_factory: pytest.TempPathFactory, name: str, garbage: object
) -> None:
    files = {**slack(line(1, "sound")), name: garbage}
    workspace = of(tmp_path_factory.mktemp("export"), files)
    assert "sound" in [m.text for m in messages(workspace)]
    assert all(unread.file for unread in workspace.unread)
    workspace.model_dump_json()


def test_a_zip_reads_like_the_folder(tmp_path: Path) -> None:
    files = slack(*LINES)
    assert read(as_zip(tmp_path / "a.zip", files)) == read(as_folder(tmp_path / "a", files))
