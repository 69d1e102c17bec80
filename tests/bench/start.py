"""What it costs to start: the import and the command's help, each in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path

from tests.bench.figures import Effort, Figure, Findings, Kind

STARTS = 10

_COMMANDS: tuple[tuple[str, Kind, float | None, list[str]], ...] = (
    ("python -c pass", "floor", None, [sys.executable, "-c", "pass"]),
    ("import pydantic", "floor", None, [sys.executable, "-c", "import pydantic"]),
    ("import agentgym", "figure", 0.25, [sys.executable, "-c", "import agentgym"]),
    (
        "agentgym --help",
        "figure",
        0.4,
        [str(Path(sys.executable).with_name("agentgym")), "--help"],
    ),
)


def measure(effort: Effort) -> Findings:
    """CPU seconds of whole processes, the commands by turns."""
    times: dict[str, list[float]] = {name: [] for name, *_ in _COMMANDS}
    for _, _, _, command in _COMMANDS:
        _cpu_s(command)  # the first one may still compile modules
    for _ in range(2 if effort.quick else STARTS):
        for name, _, _, command in _COMMANDS:
            times[name].append(_cpu_s(command))
    for name, kind, aim, _ in _COMMANDS:
        yield Figure(f"{name}, CPU", "s", times[name], aim=aim, kind=kind)


def _cpu_s(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime
