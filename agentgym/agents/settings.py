"""The settings of LLM agents, apart from what it takes to call a model."""

from pydantic import Field

from agentgym.types import Frozen, Json, Limits


class LlmSettings(Frozen):
    """The settings of an LLM agent; see `agentgym eval --help`.

    Attributes:
        model: The model's name, with its provider's prefix for litellm.
        base_url: An OpenAI-compatible endpoint, up to and including `/v1`.
        client: `lean`, `openai` or `litellm`; None chooses by model and endpoint.
        format: How tools are shown and calls are read: `native`, `hermes`, `react` or `brackets`.
        temperature: Sampling temperature; None is the server's default.
        max_tokens: Output tokens a turn; None is the server's default.
        attempts: Model calls a turn at most, the first included.
        timeout: Seconds a model call may take.
        price: US dollars per million prompt and completion tokens.
        history: `full` sends every turn, `window:N` the task and the last N turns.
        system: Standing words put before everything.
        token_ids: Whether the server is asked for the exact tokens and their log-probabilities,
            which vLLM gives.
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
    token_ids: bool = False


class TokenSettings(Frozen):
    """How a model that is sampled token by token plays.

    Attributes:
        format: As in `LlmSettings`; `native` is read as `hermes`, since nobody else reads what
            the model wrote.
        max_tokens: Tokens a turn.
        budget: Tokens of an episode after its first prompt, the environment's included; an
            episode that has no room for another token ends at a limit. None has no bound.
        context: The longest sequence the model reads, prompt and answer together; None has no
            bound.
        system: Standing words put before everything.
        told: Whether the model is told its tools and limits; one of few words need not read them.
        history: `full` goes on from what was read, `window:N` is rendered anew each turn and
            keeps the task and the last N turns.
        chat_template: In place of the tokenizer's own.
        template_options: Further variables of the chat template, such as `enable_thinking`.
    """

    format: str = "native"
    max_tokens: int = Field(default=512, ge=1)
    budget: int | None = Field(default=None, ge=1)
    context: int | None = Field(default=None, ge=1)
    system: str | None = None
    told: bool = True
    history: str = "full"
    chat_template: str | None = None
    template_options: dict[str, Json] = Field(default_factory=dict)


def standing_words(system: str | None, limits: Limits) -> str:
    """Return what is said before everything: the person's own words and the limits."""
    allowed = [
        f"{amount:,} {unit}" if isinstance(amount, int) else f"{amount:g} {unit}"
        for amount, unit in (
            (limits.turns, "turns"),
            (limits.tokens, "tokens"),
            (limits.cost, "US dollars"),
            (limits.time, "seconds in the environment"),
        )
        if amount is not None
    ]
    told = f"You have at most {' and '.join(allowed)}." if allowed else ""
    return "\n\n".join(words for words in (system, told) if words)
