"""Processes that write to one store, and processes that are killed while they do."""

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import sqlalchemy as sa

from agentgym.trajectories.store import TrajectoryStore
from tests.trajectories import samples

ROOT = Path(__file__).parents[2]
EPISODES = 400


def start(location: str, first: int = 0, last: int = EPISODES) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.trajectories.writing", location, "r1", str(first), str(last)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_what_was_reported_outlives_kill_9(location: str) -> None:
    with TrajectoryStore.open(location) as store:
        store.create_run(samples.run(tasks=EPISODES))
    chance = random.Random(11)
    reported: set[str] = set()
    for _ in range(5):
        writer = start(location)
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, EPISODES // 6)):
            reported.add(writer.stdout.readline().strip())
        writer.kill()
        # A last line may be cut short by the kill.
        reported |= {line.strip() for line in writer.stdout if line.endswith("\n")}
        writer.stdout.close()
        writer.wait()
        with TrajectoryStore.open(location) as store:
            assert reported <= {key.task_id for key in store.finished("r1")}

    last = start(location)
    assert last.communicate()[1] is None
    assert last.returncode == 0
    with TrajectoryStore.open(location) as store:
        expected = [samples.episode(f"t{number}") for number in range(EPISODES)]
        assert list(store.trajectories("r1")) == expected
    if "://" not in location:
        with sqlite3.connect(location) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_two_processes_write_to_one_run(location: str) -> None:
    with TrajectoryStore.open(location) as store:
        store.create_run(samples.run(tasks=EPISODES))
    writers = [start(location, 0, 300), start(location, 100, EPISODES)]
    said = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert set(said[0]) | set(said[1]) == {f"t{number}" for number in range(EPISODES)}
    with TrajectoryStore.open(location) as store:
        assert len(list(store.trajectories("r1"))) == EPISODES


def test_processes_may_open_a_new_store_at_once(location: str) -> None:
    opening = (
        "import sys; from agentgym.trajectories.store import TrajectoryStore as S;"
        "sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read();"
        "S.open(sys.argv[1]).close()"
    )
    starting = [
        subprocess.Popen(
            [sys.executable, "-c", opening, location],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in starting:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in starting:  # all are loaded by now, and let go at once
        assert process.stdin is not None
        process.stdin.close()
    for process in starting:
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    assert [process.returncode for process in starting] == [0] * 6
    with TrajectoryStore.open(location, create=False) as store:
        assert store.list_runs() == []


def test_a_reader_holds_up_nobody(location: str) -> None:
    with TrajectoryStore.open(location) as store:
        store.create_run(samples.run(tasks=3))
        store.save([samples.episode("t0"), samples.episode("t1")])
        reading = store.trajectories("r1")
        next(reading)
        with TrajectoryStore.open(location) as other:
            other.save([samples.episode("t2")])
        assert next(reading).key.task_id == "t1"


def test_listing_never_reads_a_record(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with TrajectoryStore.open(path):
        engine = sa.create_engine(f"sqlite:///{path}")
        with engine.connect() as connection:
            plan = connection.exec_driver_sql(
                "EXPLAIN QUERY PLAN SELECT run, count(*), avg(score), sum(status = 'error')"
                " FROM agentgym_episodes GROUP BY run"
            ).all()
        engine.dispose()
    assert "COVERING INDEX agentgym_episodes_listing" in str(plan)
