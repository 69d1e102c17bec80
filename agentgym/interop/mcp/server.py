"""The MCP server: a session's tools and first words, and nothing of what drives the episode.

An episode needs a session, so the protocol's revisions with a handshake are spoken; requests
of the stateless revision are refused with the revisions that are served.
"""

from importlib.metadata import version
from typing import Any

from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from agentgym.env import Environment, ToolEnvironment
from agentgym.interop.mcp.content import to_blocks, to_resource
from agentgym.interop.mcp.host import EpisodeHost
from agentgym.interop.mcp.names import free_name
from agentgym.interop.mcp.session import Session
from agentgym.types import Action, Observation, ToolCall

TASK_PROMPT = "task"
TASK_URI = "agentgym://task"
_ABOUT_TASK = "What you are asked to do."
_SESSION = "agentgym.session"
_FIRST = "agentgym.first"

_Context = ServerRequestContext[Any, Any]


def make_server(host: EpisodeHost, environment_type: type[Environment]) -> Server[Any]:
    """Make the server of a host's episodes, one for each client that says hello.

    Args:
        host: Deals the episodes.
        environment_type: Tells whether agents may also talk, in turns without tool calls.
    """
    handlers = _Handlers(host, talks=_talks(environment_type))
    server: Server[Any] = Server(
        "agentgym",
        version=version("agentgym-core"),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
    )
    server.middleware.append(handlers.admit)
    return server


def _talks(environment_type: type[Environment]) -> bool:
    return (
        issubclass(environment_type, ToolEnvironment)
        and environment_type.reply is not ToolEnvironment.reply
    )


class _Handlers:
    """What the server answers.

    Args:
        host: Deals the episodes.
        talks: Whether words are turns too, for which one more tool is offered.
    """

    def __init__(self, host: EpisodeHost, *, talks: bool) -> None:
        self._host = host
        self._talks = talks

    async def admit(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Begin an episode with the handshake, and let in nothing that has no session."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(
                UNSUPPORTED_PROTOCOL_VERSION,
                "An episode needs a session, which this revision of the protocol has not.",
                {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": ctx.protocol_version},
            )
        result = await call_next(ctx)
        if ctx.method != "initialize" or not isinstance(result, dict):
            return result
        first = await self._begin(_connection(ctx))
        capabilities = {**result["capabilities"], "tools": {"listChanged": True}}
        return {**result, "capabilities": capabilities, "instructions": _words(first)}

    async def _begin(self, connection: Connection) -> Observation:
        if _SESSION in connection.state:
            raise MCPError(INVALID_REQUEST, "This session has begun already.")
        session = self._host.begin()
        if session is None:
            raise MCPError(INVALID_REQUEST, "No episode is left to play.")
        connection.state[_SESSION] = session
        connection.exit_stack.callback(self._host.part, session)
        first = await session.first()
        if first is None:
            raise MCPError(INTERNAL_ERROR, "The episode could not be begun; connect again.")
        connection.state[_FIRST] = first
        return first

    async def list_tools(
        self, ctx: _Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Return the tools on offer now."""
        return ListToolsResult(tools=self._tools(_session(ctx).last))

    async def call_tool(self, ctx: _Context, params: CallToolRequestParams) -> CallToolResult:
        """Make one call, which is a turn, and return what answers it."""
        session = _session(ctx)
        before = self._tools(session.last)
        arguments = params.arguments or {}
        if params.name == self._saying(session.last):
            text = arguments.get("text")
            if set(arguments) != {"text"} or not isinstance(text, str) or not text.strip():
                words = f"Error: Bad arguments for {params.name}: give text, and nothing else."
                return CallToolResult(content=[TextContent(text=words)], is_error=True)
            action = Action(text=text)
        else:
            action = Action(tool_calls=(ToolCall(name=params.name, arguments=arguments),))
        observation = await session.turn(action)
        if self._tools(session.last) != before:
            # With this request's own stream: it reaches the client before the answer does.
            await ctx.session.send_notification(
                ToolListChangedNotification(), related_request_id=ctx.request_id
            )
        content = to_blocks(observation.messages)
        return CallToolResult(content=list(content), is_error=bool(observation.faults))

    async def list_prompts(
        self, ctx: _Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """Return the one prompt, the task."""
        return ListPromptsResult(prompts=[Prompt(name=TASK_PROMPT, description=_ABOUT_TASK)])

    async def get_prompt(self, ctx: _Context, params: GetPromptRequestParams) -> GetPromptResult:
        """Return the first observation."""
        if params.name != TASK_PROMPT:
            raise MCPError(INVALID_PARAMS, f"The only prompt is {TASK_PROMPT!r}.")
        blocks = to_blocks(_first(ctx).messages)
        messages = [PromptMessage(role="user", content=block) for block in blocks]
        return GetPromptResult(description=_ABOUT_TASK, messages=messages)

    async def list_resources(
        self, ctx: _Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """Return the one resource, the task."""
        task = Resource(uri=TASK_URI, name=TASK_PROMPT, description=_ABOUT_TASK)
        return ListResourcesResult(resources=[task])

    async def read_resource(
        self, ctx: _Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """Return the first observation."""
        if params.uri != TASK_URI:
            raise MCPError(INVALID_PARAMS, f"The only resource is {TASK_URI}.")
        return ReadResourceResult(contents=to_resource(_first(ctx).messages, TASK_URI))

    def _saying(self, observation: Observation) -> str | None:
        names = [spec.name for spec in observation.tools]
        return free_name("say", names) if self._talks else None

    def _tools(self, observation: Observation) -> list[Tool]:
        tools = [
            Tool(name=spec.name, description=spec.description, input_schema=spec.parameters)
            for spec in observation.tools
        ]
        saying = self._saying(observation)
        if saying is not None:
            text = {"type": "string", "description": "The words."}
            schema = {
                "type": "object",
                "properties": {"text": text},
                "required": ["text"],
                "additionalProperties": False,
            }
            what = "Say something to whoever you are talking with, and hear the answer."
            tools.append(Tool(name=saying, description=what, input_schema=schema))
        return tools


def _words(observation: Observation) -> str:
    return "\n\n".join(filter(None, (message.text for message in observation.messages)))


def _connection(ctx: _Context) -> Connection:
    """Return the client's connection, which the SDK keeps for itself in this kind of context."""
    return ctx.session._connection


def _session(ctx: _Context) -> Session:
    session = _connection(ctx).state.get(_SESSION)
    if not isinstance(session, Session):
        raise MCPError(INVALID_REQUEST, "No episode has begun: say hello with initialize.")
    return session


def _first(ctx: _Context) -> Observation:
    _session(ctx)
    first: Observation = _connection(ctx).state[_FIRST]
    return first
