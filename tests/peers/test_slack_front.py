"""The tests' own Slack does as Slack does: who hears what, how often, and what is refused."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.peers.localslack import APP_TOKEN, BOT, BOT_TOKEN
from tests.peers.slack_faults import Cut, Failed, Limited, Page
from tests.peers.slack_fixtures import slack_front, slack_two
from tests.peers.slack_front import SlackFront, plain_text, slack
from tests.peers.slack_mirror import for_page
from tests.peers.slack_tokens import CLIENT_ID, CLIENT_SECRET

__all__ = ["slack_front", "slack_two"]
ALICE, BOB, GENERAL = "U01ALICE", "U02BOB", "C01GEN"
BUTTON = {
    "type": "button", "action_id": "headway:0", "value": "pause",
    "text": {"type": "plain_text", "text": "Pause"},
}  # fmt: skip
ACTIONS = {"type": "actions", "block_id": "b", "elements": [BUTTON]}
MODAL = {
    "type": "modal", "callback_id": "start", "title": {"type": "plain_text", "text": "New goal"},
    "submit": {"type": "plain_text", "text": "Start"},
    "blocks": [{
        "type": "input", "block_id": "words", "label": {"type": "plain_text", "text": "Objective"},
        "element": {"type": "plain_text_input", "action_id": "words", "initial_value": "first"},
    }],
}  # fmt: skip


class Link:
    """A socket of an app, which acknowledges what it is told to."""

    def __init__(self, link: aiohttp.ClientWebSocketResponse) -> None:
        self.link = link
        self.heard: list[dict[str, Any]] = []
        self.acks = True
        self.answer: Any = None
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for frame in self.link:
            said = json.loads(frame.data)
            self.heard.append(said)
            if self.acks and "envelope_id" in said:
                ack = {"envelope_id": said["envelope_id"]}
                if self.answer is not None:
                    ack["payload"] = self.answer
                await self.link.send_str(json.dumps(ack))

    def events(self, kind: str = "message") -> list[dict[str, Any]]:
        wrapped = [said for said in self.heard if said["type"] == "events_api"]
        return [said for said in wrapped if said["payload"]["event"]["type"] == kind]

    async def close(self) -> None:
        await self.link.close()
        await self._reading


def client(front: SlackFront, token: str = BOT_TOKEN) -> AsyncWebClient:
    return AsyncWebClient(token=token, base_url=front.api_url)


@contextlib.asynccontextmanager
async def link(front: SlackFront) -> AsyncIterator[Link]:
    answer = await client(front, APP_TOKEN).apps_connections_open(app_token=APP_TOKEN)
    async with aiohttp.ClientSession() as session, session.ws_connect(answer["url"]) as made:
        opened = Link(made)
        await until(lambda: opened.heard)
        yield opened
        await opened.close()


async def until(has: Callable[[], Any]) -> Any:
    for _ in range(500):
        if value := has():
            return value
        await asyncio.sleep(0.01)
    raise AssertionError("It did not come about.")


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_a_mention_comes_as_message_and_as_mention_with_ids_of_their_own(
    slack_front: SlackFront,
) -> None:
    async with link(slack_front) as bot:
        slack_front.say(ALICE, GENERAL, f"<@{BOT}> hello")

        await until(lambda: bot.events("app_mention"))

        said = bot.events()[0]["payload"], bot.events("app_mention")[0]["payload"]
        assert said[0]["event"]["ts"] == said[1]["event"]["ts"]
        assert said[0]["event_id"] != said[1]["event_id"]


async def test_an_event_goes_to_one_socket_alone(slack_front: SlackFront) -> None:
    async with link(slack_front) as one, link(slack_front) as other:
        for number in range(6):
            slack_front.say(ALICE, GENERAL, str(number))

        await until(lambda: len(one.events()) + len(other.events()) == 6)

        assert len(one.events()) == len(other.events()) == 3


async def test_what_nobody_acknowledges_comes_again_and_says_why() -> None:
    with slack(ack_s=0.1) as front:
        async with link(front) as bot:
            bot.acks = False
            front.say(ALICE, GENERAL, "hello")

            await until(lambda: len(bot.events()) == 4)
            await asyncio.sleep(0.3)

            tries = [(said["retry_attempt"], said["retry_reason"]) for said in bot.events()]
            assert tries == [(0, ""), (1, "timeout"), (2, "timeout"), (3, "timeout")]


async def test_events_wait_for_a_socket_and_come_in_order(slack_front: SlackFront) -> None:
    for number in range(5):
        slack_front.say(ALICE, GENERAL, str(number))

    async with link(slack_front) as bot:
        await until(lambda: len(bot.events()) == 5)

    assert [said["payload"]["event"]["text"] for said in bot.events()] == list("01234")


async def test_what_a_socket_that_broke_had_not_acknowledged_comes_over_the_next(
    slack_front: SlackFront,
) -> None:
    async with link(slack_front) as bot:
        bot.acks = False
        slack_front.say(ALICE, GENERAL, "hello")
        await until(bot.events)

    async with link(slack_front) as bot:
        await until(bot.events)

    assert bot.events()[0]["retry_attempt"] == 1


async def test_a_press_is_not_kept_for_an_app_that_is_away(slack_front: SlackFront) -> None:
    posted = await client(slack_front).chat_postMessage(
        channel=GENERAL, text="status", blocks=[ACTIONS]
    )

    done = await slack_front.press(ALICE, GENERAL, posted["ts"], "Pause")

    assert not done.is_acked


async def test_metadata_is_given_back_to_who_asks_for_it(slack_front: SlackFront) -> None:
    kept = {"event_type": "headway_post", "event_payload": {"key": "k", "part": 1}}
    root = slack_front.say(ALICE, GENERAL, "root")
    web_client = client(slack_front)
    posted = await web_client.chat_postMessage(
        channel=GENERAL, thread_ts=root, text="x", metadata=kept
    )
    await web_client.chat_update(channel=GENERAL, ts=posted["ts"], text="y")

    told = await web_client.conversations_replies(
        channel=GENERAL, ts=root, include_all_metadata=True
    )
    untold = await web_client.conversations_replies(channel=GENERAL, ts=root)

    assert told["messages"][1]["metadata"] == kept
    assert untold["messages"][1]["metadata"] == {"event_type": "headway_post"}


async def test_history_keeps_to_its_bounds_and_pages(slack_front: SlackFront) -> None:
    stamps = [slack_front.say(ALICE, GENERAL, str(number)) for number in range(5)]
    web_client = client(slack_front)

    after = await web_client.conversations_history(channel=GENERAL, oldest=stamps[2])
    page = await web_client.conversations_history(channel=GENERAL, limit=2)
    cursor = page["response_metadata"]["next_cursor"]
    following = await web_client.conversations_history(channel=GENERAL, limit=2, cursor=cursor)

    assert [each["text"] for each in after["messages"]] == ["4", "3"]
    assert [each["text"] for each in (*page["messages"], *following["messages"])] == list("4321")


async def test_what_one_person_was_shown_is_in_no_history(slack_front: SlackFront) -> None:
    web_client = client(slack_front)
    root = slack_front.say(ALICE, GENERAL, "root")
    await web_client.chat_postEphemeral(channel=GENERAL, user=ALICE, text="psst", thread_ts=root)

    thread = await web_client.conversations_replies(channel=GENERAL, ts=root)

    assert [each["text"] for each in thread["messages"]] == ["root"]
    await until(lambda: slack_front.unseen(ALICE))
    assert slack_front.unseen(BOB) == []


async def test_a_channel_refuses_an_app_that_is_not_in_it_until_it_joins(
    slack_front: SlackFront,
) -> None:
    web_client = client(slack_front)
    slack_front.absent(GENERAL)
    slack_front.absent("C03PRV")

    outside = await refused(web_client.chat_postMessage(channel=GENERAL, text="x"))
    hidden = await refused(web_client.chat_postMessage(channel="C03PRV", text="x"))
    unjoined = await refused(web_client.conversations_join(channel="C03PRV"))
    await web_client.conversations_join(channel=GENERAL)
    await web_client.chat_postMessage(channel=GENERAL, text="x")

    assert (outside, hidden, unjoined) == (
        "not_in_channel",
        "channel_not_found",
    ) * 1 + ("channel_not_found",)


async def test_an_archived_channel_takes_no_posts(slack_front: SlackFront) -> None:
    async with link(slack_front) as bot:
        slack_front.archive(GENERAL)
        await until(lambda: bot.events("channel_archive"))

        why = await refused(client(slack_front).chat_postMessage(channel=GENERAL, text="x"))

    assert why == "is_archived"


async def test_tokens_are_told_apart(slack_front: SlackFront) -> None:
    app = await refused(client(slack_front, APP_TOKEN).auth_test())
    other = await refused(client(slack_front, "xoxb-nobody").auth_test())
    bot = await refused(client(slack_front).apps_connections_open(app_token=BOT_TOKEN))
    slack_front.world.revoked.add(BOT_TOKEN)
    revoked = await refused(client(slack_front).auth_test())

    assert (app, other) == ("not_allowed_token_type", "invalid_auth")
    assert (bot, revoked) == ("not_allowed_token_type", "token_revoked")


async def test_a_scope_that_is_missing_is_named(slack_front: SlackFront) -> None:
    slack_front.world.scopes[BOT_TOKEN] = frozenset({"chat:write"})

    with pytest.raises(SlackApiError) as caught:
        await client(slack_front).users_info(user=ALICE)

    assert caught.value.response["needed"] == "users:read"


async def test_a_trigger_opens_one_window(slack_front: SlackFront) -> None:
    async with link(slack_front) as bot:
        await slack_front.shortcut(ALICE, "new_goal")
        trigger = bot.heard[-1]["payload"]["trigger_id"]
        web_client = client(slack_front)
        await web_client.views_open(trigger_id=trigger, view=MODAL)

        again = await refused(web_client.views_open(trigger_id=trigger, view=MODAL))
        unknown = await refused(web_client.views_open(trigger_id="no", view=MODAL))

    assert (again, unknown) == ("exchanged_trigger_id", "invalid_trigger_id")


async def test_a_window_that_is_filled_in_shows_errors_or_closes(slack_front: SlackFront) -> None:
    async with link(slack_front) as bot:
        await slack_front.shortcut(ALICE, "new_goal")
        trigger = bot.heard[-1]["payload"]["trigger_id"]
        await client(slack_front).views_open(trigger_id=trigger, view=MODAL)
        bot.answer = {"response_action": "errors", "errors": {"words": "No."}}
        await slack_front.submit(ALICE)
        untouched = bot.heard[-1]["payload"]["view"]["state"]["values"]["words"]["words"]["value"]
        is_open = slack_front.window(ALICE)["title"]["text"]
        bot.answer = None
        await slack_front.submit(ALICE, Objective="second")

        written = bot.heard[-1]["payload"]["view"]["state"]["values"]["words"]["words"]["value"]
        assert (untouched, is_open, written) == ("first", "New goal", "second")
        with pytest.raises(LookupError):
            slack_front.window(ALICE)


async def test_a_way_back_is_good_for_five_answers(slack_front: SlackFront) -> None:
    async with link(slack_front) as bot:
        await slack_front.command(ALICE, GENERAL, "help")
        url = bot.heard[-1]["payload"]["response_url"]
        async with aiohttp.ClientSession() as session:
            statuses = [(await session.post(url, json={"text": "x"})).status for _ in range(6)]

    assert statuses == [200] * 5 + [404]
    assert len(slack_front.unseen(ALICE)) == 5


async def test_a_press_on_what_one_person_saw_comes_without_the_message(
    slack_front: SlackFront,
) -> None:
    async with link(slack_front) as bot:
        await client(slack_front).chat_postEphemeral(
            channel=GENERAL, user=ALICE, text="x", blocks=[ACTIONS]
        )
        message = await until(lambda: slack_front.unseen(ALICE))
        await slack_front.press(ALICE, GENERAL, message[0]["ts"], "Pause")

        payload = bot.heard[-1]["payload"]
        assert payload["container"]["is_ephemeral"]
        assert "message" not in payload


async def test_faults_come_in_order_and_are_kept_with_the_calls(slack_front: SlackFront) -> None:
    web_client = client(slack_front)
    slack_front.faults.next_times(
        "chat.postMessage", Limited(7), Page(502), Cut("before"), Cut("after"),
        Failed("fatal_error", passes=True),
    )  # fmt: skip
    for _ in range(5):
        with contextlib.suppress(SlackApiError, aiohttp.ClientError):
            await web_client.chat_postMessage(channel=GENERAL, text="x")

    # slack_sdk tries once more where the connection broke; so there is a sixth.
    calls = slack_front.of("chat.postMessage")
    assert [type(call.fault).__name__ for call in calls[:4]] == ["Limited", "Page", "Cut", "Cut"]
    assert len(slack_front.posts(GENERAL)) == len([c for c in calls if c.answer is not None])


async def test_a_limited_slack_takes_a_burst_of_posts_and_then_one_a_second(
    slack_front: SlackFront,
) -> None:
    slack_front.is_limited = True
    web_client = client(slack_front)
    for _ in range(5):
        await web_client.chat_postMessage(channel=GENERAL, text="x")

    with pytest.raises(SlackApiError) as caught:
        await web_client.chat_postMessage(channel=GENERAL, text="x")
    await web_client.chat_postMessage(channel="C02RND", text="x")

    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "1"


async def test_a_payload_that_slack_would_not_take_is_refused_and_noted(
    slack_front: SlackFront,
) -> None:
    web_client = client(slack_front)

    unknown = await refused(
        web_client.chat_postMessage(channel=GENERAL, text="x", blocks=[{"type": "carousell"}])
    )
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_001}}
    long = await refused(web_client.chat_postMessage(channel=GENERAL, text="x", blocks=[section]))
    markdown = {"type": "markdown", "text": "x" * 7_000}
    much = await refused(
        web_client.chat_postMessage(channel=GENERAL, text="x", blocks=[markdown, markdown])
    )

    assert (unknown, long, much) == ("invalid_blocks", "invalid_blocks", "msg_blocks_too_long")
    assert len(slack_front.violations) >= 3
    slack_front.violations.clear()


async def test_a_second_workspace_has_its_own_token_bot_and_events(slack_two: SlackFront) -> None:
    second = slack_two.world.installs[1]
    async with link(slack_two) as bot:
        slack_two.say(ALICE, "C09TWO", f"<@{second.bot}> hello")
        await until(lambda: bot.events("app_mention"))
        foreign = await refused(client(slack_two).chat_postMessage(channel="C09TWO", text="x"))
        own = await client(slack_two, second.bot_token).chat_postMessage(channel="C09TWO", text="x")

    payload = bot.events("app_mention")[0]["payload"]
    assert payload["team_id"] == "T02TWO"
    assert payload["authorizations"][0]["user_id"] == second.bot
    assert payload["api_app_id"] == "A01APP"
    assert (foreign, own["message"]["user"]) == ("channel_not_found", second.bot)


async def test_a_code_gets_a_token_that_runs_out_and_is_renewed(slack_front: SlackFront) -> None:
    slack_front.token_lasts_s = 43_200
    anonymous = AsyncWebClient(base_url=slack_front.api_url)
    app = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    first = await anonymous.api_call("oauth.v2.access", data={**app, "code": slack_front.code()})
    slack_front.expire(first["access_token"])
    lapsed = await refused(client(slack_front, first["access_token"]).auth_test())

    renewal = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    second = await anonymous.api_call("oauth.v2.access", data={**app, **renewal})

    assert lapsed == "token_expired"
    assert (await client(slack_front, second["access_token"]).auth_test())["ok"]


async def test_over_http_a_request_is_signed_and_tried_again_until_it_is_acknowledged() -> None:
    heard: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        heard.append(request)
        return web.Response(status=500 if len(heard) < 3 else 200)

    app = web.Application()
    app.router.add_post("/slack/events", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    with slack(mode="http", request_url=url, retry_factor=0.001) as front:
        await asyncio.to_thread(front.say, ALICE, GENERAL, "hello")

        await until(lambda: len(heard) == 3)

        assert "X-Slack-Signature" in heard[0].headers
        assert [each.headers.get("X-Slack-Retry-Num") for each in heard] == [None, "1", "2"]
        assert heard[1].headers["X-Slack-Retry-Reason"] == "http_error"
    await runner.cleanup()


def test_the_page_is_shown_what_it_can_draw() -> None:
    plan = {
        "type": "plan", "title": "Tasks",
        "tasks": [{"type": "task_card", "task_id": "1", "title": "Fix", "status": "complete"}],
    }  # fmt: skip

    shown = for_page({"message": {"blocks": [plan, ACTIONS]}})["message"]["blocks"]

    assert "☑ Fix" in plain_text({"blocks": shown})
    assert shown[1] == ACTIONS
