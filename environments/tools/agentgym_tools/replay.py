"""Gold replay: the calls that lead to a task's right end, made on a fresh state."""

from collections.abc import Iterable
from typing import NamedTuple

from agentgym.errors import ToolError
from agentgym_tools.domain import Call, Desk, Domain
from agentgym_tools.state import State


class Answer(NamedTuple):
    """What a call was answered with.

    Attributes:
        text: The result, or what was wrong.
        error: Whether the call was wrong.
    """

    text: str
    error: bool


def answer(desk: Desk, call: Call) -> Answer:
    """Make one call; a wrong one is an answer like any other."""
    try:
        return Answer(desk.side(call.requestor).call(call.name, call.arguments), error=False)
    except ToolError as error:
        return Answer(str(error), error=True)


class Replay(NamedTuple):
    """The end that a sequence of calls led to.

    Attributes:
        desk: The state after them, with its tools.
        answers: One for each call.
    """

    desk: Desk
    answers: tuple[Answer, ...]


def replay(domain: Domain, calls: Iterable[Call], state: State | None = None) -> Replay:
    """Make calls one after the other; wrong ones change nothing.

    Args:
        domain: Whose tools they are made with.
        calls: Such as a task's `gold`.
        state: What to start from, which they change; a fresh state by default.
    """
    desk = domain.open(state)
    return Replay(desk, tuple([answer(desk, call) for call in calls]))
