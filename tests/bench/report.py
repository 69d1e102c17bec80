"""The bench's two outputs: a table for a person and JSON for a program."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import median
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table

from tests.bench.figures import Effort, Figure, Skipped

Results: TypeAlias = Mapping[str, Sequence[Figure | Skipped]]

_PACKAGES = ("aiohttp", "litellm", "openai", "pydantic", "sqlalchemy")


def to_json(results: Results, effort: Effort, wall_s: float) -> dict[str, Any]:
    """Return everything measured, and on what."""
    found = [(topic, item) for topic, items in results.items() for item in items]
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": effort.quick,
        "wall_s": round(wall_s, 1),
        "machine": {
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 2),
            "platform": platform.system(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
        },
        "packages": {name: version(name) for name in _PACKAGES},
        "figures": [
            {"topic": t, **item.to_json()} for t, item in found if isinstance(item, Figure)
        ],
        "skipped": [
            {"topic": t, **item.to_json()} for t, item in found if isinstance(item, Skipped)
        ],
    }


def show(results: Results) -> None:
    """Print the table."""
    table = Table(box=None, pad_edge=False)
    for name in ("topic", "figure"):
        table.add_column(name, overflow="fold")
    for name in ("median", "min", "max", "unit", "aim"):
        table.add_column(name, justify="right")
    for topic, items in results.items():
        for item in items:
            table.add_row(topic, *_row(item))
    console = Console()
    console = console if console.is_terminal else Console(width=120)
    console.print(table)
    console.print("floor: the same work without agentgym; peer: by other means.", style="dim")


def _row(item: Figure | Skipped) -> tuple[str, ...]:
    if isinstance(item, Skipped):
        return (f"{item.name}: skipped, {item.reason}",)
    name = item.name if item.kind == "figure" else f"{item.name} ({item.kind})"
    values = (median(item.values), min(item.values), max(item.values))
    aim = "" if item.aim is None else f"< {item.aim:g}"
    return (name, *(_short(value) for value in values), item.unit, aim)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
