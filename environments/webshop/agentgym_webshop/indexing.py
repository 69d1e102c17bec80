"""Building a search index: words of documents in, mapped postings out.

A posting is a document and an impact code, the rank of its saturation x (see `bm25`) among all
that occur; so a score is a look-up, and the highest code of a block of documents is its upper
bound. For common terms that highest code is stored for each block (see `block_max`), with where
the block's postings begin.
"""

from array import array
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentgym_webshop.analysis import normaliser, words
from agentgym_webshop.block_max import BLOCK, block_maxima
from agentgym_webshop.bm25 import encode_lengths, inverse_norms
from agentgym_webshop.storage import new_array

DENSE = 4
"""A term in more documents than a fourth of the number of blocks has its blocks stored."""

_CHUNK = 20_000
_MAX_TF = 4095
_STOP = -1


class _Terms(dict[str, int]):
    """Numbers words by their search term, in the order they are first met; stop words get -1."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, int] = {}
        self._normalise = normaliser()

    def __missing__(self, word: str) -> int:
        term = self._normalise(word)
        number = _STOP if term is None else self.names.setdefault(term, len(self.names))
        self[word] = number
        return number


class _Chunk(NamedTuple):
    """Postings of neighbouring documents, by term and then document.

    Attributes:
        terms: Numbers of the terms that occur, ascending.
        counts: Postings of each.
        documents: Of every posting.
        frequencies: Of every posting, how often its document has its term.
    """

    terms: NDArray[np.int64]
    counts: NDArray[np.int64]
    documents: Path
    frequencies: Path


class IndexBuilder:
    """Takes documents one by one and writes the index into a folder.

    Memory is bounded by the chunk in hand and the vocabulary; finished chunks wait on disk.

    Args:
        folder: Where the index goes; files whose name begins with `chunk` are removed in the end.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._terms = _Terms()
        self._numbers = array("i")
        self._word_counts = array("i")
        self._lengths: list[NDArray[np.int64]] = []
        self._chunks: list[_Chunk] = []
        self._done = 0
        self._seen = np.zeros((_MAX_TF + 1, 256), np.bool_)

    def add(self, text: str) -> None:
        """Add the next document."""
        found = words(text)
        self._numbers.extend(map(self._terms.__getitem__, found))
        self._word_counts.append(len(found))
        if len(self._word_counts) == _CHUNK:
            self._flush()

    def finish(self) -> dict[str, int]:
        """Write the index.

        Returns:
            What has to be known to search it: documents with a word, and words in total.
        """
        if len(self._word_counts):
            self._flush()
        lengths = np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.int64)
        facts = {"documents": int(np.count_nonzero(lengths)), "words": int(lengths.sum())}
        codes = self._write_saturations(facts)
        order = self._write_terms()
        self._write_postings(order, codes, encode_lengths(lengths))
        for chunk in self._chunks:
            chunk.documents.unlink()
            chunk.frequencies.unlink()
        return facts

    def _flush(self) -> None:
        numbers = np.frombuffer(self._numbers, np.intc).astype(np.int64)
        word_counts = np.frombuffer(self._word_counts, np.intc)
        documents = np.repeat(np.arange(len(word_counts), dtype=np.int64), word_counts)
        kept = numbers != _STOP
        numbers, documents = numbers[kept], documents[kept]
        lengths = np.bincount(documents, minlength=len(word_counts))
        keys, frequencies = np.unique(numbers << 32 | documents, return_counts=True)
        frequencies = np.minimum(frequencies, _MAX_TF)
        documents = keys & 0xFFFFFFFF
        self._seen[frequencies, encode_lengths(lengths)[documents]] = True
        terms, counts = np.unique(keys >> 32, return_counts=True)
        paths = [self._folder / f"chunk{len(self._chunks)}.{part}.npy" for part in "df"]
        np.save(paths[0], (documents + self._done).astype(np.uint32))
        np.save(paths[1], frequencies.astype(np.uint16))
        self._chunks.append(_Chunk(terms, counts, *paths))
        self._lengths.append(lengths)
        self._done += len(word_counts)
        self._numbers, self._word_counts = array("i"), array("i")

    def _write_saturations(self, facts: dict[str, int]) -> NDArray[Any]:
        """Write each code's x, and return the code of every frequency and length byte."""
        inverse = inverse_norms(max(facts["words"], 1), max(facts["documents"], 1))
        frequencies = np.arange(_MAX_TF + 1, dtype=np.float32)
        x = frequencies[:, None] * inverse[None, :]
        present = np.unique(np.append(x[self._seen], np.float32(0)))  # code 0: no posting
        np.save(self._folder / "saturation.npy", present)
        smallest = np.uint8 if len(present) <= 256 else np.uint16
        codes: NDArray[Any] = np.searchsorted(present, x).astype(smallest)
        return codes

    def _write_terms(self) -> NDArray[np.int64]:
        """Write the terms in the order of their bytes, and return each number's place in it."""
        names = [name.encode("utf-8", "replace") for name in self._terms.names]
        order = sorted(range(len(names)), key=names.__getitem__)
        sizes = np.array([len(names[number]) for number in order], np.int64)
        (self._folder / "terms.bin").write_bytes(b"".join(names[n] for n in order) + b"\n")
        np.save(self._folder / "term_offsets.npy", _offsets(sizes))
        places = np.empty(len(names), np.int64)
        places[order] = np.arange(len(names))
        return places

    def _write_postings(
        self, places: NDArray[np.int64], codes: NDArray[Any], lengths: NDArray[np.uint8]
    ) -> None:
        totals = np.zeros(len(places), np.int64)
        for chunk in self._chunks:
            totals[places[chunk.terms]] += chunk.counts
        offsets = _offsets(totals)
        np.save(self._folder / "posting_offsets.npy", offsets)
        shape = (int(offsets[-1]),)
        documents = new_array(self._folder, "documents", np.uint32, shape)
        impacts = new_array(self._folder, "impacts", codes.dtype, shape)
        cursors = offsets[:-1].copy()
        for chunk in self._chunks:
            at = places[chunk.terms]
            inside = np.arange(int(chunk.counts.sum())) - np.repeat(
                _offsets(chunk.counts)[:-1], chunk.counts
            )
            positions = np.repeat(cursors[at], chunk.counts) + inside
            cursors[at] += chunk.counts
            chunk_documents = np.load(chunk.documents)
            documents[positions] = chunk_documents
            impacts[positions] = codes[np.load(chunk.frequencies), lengths[chunk_documents]]
        self._write_blocks(offsets, documents, impacts, len(lengths))

    def _write_blocks(
        self,
        offsets: NDArray[np.int64],
        documents: NDArray[np.uint32],
        impacts: NDArray[Any],
        size: int,
    ) -> None:
        blocks = -(-size // BLOCK)
        dense = np.flatnonzero(np.diff(offsets) * DENSE > blocks)
        rows = np.full(len(offsets) - 1, -1, np.int32)
        rows[dense] = np.arange(len(dense))
        np.save(self._folder / "rows.npy", rows)
        maxima = new_array(self._folder, "maxima", impacts.dtype, (len(dense), blocks))
        starts = new_array(self._folder, "starts", np.uint32, (len(dense), blocks + 1))
        edges = (np.arange(blocks + 1) * BLOCK).astype(np.uint32)
        for row, term in enumerate(dense):
            part = slice(int(offsets[term]), int(offsets[term + 1]))
            at, highest = block_maxima(documents[part], impacts[part])
            maxima[row, at] = highest
            starts[row] = documents[part].searchsorted(edges)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
