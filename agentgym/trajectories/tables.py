"""The store's tables, the same on SQLite and PostgreSQL.

Text columns hold JSON where a value is structured; times are Unix seconds in UTC.
"""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

SCHEMA_VERSION = 2
"""Version of the tables below; a store of a newer one is refused, an older one gets new tables."""

metadata = sa.MetaData()

_RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite numbers only INTEGER keys

schema = sa.Table("agentgym_schema", metadata, sa.Column("version", sa.Integer, nullable=False))

runs = sa.Table(
    "agentgym_runs",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False, unique=True),
    sa.Column("env", sa.Text, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("tasks", sa.Text, nullable=False),
    sa.Column("planned", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("record", sa.Text, nullable=False),
)

episodes = sa.Table(
    "agentgym_episodes",
    metadata,
    sa.Column("id", _RowId, primary_key=True),
    sa.Column("run", sa.Integer, sa.ForeignKey(runs.c.id), nullable=False),
    sa.Column("task_id", sa.Text, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
    sa.Column("success", sa.Boolean),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("agent_faults", sa.Integer, nullable=False),
    sa.Column("faults", sa.Text),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("completion_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Double),
    sa.Column("model_s", sa.Double, nullable=False),
    sa.Column("env_s", sa.Double, nullable=False),
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("blob", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("run", "task_id", "epoch", name="agentgym_episodes_key"),
    # Covers the counts and means of a listing, which then never reads a blob's page.
    sa.Index("agentgym_episodes_listing", "run", "status", "score"),
)

measurements = sa.Table(
    "agentgym_measurements",
    metadata,
    sa.Column("id", _RowId, primary_key=True),
    sa.Column("training", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("values", sa.Text, nullable=False),
    sa.Index("agentgym_measurements_training", "training", "stage"),
)


def insert_episode(dialect: str) -> postgresql.Insert | sqlite.Insert:
    """Return the statement that saves an episode: over an error, never over a grade.

    Args:
        dialect: "sqlite" or "postgresql".
    """
    kept = {"id", "run", "task_id", "epoch"}
    insert = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(episodes)
    return insert.on_conflict_do_update(
        index_elements=["run", "task_id", "epoch"],
        set_={c.name: insert.excluded[c.name] for c in episodes.c if c.name not in kept},
        where=episodes.c.status == "error",
    )


def run_counts() -> sa.Select[tuple[object, ...]]:
    """Return the query for every run, oldest first, with counts and mean of its episodes."""
    failed = sa.case((episodes.c.status == "error", 1), else_=0)
    counts = (
        sa.select(
            episodes.c.run,
            sa.func.sum(1 - failed).label("graded"),
            sa.func.sum(failed).label("errors"),
            sa.func.avg(episodes.c.score).label("mean_score"),
        )
        .group_by(episodes.c.run)
        .subquery()
    )
    listed = [column for column in runs.c if column.name not in {"id", "record"}]
    return (
        sa.select(*listed, counts.c.graded, counts.c.errors, counts.c.mean_score)
        .outerjoin(counts, counts.c.run == runs.c.id)
        .order_by(runs.c.id)
    )
