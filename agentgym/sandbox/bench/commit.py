"""The alternative to our snapshots, for the record: an image made of a container's layer."""

from typing import Any

import aiodocker

from agentgym.sandbox.bench.figures import Effort, Figure, Findings, timed
from agentgym.sandbox.docker.available import engine_socket
from agentgym.sandbox.docker.leftovers import BUILDER
from agentgym.sandbox.owner import new_id

_COMMITS = 5
_FILES = "mkdir /files; for i in $(seq 1000); do echo $i > /files/$i; done"


async def measure(image: str, effort: Effort) -> Findings:
    """Measure `docker commit` of a container with 1,000 files, and a container from its image.

    Args:
        image: What the container is made from.
        effort: How often.
    """
    builder = new_id()  # by which the reaper removes what a bench that was killed has left
    commits, starts = [], []
    async with aiodocker.Docker(url=f"unix://{engine_socket()}") as docker:
        for _ in range(effort.of(_COMMITS)):
            made: dict[str, Any] = {}
            container = await _started(docker, image, builder, _FILES)
            try:
                await container.wait()

                async def commit(container: Any = container, made: dict[str, Any] = made) -> None:
                    made.update(await container.commit())

                commits.append(await timed(commit))
                starts.append(await _start_from(docker, made["Id"], builder))
            finally:
                await container.delete(force=True)
                if made:
                    await docker.images.delete(made["Id"])
    yield Figure("docker", "docker commit of 1,000 files", "ms", commits, kind="peer")
    yield Figure("docker", "a container started from that image", "ms", starts, kind="peer")


async def _start_from(docker: aiodocker.Docker, image: str, builder: str) -> float:
    made = []

    async def start() -> None:
        made.append(await _started(docker, image, builder, "sleep 1000"))

    try:
        return await timed(start)
    finally:
        for container in made:
            await container.delete(force=True)


async def _started(docker: aiodocker.Docker, image: str, builder: str, line: str) -> Any:
    config: dict[str, Any] = {
        "Image": image,
        "Entrypoint": ["/bin/sh", "-c"],
        "Cmd": [line],
        "NetworkDisabled": True,
        "Labels": {BUILDER: builder},
    }
    container = await docker.containers.create(config)
    try:
        await container.start()
    except BaseException:
        await container.delete(force=True)
        raise
    return container
