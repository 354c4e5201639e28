"""Matrix, for a process that has an account there."""

from bot.settings import Settings


def matrix_user(settings: Settings) -> str:
    """The bot's user id there; empty without an account."""
    return ""
