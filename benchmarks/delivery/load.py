"""Messages by the thousand, written past the API: manual sends with their codes encrypted as ours are.

Importable once the environment is that of the measured service, and Django is set up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice

import psycopg
from redis.exceptions import RedisError

from benchmarks.common.scripts import recipients
from verification.core import crypto, ids
from verification.core.crypto import encrypt
from verification.worker.broker import MESSAGES, broker

LIVES_SECONDS = 600
CODE = "123456"

Prepared = tuple[int, int, bytes]  # the message's id, its recipient's, and its code


class Load:
    def __init__(self, database_url: str, project_id: int) -> None:
        self.connection = psycopg.connect(database_url, autocommit=True)
        self.project_id = project_id
        self.numbers = recipients()

    def prepare(self, number: int) -> list[Prepared]:
        """So many messages to as many new recipients, of which only the recipients are written."""
        rows = self.connection.execute(
            "INSERT INTO verification_recipient (project_id, address, language, verified_channel)"
            " SELECT %s, address, '', '' FROM unnest(%s::text[]) AS address RETURNING id",
            (self.project_id, list(islice(self.numbers, number))),
        )
        message_ids = [ids.generate_message_id() for _ in range(number)]
        return [
            (message_id, recipient_id, encrypt(CODE, binding=crypto.message_code_binding(message_id)))
            for message_id, (recipient_id,) in zip(message_ids, rows, strict=True)
        ]

    def write(self, messages: Sequence[Prepared], *, age_seconds: float = 0) -> None:
        """Write them as due, one millisecond apart, the last one created so long ago."""
        self.connection.execute(
            """
            INSERT INTO verification_message (
                id, project_id, recipient_id, channel, language, status, is_test, is_counted, code_encrypted,
                callback_url, claims, lost_leases, created_at, due_at, expires_at
            )
            SELECT id, %(project)s, recipient_id, 'sms', 'en', 'queued', false, true, code, '', 0, 0, at, at,
                at + make_interval(secs => %(lives)s)
            FROM (
                SELECT id, recipient_id, code,
                    clock_timestamp() - make_interval(secs => %(age)s + (%(number)s - place) * 0.001) AS at
                FROM unnest(%(ids)s::bigint[], %(recipients)s::bigint[], %(codes)s::bytea[])
                    WITH ORDINALITY AS message (id, recipient_id, code, place)
            ) AS message
            """,
            {
                "project": self.project_id,
                "lives": LIVES_SECONDS,
                "age": age_seconds,
                "number": len(messages),
                "ids": [message[0] for message in messages],
                "recipients": [message[1] for message in messages],
                "codes": [message[2] for message in messages],
            },
            binary=True,
        )

    def wake(self, messages: Iterable[Prepared]) -> None:
        for message_id, *_ in messages:
            with suppress(RedisError):
                broker.wake(MESSAGES, message_id)

    def send(self, messages: Sequence[Prepared]) -> None:
        if messages:
            self.write(messages)
            self.wake(messages)

    def count(self, status: str) -> int:
        [(number,)] = self.connection.execute(
            "SELECT count(*) FROM verification_message WHERE status = %s", [status]
        ).fetchall()
        return int(number)

    def forget(self) -> None:
        """Leave no message of an earlier measurement, and no hint of one."""
        self.connection.execute("TRUNCATE verification_message, verification_recipient CASCADE")
        self.connection.execute("VACUUM ANALYZE verification_message, verification_recipient")
        broker.flush(MESSAGES)
