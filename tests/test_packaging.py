"""The wheels: what is built is whole, and works away from the checkout."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both wheels and install them into a folder of their own."""
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    subprocess.run([*pip, *build, str(ROOT), str(ROOT / "environments/sql")], check=True)
    wheels = sorted(folder.glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in wheels] == ["agentgym_core", "agentgym_sql"]
    site = folder / "site"
    install = ["install", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*pip, *install, *map(str, wheels)], check=True)
    return site


def run(site: Path, folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_wheel_holds_code_content_and_templates(site: Path) -> None:
    (wheel,) = site.parent.glob("agentgym_core-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for expected in (
        "agentgym/py.typed",
        "agentgym/_content/tasks/sql/core/tasks.jsonl",
        "agentgym/_content/tasks/sql/core/taskset.toml",
    ):
        assert expected in names
    assert any(name.startswith("agentgym/cli/templates/") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "environments/"))]


def test_the_installed_wheels_play_shipped_tasks(site: Path, tmp_path: Path) -> None:
    where = run(site, tmp_path, "-c", "import agentgym; print(agentgym.__file__)")
    assert where.startswith(str(site))
    command = ["eval", "sql", "--agent", "oracle", "--limit", "3", "--json", "--store", "runs.db"]
    main = "from agentgym.cli.main import main; main()"
    result = json.loads(run(site, tmp_path, "-c", main, *command))
    assert (result["episodes"], result["success_rate"]) == (3, 1.0)
