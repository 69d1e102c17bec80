"""The memory of sandboxes that do nothing."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.bench.figures import Effort, Figure, Findings, Skipped
from agentgym.sandbox.procfs import parent_of, pids
from agentgym.sandbox.spec import MIB, SandboxSpec

_SANDBOXES = 16
_SMALL = SandboxSpec(memory=32 * MIB, disk=4 * MIB)
_WHAT = "idle memory a sandbox"
_ENGINE = "the engine's for it"


async def measure(backend: SandboxBackend, effort: Effort) -> Findings:
    """Measure the memory of idle sandboxes: of their processes, the engine's and this one's.

    A page that several processes share counts once among them (the proportional set size). A
    process of its own makes the sandboxes, because one that has had some before keeps memory.
    """
    count = effort.of(_SANDBOXES)
    words = (sys.executable, "-m", __spec__.name, backend.name, str(count))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
    said, errors = await process.communicate()
    if process.returncode:
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        yield Skipped(backend.name, _WHAT, last)
        return
    for part, sizes in json.loads(said).items():
        yield Figure(backend.name, f"{_WHAT}, {part}", "MB", sizes)


async def _sizes(name: str, count: int) -> dict[str, list[float]]:
    """Make sandboxes and return the megabytes of each part of them."""
    backend = make_backend(name)
    await (await backend.start(_SMALL)).close()
    own = proportional_size(os.getpid())
    made: list[Sandbox] = []
    processes: list[dict[str, Sequence[int]]] = []
    try:
        for _ in range(count):
            before = set(descendants(os.getpid()))
            made.append(await backend.start(_SMALL))
            ours = [pid for pid in descendants(os.getpid()) if pid not in before]
            processes.append({"its processes": ours} if ours else await _docker_processes(made[-1]))
        more = (proportional_size(os.getpid()) - own) / count / 1e6
        parts = {
            part: [sum(map(proportional_size, each[part])) / 1e6 for each in processes]
            for part in processes[0]
        }
        if _ENGINE in parts:
            shims = [pid for each in processes for pid in each[_ENGINE]]
            parts[f"{_ENGINE}, nothing shared"] = [private_size(pid) / 1e6 for pid in shims]
    finally:
        await backend.close()
    return {**parts, "in agentgym's process": [more]}


def proportional_size(pid: int) -> int:
    """Return a process's memory in bytes, its share of what it shares; 0 where it is gone.

    Raises:
        PermissionError: It is another user's.
    """
    return _size(pid, ("Pss:",))


def private_size(pid: int) -> int:
    """Return a process's memory in bytes that it shares with nobody; 0 where it is gone.

    Raises:
        PermissionError: It is another user's.
    """
    return _size(pid, ("Private_Clean:", "Private_Dirty:"))


def _size(pid: int, names: tuple[str, ...]) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(names))


def descendants(ancestor: int) -> list[int]:
    """Return the processes that a process has started, and those that they have, and so on."""
    children: dict[int, list[int]] = {}
    for pid in pids():
        children.setdefault(parent_of(pid) or 0, []).append(pid)
    found = list(children.get(ancestor, ()))
    for pid in found:  # which grows meanwhile
        found += children.get(pid, ())
    return found


async def _docker_processes(sandbox: Sandbox) -> dict[str, Sequence[int]]:
    from agentgym.sandbox.docker.engine import Engine
    from agentgym.sandbox.docker.leftovers import container_name

    engine = Engine.connect()
    try:
        container = await engine.container(container_name(sandbox.id))
    finally:
        await engine.close()
    if container is None:
        return {}
    guest = int(container["State"]["Pid"])
    shim = parent_of(guest) or 0
    return {"its processes": [guest, *descendants(guest)], _ENGINE: [shim]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_sizes(sys.argv[1], int(sys.argv[2])))))
