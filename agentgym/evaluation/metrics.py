"""What a run came to: means with honest error bars, and errors counted apart from scores."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from pydantic import Field

from agentgym.evaluation.passes import PassRates, pass_rates
from agentgym.trajectories.record import RunRecord
from agentgym.trajectories.summaries import EpisodeSummary
from agentgym.types import Frozen, Usage


class RunResult(Frozen):
    """A run in numbers. Means are over scored episodes; None where there is none.

    Attributes:
        tasks: Tasks in the run.
        planned: Episodes the run is made of.
        episodes: Episodes that are in the store, errors included.
        scored: Episodes with a grade.
        mean_reward: Mean grade.
        stderr: Standard error of `mean_reward`, clustered by task: repeated episodes of one
            task are not independent.
        success_rate: Share of scored episodes that reached their task's threshold.
        success_stderr: Standard error of `success_rate`, clustered by task.
        success_rate_planned: Successes over planned episodes: what is missing counts as lost.
        passes: How often tasks are solved in k tries; empty where each was tried once.
        errors: Infrastructure faults by kind, those that a retry mended included; they are
            never scores.
        errored: Episodes that ended in an error.
        limits: Episodes that a limit cut, by limit.
        agent_faults: Calls the environments answered as the agent's mistakes.
        turns: Mean agent turns.
        wall_s: Seconds by the clock; None for a run that was not carried out now.
        cpu_s: CPU seconds of this process and its children, likewise.
    """

    run_id: str
    env: str
    agent: str
    tasks: int
    planned: int
    episodes: int
    scored: int
    mean_reward: float | None
    stderr: float | None
    success_rate: float | None
    success_stderr: float | None
    success_rate_planned: float
    passes: tuple[PassRates, ...] = ()
    errors: dict[str, int] = Field(default_factory=dict)
    errored: int = 0
    limits: dict[str, int] = Field(default_factory=dict)
    agent_faults: int = 0
    turns: float | None = None
    usage: Usage = Usage()
    model_s: float = 0.0
    env_s: float = 0.0
    wall_s: float | None = None
    cpu_s: float | None = None


def summarise(run: RunRecord, episodes: Iterable[EpisodeSummary]) -> RunResult:
    """Reduce a run's episodes to numbers."""
    rows = list(episodes)
    scored = [row for row in rows if row.score is not None]
    rewards = _by_task(scored, [row.score or 0.0 for row in scored])
    successes = _by_task(scored, [float(bool(row.success)) for row in scored])
    planned = len(run.task_ids) * run.epochs
    errors: Counter[str] = Counter()
    for row in rows:
        errors.update(row.faults)
    return RunResult(
        run_id=run.run_id,
        env=run.env,
        agent=run.agent,
        tasks=len(run.task_ids),
        planned=planned,
        episodes=len(rows),
        scored=len(scored),
        mean_reward=_mean(rewards),
        stderr=clustered_stderr(rewards),
        success_rate=_mean(successes),
        success_stderr=clustered_stderr(successes),
        success_rate_planned=sum(bool(row.success) for row in scored) / planned,
        passes=_passes(run, successes),
        errors=dict(sorted(errors.items())),
        errored=len(rows) - len(scored),
        limits=dict(Counter(row.detail for row in rows if row.status == "limit")),
        agent_faults=sum(row.agent_faults for row in rows),
        turns=fmean([row.turns for row in scored]) if scored else None,
        usage=sum((row.usage for row in rows), Usage()),
        model_s=sum(row.model_s for row in rows),
        env_s=sum(row.env_s for row in rows),
    )


def _passes(run: RunRecord, successes: Mapping[str, Sequence[float]]) -> tuple[PassRates, ...]:
    if run.epochs == 1:
        return ()
    tries = {task_id: successes.get(task_id, ()) for task_id in run.task_ids}
    return pass_rates({k: (len(v), round(sum(v))) for k, v in tries.items()}, run.epochs)


def clustered_stderr(clusters: Mapping[str, Sequence[float]]) -> float | None:
    """Standard error of the mean over all values, where values of one cluster may correlate.

    With one value a cluster it is the sample standard deviation over the root of their number.
    Source: Liang and Zeger (1986) for an intercept-only model, with the G/(G-1) correction.

    Args:
        clusters: Values by cluster.

    Returns:
        None with fewer than two clusters.
    """
    if len(clusters) < 2:
        return None
    count = sum(map(len, clusters.values()))
    mean = sum(map(sum, clusters.values())) / count
    squares = math.fsum((sum(v) - len(v) * mean) ** 2 for v in clusters.values())
    return math.sqrt(squares * len(clusters) / (len(clusters) - 1)) / count


def _by_task(rows: Sequence[EpisodeSummary], values: Sequence[float]) -> dict[str, list[float]]:
    clusters: dict[str, list[float]] = {}
    for row, value in zip(rows, values, strict=True):
        clusters.setdefault(row.key.task_id, []).append(value)
    return clusters


def _mean(clusters: Mapping[str, Sequence[float]]) -> float | None:
    values = [value for cluster in clusters.values() for value in cluster]
    return fmean(values) if values else None
