"""The class that TRL's `environment_factory` makes its environments of: tools, and nothing else."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from agentgym.env import blame
from agentgym.errors import AgentgymError, EnvironmentTimeoutError, EpisodeError, UsageError
from agentgym.rollout.attempts import Seat
from agentgym.rollout.plan import Plan
from agentgym.training.contract import task_ids
from agentgym.training.schema_types import tool_method
from agentgym.types import Action, ImagePart, Observation, Reward, Task, ToolCall, ToolSpec

log = logging.getLogger("agentgym")

OVER = "The episode is over."


class Host(Protocol):
    """What the tools reach the environments through."""

    @property
    def plan(self) -> Plan:
        """By what rules episodes are played."""

    def task(self, task_id: str) -> Task[Any, Any]:
        """Return a task."""

    def seat(self) -> Seat:
        """Return a place for an environment."""

    def call(self, function: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
        """Run a coroutine on the background loop."""


class ToolEpisode:
    """One environment on the background loop, played call by call.

    TRL tells nobody when an episode ends and shows a tool's exceptions to the model, so nothing
    is raised here: after the end, and after a fault, every call is answered by `OVER`.

    Args:
        plan: By what rules it is played.
        seat: Holds the environment.
        tools: What the class offers.
    """

    def __init__(self, plan: Plan, seat: Seat, tools: Sequence[ToolSpec]) -> None:
        self._plan = plan
        self._seat = seat
        self._tools = tools
        self._rewards: list[float] = []
        self._over = True
        self._begun = False
        self._failed: AgentgymError | None = None
        self._turns = 0
        self.grade: Reward | None = None

    async def begin(self, task: Task[Any, Any]) -> str:
        """Begin an episode and return what the agent sees first.

        Raises:
            UsageError: The task offers other tools than the class.
        """
        self._rewards, self._turns, self._failed, self.grade = [], 0, None, None
        self._turns_left = self._plan.rules(task).limits.turns or 0
        observation = await self._first(task)
        self._begun = True
        self._over = observation is None
        if observation is None:
            return OVER
        _check_text(observation)
        if tuple(observation.tools) != tuple(self._tools):
            raise UsageError(
                f"The task {task.id!r} offers other tools than the first one.",
                remedy="Train through rollout_func, where tools may change.",
            )
        return observation.text

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Make one call, which is a turn of its own, and return its answer."""
        if self._over:
            return OVER
        action = Action(tool_calls=(ToolCall(name=name, arguments=dict(arguments)),))
        try:
            transition = await self._patiently("step", self._seat.environment().step, action)
            _check_text(transition.observation)
        except AgentgymError as error:
            await self._fail(error)
            return OVER
        self._rewards.append(transition.reward.value)
        self._turns_left -= 1
        if transition.over:
            self._over, self.grade = True, transition.reward
        elif self._turns_left < 1:
            self._over = True
        text: str = transition.observation.text
        return text

    async def reward(self) -> float | None:
        """End the episode and return the sum of its rewards.

        Returns:
            None where infrastructure broke, or nothing was begun.

        Raises:
            UsageError: The environment cannot work as asked.
        """
        if not self._begun:
            return None
        if self._failed is None and self.grade is None:
            try:
                environment = self._seat.environment()
                self.grade = await self._patiently("grade", environment.grade)
                self._rewards[-1:] = [self.grade.value]  # the last turn carries the grade
            except AgentgymError as error:
                await self._fail(error)
        self._over = True
        if isinstance(self._failed, UsageError):
            raise self._failed
        return None if self._failed is not None else sum(self._rewards)

    async def _first(self, task: Task[Any, Any]) -> Observation | None:
        """Reset, again where the fault allows it; None where it stays broken."""
        for attempt in range(1, self._plan.attempts + 1):
            try:
                environment = self._seat.environment()
                found: Observation = await self._patiently(
                    "reset", lambda env=environment: env.reset(task, seed=self._plan.seed)
                )
            except EpisodeError as error:
                await self._fail(error)
                if not error.retryable or attempt == self._plan.attempts:
                    return None
                await asyncio.sleep(self._plan.backoff * 2 ** (attempt - 1))
            else:
                self._failed = None
                return found
        return None

    async def _fail(self, error: AgentgymError) -> None:
        log.warning("an episode is left out of its group: %s", error)
        self._failed, self._over, self.grade = error, True, None
        await self._seat.leave()

    async def _patiently(self, where: str, method: Callable[..., Any], *args: Any) -> Any:
        try:
            async with asyncio.timeout(self._plan.step_timeout):
                with blame(where):
                    return await method(*args)
        except TimeoutError:
            raise EnvironmentTimeoutError(
                f"The environment did not answer within {self._plan.step_timeout:g} s ({where})."
            ) from None


def _check_text(observation: Observation) -> None:
    contents = [message.content for message in observation.messages]
    if any(isinstance(p, ImagePart) for c in contents if not isinstance(c, str) for p in c):
        raise UsageError(
            "The environment shows an image, and tools answer with text only.",
            remedy="Choose the environment's text form where it has one.",
        )


class ToolEnvironmentBase:
    """What every made class is built on; its public methods are all that TRL sees."""

    _host: Host
    _tools: tuple[ToolSpec, ...]

    def __init__(self) -> None:
        self._episode = ToolEpisode(self._host.plan, self._host.seat(), self._tools)

    def reset(self, **row: Any) -> str:
        """Begin the episode of a dataset's row and return what the agent sees first."""
        (task_id,) = task_ids([row.get("prompt")], 1)
        words: str = self._host.call(self._episode.begin, self._host.task(task_id))
        return words

    def get_reward(self) -> float | None:
        """Return the episode's reward; None where infrastructure broke."""
        reward: float | None = self._host.call(self._episode.reward)
        return reward

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        answer: str = self._host.call(self._episode.call, name, arguments)
        return answer

    def _graded(self) -> Reward | None:
        return self._episode.grade


def make_tool_class(name: str, tools: Sequence[ToolSpec], host: Host) -> type[ToolEnvironmentBase]:
    """Make the class of an environment's tools.

    Args:
        name: The class's, under which TRL logs its reward.
        tools: What it offers, in every episode.
        host: What its instances reach the environments through.

    Raises:
        UsageError: A tool cannot be a method.
    """
    methods: dict[str, Any] = {tool.name: tool_method(tool) for tool in tools}
    held = {"_host": host, "_tools": tuple(tools), "__doc__": f"The tools of {name}."}
    return type(name, (ToolEnvironmentBase,), {**methods, **held})
