"""A training's folder: what is done, and that nobody else works in it."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from agentgym.errors import UsageError
from agentgym.types import Json

STATE = "state.json"


class TrainingFolder:
    """Where one seed's training keeps what must outlive its process.

    `state.json` is replaced as a whole, so that a killed process leaves the old one or the new
    one.

    Args:
        path: The folder; made where it is missing.
        settings: What the training does. A folder belongs to the settings it was begun with.

    Raises:
        UsageError: It holds a training of other settings, or cannot be written.
    """

    def __init__(self, path: Path, settings: Mapping[str, Json]) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            stored = self._read()
        except OSError as error:
            raise UsageError(
                f"The folder {path} cannot be used: {error.strerror}.", remedy="Name another."
            ) from error
        self._state = stored or {"settings": dict(settings), "done": {}}
        changed = _differing(self._state["settings"], settings)
        if changed:
            raise UsageError(
                f"{path} holds a training of other settings: {', '.join(changed)}.",
                remedy="Name another output folder, or remove this one.",
            )

    @property
    def done(self) -> dict[str, Json]:
        """What each complete stage came to, by its name, in the order they were completed."""
        done: dict[str, Json] = self._state["done"]
        return done

    def finish(self, stage: str, facts: Json) -> None:
        """Write down that a stage is complete."""
        self.done[stage] = facts
        temporary = self.path / f".{STATE}.tmp"
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(self._state, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / STATE)

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Keep other processes out inside the block; the end of this process ends it too.

        Raises:
            UsageError: Another process trains here.
        """
        with (self.path / ".lock").open("w") as file:
            _lock(file, self.path)
            yield

    def _read(self) -> dict[str, Any] | None:
        path = self.path / STATE
        if not path.exists():
            return None
        try:
            state: dict[str, Any] = json.loads(path.read_text("utf-8"))
            whole = isinstance(state["settings"], dict) and isinstance(state["done"], dict)
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(path) from error
        if not whole:
            raise _damaged(path)
        return state


def _damaged(path: Path) -> UsageError:
    return UsageError(f"{path} is damaged.", remedy=f"Remove {path.parent} and train again.")


def _lock(file: IO[str], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            f"Another process trains in {path}.", remedy="Wait for it, or name another folder."
        ) from error


def _differing(old: Mapping[str, Json], new: Mapping[str, Json], prefix: str = "") -> list[str]:
    """Return the names of the settings that differ, those in tables with the table's."""
    names: list[str] = []
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            names += _differing(before, after, f"{prefix}{name}.")
        elif before != after:
            names.append(f"{prefix}{name}")
    return names
