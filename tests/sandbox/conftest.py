"""What the tests of sandboxes run on: the Docker engine of this machine, and the base image."""

import subprocess
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from anyio.from_thread import start_blocking_portal

from agentgym.content import content_path
from agentgym.errors import SandboxStartError, SandboxUnavailableError
from agentgym.sandbox.docker.backend import DockerBackend
from tests.servers import require

T = TypeVar("T")


def docker(work: Callable[[DockerBackend], Awaitable[T]]) -> T:
    """Run something on a Docker backend of its own, in a loop of its own."""

    async def run() -> T:
        backend = DockerBackend()
        try:
            return await work(backend)
        finally:
            await backend.close()

    with start_blocking_portal() as portal:
        return portal.call(run)


@pytest.fixture(scope="session")
def docker_engine() -> None:
    """Skip where there is no Docker engine, or fail in CI, where it has to be there."""
    try:
        docker(lambda backend: backend.check_available())
    except SandboxUnavailableError as error:
        require(False, str(error))


@pytest.fixture(scope="session")
def base_image(docker_engine: None) -> str:
    """The digest of the `base` recipe's image, built where it is missing."""
    try:
        return docker(lambda backend: backend.build("base"))
    except SandboxStartError as error:  # there is no registry
        script = content_path("sandboxes", "debootstrap.sh")
        made = subprocess.run([script], capture_output=True, text=True, check=False)
        require(made.returncode == 0, f"{error} {made.stderr}")
    return docker(lambda backend: backend.build("base"))
