"""The tasks: people who write to the clinic, and what is right for each."""

from collections.abc import Iterator

from agentgym_tools.clinic.scenarios import (
    billing,
    booking,
    cancelling,
    moving,
    not_booking,
    people,
    prescriptions,
    questions,
    waiting,
)
from agentgym_tools.tasks import ToolsTask

THEMES = (
    booking,
    not_booking,
    moving,
    cancelling,
    prescriptions,
    billing,
    waiting,
    people,
    questions,
)
"""Modules with `SCENARIOS`."""


def tasks() -> Iterator[ToolsTask]:
    """Yield every task of the clinic, theme by theme."""
    for theme in THEMES:
        for scenario in theme.SCENARIOS:
            yield scenario().task()
