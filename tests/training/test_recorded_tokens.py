"""Tokens that a server told, in the store: recorded, checked, and made into rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentgym.agents.factory import make_llm
from agentgym.agents.settings import LlmSettings
from agentgym.cli.main import app
from agentgym.rollout.engine import Engine
from agentgym.training.recorded_tokens import check_episode
from agentgym.training.tokens import rows
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import TokenTrace
from tests.fake_openai import FakeOpenAI, Reply
from tests.rollout.playing import carry_out, plan_of

TURNS = [([1, 2, 3], [4, 5], [-0.5, -0.25]), ([1, 2, 3, 4, 5, 6, 7], [8], [-1.0])]


def vllm(turn: int, name: str, arguments: dict[str, Any]) -> Reply:
    """Answer as vLLM does where it is asked for token ids."""
    prompt, ids, logprobs = TURNS[turn]
    return Reply(
        calls=[(name, arguments)],
        body={"prompt_token_ids": prompt},
        choice={
            "token_ids": ids,
            "logprobs": {"content": [{"token": "x", "logprob": value} for value in logprobs]},
        },
    )


@pytest.fixture
async def played(tmp_path: Path) -> tuple[Trajectory, Path, list[dict[str, Any]]]:
    path = tmp_path / "runs.db"
    script = [vllm(0, "add", {"amount": 1}), vllm(1, "submit", {})]
    async with FakeOpenAI(script) as server:
        agent = make_llm(LlmSettings(model="m", base_url=server.base_url, token_ids=True))
        with TrajectoryStore.open(path) as store:
            await carry_out(plan_of(1, agent), store)
            (trajectory,) = store.trajectories("run")
        await agent.close()
    return trajectory, path, server.requests


async def test_a_servers_tokens_are_asked_for_recorded_and_become_a_row(
    played: tuple[Trajectory, Path, list[dict[str, Any]]],
) -> None:
    trajectory, _, requests = played
    assert all(body["return_token_ids"] and body["logprobs"] for body in requests)
    assert trajectory.success
    (row,) = rows([turn.tokens for turn in trajectory.turns if turn.tokens])
    assert row.prompt_ids == (1, 2, 3)
    assert row.completion_ids == (4, 5, 6, 7, 8)
    assert row.turns == (0, 0, -1, -1, 1)
    assert row.logprobs == (-0.5, -0.25, 0.0, 0.0, -1.0)
    assert check_episode(trajectory) == []


async def test_tokens_are_not_asked_for_by_default() -> None:
    async with FakeOpenAI([Reply(calls=[("submit", {})])]) as server:
        agent = make_llm(LlmSettings(model="m", base_url=server.base_url))
        plan = plan_of(1, agent)
        engine = Engine(plan, None)  # type: ignore[arg-type]
        trajectory = await engine.play(next(plan.jobs()))
        await agent.close()
    assert "return_token_ids" not in server.requests[0]
    (finding,) = check_episode(trajectory)
    assert (finding.kind, finding.turn, finding.fault) == ("missing", 0, True)


class Letters:
    """A tokenizer that writes every token as one that is not there."""

    def decode(self, ids: Any) -> str:
        return "".join(chr(97 + token) for token in ids)

    def encode(self, text: str) -> list[int]:
        return [ord(letter) - 97 for letter in text.replace("i", "j")]


@pytest.mark.parametrize(
    ("turn", "changes", "kind", "told"),
    [
        (1, {"output_ids": (), "logprobs": None}, "lengths", "No token was sampled."),
        (1, {"prompt_ids": ()}, "lengths", "The prompt is empty."),
        (0, {"logprobs": (-1.0,)}, "lengths", "2 sampled tokens have 1 log-probabilities."),
        (0, {"logprobs": (-1.0, 0.5)}, "lengths", "A log-probability is above 0"),
        (1, {"prompt_ids": (1, 2, 3, 4, 9, 6)}, "prefix", "at token 4 of 5; a new row begins."),
        (1, {"prompt_ids": (1, 2)}, "prefix", "leaves turn 0 at token 2 of 5"),
        (1, {"prompt_ids": (1, 2, 3, 4, 5, -6)}, "ids", "Token 5 of the prompt is -6"),
        (0, {"output_ids": (4, 10**30)}, "ids", "Token 1 of the output is 1000"),
        (1, {}, "drift", "the sampled tokens are others"),
    ],
)
async def test_the_turn_that_breaks_is_named(
    played: tuple[Trajectory, Path, list[dict[str, Any]]],
    turn: int,
    changes: dict[str, Any],
    kind: str,
    told: str,
) -> None:
    turns = list(played[0].turns)
    trace = turns[turn].tokens
    assert isinstance(trace, TokenTrace)
    broken = trace.model_copy(update=changes)
    turns[turn] = turns[turn].model_copy(update={"tokens": broken})
    trajectory = played[0].model_copy(update={"turns": tuple(turns)})
    found = [one for one in check_episode(trajectory, Letters()) if one.kind == kind]
    assert [(one.task_id, one.epoch, one.turn) for one in found] == [("count-1", 0, turn)]
    assert told in found[0].message
    assert found[0].fault == (kind in ("lengths", "ids"))


async def test_the_command_checks_a_stored_run(
    played: tuple[Trajectory, Path, list[dict[str, Any]]],
) -> None:
    trajectory, path, _ = played
    runner = CliRunner()
    done = runner.invoke(app, ["tokens", "run", "--store", str(path)])
    assert (done.exit_code, done.output) == (0, "1 episodes, 0 faults. Nothing was found.\n")
    plain = trajectory.turns[0].model_copy(update={"tokens": None})
    record = plan_of(1).record()
    with TrajectoryStore.open(path) as store:
        store.create_run(record.model_copy(update={"run_id": "worse"}))
        store.save([trajectory.model_copy(update={"run_id": "worse", "turns": (plain,)})])
    done = runner.invoke(app, ["tokens", "worse", "--store", str(path)])
    assert done.exit_code == 1
    assert "missing: count-1 epoch 0 turn 0: The turn has no tokens." in done.output
    done = runner.invoke(app, ["tokens", "worse", "--store", str(path), "--json"])
    found = json.loads(done.output)
    assert (found["episodes"], found["faults"]) == (1, 1)
    assert found["findings"][0]["kind"] == "missing"
