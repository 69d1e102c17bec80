"""Sandboxes: the figures of `agentgym sandbox bench`, of every backend that is here."""

import asyncio

from agentgym.sandbox.bench import figures
from agentgym.sandbox.bench.suite import measure as measure_backends
from tests.bench.figures import Effort, Figure, Findings, Skipped


def measure(effort: Effort) -> Findings:
    """Wall times; the floor is a `true` that no sandbox is around."""
    for found in asyncio.run(_collected(figures.Effort(effort.quick))):
        if isinstance(found, figures.Skipped):
            yield Skipped(f"{found.backend}: {found.name}", found.reason)
        else:
            yield Figure(
                f"{found.backend}: {found.name}",
                found.unit,
                found.values,
                aim=found.target,
                kind=found.kind,
            )


async def _collected(effort: figures.Effort) -> list[figures.Figure | figures.Skipped]:
    return [found async for found in measure_backends(None, effort)]
