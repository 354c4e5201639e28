"""
What a homeserver or the way to it refuses, in the terms of Headway.

Rule 1: every answer of nio goes through `unwrap`. nio takes a 502 page for a file, and any JSON for
        a success where it asks for no field.
Rule 2: only what the homeserver itself says in Matrix's terms is an answer. A page of a proxy, a 5xx,
        a torn or a foreign text is `Wait`.
Rule 3: only calls of nio and aiohttp stand inside `translated`: what else goes wrong is a defect and
        is seen.
"""

import email.utils
import math
from collections.abc import Iterator, Mapping
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
LOGGED_OUT: Final = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"})
CLOSED: Final = frozenset({"M_USER_DEACTIVATED", "M_USER_SUSPENDED"})
PASSING: Final = frozenset({"M_USER_LOCKED", "M_RESOURCE_LIMIT_EXCEEDED", "M_UNKNOWN_POS"})
"""Said with a 4xx, and over as soon as somebody at the homeserver lifts it."""


class LoggedOut(Wait):
    """The homeserver does not know our token: the session is renewed, and then it is tried again."""

    def __init__(self, message: str, *, is_soft: bool = False) -> None:
        """`is_soft`: the device and its keys are still there (`soft_logout`)."""
        super().__init__(message, retry_after_s=UNSAID_S)
        self.is_soft = is_soft


class NotMatrix(Wait):
    """Something answers where the homeserver should, and does not speak Matrix."""


class AccountClosed(ByOperator):
    """The account was deactivated or suspended by the homeserver."""


def unwrap(response: T | nio.ErrorResponse) -> T:
    """The answer, where it is one.

    Raises:
        Wait: the server limits us, is down, or something else answered in its place (NotMatrix).
        LoggedOut: the token is not valid any more.
        AccountClosed: nobody can act as this user any more.
        Refused: the server refuses this request; `code` is Matrix's, such as M_FORBIDDEN.
    """
    answer: Any = getattr(response, "transport_response", None)
    status, headers = getattr(answer, "status", 0), getattr(answer, "headers", {})
    if isinstance(response, nio.ErrorResponse):
        body = {
            "errcode": response.status_code,
            "error": response.message,
            "retry_after_ms": response.retry_after_ms,
            "soft_logout": response.soft_logout,
        }
        raise refusal(status, body, headers)
    if answer is not None and not (200 <= status < 300 and not _is_page(response, answer)):
        raise refusal(status, None, headers)
    return response


def refusal(status: int, body: object, headers: Mapping[str, str]) -> HeadwayError:
    """The error for an answer that is none: of its status, its JSON (None: it has none), its headers."""
    said: dict[str, Any] = body if isinstance(body, dict) else {}
    code, message = said.get("errcode"), said.get("error")
    code = code.strip() if isinstance(code, str) else ""
    wait_s = _retry_after_s(said.get("retry_after_ms"), headers)
    if code == "M_LIMIT_EXCEEDED" or status == 429:
        wait_s = UNSAID_S if wait_s is None else wait_s
        return Wait(f"The homeserver limits how much is sent. {_AGAIN}", retry_after_s=wait_s)
    if status >= 500:
        return Wait(
            f"The homeserver, or a proxy before it, answers with HTTP {status}. {_AGAIN}",
            retry_after_s=wait_s,
        )
    if not code or 200 <= status < 300:
        return NotMatrix(
            f"What answers in the homeserver's place (HTTP {status}) does not speak Matrix. {_AGAIN}",
            retry_after_s=wait_s,
        )
    return _of_code(code, f"{code} {message or ''}".strip(), said, wait_s)


def cause(error: HeadwayError) -> str:
    """What happened, for where nothing tries again by itself."""
    return str(error).removesuffix(f" {_AGAIN}")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Our error for what a call of nio or aiohttp raises.

    Args:
        what: what was tried and did not come about, as in "The room cannot be joined".

    Raises:
        Wait: no connection, a time-out, a torn or unreadable answer.
        LoggedOut: nio has no token any more.
    """
    try:
        yield
    except TimeoutError as error:
        raise Wait(f"{what}: the homeserver did not answer in time. {_AGAIN}") from error
    except aiohttp.InvalidURL as error:
        raise Refused(f"{what}: the homeserver's address is none.", code="bad_address") from error
    except (aiohttp.ClientConnectionError, OSError) as error:
        raise Wait(
            f"{what}: the homeserver cannot be reached ({_name(error)}). {_AGAIN}"
        ) from error
    except (aiohttp.ClientError, ValueError, RecursionError) as error:
        raise Wait(
            f"{what}: the answer is torn or unreadable ({_name(error)}). {_AGAIN}"
        ) from error
    except nio.LocalProtocolError as error:
        if "logged in" not in str(error).lower():
            raise
        raise LoggedOut(f"{what}: there is no session. {_RENEWED}", is_soft=True) from error


def _of_code(code: str, said: str, body: Mapping[str, Any], wait_s: float | None) -> HeadwayError:
    if code in LOGGED_OUT:
        return LoggedOut(
            f"The homeserver does not know the session any more ({said}). {_RENEWED}",
            is_soft=body.get("soft_logout") is True,
        )
    if code in CLOSED:
        return AccountClosed(
            f"The homeserver has closed the account ({said}). Ask whoever runs it, or use another "
            "account: headway matrix login"
        )
    if code in PASSING:
        return Wait(f"The homeserver puts us off ({said}). {_AGAIN}", retry_after_s=wait_s)
    return Refused(f"The homeserver refuses it ({said}).", code=code)


def _is_page(response: object, answer: Any) -> bool:
    """A page of a proxy or of a network that wants a log-in first; a file may well be a page."""
    is_file = isinstance(response, nio.DownloadResponse | nio.ThumbnailResponse)
    return not is_file and str(answer.content_type).startswith("text/html")


def _retry_after_s(body_ms: object, headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, of the body or else of the header `Retry-After`: seconds or a date."""
    if isinstance(body_ms, int | float) and not isinstance(body_ms, bool):
        return _sane(body_ms / 1000)
    header = str(headers.get("Retry-After", "")).strip()
    try:
        return _sane(float(header))
    except ValueError:
        pass
    try:
        at = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return _sane((at - datetime.now(UTC)).total_seconds())


def _sane(wait_s: float) -> float | None:
    return min(max(wait_s, 0.0), LONGEST_S) if math.isfinite(wait_s) else None


def _name(error: BaseException) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


_AGAIN: Final = "It is tried again."
_RENEWED: Final = "It is renewed where it can be; otherwise: headway matrix login"
