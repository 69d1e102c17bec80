"""The plan: which episodes by which rules, and where results come from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import agentgym
from agentgym import Limits
from agentgym.errors import UsageError
from agentgym.rollout.plan import new_run_id, provenance
from agentgym.tasks import task_hash
from agentgym.trajectories.record import EpisodeKey
from tests.environments import counter_task
from tests.rollout.playing import plan_of


@pytest.mark.parametrize("name", ["epochs", "concurrency", "attempts"])
def test_counts_are_one_or_more(name: str) -> None:
    with pytest.raises(UsageError, match=rf"{name} is 0\. Give 1 or more"):
        plan_of(2, None, **{name: 0})


def test_jobs_are_epoch_by_epoch_without_what_is_done() -> None:
    plan = plan_of(2, epochs=2, seed=5)
    jobs = list(plan.jobs({EpisodeKey(task_id="count-2", epoch=0)}))
    assert [(job.key.task_id, job.key.epoch, job.seed) for job in jobs] == [
        ("count-1", 0, 5),
        ("count-1", 1, 6),
        ("count-2", 1, 6),
    ]
    assert jobs[0].task_hash == task_hash(counter_task(1))


def test_the_runs_limits_come_before_the_tasks() -> None:
    task = counter_task(1, max_turns=4)
    assert plan_of([task]).rules(task).limits == Limits(turns=4)
    limited = plan_of([task], limits=Limits(turns=9, cost=1.0))
    assert limited.rules(task).limits == Limits(turns=9, cost=1.0)
    assert plan_of(1).rules(counter_task(1)).limits == Limits(turns=6)
    assert plan_of(1).rules(task).fingerprints is True


def test_the_record_says_what_decides_results() -> None:
    record = plan_of(2, epochs=3, seed=4, limits=Limits(tokens=9)).record()
    assert (record.env, record.agent, record.tasks) == ("test-counter-v1", "oracle", "counter")
    assert record.task_ids == ("count-1", "count-2")
    assert (record.epochs, record.seed, dict(record.limits)) == (3, 4, {"tokens": 9})
    assert record.provenance["packages"]["agentgym-core"]


def test_run_ids_are_each_their_own() -> None:
    assert len({new_run_id() for _ in range(50)}) == 50


def test_the_remains_of_a_package_are_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "~gentgym-0.1.dist-info").mkdir()
    root = str(Path(agentgym.__file__).parents[1])
    program = "from agentgym.rollout.plan import provenance; print(provenance()['python'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), root])},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == provenance()["python"]
