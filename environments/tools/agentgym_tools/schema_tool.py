"""Tools whose schema is given, as those of imported benchmarks are, and not read off a method."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from agentgym.errors import ToolError
from agentgym.tools import Tool
from agentgym.types import Content, Json, ToolSpec

LONGEST_ARGUMENTS = 50_000
"""Characters of a call's arguments as JSON: benchmarks keep and repeat what they are given."""

_PROBLEMS = 20
_SHOWN = 200


class SchemaTool(Tool):
    """A tool with a JSON schema of its own, whose calls take microseconds.

    Args:
        spec: The tool as it is offered.
        function: Called on the event loop with the checked arguments; it returns the answer's
            text, and raises `ToolError` where the call was wrong.
    """

    def __init__(self, spec: ToolSpec, function: Callable[[dict[str, Json]], str]) -> None:
        self.name = spec.name
        self.spec = spec
        self.function = function

    def check(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Validate arguments by the schema.

        Raises:
            ToolError: They do not fit, and the message names what is wrong; or they are longer
                than `LONGEST_ARGUMENTS`.
        """
        if len(json.dumps(arguments)) > LONGEST_ARGUMENTS:
            raise ToolError(f"Bad arguments for {self.name}: they are too long.")
        errors = _validator(self.spec.model_dump_json()).iter_errors(dict(arguments))
        problems = [_problem(error) for error in islice(errors, _PROBLEMS)]
        if problems:
            expected = ", ".join(self.spec.parameters["properties"]) or "none"
            text = "; ".join(problems)
            raise ToolError(f"Bad arguments for {self.name}: {text}. Arguments: {expected}.")
        return dict(arguments)

    async def run(self, arguments: Mapping[str, Any]) -> Content:
        """Make the call with checked arguments."""
        answer: str = self.function(dict(arguments))
        return answer


@cache
def _validator(spec: str) -> Draft202012Validator:
    return Draft202012Validator(ToolSpec.model_validate_json(spec).parameters)


def _problem(error: ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path)[:_SHOWN]
    text = error.message if len(error.message) <= _SHOWN else error.message[:_SHOWN] + "..."
    return f"{where}: {text}" if where else text
