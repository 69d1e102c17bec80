"""Grading by declaration: which calls were made, and what was submitted."""

import math
from collections.abc import Mapping, Sequence

from agentgym.interop.mcp.tasks import ExpectedCall
from agentgym.types import Json


def share_made(
    expected: Sequence[ExpectedCall], made: Sequence[ExpectedCall], *, ordered: bool
) -> float:
    """Return the share of expected calls that were made, each matched by a call of its own.

    Args:
        expected: At least one.
        made: In the order they were made.
        ordered: Whether the order counts; what is made up to the first one missing is the share
            then.
    """
    count = _in_order(expected, made) if ordered else _matched(expected, made)
    return count / len(expected)


def answered(submitted: str | None, answers: Sequence[str]) -> bool:
    """Whether one of the answers was submitted: the same number, or the same words.

    Case and white space do not count in words.
    """
    return submitted is not None and any(_same(submitted, answer) for answer in answers)


def _in_order(expected: Sequence[ExpectedCall], made: Sequence[ExpectedCall]) -> int:
    count = 0
    for call in made:
        if count < len(expected) and _fits(expected[count], call):
            count += 1
    return count


def _matched(expected: Sequence[ExpectedCall], made: Sequence[ExpectedCall]) -> int:
    """Return how many can be matched at most, by augmenting paths (Kuhn 1955)."""
    owner: dict[int, int] = {}

    def match(want: int, tried: set[int]) -> bool:
        for place, call in enumerate(made):
            if place not in tried and _fits(expected[want], call):
                tried.add(place)
                if place not in owner or match(owner[place], tried):
                    owner[place] = want
                    return True
        return False

    return sum(match(want, set()) for want in range(len(expected)))


def _fits(expected: ExpectedCall, made: ExpectedCall) -> bool:
    return expected.name == made.name and all(
        name in made.arguments and _equal(value, made.arguments[name])
        for name, value in expected.arguments.items()
    )


def _equal(one: Json, other: Json) -> bool:
    """Compare as JSON does: 1 is 1.0 and not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _same(one: str, other: str) -> bool:
    numbers = _number(one), _number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return math.isclose(numbers[0], numbers[1], rel_tol=1e-9)
    return one.casefold().split() == other.casefold().split()


def _number(text: str) -> float | None:
    try:
        value = float(text.strip().replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
