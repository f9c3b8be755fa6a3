"""The look at the ring of keys with which a web process starts, before it is forked."""

import pytest
from django.db import DEFAULT_DB_ALIAS, connections

from verification.services.maintenance import key_ring


@pytest.mark.django_db
def test_it_opens_no_pool_that_a_fork_would_share(monkeypatch):
    monkeypatch.setattr(type(connections[DEFAULT_DB_ALIAS]), "_connection_pools", pools := {})
    settings = connections[DEFAULT_DB_ALIAS].settings_dict
    monkeypatch.setitem(settings, "CONN_MAX_AGE", 0)  # as goes with a pool
    monkeypatch.setitem(settings["OPTIONS"], "pool", {"min_size": 1, "max_size": 1})
    assert key_ring.refusal_at_start() == ""
    assert pools == {}
