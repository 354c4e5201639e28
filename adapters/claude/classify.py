"""
What went wrong with a call, as one of our three classes: wait, the operator, the goal.

Rule 1: by the error's code, then its type, then its status, then its status family; never by its
        message text. The tables below are the whole of it, and they are total.
Rule 2: `maybe_served` is true whenever the request may have been processed and no whole answer came
        back: cut after sending, timed out, or an error event after the reply had begun. An error
        that the endpoint answered with was not served.
Rule 3: a time to wait is taken from `retry-after-ms`, then `retry-after` (seconds or HTTP date).
"""

import email.utils
import json
import ssl
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import aiohttp
import anthropic
import httpx2

from adapters.claude.fold import StreamError, Torn
from bot.errors import BadRequest, HeadwayError, ModelBusy, ModelRefusesUs

WAIT: Final = frozenset({"overload", "rate_limit", "timeout", "network"})
OPERATOR: Final = frozenset({"auth", "billing", "permission", "not_found"})

BY_CODE: Final[Mapping[str, str]] = {
    "contract_spend_limit_reached": "billing",
    "enforced_spend_limit_reached": "billing",
    "linked_organization_billing_unavailable": "billing",
    "linked_organization_spend_limit_reached": "billing",
    "user_profile_billing_not_authorized": "billing",
    "user_profile_not_billable": "billing",
    "organization_on_hold": "permission",
    "cmek_key_disabled": "permission",
    "cmek_key_network_blocked": "permission",
    "ramp_limit_exceeded": "rate_limit",
    "request_body_timeout": "network",
    "file_expired": "invalid_request",
    "thread_not_found": "invalid_request",
}
"""`error.details.error_code`, stable names of causes (SDK, `_error_classes.py`)."""

BY_TYPE: Final[Mapping[str, str]] = {
    "invalid_request_error": "invalid_request",
    "request_too_large": "invalid_request",
    "conflict_error": "invalid_request",
    "memory_precondition_failed_error": "invalid_request",
    "memory_path_conflict_error": "invalid_request",
    "authentication_error": "auth",
    "billing_error": "billing",
    "permission_error": "permission",
    "not_found_error": "not_found",
    "rate_limit_error": "rate_limit",
    "timeout_error": "timeout",
    "api_error": "overload",
    "overloaded_error": "overload",
}
"""`error.type` (SDK, `types/shared/error_type.py`; `request_too_large` from the API's error page)."""

BY_STATUS: Final[Mapping[int, str]] = {
    401: "auth",
    402: "billing",
    403: "permission",
    404: "not_found",
    407: "permission",
    408: "timeout",
    425: "overload",
    429: "rate_limit",
    499: "network",
    504: "timeout",
    524: "timeout",
    529: "overload",
}
"""Statuses that their family does not already say."""


_FOREIGN: Final = (
    Torn,
    StreamError,
    anthropic.AnthropicError,
    httpx2.HTTPError,
    httpx2.StreamError,
    httpx2.InvalidURL,
    aiohttp.ClientError,
    OSError,
    EOFError,
    UnicodeError,
    json.JSONDecodeError,
)

_UNSENT: Final = (
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientConnectorCertificateError,
)
"""No connection was made, so nothing was sent."""

_MENDS: Final[Mapping[str, str]] = {
    "overload": "It passes by itself; the call waits and is tried again.",
    "rate_limit": "It passes by itself; the call waits and is tried again.",
    "timeout": "It passes by itself; the call is made again.",
    "network": "Check the network and `base_url` if it lasts.",
    "auth": "Put a valid key in place; it is read again without a restart.",
    "billing": "Settle the account's billing or raise its spend limit.",
    "permission": "Give the key's workspace access, or use another key.",
    "not_found": "Set `model` (and `base_url`) to what the endpoint serves.",
    "invalid_request": "The request itself must change.",
}


_CERTIFICATE: Final = (
    "Check `base_url` and the clock; where a proxy or an authority of your own signs, name its "
    "certificate in SSL_CERT_FILE."
)


class _Answer(NamedTuple):
    status: int | None
    type: str | None
    code: str | None
    request_id: str | None
    text: str | None


def classify(error: BaseException, *, now: float, is_begun: bool = False) -> HeadwayError:
    """Our error for one of the SDK's, the transport's or the stream's.

    Args:
        error: what was raised while a request was sent or its reply read.
        now: seconds since the epoch, to read an HTTP date by.
        is_begun: the reply had begun to arrive.
    """
    if isinstance(error, anthropic.APIStatusError):
        return _of_answer(error, now=now, is_begun=is_begun)
    if isinstance(error, StreamError):
        return _of_stream(error.body, is_begun=is_begun)
    if isinstance(error, UnicodeEncodeError):
        return BadRequest(
            "The request holds text that UTF-8 cannot carry. Take the lone surrogates out of it.",
            kind="invalid_request",
        )
    is_credentials = isinstance(error, anthropic.CredentialsError)
    if is_credentials or _is_of_a_cloud(error) or _is_bare(error):
        return ModelRefusesUs(
            f"No credentials for the model endpoint ({type(error).__name__}). {_MENDS['auth']}",
            kind="auth",
        )
    return _of_network(error, is_begun=is_begun)


def is_foreign(error: BaseException, *, is_clouds: bool = False) -> bool:
    """True for what the SDK, the transport, a cloud's credentials or a torn stream may raise.

    Everything else that comes out of a call is a defect of ours and must be seen as one.

    Args:
        error: what was raised.
        is_clouds: the call is of a provider whose client looks for credentials by itself, and that
            says with a bare ValueError or RuntimeError that there are none.
    """
    return isinstance(error, _FOREIGN) or _is_of_a_cloud(error) or (is_clouds and _is_bare(error))


def kind_of(status: int | None, error_type: str | None = None, code: str | None = None) -> str:
    """The kind of an answered error: one of `WAIT`, `OPERATOR` or `invalid_request`."""
    if code is not None and code in BY_CODE:
        return BY_CODE[code]
    if error_type is not None and error_type in BY_TYPE:
        return BY_TYPE[error_type]
    if status is None or status < 300 or status >= 500:
        return BY_STATUS.get(status or 0, "overload")
    # A redirect that was not followed, like a 404, means that nothing is served at this address.
    return BY_STATUS.get(status, "not_found" if status < 400 else "invalid_request")


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds to wait by the answer's headers, or None when they say nothing usable."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        return seconds if 0 < seconds < float("inf") else None
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    if date is None:
        return None
    left = email.utils.mktime_tz(date) - now
    return left if left > 0 else None


def _of_answer(error: anthropic.APIStatusError, *, now: float, is_begun: bool) -> HeadwayError:
    answer = _Answer(
        error.status_code, error.type, error.error_code, error.request_id, error.api_message
    )
    wait = retry_after_s(error.response.headers, now=now)
    return _by_kind(answer, wait=wait, is_begun=is_begun)


def _of_stream(body: Mapping[str, Any], *, is_begun: bool) -> HeadwayError:
    error = body.get("error")
    said: Mapping[str, Any] = error if isinstance(error, dict) else {}
    details = said.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    answer = _Answer(200, said.get("type"), code, body.get("request_id"), said.get("message"))
    return _by_kind(answer, wait=None, is_begun=is_begun)


def _by_kind(answer: _Answer, *, wait: float | None, is_begun: bool) -> HeadwayError:
    kind = kind_of(answer.status, answer.type, answer.code)
    message = _say(answer, kind)
    if kind in OPERATOR:
        return ModelRefusesUs(message, kind=kind)
    if kind == "invalid_request":
        return BadRequest(message, kind=kind)
    return ModelBusy(message, kind=kind, retry_after_s=wait, maybe_served=is_begun)


def _of_network(error: BaseException, *, is_begun: bool) -> ModelBusy:
    kind = "timeout" if _is_timeout(error) else "network"
    unsent = not is_begun and _is_unsent(error)
    # Later, when something may have been served, it is a connection that was lost like any other.
    if unsent and any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
        return ModelBusy(
            "The model endpoint's certificate is not accepted here "
            f"({type(error).__name__}). {_CERTIFICATE}",
            kind="network",
        )
    if kind == "timeout":
        what = "The model endpoint did not answer in time"
    elif unsent:
        what = "The model endpoint could not be reached"
    else:
        what = "The connection to the model endpoint was lost before the reply was whole"
    return ModelBusy(
        f"{what} ({type(error).__name__}). {_MENDS[kind]}", kind=kind, maybe_served=not unsent
    )


def _say(answer: _Answer, kind: str) -> str:
    # The endpoint's sentence is shown, never read by us.
    known = (answer.type, answer.code, answer.request_id)
    named = ", ".join(part for part in (f"HTTP {answer.status}", *known) if isinstance(part, str))
    said = f": {answer.text[:300]}" if isinstance(answer.text, str) and answer.text else ""
    return f"The model endpoint answered {kind.replace('_', ' ')} ({named}){said}. {_MENDS[kind]}"


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, TimeoutError | anthropic.APITimeoutError | httpx2.TimeoutException)


def _is_unsent(error: BaseException) -> bool:
    chain = list(_causes(error))
    if any(isinstance(cause, _UNSENT) for cause in chain):
        return True
    # httpx's own transport says ConnectError for what never connected; the aiohttp one also says
    # it for a connection lost later, and then an aiohttp error is the cause.
    return any(isinstance(cause, httpx2.ConnectError) for cause in chain) and not any(
        isinstance(cause, aiohttp.ClientError) for cause in chain
    )


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__
    return found


def _is_of_a_cloud(error: BaseException) -> bool:
    """True for errors of the AWS and Google credential libraries, which need not be installed."""
    return type(error).__module__.partition(".")[0] in {"botocore", "google"}


def _is_bare(error: BaseException) -> bool:
    return type(error) in {ValueError, RuntimeError}
