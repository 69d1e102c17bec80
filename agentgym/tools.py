"""Tools: a typed method becomes a JSON schema, checked arguments and an answer."""

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Annotated, Any, NotRequired, TypeVar, get_type_hints

from docstring_parser import Docstring, DocstringStyle, parse
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from agentgym.errors import ToolError
from agentgym.types import Content, ImagePart, Json, TextPart, ToolSpec

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_MARK = "__agentgym_tool__"


def tool(function: FunctionT) -> FunctionT:
    """Mark a method as a tool the agent may call.

    The schema comes from the type hints, the descriptions from the Google-style docstring.
    An `async def` runs on the event loop; a plain `def` runs in a thread, so that blocking
    code delays no other episode. Raise `ToolError` to tell the agent its call was wrong.
    """
    setattr(function, _MARK, True)
    return function


def is_tool(member: object) -> bool:
    """Whether a class member was marked by `tool`."""
    return getattr(member, _MARK, False) is True


class Tool:
    """A callable with its schema.

    Args:
        function: A bound method or a function; its parameters are the tool's arguments.
        name: The name on offer; the function's own by default.

    Raises:
        TypeError: A parameter has no type hint, or no argument name can be given to it.
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        self.function = function
        self.name = name or function.__name__
        doc = parse(inspect.getdoc(function) or "", style=DocstringStyle.GOOGLE)
        self._arguments = _arguments_type(self.name, function, doc)
        self.spec = ToolSpec(
            name=self.name,
            description=_description(doc),
            parameters=_schema(self._arguments),
        )

    def bind(self, owner: object) -> "Tool":
        """Return this tool calling the method on `owner`; the schema is shared."""
        bound = object.__new__(Tool)
        bound.function = partial(self.function, owner)
        bound.name, bound.spec, bound._arguments = self.name, self.spec, self._arguments
        return bound

    def check(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Validate and convert arguments.

        Raises:
            ToolError: They do not fit; the message names each argument at fault.
        """
        try:
            checked: dict[str, Any] = self._arguments.validate_python(arguments)
        except ValidationError as error:
            raise ToolError(_explain(self, error)) from None
        return checked

    async def run(self, arguments: Mapping[str, Any]) -> Content:
        """Call with checked arguments and return the answer as message content."""
        return to_content(await invoke(self.function, **arguments))


async def invoke(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call an author's function: `async def` on the loop, `def` in a thread of its own.

    A thread that outlives its timeout is abandoned, never waited for.
    """
    target = function.func if isinstance(function, partial) else function
    if inspect.iscoroutinefunction(target):
        return await function(*args, **kwargs)
    done: Future[Any] = Future()
    work = partial(copy_context().run, partial(function, *args, **kwargs))
    # A daemon and no pool: a call that never ends must not make another episode's call queue,
    # nor keep the process from ending.
    threading.Thread(target=_settle, args=(done, work), name="agentgym-tool", daemon=True).start()
    return await asyncio.wrap_future(done)


def _settle(done: "Future[Any]", work: Callable[[], Any]) -> None:
    if not done.set_running_or_notify_cancel():  # nobody waits any more
        return
    try:
        result = work()
    except StopIteration as error:  # which a future cannot hold
        done.set_exception(RuntimeError(f"the function raised StopIteration: {error}"))
    except BaseException as error:  # noqa: BLE001 - raised where the call is awaited
        done.set_exception(error)
    else:
        done.set_result(result)


def to_content(value: Any) -> Content:
    """Turn what a tool returned into message content.

    Text stays, images and lists of parts stay parts, None is "ok", all else becomes JSON:
    models, dataclasses, dates and enums too.

    Raises:
        ValueError: It has no JSON form.
    """
    match value:
        case str():
            return value
        case None:
            return "ok"
        case ImagePart() | TextPart():
            return (value,)
        case [*parts] if parts and all(isinstance(p, TextPart | ImagePart) for p in parts):
            return tuple(parts)
        case BaseModel():
            return value.model_dump_json()
        case _:
            return json.dumps(to_jsonable_python(value), ensure_ascii=False)


def _arguments_type(name: str, function: Callable[..., Any], doc: Docstring) -> TypeAdapter[Any]:
    hints: Mapping[str, Any] = get_type_hints(function, include_extras=True)
    about = {param.arg_name: param.description for param in doc.params}
    annotated: Any = Annotated
    fields: dict[str, Any] = {}
    for parameter in _parameters(function):
        if parameter.name not in hints:
            raise TypeError(f"Tool {name!r}: parameter {parameter.name!r} needs a type hint.")
        optional = parameter.default is not parameter.empty
        shown = {"default": parameter.default} if optional else None
        about_it = Field(description=about.get(parameter.name), json_schema_extra=shown)
        field = annotated[hints[parameter.name], about_it]
        fields[parameter.name] = NotRequired[field] if optional else field
    # A TypedDict, not a model: an argument may have any name, such as `schema` or `copy`.
    typed_dict: Any = TypedDict
    arguments = typed_dict(f"{name}_arguments", fields)
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(arguments))


def _parameters(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__qualname__}: a tool takes named arguments only.")
    return parameters


def _description(doc: Docstring) -> str:
    parts = (doc.short_description, doc.long_description)
    return "\n\n".join(part for part in parts if part)


def _schema(arguments: TypeAdapter[Any]) -> dict[str, Json]:
    schema: dict[str, Json] = without_titles(arguments.json_schema())
    schema.setdefault("properties", {})
    return schema


def without_titles(node: Json) -> Json:
    """Drop pydantic's titles, which repeat the names and cost the model tokens."""
    if isinstance(node, list):
        return [without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key != "title" or isinstance(value, dict)}
    return {key: without_titles(value) for key, value in kept.items()}


def _explain(tool: Tool, error: ValidationError) -> str:
    problems = []
    for item in error.errors(include_url=False, include_context=False)[:20]:
        where = ".".join(str(part) for part in item["loc"])[:100] or "arguments"
        match item["type"]:
            case "missing":
                problems.append(f"{where} is required")
            case "extra_forbidden":
                problems.append(f"{where} is not an argument")
            case _:
                problems.append(f"{where}: {item['msg'].lower()}")
    expected = ", ".join(tool.spec.parameters["properties"]) or "none"
    return f"Bad arguments for {tool.name}: {'; '.join(problems)}. Arguments: {expected}."
