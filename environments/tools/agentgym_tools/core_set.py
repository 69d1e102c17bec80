"""The shipped task set: both own domains' scenarios, as lines of `tasks.jsonl`.

`python -m agentgym_tools.core_set PATH` writes them.
"""

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from agentgym_tools.broadband.scenarios import tasks as broadband_tasks
from agentgym_tools.clinic.scenarios import tasks as clinic_tasks
from agentgym_tools.tasks import ToolsTask


def tasks() -> Iterator[ToolsTask]:
    """Yield every task, domain by domain."""
    yield from clinic_tasks()
    yield from broadband_tasks()


def lines(canary: str) -> Iterator[str]:
    """Yield the file's lines, each with its line break."""
    for task in tasks():
        data = task.model_dump(mode="json", exclude_defaults=True)
        yield json.dumps({**data, "canary": canary}, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    info = tomllib.loads((folder / "taskset.toml").read_text("utf-8"))
    (folder / "tasks.jsonl").write_text("".join(lines(info["canary"])), "utf-8")
