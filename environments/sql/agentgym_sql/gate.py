"""Which kinds of statement reach a server.

The wall is the role's privileges, and one statement a call by the wire protocol. The gate
stands before it to tell an agent in one clear line what is not allowed, and keeps out what
no privilege covers: session settings, transactions, locks.
"""

import re
from typing import NamedTuple

from agentgym_sql.clock import NOW
from agentgym_sql.guard import MAX_STATEMENT
from agentgym_sql.results import StatementError

# PostgreSQL nests comments and MySQL does not: one inside another matches nothing here.
_SPACE = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:(?!/\*).)*?\*/)"
_LEAD = re.compile(rf"(?:{_SPACE}|[(;])*+([a-zA-Z]*)", re.DOTALL)
_OBJECT = re.compile(
    rf"\w+{_SPACE}++(?:or{_SPACE}++replace{_SPACE}++)?(?:unique{_SPACE}++)?(\w+)",
    re.DOTALL | re.IGNORECASE,
)
_READS = frozenset({"select", "with", "values", "table", "explain"})
_MYSQL_READS = _READS | {"show", "describe", "desc"}
_ROW_WRITES = frozenset({"insert", "update", "delete", "merge", "replace", "truncate"})
_SCHEMA_WRITES = frozenset({"create", "alter", "drop"})
_OBJECTS = frozenset({"table", "view", "index"})
_SHOWN = frozenset({"tables", "columns", "index", "indexes", "keys", "create", "full", "fields"})
# Words rather than calls: a comment or quotes may stand between a function and its parenthesis.
# Locks are felt by other sessions, ENCRYPT cannot be stopped, and a session's status tells of
# the statements before.
_MYSQL_HIDDEN = re.compile(
    r"@@|\binto\s+(?:out|dump)file\b|\b(?:sysdate|uuid|uuid_short|sys_guid|random_bytes)\s*\("
    r"|\b(?:(?:get|release|is_free|is_used)_lock|release_all_locks|load_file|encrypt|found_rows"
    r"|(?:global|session)_status|(?:global|session|system)_variables|processlist)\b",
    re.IGNORECASE,
)
_POSTGRES_CLOCK = re.compile(
    r"\bcurrent_(?:date|time|timestamp)\b|\blocaltime(?:stamp)?\b"
    r"|\b(?:now|(?:clock|statement|transaction)_timestamp|timeofday)\s*\(",
    re.IGNORECASE,
)
_ROW_SECURITY = re.compile(rf"\brow{_SPACE}++level\b", re.IGNORECASE | re.DOTALL)
_CHANGES_ANYHOW = re.compile(r"\b(?:into|nextval|setval)\b", re.IGNORECASE)
_EXECUTED_COMMENT = re.compile(r"/\*M?!", re.IGNORECASE)
_ONE_BY_ONE = "each statement is committed by itself."
_REFUSALS = {
    **dict.fromkeys(
        ("begin", "start", "commit", "rollback", "savepoint", "release", "end", "abort"),
        f"Transaction statements are not allowed: {_ONE_BY_ONE}",
    ),
    **dict.fromkeys(("set", "reset", "discard"), "Settings cannot be changed."),
    **dict.fromkeys(("use", "attach"), "There is one database."),
}


class Passed(NamedTuple):
    """A statement that may run.

    Attributes:
        writes: Whether it may change the database.
        counts: Whether the number of rows it changed means something.
    """

    writes: bool
    counts: bool


def check(sql: str, *, writable: bool, mysql: bool) -> Passed:
    """Let a statement pass or refuse it.

    Args:
        sql: The statement.
        writable: Whether the session may change its database.
        mysql: Whether it speaks MySQL's dialect, PostgreSQL's otherwise.

    Raises:
        StatementError: It is not allowed, empty or too long.
    """
    _check_text(sql)
    if mysql:
        _check_mysql(sql)
    else:
        _check_postgres(sql)
    lead = _LEAD.match(sql)
    verb = lead[1].lower() if lead else ""
    if lead and not verb and not sql[lead.end() :].strip():
        raise StatementError("error", "The statement is empty.")
    if verb in (_MYSQL_READS if mysql else _READS):
        _check_show(sql[lead.start(1) :] if lead else sql, verb)
        writes = verb in {"with", "explain"} or _CHANGES_ANYHOW.search(sql) is not None
        return Passed(writable and writes, counts=False)
    if verb not in _ROW_WRITES | _SCHEMA_WRITES:
        raise StatementError("refused", _REFUSALS.get(verb, _unknown(verb)))
    if not writable:
        message = "This database is read-only: only SELECT statements are allowed."
        raise StatementError("refused", message)
    if verb in _SCHEMA_WRITES and lead:
        _check_object(sql[lead.start(1) :], verb)
    return Passed(writes=True, counts=verb in _ROW_WRITES)


def _check_text(sql: str) -> None:
    try:
        size = len(sql.encode())
    except UnicodeEncodeError as error:
        raise StatementError("error", "The statement is not valid Unicode text.") from error
    if size > MAX_STATEMENT:
        raise StatementError("too_big", "The statement itself is larger than allowed.")
    if "\0" in sql:
        raise StatementError("error", "The statement holds a null character.")


def _check_mysql(sql: str) -> None:
    if _EXECUTED_COMMENT.search(sql):
        raise StatementError("refused", "Executable comments are not allowed.")
    hidden = _MYSQL_HIDDEN.search(sql)
    if hidden:
        raise StatementError("refused", f"{hidden[0].strip('( ')} is not allowed.")


def _check_postgres(sql: str) -> None:
    clock = _POSTGRES_CLOCK.search(sql)
    if clock:
        what = clock[0].strip("( ")
        message = f"{what} is not allowed: it is not the same in every run. The time is {NOW}."
        raise StatementError("refused", message)


def _check_show(sql: str, verb: str) -> None:
    if verb == "show":
        words = [*sql.lower().split(None, 3), "", ""]
        made = words[1] == "create" and words[2] not in _OBJECTS
        if words[1] not in _SHOWN or made:
            raise StatementError("refused", "Only tables, columns and indexes can be shown.")


def _check_object(sql: str, verb: str) -> None:
    found = _OBJECT.match(sql)
    what = found[1].lower() if found else ""
    if what not in _OBJECTS:
        name = f"{verb} {what}".upper().strip()
        message = f"{name} is not allowed: only tables, views and indexes."
        raise StatementError("refused", message)
    if _ROW_SECURITY.search(sql):  # it would hide rows from the grader as if they were deleted
        raise StatementError("refused", "Row level security is not allowed.")


def _unknown(verb: str) -> str:
    return f"{verb.upper()} is not allowed." if verb else "This is not a SQL statement."
