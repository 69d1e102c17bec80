"""The command `doctor`: what is installed, what is missing, and what mends it."""

import shutil
import sys
from importlib.util import find_spec

from agentgym.cli.findings import Finding, looks_at_sandboxes
from agentgym.cli.output import JsonFlag, print_json, print_table

_EXTRAS = (
    ("openai", "llm", "the openai client"),
    ("litellm", "llm", "models of other providers"),
    ("pyarrow", "parquet", "export to Parquet"),
    ("aiodocker", "docker", "sandboxes in Docker"),
    ("psycopg", "postgres", "PostgreSQL stores and databases"),
    ("mcp", "mcp", "MCP servers and clients"),
    ("pymysql", "mysql", "MariaDB and MySQL databases"),
    ("trl", "train", "training"),
    ("matplotlib", "plot", "plots of trainings"),
)
_PROGRAMS = (("git", "git", "source revisions in run records"),)


def doctor(as_json: JsonFlag = False) -> None:
    """Say what is installed, what is missing and what mends it."""
    findings = list(_look())
    if as_json:
        print_json({"findings": [finding._asdict() for finding in findings]})
        return
    rows = [(f.name, f.found, f.needed_for, f.remedy) for f in findings]
    print_table(("what", "found", "needed for", "mend with"), rows)


def _look() -> list[Finding]:
    from agentgym.registry import registered

    version = ".".join(map(str, sys.version_info[:3]))
    findings = [Finding(f"Python {version}", sys.version_info >= (3, 11), "everything", "")]
    for module, extra, use in _EXTRAS:
        found = find_spec(module) is not None
        findings.append(
            Finding(module, found, use, "" if found else f"pip install -e '.[{extra}]'")
        )
    for program, package, use in _PROGRAMS:
        found = shutil.which(program) is not None
        findings.append(Finding(program, found, use, "" if found else f"apt-get install {package}"))
    findings += looks_at_sandboxes()
    specs, broken = registered()
    findings += [
        Finding(f"environment {spec.id}", True, spec.description, "") for spec in specs.values()
    ]
    findings += [
        Finding(f"environment {item.name}", False, item.reason, f"pip uninstall {item.package}")
        for item in broken
    ]
    if not specs:
        remedy = "pip install -e environments/sql"
        findings.append(Finding("environments", False, "playing anything", remedy))
    return findings
