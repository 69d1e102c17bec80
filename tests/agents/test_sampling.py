"""The batcher: who is served together, in which order, and when."""

import asyncio
from collections.abc import Sequence

import pytest

from agentgym.agents.sampling import Batcher, Sampled, SampleRequest


def request(number: int) -> SampleRequest:
    return SampleRequest((number,), max_tokens=1, seed=0)


class Echo:
    """Samples the first token of the prompt, and keeps the batches."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.began = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, requests: Sequence[SampleRequest]) -> Sequence[Sampled]:
        self.batches.append([one.prompt_ids[0] for one in requests])
        self.began.set()
        await self.gate.wait()
        return [Sampled(one.prompt_ids) for one in requests]


async def test_a_batch_waits_for_every_live_episode_and_is_in_their_order() -> None:
    echo = Echo()
    batcher = Batcher(echo, lambda: 3)
    answers = await asyncio.gather(*[batcher.sampler(n)(request(n)) for n in (2, 0, 1)])
    assert [answer.ids for answer in answers] == [(2,), (0,), (1,)]
    assert echo.batches == [[0, 1, 2]]


async def test_an_episode_that_ends_lets_the_others_go_on() -> None:
    echo, live = Echo(), 2
    batcher = Batcher(echo, lambda: live)
    waiting = asyncio.ensure_future(batcher.sampler(0)(request(0)))
    await asyncio.sleep(0)
    assert not echo.batches
    live = 1
    batcher.look()
    assert (await waiting).ids == (0,)


async def test_patience_ends_the_wait_for_the_others() -> None:
    echo = Echo()
    batcher = Batcher(echo, lambda: 2, patience_s=0.0)
    assert (await batcher.sampler(0)(request(0))).ids == (0,)


async def test_what_comes_while_the_model_works_is_served_together() -> None:
    echo = Echo()
    echo.gate.clear()
    batcher = Batcher(echo, lambda: 3, patience_s=0.0)
    first = asyncio.ensure_future(batcher.sampler(0)(request(0)))
    await echo.began.wait()
    others = [asyncio.ensure_future(batcher.sampler(n)(request(n))) for n in (1, 2)]
    await asyncio.sleep(0)
    echo.gate.set()
    await asyncio.gather(first, *others)
    assert echo.batches == [[0], [1, 2]]


async def test_a_model_that_fails_fails_every_turn_it_was_asked_for() -> None:
    async def fail(requests: Sequence[SampleRequest]) -> Sequence[Sampled]:
        raise RuntimeError("out of memory")

    batcher = Batcher(fail, lambda: 2)
    found = await asyncio.gather(
        *[batcher.sampler(n)(request(n)) for n in range(2)], return_exceptions=True
    )
    assert [str(error) for error in found] == ["out of memory"] * 2


async def test_a_turn_that_is_given_up_is_not_sampled() -> None:
    echo = Echo()
    batcher = Batcher(echo, lambda: 2)
    given_up = asyncio.ensure_future(batcher.sampler(0)(request(0)))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert (await batcher.sampler(1)(request(1))).ids == (1,)
    assert echo.batches == [[1]]
