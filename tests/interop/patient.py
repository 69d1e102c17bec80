"""An environment whose grade takes until somebody says so, in a package that can be found."""

import asyncio
from pathlib import Path

from agentgym import EnvSpec, Reward
from tests.environments import CounterEnvironment, write_counter_tasks

SPEC = EnvSpec(
    name="patient",
    entry_point="tests.interop.patient:PatientEnvironment",
    description="Count, and wait for the grade.",
)


class PatientEnvironment(CounterEnvironment):
    """A counter that is graded once there is a file.

    Args:
        folder: Where it writes `grading`, and waits for `go`.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = Path(folder)

    async def grade(self) -> Reward:
        (self.folder / "grading").touch()
        while not (self.folder / "go").exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        return await super().grade()


def install(folder: Path) -> Path:
    """Write what registers it, for a PYTHONPATH, and a task; returns the task's file."""
    info = folder / "agentgym_patient-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agentgym-patient\nVersion: 1.0\n")
    entry = "[agentgym.environments]\npatient = tests.interop.patient:SPEC\n"
    (info / "entry_points.txt").write_text(entry)
    return write_counter_tasks(folder, 1)
