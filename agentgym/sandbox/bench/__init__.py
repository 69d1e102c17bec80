"""What sandboxes cost: measured, reported with spread beside targets, never judged."""
