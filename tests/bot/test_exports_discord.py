"""What a Discord export (DiscordChatExporter's JSON) says, oddity by oddity."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.adapters.exports import read
from bot.chat import Enter, Exit, Message, Person, Workspace
from tests.bot.exports_builders import as_folder, as_zip, author, discord, messages, post


def of(tmp_path: Path, *channels: object) -> Workspace:
    return read(as_folder(tmp_path, {f"{i}.json": data for i, data in enumerate(channels)}))


def one(tmp_path: Path, message: object, **channel: str) -> Message:
    (found,) = messages(of(tmp_path, discord(message, **channel)))
    return found


def test_one_file_is_one_channel(tmp_path: Path) -> None:
    path = as_folder(tmp_path, {"plans.json": discord(post("601", "<@!12> it is approved"))})
    workspace = read(path / "plans.json")
    assert (workspace.id, workspace.platform, workspace.unread) == ("900", "discord", ())
    (said,) = messages(workspace)
    assert said == Message(
        room="500",
        ts="601",
        at=datetime(2024, 3, 1, 10, 10, 1, tzinfo=UTC),
        author="11",
        text="<@!12> it is approved",
        link="https://discord.com/channels/900/500/601",
    )
    assert workspace.people == (Person(id="11", name="user11", handle="user11"),)


def test_parts_and_overlaps_of_a_channel_are_one_room(tmp_path: Path) -> None:
    later = post("602", "new", timestampEdited="2024-03-02T12:00:00.1234567+02:00")
    workspace = of(tmp_path, discord(post("601"), post("602", "old")), discord(later, post("603")))
    assert [(m.ts, m.text) for m in messages(workspace)] == [
        ("601", "hello"),
        ("602", "new"),
        ("603", "hello"),
    ]
    edited = messages(workspace)[1].edited
    assert edited is not None
    assert (edited.by, edited.at) == ("11", datetime(2024, 3, 2, 10, 0, 0, 123456, tzinfo=UTC))
    assert len(workspace.rooms) == 1


def test_nothing_says_a_channel_is_public_so_it_is_not(tmp_path: Path) -> None:
    kinds = [
        "GuildTextChat",
        "GuildVoiceChat",
        "GuildPrivateThread",
        "DirectTextChat",
        "DirectGroupTextChat",
    ]
    channels = [discord(post("601"), id=str(500 + i), type=kind) for i, kind in enumerate(kinds)]
    assert [room.kind for room in of(tmp_path, *channels).rooms] == [
        "private",
        "private",
        "private",
        "direct",
        "group",
    ]


def test_direct_messages_link_to_the_reader(tmp_path: Path) -> None:
    workspace = of(tmp_path, discord(post("601"), guild="0", type="DirectTextChat"))
    assert workspace.id == "direct-messages"
    assert messages(workspace)[0].link == "https://discord.com/channels/@me/500/601"


def test_a_public_thread_is_a_thread_of_its_parent(tmp_path: Path) -> None:
    parent = discord(post("601", "root"), post("602", "beside"))
    thread = discord(
        post("603", "in it"),
        id="601",
        name="root",
        type="GuildPublicThread",
        categoryId="500",
        category="plans",
    )
    workspace = of(tmp_path, thread, parent)
    assert [(room.id, room.name) for room in workspace.rooms] == [("500", "plans")]
    assert [(m.ts, m.room, m.thread) for m in messages(workspace)] == [
        ("601", "500", "601"),
        ("602", "500", None),
        ("603", "500", "601"),
    ]
    assert messages(workspace)[2].link == "https://discord.com/channels/900/601/603"


def test_a_thread_whose_parent_is_not_exported_names_it(tmp_path: Path) -> None:
    workspace = of(
        tmp_path, discord(post("603"), id="601", type="GuildPublicThread", category="plans")
    )
    assert [(room.id, room.name) for room in workspace.rooms] == [("400", "plans")]


def test_a_private_thread_is_a_room_of_its_own(tmp_path: Path) -> None:
    added = post("602", type="RecipientAdd", mentions=[author("12")])
    workspace = of(tmp_path, discord(post("601"), added, id="601", type="GuildPrivateThread"))
    assert workspace.rooms[0].id == "601"
    entries = [(h.person, h.presumed) for h in workspace.heard if isinstance(h, Enter)]
    assert sorted(entries) == [("11", True), ("12", False)]


def test_a_reply_is_no_thread(tmp_path: Path) -> None:
    reference = {"type": "Default", "messageId": "600", "channelId": "500", "guildId": "900"}
    said = one(tmp_path, post("601", type="Reply", reference=reference))
    assert (said.thread, said.system, said.forwarded) == (None, False, False)


@pytest.mark.parametrize("kind", ["ThreadCreated", "ChannelPinnedMessage", "Call", "21", "99", 6])
def test_a_line_the_platform_wrote_is_kept_as_a_system_line(tmp_path: Path, kind: object) -> None:
    said = one(tmp_path, post("601", "Pinned a message.", type=kind))
    assert (said.system, said.author) == (True, "11")


def test_an_answer_to_a_command_is_its_apps(tmp_path: Path) -> None:
    said = one(tmp_path, post("601", type="20", author=author("77", "helper", bot=True)))
    assert (said.system, said.author, said.app) == (False, None, "helper")


def test_a_webhook_named_like_a_person_is_not_that_person(tmp_path: Path) -> None:
    workspace = of(
        tmp_path, discord(post("601"), post("602", author=author("78", "user11", bot=True)))
    )
    assert [(m.author, m.app) for m in messages(workspace)] == [("11", None), (None, "user11")]
    assert [person.id for person in workspace.people] == ["11"]


def test_everybody_has_the_discriminator_0000_since_2023(tmp_path: Path) -> None:
    said = one(tmp_path, post("601", author=author("11") | {"discriminator": "0000"}))
    assert (said.author, said.app) == ("11", None)


def test_a_forward_is_not_the_forwarders_words(tmp_path: Path) -> None:
    snapshot = {"timestamp": "2024-01-01T00:00:00+00:00", "content": "decision-42: approved"}
    said = one(tmp_path, post("601", "", forwardedMessage=snapshot, reference={"type": "Forward"}))
    assert (said.forwarded, said.text, said.author) == (True, "", "11")


def test_reactions_name_people_without_skin_tone(tmp_path: Path) -> None:
    thumb = {"id": "", "name": "👍🏽", "code": "thumbsup_tone3"}
    plain = {"id": "", "name": "👍", "code": "thumbsup"}
    eyes = {"id": "", "name": "👀", "code": "eyes"}
    reactions = [
        {"emoji": thumb, "count": 2, "users": [author("12"), author("77", bot=True)]},
        {"emoji": plain, "count": 2, "users": [author("12"), author("13")]},
        {"emoji": eyes, "count": 5},  # older exporters name nobody
    ]
    workspace = of(tmp_path, discord(post("601", reactions=reactions)))
    assert messages(workspace)[0].reactions == {"👍": ("12", "13")}
    assert [person.id for person in workspace.people] == ["11", "12", "13"]


def test_the_newest_name_of_a_person_counts(tmp_path: Path) -> None:
    new = post("602", author=author("11", "ann", nickname="Ann"))
    workspace = of(tmp_path, discord(new, post("601", author=author("11", "old"))))
    assert workspace.people == (Person(id="11", name="Ann", handle="ann"),)


def test_a_deleted_account_is_gone(tmp_path: Path) -> None:
    workspace = of(tmp_path, discord(post("601", author=author("11", "Deleted User"))))
    assert workspace.people[0].gone


def test_who_writes_was_there_since_the_channel_was_made(tmp_path: Path) -> None:
    id = str(((1_700_000_000_000 - 1_420_070_400_000) << 22) + 5)
    mention = post("602", mentions=[author("12")])
    workspace = of(tmp_path, discord(post("601"), mention, id=id))
    (entry,) = [h for h in workspace.heard if isinstance(h, Enter)]
    assert (entry.person, entry.presumed) == ("11", True)
    assert entry.at == datetime.fromtimestamp(1_700_000_000, UTC) == workspace.rooms[0].created
    assert "12" in [person.id for person in workspace.people]


def test_coming_and_going_on_record(tmp_path: Path) -> None:
    lines = [
        post("601", type="RecipientAdd", mentions=[author("12")]),
        post("602", type="GuildMemberJoin", by="13"),
        post("603", type="RecipientRemove", mentions=[author("12")]),
    ]
    heard = of(tmp_path, discord(*lines, type="DirectGroupTextChat")).heard
    found = [(h.person, h.kind) for h in heard if isinstance(h, Enter | Exit)]
    assert found == [("12", "enter"), ("13", "enter"), ("12", "exit")]


def test_of_several_servers_the_largest_is_read(tmp_path: Path) -> None:
    workspace = of(
        tmp_path, discord(post("601"), guild="901"), discord(post("602"), post("603"), guild="902")
    )
    assert workspace.id == "902"
    assert len(messages(workspace)) == 2
    (unread,) = workspace.unread
    assert unread.file == "0.json"
    assert "another server" in unread.why


def test_a_file_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    whole = json.dumps(discord(post("601"), post("602"))).encode()
    workspace = of(tmp_path, whole[: whole.rindex(b'"602"') + 30])
    assert [m.ts for m in messages(workspace)] == ["601"]
    assert "breaks off" in workspace.unread[0].why


def test_a_message_without_id_or_time_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    broken = [post("601", timestamp="yesterday"), {"content": "secret"}, 5]
    workspace = of(tmp_path, discord(*broken, post("602")))
    assert [m.ts for m in messages(workspace)] == ["602"]
    assert workspace.unread[0].why == "3 messages have no usable `id` or `timestamp`."


def test_without_a_timestamp_the_id_tells_the_time(tmp_path: Path) -> None:
    id = str((1_700_000_000_000 - 1_420_070_400_000) << 22)
    said = one(tmp_path, post(id, timestamp=None))
    assert said.at == datetime.fromtimestamp(1_700_000_000, UTC)


def test_downloaded_media_is_no_channel(tmp_path: Path) -> None:
    files = {
        "plans.json": discord(post("601")),
        "plans.json_Files/data.json": b"broken",
        "notes.json": [],
    }
    workspace = read(as_zip(tmp_path / "x.zip", files, prefix="top/"))
    assert len(messages(workspace)) == 1
    assert [unread.file for unread in workspace.unread] == ["top/notes.json"]


def test_days_as_file_names_do_not_make_it_slack(tmp_path: Path) -> None:
    files = {"plans/2024-03-01.json": discord(post("601"))}
    assert read(as_folder(tmp_path, files)).platform == "discord"


FIELDS = [
    "id", "name", "nickname", "isBot", "type", "timestamp", "timestampEdited", "content", "author",
    "reactions", "emoji", "users", "mentions", "reference", "forwardedMessage", "interaction",
    "user", "code",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner | st.just("Default") | st.just("2024-01-01T00:00:00") | st.just("12"),
            max_size=7,
        )
    ),
    max_leaves=25,
)


@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(message=JSON, channel=JSON, file=JSON | st.binary(max_size=20))
def test_garbage_never_raises_and_sound_files_are_read(
    tmp_path_factory: pytest.TempPathFactory, message: object, channel: object, file: object
) -> None:
    bad = {**discord(message), "channel": channel}
    workspace = of(
        tmp_path_factory.mktemp("export"),
        bad,
        file,
        discord(message, post("601", "sound"), *[post(str(i)) for i in range(602, 609)]),
    )
    assert "sound" in [m.text for m in messages(workspace)]
    workspace.model_dump_json()
