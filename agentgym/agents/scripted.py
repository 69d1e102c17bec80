"""The scripted agent: plays actions from a file."""

import json
from pathlib import Path

from pydantic import ValidationError

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.env import digest
from agentgym.errors import UsageError
from agentgym.tasks import first_problem
from agentgym.types import Action, Frozen, Json, Observation


class Script(Frozen):
    """One line of a script file.

    Attributes:
        task_id: The task it is for; None for every task without a line of its own.
        actions: What to do, turn by turn; empty turns follow.
    """

    task_id: str | None = None
    actions: tuple[Action, ...]


class ScriptedAgent(Agent):
    """Replays a JSONL file of `Script` lines.

    Args:
        path: The file.

    Raises:
        UsageError: It cannot be read, or a line is malformed; file and line are named.
    """

    def __init__(self, path: Path) -> None:
        self.name = f"scripted:{path.name}"
        self._path = path
        self._scripts = _read(path)

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode by the task's own script, or the common one."""
        script = self._scripts.get(brief.task_id, self._scripts.get(None))
        return _ScriptedPlayer(script.actions if script else ())

    def config(self) -> dict[str, Json]:
        """Return the file's name and what its lines come to."""
        scripts = [script.model_dump(mode="json") for script in self._scripts.values()]
        return {"script": self._path.name, "hash": digest(scripts)}


class _ScriptedPlayer(Player):
    def __init__(self, actions: tuple[Action, ...]) -> None:
        self._actions = iter(actions)

    async def act(self, observation: Observation) -> Decision:
        return Decision(action=next(self._actions, Action()))


def _read(path: Path) -> dict[str | None, Script]:
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The script {path} cannot be read: {error}.", remedy="Check the path."
        ) from error
    scripts: dict[str | None, Script] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        script = _read_line(line, f"{path}:{number}")
        scripts[script.task_id] = script
    return scripts


def _read_line(line: str, where: str) -> Script:
    remedy = 'A line is {"task_id": ..., "actions": [{"tool_calls": [...]}, ...]}.'
    try:
        return Script.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        problem = f"{where}: not JSON: {error.msg} at column {error.colno}."
        raise UsageError(problem, remedy=remedy) from error
    except ValidationError as error:
        raise UsageError(f"{where}: {first_problem(error)}", remedy=remedy) from error
