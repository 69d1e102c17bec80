"""Kendall's tau-b, the rank correlation that the InterCode reward uses."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def kendall_tau(x: Sequence[str], y: Sequence[str]) -> float | None:
    """Return Kendall's tau-b of two sequences paired by position.

    Source: Knight, "A Computer Method for Calculating Kendall's Tau with Ungrouped Data"
    (JASA, 1966), in O(n log n). Agrees with `scipy.stats.kendalltau`.

    Args:
        x: Values in any order.
        y: As many.

    Returns:
        Within [-1, 1]; None where a sequence has fewer than two different values.
    """
    if x == y:
        return 1.0 if len(set(x)) > 1 else None
    pairs = math.comb(len(x), 2)
    tied_x, tied_y = _tied(x), _tied(y)
    scale = math.sqrt((pairs - tied_x) * (pairs - tied_y))
    if scale == 0:
        return None
    both = list(zip(x, y, strict=True))
    discordant = _inversions([second for _, second in sorted(both)])
    excess = pairs - tied_x - tied_y + _tied(both) - 2 * discordant
    return max(-1.0, min(1.0, excess / scale))


def _tied(values: Iterable[Hashable]) -> int:
    """Count the pairs of equal values."""
    return sum(math.comb(count, 2) for count in Counter(values).values())


def _inversions(values: Sequence[str]) -> int:
    """Count the pairs in which the greater value comes first, with a Fenwick tree."""
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)), start=1)}
    tree = [0] * (len(ranks) + 1)
    found = 0
    for seen, value in enumerate(values):
        not_greater, i = 0, ranks[value]
        while i:
            not_greater += tree[i]
            i &= i - 1
        found += seen - not_greater
        i = ranks[value]
        while i < len(tree):
            tree[i] += 1
            i += i & -i
    return found
