"""
Logging in and out: how the account file comes about, changes its token, and goes.

Rule 1: the same user logs in on the device that is there. Another device is made only where there is
        none, or where that is asked for in so many words.
Rule 2: the account file is written last: killed before, there is no account, and it is done again.
Rule 3: a token whose device has keys of another program is refused: that program would break.
Rule 4: the password is used and forgotten.
"""

import contextlib
import logging
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import nio

from adapters.matrix import cross_signing, crypto_store
from adapters.matrix.account import Account, AccountFile
from adapters.matrix.cross_signing import Approve, Seeds
from adapters.matrix.errors import LoggedOut
from adapters.matrix.homeserver import Homeserver, Login, Who
from adapters.matrix.session import DEVICE_NAME, NoSession
from bot.errors import BadInput, ByOperator, HeadwayError, Refused

log = logging.getLogger(__name__)

UNOPENED: Final = "account.unopened.json"
"""What an account file that did not open is kept as, once another one takes its place."""


class WrongPassword(Refused):
    """The homeserver does not take the user with this password."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Who logs in, by a password or a token."""

    user: str = ""
    """A full user id or the localpart; not needed with a token."""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Done:
    """The account now. `is_new_device`: it has no past."""

    account: Account
    is_new_device: bool


async def named(homeserver: str, proof: Proof) -> Proof:
    """The proof with the full id of whom a token logs in.

    Raises:
        BadInput: the token is no use here.
        Wait, AccountClosed, Refused: as the homeserver says.
    """
    async with Homeserver.at(homeserver) as server:
        return replace(proof, user=(await _whose(server, proof)).user_id)


async def log_in(
    file: AccountFile,
    homeserver: str,
    proof: Proof,
    *,
    now: float,
    new_device: bool = False,
    is_first_secret: bool = False,
) -> Done:
    """Log in and keep the account.

    Args:
        homeserver: the URL of the client API.
        now: seconds since 1970.
        new_device: begin one even where the user has one here, or where the file does not open.
        is_first_secret: nothing is sealed yet, so that a key may be made.

    Raises:
        WrongPassword: as it says.
        BadInput: the token is no use here.
        StoreUnusable, SecretsUnusable: the account file that is there cannot be used or written.
        Wait, AccountClosed, Refused: as the homeserver says.
    """
    former = _former(file, new_device=new_device)
    async with Homeserver.at(homeserver) as server:
        login = await _login(server, proof, None if new_device else former)
        ends_at = None if login.lasts_s is None else now + login.lasts_s
        tokens = {
            "homeserver": server.url,
            "access_token": login.access_token,
            "refresh_token": login.refresh_token,
            "expires_at": ends_at,
        }
        if former is not None and _is_of(former, login):
            return Done(file.change(**tokens), is_new_device=False)
        try:
            account = Account(
                **{**tokens, "user_id": login.user_id, "device_id": login.device_id},  # type: ignore[arg-type]
                made_at=now,
                pickle_key=secrets.token_urlsafe(32),
                seeds=former.seeds if former and former.user_id == login.user_id else "",
            )
            crypto_store.make(file.folder, account)
            _set_aside(file)
            file.write(account, is_first_secret=is_first_secret)
            _drop_orphans(file, account)
        except HeadwayError:
            if proof.password:
                await _end(server, login.access_token)
            raise
    if former is not None:
        await forget(file.folder, former)
    return Done(account, is_new_device=True)


async def sign_in(
    file: AccountFile,
    *,
    password: str = "",
    approve: Approve | None = None,
    reset: bool = False,
) -> None:
    """Publish the device's keys and the bot's identity, and sign the one with the other.

    Raises:
        DeviceMismatch: the homeserver has other keys of the device.
        CryptoStoreBusy: another process works with the keys; it publishes them itself.
        NotSigned: others may not trust the device, with the mend.
        NoCryptoStore, StoreUnusable, SecretsUnusable: the account cannot be used.
        Wait, LoggedOut: as the homeserver says.
    """
    account = file.read()
    if account is None:
        raise NoSession("There is no Matrix account. Log in: headway matrix login")
    with crypto_store.owned(file.folder):
        client = crypto_store.open_client(file.folder, account)
        try:
            async with Homeserver.at(account.homeserver) as server:
                there = await server.device_keys(
                    account.access_token, account.user_id, account.device_id
                )
            await crypto_store.see_to_keys(client, there)
            await _publish(client, file, account, password=password, approve=approve, reset=reset)
        finally:
            await client.close()
            crypto_store.close(client)


async def log_out(file: AccountFile, *, keeps_keys: bool) -> bool:
    """End the session there and forget the account here; false where there the end is not known.

    Args:
        keeps_keys: the device stays here, without a token, and the next login goes on with it.

    Raises:
        StoreUnusable, SecretsUnusable: nothing was changed.
    """
    account = file.read()
    if account is None:
        return True
    is_ended = True
    if account.access_token:
        async with Homeserver.at(account.homeserver) as server:
            is_ended = await _end(server, account.access_token)
    if keeps_keys:
        file.change(access_token="", refresh_token="", expires_at=None)
        return is_ended
    file.remove()
    crypto_store.remove(file.folder, account.device_id)
    return is_ended


async def forget(folder: Path, former: Account) -> None:
    """End the session of an account that was replaced, and remove its keys."""
    async with Homeserver.at(former.homeserver) as server:
        await _end(server, former.access_token)
    with contextlib.suppress(OSError):
        crypto_store.remove(folder, former.device_id)


@dataclass(frozen=True, slots=True)
class SignsAgain:
    """As `session.Signing`: signs the device where the homeserver lost that, or it was never done."""

    file: AccountFile
    password: str = field(default="", repr=False)

    async def __call__(self, client: nio.AsyncClient, account: Account) -> None:
        """Sign it. Raises NotSigned and what the homeserver says."""
        await _publish(client, self.file, account, password=self.password)


async def _publish(
    client: nio.AsyncClient,
    file: AccountFile,
    account: Account,
    *,
    password: str = "",
    approve: Approve | None = None,
    reset: bool = False,
) -> None:
    seeds = Seeds.of_text(account.seeds) if account.seeds else cross_signing.new_seeds()
    if not account.seeds:
        # Kept before they are published: an identity without its seeds is lost.
        file.change(seeds=seeds.as_text())
    await cross_signing.publish(client, seeds, password=password, approve=approve, reset=reset)


def _former(file: AccountFile, *, new_device: bool) -> Account | None:
    """The account that is there. One that does not open is in the way, unless a new one is wanted."""
    try:
        former = file.read()
        if former is not None and not new_device:
            crypto_store.check(file.folder, former)
    except ByOperator:
        if not new_device:
            raise
        return None
    return former


async def _login(server: Homeserver, proof: Proof, former: Account | None) -> Login:
    if proof.token:
        return await _by_token(server, proof, former)
    device_id = f"HEADWAY{secrets.token_hex(4).upper()}"
    if former is not None and _is_same_user(former, server.url, proof.user):
        device_id = former.device_id
    try:
        login = await server.login(proof.user, proof.password, device_id, DEVICE_NAME)
    except Refused as error:
        if error.code != "M_FORBIDDEN":
            raise
        raise WrongPassword(
            "The homeserver does not take this user with this password. Mend one, or both.",
            code=error.code,
        ) from error
    return login


async def _whose(server: Homeserver, proof: Proof) -> Who:
    try:
        who = await server.whoami(proof.token)
    except LoggedOut as error:
        raise BadInput(
            "The homeserver does not know this token: it was ended, or is that of another homeserver. "
            "Give the token of a login that goes on, or a password."
        ) from error
    if proof.user not in ("", who.user_id, who.user_id.removeprefix("@").partition(":")[0]):
        raise BadInput(f"The token is that of {who.user_id}, and not of {proof.user}. Mend one.")
    return who


async def _by_token(server: Homeserver, proof: Proof, former: Account | None) -> Login:
    who = await _whose(server, proof)
    login = Login(proof.token, who.user_id, who.device_id)
    if not who.device_id:
        raise BadInput("The token belongs to no device. Give the token of a login, or a password.")
    is_former = former is not None and _is_of(former, login)
    if (
        not is_former
        and await server.device_keys(proof.token, who.user_id, who.device_id) is not None
    ):
        raise BadInput(
            f"The token belongs to the device {who.device_id}, whose keys another program has. Log the "
            "bot in by password, or give the token of a login that nobody uses."
        )
    return login


def _is_of(account: Account, login: Login) -> bool:
    return (account.user_id, account.device_id) == (login.user_id, login.device_id)


def _is_same_user(account: Account, homeserver: str, user: str) -> bool:
    if user.startswith("@"):
        return user == account.user_id
    localpart = account.user_id.removeprefix("@").partition(":")[0]
    return user == localpart and homeserver == account.homeserver


def _set_aside(file: AccountFile) -> None:
    """A file that does not open is kept: its key may turn up."""
    try:
        file.read()
    except ByOperator:
        with contextlib.suppress(OSError):
            file.path.replace(file.path.with_name(UNOPENED))


def _drop_orphans(file: AccountFile, account: Account) -> None:
    """Keys of logins that were killed before there was an account: nothing opens them."""
    if file.path.with_name(UNOPENED).exists():
        return
    mine = crypto_store.path_of(file.folder, account.device_id)
    for path in file.folder.glob(f"{crypto_store.PREFIX}*{crypto_store.SUFFIX}"):
        if path != mine:
            with contextlib.suppress(OSError):
                path.unlink()


async def _end(server: Homeserver, token: str) -> bool:
    try:
        await server.logout(token)
    except HeadwayError as error:
        log.warning("The former Matrix session cannot be ended: %s", error)
        return False
    return True
