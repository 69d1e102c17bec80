"""Agents that see what everyone sees."""

import html
import re
from collections.abc import Generator
from typing import NamedTuple

from agentgym.types import Action, Observation, call
from agentgym_webshop.shop import BUY, LONGEST_QUERY


class _Form(NamedTuple):
    """Where an observation mode shows the instruction and the first product found."""

    instruction: re.Pattern[str]
    product: re.Pattern[str]


_FORMS = tuple(
    _Form(re.compile(instruction, re.DOTALL), re.compile(product, re.MULTILINE))
    for instruction, product in (
        (r"\AInstruction: (.*)\n\n# Search\n", r"^- \[(\w+)\] "),
        (
            r"\AWebShop \[SEP\] Instruction: \[SEP\] (.*) \[SEP\] Search\Z",
            r"Total results: \d+\)(?: \[SEP\] Next >)? \[SEP\] (\w+) \[SEP\]",
        ),
        (
            r"\AWebShop\nInstruction: \n(.*)\n\[button\] Search \[button_\]\n\Z",
            r"^\n\[button\] (\w+) \[button_\]$",
        ),
        (r"<h4>Instruction: <br>(.*)</h4>", r'class="product-link" href="#(\w+)"'),
    )
)
"""Of `markdown`, `text`, `text_rich` and `html`."""


def rule(observation: Observation) -> Generator[Action, Observation, None]:
    """Search for the instruction and buy the first product (Yao et al., 2022, section 5.1)."""
    page = observation.messages[-1].text
    for form in _FORMS:
        instruction = form.instruction.search(page)
        if instruction is None:
            continue
        query = html.unescape(instruction[1]) if page.startswith("<") else instruction[1]
        results = yield call("search", query=query[:LONGEST_QUERY])
        first = form.product.search(results.text)
        if first is not None:
            yield call("click", element=first[1])
            yield call("click", element=BUY.name)
        return
