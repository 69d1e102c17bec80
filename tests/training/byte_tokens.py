"""A tokenizer of bytes, which reads and writes any text, with the chat templates of real models."""

from importlib.resources import files
from typing import Any

from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

SPECIAL = ("<|im_end|>", "<|im_start|>", "<|eot_id|>", "<|begin_of_text|>")


def template(name: str) -> str:
    """Return a chat template that TRL ships."""
    return (files("trl") / "chat_templates" / f"{name}.jinja").read_text("utf-8")


def byte_tokenizer(chat_template: str | None, *, end: str = "<|im_end|>") -> Any:
    """Return a tokenizer with one token a byte, and one for "ab", which encoding prefers.

    Args:
        chat_template: Its chat template.
        end: Which of the special tokens ends a turn.
    """
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate([*letters, "ab"])}
    tokenizer = Tokenizer(BPE(vocabulary, [("a", "b")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    kind: Any = PreTrainedTokenizerFast
    made = kind(
        tokenizer_object=tokenizer,
        eos_token=end,
        pad_token=end,
        additional_special_tokens=[token for token in SPECIAL if token != end],
        clean_up_tokenization_spaces=False,
    )
    made.chat_template = chat_template
    return made
