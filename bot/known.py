"""
The secret values that a process knows from its settings and its environment.

Rule: whatever is added to the settings as a key, a token or a password is added here.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from bot.errors import BadSettings
from bot.redaction import Redactor
from bot.settings import Settings

VARIABLES: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "PGPASSWORD",
)
"""What the SDKs and PostgreSQL's client read by themselves."""


def learn_settings(redactor: Redactor, settings: Settings) -> None:
    """Teach the redactor every secret that is set."""
    for name, value in _known(settings):
        redactor.learn(name, value)


def passwords_in(url: str) -> tuple[str, ...]:
    """The passwords in an address, as they stand there and as they are meant.

    One that is also a name in the address (`postgres:postgres@`) hides nothing and would be found in
    ordinary words: it is left out.
    """
    try:
        parts = urlsplit(url)
        names = {parts.username, parts.hostname, parts.path.strip("/")}
        raw = parts.netloc.rpartition("@")[0].partition(":")[2]
    except ValueError:
        return ()
    asked = [value for name, value in parse_qsl(parts.query) if name.lower() == "password"]
    found = dict.fromkeys((raw, unquote(raw), *asked))
    return tuple(value for value in found if value and value not in names)


def bare_address(url: str) -> str:
    """The address without its account, query and fragment, which may hold what is secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _known(settings: Settings) -> Iterator[tuple[str, str]]:
    yield "api_key", settings.api_key.get_secret_value()
    file = settings.api_key_file
    if file is not None and file.is_file():
        # A pipe would hold whoever asks up, and is emptied by reading it. Whoever needs the key
        # says what is wrong with its file.
        with suppress(BadSettings):
            yield "api_key", settings.key()
    for password in passwords_in(settings.database):
        yield "database_password", password
    for password in passwords_in(settings.base_url):
        yield "base_url_password", password
    yield "matrix_password", settings.matrix_password.get_secret_value()
    yield "matrix_token", settings.matrix_token.get_secret_value()
    yield "slack_bot_token", settings.slack_bot_token.get_secret_value()
    yield "slack_app_token", settings.slack_app_token.get_secret_value()
    yield "slack_signing_key", settings.slack_signing_key.get_secret_value()
    yield "slack_client_key", settings.slack_client_key.get_secret_value()
    for key in settings.secret_key.get_secret_value().split():
        yield "secret_key", key
    for name in VARIABLES:
        yield name, os.environ.get(name, "")
