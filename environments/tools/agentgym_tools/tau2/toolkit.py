"""What the tools of both domains have in common: how they are called and how they answer."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from agentgym.errors import ToolError
from agentgym.types import Json
from agentgym_tools.state import Record
from agentgym_tools.tau2.arithmetic import calculate
from agentgym_tools.toolkit import DomainTool, Toolkit, generic

_PYDANTIC_URL = re.compile(r"(?<=https://errors\.pydantic\.dev/)[0-9.]+(?=/)")
_PYDANTIC_VERSION = "2.14"


class Tau2Toolkit(Toolkit):
    """Tools that take arguments and word mistakes as the benchmark's do.

    There, arguments go to a Python function unchecked, and whatever it raises is the agent's
    answer. Here an error is the agent's where the call broke a rule of the domain or did not
    fit the tool's schema; one on a call that fits is a defect of ours and is raised.
    """

    @generic
    def calculate(self, expression: str) -> str:
        """Work out an arithmetic expression.

        Args:
            expression: Numbers, the operators + - * /, parentheses and spaces: '2 + 2'.
        """
        return calculate(expression)

    @generic
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the user over to a human agent.

        Do so only where the user asks for a human, or where the policy and the tools leave no
        way to solve the user's problem.

        Args:
            summary: What the user needs, in a few words.
        """
        return "Transfer successful"

    def record(self, collection: str, key: str, missing: str) -> Record:
        """Return a record.

        Raises:
            ToolError: There is none; the message is `missing`.
        """
        record = self.state.get(collection, key)
        if record is None:
            raise ToolError(missing)
        return record

    def check(self, tool: DomainTool, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Refuse what Python would refuse before the call, in its words."""
        properties = tool.spec.parameters["properties"]
        where = f"{type(self).__name__}.{tool.name}()"
        for name in arguments:
            if name not in properties:
                raise ToolError(f"{where} got an unexpected keyword argument '{name}'")
        required = tool.spec.parameters.get("required", ())
        missing = [repr(name) for name in required if name not in arguments]
        if missing:
            kind = "argument" if len(missing) == 1 else "arguments"
            listed = f"missing {len(missing)} required positional {kind}: {_listed(missing)}"
            raise ToolError(f"{where} {listed}")
        return dict(arguments)

    def perform(self, tool: DomainTool, arguments: Mapping[str, Any]) -> Any:
        """Call the method; a Python error over arguments of a wrong type is the agent's."""
        try:
            return super().perform(tool, arguments)
        except ValidationError as error:
            raise ToolError(_PYDANTIC_URL.sub(_PYDANTIC_VERSION, str(error))) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if Draft202012Validator(tool.spec.parameters).is_valid(arguments):
                raise
            raise ToolError(str(error)) from None

    def render(self, value: Any) -> str:
        """Return words as they are and all else as JSON in Python's default spacing."""
        return value if isinstance(value, str) else json.dumps(value)


def parsed(model: type[BaseModel], entries: Sequence[Any]) -> Sequence[Any]:
    """Return a list's objects as models; it is left alone where one is no object.

    Raises:
        ValidationError: An object does not fit.
    """
    if all(isinstance(entry, dict) for entry in entries):
        return [model(**entry) for entry in entries]
    return entries


def _listed(names: Sequence[str]) -> str:
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"
