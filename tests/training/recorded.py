"""Recorded episodes of a world with a lamp and buttons, for the tests of offline training."""

from collections.abc import Sequence
from datetime import UTC, datetime

from agentgym.trajectories.record import EpisodeKey, Outcome, Trajectory, Turn
from agentgym.types import Action, Json, Message, Observation, Reward, TokenTrace, ToolSpec, call

LOOK = call("look")


def press(button: str) -> Action:
    return call("press", button=button)


def _tool(name: str, *parameters: str) -> ToolSpec:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {parameter: {"type": "string"} for parameter in parameters},
        "required": list(parameters),
        "additionalProperties": False,
    }
    return ToolSpec(name=name, description=f"To {name}.", parameters=schema)


TOOLS = (_tool("look"), _tool("press", "button"))


def episode(
    actions: Sequence[Action],
    *,
    grade: float,
    task: str = "t0",
    epoch: int = 0,
    answers: Sequence[str] = (),
    states: Sequence[str] = (),
    tokens: Sequence[TokenTrace] = (),
) -> Trajectory:
    """Return an episode whose last turn is graded and whose others earn nothing.

    Args:
        actions: A turn each.
        answers: What each is answered by; "ok" where there are fewer.
        states: Fingerprints from the first state on; unknown where there are fewer.
        tokens: Of each turn.
    """
    turns = [
        Turn(
            action=action,
            observation=_answer(action, answers[n] if n < len(answers) else "ok"),
            reward=Reward(value=grade if n == len(actions) - 1 else 0.0),
            fingerprint=states[n + 1] if n + 1 < len(states) else None,
            tokens=tokens[n] if n < len(tokens) else None,
        )
        for n, action in enumerate(actions)
    ]
    return Trajectory(
        run_id="r",
        env="lamp-v1",
        agent="a",
        key=EpisodeKey(task_id=task, epoch=epoch),
        task_hash=f"hash of {task}",
        seed=0,
        first=Observation(
            messages=(Message(role="user", content=f"Light the lamp of {task}."),), tools=TOOLS
        ),
        first_fingerprint=states[0] if states else None,
        turns=tuple(turns),
        outcome=Outcome(status="completed"),
        grade=Reward(value=grade),
        success=grade >= 1,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def broken(task: str = "t0") -> Trajectory:
    """Return an episode that infrastructure broke."""
    outcome = Outcome(status="error", detail="environment_lost")
    return episode([LOOK], grade=0, task=task).model_copy(
        update={"outcome": outcome, "grade": None, "success": None}
    )


def _answer(action: Action, text: str) -> Observation:
    messages = [
        Message(role="tool", content=text, tool_call_id=made.id) for made in action.tool_calls
    ] or [Message(role="user", content=text)]
    return Observation(messages=tuple(messages), tools=TOOLS)
