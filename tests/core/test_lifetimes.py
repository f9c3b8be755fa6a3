"""The life of a session, of a verify token and of a channel's block: told alike wherever they cannot be imported."""

import re

import pytest

from tests.conftest import ROOT
from verification.core.session_rules import CHANNEL_BLOCK_SECONDS, SESSION_SECONDS, VERIFY_TOKEN_SECONDS

MINUTES = {1: "one minute", 2: "two minutes", 3: "three minutes", 5: "five minutes", 10: "ten minutes"}
SESSION_MINUTES = MINUTES[SESSION_SECONDS // 60]

# Where it is told, by what words (the number in brackets), how often, and what it must be.
PLACES = [
    (
        "verification/sql/records/count_figures.sql",
        r"v_session_lives constant interval := '(\d+) s",
        1,
        SESSION_SECONDS,
    ),
    (
        "verification/sql/protection/guard_sweep.sql",
        r"v_session_lives constant interval := '(\d+) s",
        1,
        SESSION_SECONDS,
    ),
    ("verification/sql/protection/guard_sweep.sql", r"v_since - interval '(\d+) seconds'", 1, SESSION_SECONDS),
    ("packages/watchword-verify/src/session.js", r"LIFE_SECONDS = (\d+);", 1, SESSION_SECONDS),
    ("verification/api/serializers/session.py", r"(\w+ minutes) after it was created", 1, SESSION_MINUTES),
    ("verification/api/reference/operations.py", r"session lives \*\*(\w+ minutes)\*\*", 1, SESSION_MINUTES),
    ("verification/core/error_codes.py", r"session's (\w+ minutes) have", 1, SESSION_MINUTES),
    ("packages/watchword-python/src/watchword/types.py", r"(\w+ minutes) after it was created", 2, SESSION_MINUTES),
    ("packages/watchword-js/src/schema.ts", r"(\w+ minutes) after it was created", 2, SESSION_MINUTES),
    ("docs/glossary.md", r"to its end (\d+) seconds later", 1, SESSION_SECONDS),
    ("docs/integrate.md", r"again within (\w+ minutes) returns", 1, SESSION_MINUTES),
    ("docs/guard.md", r"the (\d+) seconds that its session lives", 1, SESSION_SECONDS),
    ("docs/routing.md", r"whole session of (\d+) seconds", 1, SESSION_SECONDS),
    ("docs/security.md", r"A code lives (\d+) seconds", 1, SESSION_SECONDS),
    ("docs/upgrade.md", r"so (\w+ minutes) after the dump", 1, SESSION_MINUTES),
    (
        "providers/adapters/whatsapp_cloud.py",
        r"message_send_ttl_seconds(?:``)? (?:to )?at most (\d+)",
        2,
        SESSION_SECONDS,
    ),
    ("verification/api/serializers/session.py", r"session/verify within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("verification/api/reference/operations.py", r"works once, within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("verification/api/reference/overview.md", r"verify token, good for (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("verification/core/error_codes.py", r"verify token's (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-verify/watchword-verify.d.ts", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-python/src/watchword/async_client.py", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-js/src/client.ts", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/glossary.md", r"redeemed once, within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/integrate.md", r"verify token, good for (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/security.md", r"kept as a digest, lives (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("verification/sql/sessions/common_windows.sql", r"interval '(\d+) seconds'", 2, CHANNEL_BLOCK_SECONDS),
    ("verification/sql/sessions/common_windows.sql", r"^ +(\d+), ceil\(", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/sql/sessions/open_session.sql", r"jsonb_build_object\(v_channel, (\d+)\)", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/sql/sessions/send_code.sql", r"jsonb_build_object\(p_channel, (\d+)\)", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/api/reference/operations.py", r"(\d+)-second block", 3, CHANNEL_BLOCK_SECONDS),
    ("verification/core/error_codes.py", r"within the last (\d+) seconds", 2, CHANNEL_BLOCK_SECONDS),
    ("docs/glossary.md", r"the (\d+) seconds in which a channel sends no second", 1, CHANNEL_BLOCK_SECONDS),
]


@pytest.mark.parametrize(("place", "words", "times", "expected"), PLACES)
def test_each_place_tells_the_time_that_holds(place, words, times, expected):
    told = re.findall(words, (ROOT / place).read_text(), re.MULTILINE)
    assert [value.lower() for value in told] == [str(expected)] * times
