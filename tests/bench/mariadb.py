"""A throw-away MariaDB server for the bench, on a free port and in a folder of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from tests.servers import free_port, require

_START_S = 60


@contextmanager
def mariadb_server() -> Iterator[str]:
    """Run a MariaDB server; gives the URL of an administrator."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    install, daemon = (shutil.which(name, path=path) for name in ("mariadb-install-db", "mariadbd"))
    require(install and daemon, "needs a MariaDB server (Debian: apt install mariadb-server)")
    assert install is not None
    assert daemon is not None
    # Short, because a socket's path is limited.
    folder = Path(tempfile.mkdtemp(prefix="maria"))
    user, port = _user(folder), free_port()
    start = folder / "start.sql"
    start.write_text(
        "CREATE USER tester@localhost IDENTIFIED BY 'tester';\n"
        "GRANT ALL ON *.* TO tester@localhost WITH GRANT OPTION;\n"
    )
    data = ["--no-defaults", f"--datadir={folder / 'data'}"]
    options = [
        f"--port={port}",
        "--bind-address=127.0.0.1",
        f"--socket={folder / 'socket'}",
        f"--init-file={start}",
        "--lower-case-table-names=1",
        "--skip-log-bin",
    ]
    url = f"mysql+pymysql://tester:tester@127.0.0.1:{port}/mysql"
    try:
        with (folder / "log").open("wb") as log:
            subprocess.run(
                [install, *data, "--skip-test-db"],
                user=user,
                cwd=folder,
                check=True,
                stdout=log,
                stderr=log,
                timeout=_START_S,
            )
            server = subprocess.Popen(
                [daemon, *data, *options], user=user, cwd=folder, stdout=log, stderr=log
            )
        try:
            _await_connection(server, url)
            yield url
        finally:
            server.terminate()
            server.wait(timeout=_START_S)
    finally:
        shutil.rmtree(folder)


def _user(folder: Path) -> str | None:
    """Return whom the server runs as where this is root, and give that user the folder."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "mysql" if "mysql" in names else "nobody"
    shutil.chown(folder, user)
    return user


def _await_connection(server: "subprocess.Popen[bytes]", url: str) -> None:
    engine = sa.create_engine(url)
    deadline = time.monotonic() + _START_S
    while True:
        try:
            engine.connect().close()
        except OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)  # between two tries to reach a server that is starting
        else:
            engine.dispose()
            return
