"""Workspaces as they were, kept in the state folder."""
