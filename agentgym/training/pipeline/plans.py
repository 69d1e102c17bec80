"""Playing inside a training, by the engine and into the store, as `agentgym eval` plays."""

from dataclasses import dataclass
from statistics import fmean

from anyio.from_thread import start_blocking_portal

from agentgym.agents.base import Agent
from agentgym.errors import UsageError
from agentgym.registry import EnvSpec, spec
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.tasks import TaskSet, load_tasks
from agentgym.training.config import EnvironmentConfig
from agentgym.training.pipeline.progress import Progress
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json, Limits


@dataclass(frozen=True)
class Scene:
    """What is trained on.

    Attributes:
        config: As it was asked for.
        env_spec: The environment.
        train: Tasks to learn from.
        test: Tasks that are held out.
    """

    config: EnvironmentConfig
    env_spec: EnvSpec
    train: TaskSet
    test: TaskSet

    def limits(self, episode: Trajectory) -> Limits:
        """Return what could be spent on an episode of one of the tasks."""
        named = {task.id: task for task in (*self.test, *self.train)}
        task = named.get(episode.key.task_id)
        own = task.max_turns if task is not None else None
        turns = self.config.limits.turns or own or self.env_spec.max_turns
        return self.config.limits.model_copy(update={"turns": turns})


def open_scene(config: EnvironmentConfig) -> Scene:
    """Find the environment and its tasks.

    Raises:
        UsageError: There is no such environment, set or split, or a task is in both splits.
    """
    env_spec = spec(config.name)
    tasks = load_tasks(env_spec, config.tasks)
    train = tasks.select(split=config.train, limit=config.train_limit)
    test = tasks.select(split=config.test, limit=config.test_limit)
    if {task.id for task in train} & {task.id for task in test}:
        raise UsageError(
            "The held-out tasks are among those that are learned from.",
            remedy="Give environment.train and environment.test different splits.",
        )
    return Scene(config, env_spec, train, test)


def play_run(
    scene: Scene,
    tasks: TaskSet,
    agent: Agent,
    store: TrajectoryStore,
    run_id: str,
    *,
    epochs: int = 1,
    seed: int = 0,
    concurrency: int = 32,
    progress: Progress | None = None,
) -> dict[str, Json]:
    """Play what is missing of a run, and return what it came to.

    Args:
        scene: Where.
        tasks: What is played.
        agent: Who plays.
        store: Where episodes go.
        run_id: The run.
        epochs: Episodes a task.
        seed: Of the episodes.
        concurrency: Episodes at once.
        progress: Tells how far it is.

    Returns:
        `run_id`; `episodes`, those with a grade; `success` and `reward`, their means; `limited`,
        how many of them a limit ended; `errors`, episodes that infrastructure broke.

    Raises:
        UsageError: The environment or the agent cannot work as asked, or no episode could be
            played.
    """
    plan = Plan(
        env_spec=scene.env_spec,
        tasks=tasks,
        agent=agent,
        env_options=scene.config.options,
        epochs=epochs,
        seed=seed,
        limits=scene.config.limits,
        concurrency=concurrency,
        run_id=run_id,
    )
    total, missing = len(tasks) * epochs, 0

    def played(_: Trajectory) -> None:
        nonlocal missing
        missing -= 1
        if progress is not None and missing:
            progress.now_and_then(lambda: f"{run_id}: {total - missing} of {total} episodes")

    engine = Engine(plan, store, on_episode=played)
    missing = engine.open(resume=True)
    with start_blocking_portal() as portal:  # the caller may be inside a loop of its own
        portal.call(engine.run)
    rows = store.summaries(run_id)
    scored = [row for row in rows if row.score is not None]
    if not scored:
        raise UsageError(
            f"Every episode of {run_id!r} ended in an error.",
            remedy=f"Look at one with `agentgym show {run_id}`.",
        )
    return {
        "run_id": run_id,
        "episodes": len(scored),
        "success": fmean(bool(row.success) for row in scored),
        "reward": fmean(row.score or 0.0 for row in scored),
        "errors": len(rows) - len(scored),
        "limited": sum(row.status == "limit" for row in scored),
    }
