"""How answers and outputs are compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_shell.tasks import Comparison
from agentgym_shell.texts import same

ALL: tuple[Comparison, ...] = ("exact", "words", "number", "lines", "set")


@pytest.mark.parametrize(
    ("compare", "found", "expected", "equal"),
    [
        ("exact", " a b\n", "a b", True),
        ("exact", "a  b", "a b", False),
        ("exact", "A", "a", False),
        ("words", "The\n ANSWER  is", "the answer is", True),
        ("words", "theanswer", "the answer", False),
        ("number", "42", "42.0", True),
        ("number", " +1,234.50\n", "1234.5", True),
        ("number", "1e3", "1000", True),
        ("number", "42 files", "42", False),
        ("number", "", "0", False),
        ("number", "nan", "nan", False),
        ("number", "12,34", "1234", False),
        ("number", "٤٢", "42", False),
        ("number", "0.1", "0.10000000000000001", False),
        ("lines", " a \n\n b", "a\nb\n", True),
        ("lines", "b\na", "a\nb", False),
        ("lines", "a\r\nb", "a\nb", True),
        ("set", "b\na\na", "a\nb", True),
        ("set", "a", "a\nb", False),
        ("set", "a b", "a\nb", False),
    ],
)
def test_each_comparison(compare: Comparison, found: str, expected: str, equal: bool) -> None:
    assert same(compare, found, expected) is equal
    assert same(compare, expected, found) is equal


def test_numbers_may_be_a_tolerance_apart() -> None:
    assert same("number", "3.14", "3.1", tolerance=0.04)
    assert not same("number", "3.15", "3.1", tolerance=0.04)
    assert same("number", "0.3", "0.1", tolerance=0.2)


def test_a_number_of_any_size_costs_nothing() -> None:
    assert not same("number", "1e999999999", "1")
    assert not same("number", "9" * 1_000_000, "1")
    assert not same("number", "1," * 300_000, "1")


@given(st.sampled_from(ALL), st.text(), st.text())
def test_comparing_never_fails_and_does_not_depend_on_the_side(
    compare: Comparison, one: str, other: str
) -> None:
    assert same(compare, one, other) is same(compare, other, one)


@given(st.sampled_from([one for one in ALL if one != "number"]), st.text())
def test_a_text_is_equal_to_itself(compare: Comparison, text: str) -> None:
    assert same(compare, text, text)
    assert same(compare, f"\n{text}\n", text)


@given(st.lists(st.text("ab", min_size=1), max_size=6))
def test_the_order_counts_for_lines_and_not_for_sets(lines: list[str]) -> None:
    backwards = lines[::-1]
    assert same("set", "\n".join(backwards), "\n".join(lines))
    assert same("lines", "\n".join(backwards), "\n".join(lines)) is (backwards == lines)


@given(st.integers(-(10**12), 10**12))
def test_a_whole_number_in_any_notation_is_itself(number: int) -> None:
    for text in (str(number), f"{number:,}", f"{number}.00", f" {number} "):
        assert same("number", text, str(number))
    assert not same("number", str(number + 1), str(number))
