"""Whether a person's own words agree to what was proposed to them, in English.

Words decide, clause by clause: a plain "yes" counts as the answer to a proposal only, "go ahead"
by itself; a "no" before it, a negation or a condition around it, or a later "wait" undo it. What
is neither leaves the matter open.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from agentgym_tools.words import Tokens, holds_any, tokens


class Verdict(StrEnum):
    """What somebody's words say to a proposal."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


_PLAIN = (
    *("yes", "yeah", "yep", "yup", "aye", "sure", "of course", "absolutely", "definitely"),
    *("certainly", "correct", "that's right", "that is right", "ok", "okay", "alright"),
    *("all right", "sounds good", "sounds great", "that works", "works for me", "fine"),
    "agreed",
)
_SURE = ("yes", "yeah", "yep", "yup")
_EXPRESS = (
    *("go ahead", "proceed", "i confirm", "confirmed", "i agree", "i approve", "please do"),
    *("do it", "do that", "you may", "you have my permission"),
)
_REFUSES = ("no", "nope", "nah", "never", "no thanks", "no thank you")
_NO_REFUSAL = (
    *("no problem", "no worries", "no objection", "no objections", "no rush", "no need to worry"),
    *("don't mind", "do not mind", "why not"),
)
_NEGATES = (
    *("not", "don't", "do not", "can't", "cannot", "won't", "isn't", "never", "didn't", "no"),
    *("doesn't", "wouldn't", "without", "neither"),
)
_WITHDRAWS = (
    *("please wait", "hold on", "hold off", "not yet", "changed my mind", "change my mind"),
    *("forget it", "never mind", "nevermind", "not sure"),
)
_CONDITION = ("if", "unless", "until", "before", "whether", "once", "when", "provided", "depends")
_ONLY_IF = ("only if", "as long as", "unless", "provided that", "on condition", "it depends")

_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_CLAUSE = re.compile(r"[,;:\u2013\u2014]|\s-\s|\bbut\b|\bhowever\b", re.IGNORECASE)


class _Clause(NamedTuple):
    words: Tokens
    question: bool


def verdict(text: str, *, asked: bool) -> Verdict:
    """Return what a person's words say to a proposal.

    Args:
        text: Their words.
        asked: Whether they were asked for agreement; see `listening.proposes`.
    """
    found = Verdict.OPEN
    for clause in _clauses(text):
        if clause.words[0] == "wait" or holds_any(clause.words, _WITHDRAWS):
            return Verdict.NO
        says = _says(clause, asked=asked)
        undone = says is Verdict.NO and holds_any(clause.words, _EXPRESS)
        if undone or found is Verdict.OPEN:
            found = says
    if found is Verdict.YES and holds_any(tokens(text), _ONLY_IF):
        return Verdict.OPEN
    return found


def _clauses(text: str) -> list[_Clause]:
    found = []
    for sentence in _SENTENCE.findall(text.replace("’", "'")):
        parts = [tokens(part) for part in _CLAUSE.split(sentence)]
        found += [_Clause(words, sentence.rstrip().endswith("?")) for words in parts if words]
    return found


def _says(clause: _Clause, *, asked: bool) -> Verdict:
    words = clause.words
    if holds_any(words, _NO_REFUSAL):
        return Verdict.YES if holds_any(words, _EXPRESS) else Verdict.OPEN
    agrees = holds_any(words, _EXPRESS) or (asked and holds_any(words, _PLAIN))
    if asked and words[0] in _REFUSES:
        return Verdict.NO
    if not agrees:
        return Verdict.OPEN
    if holds_any(words, _NEGATES):
        return Verdict.NO
    if clause.question:
        return Verdict.YES if asked and words[0] in _SURE and len(words) <= 2 else Verdict.OPEN
    return Verdict.OPEN if holds_any(words, _CONDITION) else Verdict.YES
