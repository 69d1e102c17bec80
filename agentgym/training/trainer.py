"""TRL's GRPO with an advantage for every turn, and with recipes."""

import math
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Sampler

from agentgym.errors import UsageError
from agentgym.training.credit.base import Advantages, Episode, Estimator, Learner
from agentgym.training.credit.estimators import estimator as named_estimator
from agentgym.training.hooks import HookedGRPOTrainer
from agentgym.training.recipes.base import Batch, Recipe, Result, Rows, succeeded
from agentgym.training.recipes.learned import load_learned, save_learned
from agentgym.training.recipes.sampler import TaskSampler
from agentgym.training.tokens import NOBODY

SCALES = {"group": "std", "none": "none"}
NEEDED = ("task_id", "episode", "turn_ids")
ROUNDING = 1.2e-7
"""TRL holds rewards in 32 bits; a difference below this share of one is their rounding."""


class TurnLevelGRPOTrainer(HookedGRPOTrainer):
    """A `trl.GRPOTrainer` whose advantages come from an estimator, turn by turn.

    It takes everything `GRPOTrainer` takes and trains through a `rollout_func`, whose rows must
    hold, beside TRL's keys, `task_id`, `episode` (`credit.base.Episode`) and `turn_ids` (for each
    completion token the turn that sampled it, or -1), as those of `TrlSpec` do::

        spec = TrlSpec("maze", tasks)
        trainer = TurnLevelGRPOTrainer(
            model=model,
            args=GRPOConfig(...),
            reward_funcs=spec.reward_funcs,
            train_dataset=spec.train_dataset,
            rollout_func=spec.rollout_func,
            estimator="gigpo",
            recipes=[Replay(), Selection()],
        )

    An episode's rewards are those of its turns. Where TRL's reward functions come to another sum,
    because there are more of them or they are weighted, the last turn earns the difference: the
    total is always the one that TRL logs. A row that no reward function could score is left out
    of its group, and its advantage is 0.

    A group may be spread over several ranks, since TRL deals rows out in order and only a multiple
    of the group need fit all ranks together. So every rank gathers the episodes of all, which are
    small, credits the groups and keeps its own rows; an estimator must give the same everywhere.

    Args:
        args: As of `GRPOTrainer`.
        estimator: What assigns credit: a name ("grpo", "gigpo", "turn"), or a function.
        estimator_options: Options of an estimator given by name. Its `scale` is that of the
            configuration's `scale_rewards` unless it is among them.
        recipes: What else acts on training, in this order.
        features_seed: Of the projection that makes a learner's features of hidden states.
        kwargs: As of `GRPOTrainer`.

    Raises:
        UsageError: The configuration scales rewards in a way that turns cannot follow.
        UnknownNameError: There is no such estimator or option.
    """

    def __init__(
        self,
        *args: Any,
        estimator: Estimator | str = "gigpo",
        estimator_options: Mapping[str, Any] | None = None,
        recipes: Sequence[Recipe] = (),
        features_seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self.recipes = tuple(recipes)
        self._features_seed = features_seed
        self._episodes_of = kwargs.pop("rollout_func", None)
        if self._episodes_of is None:
            raise UsageError(
                "Turn-level credit needs a rollout_func that tells turns apart.",
                remedy="Pass rollout_func=TrlSpec(...).rollout_func.",
            )
        kwargs["rollout_func"] = self._play
        _check_reference(*args[:1], **kwargs)
        super().__init__(*args, **kwargs)
        if self.multi_objective_aggregation != "sum_then_normalize":
            raise UsageError(
                "Turn-level credit adds rewards up before it compares them.",
                remedy='Set multi_objective_aggregation="sum_then_normalize".',
            )
        self.estimator = self._resolve(estimator, dict(estimator_options or {}))

    def credited(self, inputs: list[dict[str, Any]], tensors: dict[str, torch.Tensor]) -> None:
        """Put an advantage of every token in place of TRL's one a row.

        Raises:
            UsageError: The rows do not hold what the estimator needs.
        """
        turns = _turns(inputs, tensors)
        first = self.accelerator.process_index * len(inputs)
        rewards: list[float] = self.rewards.tolist()
        own = [
            _rewarded(row["episode"], reward)
            for row, reward in zip(inputs, rewards[first:], strict=False)
        ]
        own = self._with_features(own, turns, tensors)
        episodes: list[Episode] = self.gathered(own)
        advantages = self._advantages(episodes, rewards)
        local = advantages[first : first + len(inputs)]
        tensors["advantages"] = _spread(local, turns, tensors["advantages"].dtype)
        self._record(advantages, rewards)
        results = self.gathered(
            [_result(row, reward) for row, reward in zip(inputs, rewards[first:], strict=False)]
        )
        self.record("credit/success", _mean([one.success for one in results if not one.replayed]))
        if self.mode == "train":
            self._apply_recipes(Batch(inputs, tensors, turns, results, first, self.group_size))
            if isinstance(self.estimator, Learner):
                scored = zip(episodes, rewards, strict=True)
                self.estimator.learn([one for one, reward in scored if not math.isnan(reward)])

    def saved(self, folder: Path) -> None:
        """Keep what recipes and a learned estimator know with the checkpoint."""
        save_learned([*self.recipes, self.estimator, self._order], folder)

    def resumed(self, folder: Path) -> None:
        """Take up what recipes and a learned estimator knew."""
        load_learned([*self.recipes, self.estimator, self._order], folder)

    def sampler(self) -> Sampler[int] | None:
        """Return a sampler that draws by the recipes' weights, where a recipe has any.

        Raises:
            UsageError: There are fewer tasks than a batch needs, of which TRL would make no batch.
        """
        groups = (self.args.generation_batch_size or 0) // self.num_generations
        if isinstance(self.train_dataset, Sized) and len(self.train_dataset) < groups:
            raise UsageError(
                f"A batch needs {groups} tasks, and there are {len(self.train_dataset)}.",
                remedy="Add tasks, raise num_generations or lower generation_batch_size.",
            )
        if not any(type(recipe).weights is not Recipe.weights for recipe in self.recipes):
            return None
        if "task_id" not in (self.train_dataset.column_names or ()):
            raise UsageError(
                "Choosing tasks needs a dataset with a task_id column.",
                remedy="Pass train_dataset=TrlSpec(...).train_dataset.",
            )
        return TaskSampler(
            list(self.train_dataset["task_id"]),
            self.recipes,
            group_size=self.num_generations,
            groups=groups,
            repeats=self.num_iterations * (self.args.steps_per_generation or 1),
            seed=self.args.seed,
        )

    def _resolve(self, given: Estimator | str, options: dict[str, Any]) -> Estimator:
        if not isinstance(given, str):
            if options:
                raise UsageError(
                    "estimator_options are for an estimator given by name.",
                    remedy="Set the options of a function with functools.partial.",
                )
            return given
        if "scale" not in options:
            if self.scale_rewards not in SCALES:
                raise UsageError(
                    f"scale_rewards={self.scale_rewards!r} compares groups with one another, "
                    "which turn-level credit does not.",
                    remedy='Set scale_rewards="group" or "none".',
                )
            options["scale"] = SCALES[self.scale_rewards]
        return named_estimator(given, **options)

    def _play(self, prompts: list[Any], trainer: Any) -> Rows:
        if self.mode == "train":
            for recipe in self.recipes:
                recipe.begin(self.state.global_step)
        rows: Rows = self._episodes_of(prompts, trainer)
        missing = [key for key in NEEDED if key not in rows]
        if missing:
            raise UsageError(
                f"The rollout's rows have no {' and no '.join(missing)}.",
                remedy="Use TrlSpec(...).rollout_func, or return these keys.",
            )
        if self.mode == "train":
            for recipe in self.recipes:
                rows = recipe.rollout(rows, self)
        return rows

    def _apply_recipes(self, batch: Batch) -> None:
        played = [[one for one in group if not one.replayed] for group in batch.groups()]
        for recipe in self.recipes:
            recipe.credit(batch, self)
            recipe.results(played)

    def _advantages(self, episodes: Sequence[Episode], rewards: Sequence[float]) -> Advantages:
        """Credit group by group; an episode without a reward gets zeros."""
        found: Advantages = [[0.0] * len(episode.steps) for episode in episodes]
        for at in range(0, len(episodes), self.group_size):
            group = range(at, at + self.group_size)
            scored = [number for number in group if not math.isnan(rewards[number])]
            credited = self.estimator([episodes[number] for number in scored])
            for number, advantages in zip(scored, credited, strict=True):
                found[number] = advantages
        return found

    def _with_features(
        self, episodes: list[Episode], turns: torch.Tensor, tensors: dict[str, torch.Tensor]
    ) -> list[Episode]:
        """Add what a learner reads: projected hidden states, one for every turn in the row."""
        if not isinstance(self.estimator, Learner) or self.estimator.reads is None:
            return episodes
        shift, last = (-1, False) if self.estimator.reads == "before" else (0, True)
        places = [
            [_places(row, number)[-1 if last else 0] + shift for number in range(len(one.steps))]
            for row, one in zip(turns.tolist(), episodes, strict=True)
        ]
        states = self.hidden_states(tensors, places)
        size = self.model.config.get_text_config().hidden_size
        generator = torch.Generator().manual_seed(self._features_seed)
        projection = torch.randn(size, self.estimator.width, generator=generator) / math.sqrt(size)
        return [
            Episode(
                tuple(
                    replace(step, features=tuple(features))
                    for step, features in zip(
                        one.steps, (state.cpu() @ projection).tolist(), strict=True
                    )
                )
            )
            for one, state in zip(episodes, states, strict=True)
        ]

    def _record(self, advantages: Advantages, rewards: Sequence[float]) -> None:
        """Log what the credit of every rank's turns looks like."""
        flat = [value for episode in advantages for value in episode]
        many = [episode for episode in advantages if len(episode) > 1]
        size = self.group_size
        groups = [advantages[at : at + size] for at in range(0, len(advantages), size)]
        silent = [not any(any(episode) for episode in group) for group in groups]
        unscored = [math.isnan(reward) for reward in rewards]
        self.record("credit/turns", len(flat) / len(advantages))
        self.record("credit/advantage_abs", _mean([abs(value) for value in flat]))
        self.record("credit/spread_in_episode", _mean([max(one) - min(one) for one in many]))
        self.record("credit/groups_without_signal", _mean(silent))
        self.record("credit/unscorable", _mean(unscored))


def _check_reference(model: Any = None, *, args: Any = None, **rest: Any) -> None:
    """Refuse a reference model that TRL could not load.

    Raises:
        UsageError: `beta` is above 0, and the model is in memory alone.
    """
    path = model if isinstance(model, str) else getattr(model, "name_or_path", "")
    if getattr(args, "beta", 0) and not path and rest.get("peft_config") is None:
        raise UsageError(
            "TRL loads the model that beta compares with by its path, and this one has none.",
            remedy="Save the model and load it again, or set beta to 0.",
        )


def _turns(
    inputs: Sequence[Mapping[str, Any]], tensors: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    """Return which turn sampled each completion token, of shape (B, T).

    Raises:
        UsageError: A row does not say, or not rightly.
    """
    completions = tensors["completion_ids"]
    turns = torch.full(completions.shape, NOBODY, dtype=torch.long)
    for number, row in enumerate(inputs):
        ids = row["turn_ids"]
        if len(ids) > turns.size(1) or max(ids, default=NOBODY) >= len(row["episode"].steps):
            raise UsageError(
                f"Row {number} has {len(ids)} turn ids up to {max(ids, default=NOBODY)}, where the "
                f"batch has {turns.size(1)} tokens and the episode "
                f"{len(row['episode'].steps)} turns.",
                remedy="Give a turn id for every completion token, counted from 0.",
            )
        turns[number, : len(ids)] = torch.tensor(ids, dtype=torch.long)
    return turns.to(completions.device)


def _places(turns: Sequence[int], number: int) -> list[int]:
    """Return a turn's completion tokens.

    Raises:
        UsageError: It has none.
    """
    found = [place for place, turn in enumerate(turns) if turn == number]
    if not found:
        raise UsageError(
            f"Turn {number} has no token in its row, so a learner has nothing to read.",
            remedy="Use an estimator that does not learn, or keep the whole history.",
        )
    return found


def _rewarded(episode: Episode, reward: float) -> Episode:
    """Return the episode with the total that TRL's reward functions gave it."""
    difference = reward - episode.total
    near = abs(difference) <= ROUNDING * max(1.0, abs(reward))
    if math.isnan(reward) or near or not episode.steps:
        return episode
    *others, last = episode.steps
    return Episode((*others, replace(last, reward=last.reward + difference)))


def _spread(local: Advantages, turns: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return each token's advantage, of shape (B, T); 0 where nobody sampled it."""
    found = torch.zeros(turns.shape, dtype=dtype, device=turns.device)
    for row, advantages in enumerate(local):
        if advantages:
            values = torch.tensor(advantages, dtype=dtype, device=turns.device)
            found[row] = torch.where(turns[row] == NOBODY, 0.0, values[turns[row].clamp(min=0)])
    return found


def _result(row: Mapping[str, Any], reward: float) -> Result:
    return Result(
        task_id=row["task_id"],
        reward=None if math.isnan(reward) else reward,
        success=succeeded(row),
        replayed=bool(row.get("replayed", False)),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
