"""Checks of what an environment says of itself."""

import re
from collections.abc import Iterator

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from agentgym.env import blame
from agentgym.errors import AgentgymError
from agentgym.evaluation.conformance.check import Verdict, check, judged, passed, skipped
from agentgym.evaluation.conformance.subject import Subject
from agentgym.registry import oracle_of, resolve
from agentgym.tasks import load_tasks
from agentgym.types import ToolSpec

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


async def importable(subject: Subject) -> Verdict:
    """The class, the oracle and the baselines that the spec names can be imported."""
    with blame("the import"):
        subject.spec.environment_type()
        if subject.spec.oracle is not None:
            oracle_of(subject.spec)
        for baseline in subject.spec.baselines.values():
            resolve(baseline.play)
    return passed()


async def task_sets(subject: Subject) -> Verdict:
    """Every task set is readable, and the default one is among them."""
    with blame("the import"):
        subject.spec.environment_type()
    names = subject.spec.task_set_names()
    problems: list[str | None] = []
    if subject.spec.default_tasks not in names:
        problems.append(f"the default set {subject.spec.default_tasks!r} is not there")
    for name in names:
        try:
            load_tasks(subject.spec, name)
        except AgentgymError as error:
            problems.append(str(error))
    return judged(problems)


async def task_rewards(subject: Subject) -> Verdict:
    """A task's reward range is a range, and success lies in it."""
    return judged(
        f"task {task.id}: success {task.success} is not in the range {task.reward_range}"
        for task in subject.tasks
        if not task.reward_range[0] < task.success <= task.reward_range[1]
    )


async def tools(subject: Subject) -> Verdict:
    """Tools have names that every client accepts, descriptions and valid JSON schemas."""
    offered: dict[str, ToolSpec] = {}
    problems: list[str | None] = []
    for recording in await subject.recordings():
        for turn, frame in enumerate(recording.frames):
            names = [tool.name for tool in frame.observation.tools]
            if len(set(names)) < len(names):
                problems.append(f"{recording.title}, turn {turn}: two tools share a name: {names}")
            offered |= {tool.model_dump_json(): tool for tool in frame.observation.tools}
    if not offered:
        return skipped("no tool was ever on offer")
    return judged([*problems, *(p for tool in offered.values() for p in _tool_problems(tool))])


def _tool_problems(tool: ToolSpec) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name):
        yield f"tool {tool.name!r}: a name is 1 to 64 letters, digits, dashes and underscores"
    if not tool.description.strip():
        yield f"tool {tool.name!r} has no description"
    if tool.parameters.get("type") != "object":
        yield f"tool {tool.name!r}: its schema is not of type object"
    try:
        Draft202012Validator.check_schema(tool.parameters)
    except SchemaError as error:
        yield f"tool {tool.name!r}: its schema is not valid: {error.message}"


CHECKS = (
    check("declaration", importable),
    check("declaration", task_sets),
    check("declaration", task_rewards),
    check("declaration", tools, "episodes"),
)
