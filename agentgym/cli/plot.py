"""The command `plot`: trainings side by side, with a confidence band over their seeds."""

import json
from pathlib import Path
from typing import Annotated

import typer

from agentgym.cli.output import JsonFlag, print_json, print_text
from agentgym.errors import UsageError


def plot(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Output folders of trainings.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The picture, such as reward.svg or reward.png.")
    ] = Path("reward.svg"),
    title: Annotated[str | None, typer.Option(help="What stands above it.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw reward and held-out success of trainings; their figures go into a JSON file beside."""
    from agentgym.training.pipeline.plot import plot as draw
    from agentgym.training.pipeline.report import REPORT, read_report

    reports = [read_report(folder / REPORT) for folder in folders]
    trainings = dict(reports)
    if len(trainings) < len(reports):  # variants of one training, told apart by their folders
        named = zip(folders, reports, strict=True)
        trainings = {folder.resolve().name: results for folder, (_, results) in named}
    if len(trainings) < len(reports):
        raise UsageError(
            "Two of the trainings have the same name, and so have their folders.",
            remedy="Rename a folder.",
        )
    draw(trainings, output, title=title)
    figures = {
        name: [result.model_dump(mode="json") for result in results]
        for name, results in trainings.items()
    }
    beside = output.with_suffix(".json")
    beside.write_text(json.dumps(figures) + "\n", "utf-8")
    if as_json:
        print_json({"picture": str(output), "figures": str(beside)})
    else:
        print_text(f"wrote {output} and {beside}")
