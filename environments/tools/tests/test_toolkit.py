import pytest

from agentgym.env import ToolEnvironment
from agentgym.errors import ToolError
from agentgym.tools import Tool
from agentgym.types import Action, Reward, Task, ToolCall
from agentgym_tools.base import Base
from agentgym_tools.domain import Call, Domain
from agentgym_tools.replay import Answer, replay
from agentgym_tools.state import Record, State
from agentgym_tools.toolkit import Effect, Toolkit, generic, reads, writes

BASE = Base({"seats": {"1A": {"taken": False}, "1B": {"taken": True}}, "phone": {"it": {"on": 1}}})


class Plane(Toolkit):
    @reads
    def seat(self, seat: str) -> Record:
        """Look up a seat.

        Args:
            seat: Row and letter.
        """
        found = self.state.get("seats", seat)
        if found is None:
            raise ToolError("No such seat.")
        return found

    @writes
    def swap(self, first: str, second: str) -> None:
        """Take two seats."""
        for seat in (first, second):
            if self.seat(seat)["taken"]:
                raise ToolError(f"{seat} is taken.")
            with self.state.edit("seats", seat) as record:
                record["taken"] = True

    @generic
    def crash(self, wrong: bool = True) -> str:
        """Write, then break."""
        self.state.delete("seats", "1A")
        raise ZeroDivisionError


class Phone(Toolkit):
    @writes
    def toggle(self) -> str:
        """Turn the phone on or off."""
        with self.state.edit("phone", "it") as phone:
            phone["on"] = 1 - phone["on"]
        return "done"


PLANE = Domain("plane", BASE, Plane, "Be kind.", user_toolkit=Phone)


def test_tools_are_declared_with_schema_and_effect() -> None:
    tools = Plane.declared()
    assert list(tools) == ["seat", "swap", "crash"]
    assert [tool.effect for tool in tools.values()] == [Effect.READ, Effect.WRITE, Effect.GENERIC]
    properties = tools["seat"].spec.parameters["properties"]
    assert properties == {"seat": {"type": "string", "description": "Row and letter."}}
    assert list(Phone.declared()) == ["toggle"]


def test_answers_are_text() -> None:
    plane = Plane(State(BASE))
    assert plane.call("seat", {"seat": "1B"}) == '{"taken": true}'


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("seat", {"seat": "9Z"}, "No such seat."),
        ("seat", {}, "seat is required"),
        ("seat", {"seat": 1}, "seat: input should be a valid string"),
        ("seat", {"seat": "1A", "row": 1}, "row is not an argument"),
        ("swap", {"first": "1A", "second": "1B"}, "1B is taken."),
        ("declared", {}, "not found"),
    ],
)
def test_a_wrong_call_says_so_and_changes_nothing(
    name: str, arguments: dict[str, object], message: str
) -> None:
    plane = Plane(State(BASE))
    with pytest.raises(ToolError, match=message):
        plane.call(name, arguments)
    assert not plane.state.changes()


def test_a_tool_that_breaks_is_no_answer_and_changes_nothing() -> None:
    plane = Plane(State(BASE))
    plane.state.delete("seats", "1B")
    with pytest.raises(ZeroDivisionError):
        plane.call("crash", {})
    assert plane.state.changes() == {"seats": {"1B": None}}


def test_both_sides_share_one_state_and_have_tools_of_their_own() -> None:
    calls = [
        Call(name="toggle", arguments={}, requestor="user"),
        Call(name="toggle", arguments={}),
        Call(name="swap", arguments={"first": "1A", "second": "1A"}),
    ]
    end = replay(PLANE, calls)
    assert end.answers == (
        Answer("done", error=False),
        Answer("Tool 'toggle' not found.", error=True),
        Answer("1A is taken.", error=True),
    )
    assert end.desk.state.changes() == {"phone": {"it": {"on": 0}}}
    alone = replay(Domain("alone", BASE, Plane, ""), calls[:1])
    assert alone.answers[0].error


def test_a_replay_can_start_from_a_state_that_a_task_prepared() -> None:
    prepared = State(BASE)
    prepared.put("seats", "1B", {"taken": False})
    call = Call(name="swap", arguments={"first": "1A", "second": "1B"})
    end = replay(PLANE, [call], prepared.fork())
    assert not end.answers[0].error
    assert end.desk.state.changes() == {"seats": {"1A": {"taken": True}}}
    assert prepared.changes() == {"seats": {"1B": {"taken": False}}}


class PlaneEnvironment(ToolEnvironment):
    async def setup(self) -> str:
        self.desk = PLANE.open()
        return PLANE.policy

    def tools(self) -> list[Tool]:
        return self.desk.agent.tools()

    async def grade(self) -> Reward:
        return Reward()


async def test_an_environment_offers_a_toolkits_tools() -> None:
    env = PlaneEnvironment()
    opening = await env.reset(Task(id="t", public={}, private={}), seed=0)
    assert [tool.name for tool in opening.tools] == ["seat", "swap", "crash"]
    calls = (
        ToolCall(id="1", name="seat", arguments={"seat": "1A"}),
        ToolCall(id="2", name="seat", arguments={}),
        ToolCall(id="3", name="seat", arguments={"seat": "9Z"}),
    )
    answers = (await env.step(Action(tool_calls=calls))).observation.messages
    assert [message.fault for message in answers] == [None, "bad_arguments", "failed"]
    assert [message.content for message in answers[::2]] == [
        '{"taken": false}',
        "Error: No such seat.",
    ]
