"""
What Slack or the way to it refuses, in the terms of Headway.

Rule 1: `ok: false` is a failure, whatever the status; so is an answer that says neither.
Rule 2: a post has no key by which Slack would know it again: what Slack has not refused in its own
        words may be there.
Rule 3: only calls of slack_sdk and aiohttp stand inside `translated`: what else goes wrong is a
        defect and is seen.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import aiohttp
from slack_sdk.errors import SlackApiError

from bot.errors import ByOperator, HeadwayError, OutcomeUnknown, Refused, Wait

LONGEST_S: Final = 86_400.0
"""No wait that a server asks for is longer than a day."""
UNSAID_S: Final = 30.0
"""Where Slack limits us and does not say for how long; as slack_sdk's sockets have it."""
LIMITED: Final = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
PASSING: Final = frozenset(
    {
        "request_timeout", "team_added_to_org", "org_login_required", "external_channel_migrating",
        "token_expired", "streaming_state_conflict",
    }
)  # fmt: skip
"""Nothing was done, and it is over by itself; a token that ran out is renewed."""
HALF_DONE: Final = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "update_failed"}
)
"""Slack's own failures; "some aspect of the operation" may have succeeded before them."""
LOGGED_OUT: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "not_allowed_token_type"}
)
CLOSED: Final = frozenset(
    {
        "missing_scope", "no_permission", "access_denied", "accesslimited", "ekm_access_denied",
        "team_access_not_granted", "two_factor_setup_required", "enterprise_is_restricted",
    }
)  # fmt: skip
"""The app may not do it, until whoever runs it or the workspace lets it."""

NOT_INSTALLED: Final = "not_installed"
"""Code where the app is not in the workspace any more."""
NOT_IN_ROOM: Final = "not_in_room"
"""Code where the bot is no member of the channel."""
GONE: Final = frozenset(
    {
        "message_not_found", "cant_update_message", "edit_window_closed", "cant_broadcast_message",
        "block_mismatch", "is_inactive", "no_dual_broadcast_content_update", "file_deleted",
    }
)  # fmt: skip
"""Codes of a message that cannot be edited any more."""
UNTHREADED: Final = frozenset(
    {
        "thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked",
        "restricted_action_non_threadable_channel",
    }
)  # fmt: skip
"""Codes of a thread in which nothing can be said any more."""
MISFIT: Final = frozenset({"invalid_blocks", "invalid_blocks_format"})
"""Codes of blocks that this Slack does not take."""
TOO_LONG: Final = frozenset({"msg_blocks_too_long", "msg_too_long"})
"""Codes of what is to be said in fewer words."""


class LoggedOut(ByOperator):
    """Slack does not know the workspace's token any more; `code` is Slack's."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class NotPermitted(ByOperator):
    """The app may not do it; `needed` names the scope that it lacks, where that is it."""

    def __init__(self, message: str, *, code: str, needed: str = "") -> None:
        super().__init__(message)
        self.code, self.needed = code, needed


@contextmanager
def translated(what: str, *, posts: bool = False) -> Iterator[None]:
    """Our error for what a call of slack_sdk or aiohttp raises.

    Args:
        what: what was tried and did not come about, as in "The message cannot be sent".
        posts: the call makes something that a second call would make twice.

    Raises:
        Wait: Slack limits us, or is out of reach; nothing was done.
        OutcomeUnknown: of what posts, where it may be done.
        Refused: Slack refuses this call; `code` is Slack's, but NOT_IN_ROOM for `not_in_channel`.
        LoggedOut: the token is valid no more.
        NotPermitted: the app may not do it.
    """
    try:
        yield
    except SlackApiError as error:
        raise _marked(refusal(what, error.response), posts=posts) from error
    except aiohttp.ConnectionTimeoutError as error:
        raise Wait(f"{what}: Slack cannot be reached in time. {_AGAIN}") from error
    except TimeoutError as error:
        raise _lost(f"{what}: Slack did not answer in time. {_AGAIN}", posts=posts) from error
    except aiohttp.InvalidURL as error:
        raise Refused(f"{what}: the address of Slack's API is none.", code="bad_address") from error
    except aiohttp.ClientConnectorError as error:
        raise Wait(f"{what}: Slack cannot be reached ({_name(error)}). {_AGAIN}") from error
    except (aiohttp.ClientConnectionError, OSError) as error:
        said = f"{what}: the connection to Slack broke ({_name(error)}). {_AGAIN}"
        raise _lost(said, posts=posts) from error
    except (aiohttp.ClientError, ValueError, RecursionError) as error:
        said = f"{what}: the answer is torn or unreadable ({_name(error)}). {_AGAIN}"
        raise _lost(said, posts=posts) from error
    except AttributeError as error:
        # slack_sdk takes every answer for an object; of a text or a list it asks its fields.
        if getattr(error, "name", "") != "get":
            raise
        raise _lost(f"{what}: the answer is no object. {_AGAIN}", posts=posts) from error


def refusal(what: str, response: object) -> HeadwayError:
    """The error for an answer that is none: slack_sdk's, aiohttp's, or nothing at all.

    OutcomeUnknown stands for what may be done though it was answered with an error.
    """
    status, headers, said = _parts(response)
    code = said.get("error")
    code = code.strip() if isinstance(code, str) else ""
    wait_s = _retry_after_s(headers)
    if status == 429 or code in LIMITED:
        wait_s = UNSAID_S if wait_s is None else wait_s
        return Wait(f"{what}: Slack limits how much is done. {_AGAIN}", retry_after_s=wait_s)
    if status >= 500 or code in HALF_DONE:
        shown = code or f"HTTP {status}"
        return OutcomeUnknown(
            f"{what}: Slack itself failed ({shown}). {_AGAIN}", retry_after_s=wait_s
        )
    if said.get("ok") is not False or not code:
        shown = f"{what}: what answers in Slack's place (HTTP {status}) is not Slack. {_AGAIN}"
        kind = Wait if 400 <= status < 500 else OutcomeUnknown
        return kind(shown, retry_after_s=wait_s)
    return _of_code(what, code, said)


def cause(error: HeadwayError) -> str:
    """What happened, for where nothing tries again by itself."""
    return str(error).removesuffix(f" {_AGAIN}")


def _of_code(what: str, code: str, said: Mapping[str, Any]) -> HeadwayError:
    if code in PASSING:
        return Wait(f"{what}: Slack puts us off ({code}). {_AGAIN}")
    if code in LOGGED_OUT:
        return LoggedOut(
            f"{what}: Slack does not know the bot's token any more ({code}). Install the app again, "
            "or set the token that its page shows.",
            code=code,
        )
    if code in CLOSED:
        needed = said.get("needed")
        scope = needed if isinstance(needed, str) else ""
        mend = (
            f"Add the scope {scope} to the app's manifest and install it again."
            if scope
            else "An admin of the workspace can allow it."
        )
        return NotPermitted(
            f"{what}: the app may not do it ({code}). {mend}", code=code, needed=scope
        )
    said_so = f"{what}: {_MENDS.get(code) or _mend_of_kin(code) or f'Slack refuses it ({code}).'}"
    return Refused(said_so, code=NOT_IN_ROOM if code == "not_in_channel" else code)


def _mend_of_kin(code: str) -> str:
    return next((mend for kin, mend in _KIN.items() if code.startswith(kin)), "")


def _marked(error: HeadwayError, *, posts: bool) -> HeadwayError:
    """The error, where only what posts is of unknown outcome."""
    if isinstance(error, OutcomeUnknown) and not posts:
        return Wait(str(error), retry_after_s=error.retry_after_s)
    return error


def _lost(said: str, *, posts: bool) -> Wait:
    return OutcomeUnknown(said) if posts else Wait(said)


def _parts(response: object) -> tuple[int, Mapping[str, str], Mapping[str, Any]]:
    """Status, headers and JSON of an answer; empty what it lacks."""
    status = getattr(response, "status_code", None) or getattr(response, "status", 0)
    body = response if isinstance(response, dict) else getattr(response, "data", None)
    headers = getattr(response, "headers", {})
    return (
        status if isinstance(status, int) else 0,
        headers if isinstance(headers, Mapping) else {},
        body if isinstance(body, dict) else {},
    )


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds of the header `Retry-After`, in whatever letters it is written."""
    for name, value in headers.items():
        if name.lower() != "retry-after":
            continue
        try:
            wait_s = float(value)
        except (TypeError, ValueError):
            return None
        return min(max(wait_s, 0.0), LONGEST_S) if math.isfinite(wait_s) else None
    return None


def _name(error: BaseException) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


_AGAIN: Final = "It is tried again."
_MENDS: Final = {
    "channel_not_found": "Slack has no such channel, or hides it from the bot. Invite the bot there.",
    "not_in_channel": "The bot is not in the channel. Invite it there.",
    "is_archived": "The channel is archived. Unarchive it, or go on elsewhere.",
    "is_inactive": "The channel is archived or gone. Unarchive it, or go on elsewhere.",
    "thread_not_found": "The thread is gone: its first message was deleted. Go on in another one.",
    "message_not_found": "The message is gone.",
    "cannot_reply_to_message": "Nothing can be said under that message. Go on in another thread.",
    "user_not_in_channel": "The person is not in the channel.",
    "messages_tab_disabled": "The app's direct messages are off. Turn its messages tab on.",
    "team_not_found": "The app is not installed in the channel's workspace. Install it there.",
    "channel_is_limited_access": "The channel is closed to the bot. Go on elsewhere.",
}
_KIN: Final = {
    "restricted_action_thread_locked": "An admin has locked the thread. Go on in another one.",
    "restricted_action_non_threadable": "The channel takes no threads. Go on elsewhere.",
    "restricted_action": "The workspace lets the bot say nothing there. An admin can allow it.",
    "slack_connect": "The organisation that shares the channel lets no such thing through.",
}
