"""The protocol's words: wire forms, checks at the border, and what survives pickling."""

import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from agentgym import Action, ImagePart, Limits, Message, Observation, Reward, Task, TextPart, call
from agentgym.types import AnyFields, ToolCall, ToolSpec, Usage, clean_text
from tests.environments import CounterEnvironment, counter_task

any_text = st.text(alphabet=st.characters())


def test_messages_have_the_wire_form_of_openai() -> None:
    picture = ImagePart(url="data:image/png;base64,AAAA")
    message = Message(role="tool", content=(TextPart(text="see"), picture), tool_call_id="c1")
    assert message.to_wire() == {
        "role": "tool",
        "content": [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
        "tool_call_id": "c1",
    }
    assert Message(role="user", content="hi", fault="no_call").to_wire() == {
        "role": "user",
        "content": "hi",
    }
    spec = ToolSpec(name="f", description="d", parameters={"type": "object", "properties": {}})
    assert spec.to_wire() == {
        "type": "function",
        "function": {
            "name": "f",
            "description": "d",
            "parameters": {"type": "object", "properties": {}},
        },
    }


def test_the_text_of_messages_leaves_images_out() -> None:
    picture = ImagePart.from_bytes(b"\x89PNG")
    content = (TextPart(text="a"), picture, TextPart(text="b"))
    observation = Observation(
        messages=(Message(role="user", content=content), Message(role="tool", content="c"))
    )
    assert observation.text == "a\nb\nc"
    assert picture.url == "data:image/png;base64,iVBORw=="


def test_calls_without_an_id_get_one() -> None:
    action = Action(tool_calls=(ToolCall(name="a"), ToolCall(name="b", id="mine"), {"name": "c"}))
    assert [tool_call.id for tool_call in action.tool_calls] == ["call_0", "mine", "call_2"]
    assert call("a", x=1).tool_calls[0] == ToolCall(name="a", arguments={"x": 1}, id="call_0")


def test_an_action_keeps_its_ids_when_it_is_read_again() -> None:
    action = Action(text="t", tool_calls=(ToolCall(name="a"), ToolCall(name="b", arguments="{")))
    assert Action.model_validate_json(action.model_dump_json()) == action


@pytest.mark.parametrize("calls", [5, "abc", {"name": "a"}, [5], [{"arguments": {}}]])
def test_malformed_calls_are_validation_errors(calls: object) -> None:
    with pytest.raises(ValidationError):
        Action.model_validate({"tool_calls": calls})


@given(any_text)
def test_text_can_always_be_encoded(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned
    if text.isprintable():
        assert cleaned == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ufeffa", "\ufeffa"),
    ],
)
def test_lone_surrogates_are_replaced(text: str, cleaned: str) -> None:
    assert Message(role="user", content=text).content == cleaned
    assert TextPart(text=text).text == cleaned
    assert Action(text=text).text == cleaned


def test_numbers_that_cannot_be_carried_become_text() -> None:
    given = {"large": 10**299, "larger": -(10**300), "written": [math.inf], "yes": True}
    assert ToolCall(name="f", arguments=given).arguments == {
        "large": 10**299,
        "larger": "(integer of more than 300 digits)",
        "written": ["inf"],
        "yes": True,
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_rewards_are_finite(value: float) -> None:
    with pytest.raises(ValidationError, match="must be finite"):
        Reward(value=value)
    with pytest.raises(ValidationError, match="must be finite"):
        Reward(components={"part": value})


def test_models_are_frozen_and_refuse_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Reward(value=1.0).value = 2.0  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Limits.model_validate({"rounds": 3})


@pytest.mark.parametrize("field", ["turns", "tokens", "cost", "time"])
def test_a_limit_that_allows_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Limits.model_validate({field: 0})


def test_usage_adds_up_and_unknown_costs_stay_unknown() -> None:
    free, paid = Usage(prompt_tokens=2), Usage(completion_tokens=3, cost=0.5)
    assert free + free == Usage(prompt_tokens=4)
    assert free + paid + paid == Usage(prompt_tokens=2, completion_tokens=6, cost=1.0)


def test_undeclared_parts_read_as_attributes() -> None:
    task = Task(id="a", public={"words": ["x"]}, private={})
    assert isinstance(task.public, AnyFields)
    assert task.public.words == ["x"]
    with pytest.raises(AttributeError):
        _ = task.private.words


def test_a_reward_range_is_in_order() -> None:
    assert counter_task(reward_range=(-1.0, -1.0)).reward_range == (-1.0, -1.0)
    with pytest.raises(ValidationError, match="reward_range"):
        counter_task(reward_range=(1.0, 0.0))


class _Other(BaseModel):
    words: tuple[str, ...]


@pytest.mark.parametrize(
    "task",
    [
        counter_task(3, tags={"difficulty": "easy"}),
        CounterEnvironment.task_type.model_validate(counter_task(4).model_dump()),
        Task[_Other, AnyFields](id="b", public=_Other(words=("x",)), private=AnyFields()),
        Task(id="c", public={"a": 1}, private={"b": [2]}),
    ],
    ids=["typed", "by environment", "half typed", "untyped"],
)
def test_tasks_survive_pickling_with_their_types(task: Task) -> None:
    again = pickle.loads(pickle.dumps(task))
    assert again == task
    assert type(again) is type(task)
    assert type(again.public) is type(task.public)


@given(text=any_text, arguments=st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_actions_survive_json(text: str, arguments: dict[str, object]) -> None:
    action = Action(text=text, tool_calls=(ToolCall(name="f", arguments=arguments),))
    assert Action.model_validate(json.loads(json.dumps(action.model_dump()))) == action
