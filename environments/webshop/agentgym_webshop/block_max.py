"""The best documents of a query, exactly, without scoring all that match.

Documents are taken in blocks of neighbours. Upper bounds of all blocks come first; then blocks
are scored, best bound first, until no bound that is left reaches the worst score in hand (Ding
and Suel, "Faster top-k document retrieval using block-max indexes", SIGIR 2011, with whole blocks
in place of cursors). Term scores are single precision, summed in double precision and rounded
once, as Lucene does; such sums are exact, so neither order nor blocking changes a score.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS
"""Documents of a block, neighbours in the catalogue."""

_FIRST_BLOCKS = 48


class Postings(NamedTuple):
    """Where one term of a query occurs.

    Attributes:
        documents: Ascending; shape (n,), uint32.
        impacts: The impact code of each; shape (n,).
        maxima: The highest code in every block, 0 where the term is not in it; None for a rare
            term, whose maxima are found from the postings.
        scores: The term's score for each impact code, rising; float32.
    """

    documents: NDArray[np.uint32]
    impacts: NDArray[Any]
    maxima: NDArray[Any] | None
    scores: NDArray[np.float32]


def block_maxima(
    documents: NDArray[np.uint32], impacts: NDArray[Any]
) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the blocks that a term's postings lie in, ascending, and each one's highest code."""
    blocks = documents >> np.uint32(BLOCK_BITS)
    starts = np.flatnonzero(np.append(np.True_, blocks[1:] != blocks[:-1]))
    highest: NDArray[Any] = np.maximum.reduceat(impacts, starts)
    return blocks[starts], highest


class BlockMaxQuery:
    """The postings of a query's terms.

    Args:
        postings: One for each distinct term.
        blocks: Blocks of the whole collection.
    """

    def __init__(self, postings: Sequence[Postings], blocks: int) -> None:
        self._postings = postings
        self._blocks = blocks

    def best(self, limit: int, ranks: NDArray[Any]) -> tuple[list[int], list[float]]:
        """Return the best documents with their scores, best first.

        Args:
            limit: How many at most.
            ranks: Of every document, its place among documents of equal score.
        """
        bounds = self._bounds()
        documents, scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
        threshold, batch = np.float32(0), _FIRST_BLOCKS
        while True:
            blocks = _highest(bounds, threshold, batch)
            if len(blocks) == 0:
                break
            found, found_scores = self._score(blocks)
            bounds[blocks] = -1
            documents = np.concatenate([documents, found])
            scores = np.concatenate([scores, found_scores])
            if len(scores) > limit:
                threshold = np.partition(scores, -limit)[-limit]
                kept = scores >= threshold
                documents, scores = documents[kept], scores[kept]
            elif len(scores) == limit:
                threshold = scores.min()
            batch *= 2
        order = np.lexsort((ranks[documents], -scores))[:limit]
        return documents[order].tolist(), scores[order].tolist()

    def _bounds(self) -> NDArray[np.float32]:
        """Return the score that no document of a block passes, for every block."""
        bounds = np.zeros(self._blocks, np.float64)
        for term in self._postings:
            if term.maxima is not None:
                bounds += term.scores[term.maxima]
            else:
                at, highest = block_maxima(term.documents, term.impacts)
                bounds[at] += term.scores[highest]
        return bounds.astype(np.float32)

    def _score(self, blocks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the documents of some blocks that match, and their scores."""
        sums = np.zeros(len(blocks) << BLOCK_BITS, np.float64)
        first = (blocks << BLOCK_BITS).astype(np.uint32)
        places = np.arange(len(blocks)) << BLOCK_BITS
        for term in self._postings:
            low = term.documents.searchsorted(first)
            high = term.documents.searchsorted(first + np.uint32(BLOCK))
            counts = high - low
            ends = counts.cumsum()
            at = np.arange(ends[-1]) + np.repeat(low - ends + counts, counts)
            inside = term.documents[at] & np.uint32(BLOCK - 1)
            sums[np.repeat(places, counts) + inside] += term.scores[term.impacts[at]]
        matching = np.flatnonzero(sums)
        documents = (blocks[matching >> BLOCK_BITS] << BLOCK_BITS) + (matching & (BLOCK - 1))
        return documents, sums[matching].astype(np.float32)


def _highest(bounds: NDArray[np.float32], threshold: np.float32, count: int) -> NDArray[np.int64]:
    """Return up to `count` blocks of the highest bounds that reach a positive threshold."""
    reaching = np.flatnonzero((bounds >= threshold) & (bounds > 0))
    if len(reaching) > count:
        best = np.argpartition(bounds[reaching], -count)[-count:]
        reaching = reaching[best]
        reaching.sort()
    return reaching
