"""Makes the content of the domain: the same from the same seed, in any process.

`python -m agentgym_tools.broadband.generator` writes the file that the package ships.
"""

import json
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from agentgym_tools.broadband import catalogue
from agentgym_tools.broadband.catalogue import AREAS, NOW, OUTAGES, PLANS, months_later
from agentgym_tools.broadband.situations import (
    SITUATIONS,
    Draft,
    Situation,
    new_device,
    new_set_top_box,
    wired_device,
)

SEED = 20260302
CONTENT = Path(__file__).with_name("content.json")

_FIRST = (
    *("Ada", "Amir", "Anja", "Bela", "Bruno", "Carla", "Cem", "Dana", "Diego", "Edda", "Elif"),
    *("Emil", "Farah", "Felix", "Gita", "Hana", "Hugo", "Ines", "Ivan", "Jana", "Jonas", "Kemal"),
    *("Lea", "Liam", "Lucia", "Malik", "Mara", "Milo", "Nadia", "Nils", "Olga", "Oskar", "Petra"),
    *("Rafael", "Rosa", "Samir", "Selma", "Tara", "Tomas", "Uma", "Viktor", "Yara", "Zoe"),
)
_LAST = (
    *("Abbot", "Adler", "Becker", "Bianchi", "Castro", "Cole", "Dahl", "Dietrich", "Ekman"),
    *("Farkas", "Ferro", "Gallo", "Greene", "Haddad", "Holm", "Ivanova", "Jensen", "Kaya"),
    *("Keller", "Lang", "Lindt", "Marsh", "Mendes", "Novak", "Okafor", "Olsen", "Pereira"),
    *("Quist", "Rahman", "Reyes", "Sato", "Silva", "Tanaka", "Urban", "Varga", "Weber", "Yilmaz"),
)
_VISITED = ("plain", "short copper", "changed recently", "bill overdue")
_STREETS = ("Alder Road", "Birch Street", "Canal Walk", "Dover Street", "Elm Court", "Ferry Lane")


def build(seed: int = SEED) -> dict[str, dict[str, dict[str, Any]]]:
    """Return all collections of the domain.

    Args:
        seed: Decides names, numbers, and who has which trouble.
    """
    rng = Random(seed)
    plan = [situation for situation in SITUATIONS for _ in range(situation.homes)]
    rng.shuffle(plan)
    names = [f"{first} {last}" for first in _FIRST for last in _LAST]
    rng.shuffle(names)
    drafts = [
        _draft(rng, situation, number, names.pop()) for number, situation in enumerate(plan, 1001)
    ]
    for draft in drafts[::4]:
        draft.customer["authorised"].append(names.pop())
    invoices: dict[str, Any] = {}
    for draft in drafts:
        invoices |= draft.invoices
    idle = [draft for draft, part in zip(drafts, plan, strict=True) if part.name in _VISITED]
    slots, visits = _visits(rng, idle[::3])
    return {
        "customers": {draft.line["customer"]: draft.customer for draft in drafts},
        "handovers": {},
        "homes": {draft.customer["home"]: draft.home for draft in drafts},
        "invoices": invoices,
        "lines": {draft.customer["line"]: draft.line for draft in drafts},
        "outages": OUTAGES,
        "plans": PLANS,
        "slots": slots,
        "visits": visits,
    }


def situations(seed: int = SEED) -> dict[str, tuple[str, ...]]:
    """Return the ids of the customers in each situation, by its name.

    Args:
        seed: The seed that the content was built with.
    """
    rng = Random(seed)
    plan = [situation.name for situation in SITUATIONS for _ in range(situation.homes)]
    rng.shuffle(plan)
    found: dict[str, tuple[str, ...]] = {situation.name: () for situation in SITUATIONS}
    for number, name in enumerate(plan, 1001):
        found[name] += (f"C{number}",)
    return found


def text(content: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return the content as the file holds it: one record a line."""
    parts = []
    for name, records in content.items():
        lines = [f"{json.dumps(key)}: {json.dumps(record)}" for key, record in records.items()]
        parts.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _draft(rng: Random, situation: Situation, number: int, name: str) -> Draft:
    technology = situation.technology or rng.choice(["dsl", "fibre"])
    sold = [key for key in PLANS if PLANS[key]["technology"] == technology]
    plan_id = rng.choice(situation.plans or [key for key in sold if not PLANS[key]["tv"]])
    technology = PLANS[plan_id]["technology"]
    area = rng.choice(situation.areas or _quiet_areas(technology))
    first = name.split()[0].lower()
    customer: dict[str, Any] = {
        "name": name,
        "pin": f"{rng.randrange(1000, 10000)}",
        "phone": f"555-{rng.randrange(1000, 10000)}",
        "address": {"street": f"{rng.randrange(1, 90)} {rng.choice(_STREETS)}", "area": area},
        "authorised": [],
        "line": f"L{number}",
        "home": f"H{number}",
        "plan_changed": None,
        "credits": [],
    }
    line = _line(rng, number, technology, plan_id, f"{first}.{number}@fernline")
    draft = Draft(rng, customer, line, _home(rng, line), _invoices(number, plan_id))
    situation.change(draft)
    return draft


def _quiet_areas(technology: str) -> list[str]:
    lasting = {
        (part["area"], part["technology"]) for part in OUTAGES.values() if part["ended"] is None
    }
    return [area for area in AREAS if (area, technology) not in lasting]


def _line(rng: Random, number: int, technology: str, plan_id: str, username: str) -> dict[str, Any]:
    plan, copper = PLANS[plan_id], technology == "dsl"
    started = NOW.date() - timedelta(days=rng.randrange(40, 1100))
    quality = (
        {"margin_db": rng.randrange(100, 160) / 10}
        if copper
        else {"power_dbm": -rng.randrange(160, 240) / 10}
    )
    password = "".join(rng.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(8))
    return {
        "customer": f"C{number}",
        "technology": technology,
        "plan": plan_id,
        "contract": {
            "started": started.isoformat(),
            "minimum_until": months_later(started, plan["minimum_months"]).isoformat(),
            "last_day": None,
        },
        "standing": "active",
        "suspended_for": None,
        "locked": None,
        "failed_logins": 0,
        "provisioned": {"down": plan["down"], "up": plan["up"]},
        "profile": "standard" if copper else None,
        "login": {"username": username, "password": password},
        "box_serial": None if copper else f"OB-{rng.randrange(100000, 999999)}",
        "tv_serial": f"TV-{rng.randrange(10000, 99999)}" if plan["tv"] else None,
        "loop": {**quality, "break_at_m": None},
        "max_down": rng.randrange(110, 180) if copper else 1000,
    }


def _home(rng: Random, line: dict[str, Any]) -> dict[str, Any]:
    fibre = line["technology"] == "fibre"
    login = {part: line["login"][part] for part in ("username", "password")}
    password = f"{rng.choice(['maple', 'cedar', 'olive', 'hazel'])}-{rng.randrange(1000, 9999)}"
    wifi = {"on": True, "password": password, "bands": ["2.4", "5"], "channel": 6}
    devices = {name: new_device(rng, password) for name in ("laptop", "phone")}
    if rng.random() < 0.25:
        devices["desktop"] = wired_device(rng)
    box = {"serial": line["box_serial"], "power": True, "fibre": "plugged"}
    return {
        "customer": line["customer"],
        "optical_box": box if fibre else None,
        "phone_socket": None if fibre else {"cable": "plugged", "filter": True},
        "router": {
            "power": True,
            "frozen": False,
            "wan": "plugged" if fibre else None,
            "login": login,
            "lease": {**line["provisioned"], "profile": line["profile"]},
            "wifi": {**wifi, "filter": False, "allowed": []},
        },
        "set_top_box": new_set_top_box(line["tv_serial"]) if line["tv_serial"] else None,
        "devices": devices,
        "busy_channels": rng.choice([[1], [11], [1, 11]]),
    }


def _invoices(number: int, plan_id: str) -> dict[str, dict[str, Any]]:
    return {
        f"INV-{number}-{month}": {
            "customer": f"C{number}",
            "issued": f"2026-{month}-01",
            "due": f"2026-{month}-15",
            "amount": PLANS[plan_id]["price"],
            "status": "paid",
        }
        for month in ("01", "02")
    }


def _visits(rng: Random, drafts: list[Draft]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Book a visit for each, in a slot of their area; every second one is soon."""
    slots = catalogue.all_slots()
    visits: dict[str, dict[str, Any]] = {}
    for number, draft in enumerate(drafts):
        area = draft.customer["address"]["area"]
        free = [key for key, slot in slots.items() if slot["area"] == area and not slot["visit"]]
        slot = free[0] if number % 2 else rng.choice(free[1:])
        visit = f"V-{slot}"
        slots[slot]["visit"] = visit
        visits[visit] = {
            "customer": draft.line["customer"],
            "slot": slot,
            "reason": rng.choice(["installation", "home wiring"]),
            "fee": 49.0,
            "status": "booked",
        }
    return slots, visits


def write(path: Path = CONTENT) -> None:
    """Write the content's file anew."""
    path.write_text(text(build()), "utf-8")


if __name__ == "__main__":
    write()
