"""Rollouts: agents playing environments, concurrently and within limits."""
