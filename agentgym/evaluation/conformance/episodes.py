"""Checks that episodes can be played at all."""

from functools import partial

from agentgym.agents.base import Brief
from agentgym.agents.baselines import RandomAgent
from agentgym.evaluation.conformance.check import Check, Verdict, check, judged, passed
from agentgym.evaluation.conformance.recording import Recording, record
from agentgym.evaluation.conformance.subject import Kind, Need, Subject
from agentgym.types import ImagePart, Limits, Observation

_TURNS = 4


async def opening(subject: Subject) -> Verdict:
    """Reset returns messages with something in them, none of them an answer or a fault."""
    problems = []
    for task in subject.sampled:
        async with subject.instance() as environment:
            observation = await environment.reset(task, seed=subject.seed)
        problem = _opening_problem(observation)
        problems.append(None if problem is None else f"task {task.id}, turn 0: {problem}")
    return judged(problems)


def _opening_problem(observation: Observation) -> str | None:
    parts = [m.content for m in observation.messages if not isinstance(m.content, str)]
    pictures = any(isinstance(part, ImagePart) for content in parts for part in content)
    if not observation.text.strip() and not pictures:
        return "the observation is empty"
    if any(message.role == "tool" for message in observation.messages):
        return "a tool message answers a call that was never made"
    if observation.faults:
        return f"the observation reports the faults {observation.faults}"
    return None


async def other_seed(subject: Subject) -> Verdict:
    """Another seed gives an episode too."""
    for number, task in enumerate(subject.sampled, start=1):
        seed = subject.seed + number
        brief = Brief(env=subject.spec.id, task_id=task.id, seed=seed, limits=Limits(turns=_TURNS))
        async with subject.instance() as environment:
            player = await RandomAgent().begin(brief)
            await record(
                environment,
                task,
                player,
                kind="random",
                seed=seed,
                turns=_TURNS,
                fingerprints=subject.fingerprints,
            )
    return passed()


async def _played_by(kind: Kind, subject: Subject) -> Verdict:
    problems = []
    for task in subject.sampled:
        found = await subject.attempt(kind, task)
        if not isinstance(found, Recording):
            problems.append(f"task {task.id}: {type(found).__name__}: {found}")
    return judged(problems)


def _by(kind: Kind, contract: str) -> Check:
    needs: tuple[Need, ...] = ("oracle",) if kind == "oracle" else ()
    return Check(f"episodes.{kind}", contract, partial(_played_by, kind), needs)


CHECKS = (
    check("episodes", opening),
    check("episodes", other_seed),
    _by("null", "An agent that does nothing breaks nothing."),
    _by("random", "An agent that makes random calls breaks nothing."),
    _by("malformed", "An agent that makes every kind of mistake breaks nothing."),
    _by("oracle", "The oracle plays without breaking anything."),
)
