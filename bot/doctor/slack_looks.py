"""What several checks of Slack look up: tokens and whose they are, and the process that runs."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar

from adapters.slack import asking
from adapters.slack.asking import Whose
from adapters.slack.manifest import Need
from bot.doctor.finding import Found
from bot.errors import HeadwayError, StoreBusy, StoreUnusable
from bot.ports.installs import Install
from bot.settings import Settings
from bot.wiring import reading
from scheduler.control import ask_owner

T = TypeVar("T")

SHOWN: Final = 5


def running_now(settings: Settings) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """What the process of this state folder says of itself, and of Slack."""
    running = done(ask_owner(settings.state_dir, {"do": "status"}))
    if running is None:
        return None, {}
    try:
        return running, done(ask_owner(settings.state_dir, {"do": "slack.status"})) or {}
    except HeadwayError:
        return running, {}


def whose_each(settings: Settings) -> list[Whose]:
    """Whose each token is; what is wrong with one is said once, by `tokens`."""
    try:
        return [
            done(asking.whose(settings.slack_api_url, token, now=time.time()))
            for _, token in bots(settings)
        ]
    except HeadwayError as error:
        raise Found("skipped", "Not looked at: the token comes first.") from error


def bots(settings: Settings) -> list[tuple[str, str]]:
    """The workspace and the token of each bot. Raises Found where there is none."""
    found = done(named_tokens(settings))
    if not found:
        raise Found("skipped", "Not looked at: the app is installed nowhere yet.")
    return found


async def named_tokens(settings: Settings) -> list[tuple[str, str]]:
    """The workspace and the token of each bot. Raises SecretsUnusable."""
    if token := settings.slack_bot_token.get_secret_value():
        return [("slack_bot_token", token)]
    return [(one.name or one.workspace, one.token) for one in await installed(settings)]


async def installed(settings: Settings) -> tuple[Install, ...]:
    """All installs; none where the database cannot be read. Raises SecretsUnusable."""
    try:
        async with reading(settings) as store:
            return await store.installs.installed("slack")
    except (StoreBusy, StoreUnusable):
        # What is wrong with the database, its own check says.
        return ()


def named(needs: Sequence[Need]) -> str:
    """Each by its name, with what works no more for it."""
    told = [f"{need.name} ({need.without})" for need in needs[:SHOWN]]
    if len(needs) > SHOWN:
        told.append(f"and {len(needs) - SHOWN} more")
    return "; ".join(told)


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def done(asked: Coroutine[Any, Any, T]) -> T:
    """What was asked, awaited by a check on a thread of its own."""
    return asyncio.run(asked)
