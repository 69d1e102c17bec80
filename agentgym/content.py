"""Where the shipped content lies: task sets, sandbox recipes, suites and baselines.

In a checkout they are the top-level folders beside this package; in a wheel they are inside
it. Everything that reads content asks here.
"""

from pathlib import Path

from agentgym.errors import UsageError

_PACKAGE = Path(__file__).parent


def content_path(*parts: str) -> Path:
    """Return the path of shipped content, such as `content_path("tasks", "sql", "core")`.

    Raises:
        UsageError: The content is not there: a damaged installation.
    """
    for root in (_PACKAGE / "_content", _PACKAGE.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise UsageError(
        f"The shipped content {'/'.join(parts)} is missing.",
        remedy="Install agentgym again from its checkout.",
    )
