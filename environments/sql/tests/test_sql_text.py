"""Which queries order their rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_sql.comparators import is_ordered


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t ORDER BY a",
        "select a from t order\n\tby a desc limit 3;",
        "SELECT a FROM t ORDER /* by what? */ BY a -- done",
        "SELECT a FROM t UNION SELECT b FROM u ORDER BY 1",
        "WITH t AS (SELECT 1 AS a) SELECT a FROM t ORDER BY a",
        "SELECT (SELECT max(b) FROM u) FROM t ORDER BY (SELECT 1)",
        "(SELECT a FROM t ORDER BY a)",
        "((SELECT a FROM t ORDER BY a));",
        "SELECT 'it''s' FROM t ORDER BY 1",
        "SELECT E'it\\'s' FROM t ORDER BY 1",
        "SELECT a FROM t WHERE b = ')' ORDER BY a",
        "SELECT [a)] FROM t ORDER BY [a)]",
        "CREATE TABLE x (a); SELECT a FROM x ORDER BY a",
    ],
)
def test_an_outermost_order_by(sql: str) -> None:
    assert is_ordered(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "   ;; ",
        "SELECT a FROM t",
        "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3)",
        "SELECT a FROM t WHERE a IN (SELECT a FROM t ORDER BY a LIMIT 3)",
        "WITH t AS (SELECT a FROM u ORDER BY a) SELECT a FROM t",
        "(SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL (SELECT a FROM u ORDER BY a LIMIT 1)",
        "SELECT row_number() OVER (PARTITION BY b ORDER BY a) FROM t",
        "SELECT rank() OVER w FROM t WINDOW w AS (ORDER BY a)",
        "SELECT group_concat(a, ',' ORDER BY a) FROM t",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t",
        "SELECT 'x ORDER BY a' FROM t",
        "SELECT 'it''s ORDER BY a' FROM t",
        "SELECT E'it\\' ORDER BY a' FROM t",
        "SELECT $tag$ ORDER BY ' $tag$ FROM t",
        'SELECT "ORDER BY" FROM t',
        "SELECT `order by` FROM t",
        "SELECT [ORDER BY] FROM t",
        "SELECT a FROM t -- ORDER BY a",
        "SELECT a FROM t /* ORDER BY a */",
        "SELECT a FROM t /* ORDER BY a",
        "SELECT a FROM t WHERE b = 'never closed ORDER BY a",
        "SELECT a FROM t ORDER BY a; SELECT a FROM t",
        "SELECT border by_line FROM t",
    ],
)
def test_no_outermost_order_by(sql: str) -> None:
    assert not is_ordered(sql)


@given(st.text(alphabet="'\"`[](); $e-/*\\\nORDERBY", max_size=60))
def test_any_text_is_answered(sql: str) -> None:
    assert is_ordered(sql) in (True, False)
