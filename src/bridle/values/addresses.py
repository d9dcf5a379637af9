"""Tells public from private network addresses and host names."""

from __future__ import annotations

import ipaddress
import re

PRIVATE = "private_network"
"""The permission for addresses outside the public internet."""
NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96"),
        *("fec0::/10", "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "100.64.0.0/10"),
    )
)
"""Networks whose addresses stand for other addresses, or that are public in name only."""
HOST = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}(?::\d{1,5})?", re.IGNORECASE)


def is_public(number: str) -> bool:
    """Return whether an IP address is on the public internet; raises `ValueError` if the text is no IP address."""
    address = ipaddress.ip_address(number.partition("%")[0])
    if any(address in network for network in NOT_PUBLIC if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast


def is_host(text: str) -> bool:
    """Return whether a text is a host name that contains a dot, optionally followed by a port."""
    return HOST.fullmatch(text) is not None


def is_private_name(host: str) -> bool:
    """Return whether a host is private judging by its name or IP address alone, without DNS."""
    try:
        return not is_public(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost", ".lan", ".home", ".corp"))
