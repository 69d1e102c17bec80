"""`agentgym sandbox`: what is there, what is left of the dead, checks and figures."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.owner import Owner
from tests.cli.conftest import Command
from tests.servers import require

COMMANDS = ("ls", "build", "reap", "bench", "check")
NOTHING = {"PATH": "/var/empty", "DOCKER_HOST": "unix:///var/empty/docker.sock"}
"""A machine with neither an engine nor bubblewrap nor a compiler."""

HOLDER = """
import asyncio, sys
from agentgym.sandbox.process import ProcessBackend
from agentgym.sandbox.spec import SandboxSpec

async def hold():
    backend = ProcessBackend(run_id="held")
    print((await backend.start(SandboxSpec())).id, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await backend.close()

asyncio.run(hold())
"""
BROKEN = """
from agentgym.errors import SandboxStartError
from agentgym.sandbox.process import ProcessBackend

class BrokenBackend(ProcessBackend):
    name = "broken"

    async def start(self, spec):
        raise SandboxStartError("It makes none.")
"""


@pytest.fixture
def sandbox(agentgym: Command, tmp_path: Path) -> Command:
    """The command with temporary folders of its own, and with the guest this user has."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    cache = guest_program().parents[2]
    agentgym.environ |= {"TMPDIR": str(temporary), "XDG_CACHE_HOME": str(cache)}
    agentgym.environ["PYTHONWARNINGS"] = "ignore"
    return agentgym


@pytest.fixture
def holder(sandbox: Command) -> Iterator["subprocess.Popen[str]"]:
    """A process that has one sandbox."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=sandbox.environ,
    ) as process:
        yield process
        process.kill()


def test_help_names_every_command(sandbox: Command) -> None:
    out = sandbox("sandbox").out
    assert all(f"  {command} " in out for command in COMMANDS)
    assert out == sandbox("sandbox", "--help").out
    for command in COMMANDS:
        assert "--json" in sandbox("sandbox", command, "--help").out


def test_sandboxes_are_listed_with_their_owner_and_age(
    sandbox: Command, holder: "subprocess.Popen[str]"
) -> None:
    assert holder.stdout is not None
    identity = holder.stdout.readline().strip()
    listed = sandbox("sandbox", "ls", "--backend", "process", "--json").json
    (found,) = [item for item in listed["sandboxes"] if item["id"] == identity]
    assert (found["what"], found["owner_pid"], found["alive"]) == ("sandbox", holder.pid, True)
    assert 0 <= found["age_s"] < 3600
    shown = sandbox("sandbox", "ls", "--backend", "process").out
    assert identity in shown
    assert f"{holder.pid} alive" in shown


def test_what_a_dead_process_has_left_is_reaped_and_nothing_else(sandbox: Command) -> None:
    root = Path(sandbox.environ["TMPDIR"]) / f"agentgym-{os.getuid()}"
    root.mkdir(mode=0o700)
    dead = Owner.current()._replace(start=1)
    left, kept = f"{dead.encode()}-0123456789abcdef", f"{Owner.current().encode()}-00"
    for name in (left, kept):
        (root / name).mkdir()
    assert f"{dead.pid} dead" in sandbox("sandbox", "ls", "--backend", "process").out
    (found,) = sandbox("sandbox", "reap", "--backend", "process", "--json").json["removed"]
    assert (found["id"], found["what"], found["alive"]) == (left, "folder", False)
    assert [path.name for path in root.iterdir()] == [kept]
    assert sandbox("sandbox", "reap", "--backend", "process").out == "0 removed.\n"


def test_a_check_that_passes(sandbox: Command) -> None:
    only = ("--only", "exec.streams_apart", "--only", "streams.*wait")
    report = sandbox("sandbox", "check", "process", *only, "--json").json
    assert report["passed"] == len(report["results"]) >= 2
    assert report["failed"] == 0
    out = sandbox("sandbox", "check", "process", "--only", "exec.streams_apart").out
    assert out.startswith("passed ")
    assert "process: 1 passed, 0 failed" in out


def test_a_check_that_fails_is_shown_and_the_exit_code_is_1(sandbox: Command) -> None:
    site = sandbox.folder / "site"
    info = site / "agentgym_broken_sandbox-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "broken_sandbox.py").write_text(BROKEN)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: agentgym-broken-sandbox\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[agentgym.sandboxes]\nbroken = broken_sandbox:BrokenBackend\n"
    )
    sandbox.environ["PYTHONPATH"] = str(site)
    arguments = ("sandbox", "check", "broken", "--only", "exec.streams_apart")
    report = sandbox(*arguments, "--json", code=1).json
    assert (report["passed"], report["failed"]) == (0, 1)
    assert "It makes none." in sandbox(*arguments, code=1).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "dokcer"), "Unknown sandbox backend 'dokcer'. Did you mean 'docker'?"),
        (("check", "process", "--only", "exce"), "Unknown check 'exce'. Did you mean 'exec'"),
        (("ls", "--backend", "nothing"), "Unknown sandbox backend 'nothing'."),
        (("bench", "--backend", "process,nothing"), "Unknown sandbox backend 'nothing'."),
    ],
)
def test_what_is_misspelt_is_one_line(
    sandbox: Command, arguments: tuple[str, ...], words: str
) -> None:
    err = sandbox("sandbox", *arguments, code=2).err
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "docker"),
        ("check", "bubblewrap"),
        ("build", "base"),
        ("ls", "--backend", "docker"),
        ("reap", "--backend", "docker"),
        ("bench",),
        ("bench", "--backend", "bubblewrap,docker"),
    ],
    ids=" ".join,
)
def test_what_is_missing_is_one_line_with_its_remedy(
    sandbox: Command, arguments: tuple[str, ...]
) -> None:
    done = sandbox("sandbox", *arguments, "--json", code=2, env=NOTHING)
    assert len(done.err.splitlines()) == 1
    assert "apt-get install" in done.err
    assert done.json["error"]["kind"] == "SandboxUnavailableError"


def test_listing_does_without_what_is_missing(sandbox: Command) -> None:
    for command in ("ls", "reap"):
        done = sandbox("sandbox", command, "--json", env=NOTHING)
        assert "There is no Docker engine" in done.json["unavailable"]["docker"]
        assert "docker cannot be asked: There is no" in sandbox("sandbox", command, env=NOTHING).err


def test_the_doctor_tells_what_sandboxes_lack(sandbox: Command) -> None:
    findings = sandbox("doctor", "--json", env=NOTHING).json["findings"]
    lacking = {f["name"]: f["remedy"] for f in findings if not f["found"]}
    for name, package in (
        ("Docker engine", "docker.io"),
        ("bubblewrap", "bubblewrap"),
        ("C compiler", "gcc"),
    ):
        assert f"apt-get install {package}" in lacking[name]
    assert "user namespaces" in {f["name"] for f in findings}


@pytest.mark.slow
def test_the_bench_measures_beside_its_floor(sandbox: Command) -> None:
    require(shutil.which("bwrap"), "needs bubblewrap (Debian: apt install bubblewrap)")
    done = sandbox("sandbox", "bench", "--backend", "bubblewrap", "--quick", "--json")
    assert "measuring bubblewrap: commands" in done.err
    figures = {figure["name"]: figure for figure in done.json["figures"]}
    assert figures["posix_spawn and waitpid of true"]["kind"] == "floor"
    assert figures["exec of true"]["floor_ratio"] > 0
    assert figures["exec of true"]["target"] > 0
    for figure in figures.values():
        spread = [figure[name] for name in ("min", "p10", "median", "p90", "max")]
        assert spread == pytest.approx(sorted(spread))  # interpolating equal values rounds
        assert figure["unit"] in {"ms", "MB", "1/s"}
    assert {"cold start", "fork, 1,000 files, its start included"} <= figures.keys()
    json.dumps(done.json, allow_nan=False)
