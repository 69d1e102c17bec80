"""The words of the protocol: what agents and environments say to each other.

Wire form is OpenAI chat messages and JSON-schema tools, which every client, chat template
and trainer already speaks; `to_wire` methods give exactly that form. All models are frozen
and reject unknown fields.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from typing_extensions import TypeVar

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list or dict of JSON values."""


MAX_DEPTH, MAX_DIGITS = 100, 300
"""Levels of nesting in a tool call's arguments, beyond which JSON writers give up before long, and
digits of an integer, beyond which there is no float of that size."""


def clean_text(value: Json) -> Json:
    """Replace lone surrogates, which no UTF-8 store or socket can carry, by U+FFFD."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def clean_json(value: Json, depth: int = 0) -> Json:
    """Make a model's JSON value one that every store and socket carries unchanged.

    Lone surrogates are replaced; non-finite numbers, integers of more than `MAX_DIGITS` digits
    and what is nested deeper than `MAX_DEPTH` levels become text.
    """
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        return f"({type(value).__name__} nested deeper than {MAX_DEPTH} levels)"
    if isinstance(value, dict):
        return {clean_text(key): clean_json(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [clean_json(part, depth + 1) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return f"(integer of more than {MAX_DIGITS} digits)"
    return clean_text(value)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be finite")
    return value


Text = Annotated[str, BeforeValidator(clean_text)]
Finite = Annotated[float, AfterValidator(_finite)]


class Frozen(BaseModel):
    """Base of the protocol's models: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TextPart(Frozen):
    """A run of text inside a message of several parts."""

    type: Literal["text"] = "text"
    text: Text

    def to_wire(self) -> dict[str, Json]:
        """Return the OpenAI content part."""
        return {"type": "text", "text": self.text}


class ImagePart(Frozen):
    """An image inside a message.

    Attributes:
        url: A `data:` URL; environments never point an agent at the network.
    """

    type: Literal["image"] = "image"
    url: str

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str = "image/png") -> Self:
        """Wrap encoded image bytes (a whole PNG, JPEG or WebP file)."""
        return cls(url=f"data:{media_type};base64,{base64.b64encode(data).decode()}")

    def to_wire(self) -> dict[str, Json]:
        """Return the OpenAI content part."""
        return {"type": "image_url", "image_url": {"url": self.url}}


Part = Annotated[TextPart | ImagePart, Field(discriminator="type")]
Content: TypeAlias = Text | tuple[Part, ...]


class ToolCall(Frozen):
    """One call the agent wants made.

    Attributes:
        name: The tool's name, as the model wrote it.
        arguments: Arguments by name; a string where the model's text was not a JSON object,
            kept whole so that the environment can answer it.
        id: Ties the answer to the call; unique within one action.
    """

    name: Text
    arguments: Annotated[dict[str, Json] | str, BeforeValidator(clean_json)] = Field(
        default_factory=dict
    )
    id: Text = ""

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON text; as the model wrote them where that was no object."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)

    def to_wire(self) -> dict[str, Json]:
        """Return the OpenAI tool call."""
        function = {"name": self.name, "arguments": self.arguments_text}
        return {"id": self.id, "type": "function", "function": function}


class Action(Frozen):
    """One agent turn: words, tool calls, or both.

    Calls without an id are given `call_0`, `call_1` and so on.
    """

    text: Text = ""
    tool_calls: tuple[ToolCall, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _name_calls(cls, data: Json) -> Json:
        calls = data.get("tool_calls") if isinstance(data, Mapping) else None
        if not calls or not isinstance(calls, list | tuple):
            return data
        return {**data, "tool_calls": [_with_id(call, f"call_{i}") for i, call in enumerate(calls)]}

    def to_wire(self) -> dict[str, Json]:
        """Return the OpenAI chat message."""
        if not self.tool_calls:
            return {"role": "assistant", "content": self.text}
        calls = [call.to_wire() for call in self.tool_calls]
        return {"role": "assistant", "content": self.text or None, "tool_calls": calls}


def _with_id(call: Json, fallback: str) -> Json:
    if isinstance(call, ToolCall):
        return call if call.id else call.model_copy(update={"id": fallback})
    if isinstance(call, Mapping) and not call.get("id"):
        return {**call, "id": fallback}
    return call


def call(name: str, /, **arguments: Json) -> Action:
    """Return the action that calls one tool; the short form for oracles and tests."""
    return Action(tool_calls=(ToolCall(name=name, arguments=arguments),))


ToolFault = Literal["unknown_tool", "bad_arguments", "failed", "no_call", "over"]
"""Why a turn was answered by an error: the model's mistakes, never the infrastructure's."""


class Message(Frozen):
    """One chat message from the environment's side.

    Attributes:
        role: `system` for standing rules, `user` for the task and a user's words, `tool` for
            the answer to a call.
        content: Text, or text and images.
        tool_call_id: The call answered, with role `tool`.
        fault: Set where this message tells the agent of its own mistake.
    """

    role: Literal["system", "user", "tool"]
    content: Content
    tool_call_id: Text | None = None
    fault: ToolFault | None = None

    @property
    def text(self) -> str:
        """The message's text; images are left out."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))

    def to_wire(self) -> dict[str, Json]:
        """Return the OpenAI chat message."""
        content = self.content
        shown = content if isinstance(content, str) else [part.to_wire() for part in content]
        wire: dict[str, Json] = {"role": self.role, "content": shown}
        if self.tool_call_id is not None:
            wire["tool_call_id"] = self.tool_call_id
        return wire


class ToolSpec(Frozen):
    """A tool on offer.

    Attributes:
        parameters: A JSON schema of type object.
    """

    name: str
    description: str
    parameters: dict[str, Json]

    def to_wire(self) -> dict[str, Json]:
        """Return the OpenAI tool."""
        return {"type": "function", "function": self.model_dump()}


class Observation(Frozen):
    """What the agent sees: the messages that answer its turn and the tools now on offer."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()

    @property
    def text(self) -> str:
        """All messages' text, one after the other."""
        return "\n".join(message.text for message in self.messages)

    @property
    def faults(self) -> tuple[ToolFault, ...]:
        """The agent's mistakes this observation answers."""
        return tuple(m.fault for m in self.messages if m.fault is not None)


class Reward(Frozen):
    """A turn's reward, or the final grade.

    Attributes:
        value: Within the task's declared range; finite.
        components: Named parts, for analysis and credit; they need not add up to `value`.
        labels: Named words about how it came about, such as the comparator and its verdict.
        feedback: What a teacher would say. Infrastructure-facing: an environment never shows
            it to the agent by itself.
    """

    value: Finite = 0.0
    components: dict[str, Finite] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    feedback: Text | None = None


class Transition(Frozen):
    """What one step returns.

    Attributes:
        reward: The turn's reward; on the turn that ends the episode, the final grade.
        terminated: The task's own end.
        truncated: A limit of the environment's own ended it.
        info: Diagnostics for people; nothing may depend on them and they are not replayed.
    """

    observation: Observation
    reward: Reward = Reward()
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Json] = Field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


class Limits(Frozen):
    """What may be spent on one episode; None is no limit.

    Attributes:
        turns: Agent turns.
        tokens: Prompt and completion tokens of all model calls together.
        cost: US dollars of all model calls together.
        time: Seconds inside the environment; the model's latency is not charged.
    """

    turns: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)
    time: float | None = Field(default=None, gt=0)


class Usage(Frozen):
    """What one model call, or a whole episode, consumed.

    Attributes:
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written, reasoning included.
        cost: US dollars; None where no price is known.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        known = [usage.cost for usage in (self, other) if usage.cost is not None]
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=sum(known) if known else None,
        )


class TokenTrace(Frozen):
    """The exact tokens of one model call, where the model gives them.

    Attributes:
        prompt_ids: Token ids the model read.
        output_ids: Token ids it sampled; never re-tokenised.
        logprobs: Log-probability of each sampled token, as long as `output_ids`.
    """

    prompt_ids: tuple[int, ...]
    output_ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None


class Snapshot(Frozen):
    """An episode's whole state at one moment, to go back to in the same process or another.

    Attributes:
        env: The environment's class; a snapshot restores only into the same one.
        task_id: The task it was taken in.
        state: Opaque; immutable by convention.
    """

    env: str
    task_id: str
    state: Any


class AnyFields(BaseModel):
    """A public or private part whose fields are not declared; fields read as attributes."""

    model_config = ConfigDict(frozen=True, extra="allow")

    if TYPE_CHECKING:  # pydantic serves the extra fields

        def __getattr__(self, name: str) -> Json: ...


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    if bounds[0] > bounds[1]:
        raise ValueError("the lowest grade is above the highest")
    return bounds


PublicT = TypeVar("PublicT", bound=BaseModel, default=AnyFields)
PrivateT = TypeVar("PrivateT", bound=BaseModel, default=AnyFields)


class Task(Frozen, Generic[PublicT, PrivateT]):
    """One thing an agent is asked to do.

    Attributes:
        id: Unique within its set.
        split: Such as "train" or "test".
        public: What the agent may see.
        private: Grading and oracle. Never in an observation, a prompt or a sandbox the agent
            can read.
        max_turns: The task's own turn limit; None takes the environment's.
        reward_range: Lowest and highest grade.
        success: The grade from which the task counts as solved.
        tags: For filters and breakdowns, such as {"difficulty": "hard"}.
        flags: Why the task is not sound, such as "gold_empty"; flagged tasks are left out
            unless asked for.
    """

    id: str = Field(min_length=1)
    split: str = "test"
    public: PublicT
    private: PrivateT
    max_turns: int | None = Field(default=None, ge=1)
    reward_range: Annotated[tuple[Finite, Finite], AfterValidator(_ordered)] = (0.0, 1.0)
    success: Finite = 1.0
    tags: dict[str, str] = Field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles name classes by import path, which a class such as Task[Public, Private] lacks.
        generic = self.__pydantic_generic_metadata__
        return _blank_task, (generic["origin"] or type(self), generic["args"]), self.__getstate__()


def _blank_task(origin: Any, parts: tuple[type[BaseModel], ...]) -> Task[Any, Any]:
    kind: type[Task[Any, Any]] = origin[parts] if parts else origin
    return kind.__new__(kind)
