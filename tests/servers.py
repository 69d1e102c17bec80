"""Throw-away database servers on a free port and their own data folder."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_START_S = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require(available: object, reason: str) -> None:
    """Skip the test, or fail it in CI, where everything has to be installed."""
    if available:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def postgres_binaries() -> Path | None:
    """The folder of the newest installed PostgreSQL server, or None."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[-3])
    )
    if found:
        return found[-1].parent
    on_path = shutil.which("pg_ctl")
    return Path(on_path).parent if on_path else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Run a PostgreSQL server; gives the URL of its superuser `tester`, without a database."""
    binaries = postgres_binaries()
    require(binaries, "needs a PostgreSQL server (Debian: apt install postgresql)")
    assert binaries is not None
    # Short, because a socket's path is limited; of a user's own, because root is refused.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    data, log = folder / "data", folder / "log"
    user = _unprivileged(folder)
    port = free_port()

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [binaries / program, *arguments],
            user=user,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=2 * _START_S,
        )
        said = log.read_text() if log.exists() else ""
        assert done.returncode == 0, f"{program}: {done.stderr}{said}"

    settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        run("initdb", "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        run("pg_ctl", "start", "-w", "-t", str(_START_S), "-D", str(data), "-l", str(log),
            "-o", settings)  # fmt: skip
        try:
            yield f"postgresql://tester@127.0.0.1:{port}"
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(data))
    finally:
        shutil.rmtree(folder)


def _unprivileged(folder: Path) -> str | None:
    """Who may run the server: another user where this one is root; owns the folder then."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user)
    return user
