"""
What Slack shows beside messages: reactions, and that the bot is at work in a thread. Port Signs.

Rule 1: any of it may be lost; nothing is tried again, and what Slack has no room for is left out.
Rule 2: a status lapses after two minutes or with the bot's next message, so it is told again; it is
        taken back where the work ends.
Rule 3: where the app may show none, it is not asked again until the process ends or the app is installed
        anew.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from adapters.slack.calling import Calls
from adapters.slack.emoji import name_of
from adapters.slack.errors import LoggedOut, NotPermitted
from adapters.slack.ids import NETWORK, parted, ts_of
from bot.errors import HeadwayError, Refused, Wait
from bot.ports.chat import Place

log = logging.getLogger(__name__)

SET_STATUS: Final = "assistant.threads.setStatus"
RENEWED_S: Final = 90.0
"""Slack takes a status away after two minutes."""
PAUSE_S: Final = 30.0
"""Where Slack limits us and does not say for how long."""
AT_ONCE: Final = 4
THERE: Final = frozenset({"already_reacted"})
NOT_THERE: Final = frozenset({"no_reaction", "message_not_found"})
NEVER: Final = frozenset(
    {
        "unknown_method", "method_deprecated", "feature_not_enabled", "not_allowed",
        "access_denied", "assistant_not_enabled", "agent_not_enabled", "not_an_agent_app",
        "app_missing_agent_view", "app_missing_assistant_view", "free_team_not_allowed",
        "paid_teams_only",
    }
)  # fmt: skip
"""What Slack says where an app, or a workspace's plan, has no such status."""
REFUSALS_MOST: Final = 5
"""Refusals in a row, of whatever words, after which a workspace is taken to have none."""


@dataclass(slots=True)
class _Status:
    """What a workspace has shown of it."""

    is_off: bool = False
    refusals: int = 0
    not_before: float = -math.inf


class SlackSigns:
    """The signs of all workspaces of an app."""

    def __init__(self, calls: Calls, working: str, clock: Callable[[], float]) -> None:
        """Show nothing yet.

        Args:
            working: the status, after the bot's name: "is working...".
            clock: seconds that never go back.
        """
        self._calls, self._working, self._clock = calls, working, clock
        self._shown: dict[Place, float] = {}
        self._statuses: dict[str, _Status] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def react(self, place: Place, message: str, emoji: str) -> str:
        """Put a reaction under a message, unless it is there; returns its id. Raises HeadwayError."""
        channel, ts = parted(message)
        name = name_of(emoji)
        try:
            await self._reaction("reactions.add", place, channel, ts, name)
        except Refused as error:
            if error.code not in THERE:
                raise
        return f"{message}:{name}"

    async def take_reaction(self, place: Place, reaction: str) -> None:
        """Take a reaction of ours away, where it still is. Raises HeadwayError."""
        message, _, name = reaction.rpartition(":")
        channel, ts = parted(message)
        try:
            await self._reaction("reactions.remove", place, channel, ts, name)
        except Refused as error:
            if error.code not in NOT_THERE:
                raise

    async def show_working(self, places: frozenset[Place]) -> None:
        """Show that the bot is at work in these threads and in no others."""
        now = self._clock()
        here = frozenset(one for one in places if one.network == NETWORK and one.thread)
        over = sorted(self._shown.keys() - here, key=str)
        due = [
            place
            for place in sorted(here, key=str)
            if now - self._shown.get(place, -math.inf) >= RENEWED_S
        ]
        for place in over:
            del self._shown[place]
        await asyncio.gather(
            *(self._show(place, "") for place in over),
            *(self._show(place, self._working) for place in due),
        )

    def said(self, place: Place) -> None:
        """The bot has said something in a thread, with which Slack takes its status away."""
        if place in self._shown:
            self._shown[place] = -math.inf

    def forget(self, workspace: str) -> None:
        """The app was installed anew, or is no longer."""
        self._statuses.pop(workspace, None)
        for place in [one for one in self._shown if one.workspace == workspace]:
            del self._shown[place]

    async def _reaction(self, method: str, place: Place, channel: str, ts: str, name: str) -> None:
        what = "A reaction cannot be put or taken away"
        await self._calls.call(
            place.workspace, method, what=what, channel=channel, timestamp=ts, name=name
        )

    async def _show(self, place: Place, status: str) -> None:
        known = self._statuses.setdefault(place.workspace, _Status())
        now = self._clock()
        if known.is_off or now < known.not_before:
            return
        if status:
            # Before it is known to be shown: a thread that refuses it is not asked at every look.
            self._shown[place] = now
        try:
            async with self._turns:
                await self._calls.call(
                    place.workspace,
                    SET_STATUS,
                    what="That the bot is at work cannot be shown",
                    channel_id=place.room,
                    thread_ts=ts_of(place),
                    status=status,
                )
        except HeadwayError as error:
            self._refused(place, known, error)
        else:
            known.refusals = 0

    def _refused(self, place: Place, known: _Status, error: HeadwayError) -> None:
        if isinstance(error, Wait | LoggedOut):
            self._shown.pop(place, None)
            wait_s = error.retry_after_s if isinstance(error, Wait) else None
            known.not_before = self._clock() + (wait_s or PAUSE_S)
            return
        known.refusals += 1
        is_never = isinstance(error, NotPermitted) or getattr(error, "code", "") in NEVER
        known.is_off = is_never or known.refusals >= REFUSALS_MOST
        said = "from now on nowhere in" if known.is_off else "there, in"
        log.info("No status is shown %s %s: %s", said, place.workspace, error)
