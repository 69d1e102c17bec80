"""From a tool's JSON schema to a typed, documented method, which TRL reads the schema of again."""

import inspect
import keyword
import operator
import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Literal

from agentgym.errors import UsageError
from agentgym.types import Json, ToolSpec

_PLAIN: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
}
_RESERVED = ("reset", "get_reward")
_MARKS = re.compile(r"\b(Args|Returns|Raises|choices):", re.IGNORECASE)
_DEEP = 8
"""Levels of nesting below which a schema's type is no longer spelled out."""


def tool_method(tool: ToolSpec) -> Callable[..., str]:
    """Return a method that passes its arguments to `self._call(name, arguments)`.

    Its signature, annotations and Google-style docstring say what the tool's schema says; no
    code is made of text. Arguments are taken by name and are checked by the environment.

    Raises:
        UsageError: The tool or an argument has a name that no method can have.
    """
    _check_names(tool)
    schema = tool.parameters
    properties: dict[str, Json] = schema.get("properties", {})
    required = schema.get("required", [])
    types = {name: python_type(part, schema.get("$defs", {})) for name, part in properties.items()}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in required else _default(properties[name]),
            annotation=types[name],
        )
        for name in properties
    ]
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def method(self: Any, **arguments: Any) -> str:
        answer: str = self._call(tool.name, arguments)
        return answer

    made: Any = method
    made.__name__ = made.__qualname__ = tool.name
    made.__doc__ = _docstring(tool, properties)
    made.__annotations__ = {**types, "return": str}
    made.__signature__ = inspect.Signature([itself, *parameters], return_annotation=str)
    return method


def python_type(schema: Json, defs: Json, depth: int = 0) -> Any:
    """Return the type hint of a JSON schema; `Any` where it says nothing that a hint can say."""
    if isinstance(schema, dict) and "$ref" in schema:
        schema = defs.get(str(schema["$ref"]).rpartition("/")[2], {})
    if depth > _DEEP or not isinstance(schema, dict):  # true and false are schemas too
        return Any
    if "const" in schema:
        return _literal([schema["const"]])
    if "enum" in schema:
        return _literal(schema["enum"])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options is None and isinstance(schema.get("type"), list):
        options = [{**schema, "type": one} for one in schema["type"]]
    if options:
        return _union([python_type(one, defs, depth + 1) for one in options])
    match schema.get("type"):
        case "array":
            return list[python_type(schema.get("items", {}), defs, depth + 1)]  # type: ignore[misc]
        case "object":
            return dict[str, Any]
        case str(kind):
            return _PLAIN.get(kind, Any)
        case _:
            return Any


def _default(schema: Json) -> Json:
    return schema.get("default") if isinstance(schema, dict) else None


def _literal(values: Sequence[Json]) -> Any:
    # Only what a JSON scalar can be has a literal type that is written into a schema again.
    if values and all(isinstance(value, str | int | float | None) for value in values):
        return Literal[tuple(values)]
    return Any


def _union(types: Sequence[Any]) -> Any:
    return Any if Any in types else reduce(operator.or_, types)


def _docstring(tool: ToolSpec, properties: dict[str, Json]) -> str:
    about = _plain_words(tool.description).strip() or tool.name
    if not properties:
        return about
    lines = [f"    {name}: {_about(name, part)}" for name, part in properties.items()]
    return "\n".join([about, "", "Args:", *lines])


def _about(name: str, schema: Json) -> str:
    described = schema.get("description") if isinstance(schema, dict) else None
    return " ".join(_plain_words(str(described or name)).split())


def _plain_words(text: str) -> str:
    """Return a text that holds nothing which docstrings are taken apart by."""
    return _MARKS.sub(r"\1 :", text)


def _check_names(tool: ToolSpec) -> None:
    remedy = "Train through rollout_func, which takes any tool."
    if not tool.name or tool.name in _RESERVED or tool.name.startswith("_"):
        raise UsageError(f"No method can be the tool {tool.name!r}.", remedy=remedy)
    for name in tool.parameters.get("properties", {}):
        if not name.isidentifier() or keyword.iskeyword(name) or name == "self":
            raise UsageError(
                f"No method can have the argument {name!r} of the tool {tool.name!r}.",
                remedy=remedy,
            )
