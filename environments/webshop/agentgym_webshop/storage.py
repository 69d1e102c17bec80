"""A catalogue's folder: arrays that are mapped into memory, and a manifest written last."""

import hashlib
import json
import mmap
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentgym.errors import UsageError
from agentgym.types import Json

FORMAT = 2
"""Raised with every change of the files' meaning."""

_MANIFEST = "catalogue.json"
_SEEN = "seen.json"


class CatalogueError(UsageError):
    """A catalogue that is missing, damaged, half-built or of another version."""


def damaged(path: Path, why: str) -> CatalogueError:
    """Return the error for a folder that cannot be used."""
    return CatalogueError(
        f"The catalogue {str(path)!r} is unusable: {why}.",
        remedy="Delete that folder; it is built again where it is next needed.",
    )


def write_manifest(folder: Path, facts: dict[str, Any]) -> str:
    """Seal a built folder: note every file's size and hash.

    Returns:
        The catalogue's digest, over all files' content.
    """
    files = {path.name: _file_facts(path) for path in sorted(folder.iterdir())}
    digest = hashlib.sha256(json.dumps([FORMAT, files]).encode()).hexdigest()
    manifest = {"format": FORMAT, "digest": digest, **facts, "files": files}
    path = folder / _MANIFEST
    with path.open("x", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    _note_seen(folder, _seen_now(folder, files))
    return digest


def _file_facts(path: Path) -> list[Any]:
    """Return a file's size and hash."""
    with path.open("rb") as file:
        return [path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()]


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what `write_manifest` noted, after checking that every file is there and whole.

    Files that changed in any way since they were last found whole, be it by a copy, are read whole,
    which takes a second for a million products.

    Raises:
        CatalogueError: There is no manifest, or it and the files do not agree.
    """
    path = folder / _MANIFEST
    try:
        manifest: Any = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        what = "it is half-built" if folder.is_dir() else "there is no such folder"
        raise damaged(folder, what) from None
    except (OSError, ValueError) as error:
        raise damaged(folder, f"{_MANIFEST} cannot be read ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise damaged(folder, f"it is not in format {FORMAT}")
    try:
        _check_files(folder, manifest["files"])
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise damaged(folder, f"{_MANIFEST} lacks what it should say ({error})") from error
    return manifest


def _check_files(folder: Path, files: dict[str, Any]) -> None:
    for name, (size, _) in files.items():
        path = folder / name
        if not path.is_file():
            raise damaged(folder, f"{name} is missing")
        if path.stat().st_size != size:
            raise damaged(folder, f"{name} has {path.stat().st_size} bytes, not {size}")
    seen = _seen_now(folder, files)
    if seen == _seen_before(folder):
        return
    for name, facts in files.items():
        if _file_facts(folder / name) != facts:
            raise damaged(folder, f"{name} has changed since it was built")
    _note_seen(folder, seen)


def _seen_now(folder: Path, names: Iterable[str]) -> dict[str, list[int]]:
    """Return what no write to a file leaves as it is: its inode and the time of its last change."""
    found = {name: (folder / name).stat() for name in names}
    return {name: [stat.st_ino, stat.st_ctime_ns] for name, stat in found.items()}


def _seen_before(folder: Path) -> Json:
    try:
        return json.loads((folder / _SEEN).read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _note_seen(folder: Path, seen: dict[str, list[int]]) -> None:
    temporary = folder / f"{_SEEN}.{secrets.token_hex(4)}"
    with suppress(OSError):  # a folder that is read-only is read whole each time
        temporary.write_text(json.dumps(seen), "utf-8")
        temporary.replace(folder / _SEEN)


def map_array(folder: Path, name: str) -> NDArray[Any]:
    """Map an array read-only; pages are shared with every process that maps it.

    Raises:
        CatalogueError: The file is not an array.
    """
    try:
        array = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise damaged(folder, f"{name}.npy cannot be mapped ({error})") from error
    mapped: NDArray[Any] = array.view(np.ndarray)
    return mapped


def map_bytes(folder: Path, name: str) -> mmap.mmap:
    """Map a file of bytes read-only.

    Raises:
        CatalogueError: The file is empty or cannot be mapped.
    """
    try:
        with (folder / name).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise damaged(folder, f"{name} cannot be mapped ({error})") from error


def new_array(folder: Path, name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Make an array's file, to be filled through the mapping that is returned."""
    path = folder / f"{name}.npy"
    if 0 in shape:
        np.save(path, np.zeros(shape, dtype))
        return np.zeros(shape, dtype)
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
