"""MCP both ways: environments served to its clients, and its servers mounted as environments."""

from importlib.util import find_spec

from agentgym.errors import MissingExtraError
from agentgym.registry import EnvSpec

SPEC = EnvSpec(
    name="mcp",
    version=1,
    entry_point="agentgym.interop.mcp.mounted:McpEnvironment",
    description="Work with the tools of any MCP server.",
    oracle="agentgym.interop.mcp.oracle:oracle",
)


def require_mcp() -> None:
    """Refuse to go on without the official SDK.

    Raises:
        MissingExtraError: It is not installed.
    """
    if find_spec("mcp") is None:
        raise MissingExtraError("MCP", "mcp")
