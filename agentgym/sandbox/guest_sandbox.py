"""The whole contract over a guest; a backend adds only how to start and how to remove."""

import asyncio
import struct
import tempfile
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agentgym.errors import ProtocolError, SandboxStartError, UsageError
from agentgym.sandbox import requests, transfer, wire
from agentgym.sandbox.base import Command, Sandbox, SandboxBackend, SandboxSnapshot
from agentgym.sandbox.channel import GuestChannel
from agentgym.sandbox.egress.attempt import KEPT_ATTEMPTS, Attempt
from agentgym.sandbox.egress.proxy import Egress, proxy_environment
from agentgym.sandbox.exchanges import Execution, Request, Sink
from agentgym.sandbox.shell import GuestShell
from agentgym.sandbox.spec import DEFAULT_PATH, FileInfo, SandboxSpec, checked_user
from agentgym.sandbox.streams import GuestStream
from agentgym.sandbox.wire import Kind

MAX_READ = 1 << 30
"""Bytes of a file that is read into memory, at most."""
MAX_ARCHIVE = 1 << 30
"""Bytes of a folder's archive, at most."""
_MAX_LISTING = 64 << 20
_SPOOL = 8 << 20
EGRESS_PORT = 3128
"""Where the proxy is found inside, on the loopback address."""
_CHUNK = 1 << 20
_LONG_S = 30 * 86_400.0
_MUCH = 1 << 62
_GUEST = ""  # as a user's name: the guest itself, which may read and write everything


class GuestSandbox(Sandbox):
    """A sandbox whose guest is connected.

    Args:
        spec: What it was made from.
        identity: Its name.
        channel: The guest's connection.
        backend: What made it, and makes its forks.
        folders: The writable folders, which snapshots hold.
        base_env: Variables of every command, under the spec's; such as an image's own.
        cwd: Where commands start and what `HOME` names; the spec's by default.
        user: Whose commands and files are; the spec's by default.

    Attributes:
        egress_log: What was tried to be reached, the latest attempts.
    """

    def __init__(
        self,
        spec: SandboxSpec,
        identity: str,
        channel: GuestChannel,
        *,
        backend: SandboxBackend,
        folders: Sequence[str],
        base_env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
    ) -> None:
        self.spec = spec
        self.id = identity
        self.cwd = cwd or spec.cwd
        self.user = user or spec.user
        self._guest = channel
        self._backend = backend
        self._folders = tuple(folders)
        self._env = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8"} | dict(base_env or {})
        self._env |= {"HOME": self.cwd, **spec.env}
        self._pristine = b""
        self._closing: asyncio.Task[None] | None = None
        self._tunnels: set[asyncio.Task[None]] = set()
        self.egress_log: deque[Attempt] = deque(maxlen=KEPT_ATTEMPTS)
        channel.explain = self._post_mortem
        if spec.egress:
            self._env = proxy_environment(EGRESS_PORT, spec.egress) | self._env

    @abstractmethod
    async def _remove(self) -> None:
        """End and remove what the sandbox runs in; the guest has been hung up on already."""

    @abstractmethod
    async def _post_mortem(self) -> str:
        """Return why the sandbox is gone, one sentence, or nothing where that is unknown."""

    async def prepare(self) -> None:
        """Make the spec's folder and files and open the way out; `reset` goes back to this state.

        Raises:
            SandboxStartError: They cannot be made.
        """
        if self.spec.egress:
            await self._open_egress()
        try:
            await self.make_dir(self.cwd)
            for path, content in self.spec.files.items():
                await self.write_file(path, content)
        except OSError as error:
            message = f"The spec's {error.filename} cannot be made: {error.strerror}."
            raise SandboxStartError(message) from error
        self._pristine = (await self.snapshot()).archive

    @property
    def alive(self) -> bool:
        """Whether it can be used."""
        return self._guest.alive

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
    ) -> Execution:
        """See `Sandbox.start`."""
        self._check_open()
        await self._guest.check()
        content = requests.content(stdin or b"")
        execution = self._execute(
            command,
            flags=wire.EXEC_STDIN if stdin is None or content else 0,
            cwd=cwd,
            env=env,
            user=user,
            timeout=timeout,
            output_limit=output_limit,
        )
        if content:
            execution.feed(content)
        return execution

    def shell(
        self,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        output_limit: int | None = None,
    ) -> GuestShell:
        """See `Sandbox.shell`."""

        def execute(argv: Sequence[str], where: str, sink: Sink) -> Execution:
            return self._execute(
                argv, flags=wire.EXEC_CONTROL, cwd=where, env=env, user=user, sink=sink
            )

        limit = self.spec.output_limit if output_limit is None else output_limit
        return GuestShell(
            execute, cwd=cwd or self.cwd, timeout=self.spec.timeout, output_limit=limit
        )

    async def read_file(self, path: str, *, limit: int | None = None) -> bytes:
        """See `Sandbox.read_file`."""
        most = MAX_READ if limit is None else limit
        content = bytearray()
        part = min(most + 1, _CHUNK)  # the first piece comes with the size, so that what is
        while part:  # too long, such as a hole of any size, is not read
            numbers = wire.U64.pack(len(content)) + wire.U64.pack(part)
            request = self._request(Kind.READ, self._path(path, numbers), path=path, limit=part)
            size = await request.result()
            content += request.data
            if max(size, len(content)) > most:
                raise OSError(27, f"File too large (over {most} bytes)", path)
            part = most + 1 - len(content) if len(request.data) == part else 0
        return bytes(content)

    async def write_file(
        self, path: str, content: bytes | str, *, mode: int = 0o644, user: str | None = None
    ) -> None:
        """See `Sandbox.write_file`."""
        data = requests.content(content)
        payload = requests.on_path(self._user(user), path, wire.U32.pack(mode))
        request = self._request(Kind.WRITE, payload, path=path)
        await request.feed(data)
        request.end_input()
        await request.result()

    async def list_dir(self, path: str) -> list[FileInfo]:
        """See `Sandbox.list_dir`."""
        request = self._request(Kind.LIST, self._path(path), path=path, limit=_MAX_LISTING)
        await request.result()
        return sorted(requests.entries(request.data))

    async def stat(self, path: str) -> FileInfo:
        """See `Sandbox.stat`."""
        request = self._request(Kind.STAT, self._path(path), path=path, limit=wire.MAX_PAYLOAD)
        await request.result()
        return requests.entries(request.data)[0]

    async def make_dir(self, path: str, *, mode: int = 0o755) -> None:
        """See `Sandbox.make_dir`."""
        payload = self._path(path, wire.U32.pack(mode))
        await self._request(Kind.MAKE_DIR, payload, path=path).result()

    async def remove(self, path: str) -> None:
        """See `Sandbox.remove`."""
        await self._request(Kind.REMOVE, self._path(path), path=path).result()

    async def upload(self, source: Path, path: str) -> None:
        """See `Sandbox.upload`."""
        path = requests.normal(path)
        with tempfile.SpooledTemporaryFile(_SPOOL) as archive:
            await asyncio.to_thread(transfer.pack, source, path, archive)
            parent = path.rstrip("/").rpartition("/")[0]
            if parent:
                await self.make_dir(parent)
            request = self._unpack(self.user, [path], clear=False)
            while chunk := await asyncio.to_thread(archive.read, _CHUNK):
                await request.feed(chunk)
            request.end_input()
            await request.result()

    async def download(self, path: str, target: Path) -> None:
        """See `Sandbox.download`."""
        path = requests.normal(path)
        with tempfile.SpooledTemporaryFile(_SPOOL) as archive:
            payload = requests.on_paths(self.user, [path])
            request = self._request(
                Kind.PACK, payload, path=path, limit=MAX_ARCHIVE, sink=archive.write
            )
            await request.result()
            archive.seek(0)
            await asyncio.to_thread(transfer.unpack, archive, path, target)

    async def kill_all(self) -> None:
        """See `Sandbox.kill_all`."""
        await self._request(Kind.KILL_ALL, b"").result()

    async def snapshot(self) -> SandboxSnapshot:
        """See `Sandbox.snapshot`."""
        payload = requests.on_paths(_GUEST, self._folders)
        request = self._request(Kind.PACK, payload, limit=MAX_ARCHIVE)
        await request.result()
        return SandboxSnapshot(self.spec, bytes(request.data))

    async def restore(self, snapshot: SandboxSnapshot) -> None:
        """See `Sandbox.restore`."""
        if snapshot.spec != self.spec:
            raise UsageError("The snapshot is of a sandbox with another spec.")
        await self.kill_all()
        request = self._unpack(_GUEST, self._folders, clear=True)
        await request.feed(snapshot.archive)
        request.end_input()
        await request.result()

    async def reset(self) -> None:
        """See `Sandbox.reset`."""
        await self.restore(SandboxSnapshot(self.spec, self._pristine))
        self.egress_log.clear()

    async def fork(self) -> Sandbox:
        """See `Sandbox.fork`."""
        snapshot = await self.snapshot()
        twin = await self._backend.start(self.spec)
        try:
            await twin.restore(snapshot)
        except BaseException:
            await twin.close()
            raise
        return twin

    async def close(self) -> None:
        """See `Sandbox.close`."""
        # A loop that ends cancels what removes it; whoever ends the pool then asks again.
        if self._closing is None or self._closing.cancelled():
            self._guest.close()
            for tunnel in self._tunnels:
                tunnel.cancel()
            self._closing = asyncio.create_task(self._remove())
        await asyncio.shield(self._closing)

    async def _open_egress(self) -> None:
        egress = Egress(self.spec.egress, self.egress_log.append, sandbox=self.id)

        def accept(identity: int) -> GuestStream:
            stream = GuestStream(self._guest, identity)
            tunnel = asyncio.create_task(egress.serve(stream))
            self._tunnels.add(tunnel)
            tunnel.add_done_callback(self._tunnels.discard)
            return stream

        self._guest.accept = accept
        listening = self._request(Kind.LISTEN, struct.pack("<H", EGRESS_PORT))
        listening.stays_open = True
        await listening.result()

    def _request(
        self,
        kind: Kind,
        payload: bytes,
        *,
        path: str = "",
        limit: int = 0,
        sink: Callable[[memoryview], object] | None = None,
    ) -> Request:
        self._check_open()
        return Request(self._guest, kind, payload, path=path, limit=limit, sink=sink)

    def _unpack(self, user: str, folders: Sequence[str], *, clear: bool) -> Request:
        payload = requests.on_paths(user, folders, wire.U32.pack(clear))
        return self._request(Kind.UNPACK, payload, path=folders[0])

    def _execute(
        self,
        command: Command,
        *,
        flags: int,
        cwd: str | None,
        env: Mapping[str, str] | None,
        user: str | None,
        timeout: float | None = None,
        output_limit: int | None = None,
        sink: Sink | None = None,
    ) -> Execution:
        self._check_open()
        if sink is not None:  # a persistent shell: no end of its own
            timeout, output_limit = _LONG_S, _MUCH
        seconds = self.spec.timeout if timeout is None else timeout
        limit = self.spec.output_limit if output_limit is None else output_limit
        payload = requests.execute(
            requests.argv_of(command),
            {**self._env, **env} if env else self._env,
            cwd=cwd or self.cwd,
            user=self._user(user),
            timeout=seconds,
            limit=limit,
            flags=flags,
        )
        return Execution(self._guest, payload, timeout=seconds, limit=limit, sink=sink)

    def _path(self, path: str, *numbers: bytes) -> bytes:
        return requests.on_path(self.user, path, *numbers)

    def _user(self, user: str | None) -> str:
        if user is None or user == self.spec.user:
            return self.user
        if not self._backend.users:
            raise UsageError(
                f"A {self._backend.name} sandbox has one user, {self.spec.user}.",
                remedy="Docker has several.",
            )
        try:
            return checked_user(user)
        except ValueError as error:
            raise UsageError(f"A command's user: {error}.") from error

    def _check_open(self) -> None:
        if self._closing is not None:
            raise ProtocolError("The sandbox is closed.")
