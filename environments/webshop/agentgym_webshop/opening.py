"""The catalogue that a task is played on, opened once in a process."""

import asyncio
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from agentgym.errors import UsageError
from agentgym.types import Task
from agentgym_webshop.catalogue import Catalogue, shipped
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic

WebShopTask: TypeAlias = Task[WebShopPublic, WebShopPrivate]

_open: dict[Path | int, Catalogue] = {}
_opening = Lock()


async def open_catalogue(task: WebShopTask) -> Catalogue:
    """Return a task's catalogue; see `catalogue_of`. Building one delays no other episode."""
    known = _open.get(_key(task))
    return _checked(known, task) if known else await asyncio.to_thread(catalogue_of, task)


def catalogue_of(task: WebShopTask) -> Catalogue:
    """Return a task's catalogue, opened once and built first where it is not there yet.

    Raises:
        UsageError: It cannot be opened, or its content is not what the task was made on.
    """
    key = _key(task)
    with _opening:
        if key not in _open:
            _open[key] = shipped(key) if isinstance(key, int) else Catalogue.open(key)
    return _checked(_open[key], task)


def _key(task: WebShopTask) -> Path | int:
    return task.private.catalogue or task.public.products


def _checked(catalogue: Catalogue, task: WebShopTask) -> Catalogue:
    made_on = task.private.catalogue_digest
    if made_on not in (None, catalogue.digest):
        raise UsageError(
            f"Task {task.id!r} was made on the catalogue {made_on}, not on {catalogue.digest}.",
            remedy="Load the tasks again from their files.",
        )
    return catalogue
