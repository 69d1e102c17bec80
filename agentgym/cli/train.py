"""The command `train`: demonstrations, imitation and reinforcement from a TOML file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentgym.cli.options import StoreOption
from agentgym.cli.output import JsonFlag, print_json, print_table, print_text
from agentgym.errors import UnknownNameError

if TYPE_CHECKING:
    from agentgym.training.pipeline.report import SeedResult


def train(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A TOML file.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Replace a setting of the file, such as grpo.steps=10. May be repeated.",
        ),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="Only this of the seeds; may be repeated.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder of checkpoints and figures.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a model on an environment. The same command again goes on where one was killed."""
    from agentgym.training.config import read_config
    from agentgym.training.run import train as carry_out

    named = {"output": output and str(output), "store": store}
    replaced = [f"{name}={json.dumps(value)}" for name, value in named.items() if value]
    asked = read_config(config, [*(settings or ()), *replaced])
    for one in seed or ():
        if one not in asked.seeds:
            raise UnknownNameError("seed", str(one), map(str, asked.seeds))
    say = None if as_json else print_text
    results = carry_out(asked, seeds=seed, say=say, quiet=True)
    if as_json:
        seeds = [result.model_dump(mode="json") for result in results]
        print_json({"name": asked.name, "output": str(asked.output), "seeds": seeds})
        return
    print_text("")
    print_table(("seed", "step", "success", "reward", "episodes", "errors"), _lines(results))
    print_text(f"figures: {asked.output / 'report.json'}")


def _lines(results: "list[SeedResult]") -> list[tuple[object, ...]]:
    return [
        (result.seed, one.step, one.success, one.reward, one.episodes, one.errors)
        for result in results
        for one in result.evaluations
    ]
