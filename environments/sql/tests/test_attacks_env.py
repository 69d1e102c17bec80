"""What an agent may try through the protocol: it scores nothing, and never voids the episode.

An `EpisodeError` would have the episode retried, so no statement or answer may raise one.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentgym import Task, call
from agentgym.types import Reward, Transition
from agentgym_sql.env import SqlEnvironment
from agentgym_sql.grading import Answer, Grader
from agentgym_sql.session import Session
from agentgym_sql.tasks import SqlPrivate, SqlPublic

SqlTask = Task[SqlPublic, SqlPrivate]

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
UNDOING = "DELETE FROM purchase WHERE id = 4"


def task(shop: Path, gold: str | tuple[str, ...], kind: str = "query") -> SqlTask:
    return SqlTask.model_validate(
        {
            "id": "t",
            "public": {"db": "shop", "kind": kind, "question": "Which?"},
            "private": {"gold": gold, "file": shop},
        }
    )


@pytest.fixture
async def env() -> AsyncIterator[SqlEnvironment]:
    made = SqlEnvironment(timeout=1)
    yield made
    await made.close()


@pytest.fixture
async def served(server: Any) -> AsyncIterator[SqlEnvironment]:
    made = SqlEnvironment(url=server.url, timeout=60)
    yield made
    await made.close()


@pytest.fixture
async def mariadb_env(mariadb: Any) -> AsyncIterator[SqlEnvironment]:
    made = SqlEnvironment(url=mariadb.url, timeout=1)
    yield made
    await made.close()


@pytest.fixture
async def postgres_env(postgres: Any) -> AsyncIterator[SqlEnvironment]:
    made = SqlEnvironment(url=postgres.url, timeout=1)
    yield made
    await made.close()


async def execute(env: SqlEnvironment, sql: str) -> Transition:
    return await env.step(call("execute", sql=sql))


async def fault(env: SqlEnvironment, sql: str) -> str:
    transition = await execute(env, sql)
    assert transition.observation.faults == ("failed",), (sql, transition.observation.text)
    return transition.observation.text


async def change(env: SqlEnvironment, shop: Path, *statements: str) -> Reward:
    """Play the mutation `UNDOING` with other statements, looking at everything on the way."""
    await env.reset(task(shop, (UNDOING,), "mutation"), seed=0)
    for sql in statements:
        transition = await execute(env, sql)
        assert not transition.observation.faults, transition.observation.text
        assert "customer" in (await env.step(call("list_tables"))).observation.text
        await env.fingerprint()
    return (await env.step(call("submit"))).reward


@pytest.mark.parametrize(
    ("statements", "outcome"),
    [
        (("CREATE VIEW v AS SELECT * FROM nosuch",), "error"),
        (("CREATE VIEW a AS SELECT * FROM b", "CREATE VIEW b AS SELECT * FROM a"), "error"),
        (("CREATE VIEW v AS SELECT * FROM purchase", "DROP TABLE purchase"), "error"),
        (('CREATE TABLE "a%s""b" ("c%d""" INTEGER)', UNDOING), "mismatch"),
        (("CREATE TRIGGER t AFTER DELETE ON purchase BEGIN SELECT 1; END", UNDOING), "mismatch"),
    ],
)
async def test_what_an_agent_leaves_behind_is_graded(
    env: SqlEnvironment, shop: Path, statements: tuple[str, ...], outcome: str
) -> None:
    reward = await change(env, shop, *statements)
    assert (reward.value, reward.labels["outcome"]) == (0, outcome)


async def test_a_view_without_end_does_not_void_the_grade(
    env: SqlEnvironment, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym_sql.worker_session.SERVICE_S", 2.0)
    reward = await change(env, shop, UNDOING, f"CREATE VIEW v AS {ENDLESS} SELECT max(x) FROM c")
    assert (reward.value, reward.labels["outcome"]) == (0, "timeout")


async def test_a_database_does_not_outgrow_its_hashing(env: SqlEnvironment, shop: Path) -> None:
    await env.reset(task(shop, (UNDOING,), "mutation"), seed=0)
    await execute(env, "CREATE TABLE t (a)")
    before = await env.fingerprint()
    rows = f"INSERT INTO t {ENDLESS} SELECT zeroblob(900000) FROM c LIMIT 200"
    assert "size limit" in await fault(env, rows)
    assert await env.fingerprint() == before


@pytest.mark.parametrize(
    "submitted",
    [
        {"query": "x" * 70_000_000},
        {"query": "SELECT 1\0"},
        {"query": "\ud800"},
        {"query": ";"},
        {"rows": []},
        {"rows": [[]]},
        {"rows": [[None]]},
        {"rows": [["3"]]},
        {"rows": [[float("nan")], [float("inf")]]},
        {"rows": [[10**5000]]},
        {"rows": [[3], [4]]},
        {"rows": [[3, 3]]},
        {"rows": [[value] for value in range(100_000)]},
    ],
    ids=[
        "long",
        "nul",
        "surrogate",
        "empty",
        "none",
        "blank",
        "null",
        "text",
        "nan",
        "5000",
        "more",
        "wide",
        "all",
    ],
)
@pytest.mark.parametrize("comparator", ["testsuite", "bird_ex", "intercode"])
async def test_odd_answers_score_nothing_to_speak_of(
    shop: Path, submitted: dict[str, Any], comparator: Any
) -> None:
    env = SqlEnvironment(comparator=comparator)
    try:
        await env.reset(task(shop, "SELECT count(*) FROM customer"), seed=0)
        transition = await env.step(call("submit", **submitted))
        assert transition.terminated
        assert transition.reward.value < 1
        await env.fingerprint()
    finally:
        await env.close()


@pytest.mark.parametrize(
    "row", [[10**299], [-(2**70)], [[3]], [{"a": 3}]], ids=["299", "70", "list", "dict"]
)
async def test_rows_of_no_values_are_the_agents_mistake(
    env: SqlEnvironment, shop: Path, row: list[Any]
) -> None:
    await env.reset(task(shop, "SELECT 3"), seed=0)
    transition = await env.step(call("submit", rows=[row]))
    assert transition.observation.faults
    assert not transition.terminated
    await env.fingerprint()


async def test_text_of_the_agents_own_does_not_flood_it(env: SqlEnvironment, shop: Path) -> None:
    await env.reset(task(shop, "SELECT 3"), seed=0)
    name = "n" * 40_000
    wide = f'WITH x AS (SELECT 1 AS "{name}") SELECT * FROM x a, x b, x c, x d, x e, x f, x g, x h'
    assert len((await execute(env, wide)).observation.text) < 3000
    assert len(await fault(env, f"SELECT customer.{name} FROM customer")) < 3000
    described = await env.step(call("describe", table=name))
    assert len(described.observation.text) < 3000
    assert "larger than allowed" in await fault(env, "x" * 70_000_000)


async def test_an_answer_far_larger_than_the_gold_is_not_held(
    reader: Session,
) -> None:
    numbers = ", ".join(["x"] * 39)
    answer = Answer(f"{ENDLESS} SELECT {numbers} FROM c LIMIT 100000")
    reward = await Grader("testsuite", 5.0).grade_answer(reader, answer, "SELECT 1")
    assert (reward.value, reward.labels["outcome"]) == (0, "error")
    assert "larger than" in (reward.feedback or "")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT (repeat('[', 3000) || repeat(']', 3000))::json",
        "SELECT repeat('9', 5000)::json",
        "SELECT 'infinity'::date",
        "SELECT interval '1000000000 days'",
        "SELECT '24:00:00'::time",
    ],
)
async def test_values_that_python_cannot_hold_are_the_agents_fault_on_postgres(
    postgres_env: SqlEnvironment, shop: Path, sql: str
) -> None:
    await postgres_env.reset(task(shop, "SELECT 3"), seed=0)
    await fault(postgres_env, sql)
    assert "3" in (await execute(postgres_env, "SELECT 3")).observation.text
    transition = await postgres_env.step(call("submit", query=sql))
    assert transition.reward.labels["outcome"] == "error"


async def test_values_that_python_cannot_hold_are_the_agents_fault_on_mariadb(
    mariadb_env: SqlEnvironment, shop: Path
) -> None:
    await mariadb_env.reset(task(shop, "SELECT 3"), seed=0)
    await fault(mariadb_env, "SELECT _ucs2 x'd800'")
    assert "3" in (await execute(mariadb_env, "SELECT 3")).observation.text


@pytest.mark.parametrize(
    "statements",
    [
        (
            "CREATE TABLE j (a json)",
            "INSERT INTO j SELECT (repeat('[', 3000) || repeat(']', 3000))::json",
        ),
        ("UPDATE customer SET joined = 'infinity'",),
        ('CREATE TABLE "a%s" ("c%d" int)', 'CREATE VIEW "v%d" AS SELECT * FROM "a%s"'),
        ("CREATE TABLE none ()", "CREATE TABLE made (a int GENERATED ALWAYS AS (1) STORED)"),
        ("CREATE VIEW bad AS SELECT 1 / 0 AS a",),
        (UNDOING, "CREATE VIEW extra AS SELECT 1 AS a"),
    ],
)
async def test_what_an_agent_leaves_on_postgres_is_graded(
    postgres_env: SqlEnvironment, shop: Path, statements: tuple[str, ...]
) -> None:
    assert (await change(postgres_env, shop, *statements)).value == 0


@pytest.mark.parametrize(
    "statements",
    [
        (
            "CREATE TABLE u (a varchar(9) CHARACTER SET ucs2)",
            "INSERT INTO u VALUES (_ucs2 x'd800')",
        ),
        ("CREATE TABLE `a%s``` (`c``%d` int)",),
        ("CREATE TABLE made (a int AS (1))",),
        ("CREATE VIEW v AS SELECT * FROM purchase", "DROP TABLE purchase"),
        (UNDOING, "CREATE VIEW extra AS SELECT 1 AS a"),
    ],
)
async def test_what_an_agent_leaves_on_mariadb_is_graded(
    mariadb_env: SqlEnvironment, shop: Path, statements: tuple[str, ...]
) -> None:
    assert (await change(mariadb_env, shop, *statements)).value == 0


async def test_a_servers_disk_is_not_filled(
    served: SqlEnvironment, server: Any, shop: Path
) -> None:
    await served.reset(task(shop, (UNDOING,), "mutation"), seed=0)
    await execute(served, "CREATE TABLE big (a int)")
    postgres = "postgres" in server.url
    series = "generate_series(1, 3000000) AS seq" if postgres else "seq_1_to_3000000"
    assert not (
        await execute(served, f"INSERT INTO big SELECT seq FROM {series}")
    ).observation.faults
    assert "size limit" in await fault(served, "SELECT 1")
    await served.fingerprint()
    reward = (await served.step(call("submit"))).reward
    assert (reward.value, reward.labels["outcome"]) == (0, "mismatch")


async def test_a_quotient_written_otherwise_is_the_same_answer(
    served: SqlEnvironment, shop: Path
) -> None:
    for query in (
        "SELECT sum(id) * 1.0 / count(*) / 7 FROM purchase",
        "SELECT 1.0 * sum(id) / count(id) / 7 FROM purchase",
        "SELECT avg(id * 1.00) / 7 FROM purchase",
    ):
        await served.reset(task(shop, "SELECT avg(id) / 7 FROM purchase"), seed=0)
        assert (await served.step(call("submit", query=query))).reward.value == 1, query


async def test_a_nested_comment_hides_no_statement(
    postgres_env: SqlEnvironment, shop: Path
) -> None:
    await postgres_env.reset(task(shop, (UNDOING,), "mutation"), seed=0)
    before = await postgres_env.fingerprint()
    for hidden in (
        "DELETE FROM purchase",
        "SET statement_timeout = 0",
        "SET ROLE NONE",
        "LISTEN x",
        "CREATE OPERATOR = (FUNCTION = int4ne, LEFTARG = int, RIGHTARG = int)",
    ):
        await fault(postgres_env, f"/* /* */ SELECT 1 */ {hidden}")
    await fault(postgres_env, "CREATE /* /* */ TABLE */ SCHEMA s")
    assert (await execute(postgres_env, "SELECT count(*) FROM purchase")).observation.text == (
        "count\n4\n(1 row)"
    )
    assert await postgres_env.fingerprint() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT get_lock/**/('agentgym_x', 0)",
        "SELECT `get_lock`('agentgym_x', 0)",
        "SELECT encrypt('x', '$6$rounds=999999999$ab')",
        "SELECT found_rows()",
        "SELECT * FROM information_schema.session_status",
        "SHOW CREATE USER",
        "SELECT sysdate()",
        "SELECT uuid()",
        "CREATE TABLE t (a int) ENGINE=MyISAM DATA DIRECTORY='/tmp'",
        "CREATE TABLE t (a int) DATA/**/DIRECTORY='/tmp'",
    ],
)
async def test_mariadb_shares_nothing_between_sessions(
    mariadb_env: SqlEnvironment, shop: Path, sql: str
) -> None:
    await mariadb_env.reset(task(shop, (UNDOING,), "mutation"), seed=0)
    before = await mariadb_env.fingerprint()
    await fault(mariadb_env, sql)
    assert await mariadb_env.fingerprint() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT path '((0,0),(1,1))' ?# path '((0,0),(1,1))'",
        "SELECT polygon(3, circle '((0,0),1)') && polygon(3, circle '((0,0),2)')",
        "SELECT pg_logical_emit_message(false, 'x', 'x')",
        "SELECT * FROM pg_lock_status()",
        "SELECT gen_random_uuid()",
        "SELECT CURRENT_DATE",
        "SELECT now()",
        "ALTER TABLE purchase FORCE ROW LEVEL SECURITY",
        "ALTER TABLE purchase ENABLE ROW/**/LEVEL/**/SECURITY",
    ],
)
async def test_postgres_answers_the_same_in_every_run(
    postgres_env: SqlEnvironment, shop: Path, sql: str
) -> None:
    await postgres_env.reset(task(shop, (UNDOING,), "mutation"), seed=0)
    before = await postgres_env.fingerprint()
    await fault(postgres_env, sql)
    assert await postgres_env.fingerprint() == before
