"""The `agentgym` command as a person runs it: a process of its own, with its own store."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from agentgym.cli.main import main
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore

COMMAND = str(Path(sys.executable).with_name("agentgym"))
TIMEOUT_S = 120


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on standard output."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out
        return json.loads(lines[0])


class Command:
    """Runs the command in an empty folder, away from the person's own keys and store.

    Attributes:
        folder: Where it runs; the store `runs.db` is in it.
        environ: Its environment variables.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "TMPDIR")
        self.environ = {name: os.environ[name] for name in kept if name in os.environ}
        self.environ |= {"HOME": str(folder), "AGENTGYM_STORE": str(folder / "runs.db")}
        self._started: list[subprocess.Popen[str]] = []

    def __call__(
        self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None
    ) -> Done:
        """Run to the end, and hold it to an exit code and to no traceback."""
        done = self.finish(self.start(*arguments, env=env))
        assert done.code == code, done
        return done

    def inside(self, *arguments: str, code: int = 0) -> Done:
        """Run to the end in this process: the same words and code, without a start's seconds."""
        out, err = StringIO(), StringIO()
        with (
            chdir(self.folder),
            patch.dict(os.environ, self.environ, clear=True),
            patch.object(sys, "argv", ["agentgym", *arguments]),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        done = Done(ended.value.code or 0, out.getvalue(), err.getvalue())  # type: ignore[arg-type]
        assert done.code == code, done
        assert "Traceback" not in done.err, done
        return done

    def start(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.folder,
            env={**self.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # a terminal's Ctrl-C reaches a whole group
        )
        self._started.append(process)
        return process

    def finish(self, process: "subprocess.Popen[str]") -> Done:
        out, err = process.communicate(timeout=TIMEOUT_S)
        if "--debug" not in process.args:  # type: ignore[operator]
            assert "Traceback" not in err, err
        return Done(process.returncode, out, err)

    def eval(self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> Any:
        """Evaluate on the SQL environment and return the JSON object."""
        return self("eval", "sql", "--json", *arguments, code=code, env=env).json

    def wait_until(self, holds: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
        """Wait for something to come true while a command runs."""
        end = time.monotonic() + TIMEOUT_S
        while not holds():
            assert time.monotonic() < end
            try:
                process.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
            assert holds(), process.communicate()
            return

    def trajectories(self, run_id: str) -> list[Trajectory]:
        with TrajectoryStore.open(self.folder / "runs.db", create=False) as store:
            return list(store.trajectories(run_id))

    def kill(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def agentgym(tmp_path: Path) -> Iterator[Command]:
    command = Command(tmp_path)
    yield command
    command.kill()


def played(trajectory: Trajectory) -> dict[str, Any]:
    """What an episode came to, without what the clock or the run's name has to do with."""
    clock = {"model_s", "env_s"}
    return trajectory.model_dump(
        exclude={"run_id": True, "started_at": True, "turns": {"__all__": clock}}
    )
