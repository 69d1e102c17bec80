"""Reading the domains from a folder that the user has.

A tau2-bench checkout has them in `data/tau2/domains/<domain>/`; a folder that holds the domains'
folders, or one domain's folder itself, is read too. Each has `db.json`, `policy.md`,
`tasks.json` and, where tasks are split, `split_tasks.json`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agentgym.errors import TaskSetError, UnknownNameError, UsageError
from agentgym_tools.base import Base
from agentgym_tools.domain import Domain
from agentgym_tools.state import Record
from agentgym_tools.tau2.airline import AirlineTools
from agentgym_tools.tau2.airline_records import AirlineContent
from agentgym_tools.tau2.retail import RetailTools
from agentgym_tools.tau2.retail_records import RetailContent
from agentgym_tools.tau2.tasks import Tau2Task
from agentgym_tools.toolkit import Effect, Toolkit

ModelT = TypeVar("ModelT", bound=BaseModel)

CONTENT_FILE = "db.json"


@dataclass(frozen=True)
class _Kind:
    content: type[BaseModel]
    toolkit: type[Toolkit]
    consent: frozenset[str]


# What either policy allows only after the customer's yes.
_RETAIL_CONSENT = frozenset(
    name for name, tool in RetailTools.declared().items() if tool.effect is Effect.WRITE
)
_AIRLINE_CONSENT = frozenset(
    {
        "book_reservation",
        "cancel_reservation",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    }
)


def _owner(collection: str, record: Record) -> str | None:
    owner = record.get("user_id")
    return owner if isinstance(owner, str) else None


_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "retail": _Kind(RetailContent, RetailTools, _RETAIL_CONSENT),
        "airline": _Kind(AirlineContent, AirlineTools, _AIRLINE_CONSENT),
    }
)

_PARENTS = ("data/tau2/domains", "tau2/domains", "domains", ".")


def find_domains(path: Path) -> dict[str, Path]:
    """Return the folders of the domains at or below a path, by the domain's name.

    Raises:
        UsageError: There is none.
    """
    if path.name in _KINDS and (path / CONTENT_FILE).is_file():
        return {path.name: path}
    for parent in _PARENTS:
        folders = {name: path / parent / name for name in _KINDS}
        found = {name: at for name, at in folders.items() if (at / CONTENT_FILE).is_file()}
        if found:
            return found
    here = "has no domain of tau2-bench" if path.is_dir() else "is no folder"
    raise UsageError(
        f"{path} {here}.",
        remedy="Name a tau2-bench checkout, or its data/tau2/domains or a folder in there: "
        f"{' or '.join(_KINDS)} with its {CONTENT_FILE}.",
    )


def looks_like_domains(path: Path) -> bool:
    """Whether a folder is named, or laid out, as the benchmark's, whatever is missing in it."""
    folders = [path / parent / name for parent in _PARENTS for name in _KINDS]
    return (path.name in _KINDS and path.is_dir()) or any(map(Path.is_dir, folders))


def load_domain(path: Path, name: str | None = None) -> Domain:
    """Read a domain; its content is read once in a process and shared.

    Args:
        path: Where the domains are; see `find_domains`.
        name: "retail" or "airline"; may be left out where there is only one.

    Raises:
        UsageError: A file is missing or damaged; the message names it.
    """
    folders = find_domains(path)
    if name is None:
        if len(folders) > 1:
            raise UsageError(f"{path} has several domains.", remedy=f"Name one: {list(folders)}.")
        name = next(iter(folders))
    if name not in folders:
        raise UnknownNameError("tau2 domain", name, folders)
    folder, kind = folders[name].resolve(), _KINDS[name]
    tasks = _tasks(folder)
    _check_calls(folder, tasks, kind.toolkit)
    return Domain(
        name=name,
        base=_base(folder / CONTENT_FILE, name),
        toolkit=kind.toolkit,
        policy=_read(folder / "policy.md"),
        consent=kind.consent,
        handover="transfer_to_human_agents",
        owner=_owner,
        tasks=MappingProxyType(tasks),
    )


def _base(path: Path, name: str) -> Base:
    try:
        stat = path.stat()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    return _cached_base(path, name, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _cached_base(path: Path, name: str, _mtime_ns: int, _size: int) -> Base:
    """Read the content; a file that was changed since is read again."""
    # Through models: fields that a file leaves out are filled in, and the order is always one.
    content = _validated(_KINDS[name].content, _json(path), str(path))
    return Base(content.model_dump())


def _tasks(folder: Path) -> dict[str, Tau2Task]:
    path = folder / "tasks.json"
    raw = _json(path)
    if not isinstance(raw, list):
        raise TaskSetError(f"{path} holds no JSON array of tasks.")
    splits = _splits(folder / "split_tasks.json")
    tasks: dict[str, Tau2Task] = {}
    for index, entry in enumerate(raw):
        where = f"{path}, entry {index}"
        task = _validated(Tau2Task, entry, where)
        if task.id in tasks:
            raise TaskSetError(f"{where}: the id {task.id!r} is taken already.")
        if task.initial_state is not None and any(task.initial_state.values()):
            raise TaskSetError(
                f"{where}: task {task.id!r} has an initial state, which is not supported.",
                remedy="Leave the task out, or put what it changes into db.json.",
            )
        tasks[task.id] = task.model_copy(update={"split": splits.get(task.id)})
    return tasks


def _splits(path: Path) -> dict[str, str]:
    """Return the split of each task; the file also has a split that is the whole set."""
    if not path.is_file():
        return {}
    raw = _json(path)
    splits: dict[str, str] = {}
    for name in ("train", "test"):
        ids = raw.get(name, []) if isinstance(raw, dict) else None
        if not isinstance(ids, list):
            raise TaskSetError(f"{path} does not list the ids of split {name!r}.")
        splits.update((str(task_id), name) for task_id in ids)
    return splits


def _check_calls(folder: Path, tasks: Mapping[str, Tau2Task], toolkit: type[Toolkit]) -> None:
    known = toolkit.declared()
    for task in tasks.values():
        for call in task.gold:
            if call.requestor == "assistant" and call.name not in known:
                unknown = UnknownNameError("tool", call.name, known)
                where = f"{folder / 'tasks.json'}, task {task.id!r}"
                raise TaskSetError(f"{where}: {unknown.message}", remedy=unknown.remedy)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8: {error}.") from error


def _json(path: Path) -> Any:
    try:
        return json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}.") from error


def _validated(model: type[ModelT], raw: Any, where: str) -> ModelT:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = f"{where}, field {field!r}: {first['msg']}."
        remedy = "Take the file from tau2-bench again."
        raise TaskSetError(message, remedy=remedy) from error
