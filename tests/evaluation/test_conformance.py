"""The conformance suite passes a sound environment and catches each sort of defect."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym import EnvSpec, UsageError
from agentgym.evaluation.conformance import Report, check_environment
from agentgym.tasks import TaskSet, load_tasks
from agentgym.types import Task

MODULE = "tests.evaluation.broken_environments"
CANARY = "canary-5d1f0c"
REPLAYS = {"determinism.same_instance", "determinism.new_instance", "determinism.other_process"}
FRESH = {"state.after_episodes", "state.after_abandoned"}
SNAPSHOTS = {"snapshot.round_trip", "snapshot.undisturbed", "snapshot.unaffected"}
PICKLED = "snapshot.pickled"
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
    """Run the suite on an environment of `broken_environments`."""
    base = EnvSpec(
        name="game",
        entry_point=f"{MODULE}:{name}",
        description="Guess a word.",
        oracle=f"{MODULE}:oracle",
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
    report = await examine(tasks_root, "Sound")
    assert report.passed, report.listing()
    assert {item.status for item in report.results} == {"passed"}
    assert not [item.detail for item in report.results if item.detail]
    assert all(item.contract.endswith((".", "failure.")) for item in report.results)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Undescribed", {"declaration.tools"}),
        ("InvalidSchema", {"declaration.tools"}),
        ("SilentOpening", {"episodes.opening"}),
        ("FavouriteSeed", {"episodes.other_seed"}),
        ("BreaksOnSilence", {"episodes.null", "bad_actions.empty_action"}),
        ("BreaksOnOddNumbers", {"episodes.random", "episodes.malformed", "episodes.other_seed"}),
        ("WallClock", REPLAYS | SNAPSHOTS | {PICKLED, ALONE}),
        ("LocalTime", {"determinism.other_process"}),
        ("GlobalRandom", REPLAYS | SNAPSHOTS | {PICKLED, ALONE}),
        ("HashOrder", {"determinism.other_process"}),
        ("ProcessNumber", {"determinism.other_process"}),
        ("Remembers", {"determinism.same_instance", *FRESH}),
        ("ClearsAtTheEndOnly", {"determinism.same_instance", *FRESH}),
        ("MarksTheTask", {"state.task_untouched"}),
        ("ClosesOnce", {"state.close_twice"}),
        ("ClosesAfterResetOnly", {"state.close_unused", "state.step_before_reset"}),
        ("StepsWithoutReset", {"state.step_before_reset"}),
        ("StepsAfterTheEnd", {"state.step_after_end"}),
        ("TrustsNames", {"bad_actions.unknown_tool"}),
        ("GuessesTypes", {"bad_actions.wrong_types"}),
        ("FillsIn", {"bad_actions.missing_arguments"}),
        ("DropsExtras", {"bad_actions.extra_arguments", "bad_actions.long_text"}),
        ("TakesRawText", {"bad_actions.raw_arguments", "bad_actions.many_calls"} | WORDS),
        ("RepeatsEverything", {"bad_actions.long_text"}),
        ("BreaksOnNul", {"bad_actions.odd_characters"}),
        ("AnswersTenCalls", {"bad_actions.many_calls"}),
        ("MergesEqualIds", {"bad_actions.repeated_ids"}),
        ("AnswersSilence", {"bad_actions.empty_action"}),
        ("AnswersLateCalls", {"bad_actions.late_calls"}),
        ("CountsFingerprints", {"fingerprint.stable"}),
        ("FingerprintsItself", {"fingerprint.equal_histories"}),
        ("SavesNothing", {"fingerprint.stable"}),
        ("LoadsHalf", {"snapshot.round_trip"}),
        ("SnapshotCosts", {"snapshot.undisturbed"}),
        ("SharesItsNotes", {"snapshot.unaffected"}),
        ("CannotBePickled", {"snapshot.pickled"}),
        ("TellsTheAnswer", {"privacy.openings", "privacy.episodes"}),
        ("TellsTheNumbers", {"privacy.episodes"}),
        ("TellsTheCanary", {"privacy.episodes"}),
        ("GradesSeven", {"rewards.in_range"}),
        ("GradesNothing", {"rewards.in_range", "rewards.oracle"}),
        ("GradeMoves", {"rewards.grade_repeats"}),
        ("NeverPleased", {"rewards.oracle"}),
        ("AlwaysPleased", {"rewards.null", "rewards.random"}),
        ("PleasedByAnyWord", {"rewards.random"}),
        ("SharedTotal", {"isolation.concurrent"}),
        ("SeedsGlobalRandom", {"isolation.concurrent"}),
    ],
)
async def test_a_defect_fails_the_checks_it_breaks(
    tasks_root: Path, name: str, expected: set[str]
) -> None:
    report = await examine(tasks_root, name)
    assert failed(report) == expected, report.listing()
