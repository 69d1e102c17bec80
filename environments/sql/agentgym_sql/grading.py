"""Grading: what was submitted against the gold, on pristine databases, out of the agent's reach."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from agentgym.errors import EnvironmentFailedError
from agentgym.types import Reward
from agentgym_sql.comparators import compare, is_ordered
from agentgym_sql.results import Result, StatementError, Value
from agentgym_sql.session import Session

MAX_ROWS = 200_000
MAX_BYTES = 64_000_000
INSTANT_CELLS = 5_000
"""Cells of an answer that are compared without leaving the event loop."""

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
                room = _room(expected.rows)
                result = await run_whole(session, answer.query, self.timeout_s, room)
            except StatementError as error:
                outcome = "timeout" if error.kind == "timeout" else "error"
                return self.verdict(0.0, outcome, error.message)
            predicted = result.rows
        comparison = partial(
            compare, self.comparator, predicted, expected.rows, ordered=is_ordered(gold)
        )
        if sum(map(len, predicted)) < INSTANT_CELLS:
            found = comparison()
        else:  # it may take a second, in which no other episode should stand still
            found = await asyncio.to_thread(comparison)
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


async def grade_change(session: Session, gold: str, declared: Sequence[str]) -> Reward:
    """Grade a mutation task.

    Args:
        session: The agent's own, as it left it.
        gold: The hash of the state it should be in.
        declared: Names of the tables there were at first, as `Session.state_hash` takes them.
    """
    try:
        equal = await session.state_hash(declared) == gold
    except StatementError as error:
        return grade_state("timeout" if error.kind == "timeout" else "error", error.message)
    if equal:
        return grade_state("match", "equal")
    return grade_state("mismatch", "the database is not in the state it should be in")


async def run_whole(
    session: Session, sql: str, timeout_s: float, max_bytes: int = MAX_BYTES
) -> Result:
    """Run a query and return all its rows.

    Raises:
        StatementError: It did not run, or has more rows or bytes than can be graded.
    """
    result = await session.execute(sql, timeout_s=timeout_s, max_rows=MAX_ROWS, max_bytes=max_bytes)
    if result.truncated:
        message = f"The result is larger than {MAX_ROWS} rows or {max_bytes} bytes."
        raise StatementError("too_big", message)
    return result


def _room(gold: Rows) -> int:
    """Return the bytes an answer may have: far more than one that matches, bounded for the host."""
    size = sum(len(v) if isinstance(v, str | bytes) else 8 for row in gold for v in row)
    return min(MAX_BYTES, 2 * size + 1_000_000)


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
