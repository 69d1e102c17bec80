"""`make bench`: measure, print a table, write JSON. Figures are reported, never judged."""

import argparse
import json
import sys
import time
from pathlib import Path

from agentgym.errors import AgentgymError
from tests.bench import (
    engine,
    http,
    mcp,
    memory,
    reset,
    sandbox,
    servers,
    sql,
    start,
    store,
    tools,
    webshop,
    webshop_search,
)
from tests.bench.figures import Effort, Figure, Findings, Skipped, Topic
from tests.bench.report import show, to_json

TOPICS: dict[str, Topic] = {
    "engine": engine.measure,
    "http": http.measure,
    "mcp": mcp.measure,
    "store": store.measure,
    "memory": memory.measure,
    "sql": sql.measure,
    "reset": reset.measure,
    "sandbox": sandbox.measure,
    "servers": servers.measure,
    "start": start.measure,
    "tools": tools.measure,
    "webshop": webshop.measure,
    "webshop_search": webshop_search.measure,
}


def main() -> None:
    """Measure the topics asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=TOPICS, help="this topic; repeatable")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, twice")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    effort = Effort(repetitions=2 if options.quick else 5, quick=options.quick)
    started = time.perf_counter()
    results: dict[str, list[Figure | Skipped]] = {}
    for name in options.only or TOPICS:
        sys.stderr.write(f"measuring {name}\n")
        results[name] = list(_found(name, effort))
    show(results)
    if options.json is not None:
        found = to_json(results, effort, time.perf_counter() - started)
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def _found(name: str, effort: Effort) -> Findings:
    """Measure a topic; one that breaks says so, and the others keep their figures."""
    try:
        yield from TOPICS[name](effort)
    except AgentgymError as error:
        yield Skipped(name, f"broke off: {error}")


if __name__ == "__main__":
    main()
