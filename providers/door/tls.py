"""How we verify the other side: the machine's trusted roots, host names checked, TLS 1.2 or newer."""

from __future__ import annotations

import ssl
from functools import cache

import certifi


@cache
def context(protocol: str = "") -> ssl.SSLContext:
    """The verifying client context, one for each ALPN ``protocol`` because that name is a part of the
    context.

    The machine's own store is used (``SSL_CERT_FILE`` adds a private root); certifi's where the machine has
    none, as in a slim container.
    """
    paths = ssl.get_default_verify_paths()
    bundle = None if paths.cafile or paths.capath else certifi.where()
    made = ssl.create_default_context(cafile=bundle)
    if protocol:
        made.set_alpn_protocols([protocol])
    return made
