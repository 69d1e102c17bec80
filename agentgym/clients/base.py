"""What every chat client takes and gives back."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from pydantic import Field

from agentgym.faults import Fault
from agentgym.types import Frozen, Json, Text, TokenTrace, ToolCall, Usage


class ChatRequest(Frozen):
    """One call of a chat model.

    Attributes:
        model: The model's name, as the server or litellm knows it.
        messages: OpenAI chat messages.
        tools: OpenAI tools; none are sent where there are none.
        temperature: None leaves it to the server, as do the other options.
        max_tokens: Most tokens to write.
        seed: For servers that sample reproducibly.
        stop: Texts at which the model stops writing.
        extra: Further fields of the body, such as {"return_token_ids": True}; they win over
            the fields above.
    """

    model: str
    messages: list[dict[str, Json]]
    tools: list[dict[str, Json]] = Field(default_factory=list)
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: dict[str, Json] = Field(default_factory=dict)

    def body(self) -> dict[str, Json]:
        """Return the body of the request in OpenAI's wire form, only with what is set."""
        body: dict[str, Json] = {"model": self.model, "messages": self.messages}
        if self.tools:
            body["tools"] = self.tools
        if self.stop:
            body["stop"] = list(self.stop)
        for name in ("temperature", "max_tokens", "seed"):
            if (value := getattr(self, name)) is not None:
                body[name] = value
        body.update(self.extra)
        return body


class Completion(Frozen):
    """What the model answered.

    Attributes:
        text: Its words; empty where it only called tools.
        tool_calls: The calls it wants made, in order.
        usage: What the call consumed.
        finish_reason: Why it stopped, in the server's words, such as "stop", "length" or
            "tool_calls".
        model: The model that answered, as the server names it.
        reasoning: Its reasoning, where the server gives it apart from the words.
        tokens: The exact tokens, where the server gives them (vLLM's `return_token_ids`).
        faults: The errors that were retried before this answer, in order.
    """

    text: Text = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish_reason: str | None = None
    model: str
    reasoning: Text | None = None
    tokens: TokenTrace | None = None
    faults: tuple[Fault, ...] = ()


class Prices(Frozen):
    """A model's prices.

    Attributes:
        input: US dollars per million tokens read.
        output: US dollars per million tokens written.
    """

    input: float = Field(ge=0)
    output: float = Field(ge=0)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return US dollars for these tokens."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1e6


class ChatClient(ABC):
    """A way to call chat models; one serves any number of concurrent episodes."""

    @abstractmethod
    async def complete(self, request: ChatRequest) -> Completion:
        """Call the model once.

        Raises:
            ModelError: The endpoint gave no usable answer; the subclass says why and whether
                the same call may succeed later.
        """

    async def check(self, model: str) -> None:
        """Find out before a run whether calls can work at all.

        Raises:
            UsageError: They cannot: no such server or provider, no key.
        """
        return

    @abstractmethod
    async def close(self) -> None:
        """Release the connections; calling it again does nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
