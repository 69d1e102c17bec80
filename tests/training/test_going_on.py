"""Training that goes on from a checkpoint is the training that was never stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch

from agentgym.errors import UsageError
from agentgym.training.credit.critic import TurnCritic
from agentgym.training.credit.progress import LearnedProgress, SeenProgress
from agentgym.training.pipeline.checkpoints import last_whole_checkpoint
from agentgym.training.recipes.base import Recipe, Result
from agentgym.training.recipes.curriculum import Difficulty
from agentgym.training.recipes.guidance import Guidance
from agentgym.training.recipes.learned import FILE, load_learned, save_learned
from agentgym.training.recipes.replay import Replay
from agentgym.training.recipes.selection import Selection
from agentgym.training.trainer import TurnLevelGRPOTrainer
from agentgym.types import Task
from tests.training.corridor import Corridor, make_trainer

torch.set_num_threads(1)

Parts = Callable[[], tuple[Any, list[Recipe]]]


def trainer(folder: Path, parts: Parts) -> TurnLevelGRPOTrainer:
    """Two steps are an epoch, so a checkpoint after three is in the midst of the second."""
    estimator, recipes = parts()
    return make_trainer(
        folder,
        Corridor(turns=4),
        tasks=("a", "b", "c", "d"),
        estimator=estimator,
        recipes=recipes,
        per_device_train_batch_size=64,
        num_generations=2,
        max_steps=5,
        logging_steps=1,
        learning_rate=1e-2,
        save_strategy="steps",
        save_steps=3,
    )


def learned(made: TurnLevelGRPOTrainer) -> list[tuple[float, ...]]:
    names = ("step", "loss", "reward", "credit/advantage_abs", "grad_norm")
    return [
        tuple(line[name] for name in names) for line in made.state.log_history if "loss" in line
    ]


@pytest.mark.parametrize(
    "parts",
    [
        lambda: ("grpo", []),
        lambda: ("grpo", [Replay(), Selection()]),
        lambda: (TurnCritic(width=8), []),
        lambda: (LearnedProgress(width=8), []),
        lambda: (SeenProgress(), []),
    ],
    ids=["nothing", "recipes", "critic", "learned", "seen"],
)
def test_every_step_comes_to_the_same(tmp_path: Path, parts: Parts) -> None:
    whole = trainer(tmp_path, parts)
    whole.train()
    assert any(reward for _, _, reward, *_ in learned(whole))
    again = trainer(tmp_path, parts)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert learned(again) == learned(whole)


def test_what_recipes_know_is_kept(tmp_path: Path) -> None:
    tasks: list[Task[Any, Any]] = [
        Task(id=name, public={}, private={}, tags={"level": level})
        for name, level in (("a", "easy"), ("b", "hard"))
    ]

    def recipes() -> tuple[Difficulty, Guidance, Selection]:
        levels = ["easy", "hard"]
        return (
            Difficulty(tasks, "level", levels, mastery=0.6),
            Guidance(lambda task: "Go.", patience=2),
            Selection(),
        )

    def heard(*groups: list[Result]) -> None:
        for recipe in before:
            recipe.results(groups)

    before = recipes()
    heard([Result("a", 1.0, True)] * 4, [Result("b", 0.0, False)] * 4)
    heard([Result("b", 0.0, False)] * 4)
    assert before[0].open == 1
    assert before[1].guides("b")
    save_learned(before, tmp_path)
    after = recipes()
    load_learned(after, tmp_path)
    assert after[0].weights(["a", "b"]) == before[0].weights(["a", "b"])
    assert after[1].guides("b")
    assert after[2].weights(["a", "b"]) == before[2].weights(["a", "b"])


def test_a_checkpoint_of_other_recipes_is_refused(tmp_path: Path) -> None:
    save_learned([Selection()], tmp_path)
    with pytest.raises(UsageError, match=r"was written with Selection\. Go on with the same"):
        load_learned([Replay()], tmp_path)
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(UsageError, match=r"learned\.pt cannot be read"):
        load_learned([Selection()], tmp_path)
    with pytest.raises(UsageError, match=r"was written by another trainer: it has no learned\.pt"):
        load_learned([Selection()], tmp_path / "elsewhere")


def test_a_checkpoint_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    def none() -> tuple[str, list[Recipe]]:
        return "grpo", []

    made = trainer(tmp_path, none)
    made.args.save_steps = 1
    made.state.save_steps = 1
    made.train()
    folders = [tmp_path / f"checkpoint-{step}" for step in (2, 3, 4, 5)]
    assert last_whole_checkpoint(tmp_path) == folders[-1]
    (folders[3] / "trainer_state.json").write_text("{")
    for folder, name in ((folders[2], "model.safetensors"), (folders[1], "optimizer.pt")):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])
    assert last_whole_checkpoint(tmp_path) == folders[0]
    assert not any(folder.exists() for folder in folders[1:])
