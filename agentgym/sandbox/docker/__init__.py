"""Sandboxes as containers of the Docker engine on this machine."""
