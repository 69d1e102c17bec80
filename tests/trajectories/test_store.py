import os
import pwd
import sqlite3
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings

from agentgym.errors import MissingExtraError, StoreError, UnknownNameError, UsageError
from agentgym.trajectories.record import EpisodeKey, Trajectory
from agentgym.trajectories.redact import Redactor
from agentgym.trajectories.store import TrajectoryStore
from tests.servers import free_port
from tests.trajectories import samples, strategies

KEY = EpisodeKey(task_id="t0")


def test_a_run_comes_back(store: TrajectoryStore) -> None:
    record = samples.run(agent_config={"model": "m", "stop": ["\n"]}, limits={"turns": 5})
    store.create_run(record)
    assert store.get_run("r1") == record
    assert store.has_run("r1")
    assert not store.has_run("r2")


def test_a_second_run_of_an_id_is_refused(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    with pytest.raises(UsageError, match=r"already has a run 'r1'.*--resume"):
        store.create_run(samples.run(tasks=1))
    assert len(store.get_run("r1").task_ids) == 3


def test_an_unknown_run_is_answered_with_near_names(store: TrajectoryStore) -> None:
    store.create_run(samples.run("sql-monday"))
    for ask in (
        store.get_run,
        store.finished,
        store.summaries,
        lambda r: list(store.trajectories(r)),
    ):
        with pytest.raises(UnknownNameError, match="Did you mean 'sql-monday'"):
            ask("sql-munday")
    with pytest.raises(UnknownNameError):
        store.save([samples.episode(run_id="sql-munday")])


def test_an_unknown_episode_is_answered_with_near_names(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    store.save([samples.episode("t0")])
    with pytest.raises(UnknownNameError, match="t0#0"):
        store.get("r1", EpisodeKey(task_id="t0", epoch=1))


def test_episodes_come_back_in_task_order(store: TrajectoryStore) -> None:
    store.create_run(samples.run(task_ids=("b", "a", "c"), epochs=2))
    store.create_run(samples.run("other", task_ids=("a",)))
    saved = {(task, epoch): samples.episode(task, epoch) for task in "cab" for epoch in (1, 0)}
    store.save([*saved.values(), samples.episode("a", run_id="other")])
    order = [(task, epoch) for task in "bac" for epoch in (0, 1)]
    assert list(store.trajectories("r1")) == [saved[key] for key in order]
    assert [(s.key.task_id, s.key.epoch) for s in store.summaries("r1")] == order
    assert store.get("r1", EpisodeKey(task_id="a", epoch=1)) == saved["a", 1]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strategies.trajectories)
def test_any_record_comes_back(store: TrajectoryStore, drawn: Trajectory) -> None:
    if not store.has_run("r1"):
        store.create_run(samples.run(tasks=0))
    number = len(store.finished("r1"))
    drawn = drawn.model_copy(
        update={
            "run_id": "r1",
            "key": EpisodeKey(task_id=f"t{number}"),
            "outcome": samples.episode().outcome,
            "seed": drawn.seed % 2**63,
        }
    )
    store.save([drawn])
    assert store.get("r1", drawn.key) == drawn


def test_a_grade_replaces_an_error_and_nothing_replaces_a_grade(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    store.save([samples.failed()])
    assert store.finished("r1") == set()
    again = samples.failed().model_copy(update={"attempts": 9})
    store.save([again])
    assert store.get("r1", KEY) == again

    graded = samples.episode(score=0.0)
    store.save([graded])
    store.save([samples.failed()])
    store.save([samples.episode(score=1.0)])
    assert store.get("r1", KEY) == graded
    assert store.finished("r1") == {KEY}
    assert [s.score for s in store.summaries("r1")] == [0.0]


def test_a_save_is_whole_or_not_at_all(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    beyond = samples.episode("t1").model_copy(update={"seed": 2**64})
    with pytest.raises(StoreError):
        store.save([samples.episode("t0"), beyond, samples.episode("t2")])
    assert store.finished("r1") == set()


def test_summaries_tell_what_the_records_hold(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    episode = samples.episode("t0", score=0.5)
    store.save([episode, samples.failed("t1")])
    graded, failed = store.summaries("r1")
    assert graded.model_dump() == {
        "key": {"task_id": "t0", "epoch": 0},
        "seed": 7,
        "status": "completed",
        "detail": "",
        "score": 0.5,
        "success": False,
        "turns": 5,
        "attempts": 1,
        "agent_faults": 0,
        "faults": {},
        "usage": {
            "prompt_tokens": episode.usage.prompt_tokens,
            "completion_tokens": 200,
            "cost": episode.usage.cost,
        },
        "model_s": 2.5,
        "env_s": 1.25,
        "started_at": samples.WHEN,
    }
    assert (failed.status, failed.detail, failed.score) == ("error", "model_server", None)
    assert failed.faults == {"model_rate_limited": 1, "model_server": 2}


def test_runs_are_listed_with_counts_and_means(store: TrajectoryStore) -> None:
    store.create_run(samples.run("one", tasks=3, epochs=2))
    store.create_run(samples.run("two"))
    store.save(
        [
            samples.episode("t0", run_id="one", score=1.0),
            samples.episode("t1", run_id="one", score=0.5),
            samples.failed("t2", run_id="one"),
        ]
    )
    one, two = store.list_runs()
    assert (one.run_id, one.planned, one.graded, one.errors, one.mean_score) == (
        "one",
        6,
        2,
        1,
        0.75,
    )
    assert (two.run_id, two.planned, two.graded, two.errors, two.mean_score) == (
        "two",
        3,
        0,
        0,
        None,
    )
    assert one.created_at == samples.WHEN


def test_secrets_never_reach_the_database(location: str) -> None:
    redactor = Redactor({"SHOP_API_KEY": "gk29-xwpq"})
    with TrajectoryStore.open(location, redactor=redactor) as store:
        record = samples.run(
            agent_config={"api_key": "gk29-xwpq"}, env_options={"url": "mysql://u:pw@h/d"}
        )
        store.create_run(record)
        store.save([samples.speaking("I found gk29-xwpq.")])
        assert store.get_run("r1") == store.redacted(record)
        assert store.get_run("r1").env_options == {"url": "mysql://u:[redacted:url-password]@h/d"}
        assert store.get("r1", KEY).turns[0].action.text == "I found [redacted:SHOP_API_KEY]."
    for file in Path(location).parent.glob("runs.db*"):
        assert b"gk29-xwpq" not in file.read_bytes()


def test_a_damaged_record_is_named_and_its_neighbours_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with TrajectoryStore.open(path) as store:
        store.create_run(samples.run())
        store.save([samples.episode("t0"), samples.episode("t1")])
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE agentgym_episodes SET blob = x'0102' WHERE task_id = 't1'")
    with TrajectoryStore.open(path) as store:
        read = store.trajectories("r1")
        assert next(read).key == KEY
        with pytest.raises(StoreError, match="episode 't1' epoch 0 of run 'r1'"):
            next(read)
        assert len(store.summaries("r1")) == 2


def test_it_is_found_again(location: str) -> None:
    with TrajectoryStore.open(location) as store:
        store.create_run(samples.run())
    with TrajectoryStore.open(location, create=False) as store:
        assert [run.run_id for run in store.list_runs()] == ["r1"]


def test_a_missing_store_is_not_made_unasked(location: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store at"):
        TrajectoryStore.open(location, create=False)
    assert not list(tmp_path.glob("*.db"))


def test_the_default_place_is_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "deep" / "er" / "named.db"
    monkeypatch.setenv("AGENTGYM_STORE", str(named))
    TrajectoryStore.open().close()
    assert named.exists()
    monkeypatch.delenv("AGENTGYM_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    TrajectoryStore.open().close()
    assert (tmp_path / "data" / "agentgym" / "runs.db").exists()


def test_sqlite_keeps_a_write_ahead_log(tmp_path: Path) -> None:
    TrajectoryStore.open(tmp_path / "runs.db").close()
    with sqlite3.connect(tmp_path / "runs.db") as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_newer_schema_is_refused(location: str) -> None:
    TrajectoryStore.open(location).close()
    url = location if "://" in location else f"sqlite:///{location}"
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE agentgym_schema SET version = 99"))
    engine.dispose()
    with pytest.raises(StoreError, match=r"schema 99.*Upgrade"):
        TrajectoryStore.open(location)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Not a database at all. " * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a database"):
        TrajectoryStore.open(path)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE customers (id)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a store"):
        TrajectoryStore.open(path)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot be opened.*--store"):
        TrajectoryStore.open(tmp_path / "file" / "runs.db")
    with pytest.raises(StoreError, match=r"cannot be opened.*--store"):
        TrajectoryStore.open(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user without permission")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o755)
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        with pytest.raises(StoreError, match=r"cannot be opened.*writable"):
            TrajectoryStore.open(tmp_path / "closed" / "runs.db")
    finally:
        os.seteuid(0)


def test_an_unreachable_server_is_one_clear_line_without_the_password() -> None:
    url = f"postgresql://someone:gk29-xwpq@127.0.0.1:{free_port()}/agentgym"
    with pytest.raises(StoreError, match="server runs") as caught:
        TrajectoryStore.open(url)
    assert "\n" not in str(caught.value)
    assert "gk29-xwpq" not in str(caught.value)


def test_a_database_the_server_lacks_says_how_to_make_it(server: str) -> None:
    with pytest.raises(StoreError, match=r"does not exist.*createdb"):
        TrajectoryStore.open(f"{server}/nowhere")


@pytest.mark.parametrize(
    "url", ["mysql://u@h/d", "nonsense://x", "sqlite://", "sqlite:///:memory:", "postgresql://h:x/"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(StoreError, match="A store is a file's path or postgresql"):
        TrajectoryStore.open(url)


def test_postgresql_without_its_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"\[postgres\]"):
        TrajectoryStore.open("postgresql://u@h/d")
