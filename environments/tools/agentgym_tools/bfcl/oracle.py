"""The oracle: plays the gold calls, turn by turn."""

from collections.abc import Generator
from typing import Any

from agentgym.types import Action, Observation, Task, ToolCall
from agentgym_tools.bfcl.schemas import parameters
from agentgym_tools.bfcl.syntax import parse_gold


def oracle(task: Task[Any, Any], observation: Observation) -> Generator[Action, Observation, None]:
    """Make each turn's gold calls at once, then say so, which ends the turn."""
    for calls in task.private.gold:
        made = [parse_gold(source, parameters()) for source in calls]
        if made:
            yield Action(
                tool_calls=tuple(ToolCall(name=name, arguments=given) for name, given in made)
            )
        yield Action(text="That is done." if made else "I cannot do that yet.")
