"""Checks of rewards, and that they tell who solved a task from who did not."""

import math
from collections.abc import Iterator
from functools import partial

from agentgym.env import Environment
from agentgym.evaluation.conformance.check import Check, Verdict, check, judged
from agentgym.evaluation.conformance.recording import Again, Frame, Recording, follow
from agentgym.evaluation.conformance.subject import Kind, Subject


async def in_range(subject: Subject) -> Verdict:
    """Every reward is finite, and every grade within the task's range."""
    return judged(
        problem for item in await subject.recordings() for problem in _range_problems(subject, item)
    )


async def grade_repeats(subject: Subject) -> Verdict:
    """Grading in the middle of an episode gives the same twice and changes nothing."""
    async with subject.instance() as environment:
        recordings = await subject.recordings()
        return judged([await _regraded(subject, environment, item) for item in recordings])


async def oracle(subject: Subject) -> Verdict:
    """The oracle solves every task it is tried on."""
    problems = []
    for task in subject.sound if subject.every_oracle else subject.sampled:
        found = await subject.attempt("oracle", task)
        if isinstance(found, Recording) and not found.grade.value >= task.success:
            problems.append(
                f"task {task.id}: the oracle scores {found.grade.value}, success is {task.success}"
            )
        elif not isinstance(found, Recording):
            problems.append(f"task {task.id}: {found}")
    return judged(problems)


async def _unsolved_by(kind: Kind, subject: Subject) -> Verdict:
    problems = []
    for task in subject.sampled:
        found = await subject.attempt(kind, task)
        if isinstance(found, Recording) and found.grade.value >= task.success:
            problems.append(f"task {task.id} is unsound: a {kind} agent scores {found.grade.value}")
    return judged(problems)


async def _regraded(subject: Subject, environment: Environment, recording: Recording) -> str | None:
    opening = await environment.reset(subject.task(recording.task_id), seed=recording.seed)
    half = len(recording.actions) // 2
    player = Again(recording.actions)
    await follow(environment, Frame(observation=opening), player, turns=half)
    where = f"{recording.title}, turn {half}"
    before = await environment.fingerprint() if subject.fingerprints else None
    grades = (await environment.grade(), await environment.grade())
    if repr(grades[0]) != repr(grades[1]):
        return f"{where}: the grade was {grades[0]}, then {grades[1]}"
    if subject.fingerprints and before != await environment.fingerprint():
        return f"{where}: grading changed the fingerprint"
    return None


def _range_problems(subject: Subject, recording: Recording) -> Iterator[str]:
    low, high = subject.task(recording.task_id).reward_range
    if not low <= recording.grade.value <= high:
        yield f"{recording.title}: the grade {recording.grade.value} is not in {low} to {high}"
    for turn, frame in enumerate(recording.frames):
        values = [] if frame.reward is None else [frame.reward.value]
        values += [] if frame.reward is None else frame.reward.components.values()
        if not all(math.isfinite(value) for value in values):
            yield f"{recording.title}, turn {turn}: a reward is not finite: {frame.reward}"


CHECKS = (
    check("rewards", in_range, "episodes"),
    check("rewards", grade_repeats, "episodes"),
    check("rewards", oracle, "oracle"),
    Check(
        "rewards.null",
        "An agent that does nothing solves no task.",
        partial(_unsolved_by, "null"),
        ("episodes",),
    ),
    Check(
        "rewards.random",
        "An agent that makes random calls solves no task.",
        partial(_unsolved_by, "random"),
        ("episodes",),
    ),
)
