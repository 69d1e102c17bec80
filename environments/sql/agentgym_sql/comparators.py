"""How a submitted result is compared with the gold one: four published rules, by name.

The rules disagree on a good share of the answers that one of them accepts, so a score means
something only together with the name of the comparator that gave it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from agentgym.errors import UnknownNameError
from agentgym_sql.column_matching import equal_up_to_columns
from agentgym_sql.kendall import kendall_tau
from agentgym_sql.rows import Row, Rows, Value, as_rows, canonical, shown, widths
from agentgym_sql.sql_text import is_ordered

__all__ = [
    "COMPARATORS",
    "Comparator",
    "Comparison",
    "Row",
    "Rows",
    "Value",
    "compare",
    "is_ordered",
]


@dataclass(frozen=True)
class Comparison:
    """The verdict of one comparator.

    Attributes:
        score: Within [0, 1].
        outcome: "match" where the score is 1.
        detail: Why, in a few words. It may quote the gold, so it is never for the agent.
    """

    score: float
    outcome: Literal["match", "mismatch"]
    detail: str


Comparator: TypeAlias = Callable[[Rows, Rows, bool], Comparison]


def _verdict(score: float, detail: str) -> Comparison:
    return Comparison(score, "match" if score == 1 else "mismatch", detail)


def result_eq(predicted: Rows, gold: Rows, ordered: bool) -> Comparison:
    """Equal as bags of rows up to the order of the columns; the rows' order only if ordered.

    Source: `result_eq` of test-suite-sql-eval, except that floats are compared to 10
    significant digits (see `rows.canonical`), and that an ambiguity of columns too large to
    resolve is a mismatch that says so.
    """
    if len(predicted) != len(gold):
        return _verdict(0.0, f"{len(predicted)} rows where the gold has {len(gold)}")
    if widths(predicted) != widths(gold) or len(widths(gold)) > 1:
        return _verdict(0.0, f"{_counted(predicted)} columns where the gold has {_counted(gold)}")
    equal = equal_up_to_columns(predicted, gold, ordered=ordered)
    if equal:
        return _verdict(1.0, "equal")
    if equal is None:
        return _verdict(0.0, "too many ways to match the columns; none of those tried is equal")
    return _verdict(0.0, _difference(predicted, gold, ordered))


def _counted(rows: Rows) -> str:
    return " or ".join(map(str, widths(rows)))


def _difference(predicted: Rows, gold: Rows, ordered: bool) -> str:
    mine = [tuple(map(canonical, row)) for row in predicted]
    golds = [tuple(map(canonical, row)) for row in gold]
    if ordered and Counter(mine) == Counter(golds):
        return "the same rows in another order"
    if ordered:
        pairs = zip(mine, golds, strict=True)
        index = next(i for i, (found, wanted) in enumerate(pairs) if found != wanted)
        return f"row {index} is {shown(predicted[index])} where the gold has {shown(gold[index])}"
    index = golds.index(next(iter(Counter(golds) - Counter(mine))))
    return f"gold row {index} has no counterpart: {shown(gold[index])}"


def bird_ex(predicted: Rows, gold: Rows, ordered: bool) -> Comparison:
    """Equal as sets of rows: duplicates and the rows' order never count, columns' order does.

    Source: `calculate_ex` of BIRD's `evaluation_ex.py`.
    """
    mine, golds = set(predicted), set(gold)
    if mine == golds:
        return _verdict(1.0, "equal as sets")
    detail = f"{len(golds - mine)} gold rows missing, {len(mine - golds)} rows too many"
    first = next((row for row in gold if row not in mine), None)
    return _verdict(0.0, detail if first is None else f"{detail}; first missing: {shown(first)}")


def intercode(predicted: Rows, gold: Rows, ordered: bool) -> Comparison:
    """Shared rows over all rows, times the rank correlation of the shared ones, to 2 digits.

    Source: `SqlEnv.get_reward` of InterCode, on multisets of `str(row)`. As there, the
    correlation is Kendall's tau-b of the rows' texts paired by position, and where it is
    undefined (fewer than two different shared rows) the score is the unrounded ratio. Three
    things differ: the order counts only where the gold is ordered, a negative score is 0, and
    rounding never lifts a result that is not equal to 1.
    """
    mine, golds = [str(row) for row in predicted], [str(row) for row in gold]
    shared = Counter(mine) & Counter(golds)
    total = len(mine) + len(golds) - shared.total()
    if total == 0:
        return _verdict(1.0, "both are empty")
    ratio = shared.total() / total
    in_gold_order = list(_shared_in_order(golds, shared))
    found = list(_shared_in_order(mine, shared)) if ordered else in_gold_order
    tau = kendall_tau(found, in_gold_order)
    score = ratio if tau is None else max(0.0, round(tau * ratio, 2))
    if ratio < 1 or found != in_gold_order:
        score = min(score, 0.99)
    order = "not counted" if not ordered else "undefined" if tau is None else f"tau {tau:.2f}"
    return _verdict(score, f"{shared.total()} of {total} rows shared, order {order}")


def _shared_in_order(texts: Iterable[str], shared: Counter[str]) -> Iterable[str]:
    left = Counter(shared)
    for text in texts:
        if left[text] > 0:
            left[text] -= 1
            yield text


def soft_f1(predicted: Rows, gold: Rows, ordered: bool) -> Comparison:
    """F1 over cells, of the different rows paired by position, columns in any order.

    Source: `calculate_f1_score` of BIRD mini-dev's `evaluation_f1.py`. As there, the position
    counts whether or not the gold is ordered, and every row weighs 1. One thing differs: a row
    wider than the gold's shares no more cells than the gold has, or one known value repeated
    would outweigh every other row.
    """
    mine, golds = list(dict.fromkeys(predicted)), list(dict.fromkeys(gold))
    if mine == golds:
        return _verdict(1.0, "equal")
    paired = [_row_match(*pair) for pair in zip(mine, golds, strict=False)]
    both = sum(match for match, _, _ in paired)
    only_mine = sum(extra for _, extra, _ in paired) + max(0, len(mine) - len(golds))
    only_gold = sum(lost for _, _, lost in paired) + max(0, len(golds) - len(mine))
    detail = f"rows shared {both:.2f}, too many {only_mine:.2f}, missing {only_gold:.2f}"
    if both == 0:
        return _verdict(0.0, detail)
    precision, recall = both / (both + only_mine), both / (both + only_gold)
    return _verdict(2 * precision * recall / (precision + recall), detail)


def _row_match(predicted: Row, gold: Row) -> tuple[float, float, float]:
    """Return the shares of cells in both rows, in the predicted only and in the gold only."""
    mine, golds = set(predicted), set(gold)
    matches = min(sum(value in golds for value in predicted), len(gold))
    lost = sum(value not in mine for value in gold)
    width = len(gold) or 1
    return matches / width, (len(predicted) - matches) / width, lost / width


COMPARATORS: Mapping[str, Comparator] = MappingProxyType(
    {"testsuite": result_eq, "bird_ex": bird_ex, "intercode": intercode, "soft_f1": soft_f1}
)
"""Every comparator by name; the first is the default."""


def compare(name: str, predicted: Rows, gold: Rows, *, ordered: bool) -> Comparison:
    """Compare a submitted result with the gold one.

    Two empty results are equal here; whether an empty gold can be graded at all is for the
    grader to say.

    Args:
        name: A key of `COMPARATORS`.
        predicted: Rows of NULL, numbers, text and bytes; the rows may differ in width.
        gold: The rows of the gold query.
        ordered: Whether the gold query orders its rows, see `is_ordered`.

    Raises:
        UnknownNameError: No comparator has this name.
    """
    if name not in COMPARATORS:
        raise UnknownNameError("comparator", name, COMPARATORS)
    return COMPARATORS[name](as_rows(predicted), as_rows(gold), ordered)
