"""Building a catalogue's folder: products in, records and search index out, all or nothing."""

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from filelock import FileLock

from agentgym.errors import UsageError
from agentgym_webshop.indexing import IndexBuilder
from agentgym_webshop.products import Product
from agentgym_webshop.records import encode
from agentgym_webshop.storage import write_manifest

Progress: TypeAlias = Callable[[int], None]
"""Told now and then how many products are done."""

_REPORTED = 1_000


def searched_text(product: Product) -> str:
    """Return what search knows of a product: title, description, first feature and options."""
    options = ", and ".join(
        f"{group}: {', '.join(values)}" for group, values in product.options.items()
    )
    first = product.bullets[0] if product.bullets else ""
    return " ".join([product.title, product.description, first, options]).lower()


def build_catalogue(
    path: Path,
    products: Iterable[Product],
    *,
    facts: dict[str, Any],
    progress: Progress | None = None,
) -> None:
    """Build a catalogue at `path`, unless another process has done so meanwhile.

    The folder appears there whole, by renaming; one process builds and others wait. What a killed
    build left is removed. Search is fastest where similar products are neighbours.

    Args:
        path: The folder, which must not exist yet.
        products: In the order they are to have.
        facts: Noted in the manifest, such as the tagger.
        progress: Called while building.

    Raises:
        UsageError: There is no product, or two have one id.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(path.name + ".lock")):
        if path.exists():
            return
        prefix = path.name + ".building-"
        for left in [other for other in path.parent.iterdir() if other.name.startswith(prefix)]:
            shutil.rmtree(left, ignore_errors=True)  # nobody builds while the lock is ours
        half_built = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
        try:
            _fill(half_built, products, facts, progress)
            half_built.rename(path)
        finally:
            shutil.rmtree(half_built, ignore_errors=True)


def _fill(
    folder: Path, products: Iterable[Product], facts: dict[str, Any], progress: Progress | None
) -> None:
    index = IndexBuilder(folder)
    asins: list[bytes] = []
    ends: list[int] = [0]
    with (folder / "products.bin").open("wb") as file:
        for count, product in enumerate(products, start=1):
            ends.append(ends[-1] + file.write(encode(product)))
            asins.append(product.asin.encode())
            index.add(searched_text(product))
            if progress is not None and count % _REPORTED == 0:
                progress(count)
    if not asins:
        raise UsageError("A catalogue needs at least one product.")
    names = np.array(asins)
    order = np.argsort(names, kind="stable")
    sorted_names = names[order]
    if (sorted_names[1:] == sorted_names[:-1]).any():
        raise UsageError("Two products of the catalogue have the same id.")
    ranks = np.empty(len(names), np.uint32)
    ranks[order] = np.arange(len(names), dtype=np.uint32)
    np.save(folder / "product_offsets.npy", np.array(ends, np.int64))
    np.save(folder / "asins.npy", sorted_names)
    np.save(folder / "places.npy", order.astype(np.uint32))
    np.save(folder / "ranks.npy", ranks)
    write_manifest(folder, {**facts, "products": len(asins), "search": index.finish()})
