"""Calls of chat models, against a real server with faults."""

import json
import sys
from typing import Any

import pytest

from agentgym.errors import (
    MissingExtraError,
    ModelConnectionError,
    ModelContextError,
    ModelError,
    ModelMalformedError,
    ModelRateLimitedError,
    ModelRejectedError,
    ModelServerError,
    ModelTimeoutError,
    UsageError,
)
from agentgym_tools.models import ChatModel, ModelSettings, without_thoughts

HELLO = [{"role": "user", "content": "hello"}]
JSON: dict[str, str] = {}


def model(chat: Any, **settings: Any) -> ChatModel:
    given = {"model": "m", "base_url": chat.base_url, "attempts": 2}
    return ChatModel(ModelSettings.model_validate({**given, **settings}), "user")


def failure(status: int, code: str = "code", message: str = "It broke.") -> Any:
    body = {"error": {"message": message, "type": code, "code": code, "param": None}}
    return status, json.dumps(body), JSON


async def test_words_calls_and_usage_are_read(chat: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    broken = {"id": "d", "type": "function", "function": {"name": "g", "arguments": "[1"}}
    chat.answer = lambda body: {"content": "<think>x</think> Hi.", "tool_calls": [call, broken]}
    answer = await model(chat, temperature=0.5).ask(HELLO, seed=3)
    assert answer.text == "Hi."
    assert [(c.name, c.arguments) for c in answer.calls] == [("f", {"a": 1}), ("g", "[1")]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (10, 5)
    [body] = chat.requests
    assert (body["model"], body["seed"], body["temperature"]) == ("m", 3, 0.5)
    assert "tools" not in body


async def test_a_servers_name_of_a_model_is_sent_as_it_is(chat: Any) -> None:
    await model(chat, model="openai/gpt-oss-20b").ask(HELLO)
    assert chat.requests[0]["model"] == "openai/gpt-oss-20b"


@pytest.mark.parametrize(
    "fault",
    [
        failure(500),
        failure(503),
        failure(409),
        failure(429),
        (200, '{"choices": [{"mess', JSON),
        (200, '{"id": "x", "object": "chat.completion", "choices": []}', JSON),
        None,
    ],
)
async def test_faults_that_pass_are_retried(chat: Any, fault: Any) -> None:
    chat.says([fault, "Here I am."])
    assert (await model(chat).ask(HELLO)).text == "Here I am."
    assert len(chat.requests) == 2


@pytest.mark.parametrize(
    ("fault", "error", "calls"),
    [
        (failure(500), ModelServerError, 2),
        (failure(429), ModelRateLimitedError, 2),
        (failure(429, "insufficient_quota"), ModelRejectedError, 1),
        (failure(400), ModelRejectedError, 1),
        (failure(400, "context_length_exceeded", "This model's maximum context length is 4."),
         ModelContextError, 1),
        ((200, "{", JSON), ModelMalformedError, 2),
        ((200, '{"id": "x", "object": "chat.completion", "choices": []}', JSON),
         ModelMalformedError, 2),
        (None, ModelConnectionError, 2),
    ],
)  # fmt: skip
async def test_faults_that_stay_are_typed(
    chat: Any, fault: Any, error: type[ModelError], calls: int
) -> None:
    chat.answer = lambda body: fault
    with pytest.raises(ModelError, match="The user model 'm'") as caught:
        await model(chat).ask(HELLO)
    assert type(caught.value) is error
    assert len(chat.requests) == calls


async def test_a_server_that_is_not_there_is_a_connection_error(chat: Any) -> None:
    await chat.stop()
    with pytest.raises(ModelConnectionError):
        await model(chat).ask(HELLO)


async def test_no_answer_in_time_is_a_timeout(chat: Any) -> None:
    chat.answer = lambda body: ...
    with pytest.raises(ModelTimeoutError, match=r"did not answer within 0\.2 s"):
        await model(chat, timeout=0.2, attempts=1).ask(HELLO)


async def test_a_wait_longer_than_is_worth_it_is_left_to_the_engine(chat: Any) -> None:
    chat.answer = lambda body: (*failure(429)[:2], {"Retry-After": "999"})
    with pytest.raises(ModelRateLimitedError) as caught:
        await model(chat).ask(HELLO)
    assert caught.value.retry_after == 999
    assert len(chat.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refused_key_is_the_callers_and_not_told(
    chat: Any, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", f"{key}\n")
    chat.answer = lambda body: failure(status, message=f"Incorrect key: {key}.")
    with pytest.raises(UsageError, match="The user model 'm' answered") as caught:
        await model(chat).ask(HELLO)
    assert chat.keys == [f"Bearer {key}"]
    assert key not in str(caught.value)


async def test_a_model_of_no_provider_is_refused() -> None:
    nobody = ChatModel(ModelSettings(model="nobody-knows"), "user")
    with pytest.raises(UsageError, match="no provider for the model 'nobody-knows'"):
        await nobody.ask(HELLO)


async def test_a_missing_key_is_told_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        await ChatModel(ModelSettings(model="openai/gpt-x", attempts=1), "user").ask(HELLO)


async def test_without_the_package_the_extra_is_named(
    chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtraError, match="needs the extra 'llm'"):
        await model(chat).ask(HELLO)


@pytest.mark.parametrize("url", ["ftp://x", "localhost:80/v1", "http://me:pw@host/v1", "http:///"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        ChatModel(ModelSettings(model="m", base_url=url), "judge")
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hi.", "Hi."),
        ("<think>a</think>Hi.", "Hi."),
        ("Oh. <think>a\nb</think> Hi. <THINK>c</THINK>", "Oh.  Hi."),
        ("begun before</think>\nHi.", "Hi."),
        ("Hi. <think>not ended", "Hi."),
        ("<thinking>a</thinking>Hi.", "Hi."),
        ("<think>only", ""),
    ],
)
def test_thoughts_are_left_out(text: str, words: str) -> None:
    assert without_thoughts(text) == words
