"""What a check is: a contract in one sentence, and a function that tries it."""

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from agentgym.evaluation.conformance.results import Status
from agentgym.evaluation.conformance.subject import Need, Subject


class Verdict(NamedTuple):
    """A check's outcome; the lines are problems, notes or the reason of a skip."""

    status: Status
    lines: tuple[str, ...] = ()


def passed(*notes: str) -> Verdict:
    """The contract holds."""
    return Verdict("passed", notes)


def skipped(reason: str) -> Verdict:
    """The contract could not be tried."""
    return Verdict("skipped", (reason,))


def judged(problems: Iterable[str | None]) -> Verdict:
    """Failed where there is a problem, else passed; None is no problem."""
    found = tuple(problem for problem in problems if problem is not None)
    return Verdict("failed", found) if found else passed()


class Check(NamedTuple):
    """One check.

    Attributes:
        name: Topic and name, such as "determinism.new_instance".
        contract: What every environment promises, one sentence.
        run: The check itself.
        needs: Without which it is skipped: a declared capability, an oracle, or at least one
            episode that could be recorded.
        episodes: How many episodes' patience it is given.
    """

    name: str
    contract: str
    run: Callable[[Subject], Awaitable[Verdict]]
    needs: tuple[Need, ...] = ()
    episodes: int = 10


def check(
    topic: str, run: Callable[[Subject], Awaitable[Verdict]], *needs: Need, episodes: int = 10
) -> Check:
    """Make a check of a function: named after it, its docstring's first line the contract."""
    name = getattr(run, "__name__", "")
    return Check(f"{topic}.{name}", first_line(run), run, needs, episodes)


def first_line(documented: object) -> str:
    """Return the first line of a docstring."""
    return (documented.__doc__ or "").strip().partition("\n")[0]
