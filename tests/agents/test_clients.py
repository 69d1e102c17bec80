"""Every chat client against a real HTTP server that fails in every way."""

import asyncio
import random
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentgym.agents.clients import (
    CLIENTS,
    ChatClient,
    ChatRequest,
    Completion,
    Prices,
    open_client,
)
from agentgym.agents.clients.endpoint import retry_after
from agentgym.agents.clients.lean import LeanClient
from agentgym.agents.clients.retry import RetryingClient
from agentgym.errors import (
    ModelConnectionError,
    ModelContextError,
    ModelError,
    ModelMalformedError,
    ModelRateLimitedError,
    ModelRejectedError,
    ModelServerError,
    ModelTimeoutError,
    UnknownNameError,
    UsageError,
)
from agentgym.types import TokenTrace, ToolCall
from tests.fake_openai import FakeOpenAI, Fault, Reply

KEY = "sk-test-key-that-must-stay-secret"
TOOL = {
    "type": "function",
    "function": {"name": "query", "description": "", "parameters": {"type": "object"}},
}

Opener = Callable[..., ChatClient]


def ask(text: str = "hello", **options: Any) -> ChatRequest:
    return ChatRequest(model="openai/fake", messages=[{"role": "user", "content": text}], **options)


@pytest.fixture(params=CLIENTS)
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Opener]:
    clients: list[ChatClient] = []

    def opener(server: FakeOpenAI, **options: Any) -> ChatClient:
        options = {"base_url": server.base_url, "api_key": KEY, **options}
        clients.append(open_client(request.param, **options))
        return clients[-1]

    yield opener
    for client in clients:
        await client.close()


async def complete(*replies: Reply, **options: Any) -> Completion:
    async with FakeOpenAI(replies) as server, LeanClient(server.base_url, **options) as client:
        return await client.complete(ask())


class Clock:
    """Time that passes only when someone sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


async def test_a_request_and_its_answer_arrive_whole(opened: Opener) -> None:
    reply = Reply("one moment", calls=[("query", {"sql": "select 'ü'"})], usage=(100, 20))
    async with FakeOpenAI([reply], key=KEY) as server:
        completion = await opened(server).complete(
            ask("ü", tools=[TOOL], temperature=0.0, max_tokens=9, seed=3, stop=("\nX",))
        )
    assert completion.text == "one moment"
    assert completion.tool_calls == (
        ToolCall(name="query", arguments={"sql": "select 'ü'"}, id="call_1_0"),
    )
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (100, 20)
    assert completion.finish_reason == "tool_calls"
    assert completion.faults == ()
    body = server.requests[0]
    assert body["messages"] == [{"role": "user", "content": "ü"}]
    assert body["tools"] == [TOOL]
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.0, 9, 3)
    assert body["stop"] == ["\nX"]


async def test_unset_options_are_not_sent(opened: Opener) -> None:
    async with FakeOpenAI() as server:
        await opened(server).complete(ask())
    assert not {"tools", "temperature", "max_tokens", "seed", "stop"} & set(server.requests[0])


async def test_reasoning_and_exact_tokens_are_kept_apart(opened: Opener) -> None:
    reply = Reply(
        "4",
        message={"reasoning_content": "2 and 2"},
        body={"prompt_token_ids": [1, 2, 3]},
        choice={
            "token_ids": [4, 5],
            "logprobs": {
                "content": [
                    {"token": t, "logprob": p, "bytes": None, "top_logprobs": []}
                    for t, p in (("a", -0.5), ("b", -1.5))
                ]
            },
        },
    )
    async with FakeOpenAI([reply]) as server:
        completion = await opened(server).complete(ask(extra={"logprobs": True}))
    assert server.requests[0]["logprobs"] is True
    assert completion.reasoning == "2 and 2"
    assert completion.tokens == TokenTrace(
        prompt_ids=(1, 2, 3), output_ids=(4, 5), logprobs=(-0.5, -1.5)
    )


ERRORS: dict[Fault, type[ModelError]] = {
    Fault.RATE_LIMITED: ModelRateLimitedError,
    Fault.RATE_LIMITED_SECONDS: ModelRateLimitedError,
    Fault.RATE_LIMITED_DATE: ModelRateLimitedError,
    Fault.QUOTA: ModelRejectedError,
    Fault.SERVER_ERROR: ModelServerError,
    Fault.CONFLICT: ModelServerError,
    Fault.MALFORMED: ModelMalformedError,
    Fault.NO_CHOICES: ModelMalformedError,
    Fault.ERROR_UNDER_200: ModelServerError,
    Fault.TRUNCATED: ModelConnectionError,
    Fault.DROPPED: ModelConnectionError,
    Fault.SLOW: ModelTimeoutError,
    Fault.CONTEXT: ModelContextError,
    Fault.BAD_REQUEST: ModelRejectedError,
}


@pytest.mark.parametrize("fault", Fault)
async def test_every_fault_is_a_typed_error_and_the_client_goes_on(
    opened: Opener, fault: Fault
) -> None:
    async with FakeOpenAI(first=[fault]) as server:
        client = opened(server, timeout=0.5 if fault is Fault.SLOW else 20)
        with pytest.raises(ModelError) as caught:
            await client.complete(ask())
        assert type(caught.value) is ERRORS[fault]
        assert server.injected == {fault: 1}
        assert len(server.requests) == 1  # nobody retries behind our back
        assert (await client.complete(ask())).text == "ok"


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (Fault.RATE_LIMITED, None),
        (Fault.RATE_LIMITED_SECONDS, 7.0),
        (Fault.RATE_LIMITED_DATE, 0.0),
    ],
)
async def test_a_rate_limit_says_how_long_to_wait(
    opened: Opener, fault: Fault, seconds: float | None
) -> None:
    async with FakeOpenAI(first=[fault]) as server:
        with pytest.raises(ModelRateLimitedError) as caught:
            await opened(server).complete(ask())
    assert caught.value.retry_after == seconds


async def test_a_rejection_says_what_the_server_said(opened: Opener) -> None:
    async with FakeOpenAI(first=[Fault.BAD_REQUEST]) as server:
        with pytest.raises(ModelRejectedError, match="Unsupported value: 'temperature'"):
            await opened(server).complete(ask())


async def test_a_refused_connection(opened: Opener) -> None:
    async with FakeOpenAI() as server:
        client = opened(server)
    with pytest.raises(ModelConnectionError):
        await client.complete(ask())


async def test_a_wrong_key_is_rejected_and_never_shown(opened: Opener) -> None:
    async with FakeOpenAI(key="another key") as server:
        with pytest.raises(ModelRejectedError, match="Check the API key") as caught:
            await opened(server).complete(ask())
    # The fake repeats the key it was sent, as real servers do.
    assert "Incorrect API key provided" in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in repr(caught.value)


async def test_closing_twice_and_closing_one_of_two(opened: Opener) -> None:
    async with FakeOpenAI() as server:
        first, second = opened(server), opened(server)
        await first.complete(ask())
        await first.close()
        await first.close()
        assert (await second.complete(ask())).text == "ok"


async def test_concurrent_calls_through_faults_all_get_their_own_answer(opened: Opener) -> None:
    def echo(body: dict[str, Any]) -> Reply:
        return Reply(body["messages"][-1]["content"])

    rates = {Fault.RATE_LIMITED: 0.1, Fault.SERVER_ERROR: 0.05}
    clock = Clock()
    async with FakeOpenAI(echo, rates=rates) as server:
        client = RetryingClient(opened(server), sleep=clock.sleep, clock=clock)
        answers = await asyncio.gather(*(client.complete(ask(f"no. {i}")) for i in range(200)))
    assert [answer.text for answer in answers] == [f"no. {i}" for i in range(200)]
    struck = server.injected.total()
    assert struck > 0
    assert client.faults.total() == struck == len(server.requests) - 200
    assert client.faults["model_rate_limited"] == server.injected[Fault.RATE_LIMITED]
    assert sum(len(answer.faults) for answer in answers) == struck


# --- how answers are read -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        ("", {}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('{"a": "\\ud800"}', {"a": "�"}),
        ("[1]", "[1]"),
        ("not json", "not json"),
        ('{"a": 1} trailing', '{"a": 1} trailing'),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": 1e999}', '{"a": 1e999}'),
        ('{"a":' * 100_000, '{"a":' * 100_000),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_arguments_are_an_object_or_the_text_as_it_was(written: str, read: object) -> None:
    completion = await complete(Reply(calls=[("f", written)]))
    assert completion.tool_calls[0].arguments == read


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": None, "refusal": "I will not."}, "I will not."),
        ({"content": "lone \ud800 surrogate"}, "lone � surrogate"),
        ({"content": "x", "tool_calls": None}, "x"),
    ],
)
async def test_content_in_every_form(message: dict[str, Any], text: str) -> None:
    assert (await complete(Reply(message=message))).text == text


@pytest.mark.parametrize(
    "body",
    [
        {"choices": None},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"tool_calls": [{"id": "a"}]}}]},
        {"choices": [{"message": {"tool_calls": [{"function": {"name": 3}}]}}]},
        {"usage": {"prompt_tokens": "many"}},
        {"error": "it broke", "choices": None},
        {"prompt_token_ids": ["x"], "choices": [{"message": {}, "token_ids": [1]}]},
    ],
)
async def test_missing_and_mistyped_fields_are_malformed(body: dict[str, Any]) -> None:
    with pytest.raises(ModelMalformedError):
        await complete(Reply(body=body))


async def test_calls_with_equal_ids_are_left_to_be_named_apart() -> None:
    calls = [{"id": "same", "function": {"name": name, "arguments": "{}"}} for name in "ab"]
    completion = await complete(Reply(message={"tool_calls": calls}))
    assert [call.id for call in completion.tool_calls] == ["", ""]


async def test_log_probabilities_that_do_not_match_the_tokens_are_left_out() -> None:
    choice = {"token_ids": [4, 5], "logprobs": {"content": [{"logprob": -0.5}]}}
    completion = await complete(Reply("x", choice=choice, body={"prompt_token_ids": [1]}))
    assert completion.tokens == TokenTrace(prompt_ids=(1,), output_ids=(4, 5))


async def test_cost_is_the_servers_word_before_the_given_prices() -> None:
    prices = Prices(input=2.0, output=10.0)
    reply = Reply(usage=(1_000_000, 100_000))
    assert (await complete(reply)).usage.cost is None
    assert (await complete(reply, prices=prices)).usage.cost == pytest.approx(3.0)
    priced = Reply(body={"usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25}})
    assert (await complete(priced, prices=prices)).usage.cost == 0.25


async def test_litellm_knows_prices() -> None:
    async with (
        FakeOpenAI([Reply("x", usage=(1_000_000, 0))]) as server,
        open_client("litellm", base_url=server.base_url, api_key=KEY) as client,
    ):
        request = ChatRequest(model="openai/gpt-4o", messages=ask().messages)
        assert (await client.complete(request)).usage.cost == pytest.approx(2.5)


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-x", "no-such-provider"])
async def test_litellm_without_a_key_or_provider_is_rejected(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    # An endpoint that refuses connections, so that nothing could leave this machine.
    async with open_client("litellm", base_url="http://127.0.0.1:9/v1") as client:
        with pytest.raises(ModelRejectedError):
            await client.complete(ChatRequest(model=model, messages=ask().messages))


async def test_an_answer_without_end_is_not_read() -> None:
    with pytest.raises(ModelMalformedError, match="longer than 1000 bytes"):
        await complete(Reply("x" * 100_000), max_bytes=1000)


# --- opening --------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host/v1", "http://", "http://a:b@c/"])
def test_a_wrong_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError):
        open_client("lean", base_url=url)


def test_unknown_clients_and_missing_endpoints_are_usage_errors() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lean'"):
        open_client("leen", base_url="http://x/v1")
    with pytest.raises(UsageError, match="endpoint"):
        open_client("lean")


# --- retries --------------------------------------------------------------------------------


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
