"""Images are built once, kept within a budget, and named by what they are."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agentgym.errors import SandboxStartError, UnknownNameError, UsageError
from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.images import Images
from agentgym.sandbox.docker.leftovers import container_name
from agentgym.sandbox.spec import MIB, SandboxSpec

NAME = f"test-{secrets.token_hex(4)}"  # no other process that runs the tests has it
LABEL = f"agentgym.recipe={NAME}"
HEAD = "ARG BASE_IMAGE=localhost/none:1\nFROM ${BASE_IMAGE}\n"
BUILD = """
import asyncio, sys
from agentgym.sandbox.docker.backend import DockerBackend

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    lines = []
    backend = DockerBackend()
    digest = await backend.build(sys.argv[1], base_image=sys.argv[2], log=lines.append)
    print(digest, len(lines), flush=True)
    await backend.close()

asyncio.run(main())
"""

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a recipe that no other test has, and returns its folder."""

    def write(name: str, steps: str, **files: bytes) -> str:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "Dockerfile").write_text(f"{HEAD}LABEL of={tmp_path}\n{steps}")
        for path, content in files.items():
            (folder / path).write_bytes(content)
        return str(folder)

    return write


@pytest.fixture
async def images(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Images]:
    """Images of a user who has used none yet; what is built in the test is removed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = {image["Id"] for image in await engine.images()}
    yield Images(engine, budget=3 * MIB)
    for image in await engine.images(label="agentgym.key"):
        if image["Id"] not in before and NAME in str(image["RepoTags"]):
            await engine.remove_image(image["RepoTags"][0])


async def test_a_recipe_is_built_once(images: Images, write: Write, base_image: str) -> None:
    recipe = write(NAME, "COPY data /data\n", data=b"one")
    lines: list[str] = []
    first = await images.build(recipe, base_image=base_image, log=lines.append)
    built = len(lines)
    assert built
    again = await images.build(recipe, base_image=base_image, log=lines.append)
    assert (again, len(lines)) == (first, built)
    write(NAME, "COPY data /data\n", data=b"two")
    changed = await images.build(recipe, base_image=base_image)
    assert changed != first
    forced = await images.build(recipe, base_image=base_image, force=True)
    assert forced != changed
    assert (await images.build(recipe, base_image=base_image)) == forced


async def test_an_image_says_what_it_is(
    images: Images, engine: Engine, write: Write, base_image: str
) -> None:
    steps = "COPY data /data\nFROM ${BASE_IMAGE}\nCOPY --from=0 /data /other\n"
    digest = await images.build(write(NAME, steps, data=b"x"), base_image=base_image)
    found = await engine.image(digest)
    assert found is not None
    labels = found["Config"]["Labels"]
    assert labels["agentgym.recipe"] == NAME
    assert labels["agentgym.base"] == base_image
    assert found["RepoTags"] == [f"localhost/agentgym-{NAME}:{labels['agentgym.key']}"]
    assert await engine.images(dangling="true", label=LABEL) == []


async def test_two_processes_build_a_recipe_once(
    images: Images, write: Write, base_image: str
) -> None:
    recipe = write(NAME, "COPY data /data\n", data=b"x")
    command = [sys.executable, "-c", BUILD, recipe, base_image]
    pipe = asyncio.subprocess.PIPE
    builders = [
        await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=os.environ)
        for _ in range(2)
    ]
    for builder in builders:
        assert builder.stdout is not None
        assert await builder.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(builder.communicate(b"go\n") for builder in builders))
    said = [output.decode().split() for output, _ in outputs]
    assert said[0][0] == said[1][0]
    assert sorted(int(lines) > 0 for _, lines in said) == [False, True]


async def test_a_broken_recipe_says_where(
    images: Images, engine: Engine, write: Write, base_image: str
) -> None:
    recipe = write(NAME, "RUN echo one > /one\nRUN echo the-last-words && exit 3\n")
    with pytest.raises(UsageError, match=rf"'{NAME}' cannot be built.* code: 3") as caught:
        await images.build(recipe, base_image=base_image)
    assert "the-last-words" in str(caught.value)
    with pytest.raises(UsageError, match="cannot be built"):
        await images.build(write(NAME, "NONSENSE\n"), base_image=base_image)
    assert await engine.images(dangling="true", label=LABEL) == []
    assert await engine.containers(LABEL) == []


async def test_a_build_that_is_cancelled_leaves_nothing(
    images: Images, engine: Engine, write: Write, base_image: str
) -> None:
    recipe = write(NAME, "RUN echo begun && sleep 600\n")
    begun = asyncio.Event()

    def log(line: str) -> None:
        if line == "begun":
            begun.set()

    building = asyncio.create_task(images.build(recipe, base_image=base_image, log=log))
    await begun.wait()
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    assert await engine.containers(LABEL) == []
    assert await engine.images(dangling="true", label=LABEL) == []


async def test_the_least_recently_used_images_make_room(
    images: Images, engine: Engine, write: Write, base_image: str
) -> None:
    async def build(name: str) -> str:
        content = os.urandom(MIB + MIB // 4)
        recipe = write(f"{NAME}-{name}", "COPY data /data\n", data=content)
        digest = await images.build(recipe, base_image=base_image)
        await images.resolve(digest)
        return digest

    first = await build("first")
    second = await build("second")
    await images.resolve(first)
    third = await build("third")
    assert [bool(await engine.image(digest)) for digest in (first, second, third)] == [
        True,
        False,
        True,
    ]
    await engine.create(NAME, {"Image": first, "Cmd": ["true"]})
    try:
        fourth = await build("fourth")
        left = [bool(await engine.image(digest)) for digest in (first, third, fourth)]
    finally:
        await engine.remove(NAME)
    assert left == [True, False, True]


async def test_unknown_images_are_refused_in_words(images: Images, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'base'"):
        await images.build("bas")
    with pytest.raises((UsageError, SandboxStartError), match="is not on this machine"):
        await images.resolve("localhost/nothing-of-this-name:1")
    with pytest.raises(UsageError, match="has no Dockerfile"):
        await images.resolve(str(tmp_path))
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    with pytest.raises(UsageError, match="does not say what it is based on"):
        await images.resolve(str(tmp_path))


async def test_a_sandbox_runs_the_digest_it_names(backend: DockerBackend, base_image: str) -> None:
    async with await backend.start(SandboxSpec(image="base")) as sandbox:
        assert sandbox.image_digest == base_image
        assert (await sandbox.exec("id -un; echo $HOME")).text == "agent\n/work\n"


async def test_an_images_volumes_checks_and_variables(
    backend: DockerBackend, images: Images, engine: Engine, write: Write, base_image: str
) -> None:
    steps = "ENV GREETING=hello\nVOLUME /data\nHEALTHCHECK --interval=1s CMD touch /tmp/checked\n"
    digest = await images.build(write(NAME, steps), base_image=base_image)
    spec = SandboxSpec(image=digest, disk=4 * MIB)
    async with await backend.start(spec) as sandbox:
        found = await engine.container(container_name(sandbox.id))
        assert found is not None
        assert {mount["Type"] for mount in found["Mounts"]} == {"bind"}
        assert found["Config"]["Healthcheck"]["Test"] == ["NONE"]
        said = await sandbox.exec("echo $GREETING; stat -c %u /data; head -c 2M /dev/zero >/data/x")
        assert said.text == "hello\n1000\n"
        assert "No space left" in said.error_text
    await backend.close()
