"""`agentgym sandbox` on a Docker engine: images are built and listed, checks run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.sandbox.guest.build import guest_program
from tests.cli.conftest import Command

BROKEN = "ARG BASE_IMAGE=debian:bookworm-slim\nFROM ${BASE_IMAGE}\nRUN echo going; exit 3\n"


@pytest.fixture
def agentgym(base_image: str, tmp_path: Path) -> Iterator[Command]:
    command = Command(tmp_path)
    command.environ["XDG_CACHE_HOME"] = str(guest_program().parents[2])
    yield command
    command.kill()


def test_a_recipe_is_built_once_and_listed(agentgym: Command, base_image: str) -> None:
    built = agentgym("sandbox", "build", "base", "--json").json
    assert built == {"recipe": "base", "digest": base_image}
    assert agentgym("sandbox", "build", "base").out.strip() == base_image
    images = agentgym("sandbox", "ls", "--backend", "docker", "--json").json["images"]
    (found,) = [image for image in images if image["digest"] == base_image]
    assert found["recipe"] == "base"
    assert found["size"] > 1_000_000
    assert found["created"] <= found["used"]
    assert found["name"] in agentgym("sandbox", "ls", "--backend", "docker").out


def test_a_recipe_that_fails_shows_the_end_of_its_output(agentgym: Command) -> None:
    recipe = agentgym.folder / "broken"
    recipe.mkdir()
    (recipe / "Dockerfile").write_text(BROKEN)
    done = agentgym("sandbox", "build", "./broken", code=2)
    *shown, last = done.err.splitlines()
    assert "going" in shown
    assert last.startswith("agentgym: The recipe 'broken' cannot be built")


def test_an_unknown_recipe_is_one_line(agentgym: Command) -> None:
    err = agentgym("sandbox", "build", "bsae", code=2).err
    assert err == "agentgym: Unknown recipe 'bsae'. Did you mean 'base'?\n"


def test_checks_run_on_containers(agentgym: Command) -> None:
    only = ("--only", "exec.streams_apart")
    report = agentgym("sandbox", "check", "docker", *only, "--json").json
    assert (report["passed"], report["failed"]) == (1, 0)
