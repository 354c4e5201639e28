"""The proxy in front of the homeserver is faithful but for the faults that were ordered."""

import http.client
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.peers.matrix_faults import (
    Call,
    Cut,
    Fault,
    Limited,
    MatrixFaults,
    Moment,
    Page,
    Revoked,
    Slow,
    Stale,
    faults,
)
from tests.peers.synapse import Account, Answer, Synapse

SYNC = "/_matrix/client/v3/sync?timeout=0"
HELLO = {"msgtype": "m.text", "body": "hello"}


@dataclass
class Sender:
    """Somebody who speaks to the server through the proxy."""

    account: Account
    room: str
    server: Synapse
    proxy: MatrixFaults

    def send(self, txn: str) -> Answer:
        path = f"/_matrix/client/v3/rooms/{self.room}/send/m.room.message/{txn}"
        return self.server.call("PUT", path, HELLO, self.account.token, through=self.proxy.url)

    def sync(self, since: str = "") -> Answer:
        path = SYNC + (f"&since={since}" if since else "")
        return self.server.call("GET", path, token=self.account.token, through=self.proxy.url)

    def count(self) -> int:
        """How many messages the server has, asked for directly."""
        path = f"/_matrix/client/v3/rooms/{self.room}/messages?dir=b&limit=100"
        chunk = self.server.done("GET", path, token=self.account.token)["chunk"]
        return sum(event["type"] == "m.room.message" for event in chunk)


@pytest.fixture
def proxy(synapse: Synapse) -> Iterator[MatrixFaults]:
    with faults(synapse.url) as proxy:
        yield proxy


@pytest.fixture
def sender(synapse: Synapse, proxy: MatrixFaults) -> Sender:
    account = synapse.register()
    room = synapse.done("POST", "/_matrix/client/v3/createRoom", {}, account.token)["room_id"]
    return Sender(account, room, synapse, proxy)


def test_without_a_fault_it_changes_nothing(sender: Sender) -> None:
    sent, synced = sender.send("one"), sender.sync()

    assert sent.status == synced.status == 200
    assert sender.count() == 1
    assert [call.kind for call in sender.proxy.calls] == ["send", "sync"]


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        (Limited(retry_after_ms=700), {"retry_after_ms": 700}),
        (Limited(header_s=2), {}),
        (Limited(), {}),
    ],
)
def test_a_limit_says_how_long_or_does_not(sender: Sender, fault: Fault, body: dict) -> None:  # type: ignore[type-arg]
    sender.proxy.next_times("send", fault)

    first, again = sender.send("one"), sender.send("one")

    assert first.status == 429
    assert {k: v for k, v in first.body.items() if k == "retry_after_ms"} == body
    assert again.status == 200
    assert sender.count() == 1


@pytest.mark.parametrize(
    ("fault", "arrived"),
    [(Page(503), 0), (Page(504, passes=True), 1)],
)
def test_a_page_comes_with_and_without_the_request_being_done(
    sender: Sender, fault: Fault, arrived: int
) -> None:
    sender.proxy.next_times("send", fault)

    answer = sender.send("one")

    assert answer.status in (503, 504)
    assert answer.body == {}
    assert sender.count() == arrived


@pytest.mark.parametrize(
    ("fault", "arrived"), [(Cut("before"), 0), (Cut("after"), 1), (Cut("middle"), 1)]
)
def test_a_cut_connection_gives_no_answer(sender: Sender, fault: Fault, arrived: int) -> None:
    sender.proxy.next_times("send", fault)

    with pytest.raises((OSError, http.client.HTTPException)):
        sender.send("one")

    assert sender.count() == arrived


def test_a_stale_sync_gives_what_was_given_before(sender: Sender) -> None:
    first = sender.sync()
    sender.send("one")
    sender.proxy.next_times("sync", Stale(), Slow(0.05))

    stale, slow = sender.sync(first.body["next_batch"]), sender.sync(first.body["next_batch"])

    assert stale.body == first.body
    assert slow.body["next_batch"] != first.body["next_batch"]


def test_a_revoked_token_stays_revoked(sender: Sender) -> None:
    sender.proxy.next_times("send", Revoked())
    sender.proxy.revoke(sender.account.token, soft=False)

    answers = [sender.send("one"), sender.sync()]

    assert [answer.status for answer in answers] == [401, 401]
    assert [answer.body["errcode"] for answer in answers] == ["M_UNKNOWN_TOKEN"] * 2
    assert sender.count() == 0


def test_a_lottery_lets_everything_through_in_the_end(sender: Sender) -> None:
    every: list[Fault] = [Limited(), Page(), Cut("before"), Cut("after"), Cut("middle")]
    sender.proxy.lottery(1, 0.6, every)

    tries = [_insistently(sender, f"number-{number}") for number in range(30)]

    assert max(tries) <= 4
    assert sender.count() == 30
    assert set(sender.proxy.faulted()) == {"Limited", "Page", "Cut"}


def test_who_watches_sees_each_moment(sender: Sender) -> None:
    seen: list[tuple[Moment, int]] = []

    def watch(moment: Moment, call: Call) -> None:
        seen.append((moment, call.status))

    sender.proxy.watch(watch)
    sender.send("one")

    assert seen == [("request", 0), ("done", 200), ("answered", 200)]


def _insistently(sender: Sender, txn: str) -> int:
    for tried in range(1, 20):
        try:
            if sender.send(txn).status == 200:
                return tried
        except (OSError, http.client.HTTPException):
            continue
    raise AssertionError("never through")
