"""
The bot's cross-signing identity: a master, a self-signing and a user-signing key (Ed25519).

nio has none, and clients that follow Matrix's rule of 2026 neither write to nor show a device that
its owner has not signed.

Rule 1: an identity is made once. The caller keeps the seeds, sealed, *before* they are published: an
        identity whose seeds are lost can only be replaced, and then everybody is warned.
Rule 2: where the homeserver has another identity than ours, nothing is changed unless that is
        asked for in so many words.
Rule 3: what is signed is the device of our own crypto store, never what the homeserver says it is.
Rule 4: signing a device needs the seeds and no password, so that it can be done at every start.
"""

import copy
from dataclasses import dataclass
from typing import Final, Literal

import nio

from adapters.matrix import crypto_store
from adapters.matrix.account import NEW_DEVICE
from adapters.matrix.consent import Approve, NotSigned, consent, not_convinced
from adapters.matrix.identity import Identity, Seeds, new_seeds, signatures
from adapters.matrix.wire import Json, UserKeys, call, only_key, user_keys
from bot.errors import Refused

__all__ = [
    "Approve",
    "Identity",
    "NotSigned",
    "Seeds",
    "Standing",
    "new_seeds",
    "publish",
    "sign_device",
    "standing",
]

_UPLOAD: Final = "/keys/device_signing/upload"


@dataclass(frozen=True, slots=True)
class Standing:
    """How the bot looks to others, as the homeserver has it."""

    identity: Literal["none", "ours", "other"]
    is_signed: bool
    """Its device is signed by its identity: clients that exclude unsigned devices talk to it."""


async def publish(
    client: nio.AsyncClient,
    seeds: Seeds,
    *,
    password: str = "",
    approve: Approve | None = None,
    reset: bool = False,
) -> None:
    """Make these seeds the user's identity and sign the own device; harmless where they are.

    Args:
        password: the user's, for homeservers that ask for it. It is not kept.
        approve: for homeservers that want a person in a browser.
        reset: replace another identity. Whoever verified the old one is warned.

    Raises:
        NotSigned: with what the person who logs the bot in can do.
        Wait, LoggedOut: as `errors.unwrap`.
    """
    identity = Identity(client.user_id, seeds)
    keys = await user_keys(client, client.user_id)
    if not identity.is_in(keys):
        if only_key(keys.master) and not reset:
            raise _taken(client.user_id)
        await _upload(client, identity, password, approve)
    await sign_device(client, seeds)


async def sign_device(client: nio.AsyncClient, seeds: Seeds) -> bool:
    """Sign the own device where its signature is missing; true where it was.

    Raises:
        NotSigned: the homeserver has another identity or none, another device under our id, or
            refuses the signature.
        Wait, LoggedOut: as `errors.unwrap`.
    """
    identity = Identity(client.user_id, seeds)
    keys = await _keys_with_device(client)
    if not identity.is_in(keys):
        raise _taken(client.user_id) if only_key(keys.master) else _never_published()
    device = keys.devices[_device_id(client)]
    signed = identity.signed_device(_own(client, device))
    if signatures(signed, client.user_id).items() <= signatures(device, client.user_id).items():
        return False
    master = keys.master | {"signatures": {}}
    by_device = _by_device(client, master)
    objects = {_device_id(client): signed, identity.master_key: by_device}
    await _upload_signatures(client, objects)
    return True


async def standing(client: nio.AsyncClient, seeds: Seeds | None) -> Standing:
    """How others see the bot's device. Raises as `errors.unwrap`."""
    keys = await user_keys(client, client.user_id)
    if not only_key(keys.master):
        return Standing("none", is_signed=False)
    if seeds is None or not (identity := Identity(client.user_id, seeds)).is_in(keys):
        return Standing("other", is_signed=False)
    device = keys.devices.get(_device_id(client))
    if not isinstance(device, dict):
        return Standing("ours", is_signed=False)
    made = signatures(identity.signed_device(device), client.user_id)
    is_signed = made.items() <= signatures(device, client.user_id).items()
    return Standing("ours", is_signed=is_signed)


async def _upload(
    client: nio.AsyncClient, identity: Identity, password: str, approve: Approve | None
) -> None:
    """First without consent: homeservers ask for none where there was no identity (MSC3967)."""
    body = identity.uploads()
    what = "The identity cannot be uploaded"
    try:
        answer = await call(client, "POST", _UPLOAD, body, what=what, is_interactive=True)
        if answer.status == 401:
            given = await consent(client, answer.body, password, approve)
            again = body | {"auth": given}
            answer = await call(client, "POST", _UPLOAD, again, what=what, is_interactive=True)
    except Refused as error:
        if error.code == "M_UNRECOGNIZED":
            raise _unsupported() from error
        raise NotSigned(
            f"The homeserver refuses the bot's identity ({error.code}). Ask whoever runs it.",
            kind="refused",
        ) from error
    if answer.status == 401:
        raise not_convinced(answer.body)


async def _keys_with_device(client: nio.AsyncClient) -> UserKeys:
    """The user's keys, once the own device's are among them."""
    keys = await user_keys(client, client.user_id)
    if client.device_id in keys.devices:
        return keys
    if client.should_upload_keys:
        await crypto_store.upload_keys(client)
        keys = await user_keys(client, client.user_id)
    if client.device_id not in keys.devices:
        raise _other_device(_device_id(client))
    return keys


def _device_id(client: nio.AsyncClient) -> str:
    assert client.device_id
    return client.device_id


def _own(client: nio.AsyncClient, device: Json) -> Json:
    """The device's keys, where they are those of our own crypto store."""
    assert client.olm
    own = client.olm.account.identity_keys
    ours = {f"{kind}:{client.device_id}": own[kind] for kind in ("curve25519", "ed25519")}
    if device.get("keys") != ours:
        raise _other_device(_device_id(client))
    return device


def _by_device(client: nio.AsyncClient, key: Json) -> Json:
    """A key object signed by the device, so that who trusts the device can trust the identity."""
    assert client.olm
    bare = {name: value for name, value in key.items() if name not in ("signatures", "unsigned")}
    signature = client.olm.sign_json(copy.deepcopy(bare))
    return bare | {"signatures": {client.user_id: {f"ed25519:{client.device_id}": signature}}}


async def _upload_signatures(client: nio.AsyncClient, objects: Json) -> None:
    answer = await call(
        client,
        "POST",
        "/keys/signatures/upload",
        {client.user_id: objects},
        what="The device's signature cannot be uploaded",
    )
    failures = answer.body.get("failures")
    of_user = failures.get(client.user_id) if isinstance(failures, dict) else None
    if of_user and client.device_id in of_user:
        raise NotSigned(
            f"The homeserver refuses the signature of the bot's device ({of_user}). "
            "Log in anew: headway matrix login",
            kind="refused",
        )


def _taken(user_id: str) -> NotSigned:
    return NotSigned(
        f"{user_id} already has an identity that is not in this state folder, made by another "
        "client or lost with another folder. Restore that folder; or replace the identity, which "
        "warns whoever verified it: headway matrix login --reset-identity",
        kind="taken",
    )


def _never_published() -> NotSigned:
    return NotSigned(
        "The homeserver does not know the bot's identity. Publish it: headway matrix login",
        kind="refused",
    )


def _other_device(device_id: str) -> NotSigned:
    return NotSigned(
        f"The homeserver has other keys for the device {device_id} than this state folder. "
        f"Restore the folder that belongs to it, or log in as a new device: {NEW_DEVICE}",
        kind="refused",
    )


def _unsupported() -> NotSigned:
    return NotSigned(
        "The homeserver has no cross-signing. Clients that exclude unsigned devices will not talk "
        "to the bot; others do.",
        kind="unsupported",
    )
