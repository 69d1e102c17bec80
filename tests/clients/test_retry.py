"""Retries: what is retried, how long is waited, what is reported. No test waits for real."""

import asyncio
import random

import pytest

from agentgym.clients.endpoint import retry_after
from agentgym.clients.lean import LeanClient
from agentgym.clients.retry import RetryingClient
from agentgym.errors import ModelRateLimitedError, ModelRejectedError, ModelServerError
from tests.clients.calling import Clock, ask
from tests.fake_openai import FakeOpenAI, Fault


async def test_retry_after_is_waited_for_and_reported() -> None:
    clock = Clock()
    faults = [Fault.RATE_LIMITED_SECONDS, Fault.DROPPED, Fault.MALFORMED]
    async with FakeOpenAI(first=faults) as server:
        client = RetryingClient(LeanClient(server.base_url), sleep=clock.sleep, clock=clock)
        async with client:
            completion = await client.complete(ask())
    kinds = ["model_rate_limited", "model_connection", "model_malformed"]
    assert [fault.kind for fault in completion.faults] == kinds
    assert "Rate limit reached" in completion.faults[0].message
    assert client.faults == dict.fromkeys(kinds, 1)
    assert 7.0 <= clock.slept[0] <= 7.0 * 1.1
    assert all(0 < seconds <= 2.0 for seconds in clock.slept[1:])


async def test_a_rate_limit_pauses_every_caller() -> None:
    clock = Clock()
    async with FakeOpenAI(first=[Fault.RATE_LIMITED_SECONDS]) as server:
        inner = LeanClient(server.base_url)
        async with RetryingClient(inner, attempts=1, sleep=clock.sleep, clock=clock) as client:
            with pytest.raises(ModelRateLimitedError):
                await client.complete(ask())
            assert clock.slept == []
            await asyncio.gather(*(client.complete(ask()) for _ in range(5)))
    assert clock.now >= 7.0


async def test_a_longer_wait_than_allowed_is_raised_at_once() -> None:
    clock = Clock()
    async with FakeOpenAI(first=[Fault.RATE_LIMITED_SECONDS]) as server:
        inner = LeanClient(server.base_url)
        async with RetryingClient(inner, max_wait_s=5, sleep=clock.sleep, clock=clock) as client:
            with pytest.raises(ModelRateLimitedError):
                await client.complete(ask())
    assert clock.slept == []
    assert len(server.requests) == 1


async def test_the_last_attempts_error_is_raised() -> None:
    clock = Clock()
    faults = [Fault.RATE_LIMITED, Fault.DROPPED, Fault.SERVER_ERROR]
    async with FakeOpenAI(first=faults) as server:
        inner = LeanClient(server.base_url)
        async with RetryingClient(inner, attempts=3, sleep=clock.sleep, clock=clock) as client:
            with pytest.raises(ModelServerError):
                await client.complete(ask())
    assert client.faults == {"model_rate_limited": 1, "model_connection": 1}
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault", [Fault.CONTEXT, Fault.BAD_REQUEST, Fault.QUOTA])
async def test_what_no_retry_can_mend_is_not_retried(fault: Fault) -> None:
    async with FakeOpenAI(first=[fault]) as server:
        client = RetryingClient(LeanClient(server.base_url))
        with pytest.raises(ModelRejectedError):
            await client.complete(ask())
        await client.close()
    assert len(server.requests) == 1


async def test_retries_leave_the_global_random_numbers_alone() -> None:
    clock = Clock()
    random.seed(1)
    expected = random.random()
    random.seed(1)
    async with FakeOpenAI(first=[Fault.DROPPED, Fault.RATE_LIMITED_SECONDS]) as server:
        inner = LeanClient(server.base_url)
        async with RetryingClient(inner, sleep=clock.sleep, clock=clock) as client:
            await client.complete(ask())
    assert random.random() == expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, pytest.approx(2.5e11, rel=0.1)),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
    ],
)
def test_retry_after_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
