"""The layers: imports go downward only, and `import agentgym` stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "agentgym"

LAYERS = (
    {"cli"},
    {"evaluation", "training", "interop"},
    {"rollout"},
    {"agents", "trajectories"},
    {"env", "registry", "tasks", "tools", "sandbox", "sync", "content", "clients"},
    {"types", "errors", "faults", "json_text"},
)
RANKS = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
ONE_PIECE = {RANKS["env"], RANKS["types"]}  # layers whose members may know each other

HEAVY = ("sqlalchemy", "aiohttp", "typer", "rich", "openai", "litellm", "torch", "numpy")

LIBRARY = sorted(PACKAGE.rglob("*.py"))
ENVIRONMENTS = sorted((ROOT / "environments").glob("*/agentgym_*/**/*.py"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of everything a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{named(path)}:{node.lineno} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def own_imports(path: Path) -> Iterator[str]:
    """Yield what a file imports of agentgym, without the package's name."""
    for name in imports(path):
        package, _, rest = name.partition(".")
        if package == "agentgym" and rest.partition(".")[0] in RANKS:
            yield rest


def test_every_part_of_the_library_is_in_a_layer() -> None:
    parts = {part_of(path) for path in LIBRARY} - {"__init__", "__main__"}
    assert parts <= set(RANKS)


@pytest.mark.parametrize("path", LIBRARY, ids=named)
def test_the_library_imports_downward(path: Path) -> None:
    own = part_of(path)
    for name in own_imports(path):
        part = name.partition(".")[0]
        if own in ("__init__", part):
            continue
        together = RANKS[part] == RANKS[own] and RANKS[own] in ONE_PIECE
        downward = RANKS[part] > RANKS[own]
        assert downward or together, f"{named(path)} imports agentgym.{name}"


@pytest.mark.parametrize("path", LIBRARY, ids=named)
def test_the_library_knows_no_environment(path: Path) -> None:
    assert not [name for name in imports(path) if name.startswith("agentgym_")]


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=named)
def test_environments_import_the_protocol_and_themselves(path: Path) -> None:
    own = next(part for part in path.parts if part.startswith("agentgym_"))
    foreign = {name for name in imports(path) if name.startswith("agentgym_")}
    assert all(name.partition(".")[0] == own for name in foreign)
    above = [name for name in own_imports(path) if RANKS[name.partition(".")[0]] < RANKS["env"]]
    assert not above


def test_importing_agentgym_is_light() -> None:
    program = f"import sys, agentgym; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
