"""Builds that are broken on purpose: which of model, histories and chaos catches each of them.

Every mutation is one change of one line, as a slip of ours could make it, in a copy of the last commit. Each judge is
asked in turn, until one finds the fault.

    python -m benchmarks.mutations
    python -m benchmarks.mutations --only lease --judges chaos
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import migrated
from tests.upgrade import versions

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "var" / "benchmarks" / "mutated"
COPY = "/bin/cp"
SQL = "verification/sql"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider")
SAID = {  # what each judge says where it finds a broken promise
    "model": "The model has no such answer",
    "histories": ("No order explains", "A message was sent twice", "was overshot"),
    "chaos": "broken promises",
}


@dataclass(frozen=True, slots=True)
class Mutation:
    name: str
    file: str
    before: str
    after: str
    faults: str = "kill worker"  # that chaos strikes with
    minutes: float = 0.7


FRESHEST_FIRST = "                ORDER BY m.created_at DESC\n                LIMIT p_limit"

MUTATIONS = (
    Mutation(
        "a wrong code is not counted",
        f"{SQL}/sessions/spend_attempt.sql",
        "        UPDATE verification_session SET attempts = attempts + 1 WHERE id = p_session;\n",
        "",
    ),
    Mutation(
        "a token is good twice",
        f"{SQL}/sessions/redeem_verify_token.sql",
        "      AND used_at IS NULL\n      AND exp",
        "      AND exp",
    ),
    Mutation(
        "checks do not lock the recipient",
        f"{SQL}/delivery/queue_message.sql",
        "WHERE r.id = lock_recipient_of.id\n    FOR NO KEY UPDATE;",
        "WHERE r.id = lock_recipient_of.id;",
    ),
    Mutation(
        "creates and sends do not lock the recipient",
        f"{SQL}/delivery/queue_message.sql",
        "AND r.address = p_address\n        FOR NO KEY UPDATE;",
        "AND r.address = p_address;",
    ),
    Mutation(
        "an expired session is open",
        f"{SQL}/sessions/common_session_state.sql",
        "        WHEN p_session.expires_at <= p_now THEN 'session_expired'\n",
        "",
    ),
    Mutation(
        "one send too many",
        f"{SQL}/sessions/common_windows.sql",
        "'limit')::numeric / p_divisor)",
        "'limit')::numeric / p_divisor) + 1",
    ),
    Mutation(
        "the budget of the day is not conditional",
        f"{SQL}/delivery/queue_message.sql",
        "SET messages = spend.messages + 1 WHERE spend.messages < v_budget;",
        "SET messages = spend.messages + 1;",
    ),
    Mutation(
        "the block of a channel is not obeyed",
        f"{SQL}/sessions/send_code.sql",
        "IF blocks ? p_channel THEN",
        "IF false THEN",
    ),
    Mutation(
        "a lease of one second",
        "verification/services/delivery/dispatch.py",
        "LEASE_SECONDS = ROUND_SECONDS + int(CALL_SECONDS) + NOTE_SECONDS",
        "LEASE_SECONDS = 1",
        faults="provider hangs,provider twice",
    ),
    Mutation(
        "what a dead worker held is left",
        f"{SQL}/delivery/claim_messages.sql",
        "AND (m.claims > 0 OR m.due_at <= v_now - make_interval(secs => p_idle_seconds))\n" + FRESHEST_FIRST,
        "AND m.claims = 0 AND m.due_at <= v_now - make_interval(secs => p_idle_seconds)\n" + FRESHEST_FIRST,
    ),
    Mutation(
        "a status goes back",
        f"{SQL}/delivery/finish_message.sql",
        "        OR v_message.finished_at IS NOT NULL\n",
        "",
        faults="kill web",  # a gateway's contradicting receipts do it without any
    ),
    Mutation(
        "the code of a session that is over is sent",
        f"{SQL}/delivery/claim_messages.sql",
        "session_state(s, v_now) <> 'open',",
        "session_state(s, v_now) = 'none',",
        faults="provider breaks,kill valkey",
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutations", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="words of the mutations' names, separated by commas")
    parser.add_argument("--judges", default="model,histories,chaos", help="in their order; default all")
    parser.add_argument("--all-judges", action="store_true", help="ask each judge, also after one has found the fault")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]
    print("| mutation | " + " | ".join(options.judges.split(",")) + " |", flush=True)
    missed = 0
    for mutation in MUTATIONS:
        if words and not any(word in mutation.name for word in words):
            continue
        build(mutation)
        found: list[str] = []
        is_caught = False
        for judge in options.judges.split(","):
            if is_caught and not options.all_judges:
                found.append("not asked")
                continue
            began = time.monotonic()
            caught = ask(judge, mutation)
            is_caught = is_caught or caught
            found.append(f"{'caught' if caught else 'passed'} ({time.monotonic() - began:.0f} s)")
        missed += not is_caught
        print(f"| {mutation.name} | " + " | ".join(found) + " |", flush=True)
    shutil.rmtree(HOME, ignore_errors=True)
    sys.exit(1 if missed else 0)


def build(mutation: Mutation) -> None:
    """Make the mutated copy, and its migrated databases out of ours."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.parent.mkdir(parents=True, exist_ok=True)
    versions.unpack("HEAD", HOME)
    file = HOME / mutation.file
    text = file.read_text()
    assert text.count(mutation.before) == 1, f"{mutation.name}: the line is not there once"
    file.write_text(text.replace(mutation.before, mutation.after))
    made = subprocess.run(
        [sys.executable, "-c", "from tests.cluster import fingerprint; print(fingerprint())"],
        cwd=HOME,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    home = HOME / "var" / "tests" / "migrated" / made.stdout.strip()
    home.parent.mkdir(parents=True)
    with migrated() as data:  # made first where this checkout has none
        subprocess.run([COPY, "-a", str(data.parent.parent), str(home)], check=True)
    migrate = "from pathlib import Path; import sys; from tests.cluster import migrate; migrate(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", migrate, str(home)], cwd=HOME, env=environment(), check=True)


def ask(judge: str, mutation: Mutation) -> bool:
    """Return whether the judge finds a broken promise in the mutated copy. Raises if it fails for another reason."""
    command = {
        "model": [*PYTEST, "tests/protocol/test_side_by_side.py", "--rounds", "150"],
        "histories": [*PYTEST, "tests/protocol/test_histories.py", "--rounds", "60"],
        "chaos": [sys.executable, "-m", "benchmarks.chaos", "--no-upgrade", "--seed", "1"]
        + ["--minutes", str(mutation.minutes), "--only", mutation.faults],
    }[judge]
    done = subprocess.run(command, cwd=HOME, env=environment(), capture_output=True, text=True)
    if done.returncode == 0:
        return False
    words = SAID[judge]
    said = done.stdout + done.stderr
    assert any(word in said for word in ([words] if isinstance(words, str) else words)), said[-4000:]
    return True


def environment() -> dict[str, str]:
    named = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    return {**named, "PROTOCOL_SEED": "1"}


if __name__ == "__main__":
    main()
