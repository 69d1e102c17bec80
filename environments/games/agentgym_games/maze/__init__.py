"""Maze: find the way to the goal."""
