"""From the JSON of a chat completion to a `Completion`."""

from pydantic import ValidationError

from agentgym.clients.base import Completion, Prices
from agentgym.clients.endpoint import Endpoint
from agentgym.json_text import parse_arguments
from agentgym.types import Json, TokenTrace, ToolCall, Usage

_LAST_ERROR_STATUS = 599


def parse_completion(
    body: Json, *, endpoint: Endpoint, model: str, prices: Prices | None = None
) -> Completion:
    """Read a chat completion in OpenAI's wire form, and the forms that differ from it in use.

    Args:
        body: The parsed JSON of a successful answer.
        endpoint: Who answered, for errors.
        model: The model asked for, where the answer does not name one.
        prices: What tokens cost, where the answer does not say.

    Raises:
        ModelMalformedError: Fields are missing or of the wrong type.
        ModelError: The answer is an error under a successful status.
    """
    if isinstance(body, dict) and body.get("error") and not body.get("choices"):
        raise _error_within(body, endpoint)
    try:
        choice = body["choices"][0]
        message = choice["message"]
        return Completion(
            text=_text(message.get("content")) or message.get("refusal") or "",
            tool_calls=_tool_calls(message.get("tool_calls") or ()),
            usage=_usage(body.get("usage") or {}, prices),
            finish_reason=choice.get("finish_reason"),
            model=body.get("model") or model,
            reasoning=message.get("reasoning_content") or message.get("reasoning"),
            tokens=_tokens(body, choice),
        )
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise endpoint.malformed_error(f"{where}: {error.errors()[0]['msg']}") from None
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        what = f"{type(error).__name__} {error} in {str(body)[:200]}"
        raise endpoint.malformed_error(what) from None


def _error_within(body: dict[str, Json], endpoint: Endpoint) -> Exception:
    error = body["error"]
    code = error.get("code") if isinstance(error, dict) else None
    said = str(error.get("message") or error) if isinstance(error, dict) else str(error)
    if isinstance(code, int) and 400 <= code <= _LAST_ERROR_STATUS:
        return endpoint.status_error(code, said)
    return endpoint.malformed_error(f"an error under a successful status: {said}")


def _text(content: Json) -> str:
    """Return the text of a content that is text, null or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)


def _tool_calls(calls: Json) -> tuple[ToolCall, ...]:
    ids = [call.get("id") or "" for call in calls]
    # Ids that do not tell the calls apart are dropped; `Action` then names them itself.
    distinct = len(set(ids)) == len(ids) and "" not in ids
    return tuple(
        ToolCall(
            name=call["function"]["name"],
            arguments=parse_arguments(call["function"].get("arguments")),
            id=call_id if distinct else "",
        )
        for call, call_id in zip(calls, ids, strict=True)
    )


def _usage(usage: Json, prices: Prices | None) -> Usage:
    prompt = usage.get("prompt_tokens") or 0
    completion = usage.get("completion_tokens") or 0
    cost = usage.get("cost")
    if cost is None and prices is not None:
        cost = prices.cost(prompt, completion)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cost=cost)


def _tokens(body: Json, choice: Json) -> TokenTrace | None:
    """Return vLLM's token ids; log-probabilities only where there is one for each token."""
    prompt_ids, output_ids = body.get("prompt_token_ids"), choice.get("token_ids")
    if prompt_ids is None or output_ids is None:
        return None
    entries = (choice.get("logprobs") or {}).get("content") or ()
    logprobs = tuple(entry["logprob"] for entry in entries)
    matched = bool(output_ids) and len(logprobs) == len(output_ids)
    return TokenTrace(
        prompt_ids=tuple(prompt_ids),
        output_ids=tuple(output_ids),
        logprobs=logprobs if matched else None,
    )
