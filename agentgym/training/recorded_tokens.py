"""Whether recorded tokens can be trained on: lengths, masks, prefixes and drift, turn by turn."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from agentgym.agents.chat_tokens import ChatTokenizer
from agentgym.errors import UsageError
from agentgym.training.tokens import NOBODY, Decoder, drift, rows
from agentgym.trajectories.record import Trajectory
from agentgym.types import Frozen, TokenTrace

FindingKind = Literal["missing", "lengths", "ids", "masks", "prefix", "drift"]

FAULTS: frozenset[FindingKind] = frozenset({"missing", "lengths", "ids", "masks"})
"""What keeps an episode from being trained on. The other kinds are told, and are no faults: after
a prefix that breaks a new row begins, and drift is why tokens are not made again from text."""


LARGEST_ID = 2**31 - 1
"""No vocabulary comes near, and tokenizers hold ids in 32 bits."""


class TokenizerDecoder:
    """What drift needs of a Hugging Face tokenizer.

    Args:
        tokenizer: The tokenizer.
    """

    def __init__(self, tokenizer: ChatTokenizer) -> None:
        self._tokenizer = tokenizer

    def decode(self, ids: Sequence[int], /) -> str:
        """Return the text of tokens, special ones too."""
        return str(self._tokenizer.decode(list(ids)))

    def encode(self, text: str, /) -> list[int]:
        """Return the tokens of a text."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))


class Finding(Frozen):
    """Something about a turn's tokens.

    Attributes:
        task_id: The episode's task.
        epoch: Its repetition.
        turn: The turn, from 0; None where it is of no single one.
        kind: What it is of.
        message: What was found.
    """

    task_id: str
    epoch: int
    turn: int | None
    kind: FindingKind
    message: str

    @property
    def fault(self) -> bool:
        """Whether it keeps the episode from being trained on."""
        return self.kind in FAULTS


def check_run(
    trajectories: Iterable[Trajectory], decoder: Decoder | None = None
) -> Iterator[Finding]:
    """Yield what is found in a run's episodes, in order; see `check_episode`.

    Args:
        trajectories: Such as `TrajectoryStore.trajectories(run_id)`.
        decoder: The tokenizer, for drift.
    """
    for trajectory in trajectories:
        yield from check_episode(trajectory, decoder)


def check_episode(trajectory: Trajectory, decoder: Decoder | None = None) -> list[Finding]:
    """Return what is found in an episode's tokens, turn by turn.

    Args:
        trajectory: The episode; one that infrastructure broke is checked as far as it came.
        decoder: The tokenizer; without one, drift is not looked for.
    """
    found: list[tuple[int | None, FindingKind, str]] = []
    read: tuple[int, ...] = ()
    for number, turn in enumerate(trajectory.turns):
        if turn.tokens is None:
            found.append((number, "missing", "The turn has no tokens."))
            continue
        found += [(number, kind, message) for kind, message in _one(turn.tokens)]
        broken = _break(read, turn.tokens.prompt_ids, number - 1)
        if broken is not None:
            found.append((number, "prefix", broken))
        read = turn.tokens.prompt_ids + turn.tokens.output_ids
    traces = [turn.tokens for turn in trajectory.turns if turn.tokens is not None]
    if not any(kind in FAULTS for _, kind, _ in found):
        found += [(number, "masks", message) for number, message in _masks(traces)]
    readable = not any(kind in ("missing", "ids") for _, kind, _ in found)
    if decoder is not None and readable:
        text = "Decoded and encoded again, the sampled tokens are others."
        found += [(number, "drift", text) for number in drift(traces, decoder)]
    key = trajectory.key
    return [
        Finding(task_id=key.task_id, epoch=key.epoch, turn=turn, kind=kind, message=message)
        for turn, kind, message in found
    ]


def _one(trace: TokenTrace) -> Iterator[tuple[FindingKind, str]]:
    """Yield what is wrong with a turn's tokens taken alone."""
    for name, ids in (("prompt", trace.prompt_ids), ("output", trace.output_ids)):
        wrong = [at for at, token in enumerate(ids) if not 0 <= token <= LARGEST_ID]
        if wrong:
            yield "ids", f"Token {wrong[0]} of the {name} is {ids[wrong[0]]}, which is no token id."
    if not trace.prompt_ids:
        yield "lengths", "The prompt is empty."
    if not trace.output_ids:
        yield "lengths", "No token was sampled."
    if trace.logprobs is not None and len(trace.logprobs) != len(trace.output_ids):
        yield (
            "lengths",
            f"{len(trace.output_ids)} sampled tokens have {len(trace.logprobs)} log-probabilities.",
        )
    if trace.logprobs is not None and any(not value <= 0 for value in trace.logprobs):
        yield "lengths", "A log-probability is above 0, or not a number."


def _break(read: Sequence[int], prompt: Sequence[int], before: int) -> str | None:
    """Return where a prompt leaves what was read before it, if it does."""
    if tuple(prompt[: len(read)]) == tuple(read):
        return None
    pairs = zip(read, prompt, strict=False)
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), len(prompt))
    return f"The prompt leaves turn {before} at token {at} of {len(read)}; a new row begins."


def _masks(traces: Sequence[TokenTrace]) -> Iterator[tuple[int | None, str]]:
    """Yield the turns whose sampled tokens are not exactly those that their rows train on."""
    try:
        built = rows(traces)
    except UsageError as error:
        yield None, str(error)
        return
    for number, trace in enumerate(traces):
        trained = tuple(
            token
            for row in built
            for token, turn in zip(row.completion_ids, row.turns, strict=True)
            if turn == number != NOBODY
        )
        if trained != trace.output_ids:
            yield number, "The mask is on other tokens than were sampled."
