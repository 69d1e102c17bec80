"""A real HTTP server that speaks OpenAI's chat completions, scripted and with faults on order.

For tests (`async with FakeOpenAI(script) as server`), for the bench and for trying things by
hand: `python tests/fake_openai.py --port 0 --script answers.json --fault rate_limited=0.1`.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeAlias

from aiohttp import web

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One scripted answer.

    Attributes:
        calls: (tool name, arguments) pairs; arguments that are text are sent as they are.
        usage: Prompt and completion tokens.
        message: Fields laid over the wire form's message.
        choice: Fields laid over the choice.
        body: Fields laid over the whole body.
    """

    text: str | None = None
    calls: Sequence[tuple[str, Any]] = ()
    usage: tuple[int, int] = (10, 5)
    message: Body = field(default_factory=dict)
    choice: Body = field(default_factory=dict)
    body: Body = field(default_factory=dict)

    def to_wire(self, number: int, model: str) -> Body:
        message: Body = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{index}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": arguments
                        if isinstance(arguments, str)
                        else json.dumps(arguments),
                    },
                }
                for index, (name, arguments) in enumerate(self.calls)
            ]
        choice = {
            "index": 0,
            "finish_reason": "tool_calls" if self.calls else "stop",
            "message": {**message, **self.message},
            **self.choice,
        }
        prompt, completion = self.usage
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
            **self.body,
        }


Script: TypeAlias = Callable[[Body], Reply] | Sequence[Reply]
"""What answers: a function of the request's body, or the replies of one conversation in order."""


class Fault(StrEnum):
    """What can go wrong with a request."""

    RATE_LIMITED = "rate_limited"
    RATE_LIMITED_SECONDS = "rate_limited_seconds"
    RATE_LIMITED_DATE = "rate_limited_date"
    QUOTA = "quota"
    SERVER_ERROR = "server_error"
    CONFLICT = "conflict"
    MALFORMED = "malformed"
    NO_CHOICES = "no_choices"
    ERROR_UNDER_200 = "error_under_200"
    TRUNCATED = "truncated"
    DROPPED = "dropped"
    SLOW = "slow"
    CONTEXT = "context"
    BAD_REQUEST = "bad_request"


_KEY = "sk-fake-0123456789abcdef"
_RETRY_AFTER_SECONDS = 7
_STATUS_FAULTS: Mapping[Fault, tuple[int, str, str]] = {
    Fault.RATE_LIMITED: (429, "Rate limit reached.", "rate_limit_exceeded"),
    Fault.RATE_LIMITED_SECONDS: (429, "Rate limit reached.", "rate_limit_exceeded"),
    Fault.RATE_LIMITED_DATE: (429, "Rate limit reached.", "rate_limit_exceeded"),
    Fault.QUOTA: (429, "You exceeded your current quota.", "insufficient_quota"),
    Fault.SERVER_ERROR: (500, "The server had an error.", "server_error"),
    Fault.CONFLICT: (409, "The model is loading.", "conflict"),
    Fault.CONTEXT: (
        400,
        "This model's maximum context length is 4096 tokens. However, your messages resulted in"
        " 5000 tokens.",
        "context_length_exceeded",
    ),
    Fault.BAD_REQUEST: (400, "Unsupported value: 'temperature'.", "unsupported_value"),
}


class FakeOpenAI:
    """The server, on a free port of 127.0.0.1.

    Args:
        script: What answers.
        first: Faults for the first requests, in order.
        rates: Proportion of the later requests that each fault strikes.
        seed: Decides which requests the proportions strike, by their order of arrival.
        most_in_a_row: How often one and the same request is struck by a proportion at most, so
            that a client of as many retries always gets through.
        latency: Seconds before each answer.
        key: The only key accepted; None accepts any.
        port: 0 takes a free one.

    Attributes:
        requests: Every body received, in order of arrival.
        headers: The headers that came with each.
        injected: How often each fault struck.
    """

    def __init__(
        self,
        script: Script = (Reply("ok"),),
        *,
        first: Sequence[Fault] = (),
        rates: Mapping[Fault, float] | None = None,
        seed: int = 0,
        most_in_a_row: int = 3,
        latency: float = 0.0,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        self.requests: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self.injected: Counter[Fault] = Counter()
        self.base_url = ""
        self._script = script
        self._first = list(first)
        self._rates = dict(rates or {})
        self._random = random.Random(seed)
        self._struck: Counter[str] = Counter()
        self._most_in_a_row = most_in_a_row
        self._latency = latency
        self._key = key
        self._port = port
        self._stopping = asyncio.Event()
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)

    async def start(self) -> None:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        self._stopping.set()
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def _models(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._refused(request)) is not None:
            return refused
        body: Body = await request.json()
        self.requests.append(body)
        self.headers.append(request.headers)
        number = len(self.requests)
        fault = self._draw(body)
        if self._latency:
            await asyncio.sleep(self._latency)
        if fault is not None:
            self.injected[fault] += 1
            return await self._fail(fault, request)
        reply = self._reply(body)
        if reply is None:
            return _error(400, "The script has no further answer.", "script_exhausted")
        return web.json_response(reply.to_wire(number, body["model"]))

    def _refused(self, request: web.Request) -> web.Response | None:
        said = request.headers.get("Authorization", "none")
        if self._key is None or said == f"Bearer {self._key}":
            return None
        return _error(401, f"Incorrect API key provided: {said}.", "invalid_api_key")

    def _draw(self, body: Body) -> Fault | None:
        if self._first:
            return self._first.pop(0)
        if not self._rates:
            return None
        draw = self._random.random()
        for fault, rate in self._rates.items():
            if draw < rate:
                digest = json.dumps(body, sort_keys=True)
                self._struck[digest] += 1
                return fault if self._struck[digest] <= self._most_in_a_row else None
            draw -= rate
        return None

    def _reply(self, body: Body) -> Reply | None:
        if not isinstance(self._script, Sequence):
            return self._script(body)
        turn: int = sum(message["role"] == "assistant" for message in body["messages"])
        return self._script[turn] if turn < len(self._script) else None

    async def _fail(self, fault: Fault, request: web.Request) -> web.StreamResponse:
        if fault in _STATUS_FAULTS:
            return _error(*_STATUS_FAULTS[fault], headers=_retry_headers(fault))
        if fault is Fault.MALFORMED:
            return web.Response(text='{"choices": [{"mess', content_type="application/json")
        if fault is Fault.NO_CHOICES:
            return web.json_response({"id": "x", "object": "chat.completion", "choices": []})
        if fault is Fault.ERROR_UNDER_200:
            return web.json_response({"error": {"code": 502, "message": "Provider is down."}})
        if fault is Fault.SLOW:
            await self._stopping.wait()
        if fault is Fault.TRUNCATED:
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"choices": [')
        if request.transport is not None:
            request.transport.close()
        return web.Response(status=500)


def _retry_headers(fault: Fault) -> dict[str, str]:
    if fault is Fault.RATE_LIMITED_SECONDS:
        return {"Retry-After": str(_RETRY_AFTER_SECONDS)}
    if fault is Fault.RATE_LIMITED_DATE:
        # The far past: a date is read exactly, and asks for no wait.
        return {"Retry-After": formatdate(0, usegmt=True)}
    return {}


def _error(
    status: int, message: str, code: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    body = {"error": {"message": message, "type": code, "code": code, "param": None}}
    return web.json_response(body, status=status, headers=headers)


def load_script(path: Path) -> Script:
    """Read a script: a list of replies, or {question: list of replies} for many conversations.

    A conversation belongs to the first question that one of its messages holds.
    """
    content: list[Body] | dict[str, list[Body]] = json.loads(path.read_text())
    if isinstance(content, list):
        return [Reply(**reply) for reply in content]
    conversations: dict[str, list[Reply]] = {
        name: [Reply(**reply) for reply in replies] for name, replies in content.items()
    }

    def answer(body: Body) -> Reply:
        said = json.dumps(
            [message.get("content") for message in body["messages"]], ensure_ascii=False
        )
        turn: int = sum(message["role"] == "assistant" for message in body["messages"])
        for question, answers in conversations.items():
            if json.dumps(question, ensure_ascii=False)[1:-1] in said and turn < len(answers):
                return answers[turn]
        return Reply("I have no answer to that.")

    return answer


def _rate(text: str) -> tuple[Fault, float]:
    name, _, rate = text.partition("=")
    return Fault(name), float(rate)


async def _serve(options: argparse.Namespace) -> None:
    server = FakeOpenAI(
        load_script(options.script) if options.script else lambda body: Reply("ok"),
        rates=dict(options.fault),
        seed=options.seed,
        latency=options.latency,
        key=options.key,
        port=options.port,
    )
    async with server:
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Serve until interrupted; the first line written is the base URL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--script", type=Path, help="JSON: [reply, ...] or {question: [reply, ...]}"
    )
    parser.add_argument("--fault", type=_rate, action="append", default=[], metavar="NAME=RATE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--key", help="the only key accepted")
    try:
        asyncio.run(_serve(parser.parse_args()))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
