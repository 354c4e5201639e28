"""The agent's tools: one file each, listed in `table`."""
