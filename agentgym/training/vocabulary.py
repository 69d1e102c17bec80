"""A tokenizer whose tokens are whole words: those that were met, and no others.

A model of some thousand parameters cannot spell. Where one token is a whole word, it needs to
sample only a few to make a move, and what it writes at random is often a legal one.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from agentgym.agents.chat_tokens import END, PLAIN_RESPONSE, PLAIN_TEMPLATE, ROLES
from agentgym.agents.settings import TokenSettings
from agentgym.errors import UsageError
from agentgym.training.offline.imitation import Imitator
from agentgym.trajectories.record import Trajectory
from agentgym.types import Limits

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, UNKNOWN = "<|pad|>", "<|unknown|>"
SPECIAL = (PAD, UNKNOWN, END, *ROLES)


def collect_words(
    episodes: Iterable[Trajectory],
    settings: TokenSettings,
    limits: Callable[[Trajectory], Limits],
    *,
    pattern: str,
) -> tuple[str, ...]:
    """Return every word that a model would read or write in some episodes, sorted.

    Args:
        episodes: What was played.
        settings: How the model plays.
        limits: What it is told that it may spend on an episode.
        pattern: Regular expression of one word.

    Raises:
        UsageError: The pattern is no regular expression, or leaves out characters.
    """
    try:
        word = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no regular expression: {error}.") from error
    reader = _Reader(make_tokenizer((), pattern=pattern))
    imitator = Imitator(reader, settings)
    for episode in episodes:
        imitator.traces(episode, limits(episode))
    words: set[str] = set()
    marks = re.compile("|".join(map(re.escape, SPECIAL)))
    for text in sorted(part for read in reader.texts for part in marks.split(read)):
        found = word.findall(text)
        if "".join(found) != text:
            raise UsageError(
                f"The pattern {pattern!r} does not cover {text[:60]!r}.",
                remedy=r"End it with | ?[^\w\s]|\s+ and use no groups.",
            )
        words.update(found)
    return tuple(sorted(words))


def make_tokenizer(words: Iterable[str], *, pattern: str) -> "PreTrainedTokenizerFast":
    """Make a tokenizer of words, with a plain chat template.

    Decoding gives back exactly the text that was encoded, as far as its words are known.

    Args:
        words: What has a token of its own.
        pattern: Regular expression of one word.
    """
    from tokenizers import Regex, Tokenizer
    from tokenizers.decoders import Fuse
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import PreTrainedTokenizerFast

    ids = {word: number for number, word in enumerate(dict.fromkeys((*SPECIAL, *words)))}
    tokenizer = Tokenizer(WordLevel(ids, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Split(Regex(pattern), behavior="isolated")
    tokenizer.decoder = Fuse()
    made: Any = PreTrainedTokenizerFast
    wrapped: PreTrainedTokenizerFast = made(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        additional_special_tokens=list(ROLES),
        chat_template=PLAIN_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
    wrapped.response_template = PLAIN_RESPONSE  # for TRL, where it keeps the conversation itself
    return wrapped


class _Reader:
    """Stands in for a tokenizer, and keeps every text that it is to encode."""

    def __init__(self, tokenizer: "PreTrainedTokenizerFast") -> None:
        self._tokenizer = tokenizer
        self.chat_template: Any = tokenizer.chat_template
        self.eos_token_id: Any = tokenizer.eos_token_id
        self.texts: set[str] = set()

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        return self._tokenizer.apply_chat_template(conversation, **options)

    def encode(self, text: Any, **options: Any) -> Any:
        self.texts.add(text)
        return [0]

    def decode(self, token_ids: Any, **options: Any) -> Any:
        return ""

    def get_vocab(self) -> dict[str, int]:
        return self._tokenizer.get_vocab()
