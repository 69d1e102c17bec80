"""The fake model server for commands in other processes, and answers that play the oracle."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal

from agentgym.registry import oracle_of, spec
from agentgym.tasks import TaskSet, load_tasks
from agentgym.types import Action, Message, Observation, Task, ToolCall
from tests.fake_openai import Body, FakeOpenAI, Reply, Script

Render = Callable[[ToolCall], Reply]


@contextmanager
def serving(script: Script, **options: Any) -> Iterator[FakeOpenAI]:
    """Run the fake server on a loop and thread of its own."""
    with start_blocking_portal() as portal:
        server = portal.call(lambda: _make(script, options))
        portal.call(server.start)
        try:
            yield server
        finally:
            portal.call(server.stop)


async def _make(script: Script, options: dict[str, Any]) -> FakeOpenAI:
    return FakeOpenAI(script, **options)


def native(call: ToolCall) -> Reply:
    return Reply(calls=[(call.name, call.arguments)])


def react(call: ToolCall) -> Reply:
    return Reply(
        f"Thought: I know.\nAction: {call.name}\nAction Input: {json.dumps(call.arguments)}"
    )


def sql_tasks(limit: int) -> TaskSet:
    """The tasks that `eval sql --limit N` plays."""
    return load_tasks(spec("sql")).select(limit=limit)


def oracle_answers(tasks: Iterable[Task[Any, Any]], render: Render = native) -> Script:
    """A model that recognises a question by its words and plays the oracle's next action."""
    answers: dict[str, list[Reply]] = {
        task.public.question: [render(call) for call in _oracle_calls(task)] for task in tasks
    }

    def answer(body: Body) -> Reply:
        said = [str(message.get("content")) for message in body["messages"]]
        question: str = next(q for q in answers if any(q in words for words in said))
        turn: int = sum(message["role"] == "assistant" for message in body["messages"])
        return answers[question][turn]

    return answer


def _oracle_calls(task: Task[Any, Any]) -> list[ToolCall]:
    seen = Observation(messages=(Message(role="user", content="(SQLite)"),))
    actions: list[Action] = list(oracle_of(spec("sql"))(task, seen))
    return [call for action in actions for call in action.tool_calls]
