"""Whole stories with the real process and a real server of the Messages API."""
