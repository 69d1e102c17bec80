"""What a check is, and how it says that a promise is broken."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from agentgym.sandbox.check.context import Context

_SHOWN = 400

Run = Callable[["Context"], Awaitable[None]]


class CheckFailure(Exception):  # noqa: N818 - it is a finding, not an error of the suite
    """A promise that does not hold; the message says what was expected and what found."""


class NotApplicable(Exception):  # noqa: N818 - it is a finding, not an error of the suite
    """A promise that cannot be tried on this machine; the message says why."""


class Check(NamedTuple):
    """One check.

    Attributes:
        name: Group and name, such as "exec.exit_codes".
        group: The group alone.
        promise: What every backend promises, one sentence.
        run: Tries it, and raises `CheckFailure` where it does not hold.
        isolated: Whether it attacks, and so runs only where attacks are contained.
        users: Whether it needs more than one user in a sandbox.
        aside: Whether it mostly waits, so that it runs beside the others.
    """

    name: str
    group: str
    promise: str
    run: Run
    isolated: bool
    users: bool
    aside: bool

    def inapplicable(self, *, isolated: bool, users: bool) -> str | None:
        """Return why a backend with such declarations is not held to it, or None."""
        if self.isolated and not isolated:
            return "the backend declares no isolation"
        if self.users and not users:
            return "the backend has one user in a sandbox"
        return None


REGISTERED: list[Check] = []


def check(
    group: str, *, isolated: bool = False, users: bool = False, aside: bool = False
) -> Callable[[Run], Run]:
    """Register a function as a check: its docstring's first line is the promise."""

    def register(run: Run) -> Run:
        name = getattr(run, "__name__", "")
        promise = (run.__doc__ or "").strip().partition("\n")[0]
        REGISTERED.append(Check(f"{group}.{name}", group, promise, run, isolated, users, aside))
        return run

    return register


def same(what: str, found: object, wanted: object) -> None:
    """Fail where something is not what it has to be."""
    if found != wanted:
        fail(f"{what} to be {_shown(wanted)}", found)


def holds(condition: object, promised: str, found: object) -> None:
    """Fail where a condition does not hold.

    Args:
        condition: The condition.
        promised: Follows "expected" in the failure.
        found: What there is instead.
    """
    if not condition:
        fail(promised, found)


def fail(promised: str, found: object) -> NoReturn:
    """Fail with what was expected and what was found."""
    raise CheckFailure(f"expected {promised}; found {_shown(found)}")


@contextmanager
def refused(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Fail where the body does not raise one of these errors."""
    try:
        yield
    except kinds:
        return
    names = " or ".join(kind.__name__ for kind in kinds)
    raise CheckFailure(f"expected {what} to raise {names}; found that it was carried out")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
