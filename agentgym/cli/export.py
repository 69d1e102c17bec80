"""The command `export`: a run as a file, of whole episodes or of rows to train on."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from agentgym.cli.options import StoreOption
from agentgym.cli.output import JsonFlag, print_json, print_text
from agentgym.errors import UnknownNameError, UsageError
from agentgym.types import Json

_EPISODES = ("jsonl", "parquet")
_TRAINING = ("sft", "dpo", "kto")
_ONLY = {"margin": ("dpo",), "same": ("dpo", "kto"), "label_by": ("kto",)}
_OPTIONS = {
    "action_format": "--action-format",
    "same": "--same",
    "margin": "--margin",
    "label_by": "--label-by",
    "success": "--success",
    "min_reward": "--min-reward",
    "top": "--top",
    "best_of_task": "--best-of-task",
}


def export(
    run: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="A run's id; to train on, several may be named."),
    ],
    file_format: Annotated[
        str,
        typer.Option(
            "--format",
            help="jsonl or parquet: whole episodes. sft, dpo or kto: rows for TRL's trainers.",
        ),
    ] = "jsonl",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file; - is standard output. Rows to train on are JSON lines, or Parquet "
            "where the name ends in .parquet.",
        ),
    ] = None,
    action_format: Annotated[
        str | None,
        typer.Option(help="How the model writes its turns: native, react or brackets."),
    ] = None,
    success: Annotated[
        bool, typer.Option("--success", help="Only episodes that solved their task.")
    ] = False,
    min_reward: Annotated[
        float | None, typer.Option(help="Only episodes with this grade or more.")
    ] = None,
    top: Annotated[
        float | None, typer.Option(help="Only this share of the episodes, the best ones.")
    ] = None,
    best_of_task: Annotated[
        int | None, typer.Option(help="Only so many episodes of each task, the best ones.")
    ] = None,
    same: Annotated[
        str | None,
        typer.Option(help="What makes turns comparable: history, or state (by fingerprint)."),
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="How far the returns of a dpo pair have to be apart.")
    ] = None,
    label_by: Annotated[
        str | None, typer.Option(help="What decides a kto label: the episode, or the turn.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a run's trajectories to a file."""
    asked = {
        "action_format": action_format,
        "success": success or None,
        "min_reward": min_reward,
        "top": top,
        "best_of_task": best_of_task,
        "same": same,
        "margin": margin,
        "label_by": label_by,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    if file_format in _TRAINING:
        suffix = f"{file_format}.jsonl"
        path = output or Path(f"{run[0].replace('/', '-')}.{suffix}")
        count = _export_rows(run, file_format, given, path, store)
        fact: dict[str, Json] = {"rows": count}
    elif file_format in _EPISODES:
        path = output or Path(f"{run[0].replace('/', '-')}.{file_format}")
        count = _export_episodes(run, file_format, given, path, store)
        fact = {"episodes": count}
    else:
        raise UnknownNameError("export format", file_format, (*_EPISODES, *_TRAINING))
    if as_json:
        named = {"run_id": run[0]} if len(run) == 1 else {"run_ids": run}
        print_json({**named, **fact, "file": str(path)})
    elif str(path) != "-":
        (what,) = fact
        print_text(f"wrote {count} {what} to {path}")


def _export_episodes(
    runs: list[str], file_format: str, given: dict[str, Json], path: Path, store: str | None
) -> int:
    from agentgym.trajectories.export import export_run
    from agentgym.trajectories.store import TrajectoryStore

    if given:
        raise UsageError(
            f"{_OPTIONS[next(iter(given))]} is for rows to train on.",
            remedy="Add --format sft, dpo or kto.",
        )
    if len(runs) > 1:
        raise UsageError("Whole episodes are exported a run a file.", remedy="Name one run.")
    with TrajectoryStore.open(store, create=False) as opened:
        return export_run(opened, runs[0], file_format, path)


def _export_rows(
    runs: list[str], method: str, given: dict[str, Json], path: Path, store: str | None
) -> int:
    from agentgym.agents.formats import get_format
    from agentgym.training.offline.export import Export, write_rows
    from agentgym.trajectories.store import TrajectoryStore

    for name, methods in _ONLY.items():
        if name in given and method not in methods:
            raise UsageError(
                f"{_OPTIONS[name]} says nothing for --format {method}.",
                remedy=f"It is for {' and '.join(methods)}; leave it out.",
            )
    if "action_format" in given:
        get_format(given["action_format"])
    filters = ("success", "min_reward", "top", "best_of_task")
    settings = {name: value for name, value in given.items() if name not in filters}
    settings["wanted"] = {name: given[name] for name in filters if name in given}
    try:
        asked = Export.model_validate({"method": method, **settings})
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][-1])
        raise UsageError(
            f"{_OPTIONS.get(name, name)} is {given.get(name)!r}.",
            remedy=f"{problem['msg'][0].upper()}{problem['msg'][1:]}.",
        ) from error
    with TrajectoryStore.open(store, create=False) as opened:
        for run in runs:
            opened.get_run(run)
        episodes = (episode for run in runs for episode in opened.trajectories(run))
        return write_rows(asked.rows(episodes), path)
