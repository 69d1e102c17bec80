"""Who is in the shop: visits opened, watched and graded from outside, seen by one browser each."""

import secrets
import time
from collections.abc import Callable
from threading import Lock

from agentgym.errors import EnvironmentFailedError, EnvironmentLostError, UsageError
from agentgym.types import Reward
from agentgym_webshop.grading import Grader
from agentgym_webshop.opening import WebShopTask, catalogue_of
from agentgym_webshop.session import Session
from agentgym_webshop.shop import Shop


class Visit:
    """One customer's visit.

    Args:
        task: What the customer is to buy.
        show_attributes: Whether a product's page leads to the list of its attributes.

    Attributes:
        key: What the browser's cookie holds; nobody can guess it.
        task: The task.
        shop: The shop visited.
        session: The page that the customer looked at last, or the purchase.
        fault: What broke while a page was made; None where nothing did.
        given_up: Whether its place was needed for another visit before anything was bought.
        used: When the visit was last used, in the clock of its `Visits`.
    """

    def __init__(self, task: WebShopTask, *, show_attributes: bool = False) -> None:
        catalogue = catalogue_of(task)
        self.key = secrets.token_urlsafe(24)
        self.task = task
        self.shop = Shop(catalogue, show_attributes=show_attributes)
        self.session = Session()
        self.fault: Exception | None = None
        self.given_up = False
        self.used = 0.0
        self._grader = Grader(task.private, catalogue.tagger)

    @property
    def path(self) -> str:
        """Where a browser begins the visit: it is given its cookie there."""
        return f"/visit/{self.key}"

    @property
    def over(self) -> bool:
        """Whether something was bought."""
        return self.session.page == "done"

    def grade(self) -> Reward:
        """Return the reward of the visit as it stands, the same as the text environment's.

        Raises:
            EnvironmentFailedError: The shop broke during the visit, which is no fault of the
                customer's.
            EnvironmentLostError: It was given up.
        """
        if self.given_up:
            raise EnvironmentLostError("The visit was given up for another: it was not used.")
        if self.fault is not None:
            raise EnvironmentFailedError("the web site", self.fault) from self.fault
        return self._grader.grade(self.shop.view(self.session))


class Visits:
    """The visits that are going on, of bounded number; safe to use from several threads.

    Args:
        capacity: Visits at once.
        idle_s: Seconds after which an unused visit may be given up for a new one.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        *,
        capacity: int = 1000,
        idle_s: float = 1800.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capacity = capacity
        self._idle_s = idle_s
        self._clock = clock
        self._visits: dict[str, Visit] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._visits)

    def open(self, task: WebShopTask, *, show_attributes: bool = False) -> Visit:
        """Begin a visit.

        Args:
            task: What the customer is to buy.
            show_attributes: Whether a product's page leads to the list of its attributes.

        Raises:
            UsageError: There are as many as there may be, all in use; or the task's catalogue
                cannot be opened.
        """
        visit = Visit(task, show_attributes=show_attributes)
        with self._lock:
            now = self._clock()
            if len(self._visits) >= self._capacity:
                self._prune(now)
            if len(self._visits) >= self._capacity:
                raise UsageError(
                    f"{self._capacity} visits are open, all in use.",
                    remedy="Close visits that are over, or allow for more.",
                )
            visit.used = now
            self._visits[visit.key] = visit
        return visit

    def find(self, key: str) -> Visit | None:
        """Return a visit by its cookie, which counts as using it; None where there is none."""
        with self._lock:
            visit = self._visits.get(key)
            if visit is not None:
                visit.used = self._clock()
            return visit

    def close(self, visit: Visit) -> None:
        """End a visit; closing twice is allowed. It can still be graded."""
        with self._lock:
            self._visits.pop(visit.key, None)

    def _prune(self, now: float) -> None:
        for visit in [v for v in self._visits.values() if now - v.used > self._idle_s]:
            visit.given_up = not visit.over
            del self._visits[visit.key]
