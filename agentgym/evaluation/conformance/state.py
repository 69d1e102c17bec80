"""Checks that episodes leave nothing behind, and of the order of calls."""

from agentgym.agents.base import Player
from agentgym.env import Environment, blame
from agentgym.errors import AgentgymError, ProtocolError, ToolError
from agentgym.evaluation.conformance.check import Verdict, check, judged, passed, skipped
from agentgym.evaluation.conformance.recording import (
    Again,
    Frame,
    Recording,
    first_difference,
    follow,
    plain,
)
from agentgym.evaluation.conformance.subject import Subject
from agentgym.types import Action


async def after_episodes(subject: Subject) -> Verdict:
    """A reset after other episodes gives the fresh observation and fingerprint."""
    problems = []
    recordings = await subject.recordings()
    async with subject.instance() as environment:
        for recording in recordings:
            problems.append(await _fresh(subject, environment, recording))
            await _play(subject, environment, recording, len(recording.actions))
    return judged(problems)


async def after_abandoned(subject: Subject) -> Verdict:
    """A reset in the middle of an episode gives the fresh observation and fingerprint."""
    problems = []
    async with subject.instance() as environment:
        for recording in await subject.recordings():
            await _play(subject, environment, recording, (len(recording.actions) + 1) // 2)
            problems.append(await _fresh(subject, environment, recording))
    return judged(problems)


async def task_untouched(subject: Subject) -> Verdict:
    """Playing a task does not change it."""
    await subject.recordings()
    return judged(
        f"task {task.id} was changed by playing it"
        for task in subject.sampled
        if task.model_dump(mode="json") != subject.pristine[task.id]
    )


async def close_twice(subject: Subject) -> Verdict:
    """Closing twice is allowed."""
    async with subject.instance() as environment:
        await environment.reset(subject.sampled[0], seed=subject.seed)
        await environment.close()
    return passed()


async def close_unused(subject: Subject) -> Verdict:
    """Closing an environment that was never reset is allowed."""
    async with subject.instance():
        pass
    return passed()


async def step_before_reset(subject: Subject) -> Verdict:
    """A step before the first reset raises ProtocolError."""
    async with subject.instance() as environment:
        return judged([await _refused(environment, "before the first reset")])


async def step_after_end(subject: Subject) -> Verdict:
    """A step after the end of an episode raises ProtocolError."""
    ended = [item for item in await subject.recordings() if item.over]
    if not ended:
        return skipped("no episode ended by itself")
    problems = []
    async with subject.instance() as environment:
        for recording in ended:
            await _play(subject, environment, recording, len(recording.actions))
            problem = await _refused(environment, "after the end")
            problems.append(None if problem is None else f"{recording.title}: {problem}")
    return judged(problems)


async def _play(
    subject: Subject, environment: Environment, recording: Recording, turns: int
) -> None:
    """Play the first turns of a recording, whatever comes of it."""
    task = subject.task(recording.task_id)
    opening = Frame(observation=await environment.reset(task, seed=recording.seed))
    player: Player = Again(recording.actions)
    await follow(environment, opening, player, turns=turns)


async def _fresh(subject: Subject, environment: Environment, recording: Recording) -> str | None:
    """Reset and return how the opening differs from the recorded one."""
    task = subject.task(recording.task_id)
    opening = Frame(
        observation=await environment.reset(task, seed=recording.seed),
        fingerprint=await environment.fingerprint() if subject.fingerprints else None,
    )
    difference = first_difference(plain(recording.frames[:1]), plain([opening]))
    return None if difference is None else f"task {task.id}, {difference}"


async def _refused(environment: Environment, when: str) -> str | None:
    try:
        with blame("step"):
            await environment.step(Action())
    except ProtocolError:
        return None
    except (AgentgymError, ToolError) as error:
        return f"a step {when} raised {type(error).__name__}: {error}"
    return f"a step {when} was answered"


CHECKS = (
    check("state", after_episodes, "episodes"),
    check("state", after_abandoned, "episodes"),
    check("state", task_untouched, "episodes"),
    check("state", close_twice),
    check("state", close_unused, episodes=1),
    check("state", step_before_reset, episodes=1),
    check("state", step_after_end, "episodes"),
)
