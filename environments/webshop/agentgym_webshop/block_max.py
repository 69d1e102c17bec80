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
_GROWTH = 8


class Postings(NamedTuple):
    """Where the terms of a collection occur.

    Attributes:
        documents: Of every posting, term by term and ascending in each; shape (n,), uint32.
        impacts: Of every posting its impact code; shape (n,).
    """

    documents: NDArray[np.uint32]
    impacts: NDArray[Any]


class TermBlocks(NamedTuple):
    """A common term, block by block.

    Attributes:
        maxima: The highest impact code in every block, 0 where the term is not in it.
        starts: The first posting of every block and the end of the last, from the term's first.
    """

    maxima: NDArray[Any]
    starts: NDArray[np.uint32]


class Term(NamedTuple):
    """One term of a query.

    Attributes:
        start: Its first posting.
        end: After its last.
        blocks: Where its blocks are; None for a rare term, for which postings tell.
        scores: The term's score for each impact code, rising; float32.
    """

    start: int
    end: int
    blocks: TermBlocks | None
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
    """One query.

    Args:
        postings: Of the whole collection.
        terms: The query's distinct terms.
        blocks: Blocks of the whole collection.
    """

    def __init__(self, postings: Postings, terms: Sequence[Term], blocks: int) -> None:
        self._postings = postings
        self._terms = terms
        self._blocks = blocks
        self._documents = [postings.documents[term.start : term.end] for term in terms]

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
            batch *= _GROWTH
        order = np.lexsort((ranks[documents], -scores))[:limit]
        return documents[order].tolist(), scores[order].tolist()

    def _bounds(self) -> NDArray[np.float32]:
        """Return the score that no document of a block passes, for every block."""
        bounds = np.zeros(self._blocks, np.float64)
        for term, documents in zip(self._terms, self._documents, strict=True):
            if term.blocks is not None:
                bounds += term.scores.take(term.blocks.maxima)
            else:
                impacts = self._postings.impacts[term.start : term.end]
                at, highest = block_maxima(documents, impacts)
                bounds[at] += term.scores.take(highest)
        return bounds.astype(np.float32)

    def _score(self, blocks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the documents of some blocks that match, and their scores.

        Raises:
            ValueError: A posting is not in the block it was found in, so the index is damaged.
        """
        size = len(blocks) << BLOCK_BITS
        low, counts = self._runs(blocks)
        ends = counts.cumsum()
        at = np.arange(ends[-1]) + (low - ends + counts).repeat(counts)
        moved = (np.arange(len(blocks)) - blocks) << BLOCK_BITS  # from a document to its slot
        slots = self._postings.documents.take(at) + np.tile(moved, len(self._terms)).repeat(counts)
        if slots.max(initial=0) >= size:
            raise ValueError("a posting outside its block")
        impacts = self._postings.impacts.take(at)
        scores = np.empty(len(at), np.float64)
        begin = 0
        for term, end in zip(self._terms, ends[len(blocks) - 1 :: len(blocks)], strict=True):
            scores[begin:end] = term.scores.take(impacts[begin:end])
            begin = end
        sums = np.bincount(slots, scores, size)
        matching = np.flatnonzero(sums)
        documents = (blocks[matching >> BLOCK_BITS] << BLOCK_BITS) + (matching & (BLOCK - 1))
        return documents, sums[matching].astype(np.float32)

    def _runs(self, blocks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each block's first posting and number of postings, term by term.

        Raises:
            ValueError: A block has more postings of a term than documents, so the index is damaged.
        """
        first = (blocks << BLOCK_BITS).astype(np.uint32)
        low = np.empty((len(self._terms), len(blocks)), np.int64)
        high = np.empty_like(low)
        for row, (term, documents) in enumerate(zip(self._terms, self._documents, strict=True)):
            if term.blocks is not None:
                low[row] = term.blocks.starts.take(blocks)
                high[row] = term.blocks.starts.take(blocks + 1)
            else:
                low[row] = documents.searchsorted(first)
                high[row] = documents.searchsorted(first + np.uint32(BLOCK))
            low[row] += term.start
            high[row] += term.start
        counts = (high - low).ravel()
        if counts.max() > BLOCK:
            raise ValueError(f"a term with {counts.max()} postings in a block")
        return low.ravel(), counts


def _highest(bounds: NDArray[np.float32], threshold: np.float32, count: int) -> NDArray[np.int64]:
    """Return up to `count` blocks of the highest bounds that reach a positive threshold."""
    reaching = np.flatnonzero((bounds >= threshold) & (bounds > 0))
    if len(reaching) > count:
        best = np.argpartition(bounds[reaching], -count)[-count:]
        reaching = reaching[best]
        reaching.sort()
    return reaching
