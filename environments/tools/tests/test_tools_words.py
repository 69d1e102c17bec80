from collections.abc import Sequence
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agentgym_tools.script import Wish
from agentgym_tools.words import MOST_WORDS, holds, holds_all, holds_any, taken_in, tokens


@pytest.mark.parametrize(
    "ways",
    [
        ("1250", "1,250", "1,250.00", "$1250.0", "€1,250"),
        ("25", "25.0", "25.00", "$25."),
        ("two", "2", "Two", "2.0"),
        (
            "2026-03-05",
            "5 March",
            "March 5",
            "5th of March",
            "Mar. 5th, 2026",
            "05 mar 2026",
            "5.3.2026",
        ),
        ("2:30 pm", "14:30", "2:30pm", "2:30 p.m."),
        ("9 am", "9:00", "9am", "09:00", "9 a.m."),
        ("12 am", "0:00", "12:00 am"),
        ("Dr. Okafor's", "dr okafor"),
        ("order #W123", "ORDER W123"),
    ],
)
def test_one_thing_said_in_many_ways_is_one_thing(ways: Sequence[str]) -> None:
    for way in ways:
        assert all(holds(tokens(way), other) for other in ways)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("It costs 100.", "10"),
        ("It costs 10.50.", "10"),
        ("It costs 1,100.", "100"),
        ("Order A1-20 is here.", "20"),
        ("the unpaid bill", "paid"),
        ("on 15 March", "5 March"),
        ("on 5 March 2027", "2026-03-05"),
        ("at 12:30", "2:30"),
        ("half price, no fee", "fee no"),
        ("anything", ""),
    ],
)
def test_a_phrase_is_found_whole_or_not_at_all(text: str, phrase: str) -> None:
    assert not holds(tokens(text), phrase)


def test_phrases_are_found_in_order_and_next_to_each_other() -> None:
    text = tokens("Your late fee is $35.00, due on March 12th at 9:00 am.")
    assert holds(text, "late fee")
    assert holds_any(text, ("no fee", "35"))
    assert holds_all(text, (("12 March", "tomorrow"), ("9 am",), ("35", "40")))
    assert not holds_all(text, (("12 March",), ("10 am",)))


@given(st.integers(0, 10**9), st.integers(0, 99))
def test_amounts_match_in_every_usual_form(whole: int, cents: int) -> None:
    amount = f"{whole}.{cents:02}"
    said = tokens(f"That makes ${whole:,}.{cents:02} in all")
    assert holds(said, amount)
    assert not holds(said, f"{whole + 1}.{cents:02}")


def test_a_number_may_have_more_digits_than_python_converts() -> None:
    digits = "7" * 5000
    assert holds(tokens(f"It is 000{digits}.50."), f"{digits}.5")


@pytest.mark.parametrize("word", ["no", "quintessentially"])
def test_a_message_is_taken_in_up_to_a_number_of_words(word: str) -> None:
    message = " ".join([word] * MOST_WORDS)
    assert taken_in(message) == tokens(message)
    assert taken_in(f"{message} more") is None
    assert taken_in("." * 100_000) is None


@given(st.dates(min_value=date(1900, 1, 1)))
def test_dates_match_in_every_usual_form(day: date) -> None:
    for form in ("%d %B %Y", "%B %d, %Y", "%b %d", "%d %b"):
        assert holds(tokens(f"on {day.strftime(form)} at noon"), day.isoformat())


@given(st.text())
def test_any_text_can_be_split(text: str) -> None:
    assert all(tokens(text))
    assert tokens(text) == tokens(text.upper()) or not text.isascii()


@pytest.mark.parametrize("missing", [{"says": ()}, {"insists": ((),)}, {"agrees": ((),)}])
def test_nobody_is_without_words(missing: dict[str, Sequence[Sequence[str]]]) -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        Wish.model_validate({"says": ("Hello.",), **missing})
