"""Results made to be hard to match: a search over column permutations never ends on them."""

import random
from typing import Any

from agentgym_sql.comparators import compare

Rows = list[tuple[Any, ...]]


def score(predicted: Rows, gold: Rows, *, ordered: bool = False) -> float:
    return compare("testsuite", predicted, gold, ordered=ordered).score


def shuffled(rows: Rows, seed: int) -> Rows:
    """The same rows with their columns and themselves in another order."""
    chance = random.Random(seed)
    order = list(range(len(rows[0])))
    chance.shuffle(order)
    mixed = [tuple(row[i] for i in order) for row in rows]
    chance.shuffle(mixed)
    return mixed


def test_twelve_identical_columns() -> None:
    gold: Rows = [(i,) * 12 for i in range(50)]
    assert score(shuffled(gold, 0), gold) == 1.0
    changed = [*gold[:-1], (*gold[-1][:-1], -1)]
    assert score(shuffled(changed, 0), gold) == 0.0


def test_twenty_columns_with_the_same_few_values() -> None:
    chance = random.Random(1)
    ones = [1] * 30 + [0] * 30
    gold: Rows = list(zip(*(chance.sample(ones, 60) for _ in range(20)), strict=True))
    assert score(shuffled(gold, 2), gold) == 1.0
    # The same two columns exchanged in two rows: every column keeps its counts.
    first = next(i for i, row in enumerate(gold) if row[:2] == (0, 1))
    second = next(i for i, row in enumerate(gold) if row[:2] == (1, 0))
    changed = list(gold)
    changed[first], changed[second] = (1, 0, *gold[first][2:]), (0, 1, *gold[second][2:])
    assert score(shuffled(changed, 3), gold) == 0.0


def test_five_hundred_columns_with_the_same_few_values() -> None:
    chance = random.Random(6)
    cells = [None] * 20 + [0] * 20 + [1] * 20
    gold: Rows = list(zip(*(chance.sample(cells, 60) for _ in range(500)), strict=True))
    assert score(shuffled(gold, 7), gold) == 1.0
    assert score(shuffled([*gold[:-1], gold[0]], 8), gold) == 0.0
    mirrored = [tuple(reversed(row)) for row in gold]
    assert score(mirrored, gold, ordered=True) == 1.0
    assert score(mirrored[::-1], gold, ordered=True) == 0.0


def circles(*lengths: int) -> Rows:
    """The edges of circles, one a row, one column a vertex."""
    width, start, rows = sum(lengths), 0, []
    for length in lengths:
        for i in range(length):
            ends = (start + i, start + (i + 1) % length)
            rows.append(tuple(int(column in ends) for column in range(width)))
        start += length
    return rows


def test_columns_that_only_a_guess_tells_apart() -> None:
    gold = circles(12)
    assert score(shuffled(gold, 4), gold) == 1.0
    assert score(shuffled(circles(6, 6), 5), gold) == 0.0


def test_a_search_that_is_given_up_is_a_mismatch_and_says_so() -> None:
    gold = circles(*[6] * 20)
    result = compare("testsuite", shuffled(circles(12, *[6] * 18), 6), gold, ordered=False)
    assert result.outcome == "mismatch"
    assert result.detail.startswith("too many ways to match the columns")
    assert score(shuffled(gold, 7), gold) == 1.0


def test_a_hundred_thousand_rows_in_another_order_of_columns() -> None:
    gold: Rows = [(i, i % 7, f"name {i % 1000}", i / 3, None, i % 7) for i in range(100_000)]
    assert score(shuffled(gold, 8), gold) == 1.0
    assert score(shuffled([*gold[:-1], gold[0]], 9), gold) == 0.0
