"""The check of the database."""

from bot.settings import Settings


def database(settings: Settings) -> str:
    """Whether the database can be read and is of this version."""
    return settings.database_url
