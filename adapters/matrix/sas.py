"""
One short authentication string (m.sas.v1) with a device that started it, as arithmetic without IO.

nio 0.26 has a `Sas` of its own, which no other client can talk to: its commitment is in hexadecimal,
its MAC has the name of another one, and its emoji are read from the wrong bits. This one is over the
primitives that nio uses too, and follows Matrix 1.17, section "Short Authentication String".

Rule: whoever verifies is the other side, `start` comes from there. What does not fit ends it with a
`Cancelled` that carries the code for the wire.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import nio
import vodozemac
from nio.crypto import Sas as NioSas

Json = dict[str, Any]

METHOD: Final = "m.sas.v1"
AGREEMENT: Final = "curve25519-hkdf-sha256"
HASH: Final = "sha256"
MACS: Final = ("hkdf-hmac-sha256.v2", "hkdf-hmac-sha256")
"""In the order we like them. The older one has a base64 that is wrong and is what libolm made."""
STRINGS: Final = ("emoji", "decimal")


class Cancelled(Exception):
    """The verification ends here; `code` and the message go over the wire."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Party:
    """One side: a device of a user."""

    user_id: str
    device_id: str


class Sas:
    """One verification, from `start` to the MACs."""

    def __init__(self, ours: Party, theirs: Party, transaction: str, start: Json) -> None:
        """Raises Cancelled where `start` offers nothing that we speak."""
        self._ours = ours
        self._theirs = theirs
        self._transaction = transaction
        self._secret = vodozemac.Sas()
        self._start = start
        self._mac = _agreed_mac(start)
        self._their_key = ""
        self._established: vodozemac.EstablishedSas | None = None

    @property
    def key(self) -> str:
        """Our ephemeral public key."""
        return self._secret.public_key.to_base64()

    def accept(self) -> Json:
        """The content of `accept`: what was agreed on, and the commitment to our key."""
        offered = self._start["short_authentication_string"]
        committed = self.key + nio.Api.to_canonical_json(self._start)
        return {
            "method": METHOD,
            "key_agreement_protocol": AGREEMENT,
            "hash": HASH,
            "message_authentication_code": self._mac,
            "short_authentication_string": [kind for kind in STRINGS if kind in offered],
            "commitment": _base64(hashlib.sha256(committed.encode()).digest()),
        }

    def take_key(self, key: object) -> bool:
        """Take the other's ephemeral key; false where it is the one that we have already.

        Raises:
            Cancelled: it is none, or another one.
        """
        if self._established is not None:
            if key == self._their_key:
                return False
            raise Cancelled("m.unexpected_message", "A second key")
        try:
            other = vodozemac.Curve25519PublicKey.from_base64(str(key))
            self._established = self._secret.diffie_hellman(other)
        except ValueError as error:
            raise Cancelled("m.invalid_message", "The key is not one") from error
        self._their_key = str(key)
        return True

    @property
    def emoji(self) -> tuple[tuple[str, str], ...]:
        """The seven signs with their names, which the person compares."""
        return tuple(NioSas.emoji[index] for index in self._bytes().emoji_indices)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The three numbers, for clients that show no emoji."""
        return tuple(self._bytes().decimals)

    def check(self, content: Json, known: Mapping[str, str]) -> None:
        """Check the other's MACs.

        Args:
            content: of their `mac`.
            known: the keys that we know of them, by key id as in `ed25519:DEVICE`. The device's own
                must be among those that are vouched for; ids that we do not know are passed over.

        Raises:
            Cancelled: a MAC is missing or does not fit.
        """
        macs = content.get("mac")
        if not isinstance(macs, dict) or not all(isinstance(mac, str) for mac in macs.values()):
            raise Cancelled("m.invalid_message", "The MACs are not readable")
        info = self._mac_info(self._theirs, self._ours)
        if content.get("keys") != self._tag(",".join(sorted(macs)), info + "KEY_IDS"):
            raise Cancelled("m.key_mismatch", "The MAC of the key ids does not fit")
        if f"ed25519:{self._theirs.device_id}" not in known.keys() & macs.keys():
            raise Cancelled("m.key_mismatch", "The device's own key is not vouched for")
        for key_id in known.keys() & macs.keys():
            if macs[key_id] != self._tag(known[key_id], info + key_id):
                raise Cancelled("m.key_mismatch", "A MAC does not fit its key")

    def mac(self, keys: Mapping[str, str]) -> Json:
        """The content of our `mac` over keys by key id."""
        info = self._mac_info(self._ours, self._theirs)
        return {
            "mac": {key_id: self._tag(key, info + key_id) for key_id, key in keys.items()},
            "keys": self._tag(",".join(sorted(keys)), info + "KEY_IDS"),
        }

    def _bytes(self) -> "vodozemac.SasBytes":
        theirs, ours = self._theirs, self._ours
        return self._agreed().bytes(
            "MATRIX_KEY_VERIFICATION_SAS"
            f"|{theirs.user_id}|{theirs.device_id}|{self._their_key}"
            f"|{ours.user_id}|{ours.device_id}|{self.key}"
            f"|{self._transaction}"
        )

    def _mac_info(self, of: Party, to: Party) -> str:
        sides = f"{of.user_id}{of.device_id}{to.user_id}{to.device_id}"
        return f"MATRIX_KEY_VERIFICATION_MAC{sides}{self._transaction}"

    def _tag(self, text: str, info: str) -> str:
        agreed = self._agreed()
        if self._mac == MACS[0]:
            return agreed.calculate_mac(text, info)
        return agreed.calculate_mac_invalid_base64(text, info)

    def _agreed(self) -> vodozemac.EstablishedSas:
        if self._established is None:
            raise Cancelled("m.unexpected_message", "No key was sent yet")
        return self._established


def _agreed_mac(start: Json) -> str:
    """Raises Cancelled."""
    offers = {
        name: start.get(name)
        for name in (
            "key_agreement_protocols",
            "hashes",
            "message_authentication_codes",
            "short_authentication_string",
        )
    }
    if not all(isinstance(offer, list) for offer in offers.values()):
        raise Cancelled("m.invalid_message", "The start is not readable")
    mac = next((mac for mac in MACS if mac in start["message_authentication_codes"]), "")
    if (
        AGREEMENT not in start["key_agreement_protocols"]
        or HASH not in start["hashes"]
        or not mac
        or not any(kind in start["short_authentication_string"] for kind in STRINGS)
    ):
        raise Cancelled("m.unknown_method", "Nothing that is offered is spoken here")
    return mac


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode().rstrip("=")
