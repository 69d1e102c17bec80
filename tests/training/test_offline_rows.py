"""Stored episodes to rows of SFT, DPO and KTO: content, choice, labels, no repetitions."""

import json

import pytest

from agentgym.errors import UsageError
from agentgym.training.offline.dpo import dpo_rows
from agentgym.training.offline.export import Export
from agentgym.training.offline.filters import Filter, distinct, select
from agentgym.training.offline.kto import kto_rows
from agentgym.training.offline.sft import message_rows, sft_rows, token_rows
from agentgym.trajectories.record import Trajectory
from agentgym.types import Action, Json, TokenTrace, ToolCall
from tests.training.recorded import LOOK, broken, episode, press

ASKED = {"role": "user", "content": "Light the lamp of t0."}
RED, BLUE = press("red"), press("blue")


def words(row: Json) -> list[str]:
    return [message["content"] for message in row["messages"] if message["role"] == "assistant"]


def called(message: Json) -> Json:
    return [call["function"] for call in message["tool_calls"]]


def test_messages_end_with_the_last_turn_and_hold_arguments_as_objects() -> None:
    (row,) = message_rows([episode([LOOK, RED], grade=1, answers=("dark", "lit"))])
    asked, look, dark, red = row["messages"]
    assert asked == ASKED
    assert called(look) == [{"name": "look", "arguments": {}}]
    assert (dark["role"], dark["content"]) == ("tool", "dark")
    assert called(red) == [{"name": "press", "arguments": {"button": "red"}}]
    assert [tool["function"]["name"] for tool in json.loads(row["tools"])] == ["look", "press"]


def test_a_format_in_words_writes_turns_as_a_model_of_it_does() -> None:
    (row,) = message_rows([episode([LOOK, RED], grade=1)], action_format="brackets")
    assert words(row) == ["look[]", "press[red]"]
    assert "tools" not in row
    assert "press[button]" in row["messages"][0]["content"]
    (row,) = message_rows([episode([RED], grade=1)], action_format="react")
    assert words(row) == ['Action: press\nAction Input: {"button": "red"}']


@pytest.mark.parametrize("name", ["react", "brackets"])
def test_a_turn_that_would_be_read_as_another_is_refused(name: str) -> None:
    two = Action(tool_calls=(ToolCall(name="look"), ToolCall(name="press")))
    found = episode([LOOK, two], grade=1, task="t9", epoch=3)
    with pytest.raises(UsageError, match=r"cannot write turn 1 of 't9' epoch 3\. Use the format"):
        list(message_rows([found], action_format=name))
    assert len(list(message_rows([found]))) == 1


def test_rows_are_distinct_and_episodes_without_turns_give_none() -> None:
    once = episode([RED], grade=1)
    again = episode([RED], grade=0.5, epoch=1)
    other = episode([BLUE], grade=1, epoch=2)
    assert len(list(message_rows([once, again, other, episode([], grade=0)]))) == 2
    assert list(distinct([{"a": 1}, {"a": 1.5}, {"a": 1}])) == [{"a": 1}, {"a": 1.5}]


TRACES = (
    TokenTrace(prompt_ids=(1, 2), output_ids=(3, 9), logprobs=(-0.1, -0.2)),
    TokenTrace(prompt_ids=(1, 2, 3, 9, 5), output_ids=(4, 9)),
)


def test_recorded_tokens_are_labelled_where_they_were_sampled() -> None:
    found = episode([LOOK, RED], grade=1, tokens=TRACES)
    assert list(sft_rows([found])) == [
        {
            "input_ids": [1, 2, 3, 9, 5, 4, 9],
            "labels": [-100, -100, 3, 9, -100, 4, 9],
        }
    ]


def test_a_history_that_was_trimmed_gives_several_rows() -> None:
    later = TokenTrace(prompt_ids=(1, 7), output_ids=(8,))
    found = episode([LOOK, RED], grade=1, tokens=(TRACES[0], later))
    assert [row["labels"] for row in sft_rows([found])] == [[-100, -100, 3, 9], [-100, -100, 8]]


def test_episodes_some_of_which_have_tokens_become_messages() -> None:
    with_tokens = episode([LOOK, RED], grade=1, tokens=TRACES)
    without = episode([RED], grade=1, epoch=1)
    assert all("messages" in row for row in sft_rows([with_tokens, without]))
    with pytest.raises(UsageError, match="Not every turn of 't0' epoch 1 has tokens"):
        list(token_rows([with_tokens, without]))


def test_filters_choose_by_success_and_grade() -> None:
    grades = [1.0, 0.2, 0.6, 0.6, 0.0]
    played = [episode([RED], grade=grade, epoch=n) for n, grade in enumerate(grades)]

    def kept(**wanted: Json) -> list[int]:
        return [one.key.epoch for one in select([broken(), *played], Filter(**wanted))]

    assert kept() == [0, 1, 2, 3, 4]
    assert kept(success=True) == [0]
    assert kept(min_reward=0.6) == [0, 2, 3]
    assert kept(top=0.2) == [0]
    assert kept(top=0.4) == [0, 2, 3]  # a tie is kept whole
    assert kept(best_of_task=2) == [0, 2]
    assert kept(min_reward=0.1, best_of_task=1) == [0]


def test_of_equal_grades_the_shorter_episode_is_best() -> None:
    slow, quick = episode([LOOK, RED], grade=1), episode([RED], grade=1, epoch=1)
    elsewhere = episode([LOOK, LOOK, RED], grade=0, task="t1")
    chosen = select([slow, quick, elsewhere], Filter(best_of_task=1))
    assert chosen == [quick, elsewhere]


def group() -> list[Trajectory]:
    """Three ways on from the same look; blue comes to 0.25 on the mean."""
    return [
        episode([LOOK, RED], grade=1, answers=("dark", "lit")),
        episode([LOOK, BLUE], grade=0, epoch=1, answers=("dark",)),
        episode([LOOK, BLUE], grade=0.5, epoch=2, answers=("dark",)),
        episode([LOOK, LOOK], grade=0.5, epoch=3, answers=("dark",)),
        episode([BLUE], grade=0, task="t1"),
    ]


def test_a_pair_is_two_turns_in_the_same_place_better_by_mean_return() -> None:
    (pair,) = dpo_rows(group())
    assert [message["role"] for message in pair["prompt"]] == ["user", "assistant", "tool"]
    assert pair["prompt"][0] == ASKED
    assert [called(m) for m in pair["chosen"]] == [
        [{"name": "press", "arguments": {"button": "red"}}]
    ]
    assert called(pair["rejected"][0]) == [{"name": "press", "arguments": {"button": "blue"}}]
    assert list(dpo_rows(group(), margin=0.8)) == []
    assert len(list(dpo_rows(group(), margin=0.7))) == 1


def test_the_ids_that_a_server_draws_do_not_tell_histories_apart() -> None:
    def drawn(action: Action, name: str) -> Action:
        (made,) = action.tool_calls
        return Action(tool_calls=(made.model_copy(update={"id": name}),))

    one = episode([drawn(LOOK, "x1"), drawn(RED, "x2")], grade=1)
    two = episode([drawn(LOOK, "y1"), drawn(BLUE, "y2")], grade=0, epoch=1)
    assert len(list(dpo_rows([one, two]))) == 1


def test_a_state_reached_by_other_ways_is_one_place_where_states_are_compared() -> None:
    direct = episode([RED], grade=1, states=("dark", "lit"))
    around = episode([LOOK, BLUE], grade=0, epoch=1, states=("dark", "dark", "dark"))
    unknown = episode([LOOK, LOOK], grade=0, epoch=2)
    # By history the first turns alone meet; by state the second turn of the detour does too.
    (pair,) = dpo_rows([direct, around, unknown], action_format="brackets")
    assert pair["rejected"] == [{"role": "assistant", "content": "look[]"}]
    kept = list(kto_rows([direct, around, unknown], label_by="turn", same="state"))
    assert [row["label"] for row in kept] == [True, False, False]


def test_kto_labels_turns_by_their_episode() -> None:
    labelled = list(kto_rows(group(), action_format="brackets"))
    said = [(row["completion"][0]["content"], row["label"]) for row in labelled]
    assert said == [
        ("look[]", True),
        ("press[red]", True),
        ("look[]", False),
        ("press[blue]", False),
        ("look[]", False),
        ("press[blue]", False),
    ]


def test_kto_labels_turns_by_themselves() -> None:
    labelled = list(kto_rows(group(), action_format="brackets", label_by="turn"))
    said = [(row["completion"][0]["content"], row["label"]) for row in labelled]
    # Looks came to 1, 0, 0.5 and 0.5, and what followed them too: the average is left out.
    assert said == [
        ("look[]", True),
        ("look[]", False),
        ("press[red]", True),
        ("press[blue]", False),
    ]


def test_an_export_filters_first() -> None:
    rows = Export(method="sft", wanted=Filter(success=True)).rows([*group(), broken()])
    assert [called(row["messages"][-1]) for row in rows] == [
        [{"name": "press", "arguments": {"button": "red"}}]
    ]
    assert list(Export(method="dpo", wanted=Filter(success=True)).rows(group())) == []
