"""Which addresses are never reached."""

import socket

import pytest

from adapters.gateway.addresses import is_ours, why_none, why_not

INSIDE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.8.9.1",
    "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1",
    "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "::127.0.0.1", "fe80::1",
    "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1",
    "64:ff9b::808:808", "64:ff9b:1::1", "2002:7f00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1", "100::1", "5f00::1",
    "localhost", "8.8.8", "0x7f000001", "2130706433", "",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_what_is_private_special_or_no_address_is_refused(address: str) -> None:
    assert why_not(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "151.101.0.223", "2606:4700::1111", "2a04:4e42::223"]
)
def test_what_is_public_is_not(address: str) -> None:
    assert why_not(address) == ""


def test_one_private_address_among_public_ones_is_enough() -> None:
    assert why_none(["8.8.8.8", "10.0.0.1"])


def test_an_address_of_this_machine_is_known_by_what_can_be_bound() -> None:
    assert is_ours("127.0.0.1")
    assert is_ours(socket.gethostbyname(socket.gethostname()))
    assert not is_ours("8.8.8.8")
