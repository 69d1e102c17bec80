"""The BFCL environment: a user's requests, turn by turn, answered by calling functions."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from agentgym.env import ToolEnvironment, digest
from agentgym.errors import ToolError
from agentgym.tools import Tool
from agentgym.types import Action, Json, Message, Reward, ToolCall, ToolFault, Transition
from agentgym_tools.bfcl.apis import Apis
from agentgym_tools.bfcl.grading import TurnVerdict, judge_turn, reward
from agentgym_tools.bfcl.schemas import functions, tool_spec
from agentgym_tools.bfcl.syntax import parse_calls
from agentgym_tools.bfcl.tasks import STEPS, BfclPrivate, BfclPublic
from agentgym_tools.bfcl.wheel import Entry, entries
from agentgym_tools.schema_tool import SchemaTool

INTRODUCTION = """\
A user asks for things over several turns. Do what is asked by calling the functions on offer, \
and go on calling until it is done; then answer in words without a call, and the user goes on. \
Where no function on offer serves, or what a function needs was not said, say so and make no call.

Calls can also be written as text and nothing else, in Python's syntax with literal arguments: \
[name(argument=value), other(argument="value")]"""

MORE = "Further functions are on offer to you now. Please try again."
LAST = "That was all, thank you."


class BfclEnvironment(ToolEnvironment[BfclPublic, BfclPrivate]):
    """Conversations in which a user's requests are served by calling functions."""

    _running = False

    async def setup(self) -> Sequence[Message]:
        """Open the API classes in the conversation's first state."""
        self._running = False
        self._apis, self._gold = Apis(self._entry), Apis(self._entry)
        self._answers: list[str] = []
        self._verdicts: list[TurnVerdict] = []
        self._begin_turn()
        self._running = True
        return [Message(role="system", content=INTRODUCTION), self._request()]

    def tools(self) -> Sequence[Tool]:
        """Return the functions on offer in this turn."""
        return list(self._offered().values())

    async def step(self, action: Action) -> Transition:
        """Carry out one turn of the agent; see `Environment.step`."""
        if action.tool_calls and self._running:
            self._count_step()
        return await super().step(action)

    async def reply(self, text: str) -> Sequence[Message]:
        """Make the calls that are written as text; other words end the user's turn."""
        try:
            calls = parse_calls(text)
        except ToolError:
            self._count_step()
            raise
        if not calls:
            return [self._next_turn()]
        self._count_step()
        return [self._answer_text(call) for call in calls]

    async def grade(self) -> Reward:
        """Return 1 where every turn ended as the gold's did."""
        return reward(self._verdicts, len(self.task.public.requests))

    async def save(self) -> Any:
        """Return the instances, the gold's, and what was answered so far."""
        counts = (self._steps, self._made, self._running)
        return self._apis, self._gold, self._answers, self._verdicts, counts

    async def load(self, state: Any) -> None:
        """Take back what `save` returned."""
        self._apis, self._gold, self._answers, self._verdicts, counts = state
        self._steps, self._made, self._running = counts

    async def fingerprint(self) -> str:
        """Hash the state of the instances and of the conversation."""
        verdicts = [list(verdict) for verdict in self._verdicts]
        turn = [verdicts, self._steps, self._made, self._running]
        return digest([self.task.id, self._apis.state(), self._answers, turn])

    @property
    def _entry(self) -> Entry:
        return entries()[self.task.public.entry]

    def _offered(self) -> dict[str, SchemaTool]:
        offered = functions(self._entry, len(self._verdicts))
        return {
            name: SchemaTool(tool_spec(api, name), partial(self._call, name))
            for name, api in offered.items()
        }

    def _begin_turn(self) -> None:
        self._steps, self._made = 0, False

    def _request(self) -> Message:
        return Message(role="user", content=self.task.public.requests[len(self._verdicts)] or MORE)

    def _next_turn(self) -> Message:
        calls = self.task.private.gold[len(self._verdicts)]
        verdict = judge_turn(self._apis, self._gold, calls, self._answers, made=self._made)
        self._verdicts.append(verdict)
        self._begin_turn()
        if len(self._verdicts) < len(self.task.public.requests):
            return self._request()
        self._end()
        return Message(role="user", content=LAST)

    def _count_step(self) -> None:
        """Count a step with calls; upstream gives up on a turn that has too many."""
        self._steps += 1
        if self._steps > STEPS:
            self._end()

    def _end(self) -> None:
        self._running = False
        self.finish()

    def _call(self, name: str, arguments: dict[str, Json]) -> str:
        answer = self._apis.call(name, arguments)
        self._made = True
        self._answers.append(answer.text)
        if answer.error is not None:
            raise ToolError(answer.error)
        return answer.text

    def _answer_text(self, call: ToolCall) -> Message:
        """Answer a call written as text: in words, as it has no id to answer to."""
        if not self._running:
            return _words("The episode is over; this call was not made.", "over")
        offered = self._offered()
        tool = offered.get(call.name)
        if tool is None or isinstance(call.arguments, str):
            known = ", ".join(offered)
            return _words(f"No function {call.name[:100]!r}. Functions: {known}.", "unknown_tool")
        try:
            arguments = tool.check(call.arguments)
        except ToolError as error:
            return _words(str(error), "bad_arguments")
        try:
            return _words(f"{call.name}: {tool.function(arguments)}")
        except ToolError as error:
            return _words(str(error), "failed")


def _words(text: str, fault: ToolFault | None = None) -> Message:
    shown = f"Error: {text}" if fault else text
    return Message(role="user", content=shown, fault=fault)
