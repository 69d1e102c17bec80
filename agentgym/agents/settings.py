"""The settings of an LLM agent, apart from what it takes to call a model."""

from pydantic import Field

from agentgym.types import Frozen


class LlmSettings(Frozen):
    """The settings of an LLM agent; see `agentgym eval --help`.

    Attributes:
        model: The model's name, with its provider's prefix for litellm.
        base_url: An OpenAI-compatible endpoint, up to and including `/v1`.
        client: `lean`, `openai` or `litellm`; None chooses by model and endpoint.
        format: How tools are shown and calls are read: `native`, `react` or `brackets`.
        temperature: Sampling temperature; None is the server's default.
        max_tokens: Output tokens a turn; None is the server's default.
        attempts: Model calls a turn at most, the first included.
        timeout: Seconds a model call may take.
        price: US dollars per million prompt and completion tokens.
        history: `full` sends every turn, `window:N` the task and the last N turns.
        system: Standing words put before everything.
    """

    model: str
    base_url: str | None = None
    client: str | None = None
    format: str = "native"
    temperature: float | None = None
    max_tokens: int | None = None
    attempts: int = Field(default=8, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    price: tuple[float, float] | None = None
    history: str = "full"
    system: str | None = None
