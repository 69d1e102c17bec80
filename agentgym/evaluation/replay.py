"""Replay: execute a stored run's actions again and find the same, or the first difference."""

from collections.abc import AsyncGenerator, Iterable
from typing import Any

from pydantic import BaseModel

from agentgym.env import Environment, blame
from agentgym.errors import UsageError
from agentgym.registry import build, spec
from agentgym.rollout.episode import own_end
from agentgym.tasks import TaskSet, load_tasks, task_hash
from agentgym.trajectories.record import EpisodeKey, Outcome, RunRecord, Trajectory, Turn
from agentgym.trajectories.redact import Redactor
from agentgym.types import Frozen, Json, Reward, Task


class Difference(Frozen):
    """Where a replay first went another way.

    Attributes:
        turn: Turn number from 1; 0 is the reset.
        what: `observation`, `reward`, `fingerprint`, `turns`, `outcome` or `grade`.
    """

    turn: int
    what: str
    stored: Json
    replayed: Json


class Replayed(Frozen):
    """One episode's replay; `difference` is None where all was equal.

    Attributes:
        skipped: Why the episode was not replayed, such as an infrastructure error.
    """

    key: EpisodeKey
    turns: int = 0
    difference: Difference | None = None
    skipped: str | None = None


async def replay_run(
    run: RunRecord,
    trajectories: Iterable[Trajectory],
    *,
    tasks: str | None = None,
    env_options: dict[str, Json] | None = None,
) -> AsyncGenerator[Replayed, None]:
    """Replay a run's episodes one after the other.

    Args:
        run: The run's record.
        trajectories: Its episodes.
        tasks: Where its tasks are now, if not where they were.
        env_options: Replaces or adds to the options the environment was made with.

    Raises:
        UsageError: The environment is in another version, or the tasks are not those played.
    """
    env_spec = spec(run.env)
    known = _tasks_by_id(load_tasks(env_spec, tasks or run.tasks), run)
    redactor = Redactor.from_environ()  # what the store left out must not count as a difference
    with blame("making the environment"):
        environment = build(env_spec, **{**run.env_options, **(env_options or {})})
    try:
        for trajectory in trajectories:
            yield await _replay(environment, redactor, trajectory, known[trajectory.key.task_id])
    finally:
        await environment.close()


def _tasks_by_id(tasks: TaskSet, run: RunRecord) -> dict[str, Task[Any, Any]]:
    known = {task.id: task for task in tasks}
    gone = [task_id for task_id in run.task_ids if task_id not in known]
    if gone:
        raise UsageError(
            f"{len(gone)} tasks of run {run.run_id!r} are not in {tasks.source}: {gone[0]} ...",
            remedy="Name the task set it was run on with --tasks.",
        )
    return known


async def _replay(
    environment: Environment, redactor: Redactor, stored: Trajectory, task: Task[Any, Any]
) -> Replayed:
    if stored.outcome.status == "error" or stored.first is None:
        return Replayed(key=stored.key, skipped=f"error: {stored.outcome.detail}")
    if task_hash(task) != stored.task_hash:
        raise UsageError(
            f"Task {task.id!r} is not the one that was played: its content has changed.",
            remedy="Name the task set it was run on with --tasks.",
        )
    with blame("replay"):
        again = await _again(environment, stored, task)
    replayed = redactor.trajectory(again.model_dump())
    return Replayed(
        key=stored.key,
        turns=len(stored.turns),
        difference=first_difference(stored, Trajectory.model_validate(replayed)),
    )


async def _again(environment: Environment, stored: Trajectory, task: Task[Any, Any]) -> Trajectory:
    """Execute the stored actions; stop early where the episode now ends early."""

    async def fingerprint() -> str | None:
        return None if stored.first_fingerprint is None else await environment.fingerprint()

    if stored.first is not None and stored.grade is not None:
        shown = [stored.first, *(turn.observation for turn in stored.turns)]
        environment.recall(shown, stored.grade)
    first = await environment.reset(task, seed=stored.seed)
    first_fingerprint = await fingerprint()
    turns: list[Turn] = []
    outcome: Outcome | None = None
    grade: Reward | None = None
    for turn in stored.turns:
        transition = await environment.step(turn.action)
        turns.append(
            Turn(
                action=turn.action,
                observation=transition.observation,
                reward=transition.reward,
                fingerprint=await fingerprint(),
            )
        )
        outcome = own_end(transition)
        if outcome is not None:
            grade = transition.reward
            break
    if grade is None:
        grade = await environment.grade()
        if turns:
            turns[-1] = turns[-1].model_copy(update={"reward": grade})
    return stored.model_copy(
        update={
            "first": first,
            "first_fingerprint": first_fingerprint,
            "turns": tuple(turns),
            "outcome": outcome or _cut(stored.outcome),
            "grade": grade,
        }
    )


def _cut(stored: Outcome) -> Outcome:
    """Return how an episode ended that the environment did not end."""
    own = stored.status == "completed" or stored.detail == "environment"
    return Outcome(status="limit") if own else stored


def first_difference(stored: Trajectory, replayed: Trajectory) -> Difference | None:
    """Return the first place where two trajectories of one episode differ."""
    pairs: list[tuple[int, str, Any, Any]] = [
        (0, "observation", stored.first, replayed.first),
        (0, "fingerprint", stored.first_fingerprint, replayed.first_fingerprint),
    ]
    for number, (old, new) in enumerate(zip(stored.turns, replayed.turns, strict=False), start=1):
        pairs.append((number, "observation", old.observation, new.observation))
        pairs.append((number, "reward", old.reward, new.reward))
        pairs.append((number, "fingerprint", old.fingerprint, new.fingerprint))
    pairs.append((len(replayed.turns), "turns", len(stored.turns), len(replayed.turns)))
    pairs.append((len(replayed.turns), "outcome", stored.outcome, replayed.outcome))
    pairs.append((len(replayed.turns), "grade", stored.grade, replayed.grade))
    for turn, what, old, new in pairs:
        if old != new:
            return Difference(turn=turn, what=what, stored=_plain(old), replayed=_plain(new))
    return None


def _plain(value: Any) -> Json:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value
