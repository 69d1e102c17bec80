"""One episode: an agent plays an environment until the end, a limit or a fault."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.env import Environment, blame
from agentgym.errors import (
    AgentFailedError,
    AgentLeftError,
    EnvironmentTimeoutError,
    ModelContextError,
    ModelError,
)
from agentgym.faults import Fault
from agentgym.trajectories.record import Outcome, Turn
from agentgym.types import Limits, Observation, Reward, Task, Transition, Usage


@dataclass
class Episode:
    """What an episode has come to so far; complete up to the turn where a fault strikes."""

    first: Observation | None = None
    first_fingerprint: str | None = None
    turns: list[Turn] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    env_s: float = 0.0
    outcome: Outcome | None = None
    grade: Reward | None = None


@dataclass(frozen=True)
class Rules:
    """What holds for every episode of a run.

    Attributes:
        limits: What an episode may spend.
        step_timeout: Seconds after which an environment that does not answer is given up.
        fingerprints: Whether states are fingerprinted after every turn.
    """

    limits: Limits
    step_timeout: float = 300.0
    fingerprints: bool = False


async def play(
    episode: Episode,
    environment: Environment,
    agent: Agent,
    brief: Brief,
    task: Task[Any, Any],
    rules: Rules,
) -> None:
    """Play one episode, filling in `episode` as it goes.

    Raises:
        EpisodeError: Infrastructure broke; `episode` holds what was before.
    """
    async with _patience(rules, "reset"):
        observation = episode.first = await environment.reset(task, seed=brief.seed)
    episode.first_fingerprint = await _fingerprint(environment, rules)
    with blame("agent", AgentFailedError):
        player = await agent.begin(brief)
    while episode.outcome is None:
        started = time.perf_counter()
        try:
            decision = await _decide(episode, player, observation)
        except ModelContextError:
            episode.outcome = Outcome(status="limit", detail="context")
            break
        except AgentLeftError:
            episode.outcome = Outcome(status="limit", detail="left")
            break
        observation = await _step(
            episode, environment, decision, rules, time.perf_counter() - started
        )
        if episode.outcome is None:
            episode.outcome = _struck(episode, rules.limits)
    if episode.grade is None:
        await _grade_from_outside(episode, environment, rules)
    with blame("grade"):
        _check_range(episode.grade, task)


def own_end(transition: Transition) -> Outcome | None:
    """Return how the environment itself ended the episode, if it did."""
    if transition.terminated:
        return Outcome(status="completed")
    return Outcome(status="limit", detail="environment") if transition.truncated else None


async def _decide(episode: Episode, player: Player, observation: Observation) -> Decision:
    with blame("agent", AgentFailedError):
        try:
            decision = await player.act(observation)
        except ModelError as error:
            episode.faults += [Fault(kind=e.kind, message=str(e)) for e in error.retried]
            raise
        episode.faults.extend(decision.faults)
        episode.usage += decision.usage
    return decision


async def _step(
    episode: Episode,
    environment: Environment,
    decision: Decision,
    rules: Rules,
    model_s: float,
) -> Observation:
    started = time.perf_counter()
    async with _patience(rules, "step"):
        transition = await environment.step(decision.action)
    env_s = time.perf_counter() - started
    fingerprint = await _fingerprint(environment, rules)
    with blame("step"):
        episode.turns.append(
            Turn(
                action=decision.action,
                observation=transition.observation,
                reward=transition.reward,
                fingerprint=fingerprint,
                usage=decision.usage,
                reasoning=decision.reasoning,
                tokens=decision.tokens,
                model_s=round(model_s, 6),
                env_s=round(env_s, 6),
            )
        )
    episode.env_s += env_s
    episode.outcome = own_end(transition)
    if episode.outcome is not None:
        episode.grade = transition.reward
    return transition.observation


def _struck(episode: Episode, limits: Limits) -> Outcome | None:
    """Return the limit that ends the episode now, if one does."""
    usage = episode.usage
    spent = (
        ("turns", len(episode.turns), limits.turns),
        ("tokens", usage.prompt_tokens + usage.completion_tokens, limits.tokens),
        ("cost", usage.cost or 0.0, limits.cost),
        ("time", episode.env_s, limits.time),
    )
    for name, amount, limit in spent:
        if limit is not None and amount >= limit:
            return Outcome(status="limit", detail=name)
    return None


async def _grade_from_outside(episode: Episode, environment: Environment, rules: Rules) -> None:
    async with _patience(rules, "grade"):
        with blame("grade"):
            episode.grade = await environment.grade()
    if episode.turns:  # the last turn carries the grade, whoever ended the episode
        episode.turns[-1] = episode.turns[-1].model_copy(update={"reward": episode.grade})


def _check_range(grade: Reward | None, task: Task[Any, Any]) -> None:
    low, high = task.reward_range
    if grade is None or not low <= grade.value <= high:
        value = None if grade is None else grade.value
        raise ValueError(f"{value} is outside the task's range {low} to {high}")


async def _fingerprint(environment: Environment, rules: Rules) -> str | None:
    if not rules.fingerprints:
        return None
    async with _patience(rules, "fingerprint"):
        return await environment.fingerprint()


@asynccontextmanager
async def _patience(rules: Rules, where: str) -> AsyncIterator[None]:
    """Give the environment its time, and name it where its code raises."""
    try:
        async with asyncio.timeout(rules.step_timeout):
            with blame(where):
                yield
    except TimeoutError:
        raise EnvironmentTimeoutError(
            f"The environment did not answer within {rules.step_timeout:g} s ({where})."
        ) from None
