"""Trajectories: the record of an episode, its store and its exports."""
