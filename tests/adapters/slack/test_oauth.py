"""Installing the app as a browser does it, through the public listener, with a Slack that hands out tokens."""

import asyncio
import http.client
import re
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from adapters.slack.oauth import STATES_A_MINUTE, InstallDoor, Offer
from adapters.slack.pages import Sentences
from adapters.slack.paths import INSTALL_PATH, REDIRECT_PATH
from adapters.slack.tokens import AppKeys
from adapters.telemetry.doors import Doors
from adapters.telemetry.listener import listening
from tests.adapters.slack.installs import Bed, installs_bed
from tests.adapters.telemetry.test_listener import where
from tests.peers.slack_keys import CLIENT_ID, CLIENT_KEY, Holder

WORDS = Sentences(
    ask="Add Headway?",
    about="It works at goals.",
    button="Add to Slack",
    done="Headway is in {team}",
    next="Send claim CODE to it.",
    open="Open Slack",
    failed="Headway was not added",
    why={
        "access_denied": "You said no.",
        "invalid_state": "The link was used.",
        "invalid_browser": "Another browser began it.",
        "storage_error": "It could not be kept.",
        "unreached": "Slack could not be reached.",
        "other": "Slack said {reason}.",
    },
    again="Try again",
)


@dataclass
class Page:
    """What a browser was shown."""

    status: int
    headers: list[tuple[str, str]]
    text: str

    @property
    def link(self) -> str:
        found = re.search(r'<a href="([^"]+)"', self.text)
        assert found
        return unescape(found[1])

    @property
    def state(self) -> str:
        return parse_qs(urlsplit(self.link).query)["state"][0]


@dataclass
class Browser:
    """A person's browser: it keeps cookies."""

    at: str
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str) -> Page:
        page = await asyncio.to_thread(self._get, path)
        for name, value in page.headers:
            if name.lower() == "set-cookie":
                cookie, _, rest = value.partition(";")
                key, _, text = cookie.partition("=")
                assert "Secure" in rest
                assert "HttpOnly" in rest
                self.cookies[key] = text
        return page

    def _get(self, path: str) -> Page:
        with closing(http.client.HTTPConnection(self.at, timeout=10)) as connection:
            cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            connection.request("GET", path, headers={"Cookie": cookies} if cookies else {})
            answer = connection.getresponse()
            return Page(answer.status, answer.getheaders(), answer.read().decode())


@dataclass
class Site:
    """The bed with its pages served."""

    bed: Bed
    at: str
    door: InstallDoor
    is_served: bool = True

    def browser(self) -> Browser:
        return Browser(self.at)

    async def allowed(self, browser: Browser, holder: Holder, code: str = "code-1") -> Page:
        """Press the button, and let Slack send the browser back."""
        state = (await browser.get(INSTALL_PATH)).state
        self.bed.slack.codes[code] = holder
        return await browser.get(f"{REDIRECT_PATH}?code={code}&state={state}")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    doors = Doors(asyncio.get_running_loop())
    with installs_bed() as bed, listening("public", "127.0.0.1:0", {}, tmp_path, doors):
        keys = AppKeys(bed.slack.api_url, "", CLIENT_ID, CLIENT_KEY)
        offer = Offer("https://bot.example.org", ("chat:write", "commands"))
        door = InstallDoor(
            keys, offer, bed.tokens(), bed.installs, WORDS,
            is_served=lambda: made.is_served, now=bed.clock.now,
        )  # fmt: skip
        made = Site(bed, await asyncio.to_thread(where, tmp_path, "public"), door)
        doors.open("GET", INSTALL_PATH, door.install)
        doors.open("GET", REDIRECT_PATH, door.redirect)
        yield made


async def test_the_page_asks_for_the_scopes_and_comes_back_here(site: Site) -> None:
    page = await site.browser().get(INSTALL_PATH)

    asked = parse_qs(urlsplit(page.link).query)
    assert page.link.startswith("https://slack.com/oauth/v2/authorize?")
    assert asked["scope"] == ["chat:write,commands"]
    assert asked["client_id"] == [CLIENT_ID]
    assert asked["redirect_uri"] == ["https://bot.example.org/slack/oauth_redirect"]
    assert "Add to Slack" in page.text


async def test_no_page_can_be_framed_scripted_or_kept(site: Site) -> None:
    page = await site.browser().get(INSTALL_PATH)

    headers = {name.lower(): value for name, value in page.headers}
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"


async def test_who_allows_it_is_told_what_comes_next_and_the_token_is_kept(site: Site) -> None:
    page = await site.allowed(site.browser(), Holder(name="Ann & Sons"))

    install = site.bed.kept()
    assert page.status == 200
    assert "Headway is in Ann &amp; Sons" in page.text
    assert "Send claim CODE to it." in page.text
    assert page.link == "slack://app?team=T01TEST&id=A01APP"
    assert (install.token, install.app, install.bot_user) == (
        "xoxb-given-token-1",
        "A01APP",
        "U0BOT",
    )
    assert (install.name, install.installed_by) == ("Ann & Sons", "T01TEST:U01ALICE")
    assert install.scopes == ("chat:write", "commands", "users:read")
    assert install.at == site.bed.clock.now()
    assert "xoxb-given-token-1" in site.bed.learnt


async def test_an_install_for_an_organisation_is_kept_by_the_organisation(site: Site) -> None:
    holder = Holder(team=None, organisation="E01ORG", name="The Org", is_for_organisation=True)

    page = await site.allowed(site.browser(), holder)

    install = site.bed.kept("E01ORG")
    assert (page.status, page.link) == (200, "slack://open")
    assert (install.workspace, install.organisation, install.name) == (
        "E01ORG",
        "E01ORG",
        "The Org",
    )


async def test_tokens_that_run_out_are_kept_with_what_renews_them(site: Site) -> None:
    site.bed.slack.rotates = True

    await site.allowed(site.browser(), Holder())

    install = site.bed.kept()
    assert install.refresh_token == "xoxe-1-refresh-1"
    assert install.expires_at is not None


async def test_installed_again_the_new_token_takes_the_place_of_the_old(site: Site) -> None:
    browser = site.browser()
    await site.allowed(browser, Holder())

    await site.allowed(browser, Holder(), "code-2")

    assert len(site.bed.installs.rows) == 1
    assert site.bed.kept().token == "xoxb-given-token-2"


async def test_a_state_counts_once(site: Site) -> None:
    browser = site.browser()
    state = (await browser.get(INSTALL_PATH)).state
    cookies = dict(browser.cookies)
    site.bed.slack.codes |= {"code-1": Holder(), "code-2": Holder(team="T02EVIL")}
    await browser.get(f"{REDIRECT_PATH}?code=code-1&state={state}")
    browser.cookies = cookies

    page = await browser.get(f"{REDIRECT_PATH}?code=code-2&state={state}")

    assert (page.status, "The link was used." in page.text) == (401, True)
    assert list(site.bed.installs.rows) == [("slack", "T01TEST")]


async def test_a_state_lapses_after_ten_minutes(site: Site) -> None:
    browser = site.browser()
    state = (await browser.get(INSTALL_PATH)).state
    site.bed.slack.codes["code-1"] = Holder()
    site.bed.clock.move(601)

    page = await browser.get(f"{REDIRECT_PATH}?code=code-1&state={state}")

    assert page.status == 401
    assert site.bed.installs.rows == {}


async def test_a_state_of_another_browser_installs_nothing(site: Site) -> None:
    state = (await site.browser().get(INSTALL_PATH)).state
    site.bed.slack.codes["code-1"] = Holder()

    page = await site.browser().get(f"{REDIRECT_PATH}?code=code-1&state={state}")

    assert (page.status, "Another browser began it." in page.text) == (400, True)
    assert site.bed.installs.rows == {}


async def test_who_says_no_at_slack_is_told_so_and_can_begin_anew(site: Site) -> None:
    page = await site.browser().get(f"{REDIRECT_PATH}?error=access_denied&state=x")

    assert "You said no." in page.text
    assert page.link == "https://bot.example.org/slack/install"


@pytest.mark.parametrize(
    "query",
    ["", "?code=x", "?code=x&state=", "?error=%3Cscript%3Ealert(1)%3C/script%3E", "?code=%ff&state=%ff",
     "?error=" + "a" * 5_000],
)  # fmt: skip
async def test_whatever_comes_back_shows_a_page_and_nothing_of_what_came(
    site: Site, query: str
) -> None:
    page = await site.browser().get(f"{REDIRECT_PATH}{query}")

    assert page.status in (200, 400, 401)
    assert "Headway was not added" in page.text
    assert "<script" not in page.text
    assert len(page.text) < 3_000


async def test_a_code_that_slack_does_not_know_is_told(site: Site) -> None:
    browser = site.browser()
    state = (await browser.get(INSTALL_PATH)).state

    page = await browser.get(f"{REDIRECT_PATH}?code=unknown&state={state}")

    assert (page.status, "Slack said invalid_code." in page.text) == (401, True)


async def test_a_slack_that_cannot_be_reached_is_told(site: Site) -> None:
    browser = site.browser()
    site.bed.slack.loses = 9

    page = await site.allowed(browser, Holder())

    assert (page.status, "Slack could not be reached." in page.text) == (503, True)
    assert site.bed.installs.rows == {}


async def test_what_cannot_be_kept_is_told_and_nothing_is(site: Site) -> None:
    site.bed.installs.is_busy = True

    page = await site.allowed(site.browser(), Holder())

    assert (page.status, "It could not be kept." in page.text) == (500, True)
    assert site.bed.installs.rows == {}


async def test_a_process_that_does_not_serve_the_app_installs_nothing(site: Site) -> None:
    site.is_served = False

    pages = [await site.browser().get(path) for path in (INSTALL_PATH, REDIRECT_PATH)]

    assert [page.status for page in pages] == [503, 503]
    assert site.bed.installs.states == {}


async def test_beginnings_are_not_without_end(site: Site) -> None:
    browser = site.browser()
    for _ in range(STATES_A_MINUTE):
        await browser.get(INSTALL_PATH)

    over = await browser.get(INSTALL_PATH)
    site.bed.clock.move(61)
    later = await browser.get(INSTALL_PATH)

    assert (over.status, later.status) == (429, 200)
    assert len(site.bed.installs.states) == STATES_A_MINUTE + 1
