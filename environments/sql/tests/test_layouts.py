"""Folders in the layouts of other benchmarks, small ones made here and the real one."""

import json
import os
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import TaskSetError, UnknownNameError
from agentgym_sql.comparators import compare, is_ordered
from agentgym_sql.layouts import ForeignQuestion, detect_layout, read_layout

INTERCODE = {"db": "shop", "query": "How many?", "gold": "SELECT count(*) FROM t"}
SPIDER = {"db_id": "shop", "question": "How many?", "query": "SELECT count(*) FROM t"}
BIRD = {"db_id": "shop", "question": "How many?", "SQL": "SELECT count(*) FROM t"}


def written(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    return path


@pytest.fixture
def intercode(tmp_path: Path) -> Path:
    database(tmp_path / "databases/shop.sqlite")
    written(tmp_path / "tasks.json", [INTERCODE | {"hardness": "easy", "db_tables": {}}, INTERCODE])
    return tmp_path


@pytest.fixture
def spider(tmp_path: Path) -> Path:
    database(tmp_path / "database/shop/shop.sqlite")
    written(tmp_path / "train_spider.json", [SPIDER | {"query_toks": ["SELECT"]}])
    written(tmp_path / "train_others.json", [SPIDER])
    written(tmp_path / "dev.json", [SPIDER, SPIDER])
    return tmp_path


@pytest.fixture
def bird(tmp_path: Path) -> Path:
    database(tmp_path / "dev_databases/shop/shop.sqlite")
    hint = {"question_id": 7, "evidence": "count means count", "difficulty": "simple"}
    written(tmp_path / "dev.json", [BIRD | hint, BIRD | {"question_id": 9, "evidence": ""}])
    return tmp_path


def test_intercode_gives_every_field(intercode: Path) -> None:
    assert detect_layout(intercode) == "intercode"
    first, second = read_layout(intercode)
    assert first == ForeignQuestion(
        id="tasks-0",
        db_path=intercode / "databases/shop.sqlite",
        question="How many?",
        evidence=None,
        gold="SELECT count(*) FROM t",
        difficulty="easy",
        split="test",
    )
    assert (second.id, second.difficulty) == ("tasks-1", None)


def test_spider_reads_its_files_in_order(spider: Path) -> None:
    assert detect_layout(spider) == "spider"
    questions = list(read_layout(spider))
    assert [(q.id, q.split) for q in questions] == [
        ("train_spider-0", "train"),
        ("train_others-0", "train"),
        ("dev-0", "dev"),
        ("dev-1", "dev"),
    ]
    assert {q.db_path for q in questions} == {spider / "database/shop/shop.sqlite"}
    assert {(q.question, q.gold) for q in questions} == {("How many?", "SELECT count(*) FROM t")}


@pytest.mark.parametrize("home", ["database", "test_database"])
def test_spider_test_questions_have_databases_of_their_own_or_the_common_ones(
    spider: Path, home: str
) -> None:
    expected = database(spider / home / "hidden/hidden.sqlite")
    written(spider / "test.json", [SPIDER | {"db_id": "hidden"}])
    assert [q.db_path for q in read_layout(spider, split="test")] == [expected]


def test_bird_keeps_numbers_evidence_and_difficulty(bird: Path) -> None:
    assert detect_layout(bird) == "bird"
    first, second = read_layout(bird)
    assert (first.id, first.evidence, first.difficulty) == ("dev-7", "count means count", "simple")
    assert (second.id, second.evidence, second.difficulty) == ("dev-9", None, None)
    assert first.db_path == bird / "dev_databases/shop/shop.sqlite"
    assert (first.gold, first.split) == ("SELECT count(*) FROM t", "dev")


def test_bird_train_and_mini_dev(bird: Path) -> None:
    train = database(bird / "train_databases/shop/shop.sqlite")
    written(bird / "train.json", [BIRD])
    written(bird / "mini_dev_sqlite.json", [BIRD | {"question_id": 7}])
    assert [(q.id, q.db_path) for q in read_layout(bird, split="train")] == [("train-0", train)]
    assert [q.id for q in read_layout(bird, split="mini_dev")] == ["mini_dev_sqlite-7"]
    assert Counter(q.split for q in read_layout(bird)) == {"train": 1, "dev": 2, "mini_dev": 1}


def test_a_database_is_found_where_only_the_case_of_its_name_differs(
    intercode: Path, tmp_path: Path
) -> None:
    written(intercode / "tasks.json", [INTERCODE | {"db": "SHOP"}])
    assert next(read_layout(intercode)).db_path.read_bytes()
    nested = database(tmp_path / "b/dev_databases/Shop/Shop.sqlite")
    written(tmp_path / "b/dev.json", [BIRD])
    assert next(read_layout(tmp_path / "b")).db_path.samefile(nested)


def test_a_byte_order_mark_is_accepted(intercode: Path) -> None:
    (intercode / "tasks.json").write_text("\ufeff" + json.dumps([INTERCODE]), encoding="utf-8")
    assert len(list(read_layout(intercode))) == 1


def test_other_folders_have_no_layout(tmp_path: Path) -> None:
    assert detect_layout(tmp_path) is None
    assert detect_layout(tmp_path / "absent") is None
    written(tmp_path / "dev.json", [SPIDER])
    assert detect_layout(tmp_path) is None
    with pytest.raises(TaskSetError, match="Known layouts: intercode, spider, bird"):
        read_layout(tmp_path)


def test_an_unknown_split_is_named_with_those_there_are(spider: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'tset'.*dev, train"):
        read_layout(spider, split="tset")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({k: v for k, v in BIRD.items() if k != "SQL"}, "field 'SQL': Field required"),
        (BIRD | {"SQL": " "}, "field 'SQL': String should have at least 1 character"),
        (BIRD | {"question": 3}, "field 'question': Input should be a valid string"),
        (BIRD | {"question_id": "x"}, "field 'question_id': Input should be a valid integer"),
        (BIRD | {"question_id": 7}, "field 'question_id': 7 is taken already"),
        (BIRD | {"evidence": ["a"]}, "field 'evidence': Input should be a valid string"),
        (BIRD | {"db_id": "../shop"}, "field 'db_id': String should match pattern"),
        (BIRD | {"db_id": "x" * 5000}, "field 'db_id': String should have at most 200"),
        (BIRD | {"db_id": ".."}, r"the database .* is missing"),
        (BIRD | {"db_id": "gone"}, r"the database .*dev_databases/gone/gone\.sqlite is missing"),
        ("SELECT 1", "is not a JSON object"),
        (None, "is not a JSON object"),
    ],
)
def test_a_wrong_entry_is_named_by_file_index_and_field(
    bird: Path, entry: Any, message: str
) -> None:
    written(bird / "dev.json", [BIRD | {"question_id": 7}, entry])
    questions = read_layout(bird)
    assert next(questions).id == "dev-7"
    with pytest.raises(TaskSetError, match=rf"dev\.json, entry 1.*{message}"):
        next(questions)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[{]", r"tasks\.json is not JSON in UTF-8: .*line 1 column 3"),
        (b'["\xff"]', r"tasks\.json is not JSON in UTF-8"),
        (b"[" * 200_000, r"tasks\.json is not JSON in UTF-8"),
        (b"", r"tasks\.json is not JSON in UTF-8"),
        (b'{"db": "shop"}', r"tasks\.json holds one JSON dict, not an array"),
    ],
)
def test_a_wrong_file_is_named(intercode: Path, content: bytes, message: str) -> None:
    (intercode / "tasks.json").write_bytes(content)
    with pytest.raises(TaskSetError, match=message):
        list(read_layout(intercode))


@pytest.fixture
def real_intercode() -> Path:
    root = next(p for p in Path(__file__).parents if (p / "agentgym" / "types.py").is_file())
    folder = root.parent / "shared" / "data" / "intercode-spider"
    if not folder.is_dir():
        reason = "../shared/data/intercode-spider is absent"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return folder


@pytest.mark.real_data
def test_all_of_intercode_is_read(real_intercode: Path) -> None:
    questions = list(read_layout(real_intercode))
    assert len(questions) == len({q.id for q in questions}) == 1034
    assert len({q.db_path for q in questions}) == 20
    assert Counter(q.difficulty for q in questions) == {
        "easy": 248,
        "medium": 446,
        "hard": 174,
        "extra": 166,
    }


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["testsuite", "bird_ex", "intercode"])
def test_gold_rows_of_intercode_match_in_any_order_where_none_is_asked(
    real_intercode: Path, name: str
) -> None:
    unordered = wrong = 0
    for question in read_layout(real_intercode):
        connection = sqlite3.connect(f"file:{question.db_path}?mode=ro&immutable=1", uri=True)
        gold = connection.execute(question.gold).fetchall()
        connection.close()
        ordered = is_ordered(question.gold)
        if not ordered and len(set(gold)) > 1:
            unordered += 1
            wrong += compare(name, gold[::-1], gold, ordered=False).score != 1.0
        assert compare(name, gold, gold, ordered=ordered).score == 1.0, question.id
    assert unordered > 300
    assert wrong == 0
