"""Credit assignment: from a group of episodes to an advantage for every turn."""
