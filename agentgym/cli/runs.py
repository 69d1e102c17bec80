"""Commands about runs in the store: runs, show and replay."""

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from agentgym.cli.options import EnvArgs, SandboxOption, StoreOption, environment_options
from agentgym.cli.output import JsonFlag, print_json, print_table, print_text
from agentgym.errors import UnknownNameError
from agentgym.registry import spec
from agentgym.types import Json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from agentgym.evaluation.replay import Replayed

Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's id.")]


def list_runs(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """List the runs in a store."""
    from agentgym.trajectories.store import TrajectoryStore

    with TrajectoryStore.open(store, create=False) as opened:
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
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="One episode, by its task.")
    ] = None,
    epoch: Annotated[int, typer.Option(help="Which repetition of the task.")] = 0,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what a run came to, or one of its episodes turn by turn."""
    from agentgym.cli import transcript
    from agentgym.cli.results import print_results
    from agentgym.evaluation.metrics import summarise
    from agentgym.trajectories.record import EpisodeKey
    from agentgym.trajectories.store import TrajectoryStore

    with TrajectoryStore.open(store, create=False) as opened:
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
    print_results([summary])


def replay(
    run: Run,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be repeated.")] = None,
    tasks: Annotated[
        str | None, typer.Option(help="Where its tasks are now, if they have moved.")
    ] = None,
    sandbox: SandboxOption = None,
    env_arg: EnvArgs = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Execute a run's stored actions again. Exit code 1 at the first difference, which is shown."""
    import asyncio

    from agentgym.evaluation.replay import replay_run
    from agentgym.trajectories.store import TrajectoryStore

    with TrajectoryStore.open(store, create=False) as opened:
        record = opened.get_run(run)
        for unknown in set(task or ()).difference(record.task_ids):
            raise UnknownNameError("task", unknown, record.task_ids)
        chosen = (t for t in opened.trajectories(run) if not task or t.key.task_id in task)
        options = environment_options(spec(record.env), env_arg, sandbox)
        done = asyncio.run(
            _until_difference(replay_run(record, chosen, tasks=tasks, env_options=options))
        )
    differing = next((item for item in done if item.difference is not None), None)
    skipped = sum(item.skipped is not None for item in done)
    if as_json:
        print_json(
            {
                "run_id": run,
                "episodes": len(done) - skipped,
                "turns": sum(item.turns for item in done),
                "skipped": skipped,
                "equal": differing is None,
                "difference": differing.model_dump(mode="json") if differing else None,
            }
        )
    else:
        _print_replayed(done)
    if differing is not None:
        raise typer.Exit(1)


async def _until_difference(replays: "AsyncGenerator[Replayed, None]") -> "list[Replayed]":
    done = []
    async with aclosing(replays):  # which closes the environment
        async for item in replays:
            done.append(item)
            if item.difference is not None:
                break
    return done


def _print_replayed(done: "Sequence[Replayed]") -> None:
    """Print what a replay came to; the last episode is the one that differs, if one does."""
    skipped = sum(item.skipped is not None for item in done)
    if done and (found := done[-1].difference) is not None:
        path, stored, replayed = _narrowed(found.stored, found.replayed)
        where = f" at {'.'.join(path)}" if path else ""
        key = done[-1].key
        print_text(
            f"{key.task_id} epoch {key.epoch}, turn {found.turn}: the {found.what} differs{where}."
            f"\nstored:   {json.dumps(stored)}\nreplayed: {json.dumps(replayed)}"
        )
    else:
        turns = sum(item.turns for item in done)
        print_text(f"{len(done) - skipped} episodes, {turns} turns: all equal.")
    if skipped:
        print_text(f"{skipped} episodes ended in errors and were not replayed.")


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
