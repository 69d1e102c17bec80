"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from agentgym.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends well.

    A device or pipe, such as /dev/stdout, is written to and never replaced; behind a link, the
    file it points to is replaced.

    Raises:
        UsageError: It cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with _unwritable(path), path.open("wb") as file:
            yield file
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _unwritable(path), temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"Cannot write {path}: {error.strerror}.", remedy="Name another file."
        ) from error
