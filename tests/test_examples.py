"""The examples print what they are for, and the documents made from code are up to date."""

import subprocess
import sys
from pathlib import Path

from engine.queries import queries, rendered

ROOT = Path(__file__).resolve().parent.parent


def printed(name: str) -> str:
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=ROOT,
        env={"PATH": ""},
    )
    return run.stdout


def test_quickstart_shows_a_false_belief_and_who_knows_of_it() -> None:
    out = printed("quickstart.py")

    assert "Maya believes: approved" in out
    assert "Billing thinks Maya believes: approved" in out
    assert "It is: rejected" in out


def test_sally_looks_in_the_basket() -> None:
    out = printed("sally_anne.py")

    assert "Anne thinks Sally thinks it is in the basket" in out
    assert "Sally thinks Anne thinks it is in the basket" in out
    assert "Sally will look in the basket." in out


def test_without_a_key_the_handoff_says_what_it_would_send() -> None:
    out = printed("claude_handoff.py")

    assert "would be sent" in out
    assert "you hold “rejected”, while Maya still holds “approved”" in out


def test_every_statement_stands_in_the_document_with_an_explanation() -> None:
    assert (ROOT / "docs" / "CYPHER.md").read_text("utf-8") == rendered()
    assert all(len(query.about) > 10 for query in queries().values())


def test_the_readme_shows_what_the_demo_prints() -> None:
    """Line for line; a line that ends in … was cut."""
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = readme.split("$ make demo\n")[1].split("```")[0].splitlines()
    run = subprocess.run(
        [sys.executable, "-m", "bot", "demo", "--no-prompt"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=ROOT,
    )
    rest = iter(run.stdout.splitlines())
    for line in filter(None, shown):
        start = line.removesuffix(" …") if line.endswith(" …") and "Replaying" not in line else None
        assert any(printed.startswith(start) if start else printed == line for printed in rest), (
            line
        )
