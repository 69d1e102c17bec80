"""The provider's fixed content: plans, areas, and what is broken in which area."""

from datetime import date, datetime, timedelta
from typing import Any

NOW = datetime(2026, 3, 2, 10, 0)
"""When every conversation takes place, a Monday; the policy says so."""

AREAS = (
    *("Eastbank", "Harbour", "Hilltop", "Mill Lane", "Northgate"),
    *("Old Town", "Parkside", "Quarry", "Riverside", "Southfield"),
)


def _plan(
    name: str, technology: str, speed: tuple[int, int], price: float, months: int, **more: bool
) -> dict[str, Any]:
    down, up = speed
    plan = {"name": name, "technology": technology, "down": down, "up": up}
    terms = {"price": price, "minimum_months": months}
    return {**plan, **terms, "tv": more.get("tv", False), "sold": more.get("sold", True)}


PLANS = {
    "D16": _plan("Copper 16", "dsl", (16, 2), 19.9, 12),
    "D25": _plan("Copper 25 Classic", "dsl", (25, 5), 22.5, 12, sold=False),
    "D50": _plan("Copper 50", "dsl", (50, 10), 27.9, 12),
    "D50TV": _plan("Copper 50 with TV", "dsl", (50, 10), 37.9, 24, tv=True),
    "D100": _plan("Copper 100", "dsl", (100, 40), 34.9, 24),
    "F100": _plan("Fibre 100", "fibre", (100, 50), 32.4, 12),
    "F200": _plan("Fibre 200 Classic", "fibre", (200, 50), 36.0, 12, sold=False),
    "F300": _plan("Fibre 300", "fibre", (300, 100), 41.7, 12),
    "F300TV": _plan("Fibre 300 with TV", "fibre", (300, 100), 51.6, 24, tv=True),
    "F600": _plan("Fibre 600", "fibre", (600, 200), 54.9, 24),
}
"""Plans by id. Speeds in Mbit/s, prices in dollars a month; no new customers where not sold."""


def _outage(
    area: str, technology: str, started: str, ended: str | None, expected: str, cause: str
) -> dict[str, Any]:
    times = {"started": started, "expected_end": expected, "ended": ended}
    return {"area": area, "technology": technology, **times, "cause": cause}


OUTAGES = {
    "OUT-201": _outage(
        *("Hilltop", "dsl", "2025-12-18 09:00", "2025-12-22 21:00", "2025-12-21 12:00"),
        "flooded street cabinet",
    ),
    "OUT-204": _outage(
        *("Eastbank", "dsl", "2026-02-10 02:00", "2026-02-13 14:00", "2026-02-12 18:00"),
        "power supply of the exchange",
    ),
    "OUT-207": _outage(
        *("Mill Lane", "fibre", "2026-02-20 06:00", "2026-02-22 18:00", "2026-02-21 20:00"),
        "cable cut by an excavator",
    ),
    "OUT-209": _outage(
        *("Parkside", "fibre", "2026-02-25 08:00", "2026-02-26 03:00", "2026-02-25 22:00"),
        "failed switch",
    ),
    "OUT-211": _outage(
        *("Quarry", "dsl", "2026-03-01 22:40", None, "2026-03-03 13:00"),
        "fire in a street cabinet",
    ),
    "OUT-212": _outage(
        *("Harbour", "fibre", "2026-03-02 06:15", None, "2026-03-02 17:30"),
        "cable cut by roadworks",
    ),
}
"""Outages by id; `ended` is None while one lasts."""


def months_later(day: date, months: int) -> date:
    """Return the same day of the month some months later, held back to the 28th."""
    month = day.month - 1 + months
    return date(day.year + month // 12, month % 12 + 1, min(day.day, 28))


FIRST_VISIT_DAY = NOW.date() + timedelta(days=1)
WINDOWS = {"A": "08:00-12:00", "P": "13:00-17:00"}


def slot_id(area: str, day: str, window: str) -> str:
    """Return a visit slot's id, such as "QUA-0305-A"."""
    return f"{area[:3].upper()}-{day[5:7]}{day[8:10]}-{window}"


def all_slots() -> dict[str, dict[str, Any]]:
    """Return the technicians' free slots on the next eight working days."""
    days = [FIRST_VISIT_DAY + timedelta(days=number) for number in range(10)]
    working = [day.isoformat() for day in days if day.weekday() < 5]
    return {
        slot_id(area, day, window): {"area": area, "date": day, "window": hours, "visit": None}
        for position, area in enumerate(AREAS)
        for number, day in enumerate(working)
        for window, hours in WINDOWS.items()
        # Each area has a morning or an afternoon a day, and none on one day in four.
        if (number + position) % 4 and (number + position) % 2 == (window == "P")
    }
