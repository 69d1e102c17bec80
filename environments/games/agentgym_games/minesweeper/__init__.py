"""Minesweeper: open every square without a mine."""
