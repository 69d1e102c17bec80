"""`rollout_func` with TRL's real trainer: concurrency, failures, limits and what is refused."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import pytest

pytest.importorskip("trl")

from transformers import set_seed
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from agentgym.agents.chat_tokens import ChatTokens
from agentgym.agents.sampling import Sampled, SampleRequest
from agentgym.agents.settings import TokenSettings
from agentgym.agents.token_agent import TokenAgent
from agentgym.env import Environment
from agentgym.errors import UnknownNameError, UsageError
from agentgym.rollout.plan import Job
from agentgym.tasks import TaskSet
from agentgym.training.contract import check_rows
from agentgym.training.rollouts import Rollouts, TrainingPlan
from agentgym.training.spec import TrlSpec
from agentgym.trajectories.record import EpisodeKey, Trajectory
from agentgym.types import Limits
from tests.training.buttons import (
    BUTTONS,
    Failing,
    Waiting,
    button_model,
    button_tasks,
    button_tokenizer,
)

POLICY: dict[str, Any] = {"format": "brackets", "told": False, "max_tokens": 2}


class Trained:
    """A spec and its trainer."""

    def __init__(self, folder: Path, count: int = 3, group: int = 4, **options: Any) -> None:
        set_seed(0)
        settings = options.pop("config", {})
        tokenizer = button_tokenizer()
        self.tokenizer = tokenizer
        self.tasks = button_tasks(count)
        self.spec = TrlSpec(BUTTONS, self.tasks, backoff=0.0, **{**POLICY, **options})
        self.trainer = GRPOTrainer(
            model=button_model(tokenizer),
            args=GRPOConfig(
                output_dir=str(folder),
                per_device_train_batch_size=count * group,
                num_generations=group,
                max_steps=1,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                disable_tqdm=True,
                **{"max_completion_length": 32, "logging_steps": 1, **settings},
            ),
            processing_class=tokenizer,
            train_dataset=self.spec.train_dataset,
            rollout_func=self.spec.rollout_func,
            reward_funcs=self.spec.reward_funcs,
        )
        self.group = group

    def prompts(self, *numbers: int) -> list[Any]:
        dataset = self.spec.train_dataset
        chosen = numbers or range(len(dataset))
        return [dataset[number]["prompt"] for number in chosen for _ in range(self.group)]

    def rollout(self, *numbers: int) -> dict[str, Any]:
        return self.spec.rollout_func(self.prompts(*numbers), self.trainer)


@pytest.fixture
def trained(tmp_path: Path) -> Iterator[Callable[..., Trained]]:
    made: list[Trained] = []

    def make(**options: Any) -> Trained:
        made.append(Trained(tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.spec.close()


def test_sixteen_episodes_wait_for_their_environments_together(
    trained: Callable[..., Trained],
) -> None:
    """Each waits 0.1 s in each of two turns; that all wait at once makes it 0.2 s in all."""
    seen = {"now": 0, "most": 0, "rounds": 0}
    one = trained(count=4, group=4, limits=Limits(turns=2), wrap=lambda inner: Waiting(inner, seen))
    output = one.rollout()
    assert len(output["prompt_ids"]) == 16
    assert all(len(episode.steps) == 2 for episode in output["episode"])
    assert seen["most"] == 16
    assert seen["rounds"] == 2


def test_the_model_is_called_once_a_turn_for_all(
    trained: Callable[..., Trained], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    one = trained(count=3, group=4, limits=Limits(turns=2))
    generate: Any = one.trainer._generate_single_turn

    def counted(prompts: Sequence[Any], *others: Any) -> Any:
        sizes.append(len(prompts))
        return generate(prompts, *others)

    monkeypatch.setattr(one.trainer, "_generate_single_turn", counted)
    one.rollout()
    assert sizes == [12, 12]


@pytest.mark.parametrize("concurrency", [None, 5])
def test_the_same_seed_samples_the_same(
    trained: Callable[..., Trained], concurrency: int | None
) -> None:
    found = [trained(limits=Limits(turns=2), concurrency=concurrency).rollout() for _ in range(2)]
    assert found[0]["task_id"] == [f"button-{number}" for number in range(3) for _ in range(4)]
    assert all(len(episode.steps) == 2 for episode in found[0]["episode"])
    assert found[0]["completion_ids"] == found[1]["completion_ids"]


def test_rows_say_which_turn_sampled_each_token(trained: Callable[..., Trained]) -> None:
    kept: list[Trajectory] = []
    one = trained(on_episode=kept.append)
    output = one.rollout()
    check_rows(output, 12)
    assert output["logprobs"] is None
    for number, trajectory in enumerate(kept):
        row: dict[str, Any] = {key: output[key][number] for key in output if key != "logprobs"}
        assert trajectory.key == EpisodeKey(task_id=row["task_id"], epoch=number)
        sampled = [turn.tokens.output_ids for turn in trajectory.turns if turn.tokens]
        for turn, ids in enumerate(sampled):
            places = [at for at, whose in enumerate(row["turn_ids"]) if whose == turn]
            assert tuple(row["completion_ids"][at] for at in places) == ids
        states = [trajectory.first_fingerprint, *(t.fingerprint for t in trajectory.turns)]
        assert [step.state for step in row["episode"].steps] == states[:-1]
        assert row["episode"].total == row["grade"].value
        assert row["success"] == (row["grade"].value >= 1.0)
        assert len(row["completion_ids"]) <= 32


def test_an_environment_that_breaks_for_good_keeps_its_rows_and_is_not_scored(
    trained: Callable[..., Trained], caplog: pytest.LogCaptureFixture
) -> None:
    times = {"button-1": 10**6}
    one = trained(wrap=lambda inner: Failing(inner, times), components=("grade",),
                  config={"reward_weights": [1.0, 0.0]})  # fmt: skip
    output = one.rollout()
    assert "left out of its group: error:environment_lost: The buttons burnt." in caplog.text
    check_rows(output, 12)
    broken = [at for at, task_id in enumerate(output["task_id"]) if task_id == "button-1"]
    assert len(broken) == 4
    for at in range(12):
        lost = at in broken
        assert (output["grade"][at] is None) == lost
        assert (output["outcome"][at] == "error:environment_lost") == lost
        assert (not any(output["env_mask"][at])) == lost
        assert (output["episode"][at].steps == ()) == lost
    columns = {key: value for key, value in output.items() if key not in ("completion_ids",)}
    for function in one.spec.reward_funcs:
        found = function(prompts=one.prompts(), completions=[], completion_ids=[], **columns)
        assert [at for at, reward in enumerate(found) if reward is None] == broken
    one.trainer.train()
    logs: Any = one.trainer._logs
    rewards = zip(logs["rewards"]["episode_reward"], logs["advantages"], strict=True)
    unscored = [advantage for reward, advantage in rewards if math.isnan(reward)]
    assert unscored == [0.0] * 4


def test_an_environment_that_breaks_once_is_tried_again(trained: Callable[..., Trained]) -> None:
    times = {"button-1": 2}
    kept: list[Trajectory] = []
    one = trained(wrap=lambda inner: Failing(inner, times), on_episode=kept.append)
    output = one.rollout()
    assert all(grade is not None for grade in output["grade"])
    assert sum(trajectory.attempts - 1 for trajectory in kept) == 2
    assert {fault.kind for one in kept for fault in one.faults} == {"environment_lost"}


def test_a_model_that_fails_ends_the_rollout_and_not_the_spec(
    trained: Callable[..., Trained], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = trained()

    def fail(*args: Any) -> Any:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(one.trainer, "_generate_single_turn", fail)
        with pytest.raises(RuntimeError, match="out of memory"):
            one.rollout()
    assert len(one.rollout()["task_id"]) == 12


def test_the_budget_of_an_episode_is_a_limit(trained: Callable[..., Trained]) -> None:
    one = trained(config={"max_completion_length": 5}, limits=Limits(turns=9))
    output = one.rollout()
    assert max(len(ids) for ids in output["completion_ids"]) <= 5
    assert "limit:context" in output["outcome"]
    assert all(grade is not None for grade in output["grade"])


def test_a_prompt_that_does_not_fit_is_left_out_of_its_group(
    trained: Callable[..., Trained], caplog: pytest.LogCaptureFixture
) -> None:
    output = trained(context=2).rollout()
    assert output["grade"] == [None] * 12
    assert "task button-0 is left out of its group: limit:context" in caplog.text


def test_what_trl_would_stumble_over_is_named(trained: Callable[..., Trained]) -> None:
    one = trained(components=("grade",))
    with pytest.raises(UsageError, match="'grade' is for the log and weighs 1"):
        one.rollout()
    one = trained()
    with pytest.raises(UsageError, match="Prompt 0 names no task"):
        one.spec.rollout_func(["red"], one.trainer)
    with pytest.raises(UsageError, match="Prompts 0 to 3 are of several tasks"):
        one.spec.rollout_func(one.prompts()[2:6], one.trainer)
    message = {"role": "user", "content": "", "task_id": "button-9"}
    with pytest.raises(UnknownNameError, match="button-9"):
        one.spec.rollout_func([[message]] * 4, one.trainer)
    one.trainer.tools = [print]
    with pytest.raises(UsageError, match="either rollout_func, or tools"):
        one.rollout()


def test_settings_that_will_not_do_are_named() -> None:
    tasks: TaskSet = button_tasks()
    with pytest.raises(UnknownNameError, match="max_tokens"):
        TrlSpec(BUTTONS, tasks, max_token=3)
    with pytest.raises(UsageError, match="full history"):
        TrlSpec(BUTTONS, tasks, history="window:2")
    with pytest.raises(UnknownNameError, match="button-7"):
        TrlSpec(BUTTONS, tasks).dataset(["button-7"])


def test_the_dataset_names_tasks_and_tells_nothing_of_them() -> None:
    rows = list(TrlSpec(BUTTONS, button_tasks(), system="Press.").dataset(["button-2"]))
    assert rows == [
        {
            "prompt": [
                {"role": "system", "content": "Press.", "task_id": "button-2"},
                {"role": "user", "content": "", "task_id": "button-2"},
            ],
            "task_id": "button-2",
        }
    ]


def test_another_split_is_a_dataset_of_the_same_spec() -> None:
    spec = TrlSpec("maze", "tiny")
    held_out = spec.dataset(split="test")["task_id"]
    assert len(held_out) > 0
    assert {spec.task(name).split for name in held_out} == {"test"}
    assert {spec.task(name).split for name in spec.train_dataset["task_id"]} == {"train"}
    with pytest.raises(UnknownNameError, match="test"):
        spec.dataset(split="tset")


def test_a_trainer_evaluates_by_groups_of_their_own_size(trained: Callable[..., Trained]) -> None:
    kept: list[Trajectory] = []
    one = trained(config={"num_generations_eval": 2}, on_episode=kept.append)
    found: Any = one.trainer.evaluate(one.spec.dataset(["button-2", "button-0"]))
    assert [one.key.task_id for one in kept] == ["button-2"] * 2 + ["button-0"] * 2
    grades = [one.grade.value for one in kept if one.grade is not None]
    assert found["eval_reward"] == pytest.approx(sum(grades) / 4)


class Presses:
    """A model that always samples the same, with log-probabilities."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = tuple(ids)
        self.over = 0

    def sample(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        return [Sampled(self.ids, tuple(-1.0 for _ in self.ids)) for _ in requests]

    def keep_company(self) -> None:
        self.over += 1


def test_environments_are_kept_from_batch_to_batch_and_closed_in_the_end() -> None:
    counts = {"made": 0, "closed": 0}

    class Counted(Failing):
        async def close(self) -> None:
            counts["closed"] += 1

    def counted(inner: Environment) -> Environment:
        counts["made"] += 1
        return Counted(inner, {})

    tokenizer = button_tokenizer()
    chat = ChatTokens(tokenizer)
    tasks = button_tasks(4)
    agent = TokenAgent("x", None, chat, TokenSettings(**POLICY))  # type: ignore[arg-type]
    plan = TrainingPlan(env_spec=BUTTONS, tasks=tasks, agent=agent, concurrency=2, wrap=counted)
    rollouts = Rollouts(plan)
    model = Presses([*tokenizer.encode("press[red]"), tokenizer.eos_token_id])
    jobs = [Job(EpisodeKey(task_id=task.id), task, "", 0) for task in tasks]
    for _ in range(2):
        played = rollouts.play(
            jobs, lambda sampler: TokenAgent("x", sampler, chat, TokenSettings(**POLICY)), model
        )
        assert [one.key.task_id for one in played] == [task.id for task in tasks]
        assert [one.grade and one.grade.value for one in played] == [0.5, 0.0, 0.5, 0.5]
    assert model.over == 2
    assert counts == {"made": 2, "closed": 0}
    for made in (2, 4):  # after closing, new ones are made, and closed like the first
        rollouts.close()
        rollouts.close()
        assert counts == {"made": made, "closed": made}
        rollouts.play(
            jobs, lambda sampler: TokenAgent("x", sampler, chat, TokenSettings(**POLICY)), model
        )
    rollouts.close()
    assert counts == {"made": 6, "closed": 6}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt_ids": None}, "has no prompt_ids"),
        ({"completion_ids": [[1, 2]]}, "completion_ids has 1 rows for 2 prompts"),
        ({"completion_ids": [[1, 2], []]}, "Row 1 has empty completion_ids"),
        ({"completion_ids": [[1, 2], [1.5, 2]]}, "Row 1 has completion_ids that are no token ids"),
        ({"env_mask": [[1, 1], [1]]}, "Row 1 has 2 completion_ids and 1 env_mask"),
        ({"logprobs": [[0.0, 0.0], [0.0]]}, "Row 1 has 2 completion_ids and 1 logprobs"),
        ({"env_mask": [[1, 1], [0, 0]]}, "Row 1: env_mask and turn_ids differ"),
        ({"turn_ids": [[0, 0], [1, 0]]}, "Row 1 has turn_ids that go back"),
        ({"task_id": "x"}, "task_id is a str, not a list"),
    ],
)
def test_rows_that_trl_cannot_train_on_are_named(changes: dict[str, Any], message: str) -> None:
    output: dict[str, Any] = {
        "prompt_ids": [[1], [1]],
        "completion_ids": [[1, 2], [1, 2]],
        "logprobs": None,
        "env_mask": [[1, 1], [1, 1]],
        "turn_ids": [[0, 0], [0, 1]],
        "task_id": ["a", "a"],
    }
    check_rows(output, 2)
    changed = {**output, **changes}
    with pytest.raises(UsageError, match=message):
        check_rows({key: value for key, value in changed.items() if key == "logprobs" or value}, 2)
