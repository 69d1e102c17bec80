"""What a check works with: sandboxes, folders of the host, and things to look for."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agentgym.errors import AgentgymError
from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.check.registry import Check, holds
from agentgym.sandbox.spec import SandboxSpec

CANARY = "AGENTGYM_CHECK_CANARY"
"""The environment variable of this process that no sandbox may see."""


class Context:
    """What one check works with.

    Attributes:
        backend: What is being checked.
        folder: A folder of the host for this check alone.
        secret: What the canaries hold: an environment variable of this process, and a file in
            its temporary folder and its home each.
        canaries: Those files.
    """

    def __init__(
        self,
        backend: SandboxBackend,
        folder: Path,
        secret: str,
        canaries: tuple[Path, ...],
        shared: Sandbox | None,
    ) -> None:
        self.backend = backend
        self.folder = folder
        self.secret = secret
        self.canaries = canaries
        self._shared = shared
        self._own: list[Sandbox] = []
        self.used = False

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that checks share; it is reset before the next one uses it."""
        if self._shared is None:
            raise LookupError("A check that runs aside makes its own sandboxes.")
        self.used = True
        return self._shared

    async def fresh(self, **fields: Any) -> Sandbox:
        """Return a new sandbox of a spec with these fields, closed after the check."""
        return self.keep(await self.backend.start(checked_spec(**fields)))

    def keep(self, sandbox: Sandbox) -> Sandbox:
        """Have a sandbox closed after the check."""
        self._own.append(sandbox)
        return sandbox

    async def close(self) -> None:
        """Close the check's own sandboxes; those that broke have been reported already."""
        for sandbox in self._own:
            with suppress(AgentgymError, OSError):
                await sandbox.close()


def checked_spec(**fields: Any) -> SandboxSpec:
    """Return a spec whose commands end before a check's patience does."""
    return SandboxSpec.of(**{"timeout": 20.0, **fields})


def token() -> str:
    """Return digits that occur nowhere else; `sleep 600.DIGITS` is found by them."""
    return str(secrets.randbelow(10**18)).zfill(18)


async def home(sandbox: Sandbox) -> str:
    """Return the folder that a sandbox's commands start in."""
    found = await sandbox.exec(["pwd", "-P"])
    holds(found.exit_code == 0, "`pwd` to run", found)
    return found.text.removesuffix("\n")


async def still_works(sandbox: Sandbox) -> None:
    """Fail where a sandbox does not run commands, or does not read and write files."""
    word = token()
    path = f"{await home(sandbox)}/{word}"
    await sandbox.write_file(path, word)
    found = await sandbox.exec(["cat", path])
    holds(found.stdout == word.encode(), "the sandbox to work afterwards", found)
    holds(await sandbox.read_file(path) == word.encode(), "files to be read afterwards", path)
    await sandbox.remove(path)


@contextmanager
def canaries(secret: str) -> Iterator[tuple[Path, ...]]:
    """Put a secret where a sandbox must not find it, as long as the body runs."""
    name = f".agentgym-check-{token()}"
    folders = {Path(tempfile.gettempdir()), Path.home()}
    made: list[Path] = []
    before = os.environ.get(CANARY)
    os.environ[CANARY] = secret
    try:
        for folder in sorted(folders):
            path = folder / name
            with suppress(PermissionError):  # a home that is not ours
                path.write_text(secret, "ascii")
                path.chmod(0o644)
                made.append(path)
        yield tuple(made)
    finally:
        for path in made:
            path.unlink(missing_ok=True)
        os.environ.pop(CANARY)
        if before is not None:
            os.environ[CANARY] = before


def applicable(item: Check, backend: SandboxBackend) -> str | None:
    """Return why a backend is not held to a check, or None."""
    return item.inapplicable(isolated=backend.isolated, users=backend.users)
