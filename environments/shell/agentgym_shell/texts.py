"""Comparing two texts: an answer with the one expected, an output with what it should be."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from agentgym_shell.tasks import Comparison

# Bounded, so that no exponent makes a number that takes memory or time to compare.
_NUMBER = re.compile(r"[+-]?(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,2})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)


def same(compare: Comparison, found: str, expected: str, *, tolerance: float = 0.0) -> bool:
    """Whether two texts are equal in the sense named; see `Comparison`.

    Args:
        compare: The sense.
        found: What there is; text without measure is compared safely.
        expected: What there should be.
        tolerance: How far apart two numbers may be.
    """
    if compare == "number":
        numbers = _number(found), _number(expected)
        if numbers[0] is None or numbers[1] is None:
            return False
        return abs(numbers[0] - numbers[1]) <= Decimal(str(tolerance))
    form = _FORMS[compare]
    return form(found) == form(expected)


def _number(text: str) -> Decimal | None:
    """Return the number a text is, or None; thousands may be grouped by commas."""
    text = text.strip()
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


_FORMS: Mapping[Comparison, Callable[[str], object]] = {
    "exact": str.strip,
    "words": lambda text: text.casefold().split(),
    "lines": _lines,
    "set": lambda text: set(_lines(text)),
}
