"""Self-distillation: the policy that has read the feedback teaches the policy that has not."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from agentgym.training.recipes.base import Batch, Recipe
from agentgym.types import Reward

if TYPE_CHECKING:
    from agentgym.training.trainer import TurnLevelGRPOTrainer

TeacherPrompt = Callable[[Any, Sequence[int], str], list[int]]
"""From a tokenizer, a prompt's tokens and the feedback to the teacher's prompt."""

WORDS = "What a reviewer said of an earlier attempt at the task below:\n{feedback}\n"


def feedback_first(tokenizer: Any, prompt_ids: Sequence[int], feedback: str) -> list[int]:
    """Return the prompt with the feedback before it, as a user's message where there is a template.

    The prompt's own tokens stay as they were sampled from.
    """
    words = WORDS.format(feedback=feedback)
    if tokenizer.chat_template:
        message = [{"role": "user", "content": words}]
        words = tokenizer.apply_chat_template(message, tokenize=False)
    return [*tokenizer.encode(words, add_special_tokens=False), *prompt_ids]


def feedback_of(row: Mapping[str, Any]) -> str | None:
    """Return what the grade's feedback says, where there is any."""
    grade = row.get("grade")
    return grade.feedback if isinstance(grade, Reward) else None


class SelfDistillation(Recipe):
    """Adds to each sampled token's advantage how much likelier the feedback makes it.

    A scalar reward says that an episode failed; its feedback says why. The same policy, given the
    feedback before its prompt, is a teacher: it scores the tokens that were sampled without it.
    To a token's advantage is added `weight` times the difference of the two log-probabilities,
    teacher less student, within plus and minus `bound`. On the student's own samples that is the
    policy gradient of the reverse divergence from student to teacher, and it is dense where the
    reward is sparse. Rows without feedback are left alone. It costs one or two forward passes a
    batch. Switched on by `recipes=[SelfDistillation()]`, in an environment that grades with
    feedback.

    Sources: Hübotter et al., "Reinforcement Learning via Self-Distillation" (SDPO, 2026); Song et
    al., "Expanding the Capabilities of Reinforcement Learning via Text Feedback" (RLTF, 2026).

    Args:
        weight: Of the distillation against the estimator's advantages.
        bound: Largest difference of log-probabilities that counts, in nats.
        prompt: How the teacher is shown the feedback.
        feedback: From what a row holds to its feedback; None or empty is none.
    """

    def __init__(
        self,
        *,
        weight: float = 0.5,
        bound: float = 2.0,
        prompt: TeacherPrompt = feedback_first,
        feedback: Callable[[Mapping[str, Any]], str | None] = feedback_of,
    ) -> None:
        self._weight, self._bound = weight, bound
        self._prompt, self._feedback = prompt, feedback

    def credit(self, batch: Batch, trainer: "TurnLevelGRPOTrainer") -> None:
        """Add the teacher's opinion to the advantages of rows with feedback."""
        words = [self._feedback(row) for row in batch.inputs]
        told = torch.tensor([bool(text) for text in words], device=batch.turns.device)
        if not trainer.accelerator.gather(told).any():  # every rank runs the model, or none
            return
        tensors = batch.tensors
        tokenizer = trainer.processing_class
        prompts = [
            self._prompt(tokenizer, own, text) if text else own
            for own, text in zip(_prompts(tensors), words, strict=True)
        ]
        gained = trainer.token_logprobs(prompts, tensors) - trainer.old_logprobs(tensors)
        sampled = (batch.mask > 0) & told.unsqueeze(1)
        gained = torch.where(sampled, gained.clamp(-self._bound, self._bound), 0.0)
        tensors["advantages"] = tensors["advantages"] + self._weight * gained
        tokens = sampled.sum().clamp(min=1)
        trainer.record("distill/gain_abs", (gained.abs().sum() / tokens).item())


def _prompts(tensors: Mapping[str, torch.Tensor]) -> list[list[int]]:
    rows = zip(tensors["prompt_ids"], tensors["prompt_mask"], strict=True)
    return [ids[mask.bool()].tolist() for ids, mask in rows]
