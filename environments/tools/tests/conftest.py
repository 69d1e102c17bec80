import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agentgym_tools.domain import Desk, Domain
from agentgym_tools.tau2.loading import load_domain

ADDRESS = {
    "address1": "1 Elm Street",
    "address2": "",
    "city": "Denver",
    "country": "USA",
    "state": "CO",
    "zip": "80201",
}


def _variant(item_id: str, price: float, *, available: bool = True) -> dict[str, Any]:
    options = {"size": f"of {item_id}"}
    return {"item_id": item_id, "options": options, "available": available, "price": price}


def _item(item_id: str, price: float, product_id: str = "p1", name: str = "Mug") -> dict[str, Any]:
    options = {"size": f"of {item_id}"}
    ids = {"product_id": product_id, "item_id": item_id}
    return {"name": name, **ids, "price": price, "options": options}


def _order(order_id: str, status: str, items: list[dict[str, Any]], method: str) -> dict[str, Any]:
    total = round(sum(item["price"] for item in items), 2)
    paid = {"transaction_type": "payment", "amount": total, "payment_method_id": method}
    return {
        "order_id": order_id,
        "user_id": "ann_lee_1",
        "address": ADDRESS,
        "items": items,
        "status": status,
        "fulfillments": [],
        "payment_history": [paid],
    }


RETAIL: dict[str, Any] = {
    "products": {
        "p1": {
            "name": "Mug",
            "product_id": "p1",
            "variants": {
                "m1": _variant("m1", 10.1),
                "m2": _variant("m2", 12.3),
                "m3": _variant("m3", 30.0, available=False),
                "m4": _variant("m4", 500.0),
            },
        },
        "p2": {"name": "Lamp", "product_id": "p2", "variants": {"l1": _variant("l1", 50.0)}},
    },
    "users": {
        "ann_lee_1": {
            "user_id": "ann_lee_1",
            "name": {"first_name": "Ann", "last_name": "Lee"},
            "address": ADDRESS,
            "email": "Ann.Lee@example.com",
            "payment_methods": {
                "card": {"source": "credit_card", "id": "card", "brand": "visa", "last_four": "1"},
                "paypal": {"source": "paypal", "id": "paypal"},
                "gift": {"source": "gift_card", "id": "gift", "balance": 100.0},
                "poor": {"source": "gift_card", "id": "poor", "balance": 1.0},
            },
            "orders": ["#W1", "#W2", "#W3"],
        }
    },
    "orders": {
        "#W1": _order("#W1", "pending", [_item("m1", 10.1), _item("m1", 10.1)], "gift"),
        "#W2": _order("#W2", "delivered", [_item("m1", 10.1), _item("l1", 50.0, "p2")], "card"),
        "#W3": _order("#W3", "processed", [_item("m1", 10.1)], "card"),
    },
}


def _dates() -> dict[str, Any]:
    seats = {"basic_economy": 2, "economy": 2, "business": 1}
    prices = {"basic_economy": 50, "economy": 100, "business": 300}
    when = "2024-05-15T10:00:00"
    return {
        "2024-05-14": {
            "status": "landed",
            "actual_departure_time_est": when,
            "actual_arrival_time_est": when,
        },
        "2024-05-15": {
            "status": "delayed",
            "estimated_departure_time_est": when,
            "estimated_arrival_time_est": when,
        },
        "2024-05-20": {"status": "available", "available_seats": seats, "prices": prices},
        "2024-05-21": {"status": "available", "available_seats": seats, "prices": prices},
    }


def _flight(number: str, origin: str, destination: str, leaves: str, lands: str) -> dict[str, Any]:
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": leaves,
        "scheduled_arrival_time_est": lands,
        "dates": _dates(),
    }


AIRLINE: dict[str, Any] = {
    "flights": {
        "F1": _flight("F1", "SFO", "DEN", "08:00:00", "10:00:00"),
        "F2": _flight("F2", "DEN", "JFK", "11:00:00", "15:00:00"),
        "F3": _flight("F3", "DEN", "JFK", "09:00:00", "13:00:00"),
        "F4": _flight("F4", "SFO", "DEN", "23:00:00", "01:00:00+1"),
    },
    "users": {
        "bo_kim_1": {
            "user_id": "bo_kim_1",
            "name": {"first_name": "Bo", "last_name": "Kim"},
            "address": ADDRESS,
            "email": "bo@example.com",
            "dob": "1990-01-01",
            "payment_methods": {
                "card": {"source": "credit_card", "id": "card", "brand": "visa", "last_four": "1"},
                "gift": {"source": "gift_card", "id": "gift", "amount": 120.0},
                "cert": {"source": "certificate", "id": "cert", "amount": 100.0},
            },
            "saved_passengers": [],
            "membership": "gold",
            "reservations": ["R1"],
        }
    },
    "reservations": {
        "R1": {
            "reservation_id": "R1",
            "user_id": "bo_kim_1",
            "origin": "SFO",
            "destination": "DEN",
            "flight_type": "one_way",
            "cabin": "economy",
            "flights": [
                {
                    "flight_number": "F1",
                    "origin": "SFO",
                    "destination": "DEN",
                    "date": "2024-05-20",
                    "price": 80,
                }
            ],
            "passengers": [{"first_name": "Bo", "last_name": "Kim", "dob": "1990-01-01"}],
            "payment_history": [{"payment_id": "card", "amount": 80}],
            "created_at": "2024-05-01T00:00:00",
            "total_baggages": 1,
            "nonfree_baggages": 0,
            "insurance": "no",
        }
    },
}


def _task(task_id: str, *actions: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a task as `tasks.json` has it."""
    return {
        "id": task_id,
        "user_scenario": {
            "instructions": {
                "domain": "retail",
                "task_instructions": "Be brief.",
                "reason_for_call": "You want your money back.",
            }
        },
        "evaluation_criteria": {
            "actions": [
                {"action_id": f"{task_id}_{number}", "name": name, "arguments": arguments}
                for number, (name, arguments) in enumerate(actions)
            ],
            "nl_assertions": None,
            "reward_basis": ["DB"],
        },
    }


def _write_domain(folder: Path, content: dict[str, Any], tasks: list[dict[str, Any]]) -> Path:
    """Write a domain's files into a new folder."""
    folder.mkdir(parents=True)
    (folder / "db.json").write_text(json.dumps(content))
    (folder / "policy.md").write_text("# Policy\n")
    (folder / "tasks.json").write_text(json.dumps(tasks))
    (folder / "split_tasks.json").write_text(json.dumps({"train": ["0"], "base": ["0", "1"]}))
    return folder


@pytest.fixture(scope="session", params=["retail", "airline"])
def small_domain(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Domain:
    """Each of the domains with a few records, for tests that leave the files alone."""
    content = RETAIL if request.param == "retail" else AIRLINE
    folder = tmp_path_factory.mktemp("small") / request.param
    return load_domain(_write_domain(folder, content, []))


@pytest.fixture
def small_tau2(tmp_path: Path) -> Path:
    """A folder with both domains' files, each of a few records."""
    folder = tmp_path / "domains"
    cancel = ("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})
    _write_domain(folder / "retail", RETAIL, [_task("0", cancel), _task("1")])
    _write_domain(folder / "airline", AIRLINE, [_task("0"), _task("1")])
    return folder


@pytest.fixture
def retail(small_tau2: Path) -> Desk:
    return load_domain(small_tau2, "retail").open()


@pytest.fixture
def airline(small_tau2: Path) -> Desk:
    return load_domain(small_tau2, "airline").open()


@pytest.fixture(scope="session")
def real_tau2() -> Path:
    root = next(p for p in Path(__file__).parents if (p / "agentgym" / "types.py").is_file())
    folder = root.parent / "shared" / "data" / "tau2"
    if not folder.is_dir():
        reason = "../shared/data/tau2 is absent"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return folder


class ChatServer:
    """A real HTTP server that speaks OpenAI's chat completions.

    Attributes:
        answer: Takes a request's body and returns a message, or an HTTP status with a body and
            headers; None drops the connection. A text is words.
        requests: Every body received.
        keys: The Authorization header of each.
    """

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], Any] = lambda body: "ok"
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.stopping = asyncio.Event()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        self.base_url = ""

    def says(self, answers: Iterable[Any]) -> None:
        """Answer in turn, whatever is asked."""
        rest = iter(answers)
        self.answer = lambda body: next(rest)

    async def start(self) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        self.stopping.set()
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.keys.append(request.headers.get("Authorization", ""))
        answer = self.answer(body)
        if answer is ...:  # never
            await self.stopping.wait()
        if answer is None or answer is ...:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if isinstance(answer, tuple):
            status, text, headers = answer
            return web.Response(
                status=status, text=text, headers=headers, content_type="application/json"
            )
        message = {"role": "assistant", **(answer if isinstance(answer, dict) else {})}
        if isinstance(answer, str):
            message["content"] = answer
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return web.json_response(
            {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
             "choices": [choice], "usage": usage}
        )  # fmt: skip


@pytest.fixture
async def chat() -> AsyncIterator[ChatServer]:
    """A model server that a test tells what to answer."""
    server = ChatServer()
    await server.start()
    yield server
    await server.stop()
