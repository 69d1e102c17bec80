"""Training: any environment under TRL, token-exact, with turn-level credit."""
