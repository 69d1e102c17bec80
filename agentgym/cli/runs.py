"""Commands about runs in the store: runs, show, replay and export."""

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer

from agentgym.cli.options import EnvArgs, StoreOption, environment_options
from agentgym.cli.output import JsonFlag, print_json, print_table, print_text
from agentgym.errors import UnknownNameError, UsageError
from agentgym.types import Json

Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's id.")]


def list_runs(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """List the runs in a store."""
    from agentgym.trajectories.store import TrajectoryStore

    with contextlib.closing(TrajectoryStore.open(store, create=False)) as opened:
        rows = opened.list_runs()
    if as_json:
        print_json({"runs": [row.model_dump(mode="json") for row in rows]})
        return
    print_table(
        ("run", "env", "agent", "tasks", "scored", "mean", "created"),
        [
            (
                row.run_id,
                row.env,
                row.agent,
                row.tasks,
                f"{row.graded}/{row.planned}",
                row.mean_score,
                f"{row.created_at:%Y-%m-%d %H:%M}",
            )
            for row in rows
        ],
    )


def show(
    run: Run,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="One episode.")] = None,
    epoch: Annotated[int, typer.Option(help="Which repetition of the task.")] = 0,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what a run came to, or one of its episodes turn by turn."""
    from agentgym.cli import transcript
    from agentgym.cli.carry_out import report
    from agentgym.evaluation.metrics import summarise
    from agentgym.trajectories.record import EpisodeKey
    from agentgym.trajectories.store import TrajectoryStore

    with contextlib.closing(TrajectoryStore.open(store, create=False)) as opened:
        record = opened.get_run(run)
        if task is not None:
            trajectory = opened.get(run, EpisodeKey(task_id=task, epoch=epoch))
            if as_json:
                print_json(trajectory.model_dump(mode="json"))
            else:
                transcript.print_trajectory(trajectory)
            return
        rows = list(opened.summaries(run))
    summary = summarise(record, rows)
    if as_json:
        print_json(
            {
                **summary.model_dump(mode="json"),
                "record": record.model_dump(mode="json"),
                "episode_list": [row.model_dump(mode="json") for row in rows],
            }
        )
        return
    print_table(
        ("task", "epoch", "score", "turns", "ended", "faults"),
        [
            (
                row.key.task_id,
                row.key.epoch,
                row.score,
                row.turns,
                " ".join((row.status, row.detail)).strip(),
                dict(row.faults),
            )
            for row in rows
        ],
    )
    report([summary], store=store)


def replay(
    run: Run,
    task: Annotated[list[str] | None, typer.Option(help="Only this task.")] = None,
    tasks: Annotated[
        str | None, typer.Option(help="Where its tasks are now, if they have moved.")
    ] = None,
    env_arg: EnvArgs = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Execute a run's stored actions again; exit code 1 at the first difference, which is shown."""
    import asyncio

    from agentgym.evaluation.replay import Replayed, replay_run
    from agentgym.trajectories.store import TrajectoryStore

    async def until_difference() -> list[Replayed]:
        done = []
        async for item in replay_run(
            record, chosen, tasks=tasks, env_options=environment_options(env_arg)
        ):
            done.append(item)
            if item.difference is not None:
                break
        return done

    with contextlib.closing(TrajectoryStore.open(store, create=False)) as opened:
        record = opened.get_run(run)
        for unknown in set(task or ()).difference(record.task_ids):
            raise UnknownNameError("task", unknown, record.task_ids)
        chosen = (t for t in opened.trajectories(run) if not task or t.key.task_id in task)
        done = asyncio.run(until_difference())
    difference = next((item for item in done if item.difference is not None), None)
    skipped = [item for item in done if item.skipped is not None]
    if as_json:
        print_json(
            {
                "run_id": run,
                "episodes": len(done) - len(skipped),
                "turns": sum(item.turns for item in done),
                "skipped": len(skipped),
                "equal": difference is None,
                "difference": difference.model_dump(mode="json") if difference else None,
            }
        )
    elif difference is not None and difference.difference is not None:
        found = difference.difference
        path, stored, replayed = _narrowed(found.stored, found.replayed)
        where = f" at {'.'.join(path)}" if path else ""
        print_text(
            f"{difference.key.task_id} epoch {difference.key.epoch}, turn {found.turn}: "
            f"the {found.what} differs{where}.\nstored:   {json.dumps(stored)}"
            f"\nreplayed: {json.dumps(replayed)}"
        )
    else:
        turns = sum(item.turns for item in done)
        typer.echo(f"{len(done) - len(skipped)} episodes, {turns} turns: all equal.")
    if skipped and not as_json:
        typer.echo(f"{len(skipped)} episodes ended in errors and were not replayed.")
    if difference is not None:
        raise typer.Exit(1)


def _narrowed(stored: Json, replayed: Json) -> tuple[tuple[str, ...], Json, Json]:
    """Return the way to the first part that differs, and that part on both sides."""
    parts: list[tuple[object, Json, Json]] = []
    if isinstance(stored, dict) and isinstance(replayed, dict):
        parts = [(key, stored[key], replayed[key]) for key in stored if key in replayed]
    elif isinstance(stored, list) and isinstance(replayed, list):
        parts = list(zip(range(len(stored)), stored, replayed, strict=False))
    for name, old, new in parts:
        if old != new:
            path, *values = _narrowed(old, new)
            return (str(name), *path), values[0], values[1]
    return (), stored, replayed


def export(
    run: Run,
    file_format: Annotated[str, typer.Option("--format", help="jsonl or parquet.")] = "jsonl",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; - is standard output.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a run's trajectories to a file."""
    from agentgym.trajectories.export import export_run
    from agentgym.trajectories.store import TrajectoryStore

    path = output or Path(f"{run.replace('/', '-')}.{file_format}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", remedy="Name a file with -o.")
    with contextlib.closing(TrajectoryStore.open(store, create=False)) as opened:
        count = export_run(opened, run, file_format, path)
    if as_json:
        print_json({"run_id": run, "episodes": count, "file": str(path)})
    elif str(path) != "-":
        print_text(f"wrote {count} episodes to {path}")
