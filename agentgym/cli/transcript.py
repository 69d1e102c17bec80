"""One episode as a person reads it, turn by turn."""

import json

import typer

from agentgym.cli.output import shown
from agentgym.trajectories.record import Trajectory
from agentgym.types import Action, Observation, Reward


def print_trajectory(trajectory: Trajectory) -> None:
    """Print an episode: what was seen, done, answered and scored."""
    key = trajectory.key
    typer.echo(f"{trajectory.env}  {key.task_id}  epoch {key.epoch}  agent {trajectory.agent}")
    if trajectory.first is not None:
        typer.echo("\n--- the agent sees")
        _print_observation(trajectory.first)
        tools = ", ".join(tool.name for tool in trajectory.first.tools)
        typer.echo(f"(tools: {tools or 'none'})")
    for number, turn in enumerate(trajectory.turns, start=1):
        typer.echo(f"\n--- turn {number}")
        if turn.reasoning:
            typer.echo(f"(reasoning) {turn.reasoning}")
        _print_action(turn.action)
        _print_observation(turn.observation)
        if turn.reward != Reward():
            typer.echo(f"(reward {shown(turn.reward.value)})")
    typer.echo("")
    _print_end(trajectory)


def _print_action(action: Action) -> None:
    if action.text:
        typer.echo(f"> {action.text}")
    for call in action.tool_calls:
        arguments = call.arguments
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        typer.echo(f"> {call.name}({text})")
    if not action.text and not action.tool_calls:
        typer.echo("> (nothing)")


def _print_observation(observation: Observation) -> None:
    for message in observation.messages:
        images = 0 if isinstance(message.content, str) else len(message.content)
        typer.echo(f"[{message.role}] {message.text or f'({images} images)'}")


def _print_end(trajectory: Trajectory) -> None:
    outcome = trajectory.outcome
    typer.echo(f"ended: {outcome.status} {outcome.detail}".rstrip())
    grade = trajectory.grade
    if grade is not None:
        parts = {**grade.components, **grade.labels}
        typer.echo(f"grade: {shown(grade.value)}" + (f" ({shown(parts)})" if parts else ""))
        if grade.feedback:
            typer.echo(f"feedback: {grade.feedback}")
    for fault in trajectory.faults:
        mended = "ended the episode" if fault.fatal else "mended"
        typer.echo(f"fault in attempt {fault.attempt}, {mended}: {fault.kind}: {fault.message}")
