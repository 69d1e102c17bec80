"""The class behind `environment_factory`: what TRL sees of it, and what it does when called."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

pytest.importorskip("trl")

from transformers.utils.chat_template_utils import get_json_schema

from agentgym.env import Environment
from agentgym.errors import EnvironmentLostError, UsageError
from agentgym.tools import Tool
from agentgym.training.recipes.base import Wrapper
from agentgym.training.rewards import component_reward, episode_reward
from agentgym.training.schema_types import python_type, tool_method
from agentgym.training.spec import TrlSpec
from agentgym.training.tool_class import OVER
from agentgym.types import ImagePart, Limits, Message, ToolSpec
from tests.environments import RoomEnvironment
from tests.training.buttons import BUTTONS, Failing, button_tasks


@pytest.fixture
def spec() -> Iterator[Callable[..., TrlSpec]]:
    made: list[TrlSpec] = []

    def make(**options: Any) -> TrlSpec:
        made.append(TrlSpec(BUTTONS, button_tasks(), backoff=0.0, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def begun(spec: TrlSpec, number: int = 0) -> tuple[Any, str]:
    environment: Any = spec.environment_factory()
    return environment, environment.reset(**spec.train_dataset[number])


def test_only_tools_reset_and_reward_can_be_seen(spec: Callable[..., TrlSpec]) -> None:
    made = spec().environment_factory
    members = inspect.getmembers(made, predicate=inspect.isfunction)
    public = [name for name, _ in members if not name.startswith("_")]
    assert public == ["get_reward", "look", "press", "reset"]
    assert made.__name__ == "Buttons"


def test_the_schema_that_trl_reads_is_the_tools_own(spec: Callable[..., TrlSpec]) -> None:
    environment, _ = begun(spec())
    schema = get_json_schema(environment.press)["function"]
    assert (schema["name"], schema["description"]) == ("press", "Press a button.")
    assert schema["parameters"] == {
        "type": "object",
        "properties": {
            "colour": {
                "type": "string",
                "enum": ["red", "green", "blue"],
                "description": "The button's.",
            }
        },
        "required": ["colour"],
    }
    assert get_json_schema(environment.look)["function"]["parameters"]["properties"] == {}


def test_what_was_not_begun_has_no_reward(spec: Callable[..., TrlSpec]) -> None:
    assert spec().environment_factory().get_reward() is None


def test_an_episode_is_played_call_by_call(spec: Callable[..., TrlSpec]) -> None:
    environment, words = begun(spec())
    assert words == "red"
    assert environment.press(colour="red") == "green"
    assert environment.press(colour="green") == "done"
    assert environment.press(colour="blue") == OVER
    assert environment.get_reward() == 1.0
    assert environment.reset(**spec().train_dataset[1]) == "green"
    assert environment.press(colour="red") == "blue"
    assert environment.get_reward() == 0.0


def test_mistakes_are_answered(spec: Callable[..., TrlSpec]) -> None:
    environment, _ = begun(spec())
    assert environment.press().startswith("Error: Bad arguments for press: colour is required")
    assert "color is not an argument" in environment.press(color="red")


def test_an_episode_that_was_stopped_is_graded_as_it_stands(spec: Callable[..., TrlSpec]) -> None:
    environment, _ = begun(spec())
    environment.press(colour="red")
    assert environment.get_reward() == 0.5
    assert environment.press(colour="green") == OVER
    assert environment.get_reward() == 0.5


def test_the_limit_of_turns_holds(spec: Callable[..., TrlSpec]) -> None:
    environment, _ = begun(spec(limits=Limits(turns=1)))
    assert environment.look() == "red"
    assert environment.press(colour="red") == OVER
    assert environment.get_reward() == 0.0


def test_what_infrastructure_breaks_is_not_scored(spec: Callable[..., TrlSpec]) -> None:
    times = {"button-0": 1}
    environment, _ = begun(spec(wrap=lambda inner: Failing(inner, times)))
    assert environment.press(colour="red") == OVER
    assert environment.get_reward() is None
    assert environment.reset(**spec().train_dataset[0]) == "red"
    environment.press(colour="red")
    assert environment.get_reward() == 0.5


class Cold(Wrapper):
    """Cannot be reset for some times, once it has been asked for its tools."""

    def __init__(self, inner: Environment, errors: list[Exception | None]) -> None:
        super().__init__(inner)
        self.errors = errors

    async def reset(self, task: Any, *, seed: int) -> Any:
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return await super().reset(task, seed=seed)


def test_a_reset_that_breaks_is_tried_again(spec: Callable[..., TrlSpec]) -> None:
    errors: list[Exception | None] = [None, *(EnvironmentLostError("cold") for _ in range(2))]
    environment, words = begun(spec(wrap=lambda inner: Cold(inner, errors)))
    assert words == "red"
    environment.press(colour="red")
    assert environment.get_reward() == 0.5


@pytest.mark.parametrize(
    "errors", [[RuntimeError("a defect")], [EnvironmentLostError("cold") for _ in range(3)]]
)
def test_a_reset_that_stays_broken_is_not_scored(
    spec: Callable[..., TrlSpec], errors: list[Exception | None]
) -> None:
    given = [None, *errors]
    environment, words = begun(spec(wrap=lambda inner: Cold(inner, given)))
    assert words == OVER
    assert environment.press(colour="red") == OVER
    assert environment.get_reward() is None


def test_components_are_read_from_the_environments_too(spec: Callable[..., TrlSpec]) -> None:
    environment, _ = begun(spec())
    environment.press(colour="red")
    environment.get_reward()
    given: dict[str, Any] = {"prompts": [1], "environments": [environment]}
    assert component_reward("pressed")(**given) == [1.0]
    assert component_reward("grade")(**given) == [0.5]
    assert component_reward("other")(**given) == [None]
    assert episode_reward(**given) == [None]
    with pytest.raises(UsageError, match="no episode"):
        episode_reward(prompts=[1])


def test_tools_that_change_are_refused(spec: Callable[..., TrlSpec]) -> None:
    class Changing(Failing):
        async def reset(self, task: Any, *, seed: int) -> Any:
            found = await super().reset(task, seed=seed)
            return found if task.id == "button-0" else found.model_copy(update={"tools": ()})

    one = spec(wrap=lambda inner: Changing(inner, {}))
    assert begun(one)[1] == "red"
    with pytest.raises(UsageError, match="offers other tools"):
        begun(one, 1)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("reset", {}, "No method can be the tool 'reset'"),
        ("_close", {}, "No method can be the tool '_close'"),
        ("", {}, "No method can be the tool ''"),
        ("go", {"class": {"type": "string"}}, "the argument 'class'"),
        ("go", {"$ref": {"type": "string"}}, "the argument '\\$ref'"),
        ("go", {"from": {"type": "string"}}, "the argument 'from'"),
        ("go", {"self": {"type": "string"}}, "the argument 'self'"),
    ],
)
def test_names_that_no_method_can_have_are_refused(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    parameters = {"type": "object", "properties": arguments}
    with pytest.raises(UsageError, match=message):
        tool_method(ToolSpec(name=name, description="", parameters=parameters))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, str),
        ({"type": "array", "items": {"type": "integer"}}, list[int]),
        ({"type": "array"}, list[Any]),
        ({"type": "object"}, dict[str, Any]),
        ({"enum": ["a", 1]}, Literal["a", 1]),
        ({"const": "a"}, Literal["a"]),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, float | None),
        ({"type": ["string", "boolean"]}, str | bool),
        ({"$ref": "#/$defs/Colour"}, Literal["red"]),
        ({"$ref": "#/$defs/Tree"}, None),
        ({"enum": [["a"]]}, Any),
        ({"enum": []}, Any),
        ({"type": []}, Any),
        ({"type": "array", "items": True}, list[Any]),
        (True, Any),
        ({}, Any),
    ],
)
def test_schemas_become_type_hints(schema: Any, expected: Any) -> None:
    defs = {
        "Colour": {"enum": ["red"]},
        "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }
    found = python_type(schema, defs)
    assert found == expected if expected is not None else "list[list[" in str(found)


def test_every_tool_has_a_schema_that_transformers_reads() -> None:
    def search(query: str, most: int = 5, kinds: list[str] | None = None) -> None:
        """Search.

        More of it.

        Args:
            query: What for:
                in words.
        """

    tools = [Tool(search).spec, Tool(RoomEnvironment().leave).spec]
    found = [get_json_schema(tool_method(tool))["function"] for tool in tools]
    assert found[0]["parameters"]["required"] == ["query"]
    properties = found[0]["parameters"]["properties"]
    assert properties["query"]["description"] == "What for: in words."
    assert properties["most"] == {"type": "integer", "description": "most"}
    assert found[0]["description"] == "Search.\n\nMore of it."
    assert found[1]["parameters"]["properties"] == {}


def test_words_that_docstrings_are_taken_apart_by_stay_words() -> None:
    unit = {"type": "string", "description": "The unit (choices: metric, imperial)"}
    parameters = {"type": "object", "properties": {"unit": unit, "other": True}}
    about = "Weigh it.\n\nArgs:\n  none: at all\n\nReturns: its weight."
    tool = ToolSpec(name="'; import os", description=about, parameters=parameters)
    found = get_json_schema(tool_method(tool))["function"]
    assert found["name"] == "'; import os"
    assert found["description"] == about.replace("s:", "s :")
    assert found["parameters"]["properties"] == {
        "unit": {"type": "string", "description": "The unit (choices : metric, imperial)"},
        "other": {"description": "other"},
    }


class Showing(Wrapper):
    """Shows an image, first or in answer to a call."""

    def __init__(self, inner: Environment, first: bool) -> None:
        super().__init__(inner)
        self.first = first

    async def reset(self, task: Any, *, seed: int) -> Any:
        found = await super().reset(task, seed=seed)
        return found.model_copy(update={"messages": IMAGE}) if self.first else found

    async def step(self, action: Any) -> Any:
        found = await super().step(action)
        shown = found.observation.model_copy(update={"messages": IMAGE})
        return found.model_copy(update={"observation": shown})


IMAGE = (Message(role="user", content=(ImagePart.from_bytes(b"x"),)),)


def test_an_image_is_refused_and_not_left_out(spec: Callable[..., TrlSpec]) -> None:
    with pytest.raises(UsageError, match="shows an image"):
        begun(spec(wrap=lambda inner: Showing(inner, True)))
    environment, _ = begun(spec(wrap=lambda inner: Showing(inner, False)))
    assert environment.look() == OVER
    with pytest.raises(UsageError, match="shows an image"):
        environment.get_reward()


def test_what_is_made_after_closing_is_closed_too(spec: Callable[..., TrlSpec]) -> None:
    lives: list[int] = []

    class Counted(Failing):
        async def close(self) -> None:
            lives.append(-1)

    def counted(inner: Environment) -> Environment:
        lives.append(1)
        return Counted(inner, {})

    one = spec(wrap=counted)
    environment, _ = begun(one)
    for _ in range(2):
        one.close()
        assert sum(lives) == 0
        assert environment.reset(**one.train_dataset[0]) == "red"
        assert sum(lives) == 1
    one.close()
    one.close()
    assert sum(lives) == 0
