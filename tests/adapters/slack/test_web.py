"""What comes over HTTP: only what Slack signed, within five minutes, reaches Bolt."""

import time
from collections.abc import Mapping
from urllib.parse import quote

import pytest
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier

from adapters.slack.paths import EVENTS_PATH
from adapters.slack.web import EventsDoor
from bot.ports.web import Answer, Request

KEY = "test-signing-key"


class Dispatched:
    """A Bolt that keeps what it is given."""

    def __init__(self, response: BoltResponse | None = None) -> None:
        self.bodies: list[Mapping[str, object]] = []
        self.response = response or BoltResponse(status=200, body="")

    async def __call__(self, request: AsyncBoltRequest) -> BoltResponse:
        """Keep it."""
        self.bodies.append(request.body)
        return self.response


def signed(
    body: bytes,
    more: Mapping[str, str] | None = None,
    *,
    at: float | None = None,
    key: str = KEY,
) -> Request:
    stamp = f"{time.time() if at is None else at:.0f}"
    signature = SignatureVerifier(key).generate_signature(timestamp=stamp, body=body) or ""
    headers = {
        "content-type": "application/json",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": signature,
        **(more or {}),
    }
    return Request("POST", EVENTS_PATH, "", headers, body)


async def asked(request: Request, dispatch: Dispatched, *, is_served: bool = True) -> Answer:
    return await EventsDoor(dispatch, KEY, lambda: is_served)(request)


async def test_what_slack_signed_reaches_bolt_and_its_answer_goes_back() -> None:
    dispatch = Dispatched(BoltResponse(status=200, body={"response_action": "clear"}))

    answer = await asked(signed(b'{"type": "event_callback"}'), dispatch)

    assert dispatch.bodies == [{"type": "event_callback"}]
    assert (answer.status, answer.body) == (200, b'{"response_action": "clear"}')
    assert answer.kind == "application/json;charset=utf-8"


async def test_a_form_is_read_as_slack_sends_commands_and_buttons() -> None:
    dispatch = Dispatched()
    form = {"content-type": "application/x-www-form-urlencoded"}
    payload = quote('{"type":"block_actions"}')

    await asked(signed(b"command=%2Fgoal&text=status", form), dispatch)
    await asked(signed(f"payload={payload}".encode(), form), dispatch)

    assert dispatch.bodies == [{"command": "/goal", "text": "status"}, {"type": "block_actions"}]


@pytest.mark.parametrize(
    "request_",
    [
        Request("POST", EVENTS_PATH, "", {}, b"{}"),
        signed(b"{}", key="another-key"),
        signed(b"{}", at=time.time() - 301),
        signed(b"{}", at=time.time() + 900),
        signed(b"{}", {"x-slack-request-timestamp": "now"}),
        signed(b"{}", {"x-slack-request-timestamp": "9" * 400}),
        signed(b"{}", {"x-slack-request-timestamp": "-1"}),
        signed(b"{}", {"x-slack-signature": "v0=\u00e9"}),
        Request("POST", EVENTS_PATH, "", dict(signed(b"{}").headers), b'{"type":"other"}'),
        Request("POST", EVENTS_PATH, "", dict(signed(b"{}").headers), b"\xff"),
    ],
    ids=["unsigned", "other key", "old", "ahead", "no time", "long time", "negative time",
         "odd signature", "other body", "no text"],
)  # fmt: skip
async def test_what_slack_did_not_sign_is_refused_before_it_is_read(request_: Request) -> None:
    dispatch = Dispatched()

    answer = await asked(request_, dispatch)

    assert (answer.status, dispatch.bodies) == (401, [])


@pytest.mark.parametrize("body", [b"{", b"[1]", b"[" * 100_000, b'{"a":' * 50_000])
async def test_what_is_signed_and_no_payload_is_a_bad_request(body: bytes) -> None:
    dispatch = Dispatched()

    answer = await asked(signed(body), dispatch)

    assert (answer.status, dispatch.bodies) == (400, [])


async def test_a_process_that_does_not_serve_the_app_leaves_it_to_the_next_try() -> None:
    dispatch = Dispatched()

    answer = await asked(signed(b"{}"), dispatch, is_served=False)

    assert (answer.status, answer.headers) == (503, (("Retry-After", "1"),))
    assert dispatch.bodies == []


async def test_what_bolt_could_not_store_is_sent_again() -> None:
    answer = await asked(signed(b"{}"), Dispatched(BoltResponse(status=500, body="")))

    assert answer.status == 500


async def test_a_wrong_clock_and_a_wrong_key_are_told_once_and_a_stranger_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dispatch = Dispatched()
    door = EventsDoor(dispatch, KEY, lambda: True)
    body = b'{"type": "event_callback"}'

    for _ in range(3):
        await door(Request("POST", EVENTS_PATH, "", {}, body))
    nothing = list(caplog.messages)
    for _ in range(3):
        await door(signed(body, at=time.time() - 600))
        await door(signed(body, key="of another app"))

    assert nothing == []
    assert [("clock" in said, "slack_signing_key" in said) for said in caplog.messages] == [
        (True, False),
        (False, True),
    ]
    assert "signed 600 s from now" in caplog.messages[0]
    assert dispatch.bodies == []
