"""The local agent: exact log-probabilities, the same draws in any company, batches, and folders."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from agentgym.agents.factory import make_llm
from agentgym.agents.local import LocalModelAgent, local_agent, read_settings, write_settings
from agentgym.agents.local_model import LocalModel
from agentgym.agents.sampling import Sampled, SampleRequest
from agentgym.agents.settings import LlmSettings, TokenSettings
from agentgym.errors import UsageError
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.training.tokens import rows
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from tests.training.buttons import (
    BUTTONS,
    button_model,
    button_tasks,
    button_tokenizer,
)

PLAYS = TokenSettings(format="brackets", told=False, max_tokens=3)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return button_tokenizer()


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    return button_model(tokenizer, seed=1)


def ask(*prompts: list[int], max_tokens: int = 6) -> list[SampleRequest]:
    return [SampleRequest(tuple(ids), max_tokens, seed) for seed, ids in enumerate(prompts)]


def likelihoods(model: Any, prompt: list[int], sampled: Sampled, temperature: float) -> Any:
    """Work the log-probabilities out again by one pass over prompt and answer."""
    ids = torch.tensor([[*prompt, *sampled.ids]])
    with torch.no_grad():
        scores = model(ids).logits[0, len(prompt) - 1 : -1] / temperature
    return scores.log_softmax(-1).gather(-1, torch.tensor(sampled.ids)[:, None])[:, 0].tolist()


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_log_probabilities_are_those_of_the_model(
    model: Any, tokenizer: Any, temperature: float
) -> None:
    prompts = [[7, 8, 9], [10], [8, 8, 11, 12]]
    sampler = LocalModel(model, tokenizer, temperature=temperature)
    for prompt, sampled in zip(prompts, sampler.sample(ask(*prompts)), strict=True):
        expected = likelihoods(model, prompt, sampled, temperature or 1.0)
        assert sampled.logprobs == pytest.approx(expected, abs=1e-4)


def test_a_draw_is_the_same_in_any_company(model: Any, tokenizer: Any) -> None:
    sampler = LocalModel(model, tokenizer, seed=3)
    first, second = ask([7, 8, 9], [10, 11])
    together = sampler.sample([first, second])
    assert [sampler.sample([first])[0].ids, sampler.sample([second])[0].ids] == [
        one.ids for one in together
    ]
    other = LocalModel(model, tokenizer, seed=4).sample([first, second])
    assert [one.ids for one in other] != [one.ids for one in together]


def test_draws_follow_the_models_distribution(model: Any, tokenizer: Any) -> None:
    requests = [SampleRequest((7, 8), 1, seed) for seed in range(4000)]
    with torch.no_grad():
        scores = model(torch.tensor([[7, 8]])).logits[0, -1] / 0.1
    shares = scores.softmax(-1).tolist()
    drawn = [one.ids[0] for one in LocalModel(model, tokenizer, temperature=0.1).sample(requests)]
    found = [drawn.count(token) / len(drawn) for token in range(len(shares))]
    assert found == pytest.approx(shares, abs=0.03)
    likeliest = LocalModel(model, tokenizer, temperature=0.1, top_p=1e-6).sample(requests[:50])
    assert {one.ids[0] for one in likeliest} == {int(scores.argmax())}


def test_a_turn_ends_at_its_end_or_at_its_limit(model: Any, tokenizer: Any) -> None:
    requests = [SampleRequest((7,), 1 + seed % 9, seed) for seed in range(60)]
    found = LocalModel(model, tokenizer).sample(requests)
    for request, sampled in zip(requests, found, strict=True):
        assert tokenizer.eos_token_id not in sampled.ids[:-1]
        ended = sampled.ids[-1] == tokenizer.eos_token_id
        assert ended or len(sampled.ids) == request.max_tokens
    assert any(
        len(one.ids) < request.max_tokens for one, request in zip(found, requests, strict=True)
    )


def test_the_models_own_defaults_are_left_alone(model: Any, tokenizer: Any) -> None:
    defaults = model.generation_config
    model.train()
    LocalModel(model, tokenizer).sample(ask([7]))
    assert model.generation_config is defaults
    assert model.training


@pytest.mark.parametrize("options", [{"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_what_cannot_be_sampled_is_refused(model: Any, tokenizer: Any, options: Any) -> None:
    with pytest.raises(UsageError, match="cannot be sampled"):
        LocalModel(model, tokenizer, **options)


def play_all(agent: LocalModelAgent, folder: Path, concurrency: int = 6) -> list[Trajectory]:
    plan = Plan(env_spec=BUTTONS, tasks=button_tasks(6), agent=agent, concurrency=concurrency)
    with TrajectoryStore.open(folder / "runs.db") as store:
        engine = Engine(plan, store)
        engine.open()
        asyncio.run(engine.run())
        return list(store.trajectories(plan.run_id))


def test_live_episodes_share_the_model_and_keep_their_tokens(
    model: Any, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    sample = LocalModel.sample

    def counted(itself: LocalModel, requests: Any) -> list[Sampled]:
        sizes.append(len(requests))
        return sample(itself, requests)

    monkeypatch.setattr(LocalModel, "sample", counted)
    found = play_all(local_agent(model, tokenizer, PLAYS), tmp_path)
    assert {trajectory.outcome.status for trajectory in found} <= {"completed", "limit"}
    assert max(sizes) == 6
    for trajectory in found:
        traces = [turn.tokens for turn in trajectory.turns if turn.tokens is not None]
        (row,) = rows(traces)
        assert row.logprobs is not None
        assert trajectory.usage.completion_tokens == sum(row.mask)


def test_temperature_0_plays_the_same_at_any_concurrency(
    model: Any, tokenizer: Any, tmp_path: Path
) -> None:
    runs = []
    for concurrency in (1, 6):
        agent = local_agent(model, tokenizer, PLAYS, temperature=0.0)
        found = play_all(agent, tmp_path, concurrency)
        runs.append([[turn.action for turn in one.turns] for one in found])
    assert runs[0] == runs[1]


def test_a_folder_plays_as_it_was_trained_to(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    write_settings(PLAYS, tmp_path)
    assert read_settings(tmp_path) == PLAYS
    agent = make_llm(LlmSettings(model=f"local:{tmp_path}", temperature=0.0, max_tokens=2))
    assert isinstance(agent, LocalModelAgent)
    assert agent.name == f"local:{tmp_path.name}"
    config = agent.config()
    assert {name: config[name] for name in ("format", "told", "max_tokens", "context")} == {
        "format": "brackets",
        "told": False,
        "max_tokens": 2,
        "context": 256,
    }
    found = play_all(agent, tmp_path)
    assert len(found) == 6
    assert all(turn.tokens for trajectory in found for turn in trajectory.turns)


def test_folders_and_settings_that_will_not_do_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        make_llm(LlmSettings(model=f"local:{tmp_path / 'none'}"))
    with pytest.raises(UsageError, match="holds no model"):
        make_llm(LlmSettings(model=f"local:{tmp_path}"))
    with pytest.raises(UsageError, match="needs no endpoint"):
        make_llm(LlmSettings(model=f"local:{tmp_path}", base_url="http://localhost:1/v1"))
    (tmp_path / "agentgym.json").write_text('{"formt": "react"}')
    with pytest.raises(UsageError, match="formt"):
        read_settings(tmp_path)
