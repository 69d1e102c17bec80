"""Finding and reading the original's files."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from agentgym.errors import TaskSetError

_CHUNK = 1 << 22
_LONGEST = 1 << 26  # characters of one product
_BETWEEN = re.compile(r"[\s,]*")


class UpstreamFiles(NamedTuple):
    """The files of one folder.

    Attributes:
        products: `items_shuffle*.json`, a list of products.
        attributes: `items_ins_v2*.json`, attributes and made-up instructions by id.
        instructions: `items_human_ins.json`, people's instructions by id; None where it is not
            there.
    """

    products: Path
    attributes: Path
    instructions: Path | None

    @property
    def key(self) -> str:
        """Hash of the files' content."""
        code = hashlib.sha256()
        for path in self:
            if path is not None:
                with path.open("rb") as file:
                    code.update(hashlib.file_digest(file, "sha256").digest())
        return code.hexdigest()[:16]


def find_files(folder: Path) -> UpstreamFiles | None:
    """Return the files of a folder; of several sizes the whole catalogue.

    Returns:
        None where there are none.
    """
    products = sorted(folder.glob("items_shuffle*.json"), key=lambda path: len(path.name))
    if not products:
        return None
    suffix = products[0].stem.removeprefix("items_shuffle")
    attributes = [folder / f"items_ins_v2{suffix}.json", folder / "items_ins_v2.json"]
    found = [path for path in attributes if path.is_file()]
    instructions = folder / "items_human_ins.json"
    if not found:
        return None
    return UpstreamFiles(products[0], found[0], instructions if instructions.is_file() else None)


def read_by_id(path: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object, by product id.

    Raises:
        TaskSetError: It does not.
    """
    try:
        data: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TaskSetError(f"{path}: {error}") from error
    if not isinstance(data, dict):
        raise TaskSetError(f"{path}: not a JSON object of products by id.")
    return data


def stream_products(path: Path) -> Iterator[dict[str, Any]]:
    """Read a JSON list one element at a time: the whole one has five gigabytes.

    Raises:
        TaskSetError: It is no list of objects; the element is named.
    """
    number = 0
    try:
        with path.open(encoding="utf-8") as file:
            for element in _elements(file, path):
                if not isinstance(element, dict):
                    raise TaskSetError(f"{path}: product {number}: not a JSON object.")
                yield element
                number += 1
    except json.JSONDecodeError as error:
        raise TaskSetError(f"{path}: product {number}: {error.msg}.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise TaskSetError(f"{path}: product {number}: {error}") from error


def _elements(file: TextIO, path: Path) -> Iterator[Any]:
    decode = json.JSONDecoder().raw_decode
    text = file.read(_CHUNK).lstrip()
    if not text.startswith("["):
        raise TaskSetError(f"{path}: not a JSON list of products.")
    at = 1
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # matches anything
        if text[at : at + 1] == "]":
            return
        try:
            element, at = decode(text, at)
        except json.JSONDecodeError:
            held = len(text) - at
            # Twice as much each time, as what is held is read from its beginning again.
            more = file.read(max(_CHUNK, held)) if held < _LONGEST else ""
            if not more:
                raise
            text, at = text[at:] + more, 0
            continue
        yield element
