"""How customers put what they want: the sentences of `instructions.toml`."""

import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class Phrases(BaseModel):
    """Templates of instructions.

    Attributes:
        openings: Sentences around the thing asked for.
        things: How the parts of the thing may be put together.
        use_phrases: What it is for.
        limits: The price limit.
        paraphrases: Other words for attributes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    openings: tuple[str, ...]
    things: tuple[str, ...]
    use_phrases: tuple[str, ...]
    limits: tuple[str, ...]
    paraphrases: dict[str, tuple[str, ...]]


@cache
def phrases() -> Phrases:
    """Read the templates."""
    text = files("agentgym_webshop.goals").joinpath("instructions.toml").read_text("utf-8")
    return Phrases.model_validate(tomllib.loads(text))
