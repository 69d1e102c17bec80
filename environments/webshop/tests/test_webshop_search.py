"""Search against a literal transcription of Lucene's scoring, and against recorded answers."""

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from agentgym_webshop.analysis import normaliser, words
from agentgym_webshop.bm25 import LENGTHS, encode_length, encode_lengths
from agentgym_webshop.building import searched_text
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.indexing import IndexBuilder
from agentgym_webshop.searching import QUERY_CHARACTERS, QUERY_TERMS, SearchIndex
from agentgym_webshop.storage import CatalogueError

RECORDED_DOCUMENTS = """\
women's running shoes with rubber sole, light weight running shoes for trail running
men's trail runners; waterproof, rubber sole & arch support
a tea kettle of stainless steel
running running running
technology for possibly trekking: technological, technologies
shoe
the shoes, the shoes and the shoes of a runner who runs in running shoes every day of the year \
because shoes are made for running and the sole of the shoe is of rubber
rubber duck, rubber band, rubber sole
light bulb 60w 3.5 inch o'neill's wi-fi
light light bulbs lighter lightest weight weights"""

# Document numbers and scores of Lucene 8.11 (Anserini 0.14.3, k1 0.9, b 0.4).
RECORDED = {
    "running shoes": [(6, 1.6935), (0, 1.5777), (3, 0.9305), (5, 0.7199)],
    "rubber sole running shoes": [
        *((0, 2.4299), (6, 2.4223), (7, 1.1822)),
        *((3, 0.9305), (1, 0.9188), (5, 0.7199)),
    ],
    "light weight": [(9, 1.8147), (0, 1.2522), (8, 0.5886)],
    "running rubber rubber": [(0, 1.6905), (6, 1.5004), (7, 1.3951), (3, 0.9305), (1, 0.9188)],
    "technology trek": [(4, 2.6866)],
    "o'neill 3.5": [(8, 2.0481)],
}

# What Lucene's analysis makes of these.
RECORDED_TERMS = {
    "women's Possibly technologies trekking": ["women", "possibl", "technolog", "trek"],
    "relational hopping 3.5mm wi-fi": ["relat", "hop", "3.5mm", "wi", "fi"],
    "o'neill's a.b.c u.s.a. 1,000.50 _x_": ["o'neil", "a.b.c", "u.s.a", "1,000.50", "_x_"],
    "Brand™ color:red it’s 100% café": ["brand", "™", "color:r", "100", "café"],
    "the shirt is not for sale such as these": ["shirt", "sale"],
}


def terms(text: str) -> list[str]:
    normalise = normaliser()
    return [term for word in words(text) if (term := normalise(word)) is not None]


def int_to_byte4(i: int) -> int:
    """Transcribe Lucene's `SmallFloat.intToByte4`."""
    if i < 24:
        return i
    i -= 24
    bits = i.bit_length()
    if bits < 4:
        return 24 + i
    shift = bits - 4
    encoded = (i >> shift) & 0x07
    return 24 + (encoded | (shift + 1) << 3)


def byte4_to_int(b: int) -> int:
    """Transcribe Lucene's `SmallFloat.byte4ToInt`."""
    if b < 24:
        return b
    i = b - 24
    bits, shift = i & 0x07, (i >> 3) - 1
    return 24 + (bits if shift == -1 else (bits | 0x08) << shift)


class Reference:
    """Scores every document, one float operation at a time."""

    def __init__(self, documents: list[str], names: list[str]) -> None:
        self.names = names
        self.counts = [Counter(terms(text)) for text in documents]
        lengths = [sum(counts.values()) for counts in self.counts]
        self.documents = sum(length > 0 for length in lengths)
        mean = np.float32(sum(lengths) / max(1, self.documents))
        k1, b, one = np.float32(0.9), np.float32(0.4), np.float32(1)
        self.inverse = [
            one / (k1 * ((one - b) + b * np.float32(byte4_to_int(int_to_byte4(length))) / mean))
            for length in lengths
        ]

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        found: dict[int, float] = {}
        for term, times in Counter(terms(query)).items():
            having = [place for place, counts in enumerate(self.counts) if term in counts]
            n, count = self.documents, len(having)
            idf = np.float32(math.log(1 + (n - count + 0.5) / (count + 0.5)))
            weight = np.float32(times) * idf
            for place in having:
                tf = np.float32(self.counts[place][term])
                score = weight - weight / (np.float32(1) + tf * self.inverse[place])
                found[place] = found.get(place, 0.0) + float(score)
        rounded = [(place, float(np.float32(score))) for place, score in found.items()]
        return sorted(rounded, key=lambda hit: (-hit[1], self.names[hit[0]]))[:limit]


def built(folder: Path, documents: list[str], names: list[str]) -> SearchIndex:
    folder.mkdir(exist_ok=True)
    builder = IndexBuilder(folder)
    for text in documents:
        builder.add(text)
    facts = builder.finish()
    ranks = np.argsort(np.argsort(np.array(names)))
    return SearchIndex(folder, facts, ranks)


@pytest.mark.parametrize("query", RECORDED)
def test_rankings_are_those_recorded_from_lucene(tmp_path: Path, query: str) -> None:
    documents = RECORDED_DOCUMENTS.split("\n")
    names = [f"B{number:02}" for number in range(len(documents))]
    assert built(tmp_path, documents, names).search(query, 50) == [d for d, _ in RECORDED[query]]
    scores = Reference(documents, names).search(query, 50)
    assert [(d, round(score, 4)) for d, score in scores] == RECORDED[query]


@pytest.mark.parametrize("text", RECORDED_TERMS)
def test_analysis_is_that_recorded_from_lucene(text: str) -> None:
    assert terms(text) == RECORDED_TERMS[text]


def test_ascii_and_general_words_agree() -> None:
    draw = random.Random(7)
    for _ in range(2000):
        text = "".join(draw.choices("abZ019_.,:;'-/ \"s()+&", k=draw.randint(1, 30)))
        assert words(text) == words(text + " é")[:-1]


def test_a_word_takes_all_joiners_around_it_and_joiners_alone_are_none() -> None:
    assert words("__a__ ___ b_c_") == ["__a__", "b_c_"]
    assert words("\u203f_\u00e9_\u203f \u203f\u203f \u203fc") == ["\u203f_\u00e9_\u203f", "\u203fc"]
    assert words("_" * 200_000) == words("\u203f" * 200_000) == []  # linear, or this hangs


def test_a_word_of_many_characters_is_cut_in_pieces() -> None:
    assert [len(word) for word in words("x" * 600 + " yz")] == [255, 255, 90, 2]


def test_lengths_are_rounded_as_lucene_rounds_them() -> None:
    lengths = [*range(3000), *range(3000, 2_000_000, 997)]
    assert [encode_length(length) for length in lengths] == [int_to_byte4(n) for n in lengths]
    assert encode_lengths(np.array(lengths)).tolist() == [int_to_byte4(n) for n in lengths]
    assert LENGTHS.tolist() == [float(np.float32(byte4_to_int(code))) for code in range(256)]


@pytest.mark.parametrize("seed", range(4))
def test_random_queries_give_exactly_the_reference_lists(tmp_path: Path, seed: int) -> None:
    """Few words and short texts make ties at the fiftieth place common."""
    draw = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(20 * 8**seed)]
    skew = [1 / (number + 1) for number in range(len(vocabulary))]
    size = draw.choice([1, 63, 64, 65, 700, 1500]) if seed else 900
    texts = [" ".join(draw.choices(vocabulary, skew, k=draw.randint(0, 60))) for _ in range(size)]
    texts = [texts[draw.randrange(place + 1)] for place in range(size)]  # some of them twins
    names = [f"N{number:06}" for number in draw.sample(range(10**6), size)]
    reference, index = Reference(texts, names), built(tmp_path, texts, names)
    for _ in range(60):
        query = " ".join(draw.choices(vocabulary, skew, k=draw.randint(1, 20)))
        for limit in (1, 50):
            expected = [place for place, _ in reference.search(query, limit)]
            assert index.search(query, limit) == expected


def test_instructions_on_the_generated_shop_give_exactly_the_reference_lists(
    thousand: Catalogue,
) -> None:
    products = [thousand.product(place) for place in range(len(thousand))]
    texts = [searched_text(product) for product in products]
    reference = Reference(texts, [product.asin for product in products])
    for product in products[::19]:
        query = f"i want a {product.query} with {', '.join(product.attributes)} in red, size small"
        for text in (query, product.title, product.title[:20]):
            expected = [place for place, _ in reference.search(text, 50)]
            assert thousand.search(text) == expected


def test_products_of_equal_score_come_by_id(tmp_path: Path) -> None:
    names = [f"B{number:03}" for number in random.Random(1).sample(range(300), 300)]
    found = built(tmp_path, ["same words here"] * 300, names).search("words", 50)
    assert [names[place] for place in found] == sorted(names)[:50]


@pytest.mark.parametrize("query", ["", " ", "the of and", "zzzunknown", "!?&", "\x00\ud800", "<q>"])
def test_queries_without_a_known_term_find_nothing(thousand: Catalogue, query: str) -> None:
    assert thousand.search(query) == []


def test_an_overlong_query_is_read_from_its_beginning(thousand: Catalogue) -> None:
    head = "machine wash cotton dress "
    assert thousand.search(head * 4000) == thousand.search((head * 4000)[:QUERY_CHARACTERS])
    strange = " ".join(f"q{number}" for number in range(QUERY_TERMS + 5))
    assert thousand.search("cotton " + strange) == thousand.search("cotton")
    assert thousand.search(strange + " cotton") == []


def test_limits_are_kept(thousand: Catalogue) -> None:
    assert len(thousand.search("easy")) == 50
    assert thousand.search("easy", 3) == thousand.search("easy")[:3]
    assert thousand.search("easy", 0) == []


def test_a_corrupt_index_says_so(tmp_path: Path) -> None:
    built(tmp_path, [f"word number{number}" for number in range(200)], list(map(str, range(200))))
    file = tmp_path / "documents.npy"
    array = np.load(file)
    np.save(file, np.full_like(array, 2**32 - 1))
    facts = {"documents": 200, "words": 400}
    with pytest.raises(CatalogueError, match="corrupt"):
        SearchIndex(tmp_path, facts, np.arange(200)).search("number7 number9", 50)
