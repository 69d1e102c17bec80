"""Which database engine serves an environment."""

from agentgym_sql.session import Backend
from agentgym_sql.sqlite import SqliteBackend
from agentgym_sql.tasks import Dialect


def open_backend(url: str | None) -> tuple[Backend, Dialect]:
    """Return a backend and the dialect it speaks.

    Args:
        url: An administrator's SQLAlchemy URL of a server; None takes SQLite.

    Raises:
        UsageError: The URL is malformed, or of an engine that is not served.
        MissingExtraError: Its driver is not installed.
    """
    if url is None:
        return SqliteBackend(), "sqlite"
    # Imported here: SQLAlchemy is of no use to a run on SQLite.
    from agentgym_sql.servers import open_server

    return open_server(url)
