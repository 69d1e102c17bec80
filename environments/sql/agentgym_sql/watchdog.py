"""A thread that ends what overstays."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watchdog:
    """Calls `cancel` from a thread of its own when a statement overstays.

    Args:
        cancel: Ends the running statement; called in the watchdog's thread.

    Attributes:
        expired: Whether the last statement overstayed.
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self._changed = threading.Condition()
        self._timeout_s: float | None = None
        self._turn = 0
        self.expired = False
        threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def limit(self, timeout_s: float) -> Iterator[None]:
        """Watch what runs inside for that long.

        Once it is left, no cancelling is under way any more.
        """
        with self._changed:
            self.expired = False
            self._timeout_s = timeout_s
            self._turn += 1
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._timeout_s = None

    def _watch(self) -> None:
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._timeout_s is not None)
                turn = self._turn
                self._wait_for_another(turn)
                if self._turn == turn and self._timeout_s is not None:
                    self.expired = True
                    self._timeout_s = None
                    self._cancel()

    def _wait_for_another(self, turn: int) -> None:
        self._changed.wait_for(lambda: self._turn != turn, self._timeout_s)
