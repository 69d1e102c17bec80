from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import UsageError
from agentgym.training.tokens import NOBODY, Row, drift, rows
from agentgym.types import TokenTrace

ids = st.lists(st.integers(0, 50), min_size=1, max_size=5).map(tuple)


def trace(
    prompt: Sequence[int], output: Sequence[int], logprobs: Sequence[float] | None = None
) -> TokenTrace:
    given = None if logprobs is None else tuple(logprobs)
    return TokenTrace(prompt_ids=tuple(prompt), output_ids=tuple(output), logprobs=given)


def test_a_tool_episode_token_by_token() -> None:
    """Question 1 2, call 3 4, the tool's answer 5 6 7, answer 8."""
    row = rows([trace([1, 2], [3, 4], [-0.1, -0.2]), trace([1, 2, 3, 4, 5, 6, 7], [8], [-0.3])])
    assert row == [
        Row(
            prompt_ids=(1, 2),
            completion_ids=(3, 4, 5, 6, 7, 8),
            turns=(0, 0, NOBODY, NOBODY, NOBODY, 1),
            logprobs=(-0.1, -0.2, 0.0, 0.0, 0.0, -0.3),
        )
    ]
    assert row[0].mask == (1, 1, 0, 0, 0, 1)


def test_a_trimmed_history_begins_a_new_row() -> None:
    built = rows([trace([1, 2], [3]), trace([1, 2, 3, 4], [5]), trace([1, 4], [6])])
    assert [row.prompt_ids for row in built] == [(1, 2), (1, 4)]
    assert [row.turns for row in built] == [(0, NOBODY, 1), (2,)]


def test_log_probabilities_are_all_there_or_none() -> None:
    assert rows([trace([1], [2], [-1.0]), trace([1, 2, 3], [4])])[0].logprobs is None


def test_a_turn_without_tokens_is_named() -> None:
    with pytest.raises(UsageError, match="Turn 1 has no tokens"):
        rows([trace([1], [2]), trace([1, 2], [])])
    with pytest.raises(UsageError, match="Turn 0 has 2 sampled tokens and 1 log-prob"):
        rows([trace([1], [2, 3], [-1.0])])


@given(st.lists(st.tuples(ids, ids, st.booleans()), min_size=1, max_size=6))
def test_every_sampled_token_is_in_one_row_once_and_in_order(
    turns: list[tuple[tuple[int, ...], tuple[int, ...], bool]],
) -> None:
    traces: list[TokenTrace] = []
    read: tuple[int, ...] = ()
    for world, sampled, trimmed in turns:
        prompt = world if trimmed else read + world
        traces.append(trace(prompt, sampled, [-0.5] * len(sampled)))
        read = prompt + sampled
    built = rows(traces)
    for number, (_, sampled, _) in enumerate(turns):
        found = [
            token
            for row in built
            for token, turn in zip(row.completion_ids, row.turns, strict=True)
            if turn == number
        ]
        assert tuple(found) == sampled
    for row in built:
        assert row.logprobs is not None
        assert len(row.turns) == len(row.completion_ids) == len(row.logprobs)
        assert row.prompt_ids


class Letters:
    """A tokenizer with one token for "ab", which encoding always prefers."""

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join({0: "a", 1: "b", 2: "ab"}[token] for token in tokens)

    def encode(self, text: str) -> list[int]:
        return [2] * text.count("ab") + [0] * (text.count("a") - text.count("ab"))


def test_drift_names_the_turn() -> None:
    assert drift([trace([0], [2]), trace([0], [0, 1])], Letters()) == [1]
