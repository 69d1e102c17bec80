"""What makes reinforcement learning of agents work: small parts, each off until switched on."""
