"""The oracle: submits the gold, so that it scores 1 wherever a task is sound."""

from collections.abc import Generator

from agentgym.types import Action, Observation, Task, call
from agentgym_sql.tasks import Dialect, SqlPrivate, SqlPublic

_ENGINES: dict[str, Dialect] = {"SQLite": "sqlite", "PostgreSQL": "postgresql"}


def oracle(
    task: Task[SqlPublic, SqlPrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Play a task to full reward, in the dialect its first observation names."""
    text = observation.text
    named = [dialect for engine, dialect in _ENGINES.items() if f"({engine})" in text]
    dialect: Dialect = named[0] if named else "mysql"
    statements = task.private.statements(dialect)
    if task.public.kind == "query":
        yield call("submit", query=statements[0])
        return
    for statement in statements:
        yield call("execute", sql=statement)
    yield call("submit")
