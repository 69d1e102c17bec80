"""The generated shop: products, goals and instructions out of a hand-written grammar."""
