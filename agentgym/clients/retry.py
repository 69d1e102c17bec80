"""Retries for any chat client: by error type, with backoff, honouring the server's limits."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from agentgym.clients.base import ChatClient, ChatRequest, Completion
from agentgym.errors import ModelAccessError, ModelError, ModelRateLimitedError, UsageError
from agentgym.faults import Fault

_FIRST_WAIT_SECONDS = 0.5
_GATE_SPREAD = 0.1


class RetryingClient(ChatClient):
    """Retries the calls of another client where a retry can help.

    A 429 that says how long to wait pauses every caller of this client, not only the one it
    struck. One that asks for longer than `max_wait_s` is raised at once: a sooner retry would
    not honour it, and whoever plays the episode can begin it again when that time has passed.

    Args:
        client: Whom to call.
        attempts: Calls at most, the first included.
        max_wait_s: The longest wait between two attempts, in seconds.
        sleep: Waits for seconds; for tests.
        clock: Monotonic seconds; for tests.

    Attributes:
        faults: Count of the errors retried so far, by kind.
    """

    def __init__(
        self,
        client: ChatClient,
        attempts: int = 8,
        max_wait_s: float = 120.0,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.faults: Counter[str] = Counter()
        self._client = client
        self._attempts = attempts
        self._max_wait_s = max_wait_s
        self._sleep = sleep
        self._clock = clock
        self._gate_opens = clock()
        self._answered = False
        # A generator of its own, so that no wait shifts the numbers an episode draws.
        self._jitter = random.Random()

    async def complete(self, request: ChatRequest) -> Completion:
        """Call the model until it answers; see `ChatClient.complete`.

        Returns:
            The answer, with the errors retried on the way in `faults`.

        Raises:
            ModelError: The last attempt's error, or one that no retry can mend; with the errors
                before it in `retried`.
            UsageError: The endpoint, the key or the model's name is refused, and no call was
                ever answered.
        """
        failed: list[ModelError] = []
        retrying = AsyncRetrying(
            retry=retry_if_exception(self._worth_retrying),
            stop=stop_after_attempt(self._attempts),
            wait=self._wait,
            before_sleep=partial(self._record, failed),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            completion: Completion = await retrying(self._attempt, request)
        except ModelAccessError as error:
            if self._answered:
                raise
            # Nothing ever came of it, so it is how the model was named, not this episode.
            raise UsageError(error.message, remedy=error.remedy) from error
        except ModelError as error:
            error.retried = tuple(failed)
            raise
        self._answered = True
        if not failed:
            return completion
        faults = tuple(Fault(kind=error.kind, message=str(error)) for error in failed)
        return completion.model_copy(update={"faults": faults})

    async def check(self, model: str) -> None:
        """Have the client that is called check itself."""
        await self._client.check(model)

    async def close(self) -> None:
        """Close the client that is called."""
        await self._client.close()

    async def _attempt(self, request: ChatRequest) -> Completion:
        while (closed_for := self._gate_opens - self._clock()) > 0:
            await self._sleep(self._spread(closed_for))
        try:
            return await self._client.complete(request)
        except ModelRateLimitedError as error:
            if error.retry_after is not None and error.retry_after <= self._max_wait_s:
                self._gate_opens = max(self._gate_opens, self._clock() + error.retry_after)
            raise

    def _worth_retrying(self, error: BaseException) -> bool:
        if isinstance(error, ModelRateLimitedError) and error.retry_after is not None:
            return error.retry_after <= self._max_wait_s
        return isinstance(error, ModelError) and error.retryable

    def _wait(self, state: RetryCallState) -> float:
        longest: float = min(
            self._max_wait_s, _FIRST_WAIT_SECONDS * 2 ** (state.attempt_number - 1)
        )
        backoff = longest * self._jitter.uniform(0.5, 1)
        error = _error_of(state)
        if isinstance(error, ModelRateLimitedError) and error.retry_after is not None:
            return max(backoff, self._spread(error.retry_after))
        return backoff

    def _spread(self, seconds: float) -> float:
        """Return a little more than `seconds`, so that callers do not all return at once."""
        return seconds * self._jitter.uniform(1, 1 + _GATE_SPREAD)

    def _record(self, failed: list[ModelError], state: RetryCallState) -> None:
        error = _error_of(state)
        if isinstance(error, ModelError):
            self.faults[error.kind] += 1
            failed.append(error)


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None
