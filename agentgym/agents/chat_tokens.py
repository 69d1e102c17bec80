"""Conversations as token ids, by a tokenizer's chat template, without making any twice."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from jinja2 import TemplateError

from agentgym.agents.formats import Wire
from agentgym.errors import UsageError
from agentgym.types import Json

ROLES = ("<|system|>", "<|user|>", "<|tool|>", "<|assistant|>")
END = "<|end|>"
"""Ends every message of the plain template; its tokenizer's end of sequence."""

PLAIN_TEMPLATE = """\
{%- for message in messages -%}
{{- '<|' + message.role + '|>' + (message.content or '') -}}
{%- for call in message.tool_calls or [] -%}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' -}}
{{- call.function.arguments if call.function.arguments is string -}}
{{- call.function.arguments | tojson if call.function.arguments is not string -}}
{{- '}</tool_call>' -}}
{%- endfor -%}
{{- '<|end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}
"""
"""One token a role and one for the end: for tokenizers of few words that bring no template.

Tools are not shown; calls are written as `HermesFormat` reads them.
"""

PLAIN_RESPONSE: dict[str, Json] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|assistant|>",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|end\|>\s*", "content": "text"},
    },
}
"""How transformers reads what a model of the plain template wrote: its `response_template`."""

_WORD = re.compile("[A-Za-z0-9]+")
_WORDS = "@words@"
"""Stands for what the assistant said, where only what comes after it is wanted."""


class ChatTokenizer(Protocol):
    """What is needed of a Hugging Face tokenizer."""

    chat_template: Any
    eos_token_id: Any

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """Render a conversation."""

    def encode(self, text: Any, **options: Any) -> Any:
        """Return the tokens of a text."""

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """Return the text of tokens."""

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""


class ChatTokens:
    """A conversation's tokens: the opening, and what comes between one sampled turn and the next.

    Args:
        tokenizer: Brings the chat template; `PLAIN_TEMPLATE` is taken where it brings none and
            knows the template's tokens.
        template: A chat template in place of the tokenizer's own.
        options: Further variables of the template, such as `enable_thinking`.

    Raises:
        UsageError: There is no template, or it renders the end of a turn differently once
            another message follows, so that a conversation cannot be gone on with.
    """

    def __init__(
        self,
        tokenizer: ChatTokenizer,
        template: str | None = None,
        options: Mapping[str, Json] | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._template = template or tokenizer.chat_template or _plain(tokenizer)
        self._options = dict(options or {})
        self.eos_id: int | None = tokenizer.eos_token_id
        self._has_tools = False
        said = {"role": "assistant", "content": _WORDS}
        _, found, self._closing = self._render([_ASKED, said], goes_on=False).rpartition(_WORDS)
        if not found:
            raise UsageError(
                "The chat template leaves out what an assistant says.",
                remedy="Give another as chat_template.",
            )
        self.following(said, [_ASKED])  # a template that will not do is refused now

    def opening(self, messages: Wire, tools: Wire) -> tuple[int, ...]:
        """Return the first prompt.

        Args:
            messages: OpenAI chat messages.
            tools: OpenAI tools for the template to show.

        Raises:
            UsageError: The template refuses the messages or leaves out one of them, or it has no
                tools.
        """
        text = self._render(messages, goes_on=True, tools=tools)
        _check_shown(messages, text)
        if tools and not self._has_tools:
            self._check_tools(messages, tools, text)
            self._has_tools = True
        return self._encode(text)

    def following(
        self, said: Mapping[str, Json], new: Wire, last_id: int | None = None
    ) -> tuple[int, ...]:
        """Return the tokens from the end of a sampled turn to the beginning of the next.

        They are the difference between the template's text with and without the new messages.

        Args:
            said: The turn, as a message; its words do not matter, its calls may.
            new: The messages that answer it.
            last_id: The last token sampled; where it is the one that ends a turn, it is not
                repeated.

        Raises:
            UsageError: The template refuses the messages or leaves out one of them, or does not
                preserve prefixes.
        """
        turn = {**said, "content": _WORDS}
        try:
            before, after = self._around(turn, new)
        except UsageError:
            calls = turn.get("tool_calls") or []
            if len(calls) < 2:
                raise
            # Some templates know one call a turn; that the model made more is for it to be told.
            before, after = self._around({**turn, "tool_calls": calls[:1]}, new)
        if not after.startswith(before):
            raise UsageError(
                f"The chat template is not prefix-preserving: after an assistant's words it "
                f"writes {before[:40]!r}, and once a message follows {after[:40]!r}.",
                remedy="Give a training variant as chat_template, such as those of "
                "trl.chat_template_utils.get_training_chat_template(tokenizer).",
            )
        _check_shown(new, after[len(before) :])
        ids = self._encode(self._closing + after[len(before) :])
        return ids[1:] if ids[:1] == (last_id,) else ids

    def shown(self, said: Mapping[str, Json]) -> str:
        """Return a turn as the template shows it, in the words that a model's tokens are read as.

        Args:
            said: The turn, as a message.
        """
        return self.text(self._encode(self._render([_ASKED, said], goes_on=False)))

    def written(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a turn that somebody wrote, with the one that ends it."""
        end = () if self.eos_id is None else (self.eos_id,)
        return self._encode(text) + end

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of sampled tokens, without special ones."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def _around(self, turn: Mapping[str, Json], new: Wire) -> tuple[str, str]:
        """Return what the template writes after a turn's words, without and with what follows."""
        before = self._render([_ASKED, turn], goes_on=False)
        after = self._render([_ASKED, turn, *new], goes_on=True)
        if _WORDS in before and _WORDS in after:  # some templates drop words beside calls
            return before.rpartition(_WORDS)[2], after.rpartition(_WORDS)[2]
        return before, after

    def _check_tools(self, messages: Wire, tools: Wire, text: str) -> None:
        """Refuse, before the first call is made, a template that knows no tools or no answers."""
        if self._template != PLAIN_TEMPLATE and self._render(messages, goes_on=True) == text:
            raise UsageError(
                "The chat template does not show the tools.",
                remedy="Use the format react or brackets, or another chat template.",
            )
        function = {"name": tools[0]["function"]["name"], "arguments": "{}"}
        call = {"id": "call_0", "type": "function", "function": function}
        answer = {"role": "tool", "content": "ok", "tool_call_id": "call_0"}
        self.following({"role": "assistant", "tool_calls": [call]}, [answer])

    def _render(
        self, messages: Sequence[Mapping[str, Json]], *, goes_on: bool, tools: Wire | None = None
    ) -> str:
        try:
            rendered = self._tokenizer.apply_chat_template(
                _for_template(messages),
                tools=tools or None,
                chat_template=self._template,
                add_generation_prompt=goes_on,
                tokenize=False,
                **self._options,
            )
        except (TemplateError, TypeError) as error:  # the template's own code may raise either
            roles = ", ".join(str(message["role"]) for message in messages)
            raise UsageError(
                f"The chat template refuses messages of the roles {roles}: {error}",
                remedy="Use the format react or brackets, or another chat template.",
            ) from error
        return str(rendered)

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))


_ASKED: dict[str, Json] = {"role": "user", "content": "?"}


def _plain(tokenizer: ChatTokenizer) -> str:
    if not {*ROLES, END} <= tokenizer.get_vocab().keys():
        raise UsageError(
            "The tokenizer has no chat template.",
            remedy=f"Give one, or put {' '.join(ROLES)} {END} into its vocabulary.",
        )
    return PLAIN_TEMPLATE


def _check_shown(messages: Wire, text: str) -> None:
    """Refuse a template that has left out what the environment said."""
    for message in messages:
        if message["role"] == "assistant":
            continue
        word = _WORD.search(_flat(message["content"]))
        if word is not None and word[0] not in text:
            raise UsageError(
                f"The chat template leaves out a message of the role {message['role']}.",
                remedy="Use the format react or brackets, or another chat template.",
            )


def _flat(content: Json) -> str:
    """Return content of text parts as the one text that every template takes."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return str(content or "")


def _for_template(messages: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """Return messages as chat templates want them: arguments parsed, answers named."""
    names: dict[str, str] = {}
    shown: list[dict[str, Json]] = []
    for message in messages:
        message = {**message, "content": _flat(message.get("content"))}
        if calls := message.get("tool_calls"):
            names |= {call["id"]: call["function"]["name"] for call in calls}
            message["tool_calls"] = [with_object(call) for call in calls]
        if message["role"] == "tool":
            message["name"] = names.get(message.get("tool_call_id", ""), "")
        shown.append(message)
    return shown


def with_object(call: Mapping[str, Json]) -> dict[str, Json]:
    """Return a call in wire form with an object for its arguments.

    Chat templates write an argument that is JSON text as a quoted string.
    """
    function = call["function"]
    return {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}
