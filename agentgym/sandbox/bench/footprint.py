"""The memory of sandboxes that do nothing."""

import os
from collections.abc import Sequence
from pathlib import Path

from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.bench.figures import Effort, Figure, Findings, Skipped
from agentgym.sandbox.memory import available_memory
from agentgym.sandbox.procfs import parent_of, pids
from agentgym.sandbox.spec import MIB, SandboxSpec

_SANDBOXES = 16
_SMALL = SandboxSpec(memory=32 * MIB, disk=4 * MIB)
_WHAT = "idle memory a sandbox"


async def measure(backend: SandboxBackend, effort: Effort) -> Findings:
    """Measure the memory of idle sandboxes: of their processes, and what the machine has less.

    A page that several processes share counts once among them (the proportional set size).
    """
    free, own = available_memory(), proportional_size(os.getpid())
    made: list[Sandbox] = []
    processes: list[dict[str, Sequence[int]]] = []
    try:
        for _ in range(effort.of(_SANDBOXES)):
            before = set(descendants(os.getpid()))
            made.append(await backend.start(_SMALL))
            ours = [pid for pid in descendants(os.getpid()) if pid not in before]
            processes.append(await _docker_processes(made[-1]) if not ours else {"processes": ours})
        less = (free - available_memory()) / len(made) / 1e6
        more = (proportional_size(os.getpid()) - own) / len(made) / 1e6
        for part in processes[0]:
            try:
                sizes = [sum(map(proportional_size, each[part])) / 1e6 for each in processes]
            except PermissionError as error:
                yield Skipped(backend.name, f"{_WHAT}, its {part}", str(error))
            else:
                yield Figure(backend.name, f"{_WHAT}, its {part}", "MB", sizes)
        yield Figure(backend.name, f"{_WHAT}, in agentgym's own process", "MB", [more])
        yield Figure(backend.name, f"{_WHAT}, all that the machine has less", "MB", [less])
    finally:
        for sandbox in made:
            await sandbox.close()


def proportional_size(pid: int) -> int:
    """Return a process's memory in bytes, its share of what it shares; 0 where it is gone.

    Raises:
        PermissionError: It is another user's.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


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
    return {"processes": [guest, *descendants(guest)], "engine's process": [parent_of(guest) or 0]}
