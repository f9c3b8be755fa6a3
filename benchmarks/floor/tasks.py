"""The actor: it reads the row, hands the code to the gateway, and writes that it was sent."""

from __future__ import annotations

import os

import dramatiq
import urllib3
from django.conf import settings
from django.db import connection

from verification.worker.broker import DatabaseConnections, ListBroker

QUEUE = "floor"
CALL_SECONDS = 10.0
GATEWAY = os.environ.get("BENCHMARK_GATEWAY", "")

broker = ListBroker(settings.BROKER_URL, timeout=settings.REDIS_TIMEOUT_SECONDS, middleware=[DatabaseConnections()])
http = urllib3.PoolManager(maxsize=64, retries=False)


@dramatiq.actor(queue_name=QUEUE, actor_name=QUEUE, broker=broker)
def deliver(flow_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT address, code FROM flow WHERE id = %s", [flow_id])
        to, code = cursor.fetchone()
    message = {"message_id": str(flow_id), "to": to, "code": code, "text": f"Your code is {code}"}
    answer = http.request("POST", GATEWAY, json=message, timeout=CALL_SECONDS)
    if answer.status != 200:
        raise RuntimeError(f"The gateway answered {answer.status}.")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE flow SET sent_at = now() WHERE id = %s", [flow_id])
