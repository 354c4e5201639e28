"""The bot's own git."""
