"""What listings show: a row of the store without the record behind it."""

from datetime import datetime

from agentgym.trajectories.record import EpisodeKey
from agentgym.types import Frozen, Usage


class RunSummary(Frozen):
    """One line of `TrajectoryStore.list_runs`.

    Attributes:
        run_id: The run.
        env: The environment's versioned id.
        agent: The agent's name.
        tasks: The task source as it was named.
        created_at: UTC.
        planned: Episodes the run is to have: tasks times epochs.
        graded: Episodes with a grade.
        errors: Episodes that infrastructure broke, not yet done again.
        mean_score: Mean grade over the graded episodes; None without any.
    """

    run_id: str
    env: str
    agent: str
    tasks: str
    created_at: datetime
    planned: int
    graded: int
    errors: int
    mean_score: float | None


class EpisodeSummary(Frozen):
    """One line of `TrajectoryStore.summaries`.

    Attributes:
        key: Which episode.
        seed: What the environment was reset with.
        status: The outcome's status.
        detail: The outcome's detail.
        score: The final grade's value; None where infrastructure broke the episode.
        success: Whether the grade reached the task's threshold.
        turns: Agent turns.
        attempts: How many times the episode was started.
        agent_faults: How often the environment answered a mistake of the agent's.
        faults: Infrastructure faults by kind, survived ones included.
        usage: Tokens and cost of the whole episode.
        model_s: Seconds spent in the agent.
        env_s: Seconds spent in the environment's steps.
        started_at: Start of the last attempt, UTC.
    """

    key: EpisodeKey
    seed: int
    status: str
    detail: str
    score: float | None
    success: bool | None
    turns: int
    attempts: int
    agent_faults: int
    faults: dict[str, int]
    usage: Usage
    model_s: float
    env_s: float
    started_at: datetime
