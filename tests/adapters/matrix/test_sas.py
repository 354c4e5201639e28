"""The arithmetic of a short authentication string, both sides of it played."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import vodozemac
from hypothesis import given
from hypothesis import strategies as st

from adapters.matrix.sas import MACS, Cancelled, Party, Sas

OURS, THEIRS = Party("@bot:x", "BOT"), Party("@ann:x", "ANN")
START: dict[str, Any] = {
    "from_device": "ANN",
    "method": "m.sas.v1",
    "key_agreement_protocols": ["curve25519-hkdf-sha256"],
    "hashes": ["sha256"],
    "message_authentication_codes": [*MACS],
    "short_authentication_string": ["decimal", "emoji"],
    "transaction_id": "t",
}
KNOWN = {"ed25519:ANN": "device key", "ed25519:MASTER": "MASTER"}


@pytest.mark.parametrize("offered", [[*MACS], [MACS[0]], [MACS[1]]])
def test_both_sides_agree_and_vouch(offered: list[str]) -> None:
    sas, tag = _met({**START, "message_authentication_codes": offered})

    sas.check(_macs(tag, KNOWN), KNOWN)

    assert sas.accept()["message_authentication_code"] == offered[0]
    assert len(sas.emoji) == 7
    assert all(1000 <= number <= 9191 for number in sas.numbers)


def test_of_the_strings_that_are_offered_those_that_are_known_are_taken() -> None:
    sas = Sas(OURS, THEIRS, "t", {**START, "short_authentication_string": ["decimal", "words"]})

    assert sas.accept()["short_authentication_string"] == ["decimal"]


def test_keys_that_nobody_knows_are_passed_over() -> None:
    sas, tag = _met(START)

    sas.check(_macs(tag, {**KNOWN, "ed25519:NEW": "a later key"}), KNOWN)


@pytest.mark.parametrize("missing", ["ed25519:ANN", "keys"])
def test_a_device_that_is_not_vouched_for_is_not_verified(missing: str) -> None:
    sas, tag = _met(START)
    content = _macs(tag, {key: value for key, value in KNOWN.items() if key != missing})
    content["keys"] = "" if missing == "keys" else content["keys"]

    with pytest.raises(Cancelled) as cancelled:
        sas.check(content, KNOWN)

    assert cancelled.value.code == "m.key_mismatch"


@pytest.mark.parametrize("key_id", [*KNOWN])
def test_another_key_than_the_one_vouched_for_is_found(key_id: str) -> None:
    sas, tag = _met(START)

    with pytest.raises(Cancelled) as cancelled:
        sas.check(_macs(tag, KNOWN), {**KNOWN, key_id: "a key of the server's"})

    assert cancelled.value.code == "m.key_mismatch"


def test_a_second_key_is_no_key_and_the_same_again_is_nothing() -> None:
    sas = Sas(OURS, THEIRS, "t", START)
    key = vodozemac.Sas().public_key.to_base64()

    assert sas.take_key(key)
    assert not sas.take_key(key)
    with pytest.raises(Cancelled) as cancelled:
        sas.take_key(vodozemac.Sas().public_key.to_base64())
    assert cancelled.value.code == "m.unexpected_message"


@given(st.dictionaries(st.sampled_from([*START]), st.none() | st.text() | st.lists(st.integers())))
def test_whatever_a_start_holds_it_is_taken_or_cancelled(odd: dict[str, Any]) -> None:
    with suppress(Cancelled):
        Sas(OURS, THEIRS, "t", START | odd).accept()


Tag = Callable[[str, str], str]


def _met(start: dict[str, Any]) -> tuple[Sas, Tag]:
    """The bot's side after the keys were exchanged, and the other side's MAC function."""
    sas, other = Sas(OURS, THEIRS, "t", start), vodozemac.Sas()
    sas.take_key(other.public_key.to_base64())
    agreed = other.diffie_hellman(vodozemac.Curve25519PublicKey.from_base64(sas.key))
    is_new = sas.accept()["message_authentication_code"] == MACS[0]
    return sas, agreed.calculate_mac if is_new else agreed.calculate_mac_invalid_base64


def _macs(tag: Tag, keys: dict[str, str]) -> dict[str, Any]:
    info = "MATRIX_KEY_VERIFICATION_MAC@ann:xANN@bot:xBOTt"
    return {
        "mac": {key_id: tag(key, info + key_id) for key_id, key in keys.items()},
        "keys": tag(",".join(sorted(keys)), info + "KEY_IDS"),
    }
