"""The state of an environment: seeds, fingerprints, snapshots, digests."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym import Action, Environment, Observation, Reward, Task, Transition, call
from agentgym.env import digest
from agentgym.errors import CapabilityError, ProtocolError
from tests.environments import CounterEnvironment, RoomEnvironment, counter_task


async def begun(number: int = 3, seed: int = 0) -> CounterEnvironment:
    environment = CounterEnvironment()
    await environment.reset(counter_task(number), seed=seed)
    return environment


async def test_seeds_and_tasks_decide_the_randomness() -> None:
    async def throws(number: int, seed: int) -> list[str]:
        environment = await begun(number, seed)
        return [(await environment.step(call("roll"))).observation.text for _ in range(6)]

    assert await throws(1, 0) == await throws(1, 0)
    assert await throws(1, 0) != await throws(1, 1)
    assert await throws(1, 0) != await throws(2, 0)


async def test_a_snapshot_goes_back_also_in_another_environment() -> None:
    environment = await begun(3, seed=7)
    await environment.step(call("roll"))
    snapshot = await environment.snapshot()
    expected = [(await environment.step(call("roll"))).observation.text for _ in range(4)]
    ended = await environment.step(call("submit"))
    assert ended.terminated

    other = CounterEnvironment()
    for again, held in ((environment, snapshot), (other, pickle.loads(pickle.dumps(snapshot)))):
        observation = await again.restore(held)
        assert observation.text == f"The counter shows {again.count}."
        assert again.task.public.target == 3
        assert (again.seed, snapshot.task_id) == (7, "count-3")
        texts = [(await again.step(call("roll"))).observation.text for _ in range(4)]
        assert texts == expected
    assert await other.fingerprint() == await environment.fingerprint()


async def test_a_snapshot_of_the_end_stays_ended() -> None:
    environment = await begun()
    await environment.step(call("submit"))
    snapshot = await environment.snapshot()
    await environment.reset(counter_task(), seed=0)
    await environment.restore(snapshot)
    with pytest.raises(ProtocolError):
        await environment.step(call("roll"))


async def test_fingerprints_tell_states_apart() -> None:
    environment = await begun()
    seen = {await environment.fingerprint()}
    await environment.step(call("add", amount=1))
    seen.add(await environment.fingerprint())
    await environment.step(call("submit"))
    seen.add(await environment.fingerprint())
    assert len(seen) == 3


async def test_snapshots_need_an_episode_of_this_environment() -> None:
    with pytest.raises(ProtocolError, match="no episode to snapshot"):
        await CounterEnvironment().snapshot()
    foreign = (await (await begun()).snapshot()).model_copy(update={"env": "Other"})
    with pytest.raises(ProtocolError, match="a snapshot of Other, not of CounterEnvironment"):
        await CounterEnvironment().restore(foreign)


class _Bare(Environment):
    """Only what has to be there."""

    async def reset(self, task: Task, *, seed: int) -> Observation:
        return Observation(messages=())

    async def step(self, action: Action) -> Transition:
        return Transition(observation=Observation(messages=()), truncated=True)

    async def grade(self) -> Reward:
        return Reward()

    async def close(self) -> None:
        return


async def test_capabilities_that_are_not_there_say_so() -> None:
    bare = _Bare()
    with pytest.raises(CapabilityError, match="_Bare has no fingerprint"):
        await bare.fingerprint()
    with pytest.raises(CapabilityError, match="_Bare has no snapshot"):
        await bare.snapshot()
    room = RoomEnvironment()
    await room.reset(Task(id="room", public={}, private={}), seed=0)
    with pytest.raises(CapabilityError, match="RoomEnvironment has no snapshot"):
        await room.fingerprint()


json_objects = st.dictionaries(
    st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=6
)


@given(value=json_objects, data=st.data())
def test_a_digest_does_not_depend_on_the_order_of_keys(
    value: dict[str, object], data: st.DataObject
) -> None:
    keys = data.draw(st.permutations(list(value)))
    assert digest({key: value[key] for key in keys}) == digest(value)
    assert digest([value, 1]) != digest([value, 2])


def test_digests_are_the_same_everywhere() -> None:
    assert digest({"b": [1, None], "a": "ü"}) == "9d57496cc00f5bc8e497bb536b5910e6"
