"""PostgreSQL, MariaDB and MySQL: a role and, to write, a database of its own per session.

The canonical source stays the SQLite file, which is loaded once into a template on the server.
The agent's statements run in a worker process that knows its session's role alone; the
administrator's URL is known to one other worker, which runs none of the agent's SQL.
"""

import asyncio
import importlib.util
import secrets
from itertools import count
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, exc, make_url

from agentgym.errors import (
    EnvironmentLostError,
    MissingExtraError,
    ProtocolError,
    UnknownNameError,
    UsageError,
)
from agentgym_sql import wire
from agentgym_sql.pool import (
    Worker,
    WorkerLostError,
    WorkerPool,
    WorkerTimeoutError,
    infrastructure_errors,
)
from agentgym_sql.results import DatabaseUnusableError, Result, StatementError, Table
from agentgym_sql.server_admin import SESSIONS
from agentgym_sql.session import Backend, SavedState, Session
from agentgym_sql.sqlite import identity, result_from_wire, tables_from_wire
from agentgym_sql.tasks import Dialect
from agentgym_sql.worker import ADMIN, SERVER

GRACE_S = 3.0
"""Seconds beyond its time limit until a statement's worker is killed."""

SERVICE_S = 60.0
LOAD_S = 900.0


class _Engine(NamedTuple):
    dialect: Dialect
    driver: str
    module: str
    extra: str


_POSTGRES = _Engine("postgresql", "postgresql+psycopg", "psycopg", "postgres")
_MYSQL = _Engine("mysql", "mysql+pymysql", "pymysql", "mysql")
_MARIADB = _Engine("mysql", "mariadb+pymysql", "pymysql", "mysql")
_ENGINES = {
    "postgresql": _POSTGRES,
    "postgresql+psycopg": _POSTGRES,
    "mysql": _MYSQL,
    "mysql+pymysql": _MYSQL,
    "mariadb": _MARIADB,
    "mariadb+pymysql": _MARIADB,
}
