"""The data beside the repository: read where it lies, never copied into it."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("SECONDORDER_SHARED") or Path(__file__).parents[2] / "shared")


def shared(path: str) -> Path:
    """A file or folder of it, for a test marked `shared`; without it the test says so and is skipped."""
    found = FOLDER / path
    if not found.exists():
        pytest.skip(f"{found} is not there; SECONDORDER_SHARED names the folder that holds {path}")
    return found
