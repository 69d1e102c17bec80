"""Somebody's MCP server as an environment: its tools, and one more to submit with."""

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentgym.env import ToolEnvironment
from agentgym.errors import EnvironmentMalformedError, ToolError, UsageError
from agentgym.interop.mcp import require_mcp
from agentgym.interop.mcp.grading import answered, share_made
from agentgym.interop.mcp.names import free_name
from agentgym.interop.mcp.tasks import ExpectedCall, GradeTool, McpPrivate, McpPublic
from agentgym.tools import Tool
from agentgym.types import Content, Json, Message, Reward, ToolSpec

if TYPE_CHECKING:
    from agentgym.interop.mcp.connection import ServerConnection

ENDING = "When you are done, call {submit} once, with the answer where one is asked for."


class McpEnvironment(ToolEnvironment[McpPublic, McpPrivate]):
    """Tasks on an MCP server, with a fresh process or session for every episode.

    A server's process finds the task's id and the seed in its environment, as AGENTGYM_TASK and
    AGENTGYM_SEED, and of this process's variables only what every program needs.

    Args:
        command: The program and its arguments, spoken with over standard input and output.
        url: Where it is, in place of `command`: an http or https URL of streamable HTTP.
        pass_env: Names of further environment variables that the program is given.
        timeout: Seconds for the start, and for each call.
        max_output: Characters of an answer that are shown.
    """

    _offered: list[ToolSpec]
    _made: list[ExpectedCall]
    _answer: str | None

    def __init__(
        self,
        *,
        command: Sequence[str] | None = None,
        url: str | None = None,
        pass_env: Sequence[str] = (),
        timeout: float = 60.0,
        max_output: int = 50_000,
    ) -> None:
        require_mcp()
        if (command is None) == (url is None):
            raise UsageError(
                "An MCP server is named by its command or its url.",
                remedy="""Add -E command='["program", "argument"]' or -E url=http://...""",
            )
        if command is not None:
            _check_command(command)
        elif not str(url).startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no URL of an MCP server.", remedy="Give http://...")
        _check_above_0("timeout", timeout, (int, float))
        _check_above_0("max_output", max_output, (int,))
        self._command, self._url = command, url
        self._inherited = _inherited(pass_env)
        self._timeout = timeout
        self._max_output = max_output
        self._connection: ServerConnection | None = None
        self._forget()

    async def setup(self) -> Sequence[Message]:
        """Start a session with the server, and see what it offers."""
        await self.close()
        self._forget()
        connection = self._connection = self._connect()
        instructions = await connection.open()
        self._offered = await connection.tools()
        self._check_grade_tool()
        ending = ENDING.format(submit=self.tools()[-1].name)
        words = Message(role="user", content=f"{self.task.public.instruction}\n\n{ending}")
        return [*([Message(role="system", content=instructions)] if instructions else []), words]

    def tools(self) -> Sequence[Tool]:
        """Return the server's tools but for the one that grades, and `submit`."""
        shown = [_ServerTool(self, spec) for spec in self._offered if not self._hides(spec.name)]
        taken = {spec.name for spec in self._offered}
        return [*shown, Tool(self._submit, name=free_name("submit", taken))]

    async def _submit(self, answer: str | None = None) -> str:
        """Say that the work is done; this ends it.

        Args:
            answer: The answer, where the task asks for one.
        """
        self._answer = answer
        self.finish()
        return "Submitted."

    async def pass_on(self, name: str, arguments: Mapping[str, Json]) -> Content:
        """Let the server carry out a call of the agent's.

        Raises:
            ToolError: The server says that it failed.
            EpisodeError: The server does not answer.
        """
        from agentgym.interop.mcp.content import from_result

        result = await self._active.call(name, arguments)
        content = from_result(result, longest=self._max_output)
        if self._active.changes_tools:
            self._offered = await self._active.tools()
        if result.is_error:
            text = Message(role="tool", content=content).text
            raise ToolError(text.removeprefix("Error: "))
        self._made.append(ExpectedCall(name=name, arguments=dict(arguments)))
        return content

    async def grade(self) -> Reward:
        """Look at everything that the task names; 1 where all of it holds."""
        private = self.task.private
        parts: dict[str, float] = {}
        if private.calls:
            parts["calls"] = share_made(private.calls, self._made, ordered=private.ordered)
        if private.answers:
            parts["answer"] = float(answered(self._answer, private.answers))
        value = float(all(part == 1.0 for part in parts.values()))
        if private.grade is not None:
            parts["grade"] = await self._asked_grade(private.grade)
            value *= parts["grade"]
        return Reward(value=value, components=parts)

    async def close(self) -> None:
        """End the session with the server, and its process."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    @property
    def _active(self) -> "ServerConnection":
        if self._connection is None:
            raise UsageError("There is no episode.", remedy="Call reset first.")
        return self._connection

    def _forget(self) -> None:
        self._offered = []
        self._made = []
        self._answer = None

    def _hides(self, name: str) -> bool:
        grade = self.task.private.grade
        return grade is not None and grade.name == name

    def _check_grade_tool(self) -> None:
        grade = self.task.private.grade
        if grade is not None and all(spec.name != grade.name for spec in self._offered):
            raise UsageError(
                f"Task {self.task.id!r} is graded by the tool {grade.name!r}, which the MCP server "
                "does not have.",
                remedy="Mend the task, or name the server it is for.",
            )

    def _connect(self) -> "ServerConnection":
        from mcp import StdioServerParameters

        from agentgym.interop.mcp.connection import ServerConnection

        server: StdioServerParameters | str = self._url or ""
        if self._command is not None:
            program, *arguments = self._command
            about = {"AGENTGYM_TASK": self.task.id, "AGENTGYM_SEED": str(self.seed)}
            env = {**self._inherited, **about}
            server = StdioServerParameters(command=program, args=arguments, env=env)
        return ServerConnection(server, timeout_s=self._timeout)

    async def _asked_grade(self, tool: GradeTool) -> float:
        from agentgym.interop.mcp.content import number_in

        arguments = dict(tool.arguments)
        if tool.answer is not None:
            arguments[tool.answer] = self._answer
        try:
            result = await self._active.call(tool.name, arguments)
        except ToolError as error:
            raise EnvironmentMalformedError(
                f"The MCP server refused to grade by {tool.name}: {error}"
            ) from error
        number = number_in(result)
        if number is None:
            raise EnvironmentMalformedError(f"The MCP server graded by {tool.name} with no number.")
        low, high = self.task.reward_range
        if not low <= number <= high:
            raise EnvironmentMalformedError(
                f"The MCP server graded by {tool.name} with {number:g}, which is outside the "
                f"task's range {low:g} to {high:g}."
            )
        return number


class _ServerTool(Tool):
    """A tool of the server's, which checks arguments itself.

    Args:
        environment: Passes calls on.
        spec: The tool as the server describes it.
    """

    def __init__(self, environment: McpEnvironment, spec: ToolSpec) -> None:
        self.name, self.spec = spec.name, spec
        self._environment = environment

    def check(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Take the arguments as they are."""
        return dict(arguments)

    async def run(self, arguments: Mapping[str, Any]) -> Content:
        """Let the server carry out the call."""
        return await self._environment.pass_on(self.name, arguments)


def _inherited(names: Sequence[str]) -> dict[str, str]:
    for name in names:
        if name not in os.environ:
            raise UsageError(
                f"There is no environment variable {name!r} to pass on.", remedy="Set it."
            )
    return {name: os.environ[name] for name in names}


def _check_command(command: Sequence[str]) -> None:
    words = list(command) if isinstance(command, list | tuple) else []
    if not words or not all(isinstance(word, str) and word for word in words):
        raise UsageError(
            f"{command!r} is no command.", remedy="""Write -E command='["program", "argument"]'."""
        )
    if shutil.which(words[0]) is None:
        raise UsageError(f"There is no program {words[0]!r}.", remedy="Give its path.")


def _check_above_0(name: str, value: float, types: tuple[type, ...]) -> None:
    if type(value) not in types or not 0 < value < math.inf:
        kind = "number" if float in types else "whole number"
        raise UsageError(f"{name} is {value!r}.", remedy=f"Give a {kind} above 0.")
