"""Sandboxes: the only place where an agent's path is opened and an agent's command runs."""
