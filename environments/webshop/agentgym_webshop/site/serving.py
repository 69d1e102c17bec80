"""Serving the site on this machine, for tests and for browsers in sandboxes."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn
from starlette.types import ASGIApp

from agentgym.errors import EnvironmentLostError

_START_S = 30


class _Server(uvicorn.Server):
    """A server that tells when it answers, or has ended before."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    def serve_on(self, listener: socket.socket) -> None:
        try:
            self.run(sockets=[listener])
        finally:
            self.settled.set()


@contextmanager
def serve(app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve an application in a thread and give its address, such as "http://127.0.0.1:8000".

    Args:
        app: The application.
        host: Where to listen; the default is reached from this machine alone.
        port: 0 takes a free one.

    Raises:
        EnvironmentLostError: The server did not start.
    """
    # h11 refuses requests of more than 64 KiB.
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", log_level="error", access_log=False
    )
    server = _Server(config)
    with socket.create_server((host, port)) as listener:
        address = f"http://{host}:{listener.getsockname()[1]}"
        thread = Thread(
            target=server.serve_on, args=(listener,), name="agentgym-webshop", daemon=True
        )
        thread.start()
        if not (server.settled.wait(_START_S) and server.started):
            raise EnvironmentLostError("The web site did not start.")
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()
