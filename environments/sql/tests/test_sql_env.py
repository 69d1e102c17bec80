"""The SQL environment through its protocol: what an agent sees, and what is graded how."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentgym import Action, Observation, Task, ToolCall, call, load_tasks, make, spec
from agentgym.errors import UnknownNameError, UsageError
from agentgym.types import Reward
from agentgym_sql.env import SqlEnvironment
from agentgym_sql.tasks import SqlPrivate, SqlPublic

SqlTask = Task[SqlPublic, SqlPrivate]

CATEGORIES = "SELECT category_id, name FROM categories ORDER BY category_id DESC"


def task(gold: str | tuple[str, ...], kind: str = "query", **private: object) -> SqlTask:
    return SqlTask.model_validate(
        {
            "id": "t",
            "public": {"db": "shop", "kind": kind, "question": "Which?"},
            "private": {"gold": gold, **private},
        }
    )


@pytest.fixture
async def env() -> AsyncIterator[SqlEnvironment]:
    made = SqlEnvironment()
    yield made
    await made.close()


async def answer(env: SqlEnvironment, asked: SqlTask, **submitted: object) -> Reward:
    await env.reset(asked, seed=0)
    transition = await env.step(call("submit", **submitted))
    assert transition.terminated
    return transition.reward


async def test_the_first_words_name_database_engine_and_question(env: SqlEnvironment) -> None:
    observation = await env.reset(task("SELECT 1"), seed=0)
    assert 'database "shop" (SQLite)' in observation.text
    assert "Which?" in observation.text
    assert [tool.name for tool in observation.tools] == [
        "list_tables",
        "describe",
        "execute",
        "submit",
    ]


async def test_looking_around(env: SqlEnvironment) -> None:
    await env.reset(task("SELECT 1"), seed=0)
    tables = (await env.step(call("list_tables"))).observation.text
    assert "categories(category_id" in tables
    described = (await env.step(call("describe", table="products"))).observation.text
    assert "product_id INTEGER, primary key" in described
    assert "foreign key (category_id) -> categories(category_id)" in described
    unknown = (await env.step(call("describe", table="produkts"))).observation
    assert unknown.faults == ("failed",)
    assert "products" in unknown.text


async def test_results_are_shown_bounded_and_unambiguous(env: SqlEnvironment) -> None:
    await env.reset(task("SELECT 1"), seed=0)

    async def run(sql: str) -> str:
        return (await env.step(call("execute", sql=sql))).observation.text

    assert await run("SELECT NULL AS a, 'x|y' AS b, x'00ff' AS c, 1.5 AS d") == (
        "a | b | c | d\nNULL | x\\|y | x'00ff' | 1.5\n(1 row)"
    )
    assert await run("SELECT 1 WHERE 0") == "1\n(0 rows)"
    many = await run("SELECT * FROM order_items")
    assert many.endswith("(the first 50 rows; there are more)")
    long = await run("SELECT replace(hex(zeroblob(5000)), '00', 'ab')")
    assert len(long) < 400
    assert "(10000 characters)" in long


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nosuch FROM products", "no such column"),
        ("SELEC 1", "syntax error"),
        ("DELETE FROM products", ""),
        ("SELECT 1; SELECT 2", "one statement"),
        ("", "empty"),
    ],
)
async def test_wrong_statements_are_the_agents_mistakes(
    env: SqlEnvironment, sql: str, said: str
) -> None:
    await env.reset(task("SELECT 1"), seed=0)
    before = await env.fingerprint()
    observation = (await env.step(call("execute", sql=sql))).observation
    assert observation.faults == ("failed",)
    assert said in observation.text
    assert await env.fingerprint() == before


async def test_a_right_query_in_any_form_scores(env: SqlEnvironment) -> None:
    asked = task("SELECT category_id, name FROM categories")
    for query in (
        "SELECT category_id, name FROM categories",
        "SELECT name, category_id FROM categories",
        CATEGORIES,
    ):
        reward = await answer(env, asked, query=query)
        assert reward.value == 1, query
        assert reward.labels == {"comparator": "testsuite", "outcome": "match"}


async def test_order_counts_where_the_gold_orders(env: SqlEnvironment) -> None:
    asked = task(CATEGORIES)
    assert (await answer(env, asked, query=CATEGORIES)).value == 1
    reward = await answer(env, asked, query=CATEGORIES.removesuffix(" DESC"))
    assert (reward.value, reward.labels["outcome"]) == (0, "mismatch")


async def test_rows_are_an_answer(env: SqlEnvironment) -> None:
    asked = task("SELECT 1, 'a' UNION ALL SELECT 2, NULL")
    assert (await answer(env, asked, rows=[[2, None], [1, "a"]])).value == 1
    assert (await answer(env, asked, rows=[[1, "a"]])).value == 0
    assert (await answer(env, asked, rows=[])).value == 0


@pytest.mark.parametrize(
    ("gold", "query", "outcome"),
    [
        ("SELECT 1", "SELECT nosuch", "error"),
        ("SELECT 1", "SELECT 1; SELECT 1", "error"),
        (
            "SELECT 1",
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c",
            "timeout",
        ),
        ("SELECT nosuch", "SELECT 1", "gold_failed"),
        ("SELECT 1 WHERE 0", "SELECT 1 WHERE 0", "gold_empty"),
        ("SELECT 2", "SELECT 1", "mismatch"),
    ],
)
async def test_the_grade_says_why(gold: str, query: str, outcome: str) -> None:
    env = SqlEnvironment(timeout=0.5)
    try:
        reward = await answer(env, task(gold), query=query)
        assert (reward.value, reward.labels["outcome"]) == (0, outcome)
    finally:
        await env.close()


async def test_nothing_submitted_scores_nothing(env: SqlEnvironment) -> None:
    await env.reset(task("SELECT 1"), seed=0)
    await env.step(call("execute", sql="SELECT 1"))
    reward = await env.grade()
    assert (reward.value, reward.labels["outcome"]) == (0, "no_answer")


@pytest.mark.parametrize("submitted", [{}, {"query": "SELECT 1", "rows": [[1]]}])
async def test_a_submission_is_a_query_or_rows(
    env: SqlEnvironment, submitted: dict[str, object]
) -> None:
    await env.reset(task("SELECT 1"), seed=0)
    transition = await env.step(call("submit", **submitted))
    assert transition.observation.faults == ("failed",)
    assert not transition.terminated


async def test_a_hard_coded_query_fails_on_the_second_database() -> None:
    gold = "SELECT COUNT(*) FROM customers WHERE email IS NULL"
    asked = task(gold)
    env = SqlEnvironment()
    lenient = SqlEnvironment(variants=0)
    try:
        await env.reset(asked, seed=0)
        shown = await env.step(call("execute", sql=gold))
        number = shown.observation.text.splitlines()[1]
        reward = await answer(env, asked, query=f"SELECT {number}")
        assert (reward.value, reward.labels["database"]) == (0, "variant")
        assert (await answer(lenient, asked, query=f"SELECT {number}")).value == 1
    finally:
        await env.close()
        await lenient.close()


async def test_a_change_is_graded_by_the_state(env: SqlEnvironment) -> None:
    gold = ("UPDATE products SET price_cents = price_cents + 1 WHERE product_id = 3",)
    asked = task(gold, kind="mutation")

    async def change(*statements: str) -> Reward:
        await env.reset(asked, seed=0)
        for sql in statements:
            assert not (await env.step(call("execute", sql=sql))).observation.faults
        return (await env.step(call("submit"))).reward

    assert (await change(*gold)).value == 1
    assert (await change(gold[0].replace("+ 1", "- -1"))).value == 1
    assert (await change()).value == 0
    assert (await change(gold[0].replace("= 3", "= 4"))).value == 0
    assert (await change(*gold, "DELETE FROM reviews WHERE rating = 1")).value == 0
    assert (await change("UPDATE products SET price_cents = 0", "DROP TABLE reviews")).value == 0


async def test_tables_made_on_the_way_count_by_content_not_by_declaration(
    env: SqlEnvironment,
) -> None:
    gold = (
        "CREATE TABLE counted (category_id INTEGER, products INTEGER)",
        "INSERT INTO counted SELECT category_id, COUNT(*) FROM products GROUP BY category_id",
    )
    asked = task(gold, kind="mutation")
    for statements, value in (
        (gold, 1),
        (
            (
                "CREATE TABLE counted AS SELECT category_id, COUNT(*) AS products "
                "FROM products GROUP BY category_id ORDER BY 2",
            ),
            1,
        ),
        (("CREATE TABLE counted AS SELECT category_id, 1 AS products FROM products",), 0),
        (
            (
                "CREATE TABLE counted AS SELECT category_id, COUNT(*) AS n "
                "FROM products GROUP BY category_id",
            ),
            0,
        ),
        ((*gold, "CREATE TABLE scratch (a INTEGER)"), 0),
        ((*gold, "ALTER TABLE products ADD COLUMN extra INTEGER"), 0),
    ):
        await env.reset(asked, seed=0)
        for sql in statements:
            await env.step(call("execute", sql=sql))
        assert (await env.step(call("submit"))).reward.value == value, statements


async def test_the_episode_before_leaves_nothing(env: SqlEnvironment) -> None:
    asked = task(("DELETE FROM reviews",), kind="mutation")
    first = await env.reset(asked, seed=0)
    fresh = await env.fingerprint()
    await env.step(call("execute", sql="DELETE FROM reviews"))
    await env.step(call("execute", sql="CREATE TEMP TABLE t AS SELECT 1"))
    assert await env.fingerprint() != fresh
    assert await env.reset(asked, seed=0) == first
    assert await env.fingerprint() == fresh
    gone = await env.step(call("execute", sql="SELECT * FROM t"))
    assert gone.observation.faults == ("failed",)


async def test_snapshots_go_back_in_this_object_and_another(env: SqlEnvironment) -> None:
    asked = task(("DELETE FROM reviews",), kind="mutation")
    await env.reset(asked, seed=0)
    await env.step(call("execute", sql="DELETE FROM reviews WHERE rating = 1"))
    snapshot, state = await env.snapshot(), await env.fingerprint()
    await env.step(call("execute", sql="DELETE FROM reviews"))
    assert (await env.step(call("submit"))).reward.value == 1
    await env.restore(snapshot)
    assert await env.fingerprint() == state
    other = SqlEnvironment()
    try:
        await other.restore(snapshot)
        assert await other.fingerprint() == state
        await other.step(call("execute", sql="DELETE FROM reviews"))
        assert (await other.step(call("submit"))).reward.value == 1
    finally:
        await other.close()


async def test_several_calls_in_a_turn_are_carried_out_in_order(env: SqlEnvironment) -> None:
    await env.reset(task("SELECT 7"), seed=0)
    transition = await env.step(
        Action(
            tool_calls=(
                ToolCall(name="execute", arguments={"sql": "SELECT 7"}),
                ToolCall(name="submit", arguments={"query": "SELECT 7"}),
                ToolCall(name="execute", arguments={"sql": "SELECT 8"}),
            )
        )
    )
    assert transition.terminated
    assert transition.reward.value == 1
    assert transition.observation.faults == ("over",)


def test_options_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="comparator"):
        make("sql", comparator="nosuch")
    with pytest.raises(UsageError, match="timeout"):
        make("sql", timeout=0)
    with pytest.raises(UsageError):
        make("sql", url="sqlite:///x.db")


async def test_no_gold_is_ever_seen(env: SqlEnvironment) -> None:
    seen: list[Observation] = []
    for shipped in load_tasks(spec("sql")).tasks[::20]:
        seen.append(await env.reset(shipped, seed=0))
        seen.append((await env.step(call("list_tables"))).observation)
        gold = json.dumps(shipped.model_dump(mode="json")["private"]["gold"])
        for observation in seen[-2:]:
            assert gold.strip('"') not in observation.text


async def test_a_database_of_ones_own(env: SqlEnvironment, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    path = tmp_path / "own.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 42 AS a")
        connection.commit()
    asked = task("SELECT a FROM t", file=path)
    assert (await answer(env, asked, query="SELECT max(a) FROM t")).value == 1
