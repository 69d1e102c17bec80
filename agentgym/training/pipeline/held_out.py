"""Evaluation on held-out tasks: runs in the store, like those of `agentgym eval`."""

from typing import Any

from agentgym.agents.local import local_agent
from agentgym.training.config import TrainConfig
from agentgym.training.pipeline.folder import TrainingFolder
from agentgym.training.pipeline.plans import Scene, play_run
from agentgym.training.pipeline.progress import Progress
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json


def stage_name(step: int) -> str:
    """Return what the evaluation after so many steps is called; step 0 is the start."""
    return f"evaluation-{step}"


def evaluate(
    model: Any,
    tokenizer: Any,
    step: int,
    scene: Scene,
    config: TrainConfig,
    store: TrajectoryStore,
    folder: TrainingFolder,
    prefix: str,
    *,
    seed: int,
    progress: Progress,
) -> dict[str, Json]:
    """Play the held-out tasks with a model, unless that is done; return what it came to.

    Args:
        model: As it is after `step` steps of reinforcement learning.
        tokenizer: Its tokenizer.
        step: How many.
        scene: What is played.
        config: The training.
        store: Where episodes go.
        folder: Where the result is written down.
        prefix: What the run is called by.
        seed: Of sampling.
        progress: Tells how far it is.

    Returns:
        What `plans.play_run` returns.

    Raises:
        UsageError: No episode could be played.
    """
    stage = stage_name(step)
    if stage not in folder.done:
        agent = local_agent(
            model,
            tokenizer,
            config.policy.tokens(),
            name=f"{config.name}-{step}",
            temperature=config.policy.temperature,
            seed=seed,
        )
        asked = config.evaluation
        facts = play_run(
            scene,
            scene.test,
            agent,
            store,
            f"{prefix}-{stage}",
            epochs=asked.epochs,
            seed=seed,
            concurrency=asked.concurrency,
            progress=progress,
        )
        folder.finish(stage, facts)
    found: dict[str, Json] = folder.done[stage]
    return found
