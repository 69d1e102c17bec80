"""Tools: schemas from hints and docstrings, checked arguments, answers as content."""

import asyncio
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agentgym import ImagePart, TextPart, Tool, ToolError
from agentgym.tools import invoke, to_content
from agentgym.types import Json


class Colour(StrEnum):
    """A colour of the palette."""

    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


class Shape(BaseModel):
    corners: list[Point]
    colour: Colour = Colour.RED


def draw(
    shape: Shape,
    size: Literal["small", "large"],
    names: list[str],
    colour: Colour = Colour.BLUE,
    at: Point = Point(x=1),  # noqa: B008 - a model is immutable enough here
    note: str | None = None,
    share: Annotated[float, Field(gt=0, le=1)] = 0.5,
) -> str:
    """Draw a shape.

    The canvas grows where it has to.

    Args:
        shape: What to draw, with
            all its corners.
        size: How large.
        colour: With which paint.

    Returns:
        What was drawn.
    """
    assert isinstance(shape, Shape)
    return f"{size} {shape.colour} {names} {colour.value} {at} {note} {share}"


def fields(tool: Tool) -> dict[str, Json]:
    properties: dict[str, Json] = tool.spec.parameters["properties"]
    return properties


def test_a_schema_comes_from_hints_and_docstring() -> None:
    spec = Tool(draw).spec
    assert spec.name == "draw"
    assert spec.description == "Draw a shape.\n\nThe canvas grows where it has to."
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "shape": {
                "$ref": "#/$defs/Shape",
                "description": "What to draw, with\nall its corners.",
            },
            "size": {"type": "string", "enum": ["small", "large"], "description": "How large."},
            "names": {"type": "array", "items": {"type": "string"}},
            "colour": {
                "$ref": "#/$defs/Colour",
                "description": "With which paint.",
                "default": "blue",
            },
            "at": {"$ref": "#/$defs/Point", "default": {"x": 1, "y": 0}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 0.5},
        },
        "required": ["shape", "size", "names"],
        "additionalProperties": False,
        "$defs": {
            "Colour": {
                "type": "string",
                "enum": ["red", "blue"],
                "description": "A colour of the palette.",
            },
            "Point": {
                "type": "object",
                "properties": {
                    "x": {"type": "integer"},
                    "y": {"type": "integer", "default": 0},
                },
                "required": ["x"],
            },
            "Shape": {
                "type": "object",
                "properties": {
                    "corners": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
                    "colour": {"$ref": "#/$defs/Colour", "default": "red"},
                },
                "required": ["corners"],
            },
        },
    }


def test_a_schema_is_plain_json() -> None:
    def pick(some: tuple[int, ...] = (1, 2), when: date = date(2024, 5, 1)) -> None:
        """Pick."""

    for tool in (Tool(draw), Tool(pick)):
        assert json.loads(json.dumps(tool.spec.parameters)) == tool.spec.parameters


async def test_arguments_are_converted_and_defaults_apply() -> None:
    tool = Tool(draw)
    given = {"shape": {"corners": [{"x": 1}]}, "size": "small", "names": ["a"]}
    assert await tool.run(tool.check(given)) == "small red ['a'] blue x=1 y=0 None 0.5"
    more = {**given, "colour": "red", "at": {"x": 2, "y": 3}, "note": "n", "share": 1}
    assert await tool.run(tool.check(more)) == "small red ['a'] red x=2 y=3 n 1.0"


GOOD: dict[str, Json] = {"shape": {"corners": []}, "size": "small", "names": []}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"size": None}, ["size: input should be 'small' or 'large'"]),
        ({"size": "huge", "share": 2}, ["size: input", "share: input"]),
        ({"names": "a"}, ["names: input should be a valid list"]),
        ({"shape": {"corners": [{"x": 1}, {}]}}, ["shape.corners.1.x is required"]),
        ({"colour": "green"}, ["colour: input should be 'red' or 'blue'"]),
        ({"shap": 1}, ["shap is not an argument", "Arguments: shape, size, names, colour, at"]),
    ],
)
def test_bad_arguments_are_named(changes: dict[str, Json], named: list[str]) -> None:
    with pytest.raises(ToolError) as caught:
        Tool(draw).check(GOOD | changes)
    assert str(caught.value).startswith("Bad arguments for draw: ")
    for part in named:
        assert part in str(caught.value)


def test_missing_arguments_are_named_together() -> None:
    with pytest.raises(ToolError, match=r"shape is required; size is required; names is required"):
        Tool(draw).check({})


async def test_a_tool_without_parameters_takes_nothing() -> None:
    def ping() -> str:
        return "pong"

    tool = Tool(ping)
    assert tool.spec.description == ""
    assert tool.spec.parameters["properties"] == {}
    assert await tool.run(tool.check({})) == "pong"
    with pytest.raises(ToolError, match=r"x is not an argument\. Arguments: none"):
        tool.check({"x": 1})


async def test_arguments_may_be_named_like_anything() -> None:
    def odd(
        schema: str,
        copy: int,
        model_config: str,
        model_fields: int,
        json: bool,
        function: str,
        title: str,
        tool: str,
        args: str,
        kwargs: str,
    ) -> dict[str, object]:
        """Take names that libraries like to keep for themselves."""
        return dict(locals())

    tool = Tool(odd)
    given: dict[str, Json] = dict.fromkeys(fields(tool), "x")
    given |= {"copy": 3, "model_fields": 4, "json": True}
    answer = await tool.run(tool.check(given))
    assert isinstance(answer, str)
    assert json.loads(answer) == given
    assert "title" in fields(tool)


def test_a_tool_can_have_a_name_of_its_own() -> None:
    assert Tool(draw, name="paint").spec.name == "paint"
    with pytest.raises(ToolError, match="Bad arguments for paint"):
        Tool(draw, name="paint").check({})


def no_hint(x) -> None:  # type: ignore[no-untyped-def]
    """Lack a hint."""


def many(*xs: int) -> None:
    """Take any number."""


def named(**xs: int) -> None:
    """Take any name."""


def positional(x: int, /) -> None:
    """Take no names."""


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (no_hint, "'no_hint': parameter 'x' needs a type hint"),
        (many, "many: a tool takes named arguments only"),
        (named, "named: a tool takes named arguments only"),
        (positional, "positional: a tool takes named arguments only"),
    ],
)
def test_functions_that_cannot_be_tools_are_refused(function: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        Tool(function)


@dataclass
class Pair:
    left: int
    right: Colour


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ("", ""),
        (None, "ok"),
        (3, "3"),
        (True, "true"),
        ([], "[]"),
        ({"a": [1, None], "ü": "ß"}, '{"a": [1, null], "ü": "ß"}'),
        (Point(x=1), '{"x":1,"y":0}'),
        ([Point(x=1), Point(x=2)], '[{"x": 1, "y": 0}, {"x": 2, "y": 0}]'),
        (Pair(1, Colour.RED), '{"left": 1, "right": "red"}'),
        ([date(2024, 2, 29), Decimal("1.10"), Path("a/b")], '["2024-02-29", "1.10", "a/b"]'),
        (TextPart(text="a"), (TextPart(text="a"),)),
        (
            [TextPart(text="a"), ImagePart(url="data:,")],
            (TextPart(text="a"), ImagePart(url="data:,")),
        ),
        ((ImagePart(url="data:,"),), (ImagePart(url="data:,"),)),
    ],
)
def test_whatever_a_tool_returns_becomes_content(value: object, content: object) -> None:
    assert to_content(value) == content


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(ValueError, match="object"):
        to_content(object())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values.filter(lambda value: not isinstance(value, str) and value is not None))
def test_json_values_come_through_unchanged(value: Json) -> None:
    content = to_content(value)
    assert isinstance(content, str)
    assert json.loads(content) == value


async def test_async_functions_stay_on_the_loop_and_plain_ones_leave_it() -> None:
    async def on_loop() -> int:
        return threading.get_ident()

    class Owner:
        async def method(self, _: int) -> int:
            return threading.get_ident()

    assert await invoke(on_loop) == threading.get_ident()
    assert await invoke(partial(Owner.method, Owner()), 1) == threading.get_ident()
    assert await invoke(threading.get_ident) != threading.get_ident()


async def test_plain_functions_all_run_at_once() -> None:
    count = 64  # more than any default pool has threads
    meeting = threading.Barrier(count)
    async with asyncio.timeout(30):
        await asyncio.gather(*(invoke(meeting.wait) for _ in range(count)))


@pytest.mark.parametrize("error", [KeyError("k"), StopIteration("s"), SystemExit(3)])
async def test_what_a_plain_function_raises_arrives(error: BaseException) -> None:
    def fail() -> None:
        raise error

    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    async with asyncio.timeout(30):
        with pytest.raises(expected):
            await invoke(fail)


async def test_a_call_that_never_ends_is_left_alone() -> None:
    entered, gate, ended = threading.Event(), threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        gate.wait()
        ended.set()

    call = asyncio.ensure_future(invoke(block))
    assert await asyncio.to_thread(entered.wait, 30)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not ended.is_set()
    gate.set()
    assert await asyncio.to_thread(ended.wait, 30)


def test_a_call_that_never_ends_does_not_keep_the_process() -> None:
    program = """
import asyncio, threading
from agentgym.tools import invoke

async def main():
    entered = threading.Event()
    def block():
        entered.set()
        threading.Event().wait()
    call = asyncio.ensure_future(invoke(block))
    await asyncio.to_thread(entered.wait)
    call.cancel()

asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
