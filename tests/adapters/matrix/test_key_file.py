"""The file in which clients exchange room keys; nio's own reader is the other side."""

import base64

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nio.crypto.key_export import decrypt, encrypt

from adapters.matrix.key_file import FOOTER, HEADER, WrongPassphrase, locked, unlocked


@given(st.binary(max_size=300), st.text(min_size=1, max_size=40))
@settings(max_examples=30)
def test_what_was_locked_opens_with_its_passphrase_alone(data: bytes, passphrase: str) -> None:
    text = locked(data, passphrase, rounds=3)

    assert unlocked(text, passphrase) == data
    with pytest.raises(WrongPassphrase):
        unlocked(text, passphrase + "x")


def test_the_library_opens_what_we_lock_and_we_open_what_it_locks() -> None:
    ours = "".join(locked(b"[1]", "secret", rounds=10).splitlines()[1:-1])
    theirs = f"{HEADER}\n{encrypt(b'[2]', 'secret', count=10)}\n{FOOTER}"

    assert decrypt(ours, "secret") == b"[1]"
    assert unlocked(theirs, "secret") == b"[2]"


@given(st.integers(min_value=0, max_value=68 + 5 + 32), st.integers(1, 255))
@settings(max_examples=30)
def test_a_file_that_was_altered_anywhere_does_not_open(place: int, by: int) -> None:
    # More rounds take longer, and no more.
    assume(place not in range(33, 36))
    raw = bytearray(base64.b64decode("".join(locked(b"words", "p", rounds=1).splitlines()[1:-1])))
    raw[place % len(raw)] ^= by

    with pytest.raises(ValueError, match=r"^$|version|rounds"):
        unlocked(f"{HEADER}\n{base64.b64encode(raw).decode()}\n{FOOTER}", "p")


@given(st.text())
def test_what_is_no_file_of_keys_is_said_to_be_none(text: str) -> None:
    for each in (text, f"{HEADER}{text}{FOOTER}"):
        with pytest.raises(ValueError):  # noqa: PT011 - of whatever kind
            unlocked(each, "p")
