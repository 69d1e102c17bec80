"""The observation modes by name."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from agentgym.errors import UnknownNameError
from agentgym_webshop.render.html import to_html
from agentgym_webshop.render.markdown import to_markdown
from agentgym_webshop.render.text import to_rich_text, to_text
from agentgym_webshop.shop import View

Mode = Literal["markdown", "text", "text_rich", "html"]

Renderer: TypeAlias = Callable[[View, str], str]
"""Renders a page with the instruction on it."""

MODES: dict[str, Renderer] = {
    "markdown": to_markdown,
    "text": to_text,
    "text_rich": to_rich_text,
    "html": to_html,
}


def renderer(mode: str) -> Renderer:
    """Return the renderer of an observation mode.

    Raises:
        UnknownNameError: There is no such mode.
    """
    if mode not in MODES:
        raise UnknownNameError("observation mode", mode, MODES)
    return MODES[mode]
