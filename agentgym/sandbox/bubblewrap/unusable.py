"""Whether bubblewrap works on a machine; where not, why, and what mends it."""

import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.bubblewrap.host import run_options, unprivileged
from agentgym.sandbox.bubblewrap.launch import view_of
from agentgym.sandbox.bubblewrap.view import Arguments
from agentgym.sandbox.spec import SandboxSpec

_TRIAL_S = 30.0
# What a kernel is told to refuse: where that is written, the value that refuses, and the mend.
_SWITCHES = (
    (
        "user/max_user_namespaces",
        "0",
        "User namespaces are switched off (user.max_user_namespaces is 0).",
        "sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "User namespaces are for root alone (kernel.unprivileged_userns_clone is 0).",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1).",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)
_IN_CONTAINER = (
    "In a container, allow namespaces: "
    "--security-opt seccomp=unconfined --security-opt systempaths=unconfined."
)


def find_bwrap() -> str:
    """Return the program's path.

    Raises:
        SandboxUnavailableError: It is not installed.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailableError(
            "bubblewrap is not installed: there is no program `bwrap`.",
            remedy="apt-get install bubblewrap, or: dnf install bubblewrap.",
        )
    return found


def try_out(bwrap: str) -> None:
    """Run `true` as a sandbox would run its guest.

    Raises:
        SandboxUnavailableError: That failed; why, and what mends it.
    """
    with ExitStack() as files:
        arguments = Arguments(files)
        view_of(SandboxSpec(), arguments)
        before, options = unprivileged()
        try:
            done = subprocess.run(
                [*before, bwrap, *arguments.words, "true"],
                stderr=subprocess.PIPE,
                pass_fds=arguments.descriptors,
                timeout=_TRIAL_S,
                check=False,
                **run_options(),
                **options,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise explain(str(error)) from error
    if done.returncode != 0:
        raise explain(done.stderr.decode("utf-8", "replace") or f"status {done.returncode}")


def explain(words: str, *, switches: Path = Path("/proc/sys")) -> SandboxUnavailableError:
    """Return the error for a failed `bwrap`.

    Args:
        words: What it wrote.
        switches: The folder of the kernel's settings.
    """
    for name, refuses, message, remedy in _SWITCHES:
        if _value(switches / name) == refuses:
            return SandboxUnavailableError(message, remedy=remedy)
    last = words.strip().rpartition("\n")[2].removeprefix("bwrap: ")
    message = f"bubblewrap does not work here: {last}."
    if "nknown option" in last:
        return SandboxUnavailableError(message, remedy="Version 0.5 or later is needed.")
    return SandboxUnavailableError(message, remedy=_IN_CONTAINER)


def _value(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except OSError:  # kernels differ in the switches they have
        return ""
