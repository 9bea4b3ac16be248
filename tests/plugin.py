"""Where the shared data is there, a test that needs it may not be skipped (`.ci/run` says so).

Loaded by pyproject.toml, so it holds for every test marked `shared`, however it skips.
"""

import os
from collections.abc import Generator

import pytest

REQUIRED = "SECONDORDER_REQUIRE_SHARED"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    demanded = os.environ.get(REQUIRED) and item.get_closest_marker("shared")
    if demanded and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = (
            f"{REQUIRED} is set, and a test that needs the shared data was skipped.\n{reason}"
        )
    return report
