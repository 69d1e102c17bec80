"""Scaffold: writes the package of a new environment from templates."""

import keyword
import re
import uuid
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from agentgym.errors import UsageError
from agentgym.registry import registered

_TEMPLATES = Path(__file__).parent / "templates" / "environment"
_SUFFIX = ".jinja"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 30
_RESERVED = frozenset({"core"})
"""Names whose distribution, `agentgym-NAME`, is one of agentgym's own."""


def create_environment(name: str, folder: Path) -> list[Path]:
    """Write a complete, installable environment package: `agentgym-NAME` in `folder`.

    Args:
        name: The environment's name: lowercase letters, digits and single dashes.
        folder: Where the package's folder is put; made where it is not there.

    Returns:
        The files written, `pyproject.toml` first.

    Raises:
        UsageError: The name cannot be used, or the package's folder is already there.
    """
    _check_name(name)
    root = folder / f"agentgym-{name}"
    if root.exists():
        raise UsageError(f"{root} is already there.", remedy="Choose another name or --folder.")
    texts = _render(name, root)
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{root} cannot be written: {error}.") from error
    return list(texts)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise UsageError(
            f"{name!r} cannot be an environment's name.",
            remedy=f"Use up to {_LONGEST_NAME} lowercase letters, digits and single dashes, "
            "such as my-env.",
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise UsageError(f"{name!r} is a word of Python's own.", remedy="Choose another name.")
    specs, broken = registered()
    if name in _RESERVED or name in specs or name in {item.name for item in broken}:
        raise UsageError(f"There is an environment {name!r} already.", remedy="Choose another.")


def _render(name: str, root: Path) -> dict[Path, str]:
    """Return the text of every file, by its path; the files of the root come first."""
    module = f"agentgym_{name.replace('-', '_')}"
    words: Mapping[str, str] = {
        "name": name,
        "module": module,
        "class_name": _class_name(name),
        "canary": f"agentgym-{name} canary {uuid.uuid4()}",
        "core_version": version("agentgym-core"),
    }
    templates = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    places = {}
    for template in templates.list_templates(filter_func=lambda path: path.endswith(_SUFFIX)):
        top, _, rest = template.removesuffix(_SUFFIX).partition("/")
        place = Path(module, rest) if top == "package" else Path(top, rest)
        places[place] = templates.get_template(template).render(words)
    order = sorted(places, key=lambda place: (len(place.parts), place.name != "pyproject.toml"))
    return {root / place: places[place] for place in order}


def _class_name(name: str) -> str:
    """Return such as `MyEnv`; the ending keeps it apart from every imported name."""
    words = "".join(part.capitalize() for part in name.split("-"))
    return words if words.endswith("Env") else f"{words}Env"
