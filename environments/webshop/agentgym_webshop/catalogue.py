"""A built catalogue: products and their search index, in files that processes share."""

import hashlib
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import platformdirs

from agentgym.errors import UsageError
from agentgym_webshop.building import Progress, build_catalogue
from agentgym_webshop.generator.families import SEED
from agentgym_webshop.generator.generation import DEFAULT_TAGGER, products
from agentgym_webshop.products import Product
from agentgym_webshop.records import decode
from agentgym_webshop.searching import SearchIndex
from agentgym_webshop.storage import damaged, map_array, map_bytes, read_manifest

CACHED_PRODUCTS = 512
"""Decoded products that are kept, about 5 kB each."""

SIZES = (1_000, 10_000, 100_000, 1_000_000)
"""Products of the generated catalogues."""

_MAKERS = (
    *("analysis", "block_max", "bm25", "building", "indexing", "products", "records", "storage"),
    "tagging",
)
"""The modules that decide what is in a built catalogue, beside the generator."""


class Catalogue:
    """Products and search over them, read-only and mapped into memory.

    Args:
        path: A built catalogue's folder.

    Attributes:
        path: That folder.
        digest: Content hash of products and index.
        tagger: Name and version of the tagger that found the products' nouns.
        index: Searches their text.

    Raises:
        CatalogueError: There is none, or it is damaged or half-built.
    """

    def __init__(self, path: Path) -> None:
        manifest = read_manifest(path)
        try:
            self.digest: str = manifest["digest"]
            self.tagger: str = manifest["tagger"]
            self._size: int = manifest["products"]
            search_facts: dict[str, int] = manifest["search"]
        except KeyError as error:
            raise damaged(path, f"its manifest lacks {error}") from error
        self.path = path
        self._records = map_bytes(path, "products.bin")
        self._offsets = map_array(path, "product_offsets")
        self._asins = map_array(path, "asins")
        self._places = map_array(path, "places")
        self.index = SearchIndex(path, search_facts, map_array(path, "ranks"))
        self._decoded = lru_cache(CACHED_PRODUCTS)(self._decode)

    @classmethod
    def open(cls, path: Path) -> "Catalogue":
        """Map a built catalogue, in milliseconds at any size.

        Raises:
            CatalogueError: There is none, or it is damaged or half-built.
        """
        return cls(path)

    def __len__(self) -> int:
        return self._size

    def product(self, index: int) -> Product:
        """Decode one product, by its place in the catalogue.

        Raises:
            IndexError: There is no such place.
            CatalogueError: Its record is damaged.
        """
        if not 0 <= index < self._size:
            raise IndexError(f"there is no product {index} among {self._size}")
        return self._decoded(index)

    def find(self, asin: str) -> int | None:
        """Return the place of a product, by its id in any case; None where there is none."""
        name = asin.upper().encode("utf-8", "replace")
        if len(name) > self._asins.dtype.itemsize:
            return None
        at = int(np.searchsorted(self._asins, np.bytes_(name)))
        if at == self._size or self._asins[at] != name:
            return None
        return int(self._places[at])

    def search(self, query: str, limit: int = 50) -> list[int]:
        """Return the places of the best matches, best first.

        The ranking is Lucene's BM25; products of equal score come in the order of their ids.
        Of an overlong query the beginning is read.

        Raises:
            CatalogueError: The index is damaged.
        """
        return self.index.search(query, limit)

    def _decode(self, index: int) -> Product:
        record = self._records[int(self._offsets[index]) : int(self._offsets[index + 1])]
        try:
            return decode(record)
        except (ValueError, TypeError, IndexError) as error:
            raise damaged(self.path, f"product {index} cannot be read ({error})") from error


def shipped(size: int, *, progress: Progress | None = None) -> Catalogue:
    """Open the generated catalogue of one size, building it where it is not there yet.

    It lies in the user's cache folder, under a name that holds a hash of the code and the words it
    is made from, so that other code never meets an old one.

    Args:
        size: One of `SIZES`.
        progress: Told while building how many products are done.

    Raises:
        UsageError: No generated catalogue has this size.
        CatalogueError: It is there and damaged.
    """
    if size not in SIZES:
        raise UsageError(
            f"There is no generated catalogue of {size} products.",
            remedy=f"Sizes: {', '.join(map(str, SIZES))}.",
        )
    path = cache_folder() / f"generated-{size}-{_code_hash()}"
    if not path.exists():
        facts = {"tagger": f"{DEFAULT_TAGGER.name} {DEFAULT_TAGGER.version}", "seed": SEED}
        build_catalogue(path, products(size), facts=facts, progress=progress)
    return Catalogue.open(path)


def cache_folder() -> Path:
    """Return the folder that built catalogues lie in."""
    return Path(platformdirs.user_cache_dir("agentgym")) / "webshop"


@cache
def _code_hash() -> str:
    package = Path(__file__).parent
    paths = [package / "lexicon.toml", *(package / f"{name}.py" for name in _MAKERS)]
    paths += sorted(path for path in package.joinpath("generator").rglob("*") if path.is_file())
    code = hashlib.sha256()
    for path in paths:
        if path.suffix in (".py", ".toml"):
            code.update(path.read_bytes())
    return code.hexdigest()[:12]
