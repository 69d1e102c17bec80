"""PostgreSQL's administration: template databases, group roles, and what is locked down.

Two group roles without login share all rights: `agentgym_reader` may read the tables of the
template's read-only copy, `agentgym_writer` owns the tables of every writable copy. A session's
own role is a member of one of them and may connect to one database.
"""

import zlib
from pathlib import Path

from sqlalchemy import URL

from agentgym_sql.loading import load
from agentgym_sql.results import DatabaseUnusableError
from agentgym_sql.server_admin import PREFIX, SESSIONS, URL_REMEDY, Admin

READER, WRITER = f"{PREFIX}reader", f"{PREFIX}writer"
TEMP_FILES = "256MB"
MAINTENANCE = "postgres"
"""Advisory locks are a database's own, so every administrator meets in this one."""

# What the catalogs let everyone do and no session needs: large objects (which even a reading
# role can write), locks that other sessions would feel, settings, procedural languages, and
# what tells of other databases, sessions and the host; and functions of paths and polygons,
# which cannot be stopped while they compare every segment with every other.
_LOCKDOWN = """
DO $$
DECLARE target text;
BEGIN
  FOR target IN
    SELECT oid::regprocedure::text FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace
      AND (proname ~ '^(lo_|pg_(try_)?advisory|pg_stat_get_|pg_ls_|inet_|pg_database_size)'
        OR proname IN ('lowrite', 'loread', 'set_config', 'pg_cancel_backend', 'pg_notify',
          'pg_terminate_backend', 'pg_show_all_settings', 'pg_tablespace_size', 'current_setting',
          'query_to_xml', 'cursor_to_xml', 'pg_export_snapshot', 'pg_current_logfile',
          'pg_logical_emit_message', 'pg_lock_status', 'pg_backend_pid', 'gen_random_uuid')
        OR proargtypes::oid[] && ARRAY['path'::regtype, 'polygon'::regtype]::oid[])
  LOOP
    EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || target || ' FROM PUBLIC';
  END LOOP;
  FOR target IN
    SELECT relname FROM pg_class
    WHERE relnamespace = 'pg_catalog'::regnamespace
      AND (relname ~ '^pg_stat_' OR relname IN ('pg_database', 'pg_settings', 'pg_roles',
        'pg_user', 'pg_group', 'pg_tablespace', 'pg_locks', 'pg_largeobject',
        'pg_largeobject_metadata', 'pg_db_role_setting', 'pg_auth_members'))
  LOOP
    EXECUTE 'REVOKE ALL ON pg_catalog.' || target || ' FROM PUBLIC';
  END LOOP;
  FOR target IN SELECT lanname FROM pg_language WHERE lanpltrusted
  LOOP
    EXECUTE 'REVOKE USAGE ON LANGUAGE ' || target || ' FROM PUBLIC';
  END LOOP;
  FOR target IN
    SELECT tablename FROM pg_tables WHERE schemaname = 'public'
  LOOP
    EXECUTE format('ALTER TABLE public.%I OWNER TO agentgym_writer', target);
  END LOOP;
END $$;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO agentgym_reader;
GRANT USAGE, CREATE ON SCHEMA public TO agentgym_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO agentgym_reader;
"""
_LOCK_CLASS = 0x61677379


class PostgresAdmin(Admin):
    """See `Admin`."""

    def __init__(self, url: URL) -> None:
        super().__init__(url.set(database=MAINTENANCE))

    def check(self) -> None:
        """See `Admin.check`."""
        if self.names("SELECT rolsuper FROM pg_roles WHERE rolname = current_user") != ["True"]:
            raise DatabaseUnusableError("The server's user is no superuser.", URL_REMEDY)

    def lock(self, name: str, *, wait: bool) -> bool:
        """See `Admin.lock`."""
        function = "pg_advisory_lock" if wait else "pg_try_advisory_lock"
        return self.names(f"SELECT {function}({_lock(name)})") != ["False"]

    def unlock(self, name: str) -> None:
        """See `Admin.unlock`."""
        self.sql(f"SELECT pg_advisory_unlock({_lock(name)})")

    def load(self, key: str, path: Path) -> None:
        """See `Admin.load`."""
        template, loading, reading = _template(key), f"{PREFIX}l_{key}", _reading(key)
        self._make_groups()
        if template not in self._databases():
            self.drop_database(loading)
            self.sql(
                f"CREATE DATABASE {loading} TEMPLATE template0 ENCODING 'UTF8' "
                "LC_COLLATE 'C' LC_CTYPE 'C'"
            )
            engine = self.engine(self.url.set(database=loading))
            load(engine, path)
            with engine.connect() as connection:
                connection.exec_driver_sql(_LOCKDOWN)
            self.sql(f"ALTER DATABASE {loading} RENAME TO {template}")
        if reading not in self._databases():
            self.sql(f"CREATE DATABASE {reading} TEMPLATE {template}")
        for database in (template, reading):
            self.sql(f"REVOKE ALL ON DATABASE {database} FROM PUBLIC")
        self.sql(f"GRANT CONNECT ON DATABASE {reading} TO {READER}")

    def create(self, name: str, password: str, key: str, *, writable: bool) -> str:
        """See `Admin.create`."""
        group = WRITER if writable else READER
        self.sql(
            f"CREATE ROLE {name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE CONNECTION LIMIT 3 "
            f"PASSWORD '{password}' IN ROLE {group}"
        )
        for setting in (
            f"temp_file_limit = '{TEMP_FILES}'",
            "timezone = 'UTC'",
            f"default_transaction_read_only = {'off' if writable else 'on'}",
            # What a session creates belongs to the group, and outlives the session in copies.
            f"role = '{group}'",
        ):
            self.sql(f"ALTER ROLE {name} SET {setting}")
        if not writable:
            return _reading(key)
        self.copy(_template(key), name)
        self.grant(name)
        return name

    def copy(self, source: str, target: str) -> None:
        """See `Admin.copy`."""
        self.sql(f"CREATE DATABASE {target} TEMPLATE {source}")
        self.sql(f"REVOKE ALL ON DATABASE {target} FROM PUBLIC")

    def grant(self, name: str) -> None:
        """See `Admin.grant`."""
        self.sql(f"GRANT CONNECT ON DATABASE {name} TO {name}")

    def size(self, name: str) -> int:
        """See `Admin.size`."""
        return int(self.names(f"SELECT pg_database_size('{name}')")[0])

    def drop_database(self, name: str) -> None:
        """See `Admin.drop_database`."""
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def evict(self, name: str) -> None:
        """See `Admin.evict`."""
        backends = f"SELECT pid FROM pg_stat_activity WHERE usename = '{name}'"  # noqa: S608 - own names
        for _ in range(50):
            # The second argument waits, in milliseconds, until the process is gone.
            if not self.names(f"SELECT pg_terminate_backend(pid, 1000) FROM ({backends}) AS b"):  # noqa: S608 - own names
                return

    def drop_role(self, name: str) -> None:
        """See `Admin.drop_role`."""
        self.sql(f"DROP ROLE IF EXISTS {name}")

    def sessions(self) -> list[str]:
        """See `Admin.sessions`."""
        roles = self.names("SELECT rolname FROM pg_roles")
        return [n for n in {*roles, *self._databases()} if n.startswith(SESSIONS)]

    def _databases(self) -> list[str]:
        return self.names("SELECT datname FROM pg_database")

    def _make_groups(self) -> None:
        self.lock("groups", wait=True)
        try:
            roles = self.names("SELECT rolname FROM pg_roles")
            for role in (READER, WRITER):
                if role not in roles:
                    self.sql(f"CREATE ROLE {role} NOLOGIN")
        finally:
            self.unlock("groups")


def _template(key: str) -> str:
    return f"{PREFIX}t_{key}"


def _reading(key: str) -> str:
    # Connections to a template keep it from being copied, so readers have a copy to share.
    return f"{PREFIX}r_{key}"


def _lock(name: str) -> str:
    return f"{_LOCK_CLASS}, {zlib.crc32(name.encode()) - (1 << 31)}"
