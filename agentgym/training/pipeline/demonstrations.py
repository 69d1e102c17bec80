"""Demonstrations: what is imitated first, and the words that a micro model is made of."""

from collections.abc import Sequence

from agentgym.agents.base import Agent
from agentgym.agents.baselines import RandomAgent
from agentgym.agents.factory import make_agent, make_llm
from agentgym.tasks import TaskSet
from agentgym.training.config import DemonstrationsConfig
from agentgym.training.offline.filters import select
from agentgym.training.pipeline.plans import Scene, play_run
from agentgym.training.pipeline.progress import Progress
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore


def collect(
    config: DemonstrationsConfig,
    scene: Scene,
    store: TrajectoryStore,
    prefix: str,
    *,
    seed: int,
    progress: Progress,
) -> list[str]:
    """Play the demonstrations that are missing, and return their runs.

    Args:
        config: What is asked for.
        scene: Where.
        store: Where episodes go.
        prefix: What the runs are called by.
        seed: Draws the tasks, and those that the random agent plays.
        progress: Tells how far it is.

    Raises:
        UnknownNameError: There is no such agent or run.
        UsageError: The agent cannot play.
    """
    if config.runs:
        for run in config.runs:
            store.get_run(run)
        return list(config.runs)
    drawn = scene.train.select(limit=config.tasks, shuffle_seed=seed, flagged=True)
    noisy = round(config.noise * len(drawn))
    shares = (
        ("random", drawn.tasks[:noisy], RandomAgent()),
        ("demonstrations", drawn.tasks[noisy:], _demonstrator(config, scene)),
    )
    runs: list[str] = []
    for name, tasks, agent in shares:
        if tasks:
            part = TaskSet(drawn.info, tasks, drawn.source)
            facts = play_run(
                scene,
                part,
                agent,
                store,
                f"{prefix}-{name}",
                epochs=config.epochs,
                seed=seed,
                progress=progress,
            )
            runs.append(facts["run_id"])
    return runs


def read_kept(
    config: DemonstrationsConfig, store: TrajectoryStore, runs: Sequence[str]
) -> list[Trajectory]:
    """Return the episodes of some runs that are to be imitated."""
    episodes = (episode for run in runs for episode in store.trajectories(run))
    return select(episodes, config.keep)


def meet_words(
    scene: Scene, store: TrajectoryStore, prefix: str, *, seed: int, progress: Progress
) -> list[str]:
    """Play the training tasks by chance, and by the oracle where there is one.

    Nothing is learned from these runs but the words that are met in them.
    """
    agents: list[Agent] = [RandomAgent()]
    if scene.env_spec.oracle is not None:
        agents.append(make_agent("oracle", scene.env_spec))
    return [
        play_run(scene, scene.train, agent, store, run, seed=seed, progress=progress)["run_id"]
        for agent in agents
        for run in [f"{prefix}-words-{agent.name}"]
    ]


def _demonstrator(config: DemonstrationsConfig, scene: Scene) -> Agent:
    if config.model is not None:
        return make_llm(config.model)
    return make_agent(config.agent, scene.env_spec)
