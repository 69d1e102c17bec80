"""The clinic's one moment, and reckoning with dates as its records write them."""

from datetime import date, datetime, timedelta

NOW = "2026-03-02 09:00"
"""The only moment of every episode, a Monday, which the policy names."""

TODAY = NOW[:10]
_MOMENT = "%Y-%m-%d %H:%M"


def moment(text: str) -> datetime:
    """Read a moment.

    Raises:
        ValueError: It is not one.
    """
    return datetime.strptime(text, _MOMENT)


def day(text: str) -> date:
    """Read a date, or a moment's date.

    Raises:
        ValueError: It is neither.
    """
    return date.fromisoformat(text[:10])


def written(when: datetime) -> str:
    """Write a moment as the records do."""
    return when.strftime(_MOMENT)


def plus_days(text: str, days: int) -> str:
    """Return the date so many days after a date; before it where negative."""
    return (day(text) + timedelta(days=days)).isoformat()


def hours_ahead(start: str) -> float:
    """Return how many hours from now something starts; negative where it has started."""
    return (moment(start) - moment(NOW)) / timedelta(hours=1)


def age_on(date_of_birth: str, when: str) -> int:
    """Return how many years old someone is on a date."""
    born, then = day(date_of_birth), day(when)
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))


def said_date(when: str) -> str:
    """Say a date or a moment's date, such as "5 March"."""
    return f"{day(when).day} {day(when):%B}"


def said_time(when: str) -> str:
    """Say a moment's time, such as "14:20"."""
    return when[11:]


def said(when: str) -> str:
    """Say a moment, such as "Thursday 5 March at 14:20"."""
    return f"{day(when):%A} {said_date(when)} at {said_time(when)}"
