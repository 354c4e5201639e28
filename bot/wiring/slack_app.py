"""
The Slack app that the settings name: what it is called and asks for, its tokens, and its doors.

Rule: nothing here loads slack_sdk before the app is worked with.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from adapters.clock import WallClock
from adapters.slack.manifest import SCOPES, Wanted, Words, manifest
from adapters.slack.paths import AUTHORIZE_PATH, EVENTS_PATH, INSTALL_PATH, REDIRECT_PATH
from bot.chat.texts import Texts
from bot.chat.verbs import served
from bot.errors import BadSettings
from bot.ports.clock import Clock
from bot.ports.installs import Install, Installs
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.discreet import discreet_serve

if TYPE_CHECKING:
    from adapters.slack.pages import Sentences
    from adapters.slack.tokens import AppKeys, Tokens
    from adapters.telemetry.doors import Doors

WHYS: Final = (
    "access_denied", "invalid_browser", "invalid_state", "missing_code", "invalid_code",
    "storage_error", "unreached", "other",
)  # fmt: skip
"""Of installs that came to nothing: `install.why.` and one of these."""
USAGE_MOST: Final = 1_000


def check_usable(settings: Settings) -> None:
    """Whether the settings can be worked with.

    Raises:
        BadSettings: something is missing, and what to set.
    """
    by_install = not settings.slack_bot_token.get_secret_value()
    if by_install and settings.slack_client_id:
        _need(settings.slack_client_key, "slack_client_key", _INSTALLS)
        _need(settings.public_url, "public_url", _INSTALLS)
        _need(settings.public_listen, "public_listen", _INSTALLS)
    if settings.slack_mode == "socket":
        _need(settings.slack_app_token, "slack_app_token", _SOCKETS)
        return
    _need(settings.slack_signing_key, "slack_signing_key", _HTTP)
    _need(settings.public_listen, "public_listen", _HTTP)


def keys_of(settings: Settings) -> "AppKeys":
    """What the settings say of the app."""
    from adapters.slack.tokens import AppKeys

    return AppKeys(
        settings.slack_api_url,
        settings.slack_bot_token.get_secret_value(),
        settings.slack_client_id,
        settings.slack_client_key.get_secret_value(),
    )


def tokens_of(settings: Settings, installs: Installs, redactor: Redactor, clock: Clock) -> "Tokens":
    """The tokens of the app; nothing is asked yet."""
    from adapters.slack.tokens import Tokens

    return Tokens(keys_of(settings), installs, learn=redactor.learn, now=clock.now)


async def only_install(settings: Settings, installs: Installs) -> Install | None:
    """The install, where there is one and no more; of a single token Slack is asked.

    Raises:
        HeadwayError: it cannot be looked up.
    """
    if settings.slack_bot_token.get_secret_value():
        return await tokens_of(settings, installs, Redactor(), WallClock()).install_of("")
    found = await installs.installed("slack")
    return found[0] if len(found) == 1 else None


def open_doors(
    doors: "Doors | None",
    settings: Settings,
    dispatch: Callable[[Any], Awaitable[Any]],
    tokens: "Tokens",
    installs: Installs,
    *,
    texts: Texts,
    redactor: Redactor,
    clock: Clock,
    is_served: Callable[[], bool],
) -> None:
    """Let Slack and browsers in, as far as the settings ask for it.

    Args:
        doors: of the public listener; None where it listens nowhere.
        dispatch: Bolt's.
        is_served: whether this process is the one that serves the app.
    """
    if doors is None:
        return
    if settings.slack_mode == "http":
        from adapters.slack.web import EventsDoor

        signing_key = settings.slack_signing_key.get_secret_value()
        events = EventsDoor(dispatch, signing_key, is_served)
        doors.open("POST", EVENTS_PATH, discreet_serve(events, redactor))
    if settings.slack_client_id and not tokens.is_single:
        from adapters.slack.oauth import InstallDoor, Offer

        authorize = urljoin(settings.slack_api_url, AUTHORIZE_PATH)
        offer = Offer(settings.public_url, tuple(scope.name for scope in SCOPES), authorize)
        door = InstallDoor(
            keys_of(settings), offer, tokens, installs, page_sentences(texts),
            is_served=is_served, now=clock.now,
        )  # fmt: skip
        doors.open("GET", INSTALL_PATH, discreet_serve(door.install, redactor))
        doors.open("GET", REDIRECT_PATH, discreet_serve(door.redirect, redactor))


def wanted(settings: Settings) -> Wanted:
    """The app as the settings have it."""
    return Wanted(
        command=settings.slack_command,
        url=settings.public_url,
        is_http=settings.slack_mode == "http",
    )


def manifest_of(app: Wanted) -> Mapping[str, Any]:
    """The app's manifest."""
    return manifest(app, manifest_words(Texts()))


def manifest_words(texts: Texts) -> Words:
    """What people read of the app in Slack."""
    verbs = [verb.name for verb in served() if verb.name]
    usage = " | ".join(("<objective>", *verbs))
    return Words(
        about=texts("app.about"),
        agent=texts("app.agent"),
        command=texts("app.command"),
        usage=usage[:USAGE_MOST],
        run_as_goal=texts("app.run_as_goal"),
        run_as_goal_about=texts("app.run_as_goal.about"),
        new_goal=texts("app.new_goal"),
        new_goal_about=texts("app.new_goal.about"),
    )


def page_sentences(texts: Texts) -> "Sentences":
    """What the pages of an install say."""
    from adapters.slack.pages import Sentences

    return Sentences(
        ask=texts("install.ask"),
        about=texts("install.about"),
        button=texts("install.button"),
        done=texts("install.done", team="{team}"),
        next=texts("install.next"),
        open=texts("install.open"),
        failed=texts("install.failed"),
        why={one: texts(f"install.why.{one}", reason="{reason}") for one in WHYS},
        again=texts("install.again"),
        language=texts.language,
    )


def _need(value: Any, name: str, why: str) -> None:
    text = value.get_secret_value() if hasattr(value, "get_secret_value") else value
    if not text:
        raise BadSettings(f"{name} is empty. {why}")


_SOCKETS: Final = (
    "Over a socket Slack wants the app's own token: make one with the scope connections:write under "
    "Basic Information, App-Level Tokens of the app's page, or set slack_mode to http."
)
_HTTP: Final = (
    "With slack_mode = http Slack's requests come to public_listen and are known by "
    "slack_signing_key, the signing secret under Basic Information of the app's page. Set both, or "
    "slack_mode to socket."
)
_INSTALLS: Final = (
    "Workspaces install the app at public_url/slack/install, which public_listen serves, with "
    "slack_client_id and slack_client_key of Basic Information of the app's page. Set all four; or, for "
    "one workspace, slack_bot_token alone."
)
