"""Measurements of trainings in the store, on each database."""

import math

import pytest
import sqlalchemy as sa

from agentgym.trajectories.metrics import Measurement
from agentgym.trajectories.record import EpisodeKey
from agentgym.trajectories.redact import Redactor
from agentgym.trajectories.store import TrajectoryStore
from tests.trajectories import samples


def measured(stage: str, step: int, **values: float) -> Measurement:
    return Measurement(stage=stage, step=step, values=values)


def test_measurements_come_back_in_order(store: TrajectoryStore) -> None:
    taken = [measured("sft", 1, loss=2.5), measured("grpo", 1, reward=0.25, loss=-1e-300)]
    for one in taken:
        store.metrics.add("b", one)
    store.metrics.add("a", measured("sft", 1, loss=1.0))
    assert store.metrics.read("b") == taken
    assert store.metrics.trainings() == ["b", "a"]
    assert store.metrics.read("c") == []


def test_a_value_may_be_no_number(store: TrajectoryStore) -> None:
    store.metrics.add("a", measured("grpo", 1, reward=math.nan, loss=math.inf))
    (one,) = store.metrics.read("a")
    assert math.isnan(one.values["reward"])
    assert one.values["loss"] == math.inf


def test_a_stage_is_replaced_and_nothing_else(store: TrajectoryStore) -> None:
    for training in "ab":
        store.metrics.add(training, measured("sft", 1, loss=1))
        for step in (1, 2, 3):
            store.metrics.add(training, measured("grpo", step, reward=step))
    kept = [measured("grpo", 1, reward=1)]
    store.metrics.replace("a", "grpo", kept)
    assert store.metrics.read("a") == [measured("sft", 1, loss=1), *kept]
    assert len(store.metrics.read("b")) == 4
    store.metrics.replace("a", "grpo", [])
    assert store.metrics.read("a") == [measured("sft", 1, loss=1)]


def test_a_store_of_the_first_schema_gets_the_table(location: str) -> None:
    with TrajectoryStore.open(location, redactor=Redactor()) as store:
        store.create_run(samples.run())
        store.save([samples.episode("t0")])
    url = location if "://" in location else f"sqlite:///{location}"
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE agentgym_measurements"))
        connection.execute(sa.text("UPDATE agentgym_schema SET version = 1"))
    with TrajectoryStore.open(location, create=False) as store:  # whoever only reads
        assert store.get("r1", EpisodeKey(task_id="t0")) == samples.episode("t0")
    with TrajectoryStore.open(location) as store:
        store.metrics.add("a", measured("sft", 1, loss=1))
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT version FROM agentgym_schema")) == 2
    engine.dispose()
    with TrajectoryStore.open(location, create=False) as store:
        assert len(store.metrics.read("a")) == 1
        assert store.has_run("r1")


@pytest.mark.parametrize("stage", ["", "grpo'; DROP TABLE agentgym_runs; --"])
def test_names_are_only_names(store: TrajectoryStore, stage: str) -> None:
    store.metrics.add("a'b", measured(stage, 0, loss=0))
    assert [one.stage for one in store.metrics.read("a'b")] == [stage]
    assert store.list_runs() == []
