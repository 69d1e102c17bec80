"""Infrastructure that breaks: retried by type on a fresh environment, never a score."""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from agentgym import Action, Observation, call
from agentgym.agents.base import Brief, Decision
from agentgym.errors import (
    EnvironmentLostError,
    EpisodeError,
    ModelError,
    ModelRateLimitedError,
    ModelRejectedError,
    ModelServerError,
)
from agentgym.faults import Fault
from agentgym.rollout import attempts as attempts_module
from agentgym.trajectories.record import Outcome, Trajectory
from agentgym.trajectories.store import TrajectoryStore
from tests.environments import (
    BlockingEnvironment,
    Breakage,
    BreakingEnvironment,
    DenseEnvironment,
    counter_task,
)
from tests.rollout.playing import (
    ADD,
    SUBMIT,
    ActingAgent,
    always,
    carry_out,
    counting,
    essence,
    plan_of,
)

PLACES = ("make", "setup", "tool", "grade", "fingerprint")


def lost() -> EpisodeError:
    return EnvironmentLostError("The container died.")


def prodding(brief: Brief, observation: Observation, turn: int) -> Action:
    """Solve the counter by way of the tool that may break."""
    return call("breaking") if turn == 0 else counting(brief, observation, turn - 1)


async def broken_run(
    store: TrajectoryStore,
    times: dict[str, int],
    error: Callable[[], BaseException] = lost,
    *,
    tasks: int = 1,
    attempts: int = 3,
) -> tuple[list[Trajectory], Breakage]:
    breakage = Breakage(Counter(times), error)
    plan = plan_of(
        tasks,
        ActingAgent(prodding),
        attempts=attempts,
        concurrency=1,
        factory=lambda: BreakingEnvironment(breakage),
    )
    await carry_out(plan, store)
    return list(store.trajectories("run")), breakage


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("times", [1, 2])
async def test_a_fault_that_passes_is_mended_on_a_fresh_environment(
    store: TrajectoryStore, place: str, times: int
) -> None:
    (episode,), breakage = await broken_run(store, {place: times})
    assert episode.outcome == Outcome(status="completed")
    assert episode.success is True
    assert episode.attempts == times + 1
    assert episode.faults == tuple(
        Fault(kind="environment_lost", message="The container died.", attempt=n + 1)
        for n in range(times)
    )
    assert [turn.observation.faults for turn in episode.turns] == [()] * 3
    assert breakage.made == times + 1
    assert breakage.closed == breakage.made - (times if place == "make" else 0)


@pytest.mark.parametrize("place", PLACES)
async def test_a_fault_that_stays_is_an_error_and_no_score(
    store: TrajectoryStore, place: str
) -> None:
    (episode, other), breakage = await broken_run(store, {place: 3}, tasks=2)
    assert episode.outcome == Outcome(status="error", detail="environment_lost")
    assert (episode.grade, episode.success, episode.attempts) == (None, None, 3)
    assert [(fault.attempt, fault.fatal) for fault in episode.faults] == [
        (1, False),
        (2, False),
        (3, True),
    ]
    assert other.success is True
    assert other.attempts == 1
    row = store.summaries("run")[0]
    assert (row.score, row.success, row.faults) == (None, None, {"environment_lost": 3})
    assert breakage.made == 4


@pytest.mark.parametrize("place", PLACES)
async def test_a_defect_is_not_tried_again(store: TrajectoryStore, place: str) -> None:
    (episode, other), breakage = await broken_run(
        store, {place: 1}, lambda: ZeroDivisionError("a bug"), tasks=2
    )
    assert episode.outcome == Outcome(status="error", detail="environment")
    assert episode.attempts == 1
    assert [(fault.kind, fault.fatal) for fault in episode.faults] == [("environment", True)]
    assert episode.faults[0].message.endswith("raised ZeroDivisionError: a bug")
    assert other.success is True
    assert breakage.made == 2


@pytest.mark.parametrize("agent", [SUBMIT, ADD], ids=["ends", "cut"])
async def test_a_grade_outside_the_range_is_an_error_and_no_score(
    store: TrajectoryStore, agent: Action
) -> None:
    tasks = [counter_task(1), counter_task(2, reward_range=(0.0, 9.0))]
    plan = plan_of(tasks, always(agent), factory=partial(DenseEnvironment, {0: 5.0, 6: 5.0}))
    broke, scored = await carry_out(plan, store)
    assert broke.outcome == Outcome(status="error", detail="environment")
    assert (broke.grade, broke.success, store.summaries("run")[0].score) == (None, None, None)
    assert "5.0 is outside the task's range 0.0 to 1.0" in broke.faults[0].message
    assert scored.grade is not None
    assert scored.grade.value == 5.0


async def test_an_error_keeps_the_turns_before_it(store: TrajectoryStore) -> None:
    (episode,), _ = await broken_run(store, {"grade": 1}, lambda: KeyError("x"))
    assert episode.first is not None
    assert [turn.action.tool_calls[0].name for turn in episode.turns] == ["breaking", "add"]


@pytest.mark.parametrize("error", [lost, lambda: RuntimeError("bug")])
async def test_an_environment_that_breaks_while_closing_harms_no_episode(
    store: TrajectoryStore,
    error: Callable[[], BaseException],
    caplog: pytest.LogCaptureFixture,
) -> None:
    episodes, breakage = await broken_run(store, {"close": 9, "setup": 1}, error, tasks=3)
    assert [episode.success for episode in episodes[1:]] == [True, True]
    assert breakage.closed == 2
    assert "closing the environment failed" in caplog.text


async def test_an_environment_that_hangs_while_closing_is_left(
    store: TrajectoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(attempts_module, "CLOSE_TIMEOUT", 0.01)

    class Hanging(BreakingEnvironment):
        async def close(self) -> None:
            await asyncio.Event().wait()

    breakage = Breakage(Counter({"setup": 1}), lost)
    plan = plan_of(2, factory=lambda: Hanging(breakage), concurrency=1)
    async with asyncio.timeout(60):
        reported = await carry_out(plan, store)
    assert [trajectory.success for trajectory in reported] == [True, True]
    assert "took longer" in caplog.text


async def test_a_step_that_does_not_answer_is_tried_on_a_fresh_environment(
    store: TrajectoryStore,
) -> None:
    gates = [threading.Event(), threading.Event()]
    gates[1].set()
    made: list[BlockingEnvironment] = []

    def factory() -> BlockingEnvironment:
        made.append(BlockingEnvironment(gates[min(len(made), 1)]))
        return made[-1]

    agent = ActingAgent(lambda brief, observation, turn: (call("block"), ADD, SUBMIT)[turn])
    plan = plan_of(1, agent, factory=factory, step_timeout=1.0, concurrency=1)
    (episode,) = await carry_out(plan, store)
    gates[0].set()
    assert episode.success is True
    assert episode.attempts == 2
    (fault,) = episode.faults
    assert (fault.kind, fault.fatal) == ("environment_timeout", False)
    assert fault.message == "The environment did not answer within 1 s (step)."
    assert len(made) == 2


async def test_a_step_that_never_answers_is_an_error_and_the_run_goes_on(
    store: TrajectoryStore,
) -> None:
    gate = threading.Event()

    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        return call("block") if brief.task_id == "count-2" else counting(brief, observation, turn)

    plan = plan_of(
        3,
        ActingAgent(act),
        attempts=1,
        step_timeout=1.0,
        factory=lambda: BlockingEnvironment(gate),
    )
    await carry_out(plan, store)
    gate.set()
    outcomes = {t.key.task_id: t.outcome.detail for t in store.trajectories("run")}
    assert outcomes == {"count-1": "", "count-2": "environment_timeout", "count-3": ""}


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (ModelServerError("503"), 3),
        (ModelError("nothing"), 3),
        (ModelRejectedError("no such model"), 1),
        (LookupError("the agent's own"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_models_and_agents_are_retried_by_type(
    store: TrajectoryStore, error: Exception, attempts: int
) -> None:
    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        if turn == 1:
            raise error
        return ADD

    (episode,) = await carry_out(plan_of(1, ActingAgent(act)), store)
    kind = error.kind if isinstance(error, EpisodeError) else "agent"
    assert episode.outcome == Outcome(status="error", detail=kind)
    assert episode.attempts == attempts
    assert episode.grade is None
    assert len(episode.turns) == 1


async def test_a_server_that_asks_for_time_gets_it(store: TrajectoryStore) -> None:
    refusals = iter([ModelRateLimitedError("429", retry_after=0.0)])

    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        for refusal in refusals:
            raise refusal
        return SUBMIT

    plan = plan_of(1, ActingAgent(act), backoff=3600.0)
    async with asyncio.timeout(60):  # its word counts, not our own hour
        (episode,) = await carry_out(plan, store)
    assert episode.attempts == 2


async def test_a_server_that_asks_for_too_much_time_is_left_for_a_later_run(
    store: TrajectoryStore,
) -> None:
    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        raise ModelRateLimitedError("429", retry_after=3600.0)

    async with asyncio.timeout(60):
        (episode,) = await carry_out(plan_of(1, ActingAgent(act)), store)
    assert episode.outcome == Outcome(status="error", detail="model_rate_limited")
    assert (episode.attempts, episode.faults[-1].fatal) == (1, True)


async def test_faults_an_agent_survived_are_kept_with_their_attempt(
    store: TrajectoryStore,
) -> None:
    survived = Fault(kind="model_rate_limited", message="429")
    breakage = Breakage(Counter({"tool": 1}), lost)
    agent = ActingAgent(
        lambda brief, observation, turn: Decision(
            action=prodding(brief, observation, turn),
            faults=(survived,) if turn == 0 else (),
        )
    )
    plan = plan_of([counter_task(1)], agent, factory=lambda: BreakingEnvironment(breakage))
    (episode,) = await carry_out(plan, store)
    assert [(fault.kind, fault.attempt, fault.fatal) for fault in episode.faults] == [
        ("model_rate_limited", 1, False),
        ("environment_lost", 1, False),
        ("model_rate_limited", 2, False),
    ]


async def test_a_run_full_of_faults_comes_to_the_same_scores(store: TrajectoryStore) -> None:
    calm = Breakage(Counter(), lost)
    factory = partial(BreakingEnvironment, calm)
    await carry_out(plan_of(20, ActingAgent(prodding), run_id="calm", factory=factory), store)
    breakage = Breakage(Counter(dict.fromkeys((*PLACES, "close"), 4)), lost)
    plan = plan_of(
        20,
        ActingAgent(prodding),
        run_id="stormy",
        attempts=30,
        concurrency=4,
        factory=lambda: BreakingEnvironment(breakage),
    )
    await carry_out(plan, store)
    assert not +breakage.times

    def results(run_id: str) -> list[dict[str, Any]]:
        episodes = [essence(episode) for episode in store.trajectories(run_id)]
        return [{**episode, "faults": None, "attempts": None} for episode in episodes]

    assert len(results("stormy")) == 20
    assert results("stormy") == results("calm")


async def test_errors_are_logged_with_their_task(
    store: TrajectoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="agentgym")
    await broken_run(store, {"setup": 1}, attempts=1)
    assert "episode count-1 failed: The container died." in caplog.text
