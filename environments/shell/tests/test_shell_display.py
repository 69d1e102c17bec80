"""How a command's end is shown to the agent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.sandbox import ExecResult
from agentgym_shell.display import clipped, show_result


def shown(
    stdout: bytes = b"",
    stderr: bytes = b"",
    code: int = 0,
    *,
    timed_out: bool = False,
    truncated: bool = False,
    new_shell: str | None = None,
) -> str:
    result = ExecResult(stdout, stderr, code, timed_out, truncated, 0.0)
    return show_result(result, max_output=100, timeout=2.5, new_shell=new_shell)


def test_plain_output_is_shown_as_it_is() -> None:
    assert shown(b"one\ntwo\n") == "one\ntwo"
    assert shown() == "[no output]"
    assert shown(b"\n\n") == "\n"


def test_errors_and_the_exit_code_are_marked() -> None:
    assert shown(b"out\n", b"bad\n", 2) == "out\n[stderr]\nbad\n[exit code 2]"
    assert shown(code=1) == "[exit code 1]"
    assert shown(b"\xff\x00") == "\ufffd\x00"


def test_a_timeout_says_what_to_do() -> None:
    text = shown(b"half", code=137, timed_out=True, new_shell="/work/x")
    assert text.startswith("half\n[timed out after 2.5 s")
    assert "larger timeout" in text
    assert "137" not in text
    assert text.endswith("a new one, without its variables, is in /work/x]")


def test_long_output_keeps_both_ends() -> None:
    text = shown("".join(f"{number:04}\n" for number in range(1000)).encode())
    assert text.startswith("0000\n0001\n")
    assert text.endswith("0998\n0999")
    assert "[4900 characters left out here;" in text


def test_what_was_not_kept_is_said() -> None:
    assert "[more was written, and not kept]" in shown(b"x" * 50, truncated=True)
    assert "[more was written, and not kept]" in shown(b"x" * 500, truncated=True)


@pytest.mark.parametrize("limit", [1, 2, 99, 100])
def test_a_text_at_the_limit_is_whole(limit: int) -> None:
    assert clipped("x" * limit, limit) == "x" * limit
    assert clipped("x" * (limit + 1), limit) != "x" * (limit + 1)


@given(st.text(), st.integers(1, 50), st.booleans())
def test_nothing_shown_is_invented_and_what_is_shown_is_bounded(
    text: str, limit: int, whole: bool
) -> None:
    cut = clipped(text, limit, whole=whole)
    assert len(cut) <= limit + 200
    assert cut.startswith(text[: limit - limit // 2])
    if len(text) > limit:
        assert f"[{len(text) - limit} characters" in cut
