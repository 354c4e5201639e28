"""
The checks of Slack: each names one cause for which the bot hears or says nothing there, and the mend.

Rule 1: the app is looked at from outside; nothing is changed, and no token is shown.
Rule 2: a scope or an event that is missing is named with what works no more for it.
"""

from typing import Final

from adapters.slack import asking
from adapters.slack.errors import LoggedOut, NotPermitted, cause
from adapters.slack.manifest import SCOPES
from adapters.slack.paths import EVENTS_PATH
from bot.doctor.finding import Found, warning, wrong
from bot.doctor.slack_looks import bots, done, installed, named, running_now, some, whose_each
from bot.errors import HeadwayError, Refused, StoreBusy, StoreUnusable, Wait
from bot.ports.people import Register
from bot.settings import Settings
from bot.wiring import reading
from bot.wiring.slack_app import check_usable

SKEW_S: Final = 60.0
SIGNED_S: Final = 300.0
"""Older or newer by that much, a request's signature counts for nothing (Slack, "Verifying requests")."""
VITAL: Final = frozenset(
    {"channels:history", "channels:read", "chat:write", "groups:history", "groups:read",
     "im:history", "im:read", "users:read"}
)  # fmt: skip
"""Scopes without which the bot is deaf, mute, or lets nobody in."""


def app(settings: Settings) -> str:
    """Whether the settings can be worked with, and what they ask for.

    Raises:
        BadSettings: something is missing.
    """
    check_usable(settings)
    how = "over a socket" if settings.slack_mode == "socket" else "over HTTP"
    if settings.slack_bot_token.get_secret_value():
        return f"one workspace by its token, {how}"
    count = len(done(installed(settings)))
    if not count:
        raise warning(
            f"The app is installed nowhere yet. Open {settings.public_url.rstrip('/')}/slack/install in a "
            "browser."
        )
    return f"{count} {'install' if count == 1 else 'installs'}, {how}"


def tokens(settings: Settings) -> str:
    """Whether Slack takes every token, and each is the bot's."""
    token = settings.slack_bot_token.get_secret_value()
    if token and not token.startswith(("xoxb-", "xoxe.xoxb-")):
        raise wrong(
            "slack_bot_token is no bot's token: that begins with xoxb-. Copy it from OAuth & Permissions "
            "of the app's page."
        )
    if token.startswith("xoxe."):
        raise warning(
            "slack_bot_token runs out within twelve hours, and from the settings it cannot be renewed. "
            "Install the app by OAuth (slack_client_id), or make one without token rotation."
        )
    names = []
    for name, one in bots(settings):
        try:
            found = done(asking.whose(settings.slack_api_url, one))
        except LoggedOut as error:
            raise wrong(_logged_out(settings, name, error)) from error
        except Wait as error:
            raise wrong(
                f"{cause(error)} Posts wait in order, and goals go on. Look at the network, and whether "
                "a proxy is needed (HTTPS_PROXY)."
            ) from error
        if not found.bot:
            raise wrong(
                f"The token of {name} is a person's. Give the bot's, which begins with xoxb-."
            )
        names.append(found.name or found.workspace)
    return f"good in {some(names)}"


def scopes(settings: Settings) -> str:
    """Whether the app was given what it asks for."""
    for found in whose_each(settings):
        if not found.scopes:
            continue
        lacking = [need for need in SCOPES if need.name not in found.scopes]
        if not lacking:
            continue
        told = (
            f"In {found.name or found.workspace} the app lacks {named(lacking)}. Take over what "
            "`headway slack manifest` prints (App Manifest of the app's page), and install the app again."
        )
        raise wrong(told) if any(need.name in VITAL for need in lacking) else warning(told)
    return f"all {len(SCOPES)}"


def reached(settings: Settings) -> str:
    """Whether Slack can reach the bot: by a socket, or at public_url."""
    return _by_http(settings) if settings.slack_mode == "http" else _by_socket(settings)


def clock(settings: Settings) -> str:
    """Whether Slack's clock and this machine's agree."""
    skews = [found.skew_s for found in whose_each(settings) if found.skew_s is not None]
    skew_s = max(skews, key=abs, default=0.0)
    if abs(skew_s) <= SKEW_S:
        return "as Slack's"
    how = "behind" if skew_s > 0 else "ahead of"
    told = f"This machine's clock is {abs(skew_s):.0f} s {how} Slack's."
    if settings.slack_mode == "http" and abs(skew_s) > SIGNED_S:
        raise wrong(
            f"{told} Signatures count for five minutes: everything that Slack sends is refused. Set the "
            "clock, and keep it set by NTP."
        )
    raise warning(f"{told} Times of messages are off. Set the clock, and keep it set by NTP.")


def apps(settings: Settings) -> str:
    """Whether all tokens are of one app."""
    found = set()
    for one, (_, token) in zip(whose_each(settings), bots(settings), strict=True):
        try:
            found.add(done(asking.app_of(settings.slack_api_url, token, one.bot)))
        except HeadwayError as error:
            raise Found("skipped", f"Not looked at: {cause(error)}") from error
    known = sorted(found - {""})
    of_socket = _app_in(settings.slack_app_token.get_secret_value())
    if settings.slack_mode == "socket" and of_socket and known and known != [of_socket]:
        raise wrong(
            f"The bot's token is of the app {some(known)}, and slack_app_token of {of_socket}: what "
            "people say to the one comes to the other. Take both from one app's page."
        )
    if len(known) > 1:
        raise wrong(
            f"The installs are of several apps ({some(known)}). Keep those of one: "
            "headway slack forget WORKSPACE"
        )
    return known[0] if known else "not told by Slack"


def rooms(settings: Settings) -> str:
    """Whether the bot is in a channel."""
    count, alone = 0, []
    try:
        each = [
            (name, done(asking.channels_of(settings.slack_api_url, token)))
            for name, token in bots(settings)
        ]
    except HeadwayError as error:
        raise Found("skipped", "Not looked at: the token comes first.") from error
    for name, found in each:
        count += len(found)
        if not found:
            alone.append(name)
    if alone:
        raise warning(
            f"The bot is in no channel of {some(alone)}: it hears direct messages and its command alone. "
            "Invite it: /invite @headway"
        )
    return f"{count} {'channel' if count == 1 else 'channels'}"


def people(settings: Settings) -> str:
    """Whether the allow-list lets anybody in Slack in."""
    try:
        register = done(_register(settings))
    except (StoreBusy, StoreUnusable):
        register = Register()
    entries = [entry for entry in register.entries if entry.subject.network == "slack"]
    there = [one for one in entries if ("slack", one.subject.id) not in register.gone]
    if not there:
        raise warning(
            "The allow-list matches nobody in Slack: nobody may start a goal. `headway claim` prints a code; "
            "send `claim CODE` to the bot in a direct message. Or: headway allow add @MEMBER_ID admin "
            "--network slack"
        )
    admins = sum(entry.role == "admin" and entry.room is None for entry in there)
    return f"{len(there)} {'entry' if len(there) == 1 else 'entries'}, {admins} of an admin"


def _by_socket(settings: Settings) -> str:
    token = settings.slack_app_token.get_secret_value()
    if not token.startswith("xapp-"):
        raise wrong(
            "slack_app_token is no app's token: that begins with xapp-. Basic Information, App-Level "
            "Tokens of the app's page makes one."
        )
    try:
        done(asking.socket_address(settings.slack_api_url, token))
    except NotPermitted as error:
        raise wrong(
            "slack_app_token lacks connections:write: no socket opens, and nothing is heard. Make another "
            "with that scope under Basic Information, App-Level Tokens."
        ) from error
    except LoggedOut as error:
        raise wrong(
            f"Slack does not take slack_app_token ({error.code}). Make another under Basic Information, "
            "App-Level Tokens of the app's page."
        ) from error
    except Refused as error:
        raise wrong(
            f"Slack opens no socket for the app ({error.code}). Turn Socket Mode on, under Settings, Socket "
            "Mode of the app's page; or set slack_mode to http."
        ) from error
    except Wait as error:
        raise wrong(f"{cause(error)} Look at the network.") from error
    return "a socket can be opened"


def _by_http(settings: Settings) -> str:
    if not settings.public_url:
        raise warning(
            "public_url is empty: whether Slack reaches public_listen is not known. Set it to the address "
            "that the app's page has as its Request URL."
        )
    running, serving = running_now(settings)
    if running is None:
        raise Found("skipped", "Not looked at: no Headway runs that would answer.")
    url = f"{settings.public_url.rstrip('/')}{EVENTS_PATH}"
    try:
        status = done(asking.answers_at(url))
    except HeadwayError as error:
        raise wrong(
            f"{cause(error)} Slack cannot reach the bot either. Look at its name, its certificate and the "
            "proxy before public_listen."
        ) from error
    if status is None:
        raise wrong(
            f"What answers at {url} is not Headway. Let the proxy pass /slack/ on to public_listen."
        )
    if status == 404:
        raise wrong(f"{url} comes to a Headway that knows of no Slack. Start it again.")
    if status == 503 and serving.get("serves"):
        raise wrong(
            f"{url} comes to another Headway than the one that serves Slack. Let the proxy try the next "
            "one where a 503 comes back."
        )
    return f"{url} is reached"


async def _register(settings: Settings) -> Register:
    async with reading(settings) as store:
        return await store.people.register()


def _logged_out(settings: Settings, name: str, error: LoggedOut) -> str:
    if settings.slack_bot_token.get_secret_value():
        return (
            f"Slack does not take slack_bot_token ({error.code}). Copy it again from OAuth & Permissions of "
            "the app's page; where the app was removed, install it there first."
        )
    return (
        f"Slack does not take the token of {name} any more ({error.code}). Install the app again at "
        f"{settings.public_url.rstrip('/')}/slack/install, or: headway slack forget WORKSPACE"
    )


def _app_in(app_token: str) -> str:
    """The app's id in its own token, `xapp-1-A01ABC-...`; empty where it has another form."""
    parts = app_token.split("-")
    return parts[2] if len(parts) > 3 and parts[0] == "xapp" and parts[2][:1] == "A" else ""
