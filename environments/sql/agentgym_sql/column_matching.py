"""Whether two results are equal up to the order of their columns, and of their rows.

This is `result_eq` of test-suite-sql-eval (Zhong, Yu and Klein, 2020), which tries every
column permutation that a sample of 20 rows allows. Rows and columns are told apart here by
refinement instead: a column by the values it holds in each class of rows, a row by the values
it holds in each class of columns. Only what stays alike is guessed, so identical columns cost
nothing and the answer never depends on a sample.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

from agentgym_sql.rows import Column, Rows, columns

Classes: TypeAlias = dict[Hashable, list[Column]]
ClassIds: TypeAlias = dict[Hashable, int]

_FREE_PASSES = 4
_FREE_CELLS = 2_000_000


def equal_up_to_columns(predicted: Rows, gold: Rows, *, ordered: bool) -> bool | None:
    """Compare two results of the same shape.

    Args:
        predicted: Rows of equal width.
        gold: As many rows, as wide.
        ordered: Whether the order of the rows counts.

    Returns:
        Whether some permutation of the predicted columns makes the results equal, as lists
        of rows where ordered, else as bags. None where the search was given up: its limit is
        some seconds, and only unordered results whose columns are in another order than the
        gold's and look alike in every respect but one can reach it.
    """
    mine, theirs = columns(predicted), columns(gold)
    if ordered:
        return Counter(mine) == Counter(theirs)
    if Counter(zip(*mine, strict=True)) == Counter(zip(*theirs, strict=True)):
        return True
    start = [0] * len(gold)
    search = _Search(_FREE_CELLS + _FREE_PASSES * len(gold) * len(theirs))
    try:
        return search.equal(_Side(mine, start), _Side(theirs, start))
    except _LimitReachedError:
        return None


class _LimitReachedError(Exception):
    """The search has looked at as many cells as it may."""


class _Side:
    """One of the two results: the columns not matched yet, and the class of each row."""

    def __init__(self, unmatched: list[Column], rows: list[int]) -> None:
        self.unmatched = unmatched
        self.rows = rows

    def classes(self) -> Classes:
        """Group the unmatched columns by the values they hold in each class of rows."""
        groups: Classes = {}
        for column in self.unmatched:
            held = frozenset(Counter(zip(self.rows, column, strict=True)).items())
            groups.setdefault(held, []).append(column)
        return groups

    def match(self, matched: Sequence[Column], ids: ClassIds) -> "_Side":
        """Return the side after these columns have found their counterparts."""
        gone = Counter(matched)
        left = [column for column in self.unmatched if not _take(gone, column)]
        return _Side(left, self._split(zip(*matched, strict=True), ids))

    def refine(self, classes: Classes, names: Iterable[Hashable], ids: ClassIds) -> "_Side":
        """Return the side with rows told apart by what they hold in each class of columns."""
        by_kind = [(kind, column) for kind, name in enumerate(names) for column in classes[name]]
        kinds = [kind for kind, _ in by_kind]
        cells = zip(*(column for _, column in by_kind), strict=True)
        held = (frozenset(Counter(zip(kinds, row, strict=True)).items()) for row in cells)
        return _Side(self.unmatched, self._split(held, ids))

    def _split(self, keys: Iterable[Hashable], ids: ClassIds) -> list[int]:
        pairs = zip(self.rows, keys, strict=True)
        return [ids.setdefault(pair, len(ids)) for pair in pairs]


class _Search:
    """Refinement, then guesses where columns stay alike, within a limit on cells looked at."""

    def __init__(self, cells: int) -> None:
        self._cells = cells

    def equal(self, mine: _Side, theirs: _Side) -> bool:
        """Return whether the unmatched columns can be matched."""
        choices = [iter([(mine, theirs)])]
        while choices:
            sides = next(choices[-1], None)
            if sides is None:
                choices.pop()
                continue
            refined = self._refined(*sides)
            if refined is None:
                continue
            if not refined[0].unmatched:
                return True
            choices.append(_guesses(*refined))
        return False

    def _refined(self, mine: _Side, theirs: _Side) -> tuple[_Side, _Side] | None:
        """Match and tell apart all that can be without a guess; None where the sides differ."""
        while Counter(mine.rows) == Counter(theirs.rows):
            if not mine.unmatched:
                return mine, theirs
            self._spend(len(mine.rows) * len(mine.unmatched))
            ours, golds = mine.classes(), theirs.classes()
            if _sizes(ours) != _sizes(golds):
                return None
            ids: ClassIds = {}
            settled = [name for name in golds if _alike(ours[name]) and _alike(golds[name])]
            if settled:
                mine = mine.match([c for name in settled for c in ours[name]], ids)
                theirs = theirs.match([c for name in settled for c in golds[name]], ids)
                continue
            finer = theirs.refine(golds, golds, ids)
            if len(set(finer.rows)) == len(set(theirs.rows)):
                return mine, theirs
            mine, theirs = mine.refine(ours, golds, ids), finer
        return None

    def _spend(self, cells: int) -> None:
        self._cells -= cells
        if self._cells < 0:
            raise _LimitReachedError


def _guesses(mine: _Side, theirs: _Side) -> Iterator[tuple[_Side, _Side]]:
    """Match one gold column with each column that looks like it, one after the other."""
    ours, golds = mine.classes(), theirs.classes()
    name = min(golds, key=lambda n: len(golds[n]))
    for candidate in dict.fromkeys(ours[name]):
        ids: ClassIds = {}
        yield mine.match([candidate], ids), theirs.match([golds[name][0]], ids)


def _take(counts: Counter[Column], column: Column) -> bool:
    if counts[column] == 0:
        return False
    counts[column] -= 1
    return True


def _sizes(classes: Classes) -> dict[Hashable, int]:
    return {name: len(group) for name, group in classes.items()}


def _alike(group: list[Column]) -> bool:
    return len(group) == 1 or len(set(group)) == 1
