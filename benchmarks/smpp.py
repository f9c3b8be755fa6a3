"""Ten thousand messages over SMPP with a restart of the message centre in the middle: how many arrive, and how often.

A connections worker and an ordinary one beside it; the message centre is the tests' stand-in, in this process.

    python -m benchmarks.smpp
    python -m benchmarks.smpp --messages 1000
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import django

from benchmarks.common.driver import LOOPBACK
from benchmarks.common.service import Service, free_port, machine
from tests.fakes.smsc import PASSWORD, SYSTEM_ID, Smsc, by_tlvs

if TYPE_CHECKING:
    from benchmarks.delivery.load import Load

MESSAGES = 10_000
THREADS = 16
BINDS = 2
DOWN_SECONDS = 1.0
BATCH = 500  # written at a time
AHEAD = 1_000  # that wait at most
LIMIT_SECONDS = 400.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smpp", description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=MESSAGES, help=f"default {MESSAGES}")
    parser.add_argument("--threads", type=int, default=THREADS, help=f"of each worker; default {THREADS}")
    options = parser.parse_args()
    print(machine())
    with Smsc(receipt=by_tlvs) as smsc, Service(gateway_port=free_port()) as service:
        run(service, smsc, options.messages, options.threads)


def run(service: Service, smsc: Smsc, messages: int, threads: int) -> None:
    service.query("UPDATE verification_provider SET is_enabled = false WHERE true RETURNING id")
    settings = {"host": LOOPBACK, "port": smsc.port, "tls": "false", "system_id": SYSTEM_ID, "password": PASSWORD}
    settings |= {"binds": BINDS, "window": threads}
    provider = service.add_smpp_provider(settings)
    service.start_worker(threads)
    service.start_connections_worker(threads)
    wait_until(lambda: len(smsc.bound()) == BINDS, "the binds are up")

    os.environ.update(service.environment, DJANGO_SETTINGS_MODULE="config.settings")
    django.setup()
    from benchmarks.delivery.load import Load  # needs the settings

    load = Load(service.servers.database_url, service.project_id)
    prepared = load.prepare(messages)
    began_at = time.monotonic()
    was_restarted = False
    for start in range(0, messages, BATCH):
        load.send(prepared[start : start + BATCH])
        written = min(start + BATCH, messages)
        wait_until(lambda written=written: written - ended(load) <= AHEAD, "the workers keep up")
        if not was_restarted and written >= messages / 2:
            was_restarted = True
            smsc.stop()
            time.sleep(DOWN_SECONDS)
            smsc.start()
    wait_until(lambda: ended(load) == messages, "every message ends")
    took = time.monotonic() - began_at
    report(service, smsc, provider, messages, took)


def ended(load: Load) -> int:
    """Return the number of messages that the centre took or that are final, those of unknown outcome included.

    Receipts are not waited for: this centre, when it is restarted, forgets those that were not answered.
    """
    [(number,)] = load.connection.execute(
        "SELECT count(*) FROM verification_message WHERE status IN ('sent', 'success', 'failed', 'expired')"
        " OR id IN (SELECT message_id FROM verification_deliveryattempt WHERE outcome = 'unknown')"
    ).fetchall()
    return int(number)


def report(service: Service, smsc: Smsc, provider: int, messages: int, took: float) -> None:
    received = Counter(f"+{message.destination.number}" for message in smsc.messages)
    addresses = {
        str(address): (str(status), bool(is_in_doubt))
        for address, status, is_in_doubt in service.query(
            "SELECT r.address, m.status, EXISTS (SELECT FROM verification_deliveryattempt AS a"
            " WHERE a.message_id = m.id AND a.outcome = 'unknown')"
            " FROM verification_message AS m JOIN verification_recipient AS r ON r.id = m.recipient_id"
        )
    }
    statuses = Counter(status for status, _ in addresses.values())
    in_doubt = {address for address, (_, is_in_doubt) in addresses.items() if is_in_doubt}
    missing = {address for address in addresses if not received[address]}
    outcomes = dict(
        service.query(
            "SELECT outcome, count(*) FROM verification_deliveryattempt WHERE provider_id = %s GROUP BY 1", provider
        )
    )
    print(f"sent        {messages} in {took:.1f} s, {messages / took:.0f} a second; attempts {json.dumps(outcomes)}")
    print(f"received    {len(received)}; statuses {json.dumps(statuses)}")
    print(f"lost        {len(missing - in_doubt)}")
    print(f"in doubt    {len(in_doubt)}: the line broke before the answer; {len(in_doubt & missing)} not received")
    print(f"duplicates  {sum(count - 1 for count in received.values())}")


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Not within {LIMIT_SECONDS:.0f} s: {what}.")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
