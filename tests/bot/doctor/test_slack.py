"""Why the bot is deaf or mute in Slack: each fault is made on purpose, and told with its mend."""

import asyncio
import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.slack.manifest import SCOPES
from adapters.slack.subscribed import Subscribed
from bot.doctor import rooms, slack, slack_heard
from bot.doctor.finding import Found
from bot.errors import HeadwayError
from bot.ports.installs import Install
from bot.ports.people import Entry, Subject
from bot.settings import Settings
from bot.wiring import prepare_folder
from bot.wiring.holding import own_store
from bot.wiring.keys import sealing_of
from scheduler.control import serving
from tests.peers.slack_keys import APP, Holder, KeySlack, slack_keys

ALL_SCOPES = ",".join(scope.name for scope in SCOPES)
TOKEN = "xoxb-the-bots-token"
APP_TOKEN = f"xapp-1-{APP}-123-abc"


@pytest.fixture
def known() -> Iterator[KeySlack]:
    with slack_keys() as made:
        made.tokens[TOKEN] = Holder(scopes=ALL_SCOPES)
        made.app_tokens[APP_TOKEN] = ""
        made.channels = [{"id": "C01GEN", "name": "general", "is_private": False}]
        yield made


@pytest.fixture
def settings(known: KeySlack, tmp_path: Path) -> Settings:
    made = Settings(
        state_dir=tmp_path / "state",
        secret_key_file=tmp_path / "key",
        provider="rehearsed",
        slack_api_url=known.api_url,
        slack_bot_token=SecretStr(TOKEN),
        slack_app_token=SecretStr(APP_TOKEN),
    )
    prepare_folder(made)
    return made


def with_(settings: Settings, **values: Any) -> Settings:
    secrets = ("token", "key")
    made = {
        name: SecretStr(value) if name.endswith(secrets) else value
        for name, value in values.items()
    }
    return settings.model_copy(update=made)


def over_http(settings: Settings, **values: Any) -> Settings:
    return with_(
        settings,
        slack_mode="http",
        slack_signing_key="signing",
        public_listen="127.0.0.1:0",
        **values,
    )


def by_installs(settings: Settings, *installs: Install) -> Settings:
    made = with_(
        settings,
        slack_bot_token="",
        slack_client_id="1.2",
        slack_client_key="client",
        public_url="https://bot.example.org",
        public_listen="127.0.0.1:0",
    )

    async def kept() -> None:
        async with own_store(made, sealing_of(made)) as store:
            for install in installs:
                await store.installs.keep(install)

    asyncio.run(kept())
    return made


def told(look: Callable[[Settings], str], settings: Settings) -> tuple[str, str]:
    """The state and the text of what a check finds; no token is in it."""
    try:
        state, text = "ok", look(settings)
    except Found as found:
        state, text = found.state, str(found)
    except HeadwayError as error:
        state, text = "wrong", str(error)
    assert TOKEN not in text
    assert APP_TOKEN not in text
    return state, text


@contextmanager
def running(settings: Settings, **slack_status: Any) -> Iterator[None]:
    """A process of the state folder that says this of itself."""
    connector = slack_status.pop("connector", {"network": "slack", "up": True})
    status = {
        "serves": True,
        "since": time.time() - 600,
        "troubles": {},
        "heard": {},
        **slack_status,
    }

    async def answer(request: Any) -> dict[str, Any]:
        return status if request == {"do": "slack.status"} else {"connectors": [connector]}

    started, ended = threading.Event(), threading.Event()

    async def serve() -> None:
        async with serving(settings.state_dir, answer):
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(5)
    try:
        yield
    finally:
        ended.set()
        thread.join(5)


@contextmanager
def a_server(status: int, server_name: str = "headway") -> Iterator[str]:
    """Whatever stands at the bot's address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response_only(status)
            self.send_header("Server", server_name)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


def test_a_sound_app_is_well_in_all_respects(settings: Settings, known: KeySlack) -> None:
    looks = (
        slack.app, slack.tokens, slack.scopes, slack.reached, slack.clock, slack.apps,
        slack_heard.hearing, slack.rooms,
    )  # fmt: skip

    found = [told(look, settings) for look in looks]

    assert [state for state, _ in found] == ["ok"] * len(looks)
    assert found[1][1] == "good in Test Workspace"
    assert found[5][1] == APP


def test_where_no_app_is_named_nothing_is_looked_at_and_half_of_one_is_told() -> None:
    nothing = told(rooms.no_slack, Settings())
    half = told(rooms.no_slack, Settings(slack_app_token=SecretStr("xapp-1")))

    assert nothing == ("ok", "not set up; `headway init` does")
    assert half[0] == "warning"
    assert "slack_app_token" in half[1]


@pytest.mark.parametrize(
    ("values", "mend"),
    [
        ({"slack_app_token": ""}, "slack_app_token is empty.*connections:write"),
        ({"slack_mode": "http", "public_listen": "127.0.0.1:0"}, "slack_signing_key is empty"),
        ({"slack_mode": "http", "slack_signing_key": "s"}, "public_listen is empty"),
        ({"slack_bot_token": "", "slack_client_id": "1"}, "slack_client_key is empty"),
        (
            {"slack_bot_token": "", "slack_client_id": "1", "slack_client_key": "k"},
            "public_url is empty.*public_url/slack/install",
        ),
    ],
)
def test_settings_that_cannot_be_worked_with_are_told_with_what_to_set(
    settings: Settings, values: dict[str, str], mend: str
) -> None:
    with pytest.raises(HeadwayError, match=mend):
        slack.app(with_(settings, **values))


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked", "account_inactive"])
def test_a_token_that_slack_does_not_take(settings: Settings, known: KeySlack, error: str) -> None:
    known.tokens[TOKEN].error = error

    state, text = told(slack.tokens, settings)

    assert state == "wrong"
    assert f"does not take slack_bot_token ({error})" in text
    assert "OAuth & Permissions" in text
    assert told(slack.scopes, settings)[0] == told(slack.rooms, settings)[0] == "skipped"


@pytest.mark.parametrize("token", ["xoxp-of-a-person", "some-word"])
def test_a_token_of_the_wrong_kind(settings: Settings, token: str) -> None:
    state, text = told(slack.tokens, with_(settings, slack_bot_token=token))

    assert (state, "begins with xoxb-" in text) == ("wrong", True)


def test_a_token_that_runs_out(settings: Settings) -> None:
    state, text = told(slack.tokens, with_(settings, slack_bot_token="xoxe.xoxb-1"))

    assert (state, "cannot be renewed" in text) == ("warning", True)


def test_a_token_that_looks_like_a_bots_and_is_a_persons(
    settings: Settings, known: KeySlack
) -> None:
    known.tokens[TOKEN].bot = None

    state, text = told(slack.tokens, settings)

    assert (state, "is a person's" in text) == ("wrong", True)


def test_a_slack_that_cannot_be_reached(settings: Settings) -> None:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port = tried.getsockname()[1]

    state, text = told(slack.tokens, with_(settings, slack_api_url=f"http://127.0.0.1:{port}/api/"))

    assert state == "wrong"
    assert "cannot be reached" in text
    assert "HTTPS_PROXY" in text


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope.name)
def test_a_missing_scope_is_named_by_what_works_no_more(
    settings: Settings, known: KeySlack, scope: Any
) -> None:
    known.tokens[TOKEN].scopes = ",".join(one.name for one in SCOPES if one != scope)

    state, text = told(slack.scopes, settings)

    assert state == ("wrong" if scope.name in slack.VITAL else "warning")
    assert f"{scope.name} ({scope.without})" in text
    assert "headway slack manifest" in text


@pytest.mark.parametrize(
    ("error", "mend"),
    [
        ("missing_scope", "lacks connections:write"),
        ("invalid_auth", "does not take slack_app_token (invalid_auth)"),
        ("socket_mode_not_enabled", "Turn Socket Mode on"),
    ],
)
def test_a_socket_that_does_not_open(
    settings: Settings, known: KeySlack, error: str, mend: str
) -> None:
    known.app_tokens[APP_TOKEN] = error

    state, text = told(slack.reached, settings)

    assert (state, mend in text) == ("wrong", True)


def test_an_app_token_of_the_wrong_kind(settings: Settings) -> None:
    state, text = told(slack.reached, with_(settings, slack_app_token="a-word"))

    assert (state, "begins with xapp-" in text) == ("wrong", True)


def test_tokens_of_two_apps(settings: Settings, known: KeySlack) -> None:
    other = "xapp-1-A09OTHER-1-2"
    known.app_tokens[other] = ""

    state, text = told(slack.apps, with_(settings, slack_app_token=other))

    assert state == "wrong"
    assert f"of the app {APP}, and slack_app_token of A09OTHER" in text


@pytest.mark.parametrize(
    ("skew_s", "mode", "state"),
    [
        (0.0, "socket", "ok"),
        (120.0, "socket", "warning"),
        (-120.0, "http", "warning"),
        (900.0, "socket", "warning"),
        (900.0, "http", "wrong"),
        (-900.0, "http", "wrong"),
    ],
)
def test_a_clock_that_is_off(
    settings: Settings, known: KeySlack, skew_s: float, mode: str, state: str
) -> None:
    known.skew_s = skew_s
    settings = over_http(settings) if mode == "http" else settings

    found, text = told(slack.clock, settings)

    assert found == state
    assert ("behind" if skew_s > 0 else "ahead of" if skew_s < 0 else "as Slack's") in text


def test_over_http_the_address_is_asked_from_outside(settings: Settings) -> None:
    with a_server(401) as url, running(settings):
        found = told(slack.reached, over_http(settings, public_url=url))

    assert found == ("ok", f"{url}/slack/events is reached")


@pytest.mark.parametrize(
    ("status", "server_name", "mend"),
    [
        (404, "headway", "knows of no Slack"),
        (503, "headway", "another Headway than the one that serves"),
        (200, "nginx", "is not Headway. Let the proxy pass /slack/"),
        (301, "Apache", "is not Headway"),
    ],
)
def test_over_http_what_answers_in_its_place_is_told(
    settings: Settings, status: int, server_name: str, mend: str
) -> None:
    with a_server(status, server_name) as url, running(settings):
        state, text = told(slack.reached, over_http(settings, public_url=url))

    assert (state, mend in text) == ("wrong", True)


def test_over_http_an_address_where_nobody_answers(settings: Settings) -> None:
    with a_server(200) as url:
        gone = url

    with running(settings):
        state, text = told(slack.reached, over_http(settings, public_url=gone))

    assert (state, "Slack cannot reach the bot either" in text) == ("wrong", True)


def test_over_http_what_cannot_be_known_is_said(settings: Settings) -> None:
    unknown = told(slack.reached, over_http(settings))
    stopped = told(slack.reached, over_http(settings, public_url="http://127.0.0.1:9"))

    assert unknown[0] == "warning"
    assert "public_url is empty" in unknown[1]
    assert stopped[0] == "skipped"


def test_a_bot_in_no_channel(settings: Settings, known: KeySlack) -> None:
    known.channels = []

    state, text = told(slack.rooms, settings)

    assert (state, "/invite @headway" in text) == ("warning", True)


@pytest.mark.parametrize(
    ("status", "state", "mend"),
    [
        ({"connector": {}}, "wrong", "started before Slack was set up"),
        ({"serves": False}, "ok", "stands by"),
        ({"others": 2}, "wrong", "Another process has sockets of the Slack app open"),
        ({"troubles": {"T01": "The token of X is not renewed."}}, "warning", "is not renewed"),
        (
            {"connector": {"network": "slack", "up": False, "trouble": "Slack is away."}},
            "wrong",
            "since it started. Slack is away.",
        ),
        (
            {
                "connector": {
                    "network": "slack",
                    "up": True,
                    "last_heard": "2020-01-01T00:00:00+00:00",
                }
            },
            "wrong",
            "has heard nothing from Slack for",
        ),
    ],
)
def test_a_process_that_runs_and_is_deaf(
    settings: Settings, status: dict[str, Any], state: str, mend: str
) -> None:
    with running(settings, **status):
        found, text = told(slack_heard.hearing, settings)

    assert (found, mend in text) == (state, True), text


def test_what_was_said_and_never_came_names_the_event_that_is_missing(
    settings: Settings, known: KeySlack
) -> None:
    at = time.time() - 60
    known.said = {"C01GEN": [{"ts": f"{at:.6f}", "user": "U1", "text": "anybody there?"}]}

    with running(settings, heard={"app_mention": at}):
        state, text = told(slack_heard.events, settings)

    assert state == "wrong"
    assert "Something was said in general that never came" in text
    assert "message.channels (nothing that is said in channels is heard but mentions)" in text
    assert "Subscribe to bot events" in text


def test_in_a_private_channel_it_is_another_event(settings: Settings, known: KeySlack) -> None:
    known.channels[0]["is_private"] = True
    known.said = {"C01GEN": [{"ts": f"{time.time() - 60:.6f}", "user": "U1", "text": "hm"}]}

    with running(settings):
        _, text = told(slack_heard.events, settings)

    assert "message.groups" in text


@pytest.mark.parametrize(
    "said",
    [
        [],
        [{"age": 60, "bot_id": "B1"}],
        [{"age": 60, "subtype": "channel_join"}],
        [{"age": 1}],
        [{"age": 3_600}],
    ],
    ids=["nothing", "a bot", "a joining", "just now", "before it started"],
)
def test_what_need_not_have_come_is_no_fault(
    settings: Settings, known: KeySlack, said: list[dict[str, Any]]
) -> None:
    known.said = {
        "C01GEN": [{"user": "U1", **one, "ts": f"{time.time() - one['age']:.6f}"} for one in said]
    }

    with running(settings):
        state, _ = told(slack_heard.events, settings)

    assert state == "ok"


def test_what_came_is_well(settings: Settings, known: KeySlack) -> None:
    at = time.time() - 60
    known.said = {"C01GEN": [{"ts": f"{at:.6f}", "user": "U1", "text": "hello"}]}
    heard = Subscribed()
    heard.note({"type": "message", "channel_type": "channel"}, at + 0.2)

    with running(settings, heard=heard.last):
        found = told(slack_heard.events, settings)

    assert found == ("ok", "what was said came")


def test_without_a_process_that_serves_it_cannot_be_seen(settings: Settings) -> None:
    alone = told(slack_heard.events, settings)
    with running(settings, serves=False):
        standing_by = told(slack_heard.events, settings)

    assert alone[0] == standing_by[0] == "skipped"


def test_a_list_that_lets_nobody_in(settings: Settings) -> None:
    before = told(slack.people, settings)

    async def allowed() -> None:
        async with own_store(settings) as store:
            ann = Subject("person", "slack", "T01TEST:U01ANN")
            await store.people.allow(Entry(ann, "admin", None))

    asyncio.run(allowed())
    after = told(slack.people, settings)

    assert before[0] == "warning"
    assert "headway claim" in before[1]
    assert after == ("ok", "1 entry, 1 of an admin")


def test_installs_are_each_looked_at(settings: Settings, known: KeySlack) -> None:
    one = Install("slack", "T01TEST", APP, "U0BOT", "One", (), TOKEN, at=1.0)
    two = replace(one, workspace="T02TWO", name="Two", token="xoxb-two")
    known.tokens["xoxb-two"] = Holder(team="T02TWO", name="Two", error="token_revoked")
    settings = by_installs(settings, one, two)

    app, tokens = told(slack.app, settings), told(slack.tokens, settings)

    assert app == ("ok", "2 installs, over a socket")
    assert tokens[0] == "wrong"
    assert "the token of Two any more (token_revoked)" in tokens[1]
    assert "https://bot.example.org/slack/install" in tokens[1]


def test_installed_nowhere_yet(settings: Settings) -> None:
    settings = by_installs(settings)

    state, text = told(slack.app, settings)

    assert (state, "https://bot.example.org/slack/install" in text) == ("warning", True)
    assert told(slack.tokens, settings)[0] == "skipped"
