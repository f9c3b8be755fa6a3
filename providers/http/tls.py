"""The verification of the other side: the machine's trusted roots, host names checked, TLS 1.2 or newer."""

from __future__ import annotations

import ssl
from functools import cache

import certifi


@cache
def context(protocol: str = "", kind: type[ssl.SSLSocket] = ssl.SSLSocket) -> ssl.SSLContext:
    """Return the verifying client context. Each ALPN ``protocol`` and each ``kind`` of socket has its own.

    It trusts the machine's own store (``SSL_CERT_FILE`` adds a private root). If the machine has none, as in a slim
    container, it trusts certifi's.
    """
    paths = ssl.get_default_verify_paths()
    bundle = None if paths.cafile or paths.capath else certifi.where()
    made = ssl.create_default_context(cafile=bundle)
    made.sslsocket_class = kind
    if protocol:
        made.set_alpn_protocols([protocol])
    return made
