"""How much memory there is: the host's, and what this process's control groups leave of it."""

from collections.abc import Iterator
from pathlib import Path

from agentgym.errors import SandboxUnavailableError

_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60
# Of a control group: its limit, what is used of it, and which part of that is only a cache.
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_memory() -> int:
    """Return the bytes that programs can still take without anything being pushed out.

    Raises:
        SandboxUnavailableError: This is not Linux.
    """
    free = [limit - used for limit, used in _limits()]
    return max(0, min([_of_host("MemAvailable"), *free]))


def total_memory() -> int:
    """Return the bytes that programs can take in all.

    Raises:
        SandboxUnavailableError: This is not Linux.
    """
    return min([_of_host("MemTotal"), *(limit for limit, _ in _limits())])


def _of_host(name: str) -> int:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except FileNotFoundError as error:
        raise SandboxUnavailableError(
            "Sandboxes need Linux.", remedy="Use a Linux host."
        ) from error
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def _limits() -> Iterator[tuple[int, int]]:
    """Yield limit and use of every control group this process is limited by."""
    for group in _groups():
        for limit, usage, cache in _FILES:
            most = _number(group / limit)
            if most is not None and most < _UNLIMITED:
                yield most, (_number(group / usage) or 0) - _cached(group / "memory.stat", cache)


def _groups() -> Iterator[Path]:
    for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            root = _CONTROL_GROUPS
        elif "memory" in controllers.split(","):
            root = _CONTROL_GROUPS / "memory"
        else:
            continue
        # In a container the path may be the host's: then only the root is there, and is its own.
        own = root / path.lstrip("/")
        yield from (group for group in (own, *own.parents) if group.is_relative_to(root))


def _number(path: Path) -> int | None:
    try:
        text = path.read_text("ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _cached(path: Path, name: str) -> int:
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)
