"""Evaluation: metrics, statistics, conformance and replay."""
