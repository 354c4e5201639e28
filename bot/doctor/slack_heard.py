"""
The checks of Slack that a running process is needed for: whether it hears what is said there.

Rule: what Slack does not tell of the app, its subscriptions, is seen by what came and what did not.
"""

import time
from datetime import datetime
from typing import Any, Final

from adapters.slack import asking
from adapters.slack.errors import cause
from adapters.slack.manifest import EVENTS
from bot.doctor.finding import Found, warning, wrong
from bot.doctor.slack_looks import done, named, named_tokens, running_now, some
from bot.errors import HeadwayError
from bot.settings import Settings

STALE_S: Final = 180.0
SETTLED_S: Final = 15.0
"""What was said so long ago has been heard by now, or will not be."""
LOOKED_AT: Final = 5


def hearing(settings: Settings) -> str:
    """Whether the running process hears what is said."""
    running, serving = running_now(settings)
    if running is None:
        return "no Headway runs"
    heard: dict[str, Any] = next(
        (one for one in running.get("connectors", ()) if one.get("network") == "slack"), {}
    )
    if not heard:
        raise wrong("The Headway that runs was started before Slack was set up: start it again.")
    if not serving.get("serves"):
        return "another process of the database serves Slack; this one stands by"
    if others := int(serving.get("others") or 0):
        raise wrong(
            f"Another process has sockets of the Slack app open, too ({others}): each hears a part of what is "
            "said, and goals are begun twice. Stop the other one, or let both work on one PostgreSQL."
        )
    troubles = list((serving.get("troubles") or {}).values())
    if troubles:
        raise warning(str(troubles[0]))
    last = heard.get("last_heard")
    age_s = time.time() - datetime.fromisoformat(last).timestamp() if last else None
    is_late = settings.slack_mode == "socket" and (age_s is None or age_s > STALE_S)
    if not heard.get("up") or is_late:
        since = "since it started" if age_s is None else f"for {age_s:.0f} s"
        why = str(heard.get("trouble") or "Look at its log.")
        raise wrong(f"The Headway that runs has heard nothing from Slack {since}. {why}")
    return "nothing yet" if age_s is None else f"heard {max(0.0, age_s):.0f} s ago"


def events(settings: Settings) -> str:
    """Whether what is said in the bot's channels comes to it, as far as that can be known."""
    running, serving = running_now(settings)
    if running is None or not serving.get("serves"):
        raise Found("skipped", "Not looked at: it can be seen of a Headway that runs and serves.")
    heard: dict[str, float] = serving.get("heard") or {}
    since, now = float(serving.get("since") or time.time()), time.time()
    missing: dict[str, str] = {}
    try:
        said = done(_said_lately(settings))
    except HeadwayError as error:
        # What is wrong with a token or a scope, its own check says.
        raise Found("skipped", f"Not looked at: {cause(error)}") from error
    for channel, said_at in said:
        came_at = heard.get(channel.kind, 0.0)
        if since < said_at < now - SETTLED_S and came_at < said_at:
            missing[channel.kind] = channel.name or channel.id
    if missing:
        needs = [need for need in EVENTS if need.name in missing]
        raise wrong(
            f"Something was said in {some(sorted(missing.values()))} that never came: the app does not "
            f"get {named(needs)}. Add it under Event Subscriptions, Subscribe to bot events, of the app's "
            "page; `headway slack manifest` has all of them."
        )
    return "what was said came" if heard else "nothing was said yet that would show it"


async def _said_lately(settings: Settings) -> list[tuple[asking.Channel, float]]:
    """When something was last said in the first of the bot's channels."""
    found = []
    for _, token in await named_tokens(settings):
        for channel in (await asking.channels_of(settings.slack_api_url, token))[:LOOKED_AT]:
            at = await asking.last_said(settings.slack_api_url, token, channel.id)
            if at is not None:
                found.append((channel, at))
    return found
