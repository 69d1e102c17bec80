"""Common English words of five letters, sorted; the list was written for this game."""

from pathlib import Path

COMMON: tuple[str, ...] = tuple(Path(__file__).with_name("words.txt").read_text("utf-8").split())
