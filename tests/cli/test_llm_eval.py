"""`agentgym eval --model` against a real HTTP server in another process's thread."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.serving import oracle_answers, react, serving, sql_tasks
from tests.fake_openai import Body, FakeOpenAI, Fault, Reply

KEY = "sk-fake-77aa55ee33cc11bb99dd"
PRINTED = "pw-9f8e7d6c5b4a39281706"
MUCH = 10**9


def llm(server: FakeOpenAI, *arguments: str) -> tuple[str, ...]:
    """The options that play the model `fake` at a server, with errors given up soon."""
    return ("--model", "fake", "--base-url", server.base_url, *arguments)


def stored_bytes(agentgym: Command) -> bytes:
    return b"".join(path.read_bytes() for path in agentgym.folder.glob("runs.db*"))


@pytest.mark.parametrize("client", ["lean", "openai", "litellm"])
def test_every_client_plays_like_the_oracle(agentgym: Command, client: str) -> None:
    tasks = sql_tasks(10)
    # A key read from a file ends in a newline; litellm reads the environment by itself.
    model, key = ("openai/fake", KEY) if client == "litellm" else ("fake", f"{KEY}\n")
    with serving(oracle_answers(tasks), key=KEY) as server:
        result = agentgym.eval(
            "--model", model, "--base-url", server.base_url, "--client", client, "--limit", "10",
            "--price", "1,2", "--run-id", "x", env={"OPENAI_API_KEY": key},
        )  # fmt: skip
    assert (result["scored"], result["mean_reward"], result["errors"]) == (10, 1.0, {})
    assert result["agent"] == model
    calls = len(server.requests)
    assert result["usage"]["prompt_tokens"] == 10 * calls
    assert result["usage"]["completion_tokens"] == 5 * calls
    assert result["usage"]["cost"] == pytest.approx(calls * (10 * 1 + 5 * 2) / 1e6)
    assert server.requests[0]["tools"][0]["type"] == "function"
    assert server.requests[0]["messages"][0]["content"] == "You have at most 12 turns."


def test_react_plays_without_tool_calling(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(10), react)) as server:
        result = agentgym.eval(*llm(server, "--format", "react", "--limit", "10"))
    assert (result["scored"], result["mean_reward"], result["agent_faults"]) == (10, 1.0, 0)
    assert all("tools" not in body for body in server.requests)


def test_settings_reach_the_model(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(1))) as server:
        agentgym.eval(*llm(server, "--limit", "1", "--temperature", "0.5", "--max-tokens", "77",
                           "--system", "Be brief.", "--run-id", "x"))  # fmt: skip
    body = server.requests[0]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("fake", 0.5, 77)
    assert body["messages"][0]["content"].startswith("Be brief.\n\nYou have at most")
    record = agentgym("show", "x", "--json").json["record"]
    config, reached = record["agent_config"], record["provenance"]["agent"]
    assert (config["model"], config["temperature"]) == ("fake", 0.5)
    assert (reached["client"], reached["base_url"]) == ("lean", server.base_url)


def test_a_run_goes_on_at_another_endpoint(agentgym: Command) -> None:
    for _ in range(2):
        with serving(oracle_answers(sql_tasks(2))) as server:
            result = agentgym.eval(*llm(server, "--limit", "2", "--run-id", "x", "--resume"))
    assert result["success_rate"] == 1.0
    assert not server.requests


def test_faults_are_retried_and_counted_apart(agentgym: Command) -> None:
    rates = {Fault.RATE_LIMITED: 0.1, Fault.SERVER_ERROR: 0.05}
    with serving(oracle_answers(sql_tasks(60)), rates=rates, seed=1) as server:
        result = agentgym.eval(*llm(server, "--limit", "60", "--concurrency", "30"))
    assert (result["scored"], result["mean_reward"], result["errored"]) == (60, 1.0, 0)
    assert all(server.injected[fault] for fault in rates)
    assert result["errors"] == {
        "model_rate_limited": server.injected[Fault.RATE_LIMITED],
        "model_server": server.injected[Fault.SERVER_ERROR],
    }


@pytest.mark.parametrize("fault", [Fault.MALFORMED, Fault.NO_CHOICES, Fault.DROPPED])
def test_an_answer_that_is_none_is_asked_for_again(agentgym: Command, fault: Fault) -> None:
    with serving(oracle_answers(sql_tasks(2)), first=[fault]) as server:
        result = agentgym.eval(*llm(server, "--limit", "2"))
    assert (result["scored"], result["mean_reward"]) == (2, 1.0)
    kind = "model_connection" if fault is Fault.DROPPED else "model_malformed"
    assert result["errors"] == {kind: 1}


def test_a_server_that_always_fails_gives_errors_and_no_score(agentgym: Command) -> None:
    arguments = ("--limit", "3", "--model-attempts", "1", "--attempts", "2", "--run-id", "x")
    rates = {Fault.SERVER_ERROR: 1.0}
    with serving(oracle_answers(sql_tasks(3)), rates=rates, most_in_a_row=MUCH) as server:
        done = agentgym("eval", "sql", *llm(server, *arguments), "--json", code=1)
    result = done.json
    assert (result["episodes"], result["scored"], result["errored"]) == (3, 0, 3)
    assert (result["mean_reward"], result["success_rate"]) == (None, None)
    assert result["errors"] == {"model_server": 6} == {"model_server": len(server.requests)}
    why, remedy = done.err.splitlines()
    assert why.startswith("3 episodes ended in errors, the first in: 127.0.0.1:")
    assert why.endswith("answered 500: The server had an error.")
    assert remedy == "Play them again with --run-id x --resume"
    shown = agentgym("show", "x", sql_tasks(3).tasks[0].id).out
    assert "ended: error model_server" in shown
    assert "fault in attempt 2, ended the episode: model_server: 127.0.0.1:" in shown
    skipped = agentgym("replay", "x").out
    assert "3 episodes ended in errors and were not replayed." in skipped


def test_errors_are_played_again_by_resume(agentgym: Command) -> None:
    faults = [Fault.BAD_REQUEST] * 2
    with serving(oracle_answers(sql_tasks(4)), first=faults) as server:
        arguments = llm(server, "--limit", "4", "--run-id", "x", "--resume")
        first = agentgym.eval(*arguments, code=1)
        again = agentgym.eval(*arguments)
    assert (first["scored"], first["errored"], first["mean_reward"]) == (2, 2, 1.0)
    assert first["errors"] == {"model_rejected": 2}  # a refused request is not repeated
    assert (again["scored"], again["errored"], again["mean_reward"]) == (4, 0, 1.0)


def test_a_wrong_key_is_found_out_before_the_run(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(2)), key="sk-another-0123456789") as server:
        for client in ("lean", "openai"):
            done = agentgym("eval", "sql", *llm(server, "--client", client), code=2,
                            env={"OPENAI_API_KEY": KEY})  # fmt: skip
            assert "refuses the key (HTTP 401). Check OPENAI_API_KEY." in done.err
            assert KEY not in done.err
    assert agentgym("runs", "--json").json == {"runs": []}


def test_an_endpoint_that_is_none_is_found_out_at_the_first_call(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(2))) as server:
        url = server.base_url.removesuffix("/v1")
        done = agentgym("eval", "sql", "--model", "fake", "--base-url", url, code=2)
    assert done.err.count("\n") == 1
    assert "answered 404" in done.err
    assert done.err.endswith("Check the base URL and the model's name.\n")


def test_a_key_that_is_none_is_refused_without_showing_it(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(1))) as server:
        done = agentgym("eval", "sql", *llm(server), code=2, env={"OPENAI_API_KEY": "sk-a\nsk-b"})
    assert done.err == "agentgym: OPENAI_API_KEY holds what no key does. Set it to the key alone.\n"


def test_a_conversation_too_long_for_the_model_is_a_limit(agentgym: Command) -> None:
    rates = {Fault.CONTEXT: 1.0}
    with serving(oracle_answers(sql_tasks(2)), rates=rates, most_in_a_row=MUCH) as server:
        result = agentgym.eval(*llm(server, "--limit", "2"))
    assert (result["scored"], result["mean_reward"]) == (2, 0.0)
    assert (result["limits"], result["errored"]) == ({"context": 2}, 0)


def test_cost_and_token_limits_strike(agentgym: Command) -> None:
    def look(body: Body) -> Reply:
        return Reply(calls=[("list_tables", {})], usage=(100, 50))

    with serving(look) as server:
        cost = agentgym.eval(*llm(server, "--limit", "1", "--price", "10,20",
                                  "--cost-limit", "0.005"))  # fmt: skip
        tokens = agentgym.eval(*llm(server, "--limit", "1", "--token-limit", "400"))
    assert (cost["limits"], cost["turns"], cost["usage"]["cost"]) == ({"cost": 1}, 3, 0.006)
    assert (tokens["limits"], tokens["turns"]) == ({"tokens": 1}, 3)
    assert "at most 12 turns and 0.005 US dollars." in server.requests[0]["messages"][0]["content"]


def test_no_key_is_ever_written_or_printed(agentgym: Command) -> None:
    def leak(body: Body) -> Reply:
        said = f"my key is {KEY} and the password {PRINTED}"
        return Reply(said, calls=[("execute", {"sql": f"SELECT '{PRINTED}', '{KEY}'"})],
                     message={"reasoning_content": said})  # fmt: skip

    secrets = {"OPENAI_API_KEY": KEY, "FAKE_API_KEY": PRINTED}
    with serving(leak, first=[Fault.SERVER_ERROR]) as server:
        done = agentgym("eval", "sql", *llm(server, "--limit", "2", "--max-turns", "2",
                        "--run-id", "x"), env=secrets)  # fmt: skip
    assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    task_id = sql_tasks(1).tasks[0].id
    printed = [done.out, done.err, *(
        agentgym(*arguments).out
        for arguments in (("show", "x", task_id), ("show", "x", task_id, "--json"),
                          ("show", "x", "--json"), ("export", "x", "-o", "-"))
    )]  # fmt: skip
    assert PRINTED in str(server.requests)  # the tool did print it
    for secret in (KEY, PRINTED):
        assert all(secret not in text for text in printed)
        assert secret.encode() not in stored_bytes(agentgym)
        assert secret not in str(agentgym.trajectories("x"))
    assert "[redacted:FAKE_API_KEY]" in printed[2]
    assert "all equal" in agentgym("replay", "x", env=secrets).out


def test_an_llm_beside_a_baseline(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(3))) as server:
        results = agentgym.eval(*llm(server, "--agent", "null", "--limit", "3"))["runs"]
    assert [(r["agent"], r["mean_reward"]) for r in results] == [("null", 0.0), ("fake", 1.0)]


def test_an_export_of_a_model_run_holds_its_conversation(agentgym: Command) -> None:
    with serving(oracle_answers(sql_tasks(2))) as server:
        agentgym.eval(*llm(server, "--limit", "2", "--run-id", "a/b"))
    done = agentgym("export", "a/b")
    assert Path(agentgym.folder, "a-b.jsonl").exists()
    assert done.out == "wrote 2 episodes to a-b.jsonl\n"
    rows = [json.loads(line) for line in (agentgym.folder / "a-b.jsonl").open()]
    roles = Counter(message["role"] for row in rows for message in row["messages"])
    assert roles == {"user": 2, "assistant": 2, "tool": 2}
