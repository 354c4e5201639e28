"""Repositories, fetched and pushed by the bot with git itself."""
