"""The shipped task sets: solvable, disjoint, and made again by their recipes."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentgym.env import Environment
from agentgym.errors import UnknownNameError, UsageError
from agentgym.evaluation.conformance import Report
from agentgym.registry import build, oracle_of, spec
from agentgym.tasks import TaskSet, load_tasks
from agentgym.types import Action, Observation, Reward, Task
from agentgym_games.recipes import RECIPES, find_recipe
from agentgym_games.sets import Recipe, make_tasks, split_of, write_set

GAMES = ("maze", "minesweeper", "sokoban", "textnav", "twenty-questions", "wordle")
ORACLE_SEES_MORE = ("maze", "sokoban", "textnav")
SLOW_TO_MAKE = {"sokoban/core", "sokoban/tiny", "minesweeper/core"}

Play = Generator[Action, Observation, None]
Player = Callable[[Task[Any, Any], Observation], Play]


def named(recipe: Recipe) -> str:
    return f"{recipe.game}/{recipe.name}"


def shipped(recipe: Recipe) -> TaskSet:
    return load_tasks(spec(recipe.game), recipe.name)


async def played(environment: Environment, task: Task[Any, Any], player: Player) -> Reward:
    """Play within the task's limit; no turn may be a mistake."""
    observation = await environment.reset(task, seed=0)
    plan = player(task, observation)
    assert task.max_turns is not None
    for turn in range(task.max_turns):
        try:
            action = next(plan) if turn == 0 else plan.send(observation)
        except StopIteration:
            break
        transition = await environment.step(action)
        observation = transition.observation
        assert not observation.faults, observation.text
        if transition.over:
            return transition.reward
    return await environment.grade()


@pytest.mark.parametrize("recipe", RECIPES, ids=named)
async def test_the_oracle_solves_every_task_within_its_limit(recipe: Recipe) -> None:
    environment = build(spec(recipe.game))
    oracle = oracle_of(spec(recipe.game))
    for task in shipped(recipe):
        reward = await played(environment, task, oracle)
        assert reward.value == 1.0, task.id
        assert 0 < reward.components["efficiency"] <= 1, task.id
        if recipe.game in ORACLE_SEES_MORE:  # and plays the shortest way
            assert reward.components["efficiency"] == 1.0, task.id


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if recipe.game in ORACLE_SEES_MORE], ids=named
)
async def test_the_player_of_observations_solves_nearly_every_task(recipe: Recipe) -> None:
    environment = build(spec(recipe.game))
    play = import_module(f"agentgym_games.{recipe.game}.player").play
    tasks = shipped(recipe).select(limit=60, shuffle_seed=0)
    grades = [await played(environment, task, lambda _, seen: play(seen)) for task in tasks]
    share = sum(grade.value for grade in grades) / len(tasks)
    assert share >= (0.9 if named(recipe) == "maze/tiny" else 1.0)


@pytest.mark.parametrize("recipe", RECIPES, ids=named)
def test_splits_have_their_sizes_and_are_disjoint_by_content(recipe: Recipe) -> None:
    tasks = shipped(recipe)
    contents = {split: [content(t) for t in tasks.select(split=split)] for split in SPLITS}
    assert [len(contents[split]) for split in SPLITS] == [recipe.train, recipe.test]
    assert not set(contents["train"]) & set(contents["test"])
    levels = {task.tags["difficulty"] for task in tasks.select(split="test")}
    assert levels == set(recipe.levels)


SPLITS = ("train", "test")


def content(task: Task[Any, Any]) -> str:
    """Return what two splits must not share, read from the task itself."""
    public, private = task.public, task.private
    match type(public).__name__:
        case "MazePublic":
            rows = public.layout or private.layout
            return "/".join(rows).replace("S", ".").replace("G", ".")
        case "MinesweeperPublic":
            return f"{public.rows} {public.columns} {private.mines}"
        case "SokobanPublic":
            return "/".join(public.layout)
        case "WordlePublic":
            return str(private.word)
        case _:
            left_out = {"questions", "rooms", "things"}
            return f"{public.model_dump_json(exclude=left_out)} {private.model_dump_json()}"


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if named(recipe) not in SLOW_TO_MAKE], ids=named
)
def test_the_shipped_files_are_what_the_recipe_makes(recipe: Recipe, tmp_path: Path) -> None:
    write_set(recipe, tmp_path)
    folder = spec(recipe.game).task_set_paths()[recipe.name]
    for name in ("taskset.toml", "tasks.jsonl"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize("name", sorted(SLOW_TO_MAKE))
def test_the_first_tasks_of_large_sets_are_what_the_recipe_makes(name: str) -> None:
    recipe = find_recipe(*name.split("/"))
    there = {task.id: task for task in shipped(recipe)}
    made = make_tasks(replace(recipe, train=12, test=3))
    assert [task.model_dump() for task in made] == [there[task.id].model_dump() for task in made]


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_other_processes_make_the_same_tasks(hash_seed: str, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "agentgym_games", str(tmp_path), "--set", "tiny"]
    program += ["--seed", "5", "--train", "12", "--test", "4"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    subprocess.run(program, check=True, env=environment, timeout=60)
    for game in GAMES:
        recipe = find_recipe(game, "tiny")
        smaller = replace(recipe, train=12, test=4)
        write_set(smaller, tmp_path / "here", seed=5)
        made = (tmp_path / game / "tiny" / "tasks.jsonl").read_bytes()
        assert made == (tmp_path / "here" / "tasks.jsonl").read_bytes()


def test_training_tasks_of_any_seed_are_apart_from_the_shipped_test_split() -> None:
    recipe = find_recipe("maze", "tiny")
    other = {content(t) for t in make_tasks(recipe, seed=1) if t.split == "train"}
    assert not other & {content(task) for task in shipped(recipe).select(split="test")}


def test_a_split_is_decided_by_game_and_content() -> None:
    splits = [split_of("maze", str(number)) for number in range(400)]
    assert splits == [split_of("maze", str(number)) for number in range(400)]
    assert 60 < splits.count("test") < 140


def test_more_than_there_is_cannot_be_made() -> None:
    recipe = replace(find_recipe("wordle", "tiny"), train=64)
    with pytest.raises(UsageError, match=r"wordle/tiny has not as much content for train"):
        make_tasks(recipe)


def test_an_unknown_set_is_named() -> None:
    with pytest.raises(UnknownNameError, match="maze/tiny"):
        find_recipe("maze", "tin")


@pytest.mark.parametrize("game", GAMES)
def test_conformance(game: str, conformance: Callable[..., Report]) -> None:
    conformance(game, sample=2)
