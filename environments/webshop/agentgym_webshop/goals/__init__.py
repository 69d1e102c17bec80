"""Goals on generated catalogues: what a customer wants, how they say it, and the task set."""
