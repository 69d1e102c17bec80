"""Replay of successes, and which groups count."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch

from agentgym.training.recipes.replay import Replay
from agentgym.training.recipes.selection import DropEqualGroups
from tests.training.corridor import RIGHT, Script, Spy, make_trainer, model, own, rows, sample

torch.set_num_threads(1)

WON = ([0.0, 1.0], [0.0, 0.0, 0.0], [0.0], [0.0, 0.0])
LOST = ([0.0, 0.0], [0.0], [0.0, 0.0, 0.0], [0.0])


def test_a_group_without_success_gets_an_earlier_one(tmp_path: Path) -> None:
    spy, replay = Spy(), Replay()
    make_trainer(tmp_path, Script(WON, LOST), recipes=[replay, spy], max_steps=2).train()
    first, second = spy.batches
    assert [one.replayed for one in first.results] == [False] * 4
    assert [one.replayed for one in second.results] == [False, False, False, True]
    assert second.results[3].success
    ids = first.tensors["completion_ids"][0, :4].tolist()
    assert second.tensors["completion_ids"][3, :4].tolist() == ids
    assert second.tensors["tool_mask"][3, :4].tolist() == [1, 0, 1, 0]
    assert second.turns[3, :4].tolist() == [0, -1, 1, -1]
    assert second.tensors["advantages"][3, 0] > 1 > 0 > second.tensors["advantages"][0, 0]
    assert len(replay) == 1  # a replayed success is not remembered again


@pytest.mark.parametrize("largest", [1.01, 100.0])
def test_replayed_tokens_are_weighed_by_how_likely_they_have_become(
    tmp_path: Path, largest: float
) -> None:
    spy = Spy()
    recipes = [Replay(largest=largest), spy]
    trainer = make_trainer(
        tmp_path, Script(WON, LOST), recipes=recipes, max_steps=2, learning_rate=0.01
    )
    trainer.train()
    first, second = (batch.tensors for batch in spy.batches)
    then, now = first["old_per_token_logps"][0, :4:2], second["old_per_token_logps"][3, :4:2]
    torch.testing.assert_close(then, logprobs(model(), first)[0, :4:2], atol=1e-4, rtol=1e-4)
    ratio = (now - then).exp()
    assert (ratio > 1.05).all()  # they were successful in the step between
    advantage = own(trainer)[3]
    found = second["advantages"][3, :4:2]
    torch.testing.assert_close(found, advantage * ratio.clamp(max=largest))


def logprobs(policy: Any, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
    ids = torch.cat([tensors["prompt_ids"], tensors["completion_ids"]], dim=1)
    mask = torch.cat([tensors["prompt_mask"], tensors["completion_mask"]], dim=1)
    width = tensors["completion_ids"].size(1)
    with torch.no_grad():
        logits = policy(ids, attention_mask=mask).logits[:, -width - 1 : -1].log_softmax(-1)
    found: torch.Tensor = logits.gather(2, tensors["completion_ids"].unsqueeze(2)).squeeze(2)
    return found


def test_the_newest_successes_are_kept_and_used_in_turn(tmp_path: Path) -> None:
    spy = Spy()
    batches = [([0.0] * turns + [1.0], [0.0], [0.0], [0.0]) for turns in (1, 2, 3)]
    recipes = [Replay(capacity=2), spy]
    script = Script(*batches, LOST, LOST, LOST)
    make_trainer(tmp_path, script, recipes=recipes, max_steps=6).train()
    turns = [len(batch.inputs[3]["episode"].steps) for batch in spy.batches[3:]]
    assert turns == [4, 3, 4]


def test_other_tasks_are_not_replayed(tmp_path: Path) -> None:
    spy = Spy()
    two = [*WON, *LOST]
    make_trainer(
        tmp_path,
        Script(two),
        tasks=("a", "b"),
        recipes=[Replay(), spy],
        per_device_train_batch_size=8,
        shuffle_dataset=False,
    ).train()
    assert not any(one.replayed for one in spy.batches[0].results)


class Never:
    """A walk of one turn that nobody wins but the first group's first row."""

    def __init__(self) -> None:
        self.won = False

    def __call__(self, prompts: list[str], trainer: Any) -> Any:
        found = Script([[0.0]] * len(prompts))(prompts, trainer)
        starts = found["prompt_ids"]
        tokens = sample(trainer.model, starts)
        tokens = [2 if token == RIGHT else token for token in tokens]
        episodes = found["episode"]
        if not self.won:
            self.won = True
            tokens[0] = RIGHT
            episodes[0] = Script([[1.0]])(prompts[:1], trainer)["episode"][0]
        return rows(prompts, starts, [[token] for token in tokens], episodes)


@pytest.mark.parametrize("replayed", [True, False])
def test_one_success_is_learned_from_again_and_again(tmp_path: Path, replayed: bool) -> None:
    """Without replay one success in eighty episodes is hardly noticed."""
    trainer = make_trainer(
        tmp_path,
        Never(),
        recipes=[Replay()] if replayed else [],
        max_steps=20,
        learning_rate=3e-3,
    )
    trainer.train()
    start = torch.tensor([[6, 10]])
    chance = trainer.model(start).logits[0, -1].softmax(-1)[RIGHT].item()
    assert (chance > 0.25) == replayed


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
def test_dropped_groups_leave_the_gradient_of_those_kept(tmp_path: Path, loss_type: str) -> None:
    def gradient(folder: str, script: Script, recipes: list[Any], batch: int) -> torch.Tensor:
        spy = Spy()
        trainer = make_trainer(
            tmp_path / folder,
            script,
            recipes=[*recipes, spy],
            loss_type=loss_type,
            per_device_train_batch_size=batch,
            learning_rate=0.0,
            estimator_options={"scale": "none"},
        )
        trainer.train()
        trainer.model.train()
        loss = trainer.compute_loss(trainer.model, spy.batches[0].tensors)
        return torch.cat(
            [part.flatten() for part in torch.autograd.grad(loss, list(trainer.model.parameters()))]
        )

    kept = gradient("kept", Script(WON), [], 4)
    dropped = gradient("both", Script([*WON, *LOST]), [DropEqualGroups()], 8)
    diluted = gradient("plain", Script([*WON, *LOST]), [], 8)
    torch.testing.assert_close(dropped, kept, atol=1e-6, rtol=1e-3)
    assert diluted.norm() < 0.7 * kept.norm()
