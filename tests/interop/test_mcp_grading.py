"""Grading by declaration: calls matched as sets or in order, and answers."""

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.interop.mcp.grading import answered, share_made
from agentgym.interop.mcp.tasks import ExpectedCall


def calls(*found: tuple[str, dict[str, object]]) -> list[ExpectedCall]:
    return [ExpectedCall(name=name, arguments=arguments) for name, arguments in found]


some_calls = st.lists(
    st.builds(
        ExpectedCall,
        name=st.sampled_from(["a", "b"]),
        arguments=st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from([1, 2])),
    ),
    max_size=4,
)


def fits(wanted: ExpectedCall, made: ExpectedCall) -> bool:
    return wanted.name == made.name and wanted.arguments.items() <= made.arguments.items()


@given(some_calls.filter(bool), some_calls)
def test_as_many_are_matched_as_can_be(
    expected: list[ExpectedCall], made: list[ExpectedCall]
) -> None:
    padded = [*made, *[None] * len(expected)]
    best = max(
        sum(one is not None and fits(want, one) for want, one in zip(expected, chosen, strict=True))
        for chosen in permutations(padded, len(expected))
    )
    assert share_made(expected, made, ordered=False) == best / len(expected)


@given(some_calls.filter(bool), some_calls)
def test_in_order_the_longest_beginning_counts(
    expected: list[ExpectedCall], made: list[ExpectedCall]
) -> None:
    def holds(length: int) -> bool:
        return any(
            all(fits(want, one) for want, one in zip(expected, chosen, strict=False))
            for chosen in combinations(made, length)
        )

    best = max(length for length in range(len(expected) + 1) if holds(length))
    assert share_made(expected, made, ordered=True) == best / len(expected)


@pytest.mark.parametrize(
    ("wanted", "made", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2}]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
        ("1", 1, False),
        (None, None, True),
    ],
)
def test_arguments_are_compared_as_json(wanted: object, made: object, same: bool) -> None:
    share = share_made(calls(("f", {"x": wanted})), calls(("f", {"x": made})), ordered=False)
    assert share == float(same)


@pytest.mark.parametrize(
    ("submitted", "answers", "right"),
    [
        ("42", ["42.0"], True),
        (" 1,200 ", ["1200"], True),
        ("  The  Answer\n", ["the answer"], True),
        ("10", ["100"], False),
        ("100 apples", ["100"], False),
        ("nan", ["nan"], True),
        ("b", ["a", "b"], True),
        ("", ["a"], False),
        (None, ["a"], False),
    ],
)
def test_answers_are_compared_as_numbers_or_words(
    submitted: str | None, answers: list[str], right: bool
) -> None:
    assert answered(submitted, answers) is right
