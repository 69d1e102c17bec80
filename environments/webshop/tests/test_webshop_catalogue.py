"""Built catalogues: what goes in comes out, damage is told, and processes agree."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agentgym.errors import UsageError
from agentgym_webshop.building import build_catalogue
from agentgym_webshop.catalogue import Catalogue, shipped
from agentgym_webshop.generator.generation import product, products
from agentgym_webshop.products import Product, Review
from agentgym_webshop.records import decode, encode
from agentgym_webshop.storage import CatalogueError

FACTS = {"tagger": "by-hand 1"}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return the folder of a catalogue of 120 products."""
    path = tmp_path / "small"
    build_catalogue(path, (product(1000, place) for place in range(120)), facts=FACTS)
    return path


def test_products_come_out_as_they_went_in(small: Path) -> None:
    catalogue = Catalogue.open(small)
    assert len(catalogue) == 120
    assert [catalogue.product(place) for place in range(120)] == [
        product(1000, place) for place in range(120)
    ]


def test_a_record_keeps_every_character(dress: Product) -> None:
    odd = replace(
        dress,
        title='“Ünï” \n\t\\ " 中文 🎁 \x00',
        options={"a": ("red", "x | y"), "b": ("red",), "": ()},
        reviews=(Review("", 0.5, "\u2028"),),
        price=0.1 + 0.2,
    )
    assert decode(encode(odd)) == odd


def test_products_are_found_by_id_in_any_case(small: Path) -> None:
    catalogue = Catalogue.open(small)
    for place in (0, 57, 119):
        asin = catalogue.product(place).asin
        assert catalogue.find(asin) == catalogue.find(asin.lower()) == place
    for unknown in ("", "B", "B000000000", "Z" * 10, "B" * 5000, "ü", "\ud800"):
        assert catalogue.find(unknown) is None


@pytest.mark.parametrize("place", [-1, 120, 10**12])
def test_there_is_no_product_beyond_the_ends(small: Path, place: int) -> None:
    with pytest.raises(IndexError, match="among 120"):
        Catalogue.open(small).product(place)


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="no such folder"):
        Catalogue.open(tmp_path / "nowhere")


FILES = [
    *("products.bin", "product_offsets.npy", "asins.npy", "places.npy", "ranks.npy"),
    *("terms.bin", "term_offsets.npy", "saturation.npy", "posting_offsets.npy"),
    *("documents.npy", "impacts.npy", "rows.npy", "maxima.npy", "starts.npy"),
]


def test_these_are_all_files(small: Path) -> None:
    assert sorted([*FILES, "catalogue.json", "seen.json"]) == sorted(
        path.name for path in small.iterdir()
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "cut", "longer", "changed"])
def test_damage_to_any_file_is_told(small: Path, name: str, damage: str) -> None:
    path = small / name
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "changed":
        before = path.stat()
        path.write_bytes(data[:-3] + bytes([data[-3] ^ 255]) + data[-2:])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a tool may do
    else:
        path.write_bytes(data[:-1] if damage == "cut" else data + b"x")
    for _ in range(2):  # what was found damaged is not taken for whole the next time
        with pytest.raises(CatalogueError, match=name):
            Catalogue.open(small)


def test_a_copy_is_read_whole_once(small: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small, copy)
    seen = (copy / "seen.json").read_bytes()
    assert Catalogue.open(copy).digest == Catalogue.open(small).digest
    assert (copy / "seen.json").read_bytes() != seen
    (copy / "seen.json").write_text("{")
    assert len(Catalogue.open(copy)) == 120


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}', '{"format": 1, "files": {}}'])
def test_a_damaged_manifest_is_told(small: Path, text: str) -> None:
    (small / "catalogue.json").write_text(text)
    with pytest.raises(CatalogueError, match="Delete that folder"):
        Catalogue.open(small)


def test_a_folder_without_manifest_is_half_built(small: Path) -> None:
    (small / "catalogue.json").unlink()
    with pytest.raises(CatalogueError, match="half-built"):
        Catalogue.open(small)


def test_a_record_that_changes_meanwhile_is_told_when_it_is_read(small: Path) -> None:
    catalogue = Catalogue.open(small)
    with (small / "products.bin").open("r+b") as file:
        file.seek(-50, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    assert catalogue.product(118) == product(1000, 118)
    with pytest.raises(CatalogueError, match="product 119"):
        catalogue.product(119)


def test_random_changes_meanwhile_give_answers_or_typed_errors(small: Path) -> None:
    draw = random.Random(5)
    told = 0
    for _ in range(150):
        name = draw.choice(FILES)
        catalogue = Catalogue.open(small)
        with (small / name).open("r+b") as file:
            at = draw.randrange((small / name).stat().st_size)
            file.seek(at)
            before = file.read(1)
            file.seek(at)
            file.write(bytes([draw.randrange(256)]))
        try:
            for place in catalogue.search("cotton dress machine wash in red", 5):
                catalogue.product(place)
        except CatalogueError:
            told += 1
        with (small / name).open("r+b") as file:
            file.seek(at)
            file.write(before)
    assert told > 0


def test_a_build_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def breaking() -> Iterator[Product]:
        yield product(1000, 0)
        raise RuntimeError("power cut")

    path = tmp_path / "catalogues" / "one"
    with pytest.raises(RuntimeError, match="power cut"):
        build_catalogue(path, breaking(), facts=FACTS)
    assert [p.name for p in path.parent.iterdir()] == ["one.lock"]
    build_catalogue(path, [product(1000, 0)], facts=FACTS)
    assert len(Catalogue.open(path)) == 1


KILLED = """
import os, sys
from pathlib import Path
from agentgym_webshop.building import build_catalogue
from agentgym_webshop.generator.generation import products

def broken():
    yield from products(1000)
    os.kill(os.getpid(), 9)

build_catalogue(Path(sys.argv[1]), broken(), facts={})
"""


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "one"
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -9
    assert not path.exists()
    assert len(list(tmp_path.glob("one.building-*"))) == 1
    build_catalogue(path, [product(1000, 0)], facts=FACTS)
    assert sorted(left.name for left in tmp_path.iterdir()) == ["one", "one.lock"]
    assert len(Catalogue.open(path)) == 1


def test_a_catalogue_that_is_there_is_not_built_again(small: Path) -> None:
    digest = Catalogue.open(small).digest
    build_catalogue(small, [product(1000, 500)], facts=FACTS)
    assert Catalogue.open(small).digest == digest


def test_what_cannot_be_a_catalogue_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one product"):
        build_catalogue(tmp_path / "none", [], facts=FACTS)
    with pytest.raises(UsageError, match="same id"):
        build_catalogue(tmp_path / "twins", [product(1000, 3)] * 2, facts=FACTS)
    with pytest.raises(UsageError, match="Sizes: 1000, 10000"):
        shipped(7)


def test_building_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[int] = []
    build_catalogue(tmp_path / "told", products(2500), facts=FACTS, progress=told.append)
    assert told == [1000, 2000]


BUILD = """
from agentgym_webshop.catalogue import shipped
shop = shipped(1000)
print(shop.digest, shop.search("red cotton dress machine wash")[:9])
"""


def test_processes_that_build_at_once_agree(tmp_path: Path) -> None:
    running = []
    for hash_seed in ("1", "2", "3"):
        changed = {"XDG_CACHE_HOME": str(tmp_path), "PYTHONHASHSEED": hash_seed}
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", BUILD],
                env={**os.environ, **changed},
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    answers = {process.communicate()[0] for process in running}
    assert len(answers) == 1
    assert next(iter(answers)).strip()
    folders = [path for path in (tmp_path / "agentgym" / "webshop").iterdir() if path.is_dir()]
    assert len(folders) == 1


def test_arrays_are_mapped_not_read(small: Path) -> None:
    """What is mapped from a file is shared by all processes that map it."""
    mapped = [
        line.split()[-1]
        for catalogue in [Catalogue.open(small)]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if str(catalogue.path) in line
    ]
    names = {Path(name).name for name in mapped}
    assert {"products.bin", "documents.npy", "impacts.npy", "maxima.npy", "starts.npy"} <= names
    assert not np.load(small / "documents.npy", mmap_mode="r").flags.writeable
