"""Grades: whether every check of a task holds, and InterCode's reward beside that."""

import math

from agentgym.types import Reward
from agentgym_shell.checks import Left, problems
from agentgym_shell.intercode import Parts, intercode_parts
from agentgym_shell.stage import ShellTask, Stage
from agentgym_shell.tasks import StateCheck
from agentgym_shell.trees import selected

EXACT = "exact"
INTERCODE = "intercode"
GRADERS = (EXACT, INTERCODE)


async def grade(grader: str, stage: Stage, task: ShellTask, left: Left) -> Reward:
    """Grade what an agent left.

    Args:
        grader: `exact`: 1 where every check holds, else 0. `intercode`: InterCode's reward, and
            below the task's `success` where not every check holds.
        stage: Where the checks run; none of its sandboxes is held.
        task: The task.
        left: What the agent left.
    """
    found = await problems(stage, task, left)
    correct = float(not any(found.values()))
    components = {name: float(not lines) for name, lines in found.items()} | {"correct": correct}
    outcome = "match" if correct else "mismatch"
    if left.files is None:
        outcome = "too_large"
    value = correct
    if grader == INTERCODE:
        parts = await _intercode(stage, task, left)
        components |= parts._asdict()
        value = min(1.0, sum(parts))
        if not correct:
            value = min(value, math.nextafter(task.success, -math.inf))
    return Reward(
        value=value,
        components=components,
        labels={"grader": grader, "outcome": outcome},
        feedback="\n".join(line for lines in found.values() for line in lines) or "all is right",
    )


def nothing(grader: str) -> Reward:
    """Return the grade of an episode without a submission."""
    return Reward(
        value=0.0,
        components={"correct": 0.0},
        labels={"grader": grader, "outcome": "no_answer"},
        feedback="nothing was submitted",
    )


async def _intercode(stage: Stage, task: ShellTask, left: Left) -> Parts:
    if left.files is None:
        return Parts(0.0, 0.0, 0.0, 0.0)
    where = task.private.state or StateCheck()
    initial, gold = await stage.initial(task), await stage.gold(task)
    return intercode_parts(
        initial=selected(initial.tree, where),
        agent=selected(left.files.tree, where),
        gold=selected(gold.tree, where),
        agent_output=left.output if left.answer is None else left.answer,
        gold_output=gold.output if left.answer is None else task.private.oracle.answer or "",
    )
