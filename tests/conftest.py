"""What every test stands on: one real FalkorDB per run (per worker), one workspace per test.

Graph names are never used twice: FalkorDB can crash when a key is deleted while an index of the
same name is built (https://github.com/FalkorDB/FalkorDB/issues/2126).
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import redis
from hypothesis import HealthCheck, Phase, settings

from engine import Memory
from engine.recording import Policy
from engine.server import Server
from engine.store import connect

type Workspace = Callable[..., AbstractContextManager[Memory]]
"""Takes the policy (default: the usual one)."""

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
settings.register_profile(
    # The same histories in every run: a failing `make test` fails again.
    "quick",
    max_examples=30,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # shrinking takes minutes: that is for --thorough
    deadline=None,
    suppress_health_check=SLOW,
)
settings.register_profile(
    "thorough", max_examples=300, deadline=None, suppress_health_check=SLOW, print_blob=True
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        help="new random histories, 100,000 questions and more (minutes instead of seconds)",
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("thorough" if config.getoption("--thorough") else "quick")


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a server that is up for the whole run."""
    folder = tmp_path_factory.mktemp("falkordb")
    with Server(folder):
        yield folder


@pytest.fixture(scope="session")
def database(state: Path) -> Iterator[redis.Redis]:
    """A client that may do everything, for looking behind the wall."""
    with Server(state) as server, connect(server.start()) as client:
        yield client


@pytest.fixture(scope="session")
def workspace(state: Path, database: redis.Redis) -> Workspace:
    """Opens an empty memory as often as a test needs one, and deletes its graphs afterwards."""

    @contextmanager
    def opened(policy: Policy | None = None) -> Iterator[Memory]:
        with Memory(uuid.uuid4().hex, state=state, policy=policy) as memory:
            yield memory
        for key in database.keys(f"so:{{{memory.sid}}}:*"):
            if database.type(key) == "graphdata":
                database.execute_command("GRAPH.DELETE", key)  # type: ignore[no-untyped-call]

    return opened


@pytest.fixture
def memory(workspace: Workspace) -> Iterator[Memory]:
    """An empty memory."""
    with workspace() as opened:
        yield opened
