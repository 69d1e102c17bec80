"""A shell's own state (variables, functions, options, folder) as text, to be taken up elsewhere.

The text is made by one shell and read by another of the same sandbox user; on the host it is only
compared and kept.
"""

import re
import shlex
from typing import NamedTuple

from agentgym.sandbox import Shell

_PATIENCE_S = 10.0

# In a subshell, so that nothing of it stays behind. What `set` prints is brought back last: a
# shell that ends at the first error would end on the way.
_CAPTURE = (
    "(set +o; printf '\\0'; set +eu; shopt -p; declare -p; declare -f; alias -p; umask -p)"
    " 2>/dev/null"
)

# What every bash has of its own, what is another at every moment or in every sandbox, and what
# the sandbox's shell is driven by.
_OWN = re.compile(
    rb"declare -\S+ (AGENTGYM_\w+|BASH\w*|COMP_\w+|DIRSTACK|EPOCH\w+|EUID|FUNCNAME|GROUPS"
    rb"|HISTCMD|HOSTNAME|LINENO|PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID|_)"
    rb"(=.*)?"
)


class SavedShell(NamedTuple):
    """A shell's state.

    Attributes:
        cwd: The folder it is in.
        text: Bash that brings the rest back; empty where it was more than is kept.
    """

    cwd: str
    text: bytes


async def capture(shell: Shell) -> SavedShell:
    """Return a shell's state; its background processes are not part of it."""
    found = await shell.run(_CAPTURE, timeout=_PATIENCE_S)
    if found.timed_out or found.truncated:
        return SavedShell(shell.cwd, b"")
    options, _, rest = found.stdout.partition(b"\0")
    lines = [line for line in rest.split(b"\n") if not _OWN.fullmatch(line)]
    return SavedShell(shell.cwd, b"\n".join([*lines, options]))


async def revive(shell: Shell, saved: SavedShell) -> None:
    """Bring a new shell into a saved state."""
    text = saved.text.decode("utf-8", "surrogateescape")
    script = f"cd -- {shlex.quote(saved.cwd)}\nunset -v OLDPWD $(compgen -e)\n{text}"
    await shell.run(script, timeout=_PATIENCE_S)
