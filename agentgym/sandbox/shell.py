"""A persistent bash in a sandbox: a builtin costs a message, not a process."""

import asyncio
import secrets
from collections.abc import Callable, Sequence

from agentgym.errors import ProtocolError, UsageError
from agentgym.sandbox.base import Shell
from agentgym.sandbox.exchanges import Execution, Sink
from agentgym.sandbox.spec import ExecResult

Execute = Callable[[Sequence[str], str, Sink], Execution]
"""Starts a program in a folder, with its output to a sink."""

# A word and a command come on descriptor 3, each ended by a NUL; the word, the status and the
# folder after it go to descriptor 4. Commands have neither of the two, but bash keeps copies of
# them meanwhile that a builtin can write to: the word tells a status from what they wrote.
_LOOP = (
    'cd -- "$1" 2>/dev/null || cd -- "$2" 2>/dev/null; set --; unset OLDPWD; '
    'while IFS= read -r -d "" -u 3 AGENTGYM_WORD && IFS= read -r -d "" -u 3 AGENTGYM_LINE; '
    'do eval "$AGENTGYM_LINE" 3<&- 4>&-; '
    'printf "%s\\0%d\\0%s\\0" "$AGENTGYM_WORD" "$?" "$PWD" >&4; done'
)
_ARGV = ("/bin/bash", "--noprofile", "--norc", "-c", _LOOP, "bash")
_MOST = 1 << 16  # bytes of statuses that are looked at together


class _Output:
    """What one command writes, up to the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.streams = {"stdout": bytearray(), "stderr": bytearray()}
        self.truncated = False

    def take(self, name: str, chunk: memoryview) -> None:
        stream = self.streams[name]
        room = self._limit - len(stream)
        self.truncated |= len(chunk) > room
        stream += chunk[:room]


class GuestShell(Shell):
    """A bash over a guest's connection; see `Shell`.

    Args:
        execute: Starts the bash.
        cwd: Where it starts.
        timeout: Seconds a command may take by default.
        output_limit: Bytes kept of each stream of a command.
    """

    def __init__(self, execute: Execute, *, cwd: str, timeout: float, output_limit: int) -> None:
        self._execute = execute
        self._timeout = timeout
        self._limit = output_limit
        self._bash: Execution | None = None
        self._output = _Output(0)
        self._lock = asyncio.Lock()
        self._closed = False
        self._home = cwd
        self.cwd = cwd
        self.restarts = -1

    async def run(self, command: str, *, timeout: float | None = None) -> ExecResult:
        """See `Shell.run`."""
        line = _line(command)
        async with self._lock:
            bash = self._ready()
            clock = asyncio.get_running_loop().time
            began = clock()
            code, timed_out = None, False
            try:
                async with asyncio.timeout(self._timeout if timeout is None else timeout):
                    word = secrets.token_hex(8).encode()
                    await bash.write(b"%s\0%s\0" % (word, line))
                    code = await self._status(bash, word)
            except TimeoutError:
                timed_out = True
            finally:
                if code is None:
                    self._bash = None
                    bash.abandon()
            if code is None:
                code = (await bash.wait()).exit_code
            streams = self._output.streams
            return ExecResult(
                bytes(streams["stdout"]),
                bytes(streams["stderr"]),
                code,
                timed_out,
                self._output.truncated,
                clock() - began,
            )

    async def close(self) -> None:
        """See `Shell.close`."""
        self._closed = True
        bash, self._bash = self._bash, None
        if bash is not None:
            bash.abandon()

    def _ready(self) -> Execution:
        if self._closed:
            raise ProtocolError("The shell is closed.")
        bash, self._output = self._bash, _Output(self._limit)
        if bash is None or bash.ended:  # or it was killed meanwhile
            again = self.restarts >= 0
            # The folder may be gone when the shell is started anew.
            where = "/" if again else self.cwd
            bash = self._execute((*_ARGV, self.cwd, self._home), where, self._take)
            self.restarts += 1
        while not bash.control.empty():  # what the last command left in the background wrote
            bash.control.get_nowait()
        self._bash = bash
        return bash

    def _take(self, name: str, chunk: memoryview) -> None:
        self._output.take(name, chunk)

    async def _status(self, bash: Execution, word: bytes) -> int | None:
        """Return the command's exit code, or None where the shell has ended or is not itself."""
        said = b""
        while (after := said.partition(word + b"\0")[2]).count(b"\0") < 2:
            part = await bash.control.get()
            if not part:
                return None
            said = (said + part)[-_MOST:]
        code, folder, _ = after.split(b"\0", 2)
        if not code.isdigit() or not 0 <= int(code) <= 255:
            return None
        self.cwd = folder.decode("utf-8", "surrogateescape") or self.cwd
        return int(code)


def _line(command: str) -> bytes:
    try:
        line = command.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UsageError(f"A command that cannot be: {error}.") from error
    if b"\0" in line:
        raise UsageError("A command holds no NUL.")
    return line
