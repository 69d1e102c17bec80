"""What dead processes have left is found and removed, and nothing of the living."""

import asyncio
import io
import subprocess
import sys
import tarfile
from typing import Any

import pytest

from agentgym.sandbox.base import SandboxInfo
from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.leftovers import container_name, sandbox_labels
from agentgym.sandbox.owner import Owner, make_scratch, new_id, scratch_root
from agentgym.sandbox.spec import SandboxSpec

BUILDER = """
import asyncio, sys
from agentgym.sandbox.docker.backend import DockerBackend
asyncio.run(DockerBackend().build(sys.argv[1], base_image=sys.argv[2], log=lambda line: print(line, flush=True)))
"""


@pytest.fixture
def dead() -> Owner:
    """A process that has ended."""
    child = subprocess.Popen(["sleep", "600"])
    owner = Owner.of(child.pid)
    child.kill()
    child.wait()
    return owner
