"""What the sentences of an agent are: questions, requests, or things to be done."""

import re
from collections.abc import Iterator

from agentgym_tools.words import Tokens, holds_any, tokens

_PROPOSES = (
    *("confirm", "proceed", "go ahead", "yes or no", "yes/no", "yes no", "do you agree"),
    *("shall i", "should i", "may i", "can i go", "would you like me to", "do you want me to"),
    *("is that correct", "is this correct", "is that right", "is this right", "do you approve"),
    *("ok with you", "okay with you", "is that ok", "is that okay", "does that work", "your ok"),
    *("is that all right", "would that be all right", "is it all right", "is it ok", "is it okay"),
    *("is that fine", "is this okay", "is this ok", "does that sound good", "sound good"),
    *("your permission", "your consent", "your approval", "your agreement", "your okay"),
    *("if you agree", "just say yes", "say yes", "is that what you want", "agreeable"),
    *("are you happy", "let me know if that", "does this look right", "does that look right"),
    *("can i make", "can i book", "can i do", "can i cancel", "can i change", "can i move"),
    *("are you sure", "do you really want", "do you want to", "would you like to"),
    *("may we", "shall we", "should we", "alright with you", "all right with you"),
    *("are you okay with", "ok to", "okay to", "reply yes", "approve", "please agree"),
)
_PROPOSES_IF_ASKED = ("correct", "right", "you want me to", "want me to", "like me to")

_REQUESTS = (
    *("please", "could you", "can you", "would you", "will you", "may i", "i need", "i will need"),
    *("i'll need", "tell me", "give me", "provide", "share", "let me know", "i'd need", "kindly"),
    *("i have to know", "i must know", "i require", "verify your", "confirm your"),
    *("not match", "don't match", "doesn't match", "didn't match", "once more", "try again"),
)

_QUESTION_WORDS = (
    "is|are|was|were|does|do|did|has|have|had|which|what|what's|how|who|where|when|why|isn't|aren't"
)
_OPENS_A_QUESTION = re.compile(
    rf"(?:^|[,;:–—-]\s*|\b(?:and|so|but|or|now|then|ok|okay)\s+)(?:{_QUESTION_WORDS})\b",
    re.IGNORECASE,
)
_ASKS_ABOUT = re.compile(
    r"\b(?:check|see|look|tell me|know|find out)\b[^.?!]{0,30}\b(?:whether|if|which|what|how)\b",
    re.IGNORECASE,
)
# From the start of a run of blanks only: else a long one would take its square in time.
_CLAUSES = re.compile(
    r"(?<!\s),?\s+(?:and then|and|then)\s+(?=tell|let|say|check|look|see)|;\s+", re.IGNORECASE
)
_WANTS = re.compile(r"\b(?:please|could you|can you|would you|will you)\b", re.IGNORECASE)


def proposes(text: str) -> bool:
    """Whether an agent asks for the user's agreement to something."""
    return holds_any(tokens(text), _PROPOSES) or holds_any(requests(text), _PROPOSES_IF_ASKED)


def requests(text: str) -> Tokens:
    """Return the tokens of the sentences that ask for something, one after the other."""
    return _of(part for part in _sentences(text) if _is_request(part))


def orders(text: str) -> Tokens:
    """Return the tokens of the sentences that are no mere questions, one after the other.

    "Could you restart the router?" asks to do it; "Did you restart the router?" does not.
    """
    clauses = (part for sentence in _sentences(text) for part in _CLAUSES.split(sentence))
    return _of(part for part in clauses if not _is_question(part))


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+|\n{2,}", text.replace("’", "'").strip())


def _is_request(sentence: str) -> bool:
    return "?" in sentence or holds_any(tokens(sentence), _REQUESTS)


def _is_question(sentence: str) -> bool:
    if _ASKS_ABOUT.search(sentence):
        return True
    asks = sentence.endswith("?") and _OPENS_A_QUESTION.search(sentence) is not None
    return asks and not _WANTS.search(sentence)


def _of(parts: Iterator[str]) -> Tokens:
    """Join sentences by a mark that no phrase holds, so that none spans two of them."""
    joined: list[str] = []
    for part in parts:
        joined += [*tokens(part), ""]
    return tuple(joined)
