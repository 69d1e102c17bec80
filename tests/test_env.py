"""The base class of environments: dispatch, answers, rewards, grades, snapshots."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from agentgym import (
    Action,
    ImagePart,
    Message,
    Observation,
    Reward,
    Task,
    ToolCall,
    ToolEnvironment,
    ToolError,
    call,
    tool,
)
from agentgym.env import NO_CALL, blame
from agentgym.errors import (
    AgentFailedError,
    EnvironmentFailedError,
    EnvironmentLostError,
    ProtocolError,
)
from agentgym.types import AnyFields
from tests.environments import (
    Breakage,
    BreakingEnvironment,
    CounterEnvironment,
    CounterPublic,
    DenseEnvironment,
    RoomEnvironment,
    counter_task,
)


async def begun(number: int = 3, seed: int = 0) -> CounterEnvironment:
    environment = CounterEnvironment()
    await environment.reset(counter_task(number), seed=seed)
    return environment


def calls(*named: tuple[str, dict[str, object]]) -> Action:
    return Action(tool_calls=tuple(ToolCall(name=name, arguments=args) for name, args in named))


def breaking(place: str, error: type[BaseException], *args: object) -> BreakingEnvironment:
    return BreakingEnvironment(Breakage(Counter([place]), lambda: error(*args)))


async def test_an_episode_from_reset_to_grade() -> None:
    environment = CounterEnvironment()
    first = await environment.reset(counter_task(3), seed=0)
    assert first.messages == (Message(role="user", content="Count to 3."),)
    assert [spec.name for spec in first.tools] == ["add", "roll", "submit"]

    transition = await environment.step(call("add", amount=3))
    answer = Message(role="tool", content="The counter shows 3.", tool_call_id="call_0")
    assert transition.observation == Observation(messages=(answer,), tools=first.tools)
    assert not transition.over
    assert transition.reward == Reward()

    last = await environment.step(call("submit"))
    assert last.observation.text == "Submitted."
    assert (last.terminated, last.truncated) == (True, False)
    assert last.reward == Reward(value=1.0)


async def test_nothing_of_an_episode_is_left_after_reset() -> None:
    environment = await begun()
    first = await environment.fingerprint()
    for _ in range(2):
        await environment.step(call("add", amount=1))
        await environment.step(call("submit"))
        await environment.reset(counter_task(3), seed=0)
        assert await environment.fingerprint() == first
        assert (await environment.step(call("add", amount=2))).observation.text.endswith("2.")
        await environment.reset(counter_task(3), seed=0)


async def test_no_step_before_reset_or_after_the_end() -> None:
    environment = CounterEnvironment()
    with pytest.raises(ProtocolError, match="Call reset first"):
        await environment.step(call("add", amount=1))
    await environment.reset(counter_task(), seed=0)
    await environment.step(call("submit"))
    with pytest.raises(ProtocolError, match="Call reset first"):
        await environment.step(call("add", amount=1))


async def test_no_step_after_a_reset_that_failed() -> None:
    environment = breaking("setup", OSError, "disk")
    with pytest.raises(EnvironmentFailedError, match="setup raised OSError: disk"):
        await environment.reset(counter_task(), seed=0)
    with pytest.raises(ProtocolError):
        await environment.step(call("submit"))


@pytest.mark.parametrize(
    ("action", "fault", "text"),
    [
        (
            call("ad"),
            "unknown_tool",
            "Error: No tool 'ad'. Tools: add, roll, submit.",
        ),
        (
            call("add"),
            "bad_arguments",
            "Error: Bad arguments for add: amount is required. Arguments: amount.",
        ),
        (
            call("add", amount="many"),
            "bad_arguments",
            "Error: Bad arguments for add: amount: input should be a valid integer, "
            "unable to parse string as an integer. Arguments: amount.",
        ),
        (
            Action(tool_calls=(ToolCall(name="add", arguments='{"amount":'),)),
            "bad_arguments",
            "Error: Bad arguments for add: not a JSON object.",
        ),
        (call("add", amount=-1), "failed", "Error: The counter only goes up."),
        (Action(text="three"), "no_call", NO_CALL),
        (Action(), "no_call", NO_CALL),
    ],
)
async def test_mistakes_of_the_model_are_answered(action: Action, fault: str, text: str) -> None:
    environment = await begun()
    before = await environment.fingerprint()
    transition = await environment.step(action)
    assert transition.observation.text == text
    assert transition.observation.faults == (fault,)
    assert not transition.over
    assert await environment.fingerprint() == before


async def test_a_turn_may_make_several_calls() -> None:
    environment = await begun()
    action = calls(("add", {"amount": 1}), ("sub", {}), ("add", {"amount": 2}), ("add", {}))
    observation = (await environment.step(action)).observation
    assert [message.tool_call_id for message in observation.messages] == [
        f"call_{i}" for i in range(4)
    ]
    assert [message.fault for message in observation.messages] == [
        None,
        "unknown_tool",
        None,
        "bad_arguments",
    ]
    assert observation.messages[2].text == "The counter shows 3."


async def test_calls_after_the_end_are_not_made() -> None:
    environment = await begun()
    action = calls(("add", {"amount": 3}), ("submit", {}), ("add", {"amount": 1}), ("submit", {}))
    transition = await environment.step(action)
    assert transition.observation.faults == ("over", "over")
    assert environment.count == 3
    assert transition.terminated
    assert transition.reward.value == 1.0


async def test_tools_come_and_go() -> None:
    environment = RoomEnvironment()
    first = await environment.reset(Task(id="room", public={}, private={}), seed=0)
    assert [spec.name for spec in first.tools] == ["enter"]
    refused = await environment.step(call("look"))
    assert refused.observation.text == "Error: No tool 'look'. Tools: enter."
    entered = await environment.step(calls(("enter", {}), ("look", {})))
    assert entered.observation.messages[0].content == "ok"
    assert entered.observation.faults == ("unknown_tool",)  # not on offer when the turn began
    assert [spec.name for spec in entered.observation.tools] == ["look", "leave"]
    left = await environment.step(call("leave"))
    assert left.terminated
    assert [spec.name for spec in left.observation.tools] == ["enter"]


async def test_images_are_shown_at_reset_and_by_tools() -> None:
    environment = RoomEnvironment()
    first = await environment.reset(Task(id="room", public={}, private={}), seed=0)
    assert [message.role for message in first.messages] == ["system", "user"]
    await environment.step(call("enter"))
    looked = (await environment.step(call("look"))).observation.messages[0]
    for message in (first.messages[1], looked):
        image = message.content[1]
        assert isinstance(image, ImagePart)
        assert image.url.startswith("data:image/png;base64,iVBOR")
    assert looked.text == "A picture:"


async def test_words_can_be_a_turn_of_their_own() -> None:
    environment = RoomEnvironment()
    await environment.reset(Task(id="room", public={}, private={}), seed=0)
    answer = (await environment.step(Action(text="hello"))).observation
    assert answer.messages == (Message(role="user", content="An echo: hello"),)
    silent = (await environment.step(Action())).observation
    assert silent.messages == (Message(role="user", content="Say something.", fault="no_call"),)


async def test_dense_rewards_add_up_within_a_turn_and_not_across() -> None:
    environment = DenseEnvironment()
    await environment.reset(counter_task(reward_range=(0.0, 9.0)), seed=0)
    both = await environment.step(calls(("earn", {"amount": 0.25}), ("earn", {"amount": -1})))
    assert both.reward == Reward(value=-0.75, components={"earned": -0.75, "calls": 2.0})
    assert (await environment.step(call("add", amount=2))).reward == Reward()
    ended = await environment.step(calls(("earn", {"amount": 5}), ("submit", {})))
    assert ended.reward == Reward(value=2.0, labels={"by": "count"})


async def test_the_grade_of_an_unfinished_episode() -> None:
    environment = await begun()
    await environment.step(call("add", amount=3))
    assert (await environment.grade()).value == 1.0
    assert not (await environment.step(call("add", amount=1))).over


async def test_a_grade_that_is_no_number_is_the_environments_fault() -> None:
    environment = DenseEnvironment(grades={0: float("nan")})
    await environment.reset(counter_task(), seed=0)
    with pytest.raises(EnvironmentFailedError, match="grade raised ValidationError"):
        await environment.step(call("submit"))


@pytest.mark.parametrize(
    ("place", "action", "where"),
    [
        ("tool", call("breaking"), "tool breaking"),
        ("grade", call("submit"), "grade"),
    ],
)
@pytest.mark.parametrize(
    "error", [ValueError, ToolError, SystemExit, asyncio.CancelledError, RecursionError]
)
async def test_foreign_errors_name_the_part_that_raised(
    place: str, action: Action, where: str, error: type[BaseException]
) -> None:
    environment = breaking(place, error, "why")
    await environment.reset(counter_task(), seed=0)
    if place == "tool" and error is ToolError:
        assert (await environment.step(action)).observation.text == "Error: why"
        return
    with pytest.raises(EnvironmentFailedError) as caught:
        await environment.step(action)
    assert caught.value.where == where
    assert str(caught.value) == f"{where} raised {error.__name__}: why"
    assert isinstance(caught.value.__cause__, error)


async def test_errors_of_agentgym_pass_as_they_are() -> None:
    environment = breaking("tool", EnvironmentLostError, "The container died.")
    await environment.reset(counter_task(), seed=0)
    with pytest.raises(EnvironmentLostError, match="The container died"):
        await environment.step(call("breaking"))


async def test_a_cancellation_from_outside_is_no_fault() -> None:
    entered = asyncio.Event()

    async def wait() -> None:
        with blame("waiting", AgentFailedError):
            entered.set()
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await entered.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_task_is_typed_by_the_environment() -> None:
    environment = CounterEnvironment()
    untyped = Task(id="a", public={"target": 4}, private={})
    await environment.reset(untyped, seed=0)
    assert environment.task.public == CounterPublic(target=4)
    assert RoomEnvironment.task_type is Task[AnyFields, AnyFields]
    assert BreakingEnvironment.task_type is CounterEnvironment.task_type


async def test_inherited_tools_keep_their_order_and_can_be_replaced() -> None:
    class Replaced(CounterEnvironment):
        @tool
        def extra(self) -> None:
            """Be new."""

        @tool
        async def add(self, amount: int, twice: bool = False) -> str:
            """Add, perhaps twice."""
            return "replaced"

    class Hidden(Replaced):
        roll = None  # type: ignore[assignment]

    def names(observation: Observation) -> Sequence[str]:
        return [spec.name for spec in observation.tools]

    replaced = Replaced()
    observation = await replaced.reset(counter_task(), seed=0)
    assert names(observation) == ["add", "roll", "submit", "extra"]
    assert "twice" in observation.tools[0].parameters["properties"]
    assert (await replaced.step(call("add", amount=1))).observation.text == "replaced"
    assert names(await Hidden().reset(counter_task(), seed=0)) == ["add", "submit", "extra"]
    assert "twice" not in (await begun()).declared_tools()["add"].spec.parameters["properties"]


async def test_environments_do_not_share_what_authors_name() -> None:
    class Clashing(ToolEnvironment):
        """Uses names that the base class could have used too."""

        async def setup(self) -> str:
            self._finished = True
            self._over = True
            self._observation = None
            return "go"

        @tool
        async def done(self) -> None:
            """End."""
            self.finish()

        async def grade(self) -> Reward:
            return Reward(value=1.0)

    environment = Clashing()
    await environment.reset(Task(id="a", public={}, private={}), seed=0)
    assert not (await environment.step(Action())).over
    assert (await environment.step(call("done"))).terminated
