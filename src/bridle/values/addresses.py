"""Which addresses are on the public internet, and which texts are names of hosts."""

from __future__ import annotations

import ipaddress
import re

PRIVATE = "private_network"
"""The permission for what is not on the public internet."""
NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96"),
        *("fec0::/10", "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "100.64.0.0/10"),
    )
)
"""What stands for another address, or is public by name alone."""
HOST = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}(?::\d{1,5})?", re.IGNORECASE)


def is_public(number: str) -> bool:
    """Whether an address is one of the public internet; raises `ValueError` if it is none."""
    address = ipaddress.ip_address(number.partition("%")[0])
    if any(address in network for network in NOT_PUBLIC if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast


def is_host(text: str) -> bool:
    """Whether a text is the name of a host, with a dot in it and perhaps a port behind it."""
    return HOST.fullmatch(text) is not None


def is_private_name(host: str) -> bool:
    """Whether the name itself says that it is no public one."""
    try:
        return not is_public(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost", ".lan", ".home", ".corp"))
