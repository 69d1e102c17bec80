"""What is asked of the Docker engine, over its socket and never through its command line."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Self

from agentgym.errors import MissingExtraError, SandboxUnavailableError
from agentgym.sandbox.docker.available import engine_socket

if TYPE_CHECKING:
    from aiodocker import Docker
    from aiodocker.containers import DockerContainer

JsonObject = dict[str, Any]
"""What the engine answers with; the Docker Engine API documents it."""

_ANSWER_S = 120.0
_TAIL = 2000


class EngineError(SandboxUnavailableError):
    """The engine refused a request, or did not answer.

    Attributes:
        status: The HTTP status; 0 where there is none.
        said: What the engine said, one line.
    """

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"The Docker engine refused: {said}.")
        self.status = status
        self.said = said


class Engine:
    """A connection to this machine's engine, bound to one event loop.

    Every method raises `EngineError` where the engine refuses.
    """

    def __init__(self, docker: "Docker") -> None:
        self._docker = docker

    @classmethod
    def connect(cls) -> Self:
        """Connect to the engine.

        Raises:
            SandboxUnavailableError: There is none that this process can use.
        """
        try:
            import aiodocker
            import aiohttp
        except ImportError as error:
            missing = MissingExtraError("The Docker backend", "docker")
            raise SandboxUnavailableError(missing.message, remedy=missing.remedy) from error
        timeout = aiohttp.ClientTimeout(total=_ANSWER_S)
        return cls(aiodocker.Docker(url=f"unix://{engine_socket()}", timeout=timeout))

    async def close(self) -> None:
        """Close the connection."""
        await self._docker.close()

    async def info(self) -> JsonObject:
        """Return what the engine is and can do."""
        with _refusals():
            return dict(await self._docker.system.info())

    # Containers, by name or id.

    async def create(self, name: str, config: JsonObject) -> None:
        """Create a container."""
        creating = asyncio.ensure_future(self._docker.containers.create(config, name=name))
        try:
            with _refusals():
                await asyncio.shield(creating)
        except asyncio.CancelledError:
            # The engine makes it even where the request is cut off, so a removal waits for that.
            await asyncio.gather(creating, return_exceptions=True)
            raise

    async def start(self, name: str) -> None:
        """Start a created container."""
        with _refusals():
            await self._container(name).start()

    async def container(self, name: str) -> JsonObject | None:
        """Return what a container is, or None where there is none of that name."""
        found: JsonObject | None = await _found(self._container(name).show())
        return found

    async def containers(self, label: str | None = None) -> list[JsonObject]:
        """Return the containers, running or not, in brief.

        Args:
            label: Only those with a label of this name.
        """
        filters = json.dumps({} if label is None else {"label": [label]})
        with _refusals():
            found = await self._docker.containers.list(all=1, filters=filters)
        return [container._container for container in found]

    async def remove(self, name: str) -> None:
        """Kill and remove a container, and wait until it is gone; one that is gone is fine."""
        container = self._container(name)
        try:
            await _found(container.delete(force=True, v=True))
        except EngineError as error:
            if error.status != 409:  # somebody else, or the engine itself, is removing it
                raise
            await _found(container.wait(condition="removed"))

    @asynccontextmanager
    async def output(self, name: str) -> AsyncIterator["asyncio.Task[bytes]"]:
        """Follow a container's output; the task ends when the container does, with the last of it.

        Args:
            name: The container's; it may be yet to start.
        """
        stream = self._container(name).attach(stdout=True, stderr=True)
        with _refusals():
            await stream.__aenter__()

        async def read() -> bytes:
            tail = b""
            with _refusals():
                while (message := await stream.read_out()) is not None:
                    tail = (tail + message.data)[-_TAIL:]
            return tail

        reading = asyncio.create_task(read())
        try:
            yield reading
        finally:
            reading.cancel()
            await asyncio.wait((reading,))
            await stream.close()

    async def events(
        self, name: str, actions: tuple[str, ...], *, since: float
    ) -> AsyncGenerator[JsonObject]:
        """Yield what has happened to a container since a time, and what goes on to happen.

        Args:
            name: The container's.
            actions: The events of interest, such as "die".
            since: Seconds since 1970. The engine remembers its last 256 events.
        """
        from aiodocker.events import DockerEvents

        events: Any = DockerEvents(self._docker)  # type: ignore[no-untyped-call]
        filters = json.dumps({"container": [name], "event": list(actions)})
        with _refusals():
            news = events.subscribe(since=f"{since:.6f}", filters=filters)
            try:
                while (event := await news.get()) is not None:
                    yield event
            finally:
                await events.stop()

    def _container(self, name: str) -> "DockerContainer":
        return self._docker.containers.container(name)

    # Images, by name, id or digest.

    async def image(self, name: str) -> JsonObject | None:
        """Return what an image is, or None where it is not on this machine."""
        found: JsonObject | None = await _found(self._docker.images.inspect(name))
        return found

    async def images(self, **filters: str) -> list[JsonObject]:
        """Return the images that match every filter in brief, without the layers between."""
        wanted = {name: [value] for name, value in filters.items()}
        with _refusals():
            return list(await self._docker.images.list(filters=wanted))

    async def pull(self, name: str) -> None:
        """Fetch an image from its registry."""
        with _refusals():
            await self._docker.images.pull(name)

    async def remove_image(self, name: str) -> None:
        """Remove an image that no container uses, with the layers that only it needs."""
        await _found(self._docker.images.delete(name))

    async def build(
        self,
        context: bytes,
        *,
        tag: str,
        arguments: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> AsyncGenerator[str]:
        """Build an image and yield the lines of the output.

        Args:
            context: A tar archive that holds the Dockerfile.
            tag: The image's name.
            arguments: Build arguments.
            labels: Labels of the finished image.
        """
        stream = self._docker.images.build(
            fileobj=io.BytesIO(context),
            encoding="identity",
            tag=tag,
            buildargs=arguments,
            labels=labels,
            forcerm=True,
            stream=True,
        )
        with _refusals():
            async for chunk in stream:
                for line in str(chunk.get("stream", "")).splitlines():
                    yield line


async def _found(query: Awaitable[Any]) -> Any:
    """Return an answer, or None where there is nothing of that name."""
    try:
        with _refusals():
            return await query
    except EngineError as error:
        if error.status == 404:
            return None
        raise


@contextmanager
def _refusals() -> Iterator[None]:
    """Make the refusals of the engine's client ours."""
    import aiohttp
    from aiodocker.exceptions import DockerError

    try:
        yield
    except DockerError as error:
        raise EngineError(error.status, " ".join(str(error.message).split())) from error
    except aiohttp.ClientError as error:
        raise EngineError(0, f"the engine hung up: {error}") from error
    except TimeoutError as error:
        raise EngineError(0, f"the engine did not answer in {_ANSWER_S:g} s") from error
