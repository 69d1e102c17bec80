"""The price limit of a goal, by WebShop's rule."""

from collections.abc import Callable, Sequence

NO_LIMIT = 1_000_000.0
"""Dollars that stand for no limit."""

_STEPS = [10.0 * step for step in range(1, 100)]


def price_limit(price: float, sample: Callable[[Sequence[float], int], list[float]]) -> float:
    """Draw a limit: of the first four tens of dollars above the price, the larger of two.

    Args:
        price: Dollars the product costs.
        sample: Draws so many different values, such as `random.Random.sample`.

    Returns:
        Dollars; `NO_LIMIT` where fewer than two of 10, 20 ... 990 are above the price.
    """
    candidates = [step for step in _STEPS if step > price][:4]
    return max(sample(candidates, 2)) if len(candidates) >= 2 else NO_LIMIT
