"""
Sealing: AES-256-GCM with a random nonce of 96 bits (NIST SP 800-38D, section 8.2.2).

Rule: kind, name and hosts are the associated data, so that a sealed value opens in its own row alone,
and for the hosts that it was given for.
"""

import base64
import binascii
import json
import os
from typing import TYPE_CHECKING, Final

from adapters.keys.key import Key, new_key
from adapters.keys.source import KeySource
from bot.errors import SecretsUnusable
from bot.ports.secrets import Named, Sealed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES: Final = 12
_VERSION: Final = "1."


class KeySealing:
    """Port Sealing, over keys of one source. The keys are read anew each time: that is rare."""

    def __init__(self, source: KeySource) -> None:
        self._source = source

    def seal(self, of: Named, value: str, *, is_first: bool = True) -> Sealed:
        """Seal under the newest key; where nothing else is sealed, make one. Raises SecretsUnusable."""
        key = (self._source.read() or self._made(is_first))[0]
        nonce = os.urandom(NONCE_BYTES)
        raw = _cipher(key).encrypt(nonce, value.encode("utf-8", "surrogatepass"), _bound(of))
        return Sealed(key.id, _VERSION + base64.b64encode(nonce + raw).decode("ascii"))

    def unseal(self, of: Named, text: str) -> str:
        """The value. Raises SecretsUnusable."""
        from cryptography.exceptions import InvalidTag

        key = self._key(of)
        try:
            if not text.startswith(_VERSION):
                raise ValueError(text[:2])
            raw = base64.b64decode(text.removeprefix(_VERSION), validate=True)
            nonce, sealed = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
            value = _cipher(key).decrypt(nonce, sealed, _bound(of))
            return value.decode("utf-8", "surrogatepass")
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise SecretsUnusable(
                f"The {of.kind} {of.name} does not open: its row was altered, or moved here from "
                f"another one. Set it again: {_again(of)}"
            ) from error

    def add_key(self) -> str:
        """Make a key that is the newest. Raises SecretsUnusable."""
        key = new_key()
        self._source.write((key, *self._source.read()))
        return key.id

    def drop_keys(self, keep: frozenset[str]) -> None:
        """Forget every key but the newest and those of `keep`. Raises SecretsUnusable."""
        keys = self._source.read()
        left = [key for place, key in enumerate(keys) if place == 0 or key.id in keep]
        if len(left) < len(keys):
            self._source.write(left)

    def _made(self, is_first: bool) -> tuple[Key, ...]:
        if not is_first:
            # A new key would stand where the right one belongs.
            raise SecretsUnusable(
                "The key file is not there, and other secrets are sealed under its key. Put it "
                "back: `headway secret list` names the key. If it is lost, make a new one "
                "(mode 600; head -c 32 /dev/urandom | base64) and set the secrets again."
            )
        return self._source.make()

    def _key(self, of: Named) -> Key:
        keys = self._source.read()
        for key in keys:
            if key.id == of.key_id:
                return key
        there = ", ".join(key.id for key in keys) or "none"
        raise SecretsUnusable(
            f"The {of.kind} {of.name} is sealed under the key {of.key_id}, which is not there "
            f"(there is: {there}). Put that key into the key file. If it is lost, set again what "
            f"`headway secret list` shows under it: {_again(of)}"
        )


def _cipher(key: Key) -> "AESGCM":
    # Loading it takes a thirtieth of a second, and most commands open nothing.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key.raw)


def _bound(of: Named) -> bytes:
    return json.dumps([of.kind, of.name, list(of.hosts)], ensure_ascii=True).encode("ascii")


def _again(of: Named) -> str:
    if of.kind == "secret":
        return f"headway secret set {of.name}"
    if of.name.startswith("matrix"):
        return "headway matrix login --new-device"
    network, _, workspace = of.name.partition(":")
    if network == "slack" and workspace:
        return f"headway slack forget {workspace}, and install the app there again"
    return "headway init"
