"""A backend and a connection to the engine for each test."""

from collections.abc import AsyncIterator

import pytest

from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.docker.engine import Engine


@pytest.fixture
async def backend(base_image: str) -> AsyncIterator[DockerBackend]:
    """A backend, closed after the test."""
    backend = DockerBackend(run_id="the-run")
    yield backend
    await backend.close()


@pytest.fixture
async def engine(docker_engine: None) -> AsyncIterator[Engine]:
    """A connection to the engine beside the backend's."""
    engine = Engine.connect()
    yield engine
    await engine.close()
