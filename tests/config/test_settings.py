"""Settings: one field per variable, bad ones refused by name, values kept out of every message."""

import os
from pathlib import Path

import pytest

from config.settings import ENV_FILE, PREFIX, SDK_KEY, VARIABLES, BadSetting, Settings, load

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "example.env"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith(PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.delenv(SDK_KEY, raising=False)


def test_nothing_has_to_be_set() -> None:
    settings = load()

    assert (settings.crowd, settings.crowds, settings.apps) == (25, {}, ())
    assert (settings.redis_url, settings.quotes, settings.warnings) == (None, True, ())
    assert settings.state.name == "secondorder"


def test_every_variable_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {
        "state": str(tmp_path),
        "redis_url": "rediss://:secret@db.example:6380/0",
        "crowd": "7",
        "crowds": '{"leadership": 60}',
        "apps": '["Deploybot"]',
        "stop_words": '["room"]',
        "settled_words": '{"de": ["gebongt"]}',
        "quotes": "no",
        "grace": "0.5",
        "quiet": "5",
        "patience": "60",
        "readers": "2",
        "tries": "5",
        "waiting": "1000",
        "anthropic_api_key": "sk-1",
        "anthropic_url": "http://127.0.0.1:8080",
        "sort_model": "claude-small",
        "read_model": "claude-large",
        "model_prices": '{"claude-small": [1, 2.5]}',
        "daily_cap": "0.5",
        "digests": '{"support": "9:00"}',
        "shifts": '["17:00 @a @b"]',
        "shift_notice": "30",
        "slack_bot_token": "xoxb-1",
        "slack_app_token": "xapp-1",
        "slack_signing_secret": "s1",
        "slack_client_id": "1.2",
        "slack_client_secret": "s2",
        "slack_api_url": "http://127.0.0.1:1/api/",
        "slack_commands": '{"handoff": "so-handoff"}',
        "public_url": "https://bot.example",
        "http_host": "0.0.0.0",
        "http_port": "80",
        "health_port": "0",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"{PREFIX}{name}".upper(), value)

    assert load().model_dump() == {
        "state": tmp_path,
        "redis_url": "rediss://:secret@db.example:6380/0",
        "crowd": 7,
        "crowds": {"leadership": 60},
        "apps": ("Deploybot",),
        "stop_words": ("room",),
        "settled_words": {"de": ("gebongt",)},
        "quotes": False,
        "grace": 0.5,
        "quiet": 5.0,
        "patience": 60.0,
        "readers": 2,
        "tries": 5,
        "waiting": 1000,
        "anthropic_api_key": "sk-1",
        "anthropic_url": "http://127.0.0.1:8080",
        "sort_model": "claude-small",
        "read_model": "claude-large",
        "model_prices": {"claude-small": (1.0, 2.5)},
        "daily_cap": 0.5,
        "digests": {"support": "9:00"},
        "shifts": ("17:00 @a @b",),
        "shift_notice": 30,
        "slack_bot_token": "xoxb-1",
        "slack_app_token": "xapp-1",
        "slack_signing_secret": "s1",
        "slack_client_id": "1.2",
        "slack_client_secret": "s2",
        "slack_api_url": "http://127.0.0.1:1/api/",
        "slack_commands": {"handoff": "so-handoff"},
        "public_url": "https://bot.example",
        "http_host": "0.0.0.0",
        "http_port": 80,
        "health_port": 0,
    }
    assert set(given) == set(Settings.model_fields)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDORDER_REDIS_URL", "")
    monkeypatch.setenv("SECONDORDER_CROWD", "")

    assert (load().redis_url, load().crowd) == (None, 25)


def test_a_folder_may_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SECONDORDER_STATE", "~/memory")

    assert load().state == tmp_path / "memory"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("CROWD", "hunter2", "it is not a whole number"),
        ("CROWD", "2.5", "it is not a whole number"),
        ("CROWD", "-1", "it is less than 0"),
        ("CROWDS", "hunter2", "it is not JSON"),
        ("CROWDS", '["hunter2"]', "it is not a map"),
        ("CROWDS", '{"hunter2": "many"}', "it is not a whole number"),
        ("APPS", "hunter2", "it is not JSON"),
        ("APPS", '"hunter2"', "it is not a list"),
        ("APPS", "[1]", "it holds something that is not text"),
        ("STOP_WORDS", "{}", "it is not a list"),
        ("SETTLED_WORDS", '{"de": "hunter2"}', "it is not a list"),
        ("SETTLED_WORDS", "[]", "it is not a map"),
        ("QUOTES", "hunter2", "it is neither true nor false"),
        ("GRACE", "hunter2", "it is not a number"),
        ("GRACE", "inf", "it is not a number"),
        ("QUIET", "-1", "it is less than 0"),
        ("TRIES", "0", "it is not more than 0"),
        ("REDIS_URL", "http://:hunter2@db", "it is not the address of a server"),
        ("REDIS_URL", "redis://:hunter2@", "it is not the address of a server"),
        ("REDIS_URL", "redis://:hunter2@db:port", "it is not the address of a server"),
        ("ANTHROPIC_URL", "hunter2", "it is not the address of a server"),
        ("ANTHROPIC_URL", "ftp://hunter2", "it is not the address of a server"),
        ("SORT_MODEL", " ", "it is empty"),
        ("MODEL_PRICES", "hunter2", "it is not JSON"),
        ("MODEL_PRICES", '{"hunter2": [1]}', "it is not two numbers for each model"),
        ("MODEL_PRICES", '{"hunter2": [1, 2, 3]}', "it is not two numbers for each model"),
        ("MODEL_PRICES", '{"hunter2": [1, -2]}', "it is less than 0"),
        ("DAILY_CAP", "hunter2", "it is not a number"),
        ("DAILY_CAP", "nan", "it is not a number"),
        ("DAILY_CAP", "-1", "it is less than 0"),
        ("STATE", "~hunter2/memory", "it names the home of nobody here"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_never_printed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    variable = f"{PREFIX}{name}"
    monkeypatch.setenv(variable, value)

    with pytest.raises(BadSetting) as refused:
        load()

    example = f"for example {variable}={Settings.model_fields[name.lower()].examples[0]}"  # type: ignore[index]
    assert refused.value.message == f"{variable} cannot be used: {reason} ({example})."
    assert "hunter2" not in repr(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_every_bad_value_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDORDER_CROWD", "many")
    monkeypatch.setenv("SECONDORDER_QUOTES", "some")

    with pytest.raises(BadSetting, match=r"CROWD cannot.*QUOTES cannot"):
        load()


def test_a_variable_that_sets_nothing_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDORDER_STOPWORDS", "1")
    monkeypatch.setenv("SECONDORDER_LOUDNESS", "11")
    monkeypatch.setenv("SECONDORDER_SHARED", "of the tests")

    assert load().warnings == (
        "SECONDORDER_LOUDNESS sets nothing.",
        "SECONDORDER_STOPWORDS sets nothing; SECONDORDER_STOP_WORDS does.",
    )


def test_what_may_hold_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDORDER_REDIS_URL", "redis://:hunter2@db.example")
    monkeypatch.setenv("SECONDORDER_ANTHROPIC_API_KEY", "sk-hunter2")
    monkeypatch.setenv("SECONDORDER_ANTHROPIC_URL", "https://hunter2@proxy.example")

    assert "hunter2" not in repr(load())


def test_the_key_of_the_model_s_own_programs_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SDK_KEY, "sk-2")
    assert load().anthropic_api_key == "sk-2"

    monkeypatch.setenv("SECONDORDER_ANTHROPIC_API_KEY", "sk-1")
    assert load().anthropic_api_key == "sk-1"

    monkeypatch.delenv("SECONDORDER_ANTHROPIC_API_KEY")
    monkeypatch.delenv(SDK_KEY)
    (tmp_path / "so.env").write_text(f"{SDK_KEY}=sk-3\n", "utf-8")
    monkeypatch.setenv(ENV_FILE, str(tmp_path / "so.env"))
    assert load().anthropic_api_key == "sk-3"
    assert "sk-3" not in repr(load())


def test_a_file_is_read_and_the_environment_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "so.env"
    file.write_text("SECONDORDER_CROWD=7\nSECONDORDER_QUOTES=no\nSECONDORDER_QOUTES=no\n", "utf-8")
    monkeypatch.setenv(ENV_FILE, str(file))
    monkeypatch.setenv("SECONDORDER_CROWD", "8")

    settings = load()

    assert (settings.crowd, settings.quotes) == (8, False)
    assert settings.warnings == ("SECONDORDER_QOUTES sets nothing; SECONDORDER_QUOTES does.",)


@pytest.mark.parametrize("name", ["not-there.env", "."])
def test_a_file_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv(ENV_FILE, str(tmp_path / name))

    with pytest.raises(BadSetting, match=f"{ENV_FILE} cannot be used"):
        load()


def test_the_example_file_says_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variable, its description above it; set to its default, or left out with its example."""
    blocks = EXAMPLE.read_text("utf-8").strip().split("\n\n")[1:]
    said = {block.splitlines()[-1].split("=")[0].lstrip("#"): block for block in blocks}
    assert list(said) == list(VARIABLES)
    for variable, field in VARIABLES.items():
        about, line = said[variable].splitlines()
        described = Settings.model_fields[field]
        assert about == f"# {described.description}"
        if line.startswith("#"):
            assert described.default_factory or described.default is None
            assert line == f"#{variable}={described.examples[0]}"  # type: ignore[index]

    plain = load()
    monkeypatch.setenv(ENV_FILE, str(EXAMPLE))
    assert load() == plain
    assert load().warnings == ()
