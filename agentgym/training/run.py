"""A training from its settings: demonstrations, imitation, reinforcement, and what came of it.

Every stage leaves its result in the seed's folder before the next begins, so that the same call
again goes on where a killed one was.
"""

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import MissingExtraError, UsageError
from agentgym.training.config import TrainConfig
from agentgym.training.pipeline.folder import TrainingFolder
from agentgym.training.pipeline.metrics import MetricsLog
from agentgym.training.pipeline.plans import Scene, open_scene
from agentgym.training.pipeline.progress import Progress, Say
from agentgym.training.pipeline.report import SeedResult, begun_seeds, read_seed, write_report
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json

if TYPE_CHECKING:
    from agentgym.trajectories.record import Trajectory

_NOT_COMPARED = {"output", "seeds", "store", "threads", "report_to"}


def train(
    config: TrainConfig,
    *,
    seeds: Sequence[int] | None = None,
    say: Say | None = None,
    quiet: bool = False,
) -> list[SeedResult]:
    """Carry out what is missing of a training.

    Args:
        config: What to do.
        seeds: Only these of the configuration's seeds.
        say: Called with a line for every stage that was carried out, and now and then meanwhile.
        quiet: Whether the libraries' progress bars and notes are kept off standard error.

    Returns:
        What came of each seed.

    Raises:
        MissingExtraError: The packages that train are not installed.
        UnknownNameError: There is no such environment, task set, split, estimator or recipe.
        UsageError: A setting cannot be, a logger is not installed, the output folder is of
            another training or cannot be written, or another process trains in it.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError(
            "A training from settings is one process.",
            remedy="On several GPUs use TrlSpec and TurnLevelGRPOTrainer in a script of your own; "
            "see examples/train_vllm.md.",
        )
    chosen = config.seeds if seeds is None else tuple(seeds)
    scene = open_scene(config.environment)
    _prepare(config, quiet=quiet)
    from agentgym.training.pipeline.checks import check  # needs the packages that train

    check(config, scene)
    with TrajectoryStore.open(config.store) as store:
        for run in config.demonstrations.runs:
            played = store.get_run(run).env
            if played != scene.env_spec.id:
                raise UsageError(
                    f"The run {run!r} was played in {played}, not in {scene.env_spec.id}.",
                    remedy="Name runs of the environment that is trained on.",
                )
        for seed in chosen:
            folder = TrainingFolder(config.output / f"seed-{seed}", _compared(config))
            with folder.owned():
                progress = Progress(say or _silent, seed)
                with _written(folder.path):
                    _Training(config, scene, store, folder, seed, progress).carry_out()
    begun = sorted({*begun_seeds(config), *chosen})
    results = {seed: read_seed(config.output, seed) for seed in begun}
    with _written(config.output):
        write_report(config, list(results.values()))
    return [results[seed] for seed in chosen]


class _Training:
    """One seed's training."""

    def __init__(
        self,
        config: TrainConfig,
        scene: Scene,
        store: TrajectoryStore,
        folder: TrainingFolder,
        seed: int,
        progress: Progress,
    ) -> None:
        self._config = config
        self._scene = scene
        self._store = store
        self._folder = folder
        self._seed = seed
        self._progress = progress
        # Runs of an output folder that was removed must not be taken for this one's.
        begun = folder.done.get("begun") or {"id": uuid.uuid4().hex[:6]}
        if "begun" not in folder.done:
            folder.finish("begun", begun)
        self._prefix = f"{config.name}-s{seed}-{begun['id']}"
        self._log = MetricsLog(folder.path, store.metrics, self._prefix)

    def carry_out(self) -> None:
        model = self._imitated() if self._config.sft is not None else self._start()
        self._evaluate(model, 0)
        if self._config.grpo is not None:
            self._evaluate(self._reinforced(model), self._config.grpo.steps)

    def _start(self) -> Path:
        """Return the folder of the model that training begins with."""
        from agentgym.training.pipeline.demonstrations import meet_words
        from agentgym.training.pipeline.models import make_micro, save_model

        if self._config.model.path is not None:
            return self._config.model.path
        path = self._folder.path / "start"
        if "start" not in self._folder.done:
            self._seeded()
            met = meet_words(
                self._scene, self._store, self._prefix, seed=self._seed, progress=self._progress
            )
            runs = [*met, *self._demonstrations()]
            episodes = self._episodes(runs)
            model, tokenizer = make_micro(self._config, self._scene, episodes, seed=self._seed)
            save_model(model, tokenizer, self._config, path)
            size = sum(parameter.numel() for parameter in model.parameters())
            self._finish("start", {"parameters": size, "tokens": len(tokenizer)})
        return path

    def _demonstrations(self) -> list[str]:
        from agentgym.training.pipeline.demonstrations import collect

        if self._config.sft is None:
            return []
        done = self._folder.done.get("demonstrations", {"runs": []})
        runs: list[str] = list(done["runs"])
        if not runs or not all(map(self._store.has_run, runs)):  # the store may be a new one
            runs = collect(
                self._config.demonstrations,
                self._scene,
                self._store,
                self._prefix,
                seed=self._seed,
                progress=self._progress,
            )
            self._finish("demonstrations", {"runs": runs})
        return runs

    def _imitated(self) -> Path:
        from agentgym.training.pipeline.demonstrations import read_kept
        from agentgym.training.pipeline.models import save_model
        from agentgym.training.pipeline.supervised import imitate

        start, path = self._start(), self._folder.path / "sft"
        if "sft" not in self._folder.done and self._config.sft is not None:
            self._seeded()
            runs = self._demonstrations()
            episodes = read_kept(self._config.demonstrations, self._store, runs)
            model, tokenizer = self._open(start)
            facts = imitate(
                model,
                tokenizer,
                episodes,
                self._scene,
                self._config,
                self._config.sft,
                self._folder.path,
                self._log,
                self._progress,
                seed=self._seed,
            )
            save_model(model, tokenizer, self._config, path)
            self._finish("sft", {"episodes": len(episodes), **facts})
        return path

    def _reinforced(self, start: Path) -> Path:
        from agentgym.training.pipeline.models import save_model
        from agentgym.training.pipeline.reinforcement import reinforce

        path = self._folder.path / "grpo"
        if "grpo" not in self._folder.done and self._config.grpo is not None:
            model, tokenizer = self._open(start)
            self._seeded()
            model, facts = reinforce(
                model,
                tokenizer,
                self._scene,
                self._config,
                self._config.grpo,
                self._folder.path,
                self._log,
                self._progress,
                evaluate=self._evaluate_model,
                seed=self._seed,
            )
            save_model(model, tokenizer, self._config, path)
            self._finish("grpo", facts)
        return path

    def _evaluate(self, path: Path, step: int) -> None:
        from agentgym.training.pipeline.held_out import stage_name

        if stage_name(step) not in self._folder.done:
            self._evaluate_model(*self._open(path), step)

    def _evaluate_model(self, model: Any, tokenizer: Any, step: int) -> None:
        from agentgym.training.pipeline.held_out import evaluate

        facts = evaluate(
            model,
            tokenizer,
            step,
            self._scene,
            self._config,
            self._store,
            self._folder,
            self._prefix,
            seed=self._seed,
            progress=self._progress,
        )
        told = f"success {facts['success']:.3f}, reward {facts['reward']:.3f}"
        limited = f", {facts['limited']} ended by a limit" if facts["limited"] else ""
        played = f"{facts['episodes']} held-out episodes{limited}"
        self._progress.tell(f"step {step}: {told} on {played}")

    def _episodes(self, runs: Sequence[str]) -> "list[Trajectory]":
        return [episode for run in runs for episode in self._store.trajectories(run)]

    def _open(self, path: Path) -> tuple[Any, Any]:
        """Load a stage's model.

        Raises:
            UsageError: It cannot be loaded.
        """
        from agentgym.training.pipeline.models import open_model

        try:
            return open_model(path)
        except UsageError as error:
            if path.parent != self._folder.path:
                raise  # the person's own model
            raise UsageError(
                f"{path} is damaged: {error.message}",
                remedy=f"Remove {self._folder.path} and train again.",
            ) from error

    def _seeded(self) -> None:
        """Make a stage's randomness depend on the seed alone, not on the stages before it."""
        from transformers import set_seed

        set_seed(self._seed)

    def _finish(self, stage: str, facts: dict[str, Json]) -> None:
        self._folder.finish(stage, facts)
        told = ", ".join(f"{name} {_shown(value)}" for name, value in facts.items())
        self._progress.tell(f"{stage}: {told}")


def _prepare(config: TrainConfig, *, quiet: bool) -> None:
    try:
        import torch
        import trl  # noqa: F401 - is it there?
    except ImportError as error:
        raise MissingExtraError("Training", "train") from error
    if quiet:
        from agentgym.training.pipeline.trl import silence

        silence()
    if config.threads is not None:
        torch.set_num_threads(config.threads)


def _compared(config: TrainConfig) -> dict[str, Json]:
    settings: dict[str, Json] = config.model_dump(mode="json", exclude=_NOT_COMPARED)
    return settings


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """Say in one line that the disk would not take what was to be written inside the block.

    Raises:
        UsageError: It would not.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            said = f"{where}{error.strerror or error}"
        elif shutil.disk_usage(folder).free < 2**20:  # torch and safetensors do not say it so
            said = f"{folder}: No space left on device"
        else:
            raise
        raise UsageError(
            f"The training stopped: {said}.", remedy="Mend that; the same command then goes on."
        ) from error


def _shown(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _silent(line: str) -> None:
    """Say nothing."""
