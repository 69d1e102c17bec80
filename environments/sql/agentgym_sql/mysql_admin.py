"""MariaDB's and MySQL's administration: databases copied table by table, a user a session."""

import re
from pathlib import Path

from sqlalchemy import exc, text

from agentgym_sql.loading import load
from agentgym_sql.results import DatabaseUnusableError
from agentgym_sql.server_admin import PREFIX, SESSIONS, URL_REMEDY, Admin

WAIT_S = 600
ROUNDS = 500
ROUND_S = 0.01
_NO_SUCH_CONNECTION = 1094
_DEFINER = re.compile(r"DEFINER=`[^`]*`@`[^`]*` SQL SECURITY \w+")
_READING = "SELECT, SHOW VIEW"
_WRITING = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW"
)
_STORED = """
    SELECT column_name FROM information_schema.columns
    WHERE table_schema = :database AND table_name = :table AND extra NOT LIKE '%GENERATED%'
    ORDER BY ordinal_position
"""


class MySQLAdmin(Admin):
    """See `Admin`."""

    def check(self) -> None:
        """See `Admin.check`."""
        grants = " ".join(self.names("SHOW GRANTS"))
        if "ON *.*" not in grants or "WITH GRANT OPTION" not in grants:
            raise DatabaseUnusableError("The server's user may not grant rights.", URL_REMEDY)

    def lock(self, name: str, *, wait: bool) -> bool:
        """See `Admin.lock`."""
        return self.names(f"SELECT GET_LOCK('{PREFIX}{name}', {WAIT_S if wait else 0})") == ["1"]

    def unlock(self, name: str) -> None:
        """See `Admin.unlock`."""
        self.sql(f"DO RELEASE_LOCK('{PREFIX}{name}')")

    def load(self, key: str, path: Path) -> None:
        """See `Admin.load`: an empty database beside the template says that it is whole."""
        template, whole = f"{PREFIX}t_{key}", f"{PREFIX}w_{key}"
        if whole in self._databases():
            return
        self.drop_database(template)
        self._create(template)
        load(self.engine(self.url.set(database=template)), path)
        self.sql(f"CREATE DATABASE {whole}")

    def create(self, name: str, password: str, key: str, *, writable: bool) -> str:
        """See `Admin.create`."""
        template = f"{PREFIX}t_{key}"
        # Both: a server's anonymous user for localhost would come before '%' alone.
        for host in ("%", "localhost"):
            self.sql(
                f"CREATE USER '{name}'@'{host}' IDENTIFIED BY '{password}' "
                "WITH MAX_USER_CONNECTIONS 3"
            )
        if writable:
            self.copy(template, name)
            self.grant(name)
            return name
        self._grant(_READING, template, name)
        return template

    def copy(self, source: str, target: str) -> None:
        """See `Admin.copy`."""
        self._create(target)
        objects = self.connection.exec_driver_sql(f"SHOW FULL TABLES FROM {source}").all()
        tables = [str(row[0]) for row in objects if row[1] == "BASE TABLE"]
        self.sql("SET foreign_key_checks = 0")
        self.sql(f"USE {target}")
        for table in tables:
            self.sql(self._definition("TABLE", source, table))
        for table in tables:
            columns = ", ".join(map(_quoted, self._stored(source, table)))
            self.sql(
                f"INSERT INTO {_quoted(table)} ({columns}) "  # noqa: S608 - quoted
                f"SELECT {columns} FROM {source}.{_quoted(table)}"
            )
        self._copy_views(source, target, [str(row[0]) for row in objects if row[1] == "VIEW"])
        self.sql("SET foreign_key_checks = 1")

    def grant(self, name: str) -> None:
        """See `Admin.grant`."""
        self._grant(_WRITING, name, name)

    def size(self, name: str) -> int:
        """See `Admin.size`: InnoDB's files, since its tables' own statistics lag behind."""
        mariadb = "MariaDB" in self.names("SELECT version()")[0]
        spaces = "innodb_sys_tablespaces" if mariadb else "innodb_tablespaces"
        return sum(
            int(float(total))
            for query in (
                f"SELECT coalesce(sum(file_size), 0) FROM information_schema.{spaces} "  # noqa: S608
                f"WHERE name LIKE '{_pattern(name)}/%'",
                "SELECT coalesce(sum(data_length + index_length), 0) "  # noqa: S608
                "FROM information_schema.tables "
                f"WHERE table_schema = '{name}' AND engine <> 'InnoDB'",
            )
            for total in self.names(query)
        )

    def drop_database(self, name: str) -> None:
        """See `Admin.drop_database`."""
        self.sql(f"DROP DATABASE IF EXISTS {name}")

    def evict(self, name: str) -> None:
        """See `Admin.evict`."""
        query = f"SELECT id FROM information_schema.processlist WHERE user = '{name}'"  # noqa: S608
        for _ in range(ROUNDS):
            connections = self.names(query)
            if not connections:
                return
            for connection in connections:
                try:
                    self.sql(f"KILL {int(connection)}")
                except exc.DBAPIError as error:
                    if error.orig is None or error.orig.args[0] != _NO_SUCH_CONNECTION:
                        raise
            self.sql(f"DO SLEEP({ROUND_S})")

    def drop_role(self, name: str) -> None:
        """See `Admin.drop_role`."""
        for host in ("%", "localhost"):
            self.sql(f"DROP USER IF EXISTS '{name}'@'{host}'")

    def sessions(self) -> list[str]:
        """See `Admin.sessions`."""
        users = self.names("SELECT user FROM mysql.user")
        return [n for n in {*users, *self._databases()} if n.startswith(SESSIONS)]

    def _databases(self) -> list[str]:
        return self.names("SHOW DATABASES")

    def _create(self, name: str) -> None:
        self.sql(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")

    def _grant(self, rights: str, database: str, user: str) -> None:
        pattern = _pattern(database)
        for host in ("%", "localhost"):
            self.sql(f"GRANT {rights} ON `{pattern}`.* TO '{user}'@'{host}'")

    def _definition(self, kind: str, database: str, name: str) -> str:
        row = self.connection.exec_driver_sql(f"SHOW CREATE {kind} {database}.{_quoted(name)}")
        return str(row.one()[1])

    def _stored(self, database: str, table: str) -> list[str]:
        found = self.connection.execute(text(_STORED), {"database": database, "table": table})
        return [str(row[0]) for row in found]

    def _copy_views(self, source: str, target: str, views: list[str]) -> None:
        pending = [
            _DEFINER.sub("SQL SECURITY INVOKER", self._definition("VIEW", source, view))
            for view in views
        ]
        # A view may read another that is not there yet: each round makes those that can be.
        # What none makes reads a table that was dropped, and can be read by nobody.
        made = True
        while pending and made:
            later = []
            for definition in pending:
                try:
                    self.sql(definition.replace(f"`{source}`.", f"`{target}`."))
                except exc.DBAPIError:
                    later.append(definition)
            made = len(later) < len(pending)
            pending = later


def _pattern(name: str) -> str:
    # An underscore matches any letter unless escaped, in LIKE and in a granted database's name.
    return name.replace("_", r"\_")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
