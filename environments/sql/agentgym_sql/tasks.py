"""What a SQL task holds: a public question and a private gold answer."""

from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Dialect = Literal["sqlite", "postgresql", "mysql"]
Statements: TypeAlias = str | tuple[str, ...]


class SqlPublic(BaseModel):
    """The part an agent may see.

    Attributes:
        db: The database's name.
        kind: `query` wants an answer and lets nothing be changed; `mutation` wants the database
            changed.
        question: What is asked.
        hint: What a colleague would add, such as BIRD's evidence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    db: str
    kind: Literal["query", "mutation"] = "query"
    question: str = Field(min_length=1)
    hint: str | None = None


class SqlPrivate(BaseModel):
    """The part that grades.

    Attributes:
        gold: One query, or the statements of a mutation; by dialect where they differ.
        file: The SQLite file, where it is not one of the shipped databases. It stays out of the
            task's content hash, which holds the file's own hash instead.
        file_hash: SHA-256 of that file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    unhashed: ClassVar = frozenset({"file"})

    gold: Statements | dict[Dialect, Statements]
    file: Path | None = None
    file_hash: str | None = None

    def statements(self, dialect: Dialect) -> tuple[str, ...]:
        """Return the gold's statements for one dialect, in order.

        Raises:
            KeyError: The gold is not written for it.
        """
        gold = self.gold[dialect] if isinstance(self.gold, dict) else self.gold
        return (gold,) if isinstance(gold, str) else gold
