"""The only way out of a sandbox: a logging proxy with an allowlist, run by the host."""
