"""BFCL's call syntax: what is a call, what is words, and what is a mistake."""

import pytest

from agentgym.errors import ToolError
from agentgym_tools.bfcl.syntax import LONGEST, parse_calls, parse_gold


def test_calls_have_names_and_literal_arguments() -> None:
    text = " [cd(folder='a b'), f(x=-1.5, y=[1, (2, None)], z={'k': True})]\n"
    found = [(call.name, call.arguments) for call in parse_calls(text)]
    assert found == [
        ("cd", {"folder": "a b"}),
        ("f", {"x": -1.5, "y": [1, [2, None]], "z": {"k": True}}),
    ]


def test_one_call_needs_no_brackets() -> None:
    assert [call.name for call in parse_calls("pwd()")] == ["pwd"]


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Done.",
        "Done (see above).",
        "I moved the file(s) to 'temp' (2 of them) as you asked.",
        "[]",
        "[1, 2]",
        "The answer is f(x)=3, I think",
        "\ud800 \x00",
        "(" * 100_000,
        "- " * 100_000,
    ],
)
def test_words_are_not_calls(words: str) -> None:
    assert parse_calls(words) == ()


@pytest.mark.parametrize(
    "text",
    [
        "f(1)",
        "f(*[1])",
        "f(**{'a': 1})",
        "f(a=1, a=2)",
        "f(a=x)",
        "f(a=g(b=1))",
        "f(a=1 + 1)",
        "f(a=2 ** 99)",
        "f(a=lambda: 1)",
        "f(a=[i for i in range(9)])",
        "f(a={1})",
        "f(a={1: 2})",
        "f(a=b'x')",
        "f(a=...)",
        "f(a=1j)",
        "f(a=1e999)",
        "f(a=f'{1}')",
        "[f(a=1), 2]",
        "[f(a=1), g(b=]",
        "f(a=" + "9" * 5000 + ")",
        "os.system(command='true')",
        "__import__('os').system('true')",
        "f(a=" + "[" * 1000 + "]" * 1000 + ")",
        "f(a=" + "-" * 1000 + "1)",
        "f(a=" + "not " * 1000 + "1)",
        "f(a=1" + "+1" * 20_000 + ")",
        "f" + "()" * 20_000,
        "f(a=x" + ".b" * 20_000 + ")",
        "f(a='" + "x" * LONGEST + "')",
    ],
)
def test_what_is_meant_as_calls_and_cannot_be_made_is_a_mistake(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_calls(text)
    assert len(str(caught.value)) < 300


def test_gold_may_have_arguments_by_position() -> None:
    parameters = {"grep": ("file_name", "pattern")}
    assert parse_gold("grep('a.txt', pattern='x')", parameters) == (
        "grep",
        {"file_name": "a.txt", "pattern": "x"},
    )
