"""A group that is spread over two ranks."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

import pytest

pytest.importorskip("trl")

from tests.training.ranks import WON

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.slow
def test_two_ranks_credit_one_group_and_share_successes(tmp_path: Path) -> None:
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.training.ranks", str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for rank in range(2)
    ]
    try:
        said = [rank.communicate(timeout=240)[0].decode() for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(said)
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    totals = [sum(rewards) for rewards in WON]
    expected = [(total - fmean(totals)) / (stdev(totals) + 1e-4) for total in totals]
    assert [*first["advantages"], *second["advantages"]] == pytest.approx(expected, abs=1e-6)
    # The second rank's failure gives way to a success that the first rank played.
    assert first["replayed"] == second["replayed"] == [False, False, False, True]
    assert second["completions"][1] == first["completions"][0]
