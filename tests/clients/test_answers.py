"""How a chat client reads an answer, whatever form the server gives it."""

from typing import Any

import pytest

from agentgym.clients import ChatRequest, Completion, Prices, open_client
from agentgym.clients.lean import LeanClient
from agentgym.errors import ModelMalformedError, ModelRejectedError
from agentgym.types import TokenTrace
from tests.clients.calling import ask
from tests.fake_openai import FakeOpenAI, Reply


async def complete(*replies: Reply, **options: Any) -> Completion:
    async with FakeOpenAI(replies) as server, LeanClient(server.base_url, **options) as client:
        return await client.complete(ask())


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
        open_client("litellm", base_url=server.base_url, api_key="sk-unused") as client,
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
