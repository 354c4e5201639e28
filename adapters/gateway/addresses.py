"""
Which addresses are anybody's on the internet, and which are ours, our network's or the machine's.

Rule: an address that holds another one (mapped, 6to4, Teredo, NAT64) is refused whatever it holds: no
public name needs such a one, and what translates it may lead back inside.
"""

import ipaddress
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

_HOLDING: Final = (
    "::ffff:0:0/96",
    "::ffff:0:0:0/96",
    "::/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2001::/32",
    "2002::/16",
)
"""RFC 4291, 2765, 6052, 8215, 4380, 3056."""
_INSIDE: Final = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "100::/64",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "168.63.129.16/32",
)
"""IANA's registries of special-purpose addresses (RFC 6890), multicast, and Azure's host, which is public by its
number alone."""
_NETWORKS: Final = tuple(ipaddress.ip_network(each) for each in (*_HOLDING, *_INSIDE))


def why_not(address: str) -> str:
    """Why nothing is sent there; empty: it is public, and another machine's."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "no address that there is"
    if ip.version == 6 and ip.scope_id is not None:
        return "an address of one interface alone"
    if not ip.is_global or any(ip in network for network in _NETWORKS):
        return "a private or special address"
    if is_ours(address):
        return "an address of this machine itself"
    return ""


def is_ours(address: str) -> bool:
    """Whether an interface of this machine has it: nothing else lets itself be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as tried:
        tried.bind((address, 0))
        return True
    return False


def why_none(addresses: Sequence[str]) -> str:
    """Why nothing is sent to a name that has these; one that may not be is enough."""
    return next(filter(None, map(why_not, addresses)), "")
