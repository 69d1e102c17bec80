"""The pytest plugin: a fixture that holds an environment to the protocol.

def test_conformance(conformance):
    conformance("my-env")
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentgym.evaluation.conformance import Report


@pytest.fixture
def conformance() -> "Callable[..., Report]":
    """Return `conformance(env, *, tasks=None, sample=8, seed=0, **options)`.

    It runs the conformance suite on an environment, by name or spec, and fails the test with a
    listing of what is broken; it returns the report otherwise. It works in plain and in
    `async def` tests. `tasks` is what `agentgym check --tasks` takes; `options` are the
    environment's own.
    """
    return _check


def _check(
    env: Any, *, tasks: str | None = None, sample: int = 8, seed: int = 0, **options: Any
) -> "Report":
    # pytest imports this module in every project, so what is heavy waits until it is used.
    from functools import partial

    from anyio.from_thread import start_blocking_portal

    from agentgym.evaluation.conformance import check_environment
    from agentgym.registry import spec
    from agentgym.tasks import load_tasks

    env_spec = spec(env) if isinstance(env, str) else env
    run = partial(
        check_environment,
        env_spec,
        load_tasks(env_spec, tasks),
        options=options,
        sample=sample,
        seed=seed,
    )
    # A loop in a thread of its own: the test may be running one already.
    with start_blocking_portal() as portal:
        report = portal.call(run)
    if not report.passed:
        pytest.fail(report.listing(), pytrace=False)
    return report
