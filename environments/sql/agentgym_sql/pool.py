"""Worker processes as the host sees them: start, ask, kill, keep for the next episode."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentgym.errors import EnvironmentLostError, EnvironmentTimeoutError, UsageError
from agentgym_sql import wire
from agentgym_sql.results import DatabaseUnusableError, StatementError

_READ_BYTES = 1 << 18
_INHERITED = ("TMPDIR", "LD_LIBRARY_PATH")
_ENGINE_CRASHES = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
)

# The package's __init__ is left out: it brings the whole environment, and a worker needs
# this folder's modules only. Site-packages come by the host's own path, without site hooks.
_START = """
import sys, types
package = types.ModuleType("agentgym_sql")
package.__path__ = [sys.argv[3]]
sys.modules["agentgym_sql"] = package
sys.path += [p for p in __import__("json").loads(sys.argv[4]) if p not in sys.path]
from agentgym_sql.worker import main
main(int(sys.argv[1]), sys.argv[2])
"""


class WorkerLostError(Exception):
    """The worker process died, answered with no frame, or lost the server it talks to.

    Args:
        message: What is known of it.
        crashed: Whether the database engine inside it crashed.
    """

    def __init__(self, message: str, *, crashed: bool = False) -> None:
        super().__init__(message)
        self.crashed = crashed


class WorkerTimeoutError(Exception):
    """The worker did not answer in time, and was killed."""


class Worker:
    """One child process, which answers one request at a time.

    Bound to no event loop: each call uses the loop it runs in.

    Args:
        kind: What it serves, as `worker.main` names it.
        site_packages: Whether it may import what the host can, beyond the standard library.
    """

    def __init__(self, kind: str, *, site_packages: bool) -> None:
        self._socket, inherited = socket.socketpair()
        self._socket.setblocking(False)
        command = [sys.executable, "-I", "-S", "-c", _START, str(inherited.fileno()), kind]
        path = [entry for entry in sys.path if entry] if site_packages else []
        command += [str(Path(__file__).resolve().parent), json.dumps(path)]
        environment = {"TZ": "UTC0", "LC_ALL": "C.UTF-8"}
        environment |= {name: os.environ[name] for name in _INHERITED if name in os.environ}
        with inherited:
            self.process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=[inherited.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._received = bytearray()

    @property
    def alive(self) -> bool:
        """Whether it runs and is not in the middle of an answer."""
        return self._socket.fileno() >= 0 and self.process.poll() is None

    async def call(
        self, operation: str, *arguments: wire.Json, blob: bytes = b"", timeout_s: float
    ) -> wire.Frame:
        """Have one operation done.

        Args:
            operation: Its name.
            arguments: JSON values and bytes.
            blob: Travels beside the arguments, unencoded.
            timeout_s: Seconds until the worker is killed.

        Returns:
            The answer and its blob.

        Raises:
            StatementError: The operation failed as a statement does.
            DatabaseUnusableError: It cannot work on what it was given.
            WorkerTimeoutError: No answer in time; the worker is dead.
            WorkerLostError: The worker died.
        """
        request = wire.encode([operation, 2 * timeout_s, *arguments], blob)
        answered = False
        try:
            await self._send(request, timeout_s)
            frame = await self._receive(timeout_s)
            answered = True
        except TimeoutError:
            raise WorkerTimeoutError(f"no answer in {timeout_s:g} s") from None
        except (OSError, wire.FrameError) as error:
            raise self._lost(error) from error
        finally:
            if not answered:  # an answer that comes late would be taken for the next one's
                self.kill()
        return _result(frame)

    def kill(self) -> None:
        """End the process at once; may be called again. `ended` tells when it is gone."""
        self.process.kill()
        self._socket.close()

    def ended(self) -> bool:
        """Whether the process is gone and reaped."""
        return self.process.poll() is not None

    async def _send(self, request: bytes, timeout_s: float) -> None:
        try:
            sent = self._socket.send(request)
        except BlockingIOError:
            sent = 0
        if sent < len(request):
            rest = asyncio.get_running_loop().sock_sendall(self._socket, request[sent:])
            await asyncio.wait_for(rest, timeout_s)

    async def _receive(self, timeout_s: float) -> wire.Frame:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[wire.Frame] = loop.create_future()
        descriptor = self._socket.fileno()
        timer = loop.call_later(timeout_s, _expire, answer)
        loop.add_reader(descriptor, self._on_readable, answer)
        try:
            return await answer
        finally:
            timer.cancel()
            loop.remove_reader(descriptor)

    def _on_readable(self, answer: "asyncio.Future[wire.Frame]") -> None:
        if answer.done():
            return
        try:
            chunk = self._socket.recv(_READ_BYTES)
            if not chunk:
                raise ConnectionResetError("the worker closed its end")
            received = self._received
            received += chunk
            if len(received) >= wire.HEADER.size and len(received) >= wire.frame_size(received):
                self._received = bytearray()
                answer.set_result(wire.decode(received))
        except BlockingIOError:
            return
        except (OSError, wire.FrameError) as error:
            answer.set_exception(error)

    def _lost(self, error: Exception) -> WorkerLostError:
        try:
            code = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return WorkerLostError(f"The database worker broke off: {error}.")
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return WorkerLostError(
            f"The database worker ended by {how}.", crashed=-code in _ENGINE_CRASHES
        )


def _expire(answer: "asyncio.Future[wire.Frame]") -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())


def _result(frame: wire.Frame) -> wire.Frame:
    (status, *values), blob = frame
    if status == "fault":
        raise StatementError(*values)
    if status == "unusable":
        raise DatabaseUnusableError(*values)
    if status == "lost":
        raise WorkerLostError(*values)
    return values[0], blob


@contextmanager
def infrastructure_errors(doing: str) -> Iterator[None]:
    """Raise a worker's errors as the protocol's, where no statement of the agent's runs.

    Args:
        doing: What is being done, such as "opening the database".

    Raises:
        UsageError: What was given cannot be used.
        EnvironmentTimeoutError: It took too long.
        EnvironmentLostError: It broke otherwise.
    """
    try:
        yield
    except DatabaseUnusableError as error:
        raise UsageError(error.message, remedy=error.remedy) from error
    except WorkerTimeoutError as error:
        raise EnvironmentTimeoutError(f"While {doing}: {error}.") from error
    except WorkerLostError as error:
        raise EnvironmentLostError(f"While {doing}: {error}") from error
    except StatementError as error:
        kind = EnvironmentTimeoutError if error.kind == "timeout" else EnvironmentLostError
        raise kind(f"While {doing}: {error}") from error


class WorkerPool:
    """Workers that wait for their next session.

    Args:
        kind: What the workers serve.
        site_packages: Whether they may import what the host can.
        max_idle: Workers kept at most while nothing needs them.
    """

    def __init__(self, kind: str, *, site_packages: bool, max_idle: int) -> None:
        self._kind = kind
        self._site_packages = site_packages
        self._max_idle = max_idle
        self._idle: list[Worker] = []
        self._ending: list[Worker] = []

    def take(self) -> Worker:
        """Return a worker that nobody else uses, started where none waits."""
        self._ending = [worker for worker in self._ending if not worker.ended()]
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            self.drop(worker)
        return Worker(self._kind, site_packages=self._site_packages)

    def give_back(self, worker: Worker) -> None:
        """Keep a worker for the next session, or end it where enough wait."""
        if worker.alive and len(self._idle) < self._max_idle:
            self._idle.append(worker)
        else:
            self.drop(worker)

    def drop(self, worker: Worker) -> None:
        """End a worker."""
        worker.kill()
        self._ending.append(worker)

    async def close(self) -> None:
        """End every worker that waits; sessions that are still open keep theirs."""
        for worker in self._idle:
            worker.kill()
        ending, self._idle, self._ending = self._idle + self._ending, [], []
        for worker in ending:
            await asyncio.to_thread(worker.process.wait)
