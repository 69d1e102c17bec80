"""Self-distillation on feedback, and the shaping of loss and reward."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from hypothesis import given
from hypothesis import strategies as st
from trl.rewards.other_rewards import get_soft_overlong_punishment
from trl.trainer.grpo_config import GRPOConfig

from agentgym.errors import UsageError
from agentgym.training.recipes.distill import SelfDistillation, feedback_first
from agentgym.training.recipes.shaping import OverlongPenalty, clip_higher, entropy_floor
from agentgym.types import Reward
from tests.training.corridor import (
    LEFT,
    RIGHT,
    WORDS,
    Script,
    Spy,
    graded,
    make_trainer,
    model,
    rows,
    sample,
    tokenizer,
)

torch.set_num_threads(1)

HINT = WORDS.index("hint")
START = [WORDS.index("a"), WORDS.index("0")]


def hint_first(tokenizer: Any, prompt_ids: Any, feedback: str) -> list[int]:
    return [*tokenizer.encode(feedback, add_special_tokens=False), *prompt_ids]


class Told:
    """Walks of one sampled turn that are never rewarded; some rows are told something."""

    def __init__(self, words: list[str | None]) -> None:
        self.words = words

    def __call__(self, prompts: list[str], trainer: Any) -> Any:
        found = Script([[0.0]] * len(prompts))(prompts, trainer)
        walks = [[token] for token in sample(trainer.model, found["prompt_ids"])]
        told = rows(prompts, found["prompt_ids"], walks, found["episode"])
        told["grade"] = [
            Reward(value=0.0, feedback=self.words[at % len(self.words)]) for at in range(len(walks))
        ]
        return told


def chance(policy: Any, ids: list[int], token: int) -> float:
    with torch.no_grad():
        return float(policy(torch.tensor([ids])).logits[0, -1].softmax(-1)[token])


def test_the_teacher_is_the_policy_that_has_read_the_feedback(tmp_path: Path) -> None:
    spy = Spy()
    policy = model(seed=2)
    make_trainer(
        tmp_path,
        Told(["hint", None]),
        policy=policy,
        recipes=[SelfDistillation(weight=0.5, bound=0.05, prompt=hint_first), spy],
        learning_rate=0.0,
    ).train()
    found = spy.batches[0].tensors
    gains = []
    for number, token in enumerate(found["completion_ids"][:, 0].tolist()):
        teacher = chance(policy, [HINT, *START], token)
        student = chance(policy, START, token)
        gain = torch.tensor(teacher / student).log().clamp(-0.05, 0.05).item()
        gains.append(0.5 * gain if number % 2 == 0 else 0.0)
    assert found["advantages"][:, 0].tolist() == pytest.approx(gains, abs=1e-4)
    assert any(gains)


def test_what_the_feedback_says_is_learned_without_reward(tmp_path: Path) -> None:
    """The policy is taught that after "hint" comes "right", and that otherwise all is open."""
    policy = model(seed=2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(60):
        both = torch.tensor([[HINT, *START, RIGHT], [0, *START, LEFT], [0, *START, RIGHT]])
        mask = (both != 0).long()
        logits = policy(both, attention_mask=mask).logits[:, -2]
        loss = torch.nn.functional.cross_entropy(logits, both[:, -1])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    before = chance(policy, START, RIGHT)
    assert 0.3 < before < 0.7
    trainer = make_trainer(
        tmp_path,
        Told(["hint"]),
        policy=policy,
        recipes=[SelfDistillation(weight=1.0, prompt=hint_first)],
        max_steps=15,
        per_device_train_batch_size=8,
        num_generations=8,
        learning_rate=3e-3,
    )
    trainer.train()
    assert chance(policy, START, RIGHT) > before + 0.2


def test_the_feedback_goes_before_the_prompt() -> None:
    words = tokenizer()
    found = feedback_first(words, START, "right")
    assert found[-2:] == START
    assert RIGHT in found[:-2]
    words.chat_template = "{% for m in messages %}hint {{ m['content'] }} wait{% endfor %}"
    templated = feedback_first(words, START, "right")
    assert templated[0] == HINT
    assert templated[-3:] == [WORDS.index("wait"), *START]


def test_settings_reach_trl(tmp_path: Path) -> None:
    args = GRPOConfig(
        output_dir=str(tmp_path), use_cpu=True, bf16=False, **clip_higher(), **entropy_floor(0.4)
    )
    assert (args.epsilon, args.epsilon_high) == (0.2, 0.28)
    assert args.use_adaptive_entropy
    assert args.entropy_target == 0.4


def test_the_entropy_floor_holds_entropy_up(tmp_path: Path) -> None:
    """Without advantages only the bonus moves the policy, and only below the floor."""

    def entropy(floor: float) -> float:
        policy = model(seed=4)
        with torch.no_grad():
            policy.lm_head.weight *= 12
        trainer = make_trainer(
            tmp_path,
            Told([None]),
            policy=policy,
            max_steps=10,
            logging_steps=1,
            **entropy_floor(floor, step=0.05, largest=0.5),
        )
        trainer.train()
        logged = [entry["entropy"] for entry in trainer.state.log_history if "entropy" in entry]
        return float(logged[-1] - logged[0])

    assert entropy(2.6) > 0.02
    assert entropy(0.0) == pytest.approx(0.0, abs=1e-4)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=5), st.integers(1, 40))
def test_the_overlong_penalty_is_that_of_dapo_on_sampled_tokens(
    lengths: list[int], margin: int
) -> None:
    theirs = get_soft_overlong_punishment(40, margin)([[1] * length for length in lengths])
    turns = [[0] * length + [-1] * 7 for length in lengths]
    assert OverlongPenalty(limit=40, margin=margin)(turn_ids=turns) == pytest.approx(theirs)


def test_the_overlong_penalty_joins_the_reward(tmp_path: Path) -> None:
    spy = Spy()
    trainer = make_trainer(
        tmp_path,
        Script([[1.0], [0.0, 1.0], [0.0, 0.0, 1.0], [1.0]]),
        reward_funcs=[graded, OverlongPenalty(limit=3, margin=2)],
        recipes=[spy],
    )
    trainer.train()
    assert [one.reward for one in spy.batches[0].results] == [1.0, 0.5, 0.0, 1.0]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="margin of 9"):
        OverlongPenalty(limit=8, margin=9)
