import pytest

from agentgym_tools.users.listening import orders, proposes, requests
from agentgym_tools.words import holds


@pytest.mark.parametrize(
    "text",
    [
        "I would move it to 5 March. Is that all right?",
        "Do I have your permission to book it?",
        "Can I make this change for you?",
        "If you agree, I'll cancel it.",
        "Just say yes and I'll do it.",
        "Is it OK if I book it for you?",
        "Does that sound good?",
        "So you'd like me to update your postcode to QS7 2DP, correct?",
        "Do you want me to end the contract?",
        "Let me know if that's right.",
        "Shall I go ahead? Please answer yes or no.",
    ],
)
def test_a_request_for_agreement_is_heard(text: str) -> None:
    assert proposes(text)


@pytest.mark.parametrize(
    "text",
    [
        "The correct date is 5 March.",
        "I moved it right away.",
        "You can ask at the desk if you like.",
        "Thank you, Mr Barlow.",
    ],
)
def test_a_statement_is_no_request_for_agreement(text: str) -> None:
    assert not proposes(text)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("Please restart the router.", True),
        ("Could you restart the router?", True),
        ("Now restart the router, and tell me what the lights show.", True),
        ("First, restart the router. Is the light green?", True),
        ("Did you already restart the router?", False),
        ("Can you check whether somebody had to restart the router?", False),
        ("And do you have to restart the router often?", False),
    ],
)
def test_a_question_is_no_order(text: str, order: bool) -> None:
    assert holds(orders(text), "restart the router") == order


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("What is your date of birth?", True),
        ("Please tell me:\n- your full name\n- your date of birth", True),
        ("I need your date of birth.", True),
        ("I have noted your date of birth. Anything else?", False),
        ("Your date of birth is on record.", False),
    ],
)
def test_a_detail_that_is_mentioned_is_not_asked_for(text: str, asked: bool) -> None:
    assert holds(requests(text), "date of birth") == asked


def test_no_phrase_spans_two_sentences() -> None:
    assert not holds(orders("Unplug the phone. Cable later."), "phone cable")
