"""What a training refuses before it plays anything, and what it tells meanwhile."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

from agentgym.errors import UsageError
from agentgym.training.config import TrainConfig, make_config
from agentgym.training.credit.critic import TurnCritic
from agentgym.training.credit.progress import Progressed, SeenProgress
from agentgym.training.pipeline.credit import make_estimator
from agentgym.training.pipeline.plans import open_scene
from agentgym.training.pipeline.progress import Progress, StepLines
from agentgym.training.pipeline.reinforcement import grpo_settings
from agentgym.training.recipes.curriculum import Horizon
from agentgym.training.recipes.named import RECIPES, make_recipes
from agentgym.training.recipes.reflect import Reflect, Retrying
from agentgym.training.recipes.replay import Replay
from agentgym.training.run import train
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json
from tests.environments import CounterEnvironment
from tests.trajectories import samples

LEAST: dict[str, Any] = {
    "name": "a",
    "environment": {"name": "maze", "tasks": "tiny", "train_limit": 4, "test_limit": 4},
}


def small(folder: Path, **settings: Json) -> TrainConfig:
    less = {"model": {"hidden_size": 8, "heads": 1}, "policy": {"max_tokens": 2, "budget": 40}}
    where = {"output": str(folder / "out"), "store": str(folder / "runs.db")}
    return make_config({**LEAST, **less, **where, **settings})


def refused(folder: Path, **settings: Json) -> str:
    config = make_config({**LEAST, "output": str(folder / "out"), **settings})
    with pytest.raises(UsageError) as caught:
        train(config.model_copy(update={"store": str(folder / "runs.db")}))
    assert not (folder / "out").exists()
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": {"path": "gone"}}, "'gone' holds no model. Set model.path"),
        ({"policy": {"format": "xml"}}, "Unknown action format 'xml'"),
        ({"sft": {}, "demonstrations": {"agent": "orcle"}}, "Did you mean 'oracle'"),
        ({"sft": {"trl": {"epochs": 3}}}, "setting of [sft.trl]: 'epochs'"),
        ({"grpo": {}}, "A step plays 8 tasks, and there are 4 to learn from. Lower grpo.tasks"),
        ({"grpo": {"estimator": "gigpoo"}}, "Did you mean 'gigpo'"),
        ({"grpo": {"estimator": "spa"}}, "Take component_progress"),
        ({"grpo": {"options": {"scale": "sum"}}}, "option scale of grpo is 'sum'. Input should"),
        ({"grpo": {"recipes": [{"name": "replya"}]}}, "Unknown recipe 'replya'. Did you mean"),
        (
            {"grpo": {"recipes": [{"name": "replay", "options": {"capcity": 1}}]}},
            "Unknown option of replay 'capcity'. Did you mean 'capacity'?",
        ),
        (
            {"grpo": {"recipes": [{"name": "replay", "options": {"capacity": "big"}}]}},
            "The option capacity of replay is 'big'. Input should be a valid integer",
        ),
        ({"grpo": {"recipes": [{"name": "horizon"}]}}, "horizon has no first."),
        (
            {"grpo": {"recipes": [{"name": "self_distillation", "options": {"prompt": "x"}}]}},
            "The option prompt of self_distillation is 'x'.",
        ),
        ({"grpo": {"trl": {"output_dir": "x"}}}, "grpo.trl.output_dir is not to be set"),
        ({"grpo": {"trl": {"temperature": 0.5}}}, "sets it itself. Set policy.temperature."),
        ({"grpo": {"trl": {"save_only_model": True}}}, "no checkpoint can be gone on from."),
        ({"grpo": {"trl": {"scale_rewards": "batch"}}}, "Take 'group' or 'none'."),
        ({"grpo": {"estimator": "gigpo", "options": {"gamma": 5}}}, "less than or equal to 1"),
        ({"grpo": {"estimator": "turn_critic", "options": {"width": 0}}}, "greater than or equal"),
        (
            {"grpo": {"trl": {"per_device_train_batch_size": 3}}},
            "TRL refuses the settings of grpo.trl: generation_batch_size (3) must be divisible",
        ),
        ({"grpo": {"trl": {"beta": "a"}}}, "grpo.trl.beta is 'a'. Input should be a valid number"),
        ({"grpo": {"trl": {"num_iterations": 0}}}, "grpo.trl.num_iterations is 0."),
        (
            {"grpo": {"save_every": 3, "trl": {"num_iterations": 2}}},
            "Batches of episodes end every 2 steps",
        ),
        (
            {
                "grpo": {
                    "tasks": 3,
                    "save_every": 3,
                    "trl": {"gradient_accumulation_steps": 3, "steps_per_generation": 4},
                }
            },
            "Make grpo.save_every a multiple of 4.",
        ),
    ],
)
def test_what_would_fail_later_is_refused_at_once(
    tmp_path: Path, settings: dict[str, Json], words: str
) -> None:
    assert words in refused(tmp_path, **settings)


def test_runs_of_another_environment_are_not_imitated(tmp_path: Path) -> None:
    with TrajectoryStore.open(tmp_path / "runs.db") as store:
        store.create_run(samples.run())
    with pytest.raises(UsageError, match="was played in sql-v1, not in maze-v1"):
        train(small(tmp_path, sft={}, demonstrations={"runs": ["r1"]}))
    with pytest.raises(UsageError, match="runs are taken as they are; leave tasks out"):
        small(tmp_path, demonstrations={"runs": ["r1"], "tasks": 3})


def test_what_is_killed_after_its_last_checkpoint_makes_no_further_step(tmp_path: Path) -> None:
    config = small(tmp_path, grpo={"steps": 2, "tasks": 3, "group": 2, "save_every": 2})
    (whole,) = train(config)
    folder = tmp_path / "out/seed-0"
    weights = (folder / "grpo/model.safetensors").read_bytes()
    state = json.loads((folder / "state.json").read_text())
    for stage in ("grpo", "evaluation-2"):
        del state["done"][stage]
    (folder / "state.json").write_text(json.dumps(state))
    shutil.rmtree(folder / "grpo")
    elsewhere = config.model_copy(update={"store": str(tmp_path / "other.db")})
    (again,) = train(elsewhere)
    assert again.rewards == whole.rewards
    assert (folder / "grpo/model.safetensors").read_bytes() == weights
    prefix = again.evaluations[0].run_id.removesuffix("-evaluation-0")
    with TrajectoryStore.open(elsewhere.store) as store:
        assert {one.step for one in store.metrics.read(prefix)} == {1, 2}


def test_a_model_that_never_has_room_is_told_of(tmp_path: Path) -> None:
    told: list[str] = []
    config = small(tmp_path, policy={"context": 10}, grpo={"steps": 1, "tasks": 2, "group": 2})
    (result,) = train(config, say=told.append)
    assert result.evaluations[0].limited == 4
    assert any(line.endswith("on 4 held-out episodes, 4 ended by a limit") for line in told)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sft": {"trl": {"packing": True}}}, "the settings of sft.trl: When packing is enabled"),
        (
            {"grpo": {"steps": 1, "tasks": 2, "group": 2, "trl": {"loss_type": "gpro"}}},
            "TRL refuses the settings of grpo.trl: Unknown loss type: gpro. Mend the setting.",
        ),
    ],
)
def test_what_trl_refuses_only_when_it_trains_is_one_line(
    tmp_path: Path, settings: dict[str, Json], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        train(small(tmp_path, **settings))
    assert words in str(caught.value)


def test_recipes_by_name() -> None:
    scene = open_scene(make_config({**LEAST, "output": "x"}).environment)
    asked: list[tuple[str, dict[str, Json]]] = [
        ("replay", {"capacity": 2}),
        ("horizon", {"first": 2, "last": 4, "every": 5}),
        ("reflect", {"retries": 2}),
    ]
    made = make_recipes(asked, scene.env_spec, scene.train)
    assert [type(recipe) for recipe in made.recipes] == [Replay, Horizon, Reflect]
    wrapped = made.wrap(CounterEnvironment())
    assert isinstance(wrapped, Retrying)  # the last is outermost
    assert not isinstance(wrapped.inner, CounterEnvironment)
    tags: dict[str, Json] = {"tag": "size", "levels": ["tiny"]}
    with pytest.raises(UsageError, match="is not among the levels"):
        make_recipes([("difficulty", tags)], scene.env_spec, scene.train)
    bare = scene.env_spec.model_copy(update={"capabilities": frozenset()})
    with pytest.raises(UsageError, match="has no snapshot"):
        make_recipes([("reflect", {})], bare, scene.train)
    assert set(RECIPES) >= {"replay", "selection", "drop_equal_groups"}


def test_estimators_by_name() -> None:
    assert make_estimator("gigpo", {"gamma": 0.9}) == ("gigpo", {"gamma": 0.9})
    for name, options, kind in (
        ("turn_critic", {"width": 8}, TurnCritic),
        ("seen_progress", {}, SeenProgress),
        ("component_progress", {"component": "progress", "gains": True}, Progressed),
    ):
        made, left = make_estimator(name, options)
        assert isinstance(made, kind)
        assert left == {}


def test_shaping_is_a_setting(tmp_path: Path) -> None:
    grpo: dict[str, Json] = {"clip_higher": 0.3, "entropy_floor": 0.2}
    config = make_config({**LEAST, "output": "x", "grpo": grpo})
    assert config.grpo is not None
    made = grpo_settings(config, config.grpo, tmp_path, context=None, seed=0)
    assert (made.epsilon_high, made.entropy_target) == (0.3, 0.2)


def test_lines_tell_how_far_it_is() -> None:
    said: list[str] = []
    patient = StepLines(Progress(said.append, 3, every_s=1e9), "grpo")
    patient.add(1, 9, {"loss": 1.0, "reward": 0.5})
    assert said == []
    lines = StepLines(Progress(said.append, 3, every_s=0), "grpo")
    measured: dict[str, Json] = {"loss": 1.0, "reward": 0.5, "credit/success": 0.25}
    lines.add(1, 9, {**measured, "rollout/tokens_per_second": 812.4})
    (line,) = said
    assert line.startswith("seed 3, grpo step 1 of 9: reward 0.500, success 0.250, ")
    assert "s a step, 812 tokens/s, " in line
    assert line.endswith(" left")
    StepLines(Progress(said.append, 3, every_s=0), "sft").add(2, 4, {"loss": 1.5})
    assert said[1].startswith("seed 3, sft step 2 of 4: loss 1.500, ")
