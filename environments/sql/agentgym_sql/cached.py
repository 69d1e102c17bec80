"""The shipped databases as files: generated once, kept in the user's cache."""

import hashlib
from functools import cache
from pathlib import Path

import platformdirs

from agentgym_sql import databases


@cache
def database_file(name: str, seed: int = 0) -> Path:
    """Return the SQLite file of a shipped database, generating it where it is not there yet.

    The file's name holds a hash of the generating code, so that other code never meets an old
    file.

    Raises:
        UnknownNameError: No database has this name.
    """
    folder = Path(platformdirs.user_cache_dir("agentgym")) / "sql"
    path = folder / f"{name}-{seed}-{_code_hash()}.sqlite"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        databases.build(name, path, seed)
    return path


@cache
def _code_hash() -> str:
    code = hashlib.sha256()
    for path in sorted(Path(databases.__file__).parent.glob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()[:12]
