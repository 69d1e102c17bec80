"""A mapped search index: from the text of a query to the best documents."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentgym_webshop.analysis import normaliser, words
from agentgym_webshop.block_max import BlockMaxQuery, Postings, Term, TermBlocks
from agentgym_webshop.bm25 import inverse_document_frequency, scores
from agentgym_webshop.storage import damaged, map_array, map_bytes

QUERY_CHARACTERS = 5_000
"""Characters of a query that are read."""

QUERY_TERMS = 100
"""Distinct terms of a query that count, the first ones."""


class SearchIndex:
    """A mapped index.

    Args:
        folder: Where `IndexBuilder` wrote.
        facts: What its `finish` returned.
        ranks: Of every document, its place among documents of equal score.

    Attributes:
        postings: Of all terms.
    """

    def __init__(self, folder: Path, facts: dict[str, int], ranks: NDArray[Any]) -> None:
        self._folder = folder
        self._count = facts["documents"]
        self._ranks = ranks
        self._names = map_bytes(folder, "terms.bin")
        self._name_offsets = map_array(folder, "term_offsets")
        self._saturation = np.array(map_array(folder, "saturation"))
        self._offsets = map_array(folder, "posting_offsets")
        self.postings = Postings(map_array(folder, "documents"), map_array(folder, "impacts"))
        self._rows = map_array(folder, "rows")
        self._maxima = map_array(folder, "maxima")
        self._starts = map_array(folder, "starts")
        self._normalise = normaliser()

    def terms(self, query: str) -> dict[str, int]:
        """Return a query's terms with their counts, in the order of their first use."""
        found: Counter[str] = Counter()
        for word in words(query[:QUERY_CHARACTERS]):
            term = self._normalise(word)
            if term is not None and (term in found or len(found) < QUERY_TERMS):
                found[term] += 1
        return dict(found)

    def search(self, query: str, limit: int) -> list[int]:
        """Return the best documents, best first; at equal score by rank."""
        try:
            found = self.query_terms(query)
            if not found or limit < 1:
                return []
            best = BlockMaxQuery(self.postings, found, self._maxima.shape[1])
            documents, _ = best.best(limit, self._ranks)
        except (IndexError, ValueError, TypeError) as error:  # numbers that no built index holds
            raise damaged(self._folder, f"its index is corrupt ({error})") from error
        return documents

    def query_terms(self, query: str) -> list[Term]:
        """Return those of a query's terms that some document has."""
        places = [(self._find(term), count) for term, count in self.terms(query).items()]
        return [self._term(place, count) for place, count in places if place is not None]

    def _term(self, place: int, count: int) -> Term:
        start, end = int(self._offsets[place]), int(self._offsets[place + 1])
        row = int(self._rows[place])
        weight = np.float32(count) * inverse_document_frequency(end - start, self._count)
        blocks = TermBlocks(self._maxima[row], self._starts[row]) if row >= 0 else None
        return Term(start, end, blocks, scores(weight, self._saturation))

    def _find(self, term: str) -> int | None:
        name = term.encode("utf-8", "replace")
        low, high = 0, len(self._name_offsets) - 1
        while low < high:
            middle = (low + high) // 2
            if self._name(middle) < name:
                low = middle + 1
            else:
                high = middle
        found = low < len(self._name_offsets) - 1 and self._name(low) == name
        return low if found else None

    def _name(self, place: int) -> bytes:
        return self._names[int(self._name_offsets[place]) : int(self._name_offsets[place + 1])]
