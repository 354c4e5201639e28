"""
Slack: from an event to its acknowledgement, and to the first status message of its goal.

The real process and the tests' Slack (local-slack behind the front); each message mentions the bot and
asks for a goal whose model takes its time. Seen from the front: from an event's first sending to its
acknowledgement (which the bot gives once it is stored), and to the moment at which its goal's status
message is answered for. Channels are many, because Slack takes one post a second in each.

Then five goals at once in one channel: how long each one's last state takes to be shown, and how many
edits of the workspace's budget a minute takes.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure
from tests.bench.roomy import ROOMY
from tests.journeys.slack import ALICE, GENERAL, SlackBot, SlackGoal, a_slack, running, slack_bot
from tests.peers.localslack import BOT, Channel
from tests.peers.messages_api import BY_OBJECTIVE, BlockingMessagesApi, started
from tests.peers.slack_delivery import Envelope
from tests.peers.slack_front import Call, Mode, Moment, SlackFront, plain_text

NAME = "slack"
MODES: Final[Sequence[Mode]] = ("socket", "http")
RATES: Final = (1, 10, 50)
"""Messages a second."""
SECONDS: Final = {1: 12, 10: 8, 50: 4}
FULL: Final = 5
"""Times as long, in full."""
CHANNELS: Final = tuple(Channel(f"C{n:03}BENCH", f"bench-{n}") for n in range(50))
LAST_S: Final = 120.0
GOAL: Final = f"<@{BOT}> Number {{number}}.\n!script slow 60 1"
TOGETHER: Final = 5
WORK: Final = f"<@{BOT}> !script slow 6 5"
MINUTE_S: Final = 60.0


@dataclass
class Watched:
    """When what happened, in seconds of one clock, by the message's timestamp."""

    sent: dict[str, float] = field(default_factory=dict)
    acknowledged: dict[str, float] = field(default_factory=dict)
    shown: dict[str, float] = field(default_factory=dict)

    def brought(self, moment: str, envelope: Envelope) -> None:
        """What Slack sends; of a message it sends two events, of which the first counts."""
        event = envelope.payload.get("event", {})
        if event.get("type") == "message" and event.get("user") == ALICE:
            book = self.sent if moment == "sent" else self.acknowledged
            book.setdefault(event["ts"], time.perf_counter())

    def called(self, moment: Moment, call: Call) -> None:
        """What is asked of Slack."""
        if moment != "answered" or call.method != "chat.postMessage" or not call.is_done:
            return
        payload = (call.arguments.get("metadata") or {}).get("event_payload", {})
        if ":status:" in payload.get("key", ""):
            self.shown.setdefault(call.arguments["thread_ts"], time.perf_counter())


def figures(full: bool) -> Iterator[Figure]:
    """p50 and p99 of both at each rate, milliseconds; then five goals at once."""
    with started(BY_OBJECTIVE) as api:
        for mode in MODES:
            for rate in RATES:
                count = rate * SECONDS[rate] * (FULL if full else 1)
                with tempfile.TemporaryDirectory() as folder:
                    watched = _watched(Path(folder), api, mode, rate, count)
                yield from _figures(f"{mode}_at_{rate}_a_second", watched)
        with tempfile.TemporaryDirectory() as folder:
            yield from _together(Path(folder), api)


def _watched(folder: Path, api: BlockingMessagesApi, mode: Mode, rate: int, count: int) -> Watched:
    with a_slack(mode, channels=CHANNELS) as front:
        bot = slack_bot(folder, api, front, turns_at_once=2_000, **ROOMY)
        bot.start()
        try:
            bot.allow(ALICE, "admin")
            watched = Watched()
            front.delivery.watcher, front.watcher = watched.brought, watched.called
            _say(front, rate, count)
            front.until(
                lambda: len(watched.shown) == len(watched.acknowledged) == count,
                f"{count} statuses: {len(watched.acknowledged)}, {len(watched.shown)}.",
                LAST_S,
            )
        finally:
            bot.end()
        assert front.violations == []
        return watched


def _say(front: SlackFront, rate: int, count: int) -> None:
    """Say so many messages at a rate."""
    began = time.perf_counter()

    def say(number: int) -> None:
        time.sleep(max(began + number / rate - time.perf_counter(), 0))
        channel = CHANNELS[number % len(CHANNELS)].id
        front.say(ALICE, channel, GOAL.format(number=number))

    with ThreadPoolExecutor(min(8, count)) as saying:
        list(saying.map(say, range(count)))


def _figures(name: str, watched: Watched) -> Iterator[Figure]:
    for what, seen in (("acknowledged", watched.acknowledged), ("status", watched.shown)):
        taken = sorted((at - watched.sent[ts]) * 1e3 for ts, at in seen.items())
        yield Figure(f"{what}_p50_{name}", statistics.median(taken), "ms")
        yield Figure(f"{what}_p99_{name}", taken[int(0.99 * (len(taken) - 1))], "ms")


def _together(folder: Path, api: BlockingMessagesApi) -> Iterator[Figure]:
    with a_slack("socket") as front:
        bot = slack_bot(folder, api, front, **ROOMY)
        with running(bot, ALICE):
            began = time.monotonic()
            goals = [bot.asked(ALICE, WORK, GENERAL) for _ in range(TOGETHER)]
            complete, shown = _ends(bot, goals)
    edits = [call.at for call in front.of("chat.update")]
    late = max(shown[root] - at for root, at in complete.items())
    yield Figure("five_goals_whole", max(shown.values()) - began, "s")
    yield Figure("five_goals_last_state_shown_after", late, "s")
    yield Figure("five_goals_edits_in_the_busiest_minute", _busiest(edits), "edits")


def _ends(
    bot: SlackBot, goals: Sequence[SlackGoal]
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """When each goal was complete, and when its status said so."""
    complete: dict[str, float] = {}
    shown: dict[str, float] = {}

    def are_shown() -> bool:
        states = {goal.id: goal.state for goal in bot.goals()}
        for goal in goals:
            look = bot.look(goal.thread)
            if look and states.get(look[0].goal.id) == "complete":
                complete.setdefault(goal.root, time.monotonic())
            if any("Complete" in plain_text(status) for status in goal.status()):
                shown.setdefault(goal.root, time.monotonic())
        return len(shown) == len(goals)

    bot.front.until(are_shown, "every last state", 2 * LAST_S)
    return complete, shown


def _busiest(moments: Sequence[float]) -> float:
    return float(max(
        (sum(at <= other < at + MINUTE_S for other in moments) for at in moments), default=0
    ))  # fmt: skip
