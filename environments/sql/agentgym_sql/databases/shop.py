"""An online shop, 2022 to 2024: what was sold, paid, sent back, reviewed and stocked.

Traps that questions lean on: customers entered twice under one e-mail, customers without
orders, categories without products, products without a category, orders paid in parts or
after failed attempts, stored totals that drifted from the lines, discounts and refunds that
are NULL, reviews by people who never bought, equal prices and names.
"""

import random
import sqlite3
from dataclasses import dataclass

from agentgym_sql.databases.generate import (
    CITIES,
    Row,
    day,
    email,
    insert,
    later,
    maybe,
    moment,
    person,
    skewed,
    street_address,
    weighted,
)

SCHEMA = """
CREATE TABLE categories (
  category_id INTEGER PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  parent_id INTEGER REFERENCES categories (category_id)
);
CREATE TABLE suppliers (
  supplier_id INTEGER PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  country_code VARCHAR(2) NOT NULL,
  lead_days INTEGER
);
CREATE TABLE products (
  product_id INTEGER PRIMARY KEY,
  sku VARCHAR(20) NOT NULL UNIQUE,
  name VARCHAR(80) NOT NULL,
  category_id INTEGER REFERENCES categories (category_id),
  supplier_id INTEGER NOT NULL REFERENCES suppliers (supplier_id),
  price_cents INTEGER NOT NULL,
  weight_grams INTEGER,
  launched_on DATE NOT NULL,
  discontinued_on DATE
);
CREATE TABLE customers (
  customer_id INTEGER PRIMARY KEY,
  full_name VARCHAR(80) NOT NULL,
  email VARCHAR(120),
  signup_date DATE NOT NULL,
  tier VARCHAR(10),
  referred_by INTEGER REFERENCES customers (customer_id),
  newsletter INTEGER NOT NULL
);
CREATE TABLE addresses (
  address_id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
  street VARCHAR(80) NOT NULL,
  city VARCHAR(40) NOT NULL,
  country_code VARCHAR(2) NOT NULL,
  is_default INTEGER NOT NULL
);
CREATE TABLE orders (
  order_id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
  address_id INTEGER REFERENCES addresses (address_id),
  placed_at DATETIME NOT NULL,
  status VARCHAR(10) NOT NULL,
  coupon_code VARCHAR(20),
  shipping_cents INTEGER NOT NULL,
  items_total_cents INTEGER NOT NULL
);
CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders (order_id),
  line_no INTEGER NOT NULL,
  product_id INTEGER NOT NULL REFERENCES products (product_id),
  quantity INTEGER NOT NULL,
  unit_price_cents INTEGER NOT NULL,
  discount_cents INTEGER,
  PRIMARY KEY (order_id, line_no)
);
CREATE TABLE payments (
  payment_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders (order_id),
  method VARCHAR(10) NOT NULL,
  amount_cents INTEGER NOT NULL,
  status VARCHAR(10) NOT NULL,
  paid_at DATETIME NOT NULL
);
CREATE TABLE item_returns (
  return_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  quantity INTEGER NOT NULL,
  reason VARCHAR(20),
  returned_on DATE NOT NULL,
  refund_cents INTEGER,
  FOREIGN KEY (order_id, line_no) REFERENCES order_items (order_id, line_no)
);
CREATE TABLE reviews (
  review_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES products (product_id),
  customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
  rating INTEGER NOT NULL,
  title VARCHAR(60),
  reviewed_on DATE NOT NULL
);
CREATE TABLE stock_moves (
  move_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES products (product_id),
  moved_on DATE NOT NULL,
  quantity INTEGER NOT NULL,
  reason VARCHAR(10) NOT NULL
);
"""

CATEGORIES = (
    *((1, "Electronics", None), (2, "Home", None), (3, "Outdoor", None), (4, "Books", None)),
    *((5, "Gift Cards", None), (6, "Computers", 1), (7, "Phones", 1), (8, "Audio", 1)),
    *((9, "Kitchen", 2), (10, "Furniture", 2), (11, "Lighting", 2), (12, "Camping", 3)),
    *((13, "Cycling", 3), (14, "Garden", 3), (15, "Fiction", 4), (16, "Travel Guides", 4)),
    *((17, "Laptops", 6), (18, "Monitors", 6), (19, "Keyboards", 6), (20, "Smartphones", 7)),
    *((21, "Phone Cases", 7), (22, "Headphones", 8), (23, "Speakers", 8), (24, "Cookware", 9)),
    *((25, "Coffee", 9), (26, "Desks", 10), (27, "Chairs", 10), (28, "Tents", 12)),
    *((29, "Sleeping Bags", 12), (30, "Helmets", 13), (31, "Locks", 13), (32, "Smart Locks", 31)),
    *((33, "Wireless Headphones", 22), (34, "Espresso", 25)),
)
EMPTY_CATEGORIES = frozenset({5, 14})
SUPPLIERS = (
    *((1, "Northwind Trading", "GB", 7), (2, "Alpen Werk", "DE", 5), (3, "Casa Verde", "ES", 9)),
    *((4, "Kyoto Parts", "JP", 21), (5, "Baltic Goods", "EE", None), (6, "Orion Supply", "US", 14)),
    *((7, "Maple and Co", "CA", 14), (8, "Lumen Works", "DE", 5), (9, "Fjord Outdoor", "NO", 6)),
    *(
        (10, "Papyrus House", "GB", 3),
        (11, "Delta Import", "NL", None),
        (12, "Sunrise Ltd", "CN", 30),
    ),
)
IDLE_SUPPLIER = 7
SERIES = ("Basic", "Classic", "Comfort", "Eco", "Lite", "Nova", "Prime", "Pro", "Trail", "Urban")
PRICES = (
    499,
    999,
    1499,
    1999,
    2499,
    2999,
    3999,
    4999,
    5999,
    7999,
    9999,
    14999,
    24999,
    39999,
    79999,
)
COUPONS = {None: 70, "WELCOME10": 10, "SPRING": 8, "FREESHIP": 8, "VIP": 4}
COUNTRIES = {"GB": 40, "DE": 25, "FR": 15, "ES": 10, "NL": 6, "NO": 4}
REASONS = {"damaged": 25, "wrong item": 20, "too small": 15, "changed mind": 25, None: 15}
TITLES = ("Great value", "As described", "Not for me", "Would buy again", "Broke after a week")
CUSTOMERS, DUPLICATES, PRODUCTS, ORDERS, REVIEWS, MOVES = 300, 12, 150, 1100, 420, 700
NEVER_SOLD = 8
OPENED, CLOSED = "2022-01-01", "2024-12-31"


@dataclass(frozen=True)
class Product:
    """What the order generator needs of a product."""

    product_id: int
    price_cents: int
    launched_on: str


def build(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Create the schema and its rows in an empty database."""
    connection.executescript(SCHEMA)
    insert(connection, "categories", CATEGORIES)
    insert(connection, "suppliers", SUPPLIERS)
    products = _products(rng)
    insert(connection, "products", products)
    customers = _customers(rng)
    insert(connection, "customers", customers)
    addresses = _addresses(rng, len(customers))
    insert(connection, "addresses", addresses)
    orders, items = _orders(rng, customers, addresses, products)
    insert(connection, "orders", orders)
    insert(connection, "order_items", items)
    insert(connection, "payments", _payments(rng, orders, items))
    insert(connection, "item_returns", _returns(rng, orders, items))
    insert(connection, "reviews", _reviews(rng, orders, items, len(customers)))
    insert(connection, "stock_moves", _stock_moves(rng))


def _products(rng: random.Random) -> list[Row]:
    stocked = [row for row in CATEGORIES if row[0] not in EMPTY_CATEGORIES and row[2] is not None]
    suppliers = [row[0] for row in SUPPLIERS if row[0] != IDLE_SUPPLIER]
    rows: list[Row] = []
    for number in range(1, PRODUCTS + 1):
        category_id, category, _ = (
            stocked[number - 1] if number <= len(stocked) else rng.choice(stocked)
        )
        launched = day(rng, "2021-06-01", "2024-06-30")
        rows.append(
            (
                number,
                f"SKU-{1000 + number * 7}",
                f"{rng.choice(SERIES)} {category}",
                maybe(rng, 0.96, category_id),
                skewed(rng, suppliers, 1.3),
                rng.choice(PRICES),
                maybe(rng, 0.85, rng.randrange(50, 12000, 50)),
                launched,
                maybe(rng, 0.15, day(rng, "2024-07-01", CLOSED)),
            )
        )
    return rows


def _customers(rng: random.Random) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, CUSTOMERS + 1):
        name = person(rng)
        joined = later(
            OPENED, days=(number - 1) * 1000 // CUSTOMERS + rng.randint(0, min(30, number - 1))
        )
        tier = weighted(rng, {"basic": 55, "silver": 20, "gold": 10, None: 15})
        friend = maybe(rng, 0.4, rng.randint(1, number - 1)) if number > 1 else None
        address = maybe(rng, 0.93, email(name, number))
        rows.append((number, name, address, joined, tier, friend, rng.randint(0, 1)))
    known = [row for row in rows if row[2] is not None]
    for number, twin in enumerate(rng.sample(known, DUPLICATES), start=CUSTOMERS + 1):
        joined = day(rng, "2024-06-01", CLOSED)
        friend = maybe(rng, 0.6, rng.randint(CUSTOMERS - 20, number - 1))
        rows.append((number, twin[1], twin[2], joined, None, friend, rng.randint(0, 1)))
    return rows


def _addresses(rng: random.Random, customers: int) -> list[Row]:
    rows: list[Row] = []
    for customer_id in range(1, customers + 1):
        count = weighted(rng, {0: 8, 1: 55, 2: 27, 3: 10})
        default = weighted(rng, {0: 88, None: 12})
        country = weighted(rng, COUNTRIES)
        for place in range(count):
            marked = int(place == default or rng.random() < 0.03)
            abroad = weighted(rng, COUNTRIES) if rng.random() < 0.1 else country
            street, city = street_address(rng), rng.choice(CITIES)
            rows.append((len(rows) + 1, customer_id, street, city, abroad, marked))
    return rows


def _orders(
    rng: random.Random, customers: list[Row], addresses: list[Row], products: list[Row]
) -> tuple[list[Row], list[Row]]:
    shelf = [Product(row[0], row[5], row[7]) for row in products]
    rng.shuffle(shelf)
    del shelf[-NEVER_SOLD:]
    homes: dict[int, list[Row]] = {}
    for address in addresses:
        homes.setdefault(address[1], []).append(address)
    buyers = list(customers)
    rng.shuffle(buyers)
    days = sorted(day(rng, OPENED, CLOSED) for _ in range(ORDERS))
    orders: list[Row] = []
    items: list[Row] = []
    for order_id, on in enumerate(days, start=1):
        joined = [row for row in buyers if row[3] <= on] or [customers[0]]
        buyer = skewed(rng, joined)[0]
        home = rng.choice(homes[buyer])[0] if buyer in homes and rng.random() < 0.9 else None
        lines = _lines(rng, order_id, [p for p in shelf if p.launched_on <= on])
        items += lines
        total = sum(_line_total(line) for line in lines)
        drift = rng.choice((-500, 100, 1000)) if rng.random() < 0.02 else 0
        shipping = 0 if home is None else rng.choice((0, 390, 390, 590, 990))
        coupon, status = weighted(rng, COUPONS), _status(rng, on)
        orders.append(
            (order_id, buyer, home, moment(rng, on), status, coupon, shipping, total + drift)
        )
    return orders, items


def _status(rng: random.Random, on: str) -> str:
    if on >= "2024-12-15":
        return weighted(rng, {"pending": 30, "paid": 30, "shipped": 30, "cancelled": 10})
    return weighted(rng, {"delivered": 86, "cancelled": 9, "shipped": 3, "pending": 2})


def _lines(rng: random.Random, order_id: int, shelf: list[Product]) -> list[Row]:
    count = weighted(rng, {1: 38, 2: 28, 3: 18, 4: 11, 5: 5})
    lines: list[Row] = []
    for line_no in range(1, count + 1):
        product = skewed(rng, shelf, 1.5)
        quantity = weighted(rng, {1: 70, 2: 20, 3: 7, 5: 3})
        price = product.price_cents * weighted(rng, {100: 75, 90: 15, 110: 10}) // 100
        discount = maybe(rng, 0.25, price * quantity * rng.choice((5, 10, 20)) // 100)
        lines.append((order_id, line_no, product.product_id, quantity, price, discount))
    return lines


def _line_total(line: Row) -> int:
    quantity, price, discount = line[3:6]
    total: int = quantity * price - (discount or 0)
    return total


def _payments(rng: random.Random, orders: list[Row], items: list[Row]) -> list[Row]:
    due: dict[int, int] = {order[0]: order[6] for order in orders}
    for line in items:
        due[line[0]] += _line_total(line)
    rows: list[Row] = []
    for order in orders:
        order_id, placed, status = order[0], order[3], order[4]
        unpaid = {"pending": 1.0, "cancelled": 0.6, "delivered": 0.01}.get(status, 0.0)
        if rng.random() < unpaid:
            continue
        method = weighted(rng, {"card": 60, "transfer": 25, "voucher": 15})
        at = later(placed, minutes=rng.randint(1, 30))
        while rng.random() < 0.08:
            rows.append((len(rows) + 1, order_id, method, due[order_id], "failed", at))
            at = later(at, minutes=rng.randint(2, 2000))
        parts = [due[order_id]]
        if rng.random() < 0.12:
            first = due[order_id] * rng.choice((20, 50)) // 100
            parts = [first, due[order_id] - first]
        if len(parts) > 1 and rng.random() < 0.2:
            parts.pop()
        final = "refunded" if status == "cancelled" else "captured"
        for part in parts:
            rows.append((len(rows) + 1, order_id, method, part, final, at))
            at = later(at, days=rng.randint(1, 20))
            method = weighted(rng, {"card": 60, "transfer": 25, "voucher": 15})
    return rows


def _returns(rng: random.Random, orders: list[Row], items: list[Row]) -> list[Row]:
    delivered = {order[0]: order[3][:10] for order in orders if order[4] == "delivered"}
    rows: list[Row] = []
    for line in items:
        if line[0] not in delivered or rng.random() > 0.09:
            continue
        quantity = rng.randint(1, line[3])
        on = later(delivered[line[0]], days=rng.randint(5, 40))
        value = _line_total(line) * quantity // line[3]
        refund = maybe(rng, 0.8, value * rng.choice((100, 100, 50)) // 100)
        reason = weighted(rng, REASONS)
        rows.append((len(rows) + 1, line[0], line[1], quantity, reason, on, refund))
    return rows


def _reviews(rng: random.Random, orders: list[Row], items: list[Row], customers: int) -> list[Row]:
    placed = {order[0]: (order[1], order[3][:10]) for order in orders}
    rows: list[Row] = []
    for number in range(1, REVIEWS + 1):
        line = rng.choice(items)
        customer, on = placed[line[0]]
        if rng.random() < 0.2:
            customer = rng.randint(1, customers)
        rating = weighted(rng, {1: 8, 2: 10, 3: 20, 4: 32, 5: 30})
        title = maybe(rng, 0.7, rng.choice(TITLES))
        rows.append((number, line[2], customer, rating, title, later(on, days=rng.randint(3, 60))))
    return rows


def _stock_moves(rng: random.Random) -> list[Row]:
    counted = [number for number in range(1, PRODUCTS + 1) if rng.random() < 0.5]
    days = sorted(day(rng, OPENED, CLOSED) for _ in range(MOVES))
    rows: list[Row] = []
    for number, on in enumerate(days, start=1):
        reason = weighted(rng, {"delivery": 36, "sale": 54, "count": 10})
        quantity = {
            "delivery": rng.choice((10, 20, 20, 40)),
            "sale": -rng.randint(1, 18),
            "count": rng.randint(-4, 3),
        }[reason]
        rows.append((number, rng.choice(counted), on, quantity, reason))
    return rows
