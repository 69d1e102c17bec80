"""Records for the tests of this folder."""

from datetime import UTC, datetime

from agentgym.faults import Fault
from agentgym.trajectories.record import EpisodeKey, Outcome, RunRecord, Trajectory, Turn
from agentgym.types import Action, Message, Observation, Reward, ToolSpec, Usage, call

WHEN = datetime(2026, 5, 4, 12, 30, 15, 250000, tzinfo=UTC)

TOOLS = tuple(
    ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {key: {"type": "string", "description": about}},
            "required": [key],
            "additionalProperties": False,
        },
    )
    for name, description, key, about in (
        ("list_tables", "List the tables with their row counts.", "schema", "Their schema."),
        ("describe", "Show a table's columns and keys.", "table", "The table's name."),
        ("query", "Run one SQL statement and show its first rows.", "sql", "One statement."),
        ("submit", "Submit the query whose rows answer the question.", "sql", "The query."),
    )
)


def run(run_id: str = "r1", tasks: int = 3, epochs: int = 1, **changes: object) -> RunRecord:
    record = RunRecord(
        run_id=run_id,
        env="sql-v1",
        tasks="shop",
        tasks_hash="abc",
        task_ids=tuple(f"t{i}" for i in range(tasks)),
        agent="oracle",
        epochs=epochs,
        created_at=WHEN,
    )
    return record.model_copy(update=changes)


def episode(
    task_id: str = "t0", epoch: int = 0, run_id: str = "r1", score: float = 1.0
) -> Trajectory:
    def answer(text: str) -> Observation:
        return Observation(
            messages=(Message(role="tool", content=text, tool_call_id="call_0"),), tools=TOOLS
        )

    sql = "SELECT name, COUNT(*) FROM orders GROUP BY name"
    said = (
        (call("list_tables", schema="main"), "customers (2000 rows)\norders (5400 rows)"),
        (call("describe", table="customers"), "id INTEGER PRIMARY KEY\nname TEXT NOT NULL"),
        (call("describe", table="orders"), "id INTEGER PRIMARY KEY\ncustomer_id INTEGER"),
        (call("query", sql=sql), f"Anna | 4\nJonas | {epoch}\n(2 rows)"),
        (call("submit", sql=sql), f"Submitted for {task_id}."),
    )
    turns = [
        Turn(
            action=action,
            observation=answer(text),
            reward=Reward(),
            fingerprint="f" * 16,
            usage=Usage(prompt_tokens=700 + i, completion_tokens=40, cost=0.001),
            model_s=0.5,
            env_s=0.25,
        )
        for i, (action, text) in enumerate(said)
    ]
    grade = Reward(value=score, labels={"comparator": "testsuite"})
    return Trajectory(
        run_id=run_id,
        env="sql-v1",
        agent="oracle",
        key=EpisodeKey(task_id=task_id, epoch=epoch),
        task_hash="deadbeef" * 8,
        seed=7,
        first=Observation(messages=(Message(role="user", content="How many?"),), tools=TOOLS),
        turns=(*turns[:-1], turns[-1].model_copy(update={"reward": grade})),
        outcome=Outcome(status="completed"),
        grade=grade,
        success=score >= 1,
        started_at=WHEN,
    )


def failed(task_id: str = "t0", epoch: int = 0, run_id: str = "r1") -> Trajectory:
    return Trajectory(
        run_id=run_id,
        env="sql-v1",
        agent="oracle",
        key=EpisodeKey(task_id=task_id, epoch=epoch),
        task_hash="deadbeef" * 8,
        seed=7,
        outcome=Outcome(status="error", detail="model_server"),
        faults=(
            Fault(kind="model_rate_limited", message="429"),
            Fault(kind="model_server", message="500", attempt=2),
            Fault(kind="model_server", message="500", attempt=3, fatal=True),
        ),
        attempts=3,
        started_at=WHEN,
    )


def speaking(text: str, *, run_id: str = "r1") -> Trajectory:
    """An episode whose agent says something on its only turn."""
    plain = episode(run_id=run_id)
    turn = plain.turns[0].model_copy(update={"action": Action(text=text)})
    return plain.model_copy(update={"turns": (turn,)})
