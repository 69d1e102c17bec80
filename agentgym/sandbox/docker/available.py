"""Whether this machine's Docker engine can be used, and in words what is missing where not."""

import getpass
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.errors import SandboxUnavailableError

_INSTALL = "Install and start one (Debian: apt-get install docker.io), or use bubblewrap."
_LIMITS = {"MemoryLimit": "memory", "PidsLimit": "process", "CpuCfsQuota": "processor"}


def engine_socket() -> Path:
    """Return the socket of the engine that `DOCKER_HOST` names or that is in its usual place.

    Raises:
        SandboxUnavailableError: Nobody listens there, or this process may not connect, or the
            engine is on another machine.
    """
    path = _named_socket()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError as error:
            raise SandboxUnavailableError(
                f"There is no Docker engine: the socket {path} does not exist.", remedy=_INSTALL
            ) from error
        except PermissionError as error:
            user = _user_name()
            raise SandboxUnavailableError(
                f"The user {user} may not use the Docker engine's socket {path}.",
                remedy=f"Join its group and log in again: sudo usermod -aG docker {user}",
            ) from error
        except OSError as error:
            raise SandboxUnavailableError(
                f"The Docker engine does not run: {path}: {error.strerror}.",
                remedy="Start it: sudo systemctl start docker",
            ) from error
    return path


def check_engine(info: Mapping[str, Any]) -> None:
    """Check that an engine can hold every limit a sandbox has.

    Args:
        info: What the engine says of itself.

    Raises:
        SandboxUnavailableError: It cannot.
    """
    if info.get("OSType") != "linux" or "Docker Desktop" in str(info.get("OperatingSystem")):
        raise SandboxUnavailableError(
            "Sandboxes need a Docker engine that runs on this machine itself, on Linux.",
            remedy="Docker Desktop runs its engine in a virtual machine: use docker.io's.",
        )
    missing = [what for name, what in _LIMITS.items() if not info.get(name)]
    if missing:
        raise SandboxUnavailableError(
            f"The Docker engine cannot set {' and '.join(missing)} limits.",
            remedy="They need control groups; a rootless engine needs them delegated to its user.",
        )
    filters = [str(item) for item in info.get("SecurityOptions") or () if "seccomp" in str(item)]
    if not filters or "unconfined" in filters[0]:
        raise SandboxUnavailableError(
            "The Docker engine filters no system calls (seccomp).",
            remedy="Use an engine and a kernel with seccomp.",
        )


def _named_socket() -> Path:
    host = os.environ.get("DOCKER_HOST", "")
    scheme, _, path = host.partition("://")
    if scheme == "unix":
        return Path(path)
    if host:
        raise SandboxUnavailableError(
            f"DOCKER_HOST is {host}, but sandboxes need the engine of this machine: commands go"
            " over a socket in a bind mount.",
            remedy="Unset DOCKER_HOST, or use bubblewrap.",
        )
    usual = Path("/var/run/docker.sock")
    rootless = Path(os.environ.get("XDG_RUNTIME_DIR", "/run")) / "docker.sock"
    return rootless if rootless.exists() and not usual.exists() else usual


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())
