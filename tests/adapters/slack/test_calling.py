"""Calls of the Web API, against a Slack and what may stand before it."""

import asyncio
import dataclasses

import pytest

from adapters.slack import calling
from adapters.slack.calling import Calls
from adapters.slack.errors import LoggedOut, NotPermitted
from bot.errors import OutcomeUnknown, Refused, Wait
from tests.adapters.slack.web_bed import SECOND, calls, front, slack_of_module
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Cut, Failed, Limited, Page, Slow
from tests.peers.slack_front import SlackFront

__all__ = ["calls", "front", "slack_of_module"]
HELLO = {"channel": "C01GEN", "text": "hello"}


@dataclasses.dataclass
class HandBudget:
    """A budget that says what the test says, and keeps what it is told."""

    waits: list[float] = dataclasses.field(default_factory=list)
    taken: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    refusals: list[tuple[str, str, str, float | None]] = dataclasses.field(default_factory=list)

    def take(self, workspace: str, method: str, channel: str) -> float:
        """The next of `waits`, then nothing."""
        self.taken.append((workspace, method, channel))
        return self.waits.pop(0) if self.waits else 0.0

    def refused(
        self, workspace: str, method: str, channel: str, retry_after_s: float | None
    ) -> None:
        """Keep it."""
        self.refusals.append((workspace, method, channel, retry_after_s))


def budgeted(calls: Calls, budget: HandBudget) -> Calls:
    return Calls(calls.token_for, api_url=calls.api_url, budget=budget)


async def test_each_workspace_is_called_with_its_own_token(front: SlackFront, calls: Calls) -> None:
    first = await calls.call(TEAM, "auth.test")
    second = await calls.call(SECOND.team, "auth.test")

    assert (first["team_id"], second["team_id"]) == (TEAM, SECOND.team)
    assert [call.token for call in front.of("auth.test")] == [
        front.install.bot_token, SECOND.bot_token,
    ]  # fmt: skip


async def test_what_is_none_is_left_out_and_json_stays_json(
    front: SlackFront, calls: Calls
) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*hello*"}}]

    await calls.call(TEAM, "chat.postMessage", **HELLO, blocks=blocks, thread_ts=None)

    assert front.of("chat.postMessage")[0].arguments == {**HELLO, "blocks": blocks}


async def test_pages_are_read_to_the_end(front: SlackFront, calls: Calls) -> None:
    found: list[str] = []

    async for page in calls.pages(TEAM, "conversations.members", channel="C01GEN", limit=1):
        found += page["members"]

    assert sorted(found) == sorted(front.world.people_of("C01GEN"))
    assert len(front.of("conversations.members")) == len(found)


async def test_a_refusal_has_slacks_code(calls: Calls) -> None:
    with pytest.raises(Refused) as caught:
        await calls.call(TEAM, "conversations.info", channel="C0NONE")

    assert caught.value.code == "channel_not_found"


async def test_a_missing_scope_is_for_the_operator_and_is_named(
    front: SlackFront, calls: Calls
) -> None:
    front.faults.next_times(
        "users.info", Failed("missing_scope", further=(("needed", "users:read"),))
    )

    with pytest.raises(NotPermitted, match="users:read"):
        await calls.call(TEAM, "users.info", user="U01ALICE")


@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [(Limited(7), 7.0), (Failed("ratelimited"), None)],
    ids=["429", "said with 200"],
)
async def test_the_budget_is_told_that_slack_limits_us(
    front: SlackFront, calls: Calls, fault: Limited | Failed, wait_s: float | None
) -> None:
    front.faults.next_times("chat.postMessage", fault)
    budget = HandBudget()
    with_budget = budgeted(calls, budget)

    with pytest.raises(Wait) as caught:
        await with_budget.call(TEAM, "chat.postMessage", **HELLO)
    await with_budget.close()

    assert type(caught.value) is Wait
    assert caught.value.retry_after_s in (wait_s, 30.0)
    assert [refusal[:3] for refusal in budget.refusals] == [(TEAM, "chat.postMessage", "C01GEN")]


@dataclasses.dataclass
class Told:
    """What was said of tokens."""

    over: list[str] = dataclasses.field(default_factory=list)
    refusals: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    good: list[str] = dataclasses.field(default_factory=list)

    def ran_out(self, token: str) -> None:
        """Keep it."""
        self.over.append(token)

    def refused(self, workspace: str, error: LoggedOut) -> None:
        """Keep it."""
        self.refusals.append((workspace, error.code))

    def taken(self, workspace: str) -> None:
        """Keep it."""
        self.good.append(workspace)


async def test_a_token_whose_time_is_over_is_told_of_and_the_call_is_made_again_later(
    front: SlackFront, calls: Calls
) -> None:
    front.faults.next_times("users.info", Failed("token_expired"), Failed("user_not_found"))
    told = Told()
    telling = Calls(calls.token_for, api_url=calls.api_url, verdicts=told)

    with pytest.raises(Wait):
        await telling.call(TEAM, "users.info", user="U01ALICE")
    with pytest.raises(Refused):
        await telling.call(TEAM, "users.info", user="U01ALICE")
    await telling.close()

    assert told.over == [front.install.bot_token]


async def test_a_token_that_is_refused_and_taken_again_is_told_of(
    front: SlackFront, calls: Calls
) -> None:
    front.faults.next_times("users.info", Failed("token_revoked"))
    told = Told()
    telling = Calls(calls.token_for, api_url=calls.api_url, verdicts=told)

    with pytest.raises(Wait, match="token_revoked"):
        await telling.call(TEAM, "users.info", user="U01ALICE")
    before = list(told.good)
    await telling.call(TEAM, "users.info", user="U01ALICE")
    await telling.close()

    assert told.refusals == [(TEAM, "token_revoked")]
    assert (before, told.good) == ([], [TEAM])


async def test_a_call_waits_a_little_for_room(front: SlackFront, calls: Calls) -> None:
    budget = HandBudget(waits=[0.05, 0.05])
    with_budget = budgeted(calls, budget)

    await with_budget.call(TEAM, "chat.postMessage", **HELLO)
    await with_budget.close()

    assert len(budget.taken) == 3
    assert len(front.of("chat.postMessage")) == 1


async def test_a_call_without_room_is_not_made(front: SlackFront, calls: Calls) -> None:
    budget = HandBudget(waits=[calling.PATIENCE_S + 1])
    with_budget = budgeted(calls, budget)

    with pytest.raises(Wait) as caught:
        await with_budget.call(TEAM, "chat.postMessage", **HELLO)
    await with_budget.close()

    assert caught.value.retry_after_s == calling.PATIENCE_S + 1
    assert front.of("chat.postMessage") == []


@pytest.mark.parametrize(
    "fault", [Page(502), Page(200), Cut("before"), Cut("after"), Cut("middle")]
)
async def test_what_is_not_answered_is_asked_once_and_looked_up(
    front: SlackFront, calls: Calls, fault: Page | Cut
) -> None:
    front.faults.next_times("chat.postMessage", fault)
    front.faults.next_times("users.info", fault)

    with pytest.raises(OutcomeUnknown):
        await calls.call(TEAM, "chat.postMessage", **HELLO)
    with pytest.raises(Wait) as caught:
        await calls.call(TEAM, "users.info", user="U01ALICE")

    assert type(caught.value) is Wait
    assert len(front.of("chat.postMessage")) == 1
    assert len(front.of("users.info")) == 1


async def test_an_answer_that_is_long_in_coming_is_not_waited_for(
    front: SlackFront, calls: Calls
) -> None:
    front.faults.next_times("chat.postMessage", Slow(2.0))
    hasty = Calls(calls.token_for, api_url=calls.api_url, timeout_s=0.2)

    with pytest.raises(OutcomeUnknown):
        async with asyncio.timeout(1.5):
            await hasty.call(TEAM, "chat.postMessage", **HELLO)
    await hasty.close()


async def test_where_nobody_listens_nothing_was_done(calls: Calls) -> None:
    nowhere = Calls(calls.token_for, api_url="http://127.0.0.1:9/api/")

    with pytest.raises(Wait) as caught:
        await nowhere.call(TEAM, "chat.postMessage", **HELLO)
    await nowhere.close()

    assert type(caught.value) is Wait


async def test_calls_that_were_closed_open_anew(calls: Calls) -> None:
    await calls.call(TEAM, "auth.test")
    await calls.close()

    again = await calls.call(TEAM, "auth.test")

    assert again["ok"] is True
