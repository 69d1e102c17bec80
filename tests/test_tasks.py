"""Task sets: files to tasks, named problems, filters, hashes that hold everywhere."""

import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym import Task, TaskSet, load_tasks
from agentgym.errors import TaskSetError, UnknownNameError, UsageError
from agentgym.tasks import TaskSetInfo, read_task_set, task_hash
from agentgym.types import Json
from tests.environments import COUNTER, CounterEnvironment, counter_task, write_counter_tasks

CANARY = "canary 3f2a"
TOML = f"""
name = "small"
environment = "test-counter"
licence = "MIT"
canary = "{CANARY}"

[splits]
train = "To learn from."
test = "To be judged by."
"""

PINNED_SHUFFLE = "2-10-9-6-11-3-4-8-5-1-12-7"
PINNED_TASK = "ded5a7b7f2a8e01b22682bf220bcc843"
PINNED_SET = "fec89eb00f60706835f5bde13cb7ceef"


def line(number: int = 1, **changes: Json) -> dict[str, Json]:
    task = counter_task(number).model_dump(exclude_defaults=True)
    return {**task, "split": "test", "canary": CANARY, **changes}


def write_set(folder: Path, lines: Iterable[Json], toml: str = TOML) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "taskset.toml").write_text(toml)
    texts = [text if isinstance(text, str) else json.dumps(text) for text in lines]
    (folder / "tasks.jsonl").write_text("\n".join(texts) + "\n")
    return folder


def read(folder: Path) -> TaskSet:
    return read_task_set(folder, CounterEnvironment.task_type, "small")


def small_set(count: int = 6) -> TaskSet:
    tasks = [
        counter_task(n, split="train" if n % 3 == 0 else "test", flags=("odd",) * (n == 5))
        for n in range(1, count + 1)
    ]
    return TaskSet(TaskSetInfo(name="s", environment="e", licence="MIT"), tasks, "small")


def ids(tasks: TaskSet) -> list[str]:
    return [task.id.removeprefix("count-") for task in tasks]


def test_a_set_is_read_with_typed_tasks(tmp_path: Path) -> None:
    lines = [line(1), "", line(2, split="train", tags={"difficulty": "hard"}), "   "]
    tasks = read(write_set(tmp_path, lines))
    assert (tasks.info.name, tasks.info.version, tasks.info.canary) == ("small", 1, CANARY)
    assert len(tasks) == 2
    first, second = tasks
    assert first.public.target == 1
    assert first.private.answer == "private-1"
    assert (second.split, second.tags) == ("train", {"difficulty": "hard"})


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("name = ", "taskset.toml: Invalid value"),
        ('name = "a"\nenvironment = "e"', "taskset.toml: licence: Field required."),
        ("version = 1", "taskset.toml: name: Field required (and 2 more)."),
        (TOML + '\n[other]\na = "b"', "taskset.toml: other: Extra inputs are not permitted."),
        ("version = 0\n" + TOML, "taskset.toml: version: Input should be greater"),
    ],
)
def test_a_malformed_toml_names_file_and_field(tmp_path: Path, toml: str, problem: str) -> None:
    with pytest.raises(TaskSetError) as caught:
        read(write_set(tmp_path, [line()], toml))
    assert str(tmp_path / problem.partition(" ")[0]) in str(caught.value)
    assert problem in str(caught.value)


DEEP = '{"id": ' + "[" * 100_000


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("{", ":3: not JSON: Expecting property name enclosed in double quotes at column 2."),
        ("nonsense", ":3: not JSON: Expecting value at column 1."),
        ("[]", ":3: a task is a JSON object."),
        ("null", ":3: a task is a JSON object."),
        ('{"id": ' + "9" * 5000 + "}", ":3: not JSON: Exceeds the limit"),
        (DEEP, ":3: not JSON: maximum recursion depth exceeded"),
        (line(3, public={}), ":3: public.target: Field required."),
        (line(3, public={"target": "many"}), ":3: public.target: Input should be a valid integer"),
        ({"id": "x", "canary": CANARY}, ":3: public: Field required (and 1 more)."),
        (line(3, id=""), ":3: id: String should have at least 1 character."),
        (line(3, hint="x"), ":3: hint: Extra inputs are not permitted."),
        (line(3, max_turns=0), ":3: max_turns: Input should be greater than or equal to 1."),
        (line(3, reward_range=[1, 0]), ":3: reward_range: Value error, the lowest grade"),
        (line(3, id="count-1"), ":3: id: 'count-1' is already on line 1."),
        (line(3, split="dev"), ":3: split: 'dev' is not in taskset.toml."),
        (line(3, canary="canary 0000"), ":3: canary: not the one of taskset.toml."),
    ],
)
def test_a_malformed_line_names_file_line_and_field(
    tmp_path: Path, bad: Json, problem: str
) -> None:
    with pytest.raises(TaskSetError) as caught:
        read(write_set(tmp_path, [line(1), "", bad]))
    assert str(caught.value).startswith(f"{tmp_path / 'tasks.jsonl'}{problem}")


def test_files_that_are_not_there_or_not_text_are_named(tmp_path: Path) -> None:
    folder = write_set(tmp_path, [])
    with pytest.raises(TaskSetError, match=r"tasks.jsonl: no task in it"):
        read(folder)
    (folder / "tasks.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(TaskSetError, match=r"tasks.jsonl: .*can't decode"):
        read(folder)
    (folder / "tasks.jsonl").unlink()
    with pytest.raises(TaskSetError, match=r"No such file"):
        read(folder)


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_same_content_is_there_once(tmp_path: Path, split: str) -> None:
    again = line(1, id="other", split=split, tags={"a": "b"})
    with pytest.raises(TaskSetError, match=rf"'other' \({split}\) has the content of 'count-1'"):
        read(write_set(tmp_path, [line(1), again]))


def test_a_line_may_hold_any_character(tmp_path: Path) -> None:
    odd = "a\u2028b\x85c\x0cd"
    text = json.dumps(line(1, id=odd), ensure_ascii=False)
    assert next(iter(read(write_set(tmp_path, [text])))).id == odd


def test_a_lone_file_needs_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(line(1)) + "\n" + json.dumps(line(2, canary="another")))
    tasks = load_tasks(COUNTER, str(path))
    assert (tasks.info.name, ids(tasks)) == ("mine", ["1", "2"])


def test_a_file_beside_a_toml_takes_its_rules(tmp_path: Path) -> None:
    folder = write_set(tmp_path, [line(1, canary="another")])
    with pytest.raises(TaskSetError, match="canary"):
        load_tasks(COUNTER, str(folder / "tasks.jsonl"))


def test_sets_are_loaded_by_name_and_by_path(tmp_path: Path) -> None:
    write_set(tmp_path / "core", [line(1)])
    write_set(tmp_path / "more", [line(1), line(2)])
    rooted = COUNTER.model_copy(update={"tasks_root": tmp_path})
    assert load_tasks(rooted).source == "core"
    named = load_tasks(rooted, "more")
    for path in (tmp_path / "more", tmp_path / "more" / "tasks.jsonl"):
        loaded = load_tasks(COUNTER, str(path))
        assert loaded.source == str(path.resolve())
        assert loaded.hash == named.hash
    with pytest.raises(UnknownNameError, match=r"'mor'. Did you mean 'more'"):
        load_tasks(rooted, "mor")


def test_what_is_no_task_set_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=r"no task file or folder 'a/b.jsonl'"):
        load_tasks(COUNTER, "a/b.jsonl")
    with pytest.raises(UsageError, match=r"in no layout that 'test-counter' knows"):
        load_tasks(COUNTER, "folder")
    with pytest.raises(UnknownNameError, match="None is known"):
        load_tasks(COUNTER)


def test_a_set_of_another_environment_is_refused(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "small", [line()])
    other = COUNTER.model_copy(update={"name": "other"})
    with pytest.raises(TaskSetError, match=r"a task set of 'test-counter', not of 'other'"):
        load_tasks(other, str(folder))


def foreign_layout(path: Path) -> TaskSet | None:
    """Read the folders of a made-up benchmark."""
    if not (path / "foreign.txt").exists():
        return None
    info = TaskSetInfo(name="foreign", environment="test-counter", licence="unknown")
    return TaskSet(info, [counter_task(9)], str(path))


def test_an_environment_may_know_foreign_layouts(tmp_path: Path) -> None:
    knowing = COUNTER.model_copy(update={"layouts": "tests.test_tasks:foreign_layout"})
    with pytest.raises(UsageError, match="in no layout"):
        load_tasks(knowing, str(tmp_path))
    (tmp_path / "foreign.txt").touch()
    assert ids(load_tasks(knowing, str(tmp_path))) == ["9"]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({}, "12346"),
        ({"flagged": True}, "123456"),
        ({"split": "train"}, "36"),
        ({"split": "test"}, "124"),
        ({"limit": 2}, "12"),
        ({"limit": 99}, "12346"),
        ({"ids": ["count-4", "count-1"]}, "14"),
        ({"ids": ["count-[1-3]"], "split": "test"}, "12"),
        ({"ids": ["count-?"], "limit": 1}, "1"),
    ],
)
def test_filters(filters: dict[str, Json], left: str) -> None:
    assert "".join(ids(small_set().select(**filters))) == left


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        ({"limit": 0}, "A limit of 0 selects no task"),
        ({"limit": -1}, "A limit of -1 selects no task"),
        ({"split": "tset"}, "Unknown split 'tset'. Did you mean 'test'"),
        ({"ids": ["count-1", "count-77"]}, "Unknown task 'count-77'. Did you mean 'count-"),
        ({"ids": ["nothing*"]}, r"Unknown task 'nothing\*'"),
        ({"ids": ["count-5"]}, "Flagged tasks need --include-flagged"),
        ({"ids": ["count-1"], "split": "train"}, "No task of small is left"),
    ],
)
def test_filters_that_leave_nothing_are_refused(filters: dict[str, Json], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        small_set().select(**filters)


def test_an_id_that_looks_like_a_pattern_is_found() -> None:
    tasks = [
        counter_task(n).model_copy(update={"id": name}) for n, name in ((1, "q[1]"), (2, "q1"))
    ]
    chosen = TaskSet(small_set().info, tasks, "s").select(ids=["q[1]"])
    assert [task.id for task in chosen] == ["q[1]", "q1"]


def test_shuffles_are_the_same_everywhere() -> None:
    tasks = small_set(12)
    assert "-".join(ids(tasks.select(shuffle_seed=0, flagged=True))) == PINNED_SHUFFLE
    few = tasks.select(shuffle_seed=0, flagged=True, limit=3)
    assert "-".join(ids(few)) == "-".join(PINNED_SHUFFLE.split("-")[:3])
    assert ids(tasks.select(shuffle_seed=1)) != ids(tasks.select(shuffle_seed=2))


def test_hashes_are_the_same_everywhere() -> None:
    assert task_hash(counter_task(1)) == PINNED_TASK
    assert small_set().hash == PINNED_SET


def test_a_hash_is_of_the_content_alone() -> None:
    task = counter_task(1)
    renamed = task.model_copy(
        update={"id": "x", "split": "train", "tags": {"a": "b"}, "flags": ("f",)}
    )
    assert task_hash(renamed) == task_hash(task)
    changes: list[dict[str, Json]] = [
        {"public": task.public.model_copy(update={"target": 2})},
        {"private": task.private.model_copy(update={"answer": "other"})},
        {"reward_range": (0.0, 2.0)},
        {"success": 0.5},
        {"max_turns": 3},
    ]
    hashes = {task_hash(task.model_copy(update=change)) for change in changes}
    assert len(hashes | {task_hash(task)}) == len(changes) + 1


@given(seed=st.integers(0, 1000))
def test_the_hash_of_a_set_does_not_depend_on_its_order(seed: int) -> None:
    tasks = list(small_set().tasks)
    random.Random(seed).shuffle(tasks)
    assert TaskSet(small_set().info, tasks, "again").hash == small_set().hash


def test_the_hash_of_a_set_tells_sets_apart() -> None:
    whole = small_set()
    moved = [task.model_copy(update={"split": "train"}) for task in whole]
    renamed = [task.model_copy(update={"id": f"{task.id}x"}) for task in whole]
    parts = [whole.tasks[:-1], tuple(moved), tuple(renamed)]
    hashes = {TaskSet(whole.info, tasks, "s").hash for tasks in parts}
    assert len(hashes | {whole.hash}) == 4


@given(data=st.data())
def test_the_hash_of_a_task_does_not_depend_on_the_order_of_keys(data: st.DataObject) -> None:
    public = {"a": 1, "b": {"c": [1, 2], "d": None}, "e": "ü"}
    keys = data.draw(st.permutations(list(public)))
    again: dict[str, Json] = {key: public[key] for key in keys}
    one = Task(id="a", public=public, private={})
    other = Task.model_validate({"private": {}, "public": again, "id": "a"})
    assert task_hash(one) == task_hash(other)


def test_a_hash_survives_the_file(tmp_path: Path) -> None:
    tasks = load_tasks(COUNTER, str(write_counter_tasks(tmp_path, 3)))
    assert [task_hash(task) for task in tasks] == [task_hash(counter_task(n)) for n in (1, 2, 3)]
