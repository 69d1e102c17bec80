"""Agents and plans for the tests of rollouts."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

from agentgym import Action, Environment, Observation, Task, TaskSet, call
from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.agents.baselines import OracleAgent
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.tasks import TaskSetInfo
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from tests.environments import COUNTER, CounterEnvironment, counter_task

Answer = Action | Decision
Act = Callable[[Brief, Observation, int], Answer | Awaitable[Answer]]

ADD, SUBMIT = call("add", amount=1), call("submit")


class ActingAgent(Agent):
    """Plays by a function of the brief, the observation and the turn's number from 0."""

    name = "acting"

    def __init__(self, act: Act) -> None:
        self._act = act
        self.briefs: list[Brief] = []

    async def begin(self, brief: Brief) -> Player:
        self.briefs.append(brief)
        return _ActingPlayer(self._act, brief)


class _ActingPlayer(Player):
    def __init__(self, act: Act, brief: Brief) -> None:
        self._act = act
        self._brief = brief
        self._turn = 0

    async def act(self, observation: Observation) -> Decision:
        answer = self._act(self._brief, observation, self._turn)
        self._turn += 1
        found = await answer if isawaitable(answer) else answer
        return found if isinstance(found, Decision) else Decision(action=found)


def always(action: Action) -> ActingAgent:
    """Return an agent that does the same every turn."""
    return ActingAgent(lambda brief, observation, turn: action)


def counting(brief: Brief, observation: Observation, turn: int) -> Action:
    """Add one for each number in the task's id, then submit: right, without the private part."""
    return ADD if turn < int(brief.task_id.removeprefix("count-")) else SUBMIT


def task_set(tasks: Sequence[Task[Any, Any]] | int) -> TaskSet:
    """Return a set of given tasks, or of so many counter tasks."""
    if isinstance(tasks, int):
        tasks = [counter_task(number) for number in range(1, tasks + 1)]
    info = TaskSetInfo(name="counter", environment=COUNTER.name, licence="MIT")
    return TaskSet(info, tasks, "counter")


@dataclass(frozen=True)
class LocalPlan(Plan):
    """A plan whose environments are made here, not by the registry."""

    factory: Callable[[], Environment] = field(default=CounterEnvironment)

    def environment(self) -> Environment:
        return self.factory()


def plan_of(
    tasks: Sequence[Task[Any, Any]] | int = 3,
    agent: Agent | None = None,
    **changes: Any,
) -> LocalPlan:
    """Return a plan of counter episodes, by the oracle where no agent is named."""
    settings: dict[str, Any] = {"run_id": "run", "backoff": 0.0, **changes}
    agent = agent or OracleAgent(COUNTER)
    return LocalPlan(env_spec=COUNTER, tasks=task_set(tasks), agent=agent, **settings)


async def carry_out(
    plan: Plan, store: TrajectoryStore, *, resume: bool = False
) -> list[Trajectory]:
    """Play what is missing of a plan and return what was reported, in that order."""
    reported: list[Trajectory] = []
    engine = Engine(plan, store, on_episode=reported.append)
    engine.open(resume=resume)
    await engine.run()
    return reported


def essence(trajectory: Trajectory) -> dict[str, Any]:
    """Return what of an episode does not depend on when and how fast it was played."""
    turns = {"__all__": {"model_s", "env_s"}}
    return trajectory.model_dump(exclude={"started_at": True, "run_id": True, "turns": turns})
