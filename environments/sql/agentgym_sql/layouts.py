"""Readers of the folders in which other text-to-SQL benchmarks are published.

* `intercode` (InterCode's conversion of Spider): `tasks.json`, `databases/<db>.sqlite`.
* `spider`: `train_spider.json`, `train_others.json`, `dev.json`, `test.json`;
  `database/<db>/<db>.sqlite`, or `test_database/` for the test split where there is one.
* `bird`: `train.json` with `train_databases/<db>/<db>.sqlite`; `dev.json` and
  `mini_dev_sqlite.json` with `dev_databases/`.

A folder may hold some of a layout's files. Each is a JSON array of objects, whose further
fields are ignored.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from agentgym.errors import TaskSetError, UnknownNameError

# A name is one part of a path, so that no entry reaches outside the folder.
DbName = Annotated[str, StringConstraints(pattern=r"^[^/\\\x00]+$", max_length=200)]
NonBlank = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


@dataclass(frozen=True)
class ForeignQuestion:
    """One question of another benchmark.

    Attributes:
        id: Unique within the folder: the file's stem and the benchmark's own number, or the
            position in the file, counted from 0, where it gives none.
        db_path: The SQLite file, which exists.
        evidence: Outside knowledge that the benchmark gives with the question.
        gold: The query whose result is right.
        difficulty: The benchmark's own word for it.
        split: Such as "train", "dev" or "test".
    """

    id: str
    db_path: Path
    question: str
    evidence: str | None
    gold: str
    difficulty: str | None
    split: str


class _Entry(BaseModel):
    db: DbName
    question: NonBlank
    gold: NonBlank
    number: int | None = None
    evidence: str | None = None
    difficulty: str | None = None


class _InterCodeEntry(_Entry):
    question: NonBlank = Field(alias="query")
    difficulty: str | None = Field(default=None, alias="hardness")


class _SpiderEntry(_Entry):
    db: DbName = Field(alias="db_id")
    gold: NonBlank = Field(alias="query")


class _BirdEntry(_Entry):
    db: DbName = Field(alias="db_id")
    gold: NonBlank = Field(alias="SQL")
    number: int | None = Field(default=None, alias="question_id")


@dataclass(frozen=True)
class Source:
    """One file of questions.

    Attributes:
        file: Its name in the folder.
        split: The split its questions belong to.
        databases: Folders of its databases; the first that exists is meant.
    """

    file: str
    split: str
    databases: tuple[str, ...]

    def home(self, folder: Path) -> Path | None:
        """Return the folder of the databases; None where this source is not in the folder."""
        if not (folder / self.file).is_file():
            return None
        homes = (folder / name for name in self.databases)
        return next((home for home in homes if home.is_dir()), None)


@dataclass(frozen=True)
class Layout:
    """How one benchmark lays out its files.

    Attributes:
        sources: Its files of questions.
        db_file: Where a database lies below its folder, with `{db}` for its name.
        entry: The fields of a question.
    """

    sources: tuple[Source, ...]
    db_file: str
    entry: type[_Entry]


LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        "intercode": Layout(
            (Source("tasks.json", "test", ("databases",)),), "{db}.sqlite", _InterCodeEntry
        ),
        "spider": Layout(
            (
                Source("train_spider.json", "train", ("database",)),
                Source("train_others.json", "train", ("database",)),
                Source("dev.json", "dev", ("database",)),
                Source("test.json", "test", ("test_database", "database")),
            ),
            "{db}/{db}.sqlite",
            _SpiderEntry,
        ),
        "bird": Layout(
            (
                Source("train.json", "train", ("train_databases",)),
                Source("dev.json", "dev", ("dev_databases",)),
                Source("mini_dev_sqlite.json", "mini_dev", ("dev_databases",)),
            ),
            "{db}/{db}.sqlite",
            _BirdEntry,
        ),
    }
)
"""Every known layout by name."""


def detect_layout(folder: Path) -> str | None:
    """Return the name of the layout the folder has, None where it has none that is known."""
    for name, layout in LAYOUTS.items():
        if any(source.home(folder) for source in layout.sources):
            return name
    return None


def read_layout(folder: Path, *, split: str | None = None) -> Iterator[ForeignQuestion]:
    """Read the questions of a folder in a known layout, in the order of its files.

    Args:
        folder: The folder that holds the files of questions.
        split: Read only the files of this split.

    Raises:
        TaskSetError: The folder has no known layout, or, on reaching it, a file, an entry or
            a database is not as it has to be.
        UnknownNameError: The folder has no file of this split.
    """
    name = detect_layout(folder)
    if name is None:
        raise TaskSetError(
            f"{folder} is not a folder of questions and databases in a known layout.",
            remedy=f"Known layouts: {', '.join(LAYOUTS)}.",
        )
    homes = [(source, source.home(folder)) for source in LAYOUTS[name].sources]
    found = [(source, home) for source, home in homes if home]
    splits = {source.split for source, _ in found}
    if split is not None and split not in splits:
        raise UnknownNameError("split", split, splits)
    wanted = [pair for pair in found if split in (None, pair[0].split)]
    return (q for source, home in wanted for q in _read(folder, home, LAYOUTS[name], source))


def _read(folder: Path, home: Path, layout: Layout, source: Source) -> Iterator[ForeignQuestion]:
    path = folder / source.file
    seen: set[int] = set()
    for index, raw in enumerate(_array(path)):
        where = f"{path}, entry {index}"
        entry = _validated(layout.entry, raw, where)
        number = index if entry.number is None else entry.number
        if number in seen:
            raise TaskSetError(f"{where}, field 'question_id': {number} is taken already.")
        seen.add(number)
        yield ForeignQuestion(
            id=f"{path.stem}-{number}",
            db_path=_database(home, layout.db_file, entry.db, where),
            question=entry.question,
            evidence=entry.evidence or None,
            gold=entry.gold,
            difficulty=entry.difficulty or None,
            split=source.split,
        )


def _array(path: Path) -> list[Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise TaskSetError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise TaskSetError(f"{path} is not JSON in UTF-8: {error}.") from error
    if not isinstance(value, list):
        raise TaskSetError(f"{path} holds one JSON {type(value).__name__}, not an array.")
    return value


def _validated(model: type[_Entry], raw: Any, where: str) -> _Entry:
    if not isinstance(raw, dict):
        raise TaskSetError(f"{where} is not a JSON object.", remedy=_needs(model))
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = f"{where}, field {first['loc'][0]!r}: {first['msg']}."
        raise TaskSetError(message, remedy=_needs(model)) from error


def _needs(model: type[_Entry]) -> str:
    fields = model.model_fields.items()
    required = [field.alias or name for name, field in fields if field.is_required()]
    return f"An entry needs {', '.join(required)}."


def _database(home: Path, db_file: str, db: str, where: str) -> Path:
    path = home / db_file.format(db=db)
    if path.is_file():
        return path
    # Benchmarks spell a database's name in several cases; a unique one is meant all the same.
    name = str(path).casefold()
    alike = [p for p in home.glob(db_file.format(db="*")) if str(p).casefold() == name]
    if len(alike) == 1:
        return alike[0]
    raise TaskSetError(
        f"{where}: the database {path} is missing.",
        remedy="Unpack the benchmark's databases there.",
    )
