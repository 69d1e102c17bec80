"""Checks that episodes leave nothing behind, and of the order of calls."""

from agentgym.agents.base import Player
from agentgym.env import Environment, blame
from agentgym.errors import AgentgymError, ProtocolError, ToolError
from agentgym.evaluation.conformance.bench import Bench
from agentgym.evaluation.conformance.recording import (
    Again,
    Frame,
    Recording,
    first_difference,
    follow,
    plain,
)
from agentgym.evaluation.conformance.results import Verdict, check, judged, passed, skipped
from agentgym.types import Action


async def after_episodes(bench: Bench) -> Verdict:
    """A reset after other episodes gives the fresh observation and fingerprint."""
    problems = []
    recordings = await bench.recordings()
    async with bench.instance() as environment:
        for recording in recordings:
            problems.append(await _fresh(bench, environment, recording))
            await _play(bench, environment, recording, len(recording.actions))
    return judged(problems)


async def after_abandoned(bench: Bench) -> Verdict:
    """A reset in the middle of an episode gives the fresh observation and fingerprint."""
    problems = []
    async with bench.instance() as environment:
        for recording in await bench.recordings():
            await _play(bench, environment, recording, (len(recording.actions) + 1) // 2)
            problems.append(await _fresh(bench, environment, recording))
    return judged(problems)


async def task_untouched(bench: Bench) -> Verdict:
    """Playing a task does not change it."""
    await bench.recordings()
    return judged(
        f"task {task.id} was changed by playing it"
        for task in bench.sampled
        if task.model_dump(mode="json") != bench.pristine[task.id]
    )


async def close_twice(bench: Bench) -> Verdict:
    """Closing twice is allowed."""
    async with bench.instance() as environment:
        await environment.reset(bench.sampled[0], seed=bench.seed)
        await environment.close()
    return passed()


async def close_unused(bench: Bench) -> Verdict:
    """Closing an environment that was never reset is allowed."""
    async with bench.instance():
        pass
    return passed()


async def step_before_reset(bench: Bench) -> Verdict:
    """A step before the first reset raises ProtocolError."""
    async with bench.instance() as environment:
        return judged([await _refused(environment, "before the first reset")])


async def step_after_end(bench: Bench) -> Verdict:
    """A step after the end of an episode raises ProtocolError."""
    ended = [item for item in await bench.recordings() if item.over]
    if not ended:
        return skipped("no episode ended by itself")
    problems = []
    async with bench.instance() as environment:
        for recording in ended:
            await _play(bench, environment, recording, len(recording.actions))
            problem = await _refused(environment, "after the end")
            problems.append(None if problem is None else f"{recording.title}: {problem}")
    return judged(problems)


async def _play(bench: Bench, environment: Environment, recording: Recording, turns: int) -> None:
    """Play the first turns of a recording, whatever comes of it."""
    task = bench.task(recording.task_id)
    opening = Frame(observation=await environment.reset(task, seed=recording.seed))
    player: Player = Again(recording.actions)
    await follow(environment, opening, player, turns=turns)


async def _fresh(bench: Bench, environment: Environment, recording: Recording) -> str | None:
    """Reset and return how the opening differs from the recorded one."""
    task = bench.task(recording.task_id)
    opening = Frame(
        observation=await environment.reset(task, seed=recording.seed),
        fingerprint=await environment.fingerprint() if bench.fingerprints else None,
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
    check("state", close_unused),
    check("state", step_before_reset),
    check("state", step_after_end, "episodes"),
)
