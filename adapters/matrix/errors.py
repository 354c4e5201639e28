"""
What a homeserver or the way to it refuses, in the terms of Headway.

Rule 1: every answer of nio goes through `unwrap`. nio takes a 502 page for a file, and any JSON for
        a success where it asks for no field.
Rule 2: only what the homeserver itself says in Matrix's terms is an answer. A page of a proxy, a 5xx,
        a torn or a foreign text is `Wait`.
Rule 3: only calls of nio stand inside `translated`: what else goes wrong is a defect and is seen.
"""

import email.utils
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import aiohttp
import nio

from bot.errors import ByOperator, HeadwayError, Refused, Wait

T = TypeVar("T")

LONGEST_S: Final = 86_400.0
"""No wait that a server asks for is longer than a day."""
UNSAID_S: Final = 5.0
"""Where a server limits us and does not say for how long; as nio has it."""
NOT_OUR_SESSION: Final = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"})
CLOSED: Final = frozenset({"M_USER_DEACTIVATED", "M_USER_SUSPENDED"})
PASSING: Final = frozenset({"M_USER_LOCKED", "M_RESOURCE_LIMIT_EXCEEDED", "M_UNKNOWN_POS"})
"""Said with a 4xx, and over as soon as somebody at the homeserver lifts it."""


class LoggedOut(Wait):
    """The homeserver does not know our token: the session is renewed, and then it is tried again."""

    def __init__(self, message: str, *, is_soft: bool = False) -> None:
        """`is_soft`: the device and its keys are still there (`soft_logout`)."""
        super().__init__(message, retry_after_s=UNSAID_S)
        self.is_soft = is_soft


class AccountClosed(ByOperator):
    """The account was deactivated or suspended by the homeserver."""


def unwrap(response: T | nio.ErrorResponse) -> T:
    """The answer, where it is one.

    Raises:
        Wait: the server limits us, is down, or something else answered in its place.
        LoggedOut: the token is not valid any more.
        AccountClosed: nobody can act as this user any more.
        Refused: the server refuses this request; `code` is Matrix's, such as M_FORBIDDEN.
    """
    if isinstance(response, nio.ErrorResponse):
        raise _of_error(response)
    answer: Any = getattr(response, "transport_response", None)
    if answer is not None and not 200 <= answer.status < 300:
        raise _of_status(answer.status, _retry_after_s(None, answer))
    if answer is not None and _is_page(response, answer):
        raise _not_matrix()
    return response


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Our error for what a call of nio raises.

    Args:
        what: what was tried, as in "The room cannot be joined".

    Raises:
        Wait: no connection, a time-out, a torn or unreadable answer.
        LoggedOut: nio has no token any more.
    """
    try:
        yield
    except TimeoutError as error:
        raise Wait(f"{what}: the homeserver did not answer in time. {_PASSES}") from error
    except (aiohttp.ClientConnectionError, OSError) as error:
        raise Wait(
            f"{what}: the homeserver cannot be reached ({_name(error)}). {_PASSES}"
        ) from error
    except aiohttp.InvalidURL as error:
        raise Refused(f"{what}: the homeserver's address is none.", code="bad_address") from error
    except (aiohttp.ClientError, ValueError, RecursionError) as error:
        raise Wait(
            f"{what}: the answer is torn or unreadable ({_name(error)}). {_PASSES}"
        ) from error
    except nio.LocalProtocolError as error:
        if "logged in" not in str(error).lower():
            raise
        raise LoggedOut(f"{what}: there is no session. {_LOG_IN}", is_soft=True) from error


def _of_error(error: nio.ErrorResponse) -> HeadwayError:
    answer: Any = error.transport_response
    status = getattr(answer, "status", 0)
    code = error.status_code if isinstance(error.status_code, str) else ""
    wait_s = _retry_after_s(error.retry_after_ms, answer)
    if code == "M_LIMIT_EXCEEDED" or status == 429:
        return Wait(
            f"The homeserver limits how much is sent. {_PASSES}",
            retry_after_s=UNSAID_S if wait_s is None else wait_s,
        )
    if status >= 500 or not code.strip() or 200 <= status < 300:
        return _of_status(status, wait_s)
    said = f"{code} {error.message}".strip()
    if code in NOT_OUR_SESSION:
        return LoggedOut(
            f"The homeserver does not know the session any more ({said}). {_LOG_IN}",
            is_soft=error.soft_logout is True,
        )
    if code in CLOSED:
        return AccountClosed(
            f"The homeserver has closed the account ({said}). Ask whoever runs it, or use another "
            "account: headway matrix login"
        )
    if code in PASSING:
        return Wait(f"The homeserver puts us off ({said}). {_PASSES}", retry_after_s=wait_s)
    return Refused(f"The homeserver refuses it ({said}).", code=code)


def _of_status(status: int, wait_s: float | None) -> Wait:
    if status >= 300:
        return Wait(
            f"The homeserver, or a proxy before it, answers with HTTP {status}. {_PASSES}",
            retry_after_s=UNSAID_S if wait_s is None and status == 429 else wait_s,
        )
    return _not_matrix()


def _not_matrix() -> Wait:
    return Wait(f"What answers in the homeserver's place does not speak Matrix. {_PASSES}")


def _is_page(response: object, answer: Any) -> bool:
    """A page of a proxy or of a network that wants a log-in first; a file may well be a page."""
    is_file = isinstance(response, nio.FileResponse | nio.DiscoveryInfoResponse)
    return not is_file and str(answer.content_type).startswith("text/html")


def _retry_after_s(body_ms: object, answer: Any) -> float | None:
    """Seconds to wait, of the body or else of the header `Retry-After`: seconds or a date."""
    if isinstance(body_ms, int) and not isinstance(body_ms, bool):
        return _sane(body_ms / 1000)
    headers = getattr(answer, "headers", None) or {}
    header = str(headers.get("Retry-After", "")).strip()
    try:
        return _sane(float(header))
    except ValueError:
        pass
    try:
        at = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return _sane((at.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def _sane(wait_s: float) -> float | None:
    if not math.isfinite(wait_s):
        return None
    return min(max(wait_s, 0.0), LONGEST_S)


def _name(error: BaseException) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


_PASSES: Final = "It is tried again."
_LOG_IN: Final = "It is renewed where it can be; else: headway matrix login"
