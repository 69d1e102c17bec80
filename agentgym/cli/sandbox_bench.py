"""`agentgym sandbox bench`: figures as a table or as JSON."""

import asyncio
import os
import platform
import time
from collections.abc import Sequence
from typing import NamedTuple

import typer

from agentgym.cli.output import print_table, print_text
from agentgym.sandbox.bench.figures import Effort, Figure, Skipped
from agentgym.sandbox.bench.suite import measure, to_json
from agentgym.types import Json


class Bench(NamedTuple):
    """What was measured.

    Attributes:
        load: The machine's load before it, to judge the figures by.
        wall_s: How long it took.
    """

    found: list[Figure | Skipped]
    quick: bool
    load: float
    wall_s: float

    def to_json(self) -> dict[str, Json]:
        """Return it with what it was measured on."""
        return {
            "quick": self.quick,
            "wall_s": round(self.wall_s, 1),
            "machine": {
                "cores": os.cpu_count(),
                "load": round(self.load, 2),
                "kernel": platform.release(),
                "architecture": platform.machine(),
                "python": platform.python_version(),
            },
            **to_json(self.found),
        }


def carry_out(names: Sequence[str] | None, *, quick: bool) -> Bench:
    """Measure backends, and tell a person which part it is at.

    Args:
        names: Their names; None is Docker and bubblewrap, those that are here.
        quick: Whether to do a tenth of the work.

    Raises:
        SandboxUnavailableError: A backend is not available here.
        UnknownNameError: There is no such backend.
    """
    load, started = os.getloadavg()[0], time.perf_counter()

    async def collect() -> list[Figure | Skipped]:
        findings = measure(names, Effort(quick), say=lambda line: typer.echo(line, err=True))
        return [item async for item in findings]

    found = asyncio.run(collect())
    return Bench(found, quick, load, time.perf_counter() - started)


def print_figures(bench: Bench) -> None:
    """Print a table."""
    print_table(
        ("backend", "figure", "median", "p10", "p90", "unit", "x floor", "target"),
        [
            (
                item.backend,
                f"{item.name} ({item.kind})" if item.kind != "figure" else item.name,
                *(_short(v) for v in (item.median, item.percentile(10), item.percentile(90))),
                item.unit,
                f"{item.median / item.floor:.2f}" if item.floor else "",
                f"< {_short(item.target)}" if item.target else "",
            )
            for item in bench.found
            if isinstance(item, Figure)
        ],
    )
    for item in bench.found:
        if isinstance(item, Skipped):
            print_text(f"{item.backend}, {item.name}: not measured. {item.reason}")
    print_text("floor: the same work without a sandbox, in the same run; peer: by other means.")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
