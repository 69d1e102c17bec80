"""Deduction in minesweeper: what is certain, and how likely the rest is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb
from typing import NamedTuple, TypeAlias

from agentgym_games.compass import Square
from agentgym_games.minesweeper.rules import CLOSED, neighbours

Shown: TypeAlias = Sequence[str]
"""Rows of `.` (closed) and digits."""


class Fact(NamedTuple):
    """So many mines are among these closed squares."""

    squares: frozenset[Square]
    mines: int


def facts_of(shown: Shown) -> list[Fact]:
    """Return what the numbers say about closed squares."""
    found: dict[Fact, None] = {}
    for row, marks in enumerate(shown):
        for column, mark in enumerate(marks):
            if mark != CLOSED:
                around = neighbours(len(shown), len(marks), (row, column))
                hidden = frozenset(other for other in around if _is_closed(shown, other))
                if hidden:
                    found[Fact(hidden, int(mark))] = None
    return list(found)


def simply_safe(shown: Shown) -> tuple[Square, ...]:
    """Return squares that are safe by comparing numbers two at a time, sorted.

    Where one number's squares lie within another's, the difference is a fact of its own; this is
    done until nothing new comes of it.
    """
    facts = dict.fromkeys(facts_of(shown))
    queue = list(facts)
    for fact in queue:  # grows while it is walked through
        for other in list(facts):
            for small, large in ((fact, other), (other, fact)):
                if small.squares < large.squares:
                    rest = Fact(large.squares - small.squares, large.mines - small.mines)
                    if rest not in facts:
                        facts[rest] = None
                        queue.append(rest)
    return tuple(sorted({s for fact in facts if fact.mines == 0 for s in fact.squares}))


def safe_squares(shown: Shown, mines: int) -> tuple[Square, ...]:
    """Return every square that no arrangement of the mines makes unsafe, sorted."""
    return tuple(sorted(square for square, bad in mine_weights(shown, mines).items() if bad == 0))


def likeliest_safe(shown: Shown, mines: int) -> Square:
    """Return the closed square that is a mine in the fewest arrangements; the first of several."""
    weights = mine_weights(shown, mines)
    return min(sorted(weights), key=lambda square: weights[square])


def mine_weights(shown: Shown, mines: int) -> Mapping[Square, int]:
    """Return for each closed square in how many arrangements of all mines it is one.

    Squares beside numbers fall into groups that share no number; each group's arrangements are
    counted by how many mines they take, and the mines left over lie anywhere else.

    Args:
        shown: What is seen.
        mines: Mines on the whole board.
    """
    groups = [_arrangements(group) for group in _groups(facts_of(shown))]
    beside = {square for group in groups for square in group.squares}
    apart = [s for s in _closed(shown) if s not in beside]
    weights: dict[Square, int] = dict.fromkeys(_closed(shown), 0)
    for number, group in enumerate(groups):
        others = _combined(groups[:number] + groups[number + 1 :])
        for taken, tally in group.tallies.items():
            rest = sum(n * _ways(len(apart), mines - taken - m) for m, n in others.items())
            for square, times in tally.items():
                weights[square] += times * rest
    if apart:
        every = _combined(groups)
        bad = sum(n * _ways(len(apart) - 1, mines - m - 1) for m, n in every.items())
        weights |= dict.fromkeys(apart, bad)
    return weights


class _Group(NamedTuple):
    """Squares tied together by numbers.

    Attributes:
        squares: In order.
        counts: Arrangements by how many mines they take.
        tallies: By the same, in how many of them each square is a mine.
    """

    squares: tuple[Square, ...]
    counts: dict[int, int]
    tallies: dict[int, dict[Square, int]]


def _groups(facts: Iterable[Fact]) -> list[list[Fact]]:
    groups: list[tuple[set[Square], list[Fact]]] = []
    for fact in facts:
        apart, squares, joined = [], set(fact.squares), [fact]
        for known, members in groups:
            if known & fact.squares:
                squares |= known
                joined = members + joined
            else:
                apart.append((known, members))
        groups = [*apart, (squares, joined)]
    return [members for _, members in groups]


def _arrangements(facts: list[Fact]) -> _Group:
    squares = tuple(sorted({square for fact in facts for square in fact.squares}))
    group = _Group(squares, {}, {})
    for chosen in _search(squares, facts, {}):
        taken = sum(chosen.values())
        group.counts[taken] = group.counts.get(taken, 0) + 1
        tally = group.tallies.setdefault(taken, dict.fromkeys(squares, 0))
        for square, mine in chosen.items():
            tally[square] += mine
    return group


def _search(
    squares: tuple[Square, ...], facts: list[Fact], chosen: dict[Square, int]
) -> Iterator[dict[Square, int]]:
    if len(chosen) == len(squares):
        yield dict(chosen)
        return
    square = squares[len(chosen)]
    touched = [fact for fact in facts if square in fact.squares]
    for mine in (0, 1):
        chosen[square] = mine
        if all(_possible(fact, chosen) for fact in touched):
            yield from _search(squares, facts, chosen)
        del chosen[square]


def _possible(fact: Fact, chosen: Mapping[Square, int]) -> bool:
    known = [chosen[square] for square in fact.squares if square in chosen]
    mines = sum(known)
    return mines <= fact.mines <= mines + len(fact.squares) - len(known)


def _combined(groups: Iterable[_Group]) -> dict[int, int]:
    """Return the arrangements of several groups together, by how many mines they take."""
    total = {0: 1}
    for group in groups:
        joined: dict[int, int] = {}
        for mines, ways in total.items():
            for more, times in group.counts.items():
                joined[mines + more] = joined.get(mines + more, 0) + ways * times
        total = joined
    return total


def _ways(squares: int, mines: int) -> int:
    return comb(squares, mines) if squares >= 0 and mines >= 0 else 0


def _closed(shown: Shown) -> list[Square]:
    return [(r, c) for r, row in enumerate(shown) for c, mark in enumerate(row) if mark == CLOSED]


def _is_closed(shown: Shown, square: Square) -> bool:
    return shown[square[0]][square[1]] == CLOSED
