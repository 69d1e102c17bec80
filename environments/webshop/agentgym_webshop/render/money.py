"""Prices and ratings in words."""

from agentgym_webshop.products import Product


def money(product: Product) -> str:
    """Return the price that is shown, with cents."""
    if product.price_high is None:
        return f"${product.price_low:.2f}"
    return f"${product.price_low:.2f} to ${product.price_high:.2f}"


def stars(product: Product) -> str:
    """Return the rating in words."""
    return "none yet" if product.rating is None else f"{product.rating:g} of 5"
