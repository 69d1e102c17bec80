"""What the tests of many sandboxes share: the processes of each, and the memory they take."""

from pathlib import Path

import pytest

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox import procfs
from agentgym.sandbox.bench.footprint import proportional_size
from agentgym.sandbox.bubblewrap.unusable import find_bwrap, try_out
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.leftovers import container_name
from agentgym.sandbox.owner import Owner
from tests.sandbox.bubblewrap_rig import guest_of
from tests.servers import require

CONTROL_GROUPS = Path("/sys/fs/cgroup")
_USAGE = ("memory.current", "memory.usage_in_bytes")


def require_backend(name: str, request: pytest.FixtureRequest) -> None:
    """Skip where a backend does not work here, or fail in CI, where it has to."""
    if name == "docker":
        request.getfixturevalue("base_image")
        return
    try:
        try_out(find_bwrap())
    except SandboxUnavailableError as error:
        require(False, str(error))


async def guest_pid(backend: str, identity: str) -> int:
    """Return a sandbox's guest, as the host numbers it."""
    if backend == "bubblewrap":
        return guest_of(identity)
    engine = Engine.connect()
    try:
        container = await engine.container(container_name(identity))
        assert container is not None
        return int(container["State"]["Pid"])
    finally:
        await engine.close()


class Memory:
    """What a sandbox takes: its control group's memory, and that of Docker's shim.

    It goes by the group and not by a process, whose number another one may have later.

    Args:
        guest: The sandbox's guest, as the host numbers it.
    """

    def __init__(self, guest: int) -> None:
        group = _group_of(guest)
        self._usage = [group / name for name in _USAGE if (group / name).exists()]
        parent = procfs.parent_of(guest) or 0
        is_shim = any("containerd-shim" in word for word in procfs.words_of(parent)[:1])
        self._shim = process(parent) if is_shim else None

    def taken(self) -> int:
        """Return the bytes; a page that several processes share counts once among them."""
        try:
            group = sum(int(path.read_text("ascii")) for path in self._usage)
        except OSError:  # it has been closed
            return 0
        shim = self._shim
        return group + (proportional_size(shim.pid) if shim is not None and shim.alive() else 0)


def process(pid: int) -> Owner:
    """Name a process so that no other is ever mistaken for it."""
    fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
    return Owner(pid, int(fields[19]), Owner.current().boot)


def _group_of(pid: int) -> Path:
    """Return the folder of the control group that counts a process's memory."""
    found = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text("utf-8").splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            found["memory"] = CONTROL_GROUPS / "memory" / path.lstrip("/")
        elif number == "0":
            found["unified"] = CONTROL_GROUPS / path.lstrip("/")
    return found.get("memory", found["unified"])
