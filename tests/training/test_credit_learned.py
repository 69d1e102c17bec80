"""Credit that is learned: the critic of turns, and progress scores."""

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pvariance
from typing import Literal

import pytest

pytest.importorskip("trl")

import torch
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import UsageError
from agentgym.training.credit.base import Advantages, Episode, Learner, Step
from agentgym.training.credit.critic import TurnCritic
from agentgym.training.credit.estimators import turn
from agentgym.training.credit.progress import LearnedProgress, Progressed, SeenProgress, component
from tests.training.corridor import Corridor, Script, make_trainer

torch.set_num_threads(1)

CELLS = 5


def one_hot(cell: int) -> tuple[float, ...]:
    return tuple(float(cell == number) for number in range(CELLS))


def walk(random: random.Random) -> Episode:
    """A random walk that starts anywhere and is paid for leaving to the right."""
    cell, steps = random.randrange(CELLS), list[Step]()
    while 0 <= cell < CELLS:
        after = cell + random.choice((-1, 1))
        steps.append(Step(float(after == CELLS), state=str(cell), features=one_hot(cell)))
        cell = after
    return Episode(tuple(steps))


@pytest.mark.parametrize("lam", [0.5, 1.0])
def test_the_critic_learns_the_values_of_a_random_walk(lam: float) -> None:
    """From cell i of n the walk leaves to the right with chance (i + 1) / (n + 1)."""
    source = random.Random(0)
    critic = TurnCritic(width=CELLS, gamma=1.0, lam=lam, rate=3e-3)
    for _ in range(25):
        critic.learn([walk(source) for _ in range(200)])
    found = critic.values(Episode(tuple(Step(0.0, features=one_hot(i)) for i in range(CELLS))))
    assert found == pytest.approx([(i + 1) / (CELLS + 1) for i in range(CELLS)], abs=0.12)


def test_the_critics_advantages_vary_less_than_returns() -> None:
    source = random.Random(1)
    critic = TurnCritic(width=CELLS, gamma=1.0, lam=0.5)
    for _ in range(25):
        critic.learn([walk(source) for _ in range(64)])
    fresh = [walk(source) for _ in range(400)]
    ours = [value for episode in critic(fresh) for value in episode]
    plain = [value for episode in turn(fresh, scale="none") for value in episode]
    assert pvariance(ours) < 0.6 * pvariance(plain)
    assert abs(fmean(ours)) < 0.1  # a random walk has no better turns


def test_a_critic_without_experience_gives_returns() -> None:
    critic = TurnCritic(width=CELLS, gamma=0.5, lam=1.0)
    episode = Episode((Step(0.0, features=one_hot(0)), Step(1.0, features=one_hot(1))))
    assert critic([episode, Episode(())]) == [pytest.approx([0.5, 1.0]), []]
    critic.learn([Episode(())])
    assert critic.values(episode) == [0.0, 0.0]


def test_a_critic_bootstraps_from_its_own_values() -> None:
    critic = TurnCritic(width=CELLS, gamma=1.0, lam=0.0, passes=400)
    ends = Episode((Step(1.0, features=one_hot(1)),))
    critic.learn([ends])
    passing = Episode((Step(0.0, features=one_hot(0)), Step(0.0, features=one_hot(1))))
    value, following = critic.values(passing)
    assert following == pytest.approx(1.0, abs=0.05)
    assert critic([passing])[0] == pytest.approx([following - value, -following])


def test_every_rank_begins_with_the_same_critic() -> None:
    episodes = [walk(random.Random(2)) for _ in range(8)]
    first, second = TurnCritic(width=CELLS), TurnCritic(width=CELLS)
    first.learn(episodes)
    torch.rand(3)
    second.learn(episodes)
    assert first(episodes) == second(episodes)


def test_a_learner_asks_for_its_features() -> None:
    with pytest.raises(UsageError, match="Turn 0 has no features"):
        TurnCritic(width=3)([Episode((Step(1.0),))])
    with pytest.raises(UsageError, match="Turn 0 has 5 features, and the learner reads 3"):
        LearnedProgress(width=3)([Episode((Step(1.0, features=one_hot(1)),))])


def given_progress(episode: Episode) -> list[float]:
    return [0.4 * (number + 1) for number in range(len(episode.steps))]


def test_a_given_function_fills_in_the_progress() -> None:
    seen: list[Episode] = []

    def keeping(group: Sequence[Episode]) -> Advantages:
        seen.extend(group)
        return [[0.0] * len(episode.steps) for episode in group]

    Progressed(given_progress, keeping)([Episode((Step(0.0), Step(0.0), Step(1.0)))])
    assert [step.progress for step in seen[0].steps] == [0.4, 0.8, 1.0]


@pytest.mark.parametrize(("gains", "expected"), [(False, [0.5, 0.5, 0.7]), (True, [0.5, 0.5, 1.0])])
def test_progress_is_read_from_a_component(gains: bool, expected: list[float]) -> None:
    told = [{"done": 0.5}, {"other": 1.0}, {"done": 0.7}]
    episode = Episode(tuple(Step(0.0, components=part) for part in told))
    assert component("done", gains=gains)(episode) == expected


def path(states: str, reward: float) -> Episode:
    return Episode(
        tuple(
            Step(reward * (at == len(states) - 1), state=state) for at, state in enumerate(states)
        )
    )


def test_states_of_successes_tell_how_far_the_task_has_come() -> None:
    learner = SeenProgress()
    learner.learn([path("abcd", 1.0), path("ac", 1.0), path("axxx", 0.0)])
    assert learner.progress(path("abc", 0.0)) == [0.25, 0.5, 0.5]  # c: (2/4 + 1/2) / 2
    assert learner.progress(path("azb", 0.0)) == [0.0, 0.25, 0.25]  # z was never seen
    assert learner.progress(path("ab", 1.0)) == [0.25, 1.0]
    good, lost = learner([path("abc", 1.0), path("azz", 0.0)])
    assert min(good) > 0 > max(lost)


@given(st.lists(st.lists(st.integers(0, CELLS - 1), min_size=1, max_size=6), max_size=8))
def test_progress_stays_within_its_bounds(walks: list[list[int]]) -> None:
    episodes = [
        Episode(tuple(Step(1.0, state=str(cell), features=one_hot(cell)) for cell in cells))
        for cells in walks
    ]
    for learner in (LearnedProgress(width=CELLS), SeenProgress()):
        learner.learn(episodes)
        for episode in episodes:
            found = learner.progress(episode)
            assert len(found) == len(episode.steps)
            assert all(0.0 <= value <= 1.0 for value in found)


def test_contributions_are_found_by_regression() -> None:
    """Of two kinds of turns one earns 0.5 and one nothing; only totals are shown."""
    source = random.Random(3)
    episodes = []
    for _ in range(50):
        kinds = [source.randrange(2) for _ in range(4)]
        total = 0.5 * min(2, sum(kinds))
        kinds = kinds if sum(kinds) <= 2 else [1, 1, 0, 0]
        steps = [Step(0.0, features=(float(kind), float(not kind))) for kind in kinds]
        episodes.append(Episode((*steps[:-1], Step(total, features=steps[-1].features))))
    learner = LearnedProgress(width=2, ridge=1e-3)
    learner.learn(episodes)
    shown = Episode(tuple(Step(0.0, features=(k, 1 - k)) for k in (0.0, 1.0, 0.0, 1.0)))
    assert learner.progress(shown) == pytest.approx([0.0, 0.5, 0.5, 1.0], abs=0.02)


class Keeping:
    """A learner that keeps what it is given."""

    width = 6

    def __init__(self, reads: Literal["before", "after"] | None) -> None:
        self.reads = reads
        self.seen: list[Episode] = []
        self.learned: list[Episode] = []

    def __call__(self, group: Sequence[Episode], /) -> Advantages:
        self.seen += group
        return [[0.0] * len(episode.steps) for episode in group]

    def learn(self, episodes: Sequence[Episode], /) -> None:
        self.learned += episodes


@pytest.mark.parametrize("reads", ["before", "after"])
def test_the_trainer_gives_a_learner_the_states_it_reads(
    tmp_path: Path, reads: Literal["before", "after"]
) -> None:
    """Rows differ in the token that each turn samples, which only "after" shows at turn 0."""
    learner = Keeping(reads)
    batch = [[0.0, 1.0], [0.0, 0.0], [0.0, 0.5], [0.0]]
    make_trainer(tmp_path, Script(batch), estimator=learner).train()
    first, second, *_ = [[step.features for step in one.steps] for one in learner.seen]
    assert [len(part or ()) for part in first] == [6, 6]
    same = torch.allclose(torch.tensor(first[0]), torch.tensor(second[0]), atol=1e-5)
    assert same == (reads == "before")
    assert not torch.allclose(torch.tensor(first[1]), torch.tensor(second[1]), atol=1e-5)
    assert learner.learned == learner.seen


@pytest.mark.parametrize("learner", [TurnCritic(width=8), LearnedProgress(width=8), SeenProgress()])
def test_learners_train(tmp_path: Path, learner: Learner) -> None:
    corridor = Corridor()
    trainer = make_trainer(
        tmp_path,
        corridor,
        estimator=learner,
        max_steps=60,
        per_device_train_batch_size=16,
        num_generations=8,
        learning_rate=3e-3,
    )
    trainer.train()
    arrived = [episode.total for episode in corridor(["a"] * 64, trainer)["episode"]]
    assert fmean(arrived) > 0.5
