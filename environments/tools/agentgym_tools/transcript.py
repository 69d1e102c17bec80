"""A conversation as a judge reads it: who said, did and was answered what."""

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

from agentgym.types import Json

MOST_RESULT = 2000
"""Characters of a tool's answer that a judge is shown."""


class Line(NamedTuple):
    """One thing that happened.

    Attributes:
        who: Whose words, call or answer it is.
        text: The words, the call, or the answer.
    """

    who: Literal["agent", "person", "tool"]
    text: str


def call_line(name: str, arguments: Mapping[str, Json]) -> Line:
    """Return the line of a call of the agent's."""
    given = json.dumps(dict(arguments), ensure_ascii=False)
    return Line("agent", f"{name} {given}")


def result_line(text: str) -> Line:
    """Return the line of a tool's answer, cut where it is long."""
    return Line("tool", text if len(text) <= MOST_RESULT else text[:MOST_RESULT] + " ...")
