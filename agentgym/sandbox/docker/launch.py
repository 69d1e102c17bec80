"""One container from nothing to a guest that has greeted, or to nothing again."""

import asyncio
import os
import shutil
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

from agentgym.errors import (
    SandboxLostError,
    SandboxStartError,
    SandboxTimeoutError,
    SandboxTransportError,
)
from agentgym.sandbox.channel import GuestChannel
from agentgym.sandbox.docker.engine import Engine, EngineError
from agentgym.sandbox.docker.hardening import GUEST, HOSTS, SOCKET
from agentgym.sandbox.owner import remove_scratch

_HOSTS = "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost ip6-loopback\n"
_ENDING_S = 5.0
_KILLED = "137"
_HIDDEN = ("bind source path does not exist", "permission denied")
"""What an engine says that has a temporary folder of its own, or may not run what is in it."""


async def launch(
    engine: Engine, name: str, config: dict[str, Any], folder: Path, *, seconds: float
) -> GuestChannel:
    """Start a created container and return its guest's connection.

    The folder is removed when the guest has greeted: inside, an empty one remains.

    Args:
        engine: Runs it.
        name: The container's.
        config: What it is.
        folder: What `furnish` has filled; the container mounts it.
        seconds: How long it may take.

    Raises:
        SandboxStartError: There is no guest; the message says what is known of the reason.
    """
    since = time.time()
    try:
        async with asyncio.timeout(seconds):
            with _listening(folder) as listener:
                await engine.create(name, config)
                connection = await _first_connection(engine, name, listener, since)
            channel = await GuestChannel.over(connection, timeout=seconds)
    except EngineError as error:
        hidden = any(sign in error.said for sign in _HIDDEN)
        raise SandboxStartError(
            f"The Docker engine made no sandbox: {error.said}.",
            remedy="TMPDIR has to name a folder that the engine sees and programs can run from."
            if hidden
            else None,
        ) from error
    except (SandboxLostError, SandboxTimeoutError, SandboxTransportError) as error:
        raise SandboxStartError(f"The sandbox's guest did not greet: {error}") from error
    except TimeoutError as error:
        raise SandboxStartError(f"The sandbox was not ready after {seconds:g} s.") from error
    except OSError as error:
        raise SandboxStartError(f"The sandbox's folder cannot be used: {error}.") from error
    remove_scratch(folder)
    return channel


def furnish(folder: Path, program: Path) -> None:
    """Put into a sandbox's folder what its container needs to start.

    Args:
        folder: Empty, below a folder that nobody else can enter, which is why the container's
            root, another user where the engine maps users, may enter this one.
        program: The compiled guest.

    Raises:
        OSError: The file system is full or does not allow it.
    """
    folder.chmod(0o755)
    guest = folder / GUEST
    try:
        os.link(program, guest)
    except OSError:  # another file system, or one without hard links
        shutil.copyfile(program, guest)
        guest.chmod(0o755)
    hosts = folder / HOSTS
    hosts.write_text(_HOSTS, "ascii")
    hosts.chmod(0o644)


async def ending(engine: Engine, name: str, *, since: float) -> str:
    """Return how a container has ended, one sentence.

    Args:
        engine: Ran it.
        name: The container's.
        since: When it was made, in seconds since 1970.
    """
    events = engine.events(name, ("die", "kill", "oom"), since=since)
    try:
        async with asyncio.timeout(_ENDING_S), aclosing(events):
            return await _told(events)
    except EngineError as error:
        return f"The Docker engine does not say why: {error.said}."
    except TimeoutError:
        return "The Docker engine does not know why."


async def _told(events: AsyncIterator[dict[str, Any]]) -> str:
    signal = ""
    memory = False
    async for event in events:
        attributes = event["Actor"]["Attributes"]
        if event["Action"] == "oom":
            memory = True
        elif event["Action"] == "kill":
            signal = str(attributes["signal"])
        else:
            return _cause(str(attributes["exitCode"]), signal, memory=memory)
    return "The Docker engine hung up."


def _cause(code: str, signal: str, *, memory: bool) -> str:
    if signal:
        return f"Its container was killed from outside with signal {signal}."
    if code == _KILLED:
        return "Its container was killed for memory." if memory else "Its guest was killed."
    return f"Its guest ended with exit code {code}."


async def _first_connection(
    engine: Engine, name: str, listener: socket.socket, since: float
) -> socket.socket:
    """Start the container; return the first connection, and take no other."""
    accepting = asyncio.create_task(_accept(listener))
    try:
        async with engine.output(name) as output:
            await engine.start(name)
            await asyncio.wait((accepting, output), return_when=asyncio.FIRST_COMPLETED)
            if accepting.done():
                return accepting.result()
            said = output.result().decode("utf-8", "replace").strip()
        why = await ending(engine, name, since=since)
        raise SandboxStartError(f"The sandbox ended while it started. {why} {said}".strip())
    finally:
        accepting.cancel()


async def _accept(listener: socket.socket) -> socket.socket:
    connection, _ = await asyncio.get_running_loop().sock_accept(listener)
    return connection


@contextmanager
def _listening(folder: Path) -> Iterator[socket.socket]:
    """Listen in a folder, whose path may be longer than a socket's address can be."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            listener.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
        finally:
            os.close(descriptor)
        (folder / SOCKET).chmod(0o666)
        listener.listen(1)
        listener.setblocking(False)
        yield listener
