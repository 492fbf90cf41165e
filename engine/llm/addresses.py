"""Which addresses a model may be asked at, where somebody who logged in entered one.

The server reaches machines that its visitors cannot. The name of a host is resolved once, checked,
and the request goes to the address that was checked: what a name server says next does not count.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

import httpx2

from engine.llm.endpoint_errors import RefusedError, TransientError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""Where all of IPv6 is that is routed on the internet; prefixes of local use, old and new ones,
and those that only stand for addresses of IPv4 lie outside."""
_RESERVED = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))
"""Reserved, and called global by some versions of :mod:`ipaddress`."""


def is_allowed(address: str, hosts: Collection[str]) -> bool:
    """Whether an operator named the host of a web address, or host and port.

    >>> is_allowed("http://localhost:8000/v1", ["localhost:8000"])
    True
    >>> is_allowed("http://localhost:22/v1", ["localhost:8000"])
    False
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").lower()
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    names = {host, f"[{host}]"} if ":" in host else {host}
    return any(one in names or one in {f"{name}:{port}" for name in names} for one in hosts)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet: not loopback, link-local, private, reserved
    or multicast, nor one of IPv6 that stands for such an address of IPv4.

    >>> [is_public(a) for a in ("93.184.216.34", "127.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0")]
    [True, False, False, False]
    """
    return _is_public(ipaddress.ip_address(address.partition("%")[0]))


def _is_public(ip: IPAddress) -> bool:
    if isinstance(ip, ipaddress.IPv6Address):
        inside = ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1])
        if ip in _NAT64:
            inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inside:
            return _is_public(inside)
        if ip not in _UNICAST:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in one for one in _RESERVED)


async def go_to_public_address(request: httpx2.Request) -> None:
    """Send a request to a public address of its host, whatever else the host's name leads to.

    Raises:
        RefusedError: its host has an address that is not public.
        TransientError: its host has none.
    """
    host = request.url.host
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, request.url.port, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        found = []
    addresses = [str(address[0]) for *_, address in found]
    if not addresses:
        raise TransientError(f"{host} cannot be found.", "Check the address.")
    if not all(map(is_public, addresses)):
        raise RefusedError(
            f"{host} is not an address on the internet, and with login no other is asked.",
            "Whoever runs SeedLens can name it in SEEDLENS_LLM_ALLOWED_HOSTS.",
        )
    if addresses[0] != host:  # the name stays in the Host header, and in what the certificate names
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=addresses[0])
