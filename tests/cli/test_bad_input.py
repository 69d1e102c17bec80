"""A person's mistakes: one line with the remedy, exit code 2, never a traceback."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Done
from tests.servers import free_port

TASK = '{"id": "a", "public": {"db": "shop", "question": "q"}, "private": {"gold": "SELECT 1"}}'


@pytest.fixture
def files(agentgym: Command) -> Path:
    """Files that are not what they are given for."""
    folder = agentgym.folder
    (folder / "folder").mkdir()
    (folder / "text.db").write_text("Not a database, but a text that somebody wrote one day.\n")
    (folder / "field.jsonl").write_text(f'{TASK}\n{{"id": "b", "public": {{"db": 5}}}}\n')
    (folder / "broken.jsonl").write_text(f'{TASK}\n\n{{"id": "b"\n')
    (folder / "twice.jsonl").write_text(f"{TASK}\n{TASK}\n")
    (folder / "empty.jsonl").write_text("\n")
    (folder / "binary.jsonl").write_bytes(b"\xff\xfe\x00\x01")
    (folder / "script.jsonl").write_text('{"actions": []}\n{"actions": [{"tool_calls": 3}]}\n')
    return folder


EVAL = ("eval", "sql", "--agent", "oracle", "--limit", "1")
LLM = ("eval", "sql", "--model", "m", "--base-url", "http://127.0.0.1:1/v1")

EVALUATIONS = {
    "environment": (("eval", "sqll", "--agent", "oracle"), "Did you mean 'sql'"),
    "agent": (("eval", "sql", "--agent", "orcle"), "Did you mean 'oracle'?"),
    "agent with an argument": (("eval", "sql", "--agent", "null:3"), "Unknown agent 'null:3'"),
    "no agent": (("eval", "sql"), "Add --agent oracle, or --model NAME."),
    "model setting without a model": (
        ("eval", "sql", "--agent", "null", "--temperature", "0.5"),
        "--temperature is for an LLM. Name it with --model.",
    ),
    "agent twice": (("eval", "sql", "--agent", "null,null"), "--epochs"),
    "split": ((*EVAL, "--split", "tets"), "Did you mean 'test'?"),
    "task": ((*EVAL, "--task", "shop-0O1"), "Did you mean 'shop-0"),
    "task set": ((*EVAL, "--tasks", "cor"), "Did you mean 'core'?"),
    "task file": ((*EVAL, "--tasks", "gone.jsonl"), "'gone.jsonl'"),
    "task folder": ((*EVAL, "--tasks", "folder"), "taskset.toml and a tasks.jsonl"),
    "field": ((*EVAL, "--tasks", "field.jsonl"), "field.jsonl:2: public.db: "),
    "json": ((*EVAL, "--tasks", "broken.jsonl"), "broken.jsonl:3: not JSON: "),
    "id twice": ((*EVAL, "--tasks", "twice.jsonl"), "twice.jsonl:2: id: 'a' is already on line 1"),
    "no task": ((*EVAL, "--tasks", "empty.jsonl"), "empty.jsonl: no task in it."),
    "not text": ((*EVAL, "--tasks", "binary.jsonl"), "binary.jsonl: 'utf-8' codec"),
    "script": (("eval", "sql", "--agent", "scripted:script.jsonl"), "script.jsonl:2: actions.0."),
    "script file": (("eval", "sql", "--agent", "scripted:gone"), "gone cannot be read"),
    "option": ((*EVAL, "-E", "comparater=x"), "Did you mean 'comparator'?"),
    "option's value": ((*EVAL, "-E", "comparator=x"), "Known: bird_ex, "),
    "option of no text": ((*EVAL, "-E", "comparator=null"), "Unknown comparator None. Known: "),
    "option without =": ((*EVAL, "-E", "timeout"), "Write NAME=VALUE."),
    "database server": (
        (*EVAL, "-E", "url=postgresql://me:hunter22@127.0.0.1:1/x"),
        "Give the URL of a running server",
    ),
    "sandbox where there is none": ((*EVAL, "--sandbox", "docker"), "Leave --sandbox out."),
    "sandbox": (
        ("eval", "shell", "--agent", "oracle", "--sandbox", "bubblewarp"),
        "Did you mean 'bubblewrap'?",
    ),
    "limit": ((*EVAL[:-1], "0"), "Give 1 or more."),
    "negative limit": ((*EVAL[:-1], "-1"), "Give 1 or more."),
    "limit in words": ((*EVAL[:-1], "ten"), "'--limit'"),
    "epochs": ((*EVAL, "--epochs", "0"), "epochs is 0. Give 1 or more."),
    "concurrency": ((*EVAL, "--concurrency", "0"), "concurrency is 0. Give 1 or more."),
    "attempts": ((*EVAL, "--attempts", "-2"), "attempts is -2. Give 1 or more."),
    "turns": ((*EVAL, "--max-turns", "0"), "--max-turns is 0. Give more than 0."),
    "tokens": ((*EVAL, "--token-limit", "-1"), "--token-limit is -1. Give more than 0."),
    "cost": ((*EVAL, "--cost-limit", "nan"), "--cost-limit is nan. Give a finite number."),
    "time": ((*EVAL, "--time-limit", "inf"), "--time-limit is inf. Give a finite number."),
    "step timeout": ((*EVAL, "--step-timeout", "0"), "--step-timeout is 0. Give seconds"),
    "resume": ((*EVAL, "--resume"), "Add --run-id."),
    "run id": ((*EVAL, "--run-id", ""), "letters, digits and dashes"),
    "folder as store": ((*EVAL, "--store", "folder"), "The store folder cannot be opened"),
    "text as store": ((*EVAL, "--store", "text.db"), "file is not a database"),
    "store's place": ((*EVAL, "--store", "/proc/no/x.db"), "Name another store with --store"),
    "store's sort": ((*EVAL, "--store", "redis://x"), "postgresql://USER@HOST/DATABASE"),
    "server of the store": (
        (*EVAL, "--store", "postgresql://me:hunter22@127.0.0.1:1/x"),
        "Check that the server runs",
    ),
    "--base-url alone": (("eval", "sql", "--base-url", "http://x/v1"), "Name it with --model."),
    "base URL": (("eval", "sql", "--model", "m", "--base-url", "host/v1"), "not an HTTP URL"),
    "unreachable": (LLM, "cannot be reached"),
    "model": (("eval", "sql", "--model", " ", "--base-url", "http://x/v1"), "has no name"),
    "key": (("eval", "sql", "--model", "openai/x"), "OPENAI_API_KEY is not set."),
    "client": ((*LLM, "--client", "leen"), "Did you mean 'lean'?"),
    "format": ((*LLM, "--format", "xml"), "Known: brackets, hermes, native, react."),
    "history": ((*LLM, "--history", "window:0"), "Use full or window:N."),
    "price": ((*LLM, "--price", "3"), "Write IN,OUT"),
    "negative price": ((*LLM, "--price=-3,4"), "Write IN,OUT"),
    "cost without price": ((*LLM, "--cost-limit", "1"), "Add --price IN,OUT."),
    "model timeout": ((*LLM, "--model-timeout", "0"), "--model-timeout is 0.0. Give more than 0."),
    "temperature": ((*LLM, "--temperature", "nan"), "--temperature is nan."),
    "command": (("evl", "sql"), "See `agentgym --help`."),
    "command's option": ((*EVAL, "--agnt", "x"), "See `agentgym eval --help`."),
    "missing argument": (("eval",), "Missing argument 'ENV'."),
}


def held_to_one_line(run: Callable[..., Done], arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments, code=2)
    assert done.out == ""
    assert done.err.startswith("agentgym: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1
    assert words in done.err
    assert "hunter22" not in done.err


@pytest.mark.parametrize("mistake", EVALUATIONS)
def test_a_mistake_in_eval(agentgym: Command, files: Path, mistake: str) -> None:
    held_to_one_line(agentgym.inside, *EVALUATIONS[mistake])


def test_a_mistake_plays_nothing(agentgym: Command, files: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    agentgym("eval", "sql", "--agent", "oracle", "--model", "m", "--base-url", url, code=2)
    assert agentgym("runs", "--json").json == {"runs": []}


def test_one_run_that_is_there_keeps_the_others_from_being_played(agentgym: Command) -> None:
    agentgym.eval("--agent", "null", "--limit", "1", "--run-id", "x-null")
    held_to_one_line(
        agentgym,
        ("eval", "sql", "--agent", "oracle,null", "--limit", "1", "--run-id", "x"),
        "The store already has a run 'x-null'.",
    )
    assert [run["run_id"] for run in agentgym("runs", "--json").json["runs"]] == ["x-null"]


def test_mistakes_about_stored_runs(agentgym: Command, files: Path) -> None:
    held_to_one_line(agentgym, ("runs",), "There is no store at")
    agentgym.eval("--agent", "oracle", "--limit", "2", "--run-id", "monday")
    for arguments, words in (
        (("show", "mondy"), "Did you mean 'monday'?"),
        (("show", "monday", "shop-01"), "Did you mean 'shop-001#0'"),
        (("show", "monday", "shop-001", "--epoch", "1"), "Did you mean 'shop-001#0'"),
        (("replay", "mondy"), "Did you mean 'monday'?"),
        (("replay", "monday", "--task", "shop-01"), "Did you mean 'shop-001'"),
        (("replay", "monday", "--tasks", "cor"), "Did you mean 'core'?"),
        (("export", "mondy"), "Did you mean 'monday'?"),
        (("export", "monday", "--format", "csv"), "Known: dpo, jsonl, kto, parquet, sft."),
        (("export", "monday", "-o", "folder"), "folder: Is a directory."),
        (
            ("export", "monday", "-o", "gone/x.jsonl"),
            "gone/x.jsonl: No such file",
        ),
        (("export", "monday", "--format", "parquet", "-o", "-"), "Name a file."),
        (("eval", "sql", "--agent", "null", "--run-id", "monday"), "--resume"),
    ):
        held_to_one_line(agentgym, arguments, words)


def test_a_mistake_as_json(agentgym: Command) -> None:
    for arguments in (("eval", "sqll", "--agent", "oracle", "--json"), ("runs", "--json", "--x")):
        done = agentgym(*arguments, code=2)
        error = done.json["error"]
        assert done.err == f"agentgym: {error['message']}\n"
        assert error["kind"] in ("UnknownNameError", "NoSuchOption")


@pytest.mark.parametrize("place", [0, 1, 4])
def test_debug_shows_the_traceback_wherever_it_stands(agentgym: Command, place: int) -> None:
    arguments = ["eval", "sqll", "--agent", "oracle"]
    arguments.insert(place, "--debug")
    done = agentgym(*arguments, code=2)
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("agentgym: Unknown environment 'sqll'.")


def test_what_others_wrote_cannot_steer_the_terminal(agentgym: Command) -> None:
    line = json.dumps({"id": "\x1b[31m\u202e", "split": 1})
    (agentgym.folder / "odd\x1b[31m.jsonl").write_text(line)
    done = agentgym(*EVAL, "--tasks", "odd\x1b[31m.jsonl", code=2)
    assert done.err.removesuffix("\n").isprintable()
    assert r"odd\x1b[31m.jsonl" in done.err
