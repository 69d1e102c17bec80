"""Grading: what was submitted against the gold, on pristine databases, out of the agent's reach."""

from collections.abc import Sequence
from typing import NamedTuple

from agentgym.errors import EnvironmentFailedError
from agentgym.types import Reward
from agentgym_sql.comparators import compare, is_ordered
from agentgym_sql.results import Result, StatementError, Value
from agentgym_sql.session import Session

MAX_ROWS = 200_000
MAX_BYTES = 64_000_000

Rows = Sequence[tuple[Value, ...]]


class Answer(NamedTuple):
    """What the agent submitted: a query, its rows, or (for a mutation) nothing more."""

    query: str | None = None
    rows: tuple[tuple[Value, ...], ...] | None = None


class Grader(NamedTuple):
    """How answers are graded.

    Attributes:
        comparator: A name in `comparators.COMPARATORS`.
        timeout_s: Seconds a submitted query may take; the gold has ten times as long.
    """

    comparator: str
    timeout_s: float

    async def grade_answer(self, session: Session, answer: Answer, gold: str) -> Reward:
        """Grade a query task on one database.

        Args:
            session: A pristine, read-only session that the agent never used.
            answer: What was submitted.
            gold: The gold query.
        """
        try:
            expected = await run_whole(session, gold, self.timeout_s * 10)
        except StatementError as error:
            return self.verdict(0.0, "gold_failed", error.message)
        if not expected.rows:
            return self.verdict(0.0, "gold_empty", "the gold has no rows, so nothing can match it")
        predicted: Rows
        if answer.query is None:
            predicted = answer.rows or ()
        else:
            try:
                result = await run_whole(session, answer.query, self.timeout_s)
            except StatementError as error:
                outcome = "timeout" if error.kind == "timeout" else "error"
                return self.verdict(0.0, outcome, error.message)
            predicted = result.rows
        found = compare(self.comparator, predicted, expected.rows, ordered=is_ordered(gold))
        return self.verdict(found.score, found.outcome, found.detail)

    def verdict(self, score: float, outcome: str, detail: str) -> Reward:
        """Return a grade that says which comparator gave it and why."""
        return Reward(
            value=score,
            components={"correct": score},
            labels={"comparator": self.comparator, "outcome": outcome},
            feedback=detail,
        )


def grade_state(outcome: str, detail: str) -> Reward:
    """Return the grade of a mutation."""
    score = float(outcome == "match")
    return Reward(
        value=score,
        components={"correct": score},
        labels={"comparator": "state", "outcome": outcome},
        feedback=detail,
    )


async def run_whole(session: Session, sql: str, timeout_s: float) -> Result:
    """Run a query and return all its rows.

    Raises:
        StatementError: It did not run, or has more rows than can be graded.
    """
    result = await session.execute(sql, timeout_s=timeout_s, max_rows=MAX_ROWS, max_bytes=MAX_BYTES)
    if result.truncated:
        raise StatementError("too_big", f"The result is larger than {MAX_ROWS} rows or 64 MB.")
    return result


async def run_gold(session: Session, statements: Sequence[str], timeout_s: float) -> None:
    """Carry out a mutation's gold.

    Raises:
        EnvironmentFailedError: A statement of it does not run.
    """
    for statement in statements:
        try:
            await session.execute(statement, timeout_s=timeout_s, max_rows=1, max_bytes=MAX_BYTES)
        except StatementError as error:
            raise EnvironmentFailedError("gold", error) from error
