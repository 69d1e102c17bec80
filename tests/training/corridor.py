"""A corridor that a model of some thousand parameters learns to walk, and what trains it.

A cell is a token, a step is a token: each turn the model reads where it stands and samples one.
Only the last cell gives a reward.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import torch
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl.trainer.grpo_config import GRPOConfig

from agentgym.training.credit.base import Episode, Step
from agentgym.training.recipes.base import Batch, Recipe, Rows
from agentgym.training.trainer import TurnLevelGRPOTrainer
from agentgym.types import Reward

WORDS = ("<pad>", "<end>", "left", "right", "wait", "hint", "a", "b", "c", "d", "0", "1", "2", "3")
LEFT, RIGHT = WORDS.index("left"), WORDS.index("right")
NOBODY = -1


def tokenizer() -> Any:
    words = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, "<pad>"))
    words.pre_tokenizer = WhitespaceSplit()
    kind: Any = PreTrainedTokenizerFast
    return kind(tokenizer_object=words, pad_token="<pad>", eos_token="<end>")


def model(seed: int = 0) -> Qwen3ForCausalLM:
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(WORDS),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=64,
            eos_token_id=1,
            pad_token_id=0,
        )
    )


def sample(policy: Any, histories: Sequence[Sequence[int]]) -> list[int]:
    """Sample the next token of histories that are equally long."""
    with torch.no_grad():
        logits = policy(torch.tensor([list(ids) for ids in histories])).logits[:, -1]
    return torch.multinomial(logits.softmax(dim=-1), 1).squeeze(1).tolist()


class Corridor:
    """A `rollout_func`: the model walks from cell 0; every prompt is a task's name."""

    def __init__(self, *, cells: int = 4, turns: int = 6) -> None:
        self.cells, self.turns = cells, turns
        self.played: list[str] = []

    def __call__(self, prompts: list[str], trainer: Any) -> Rows:
        self.played += prompts
        starts = [[WORDS.index(prompt), WORDS.index("0")] for prompt in prompts]
        cells = [[0] for _ in prompts]
        walks: list[list[int]] = [[] for _ in prompts]
        live = list(range(len(prompts)))
        while live:
            tokens = sample(trainer.model, [starts[at] + walks[at] for at in live])
            for at, token in zip(live, tokens, strict=True):
                now = cells[at][-1] + (token == RIGHT) - (token == LEFT)
                cells[at].append(min(self.cells - 1, max(0, now)))
                walks[at] += [token, WORDS.index(str(cells[at][-1]))]
            live = [at for at in live if self.goes_on(cells[at])]
        return rows(prompts, starts, walks, [self.episode(seen) for seen in cells])

    def goes_on(self, cells: Sequence[int]) -> bool:
        return cells[-1] < self.cells - 1 and len(cells) <= self.turns

    def episode(self, cells: Sequence[int]) -> Episode:
        arrived = float(cells[-1] == self.cells - 1)
        steps = [Step(reward=0.0, state=str(cell)) for cell in cells[:-1]]
        return Episode((*steps[:-1], Step(reward=arrived, state=steps[-1].state)))


def rows(
    prompts: Sequence[str],
    starts: Sequence[Sequence[int]],
    walks: Sequence[Sequence[int]],
    episodes: Sequence[Episode],
) -> Rows:
    """Return rows whose completions are one sampled token and one of the world's, in turn."""
    turns = [
        [number // 2 if number % 2 == 0 else NOBODY for number in range(len(walk))]
        for walk in walks
    ]
    return {
        "prompt_ids": [list(start) for start in starts],
        "completion_ids": [list(walk) for walk in walks],
        "logprobs": None,
        "env_mask": [[int(turn != NOBODY) for turn in row] for row in turns],
        "turn_ids": turns,
        "episode": list(episodes),
        "grade": [Reward(value=episode.total) for episode in episodes],
        "task_id": list(prompts),
    }


class Script:
    """A `rollout_func` that plays fixed walks: for each call, one list of turns' rewards a row."""

    def __init__(self, *batches: Sequence[Sequence[float]]) -> None:
        self.batches = list(batches)
        self.calls = 0

    def __call__(self, prompts: list[str], trainer: Any) -> Rows:
        rewards = self.batches[self.calls % len(self.batches)]
        self.calls += 1
        starts = [[WORDS.index(prompt), WORDS.index("0")] for prompt in prompts]
        walks = [
            [token for turn in range(len(row)) for token in (2 + (turn + number) % 3, 10 + turn)]
            for number, row in enumerate(rewards)
        ]
        episodes = [
            Episode(tuple(Step(value, state=f"s{turn}") for turn, value in enumerate(row)))
            for row in rewards
        ]
        return rows(prompts, starts, walks, episodes)


class Spy(Recipe):
    """Keeps every batch as it is trained on; the last of a trainer's recipes."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def credit(self, batch: Batch, trainer: TurnLevelGRPOTrainer) -> None:
        tensors = {key: value.clone() for key, value in batch.tensors.items()}
        self.batches.append(replace(batch, tensors=tensors))


def graded(*, episode: list[Episode], **rest: Any) -> list[float]:
    """A reward function: the sum of the episode's rewards."""
    return [one.total for one in episode]


def make_trainer(
    folder: Path,
    rollout: Callable[..., Rows],
    *,
    policy: Any = None,
    tasks: Sequence[str] = ("a",),
    reward_funcs: Any = graded,
    estimator: Any = "grpo",
    recipes: Sequence[Recipe] = (),
    estimator_options: Any = None,
    **settings: Any,
) -> TurnLevelGRPOTrainer:
    """Make a trainer of a micro model; one group of four episodes a step unless told otherwise."""
    chosen: dict[str, Any] = {
        "per_device_train_batch_size": 4,
        "num_generations": 4,
        "max_steps": 1,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "max_completion_length": 16,
        "logging_steps": 1000,
        "beta": 0.0,
        "gradient_checkpointing": False,
        "save_strategy": "no",
        **settings,
    }
    args = GRPOConfig(
        output_dir=str(folder),
        use_cpu=True,
        bf16=False,
        report_to="none",
        disable_tqdm=True,
        **chosen,
    )
    names = [tasks[number % len(tasks)] for number in range(max(len(tasks), 64))]
    return TurnLevelGRPOTrainer(
        model=policy or model(),
        args=args,
        processing_class=tokenizer(),
        reward_funcs=reward_funcs,
        train_dataset=Dataset.from_dict({"prompt": names, "task_id": names}),
        rollout_func=rollout,
        estimator=estimator,
        estimator_options=estimator_options,
        recipes=recipes,
    )


def own(trainer: Any) -> list[float]:
    """Return the advantages that TRL itself had worked out for the newest batch."""
    return list(trainer._logs["advantages"])
