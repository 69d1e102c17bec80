"""Every chat client against a real HTTP server that fails in every way."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentgym.clients import (
    CLIENTS,
    ChatClient,
    open_client,
)
from agentgym.clients.litellm import LiteLLMClient
from agentgym.clients.retry import RetryingClient
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
from tests.clients.calling import Clock, ask
from tests.fake_openai import FakeOpenAI, Fault, Reply

KEY = "sk-test-key-that-must-stay-secret"
TOOL = {
    "type": "function",
    "function": {"name": "query", "description": "", "parameters": {"type": "object"}},
}

Opener = Callable[..., ChatClient]


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


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host/v1", "http://", "http://a:b@c/"])
def test_a_wrong_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError):
        open_client("lean", base_url=url)


def test_unknown_clients_and_missing_endpoints_are_usage_errors() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lean'"):
        open_client("leen", base_url="http://x/v1")
    with pytest.raises(UsageError, match="endpoint"):
        open_client("lean")


async def test_litellm_tells_of_unknown_providers_and_missing_keys_before_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with LiteLLMClient() as client:
        with pytest.raises(UsageError, match="no provider"):
            await client.check("no-such-provider")
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        with pytest.raises(UsageError, match="ANTHROPIC_API_KEY is not set"):
            await client.check("anthropic/claude-3-5-haiku-20241022")
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        await client.check("anthropic/claude-3-5-haiku-20241022")
