"""What the doctor finds, and its look at what sandboxes stand on."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentgym.errors import SandboxUnavailableError


class Finding(NamedTuple):
    """One thing looked at.

    Attributes:
        needed_for: What does not work without it.
        remedy: What is wrong and brings it; empty where it is there.
    """

    name: str
    found: bool
    needed_for: str
    remedy: str


def looks_at_sandboxes() -> Iterator[Finding]:
    """Yield whether there are an engine, bubblewrap, namespaces for it, and a C compiler."""
    yield _found("Docker engine", "sandboxes in containers", _engine)
    yield _found("bubblewrap", "sandboxes without an engine", _bwrap)
    yield _found("user namespaces", "bubblewrap", _namespaces)
    yield _found("C compiler", "every sandbox, once", _compiler)


def _found(name: str, needed_for: str, look: Callable[[], object]) -> Finding:
    try:
        look()
    except SandboxUnavailableError as error:
        return Finding(name, False, needed_for, " ".join(str(error).split()))
    return Finding(name, True, needed_for, "")


def _engine() -> None:
    from agentgym.sandbox.docker.available import engine_socket

    engine_socket()


def _bwrap() -> None:
    from agentgym.sandbox.bubblewrap.unusable import find_bwrap

    find_bwrap()


def _namespaces() -> None:
    from agentgym.sandbox.bubblewrap.unusable import explain, find_bwrap, try_out

    unshare = shutil.which("unshare")
    if shutil.which("bwrap") or unshare is None:
        try_out(find_bwrap())
        return
    words = [unshare, "--user", "--map-root-user", "true"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise explain(done.stderr)


def _compiler() -> None:
    from agentgym.sandbox.guest.build import compiler

    compiler()
