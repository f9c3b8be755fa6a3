"""Probes of load balancers and orchestrators: by address, without a key, every few seconds."""

import json

import pytest
import redis
from django.db import connection
from django.test import Client

from tests.fakes.outage import database_away
from tests.live import free_port
from verification.core import caching
from verification.services.maintenance import degradation, health
from verification.worker.broker import broker

PROBES = ("/livez", "/readyz")


@pytest.mark.requirement(105)
@pytest.mark.django_db
@pytest.mark.parametrize("path", PROBES)
@pytest.mark.parametrize("host", ["10.1.2.3:8000", "codes.example.com", "testserver"])
def test_a_probe_is_answered_under_any_host_without_a_key(settings, path, host):
    settings.SECURE_SSL_REDIRECT = True
    response = Client(headers={"host": host}).get(path)
    assert response.status_code == 200
    assert json.loads(response.content)["status"] == ("ok" if path == "/livez" else "degraded")  # as no worker runs
    assert response["Cache-Control"] == "no-store"


@pytest.mark.django_db(transaction=True)
def test_with_the_database_away_a_process_lives_and_is_not_ready():
    client = Client()
    with database_away():
        assert client.get("/livez").status_code == 200
        response = client.get("/readyz")
    assert (response.status_code, json.loads(response.content)["code"]) == (503, "service_unavailable")
    caching.clear_all()
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_before_the_migrations_of_its_version_a_process_is_not_ready():
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'verification'")
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert json.loads(response.content)["detail"] == health.NOT_MIGRATED


@pytest.mark.django_db
def test_a_newer_versions_migrations_do_not_matter():
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('verification', '9999_new', now())")
    assert Client().get("/readyz").status_code == 200


@pytest.mark.django_db
def test_probes_in_a_row_ask_the_database_once(django_assert_num_queries):
    client = Client()
    client.get("/readyz")
    with django_assert_num_queries(0):
        assert {client.get("/readyz").status_code for _ in range(20)} == {200}


@pytest.mark.requirement(105)
@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/livez", "/livez/"])
def test_what_merely_looks_like_a_probe_is_served_like_anything_else(path):
    response = Client(headers={"host": "elsewhere.example"}).get(f"{path}x")
    assert response.status_code == 400


@pytest.mark.requirement(112)
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("caller", "told"), [("10.20.0.7", {"workers": degradation.PARTS["workers"].meaning}), ("203.0.113.7", None)]
)
def test_only_the_operators_networks_are_told_what_is_degraded(settings, caller, told):
    settings.OPERATOR_NETWORKS = ["10.20.0.0/16"]
    answer = json.loads(Client().get("/readyz", REMOTE_ADDR=caller).content)
    assert (answer["status"], answer.get("degraded")) == ("degraded", told)


@pytest.mark.django_db
def test_with_the_broker_away_a_process_is_degraded_and_ready(monkeypatch):
    monkeypatch.setattr(broker, "client", redis.Redis(port=free_port(), socket_timeout=0.1))
    response = Client().get("/readyz", REMOTE_ADDR="127.0.0.1")
    assert response.status_code == 200
    assert {"broker", "cache"} <= set(json.loads(response.content)["degraded"])
