"""Toolkits: the typed calls through which a domain's state is read and changed."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeVar

from agentgym.errors import ToolError
from agentgym.tools import Tool, is_tool, to_content, tool
from agentgym.types import Content, Json
from agentgym_tools.state import State

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_EFFECT = "__agentgym_effect__"


class Effect(StrEnum):
    """What a tool does to the domain's state."""

    READ = "read"
    WRITE = "write"
    GENERIC = "generic"
    """Neither: it calculates, or hands the conversation over."""


def reads(function: FunctionT) -> FunctionT:
    """Mark a method as a tool that looks things up and changes nothing."""
    return _marked(function, Effect.READ)


def writes(function: FunctionT) -> FunctionT:
    """Mark a method as a tool that changes the state."""
    return _marked(function, Effect.WRITE)


def generic(function: FunctionT) -> FunctionT:
    """Mark a method as a tool that does not concern the state."""
    return _marked(function, Effect.GENERIC)


def _marked(function: FunctionT, effect: Effect) -> FunctionT:
    setattr(function, _EFFECT, effect)
    return tool(function)


class DomainTool(Tool):
    """A toolkit's method with its schema and its effect.

    Args:
        function: The method, marked by `reads`, `writes` or `generic`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.effect: Effect = getattr(function, _EFFECT)
        self._owner: Toolkit | None = None

    def bind(self, owner: object) -> Self:
        """Return this tool on a toolkit; the schema is shared."""
        bound = object.__new__(type(self))
        vars(bound).update(vars(self), _owner=owner)
        return bound

    def check(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Validate arguments as the toolkit does; see `Toolkit.check`."""
        return self._toolkit().check(self, arguments)

    def convert(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Validate and convert arguments by the schema; see `Tool.check`."""
        return super().check(arguments)

    async def run(self, arguments: Mapping[str, Any]) -> Content:
        """Make the call with checked arguments, on the event loop: it takes microseconds."""
        return self._toolkit().carry_out(self, arguments)

    def _toolkit(self) -> "Toolkit":
        if self._owner is None:
            raise TypeError(f"the tool {self.name!r} is not bound to a toolkit")
        return self._owner


class Toolkit:
    """Base of a domain's tools: plain methods over one state, marked with their effect.

    A method raises `ToolError` to say that the call was wrong. A call that fails, for whatever
    reason, leaves the state as it was.

    Args:
        state: What the tools read and change.
    """

    __declared: ClassVar[Mapping[str, DomainTool] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__declared = None

    def __init__(self, state: State) -> None:
        self.state = state

    @classmethod
    def declared(cls) -> Mapping[str, DomainTool]:
        """Return the class's tools by name, unbound, in the order they are written in."""
        if cls.__declared is None:
            names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
            members = (getattr(cls, name) for name in names)
            found = [DomainTool(member) for member in members if is_tool(member)]
            cls.__declared = {part.name: part for part in found}
        return cls.__declared

    def tools(self) -> list[Tool]:
        """Return the tools on this state, for an environment to offer."""
        return [part.bind(self) for part in self.declared().values()]

    def call(self, name: str, arguments: Mapping[str, Json]) -> str:
        """Make one call and return the answer's text.

        Raises:
            ToolError: The call was wrong; the message is the answer.
        """
        found = self.declared().get(name)
        if found is None:
            raise ToolError(f"Tool '{name}' not found.")
        return self.carry_out(found, self.check(found, arguments))

    # What a toolkit with other habits overrides.

    def check(self, tool: DomainTool, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Validate and convert arguments.

        Raises:
            ToolError: They do not fit; the message names each argument at fault.
        """
        return tool.convert(arguments)

    def perform(self, tool: DomainTool, arguments: Mapping[str, Any]) -> Any:
        """Call the method."""
        return tool.function(self, **arguments)

    def render(self, value: Any) -> str:
        """Return what a method returned as text.

        Raises:
            TypeError: It has no text form.
        """
        text = to_content(value)
        if not isinstance(text, str):
            raise TypeError("a domain's tool answers in text")
        return text

    def carry_out(self, tool: DomainTool, arguments: Mapping[str, Any]) -> str:
        """Perform a call with checked arguments, wholly or not at all.

        Raises:
            ToolError: The call was wrong.
        """
        before = self.state.fork()
        try:
            return self.render(self.perform(tool, arguments))
        except BaseException:
            self.state.become(before)
            raise
