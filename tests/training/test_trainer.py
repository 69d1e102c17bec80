"""Advantages of turns in TRL's real training step, on a micro model."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

pytest.importorskip("trl")

import torch

from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.credit.base import Advantages, Episode
from agentgym.training.recipes.base import Batch, Recipe
from tests.training.corridor import Corridor, Script, Spy, graded, make_trainer, model, own

torch.set_num_threads(1)

BATCH = ([0.0, 1.0], [0.25, 0.0, 0.0], [0.9], [0.0, 0.5, 0.1])


def shorter(*, completion_ids: list[list[int]], **rest: Any) -> list[float]:
    return [-0.01 * len(ids) for ids in completion_ids]


def unless_short(*, episode: list[Episode], **rest: Any) -> list[float | None]:
    return [None if len(one.steps) == 1 else one.total for one in episode]


@pytest.mark.parametrize("scale", ["group", "none"])
@pytest.mark.parametrize(
    ("reward_funcs", "weights"),
    [(graded, None), ([graded, shorter], [1.0, 3.0]), (unless_short, None)],
    ids=["one", "weighted", "unscorable"],
)
def test_the_episode_estimator_equals_trl(
    tmp_path: Path, scale: str, reward_funcs: Any, weights: list[float] | None
) -> None:
    spy = Spy()
    trainer = make_trainer(
        tmp_path,
        Script(BATCH),
        reward_funcs=reward_funcs,
        recipes=[spy],
        scale_rewards=scale,
        reward_weights=weights,
    )
    trainer.train()
    found = spy.batches[0].tensors["advantages"]
    expected = own(trainer)
    assert len(set(expected)) == 4
    for row, turns, advantage in zip(found, spy.batches[0].turns, expected, strict=True):
        assert row[turns >= 0].tolist() == pytest.approx(
            [advantage] * int((turns >= 0).sum()), abs=1e-6
        )
        assert not row[turns < 0].any()


def test_a_row_without_a_reward_is_left_out_of_its_group(tmp_path: Path) -> None:
    seen: list[int] = []

    def counting(group: Sequence[Episode]) -> Advantages:
        seen.append(len(group))
        return [[1.0] * len(episode.steps) for episode in group]

    spy = Spy()
    make_trainer(
        tmp_path, Script(BATCH), reward_funcs=unless_short, estimator=counting, recipes=[spy]
    ).train()
    assert seen == [3]
    found = spy.batches[0].tensors["advantages"]
    assert found.sum(dim=1).tolist() == [2.0, 3.0, 0.0, 3.0]
    assert [one.reward is None for one in spy.batches[0].results] == [False, False, True, False]


def test_what_reward_functions_add_is_earned_by_the_last_turn(tmp_path: Path) -> None:
    totals: list[tuple[float, ...]] = []

    def keeping(group: Sequence[Episode]) -> Advantages:
        totals.extend(tuple(step.reward for step in episode.steps) for episode in group)
        return [[0.0] * len(episode.steps) for episode in group]

    make_trainer(tmp_path, Script(BATCH), reward_funcs=[graded, shorter], estimator=keeping).train()
    assert totals[0] == pytest.approx((0.0, 1.0 - 0.04))
    assert totals[1] == pytest.approx((0.25, 0.0, -0.06))


class Numbered(Recipe):
    """Gives every token an advantage of its own, so that a mix-up shows."""

    def credit(self, batch: Batch, trainer: Any) -> None:
        shape = batch.tensors["advantages"].shape
        steps = torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)
        batch.tensors["advantages"] = (steps - 7.5) / 5


def by_hand(policy: Any, tensors: dict[str, torch.Tensor], loss_type: str) -> torch.Tensor:
    """Return the loss from its definition: the ratio is 1, so a token's loss is -advantage."""
    ids = torch.cat([tensors["prompt_ids"], tensors["completion_ids"]], dim=1)
    attention = torch.cat([tensors["prompt_mask"], tensors["completion_mask"]], dim=1)
    width = tensors["completion_ids"].size(1)
    logits = policy(ids, attention_mask=attention).logits[:, -width - 1 : -1]
    logprobs = logits.log_softmax(-1).gather(2, tensors["completion_ids"].unsqueeze(2)).squeeze(2)
    loss = -torch.exp(logprobs - logprobs.detach()) * tensors["advantages"]
    mask = tensors["completion_mask"] * tensors["tool_mask"]
    if loss_type == "grpo":
        return ((loss * mask).sum(1) / mask.sum(1)).mean()
    if loss_type == "dr_grpo":
        return (loss * mask).sum() / (mask.size(0) * 16)
    return (loss * mask).sum() / mask.sum()


@pytest.mark.parametrize("loss_type", ["grpo", "dapo", "dr_grpo", "bnpo"])
def test_token_advantages_reach_the_loss_and_nothing_else_does(
    tmp_path: Path, loss_type: str
) -> None:
    spy = Spy()
    trainer = make_trainer(
        tmp_path,
        Script(BATCH),
        recipes=[Numbered(), spy],
        loss_type=loss_type,
        learning_rate=0.0,
    )
    trainer.train()
    trainer.model.train()
    tensors = spy.batches[0].tensors
    assert tensors["advantages"].shape == tensors["completion_ids"].shape
    expected = by_hand(trainer.model, tensors, loss_type)
    loss = trainer.compute_loss(trainer.model, tensors)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    wanted = torch.autograd.grad(expected, list(trainer.model.parameters()))
    found = torch.autograd.grad(loss, list(trainer.model.parameters()))
    assert max(part.abs().max() for part in wanted) > 1e-3
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-3)
    others = {**tensors, "advantages": tensors["advantages"] + 100.0 * (tensors["tool_mask"] == 0)}
    masked = torch.autograd.grad(
        trainer.compute_loss(trainer.model, others), list(trainer.model.parameters())
    )
    for ours, theirs in zip(found, masked, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("estimator", ["gigpo", "turn"])
def test_a_sparse_reward_is_learned(tmp_path: Path, estimator: str) -> None:
    policy = model(seed=1)
    corridor = Corridor()
    trainer = make_trainer(
        tmp_path,
        corridor,
        policy=policy,
        estimator=estimator,
        max_steps=40,
        per_device_train_batch_size=16,
        num_generations=8,
        learning_rate=3e-3,
    )
    before = arrivals(corridor, trainer)
    trainer.train()
    assert before < 0.3
    assert arrivals(corridor, trainer) > 0.7


def arrivals(corridor: Corridor, trainer: Any) -> float:
    episodes = corridor(["a"] * 64, trainer)["episode"]
    return fmean(episode.total for episode in episodes)


def test_what_credit_looks_like_is_logged(tmp_path: Path) -> None:
    trainer = make_trainer(
        tmp_path, Script(BATCH), estimator="turn", estimator_options={"gamma": 0.5}, logging_steps=1
    )
    trainer.train()
    logged = trainer.state.log_history[0]
    assert logged["credit/turns"] == 9 / 4
    assert logged["credit/advantage_abs"] > 0
    assert logged["credit/spread_in_episode"] > 0
    assert logged["credit/groups_without_signal"] == 0
    assert logged["credit/unscorable"] == 0


def test_evaluation_is_credited_too_and_recipes_rest(tmp_path: Path) -> None:
    spy = Spy()
    trainer = make_trainer(
        tmp_path, Script(BATCH), recipes=[spy], per_device_eval_batch_size=4, num_generations_eval=2
    )
    metrics = trainer.evaluate(trainer.train_dataset.select(range(2)))
    assert metrics["eval_reward"] == pytest.approx(0.6875)
    assert not spy.batches


class Fields(Script):
    """Fixed walks whose rows lack a key, or hold another value in it."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(BATCH)
        self.changes = changes

    def __call__(self, prompts: list[str], trainer: Any) -> Any:
        found = {**super().__call__(prompts, trainer), **self.changes}
        return {key: value for key, value in found.items() if value != "gone"}


def test_rows_that_do_not_tell_turns_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no episode and no turn_ids"):
        make_trainer(tmp_path, Fields(turn_ids="gone", episode="gone")).train()
    with pytest.raises(UsageError, match="2 turn ids up to 7"):
        make_trainer(tmp_path, Fields(turn_ids=[[0, 7]] * 4)).train()


def test_what_turns_cannot_follow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="compares groups"):
        make_trainer(tmp_path, Script(BATCH), scale_rewards="batch")
    with pytest.raises(UsageError, match="adds rewards up"):
        make_trainer(tmp_path, Script(BATCH), multi_objective_aggregation="normalize_then_sum")
    with pytest.raises(UsageError, match="rollout_func"):
        make_trainer(tmp_path, None)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="gigpo"):
        make_trainer(tmp_path, Script(BATCH), estimator="gipgo")
    with pytest.raises(UsageError, match="given by name"):
        make_trainer(
            tmp_path, Script(BATCH), estimator=lambda group: [], estimator_options={"gamma": 1}
        )


class Theirs(Recipe):
    """Puts back the one advantage a row that TRL had worked out."""

    def credit(self, batch: Batch, trainer: Any) -> None:
        batch.tensors["advantages"] = torch.tensor(own(trainer))


@pytest.mark.parametrize(
    "settings",
    [
        {"loss_type": "cispo", "num_iterations": 2},
        {"loss_type": "luspo", "importance_sampling_level": "sequence"},
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "num_iterations": 2},
        {"loss_type": "sapo", "steps_per_generation": 2, "per_device_train_batch_size": 2},
        {"loss_type": "vespo", "gradient_accumulation_steps": 2, "per_device_train_batch_size": 2},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_training_with_the_episode_estimator_is_trls_own(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    found: list[torch.Tensor] = []
    for recipes in ([], [Theirs()]):
        trainer = make_trainer(
            tmp_path,
            Script(BATCH, [[1.0], [0.0, 0.5], [0.2], [0.0]]),
            recipes=recipes,
            max_steps=3,
            learning_rate=0.1,
            optim="sgd",
            **settings,
        )
        trainer.train()
        found.append(torch.cat([p.detach().flatten() for p in trainer.model.parameters()]))
    start = torch.cat([p.detach().flatten() for p in model().parameters()])
    assert (found[0] - start).abs().max() > 1e-3
    torch.testing.assert_close(found[0], found[1], atol=1e-6, rtol=1e-5)


def test_too_few_tasks_for_a_batch_are_named(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, Script(BATCH), generation_batch_size=65 * 4)
    with pytest.raises(UsageError, match="A batch needs 65 tasks, and there are 64"):
        trainer.train()


def test_a_model_in_memory_cannot_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="by its path, and this one has none"):
        make_trainer(tmp_path, Corridor(turns=2), beta=0.1)
