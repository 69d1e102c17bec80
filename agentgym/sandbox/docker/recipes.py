"""Image recipes: folders with a Dockerfile whose base is decided outside."""

import hashlib
import io
import re
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

from agentgym.content import content_path
from agentgym.errors import UsageError

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_BASE = re.compile(r"^\s*ARG\s+BASE_IMAGE=(\S+)\s*$", re.MULTILINE | re.IGNORECASE)
_FROM = re.compile(r"^\s*FROM\s", re.IGNORECASE)
_DOCKERFILE = "Dockerfile"


class Recipe(NamedTuple):
    """What an image is built from.

    Attributes:
        name: The folder's name.
        base: The base image where nobody names another: the default of `ARG BASE_IMAGE`.
        files: Permissions and content of each file, by path in the folder.
    """

    name: str
    base: str
    files: Mapping[str, tuple[int, bytes]]

    @classmethod
    def find(cls, name: str) -> Self | None:
        """Return a recipe, or None where there is none of that name.

        Args:
            name: A folder of the shipped `sandboxes/`, or the absolute path of one anywhere.

        Raises:
            UsageError: The folder is no recipe.
        """
        if name.startswith("/"):
            return cls.load(Path(name))
        if not _NAME.fullmatch(name):
            return None
        folder = content_path("sandboxes") / name
        return cls.load(folder) if (folder / _DOCKERFILE).is_file() else None

    @staticmethod
    def names() -> list[str]:
        """Return the names of the shipped recipes."""
        files = content_path("sandboxes").glob(f"*/{_DOCKERFILE}")
        return sorted(path.parent.name for path in files)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a recipe's folder.

        Raises:
            UsageError: It cannot be read, or its Dockerfile has no `ARG BASE_IMAGE=...`.
        """
        try:
            paths = sorted(path for path in folder.rglob("*") if path.is_file())
            files = {str(path.relative_to(folder)): _content(path) for path in paths}
            dockerfile = files[_DOCKERFILE][1].decode("utf-8")
        except (OSError, KeyError, UnicodeDecodeError) as error:
            raise UsageError(f"The recipe {folder} has no Dockerfile that can be read.") from error
        base = _BASE.search(dockerfile)
        if base is None or not _NAME.fullmatch(folder.name):
            raise UsageError(
                f"The recipe {folder} does not say what it is based on.",
                remedy="Its Dockerfile begins with: ARG BASE_IMAGE=debian:bookworm-slim",
            )
        return cls(folder.name, base[1], files)

    def key(self, base: str) -> str:
        """Return the hash of the recipe on a base image.

        Args:
            base: The base image's id.
        """
        return hashlib.sha256(self.context({}) + base.encode()).hexdigest()[:24]

    def context(self, labels: Mapping[str, str]) -> bytes:
        """Return the folder as a tar archive, the same bytes each time.

        Args:
            labels: What each stage of the build is labelled with.
        """
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path, (mode, content) in self.files.items():
                data = _labelled(content, labels) if path == _DOCKERFILE else content
                member = tarfile.TarInfo(path)
                member.mode, member.size = mode, len(data)
                tar.addfile(member, io.BytesIO(data))
        return archive.getvalue()


def _content(path: Path) -> tuple[int, bytes]:
    return stat.S_IMODE(path.stat().st_mode), path.read_bytes()


def _labelled(dockerfile: bytes, labels: Mapping[str, str]) -> bytes:
    """Add the labels to every stage, so that the layers between carry them too."""
    instruction = "LABEL " + " ".join(f'{name}="{value}"' for name, value in labels.items())
    lines = []
    continued = False
    for line in dockerfile.decode("utf-8").splitlines():
        lines.append(line)
        if labels and not continued and _FROM.match(line):
            lines.append(instruction)
        continued = line.rstrip().endswith("\\")
    return "\n".join([*lines, ""]).encode()
