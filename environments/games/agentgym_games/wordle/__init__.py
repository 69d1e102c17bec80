"""Wordle: find the hidden word."""
