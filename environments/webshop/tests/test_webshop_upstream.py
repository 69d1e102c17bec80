"""Folders with WebShop's own files, small ones made here in their form."""

import json
import random
import shutil
import subprocess
import sys
import tracemalloc
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import TaskSetError
from agentgym.registry import spec
from agentgym.tasks import TaskSet, load_tasks
from agentgym_webshop.catalogue import Catalogue
from agentgym_webshop.limits import NO_LIMIT
from agentgym_webshop.reward import score
from agentgym_webshop.storage import CatalogueError
from agentgym_webshop.upstream.files import stream_products


def raw_product(number: int, **changes: Any) -> dict[str, Any]:
    """Return a product as `items_shuffle.json` has it."""
    return {
        "asin": f"B{number:09}",
        "name": f"Garden Chair number {number}",
        "category": "garden",
        "product_category": "Patio › Furniture › Chairs",
        "query": " Garden Chairs ",
        "full_description": "A chair / of wood.",
        "small_description": ["Made of wood", "Folds"],
        "pricing": "$12.50",
        "customization_options": {
            "Color": [{"value": " Red/Blue ", "image": None}, {"value": "GREEN"}],
            "Size": None,
        },
        "images": ["picture.jpg", "other.jpg"],
        "brand": "left out",
    } | changes


PRODUCTS: list[dict[str, Any]] = [
    raw_product(1),
    raw_product(2, pricing="$5.00$9.00", small_description="One line"),
    raw_product(3, pricing=None, customization_options=None, full_description=None),
    raw_product(1, name="A second product of this id"),
    raw_product(4, asin="nan"),
    raw_product(5, asin="MORETHANTEN1"),
    raw_product(6, pricing="$1,299.00", images=[]),
    raw_product(7, pricing="$1.00$2.00$3.00"),
]

ATTRIBUTES = {
    "B000000001": {
        "attributes": ["solid wood", "easy assemble"],
        "instruction": "i need a garden chair",
        "instruction_attributes": ["solid wood"],
    },
    "B000000002": {
        "attributes": ["solid wood"],
        "instruction": None,
        "instruction_attributes": None,
    },
}


def person(text: str, attributes: list[str], options: list[str]) -> dict[str, Any]:
    return {
        "instruction": text,
        "instruction_attributes": attributes,
        "instruction_options": options,
    }


PEOPLE = {
    "B000000001": [
        person("i want a red chair.", ["solid wood"], ["red | blue"]),
        person("i want any chair", [], []),
    ],
    "B000000002": [person("a chair of wood", ["solid wood"], [])],
    "B000000006": [person("a dear chair", ["folds"], [])],
    "B999999999": [person("a chair that is not for sale", ["solid wood"], [])],
}


def write(
    folder: Path,
    products: Any = PRODUCTS,
    attributes: Any = ATTRIBUTES,
    people: Any = PEOPLE,
    suffix: str = "",
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"items_shuffle{suffix}.json").write_text(json.dumps(products))
    (folder / f"items_ins_v2{suffix}.json").write_text(json.dumps(attributes))
    if people is not None:
        (folder / "items_human_ins.json").write_text(json.dumps(people))
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def load(folder: Path) -> TaskSet:
    return load_tasks(spec("webshop"), str(folder))


def shop_of(tasks: TaskSet) -> Catalogue:
    return Catalogue.open(tasks.tasks[0].private.catalogue)


def test_products_are_cleaned_as_upstream_cleans_them(tmp_path: Path) -> None:
    shop = shop_of(load(write(tmp_path / "shop")))
    found = {p.asin[-1]: p for p in (shop.product(place) for place in range(len(shop)))}
    assert sorted(found) == ["1", "2", "3", "6", "7"]
    first = found["1"]
    assert first.title == "Garden Chair number 1"
    assert (first.category, first.query) == ("Patio › Furniture › Chairs", "garden chairs")
    assert dict(first.options) == {"color": ("red | blue", "green")}
    assert (first.price, first.price_tag, first.rating) == (12.5, "$12.5", None)
    assert first.attributes == ("solid wood", "easy assemble")
    assert first.main_image == "picture.jpg"
    assert first.nouns == ("garden", "chair", "number")
    assert (found["2"].price_tag, found["2"].bullets) == ("$5.0 to $9.0", ("One line",))
    assert 5 <= found["2"].price <= 9
    assert (found["3"].price_tag, dict(found["3"].options)) == ("$100.0", {})
    assert found["3"].attributes == ("DUMMY_ATTR",)
    assert (found["6"].price, found["7"].price_tag) == (1299.0, "$1.0 to $2.0")


def test_goals_of_people(tmp_path: Path) -> None:
    tasks = load(write(tmp_path / "shop"))
    goals = {task.private.asin[-1]: task for task in tasks}
    assert sorted(goals) == ["1", "2", "6"]
    first = goals["1"]
    assert first.private.options == ("red | blue",)
    limit = first.private.price_upper
    assert limit in (30.0, 40.0, 50.0)
    asked = f"i want a red chair, and price lower than {limit:.2f} dollars"
    assert first.public.instruction == asked
    assert first.public.products == 5
    assert goals["6"].private.price_upper == NO_LIMIT
    assert goals["6"].public.instruction == "a dear chair"
    shop = shop_of(tasks)
    for task in tasks:
        product = shop.product(shop.find(task.private.asin) or 0)
        assert score(product, list(task.private.options), task.private).value == 1.0


def test_made_up_goals_ask_for_every_combination(tmp_path: Path) -> None:
    options = {
        "size": [{"value": "s"}, {"value": "l"}],
        "color": [{"value": "red"}, {"value": "tan"}, {"value": "sky"}],
    }
    products = [raw_product(1, customization_options=options), raw_product(2), raw_product(3)]
    tasks = load(write(tmp_path / "shop", products, people=None))
    assert len(tasks) == 6
    wanted = {tuple(task.private.options.items()) for task in tasks}
    assert (("color", "red"), ("size", "s")) in wanted
    assert len({task.private.price_upper for task in tasks}) == 1
    said = {task.public.instruction.split(", and price")[0] for task in tasks}
    assert "i need a garden chair with color: sky, and size: l" in said
    assert {task.tags["weight"] for task in tasks} == {"0.166667"}


def many(folder: Path, size: int) -> Path:
    products = [raw_product(number, pricing="$5.00$90.00") for number in range(size)]
    people = {p["asin"]: [person(f"chair {p['asin']}", ["solid wood"], [])] for p in products}
    return write(folder, products, people=people)


def test_order_and_splits_are_those_of_the_seeded_shuffle(tmp_path: Path) -> None:
    tasks = load(many(tmp_path / "shop", 1700))
    order = [f"B{number:09}" for number in range(1700)]
    random.Random(233).shuffle(order)
    assert [task.private.asin for task in tasks] == order
    assert [task.id for task in tasks] == [f"{place:05}" for place in range(1700)]
    splits = ["test"] * 500 + ["validation"] * 1000 + ["train"] * 200
    assert [task.split for task in tasks] == splits


READ = """
import sys
from agentgym.registry import spec
from agentgym.tasks import load_tasks
tasks = load_tasks(spec("webshop"), sys.argv[1])
print(tasks.hash, [t.id for t in tasks], [t.private.price_upper for t in tasks])
"""


def test_goals_are_the_same_in_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upstream draws prices and limits before it sets its seed."""
    folder = many(tmp_path / "shop", 60)
    answers = set()
    for number in count(1):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache{number}"))
        monkeypatch.setenv("PYTHONHASHSEED", str(number))
        command = [sys.executable, "-c", READ, str(folder)]
        answers.add(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        if number == 2:
            break
    assert len(answers) == 1


def test_files_are_read_once_and_again_when_they_change(tmp_path: Path) -> None:
    folder = write(tmp_path / "shop")
    first = load(folder)
    assert load(folder).hash == first.hash
    root = tmp_path / "cache" / "agentgym" / "webshop"
    assert len(list(root.glob("upstream-*"))) == 1
    write(folder, PRODUCTS[:2])
    assert len(load(folder)) == 2
    assert len(list(root.glob("upstream-*"))) == 2


def test_the_tasks_hash_knows_the_content_and_not_the_place(tmp_path: Path) -> None:
    here = load(write(tmp_path / "here"))
    assert load(write(tmp_path / "there")).hash == here.hash
    other = load(write(tmp_path / "other", [*PRODUCTS, raw_product(8)]))
    assert other.hash != here.hash


def test_of_several_sizes_the_whole_catalogue_is_read(tmp_path: Path) -> None:
    write(tmp_path / "shop", PRODUCTS[:1], suffix="_1000")
    assert load(tmp_path / "shop").tasks[0].public.products == 1
    write(tmp_path / "shop")
    assert load(tmp_path / "shop").tasks[0].public.products == 5


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"products": {"a": 1}}, "not a JSON list"),
        ({"products": [raw_product(1), 7]}, "product 1: not a JSON object"),
        ({"products": [raw_product(1), {"asin": "B2"}]}, "Product 1 .*small_description"),
        ({"products": [raw_product(1, pricing="$a$b")]}, "Product 0"),
        ({"products": [raw_product(1, customization_options={"c": [{}]})]}, "Product 0 .*value"),
        ({"attributes": [1]}, "not a JSON object of products"),
        ({"people": {"B000000001": [{"instruction": "x"}]}}, "B000000001: not a list"),
        ({"people": {"B000000001": 5}}, "B000000001: not a list"),
        ({"people": {"B000000001": [person("x", "wood", [])]}}, "'wood' is not a list of strings"),  # type: ignore[arg-type]
        (
            {"products": [raw_product(1, small_description=[1])]},
            "Product 0 .*not a list of strings",
        ),
        ({"attributes": {"B000000001": 5}}, "Product 0"),
        (
            {"attributes": {"B000000001": {"instruction_attributes": 5}}, "people": None},
            "B000000001: .*not iterable",
        ),
    ],
)
def test_malformed_files_are_told(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(TaskSetError, match=told):
        load(write(tmp_path / "shop", **changes))


def test_a_cut_file_is_told_and_leaves_no_catalogue(tmp_path: Path) -> None:
    folder = write(tmp_path / "shop")
    path = folder / "items_shuffle.json"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(TaskSetError, match="product 7"):
        load(folder)
    assert not list((tmp_path / "cache").rglob("catalogue.json"))


def test_a_damaged_catalogue_is_built_again_where_it_was_deleted(tmp_path: Path) -> None:
    folder = write(tmp_path / "shop")
    tasks = load(folder)
    path = tasks.tasks[0].private.catalogue
    (path / "catalogue.json").write_text("{")
    with pytest.raises(CatalogueError, match="Delete that folder; it is built again"):
        Catalogue.open(path)
    shutil.rmtree(path)
    scratch = path.parent / "scratch" / "what a killed process left"
    scratch.mkdir(parents=True)
    assert load(folder).hash == tasks.hash
    assert not scratch.parent.exists()
    assert Catalogue.open(path).digest == tasks.tasks[0].private.catalogue_digest


def test_a_broken_product_is_told_without_holding_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "items_shuffle.json"
    with path.open("w") as file:
        file.write('[{"name": broken}')
        file.writelines("," + " " * (1 << 22) for _ in range(100))
    tracemalloc.start()
    with pytest.raises(TaskSetError, match="product 0: Expecting value"):
        list(stream_products(path))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < path.stat().st_size


def test_a_long_file_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "items_shuffle.json"
    products = [raw_product(number, full_description="é" * 70_000) for number in range(200)]
    path.write_text(json.dumps(products, ensure_ascii=False, indent=1))
    assert path.stat().st_size > 3 * (1 << 22)
    assert list(stream_products(path)) == products
