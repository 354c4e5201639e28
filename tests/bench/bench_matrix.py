"""
Matrix: from a message to its durable acknowledgement, and to the first status message of its goal.

The real process, a real homeserver without limits, a room without encryption; each message asks for a
goal whose model takes its time. Seen from a proxy between the two: a message is acknowledged when
the bot asks for what came after it (it does once the answer before is stored whole); its status is
there when the homeserver has answered for it. Counted from before the message is sent, so that the
homeserver's own time is in both.
"""

import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure
from tests.bench.roomy import ROOMY
from tests.journeys.matrix import MatrixBot, matrix_bot
from tests.peers.matrix_faults import Call, Moment, faults
from tests.peers.matrix_plain import PlainUser, until
from tests.peers.messages_api import BY_OBJECTIVE, started
from tests.peers.synapse import private_synapse

NAME = "matrix"
RATES: Final = (1, 10, 50)
"""Messages a second."""
SECONDS: Final = {1: 12, 10: 8, 50: 4}
FULL: Final = 5
"""Times as long, in full."""
LAST_S: Final = 120.0
GOAL: Final = "!goal Number {number}.\n!script slow 60 1"


@dataclass
class Watched:
    """When what happened, in seconds of one clock, by the message's event id."""

    acknowledged: dict[str, float] = field(default_factory=dict)
    shown: dict[str, float] = field(default_factory=dict)
    _given: dict[str, list[str]] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)

    def see(self, moment: Moment, call: Call) -> None:
        """What the proxy passes."""
        now = time.perf_counter()
        if call.kind == "sync" and moment == "request":
            for id in self._given.pop(call.since, ()):
                self.acknowledged.setdefault(id, now)
        elif call.kind == "sync" and moment == "done" and call.status == 200:
            answer = json.loads(call.said)
            self._given[answer["next_batch"]] = _messages(answer)
        elif call.kind == "send" and moment == "request":
            content = json.loads(call.said or b"{}")
            if ":status:" in content.get("dev.headway", {}).get("key", ""):
                self._asked[call.path] = content.get("m.relates_to", {}).get("event_id", "")
        elif call.kind == "send" and moment == "done" and call.status == 200:
            self.shown.setdefault(self._asked.pop(call.path, ""), now)


def figures(full: bool) -> Iterator[Figure]:
    """p50 and p99 of both at each rate, milliseconds."""
    with started(BY_OBJECTIVE) as api, private_synapse() as server, faults(server.url) as proxy:
        for rate in RATES:
            with tempfile.TemporaryDirectory() as folder:
                bot = matrix_bot(
                    Path(folder), api, server, url=proxy.url, turns_at_once=2_000, **ROOMY
                )
                watched = Watched()
                proxy.watch(watched.see)
                bot.start()
                try:
                    sent = _sent(bot, PlainUser(server, server.register("sender")), rate, full)
                    _until_all_shown(watched, sent)
                finally:
                    proxy.watch(None)
                    bot.end()
                yield from _figures(f"{rate}_a_second", sent, watched)


def _until_all_shown(watched: Watched, sent: dict[str, float]) -> None:
    until(lambda: watched.shown.keys() >= sent.keys(), LAST_S, "Some goals have no status.")


def _sent(bot: MatrixBot, sender: PlainUser, rate: int, full: bool) -> dict[str, float]:
    """Send messages at a rate; when each began to be sent, by its id."""
    bot.allow(sender.user_id, "admin")
    room = sender.create(bot.user_id)
    sender.until_joined(room, bot.user_id)
    count = rate * SECONDS[rate] * (FULL if full else 1)
    sent: dict[str, float] = {}
    lock = threading.Lock()
    began = time.perf_counter()

    def send(number: int) -> None:
        time.sleep(max(began + number / rate - time.perf_counter(), 0))
        at = time.perf_counter()
        id = sender.say(room, GOAL.format(number=number))
        with lock:
            sent[id] = at

    with ThreadPoolExecutor(min(8, count)) as senders:
        list(senders.map(send, range(count)))
    return sent


def _figures(name: str, sent: dict[str, float], watched: Watched) -> Iterator[Figure]:
    for what, seen in (("acknowledged", watched.acknowledged), ("status", watched.shown)):
        taken = sorted((seen[id] - at) * 1e3 for id, at in sent.items())
        yield Figure(f"{what}_p50_at_{name}", statistics.median(taken), "ms")
        yield Figure(f"{what}_p99_at_{name}", taken[int(0.99 * (len(taken) - 1))], "ms")


def _messages(answer: dict) -> list[str]:  # type: ignore[type-arg]
    rooms = answer.get("rooms", {}).get("join", {}).values()
    return [
        event["event_id"] for room in rooms for event in room["timeline"]["events"]
        if event["type"] == "m.room.message"
    ]  # fmt: skip
