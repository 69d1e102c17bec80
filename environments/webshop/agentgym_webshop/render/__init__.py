"""Pages as text: WebShop's three observation forms, and Markdown."""

from agentgym_webshop.render.modes import MODES, Mode, Renderer, renderer

__all__ = ["MODES", "Mode", "Renderer", "renderer"]
