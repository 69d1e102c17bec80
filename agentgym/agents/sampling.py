"""Samplers: what gives a token-exact policy its tokens, and how many episodes share one model."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """One turn to sample.

    Attributes:
        prompt_ids: Token ids the model reads.
        max_tokens: Tokens to sample at most, 1 or more.
        seed: For samplers that draw by it: the same turn of the same episode has the same.
    """

    prompt_ids: tuple[int, ...]
    max_tokens: int
    seed: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """What was sampled.

    Attributes:
        ids: Token ids, the one that ends the turn included where the model came to it.
        logprobs: Log-probability of each, or None where the sampler cannot tell.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None


Sampler: TypeAlias = Callable[[SampleRequest], Awaitable[Sampled]]
Serve: TypeAlias = Callable[[Sequence[SampleRequest]], Awaitable[Sequence[Sampled]]]
"""Answers many requests at once, in their order."""


class Batcher:
    """Gathers the requests of concurrent episodes, so that one model call serves them all.

    A batch is served when every live episode waits, or when the first of it has waited for
    `patience_s`; meanwhile at most one batch is with the model. All calls come from one loop.

    Args:
        serve: The model.
        live: Returns how many episodes are under way, waiting ones included.
        patience_s: Seconds; None waits for every live episode, however long it takes.
    """

    def __init__(
        self, serve: Serve, live: Callable[[], int], *, patience_s: float | None = None
    ) -> None:
        self._serve = serve
        self._live = live
        self._patience_s = patience_s
        self._parked: list[tuple[int, SampleRequest, asyncio.Future[Sampled]]] = []
        self._serving: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def sampler(self, place: int) -> Sampler:
        """Return the sampler of one episode.

        Args:
            place: Its place among those of a batch, so that their order is always the same.
        """
        return partial(self._park, place)

    def look(self) -> None:
        """Serve what is parked if it is time to; to be called when an episode has ended."""
        if not self._parked or self._serving is not None:
            return
        if len(self._parked) >= self._live():
            self._begin()
        elif self._patience_s is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._patience_s, self._begin)

    async def _park(self, place: int, request: SampleRequest) -> Sampled:
        future: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        self._parked.append((place, request, future))
        self.look()
        return await future

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._serving is None and self._parked:
            self._serving = asyncio.create_task(self._answer())

    async def _answer(self) -> None:
        batch = sorted(self._parked, key=lambda parked: parked[0])
        self._parked = []
        batch = [parked for parked in batch if not parked[2].cancelled()]
        try:
            # An episode's fault may have cancelled all the others.
            answers = await self._serve([request for _, request, _ in batch]) if batch else []
            for (_, _, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
        except Exception as error:  # noqa: BLE001 - raised where each turn is awaited
            for _, _, future in batch:
                if not future.done():
                    future.set_exception(error)
        finally:
            self._serving = None
        # What was parked meanwhile waits for those that were just answered, or for its time.
        self.look()
