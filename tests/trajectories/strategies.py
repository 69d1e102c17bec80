"""Every record the types allow, for property tests."""

from datetime import UTC

from hypothesis import strategies as st

from agentgym.faults import Fault
from agentgym.trajectories.record import EpisodeKey, Outcome, Trajectory, Turn
from agentgym.types import (
    Action,
    ImagePart,
    Json,
    Message,
    Observation,
    Reward,
    TextPart,
    TokenTrace,
    ToolCall,
    ToolSpec,
    Usage,
)

# Lone surrogates and all: the typed texts replace them, the free fields keep them.
text = st.text(st.characters(), max_size=20)
plain = st.text(max_size=12)
number = st.floats(allow_nan=False, allow_infinity=False)
maybe = st.none


def _no_joining_surrogates(value: str) -> bool:
    # Two lone halves side by side are one character to every JSON reader.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") == value


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | number | text.filter(_no_joining_surrogates),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(plain, json_values, max_size=3)

calls = st.builds(ToolCall, name=text, arguments=objects | text, id=plain)
actions = st.builds(Action, text=text, tool_calls=st.lists(calls, max_size=3).map(tuple))
parts = st.builds(TextPart, text=text) | st.builds(ImagePart.from_bytes, st.binary(max_size=30))
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "tool"]),
    content=text | st.lists(parts, max_size=3).map(tuple),
    tool_call_id=maybe() | text,
    fault=maybe() | st.sampled_from(["unknown_tool", "bad_arguments", "failed", "no_call", "over"]),
)
tools = st.builds(ToolSpec, name=plain, description=plain, parameters=objects)
# Few offers, so that an observation often has the tools of the one before, or none again.
offers = st.sampled_from(
    [
        (),
        (ToolSpec(name="a", description="", parameters={}),),
        (ToolSpec(name="b", description="B", parameters={"type": "object"}),),
    ]
) | st.lists(tools, max_size=2).map(tuple)
observations = st.builds(
    Observation, messages=st.lists(messages, max_size=3).map(tuple), tools=offers
)
rewards = st.builds(
    Reward,
    value=number,
    components=st.dictionaries(plain, number, max_size=2),
    labels=st.dictionaries(plain, plain, max_size=2),
    feedback=maybe() | text,
)
usages = st.builds(
    Usage,
    prompt_tokens=st.integers(0, 10**6),
    completion_tokens=st.integers(0, 10**6),
    cost=maybe() | st.floats(0, 10),
)
ids = st.lists(st.integers(0, 200_000), max_size=5).map(tuple)
logprobs = st.lists(st.floats(max_value=0, allow_nan=False), max_size=5).map(tuple)
traces = st.builds(TokenTrace, prompt_ids=ids, output_ids=ids, logprobs=maybe() | logprobs)
turns = st.builds(
    Turn,
    action=actions,
    observation=observations,
    reward=rewards,
    fingerprint=maybe() | plain,
    usage=usages,
    reasoning=maybe() | plain,
    tokens=maybe() | traces,
    model_s=st.floats(0, 1e6),
    env_s=st.floats(0, 1e6),
)
faults = st.builds(Fault, kind=plain, message=plain, attempt=st.integers(1, 5), fatal=st.booleans())
outcomes = st.builds(Outcome, status=st.sampled_from(["completed", "limit", "error"]), detail=plain)
trajectories = st.builds(
    Trajectory,
    run_id=plain,
    env=plain,
    agent=plain,
    key=st.builds(EpisodeKey, task_id=plain, epoch=st.integers(0, 9)),
    task_hash=plain,
    seed=st.integers(),
    first=maybe() | observations,
    first_fingerprint=maybe() | plain,
    turns=st.lists(turns, max_size=3).map(tuple),
    outcome=outcomes,
    grade=maybe() | rewards,
    success=maybe() | st.booleans(),
    faults=st.lists(faults, max_size=2).map(tuple),
    attempts=st.integers(1, 5),
    started_at=st.datetimes(timezones=st.just(UTC)),
)
