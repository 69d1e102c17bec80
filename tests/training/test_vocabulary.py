"""Whole-word tokenizers: what is in them, and that text survives them."""

import pytest

from agentgym.agents.settings import TokenSettings
from agentgym.errors import UsageError
from agentgym.training.config import WORDS
from agentgym.training.vocabulary import SPECIAL, collect_words, make_tokenizer
from agentgym.trajectories.record import Trajectory
from agentgym.types import Limits
from tests.training.recorded import LOOK, episode, press

QUIET = TokenSettings(format="brackets", told=False)
EPISODES = [episode([LOOK, press("red")], grade=1, answers=("dark red",))]


def limits(episode: Trajectory) -> Limits:
    return Limits(turns=9)


def test_the_words_are_those_that_are_read_and_written() -> None:
    words = collect_words(EPISODES, QUIET, limits, pattern=WORDS)
    assert words == tuple(
        sorted(
            [
                "Light",
                " the",
                " lamp",
                " of",
                " t0",
                ".",
                "look",
                "[",
                "]",
                "Observation",
                ":",
                " dark",
                " red",
                "press",
                "red",
                "?",
            ]
        )
    )
    told = collect_words(EPISODES, TokenSettings(format="brackets"), limits, pattern=WORDS)
    assert {" 9", " turns", " tools"} <= set(told) - set(words)


def test_text_of_known_words_is_decoded_as_it_was() -> None:
    tokenizer = make_tokenizer(collect_words(EPISODES, QUIET, limits, pattern=WORDS), pattern=WORDS)
    text = "press[red] dark."
    ids = tokenizer.encode(text)
    assert [tokenizer.decode([token]) for token in ids] == ["press", "[", "red", "]", " dark", "."]
    assert tokenizer.decode(ids) == text
    assert tokenizer.encode("blue") == [tokenizer.unk_token_id]
    assert len(tokenizer) == len(SPECIAL) + 16


def test_a_pattern_may_spell() -> None:
    pattern = r"press|[a-z]|[^a-z]"
    words = collect_words(EPISODES, QUIET, limits, pattern=pattern)
    tokenizer = make_tokenizer(words, pattern=pattern)
    ids = tokenizer.encode("press[der]")
    assert [tokenizer.decode([token]) for token in ids] == ["press", "[", "d", "e", "r", "]"]


@pytest.mark.parametrize(
    ("pattern", "words"), [("[", "no regular expression"), (r"\w+", "does not cover")]
)
def test_a_pattern_that_will_not_do(pattern: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        collect_words(EPISODES, QUIET, limits, pattern=pattern)
