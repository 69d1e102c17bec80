"""SQL for agents: real questions on SQLite, PostgreSQL and MariaDB."""

from agentgym.registry import EnvSpec

SPEC = EnvSpec(
    name="sql",
    version=1,
    entry_point="agentgym_sql.env:SqlEnvironment",
    description="Answer questions about a database, or change it as asked, by writing SQL.",
    oracle="agentgym_sql.oracle:oracle",
    layouts="agentgym_sql.foreign:read_folder",
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=12,
)
