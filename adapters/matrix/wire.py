"""
Calls of the client-server API that nio has no method for: cross-signing, and whole key queries.

Rule: what fails is raised as in errors.py. Only a 401 that asks for the user's consent
(User-Interactive Authentication) is an answer, and only where the caller says so.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

import nio

from adapters.matrix.errors import translated, unwrap
from bot.errors import Wait

Json = dict[str, Any]

CLIENT_API: Final = "/_matrix/client/v3"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and the JSON object that came with it."""

    status: int
    body: Json


@dataclass(frozen=True, slots=True)
class UserKeys:
    """The keys of a user as the homeserver tells them: whole signed objects, nothing checked."""

    devices: Json
    """Device id to its device keys."""
    master: Json
    self_signing: Json
    user_signing: Json
    """Empty where there is none; `user_signing` is told only to its owner."""


async def call(
    client: nio.AsyncClient,
    method: str,
    path: str,
    body: Json | None = None,
    *,
    what: str,
    is_interactive: bool = False,
    timeout_s: float | None = None,
) -> Answer:
    """One call.

    Args:
        path: below /_matrix/client/v3.
        what: what is tried, as in "The identity cannot be uploaded".
        is_interactive: a 401 with `flows` is an answer.
        timeout_s: until when the whole answer is there; None: as the client is configured.

    Raises:
        Wait, LoggedOut, AccountClosed, Refused: as `errors.unwrap`.
    """
    headers = {
        "Authorization": f"Bearer {client.access_token}",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body)
    with translated(what):
        response = await client.send(method, CLIENT_API + path, data, headers, timeout=timeout_s)
        async with response:
            raw = await response.read()
    said = _object(raw)
    if 200 <= response.status < 300 and said is not None:
        return Answer(response.status, said)
    if is_interactive and response.status == 401 and said and isinstance(said.get("flows"), list):
        return Answer(response.status, said)
    error = nio.ErrorResponse.from_dict(said or {})
    error.transport_response = response
    unwrap(error)
    raise Wait(f"{what}: the answer is unreadable. It is tried again.")


async def user_keys(client: nio.AsyncClient, user_id: str) -> UserKeys:
    """All keys of a user, asked for now. Raises as `call`."""
    wish: Json = {"device_keys": {user_id: []}}
    answer = await call(
        client, "POST", "/keys/query", wish, what=f"The keys of {user_id} cannot be read"
    )
    return UserKeys(
        _part(answer.body, "device_keys", user_id),
        _part(answer.body, "master_keys", user_id),
        _part(answer.body, "self_signing_keys", user_id),
        _part(answer.body, "user_signing_keys", user_id),
    )


def only_key(signed: Json) -> str:
    """The one public key of a cross-signing key object, or an empty text."""
    keys = signed.get("keys")
    values = [*keys.values()] if isinstance(keys, dict) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str) else ""


def _object(raw: bytes) -> Json | None:
    try:
        read = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _part(body: Json, kind: str, user_id: str) -> Json:
    of_all = body.get(kind)
    of_user = of_all.get(user_id) if isinstance(of_all, dict) else None
    return of_user if isinstance(of_user, dict) else {}
