"""A railway: a network of stations, the trips on it and how late they ran, and who paid.

Planted on purpose: an island the network does not reach, lines without trips or stops,
stations without lines, trips without a driver, delays that were never recorded, trains that
ran while in the workshop, drivers on two trips at once and passengers of one name.
"""

import random
import sqlite3
from collections.abc import Iterator, Sequence

from agentgym_sql.databases.generate import (
    Row,
    day,
    insert,
    later,
    maybe,
    person,
    skewed,
    weighted,
)
from agentgym_sql.databases.rail_reference import (
    IDLE_LINES,
    KEPT,
    ROUTES,
    SCHEMA,
    TRAIN_TYPES,
    UNSERVED,
)

__all__ = ["SCHEMA", "build"]

DRIVERS = 28
TRAINS = 30
TRIPS = 380
PASSENGERS = 280
TICKETS = 1500
FIRST_DAY = "2024-01-01"
LAST_DAY = "2024-03-31"


def build(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Create and fill the rail database.

    Args:
        connection: An empty database.
        rng: The only source of chance.
    """
    connection.executescript(SCHEMA)
    stations = _stations(rng)
    stops = list(_line_stops(rng, {row[1]: row[0] for row in stations}))
    trains, drivers = _trains(rng), _drivers(rng, len(stations))
    trips = _trips(rng, trains)
    trip_stops = list(_trip_stops(rng, trips, stops))
    insert(connection, "stations", stations)
    insert(connection, "rail_lines", _lines(rng))
    insert(connection, "line_stops", stops)
    insert(connection, "train_types", TRAIN_TYPES)
    insert(connection, "trains", trains)
    insert(connection, "drivers", drivers)
    insert(connection, "trips", trips)
    insert(connection, "trip_stops", trip_stops)
    insert(connection, "passengers", _passengers(rng, len(stations)))
    insert(connection, "tickets", _tickets(rng, trips, trip_stops))
    insert(connection, "maintenance_jobs", _jobs(rng, trips))


def _stations(rng: random.Random) -> list[Row]:
    names = sorted({*UNSERVED, *(name for route in ROUTES.values() for name in route)})
    rng.shuffle(names)
    return [
        (
            number,
            name,
            _city(name),
            rng.randint(1, 5),
            maybe(rng, 0.9, rng.choice((1, 2, 2, 3, 4, 6))),
            int(rng.random() < 0.6),
        )
        for number, name in enumerate(names, start=1)
    ]


def _city(station: str) -> str:
    city = station.split(" ")[0]
    if city in ("Orr", "Saint"):
        return "Saint Orr"
    return "Kingsport" if city in ("Ferry", "Lighthouse") else city


def _lines(rng: random.Random) -> list[Row]:
    return [
        (number, name, day(rng, "1955-01-01", "2019-12-31") if route else None)
        for number, (name, route) in enumerate(ROUTES.items(), start=1)
    ]


def _line_stops(rng: random.Random, ids: dict[str, int]) -> Iterator[Row]:
    """Each longer line leaves out one of its minor stops, by chance."""
    for line_id, route in enumerate(ROUTES.values(), start=1):
        minor = [name for name in route[1:-1] if name not in KEPT]
        skipped = rng.choice(minor) if len(route) > 4 and rng.random() < 0.7 else None
        km = minutes = 0
        for number, name in enumerate((n for n in route if n != skipped), start=1):
            if number > 1:
                step = rng.randint(3, 24)
                km, minutes = km + step, minutes + step * 3 // 4 + rng.randint(2, 4)
            yield line_id, number, ids[name], km, minutes


def _trains(rng: random.Random) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, TRAINS + 1):
        kind = number if number <= 4 else rng.choice((1, 1, 1, 2, 3, 3, 4))
        since = day(rng, "1996-01-01", "2020-12-31")
        retired = maybe(rng, 0.12, day(rng, "2022-01-01", "2024-02-15"))
        rows.append((number, kind, f"T{100 + number}", since, retired))
    return rows


def _drivers(rng: random.Random, stations: int) -> list[Row]:
    """Mentors come first and mentor at most one level below them at a time."""
    rows: list[Row] = []
    for number in range(1, DRIVERS + 1):
        mentor = maybe(rng, 0.85, rng.randint(1, min(number - 1, 12))) if number > 3 else None
        name = rows[1][1] if number == DRIVERS else person(rng)
        home = maybe(rng, 0.9, rng.randint(1, stations))
        rows.append((number, name, day(rng, "2001-01-01", "2023-10-31"), mentor, home))
    return rows


def _trips(rng: random.Random, trains: Sequence[Row]) -> list[Row]:
    """Two drivers and a train stay idle; now and then a driver gets a second trip that day."""
    running = [number for number, name in enumerate(ROUTES, start=1) if name not in IDLE_LINES]
    drivers = rng.sample(range(1, DRIVERS + 1), DRIVERS - 2)
    rows: list[Row] = []
    for number in range(1, TRIPS + 1):
        line = running[number - 1] if number <= len(running) else skewed(rng, running, 1.2)
        on = day(rng, FIRST_DAY, LAST_DAY)
        driver = maybe(rng, 0.94, skewed(rng, drivers, 1.3))
        if rows and rng.random() < 0.05:
            driver, on = rows[-1][3], rows[-1][4]
        usable = [row[0] for row in trains[1:] if row[4] is None or row[4] > on]
        status = weighted(rng, {"ran": 86, "cut_short": 6, "cancelled": 8})
        way = rng.choice(("outbound", "inbound"))
        rows.append((number, line, skewed(rng, usable, 1.3), driver, on, way, status))
    return rows


def _trip_stops(
    rng: random.Random, trips: Sequence[Row], line_stops: Sequence[Row]
) -> Iterator[Row]:
    before: Row = ()
    leaves = ""
    for trip_id, line_id, _train, driver, on, way, status in trips:
        route = [stop for stop in line_stops if stop[0] == line_id]
        clash = before == (driver, on)
        leaves = later(leaves, minutes=15) if clash else _departure(rng, on)
        before = (driver, on)
        end = route[-1][4]
        if way == "inbound":
            route.reverse()
        reached = {"ran": len(route), "cut_short": len(route) - 1, "cancelled": 0}[status]
        delay = rng.choice((0, 0, 0, 0, 1, 2, 3, 5, 12))
        for number, stop in enumerate(route, start=1):
            passed = stop[4]
            at = later(leaves, minutes=end - passed if way == "inbound" else passed)
            recorded = number <= reached and rng.random() < 0.95
            yield trip_id, number, stop[2], at, delay if recorded else None
            delay = max(0, delay + rng.choice((-2, -1, -1, 0, 0, 0, 1, 2, 3, 9)))


def _departure(rng: random.Random, on: str) -> str:
    return later(f"{on} 05:00:00", minutes=15 * rng.randrange(60))


def _passengers(rng: random.Random, stations: int) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, PASSENGERS + 1):
        referrer = rng.randint(1, number - 1) if number > 5 and rng.random() < 0.4 else None
        name = rng.choice(rows)[1] if number % 40 == 0 else person(rng)
        card = weighted(rng, {"saver": 30, "annual": 12, "student": 18, None: 40})
        home = maybe(rng, 0.85, rng.randint(1, stations))
        rows.append((number, name, maybe(rng, 0.93, _birthday(rng, card)), card, home, referrer))
    return rows


def _birthday(rng: random.Random, card: str | None) -> str:
    """Some student cards are held by people long past thirty."""
    if card == "student" and rng.random() < 0.85:
        return day(rng, "1996-01-01", "2007-12-31")
    return day(rng, "1941-01-01", "2007-12-31")


def _tickets(rng: random.Random, trips: Sequence[Row], trip_stops: Sequence[Row]) -> list[Row]:
    calls: dict[int, int] = {}
    for stop in trip_stops:
        calls[stop[0]] = stop[1]
    travellers = rng.sample(range(1, PASSENGERS + 1), PASSENGERS * 4 // 5)
    sold = rng.sample(trips, len(trips) * 9 // 10)
    rows: list[Row] = []
    for number in range(1, TICKETS + 1):
        trip = skewed(rng, sold, 1.3)
        start, end = sorted(rng.sample(range(1, calls[trip[0]] + 1), 2))
        seat = weighted(rng, {"second": 80, "first": 20})
        price = (end - start) * rng.choice((250, 300, 350, 450)) * (2 if seat == "first" else 1)
        share = {"ran": 0.05, "cut_short": 0.3, "cancelled": 0.7}[trip[6]]
        refund = maybe(rng, share, rng.choice((price, price, price // 2)))
        buyer = maybe(rng, 0.9, skewed(rng, travellers, 1.5))
        bought = later(trip[4], days=-rng.choice((0, 0, 1, 3, 7, 20, 45)))
        rows.append((number, trip[0], buyer, start, end, seat, price, bought, refund))
    return rows


def _jobs(rng: random.Random, trips: Sequence[Row]) -> list[Row]:
    """One job in eight covers a day on which its train ran; a few are open since last year."""
    kinds = ("brakes", "cleaning", "doors", "inspection", "wheels")
    rows: list[Row] = []
    for number in range(1, 171):
        train, start = rng.randint(1, TRAINS - 1), day(rng, "2023-06-01", "2024-03-31")
        if rng.random() < 0.125:
            trip = rng.choice(trips)
            train, start = trip[2], trip[4]
        length = rng.choice((0, 0, 1, 2, 3, 5, 9))
        end = maybe(rng, 0.97, later(start, days=length))
        if number % 50 == 0:
            start, end = day(rng, "2023-10-01", "2023-12-31"), None
        cost = maybe(rng, 0.92, rng.randrange(4, 60) * 12_500)
        rows.append((number, train, skewed(rng, kinds, 1.2), start, end, cost))
    return rows
