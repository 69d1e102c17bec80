"""The plan of a run: which episodes, by which rules, and where it comes from."""

import platform
import subprocess
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.agents.base import Agent
from agentgym.env import Environment
from agentgym.errors import UsageError
from agentgym.registry import EnvSpec, build
from agentgym.rollout.episode import Rules
from agentgym.tasks import TaskSet, task_hash
from agentgym.trajectories.record import EpisodeKey, RunRecord
from agentgym.types import Json, Limits, Task

MAX_SEED = 2**62
"""Seeds are kept as 64-bit integers, and epochs count up from the run's."""


class Job(NamedTuple):
    """One episode to play."""

    key: EpisodeKey
    task: Task[Any, Any]
    task_hash: str
    seed: int


@dataclass(frozen=True)
class Plan:
    """Everything that decides a run's results, and how hard to push.

    Attributes:
        epochs: Episodes a task; epoch `e` is played with seed `seed + e`.
        limits: What an episode may spend; `turns` None takes the task's or environment's own.
        concurrency: Episodes at once.
        attempts: How often an episode is started at most, where infrastructure breaks.
        backoff: Seconds before the second attempt, doubled for each that follows.
        step_timeout: Seconds after which an environment that does not answer is given up.
    """

    env_spec: EnvSpec
    tasks: TaskSet
    agent: Agent
    env_options: dict[str, Json] = field(default_factory=dict)
    epochs: int = 1
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    concurrency: int = 8
    attempts: int = 3
    backoff: float = 0.5
    step_timeout: float = 300.0
    run_id: str = field(default_factory=lambda: new_run_id())

    def __post_init__(self) -> None:
        for name in ("epochs", "concurrency", "attempts"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}.", remedy="Give 1 or more.")
        if not 0 <= self.seed <= MAX_SEED:
            raise UsageError(f"seed is {self.seed}.", remedy=f"Give 0 to {MAX_SEED}.")

    def jobs(self, done: Collection[EpisodeKey] = ()) -> Iterator[Job]:
        """Yield the episodes that are not done, one epoch after the other."""
        hashes = {task.id: task_hash(task) for task in self.tasks}
        for epoch in range(self.epochs):
            for task in self.tasks:
                key = EpisodeKey(task_id=task.id, epoch=epoch)
                if key not in done:
                    yield Job(key, task, hashes[task.id], self.seed + epoch)

    def rules(self, task: Task[Any, Any]) -> Rules:
        """Return what holds for an episode of one task."""
        turns = self.limits.turns or task.max_turns or self.env_spec.max_turns
        return Rules(
            limits=self.limits.model_copy(update={"turns": turns}),
            step_timeout=self.step_timeout,
            fingerprints="fingerprint" in self.env_spec.capabilities,
        )

    def environment(self) -> Environment:
        """Make an environment for this run."""
        return build(self.env_spec, **self.env_options)

    def record(self) -> RunRecord:
        """Return the run's record, as the store keeps it."""
        return RunRecord(
            run_id=self.run_id,
            env=self.env_spec.id,
            env_options=self.env_options,
            tasks=self.tasks.source,
            tasks_hash=self.tasks.hash,
            task_ids=tuple(task.id for task in self.tasks),
            agent=self.agent.name,
            agent_config=self.agent.config(),
            seed=self.seed,
            epochs=self.epochs,
            limits=self.limits.model_dump(exclude_none=True),
            provenance={**provenance(), "agent": self.agent.provenance()},
            created_at=datetime.now(UTC),
        )


COMPARED = (
    "env",
    "env_options",
    "tasks_hash",
    "task_ids",
    "agent",
    "agent_config",
    "seed",
    "epochs",
    "limits",
)


def check_same(stored: RunRecord, planned: RunRecord) -> None:
    """Refuse to continue a run as something else.

    Raises:
        UsageError: They differ in what decides results; each difference is named.
    """
    theirs, ours = stored.model_dump(mode="json"), planned.model_dump(mode="json")
    differing = [part for name in COMPARED for part in _differing(name, theirs[name], ours[name])]
    if differing:
        raise UsageError(
            f"Run {stored.run_id!r} was started with other settings: {', '.join(differing)}.",
            remedy="Use the same settings, or another --run-id.",
        )


def _differing(name: str, theirs: Json, ours: Json) -> list[str]:
    """Return what of a setting differs: the setting, or the parts of it by name."""
    if theirs == ours:
        return []
    if not (isinstance(theirs, dict) and isinstance(ours, dict)):
        return [name]
    parts = sorted({*theirs, *ours})
    return [f"{name}.{part}" for part in parts if theirs.get(part) != ours.get(part)]


def new_run_id() -> str:
    """Return a run id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"


def provenance() -> dict[str, Json]:
    """Return what the results came from: versions, platform and source revision."""
    # The remains of an installation that was broken off have no name.
    ours = {d.name: d.version for d in distributions() if (d.name or "").startswith("agentgym")}
    for name in ("pydantic", "sqlalchemy", "aiohttp", "openai", "litellm"):
        try:
            ours[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "packages": dict(sorted(ours.items())),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "git": _git_revision(),
    }


def _git_revision() -> str | None:
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
