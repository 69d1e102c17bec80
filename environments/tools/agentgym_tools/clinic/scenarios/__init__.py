"""The tasks: people who write to the clinic, and what is right for each."""
