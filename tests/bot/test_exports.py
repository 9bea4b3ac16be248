"""What is accepted as an export: folder, zip or file, and one clear sentence for the rest."""

import struct
import time
import zipfile
from pathlib import Path

import pytest

from bot.adapters import exports_files
from bot.adapters.exports import read
from bot.adapters.exports_presence import event_id
from engine.errors import InvalidInput
from tests.bot.exports_builders import (
    as_folder,
    as_zip,
    channel,
    discord,
    line,
    messages,
    post,
    raw,
    slack,
    user,
)


def refused(path: Path) -> str:
    with pytest.raises(InvalidInput) as error:
        read(path)
    return error.value.message


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path / "nowhere")
    assert message.startswith(f"{tmp_path / 'nowhere'} does not exist; what can be replayed is")
    assert "DiscordChatExporter" in message


def test_what_is_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"")
    assert "is empty" in refused(tmp_path / "a.json")
    (tmp_path / "folder").mkdir()
    assert "holds no JSON file" in refused(tmp_path / "folder")
    assert "holds no JSON file" in refused(as_zip(tmp_path / "a.zip", {}))


@pytest.mark.parametrize("content", [b"hello", b"[]", b"{}", b"<html>", b"\x00\xff", b"null"])
def test_a_file_that_is_neither_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert "is neither" in refused(tmp_path / "a.json")


def test_a_folder_that_is_neither_is_refused(tmp_path: Path) -> None:
    as_folder(tmp_path, {"a.json": {}, "b/c.json": []})
    assert "holds 2 JSON files, but neither kind of export" in refused(tmp_path)


def test_one_channel_of_a_slack_export_is_told_to_go_up(tmp_path: Path) -> None:
    as_folder(tmp_path, slack(line(1)))
    assert "hand in the folder above it" in refused(tmp_path / "plans")
    assert "hand in the folder above it" in refused(tmp_path / "plans" / "2023-11-14.json")


def test_a_cut_off_zip_is_refused(tmp_path: Path) -> None:
    path = as_zip(tmp_path / "a.zip", slack(line(1)))
    path.write_bytes(path.read_bytes()[:-30])
    assert "is a damaged zip" in refused(path)


@pytest.mark.parametrize("prefix", ["", "export/", "my export/2024/", "./"])
def test_a_zip_with_folders_around_it_reads_like_the_folder(tmp_path: Path, prefix: str) -> None:
    files = slack(line(1), line(2))
    path = as_zip(tmp_path / "a.zip", files, prefix)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/export/._channels.json", b"\x00\x05")
        archive.writestr("export/.DS_Store", b"\x00")
        archive.writestr(f"{prefix}plans/._2023-11-14.json", b"\x00")
    assert read(path) == read(as_folder(tmp_path / "folder", files))


def test_backslashes_in_a_zip_are_folders(tmp_path: Path) -> None:
    files = {name.replace("/", "\\"): content for name, content in slack(line(1)).items()}
    assert [m.room for m in messages(read(as_zip(tmp_path / "a.zip", files)))] == ["C1"]


@pytest.mark.parametrize("encoding", ["utf-8", "cp437"])
def test_names_in_a_zip_are_read_in_the_encoding_they_have(tmp_path: Path, encoding: str) -> None:
    name = "größe".encode(encoding)
    placeholder = "x" * len(name)  # zipfile cannot write a name that is not UTF-8
    files = {
        **slack(channels=[channel("C1", "größe")]),
        f"{placeholder}/2023-11-14.json": [line(1)],
    }
    path = as_zip(tmp_path / "a.zip", files)
    path.write_bytes(path.read_bytes().replace(placeholder.encode(), name))
    workspace = read(path)
    assert [m.room for m in messages(workspace)] == ["C1"]
    assert workspace.unread == ()


def test_a_path_that_leads_outside_is_not_read_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = as_zip(tmp_path / "in" / "a.zip", slack(line(1)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../evil.json", b"[]")
        archive.writestr("plans/../../evil.json", b"[]")
    workspace = read(path)
    assert [(u.file, u.why) for u in workspace.unread] == [
        ("../evil.json", "Its path leads outside the export."),
        ("plans/../../evil.json", "Its path leads outside the export."),
    ]
    assert len(messages(workspace)) == 1
    assert [p.name for p in tmp_path.rglob("*")] == ["in", "a.zip"]


def test_a_member_that_would_burst_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    files = {**slack(line(1)), "plans/2023-11-15.json": b" " * (8 * 2**20)}
    workspace = read(as_zip(tmp_path / "a.zip", files))
    assert [(u.file, u.why) for u in workspace.unread] == [
        ("plans/2023-11-15.json", "It would unpack to 8 MB, which no export needs.")
    ]
    assert len(messages(workspace)) == 1


def test_a_file_that_is_too_large_is_refused_by_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports_files, "LARGEST", 2**20)
    files = {**slack(line(1)), "plans/2023-11-15.json": b" " * (2**20 + 1)}
    workspace = read(as_folder(tmp_path, files))
    assert [u.why for u in workspace.unread] == ["It is larger than 1 MB."]


def test_a_damaged_member_is_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {
            **slack(line(1)),
            "plans/2023-11-15.json": [line(9, "XYZZY")],
        }.items():
            archive.writestr(name, raw(content))
    path.write_bytes(path.read_bytes().replace(b"XYZZY", b"OTHER"))
    workspace = read(path)
    assert [(u.file, u.why) for u in workspace.unread] == [
        ("plans/2023-11-15.json", "It is damaged, encrypted or packed in an unknown way.")
    ]
    assert len(messages(workspace)) == 1


def test_an_encrypted_member_is_listed(tmp_path: Path) -> None:
    path = as_zip(tmp_path / "a.zip", slack(line(1)))
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")  # the last member in the directory
    flags = struct.unpack_from("<H", content, entry + 8)[0]
    struct.pack_into("<H", content, entry + 8, flags | 1)
    path.write_bytes(content)
    assert [u.why for u in read(path).unread] == ["It is encrypted."]


def test_a_link_in_a_folder_that_leads_nowhere_is_passed_over(tmp_path: Path) -> None:
    as_folder(tmp_path, slack(line(1)))
    (tmp_path / "plans" / "2023-11-15.json").symlink_to(tmp_path / "nowhere")
    assert len(messages(read(tmp_path))) == 1


def test_progress_counts_files(tmp_path: Path) -> None:
    files = slack(line(1))
    files["plans/2023-11-15.json"] = b"broken"
    heard: list[tuple[int, int]] = []
    read(as_folder(tmp_path / "s", files), lambda done, total: heard.append((done, total)))
    assert heard == [(1, 2), (2, 2)]
    heard.clear()
    channels = {"a.json": discord(post("601")), "b.json": discord(post("602"), id="501")}
    read(as_folder(tmp_path / "d", channels), lambda done, total: heard.append((done, total)))
    assert heard == [(1, 2), (2, 2)]


def test_bytes_that_are_no_text_cost_themselves_alone(tmp_path: Path) -> None:
    files = slack()
    files["plans/2023-11-14.json"] = b'[{"ts":"5.000000","user":"U1","text":"caf\xe9"}]'
    workspace = read(as_folder(tmp_path, files))
    assert [m.text for m in messages(workspace)] == ["caf\ufffd"]
    assert [u.why for u in workspace.unread] == [
        "Some characters in it are not valid and were replaced."
    ]


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    files = {name: b"\xef\xbb\xbf" + raw(content) for name, content in slack(line(1)).items()}
    assert len(messages(read(as_folder(tmp_path / "s", files)))) == 1
    alone = as_folder(tmp_path / "d", {"a.json": b"\xef\xbb\xbf" + raw(discord(post("601")))})
    assert len(messages(read(alone / "a.json"))) == 1


def test_event_ids_are_fit_for_the_mind() -> None:
    assert event_id("T 1", "C#", "U.1") == "T-1-C--U-1"
    long = event_id("x" * 300, "a")
    assert len(long) <= 200
    assert long != event_id("x" * 300, "b")


def test_ten_thousand_messages_are_read_in_about_a_second(tmp_path: Path) -> None:
    users = [user(f"U{i}") for i in range(100)]
    files = slack(users=users)
    for day in range(100):
        files[f"plans/2023-{1 + day // 28:02}-{1 + day % 28:02}.json"] = [
            line(day * 86_400 + i, "decision-42 is approved now", by=f"U{i}") for i in range(100)
        ]
    path = as_zip(tmp_path / "a.zip", files)
    started = time.perf_counter()
    assert len(messages(read(path))) == 10_000
    assert time.perf_counter() - started < 3  # about a quarter of a second where nothing else runs
