"""What came of a training: figures in `report.json`, and a plot where matplotlib is installed."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from agentgym.errors import UsageError
from agentgym.training.config import TrainConfig
from agentgym.training.pipeline.folder import STATE
from agentgym.training.pipeline.metrics import METRICS, read_metrics
from agentgym.types import Frozen, Json

REPORT = "report.json"


class Evaluated(Frozen):
    """One evaluation on the held-out tasks.

    Attributes:
        step: Steps of reinforcement learning before it.
        run_id: The run in the store.
        episodes: Episodes with a grade.
        success: Share of them that solved their task.
        reward: Mean grade.
        errors: Episodes that infrastructure broke.
        limited: Episodes with a grade that a limit ended, such as the turns or the model's
            context.
    """

    step: int
    run_id: str
    episodes: int
    success: float
    reward: float
    errors: int
    limited: int = 0


class SeedResult(Frozen):
    """What came of one seed.

    Attributes:
        seed: The seed.
        evaluations: In the order of their steps.
        rewards: Mean reward of each step's episodes in reinforcement learning.
    """

    seed: int
    evaluations: tuple[Evaluated, ...]
    rewards: tuple[float, ...] = ()


def begun_seeds(config: TrainConfig) -> list[int]:
    """Return those of a training's seeds that have a folder."""
    return [seed for seed in config.seeds if (config.output / f"seed-{seed}" / STATE).exists()]


def read_seed(output: Path, seed: int) -> SeedResult:
    """Read what came of a seed from its folder.

    Raises:
        UsageError: It holds no training.
    """
    folder = output / f"seed-{seed}"
    try:
        done = json.loads((folder / STATE).read_text("utf-8"))["done"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{folder} holds no training.", remedy="Train it first.") from error
    found = [
        Evaluated(step=int(stage.rpartition("-")[2]), **facts)
        for stage, facts in done.items()
        if stage.startswith("evaluation-")
    ]
    return SeedResult(
        seed=seed,
        evaluations=tuple(sorted(found, key=lambda one: one.step)),
        rewards=tuple(_rewards(folder / METRICS)),
    )


def write_report(config: TrainConfig, results: Sequence[SeedResult]) -> None:
    """Write `report.json`, and `reward.svg` where matplotlib is installed."""
    report = {
        "name": config.name,
        "settings": config.model_dump(mode="json", exclude={"output", "store"}),
        "seeds": [result.model_dump(mode="json") for result in results],
    }
    path = config.output / REPORT
    temporary = path.with_name(f".{REPORT}.tmp")
    temporary.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    temporary.replace(path)
    if find_spec("matplotlib") and any(result.rewards for result in results):
        from agentgym.training.pipeline.plot import plot

        plot({config.name: results}, config.output / "reward.svg", title=config.name)


def read_report(path: Path) -> tuple[str, list[SeedResult]]:
    """Read the name and the results from a `report.json`.

    Raises:
        UsageError: It is none.
    """
    try:
        report: Json = json.loads(path.read_text("utf-8"))
        return report["name"], [SeedResult.model_validate(seed) for seed in report["seeds"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no report of a training.", remedy="Check the path.") from error


def _rewards(path: Path) -> list[float]:
    taken = [one.values for one in read_metrics(path) if one.stage == "grpo"]
    return [values["reward"] for values in taken if "reward" in values]
