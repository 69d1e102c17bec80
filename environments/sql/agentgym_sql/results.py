"""What a database session answers with: rows, schemas, and statements that did not run.

Imported by the host and by its worker processes, which start without site-packages, so it
needs the standard library only.
"""

from typing import Literal, NamedTuple, TypeAlias

Value: TypeAlias = int | float | str | bytes | None
"""A cell. Booleans are int, dates and times ISO text, decimals int or float."""

StatementFault = Literal["error", "refused", "timeout", "too_big"]


class StatementError(Exception):
    """A statement that did not run; the database is as it was before it.

    Args:
        kind: "error" where the engine rejected it, "refused" where it is not allowed here,
            "timeout" where it reached its time limit, "too_big" where it, its result or the
            memory it needed is over a limit.
        message: One line for the agent.
    """

    def __init__(self, kind: StatementFault, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message

    @classmethod
    def timeout(cls, timeout_s: float) -> "StatementError":
        """Return the error of a statement stopped after `timeout_s` seconds."""
        message = f"The statement was stopped at its time limit of {timeout_s:g} s."
        return cls("timeout", f"{message} Nothing was changed.")


class DatabaseUnusableError(Exception):
    """A worker cannot open what it was given; the person who called has to act.

    Args:
        message: What is wrong, one sentence.
        remedy: What mends it.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class DatabaseLostError(Exception):
    """The server a worker talks to is gone, or closed the connection."""


class Result(NamedTuple):
    """The rows of one statement.

    Attributes:
        columns: Column names, as the engine gives them; empty for a statement without rows.
        rows: At most as many as asked for.
        truncated: Whether more rows followed, or were too large to be returned.
        rowcount: Rows changed by INSERT, UPDATE or DELETE; None for other statements.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    truncated: bool
    rowcount: int | None


class Column(NamedTuple):
    """A column of a table or view; `type` is the engine's word, possibly empty."""

    name: str
    type: str
    nullable: bool
    primary_key: bool


class ForeignKey(NamedTuple):
    """Columns that point to the columns of another table."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


class Table(NamedTuple):
    """A table or view."""

    name: str
    kind: Literal["table", "view"]
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...]
