"""Why bubblewrap does not work on a machine, and what mends it."""

import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.bubblewrap.launch import command_line, program_path
from agentgym.sandbox.bubblewrap.view import Arguments, close_view, host_view

_TRIAL_S = 30.0
# What the kernel is told to refuse: where it is written, the value that refuses, and the mend.
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
    "In a container, let it make namespaces: "
    "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"
)


def try_out() -> None:
    """Run `true` in a sandbox.

    Raises:
        SandboxUnavailableError: That failed; why, and what mends it.
    """
    ...
