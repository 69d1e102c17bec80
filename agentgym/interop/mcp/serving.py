"""Carrying out a run whose agents are MCP clients."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from agentgym.interop.mcp.host import EpisodeHost
from agentgym.interop.mcp.http import bind, serve_http, url_of
from agentgym.interop.mcp.server import make_server
from agentgym.interop.mcp.session import ClientAgent
from agentgym.interop.mcp.stdio import asked_to_end, serve_stdio
from agentgym.rollout.plan import Plan
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore

Listener = Callable[[Trajectory], None]


@dataclass(frozen=True)
class Web:
    """Where and for whom to serve over streamable HTTP.

    Attributes:
        address: Of this machine, to listen on.
        port: 0 takes one that is free.
        names: Further host names under which clients reach the server.
        most_sessions: Clients at once.
        idle_s: Seconds without a call after which a client counts as gone.
        on_ready: Called with the URL once connections are accepted.
    """

    address: str
    port: int
    names: tuple[str, ...]
    most_sessions: int
    idle_s: float
    on_ready: Callable[[str], None]


async def serve_web(
    plan: Plan, agent: ClientAgent, store: TrajectoryStore, web: Web, on_episode: Listener
) -> None:
    """Serve a run's episodes over HTTP until all are played, or a signal asks to end.

    What is under way then is graded as it stands and kept.

    Raises:
        UsageError: The environment cannot work as asked, the run exists, or the port is taken.
        StoreError: A trajectory could not be written.
    """
    await plan.environment().close()  # what cannot work is found out before anything is stored
    with bind(web.address, web.port) as bound:
        async with EpisodeHost(
            plan, agent, store, idle_s=web.idle_s, on_episode=on_episode
        ) as host:
            await serve_http(
                make_server(host, plan.env_spec.environment_type()),
                host,
                bound,
                names=web.names,
                most_sessions=web.most_sessions,
                idle_s=web.idle_s,
                on_ready=lambda: web.on_ready(url_of(bound)),
            )


async def serve_pipe(
    plan: Plan, agent: ClientAgent, store: TrajectoryStore, on_episode: Listener
) -> None:
    """Serve a run of one episode to the client at standard input and output.

    It ends when the client closes standard input. A signal ends the process, once the episode
    is graded as it stands and kept: clients send one soon after they have closed it.

    Raises:
        UsageError: The environment cannot work as asked, or the run exists.
        StoreError: The trajectory could not be written.
    """
    await plan.environment().close()  # what cannot work is found out before anything is stored
    with asked_to_end() as asked:
        async with EpisodeHost(plan, agent, store, on_episode=on_episode) as host:
            await serve_stdio(make_server(host, plan.env_spec.environment_type()), asked)
    if asked.done():
        signal.signal(asked.result(), signal.SIG_DFL)
        os.kill(os.getpid(), asked.result())
