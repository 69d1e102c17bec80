"""Names for tools that stand beside somebody else's."""

from collections.abc import Collection


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, with underscores at its end until nobody else has that name."""
    while wanted in taken:
        wanted += "_"
    return wanted
