"""Whether a person's words agree to a proposal."""

import pytest

from agentgym_tools.users.agreement import Verdict, verdict
from agentgym_tools.users.listening import proposes

YES, NO, OPEN = Verdict.YES, Verdict.NO, Verdict.OPEN


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Yes.", YES),
        ("YES", YES),
        ("Yes, please go ahead.", YES),
        ("Sure thing", YES),
        ("That's correct.", YES),
        ("Sounds good to me!", YES),
        ("Yes, can you do that?", YES),
        ("Yes, go ahead. No, nothing else.", YES),
        ("No problem, go ahead.", YES),
        ("I don't mind, go ahead", YES),
        ("Yes, please cancel that order.", YES),
        ("Yes, I can wait for the refund.", YES),
        ("No.", NO),
        ("No, don't go ahead.", NO),
        ("Please do not proceed.", NO),
        ("That is not correct.", NO),
        ("Absolutely not", NO),
        ("I can’t say yes to that yet", NO),
        ("I never said yes", NO),
        ("Yes... wait, which card?", NO),
        ("Yes please. Actually, I changed my mind.", NO),
        ("Not sure yet.", NO),
        ("Ok, so what would it cost?", OPEN),
        ("Is that ok?", OPEN),
        ("Before you go ahead, what is the fee?", OPEN),
        ("Yes, but only if it's free.", OPEN),
        ("I don't have a gift card.", OPEN),
        ("Yesterday I asked for it.", OPEN),
        ("Nobody told me.", OPEN),
        ("My zip code is 80201.", OPEN),
        ("", OPEN),
        ("?!", OPEN),
    ],
)
def test_an_answer_to_a_proposal(text: str, says: Verdict) -> None:
    assert verdict(text, asked=True) is says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Yes.", OPEN),
        ("Yes, I also want to cancel another one.", OPEN),
        ("No, I said the blue one.", OPEN),
        ("Please go ahead and do it.", YES),
        ("Please don't do it.", NO),
    ],
)
def test_words_that_nothing_was_proposed_before(text: str, says: Verdict) -> None:
    assert verdict(text, asked=False) is says


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("I would cancel #W1. Do you confirm (yes/no)?", True),
        ("Shall I go ahead?", True),
        ("Is there anything else I can do for you?", False),
        ("What is your zip code?", False),
    ],
)
def test_what_is_a_proposal(text: str, asks: bool) -> None:
    assert proposes(text) is asks
