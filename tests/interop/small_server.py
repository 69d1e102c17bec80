"""Small MCP servers by the official SDK, run as a script; an argument chooses which."""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

DOT = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f"
    b"\x15\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND"
    b"\xaeB`\x82"
)


def notes() -> MCPServer:
    """Notes that are kept while the process lives."""
    server = MCPServer("notes", instructions="Notes are kept by name.")
    kept: dict[str, str] = {}

    @server.tool()
    def write(name: str, text: str) -> str:
        """Write a note."""
        kept[name] = text
        return f"Wrote {name}."

    @server.tool()
    def read(name: str) -> str:
        """Read a note."""
        if name not in kept:
            raise ValueError(f"there is no note {name}")
        return kept[name]

    @server.tool()
    def about() -> str:
        """Say what the process was told."""
        return f"{os.environ.get('AGENTGYM_TASK')} {os.environ.get('AGENTGYM_SEED')}"

    @server.tool()
    def secret() -> str:
        """Say whether a variable came through."""
        return os.environ.get("NOTES_KEY", "none")

    @server.tool()
    def picture() -> Image:
        """Show a dot."""
        return Image(data=DOT, format="png")

    @server.tool()
    def process() -> str:
        """Say which process this is."""
        return str(os.getpid())

    @server.tool()
    def check(answer: str | None = None) -> float:
        """Grade: a half for the note, a half for the answer."""
        return 0.5 * (kept.get("todo") == "milk") + 0.5 * (answer == "done")

    _misbehave(server)
    return server


def _misbehave(server: MCPServer) -> None:
    @server.tool()
    def die() -> str:
        """End the process in the middle of the call."""
        sys.stderr.write("out of ink\n")
        sys.stderr.flush()
        os._exit(3)

    @server.tool()
    def hang() -> str:
        """Never answer."""
        time.sleep(600)
        return "too late"


class Raw:
    """Tools listed and answered by hand.

    Args:
        pages: Tools, by page.
    """

    def __init__(self, pages: list[list[Tool]]) -> None:
        self.pages = pages
        self.server: Server[Any] = Server(
            "raw", on_list_tools=self.list_tools, on_call_tool=self.call_tool
        )

    async def list_tools(self, ctx: Any, params: Any) -> ListToolsResult:
        number = int(params.cursor) if params and params.cursor else 0
        following = str(number + 1) if number + 1 < len(self.pages) else None
        return ListToolsResult(tools=self.pages[number], next_cursor=following)

    async def call_tool(self, ctx: Any, params: Any) -> CallToolResult:
        if params.name == "grow":
            self.pages[-1].append(tool(f"grown_{len(self.pages[-1])}"))
            await ctx.session.send_tool_list_changed()
        return CallToolResult(content=[TextContent(text=f"called {params.name}")])

    async def run(self) -> None:
        async with stdio_server() as (received, sent):
            await serve_loop(self.server, received, sent, lifespan_state={})


class Growing(Raw):
    """Says that its tools may change, and changes them."""

    async def run(self) -> None:
        from mcp.server.lowlevel.server import NotificationOptions

        options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
        async with stdio_server() as (received, sent):
            await serve_loop(self.server, received, sent, lifespan_state={}, init_options=options)


class Endless(Raw):
    """Has always one more page."""

    async def list_tools(self, ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[], next_cursor="again")


def tool(name: str, **schema: Any) -> Tool:
    return Tool(name=name, input_schema={"type": "object", **schema})


def rubbish() -> None:
    """Answer every line by one that is not the protocol."""
    for _ in sys.stdin:
        sys.stdout.write("What a nice day!\n")
        sys.stdout.flush()


RAW: dict[str, Callable[[], Raw]] = {
    "pages": lambda: Raw([[tool("first"), tool("second")], [tool("third")], [tool("last")]]),
    "twice": lambda: Raw([[tool("same")], [tool("same")]]),
    "nameless": lambda: Raw([[tool("")]]),
    "schema": lambda: Raw([[tool("odd", properties={"a": {"type": "nothing"}})]]),
    "growing": lambda: Growing([[tool("grow")]]),
    "endless": lambda: Endless([[]]),
}


def main() -> None:
    kind = sys.argv[1] if len(sys.argv) > 1 else "notes"
    if kind == "notes":
        notes().run("stdio")
    elif kind == "http":
        notes().run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    elif kind == "rubbish":
        rubbish()
    elif kind == "silent":
        time.sleep(600)
    elif kind == "dead":
        sys.stderr.write("no ink at all\n")
        sys.exit(4)
    else:
        anyio.run(RAW[kind]().run)


if __name__ == "__main__":
    main()
