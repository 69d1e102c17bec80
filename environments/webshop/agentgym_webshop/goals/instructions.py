"""What a customer says who wants certain attributes, options and a price."""

from collections.abc import Mapping, Sequence

from agentgym_webshop.generator.draws import Draws
from agentgym_webshop.generator.families import Blueprint
from agentgym_webshop.generator.grammar import is_adjective, option_groups
from agentgym_webshop.goals.phrases import phrases
from agentgym_webshop.limits import NO_LIMIT


def instruction(
    plan: Blueprint,
    attributes: Sequence[str],
    options: Mapping[str, str],
    limit: float,
    draws: Draws,
) -> str:
    """Put a goal into words; every attribute, every option and the limit is said.

    Args:
        plan: The product the goal was made from; its name is said, its brand is not.
        attributes: What is asked of it.
        options: Values asked for, by group.
        limit: Dollars it may cost.
        draws: Decides the wording.
    """
    vocabulary = phrases()
    plain, clauses = _paraphrased(attributes, draws)
    wants = [_option(plan, group, value, draws) for group, value in options.items()]
    if draws.chance(30):
        clauses.append(draws.choice(vocabulary.use_phrases).format(use=draws.choice(plan.uses)))
    thing = _thing(plan, plain, clauses + draws.sample(wants, len(wants)), draws)
    sentence = draws.choice(vocabulary.openings).format(thing=thing)
    if limit == NO_LIMIT:
        return sentence
    return sentence + draws.choice(vocabulary.limits).format(limit=f"{limit:.2f}")


def _paraphrased(attributes: Sequence[str], draws: Draws) -> tuple[list[str], list[str]]:
    """Return attributes to be named as they are, and what is said in place of the others."""
    known = phrases().paraphrases
    plain: list[str] = []
    clauses: list[str] = []
    for attribute in attributes:
        if attribute in known and draws.chance(60):
            clauses.append(draws.choice(known[attribute]))
        else:
            plain.append(attribute)
    return plain, clauses


def _option(plan: Blueprint, group: str, value: str, draws: Draws) -> str:
    key = next(key for key in plan.kind.options if option_groups()[key].group == group)
    return draws.choice(option_groups()[key].says).format(value)


def _thing(plan: Blueprint, attributes: list[str], clauses: list[str], draws: Draws) -> str:
    name = " ".join([*plan.kind.prefixes[:1], plan.name]).lower()
    if len(plan.kind.prefixes) > 1:
        name = plan.name.lower()
    adjectives = [a for a in attributes if is_adjective(a)]
    features = [a for a in attributes if not is_adjective(a)]
    fits = [text for text in phrases().things if adjectives or "{adjective_list}" not in text]
    several = plan.name.endswith("s") and not plan.name.endswith("ss")
    template = draws.choice(fits)
    article = "" if several else _article(adjectives[0] if _leads(template, adjectives) else name)
    return article + template.format(
        name=name,
        adjectives=", ".join(adjectives) + " " if adjectives else "",
        adjective_list=_joined(adjectives),
        is_are="are" if several else "is",
        nouns=f" with {_joined(features)}" if features else "",
        clauses="".join(f"{_comma(clause)}{clause}" for clause in clauses),
    )


def _leads(template: str, adjectives: list[str]) -> bool:
    return bool(adjectives) and template.startswith("{adjectives}")


def _article(following: str) -> str:
    return "an " if following[0] in "aeiou" else "a "


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _comma(clause: str) -> str:
    return ", " if clause.startswith(("and ", "size")) or ": " in clause else " "
