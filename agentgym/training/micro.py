"""Models small enough to learn on a processor: made from a configuration, with random weights."""

from typing import TYPE_CHECKING

from agentgym.training.config import ModelConfig

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM


def make_model(
    config: ModelConfig, tokenizer: "PreTrainedTokenizerFast", *, seed: int
) -> "Qwen3ForCausalLM":
    """Make a Qwen3 with random weights.

    Args:
        config: Its size.
        tokenizer: Its words.
        seed: Of its weights.
    """
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden_size,
        intermediate_size=4 * config.hidden_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        head_dim=config.hidden_size // config.heads,
        max_position_embeddings=config.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(shape)
