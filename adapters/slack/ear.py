"""What is brought in to hear Slack: who is who, what is shown, who is told."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from adapters.slack.mentions import Known
from adapters.slack.payloads import Json
from bot.ports.chat import Incoming, Place, Receive, Speaker
from bot.ports.installs import Install
from bot.ports.windows import Windows


class Installed(Protocol):
    """Installs, as `adapters.slack.tokens.Tokens` has them."""

    async def among(self, workspaces: Sequence[str]) -> Install | None:
        """The first of several workspaces where the app is installed. Raises HeadwayError."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is suggested to somebody who opens a conversation with the bot."""

    title: str
    each: tuple[tuple[str, str], ...]
    """(label, message) of each; Slack shows four."""


def _nothing(reason: str = "") -> None:
    return None


def _uncounted(count: int) -> None:
    return None


async def _no(place: Place, speaker: Speaker) -> bool:
    return False


async def _anybody(place: Place, speaker: Speaker) -> bool:
    return True


async def _nobody(workspace: str, users: frozenset[str]) -> Mapping[str, Known]:
    return {}


async def _as_it_is(message: Incoming, files: Sequence[Json]) -> Incoming:
    return message


async def _unread(workspace: str, message: str) -> Json | None:
    return None


async def _first_seen(room: str) -> str | None:
    return None


async def _left(body: Json, receive: Receive) -> None:
    return None


async def _unnoticed(workspace: str, user: Json) -> None:
    return None


async def _unopened(workspace: str, who: Speaker, page: int) -> None:
    return None


def _unseen(workspace: str, event: Json) -> None:
    return None


def _unknown(workspace: str, channel: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Ear:
    """All of it; what is left out is as if there were nothing."""

    heard: Callable[[], None] = _nothing
    """Called with each sign of life."""
    trouble: Callable[[str], None] = _nothing
    """Called with the reason why the bot is deaf for the moment."""
    others: Callable[[int], None] = _uncounted
    """Called with how many of the app's sockets are another process's."""
    is_listed: Callable[[Place, Speaker], Awaitable[bool]] = _no
    """Whether another bot is on the list by itself; if not, it is not heard."""
    is_heard: Callable[[Place, Speaker], Awaitable[bool]] = _anybody
    """Whether somebody has a role there; for others nothing is asked of Slack."""
    people: Callable[[str, frozenset[str]], Awaitable[Mapping[str, Known]]] = _nobody
    """(workspace, users): who they are, as far as that is known soon."""
    with_files: Callable[[Incoming, Sequence[Json]], Awaitable[Incoming]] = _as_it_is
    """The message with its files; it may take a while."""
    message: Callable[[str, str], Awaitable[Json | None]] = _unread
    """(workspace, id): the message as Slack tells it, or None."""
    workspace_of: Callable[[str], Awaitable[str | None]] = _first_seen
    """The workspace under which a channel is known: `WaysBack.workspace_of`."""
    room_name: Callable[[str, str], str] = _unknown
    """(workspace, channel): its name, where it is known already."""
    on_event: Callable[[str, Json], None] = _unseen
    """(workspace, event): told of every event, before anything becomes of it; caches live on it."""
    on_left: Callable[[Json, Receive], Awaitable[None]] = _left
    """Takes in `app_uninstalled` and `tokens_revoked`: the whole body, as Leaving.event."""
    on_profile: Callable[[str, Json], Awaitable[None]] = _unnoticed
    """(workspace, user): somebody's profile changed, or they were deactivated, or came back."""
    on_home: Callable[[str, Speaker, int], Awaitable[None]] = _unopened
    """(workspace, person, page): somebody looks at a page of their home."""
    windows: Windows | None = None
    prompts: Callable[[], Prompts | None] = field(default=lambda: None)
