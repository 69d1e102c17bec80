"""What an LLM agent remembers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.agents.memory import Memory, make_memory
from agentgym.errors import UsageError
from agentgym.types import Action, Message, Observation


def seen(*texts: str) -> Observation:
    return Observation(messages=tuple(Message(role="user", content=text) for text in texts))


def after(memory: Memory, turns: int) -> list[str]:
    """Play so many turns and return what the model is shown at the next, as text."""
    memory.observed(seen("rules", "task"))
    for turn in range(turns):
        memory.conversation()
        memory.acted(Action(text=f"act {turn}"))
        memory.observed(seen(f"answer {turn}", f"more {turn}"))
    return [said.text for said in memory.conversation()]


def turn(number: int) -> list[str]:
    return [f"act {number}", f"answer {number}", f"more {number}"]


def test_full_history_keeps_everything_in_order() -> None:
    assert after(make_memory("full"), 0) == ["rules", "task"]
    assert after(make_memory("full"), 3) == ["rules", "task", *turn(0), *turn(1), *turn(2)]


def test_a_window_keeps_the_task_and_the_last_turns() -> None:
    assert after(make_memory("window:2"), 0) == ["rules", "task"]
    assert after(make_memory("window:2"), 2) == ["rules", "task", *turn(0), *turn(1)]
    assert after(make_memory("window:2"), 5) == ["rules", "task", *turn(3), *turn(4)]


@given(st.integers(0, 12), st.integers(1, 12))
def test_a_window_is_the_ends_of_the_full_history(turns: int, kept: int) -> None:
    full, window = after(make_memory("full"), turns), after(make_memory(f"window:{kept}"), turns)
    recent = full[2:][-3 * kept :]
    assert window == full[:2] + recent


@given(st.integers(0, 6))
def test_each_full_prompt_begins_with_the_one_before(turns: int) -> None:
    shorter, longer = after(make_memory("full"), turns), after(make_memory("full"), turns + 1)
    assert longer[: len(shorter)] == shorter


@pytest.mark.parametrize(
    "name", ["", "none", "window", "window:", "window:0", "window:-1", "full "]
)
def test_other_histories_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"Use full or window:N\."):
        make_memory(name)
