"""The command `mcp serve`: an environment for MCP clients."""

import asyncio
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from agentgym.cli.options import EnvArgs, SandboxOption, StoreOption, environment_options
from agentgym.cli.output import print_text, shown
from agentgym.cli.settings import checked_limits, checked_run_id, checked_seconds
from agentgym.errors import UnknownNameError, UsageError
from agentgym.registry import spec
from agentgym.tasks import load_tasks

if TYPE_CHECKING:
    from agentgym.rollout.plan import Plan
    from agentgym.trajectories.record import Trajectory

TRANSPORTS = ("stdio", "http")

app = typer.Typer(help="MCP: environments for its clients.")


@app.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """MCP: environments for its clients."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def serve(
    env: Annotated[str, typer.Argument(metavar="ENV", help="An environment, such as sql.")],
    task: Annotated[list[str], typer.Option(help="This task id or pattern; may be repeated.")],
    tasks: Annotated[
        str | None, typer.Option(help="A task set's name, a tasks.jsonl, or a folder.")
    ] = None,
    include_flagged: Annotated[
        bool, typer.Option("--include-flagged", help="Play tasks known to be unsound too.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="Episodes a task.")] = 1,
    seed: Annotated[int, typer.Option(help="The run's seed.")] = 0,
    max_turns: Annotated[int | None, typer.Option(help="Calls an episode.")] = None,
    step_timeout: Annotated[float, typer.Option(help="Seconds until a hung step is given up.")] = (
        300.0
    ),
    transport: Annotated[
        str, typer.Option(help="stdio for the client that starts this, or http for several.")
    ] = "stdio",
    host: Annotated[str, typer.Option(help="http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, help="http: the port; 0 takes a free one.")] = 8000,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="http: a name clients reach this machine by.")
    ] = None,
    max_sessions: Annotated[int, typer.Option(min=1, help="http: clients at once.")] = 16,
    idle_timeout: Annotated[
        float, typer.Option(help="http: seconds without a call until a client counts as gone.")
    ] = 1800.0,
    sandbox: SandboxOption = None,
    env_arg: EnvArgs = None,
    store: StoreOption = None,
    run_id: Annotated[str | None, typer.Option(help="The run's name in the store.")] = None,
) -> None:
    """Serve tasks to MCP clients, an episode a session. Exit code 1 where one ended in an error.

    It ends once all episodes are played, or where its client leaves. How each was graded is said
    on standard error, never to the client.
    """
    from agentgym.cli.results import named_store
    from agentgym.interop.mcp import require_mcp
    from agentgym.trajectories.store import TrajectoryStore

    require_mcp()
    from agentgym.interop.mcp.serving import Web, serve_pipe, serve_web
    from agentgym.interop.mcp.session import ClientAgent
    from agentgym.rollout.plan import Plan, new_run_id

    env_spec = spec(env)
    agent = ClientAgent()
    selected = load_tasks(env_spec, tasks).select(ids=task, flagged=include_flagged)
    plan = Plan(
        env_spec=env_spec,
        tasks=selected,
        agent=agent,
        env_options=environment_options(env_spec, env_arg, sandbox),
        epochs=epochs,
        seed=seed,
        limits=checked_limits(max_turns, None, None, None),
        attempts=1,  # a client cannot be asked to begin again
        step_timeout=checked_seconds("--step-timeout", step_timeout),
        run_id=checked_run_id(run_id, resume=False) or new_run_id(),
    )
    _check_transport(transport, plan)
    web = Web(
        address=host,
        port=port,
        names=tuple(allow_host or ()),
        most_sessions=max_sessions,
        idle_s=checked_seconds("--idle-timeout", idle_timeout),
        on_ready=lambda url: print_text(f"Serving at {url}", to_stderr=True),
    )
    ended = _Ended(named_store(store))
    with TrajectoryStore.open(store) as opened:
        if transport == "stdio":
            asyncio.run(serve_pipe(plan, agent, opened, ended.note))
        else:
            asyncio.run(serve_web(plan, agent, opened, web, ended.note))
    if ended.broken:
        raise typer.Exit(1)


def _check_transport(transport: str, plan: "Plan") -> None:
    if transport not in TRANSPORTS:
        raise UnknownNameError("transport", transport, TRANSPORTS)
    episodes = len(plan.tasks) * plan.epochs
    if transport == "stdio" and episodes > 1:
        raise UsageError(
            f"There are {episodes} episodes to play, and one client at standard input.",
            remedy="Name one task and one epoch, or add --transport http.",
        )


class _Ended:
    """Says on standard error what each episode came to.

    Args:
        where: The words that name the store in a command.

    Attributes:
        broken: Whether the last attempt at an episode ended in an error.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._broken: set[tuple[str, int]] = set()

    @property
    def broken(self) -> bool:
        return bool(self._broken)

    def note(self, trajectory: "Trajectory") -> None:
        key = trajectory.key
        outcome = " ".join((trajectory.outcome.status, trajectory.outcome.detail)).strip()
        reward = shown(trajectory.grade.value if trajectory.grade else None)
        run, task = shlex.quote(trajectory.run_id), shlex.quote(key.task_id)
        look = f"agentgym show {run} {task} --epoch {key.epoch}{self._where}"
        print_text(
            f"reward {reward}, {outcome}, {len(trajectory.turns)} turns. Look closer: {look}",
            to_stderr=True,
        )
        if trajectory.outcome.status == "error":
            self._broken.add((key.task_id, key.epoch))
            print_text(f"It broke: {trajectory.faults[-1].message}", to_stderr=True)
        else:
            self._broken.discard((key.task_id, key.epoch))
