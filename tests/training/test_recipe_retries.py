"""Retries from the failing turn, and the sequence without what was undone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from hypothesis import given
from hypothesis import strategies as st

from agentgym import Reward, call
from agentgym.agents.chat_tokens import ChatTokens
from agentgym.agents.sampling import Sampled, SampleRequest
from agentgym.agents.settings import TokenSettings
from agentgym.agents.token_agent import TokenAgent
from agentgym.rollout.attempts import Seat, play_job
from agentgym.training.contract import rollout_rows
from agentgym.training.credit.base import Episode, Step
from agentgym.training.recipes.detours import KEPT, cut, kept_turns, undone_left_out
from agentgym.training.recipes.reflect import Reflect, Retrying, by_component, failing_turn
from agentgym.training.recipes.replay import Replay
from agentgym.training.rollouts import TrainingPlan
from tests.training.corridor import WORDS, Spy, make_trainer, own, rows
from tests.training.ladder import LADDER, RUNGS, Ladder, ladder_tokenizer, ladders

torch.set_num_threads(1)


def test_the_failing_turn_is_where_it_dropped_or_stalled() -> None:
    assert failing_turn([0.2, 0.5, 0.1, 0.4]) == 2
    assert failing_turn([0.2, 0.5, 0.5, 0.5]) == 2
    assert failing_turn([0.2, 0.5]) == 1
    assert failing_turn([0.0, 0.0, 0.0]) == 0
    assert failing_turn([]) == 0


@given(st.lists(st.floats(-1, 1), max_size=10))
def test_the_failing_turn_is_one_of_the_turns(scores: list[float]) -> None:
    assert 0 <= failing_turn(scores) < max(1, len(scores))


def test_progress_is_read_from_a_component() -> None:
    rewards = [
        Reward(components={"done": 0.5}),
        Reward(),
        Reward(components={"done": 0.1}),
        Reward(),
    ]
    assert by_component("done")(rewards) == 2


async def test_a_failed_episode_goes_on_from_the_failing_turn() -> None:
    environment = Retrying(Ladder(), feedback=True)
    await environment.reset(RUNGS, seed=0)
    await environment.step(call("climb", rung=1))
    await environment.step(call("climb", rung=2))
    before = await environment.fingerprint()
    failed = await environment.step(call("climb", rung=9))
    assert not failed.over
    assert failed.reward.value == 0.0
    assert [message.role for message in failed.observation.messages] == ["tool", "user"]
    told = failed.observation.messages[-1].text
    assert "before your turn 3" in told
    assert "Take one rung after the other." in told
    assert told.endswith("You are on rung 2.")
    assert await environment.fingerprint() == before
    done = await environment.step(call("climb", rung=3))
    assert done.terminated
    assert done.reward.value == 1.0
    assert done.reward.components == {"attempt_1": 0.0}
    assert done.reward.labels == {KEPT: "0,1,3"}


async def test_retries_are_counted_and_the_last_failure_stands() -> None:
    environment = Retrying(Ladder(), retries=2, pivot=lambda rewards: 0)
    await environment.reset(RUNGS, seed=0)
    ends = [(await environment.step(call("climb", rung=9))).over for _ in range(3)]
    assert ends == [False, False, True]
    grade = await environment.grade()
    assert grade.components == {"attempt_1": 0.0, "attempt_2": 0.0}
    assert grade.labels == {KEPT: "2"}
    await environment.reset(RUNGS, seed=0)
    for rung in (1, 2):
        await environment.step(call("climb", rung=rung))
    done = await environment.step(call("climb", rung=3))
    assert (done.over, done.reward.labels) == (True, {})


async def test_feedback_stays_hidden_unless_asked_for() -> None:
    environment = Retrying(Ladder())
    await environment.reset(RUNGS, seed=0)
    failed = await environment.step(call("climb", rung=9))
    assert "rung after" not in failed.observation.text


def row(turns: Sequence[int], kept: str | None) -> dict[str, Any]:
    count = max(turns) + 1
    return {
        "completion_ids": [100 + at for at in range(len(turns))],
        "turn_ids": list(turns),
        "env_mask": [int(turn >= 0) for turn in turns],
        "episode": Episode(tuple(Step(float(turn)) for turn in range(count))),
        "grade": Reward(value=1.0, labels={} if kept is None else {KEPT: kept}),
    }


def test_a_row_without_its_undone_turns() -> None:
    """Turn 0, the world, turns 1 and 2 that are undone, the words of the setback, turn 3."""
    whole = row([0, 0, -1, 1, -1, -1, 2, -1, -1, -1, 3, 3, -1, 4], "0,3,4")
    clean = cut(whole, undone_left_out(whole))
    assert clean["completion_ids"] == [100, 101, 102, 110, 111, 112, 113]
    assert clean["turn_ids"] == [0, 0, -1, 1, 1, -1, 2]
    assert clean["env_mask"] == [1, 1, 0, 1, 1, 0, 1]
    assert [step.reward for step in clean["episode"].steps] == [0.0, 3.0, 4.0]
    assert kept_turns(clean) is None


def test_a_row_set_back_to_its_first_turn() -> None:
    whole = row([0, -1, -1, 1, -1, 2], "1,2")
    assert cut(whole, undone_left_out(whole))["completion_ids"] == [103, 104, 105]


def test_a_row_that_ended_right_after_a_setback_has_nothing_left() -> None:
    whole = row([0, -1, 1, -1], "")
    assert kept_turns(whole) == []
    assert undone_left_out(whole) == []


def test_a_row_without_setback_stays_as_it_is() -> None:
    whole = row([0, -1, 1, -1], None)
    assert cut(whole, undone_left_out(whole)) == whole


class Detour:
    """One row of a group fails with "left", is set back and wins with "right"; all else fails."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, prompts: list[str], trainer: Any) -> Any:
        self.calls += 1
        starts = [[WORDS.index(prompt), WORDS.index("0")] for prompt in prompts]
        walks = [[2, 13, 3, 11] if at == 0 and self.calls == 1 else [4, 10] for at in range(4)]
        episodes = [
            Episode((Step(0.0), Step(1.0))) if len(walk) == 4 else Episode((Step(0.0),))
            for walk in walks
        ]
        found = rows(prompts, starts, walks, episodes)
        if self.calls == 1:
            found["grade"][0] = Reward(value=1.0, labels={KEPT: "1"})
        return found


def test_undone_turns_are_not_reinforced_and_replay_leaves_them_out(tmp_path: Path) -> None:
    spy = Spy()
    trainer = make_trainer(
        tmp_path, Detour(), recipes=[Reflect(), Replay(), spy], max_steps=2, learning_rate=0.03
    )
    trainer.train()
    first, second = spy.batches
    undone, _, after, _ = first.tensors["advantages"][0].tolist()
    assert undone == 0.0 < after
    assert second.results[3].replayed
    ids = second.tensors["completion_ids"][3], second.tensors["completion_mask"][3]
    assert [part.tolist() for part in ids] == [[3, 0], [1, 0]]
    assert second.turns[3].tolist() == [0, -1]
    # What was sampled after the reflection has no ratio to itself without it.
    assert second.tensors["advantages"][3, 0] == pytest.approx(own(trainer)[3])


async def played(rungs: Sequence[int]) -> dict[str, Any]:
    """Return the row of an episode whose turns are sampled as given."""
    words = ladder_tokenizer()
    turns = iter(rungs)

    async def sampler(request: SampleRequest) -> Sampled:
        ids = words.encode(f"climb[{next(turns)}]<end>", add_special_tokens=False)
        return Sampled(tuple(ids), (-0.5,) * len(ids))

    settings = TokenSettings(format="brackets", told=False)
    agent = TokenAgent("climber", sampler, ChatTokens(words, None, {}), settings)
    plan = TrainingPlan(env_spec=LADDER, tasks=ladders(), agent=agent, wrap=Retrying)
    seat = Seat(plan)
    trajectory = await play_job(plan, seat, next(plan.jobs()))
    await seat.leave()
    output = rollout_rows([trajectory], end_id=words.eos_token_id)
    return {key: values[0] for key, values in output.items()}


async def test_without_its_detour_a_conversation_is_that_of_who_did_right_at_once() -> None:
    detour, straight = await played([1, 3, 2, 3]), await played([1, 2, 3])
    assert detour["grade"].labels == {KEPT: "0,2,3"}
    clean = cut(detour, undone_left_out(detour))
    assert clean["prompt_ids"] == straight["prompt_ids"]
    assert clean["completion_ids"] == straight["completion_ids"]
    assert clean["turn_ids"] == straight["turn_ids"]
    assert clean["env_mask"] == straight["env_mask"]
    states = [step.state for step in clean["episode"].steps]
    assert states == [step.state for step in straight["episode"].steps]
    assert clean["episode"].total == pytest.approx(straight["episode"].total)
    assert detour["episode"].total == pytest.approx(straight["episode"].total)


async def test_what_undone_turns_were_given_is_taken_back() -> None:
    environment = Retrying(Ladder(), pivot=lambda rewards: 0)
    await environment.reset(RUNGS, seed=0)
    rungs = (1, 2, 9)
    given = [(await environment.step(call("climb", rung=rung))).reward.value for rung in rungs]
    assert given == pytest.approx([0.1, 0.1, -0.2])
