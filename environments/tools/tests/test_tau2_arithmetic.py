import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ToolError
from agentgym_tools.tau2.arithmetic import MAX_LENGTH, calculate

numbers = st.integers(0, 999).map(str) | st.floats(0, 999).map(lambda x: f"{x:.2f}")
expressions = st.recursive(
    numbers,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", " + "]), inner).map("".join)
        | inner.map(lambda text: f"({text})")
        | inner.map(lambda text: f"-{text}")
    ),
    max_leaves=8,
)


@given(expressions)
def test_it_counts_as_python_does(expression: str) -> None:
    try:
        expected = str(round(float(eval(expression)), 2))
    except ZeroDivisionError as error:
        expected = str(error)
    try:
        got = calculate(expression)
    except ToolError as error:
        got = str(error)
    assert got == expected


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4.0"),
        (" 10/4", "2.5"),
        ("2**10", "1024.0"),
        ("2**-1", "0.5"),
        ("(-1)**9", "-1.0"),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("9**9**9", "too large"),
        ("9**999", "too large"),
        ("9.0**9**9", "too large|out of range"),
        ("(2**1000)**1000", "too large"),
        ("1/0", "division by zero"),
        ("9" * 400, "too large"),
        ("1" + "+1" * MAX_LENGTH, "longer than"),
        ("-" * (MAX_LENGTH - 1) + "1", "nested too deeply|too complex"),
        ("(" * (MAX_LENGTH // 2), "never closed|too many nested|nested too deeply"),
        ("(1 + 2", r"'\(' was never closed \(<string>, line 1\)"),
        ("", "invalid syntax"),
        ("()", "not arithmetic"),
        ("2(3)", "'int' object is not callable"),
        ("...", "not arithmetic"),
        ("1, 2", "Invalid characters"),
        ("__import__", "Invalid characters"),
        ("1e9", "Invalid characters"),
        ("(0-8)**0.5", "complex"),
    ],
)
def test_what_has_no_value_is_the_agents_error(expression: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        calculate(expression)
