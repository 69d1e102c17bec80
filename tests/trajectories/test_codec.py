import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import StoreError
from agentgym.trajectories.codec import decode, encode
from agentgym.trajectories.record import Trajectory
from agentgym.types import Action, Message, Observation, ToolCall
from tests.trajectories import samples, strategies


@given(strategies.trajectories)
def test_decoding_gives_the_record_back(trajectory: Trajectory) -> None:
    assert decode(encode(trajectory), episode="e") == trajectory


def test_tools_that_vanish_and_return_come_back() -> None:
    plain = samples.episode()
    said = Observation(messages=(Message(role="user", content="x"),))
    turns = list(plain.turns)
    turns[1] = turns[1].model_copy(update={"observation": said})
    changing = plain.model_copy(update={"turns": tuple(turns)})

    back = decode(encode(changing), episode="e")

    assert [len(turn.observation.tools) for turn in back.turns] == [4, 0, 4, 4, 4]


def test_a_five_turn_episode_is_small() -> None:
    assert len(encode(samples.episode())) < 1500


def test_images_keep_their_type() -> None:
    image = {"type": "image", "url": "data:image/png;base64,AA=="}
    said = Observation.model_validate(
        {"messages": [{"role": "user", "content": [image, {"type": "text", "text": ""}]}]}
    )
    shown = samples.episode().model_copy(update={"first": said})
    assert decode(encode(shown), episode="e").first == said


@given(st.data())
def test_a_damaged_blob_is_refused_by_name(data: st.DataObject) -> None:
    blob = encode(samples.episode())
    place = data.draw(st.integers(0, len(blob) - 1))
    other = data.draw(st.integers(1, 255))
    flipped = blob[:place] + bytes([blob[place] ^ other]) + blob[place + 1 :]
    for damaged in (flipped, blob[:place]):
        with pytest.raises(StoreError, match="episode 't0' epoch 0 of run 'r1'"):
            decode(damaged, episode="episode 't0' epoch 0 of run 'r1'")


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"turns": [1]}', "[" * 100_000])
def test_a_blob_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(StoreError, match="the episode is damaged"):
        decode(b"\x01" + zlib.compress(text.encode()), episode="the episode")


def test_another_format_asks_for_an_upgrade() -> None:
    with pytest.raises(StoreError, match="Upgrade"):
        decode(b"\x02" + encode(samples.episode())[1:], episode="e")


def test_what_has_no_json_form_is_refused_by_name() -> None:
    odd = Action(tool_calls=(ToolCall(name="x", arguments={"a": object()}),))
    turn = samples.episode().turns[0].model_copy(update={"action": odd})
    with pytest.raises(StoreError, match="episode 't0' epoch 0 of run 'r1'"):
        encode(samples.episode().model_copy(update={"turns": (turn,)}))
