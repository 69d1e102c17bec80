"""What a SQL statement may do in SQLite: default deny, by authorizer, limits and clock.

Read-only opening is no sandbox: ATTACH, VACUUM INTO and `file:?mode=rwc` write files all the
same, and a pragma undoes `query_only`. What holds is an authorizer that names what is
allowed, a progress handler for time, and SQLite's own limits for what neither can stop, such
as one call of `hex(zeroblob(2e8))`.
"""

import sqlite3
import time

MAX_VALUE = 1_000_000
"""Bytes of one string, blob or row that a statement may build or read."""

MAX_STATEMENT = 100_000
"""Bytes of one statement's text."""

_STEPS_BETWEEN_CLOCK_READS = 1000

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_STATEMENT,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 250,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 5000,
}

_FUNCTIONS = """
-> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling changes char coalesce
concat concat_ws cos cosh count cume_dist current_date current_time current_timestamp date
datetime degrees dense_rank exp first_value floor format glob group_concat hex if ifnull
iif instr json json_array json_array_length json_each json_error_position json_extract
json_group_array json_group_object json_insert json_object json_patch json_pretty
json_quote json_remove json_replace json_set json_tree json_type json_valid julianday lag
last_insert_rowid last_value lead length like likelihood likely ln log log10 log2 lower
ltrim max median min mod nth_value ntile nullif octet_length percent_rank percentile
percentile_cont percentile_disc pi pow power printf quote radians random randomblob rank
replace round row_number rtrim sign sin sinh soundex sqlite_version sqrt strftime
string_agg substr substring subtype sum tan tanh time timediff total trim trunc typeof
unhex unicode unistr unistr_quote unixepoch unlikely upper zeroblob
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())
# ALTER TABLE rewrites the schema through these; SQLite lets no statement call them by name.
_ALTER = """
sqlite_drop_column sqlite_rename_column sqlite_rename_quotefix sqlite_rename_table
sqlite_rename_test sqlite_add_constraint sqlite_drop_constraint sqlite_find_constraint
sqlite_fail
"""
_ALTER_FUNCTIONS = frozenset(_ALTER.split())
_TABLE_PRAGMAS = """
foreign_key_check foreign_key_list index_info index_list index_xinfo integrity_check
quick_check table_info table_list table_xinfo
"""
_PRAGMAS_OF_A_TABLE = frozenset(_TABLE_PRAGMAS.split())
_PRAGMAS_WITHOUT_VALUE = frozenset(
    {"encoding", "foreign_keys", "page_count", "page_size", "schema_version", "user_version"}
)
_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})

# Table-valued functions and ALTER TABLE declare updates of these, which no statement of the
# agent's can do: SQLite refuses them while PRAGMA writable_schema is off.
_SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_temp_master"})

_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE})
_WRITES = frozenset(
    {
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_DROP_VIEW,
        sqlite3.SQLITE_DROP_TRIGGER,
        sqlite3.SQLITE_ALTER_TABLE,
        sqlite3.SQLITE_REINDEX,
    }
)
_TEMPORARY = frozenset(
    {
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
        sqlite3.SQLITE_CREATE_TEMP_VIEW,
        sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
        sqlite3.SQLITE_DROP_TEMP_TABLE,
        sqlite3.SQLITE_DROP_TEMP_INDEX,
        sqlite3.SQLITE_DROP_TEMP_VIEW,
        sqlite3.SQLITE_DROP_TEMP_TRIGGER,
    }
)
_READ_ONLY = "This database is read-only: only SELECT statements are allowed."
_REFUSALS = {
    sqlite3.SQLITE_ATTACH: "ATTACH and VACUUM are not allowed: there is one database.",
    sqlite3.SQLITE_DETACH: "DETACH is not allowed: there is one database.",
    sqlite3.SQLITE_TRANSACTION: (
        "Transaction statements are not allowed: each statement is committed by itself."
    ),
    sqlite3.SQLITE_SAVEPOINT: (
        "Savepoints are not allowed: each statement is committed by itself."
    ),
    sqlite3.SQLITE_CREATE_VTABLE: "Virtual tables are not allowed.",
    sqlite3.SQLITE_DROP_VTABLE: "Virtual tables are not allowed.",
    sqlite3.SQLITE_ANALYZE: "ANALYZE is not allowed.",
    **dict.fromkeys(
        _TEMPORARY, "Temporary tables and views are not allowed: use a WITH clause instead."
    ),
}


class Guard:
    """Holds one connection to what is allowed.

    Args:
        connection: Already configured: pragmas are refused from here on.
        writable: Whether rows, tables, indexes, views and triggers may be changed.

    Attributes:
        refusal: Why the statement was refused, for the agent; None where it was not.
        expired: Whether the statement reached its deadline.
        wrote: Whether the statement may change the database.
    """

    def __init__(self, connection: sqlite3.Connection, *, writable: bool) -> None:
        self._writable = writable
        self._deadline = 0.0
        self.refusal: str | None = None
        self.expired = False
        self.wrote = False
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        modules = {str(row[0]).lower() for row in connection.execute("PRAGMA module_list")}
        self._hidden_tables = modules - _TABLE_FUNCTIONS
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._progress, _STEPS_BETWEEN_CLOCK_READS)

    def begin(self, timeout_s: float) -> None:
        """Start a statement that may run `timeout_s` seconds."""
        self._deadline = time.monotonic() + timeout_s
        self.refusal = None
        self.expired = False
        self.wrote = False

    def _progress(self) -> bool:
        self.expired = time.monotonic() > self._deadline
        return self.expired

    def _authorize(
        self,
        action: int,
        first: str | None,
        second: str | None,
        database: str | None,
        inner: str | None,
    ) -> int:
        if action in _READS:
            return sqlite3.SQLITE_OK
        refusal = self._refusal_of(action, (first or "").lower(), second)
        if refusal is None:
            return sqlite3.SQLITE_OK
        self.refusal = self.refusal or refusal
        return sqlite3.SQLITE_DENY

    def _refusal_of(self, action: int, first: str, second: str | None) -> str | None:
        if action == sqlite3.SQLITE_READ:
            hidden = first in self._hidden_tables
            return f"Reading {first} is not allowed." if hidden else None
        if action == sqlite3.SQLITE_FUNCTION:
            return self._refusal_of_function((second or "").lower())
        if action == sqlite3.SQLITE_UPDATE and first in _SCHEMA_TABLES:
            return None
        if action == sqlite3.SQLITE_PRAGMA:
            return _refusal_of_pragma(first, second)
        if action in _WRITES and self._writable:
            self.wrote = True
            return None
        if action in _WRITES or (action in _TEMPORARY and not self._writable):
            return _READ_ONLY
        return _REFUSALS.get(action, "This kind of statement is not allowed.")

    def _refusal_of_function(self, name: str) -> str | None:
        if name in FUNCTIONS or (self._writable and name in _ALTER_FUNCTIONS):
            return None
        return f"The function {name}() is not allowed."


def _refusal_of_pragma(name: str, value: str | None) -> str | None:
    if name in _PRAGMAS_OF_A_TABLE or (name in _PRAGMAS_WITHOUT_VALUE and value is None):
        return None
    if name in _PRAGMAS_WITHOUT_VALUE:
        return f"PRAGMA {name} can be read here, not changed."
    return f"PRAGMA {name} is not allowed."
