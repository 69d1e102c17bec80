"""TRL's trainer with public names for the private parts that turn-level credit needs.

What it relies on is listed in `trl_private`, so that the check there names what has moved.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from accelerate.utils import gather_object
from torch.utils.data import Sampler
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from agentgym.errors import UsageError

Item = TypeVar("Item")


class HookedGRPOTrainer(GRPOTrainer, ABC):
    """A `GRPOTrainer` that lets a subclass credit each batch and choose the tasks."""

    args: GRPOConfig
    model: Any
    train_dataset: Any
    num_generations: int
    _order: Any
    _rewards: torch.Tensor

    @abstractmethod
    def credited(self, inputs: list[dict[str, Any]], tensors: dict[str, torch.Tensor]) -> None:
        """Change a generation batch's tensors after they are scored, before they are trained on.

        Args:
            inputs: For every row of this rank, what the dataset and the rollout gave for it.
            tensors: TRL's tensors of this rank's rows.
        """

    def saved(self, folder: Path) -> None:
        """Add to a checkpoint that is about to be written; called on the rank that writes."""

    def resumed(self, folder: Path) -> None:
        """Take up what `saved` added, before training goes on; called on every rank."""

    def sampler(self) -> Sampler[int] | None:
        """Return in which order training draws tasks; None leaves it to TRL."""
        return None

    @property
    def mode(self) -> Literal["train", "eval"]:
        """What the batch is for."""
        return "train" if self.model.training else "eval"

    @property
    def group_size(self) -> int:
        """Episodes a task in one batch."""
        if self.mode == "train":
            return self.num_generations
        return self.num_generations_eval or self.num_generations

    @property
    def rewards(self) -> torch.Tensor:
        """The weighted reward of every rank's rows in the newest batch, NaN where unscorable."""
        return self._rewards

    @property
    def corrects_sampler(self) -> bool:
        """Whether TRL itself weighs tokens by the sampler's log-probabilities, as with vLLM."""
        return bool(self.use_vllm and self.vllm_importance_sampling_correction)

    def gathered(self, items: list[Item]) -> list[Item]:
        """Return the items of every rank, in the order of ranks, on every rank."""
        found: list[Item] = gather_object(items)
        return found

    def record(self, name: str, value: float) -> None:
        """Add a value to a metric of the current mode; the mean is logged."""
        self._metrics[self.mode][name].append(value)

    def token_logprobs(
        self, prompts: Sequence[Sequence[int]], tensors: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """Return the policy's log-probability of each completion token after other prompts.

        Args:
            prompts: A prompt for every row, as token ids.
            tensors: TRL's tensors of the rows.

        Returns:
            Shape (B, T), without gradient, at the trainer's temperature.

        Raises:
            UsageError: The rows have images.
        """
        _only_text(tensors)
        device = tensors["completion_ids"].device
        longest = max(len(ids) for ids in prompts)
        ids = torch.full((len(prompts), longest), self._tokenizer.pad_token_id, device=device)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, longest - len(prompt) :] = torch.tensor(prompt, device=device)
            mask[row, longest - len(prompt) :] = 1
        return self._logprobs(ids, mask, tensors)

    def old_logprobs(self, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return, and keep in `tensors`, the log-probabilities at the time of generation.

        TRL leaves them out where batch and step are aligned and the ratio is 1 by construction.

        Returns:
            Shape (B, T), without gradient.

        Raises:
            UsageError: The rows have images.
        """
        if "old_per_token_logps" not in tensors:
            found = self._logprobs(tensors["prompt_ids"], tensors["prompt_mask"], tensors)
            tensors["old_per_token_logps"] = found
        return tensors["old_per_token_logps"]

    def hidden_states(
        self, tensors: dict[str, torch.Tensor], places: Sequence[Sequence[int]]
    ) -> list[torch.Tensor]:
        """Return the policy's last hidden states at some completion tokens of each row.

        Args:
            tensors: TRL's tensors of the rows.
            places: For every row the completion tokens; -1 is the prompt's last token.

        Returns:
            For every row a tensor of shape (places, hidden size), without gradient.

        Raises:
            UsageError: The rows have images.
        """
        _only_text(tensors)
        ids, mask = _joined(tensors["prompt_ids"], tensors["prompt_mask"], tensors)
        shift = tensors["prompt_ids"].size(1)
        size = self.args.per_device_train_batch_size
        found: list[torch.Tensor] = []
        with torch.no_grad():
            for at in range(0, ids.size(0), size):
                part = slice(at, at + size)
                output = self.model(
                    input_ids=ids[part],
                    attention_mask=mask[part],
                    output_hidden_states=True,
                    logits_to_keep=1,
                )
                for states, wanted in zip(output.hidden_states[-1], places[part], strict=True):
                    index = torch.tensor([shift + place for place in wanted], dtype=torch.long)
                    found.append(states[index.to(ids.device)].float())
        return found

    def _logprobs(
        self, prompt_ids: torch.Tensor, prompt_mask: torch.Tensor, tensors: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        _only_text(tensors)
        ids, mask = _joined(prompt_ids, prompt_mask, tensors)
        with torch.no_grad():
            found = self._get_per_token_logps_and_entropies(
                self.model,
                ids,
                mask,
                tensors["completion_ids"].size(1),
                batch_size=self.args.per_device_train_batch_size,
            )
        logprobs: torch.Tensor = found[0]
        return logprobs

    # What TRL calls.

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        by_function: torch.Tensor = super()._calculate_rewards(*args, **kwargs)
        weights = self.reward_weights.to(by_function.device)
        self._rewards = (by_function * weights).nansum(dim=1)
        self._rewards[by_function.isnan().all(dim=1)] = torch.nan
        return by_function

    def _generate_and_score_completions(
        self, inputs: list[dict[str, Any]]
    ) -> dict[str, torch.Tensor]:
        tensors: dict[str, torch.Tensor] = super()._generate_and_score_completions(inputs)
        self.credited(inputs, tensors)
        return tensors

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        self._order = self.sampler() or super()._get_train_sampler(dataset)
        return self._order

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # Before what TRL writes: a checkpoint counts as whole by the file that is written last.
        if self.args.should_save:
            folder = Path(self._get_output_dir(trial))
            self.saved(folder / f"checkpoint-{self.state.global_step}")
        super()._save_checkpoint(model, trial)  # type: ignore[no-untyped-call]

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)  # type: ignore[no-untyped-call]
        if checkpoint is None:
            return
        self.resumed(Path(checkpoint))
        for _ in range(int(self.state.epoch or 0)):
            next(iter(self._order), None)  # each epoch has an order of its own


def _joined(
    prompt_ids: torch.Tensor, prompt_mask: torch.Tensor, tensors: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.cat([prompt_ids, tensors["completion_ids"]], dim=1)
    return ids, torch.cat([prompt_mask, tensors["completion_mask"]], dim=1)


def _only_text(tensors: dict[str, torch.Tensor]) -> None:
    if "pixel_values" in tensors:
        raise UsageError(
            "Rows with images cannot be scored again.",
            remedy="Leave out replay, distillation and learned credit, or train without images.",
        )
