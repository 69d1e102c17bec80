"""The conformance suite passes a sound environment and catches each sort of defect."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym import EnvSpec, UsageError
from agentgym.evaluation.conformance import Report, check_environment
from agentgym.tasks import TaskSet, load_tasks
from agentgym.types import Task

GAMES = "tests.evaluation.games"
CANARY = "canary-5d1f0c"
REPLAYS = {"determinism.same_instance", "determinism.new_instance", "determinism.other_process"}
FRESH = {"state.after_episodes", "state.after_abandoned"}
SNAPSHOTS = {f"snapshot.{name}" for name in ("round_trip", "undisturbed", "unaffected", "pickled")}
ALONE = "isolation.concurrent"
WORDS = {"bad_actions.long_text", "bad_actions.odd_characters"}


@pytest.fixture(scope="module")
def tasks_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tasks")
    folder = root / "core"
    folder.mkdir()
    info = ['name = "core"', 'environment = "game"', 'licence = "MIT"', f'canary = "{CANARY}"']
    (folder / "taskset.toml").write_text("\n".join(info))
    lines = [
        {
            "id": f"riddle-{n}",
            "public": {"riddle": f"What is riddle number {n}?", "hints": []},
            "private": {"answer": f"zanzibar-{n}", "numbers": {"seen": [7_000_000_000 + n]}},
            "canary": CANARY,
        }
        for n in range(4)
    ]
    (folder / "tasks.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    return root


async def examine(
    tasks_root: Path,
    name: str,
    *,
    changed: dict[str, Any] | None = None,
    task_changes: dict[str, Any] | None = None,
    **settings: Any,
) -> Report:
    """Run the suite on an game of `tests.evaluation.games`."""
    base = EnvSpec(
        name="game",
        entry_point=f"{GAMES}.{name}",
        description="Guess a word.",
        oracle=f"{GAMES}.sound:oracle",
        tasks_root=tasks_root,
        capabilities=frozenset({"fingerprint", "snapshot"}),
    )
    spec = base.model_copy(update=changed or {})
    tasks = load_tasks(base)
    if task_changes:
        altered: list[Task[Any, Any]] = [t.model_copy(update=task_changes) for t in tasks]
        tasks = TaskSet(tasks.info, altered, tasks.source)
    settings = {"sample": 3, "instances": 12, "turns": 8, **settings}
    return await check_environment(spec, tasks, **settings)


def failed(report: Report) -> set[str]:
    return {item.name for item in report.failures}


async def test_a_sound_environment_passes_every_check(tasks_root: Path) -> None:
    report = await examine(tasks_root, "sound:Sound")
    assert report.passed, report.listing()
    assert {item.status for item in report.results} == {"passed"}
    assert not [item.detail for item in report.results if item.detail]
    assert all(item.contract.endswith((".", "failure.")) for item in report.results)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("episodes:Undescribed", {"declaration.tools"}),
        ("episodes:InvalidSchema", {"declaration.tools"}),
        ("episodes:SilentOpening", {"episodes.opening"}),
        ("episodes:FavouriteSeed", {"episodes.other_seed"}),
        ("episodes:BreaksOnSilence", {"episodes.null", "bad_actions.empty_action"}),
        (
            "episodes:BreaksOnOddNumbers",
            {"episodes.random", "episodes.malformed", "episodes.other_seed"},
        ),
        ("clocks:WallClock", REPLAYS | SNAPSHOTS | {ALONE}),
        ("clocks:LocalTime", {"determinism.other_process"}),
        ("clocks:GlobalRandom", REPLAYS | SNAPSHOTS | {ALONE}),
        ("clocks:HashOrder", {"determinism.other_process"}),
        ("clocks:ProcessNumber", {"determinism.other_process"}),
        ("leftovers:Remembers", {"determinism.same_instance", *FRESH}),
        ("leftovers:ClearsAtTheEndOnly", {"state.after_abandoned"}),
        ("leftovers:MarksTheTask", {"state.task_untouched"}),
        ("leftovers:ClosesOnce", {"state.close_twice"}),
        ("leftovers:ClosesAfterResetOnly", {"state.close_unused", "state.step_before_reset"}),
        ("leftovers:StepsWithoutReset", {"state.step_before_reset"}),
        ("leftovers:StepsAfterTheEnd", {"state.step_after_end"}),
        (
            "answers:TrustsNames",
            {"bad_actions.unknown_tool", "bad_actions.repeated_ids", "episodes.malformed"} | WORDS,
        ),
        ("answers:GuessesTypes", {"bad_actions.wrong_types"}),
        ("answers:FillsIn", {"bad_actions.missing_arguments"}),
        ("answers:DropsExtras", {"bad_actions.extra_arguments", "bad_actions.long_text"}),
        ("answers:TakesRawText", {"bad_actions.raw_arguments", "bad_actions.many_calls"} | WORDS),
        ("answers:RepeatsEverything", {"bad_actions.long_text"}),
        ("answers:BreaksOnNul", {"bad_actions.odd_characters", "episodes.malformed"}),
        ("answers:AnswersTenCalls", {"bad_actions.many_calls"}),
        ("answers:MergesEqualIds", {"bad_actions.repeated_ids"}),
        ("answers:AnswersSilence", {"bad_actions.empty_action"}),
        ("answers:AnswersLateCalls", {"bad_actions.late_calls"}),
        (
            "memories:CountsFingerprints",
            {"fingerprint.stable", "rewards.grade_repeats"} | SNAPSHOTS,
        ),
        (
            "memories:FingerprintsItself",
            {"fingerprint.equal_histories", ALONE} | REPLAYS | FRESH | SNAPSHOTS,
        ),
        (
            "memories:SavesNothing",
            {"fingerprint.stable", "fingerprint.equal_histories"} | SNAPSHOTS,
        ),
        ("memories:LoadsHalf", SNAPSHOTS - {"snapshot.undisturbed"}),
        ("memories:SnapshotCosts", SNAPSHOTS),
        ("memories:SharesItsNotes", {"snapshot.unaffected"}),
        ("memories:CannotBePickled", {"snapshot.pickled"}),
        ("verdicts:TellsTheAnswer", {"privacy.openings", "privacy.episodes"}),
        ("verdicts:TellsTheNumbers", {"privacy.episodes"}),
        ("verdicts:TellsTheCanary", {"privacy.episodes"}),
        ("verdicts:GradesSeven", {"rewards.in_range"}),
        ("verdicts:GradesNothing", {"rewards.in_range", "rewards.oracle"}),
        ("verdicts:GradeMoves", {"rewards.grade_repeats"}),
        ("verdicts:NeverPleased", {"rewards.oracle"}),
        ("verdicts:AlwaysPleased", {"rewards.null", "rewards.random"}),
        ("verdicts:PleasedByAnyWord", {"rewards.random"}),
        ("verdicts:SharedTotal", {"isolation.concurrent"}),
        ("verdicts:SeedsGlobalRandom", {"isolation.concurrent"}),
    ],
)
async def test_a_defect_fails_the_checks_it_breaks(
    tasks_root: Path, name: str, expected: set[str]
) -> None:
    report = await examine(tasks_root, name)
    assert failed(report) == expected, report.listing()


async def test_a_failure_names_task_turn_and_difference(tasks_root: Path) -> None:
    report = await examine(tasks_root, "clocks:LocalTime")
    (failure,) = report.failures
    task = report.task_ids[0]
    assert failure.detail.startswith(f"task {task}, ")
    assert "turn 0: observation.messages.0.content was 'Your clock is " in failure.detail
    assert failure.contract in report.listing()
    assert failure.detail.splitlines()[0] in report.listing()


async def test_what_is_not_declared_is_skipped_with_the_reason(tasks_root: Path) -> None:
    nothing: dict[str, Any] = {"capabilities": frozenset(), "oracle": None}
    report = await examine(tasks_root, "memories:SavesNothing", changed=nothing)
    assert report.passed, report.listing()
    reasons = {item.name: item.detail for item in report.results if item.status == "skipped"}
    assert reasons["snapshot.pickled"] == "game does not declare snapshot"
    assert reasons["fingerprint.stable"] == "game does not declare fingerprint"
    assert reasons["rewards.oracle"] == "game declares no oracle"
    assert {name.partition(".")[0] for name in reasons} == {
        "snapshot",
        "fingerprint",
        "rewards",
        "episodes",
    }


@pytest.mark.parametrize("oracle", ["nowhere:oracle", f"{GAMES}.sound:raising_oracle"])
async def test_an_oracle_that_does_not_work_is_a_failure(tasks_root: Path, oracle: str) -> None:
    report = await examine(tasks_root, "sound:Sound", changed={"oracle": oracle})
    importable = {"declaration.importable"} if oracle.startswith("nowhere") else set()
    assert failed(report) == {"episodes.oracle", "rewards.oracle"} | importable


async def test_a_class_that_cannot_be_imported_is_reported(tasks_root: Path) -> None:
    report = await examine(tasks_root, "sound:Sound", changed={"entry_point": "nowhere:Game"})
    first = report.results[0]
    assert (first.name, first.status) == ("declaration.importable", "failed")
    assert "Cannot import nowhere:Game" in first.detail


async def test_task_sets_are_read(tasks_root: Path) -> None:
    report = await examine(tasks_root, "sound:Sound", changed={"default_tasks": "gone"})
    assert failed(report) == {"declaration.task_sets"}


async def test_success_out_of_reach_is_a_failure(tasks_root: Path) -> None:
    report = await examine(tasks_root, "sound:Sound", task_changes={"success": 2.0})
    assert failed(report) == {"declaration.task_rewards", "rewards.oracle"}


async def test_a_fingerprint_that_never_changes_is_a_note(tasks_root: Path) -> None:
    report = await examine(tasks_root, "memories:ConstantFingerprint")
    assert report.passed, report.listing()
    (noted,) = (item for item in report.results if item.detail)
    assert noted.name == "fingerprint.moves"


async def test_what_hangs_is_a_failure(tasks_root: Path) -> None:
    report = await examine(tasks_root, "leftovers:HangsWhenUnused", patience=3.0)
    assert failed(report) == {"state.close_unused", "state.step_before_reset"}
    assert "did not come to an end within 3 s" in report.failures[0].detail


async def test_the_oracle_can_be_tried_on_every_task(tasks_root: Path) -> None:
    report = await examine(tasks_root, "verdicts:NeverPleased", sample=1, every_oracle=True)
    (failure,) = report.failures
    assert len(failure.detail.splitlines()) == 4


async def test_the_sample_is_chosen_by_the_seed(tasks_root: Path) -> None:
    reports = [await examine(tasks_root, "sound:Sound", sample=2, seed=seed) for seed in (1, 1)]
    assert reports[0] == reports[1]
    assert len(reports[0].task_ids) == 2


async def test_the_report_is_json(tasks_root: Path) -> None:
    report = await examine(tasks_root, "episodes:SilentOpening")
    told = json.loads(json.dumps(report.to_json()))
    assert told["passed"] is False
    assert told["counts"] == {"passed": len(report.results) - 1, "failed": 1}
    assert told["environment"] == "game-v1"
    by_name = {item["name"]: item for item in told["results"]}
    assert by_name["episodes.opening"]["detail"].endswith("turn 0: the observation is empty")


@pytest.mark.parametrize(
    "wrong", [{"task_changes": {"flags": ("unsound",)}}, {"options": {"colour": "red"}}]
)
async def test_a_mistake_of_the_caller_is_raised(tasks_root: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        await examine(tasks_root, "sound:Sound", **wrong)
