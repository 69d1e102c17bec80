"""What all games share: one move a turn, grades, dense rewards, anchor states, snapshots."""

import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from agentgym.env import Environment
from agentgym.errors import UsageError
from agentgym.registry import build, oracle_of, spec
from agentgym.tasks import load_tasks
from agentgym.types import Action, Observation, Task, ToolCall, call

GAMES = ("maze", "minesweeper", "sokoban", "textnav", "twenty-questions", "wordle")


def game_task(game: str, **parts: Any) -> Task[Any, Any]:
    task_type = build(spec(game)).task_type
    return task_type.model_validate({"id": "one", **parts})


def maze_task(view: str = "position") -> Task[Any, Any]:
    layout = ("S..", ".#.", "..G")
    shown = layout if view == "map" else ()
    hidden = () if view == "map" else layout
    return game_task("maze", public={"view": view, "layout": shown}, private={"layout": hidden})


def move(direction: str) -> Action:
    return call("move", direction=direction)


async def begun(game: str, task: Task[Any, Any], **options: Any) -> tuple[Environment, Observation]:
    environment = build(spec(game), **options)
    return environment, await environment.reset(task, seed=0)


async def test_the_views_of_a_maze() -> None:
    seen = {}
    for view in ("map", "position", "walls"):
        _, opening = await begun("maze", maze_task(view), instructions=False)
        seen[view] = opening.text
    assert seen == {
        "map": "@..\n.#.\n..G",
        "position": "at 1 1 goal 3 3 open south east",
        "walls": "open south east",
    }


async def test_a_maze_is_won_at_the_goal() -> None:
    environment, _ = await begun("maze", maze_task())
    for way in ("east", "west", "south", "south", "east"):
        assert not (await environment.step(move(way))).over
    last = await environment.step(move("east"))
    assert last.terminated
    assert last.observation.text == "goal"
    assert last.reward.value == 1.0
    assert last.reward.components == {"efficiency": 4 / 6, "moves": 6.0}
    assert last.reward.labels == {"outcome": "solved"}


async def test_a_turn_has_one_move() -> None:
    environment, _ = await begun("maze", maze_task())
    calls = [
        ToolCall(name="move", arguments={"direction": way}) for way in ("north", "east", "east")
    ]
    transition = await environment.step(Action(tool_calls=tuple(calls)))
    assert transition.observation.faults == ("failed", "failed")
    assert [message.text for message in transition.observation.messages] == [
        "Error: There is a wall to the north.",
        "at 1 2 goal 3 3 open east west",
        "Error: One move a turn: this one was not made.",
    ]
    assert (await environment.step(move("east"))).observation.text.startswith("at 1 3")


async def test_anchor_states_do_not_tell_how_they_were_reached() -> None:
    environment, _ = await begun("maze", maze_task())
    first = await environment.fingerprint()
    await environment.step(move("east"))
    second = await environment.fingerprint()
    await environment.step(move("west"))
    assert await environment.fingerprint() == first != second


@pytest.mark.parametrize(
    ("game", "one", "other"),
    [
        ("wordle", call("guess", word="abc"), call("guess", word="bcd")),
        (
            "twenty-questions",
            call("ask", question="size big"),
            call("ask", question="shape ring"),
        ),
    ],
)
async def test_what_was_asked_counts_and_not_in_which_order(
    game: str, one: Action, other: Action
) -> None:
    task = load_tasks(spec(game), "tiny").tasks[0]
    found = []
    for actions in ([one, other], [other, one], [one, one]):
        environment, _ = await begun(game, task)
        for action in actions:
            assert not (await environment.step(action)).observation.faults
        found.append(await environment.fingerprint())
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("game", GAMES)
async def test_dense_rewards_add_up_to_the_gain_and_change_no_grade(game: str) -> None:
    for task in load_tasks(spec(game)).select(limit=12, shuffle_seed=1):
        plain, dense = [await rewards(game, task, dense=dense) for dense in (False, True)]
        assert plain[-1] == dense[-1] == 1.0
        assert set(plain[:-1]) <= {0.0}
        assert sum(dense[:-1]) < 1.0 + 1e-9
        if game in ("maze", "textnav"):
            assert dense[:-1] == pytest.approx([1 / len(dense)] * (len(dense) - 1))
        elif game != "sokoban":  # where a push may seem to lead away
            assert min(dense) >= 0


async def rewards(game: str, task: Task[Any, Any], *, dense: bool) -> list[float]:
    environment, observation = await begun(game, task, dense=dense)
    plan: Generator[Action, Observation, None] = oracle_of(spec(game))(task, observation)
    found, transition = [], await environment.step(next(plan))
    while not transition.over:
        found.append(transition.reward.value)
        transition = await environment.step(plan.send(transition.observation))
    return [*found, transition.reward.value]


async def test_a_move_taken_back_earns_nothing() -> None:
    environment, _ = await begun("maze", maze_task(), dense=True)
    there, back = [(await environment.step(move(way))).reward for way in ("east", "west")]
    assert there.value == pytest.approx(0.25)
    assert there.components == {"progress": there.value}
    assert there.value + back.value == pytest.approx(0)


@pytest.mark.parametrize("game", GAMES)
async def test_the_saved_state_is_json(game: str) -> None:
    task = load_tasks(spec(game)).tasks[0]
    environment, observation = await begun(game, task)
    plan = oracle_of(spec(game))(task, observation)
    await environment.step(next(plan))
    saved = await environment.save()  # type: ignore[attr-defined]
    fingerprint = await environment.fingerprint()
    other, _ = await begun(game, task)
    await other.load(json.loads(json.dumps(saved)))  # type: ignore[attr-defined]
    assert await other.fingerprint() == fingerprint
    assert await other.save() == saved  # type: ignore[attr-defined]


@pytest.mark.parametrize("game", GAMES)
async def test_instructions_can_be_left_out(game: str) -> None:
    task = load_tasks(spec(game)).tasks[0]
    _, told = await begun(game, task)
    _, untold = await begun(game, task, instructions=False)
    assert told.text.endswith(f"\n\n{untold.text}")


async def test_a_mine_loses_and_grades_nothing() -> None:
    task = game_task(
        "minesweeper",
        public={"rows": 3, "columns": 3, "mines": 1, "start": "c3"},
        private={"mines": ["a1"]},
    )
    environment, opening = await begun("minesweeper", task, instructions=False)
    assert opening.text == "mines 1\n  a b c\n1 . 1 0\n2 1 1 0\n3 0 0 0"
    last = await environment.step(call("open", square="a1"))
    assert last.terminated
    assert last.observation.text.endswith("1 * 1 0\n2 1 1 0\n3 0 0 0")
    assert last.reward.value == 0.0
    assert last.reward.labels == {"outcome": "lost"}


async def test_words_not_in_the_list_cost_no_guess() -> None:
    task = game_task("wordle", public={"guesses": 2}, private={"word": "crane"})
    environment, opening = await begun("wordle", task, instructions=False)
    assert opening.text == "2 left"
    assert (await environment.step(call("guess", word="zzzzz"))).observation.faults == ("failed",)
    first = await environment.step(call("guess", word="Trace"))
    assert first.observation.text == "t- r= a= c+ e= 1 left"
    last = await environment.step(call("guess", word="table"))
    assert last.terminated
    assert last.reward.labels == {"outcome": "lost"}
    assert "crane" not in last.observation.text


async def test_a_wrong_name_ends_the_questions() -> None:
    public = {"attributes": {"size": ["small", "big"]}, "questions": 1}
    task = game_task("twenty-questions", public=public, private={"hidden": "big"})
    environment, opening = await begun("twenty-questions", task, instructions=False)
    assert opening.text == "1 left\nsize: small, big"
    asked = await environment.step(call("ask", question="size small"))
    assert asked.observation.text == "no 0 left"
    late = await environment.step(call("ask", question="size big"))
    assert "No question is left" in late.observation.text
    assert late.observation.faults == ("failed",)
    last = await environment.step(call("guess", name="small"))
    assert (last.terminated, last.reward.value, last.observation.text) == (True, 0.0, "wrong")


async def test_a_thing_is_brought_through_a_locked_door() -> None:
    task = game_task(
        "textnav",
        public={
            "thing": "red cube",
            "target": "attic",
            "rooms": ["attic", "hall"],
            "things": ["blue key", "red cube"],
        },
        private={
            "start": "hall",
            "passages": [{"room": "hall", "direction": "north", "to": "attic", "lock": "blue"}],
            "places": {"red cube": "hall", "blue key": "hall"},
        },
    )
    environment, opening = await begun("textnav", task, instructions=False)
    assert opening.text.splitlines() == [
        "goal: red cube to attic",
        "room: hall",
        "exits: north (blue door)",
        "here: blue key, red cube",
        "carried: nothing",
    ]
    for action in (
        call("take", thing="blue key"),
        call("unlock", direction="north"),
        call("take", thing="red cube"),
        call("go", direction="north"),
    ):
        assert not (await environment.step(action)).observation.faults
    last = await environment.step(call("drop", thing="red cube"))
    assert last.terminated
    assert last.reward.components == {"efficiency": 1.0, "moves": 5.0}


async def test_a_board_shows_the_box_on_its_goal() -> None:
    task = game_task(
        "sokoban", public={"layout": ["#####", "#@$.#", "#####"]}, private={"solution": "e"}
    )
    environment, opening = await begun("sokoban", task, instructions=False)
    assert opening.text == "#####\n#@$.#\n#####"
    last = await environment.step(move("east"))
    assert last.observation.text == "#####\n#-@*#\n#####"
    assert last.reward.value == 1.0


async def test_an_unfinished_game_grades_nothing() -> None:
    environment, _ = await begun("maze", maze_task())
    reward = await environment.grade()
    assert (reward.value, reward.labels) == (0.0, {"outcome": "unfinished"})


@pytest.mark.parametrize("option", ["dense", "instructions"])
def test_an_option_of_another_type_is_refused(option: str) -> None:
    make: Callable[..., Environment] = build
    with pytest.raises(UsageError, match=f"{option} is 'yes'"):
        make(spec("maze"), **{option: "yes"})
