"""Task sets that an environment makes in code, beside those in folders."""

import pytest

from agentgym import Task, load_tasks
from agentgym.errors import TaskSetError, UnknownNameError, UsageError
from agentgym.registry import EnvSpec
from agentgym.tasks import TaskSet, TaskSetInfo


def _set(*contents: str) -> TaskSet:
    tasks = [
        Task.model_validate({"id": f"t{number}", "public": {"text": text}, "private": {}})
        for number, text in enumerate(contents)
    ]
    info = TaskSetInfo(name="made", environment="made", licence="MIT")
    return TaskSet(info, tasks, "made")


def two() -> TaskSet:
    return _set("one", "two")


def twins() -> TaskSet:
    return _set("same", "same")


def uninstalled() -> TaskSet:
    raise UsageError("Its package is not installed.", remedy="Install it.")


def spec(**changes: object) -> EnvSpec:
    made = {name: f"{__name__}:{name}" for name in ("two", "twins", "uninstalled", "absent")}
    fields = {
        "name": "made",
        "entry_point": "agentgym.env:Environment",
        "description": "Made in code.",
        "default_tasks": "two",
        "made_tasks": made,
    }
    return EnvSpec.model_validate(fields | changes)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


def test_the_default_set_may_be_made_in_code() -> None:
    assert [task.id for task in load_tasks(spec())] == ["t0", "t1"]
    assert load_tasks(spec(), "two").hash == two().hash


def test_made_sets_are_named_with_the_others() -> None:
    assert spec().task_set_names() == ["two", "twins", "uninstalled", "absent"]
    with pytest.raises(UnknownNameError, match="'two'"):
        load_tasks(spec(), "tow")


def test_made_tasks_differ_in_content() -> None:
    with pytest.raises(TaskSetError, match=r"made:twins: 't1' .* has the content of 't0'"):
        load_tasks(spec(), "twins")


def test_a_set_that_cannot_be_made_says_why() -> None:
    with pytest.raises(UsageError, match=r"not installed\. Install it\."):
        load_tasks(spec(), "uninstalled")
    with pytest.raises(UsageError, match="Cannot import"):
        load_tasks(spec(), "absent")
