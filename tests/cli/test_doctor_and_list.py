"""`agentgym list`, `info`, `doctor` and the help: what is there and what is not."""

from pathlib import Path

import pytest
from typer.main import get_command

from agentgym.cli.main import app
from tests.cli.conftest import Command

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]


@pytest.fixture
def broken(agentgym: Command) -> Command:
    """A command that finds an installed package whose environment cannot be imported."""
    info = agentgym.folder / "site" / "agentgym_broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agentgym-broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[agentgym.environments]\nlabyrinth = agentgym_no_such_module:SPEC\n"
    )
    agentgym.environ["PYTHONPATH"] = str(info.parent)
    return agentgym


def test_help_names_every_command(agentgym: Command) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        out = agentgym.inside(*arguments).out
        assert all(f"  {name} " in out for name in COMMANDS)
    for name, command in COMMANDS.items():
        for words in [[name, sub] for sub in getattr(command, "commands", ())] or [[name]]:
            told = agentgym.inside(*words, "--help").out
            assert ("--json" in told) != (words == ["mcp", "serve"])  # whose output is MCP's


def test_environments_are_listed(agentgym: Command) -> None:
    (found,) = [e for e in agentgym("list", "--json").json["environments"] if e["name"] == "sql"]
    assert (found["id"], found["task_sets"]) == ("sql-v1", ["core"])
    assert "sql-v1" in agentgym("list").out


def test_info_tells_tools_options_and_task_sets(agentgym: Command) -> None:
    info = agentgym("info", "sql-v1", "--json").json
    assert set(info["tools"]) == {"list_tables", "describe", "execute", "submit"}
    assert info["options"]["comparator"] == "testsuite"
    (core,) = info["task_sets"]
    assert core["tasks"] == sum(core["splits"].values()) >= 200
    text = agentgym("info", "sql").out
    for words in ("fingerprint, snapshot", "comparator testsuite", "Run one SQL statement"):
        assert words in text


def test_a_broken_package_is_reported_and_breaks_no_other(broken: Command) -> None:
    done = broken("list")
    assert "sql-v1" in done.out
    assert done.err.startswith("broken: labyrinth of package agentgym-broken: ModuleNotFoundError")
    assert broken("list", "--json").json["broken"][0]["name"] == "labyrinth"
    refused = broken("eval", "labyrinth", "--agent", "null", code=2)
    assert "'labyrinth' of package agentgym-broken is broken" in refused.err
    assert "Mend or uninstall that package." in refused.err
    assert broken.eval("--agent", "oracle", "--limit", "1")["mean_reward"] == 1.0


def test_the_doctor_finds_what_is_missing_and_what_mends_it(broken: Command) -> None:
    tools = broken.folder / "empty"
    tools.mkdir()
    findings = broken("doctor", "--json", env={"PATH": str(tools)}).json["findings"]
    by_name = {finding["name"]: finding for finding in findings}
    assert by_name["openai"]["found"]
    assert by_name["environment sql-v1"]["remedy"] == ""
    assert by_name["git"] == {
        "name": "git",
        "found": False,
        "needed_for": "source revisions in run records",
        "remedy": "apt-get install git",
    }
    assert by_name["environment labyrinth"]["remedy"] == "pip uninstall agentgym-broken"
    assert "pip uninstall agentgym-broken" in broken("doctor").out


def test_a_run_needs_no_program_on_the_path(agentgym: Command, tmp_path: Path) -> None:
    result = agentgym.eval("--agent", "oracle", "--limit", "1", env={"PATH": str(tmp_path)})
    assert result["mean_reward"] == 1.0
