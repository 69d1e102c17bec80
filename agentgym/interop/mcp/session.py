"""A client's episode: its calls handed to the engine one by one, and the answers back."""

import asyncio
from typing import NamedTuple

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.errors import AgentLeftError
from agentgym.trajectories.record import Trajectory
from agentgym.types import Action, Message, Observation

OVER = "The episode is over; this call was not made."


class _Call(NamedTuple):
    action: Action
    answer: "asyncio.Future[Observation]"


class Session(Player):
    """One client in one episode.

    The engine's side plays it as any player; the client's side waits for observations. Calls
    that a client makes at once are turns one after the other, in the order of their arrival.

    Args:
        idle_s: Seconds without a call after which the client counts as gone; None waits.
    """

    def __init__(self, *, idle_s: float | None = None) -> None:
        self._idle_s = idle_s
        self._calls: asyncio.Queue[_Call | None] = asyncio.Queue()
        self._current: _Call | None = None
        self._ended = ""
        self._first: asyncio.Future[Observation | None]
        self._first = asyncio.get_running_loop().create_future()
        self._last = Observation(messages=())

    @property
    def last(self) -> Observation:
        """What the client saw last."""
        return self._last

    async def first(self) -> Observation | None:
        """Wait for the first observation; None where the episode broke before it."""
        return await asyncio.shield(self._first)

    async def turn(self, action: Action) -> Observation:
        """Carry out one turn and return what answers it.

        After the end it is an observation that says so. A client that gives up waiting does
        not take the turn back once it has begun.
        """
        if self._ended:
            return self._closing()
        call = _Call(action, asyncio.get_running_loop().create_future())
        self._calls.put_nowait(call)
        return await call.answer

    def leave(self) -> None:
        """Say that the client has gone; the turn under way is finished."""
        self._calls.put_nowait(None)

    async def act(self, observation: Observation) -> Decision:
        """Show the client an observation and wait for its next call.

        Raises:
            AgentLeftError: There will be none.
        """
        self._show(observation)
        try:
            async with asyncio.timeout(self._idle_s):
                self._current = await self._next()
        except TimeoutError:
            raise AgentLeftError(f"The client made no call for {self._idle_s:g} s.") from None
        return Decision(action=self._current.action)

    def end(self, trajectory: Trajectory | None) -> None:
        """Show the client the last observation, and answer whatever else it calls.

        Args:
            trajectory: The whole episode; None where it could not be kept.
        """
        kind = "store" if trajectory is None else trajectory.outcome.detail
        broken = trajectory is None or trajectory.outcome.status == "error"
        self._ended = f"Infrastructure broke ({kind}); the episode is void." if broken else OVER
        if trajectory is not None and not broken and trajectory.turns:
            self._show(trajectory.turns[-1].observation)
        if not self._first.done():
            self._first.set_result(None)
        self._answer(self._closing())
        while not self._calls.empty():
            self._current = self._calls.get_nowait()
            self._answer(self._closing())

    def _show(self, observation: Observation) -> None:
        self._last = observation
        if not self._first.done():
            self._first.set_result(observation)
        self._answer(observation)

    def _answer(self, observation: Observation) -> None:
        call, self._current = self._current, None
        if call is not None and not call.answer.done():  # a client may have stopped waiting
            call.answer.set_result(observation)

    def _closing(self) -> Observation:
        message = Message(role="user", content=self._ended, fault="over")
        return Observation(messages=(message,), tools=self._last.tools)

    async def _next(self) -> _Call:
        while True:
            call = await self._calls.get()
            if call is None:
                raise AgentLeftError("The client has gone.")
            if not call.answer.done():
                return call


class ClientAgent(Agent):
    """Whatever plays through MCP; each of its episodes is a client's session."""

    name = "mcp"

    def __init__(self) -> None:
        self._expected: dict[tuple[str, int], Session] = {}

    def expect(self, task_id: str, seed: int, session: Session) -> None:
        """Say who will play the next episode of a task and seed."""
        self._expected[task_id, seed] = session

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode with the client that was named for it."""
        return self._expected.pop((brief.task_id, brief.seed))
