"""BM25 in Lucene's arithmetic, which is single precision with document lengths of one byte.

Formulas: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), as Lucene 8.11's
`BM25Similarity` computes them, operation by operation:

    idf    = float(ln(1 + (N - n + 0.5) / (n + 0.5)))
    x      = tf * (1 / (k1 * ((1 - b) + b * length / mean length)))
    score  = w - w / (1 + x),    w = (times the query has the term) * idf
"""

import math

import numpy as np
from numpy.typing import NDArray

K1 = np.float32(0.9)
B = np.float32(0.4)
"""The parameters of Anserini's, and so WebShop's, search."""

_EXACT = 24
"""Lengths below this are stored exactly; longer ones keep four significant bits."""


def encode_length(length: int) -> int:
    """Return the byte for a length, rounding down, as Lucene's `SmallFloat.intToByte4`."""
    if length < _EXACT:
        return length
    rest = length - _EXACT
    shift = rest.bit_length() - 4
    if shift < 0:
        return _EXACT + rest
    return _EXACT + ((rest >> shift) & 7 | (shift + 1) << 3)


def decode_length(code: int) -> int:
    """Return the length a byte stands for, as Lucene's `SmallFloat.byte4ToInt`."""
    if code < _EXACT:
        return code
    bits, shift = (code - _EXACT) & 7, ((code - _EXACT) >> 3) - 1
    return _EXACT + (bits if shift < 0 else (bits | 8) << shift)


LENGTHS: NDArray[np.float32] = np.array([decode_length(code) for code in range(256)], np.float32)
"""The length each byte stands for; shape (256,)."""

_BOUNDARIES = np.array([decode_length(code) for code in range(256)], np.int64)


def encode_lengths(lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the bytes for many lengths; see `encode_length`."""
    codes = np.searchsorted(_BOUNDARIES, lengths, side="right") - 1
    return codes.astype(np.uint8)


def inverse_norms(total_length: int, documents: int) -> NDArray[np.float32]:
    """Return 1 / (k1 * ((1 - b) + b * length / mean length)) for each length byte; shape (256,).

    Args:
        total_length: Words in all documents together.
        documents: Documents with at least one word.
    """
    mean = np.float32(total_length / documents)
    one = np.float32(1)
    inverse: NDArray[np.float32] = one / (K1 * ((one - B) + B * LENGTHS / mean))
    return inverse


def inverse_document_frequency(frequency: int, documents: int) -> np.float32:
    """Return the weight of a term that is in `frequency` of the documents."""
    return np.float32(math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5)))


def scores(weight: np.float32, saturation: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return w - w / (1 + x) for each x; monotonic in x also after rounding."""
    result: NDArray[np.float32] = weight - weight / (np.float32(1) + saturation)
    return result
