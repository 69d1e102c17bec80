"""What a training refuses before it plays anything, and what it tells meanwhile."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

from agentgym.errors import UsageError
from agentgym.training.config import make_config
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
from agentgym.types import Json
from tests.environments import CounterEnvironment

LEAST: dict[str, Any] = {
    "name": "a",
    "environment": {"name": "maze", "tasks": "tiny", "train_limit": 4, "test_limit": 4},
}


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
        (
            {"grpo": {"trl": {"per_device_train_batch_size": 3}}},
            "TRL refuses the settings of grpo.trl: generation_batch_size (3) must be divisible",
        ),
        ({"grpo": {"trl": {"beta": "a"}}}, "grpo.trl.beta is 'a'. Input should be a valid number"),
        ({"grpo": {"trl": {"num_iterations": 0}}}, "grpo.trl.num_iterations is 0."),
        (
            {"grpo": {"save_every": 3, "trl": {"num_iterations": 2}}},
            "A batch of episodes lasts 2 steps",
        ),
    ],
)
def test_what_would_fail_later_is_refused_at_once(
    tmp_path: Path, settings: dict[str, Json], words: str
) -> None:
    assert words in refused(tmp_path, **settings)


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
    small = {"model": {"hidden_size": 8, "heads": 1}, "policy": {"max_tokens": 2, "budget": 40}}
    config = make_config({**LEAST, **small, "output": str(tmp_path / "out"), **settings})
    with pytest.raises(UsageError) as caught:
        train(config.model_copy(update={"store": str(tmp_path / "runs.db")}))
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
