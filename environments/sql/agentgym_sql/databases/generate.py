"""What all the databases are made with: names, dates and choices from one seeded source.

Everything draws from the `random.Random` it is given, so that a database is a pure function
of its name and seed. Dates and datetimes are ISO text, which SQLite compares correctly and
other engines read as their own types.
"""

import random
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Row: TypeAlias = tuple[Any, ...]
"""A table row's values in the schema's order: int, float, str or None."""

FIRST_NAMES = (
    *("Ada", "Alan", "Amira", "Ana", "Anton", "Aylin", "Bela", "Bruno", "Carla", "Chen"),
    *("Clara", "Daniel", "Dora", "Elena", "Emil", "Eva", "Farid", "Felix", "Gloria", "Hana"),
    *("Hugo", "Ida", "Igor", "Ines", "Ivan", "Jana", "Jonas", "Julia", "Karim", "Kira"),
    *("Lars", "Laura", "Leo", "Lina", "Luca", "Maja", "Marco", "Maria", "Mina", "Nadia"),
    *("Nils", "Nora", "Olga", "Omar", "Oscar", "Paula", "Pedro", "Petra", "Rosa", "Samir"),
    *("Sara", "Simon", "Sofia", "Tariq", "Tessa", "Tomas", "Vera", "Viktor", "Yara", "Zoe"),
)
LAST_NAMES = (
    *("Abel", "Adler", "Bauer", "Becker", "Berg", "Bianchi", "Brandt", "Castro", "Costa"),
    *("Dahl", "Diaz", "Dubois", "Eriksen", "Farkas", "Fischer", "Fontana", "Garcia", "Hansen"),
    *("Haddad", "Horvat", "Ito", "Jansen", "Keller", "Kim", "Klein", "Kovacs", "Kowalski"),
    *("Larsen", "Lehmann", "Lindgren", "Lopez", "Marino", "Martin", "Meier", "Moreau", "Nagy"),
    *("Novak", "Okafor", "Olsen", "Park", "Peters", "Petrov", "Popov", "Rossi", "Roth"),
    *("Santos", "Sato", "Schmidt", "Silva", "Singh", "Steiner", "Szabo", "Tanaka", "Vidal"),
    *("Vogel", "Wagner", "Weber", "Wolf", "Yilmaz", "Zimmer"),
)
CITIES = (
    *("Aldwick", "Brenford", "Calder", "Dunmore", "Eastholm", "Fairwater", "Glenrock"),
    *("Harwell", "Kingsport", "Lakeside", "Millbrook", "Northam"),
)
STREETS = (
    *("Abbey Road", "Bridge Street", "Canal Walk", "Church Lane", "High Street", "Hill Rise"),
    *("Market Square", "Mill Lane", "Orchard Way", "Park Avenue", "Station Road", "West End"),
)


def person(rng: random.Random) -> str:
    """Return a full name; in a few hundred draws some come up twice."""
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def email(name: str, number: int, domain: str = "example.org") -> str:
    """Return a lower-case address made of a name and a number."""
    return f"{name.lower().replace(' ', '.')}{number}@{domain}"


def street_address(rng: random.Random) -> str:
    """Return a house number and street."""
    return f"{rng.randint(1, 180)} {rng.choice(STREETS)}"


def weighted(rng: random.Random, weights: Mapping[T, float]) -> T:
    """Return a key with a chance in proportion to its weight; order of keys matters."""
    return rng.choices(list(weights), weights=list(weights.values()))[0]


def maybe(rng: random.Random, share: float, value: T) -> T | None:
    """Return the value with the given chance, else None."""
    return value if rng.random() < share else None


def skewed(rng: random.Random, items: Sequence[T], power: float = 2.0) -> T:
    """Return an item, the early ones more often: some end up busy and some never drawn."""
    return items[int(len(items) * rng.random() ** power)]


def day(rng: random.Random, first: str, last: str) -> str:
    """Return an ISO date from first to last, both included."""
    start = date.fromisoformat(first)
    span = (date.fromisoformat(last) - start).days
    return (start + timedelta(days=rng.randint(0, span))).isoformat()


def moment(rng: random.Random, on: str, opens: int = 7, closes: int = 22) -> str:
    """Return an ISO datetime ('YYYY-MM-DD HH:MM:SS') on a date, from hour opens to closes."""
    at = datetime.fromisoformat(on) + timedelta(hours=opens)
    return (at + timedelta(seconds=rng.randrange((closes - opens) * 3600))).isoformat(" ")


def later(iso: str, *, days: int = 0, minutes: int = 0) -> str:
    """Return an ISO date or datetime moved by days and minutes (negative: earlier)."""
    if len(iso) == len("2024-01-01"):
        return (date.fromisoformat(iso) + timedelta(days=days)).isoformat()
    moved = datetime.fromisoformat(iso) + timedelta(days=days, minutes=minutes)
    return moved.isoformat(" ")


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    """Insert whole rows into a table of the database under construction.

    Args:
        connection: The database.
        table: A table of the schema; a trusted name.
        rows: Values for every column, in the schema's order.
    """
    listed = list(rows)
    if listed:
        marks = ", ".join("?" * len(listed[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", listed)  # noqa: S608 - own constant
