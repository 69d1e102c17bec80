"""What people write to the provider about: hand-made scenarios over the domain's records."""

from collections.abc import Iterator

from agentgym_tools.broadband.scenarios import (
    contracts,
    line_faults,
    logins,
    outages,
    plans,
    visits,
    wifi,
)
from agentgym_tools.tasks import ToolsTask

_THEMES = (line_faults, logins, wifi, outages, plans, visits, contracts)


def tasks() -> Iterator[ToolsTask]:
    """Yield every task, theme by theme."""
    for theme in _THEMES:
        for conversation in theme.conversations():
            yield conversation.task()
