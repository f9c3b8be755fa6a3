"""A process with the encryption keys of another installation: it does not start, and costs no message."""

from __future__ import annotations

import base64
import json
import secrets

import pytest

from tests.faults.shop import recipient
from tests.live import LiveService, wait_until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("wrong_keys")]

STARTS = "import config.wsgi"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    live = LiveService(tmp_path_factory.mktemp("wrong_keys"), is_embedded=False)
    try:
        yield live.start(workers=0)
    finally:
        live.stop()


@pytest.fixture
def wrong_keys():
    return {"ENCRYPTION_KEYS": base64.b64encode(secrets.token_bytes(32)).decode()}


def test_neither_a_worker_nor_a_web_process_starts(service, shop, wrong_keys):
    no_use = 4  # by which gunicorn knows that it is no use to start the process again
    for command, status in ((("manage.py", "worker"), 1), (("-c", STARTS), no_use)):
        done = service._python(*command, **wrong_keys)
        assert (done.returncode, done.stdout) == (status, "")
        assert done.stderr.splitlines()[-1].startswith(
            "watchword: ENCRYPTION_KEYS cannot decrypt any secret of this database"
        )


def test_status_health_and_doctor_tell_it(service, shop, wrong_keys):
    for command in ("status", "health"):
        done = service.run(command, **wrong_keys)
        assert (done.returncode, "ENCRYPTION_KEYS cannot decrypt any secret" in done.stderr) == (1, True)
    found = json.loads(service.run("doctor", "--json", "--only", "secrets", **wrong_keys).stdout)["findings"]
    assert "encryption-keys-wrong" in {each["name"] for each in found}


def test_a_ring_that_has_the_key_among_others_starts(service, shop, wrong_keys):
    both = f"{wrong_keys['ENCRYPTION_KEYS']},{service.environment['ENCRYPTION_KEYS']}"
    assert service._python("-c", STARTS, ENCRYPTION_KEYS=both).returncode == 0


def test_a_message_that_such_a_worker_claims_is_sent_by_another(service, shop, wrong_keys):
    """It started while the database was away, so that nothing refused it."""
    to = recipient()
    shop.open_session(to)
    claim = (
        "from verification.services.delivery import dispatch\n"
        "from verification.services.delivery.fairness import RecentProjects, Shares\n"
        "shares = Shares(8, RecentProjects())\n"
        "for message in dispatch.claim_due(limit=10, idle_seconds=0, shares=shares):\n"
        "    dispatch.deliver_claimed(message, shares)"
    )
    done = service._python("-c", f"import django\ndjango.setup()\n{claim}", **wrong_keys)
    assert done.returncode == 0, done.stderr
    assert "under a key that this worker does not have" in done.stdout + done.stderr
    assert shop.messages_to(to) != ["failed"]
    service.start_worker()
    wait_until(lambda: shop.messages_to(to) == ["success"], "another worker sends it")
    assert len(shop.sent_to(to)) == 1
