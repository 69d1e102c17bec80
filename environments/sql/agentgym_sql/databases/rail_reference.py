"""What is the same in every rail database: the schema and the names questions rely on."""

from agentgym_sql.databases.generate import Row

SCHEMA = """
CREATE TABLE stations (
    station_id INTEGER PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    city VARCHAR(40) NOT NULL,
    zone INTEGER NOT NULL,
    platforms INTEGER,
    is_step_free INTEGER NOT NULL
);
CREATE TABLE rail_lines (
    line_id INTEGER PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    opened_on DATE
);
CREATE TABLE line_stops (
    line_id INTEGER NOT NULL REFERENCES rail_lines (line_id),
    stop_number INTEGER NOT NULL,
    station_id INTEGER NOT NULL REFERENCES stations (station_id),
    km_from_start INTEGER NOT NULL,
    minutes_from_start INTEGER NOT NULL,
    PRIMARY KEY (line_id, stop_number)
);
CREATE TABLE train_types (
    train_type_id INTEGER PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    max_speed_kmh INTEGER NOT NULL,
    seats_first INTEGER NOT NULL,
    seats_second INTEGER NOT NULL
);
CREATE TABLE trains (
    train_id INTEGER PRIMARY KEY,
    train_type_id INTEGER NOT NULL REFERENCES train_types (train_type_id),
    code VARCHAR(10) NOT NULL,
    in_service_since DATE NOT NULL,
    retired_on DATE
);
CREATE TABLE drivers (
    driver_id INTEGER PRIMARY KEY,
    full_name VARCHAR(60) NOT NULL,
    hired_on DATE NOT NULL,
    mentor_id INTEGER REFERENCES drivers (driver_id),
    home_station_id INTEGER REFERENCES stations (station_id)
);
CREATE TABLE trips (
    trip_id INTEGER PRIMARY KEY,
    line_id INTEGER NOT NULL REFERENCES rail_lines (line_id),
    train_id INTEGER NOT NULL REFERENCES trains (train_id),
    driver_id INTEGER REFERENCES drivers (driver_id),
    service_date DATE NOT NULL,
    direction VARCHAR(10) NOT NULL,
    status VARCHAR(12) NOT NULL
);
CREATE TABLE trip_stops (
    trip_id INTEGER NOT NULL REFERENCES trips (trip_id),
    stop_number INTEGER NOT NULL,
    station_id INTEGER NOT NULL REFERENCES stations (station_id),
    planned_at DATETIME NOT NULL,
    delay_minutes INTEGER,
    PRIMARY KEY (trip_id, stop_number)
);
CREATE TABLE passengers (
    passenger_id INTEGER PRIMARY KEY,
    full_name VARCHAR(60) NOT NULL,
    birth_date DATE,
    card_type VARCHAR(20),
    home_station_id INTEGER REFERENCES stations (station_id),
    referred_by INTEGER REFERENCES passengers (passenger_id)
);
CREATE TABLE tickets (
    ticket_id INTEGER PRIMARY KEY,
    trip_id INTEGER NOT NULL REFERENCES trips (trip_id),
    passenger_id INTEGER REFERENCES passengers (passenger_id),
    from_stop INTEGER NOT NULL,
    to_stop INTEGER NOT NULL,
    travel_class VARCHAR(10) NOT NULL,
    price_cents INTEGER NOT NULL,
    bought_on DATE NOT NULL,
    refund_cents INTEGER,
    FOREIGN KEY (trip_id, from_stop) REFERENCES trip_stops (trip_id, stop_number),
    FOREIGN KEY (trip_id, to_stop) REFERENCES trip_stops (trip_id, stop_number)
);
CREATE TABLE maintenance_jobs (
    job_id INTEGER PRIMARY KEY,
    train_id INTEGER NOT NULL REFERENCES trains (train_id),
    kind VARCHAR(20) NOT NULL,
    started_on DATE NOT NULL,
    finished_on DATE,
    cost_cents INTEGER
);
"""

ROUTES = {
    "Coast Line": (
        *("Kingsport", "Kingsport Docks", "Eastholm", "Eastholm Beach", "Fairwater"),
        *("Lakeside North", "Lakeside"),
    ),
    "Valley Line": (
        *("Aldwick Central", "Aldwick Mill", "Calder", "Calder Bridge", "Dunmore"),
        *("Dunmore Castle", "Glenrock"),
    ),
    "Northern Line": (
        *("Aldwick Central", "Brenford", "Brenford Park", "Harwell", "Harwell Green"),
        *("Northam", "Northam Airport"),
    ),
    "Cross Line": ("Brenford", "Millbrook", "Calder", "Calder Fields", "Fairwater"),
    "Airport Express": ("Aldwick Central", "Brenford", "Northam Airport"),
    "Hill Railway": ("Glenrock", "Glenrock Upper", "Ridgeway", "Summit"),
    "Aldwick Ring": (
        *("Aldwick West", "Aldwick Central", "Aldwick East", "Aldwick Market", "Aldwick Mill"),
    ),
    "Harbour Shuttle": ("Kingsport Docks", "Ferry Terminal", "Lighthouse"),
    "Island Railway": ("Saint Orr", "Orr Meadow", "Orr Castle", "Orr Point"),
    "Southern Link": ("Lakeside", "Southmere", "Southmere Park", "Dunmore"),
    "Quarry Branch": ("Ridgeway", "Old Quarry"),
    "Westward Extension": (),
}
"""Station names by line, from its first stop; trains run both ways."""

KEPT = frozenset(
    {
        *("Aldwick Mill", "Brenford", "Calder", "Dunmore", "Fairwater", "Kingsport Docks"),
        "Ridgeway",
    }
)
"""Interchanges inside a route, which no seed leaves out."""

UNSERVED = ("Ashford Halt", "Priory Road")

IDLE_LINES = ("Quarry Branch", "Westward Extension")
"""Lines on which no trip runs."""

TRAIN_TYPES: tuple[Row, ...] = (
    (1, "Regional", 140, 24, 176),
    (2, "Express", 200, 60, 240),
    (3, "Commuter", 120, 0, 220),
    (4, "Mountain", 60, 0, 80),
    (5, "Sleeper", 160, 40, 120),
)
