"""How much is sent, against a bucket that leaks as Synapse's does."""

from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.matrix.pace import CALM_S, EDITS_MOST, Edits, Pace, Rank

STATE = ("⏳", "Working", "working")
OTHER = ("⏳", "Evaluating", "auditing")


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Server:
    """Takes `burst` events at once and `rate` a second after that."""

    clock: Clock
    rate: float = 0.2
    burst: int = 10
    level: float = 0.0
    at: float = 0.0
    refusals: int = 0

    def take(self) -> float | None:
        """None where it takes one, else the seconds that it says."""
        self.level = max(self.level - (self.clock.now - self.at) * self.rate, 0.0)
        self.at = self.clock.now
        if self.level + 1 > self.burst + 1e-9:
            self.refusals += 1
            return (self.level + 1 - self.burst) / self.rate
        self.level += 1
        return None


@dataclass
class Account:
    """Sends what is due as Delivery does: again when the wait is over."""

    clock: Clock
    server: Server
    pace: Pace
    due: list[tuple[float, Rank]] = field(default_factory=list)
    sent: dict[Rank, list[float]] = field(default_factory=lambda: defaultdict(list))

    def run(self, until: float) -> None:
        while self.due and min(at for at, _ in self.due) <= until:
            self.due.sort()
            at, rank = self.due.pop(0)
            self.clock.now = max(self.clock.now, at) + 0.001
            wait_s = self.pace.wait_s(rank)
            if wait_s <= 0:
                asked_at = self.clock.now
                refused = self.server.take()
                if refused is None:
                    self.pace.sent()
                    self.sent[rank].append(self.clock.now)
                    continue
                self.clock.now += 0.5
                self.pace.refused(refused, asked_at)
                wait_s = refused
            self.due.append((self.clock.now + wait_s, rank))
        self.clock.now = max(self.clock.now, until)


def an_account(rate: float = 0.2, burst: int = 10) -> Account:
    clock = Clock()
    return Account(clock, Server(clock, rate, burst), Pace(clock))


def test_until_a_server_limits_us_nothing_waits() -> None:
    account = an_account(rate=1000.0)
    account.due = [(1000.0, rank) for rank in Rank for _ in range(200)]

    account.run(1001.0)

    assert account.due == []
    assert not account.pace.is_limited


def test_of_posts_edits_and_signs_at_once_the_posts_go_first() -> None:
    account = an_account()
    account.due = [(1000.0, Rank.POST) for _ in range(12)]
    account.due += [(1000.5, rank) for rank in (Rank.SIGN, Rank.EDIT) for _ in range(3)]
    account.due += [(1005.0, Rank.POST) for _ in range(3)]

    account.run(1400.0)

    assert account.due == []
    assert max(account.sent[Rank.POST]) < min(account.sent[Rank.EDIT])
    assert max(account.sent[Rank.EDIT]) < max(account.sent[Rank.SIGN])


def test_what_the_server_says_twice_is_its_rate() -> None:
    account = an_account()
    account.due = [(1000.0, Rank.POST) for _ in range(14)]

    account.run(1040.0)

    assert account.pace.interval_s == pytest.approx(5.0, abs=0.6)


def test_a_post_waits_as_long_as_the_server_says_and_no_longer() -> None:
    account = an_account()
    account.due = [(1000.0, Rank.POST) for _ in range(11)]
    account.run(1000.6)

    assert account.pace.wait_s(Rank.POST) <= 5.0
    assert account.pace.wait_s(Rank.EDIT) > account.pace.wait_s(Rank.POST)


def test_after_a_long_calm_all_is_free_again() -> None:
    account = an_account()
    account.due = [(1000.0, Rank.POST) for _ in range(11)]
    account.run(1020.0)

    account.clock.now += CALM_S + 1

    assert not account.pace.is_limited
    assert account.pace.wait_s(Rank.SIGN) == 0.0


def test_a_server_that_names_no_time_is_left_alone_for_five_seconds() -> None:
    clock = Clock()
    pace = Pace(clock)

    pace.refused(None, clock.now)

    assert pace.wait_s(Rank.POST) == 5.0


@given(
    rate=st.floats(0.05, 20.0),
    burst=st.integers(1, 30),
    due=st.lists(st.tuples(st.floats(0.0, 30.0), st.sampled_from(Rank)), max_size=40),
)
def test_all_is_sent_in_the_end_whatever_the_limits(
    rate: float, burst: int, due: list[tuple[float, Rank]]
) -> None:
    account = an_account(rate, burst)
    account.due = [(1000.0 + at, rank) for at, rank in due]

    account.run(1000.0 + 60 + (len(due) + 5) * 4 / rate)

    assert account.due == []


@given(posts=st.integers(1, 40))
def test_posts_are_as_fast_as_the_server_lets_them(posts: int) -> None:
    account = an_account()
    account.due = [(1000.0, Rank.POST) for _ in range(posts)]

    account.run(2000.0)

    fastest = max(posts - 10, 0) * 5.0
    assert max(account.sent[Rank.POST]) - 1000.0 <= fastest + 0.6 * (1 + posts)


def test_a_status_is_edited_when_its_state_changes_else_once_a_minute() -> None:
    clock = Clock()
    edits = Edits(clock)
    edits.shown("$1", STATE, "looking")
    clock.now += 10

    assert edits.wait_s("$1", OTHER) == 0.0
    assert edits.wait_s("$1", STATE) == 50.0


def test_after_an_hour_a_status_is_edited_every_five_minutes() -> None:
    clock = Clock()
    edits = Edits(clock)
    edits.shown("$1", STATE, "looking")
    clock.now += 3700
    edits.shown("$1", STATE, "writing")
    clock.now += 60

    assert edits.wait_s("$1", STATE) == 240.0
    assert edits.wait_s("$1", OTHER) == 0.0


def test_after_a_hundred_edits_a_new_message_is_better() -> None:
    edits = Edits(Clock())
    for n in range(EDITS_MOST + 1):
        assert not edits.is_worn("$1")
        edits.shown("$1", STATE, str(n))

    assert edits.is_worn("$1")


def test_a_message_that_is_gone_is_worn_and_one_that_is_not_known_is_edited_at_once() -> None:
    edits = Edits(Clock())
    edits.shown("$1", STATE, "looking")
    edits.gone("$1")

    assert edits.is_worn("$1")
    assert not edits.is_worn("$2")
    assert edits.wait_s("$2", STATE) == 0.0


def test_the_oldest_messages_are_forgotten() -> None:
    edits = Edits(Clock(), most=3)
    for n in range(5):
        edits.shown(f"${n}", STATE, "looking")

    assert edits.wait_s("$1", STATE) == 0.0
    assert edits.wait_s("$4", STATE) > 0.0
