"""Words compared as people mean them: whole tokens, numbers, dates and times in one form."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

Tokens = tuple[str, ...]

MOST_WORDS, MOST_CHARACTERS = 400, 20_000
"""Tokens and characters of one message that a person takes in; a longer one tells them nothing."""

_LONGEST_KEPT = 1000
"""Characters of a text whose tokens are kept, as phrases and most messages come up again."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
_NUMBERS = {name: str(value) for value, name in enumerate(_SMALL)}

_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + "|sept"
_TH = "(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year{}>\d{{4}})\b)?"
_HALF = r"\s*(?P<half{}>[ap])\.?m\b\.?"
_PATTERNS = {
    "iso": r"\b\d{4}-\d{2}-\d{2}(?!\d)(?:T(?=\d))?",
    "dotted": r"(?<![\d.])(?P<day3>\d{1,2})\.(?P<month3>\d{1,2})\.(?P<year3>\d{4})(?!\d)",
    "dmy": rf"\b(?P<day1>\d{{1,2}}){_TH}\s+(?:of\s+)?(?P<month1>{_MONTH})\b\.?{_YEAR.format(1)}",
    "mdy": rf"\b(?P<month2>{_MONTH})\b\.?\s+(?P<day2>\d{{1,2}})(?![\d:]){_TH}{_YEAR.format(2)}",
    "clock": rf"(?<!\d)(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::\d{{2}})?(?:{_HALF.format(1)})?",
    "hourly": rf"\b(?P<hour2>\d{{1,2}}){_HALF.format(2)}",
    "number": r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!\w)",
    "word": r"[^\W_]+(?:['\-_.#/][^\W_]+)*",
}
_TOKEN = re.compile("|".join(f"(?P<{k}>{v})" for k, v in _PATTERNS.items()), re.IGNORECASE)


def tokens(text: str) -> Tokens:
    """Split a text into comparable tokens.

    Case and punctuation do not count. "1,250.00" and "1250" are one token, as are "two" and "2",
    "2026-03-05", "5 March" and "Mar. 5th", "2:30 pm" and "14:30". A number is never found inside
    of another.
    """
    return _kept_tokens(text) if len(text) <= _LONGEST_KEPT else tuple(_split(text))


def taken_in(message: str) -> Tokens | None:
    """Return a message's tokens; None where it is too long to be taken in."""
    if len(message) > MOST_CHARACTERS:
        return None
    found = tokens(message)
    return found if len(found) <= MOST_WORDS else None


@lru_cache(maxsize=16384)
def _kept_tokens(text: str) -> Tokens:
    return tuple(_split(text))


def _split(text: str) -> Iterator[str]:
    return (_form(match) for match in _TOKEN.finditer(text.replace("’", "'")))


def _form(match: re.Match[str]) -> str:
    kind = next(name for name in _PATTERNS if match[name] is not None)
    match kind:
        case "iso":
            return f"@{match['iso'][:10]}"
        case "dotted":
            return f"@{match['year3']}-{int(match['month3']):02}-{int(match['day3']):02}"
        case "dmy":
            return _date(match["year1"], match["month1"], match["day1"])
        case "mdy":
            return _date(match["year2"], match["month2"], match["day2"])
        case "clock":
            return _time(match["hour"], match["minute"], match["half1"])
        case "hourly":
            return _time(match["hour2"], "00", match["half2"])
        case "number":
            return _number(match["number"])
        case _:
            word = match["word"].casefold().removesuffix("'s")
            return _NUMBERS.get(word, word)


def _date(year: str | None, month: str, day: str) -> str:
    number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(month[:3].casefold()))
    return f"@{year}-{number:02}-{int(day):02}" if year else f"@{number:02}-{int(day):02}"


def _time(hour: str, minute: str, half: str | None) -> str:
    value = int(hour)
    if half is not None:
        value = value % 12 + (12 if half.casefold() == "p" else 0)
    return f"{value}:{minute}"


def _number(text: str) -> str:
    digits = text.replace(",", "")
    whole, _, part = digits.partition(".")
    # By text, as Python makes no integer of more than some thousand digits.
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    return f"{whole}.{part}" if part else whole


def holds(text: Tokens, phrase: str) -> bool:
    """Whether a phrase's tokens stand in a text one after the other."""
    wanted = tokens(phrase)
    if not wanted:
        return False
    width = len(wanted)
    return any(
        all(map(_same, text[at : at + width], wanted))
        for at in _places(text, wanted[0])
        if at + width <= len(text)
    )


def _places(text: Tokens, wanted: str) -> Iterator[int]:
    """Yield where a token stands in a text."""
    if wanted.startswith("@"):
        yield from (at for at, token in enumerate(text) if _same(token, wanted))
        return
    at = -1
    for _ in range(text.count(wanted)):
        at = text.index(wanted, at + 1)
        yield at


def _same(one: str, other: str) -> bool:
    """Whether two tokens are one; a date without a year is that day of any year."""
    if one == other:
        return True
    dates = one.startswith("@") and other.startswith("@") and len(one) != len(other)
    return dates and one[-5:] == other[-5:]


def holds_any(text: Tokens, phrases: Iterable[str]) -> bool:
    """Whether any of the phrases stands in a text."""
    return any(holds(text, phrase) for phrase in phrases)


def holds_all(text: Tokens, parts: Sequence[Sequence[str]]) -> bool:
    """Whether each part stands in a text in one of its wordings."""
    return all(holds_any(text, wordings) for wordings in parts)
