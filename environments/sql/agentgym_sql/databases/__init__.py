"""The package's own databases, written as code: the same name and seed give the same rows.

Other seeds give other rows under the same schema and the same names of branches, categories
and the like, so that a question keeps its meaning and a hard-coded answer does not.
"""

import random
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TypeAlias

from agentgym.errors import UnknownNameError
from agentgym_sql.databases import clinic, library, rail, shop

Builder: TypeAlias = Callable[[sqlite3.Connection, random.Random], None]
"""Creates schema and rows in an empty database, drawing only from the random source."""

DATABASES: Mapping[str, Builder] = MappingProxyType(
    {
        "clinic": clinic.build,
        "library": library.build,
        "rail": rail.build,
        "shop": shop.build,
    }
)
"""Builders by database name."""


def build(name: str, path: Path, seed: int = 0) -> None:
    """Write one database as a SQLite file, whole or not at all.

    Args:
        name: A key of `DATABASES`.
        path: The file to write; one that is there is replaced. Its folder must exist.
        seed: Picks the rows.

    Raises:
        UnknownNameError: No database has this name.
    """
    if name not in DATABASES:
        raise UnknownNameError("database", name, DATABASES)
    with TemporaryDirectory(dir=path.parent, prefix=".build-") as folder:
        draft = Path(folder) / path.name
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            DATABASES[name](connection, random.Random(f"{name}:{seed}"))
            connection.commit()
        draft.replace(path)
