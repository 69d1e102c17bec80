"""The contract every backend fulfils and every environment stands on."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

from agentgym.sandbox.egress.attempt import Attempt
from agentgym.sandbox.spec import ExecResult, FileInfo, SandboxSpec

Command = Sequence[str] | str
"""A program with its arguments, or one line for `bash -c`."""


class SandboxSnapshot(NamedTuple):
    """The writable folders of a sandbox at one moment; processes are not part of it.

    Attributes:
        spec: What the sandbox was made from; it restores into sandboxes of the same spec.
        archive: The folders as a tar archive.
    """

    spec: SandboxSpec
    archive: bytes


class Process(ABC):
    """A command that runs. Its output is either iterated or collected by `wait`.

    Iterating yields `("stdout" | "stderr", bytes)` as it is written.
    """

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield the output as it comes, until the end."""

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """Write to its standard input, which is open until `close_stdin`."""

    @abstractmethod
    async def close_stdin(self) -> None:
        """Let it read the end of its input."""

    @abstractmethod
    async def kill(self) -> None:
        """End it and everything it has started."""

    @abstractmethod
    async def wait(self) -> ExecResult:
        """Return how it ended, with the output that was not iterated."""


class Shell(ABC):
    """A bash that lives on between its commands. Use it as an async context manager.

    Attributes:
        cwd: The folder it is in.
        restarts: How often it had to be started anew: its folder is kept then, its variables
            and functions are not.
    """

    cwd: str
    restarts: int

    @abstractmethod
    async def run(self, command: str, *, timeout: float | None = None) -> ExecResult:
        """Run a command in it and return how it ended.

        A command that ends the shell itself (`exit`), or that runs out of time and is killed
        with all it started, costs the shell; the next command gets a new one in the same
        folder.

        Args:
            command: Any number of lines of bash.
            timeout: Seconds; the spec's by default.

        Raises:
            SandboxLostError: The sandbox died.
            UsageError: The command holds a NUL.
        """

    @abstractmethod
    async def close(self) -> None:
        """End it and everything it has started; closing twice is allowed."""

    async def __aenter__(self) -> Self:
        """Return the shell."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()


class Sandbox(ABC):
    """Where commands and files of an untrusted agent live. Use it as an async context manager.

    A missing program, a full disk or a killed command is an ordinary result. File calls raise
    `OSError` as Python's own would (`FileNotFoundError`, `PermissionError`, ...). Whatever is
    the infrastructure's raises one of `agentgym.errors.Sandbox*Error`. No call is ever repeated
    silently.

    Attributes:
        spec: What it was made from.
        id: Its name in listings, unique on this machine.
        egress_log: What was tried to be reached through the proxy, the latest attempts.
    """

    spec: SandboxSpec
    id: str
    egress_log: Collection[Attempt]

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it can be used, as far as is known without asking it."""

    async def exec(
        self,
        command: Command,
        *,
        stdin: bytes | str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout: float | None = None,
        output_limit: int | None = None,
    ) -> ExecResult:
        """Run a command to its end.

        Args:
            command: A program with its arguments, or one line for `bash -c`.
            stdin: Its whole input; None is an empty one.
            cwd: Where it starts; the spec's by default.
            env: Variables over the spec's.
            user: Who runs it, not root; the spec's by default. Not every backend has several.
            timeout: Seconds; the spec's by default. Then it is killed with all it started.
            output_limit: Bytes kept of each stream; the spec's by default.

        Raises:
            SandboxLostError: The sandbox died, or what answers from it cannot be trusted.
            SandboxTimeoutError: It did not answer although the command's time was over.
            UsageError: An argument no command can have.
        """
        process = await self.start(
            command,
            cwd=cwd,
            env=env,
            user=user,
            timeout=timeout,
            output_limit=output_limit,
            stdin=stdin if stdin is not None else b"",
        )
        return await process.wait()

    @abstractmethod
    async def start(
        self,
        command: Command,
        *,
        stdin: bytes | str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout: float | None = None,
        output_limit: int | None = None,
    ) -> Process:
        """Start a command and return at once; see `exec`.

        Args:
            command: See `exec`.
            stdin: Its whole input; None keeps it open for `Process.write`.
            cwd: See `exec`.
            env: See `exec`.
            user: See `exec`.
            timeout: See `exec`.
            output_limit: See `exec`.
        """

    @abstractmethod
    def shell(
        self,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        output_limit: int | None = None,
    ) -> "Shell":
        """Return a bash that keeps its folder, variables and functions between commands.

        Args:
            cwd: Where it starts; the spec's by default.
            env: Variables over the spec's.
            user: Who runs it; the spec's by default.
            output_limit: Bytes kept of each stream of a command; the spec's by default.
        """

    @abstractmethod
    async def read_file(self, path: str, *, limit: int | None = None) -> bytes:
        """Return a regular file's content.

        Args:
            path: Absolute.
            limit: Bytes read at most; by default 1 GiB.

        Raises:
            OSError: As the user's own `open` would; `EFBIG` where it is longer than `limit`.
        """

    @abstractmethod
    async def write_file(
        self, path: str, content: bytes | str, *, mode: int = 0o644, user: str | None = None
    ) -> None:
        """Write a file, making the folders above it.

        Args:
            path: Absolute.
            content: Text is written as UTF-8.
            mode: Permissions.
            user: Who owns it; the spec's by default.

        Raises:
            OSError: As the user's own `open` would.
        """

    @abstractmethod
    async def list_dir(self, path: str) -> list[FileInfo]:
        """Return a folder's entries by name.

        Raises:
            OSError: As the user's own `scandir` would.
        """

    @abstractmethod
    async def stat(self, path: str) -> FileInfo:
        """Return what a path is; a symbolic link is itself.

        Raises:
            OSError: As the user's own `lstat` would.
        """

    @abstractmethod
    async def make_dir(self, path: str, *, mode: int = 0o755) -> None:
        """Make a folder and those above it; one that exists is left as it is.

        Raises:
            OSError: As the user's own `mkdir` would.
        """

    @abstractmethod
    async def remove(self, path: str) -> None:
        """Remove a file, or a folder with all in it; symbolic links are not followed.

        Raises:
            OSError: As the user's own `rm -r` would.
        """

    @abstractmethod
    async def upload(self, source: Path, path: str) -> None:
        """Copy a file or folder of the host into the sandbox.

        Symbolic links stay links. `path` is the copy's own path, not the folder to put it in.

        Raises:
            OSError: The source cannot be read, or the copy not be written.
        """

    @abstractmethod
    async def download(self, path: str, target: Path) -> None:
        """Copy a file or folder of the sandbox to the host.

        Nothing is written outside `target`, whatever names and links the folder holds: links
        that lead out of it, devices and pipes are refused.

        Raises:
            OSError: It cannot be read or written, or holds what is refused.
        """

    @abstractmethod
    async def kill_all(self) -> None:
        """End every process of the sandbox; files stay."""

    @abstractmethod
    async def snapshot(self) -> SandboxSnapshot:
        """Return the writable folders as they are now; the sandbox goes on unchanged."""

    @abstractmethod
    async def restore(self, snapshot: SandboxSnapshot) -> None:
        """End every process and put the writable folders back.

        Raises:
            UsageError: The snapshot is of another spec.
        """

    @abstractmethod
    async def reset(self) -> None:
        """End every process and put the writable folders back as they were at the start."""

    @abstractmethod
    async def fork(self) -> "Sandbox":
        """Return a second sandbox with the same files; it is closed apart."""

    @abstractmethod
    async def close(self) -> None:
        """Remove the sandbox with all in it; closing twice is allowed."""

    async def __aenter__(self) -> Self:
        """Return the sandbox."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()


class SandboxInfo(NamedTuple):
    """A sandbox, or a thing left of one, as `agentgym sandbox ls` lists it.

    Attributes:
        id: The sandbox's name.
        backend: The backend's name.
        run_id: The run it belongs to.
        owner_pid: The host process that made it.
        alive: Whether that process still lives; what is not alive can be reaped.
        what: "sandbox", "build", "folder", "cgroup" or "image".
        detail: Such as the image and how long it has been there.
    """

    id: str
    backend: str
    run_id: str
    owner_pid: int
    alive: bool
    what: str
    detail: str


class SandboxBackend(ABC):
    """Makes sandboxes. Third parties register theirs as an `agentgym.sandboxes` entry point.

    Attributes:
        name: Such as "docker".
        isolated: Whether untrusted code may run in it.
        users: Whether commands and files of one sandbox may belong to several users.
        overhead: Bytes of memory that a sandbox takes beside its spec's, such as the engine's
            own processes for it.
    """

    name: ClassVar[str]
    isolated: ClassVar[bool] = True
    users: ClassVar[bool] = False
    overhead: ClassVar[int] = 0

    @abstractmethod
    async def check_available(self) -> None:
        """Return where sandboxes can be made here.

        Raises:
            SandboxUnavailableError: What is missing, in one line, with how to get it.
        """

    @abstractmethod
    async def start(self, spec: SandboxSpec) -> Sandbox:
        """Make a sandbox; `agentgym.sandbox.pool` is the usual way to one.

        Raises:
            SandboxUnavailableError: Sandboxes cannot be made here.
            SandboxStartError: This one could not be made.
            UsageError: The spec asks for what the backend does not have.
        """

    @abstractmethod
    async def list(self) -> Sequence[SandboxInfo]:
        """Return everything of agentgym's on this machine, by any process."""

    @abstractmethod
    async def reap(self) -> Sequence[SandboxInfo]:
        """Remove everything whose owner is dead, and return it."""

    @abstractmethod
    async def close(self) -> None:
        """Close every sandbox made here that is still open."""
