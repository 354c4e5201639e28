"""The host that a TLS client greets, whatever its pieces are."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.gateway.hello import HELLO_MOST, NoHello, server_name


def hello(name: str | None) -> bytes:
    """What OpenSSL says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    out = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


def records(message: bytes, size: int) -> bytes:
    """A hello in records of so many bytes."""
    body = message[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(message[:3] + len(piece).to_bytes(2, "big") + piece for piece in pieces)


def test_it_says_the_name() -> None:
    assert server_name(hello("pypi.org")) == "pypi.org"


def test_one_without_a_name_says_none() -> None:
    assert server_name(hello(None)) == ""


@pytest.mark.parametrize(
    "name", [b"a\n<!channel>.b", b"evil\x00.exa", b"<@U123>.exam", b"a b c.exampl"]
)
def test_a_name_that_is_none_is_no_hello(name: bytes) -> None:
    usual = b"x" * len(name)

    with pytest.raises(NoHello):
        server_name(hello(usual.decode()).replace(usual, name))


def test_until_it_is_whole_more_is_awaited() -> None:
    whole = hello("pypi.org")

    assert {server_name(whole[:size]) for size in range(len(whole))} == {None}


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_in_many_records_it_says_the_same(size: int) -> None:
    assert server_name(records(hello("pypi.org"), size)) == "pypi.org"


@pytest.mark.parametrize(
    "seen",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\x16\x02\x01",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x80\x2e\x01",
    ],
)
def test_other_words_are_no_hello(seen: bytes) -> None:
    with pytest.raises(NoHello):
        server_name(seen)


def test_one_that_names_two_hosts_is_none() -> None:
    whole = hello("pypi.org")
    at = whole.index(b"pypi.org") - 9
    # The extension twice, with all lengths around it.
    twice = whole[at : at + 17]
    body = bytearray(whole[:at] + twice + whole[at:])
    for place, size in ((3, 2), (6, 3)):
        length = int.from_bytes(body[place : place + size], "big") + len(twice)
        body[place : place + size] = length.to_bytes(size, "big")
    extensions = _extensions_at(whole)
    length = int.from_bytes(body[extensions : extensions + 2], "big") + len(twice)
    body[extensions : extensions + 2] = length.to_bytes(2, "big")

    with pytest.raises(NoHello):
        server_name(bytes(body))


def test_endless_ones_are_given_up() -> None:
    piece = b"\x16\x03\x01\x40\x00" + b"\x01\x00\xff\x00" + bytes(0x4000 - 4)

    with pytest.raises(NoHello):
        server_name((piece * 8)[: HELLO_MOST + 1])


@given(st.data())
def test_a_broken_one_is_told_and_breaks_nothing(data: st.DataObject) -> None:
    whole = bytearray(hello("pypi.org"))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))

    try:
        server_name(bytes(whole))
    except NoHello:
        return


def _extensions_at(whole: bytes) -> int:
    at = 5 + 4 + 2 + 32
    at += 1 + whole[at]
    at += 2 + int.from_bytes(whole[at : at + 2], "big")
    return at + 1 + whole[at]
