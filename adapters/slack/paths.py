"""Paths of the public listener, as Slack and browsers are told of them."""

from typing import Final

EVENTS_PATH: Final = "/slack/events"
"""Of events, commands, buttons, windows and shortcuts alike."""
INSTALL_PATH: Final = "/slack/install"
REDIRECT_PATH: Final = "/slack/oauth_redirect"
AUTHORIZE_PATH: Final = "/oauth/v2/authorize"
"""Slack's page that asks whether an app may come in; on the host of its API."""
