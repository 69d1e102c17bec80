"""What the generated shop costs: building, opening, reading products, searching, memory."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from agentgym_webshop.building import build_catalogue, searched_text
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.generator.generation import DEFAULT_TAGGER, products
from agentgym_webshop.goals.goals import make_goal
from tests.bench.figures import Effort, Figure, Findings, Skipped
from tests.bench.footprint import own_memory
from tests.bench.playing import scratch
from tests.bench.sql import percentile

SIZES = (100_000, 1_000_000)
QUICK_SIZES = (1_000,)
QUERIES = 300
WORDS = 5
SHOWN = 50

Search = Callable[[str], object]


def measure(effort: Effort) -> Findings:
    """One catalogue of each size, built in a scratch folder; other engines on the smaller one."""
    for size in QUICK_SIZES if effort.quick else SIZES:
        with scratch() as folder:
            yield from _size(folder / "shop", size, effort)


def _size(path: Path, size: int, effort: Effort) -> Findings:
    name = f"{size:,} products"
    started = time.process_time()
    facts = {"tagger": f"{DEFAULT_TAGGER.name} {DEFAULT_TAGGER.version}"}
    build_catalogue(path, products(size), facts=facts)
    yield Figure(f"{name}: build, CPU", "s", [time.process_time() - started])
    megabytes = sum(file.stat().st_size for file in path.iterdir()) / 1e6
    yield Figure(f"{name}: on disk", "MB", [megabytes])
    opened = [_seconds(partial(Catalogue.open, path)) for _ in range(effort.repetitions)]
    yield Figure(f"{name}: open", "ms", [value * 1e3 for value in opened], aim=50)
    before = own_memory("VmRSS")
    shop = Catalogue.open(path)
    yield from _reading(name, shop, effort)
    step = max(1, size // effort.of(QUERIES))
    goals = [goal for place in range(0, size, step) if (goal := make_goal(shop, place))]
    instructions = [goal.instruction for goal in goals]
    yield from _timed(f"{name}: search, a whole instruction", shop.search, instructions, effort)
    queries = [" ".join(goal.product.title.split()[:WORDS]) for goal in goals]
    yield from _timed(f"{name}: search, {WORDS} words", shop.search, queries, effort, aim=2)
    used = own_memory("VmRSS") - before
    yield Figure(f"{name}: memory after all of it, mapped pages included", "MB", [used])
    yield from _others(f"{name}: search, {WORDS} words", shop, queries, effort)


def _reading(name: str, shop: Catalogue, effort: Effort) -> Iterator[Figure]:
    places = range(0, len(shop), max(1, len(shop) // effort.of(2_000)))
    values = []
    for _ in range(effort.repetitions):
        fresh = Catalogue.open(shop.path)  # so that nothing is decoded yet
        times = [_seconds(partial(fresh.product, place)) for place in places]
        values.append(percentile(times, 50) * 1e6)
    yield Figure(f"{name}: read a product", "us", values, aim=50)


def _others(label: str, shop: Catalogue, queries: Sequence[str], effort: Effort) -> Findings:
    floor = _Floor(shop)
    yield from _timed(f"{label}, adding up all postings", floor.search, queries, effort, floor=True)
    for engine, make in (("bm25s", _bm25s), ("tantivy", _tantivy)):
        if len(shop) > SIZES[0]:
            continue
        if find_spec(engine) is None:
            yield Skipped(f"{label}, {engine}", "not installed")
            continue
        search = make(searched_text(shop.product(place)) for place in range(len(shop)))
        yield from _timed(f"{label}, {engine}", search, queries, effort, floor=True)


def _timed(
    name: str,
    search: Search,
    queries: Sequence[str],
    effort: Effort,
    *,
    aim: float | None = None,
    floor: bool = False,
) -> Iterator[Figure]:
    for query in queries:
        search(query)
    values = []
    for _ in range(effort.repetitions):
        times = [_seconds(partial(search, query)) for query in queries]
        values.append(percentile(times, 50) * 1e3)
    yield Figure(f"{name}, p50", "ms", values, aim=aim, kind="floor" if floor else "figure")


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


class _Floor:
    """Adds up every posting of a query's terms and takes the best: no bounds, no blocks."""

    def __init__(self, shop: Catalogue) -> None:
        self._shop = shop

    def search(self, query: str) -> object:
        index = self._shop.index
        sums = np.zeros(len(self._shop), np.float32)
        for term in index.query_terms(query):
            part = slice(term.start, term.end)
            sums[index.postings.documents[part]] += term.scores[index.postings.impacts[part]]
        found = np.flatnonzero(sums)
        return found[np.argsort(sums[found])[-SHOWN:]]


def _bm25s(texts: Iterator[str]) -> Search:
    bm25s, stemmer = import_module("bm25s"), import_module("Stemmer").Stemmer("porter")
    options: dict[str, Any] = {"stemmer": stemmer, "show_progress": False}
    retriever = bm25s.BM25(k1=0.9, b=0.4)
    retriever.index(bm25s.tokenize(list(texts), **options), show_progress=False)

    def search(query: str) -> object:
        found = bm25s.tokenize([query], **options)
        return retriever.retrieve(found, k=SHOWN, show_progress=False)

    return search


def _tantivy(texts: Iterator[str]) -> Search:
    tantivy = import_module("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for text in texts:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> object:
        words = "".join(letter if letter.isalnum() else " " for letter in query)
        return searcher.search(index.parse_query(words, ["text"]), SHOWN).hits

    return search
