"""What a turn in the web shop costs, and what a thousand customers at once do."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.types import Action, ToolCall
from agentgym_webshop.catalogue import Catalogue, shipped
from agentgym_webshop.elements import find
from agentgym_webshop.env import WebShopEnvironment
from agentgym_webshop.render import MODES, Mode
from agentgym_webshop.session import Session
from agentgym_webshop.shop import Shop
from tests.bench.figures import Effort, Figure, Findings
from tests.bench.shopping import Trip, task, trips

PRODUCTS = 100_000
FEWER = 1_000  # where little is to be done
SESSIONS = 1_000
STEPS = 200_000
AIMS: dict[Mode, float] = {"text": 0.15, "html": 0.3}
_ROOT = Path(__file__).parents[2]
_LIMIT_S = 900


class _Spent(NamedTuple):
    """CPU milliseconds a turn, of all turns and of clicks alone."""

    turn: float
    click: float


def measure(effort: Effort) -> Findings:
    """CPU of a turn, with the environment and by the shop alone; memory of many episodes."""
    catalogue = shipped(FEWER if effort.quick else PRODUCTS)
    shopping = trips(catalogue)[: effort.of(100)]
    for mode, aim in AIMS.items():
        played = [asyncio.run(_play(catalogue, shopping, mode)) for _ in range(effort.repetitions)]
        alone = [_shop_alone(catalogue, shopping, mode) for _ in range(effort.repetitions)]
        yield Figure(f"{mode}: CPU a click", "ms", [spent.click for spent in played], aim=aim)
        yield Figure(f"{mode}: CPU a turn, searches included", "ms", [s.turn for s in played])
        yield Figure(f"{mode}: rules and page alone, a click", "ms", alone, kind="floor")
    yield from _memory(effort, len(catalogue))


def _memory(effort: Effort, products: int) -> Findings:
    sessions, steps = effort.of(SESSIONS), effort.of(STEPS)
    runs = [_sessions(products, sessions, steps) for _ in range(min(effort.repetitions, 2))]
    what = f"{sessions:,} episodes at once, {products:,} products"
    yield Figure(f"{what}, peak", "MB", [run["peak"] for run in runs], aim=600)
    yield Figure(
        "the process with the catalogue open", "MB", [r["before"] for r in runs], kind="floor"
    )
    grown = [run["late"] - run["early"] for run in runs]
    yield Figure(f"growth from turn {steps // 10:,} to turn {steps:,}", "MB", grown)


async def _play(catalogue: Catalogue, shopping: list[Trip], mode: Mode) -> _Spent:
    environment = WebShopEnvironment(observation=mode)
    visited = task(catalogue)
    turns: list[float] = []
    clicks: list[float] = []
    for trip in shopping:
        await environment.reset(visited, seed=0)
        for action in trip:
            started = time.process_time_ns()
            await environment.step(action)
            spent = (time.process_time_ns() - started) / 1e6
            turns.append(spent)
            if action.tool_calls[0].name == "click":
                clicks.append(spent)
    return _Spent(sum(turns) / len(turns), sum(clicks) / len(clicks))


def _shop_alone(catalogue: Catalogue, shopping: list[Trip], mode: Mode) -> float:
    shop, render = Shop(catalogue), MODES[mode]
    clicks: list[float] = []
    for trip in shopping:
        session = Session()
        for action in trip:
            move = _move(shop, session, action)
            started = time.process_time_ns()
            session = move()
            render(shop.view(session), "instruction")
            if action.tool_calls[0].name == "click":
                clicks.append((time.process_time_ns() - started) / 1e6)
    return sum(clicks) / len(clicks)


def _move(shop: Shop, session: Session, action: Action) -> Callable[[], Session]:
    call: ToolCall = action.tool_calls[0]
    assert isinstance(call.arguments, dict)
    if call.name == "search":
        query = call.arguments["query"]
        return lambda: shop.search(session, query)
    element = find(shop.view(session).elements, call.arguments["element"])
    return lambda: shop.click(session, element)


def _sessions(products: int, sessions: int, steps: int) -> dict[str, Any]:
    program = [sys.executable, "-m", "tests.bench.webshop_sessions"]
    done = subprocess.run(
        [*program, str(products), str(sessions), str(steps)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_LIMIT_S,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
