"""Colour words by which WebShop's reward compares options."""

_WORDS = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown
burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee
cognac copper coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold
granite grape graphite grass gray green grey heather indigo ivory ivy khaki lavender lemon
leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor mushroom
mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal
rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal
tiger turquoise violet walnut wheat white wine yellow
"""

COLOURS = tuple(_WORDS.split())
"""In the order they are looked for; the words and the order decide rewards."""


def normalised(option: str) -> str:
    """Return the first colour word inside an option's value, or the value where there is none."""
    return next((colour for colour in COLOURS if colour in option), option)
