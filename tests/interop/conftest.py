"""A store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.trajectories.store import TrajectoryStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TrajectoryStore]:
    with TrajectoryStore.open(tmp_path / "runs.db") as opened:
        yield opened
