"""Many shopping episodes at once in a fresh process, which prints the memory they take.

`python -m tests.bench.webshop_sessions PRODUCTS SESSIONS STEPS`; `webshop` starts it.
"""

import asyncio
import json
import sys

from agentgym_webshop.catalogue import shipped
from agentgym_webshop.env import WebShopEnvironment
from tests.bench.footprint import own_memory
from tests.bench.shopping import task, trips


def main(products: int, sessions: int, steps: int) -> None:
    """Play and print one JSON object, in MB."""
    catalogue = shipped(products)
    before = own_memory("VmRSS")
    shopping, visited = trips(catalogue), task(catalogue)
    environments = [WebShopEnvironment() for _ in range(sessions)]

    async def play(steps: int) -> None:
        played = 0
        while played < steps:
            places = [0] * sessions
            for environment in environments:
                await environment.reset(visited, seed=0)
            for turn in range(max(len(trip) for trip in shopping)):
                for number, environment in enumerate(environments):
                    trip = shopping[number % len(shopping)]
                    if turn < len(trip):
                        places[number] += 1
                        await environment.step(trip[turn])
            played += sum(places)

    asyncio.run(play(steps // 10))
    early = own_memory("VmRSS")
    asyncio.run(play(steps - steps // 10))
    found = {
        "before": before,
        "early": early,
        "late": own_memory("VmRSS"),
        "peak": own_memory("VmHWM"),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
