"""Every error that a call can meet, and whose it is."""

import json
import ssl
from typing import Any, get_args

import aiohttp
import anthropic
import httpx2
import pytest
from anthropic import _exceptions
from anthropic._error_classes import ERROR_CLASSES
from anthropic.types.shared.error_type import ErrorType

from adapters.claude.classify import OPERATOR, WAIT, classify, is_foreign, kind_of
from adapters.claude.fold import Torn
from bot.errors import BadRequest, HeadwayError, ModelBusy, ModelRefusesUs

NOW = 1_760_000_000.0
REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/messages")


def answered(
    status: int,
    type: str | None = None,
    code: str | None = None,
    headers: dict[str, str] | None = None,
    of: type[anthropic.APIStatusError] = anthropic.APIStatusError,
) -> anthropic.APIStatusError:
    response = httpx2.Response(status, headers=headers, request=REQUEST)
    details = None if code is None else {"error_code": code}
    body = {"type": "error", "error": {"type": type, "message": "said", "details": details}}
    return of("text", response=response, body=body)


def every_class(root: type[BaseException]) -> list[type[BaseException]]:
    found = [root]
    for child in root.__subclasses__():
        found.extend(every_class(child))
    return found


def made(kind: type[BaseException]) -> BaseException:
    if issubclass(kind, anthropic.APIStatusError):
        status = getattr(kind, "status_code", 500)
        return answered(status if isinstance(status, int) else 500, of=kind)
    if issubclass(kind, anthropic.APIResponseValidationError):
        return kind(httpx2.Response(200, request=REQUEST), None)
    if issubclass(kind, anthropic.APITimeoutError):
        return kind(REQUEST)
    if issubclass(kind, anthropic.APIConnectionError):
        return kind(request=REQUEST)
    if issubclass(kind, anthropic.APIError):
        return kind("text", REQUEST, body=None)
    # A few take no text, or take more: what they hold is not looked at.
    return kind.__new__(kind)


@pytest.mark.parametrize("kind", every_class(_exceptions.AnthropicError), ids=lambda k: k.__name__)
def test_every_error_of_the_sdk_has_a_class(kind: type[BaseException]) -> None:
    ours = classify(made(kind), now=NOW)

    assert isinstance(ours, ModelBusy | ModelRefusesUs | BadRequest)
    assert is_foreign(made(kind))


@pytest.mark.parametrize("status", range(300, 600))
def test_every_status_has_a_class(status: int) -> None:
    ours = classify(answered(status), now=NOW)

    assert isinstance(ours, expected_of(status))
    assert not getattr(ours, "maybe_served", False)


def expected_of(status: int) -> type[HeadwayError]:
    if status in {401, 402, 403, 404, 407} or status < 400:
        return ModelRefusesUs
    if status in {408, 425, 429, 499} or status >= 500:
        return ModelBusy
    return BadRequest


@pytest.mark.parametrize("type", get_args(ErrorType))
@pytest.mark.parametrize("status", [200, 400, 500])
def test_every_error_type_has_a_kind_of_its_own_whatever_the_status(status: int, type: str) -> None:
    assert kind_of(status, type) == kind_of(None, type)


@pytest.mark.parametrize(("status", "code"), [key for key in ERROR_CLASSES if key[1]])
def test_every_error_code_has_a_class(status: int, code: str) -> None:
    ours = classify(answered(status, code=code), now=NOW)

    assert isinstance(ours, ModelBusy | ModelRefusesUs | BadRequest)


@pytest.mark.parametrize(
    ("status", "type", "code", "kind"),
    [
        (400, "invalid_request_error", None, "invalid_request"),
        (401, "authentication_error", None, "auth"),
        (402, "billing_error", None, "billing"),
        (403, "permission_error", None, "permission"),
        (404, "not_found_error", None, "not_found"),
        (404, "not_found_error", "file_expired", "invalid_request"),
        (409, "conflict_error", None, "invalid_request"),
        (413, "request_too_large", None, "invalid_request"),
        (422, None, None, "invalid_request"),
        (429, "rate_limit_error", None, "rate_limit"),
        (429, "rate_limit_error", "enforced_spend_limit_reached", "billing"),
        (400, "invalid_request_error", "organization_on_hold", "permission"),
        (500, "api_error", None, "overload"),
        (503, None, None, "overload"),
        (504, "timeout_error", None, "timeout"),
        (529, "overloaded_error", None, "overload"),
        (529, "overloaded_error", "compaction_unavailable", "overload"),
        (418, "a_type_of_the_future", "a_code_of_the_future", "invalid_request"),
        (599, "a_type_of_the_future", None, "overload"),
        (200, "overloaded_error", None, "overload"),
    ],
)
def test_an_answer_is_judged_by_code_then_type_then_status(
    status: int, type: str | None, code: str | None, kind: str
) -> None:
    ours = classify(answered(status, type, code), now=NOW)

    assert ours.kind == kind  # type: ignore[attr-defined]
    assert {"auth", "not_found"} <= OPERATOR
    assert isinstance(ours, ModelBusy) == (kind in WAIT)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 09 Oct 2025 08:53:50 GMT"}, 30.0),
        ({"retry-after": "Thu, 09 Oct 2025 08:53:10 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    ours = classify(answered(429, "rate_limit_error", headers=headers), now=NOW)

    assert isinstance(ours, ModelBusy)
    assert ours.retry_after_s == seconds


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def connection(cause: Exception) -> Exception:
    return caused(anthropic.APIConnectionError(request=REQUEST), cause)


def connector_error() -> aiohttp.ClientConnectorError:
    key: Any = aiohttp.client_reqrep.ConnectionKey("h", 1, False, True, None, None, None)
    return aiohttp.ClientConnectorError(key, OSError("refused"))


@pytest.mark.parametrize(
    ("error", "kind", "maybe_served"),
    [
        (connection(caused(httpx2.ConnectError(""), connector_error())), "network", False),
        (connection(httpx2.ConnectError("")), "network", False),
        (
            connection(caused(httpx2.ConnectError(""), aiohttp.ServerDisconnectedError())),
            "network",
            True,
        ),
        (connection(caused(httpx2.ReadError(""), ssl.SSLError("bad record"))), "network", True),
        (connection(httpx2.ProxyError("")), "network", False),
        (caused(anthropic.APITimeoutError(REQUEST), httpx2.ConnectTimeout("")), "timeout", False),
        (caused(anthropic.APITimeoutError(REQUEST), httpx2.ReadTimeout("")), "timeout", True),
        (httpx2.ReadTimeout(""), "timeout", True),
        (httpx2.ReadError(""), "network", True),
        (TimeoutError(), "timeout", True),
        (aiohttp.ClientPayloadError(), "network", True),
        (json.JSONDecodeError("", "", 0), "network", True),
        (Torn(""), "network", True),
        (OSError(""), "network", True),
    ],
)
def test_what_was_sent_without_a_whole_answer_may_have_been_served(
    error: Exception, kind: str, maybe_served: bool
) -> None:
    ours = classify(error, now=NOW)

    assert isinstance(ours, ModelBusy)
    assert (ours.kind, ours.maybe_served) == (kind, maybe_served)


def test_an_error_within_a_reply_that_had_begun_may_have_been_served() -> None:
    ours = classify(answered(200, "overloaded_error"), now=NOW, is_begun=True)

    assert isinstance(ours, ModelBusy)
    assert ours.maybe_served


def test_text_that_cannot_be_encoded_is_the_requests_own_fault() -> None:
    try:
        "\ud800".encode()
    except UnicodeEncodeError as error:
        ours = classify(error, now=NOW)

    assert isinstance(ours, BadRequest)


@pytest.mark.parametrize("error", [TypeError(), KeyError(), ZeroDivisionError(), RuntimeError()])
def test_a_defect_of_ours_is_nobody_elses(error: Exception) -> None:
    assert not is_foreign(error)


def test_a_message_says_what_happened_then_the_mend() -> None:
    ours = classify(answered(401, "authentication_error"), now=NOW)

    assert str(ours) == (
        "The model endpoint answered auth (HTTP 401, authentication_error): said. "
        "Put a valid key in place; it is read again without a restart."
    )
