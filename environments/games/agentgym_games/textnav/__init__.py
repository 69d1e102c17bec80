"""Text navigation: fetch a thing through rooms and locked doors."""
