"""Backups as folders: what is in one, and how it comes to be there whole or not at all."""
