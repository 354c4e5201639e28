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

import base64
import copy
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import nio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from adapters.matrix import crypto_store
from adapters.matrix.wire import Json, UserKeys, call, only_key, user_keys
from bot.errors import ByOperator, Refused

Approve = Callable[[str], Awaitable[None]]
"""Shows a web address to the person who logs the bot in, and returns once they approved there."""

SEED_BYTES: Final = 32
_OAUTH: Final = ("m.oauth", "org.matrix.cross_signing_reset")
"""MSC4312: stable since Matrix 1.17, and the name that homeservers used before."""
_UPLOAD: Final = "/keys/device_signing/upload"


class NotSigned(ByOperator):
    """The bot's device cannot be signed.

    `kind` is one of `taken` (the homeserver has another identity), `password` (it asks for one, or
    refuses it), `approval` (it wants a person in a browser), `unsupported`, `refused`.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Seeds:
    """The private keys of an identity, 32 bytes each."""

    master: bytes = field(repr=False)
    self_signing: bytes = field(repr=False)
    user_signing: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if {len(self.master), len(self.self_signing), len(self.user_signing)} != {SEED_BYTES}:
            raise ValueError("A seed has 32 bytes.")

    def as_text(self) -> str:
        """One line, to be sealed."""
        return " ".join(
            base64.b64encode(seed).decode()
            for seed in (self.master, self.self_signing, self.user_signing)
        )

    @classmethod
    def of_text(cls, text: str) -> "Seeds":
        """What `as_text` gave. Raises ValueError."""
        return cls(*(base64.b64decode(part, validate=True) for part in text.split(" ", 2)))


@dataclass(frozen=True, slots=True)
class Standing:
    """How the bot looks to others, as the homeserver has it."""

    identity: Literal["none", "ours", "other"]
    is_signed: bool
    """Its device is signed by its identity: clients that exclude unsigned devices talk to it."""


class Identity:
    """The keys of one user, and what they sign."""

    def __init__(self, user_id: str, seeds: Seeds) -> None:
        self._user_id = user_id
        self._master = Ed25519PrivateKey.from_private_bytes(seeds.master)
        self._self_signing = Ed25519PrivateKey.from_private_bytes(seeds.self_signing)
        self._user_signing = Ed25519PrivateKey.from_private_bytes(seeds.user_signing)

    @property
    def master_key(self) -> str:
        """The public master key, in unpadded base64."""
        return _public(self._master)

    def uploads(self) -> Json:
        """The body of an upload: the three public keys, the last two signed by the first."""
        return {
            "master_key": self._public_key("master", self._master),
            "self_signing_key": self._by_master("self_signing", self._self_signing),
            "user_signing_key": self._by_master("user_signing", self._user_signing),
        }

    def is_in(self, keys: UserKeys) -> bool:
        """Whether these are the keys that the homeserver has for us."""
        return (
            only_key(keys.master),
            only_key(keys.self_signing),
            only_key(keys.user_signing),
        ) == (
            _public(self._master),
            _public(self._self_signing),
            _public(self._user_signing),
        )

    def signed_device(self, device: Json) -> Json:
        """Device keys with our signature beside those that are there."""
        return _signed(device, self._user_id, _public(self._self_signing), self._self_signing)

    def _public_key(self, usage: str, key: Ed25519PrivateKey) -> Json:
        public = _public(key)
        return {"user_id": self._user_id, "usage": [usage], "keys": {f"ed25519:{public}": public}}

    def _by_master(self, usage: str, key: Ed25519PrivateKey) -> Json:
        return _signed(self._public_key(usage, key), self._user_id, self.master_key, self._master)


def new_seeds() -> Seeds:
    """Seeds of an identity that nobody has yet."""
    return Seeds(*(secrets.token_bytes(SEED_BYTES) for _ in range(3)))


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
    if _signatures(signed, client.user_id).items() <= _signatures(device, client.user_id).items():
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
    made = _signatures(identity.signed_device(device), client.user_id)
    is_signed = made.items() <= _signatures(device, client.user_id).items()
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
            consent = await _consent(client, answer.body, password, approve)
            again = body | {"auth": consent}
            answer = await call(client, "POST", _UPLOAD, again, what=what, is_interactive=True)
    except Refused as error:
        if error.code == "M_UNRECOGNIZED":
            raise _unsupported() from error
        raise NotSigned(
            f"The homeserver refuses the bot's identity ({error.code}). Ask whoever runs it.",
            kind="refused",
        ) from error
    if answer.status == 401:
        raise _not_convinced(answer.body)


async def _consent(
    client: nio.AsyncClient, asked: Json, password: str, approve: Approve | None
) -> Json:
    """What proves to the homeserver that the account's owner wants this."""
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


def _signed(thing: Json, user_id: str, key_id: str, key: Ed25519PrivateKey) -> Json:
    bare = {name: value for name, value in thing.items() if name not in ("signatures", "unsigned")}
    signature = _base64(key.sign(nio.Api.to_canonical_json(bare).encode()))
    there = _signatures(thing, user_id)
    return bare | {"signatures": {user_id: there | {f"ed25519:{key_id}": signature}}}


def _signatures(thing: Json, user_id: str) -> dict[str, str]:
    every = thing.get("signatures")
    of_user = every.get(user_id) if isinstance(every, dict) else None
    return of_user if isinstance(of_user, dict) else {}


def _public(key: Ed25519PrivateKey) -> str:
    return _base64(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode().rstrip("=")


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
        "Restore the folder that belongs to it, or log in as a new device: headway matrix login",
        kind="refused",
    )


def _unsupported() -> NotSigned:
    return NotSigned(
        "The homeserver has no cross-signing. Clients that exclude unsigned devices will not talk "
        "to the bot; others do.",
        kind="unsupported",
    )


def _not_convinced(asked: Json) -> NotSigned:
    if asked.get("errcode") == "M_FORBIDDEN":
        return NotSigned(
            "The homeserver refuses the password. Try again: headway matrix login", kind="password"
        )
    return NotSigned(
        "The homeserver still asks for consent. Approve it in the browser, and try again: "
        "headway matrix login",
        kind="approval",
    )
