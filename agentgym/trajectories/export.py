"""A run as files that other programs read: JSON lines, or Parquet.

Both have one episode a row, in task order, with the same fields:

* `run_id`, `env`, `agent`, `task_id`, `epoch`, `seed`, `task_hash`, `started_at` (UTC).
* `status` ("completed", "limit" or "error") and `detail`; `score` and `success`, null after an
  error; `labels`, the grade's words, such as which comparator gave which verdict.
* `turns`, `attempts`, `agent_faults`, `faults` (infrastructure faults met), `prompt_tokens`,
  `completion_tokens`, `cost` (US dollars, null where unknown), `model_s`, `env_s`.
* `messages`: the conversation as OpenAI chat messages, and `tools`: every tool that was on
  offer, as OpenAI tools. Parquet holds these two and `labels` as JSON text.
* `rewards`: the reward of each turn; turn i is the i-th message with role `assistant`.

JSON lines have one field more, `trajectory`: the whole record, which `read_jsonl` reads back.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from agentgym.errors import MissingExtraError, UnknownNameError, UsageError
from agentgym.trajectories import codec
from agentgym.trajectories.files import replacing
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json, Observation, ToolSpec


def export_run(store: TrajectoryStore, run_id: str, format: str, path: str | Path) -> int:
    """Write a run's episodes to a file, whole or not at all.

    Args:
        store: Where the run is.
        run_id: The run.
        format: "jsonl" or "parquet".
        path: The file; an existing one is replaced. "-" writes JSON lines to standard output.

    Returns:
        How many episodes were written.

    Raises:
        UnknownNameError: There is no such run or format.
        UsageError: The file cannot be written.
        StoreError: The store cannot be read.
        MissingExtraError: Parquet without pyarrow.
    """
    if format not in _WRITERS:
        raise UnknownNameError("export format", format, _WRITERS)
    store.get_run(run_id)
    to_stdout = str(path) == "-"
    if to_stdout and format != "jsonl":
        raise UsageError(f"Standard output does not take {format}.", remedy="Name a file.")
    opened = nullcontext(sys.stdout.buffer) if to_stdout else replacing(Path(path))
    with opened as file:
        return _WRITERS[format](store.trajectories(run_id), file)


def read_jsonl(path: str | Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a JSON-lines export.

    Raises:
        UsageError: A line is not from such an export; the message names it.
    """
    with Path(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield codec.from_fields(json.loads(line)["trajectory"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise UsageError(
                    f"{path}, line {number}: not an exported trajectory.",
                    remedy="Export the run again with --format jsonl.",
                ) from error


def conversation(trajectory: Trajectory) -> list[dict[str, Json]]:
    """Return an episode as OpenAI chat messages, the agent's turns included."""
    messages = [] if trajectory.first is None else _wire(trajectory.first)
    for turn in trajectory.turns:
        messages += [turn.action.to_wire(), *_wire(turn.observation)]
    return messages


def _wire(observation: Observation) -> list[dict[str, Json]]:
    return [message.to_wire() for message in observation.messages]


def _offered(trajectory: Trajectory) -> list[dict[str, Json]]:
    """Return every tool that was on offer, in the order they came up."""
    first = () if trajectory.first is None else trajectory.first.tools
    tools: list[ToolSpec] = []
    for offer in (first, *(turn.observation.tools for turn in trajectory.turns)):
        tools += [tool for tool in offer if tool not in tools]
    return [tool.to_wire() for tool in tools]


def _fields(trajectory: Trajectory) -> dict[str, Json]:
    usage = trajectory.usage
    grade = trajectory.grade
    return {
        "run_id": trajectory.run_id,
        "env": trajectory.env,
        "agent": trajectory.agent,
        "task_id": trajectory.key.task_id,
        "epoch": trajectory.key.epoch,
        "seed": trajectory.seed,
        "task_hash": trajectory.task_hash,
        "started_at": trajectory.started_at,
        "status": trajectory.outcome.status,
        "detail": trajectory.outcome.detail,
        "score": None if grade is None else grade.value,
        "success": trajectory.success,
        "labels": {} if grade is None else grade.labels,
        "turns": len(trajectory.turns),
        "attempts": trajectory.attempts,
        "agent_faults": trajectory.agent_faults,
        "faults": len(trajectory.faults),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "model_s": trajectory.model_s,
        "env_s": trajectory.env_s,
        "messages": conversation(trajectory),
        "tools": _offered(trajectory),
        "rewards": [turn.reward.value for turn in trajectory.turns],
    }


def _write_jsonl(trajectories: Iterable[Trajectory], file: BinaryIO) -> int:
    count = 0
    for trajectory in trajectories:
        row = {**_fields(trajectory), "trajectory": codec.to_fields(trajectory)}
        what = codec.name_episode(trajectory.run_id, trajectory.key)
        file.write(codec.to_json(row, what=what).encode("ascii") + b"\n")
        count += 1
    file.flush()
    return count


def _write_parquet(trajectories: Iterable[Trajectory], file: BinaryIO) -> int:
    try:
        from agentgym.trajectories.parquet import write_rows
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet") from error
    return write_rows(map(_fields, trajectories), file)


_WRITERS: dict[str, Callable[[Iterable[Trajectory], BinaryIO], int]] = {
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
