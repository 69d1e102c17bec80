"""WebShop's observation modes `text` and `text_rich`."""

from agentgym_webshop.render.nodes import Node, nodes
from agentgym_webshop.shop import View

SEPARATOR = " [SEP] "


def to_text(view: View, instruction: str) -> str:
    """Return the page's words joined by ` [SEP] `."""
    return SEPARATOR.join(node.text.strip() for node in nodes(view, instruction))


def to_rich_text(view: View, instruction: str) -> str:
    """Return the page's words line by line, with marks around what can be clicked.

    Options chosen are marked as clicked and named before everything, the last one first; so are
    marked the products looked at before.
    """
    lines: list[str] = []
    said = ""
    for node in nodes(view, instruction):
        lines.append(_line(node))
        if node.kind == "option" and node.chosen:
            said = f"You have clicked {node.text}.\n{said}"
    return said + "".join(f"{line}\n" for line in lines)


def _line(node: Node) -> str:
    if node.kind == "words":
        return node.text
    before = {"button": "", "option": "  ", "product": "\n"}[node.kind]
    mark = "clicked button" if node.chosen else "button"
    return f"{before}[{mark}] {node.text} [{mark}_]"
