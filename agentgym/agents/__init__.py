"""Agents: who plays."""
