"""The trajectory: the one record that replay, training, audit and display all read."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field

from agentgym.faults import Fault
from agentgym.types import Action, Frozen, Json, Observation, Reward, TokenTrace, Usage


class Turn(Frozen):
    """One agent turn and the environment's answer to it.

    Attributes:
        action: What the agent did.
        observation: What the environment answered.
        reward: The turn's reward; on the last turn, the final grade.
        fingerprint: The environment's state after the turn, where it can tell.
        usage: Tokens and cost of the model calls behind the action.
        reasoning: The model's own reasoning, where the endpoint gives it apart.
        tokens: The exact tokens behind the action, where the model gives them.
        model_s: Seconds spent in the agent.
        env_s: Seconds spent in the environment.
    """

    action: Action
    observation: Observation
    reward: Reward
    fingerprint: str | None = None
    usage: Usage = Usage()
    reasoning: str | None = None
    tokens: TokenTrace | None = None
    model_s: float = 0.0
    env_s: float = 0.0


class Outcome(Frozen):
    """How an episode ended.

    Attributes:
        status: `completed` at the task's own end (or where the agent stopped), `limit` where a
            limit cut it, `error` where infrastructure broke; an error carries no grade.
        detail: Which limit ("turns", "tokens", "cost", "time", the model's "context", "left" where
            the agent went away, or the "environment" for one of its own), or the error's kind.
    """

    status: Literal["completed", "limit", "error"]
    detail: str = ""


class EpisodeKey(Frozen):
    """Which episode of a run: unique in it.

    Attributes:
        task_id: The task.
        epoch: The repetition, from 0.
    """

    task_id: str
    epoch: int = 0


class Trajectory(Frozen):
    """One whole episode.

    Attributes:
        task_hash: The task's content hash, so that replay knows it plays the same task.
        seed: What the environment was reset with.
        first: The observation of the reset.
        first_fingerprint: The environment's state after the reset, where it can tell.
        grade: The final grade; None exactly when the outcome is an error.
        success: Whether the grade reached the task's threshold; None without a grade.
        faults: Infrastructure faults met on the way, including retried ones.
        attempts: How many times the episode was started.
        started_at: Wall-clock start of the last attempt, UTC.
    """

    run_id: str
    env: str
    agent: str
    key: EpisodeKey
    task_hash: str
    seed: int
    first: Observation | None = None
    first_fingerprint: str | None = None
    turns: tuple[Turn, ...] = ()
    outcome: Outcome
    grade: Reward | None = None
    success: bool | None = None
    faults: tuple[Fault, ...] = ()
    attempts: int = 1
    started_at: datetime

    @property
    def usage(self) -> Usage:
        """Tokens and cost of the whole episode."""
        return sum((turn.usage for turn in self.turns), Usage())

    @property
    def model_s(self) -> float:
        """Seconds spent in the agent."""
        return sum(turn.model_s for turn in self.turns)

    @property
    def env_s(self) -> float:
        """Seconds spent in the environment's steps."""
        return sum(turn.env_s for turn in self.turns)

    @property
    def agent_faults(self) -> int:
        """How often the environment answered a mistake of the agent's."""
        return sum(len(turn.observation.faults) for turn in self.turns)


class RunRecord(Frozen):
    """What a run is: enough to continue it, and to tell whether two runs are comparable.

    Attributes:
        run_id: Unique in its store.
        env: The environment's versioned id, such as "sql-v1".
        env_options: What the environment was made with.
        tasks: The task source as it was named.
        tasks_hash: Content hash of the tasks selected.
        task_ids: The tasks selected, in order.
        agent: The agent's name.
        agent_config: Its settings, secrets left out.
        seed: The run's seed.
        epochs: Episodes a task.
        limits: Limits by name.
        provenance: Package versions, git revision, Python, platform, and how the agent was
            reached; none of it keeps a run from being continued.
        created_at: UTC.
    """

    run_id: str
    env: str
    env_options: Mapping[str, Json] = Field(default_factory=dict)
    tasks: str
    tasks_hash: str
    task_ids: tuple[str, ...]
    agent: str
    agent_config: Mapping[str, Json] = Field(default_factory=dict)
    seed: int = 0
    epochs: int = 1
    limits: Mapping[str, Json] = Field(default_factory=dict)
    provenance: Mapping[str, Json] = Field(default_factory=dict)
    created_at: datetime
