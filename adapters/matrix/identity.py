"""
A cross-signing identity: three Ed25519 keys, their seeds, and what they sign.

Rule: what is signed is signed as canonical JSON, without its signatures and what is `unsigned`.
"""

import base64
import secrets
from dataclasses import dataclass, field
from typing import Final

import nio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from adapters.matrix.wire import Json, UserKeys, only_key

SEED_BYTES: Final = 32


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
        return signed(device, self._user_id, _public(self._self_signing), self._self_signing)

    def _public_key(self, usage: str, key: Ed25519PrivateKey) -> Json:
        public = _public(key)
        return {"user_id": self._user_id, "usage": [usage], "keys": {f"ed25519:{public}": public}}

    def _by_master(self, usage: str, key: Ed25519PrivateKey) -> Json:
        return signed(self._public_key(usage, key), self._user_id, self.master_key, self._master)


def new_seeds() -> Seeds:
    """Seeds of an identity that nobody has yet."""
    return Seeds(*(secrets.token_bytes(SEED_BYTES) for _ in range(3)))


def signed(thing: Json, user_id: str, key_id: str, key: Ed25519PrivateKey) -> Json:
    """The thing with a signature of `key` beside those that the user has made of it."""
    bare = {name: value for name, value in thing.items() if name not in ("signatures", "unsigned")}
    signature = _base64(key.sign(nio.Api.to_canonical_json(bare).encode()))
    there = signatures(thing, user_id)
    return bare | {"signatures": {user_id: there | {f"ed25519:{key_id}": signature}}}


def signatures(thing: Json, user_id: str) -> dict[str, str]:
    """Those that a user has made, by key id."""
    every = thing.get("signatures")
    of_user = every.get(user_id) if isinstance(every, dict) else None
    return of_user if isinstance(of_user, dict) else {}


def _public(key: Ed25519PrivateKey) -> str:
    return _base64(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode().rstrip("=")
