"""Many episodes of the tools environment at once in a fresh process; `tools` starts it.

`python -m tests.bench.crowd EPISODES` prints one JSON object.
"""

import asyncio
import json
import sys
import time
from typing import Any

import agentgym
from agentgym.tasks import load_tasks
from agentgym.types import Task
from agentgym_tools.oracle import play
from tests.bench.footprint import own_memory


async def played(tasks: list[Task[Any, Any]]) -> tuple[int, int]:
    """Play all tasks at the same time, a turn each in turns; return turns and successes."""
    environments = [agentgym.make("tools") for _ in tasks]
    seen = [await env.reset(task, seed=0) for env, task in zip(environments, tasks, strict=True)]
    moves = [play(task, first) for task, first in zip(tasks, seen, strict=True)]
    actions = [next(plan) for plan in moves]
    live = set(range(len(tasks)))
    turns = solved = 0
    while live:
        for number in sorted(live):
            transition = await environments[number].step(actions[number])
            turns += 1
            if transition.over:
                live.discard(number)
                solved += transition.reward.value == 1
            else:
                actions[number] = moves[number].send(transition.observation)
    return turns, solved


def main(episodes: int) -> None:
    """Play and print memory in MB and CPU milliseconds a step."""
    known = load_tasks(agentgym.spec("tools")).tasks
    tasks = [known[number % len(known)] for number in range(episodes)]
    before = own_memory("VmRSS")
    started = time.process_time()
    turns, solved = asyncio.run(played(tasks))
    spent = time.process_time() - started
    found = {
        "before": before,
        "peak": own_memory("VmHWM"),
        "step_ms": spent * 1e3 / turns,
        "solved": solved / episodes,
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
