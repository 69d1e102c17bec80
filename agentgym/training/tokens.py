"""An episode's turns as rows of tokens: what was sampled, exactly, and what the world answered.

A policy that sees tokens records for each turn what it read and what it sampled. Where each
turn's prompt goes on from the turn before, the episode is one row; where it does not, because
history was trimmed or images were dropped, a new row begins. Sampled tokens are never made
again from text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentgym.errors import UsageError
from agentgym.types import TokenTrace

NOBODY = -1
"""The turn of a token that nobody sampled."""


class Decoder(Protocol):
    """What the check of drift needs of a tokenizer."""

    def decode(self, ids: Sequence[int], /) -> str:
        """Return the text of tokens."""

    def encode(self, text: str, /) -> list[int]:
        """Return the tokens of a text, without special ones added."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence to train on.

    Attributes:
        prompt_ids: What the first turn read.
        completion_ids: All that follows: sampled tokens and the environment's.
        turns: For each completion token the number of the turn that sampled it, from 0, or
            `NOBODY`; as long as `completion_ids`.
        logprobs: Log-probability of each completion token when it was sampled, 0.0 where nobody
            sampled it; as long as `completion_ids`; None where a turn of the row has none.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    turns: tuple[int, ...]
    logprobs: tuple[float, ...] | None

    @property
    def mask(self) -> tuple[int, ...]:
        """1 where a token was sampled, 0 where it was not; as long as `completion_ids`."""
        return tuple(int(turn != NOBODY) for turn in self.turns)


def rows(traces: Sequence[TokenTrace]) -> list[Row]:
    """Return an episode's rows, in order; one where no history was dropped.

    Args:
        traces: Of every turn, in order.

    Raises:
        UsageError: A turn has no tokens, or not one log-probability a sampled token.
    """
    built: list[Row] = []
    begun: list[tuple[int, TokenTrace]] = []
    read: tuple[int, ...] = ()
    for number, trace in enumerate(traces):
        _check(number, trace)
        if begun and trace.prompt_ids[: len(read)] != read:
            built.append(_row(begun))
            begun = []
        begun.append((number, trace))
        read = trace.prompt_ids + trace.output_ids
    return [*built, _row(begun)] if begun else built


def drift(traces: Iterable[TokenTrace], decoder: Decoder) -> list[int]:
    """Return the turns whose sampled tokens are others when decoded and encoded again.

    They are no fault: they are why sampled tokens must not be made again from text.
    """
    return [
        number
        for number, trace in enumerate(traces)
        if tuple(decoder.encode(decoder.decode(trace.output_ids))) != trace.output_ids
    ]


def _check(number: int, trace: TokenTrace) -> None:
    if not trace.prompt_ids or not trace.output_ids:
        raise UsageError(
            f"Turn {number} has no tokens to train on.",
            remedy="Play with a policy that records them.",
        )
    if trace.logprobs is not None and len(trace.logprobs) != len(trace.output_ids):
        raise UsageError(
            f"Turn {number} has {len(trace.output_ids)} sampled tokens and "
            f"{len(trace.logprobs)} log-probabilities.",
            remedy="Mend the policy that records them.",
        )


def _row(begun: Sequence[tuple[int, TokenTrace]]) -> Row:
    prompt = begun[0][1].prompt_ids
    completion: list[int] = []
    turns: list[int] = []
    logprobs: list[float] | None = []
    for number, trace in begun:
        world = trace.prompt_ids[len(prompt) + len(completion) :]
        completion += [*world, *trace.output_ids]
        turns += [NOBODY] * len(world) + [number] * len(trace.output_ids)
        if logprobs is not None and trace.logprobs is not None:
            logprobs += [0.0] * len(world) + list(trace.logprobs)
        else:
            logprobs = None
    given = None if logprobs is None else tuple(logprobs)
    return Row(prompt, tuple(completion), tuple(turns), given)
