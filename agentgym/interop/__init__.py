"""Other worlds' protocols: environments served to them, and theirs played as environments."""
