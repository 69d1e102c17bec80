"""One episode as a person reads it, turn by turn.

Whatever was said is indented, so that no words of an agent pass for a line of the transcript.
"""

import json
from textwrap import indent

from agentgym.cli.output import print_text, shown
from agentgym.trajectories.record import Trajectory, Turn
from agentgym.types import Action, Json, Message, Observation, Reward, ToolCall

_INDENT = "    "


def print_trajectory(trajectory: Trajectory) -> None:
    """Print an episode: what was seen, done, answered and scored."""
    key = trajectory.key
    agent = shown(trajectory.agent)
    print_text(f"{trajectory.env}  {shown(key.task_id)}  epoch {key.epoch}  agent {agent}")
    if trajectory.first is not None:
        print_text("\n--- the agent sees")
        _print_observation(trajectory.first)
        tools = ", ".join(shown(tool.name) for tool in trajectory.first.tools)
        print_text(f"(tools: {tools or 'none'})")
    for number, turn in enumerate(trajectory.turns, start=1):
        print_text(f"\n--- turn {number}")
        _print_turn(turn)
    print_text("")
    _print_end(trajectory)


def _print_turn(turn: Turn) -> None:
    if turn.reasoning:
        _print_said("(reasoning)", turn.reasoning)
    _print_action(turn.action)
    _print_observation(turn.observation)
    if turn.reward != Reward():
        print_text(f"(reward {shown(turn.reward.value)})")


def _print_action(action: Action) -> None:
    if action.text:
        _print_said(">", action.text)
    for call in action.tool_calls:
        _print_call(call)
    if not action.text and not action.tool_calls:
        print_text("> (nothing)")


def _print_call(call: ToolCall) -> None:
    name = shown(call.name)
    arguments = call.arguments
    if isinstance(arguments, str):
        _print_said(f"> {name}", arguments)
    elif any("\n" in value for value in arguments.values() if isinstance(value, str)):
        print_text(f"> {name}")
        for argument, value in arguments.items():
            _print_said(f"  {shown(argument)} =", value if isinstance(value, str) else _json(value))
    else:
        print_text(f"> {name}({_json(arguments)})")


def _print_observation(observation: Observation) -> None:
    for message in observation.messages:
        fault = f", the agent's fault: {message.fault}" if message.fault else ""
        _print_said(f"[{message.role}{fault}]", _text(message))


def _text(message: Message) -> str:
    images = [] if isinstance(message.content, str) else message.content
    count = sum(part.type == "image" for part in images)
    return "\n".join(filter(None, (message.text, f"({count} images)" if count else "")))


def _print_said(who: str, text: str) -> None:
    """Print one line beside who said it, more below and indented."""
    if "\n" in text:
        print_text(f"{who}\n{indent(text, _INDENT)}")
    else:
        print_text(f"{who} {text}")


def _print_end(trajectory: Trajectory) -> None:
    outcome = trajectory.outcome
    print_text(f"ended: {outcome.status} {outcome.detail}".rstrip())
    grade = trajectory.grade
    if grade is not None:
        parts = {**grade.components, **grade.labels}
        print_text(f"grade: {shown(grade.value)}" + (f" ({shown(parts)})" if parts else ""))
        if grade.feedback:
            _print_said("feedback:", grade.feedback)
    for fault in trajectory.faults:
        mended = "ended the episode" if fault.fatal else "mended"
        message = shown(fault.message)
        print_text(f"fault in attempt {fault.attempt}, {mended}: {fault.kind}: {message}")
    _print_spent(trajectory)


def _print_spent(trajectory: Trajectory) -> None:
    usage = trajectory.usage
    if usage.prompt_tokens or usage.completion_tokens:
        cost = "" if usage.cost is None else f", {usage.cost:.4g} US dollars"
        print_text(f"tokens: {usage.prompt_tokens} read, {usage.completion_tokens} written{cost}")
    print_text(f"seconds: {trajectory.model_s:.2f} agent, {trajectory.env_s:.2f} environment")


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
