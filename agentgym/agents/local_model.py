"""A Hugging Face causal model that samples for many episodes at once, each by its own seed."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentgym.agents.chat_tokens import ChatTokenizer
from agentgym.agents.sampling import Sampled, SampleRequest
from agentgym.errors import MissingExtraError, UsageError

try:
    import torch
    import transformers
except ImportError:
    raise MissingExtraError("A local model", "train") from None

# Their types differ from release to release, and say little.
_hub: Any = transformers


class LocalModel:
    """Samples from a model in this process.

    Args:
        model: A causal language model.
        tokenizer: Its tokenizer.
        temperature: 0 takes the likeliest token each time.
        top_p: The share of probability that is drawn from, the likeliest tokens first.
        seed: Varies every draw.

    Raises:
        UsageError: A setting is out of range, or the tokenizer has no token that ends a turn.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: ChatTokenizer,
        *,
        temperature: float = 1.0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> None:
        if temperature < 0 or not 0 < top_p <= 1:
            raise UsageError(
                f"A temperature of {temperature:g} with a top_p of {top_p:g} cannot be sampled.",
                remedy="Give a temperature of 0 or more and a top_p above 0, up to 1.",
            )
        if tokenizer.eos_token_id is None:
            raise UsageError("The tokenizer has no token that ends a turn.", remedy="Set one.")
        self.model = model
        self._tokenizer = tokenizer
        self._temperature = temperature
        self._top_p = top_p
        self._seed = seed

    @property
    def context(self) -> int | None:
        """The longest sequence the model reads, where its configuration says."""
        found = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return int(found) if found else None

    def sample(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        """Sample for every request.

        Log-probabilities are the model's own at the temperature (at 1 where that is 0), before
        `top_p`: what a trainer works out again for the same tokens. Apart from rounding, what a
        request is given does not depend on those beside it.
        """
        draw = _Draw([f"{self._seed}:{r.seed}" for r in requests], self._temperature, self._top_p)
        ids, mask = self._padded(requests)
        with torch.inference_mode(), _evaluating(self.model):
            self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=self._plain(max(r.max_tokens for r in requests)),
                logits_processor=_hub.LogitsProcessorList([draw]),
            )
        tokens, logprobs = torch.stack(draw.tokens, 1), torch.stack(draw.logprobs, 1)
        ends = set(self._ends())
        found: list[Sampled] = []
        for request, row, scores in zip(requests, tokens.tolist(), logprobs.tolist(), strict=True):
            stop = next((at for at, token in enumerate(row, 1) if token in ends), len(row))
            count = min(stop, request.max_tokens)
            found.append(Sampled(tuple(row[:count]), tuple(scores[:count])))
        return found

    def _padded(self, requests: Sequence[SampleRequest]) -> tuple[Any, Any]:
        longest = max(len(request.prompt_ids) for request in requests)
        fill = [longest - len(request.prompt_ids) for request in requests]
        pad = self._tokenizer.eos_token_id
        ids = [[pad] * n + list(r.prompt_ids) for n, r in zip(fill, requests, strict=True)]
        mask = [[0] * n + [1] * (longest - n) for n in fill]
        device = self.model.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)

    def _plain(self, max_tokens: int) -> Any:
        return _hub.GenerationConfig(
            max_new_tokens=max_tokens,
            do_sample=False,  # the draw has been made when generate chooses
            eos_token_id=self._ends(),
            pad_token_id=self._tokenizer.eos_token_id,
        )

    def _ends(self) -> list[int]:
        own = self.model.generation_config.eos_token_id
        more = own if isinstance(own, list) else [] if own is None else [own]
        return sorted({self._tokenizer.eos_token_id, *more})


class _Draw:
    """Draws each row's token by a generator of its own, and leaves only that one to choose."""

    def __init__(self, seeds: Sequence[str], temperature: float, top_p: float) -> None:
        self._rngs = [random.Random(seed) for seed in seeds]
        self._temperature = temperature
        self._top_p = top_p
        self.tokens: list[Any] = []
        self.logprobs: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        logprobs = torch.log_softmax(scores.float() / (self._temperature or 1.0), dim=-1)
        chosen = self._choose(logprobs)
        self.tokens.append(chosen)
        self.logprobs.append(logprobs.gather(-1, chosen[:, None])[:, 0])
        forced = torch.full_like(scores, -torch.inf)
        return forced.scatter(-1, chosen[:, None], 0.0)

    def _choose(self, logprobs: Any) -> Any:
        if self._temperature == 0:
            return logprobs.argmax(-1)
        share, tokens = logprobs.double().exp().sort(dim=-1, descending=True, stable=True)
        before = share.cumsum(-1) - share
        summed = share.masked_fill(before >= self._top_p, 0.0).cumsum(-1)
        draws = [rng.random() for rng in self._rngs]
        # `uniform` is below 1 and the sum's last entry is the whole, so some entry is above it.
        uniform = torch.tensor(draws, dtype=summed.dtype, device=summed.device)[:, None]
        place = (summed > uniform * summed[:, -1:]).int().argmax(-1)
        return tokens.gather(-1, place[:, None])[:, 0]


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Set a model to sample, and aside its own defaults, which `generate` would mix in."""
    training, defaults = model.training, model.generation_config
    model.eval()
    model.generation_config = _hub.GenerationConfig(eos_token_id=defaults.eos_token_id)
    try:
        yield
    finally:
        model.generation_config = defaults
        model.train(training)


def load_model(path: Path) -> tuple[Any, Any]:
    """Load a model and its tokenizer from a folder; nothing is downloaded.

    Raises:
        UsageError: The folder does not hold them.
    """
    tokenizer = load_tokenizer(path)
    with _loading(path):
        model = _hub.AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype="auto")
    return model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


def load_tokenizer(path: Path) -> Any:
    """Load a tokenizer from a folder; nothing is downloaded.

    Raises:
        UsageError: The folder does not hold one.
    """
    with _loading(path):
        return _hub.AutoTokenizer.from_pretrained(path, local_files_only=True)


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    if not path.is_dir():
        raise UsageError(
            f"There is no folder {str(path)!r}.", remedy="Name one that `save_pretrained` wrote."
        )
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"The folder {str(path)!r} holds no model that can be loaded: {first}",
            remedy="Name a folder that `save_pretrained` wrote, with its tokenizer.",
        ) from error
