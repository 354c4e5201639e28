"""The adapter of backups."""
