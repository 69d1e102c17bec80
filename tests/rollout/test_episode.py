"""One episode: ends, limits, faults, and what is on the record of it."""

import asyncio
import threading
import time
from collections import Counter
from typing import Any

import pytest

from agentgym import (
    Action,
    Environment,
    Limits,
    Observation,
    Reward,
    Task,
    ToolError,
    Transition,
    call,
)
from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.errors import (
    AgentFailedError,
    EnvironmentFailedError,
    EnvironmentLostError,
    EnvironmentTimeoutError,
    EpisodeError,
    ModelContextError,
    ModelServerError,
)
from agentgym.faults import Fault
from agentgym.rollout.episode import Episode, Rules, play
from agentgym.trajectories.record import Outcome
from agentgym.types import Usage
from tests.environments import (
    BlockingEnvironment,
    Breakage,
    BreakingEnvironment,
    CounterEnvironment,
    DenseEnvironment,
    counter_task,
)
from tests.rollout.playing import ADD, SUBMIT, ActingAgent, always


async def played(
    environment: Environment,
    agent: Agent,
    *,
    episode: Episode | None = None,
    task: Task[Any, Any] | None = None,
    limits: Limits | None = None,
    step_timeout: float = 300.0,
    fingerprints: bool = True,
) -> Episode:
    """Play one episode of a counter to 2."""
    task = task or counter_task(2)
    rules = Rules(limits or Limits(turns=20), step_timeout, fingerprints)
    brief = Brief(env="test-counter-v1", task_id=task.id, seed=5, limits=rules.limits)
    episode = episode or Episode()
    await play(episode, environment, agent, brief, task, rules)
    return episode


def turns(*actions: Action) -> ActingAgent:
    return ActingAgent(lambda brief, observation, turn: actions[turn])


async def test_an_episode_is_recorded_turn_by_turn() -> None:
    decisions = [
        Decision(action=ADD, usage=Usage(prompt_tokens=3), reasoning="hm"),
        Decision(action=Action(text="and?"), usage=Usage(completion_tokens=4, cost=0.5)),
        Decision(action=ADD, faults=(Fault(kind="model_server", message="500"),)),
        Decision(action=SUBMIT),
    ]
    agent = ActingAgent(lambda brief, observation, turn: decisions[turn])
    episode = await played(CounterEnvironment(), agent)

    assert episode.first is not None
    assert episode.first.text == "Count to 2."
    assert episode.outcome == Outcome(status="completed")
    assert episode.grade == Reward(value=1.0)
    assert [turn.action for turn in episode.turns] == [d.action for d in decisions]
    assert [turn.usage for turn in episode.turns] == [d.usage for d in decisions]
    assert episode.usage == Usage(prompt_tokens=3, completion_tokens=4, cost=0.5)
    assert episode.turns[0].reasoning == "hm"
    assert episode.turns[1].observation.faults == ("no_call",)
    assert [turn.reward.value for turn in episode.turns] == [0.0, 0.0, 0.0, 1.0]
    assert [fault.kind for fault in episode.faults] == ["model_server"]
    prints = [episode.first_fingerprint, *(turn.fingerprint for turn in episode.turns)]
    assert [prints[1] == prints[0], prints[2] == prints[1], prints[3] == prints[2]] == [
        False,
        True,
        False,
    ]


async def test_an_agent_is_told_its_limits_and_nothing_private() -> None:
    agent = always(SUBMIT)
    limits = Limits(turns=7, tokens=100)
    episode = await played(CounterEnvironment(), agent, limits=limits)
    (brief,) = agent.briefs
    assert (brief.limits, brief.seed, brief.task) == (limits, 5, None)
    assert "private-2" not in str(episode)


async def test_fingerprints_are_taken_only_where_there_are_any() -> None:
    episode = await played(CounterEnvironment(), always(SUBMIT), fingerprints=False)
    assert episode.first_fingerprint is None
    assert episode.turns[0].fingerprint is None


@pytest.mark.parametrize(
    ("limits", "usage", "which", "at_turn"),
    [
        (Limits(turns=3), Usage(), "turns", 3),
        (Limits(turns=9, tokens=25), Usage(prompt_tokens=6, completion_tokens=4), "tokens", 3),
        (Limits(turns=9, cost=0.5), Usage(cost=0.25), "cost", 2),
        (Limits(turns=4, cost=0.5), Usage(), "turns", 4),
    ],
)
async def test_a_limit_ends_the_episode_and_the_grade_comes_from_outside(
    limits: Limits, usage: Usage, which: str, at_turn: int
) -> None:
    agent = ActingAgent(
        lambda brief, observation, turn: Decision(action=ADD if turn < 2 else Action(), usage=usage)
    )
    episode = await played(CounterEnvironment(), agent, limits=limits)
    assert episode.outcome == Outcome(status="limit", detail=which)
    assert len(episode.turns) == at_turn
    assert episode.grade == Reward(value=1.0)
    assert episode.turns[-1].reward == episode.grade


class _Clock:
    """A clock that others move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_only_time_in_the_environment_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    class Slow(CounterEnvironment):
        async def step(self, action: Action) -> Transition:
            clock.now += 2.0
            return await super().step(action)

    def think(brief: Brief, observation: Observation, turn: int) -> Action:
        clock.now += 1000.0
        return ADD

    limits = Limits(turns=20, time=5.0)
    episode = await played(Slow(), ActingAgent(think), limits=limits)
    assert episode.outcome == Outcome(status="limit", detail="time")
    assert [(turn.model_s, turn.env_s) for turn in episode.turns] == [(1000.0, 2.0)] * 3


async def test_the_tasks_own_end_comes_before_a_limit() -> None:
    episode = await played(CounterEnvironment(), turns(ADD, SUBMIT), limits=Limits(turns=2))
    assert episode.outcome == Outcome(status="completed")


async def test_an_environments_own_limit() -> None:
    class Bounded(CounterEnvironment):
        async def step(self, action: Action) -> Transition:
            transition = await super().step(action)
            cut = {"truncated": True, "reward": Reward(value=0.5)}
            return transition.model_copy(update=cut)

    episode = await played(Bounded(), always(ADD))
    assert episode.outcome == Outcome(status="limit", detail="environment")
    assert (len(episode.turns), episode.grade) == (1, Reward(value=0.5))


@pytest.mark.parametrize("full_at", [0, 2])
async def test_a_full_context_is_a_limit(full_at: int) -> None:
    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        if turn == full_at:
            raise ModelContextError("The conversation is too long.")
        return ADD

    episode = await played(CounterEnvironment(), ActingAgent(act))
    assert episode.outcome == Outcome(status="limit", detail="context")
    assert len(episode.turns) == full_at
    assert episode.grade == Reward(value=float(full_at == 2))


async def test_dense_rewards_stay_on_their_turns_and_the_grade_is_last() -> None:
    agent = turns(call("earn", amount=0.5), ADD, call("earn", amount=0.25))
    task = counter_task(2, reward_range=(0.0, 5.0))
    episode = await played(DenseEnvironment(), agent, task=task, limits=Limits(turns=3))
    assert [turn.reward.value for turn in episode.turns] == [0.5, 0.0, 1.0]
    assert episode.grade == Reward(value=1.0, labels={"by": "count"})


@pytest.mark.parametrize("ends", ["itself", "limit"])
@pytest.mark.parametrize("grade", [1.5, -0.1, float("nan")])
async def test_a_grade_outside_the_range_is_the_environments_fault(ends: str, grade: float) -> None:
    environment = DenseEnvironment(grades={0: grade})
    agent = always(SUBMIT if ends == "itself" else Action())
    with pytest.raises(EnvironmentFailedError, match="grade raised"):
        await played(environment, agent, limits=Limits(turns=1))


async def test_the_bounds_of_the_range_are_in_it() -> None:
    for grade in (-1.0, 3.0):
        task = counter_task(2, reward_range=(-1.0, 3.0))
        episode = await played(DenseEnvironment(grades={0: grade}), always(SUBMIT), task=task)
        assert episode.grade is not None
        assert episode.grade.value == grade


def break_at(place: str, error: BaseException) -> BreakingEnvironment:
    return BreakingEnvironment(Breakage(Counter([place]), lambda: error))


@pytest.mark.parametrize("place", ["setup", "tool", "grade", "fingerprint"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError("disk"), EnvironmentFailedError),
        (TimeoutError("its own"), EnvironmentFailedError),
        (asyncio.CancelledError(), EnvironmentFailedError),
        (EnvironmentLostError("gone"), EnvironmentLostError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
async def test_a_broken_environment_ends_the_episode_with_a_typed_error(
    place: str, error: BaseException, kind: type[EpisodeError]
) -> None:
    episode = Episode()
    actions = turns(ADD, call("breaking"), SUBMIT)
    with pytest.raises(kind, match=None if kind is EnvironmentLostError else place):
        await played(break_at(place, error), actions, episode=episode)
    assert episode.outcome is None
    assert episode.grade is None
    assert len(episode.turns) == {"setup": 0, "fingerprint": 0, "tool": 1, "grade": 2}[place]


@pytest.mark.parametrize("place", ["setup", "grade"])
async def test_a_tool_error_where_no_call_is_answered_is_the_environments_fault(
    place: str,
) -> None:
    with pytest.raises(EnvironmentFailedError, match=f"{place} raised ToolError: why"):
        await played(break_at(place, ToolError("why")), always(SUBMIT))


class _Wrong(CounterEnvironment):
    """Returns what the protocol does not know."""

    def __init__(self, **wrong: Any) -> None:
        super().__init__()
        self.wrong = wrong

    async def step(self, action: Action) -> Any:
        return self.wrong.get("step", await super().step(action))

    async def grade(self) -> Any:
        return self.wrong.get("grade", await super().grade())


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": None},
        {"step": (Observation(messages=()), 1.0, True)},
        {"grade": None},
        {"grade": 1.0},
    ],
    ids=str,
)
async def test_an_environment_that_returns_the_wrong_thing_is_at_fault(
    wrong: dict[str, Any],
) -> None:
    with pytest.raises(EnvironmentFailedError):
        await played(_Wrong(**wrong), always(ADD), limits=Limits(turns=1))


@pytest.mark.parametrize("error", [RuntimeError("bug"), ToolError("bug"), SystemExit("bug")])
async def test_an_agent_that_breaks_is_at_fault(error: BaseException) -> None:
    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        raise error

    with pytest.raises(AgentFailedError, match=f"agent raised {type(error).__name__}: bug"):
        await played(CounterEnvironment(), ActingAgent(act))


async def test_an_agent_that_decides_nothing_is_at_fault() -> None:
    class Absent(Player):
        async def act(self, observation: Observation) -> Any:
            return None

    class Agency(Agent):
        async def begin(self, brief: Brief) -> Player:
            return Absent()

    with pytest.raises(AgentFailedError, match="agent raised AttributeError"):
        await played(CounterEnvironment(), Agency())


async def test_a_model_that_cannot_be_reached_is_not_the_agents_code() -> None:
    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        raise ModelServerError("503")

    with pytest.raises(ModelServerError):
        await played(CounterEnvironment(), ActingAgent(act))


async def test_an_environment_that_does_not_answer_is_given_up() -> None:
    gate = threading.Event()
    episode = Episode()
    with pytest.raises(EnvironmentTimeoutError, match=r"within 1 s \(step\)"):
        await played(
            BlockingEnvironment(gate),
            turns(ADD, call("block")),
            episode=episode,
            step_timeout=1.0,
        )
    gate.set()
    assert len(episode.turns) == 1


async def test_an_environment_without_first_words_is_at_fault() -> None:
    class Silent(CounterEnvironment):
        async def setup(self) -> Any:
            return None

    with pytest.raises(EnvironmentFailedError, match="reset raised TypeError"):
        await played(Silent(), always(ADD))
