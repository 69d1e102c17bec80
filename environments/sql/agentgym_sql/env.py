"""The SQL environment: look at a database, run statements, submit an answer."""

import math
from typing import Any, Literal

from agentgym.env import ToolEnvironment, digest
from agentgym.errors import ToolError, UnknownNameError, UsageError
from agentgym.tools import tool
from agentgym.types import Reward
from agentgym_sql.backend import open_backend
from agentgym_sql.cached import database_file
from agentgym_sql.comparators import COMPARATORS
from agentgym_sql.display import CELL, shortened, show_result, show_table, show_tables
from agentgym_sql.grading import Answer, Grader, grade_change, grade_state, run_gold
from agentgym_sql.pool import infrastructure_errors
from agentgym_sql.results import StatementError
from agentgym_sql.session import Session
from agentgym_sql.tasks import SqlPrivate, SqlPublic

MESSAGE = 2000
"""Characters of an engine's message shown at most: it may quote the whole statement."""

ENGINES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MariaDB"}

INTRODUCTION = """\
You work with the database "{db}" ({engine}). Look at it with list_tables and describe, and run \
statements with execute, one at a time.

{question}
{hint}
{ending}"""

QUERY_ENDING = (
    "Nothing can be changed here. When you know the answer, call submit once: with the query "
    "that gives exactly the rows and columns asked for, or with these rows."
)
MUTATION_ENDING = (
    "Change the database with execute so that it is as asked, and nothing else is changed. Then "
    "call submit once, without arguments."
)


class SqlEnvironment(ToolEnvironment[SqlPublic, SqlPrivate]):
    """Questions about a database, and changes to one.

    Args:
        url: An administrator's SQLAlchemy URL of a PostgreSQL, MariaDB or MySQL server, into
            which databases are loaded; None uses SQLite.
        comparator: How results are compared: `testsuite`, `bird_ex`, `intercode` or `soft_f1`.
        timeout: Seconds one statement may take.
        max_rows: Rows of a result that are shown to the agent.
        variants: Further databases, the same in schema and other in rows, on which a submitted
            query has to be right too; only for the shipped databases.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        comparator: Literal["testsuite", "bird_ex", "intercode", "soft_f1"] = "testsuite",
        timeout: float = 10.0,
        max_rows: int = 50,
        variants: int = 1,
    ) -> None:
        if comparator not in COMPARATORS:
            raise UnknownNameError("comparator", comparator, COMPARATORS)
        _check_option("timeout", timeout, (int, float), above=0)
        _check_option("max_rows", max_rows, (int,), above=0)
        _check_option("variants", variants, (int,), above=-1)
        self._backend, self._dialect = open_backend(url)
        self._grader = Grader(comparator, timeout)
        self._timeout = timeout
        self._max_rows = max_rows
        self._variants = variants
        self._session: Session | None = None
        self._answer: Answer | None = None

    async def setup(self) -> str:
        """Open the task's database, read-only unless it is to be changed."""
        await self._leave()
        self._answer = None
        public = self.task.public
        self._session = await self._open(writable=public.kind == "mutation")
        return INTRODUCTION.format(
            db=public.db,
            engine=ENGINES[self._dialect],
            question=public.question,
            hint=f"\nHint: {public.hint}\n" if public.hint else "",
            ending=QUERY_ENDING if public.kind == "query" else MUTATION_ENDING,
        )

    @tool
    async def list_tables(self) -> str:
        """List the tables with the names of their columns."""
        return show_tables(await self._active.schema())

    @tool
    async def describe(self, table: str) -> str:
        """Show a table's columns with their types, keys and references.

        Args:
            table: The table's name.
        """
        tables = {entry.name: entry for entry in await self._active.schema()}
        if table not in tables:
            name = shortened(repr(table), CELL)
            raise ToolError(f"There is no table {name}. Tables: {', '.join(tables)}.")
        return show_table(tables[table])

    @tool
    async def execute(self, sql: str) -> str:
        """Run one SQL statement and see its result.

        Args:
            sql: One statement.
        """
        try:
            result = await self._active.execute(
                sql, timeout_s=self._timeout, max_rows=self._max_rows, max_bytes=100_000
            )
        except StatementError as error:
            raise ToolError(shortened(error.message, MESSAGE)) from None
        return show_result(result)

    @tool
    async def submit(
        self, query: str | None = None, rows: list[list[int | float | str | None]] | None = None
    ) -> str:
        """Submit the final answer; this ends the work.

        Args:
            query: The query that answers the question.
            rows: The rows that answer it, in place of a query.
        """
        if self.task.public.kind == "query" and (query is None) == (rows is None):
            raise ToolError("Submit either a query or rows.")
        values = None if rows is None else tuple(tuple(row) for row in rows)
        if any(isinstance(v, int) and v.bit_length() > 64 for row in values or () for v in row):
            raise ToolError("A row holds a whole number of more than 64 bits.")
        self._answer = Answer(query, values)
        self.finish()
        return "Submitted."

    async def grade(self) -> Reward:
        """Compare with the gold; without a submission the grade is 0."""
        if self._answer is None:
            return self._grader.verdict(0.0, "no_answer", "nothing was submitted")
        if self.task.public.kind == "mutation":
            return await self._grade_mutation()
        return await self._grade_query(self._answer)

    async def save(self) -> Any:
        """Return the database and the answer."""
        return await self._active.save(), self._answer

    async def load(self, state: Any) -> None:
        """Take back what `save` returned, in any object of this class."""
        saved, self._answer = state
        await self._leave()
        self._session = await self._open(writable=self.task.public.kind == "mutation")
        await self._session.load(saved)

    async def fingerprint(self) -> str:
        """Hash the database's content and the answer."""
        return digest([self.task.id, await self._active.state_hash(), self._answer])

    async def close(self) -> None:
        """Drop the database; the task's own is never touched."""
        await self._leave()
        await self._backend.close()

    @property
    def _active(self) -> Session:
        if self._session is None:
            raise UsageError("There is no episode.", remedy="Call reset first.")
        return self._session

    async def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _open(self, *, writable: bool, variant: int = 0) -> Session:
        private = self.task.private
        path = private.file or database_file(self.task.public.db, variant)
        return await self._backend.open(path, writable=writable, seed=self.seed)

    async def _grade_query(self, answer: Answer) -> Reward:
        gold = self.task.private.statements(self._dialect)[0]
        await self._active.rest()  # so that an episode needs one worker, not two
        shipped = self.task.private.file is None and answer.query is not None
        reward = self._grader.verdict(0.0, "gold_failed", "")
        for variant in range(1 + (self._variants if shipped else 0)):
            session = await self._open(writable=False, variant=variant)
            try:
                reward_here = await self._grader.grade_answer(session, answer, gold)
            finally:
                await session.close()
            reward = _worse(reward, reward_here, first=variant == 0)
            if reward.value == 0:
                break
        return reward

    async def _grade_mutation(self) -> Reward:
        session = await self._open(writable=True)
        try:
            pristine = await session.state_hash()
            declared = [table.name for table in await session.schema()]
            statements = self.task.private.statements(self._dialect)
            await run_gold(session, statements, self._timeout * 10)
            if await session.state_hash() == pristine:
                return grade_state(
                    "gold_empty", "the gold changes nothing, so nothing can match it"
                )
            with infrastructure_errors("hashing the gold's state"):
                gold = await session.state_hash(declared)
        finally:
            await session.close()
        return await grade_change(self._active, gold, declared)


def _check_option(name: str, value: Any, types: tuple[type, ...], *, above: int) -> None:
    if type(value) not in types or not above < value < math.inf:
        kind = "number" if float in types else "whole number"
        raise UsageError(f"{name} is {value!r}.", remedy=f"Give a {kind} above {above}.")


def _worse(reward: Reward, here: Reward, *, first: bool) -> Reward:
    """Keep the lowest grade; a variant without rows for the gold decides nothing."""
    if first:
        return here
    if here.labels["outcome"] == "gold_empty" or here.value >= reward.value:
        return reward
    return here.model_copy(update={"labels": {**here.labels, "database": "variant"}})
