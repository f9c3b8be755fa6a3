"""The life of a session, of a verify token and of a channel's block: told alike wherever they cannot be imported."""

import re

import pytest

from tests.conftest import ROOT
from verification.core.session_rules import (
    CHANNEL_BLOCK_SECONDS,
    LONGEST_SESSION_SECONDS,
    SESSION_SECONDS,
    SHORTEST_SESSION_SECONDS,
    VERIFY_TOKEN_SECONDS,
)
from verification.models.channels import MAX_FALLBACK_WAIT_SECONDS, SECONDS_AFTER_FALLBACK

MINUTES = {1: "one minute", 2: "two minutes", 3: "three minutes", 5: "five minutes", 10: "ten minutes"}
SESSION_MINUTES = MINUTES[SESSION_SECONDS // 60]

# Where it is told, by what words (the number in brackets), how often, and what it must be.
PLACES = [
    ("verification/sql/sessions/common_session_state.sql", r"interval '(\d+) seconds'", 1, LONGEST_SESSION_SECONDS),
    ("packages/watchword-verify/src/session.js", r"LIFE_SECONDS = (\d+);", 1, SESSION_SECONDS),
    ("packages/watchword-verify/src/session.js", r"LONGEST_SECONDS = (\d+);", 1, LONGEST_SESSION_SECONDS),
    ("packages/watchword-js/src/schema.ts", r"session lasts \*\*(\d+) minutes\*\*", 1, SESSION_SECONDS // 60),
    ("docs/configuration-file.md", r"^      session_seconds: (\d+)", 1, SESSION_SECONDS),
    ("docs/delivery.md", r"session ends (\d+) seconds after", 1, SESSION_SECONDS),
    ("docs/delivery.md", r"own `session_seconds`, from (\d+) to", 1, SHORTEST_SESSION_SECONDS),
    ("docs/delivery.md", r"own `session_seconds`, from \d+ to (\d+)", 1, LONGEST_SESSION_SECONDS),
    ("docs/delivery.md", r"in seconds \(\d+ to (\d+);", 1, MAX_FALLBACK_WAIT_SECONDS),
    ("docs/delivery.md", r"the\s+session's\s+last\s+(\d+)\)", 1, SECONDS_AFTER_FALLBACK),
    ("docs/guard.md", r"by default once it is older than (\d+)", 1, SESSION_SECONDS),
    ("docs/from-firebase.md", r"after (\w+ minutes) or the project's `session_seconds`", 1, SESSION_MINUTES),
    ("docs/from-otpgateway.md", r"`session_seconds` of the project, by default (\w+ minutes)", 1, SESSION_MINUTES),
    ("docs/from-twilio.md", r"verification lives for (\w+ minutes)", 1, SESSION_MINUTES),
    ("docs/from-vonage.md", r"ends by itself, after (\w+ minutes) by default", 1, SESSION_MINUTES),
    ("docs/glossary.md", r"to its end, by default (\d+) seconds later", 1, SESSION_SECONDS),
    ("docs/routing.md", r"is not has lost (\d+) seconds", 1, SESSION_SECONDS),
    ("docs/providers/httpsms.md", r"your codes do \((\w+ minutes) unless", 1, SESSION_MINUTES),
    ("docs/runbook.md", r"codes expire, by default after (\w+ minutes)", 1, SESSION_MINUTES),
    ("docs/security.md", r"A code lives (\d+) seconds", 1, SESSION_SECONDS),
    ("docs/security.md", r"as long as the project has set, at most (\d+)", 1, LONGEST_SESSION_SECONDS),
    ("docs/upgrade.md", r"so (\d+) minutes after the dump", 1, LONGEST_SESSION_SECONDS // 60),
    ("docs/providers/whatsapp_cloud.md", r"\[(\d+) by default\]", 1, SESSION_SECONDS),
    ("providers/adapters/whatsapp_cloud.py", r"default (\d+)", 2, SESSION_SECONDS),
    ("providers/adapters/whatsapp_cloud.py", r"the template's usual (\d+)", 1, SESSION_SECONDS),
    ("verification/api/reference/overview.md", r"verify token, valid for (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-verify/watchword-verify.d.ts", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-python/src/watchword/async_client.py", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-js/src/client.ts", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/glossary.md", r"redeemed once, within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/integrate.md", r"verify token, valid for (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/security.md", r"kept as a digest, lives (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("verification/sql/sessions/common_windows.sql", r"interval '(\d+) seconds'", 2, CHANNEL_BLOCK_SECONDS),
    ("verification/sql/sessions/common_windows.sql", r"^ +(\d+), ceil\(", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/sql/sessions/open_session.sql", r"jsonb_build_object\(v_channel, (\d+)\)", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/sql/sessions/send_code.sql", r"jsonb_build_object\(p_channel, (\d+)\)", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/api/reference/overview.md", r"a (\d+)-second cooldown", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/services/records/decisions.py", r"Resent within (\d+) seconds", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/services/records/decisions.py", r"same channel within (\d+) seconds", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/services/records/decisions.py", r"one code every (\d+) seconds", 1, CHANNEL_BLOCK_SECONDS),
    ("verification/services/analytics/timeline/diagnosis.py", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("README.md", r"(\d+) seconds\s+and\s+works\s+once", 1, VERIFY_TOKEN_SECONDS),
    ("docs/component.md", r"`verify_token` \((\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/flow.svg", r"verify token, (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/from-firebase.md", r"token is good for (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/hosted-page.md", r"redeems\s+the\s+token\s+within\s+(\d+)\s+seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/integrate.md", r"works once and within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("docs/integrate.md", r"within the token's (\d+) seconds the same answer", 1, VERIFY_TOKEN_SECONDS),
    ("docs/security.md", r"within its (\d+) seconds; this is documented", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-js/src/schema.ts", r"^ +\*     (\d+) seconds\. With another key", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-python/src/watchword/client.py", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-python/src/watchword/types.py", r"within (\d+) seconds", 1, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-js/src/schema.ts", r"within (\d+) seconds", 2, VERIFY_TOKEN_SECONDS),
    ("packages/watchword-js/src/schema.ts", r"(\d+)-second cooldown", 3, CHANNEL_BLOCK_SECONDS),
    ("docs/component.md", r"before its (\d+) seconds are over", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/delivery.md", r"(\d+)-second block", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/from-twilio.md", r"within the last (\d+) seconds", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/from-vonage.md", r"sends nothing within (\d+) seconds", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/integrate.md", r"within the last (\d+) seconds", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/manual-sends.md", r"The (\d+) seconds between two codes", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/testing.md", r"the (\d+) seconds between two sends", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/from-twilio.md", r"second start within (\d+) seconds over the same channel", 1, CHANNEL_BLOCK_SECONDS),
    ("docs/glossary.md", r"the (\d+) seconds in which a channel sends no second", 1, CHANNEL_BLOCK_SECONDS),
]

# Times of the same length that are other facts.
OTHERS = [
    ("docs/figures.md", r"gets out within (three minutes)"),  # an outage
    ("docs/operate.md", r"three lost within\s+(three minutes)"),  # an outage
    ("docs/security.md", r"(?:_after_|test_)\w*(180)"),  # names of tests
    ("providers/adapters/telegram_gateway.py", r"(60) seconds"),
    ("verification/core/session_rules.py", r"SESSION_SECONDS: Final = (180)"),
    ("verification/services/notifications/alerts.py", r"LEASE = timedelta\(seconds=(180)\)"),
    ("verification/services/sessions/bot_updates.py", r"key\[:(180)\]"),
]
TEXTS = (
    *(
        "README.md",
        "docs/**/*.md",
        "docs/*.svg",
        "verification/**/*.py",
        "verification/**/*.sql",
        "verification/**/*.md",
    ),
    *("providers/**/*.py", "packages/*/src/**/*.*s", "packages/*/src/**/*.py", "packages/*/*.d.ts"),
)
SAME_WORDS = re.compile(r"\b(?:180|three[ -]minutes?|60(?=[ -]seconds?))\b", re.IGNORECASE)


@pytest.mark.parametrize(("place", "words", "times", "expected"), PLACES)
def test_each_place_tells_the_time_that_holds(place, words, times, expected):
    told = re.findall(words, (ROOT / place).read_text(), re.MULTILINE)
    assert [value.lower() for value in told] == [str(expected)] * times


def test_no_other_place_tells_one():
    """A place that tells a lifetime and is in no list above would not be found when the number changes."""
    listed = [(place, words) for place, words, _, _ in PLACES] + OTHERS
    unlisted = []
    for path in sorted({path for pattern in TEXTS for path in ROOT.glob(pattern)}):
        text, name = path.read_text(), str(path.relative_to(ROOT))
        known = {found.start(1) for place, words in listed if place == name for found in re.finditer(words, text, re.M)}
        unlisted += [
            f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
            for found in SAME_WORDS.finditer(text)
            if found.start() not in known and "migrations" not in path.parts
        ]
    assert not unlisted, "\n".join(unlisted)
