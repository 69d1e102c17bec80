"""SFT, then GRPO, on SQL of a reduced grammar: two changes to a small table, one call each.

A question such as "Delete the crime books. Set the price of the poetry books to 7." wants two
statements and a submission, so an episode has three turns, and nothing is earned before its end.
The tasks and their database are made here, from a seed; test pairs are none of the training ones.

    python examples/train_sql_sft_then_grpo.py            # three seeds
    python examples/train_sql_sft_then_grpo.py --quick    # 2 steps, to see that everything is there
"""

import argparse
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

from agentgym.training.config import read_config
from agentgym.training.run import train

GENRES = ("crime", "drama", "poetry", "travel")
CONFIG = Path(__file__).with_name("train_sql.toml")


def make_database(path: Path) -> None:
    """Write a table of books, the same ones each time."""
    rng = random.Random(0)
    rows = [(number, rng.choice(GENRES), rng.randint(6, 9)) for number in range(1, 21)]
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE books (id INTEGER PRIMARY KEY, genre TEXT, price INT)")
        database.executemany("INSERT INTO books VALUES (?, ?, ?)", rows)


def change(genre: str, rng: random.Random) -> tuple[str, str]:
    """Return a change to the books of a genre: in words, and as a statement."""
    price = rng.randrange(6)
    if price == 0:
        return f"Delete the {genre} books.", f"DELETE FROM books WHERE genre = '{genre}'"
    return (
        f"Set the price of the {genre} books to {price}.",
        f"UPDATE books SET price = {price} WHERE genre = '{genre}'",
    )


def make_tasks(folder: Path, *, train_tasks: int, test_tasks: int) -> Path:
    """Write the database and a task set of pairs of changes, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / "books.db").resolve()
    make_database(file)
    rng = random.Random(1)
    pairs: dict[str, list[str]] = {}
    while len(pairs) < train_tasks + test_tasks:
        first, second = (change(genre, rng) for genre in rng.sample(GENRES, 2))
        pairs[f"{first[0]} {second[0]}"] = [first[1], second[1]]
    lines = [
        {
            "id": f"books-{number:04d}",
            "split": "train" if number < train_tasks else "test",
            "public": {"db": "books", "kind": "mutation", "question": question},
            "private": {"gold": statements, "file": str(file)},
            "max_turns": 4,
        }
        for number, (question, statements) in enumerate(pairs.items())
    ]
    tasks = folder / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return tasks


def main(*, quick: bool) -> None:
    """Make the tasks, train, and tell what came of it."""
    tasks = make_tasks(Path("trained/sql-tasks"), train_tasks=300, test_tasks=100)
    settings = [f"environment.tasks={json.dumps(str(tasks))}"]
    if quick:
        settings += [
            "output='trained/quick-sql'",
            "seeds=[0]",
            "environment.train_limit=8",
            "environment.test_limit=4",
        ]
        settings += ["sft.epochs=1", "grpo.steps=2", "grpo.tasks=2", "grpo.group=2"]
    for result in train(read_config(CONFIG, settings), say=print, quiet=True):
        told = [f"{one.success:.2f} after {one.step} steps" for one in result.evaluations]
        print(f"seed {result.seed}: success {', '.join(told)}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true")
    main(quick=arguments.parse_args().quick)
