"""What Slack refuses, by who must act."""

import json
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError

from adapters.slack.errors import LoggedOut, NotPermitted, cause, refusal, translated
from bot.errors import ByOperator, HeadwayError, OutcomeUnknown, Refused, Wait

WHAT = "The message cannot be sent"
CODES = json.loads(
    '["channel_not_found", "not_in_channel", "is_archived", "restricted_action", "msg_too_long",'
    ' "invalid_blocks", "message_not_found", "thread_not_found", "unknown_method"]'
)


class Answer:
    """An answer as slack_sdk gives it."""

    def __init__(self, status: int, data: Any, **headers: str) -> None:
        self.status_code, self.data = status, data
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def said(code: str, status: int = 200, **further: Any) -> Answer:
    return Answer(status, {"ok": False, "error": code, **further})


def _api_error(answer: Answer) -> SlackApiError:
    return SlackApiError("x", answer)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("code", CODES)
def test_a_refusal_has_slacks_own_code_and_says_what_happened(code: str) -> None:
    error = refusal(WHAT, said(code))

    assert isinstance(error, Refused)
    assert error.code == ("not_in_room" if code == "not_in_channel" else code)
    assert str(error).startswith(f"{WHAT}: ")


@pytest.mark.parametrize(
    ("answer", "wait_s"),
    [
        (Answer(429, {"ok": False, "error": "ratelimited"}, Retry_After="7"), 7),
        (Answer(429, {}, retry_after="7"), 7),
        (Answer(429, None), 30),
        (Answer(429, {}, Retry_After="soon"), 30),
        (Answer(429, {}, Retry_After="nan"), 30),
        (Answer(429, {}, Retry_After="-4"), 0),
        (Answer(429, {}, Retry_After="99999999"), 86_400),
        (said("ratelimited"), 30),
        (said("rate_limited"), 30),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(answer: Answer, wait_s: float) -> None:
    error = refusal(WHAT, answer)

    assert type(error) is Wait
    assert error.retry_after_s == wait_s


@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked", "account_inactive"])
def test_a_token_that_slack_does_not_know_is_for_the_operator(code: str) -> None:
    error = refusal(WHAT, said(code))

    assert isinstance(error, LoggedOut)
    assert isinstance(error, ByOperator)
    assert error.code == code


def test_a_missing_scope_is_named() -> None:
    error = refusal(WHAT, said("missing_scope", needed="files:write", provided="chat:write"))

    assert isinstance(error, NotPermitted)
    assert error.needed == "files:write"
    assert "files:write" in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        said("internal_error"), said("fatal_error"), said("service_unavailable", 503),
        Answer(502, {}), Answer(200, {}), Answer(200, None), Answer(200, {"ok": True}), {},
        Answer(200, {"ok": False}), Answer(200, {"error": 7, "ok": False}),
    ],
)  # fmt: skip
def test_what_slack_has_not_refused_in_its_own_words_may_be_done(answer: object) -> None:
    assert isinstance(refusal(WHAT, answer), OutcomeUnknown)


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_page_that_refuses_in_slacks_place_did_nothing(status: int) -> None:
    assert type(refusal(WHAT, Answer(status, {}))) is Wait


@pytest.mark.parametrize(
    ("raised", "may_be_done"),
    [
        (TimeoutError(), True),
        (aiohttp.ServerDisconnectedError(), True),
        (aiohttp.ClientOSError(104, "Connection reset by peer"), True),
        (aiohttp.ClientPayloadError(), True),
        (ValueError(), True),
        (RecursionError(), True),
        (_api_error(Answer(200, {})), True),
        (aiohttp.ConnectionTimeoutError(), False),
        (_api_error(said("ratelimited")), False),
    ],
)
def test_only_what_may_be_done_is_of_unknown_outcome(
    raised: BaseException, may_be_done: bool
) -> None:
    for posts in (True, False):
        with pytest.raises(Wait) as error, translated(WHAT, posts=posts):
            raise raised

        assert isinstance(error.value, OutcomeUnknown) is (may_be_done and posts)


def test_a_defect_is_seen() -> None:
    with pytest.raises(AttributeError), translated(WHAT):
        raise AttributeError("no such field", name="fields")


def test_a_cause_says_nothing_of_another_try() -> None:
    with pytest.raises(Wait) as error, translated(WHAT):
        raise TimeoutError

    assert cause(error.value) == f"{WHAT}: Slack did not answer in time."


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["ok", "error", "needed", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.integers(100, 599), JSON, st.text(max_size=10))
def test_whatever_is_answered_is_an_error_of_ours(status: int, body: Any, after: str) -> None:
    error = refusal(WHAT, Answer(status, body, Retry_After=after))

    assert isinstance(error, HeadwayError)
    assert str(error).startswith(WHAT)
