"""The shipped task set, made from the grammar; `python -m agentgym_webshop` makes it again."""

import json
from collections.abc import Iterator
from pathlib import Path

from agentgym.types import Task
from agentgym_webshop.catalogue import Catalogue, shipped
from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import FAMILY
from agentgym_webshop.goals.goals import Goal, make_goal
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic

PRODUCTS = 10_000
"""Size of the catalogue that the tasks are played on."""

COUNTS = {"test": 500, "validation": 500, "train": 3_000}

CANARY = "agentgym-canary:2f6d0c1e-7b0a-4c57-9f53-5c1c84a1f1de"

_TOML = f"""\
name = "core"
version = 1
environment = "webshop"
description = "One to five wishes and a price limit, in a generated shop of 10,000 products."
licence = "MIT"
canary = "{CANARY}"

[splits]
test = "For reporting."
validation = "For choosing between methods and settings."
train = "For training and for writing prompts."
"""


def write_task_set(folder: Path) -> None:
    """Write `taskset.toml` and `tasks.jsonl`.

    Families of near misses are wholly in one split, so splits share no product and no goal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "taskset.toml").write_text(_TOML, "utf-8")
    lines = []
    for task in core_tasks(shipped(PRODUCTS)):
        data = task.model_dump(mode="json", exclude_defaults=True)
        data = {"id": task.id, "split": task.split, **data, "canary": CANARY}
        lines.append(json.dumps(data, ensure_ascii=False) + "\n")
    (folder / "tasks.jsonl").write_text("".join(lines), "utf-8")


def core_tasks(catalogue: Catalogue) -> Iterator[Task[WebShopPublic, WebShopPrivate]]:
    """Make the tasks, split by split."""
    draws = Draws("splits", len(catalogue))
    order = draws.sample(range(len(catalogue)), len(catalogue))
    families = -(-len(catalogue) // FAMILY)
    splits = _splits(draws.sample(range(families), families))
    said: set[str] = set()
    for split, count in COUNTS.items():
        made = 0
        for index in order:
            if splits[index // FAMILY] != split:
                continue
            goal = make_goal(catalogue, index)
            if goal is None or goal.instruction in said:
                continue
            said.add(goal.instruction)
            made += 1
            yield _task(goal, f"{split}-{made:04}", split, len(catalogue))
            if made == count:
                break


def _splits(families: list[int]) -> dict[int, str]:
    """Deal the families out in the proportion of the counts."""
    total = sum(COUNTS.values())
    dealt: dict[int, str] = {}
    done = 0
    for split, count in COUNTS.items():
        end = done + len(families) * count // total
        if split == list(COUNTS)[-1]:
            end = len(families)
        dealt.update(dict.fromkeys(families[done:end], split))
        done = end
    return dealt


def _task(goal: Goal, name: str, split: str, products: int) -> Task[WebShopPublic, WebShopPrivate]:
    product = goal.product
    return Task[WebShopPublic, WebShopPrivate](
        id=name,
        split=split,
        public=WebShopPublic(instruction=goal.instruction, products=products),
        private=WebShopPrivate(
            asin=product.asin,
            title=product.title,
            query=product.query,
            category=product.category,
            nouns=product.nouns,
            attributes=goal.attributes,
            options=goal.options,
            price_upper=goal.price_upper,
            oracle_query=goal.oracle_query,
        ),
        tags={"wants": str(len(goal.attributes) + len(goal.options))},
    )
