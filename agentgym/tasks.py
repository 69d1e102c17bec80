"""Task sets: what agents are asked to do, in files, versioned and hashed apart from code.

A set is a folder with `taskset.toml` (name, version, licence, canary, splits) and
`tasks.jsonl` (one `Task` a line, each with the canary). Splits are fixed in the file and
disjoint by content.
"""

import json
import random
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym.env import digest
from agentgym.errors import TaskSetError, UnknownNameError, UsageError
from agentgym.registry import EnvSpec, resolve
from agentgym.types import Task


class TaskSetInfo(BaseModel):
    """What `taskset.toml` says.

    Attributes:
        name: The set's name, unique within its environment.
        version: Raised with every change of its tasks.
        environment: The environment it is for; empty where a lone file does not say.
        licence: SPDX expression of the data.
        canary: A string that marks the data, so that a model trained on it can be found out.
        splits: What each split is for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: int = Field(default=1, ge=1)
    environment: str
    description: str = ""
    licence: str
    canary: str = ""
    splits: dict[str, str] = Field(default_factory=dict)


class TaskSet:
    """Tasks with their origin and content hash.

    Args:
        info: The set's own words.
        tasks: Its tasks, in file order.
        source: What names it again: a name or a path.
    """

    def __init__(self, info: TaskSetInfo, tasks: Sequence[Task[Any, Any]], source: str) -> None:
        self.info = info
        self.tasks = tuple(tasks)
        self.source = source

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task[Any, Any]]:
        return iter(self.tasks)

    @property
    def hash(self) -> str:
        """Content hash of the whole set, whatever its order."""
        return digest(sorted([task.id, task.split, task_hash(task)] for task in self.tasks))

    @property
    def unsound(self) -> dict[str, str]:
        """Why tasks are not sound, by id: those with flags, and those tagged "unsound".

        The latter are played all the same, so that results compare with published ones.
        """
        why = {task.id: ", ".join(task.flags) or task.tags.get("unsound", "") for task in self}
        return {task_id: reason for task_id, reason in why.items() if reason}

    def select(
        self,
        *,
        ids: Sequence[str] = (),
        split: str | None = None,
        limit: int | None = None,
        shuffle_seed: int | None = None,
        flagged: bool = False,
    ) -> "TaskSet":
        """Return the part of the set that passes every filter, in file order.

        Args:
            ids: Ids or shell patterns; empty takes all.
            split: One split; None takes all.
            limit: At most so many, taken after shuffling.
            shuffle_seed: Shuffles by this seed, the same everywhere.
            flagged: Whether unsound tasks are taken too.

        Raises:
            UsageError: Nothing is left, or a filter names nothing.
        """
        if limit is not None and limit < 1:
            raise UsageError(f"A limit of {limit} selects no task.", remedy="Give 1 or more.")
        splits = {task.split for task in self.tasks}
        if split is not None and split not in splits:
            raise UnknownNameError("split", split, splits)
        chosen = [task for task in self.tasks if flagged or not task.flags]
        chosen = [task for task in chosen if split is None or task.split == split]
        if ids:
            _check_patterns(ids, [task.id for task in self.tasks])
            chosen = [task for task in chosen if any(_matches(task.id, p) for p in ids)]
        if shuffle_seed is not None:
            random.Random(shuffle_seed).shuffle(chosen)
        if not chosen:
            raise UsageError(
                f"No task of {self.source} is left after the filters.",
                remedy="Flagged tasks need --include-flagged.",
            )
        return TaskSet(self.info, chosen[:limit], self.source)


def task_hash(task: Task[Any, Any]) -> str:
    """Content hash of a task: what is asked and how it is graded, not its name or split.

    A public or private model leaves fields out, such as a local path, by naming them in a class
    variable `unhashed`.
    """
    left_out: dict[str, Any] = {"id": True, "split": True, "tags": True, "flags": True}
    for part in ("public", "private"):
        names = getattr(type(getattr(task, part)), "unhashed", ())
        left_out[part] = dict.fromkeys(names, True)
    return digest(task.model_dump(mode="json", exclude_defaults=True, exclude=left_out))


def load_tasks(env_spec: EnvSpec, source: str | None = None) -> TaskSet:
    """Load tasks for an environment.

    Args:
        env_spec: The environment that will play them.
        source: The name of one of its sets, a `tasks.jsonl`, a task-set folder, or a folder in
            a layout the environment knows; None takes its default set.

    Raises:
        TaskSetError: The file is malformed, and file, line and field are named; or the set is
            for another environment.
        UnknownNameError: It is neither a known set nor a path.
    """
    task_type = env_spec.environment_type().task_type
    named = env_spec.task_set_paths()
    source = source or env_spec.default_tasks
    if source in named:
        return read_task_set(named[source], task_type, source)
    if source in env_spec.made_tasks:
        return _make_task_set(env_spec, source)
    path = Path(source)
    if not path.exists():
        known = env_spec.task_set_names()
        if "/" in source or path.suffix:
            raise UsageError(
                f"There is no task file or folder {source!r}.",
                remedy=f"Check the path, or name a set: {', '.join(known) or 'none is shipped'}.",
            )
        raise UnknownNameError(f"task set of {env_spec.name!r}", source, known)
    found = _read_path(env_spec, path.resolve(), task_type)
    if found.info.environment not in ("", env_spec.name):
        raise TaskSetError(
            f"{found.source} is a task set of {found.info.environment!r}, not of "
            f"{env_spec.name!r}.",
            remedy="Name a set of this environment.",
        )
    return found


def _make_task_set(env_spec: EnvSpec, name: str) -> TaskSet:
    make: Callable[[], TaskSet] = resolve(env_spec.made_tasks[name])
    made = make()
    _check_disjoint(made.tasks, f"{env_spec.name}:{name}")
    return made


def _read_path(env_spec: EnvSpec, path: Path, task_type: type[Task[Any, Any]]) -> TaskSet:
    if path.is_file() or (path / "taskset.toml").exists():
        return read_task_set(path, task_type, str(path))
    layouts: Callable[[Path], TaskSet | None] | None = (
        resolve(env_spec.layouts) if env_spec.layouts else None
    )
    found = layouts(path) if layouts else None
    if found is None:
        raise UsageError(
            f"The folder {str(path)!r} is in no layout that {env_spec.name!r} knows.",
            remedy="A task set has a taskset.toml and a tasks.jsonl.",
        )
    return found


def read_task_set(path: Path, task_type: type[Task[Any, Any]], source: str) -> TaskSet:
    """Read a task-set folder, or a lone `tasks.jsonl`.

    Raises:
        TaskSetError: A line is malformed, an id is there twice, or splits share content.
    """
    if path.is_file():
        toml = path.parent / "taskset.toml"
        info = _read_info(toml) if toml.exists() else _info_of_lone_file(path)
        file = path
    else:
        info, file = _read_info(path / "taskset.toml"), path / "tasks.jsonl"
    tasks = list(_read_lines(file, task_type, info))
    if not tasks:
        raise TaskSetError(f"{file}: no task in it.")
    _check_disjoint(tasks, file)
    return TaskSet(info, tasks, source)


def _read_info(path: Path) -> TaskSetInfo:
    try:
        return TaskSetInfo.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaskSetError(f"{path}: {error}") from error
    except ValidationError as error:
        raise TaskSetError(f"{path}: {first_problem(error)}") from error


def _info_of_lone_file(path: Path) -> TaskSetInfo:
    return TaskSetInfo(name=path.stem, environment="", licence="unknown")


def _read_lines(
    path: Path, task_type: type[Task[Any, Any]], info: TaskSetInfo
) -> Iterator[Task[Any, Any]]:
    seen: dict[str, int] = {}
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskSetError(f"{path}: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        task = _read_line(line, where, task_type, info)
        if task.id in seen:
            raise TaskSetError(f"{where}: id: {task.id!r} is already on line {seen[task.id]}.")
        if info.splits and task.split not in info.splits:
            raise TaskSetError(f"{where}: split: {task.split!r} is not in taskset.toml.")
        seen[task.id] = number
        yield task


def _read_line(
    line: str, where: str, task_type: type[Task[Any, Any]], info: TaskSetInfo
) -> Task[Any, Any]:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise TaskSetError(f"{where}: not JSON: {error.msg} at column {error.colno}.") from error
    except (ValueError, RecursionError) as error:  # a number or a nesting without measure
        raise TaskSetError(f"{where}: not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise TaskSetError(f"{where}: a task is a JSON object.")
    if data.pop("canary", "") != info.canary and info.canary:
        raise TaskSetError(f"{where}: canary: not the one of taskset.toml.")
    try:
        return task_type.model_validate(data)
    except ValidationError as error:
        raise TaskSetError(f"{where}: {first_problem(error)}") from error


def first_problem(error: ValidationError) -> str:
    """Return the first field at fault and why, and how many more there are."""
    problems = error.errors(include_url=False, include_context=False)
    field = ".".join(str(part) for part in problems[0]["loc"]) or "task"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{field}: {problems[0]['msg']}{more}."


def _check_disjoint(tasks: Iterable[Task[Any, Any]], where: Path | str) -> None:
    owner: dict[str, Task[Any, Any]] = {}
    for task in tasks:
        first = owner.setdefault(task_hash(task), task)
        if first is not task:
            raise TaskSetError(
                f"{where}: {task.id!r} ({task.split}) has the content of {first.id!r} "
                f"({first.split}).",
                remedy="Every task is in one split, once.",
            )


def _check_patterns(patterns: Sequence[str], ids: Sequence[str]) -> None:
    for pattern in patterns:
        if not any(_matches(task_id, pattern) for task_id in ids):
            raise UnknownNameError("task", pattern, ids)


def _matches(task_id: str, pattern: str) -> bool:
    return task_id == pattern or fnmatchcase(task_id, pattern)
