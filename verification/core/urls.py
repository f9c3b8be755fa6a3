"""URLs of servers that are several: PostgreSQL with its standbys, the sentinels of Valkey."""

import re
from urllib.parse import SplitResult, urlsplit

AUTHORITY = re.compile(r"(?P<before>[A-Za-z+]+://([^/?#]*@)?)(?P<hosts>[^/?#@]*)")


def split_hosts(url: str) -> tuple[SplitResult, list[str]]:
    """Return the parts of a URL, which name its first host alone, and all hosts, each with its port if it has one.

    `urlsplit` by itself takes a host that is an address of IPv6 for wrong, unless it is the first.
    Raises ValueError where the URL cannot be read.
    """
    authority = AUTHORITY.match(url)
    if authority is None:
        return urlsplit(url), [""]
    first, *others = authority["hosts"].split(",")
    return urlsplit(authority["before"] + first + url[authority.end() :]), [first, *others]
