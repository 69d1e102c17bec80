"""Every touch of what TRL keeps to itself or may rename, in one place.

`moved` names what is not where this release of agentgym expects it; a test asks it, so that a
new TRL fails there by name and not in the middle of a training.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

from agentgym.agents.sampling import Sampled, SampleRequest
from agentgym.errors import UsageError

METHODS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "_calculate_rewards": ("inputs", "prompts", "completions", "completion_ids_list"),
        "_generate_and_score_completions": ("inputs",),
        "_generate_single_turn": (
            "prompt_ids",
            "images",
            "multimodal_fields",
            "num_generations",
        ),
        "_get_per_token_logps_and_entropies": (
            "model",
            "input_ids",
            "attention_mask",
            "logits_to_keep",
            "batch_size",
        ),
        "_get_train_sampler": ("dataset",),
        "_load_optimizer_and_scheduler": ("checkpoint",),
        "_save_checkpoint": ("model", "trial"),
    }
)
"""Methods of TRL's GRPO trainer that are called or overridden, with the arguments relied on."""

ATTRIBUTES = (
    "_metrics",
    "_tokenizer",
    "accelerator",
    "chat_template_kwargs",
    "eos_token_ids",
    "generation_config",
    "loss_type",
    "max_completion_length",
    "multi_objective_aggregation",
    "num_generations",
    "num_generations_eval",
    "num_iterations",
    "processing_class",
    "reward_funcs",
    "reward_weights",
    "scale_rewards",
    "tools",
    "use_vllm",
    "vllm_importance_sampling_correction",
)
"""Attributes of a trainer that is set up to generate by itself."""


def moved(trainer_type: type, trainer: Any = None) -> list[str]:
    """Return what is missing, one line each.

    Args:
        trainer_type: TRL's `GRPOTrainer`.
        trainer: An instance; without one its attributes are not looked at.
    """
    missing: list[str] = []
    for name, wanted in METHODS.items():
        method = getattr(trainer_type, name, None)
        if method is None:
            missing.append(f"GRPOTrainer.{name} is gone")
            continue
        found = inspect.signature(method).parameters
        missing += [f"GRPOTrainer.{name} takes no {one}" for one in wanted if one not in found]
    if trainer is not None:
        gone = [name for name in ATTRIBUTES if not hasattr(trainer, name)]
        missing += [f"GRPOTrainer().{name} is gone" for name in gone]
    return missing


@cache
def check_release() -> None:
    """Find out whether agentgym works with the installed TRL.

    Raises:
        UsageError: It does not; what has moved is named.
    """
    from trl.trainer.grpo_trainer import GRPOTrainer

    if missing := moved(GRPOTrainer):
        raise UsageError(
            f"The installed TRL is not one that agentgym works with: {'; '.join(missing)}.",
            remedy="Install a release of TRL from 1.15 on and before 2.",
        )


class TrainerModel:
    """The policy in training, as TRL samples from it.

    With several ranks every sampling may be a collective operation, so all ranks sample equally
    often and equally many: one that has no episode left joins in with prompts nobody reads.

    Args:
        trainer: TRL's trainer.
        width: The most requests at once, the same on every rank.
    """

    def __init__(self, trainer: Any, width: int) -> None:
        self._trainer = trainer
        self._width = width
        self._alone = trainer.accelerator.num_processes == 1

    @property
    def end_id(self) -> int:
        """The token that ends a turn."""
        return int(self._trainer.eos_token_ids[0])

    @property
    def context(self) -> int | None:
        """The longest sequence the model reads, where its configuration says."""
        if self._trainer.use_vllm and self._trainer.args.vllm_max_model_length:
            return int(self._trainer.args.vllm_max_model_length)
        config = self._trainer.model.config.get_text_config()
        found = getattr(config, "max_position_embeddings", None)
        return int(found) if found else None

    def sample(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        """Sample for every request, in one call."""
        longest = self._agree(max(request.max_tokens for request in requests))
        prompts = [list(request.prompt_ids) for request in requests]
        ids, logprobs = self._generate(prompts, longest)
        found: list[Sampled] = []
        for number, request in enumerate(requests):
            kept = tuple(int(token) for token in ids[number][: request.max_tokens])
            scores = logprobs[number][: len(kept)] if logprobs is not None else None
            # vLLM gives None for a log-probability that is not a number; TRL reads NaN so.
            known = scores is not None and all(score is not None for score in scores)
            found.append(Sampled(kept, tuple(scores) if scores is not None and known else None))
        return found

    def keep_company(self) -> None:
        """Sample along until the episodes of every rank are over."""
        while not self._alone and (longest := self._agree(0)):
            self._generate([], longest)

    def record(self, name: str, value: float) -> None:
        """Add a value to one of the trainer's metrics; the mean since the last log is logged."""
        mode = "train" if self._trainer.model.training else "eval"
        self._trainer._metrics[mode][name].append(value)

    def _agree(self, longest: int) -> int:
        """Return the most tokens that any rank wants; 0 where all are done."""
        if self._alone:
            return longest
        from accelerate.utils import gather_object  # type: ignore[import-untyped, unused-ignore]

        return int(max(gather_object([longest])))

    def _generate(self, prompts: list[list[int]], longest: int) -> tuple[Any, Any]:
        if not self._alone:
            prompts = [*prompts, *[[self.end_id]] * (self._width - len(prompts))]
        with _at_most(self._trainer, longest):
            ids, logprobs = self._trainer._generate_single_turn(prompts, None, {}, 1)
        return ids, logprobs


@contextmanager
def _at_most(trainer: Any, tokens: int) -> Iterator[None]:
    """Let the next sampling write so many tokens at most."""
    holder, name = (
        (trainer.vllm_generation, "max_completion_length")
        if trainer.use_vllm
        else (trainer.generation_config, "max_new_tokens")
    )
    before = getattr(holder, name, None)
    if before is None:
        raise UsageError(
            f"This TRL keeps the length of a completion elsewhere than in {name}.",
            remedy="Install a release of TRL that agentgym was tested with.",
        )
    setattr(holder, name, tokens)
    try:
        yield
    finally:
        setattr(holder, name, before)
