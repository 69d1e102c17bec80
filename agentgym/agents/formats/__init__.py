"""Action formats: how a model is shown tools and how its answers are read."""

from collections.abc import Mapping
from types import MappingProxyType

from agentgym.agents.formats.base import ActionFormat, Said, Wire
from agentgym.agents.formats.brackets import BracketsFormat
from agentgym.agents.formats.hermes import HermesFormat
from agentgym.agents.formats.native import NativeFormat
from agentgym.agents.formats.react import ReActFormat
from agentgym.errors import UnknownNameError

__all__ = [
    "FORMATS",
    "ActionFormat",
    "BracketsFormat",
    "HermesFormat",
    "NativeFormat",
    "ReActFormat",
    "Said",
    "Wire",
    "get_format",
]

FORMATS: Mapping[str, ActionFormat] = MappingProxyType(
    {
        "native": NativeFormat(),
        "hermes": HermesFormat(),
        "react": ReActFormat(),
        "brackets": BracketsFormat(),
    }
)
"""The formats by name; they keep no state."""


def get_format(name: str) -> ActionFormat:
    """Return the format of this name.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in FORMATS:
        raise UnknownNameError("action format", name, FORMATS)
    return FORMATS[name]
