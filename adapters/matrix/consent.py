"""
A consent that a homeserver asks for before it takes an identity (User-Interactive Authentication).

Only consents of one stage are given: the password; or a page in the browser where the account's owner
approves, at their account (OAuth, Matrix 1.17) or at the single sign-on. After it the same session is
enough.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import nio

from adapters.matrix.wire import Json
from bot.errors import ByOperator

Approve = Callable[[str], Awaitable[None]]
"""Shows a web address to the person who logs the bot in, and returns once they approved there."""

_OAUTH: Final = ("m.oauth", "org.matrix.cross_signing_reset")
"""MSC4312: stable since Matrix 1.17, and the name that homeservers used before."""


class NotSigned(ByOperator):
    """The bot's device cannot be signed.

    `kind` is one of `taken` (the homeserver has another identity), `password` (it asks for one, or
    refuses it), `approval` (it wants a person in a browser), `unsupported`, `refused`.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


async def consent(
    client: nio.AsyncClient, asked: Json, password: str, approve: Approve | None
) -> Json:
    """What proves to the homeserver that the account's owner wants this.

    Args:
        asked: the body of its 401.

    Raises:
        NotSigned: neither the password nor a browser will do.
    """
    flows = [flow.get("stages") for flow in asked["flows"] if isinstance(flow, dict)]
    session = asked.get("session")
    takes_password = ["m.login.password"] in flows
    if takes_password and password:
        identifier = {"type": "m.id.user", "user": client.user_id}
        return {
            "type": "m.login.password",
            "identifier": identifier,
            "password": password,
            "session": session,
        }
    address = _browser_address(client, asked, flows)
    if takes_password and not (address and approve):
        raise NotSigned(
            "The homeserver asks for the bot's password before it takes the bot's identity. "
            "Give it once, it is not kept: headway matrix login",
            kind="password",
        )
    if not address:
        raise NotSigned(
            "The homeserver asks for a consent that Headway cannot give. Ask whoever runs it to let "
            "the bot's account set up cross-signing by password, then: headway matrix login",
            kind="unsupported",
        )
    if approve is None:
        raise NotSigned(
            "The homeserver wants a person to approve the bot's identity in a browser. Run "
            f"headway matrix login in a terminal, and open {address}",
            kind="approval",
        )
    await approve(address)
    return {"session": session}


def not_convinced(asked: Json) -> NotSigned:
    """What to say where the consent was not enough; `asked` is the body of the second 401."""
    if asked.get("errcode") == "M_FORBIDDEN":
        return NotSigned(
            "The homeserver refuses the password. Try again: headway matrix login", kind="password"
        )
    return NotSigned(
        "The homeserver still asks for consent. Approve it in the browser, and try again: "
        "headway matrix login",
        kind="approval",
    )


def _browser_address(client: nio.AsyncClient, asked: Json, flows: list[Any]) -> str:
    """Where a person approves: at the account's page (OAuth), or at the single sign-on."""
    given = asked.get("params")
    params = given if isinstance(given, dict) else {}
    for stage in _OAUTH:
        of_stage = params.get(stage)
        if [stage] in flows and isinstance(of_stage, dict):
            return str(of_stage.get("url", ""))
    if ["m.login.sso"] in flows:
        session = asked.get("session", "")
        page = "/_matrix/client/v3/auth/m.login.sso/fallback/web"
        return f"{client.homeserver}{page}?session={session}"
    return ""
