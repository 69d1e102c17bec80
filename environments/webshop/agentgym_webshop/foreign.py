"""Task sets out of a folder with WebShop's original files."""

import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from filelock import FileLock

from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.types import Task
from agentgym_webshop.building import build_catalogue
from agentgym_webshop.catalogue import Catalogue, cache_folder
from agentgym_webshop.generator.generation import DEFAULT_TAGGER
from agentgym_webshop.products import Product
from agentgym_webshop.records import decode, encode
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic
from agentgym_webshop.upstream.cleaning import clean_products
from agentgym_webshop.upstream.files import UpstreamFiles, find_files, read_by_id, stream_products
from agentgym_webshop.upstream.goals import SEED, human_goals, ordered_tasks, synthetic_goals

_VERSION = 1
"""Raised whenever the same files give another catalogue or other tasks."""


def read_folder(folder: Path) -> TaskSet | None:
    """Read a folder with WebShop's files: goals people wrote where they are there, else made up.

    The products' file (of several the one with the shortest name, which is the whole catalogue)
    is read once and built into a catalogue in the user's cache folder, under a hash of the files'
    content. Splits and order are the original's; see `upstream.goals`.

    Returns:
        None where the folder holds no such files.

    Raises:
        TaskSetError: A file is malformed.
    """
    files = find_files(folder)
    if files is None:
        return None
    root = cache_folder() / f"upstream-{_VERSION}-{files.key}"
    lines, catalogue = root / "tasks.jsonl", root / "catalogue"
    if not (lines.exists() and catalogue.exists()):
        _prepare(files, root, lines, catalogue)
    info = TaskSetInfo(
        name=f"webshop:{folder.resolve().name}",
        environment="webshop",
        description="Goals on WebShop's own products.",
        licence="see the folder",
    )
    read = Task[WebShopPublic, WebShopPrivate].model_validate_json
    with lines.open(encoding="utf-8") as file:
        return TaskSet(info, [read(line) for line in file], str(folder.resolve()))


def _prepare(files: UpstreamFiles, root: Path, lines: Path, path: Path) -> None:
    """Build the catalogue and write the tasks, in one process while others wait.

    A catalogue that is there is taken as it is. What a killed process left is removed.
    """
    root.mkdir(parents=True, exist_ok=True)
    scratch = root / "scratch"
    with FileLock(root / "lock"):
        if lines.exists() and path.exists():
            return
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        try:
            _build(files, scratch, lines, path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _build(files: UpstreamFiles, scratch: Path, lines: Path, path: Path) -> None:
    attributes = read_by_id(files.attributes)
    cleaned = clean_products(
        stream_products(files.products), attributes, random.Random(SEED), DEFAULT_TAGGER
    )
    spool = _Spool(scratch / "products")
    limits = random.Random(SEED)
    if files.instructions is not None:
        instructions = read_by_id(files.instructions)
        goals = list(human_goals(spool.keep(cleaned), instructions, limits))
    else:
        goals = list(synthetic_goals(spool.keep(cleaned), attributes, limits))
    label = f"{DEFAULT_TAGGER.name} {DEFAULT_TAGGER.version}"
    build_catalogue(path, spool.neighbours(), facts={"tagger": label})
    catalogue = Catalogue.open(path)
    tasks = ordered_tasks(goals, path, catalogue.digest, len(catalogue))
    written = scratch / "tasks"
    with written.open("w", encoding="utf-8") as file:
        file.writelines(task.model_dump_json() + "\n" for task in tasks)
    written.replace(lines)


class _Spool:
    """Products on disk, to be read in another order than they came in.

    Args:
        path: A file to be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: list[tuple[str, str, str, int, int]] = []

    def keep(self, products: Iterable[Product]) -> Iterator[Product]:
        """Write products down as they pass."""
        with self._path.open("wb") as file:
            for product in products:
                start = file.tell()
                size = file.write(encode(product))
                kind = (product.category, product.query, product.title)
                self._places.append((*kind, start, size))
                yield product

    def neighbours(self) -> Iterator[Product]:
        """Read all of them, similar ones next to each other, which is faster to search."""
        with self._path.open("rb") as file:
            for *_, start, size in sorted(self._places):
                file.seek(start)
                yield decode(file.read(size))
