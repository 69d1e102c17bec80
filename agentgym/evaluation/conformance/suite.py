"""The runner: every check, one after the other, each within its time."""

import asyncio
from collections.abc import Mapping
from typing import Any

from agentgym.env import blame
from agentgym.errors import AgentgymError, ToolError
from agentgym.evaluation.conformance import (
    bad_actions,
    declaration,
    determinism,
    episodes,
    fingerprints,
    isolation,
    privacy,
    rewards,
    snapshots,
    state,
)
from agentgym.evaluation.conformance.check import Check, Verdict, skipped
from agentgym.evaluation.conformance.results import CheckResult, Report
from agentgym.evaluation.conformance.subject import Subject
from agentgym.registry import EnvSpec
from agentgym.tasks import TaskSet

_SHOWN_LINES = 8
_SHOWN_CHARS = 1000

_TOPICS = (
    declaration,
    episodes,
    determinism,
    state,
    bad_actions,
    fingerprints,
    snapshots,
    privacy,
    rewards,
    isolation,
)
CHECKS: tuple[Check, ...] = tuple(item for topic in _TOPICS for item in topic.CHECKS)


async def check_environment(
    spec: EnvSpec,
    tasks: TaskSet,
    *,
    options: Mapping[str, Any] | None = None,
    sample: int = 8,
    seed: int = 0,
    instances: int = 32,
    turns: int = 12,
    openings: int = 1000,
    every_oracle: bool = False,
    patience: float = 60.0,
) -> Report:
    """Run every check on an environment.

    Args:
        spec: The environment, registered or not.
        tasks: Its tasks; unsound ones are left out, and listed in the report.
        options: The environment's own options.
        sample: Tasks that episodes are played on, at most.
        seed: Chooses the sample, and is the episodes' seed.
        instances: Instances at once in the concurrency check.
        turns: Turns of an episode at most; the oracle's are limited by task and spec alone.
        openings: Tasks whose first observation is searched for private text, at most.
        every_oracle: Whether the oracle plays every task, not the sampled ones alone.
        patience: Seconds an episode may take; a check that plays some may take ten times that.

    Returns:
        The report; whatever an environment raises is in it, as a failure.

    Raises:
        UsageError: There is no sound task to try, or no such option.
    """
    subject = Subject(
        spec,
        tasks,
        options=options or {},
        sample=sample,
        seed=seed,
        instances=instances,
        turns=turns,
        openings=openings,
        every_oracle=every_oracle,
        patience=patience,
    )
    await subject.prepare()
    results = [await _run(item, subject, item.episodes * patience) for item in CHECKS]
    return Report(
        environment=spec.id,
        task_set=tasks.source,
        task_ids=tuple(task.id for task in subject.sampled),
        seed=seed,
        results=tuple(results),
        unsound=tasks.unsound,
    )


async def _run(item: Check, subject: Subject, patience: float) -> CheckResult:
    try:
        async with asyncio.timeout(patience):
            with blame(item.name):
                verdict = await _verdict(item, subject)
    except TimeoutError:
        verdict = Verdict("failed", (f"it did not come to an end within {patience:g} s",))
    except (AgentgymError, ToolError) as error:
        verdict = Verdict("failed", (f"{type(error).__name__}: {error}",))
    return _result(item, verdict)


async def _verdict(item: Check, subject: Subject) -> Verdict:
    for need in item.needs:
        reason = await subject.lacks(need)
        if reason is not None:
            return skipped(reason)
    return await item.run(subject)


def _result(item: Check, verdict: Verdict) -> CheckResult:
    """Return a verdict as the result of a check."""
    lines = tuple(_printable(line) for line in verdict.lines[:_SHOWN_LINES])
    more = len(verdict.lines) - len(lines)
    detail = "\n".join((*lines, f"and {more} more") if more else lines)
    return CheckResult(name=item.name, status=verdict.status, contract=item.contract, detail=detail)


def _printable(line: str) -> str:
    """Escape what would disturb a terminal, and shorten what would fill it."""
    shown = line[:_SHOWN_CHARS]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
