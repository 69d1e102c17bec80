"""A public library network, 2021 to 2024: what it holds, who works there, who borrowed what.

Traps that questions lean on: authors and members of the same name, works without copies and
copies never lent, works by several authors, sequels of sequels, loans still out, staff who
left, managers of managers, fines waived, unpaid, paid in parts or too much, members enrolled
twice or of unknown age, a branch that closed and one that has no copies.
"""

import random
import sqlite3

from agentgym_sql.databases.generate import (
    FIRST_NAMES,
    LAST_NAMES,
    Row,
    day,
    email,
    insert,
    later,
    maybe,
    moment,
    person,
    skewed,
    weighted,
)

SCHEMA = """
CREATE TABLE branches (
  branch_id INTEGER PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  city VARCHAR(40) NOT NULL,
  opened_on DATE NOT NULL,
  closed_on DATE
);
CREATE TABLE staff (
  staff_id INTEGER PRIMARY KEY,
  full_name VARCHAR(80) NOT NULL,
  job_title VARCHAR(30) NOT NULL,
  branch_id INTEGER REFERENCES branches (branch_id),
  manager_id INTEGER REFERENCES staff (staff_id),
  hired_on DATE NOT NULL,
  left_on DATE,
  salary_cents INTEGER NOT NULL
);
CREATE TABLE members (
  member_id INTEGER PRIMARY KEY,
  full_name VARCHAR(80) NOT NULL,
  email VARCHAR(120),
  birth_date DATE,
  membership VARCHAR(10) NOT NULL,
  home_branch_id INTEGER NOT NULL REFERENCES branches (branch_id),
  joined_on DATE NOT NULL
);
CREATE TABLE authors (
  author_id INTEGER PRIMARY KEY,
  full_name VARCHAR(80) NOT NULL,
  birth_year INTEGER,
  country VARCHAR(30)
);
CREATE TABLE works (
  work_id INTEGER PRIMARY KEY,
  title VARCHAR(80) NOT NULL,
  genre VARCHAR(20) NOT NULL,
  language VARCHAR(20) NOT NULL,
  published_year INTEGER,
  sequel_to INTEGER REFERENCES works (work_id)
);
CREATE TABLE work_authors (
  work_id INTEGER NOT NULL REFERENCES works (work_id),
  author_id INTEGER NOT NULL REFERENCES authors (author_id),
  author_order INTEGER NOT NULL,
  PRIMARY KEY (work_id, author_id)
);
CREATE TABLE copies (
  copy_id INTEGER PRIMARY KEY,
  work_id INTEGER NOT NULL REFERENCES works (work_id),
  branch_id INTEGER NOT NULL REFERENCES branches (branch_id),
  acquired_on DATE NOT NULL,
  price_cents INTEGER,
  status VARCHAR(10) NOT NULL
);
CREATE TABLE loans (
  loan_id INTEGER PRIMARY KEY,
  copy_id INTEGER NOT NULL REFERENCES copies (copy_id),
  member_id INTEGER NOT NULL REFERENCES members (member_id),
  staff_id INTEGER REFERENCES staff (staff_id),
  loaned_on DATE NOT NULL,
  due_on DATE NOT NULL,
  returned_on DATE,
  renewals INTEGER NOT NULL
);
CREATE TABLE reservations (
  reservation_id INTEGER PRIMARY KEY,
  work_id INTEGER NOT NULL REFERENCES works (work_id),
  member_id INTEGER NOT NULL REFERENCES members (member_id),
  branch_id INTEGER NOT NULL REFERENCES branches (branch_id),
  placed_at DATETIME NOT NULL,
  status VARCHAR(10) NOT NULL,
  ready_on DATE
);
CREATE TABLE fines (
  fine_id INTEGER PRIMARY KEY,
  loan_id INTEGER NOT NULL REFERENCES loans (loan_id),
  reason VARCHAR(10) NOT NULL,
  amount_cents INTEGER NOT NULL,
  issued_on DATE NOT NULL,
  waived_on DATE
);
CREATE TABLE fine_payments (
  payment_id INTEGER PRIMARY KEY,
  fine_id INTEGER NOT NULL REFERENCES fines (fine_id),
  amount_cents INTEGER NOT NULL,
  paid_on DATE NOT NULL
);
"""

BRANCHES = (
    (1, "Central", "Kingsport", "1962-05-02", None),
    (2, "Riverside", "Kingsport", "1984-09-15", None),
    (3, "Harbour", "Kingsport", "1991-03-01", None),
    (4, "Northgate", "Northam", "2003-10-20", None),
    (5, "Millbrook", "Millbrook", "1975-06-11", None),
    (6, "Lakeside", "Lakeside", "2012-04-05", None),
    (7, "Old Town", "Northam", "1958-01-30", "2023-06-30"),
    (8, "University Hall", "Kingsport", "2024-09-01", None),
)
GENRES = {
    "Fiction": 26,
    "Crime": 16,
    "Children": 14,
    "History": 12,
    "Science": 10,
    "Biography": 9,
    "Travel": 8,
    "Poetry": 5,
}
LANGUAGES = {"English": 70, "German": 10, "French": 9, "Spanish": 7, "Polish": 4}
COUNTRIES: dict[str | None, int] = {
    "United Kingdom": 30,
    "United States": 25,
    "Germany": 12,
    "France": 10,
    "Spain": 7,
    "Poland": 6,
    "Japan": 5,
    None: 12,
}
ADJECTIVES = ("Broken", "Distant", "Golden", "Hidden", "Last", "Quiet", "Red", "Silent", "Winter")
NOUNS = ("Bridge", "City", "Garden", "House", "Island", "Letter", "Mountain", "River", "Road")
COPY_STATUS = {"available": 88, "repair": 4, "lost": 4, "withdrawn": 4}
LOAN_DAYS = {"adult": 21, "student": 28, "senior": 28, "child": 14}
AUTHORS, WORKS, COPIES, MEMBERS, LOANS, RESERVATIONS = 110, 260, 620, 330, 2300, 330
RETIRED = "2024-06-30"
FIRST_DAY, LAST_DAY = "2021-01-01", "2024-12-31"


def build(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Create the schema and its rows in an empty database."""
    connection.executescript(SCHEMA)
    insert(connection, "branches", BRANCHES)
    staff = _staff(rng)
    insert(connection, "staff", staff)
    members = _members(rng)
    insert(connection, "members", members)
    insert(connection, "authors", _authors(rng))
    insert(connection, "works", _works(rng))
    insert(connection, "work_authors", _work_authors(rng))
    copies = _copies(rng)
    insert(connection, "copies", copies)
    loans = _loans(rng, copies, members, staff)
    insert(connection, "loans", loans)
    insert(connection, "reservations", _reservations(rng))
    fines = _fines(rng, loans)
    insert(connection, "fines", fines)
    insert(connection, "fine_payments", _fine_payments(rng, fines))


def _staff(rng: random.Random) -> list[Row]:
    rows: list[Row] = [
        (1, person(rng), "Director", 1, None, "2010-02-01", None, 620000),
        (2, person(rng), "Head of Lending", 1, 1, "2012-05-14", "2024-10-31", 510000),
        (3, person(rng), "Head of Collections", 1, 1, "2015-11-02", None, 510000),
        (4, person(rng), "IT Officer", None, 1, "2019-03-18", None, 430000),
    ]
    for branch in BRANCHES[:7]:
        hired = day(rng, "2012-01-01", "2019-12-31")
        left = branch[4] or (RETIRED if branch[1] in ("Millbrook", "Lakeside") else None)
        pay = rng.choice((400000, 420000, 440000))
        rows.append((len(rows) + 1, person(rng), "Branch Manager", branch[0], 2, hired, left, pay))
    for branch in BRANCHES[:7]:
        manager = next(r[0] for r in rows if r[2] == "Branch Manager" and r[3] == branch[0])
        for _ in range(rng.randint(5, 8)):
            hired = day(rng, "2014-01-01", "2023-03-31")
            left = branch[4] or maybe(rng, 0.3, day(rng, "2023-05-01", LAST_DAY))
            title = weighted(rng, {"Librarian": 60, "Assistant": 40})
            boss = manager
            if title == "Assistant":
                seniors = [r[0] for r in rows if r[2] == "Librarian" and r[3] == branch[0]]
                boss = rng.choice(seniors) if seniors else manager
            pay = rng.randrange(240000, 360001, 10000) + 60000 * (title == "Librarian")
            rows.append((len(rows) + 1, person(rng), title, branch[0], boss, hired, left, pay))
    for pay in (515000, *(rng.choice((310000, 330000, 450000)) for _ in range(3))):
        hired = day(rng, "2018-01-01", "2023-12-31")
        rows.append((len(rows) + 1, person(rng), "Cataloguer", None, 3, hired, None, pay))
    return rows


def _members(rng: random.Random) -> list[Row]:
    homes = {1: 30, 2: 18, 3: 12, 4: 14, 5: 12, 6: 8, 7: 6}
    born = {
        "adult": ("1958-01-01", "2000-12-31"),
        "student": ("1997-01-01", "2006-12-31"),
        "senior": ("1935-01-01", "1957-12-31"),
        "child": ("2009-01-01", "2017-12-31"),
    }
    rows: list[Row] = []
    for number in range(1, MEMBERS + 1):
        kind = weighted(rng, {"adult": 52, "student": 18, "senior": 14, "child": 16})
        name, home = person(rng), weighted(rng, homes)
        joined = later("2019-01-01", days=number * 6 + rng.randint(0, 40))
        birth = maybe(rng, 0.88, day(rng, *born[kind]))
        address = maybe(rng, 0.4 if kind == "child" else 0.9, email(name, number))
        rows.append((number, name, address, birth, kind, home, joined))
    for number in rng.sample(range(MEMBERS // 2), 8):
        _, name, address, birth, kind, home, joined = rows[number]
        again = later(joined, days=rng.randint(200, 700))
        rows.append((len(rows) + 1, name, address, birth or "1980-06-15", kind, home, again))
        first = maybe(rng, 0.5, address)
        rows[number] = (number + 1, name, first, birth or "1980-06-15", kind, home, joined)
    return rows


def _authors(rng: random.Random) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, AUTHORS + 1):
        name = f"{rng.choice(FIRST_NAMES[:30])} {rng.choice(LAST_NAMES[:40])}"
        if number in (40, 80):
            name = rows[number - 21][1]
        born = maybe(rng, 0.85, rng.randint(1880, 1992))
        rows.append((number, name, born, weighted(rng, COUNTRIES)))
    return rows


def _works(rng: random.Random) -> list[Row]:
    rows: list[Row] = []
    chain: list[Row] = []
    for number in range(1, WORKS + 1):
        if chain and len(chain) < 6 and rng.random() < 0.4:
            before = chain[-1]
            year = min(2023, (before[4] or 1990) + rng.randint(1, 6))
            row = (number, f"{chain[0][1]} {len(chain) + 1}", *before[2:4], year, before[0])
        else:
            chain = []
            title = f"The {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}"
            year = rng.randint(1930, 2020)
            genre, language = weighted(rng, GENRES), weighted(rng, LANGUAGES)
            row = (number, title, genre, language, maybe(rng, 0.93, year), None)
        chain.append(row)
        rows.append(row)
    return rows


def _work_authors(rng: random.Random) -> list[Row]:
    authors = list(range(1, AUTHORS + 1))
    rng.shuffle(authors)
    rows: list[Row] = []
    for work_id in range(1, WORKS + 1):
        count = weighted(rng, {0: 4, 1: 72, 2: 18, 3: 6})
        names = list(dict.fromkeys(skewed(rng, authors, 2.2) for _ in range(count)))
        rows += [(work_id, author, place) for place, author in enumerate(names, start=1)]
    return rows


def _copies(rng: random.Random) -> list[Row]:
    works = list(range(1, WORKS + 1))
    rng.shuffle(works)
    homes = {1: 34, 2: 18, 3: 12, 4: 13, 5: 11, 6: 7, 7: 5}
    rows: list[Row] = []
    for number in range(1, COPIES + 1):
        work = skewed(rng, works, 1.4)
        bought = day(rng, "2014-01-01", "2024-03-31")
        price = maybe(rng, 0.85, rng.choice((799, 999, 1299, 1499, 1799, 1999, 2499, 3499)))
        rows.append((number, work, weighted(rng, homes), bought, price, weighted(rng, COPY_STATUS)))
    return rows


def _loans(
    rng: random.Random, copies: list[Row], members: list[Row], staff: list[Row]
) -> list[Row]:
    shelf, readers = list(copies), list(members)
    rng.shuffle(shelf)
    rng.shuffle(readers)
    desk = [row for row in staff if row[2] in ("Librarian", "Assistant", "Branch Manager")]
    free: dict[int, str] = {copy[0]: max(copy[3], FIRST_DAY) for copy in copies}
    rows: list[Row] = []
    for on in sorted(day(rng, FIRST_DAY, LAST_DAY) for _ in range(LOANS)):
        copy = skewed(rng, shelf, 1.5)
        if free[copy[0]] > on or (copy[2] == 7 and on > "2023-06-30"):
            continue
        reader = skewed(rng, [row for row in readers if row[6] <= on], 1.6)
        renewals = weighted(rng, {0: 70, 1: 20, 2: 10})
        due = later(on, days=LOAN_DAYS[reader[4]] * (1 + renewals))
        back = later(
            due, days=rng.choice((-18, -12, -9, -7, -5, -3, -2, -1, 0, 0, 1, 2, 6, 15, 40))
        )
        back = max(back, on)
        returned = back if back <= LAST_DAY and rng.random() < 0.985 else None
        free[copy[0]] = "9999-12-31" if returned is None else later(returned, days=1)
        on_duty = [p[0] for p in desk if p[3] == copy[2] and p[5] <= on <= (p[6] or on)]
        issuer = rng.choice(on_duty) if on_duty and rng.random() < 0.7 else None
        rows.append((len(rows) + 1, copy[0], reader[0], issuer, on, due, returned, renewals))
    return rows


def _reservations(rng: random.Random) -> list[Row]:
    works, members = list(range(1, WORKS + 1)), list(range(1, MEMBERS + 9))
    rng.shuffle(works)
    rng.shuffle(members)
    placed = sorted(moment(rng, day(rng, "2022-01-01", LAST_DAY)) for _ in range(RESERVATIONS))
    rows: list[Row] = []
    for number, at in enumerate(placed, start=1):
        recent = at >= "2024-03-01"
        fate = {"collected": 70, "cancelled": 15, "expired": 15}
        status = weighted(rng, {"waiting": 60, "ready": 25, "cancelled": 15} if recent else fate)
        ready = (
            None if status in ("waiting", "cancelled") else later(at[:10], days=rng.randint(1, 45))
        )
        work, member = skewed(rng, works, 2.5), skewed(rng, members, 1.5)
        rows.append((number, work, member, rng.choice((1, 1, 2, 3, 4, 5, 6)), at, status, ready))
    return rows


def _fines(rng: random.Random, loans: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for loan in loans:
        due, returned = loan[5], loan[6]
        if returned is not None and returned > later(due, days=1) and rng.random() < 0.9:
            fee = rng.choice((50, 100, 150, 300, 500))
            waived = maybe(rng, 0.12, later(returned, days=rng.randint(1, 60)))
            rows.append((len(rows) + 1, loan[0], "late", fee, returned, waived))
        if returned is None and due < "2024-09-01":
            rows.append((len(rows) + 1, loan[0], "lost", 2500, later(due, days=60), None))
        if returned is not None and rng.random() < 0.02:
            fee = rng.choice((400, 800, 1200))
            rows.append((len(rows) + 1, loan[0], "damage", fee, returned, None))
    return rows


def _fine_payments(rng: random.Random, fines: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for fine in fines:
        if fine[5] is not None or rng.random() < 0.3:
            continue
        parts = [fine[3]]
        if rng.random() < 0.25:
            parts = [fine[3] // 2, fine[3] - fine[3] // 2]
        if len(parts) > 1 and rng.random() < 0.4:
            parts.pop()
        parts[-1] += 50 * (rng.random() < 0.04)
        on = fine[4]
        for part in parts:
            on = later(on, days=rng.randint(0, 30))
            rows.append((len(rows) + 1, fine[0], part, on))
    return rows
