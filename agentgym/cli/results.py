"""What runs came to, as a person reads it."""

import shlex
from collections.abc import Sequence

from sqlalchemy import make_url

from agentgym.cli.output import print_table, print_text
from agentgym.evaluation.metrics import RunResult
from agentgym.evaluation.passes import PassRates

_COLUMNS = (
    "agent",
    "tasks",
    "scored",
    "mean reward",
    "success",
    "turns",
    "errors",
    "limits",
    "seconds",
)

_PASSES = ("agent", "k", "pass@k", "pass^k", "tasks", "left out")


def print_results(results: Sequence[RunResult]) -> None:
    """Print a line for each run, and where tasks were tried again what came of k tries."""
    print_table(_COLUMNS, [_row(result) for result in results])
    passes = [_passes(result, rates) for result in results for rates in result.passes]
    if passes:
        print_text("")
        print_table(_PASSES, passes)


def print_look_closer(results: Sequence[RunResult], *, store: str | None) -> None:
    """Print the commands that show the runs, in the store that was named."""
    where = named_store(store)
    for result in results:
        print_text(f"Look closer: agentgym show {shlex.quote(result.run_id)}{where}")


def named_store(store: str | None) -> str:
    """Return the words that name a store in a command, its password left out."""
    if not store:
        return ""
    shown = make_url(store).render_as_string() if "://" in store else store
    return f" --store {shlex.quote(shown)}"


def _passes(result: RunResult, rates: PassRates) -> tuple[object, ...]:
    return (
        result.agent,
        rates.k,
        _with_error(rates.pass_at, rates.pass_at_stderr),
        _with_error(rates.pass_all, rates.pass_all_stderr),
        rates.tasks,
        rates.left_out,
    )


def _row(result: RunResult) -> tuple[object, ...]:
    return (
        result.agent,
        result.tasks,
        f"{result.scored}/{result.planned}",
        _with_error(result.mean_reward, result.stderr),
        _with_error(result.success_rate, result.success_stderr),
        "-" if result.turns is None else f"{result.turns:.1f}",
        result.errors,
        result.limits,
        "-" if result.wall_s is None else f"{result.wall_s:.1f}",
    )


def _with_error(mean: float | None, stderr: float | None) -> str:
    if mean is None:
        return "-"
    return f"{mean:.3f}" if stderr is None else f"{mean:.3f} ± {stderr:.3f}"
