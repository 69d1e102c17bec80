"""Judges' answers, kept by the hash of what was asked: in memory, and in the user's cache."""

import logging
import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

MOST_IN_MEMORY = 1024
"""Answers that one object keeps in memory."""

log = logging.getLogger("agentgym")


class JudgementCache:
    """Answers by key.

    A folder that cannot be read or written is done without: it only saves calls.

    Args:
        folder: Where they are kept; by default in the user's cache folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or user_cache_path("agentgym") / "tools" / "judgements"
        self._memory: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """Return what was kept; None where there is nothing."""
        if key not in self._memory:
            try:
                self._remember(key, self._path(key).read_text("utf-8"))
            except (OSError, UnicodeDecodeError):
                return None
        return self._memory[key]

    def put(self, key: str, text: str) -> None:
        """Keep an answer; a reader in another process finds it whole or not at all."""
        self._remember(key, text)
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{key}-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(path)
        except OSError as error:
            log.warning("a judgement could not be kept: %s", error)

    def _remember(self, key: str, text: str) -> None:
        if len(self._memory) >= MOST_IN_MEMORY:
            self._memory.pop(next(iter(self._memory)))
        self._memory[key] = text

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.txt"
