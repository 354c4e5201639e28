"""
The checks of Matrix: each names one cause for which the bot hears or says nothing there, and the mend.

Rule: the account is looked at from outside, and nothing is changed, there or here. What a running
process has by itself (its sync) is read from what it wrote.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Final, TypeVar

from adapters.matrix import look
from adapters.matrix.account import NEW_DEVICE, Account, Card
from adapters.matrix.crypto_store import check as check_store
from adapters.matrix.crypto_store import look as look_at_keys
from adapters.matrix.errors import AccountClosed, LoggedOut, NotMatrix, cause
from adapters.matrix.homeserver import Homeserver, Who
from bot.doctor.finding import Found, warning, wrong
from bot.errors import (
    HeadwayError,
    Refused,
    SecretsUnusable,
    StoreBusy,
    StoreUnusable,
    Wait,
)
from bot.ports.people import Register
from bot.settings import Settings
from bot.wiring import reading
from bot.wiring.keys import matrix_account
from scheduler.control import ask_owner

T = TypeVar("T")

LIMIT_S: Final = 30.0
SKEW_S: Final = 30.0
STALE_S: Final = 180.0
"""A sync takes 30 s at most: after six of them something is wrong."""
SHOWN: Final = 5


def account(settings: Settings) -> str:
    """Whether the account opens and the keys of its device are there.

    Raises:
        StoreUnusable, SecretsUnusable: as found, with the mend.
    """
    file = matrix_account(settings)
    found = file.read()
    if found is None:
        return f"none yet; the next start logs {settings.matrix_user} in, as the settings say"
    check_store(file.folder, found)
    if settings.matrix_user not in ("", found.user_id):
        raise warning(
            f"The account is {found.user_id}, and matrix_user says {settings.matrix_user}: the account "
            "counts. To change it: headway matrix login"
        )
    return f"{found.user_id}, device {found.device_id}"


def server(settings: Settings) -> str:
    """Whether the homeserver answers, and by the same clock."""
    url = _card(settings).homeserver

    async def asked() -> tuple[tuple[str, ...], float | None]:
        async with Homeserver.at(url) as server:
            versions = await server.versions()
        return versions, await look.clock_skew_s(url)

    try:
        versions, skew_s = _done(asked())
    except NotMatrix as error:
        raise wrong(
            f"What answers at {url} is no homeserver. Its address may have changed, or a proxy before "
            "it is set up wrongly. With another address: headway matrix login"
        ) from error
    except Wait as error:
        raise wrong(
            f"{cause(error)} Posts wait in order, and goals go "
            "on. Look whether it runs, and at the network."
        ) from error
    if skew_s is not None and abs(skew_s) > SKEW_S:
        how = "ahead of" if skew_s > 0 else "behind"
        raise warning(
            f"The homeserver's clock is {abs(skew_s):.0f} s {how} this machine's: times of messages "
            "are off, and a renewal of the session may come late. Set both by NTP."
        )
    newest = versions[-1] if versions else "of no version"
    return f"{url}, Matrix {newest}"


def session(settings: Settings) -> str:
    """Whether the token is valid, and that of our user and device."""
    found = _account(settings)
    if not found.access_token:
        raise wrong("The session was ended here. Begin it again: headway matrix login")
    try:
        who = _done(_whoami(found))
    except LoggedOut as error:
        raise _logged_out(settings, found) from error
    except AccountClosed as error:
        raise wrong(str(error)) from error
    except (Wait, Refused) as error:
        raise _after_the_server(error) from error
    if who.user_id != found.user_id or who.device_id not in ("", found.device_id):
        raise wrong(
            f"The token is that of {who.user_id} {who.device_id}, and the account that of "
            f"{found.user_id} {found.device_id}. Put the right account file back from a backup, or: "
            f"{NEW_DEVICE}"
        )
    if found.expires_at is None:
        return "valid until it is ended"
    if not found.refresh_token:
        raise warning(
            f"The session is valid until {_when(settings, found.expires_at)} and cannot be renewed "
            "but by a password. Set matrix_password."
        )
    return f"valid, renewed before {_when(settings, found.expires_at)}"


def device(settings: Settings) -> str:
    """Whether others can encrypt for the bot's device, and trust it."""
    found = _valid(settings)
    keys = look_at_keys(matrix_account(settings).folder, found)
    state = _asked(look.device_state(found, keys))
    if state == "other":
        raise wrong(
            f"The homeserver has other keys of the device {found.device_id} than this state folder: a "
            "copy of it is at work elsewhere, or this is an old one. Stop the copy and restore the "
            f"newest backup, or: {NEW_DEVICE}"
        )
    if state == "missing":
        raise warning(
            f"The homeserver has no keys of the device {found.device_id}: nothing encrypted can be read. "
            "The next start publishes them: headway run"
        )
    standing = _asked(look.signed(found))
    if standing.identity == "other":
        raise warning(
            f"{found.user_id} has an identity of another client: many clients do not talk to the bot's "
            "device. Take a user of the bot's own; or replace the identity, which warns whoever "
            "verified it: headway matrix login --reset-identity"
        )
    if not standing.is_signed:
        raise warning(
            "The bot's device is not signed by its owner: clients that exclude unsigned devices do not "
            "talk to it. Sign it: headway matrix login"
        )
    return "its keys are known, and signed by the bot's identity"


def sync(settings: Settings) -> str:
    """Whether the running process hears what is said."""
    running = _done(ask_owner(settings.state_dir, {"do": "status"}))
    if running is None:
        try:
            at = _done(_read_at(settings, _card(settings).user_id))
        except (StoreBusy, StoreUnusable):
            return "not looked at: the database comes first"
        return "no Headway runs" + (f"; heard until {_when(settings, at)}" if at else "")
    heard: dict[str, Any] = next(
        (one for one in running.get("connectors", ()) if one.get("network") == "matrix"), {}
    )
    if not heard:
        raise wrong(
            "The Headway that runs was started before there was a Matrix account: start it again."
        )
    last = heard.get("last_heard")
    age_s = time.time() - datetime.fromisoformat(last).timestamp() if last else None
    if not heard.get("up") or age_s is None or age_s > STALE_S:
        since = "since it started" if age_s is None else f"for {age_s:.0f} s"
        why = str(heard.get("trouble") or "Look at its log.")
        raise wrong(f"The Headway that runs has heard nothing from Matrix {since}. {why}")
    return f"heard {max(0.0, age_s):.0f} s ago"


def rooms(settings: Settings) -> str:
    """Whether the bot is in a room, and may speak there."""
    found = _asked(look.rooms(_valid(settings)))
    talking = [room for room in found.joined if not room.is_space]
    if not talking:
        raise warning(
            f"The bot is in no room. Invite {_card(settings).user_id} to one; it comes where somebody "
            "on the allow-list invites it."
        )
    if mute := [room.name or room.id for room in talking if room.is_mute]:
        raise wrong(
            f"The bot's power is too low to speak in {_some(mute)}. Raise it there (Element: room "
            "settings, roles and permissions), or lower what sending messages takes."
        )
    encrypted = sum(room.is_encrypted for room in talking)
    more = f" and {found.more} not looked at" if found.more else ""
    return f"{len(talking)} {'room' if len(talking) == 1 else 'rooms'}{more}, {encrypted} encrypted"


def people(settings: Settings) -> str:
    """Whether the allow-list lets anybody on Matrix in."""
    try:
        register = _done(_register(settings))
    except (StoreBusy, StoreUnusable):
        register = Register()
    entries = [entry for entry in register.entries if entry.subject.network == "matrix"]
    there = [one for one in entries if ("matrix", one.subject.id) not in register.gone]
    if not there:
        raise warning(
            "The allow-list matches nobody on Matrix: invitations are declined and nobody may start a "
            "goal. Let yourself in: headway allow add @you:example.org admin --network matrix"
        )
    admins = sum(entry.role == "admin" and entry.room is None for entry in there)
    return f"{len(there)} {'entry' if len(there) == 1 else 'entries'}, {admins} of an admin"


def _logged_out(settings: Settings, found: Account) -> Found:
    """What becomes of a session that is not valid now."""
    if found.refresh_token and found.expires_at is not None and found.expires_at < time.time():
        return warning("The session has run out; the next start renews it: headway run")
    if settings.matrix_password.get_secret_value():
        return warning(
            "The homeserver has ended the session; the Headway that runs, or the next one, begins it "
            "again with matrix_password."
        )
    return wrong(
        "The homeserver has ended the session. Begin it again, also while Headway runs: "
        "headway matrix login"
    )


def _account(settings: Settings) -> Account:
    found = _read(matrix_account(settings).read)
    if found is None:
        raise Found("skipped", "Not looked at: there is no account yet.")
    return found


def _card(settings: Settings) -> Card:
    found = _read(matrix_account(settings).card)
    if found is None:
        raise Found("skipped", "Not looked at: there is no account yet.")
    return found


def _read(look: Callable[[], T]) -> T:
    """What is looked up in the account file; what is wrong with that is said once, by `account`."""
    try:
        return look()
    except (StoreUnusable, SecretsUnusable) as error:
        raise Found("skipped", "Not looked at: the account comes first.") from error


def _valid(settings: Settings) -> Account:
    """The account, where its session can be asked with."""
    try:
        found = _account(settings)
        if not found.access_token:
            raise LoggedOut("There is no session.")
        _done(_whoami(found))
    except Found:
        raise
    except HeadwayError as error:
        raise Found("skipped", "Not looked at: the session comes first.") from error
    return found


def _asked(asking: Coroutine[Any, Any, T]) -> T:
    try:
        return _done(asking)
    except (Wait, Refused) as error:
        raise _after_the_server(error) from error


def _done(asking: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asking)


async def _whoami(account: Account) -> Who:
    async with Homeserver.at(account.homeserver) as server:
        return await server.whoami(account.access_token)


async def _register(settings: Settings) -> Register:
    async with reading(settings) as store:
        return await store.people.register()


async def _read_at(settings: Settings, user_id: str) -> float | None:
    async with reading(settings) as store:
        return await store.positions.read_at("matrix", user_id)


def _after_the_server(error: HeadwayError) -> Found:
    return Found("skipped", f"Not looked at: the homeserver comes first. {cause(error)}")


def _when(settings: Settings, at: float) -> str:
    return datetime.fromtimestamp(at, settings.tz).strftime("%d %b %H:%M")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
