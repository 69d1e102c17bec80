"""The settings of a training: read, replaced, and refused with the nearest name."""

from pathlib import Path

import pytest

from agentgym.errors import UnknownNameError, UsageError
from agentgym.training.config import make_config, read_config
from agentgym.types import Json

LEAST: dict[str, Json] = {"name": "a", "output": "out", "environment": {"name": "maze"}}


def written(folder: Path, text: str) -> Path:
    path = folder / "train.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_is_read_and_settings_are_replaced(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'name = "a"\noutput = "out"\n[environment]\nname = "maze"\n[grpo]\nsteps = 7\n',
    )
    config = read_config(
        path, ["grpo.steps=3", "seeds=[1, 2]", "environment.options.dense=true", "store=s.db"]
    )
    assert config.grpo is not None
    assert (config.grpo.steps, config.seeds, config.store) == (3, (1, 2), "s.db")
    assert config.environment.options == {"dense": True}
    assert config.sft is None
    assert read_config(path, ["sft.epochs=2"]).sft is not None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grpo": {"stesp": 3}}, r"Unknown setting of \[grpo\] in x: 'stesp'. .*'steps'"),
        ({"sede": [1]}, r"Unknown setting in x: 'sede'\. Did you mean 'seeds'"),
        (
            {"demonstrations": {"keep": {"sucess": True}}},
            r"setting of \[demonstrations.keep\].*'success'",
        ),
        ({"policy": {"max_tokn": 1}}, "'max_tokens'"),
    ],
)
def test_a_name_that_is_not_known(changes: Json, words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        make_config({**LEAST, **changes}, where="x")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grpo": {"group": 1}}, "x: grpo.group: Input should be greater than or equal to 2"),
        ({"environment": {}}, "x: environment.name: Field required"),
        ({"name": "a b"}, "x: name: "),
        ({"seeds": []}, "x: seeds: "),
        ({"report_to": ["mlflow"]}, "x: report_to.0: Input should be 'tensorboard' or 'wandb'"),
        ({"model": {"heads": 3}}, "x: model: 3 heads do not divide a width of 64"),
        (
            {"grpo": {"save_every": 20}, "evaluation": {"every": 30}},
            "x: evaluation.every is no multiple of grpo.save_every",
        ),
        (
            {"grpo": {}, "policy": {"history": "window:2"}},
            "x: grpo needs policy.history to be full",
        ),
    ],
)
def test_a_value_that_cannot_be(changes: Json, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_config({**LEAST, **changes}, where="x")
    assert caught.value.message.startswith(words)


@pytest.mark.parametrize("override", ["grpo.steps", "=3", "name.x=3", "grpo.=3"])
def test_a_replacement_that_is_none(tmp_path: Path, override: str) -> None:
    path = written(tmp_path, 'name = "a"\noutput = "out"\n[environment]\nname = "maze"\n')
    with pytest.raises(UsageError, match="is no setting"):
        read_config(path, [override])


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.toml"):
        read_config(tmp_path / "gone.toml")
    with pytest.raises(UsageError, match=r"train\.toml: Invalid value"):
        read_config(written(tmp_path, "name = ["))
