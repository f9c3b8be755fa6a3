"""The command that issues a key tells the SIDs that Twilio's libraries ask for."""

import pytest

from tests.commands.running import run, run_json
from verification.core import sids
from verification.models import ApiKey

pytestmark = pytest.mark.django_db


def test_issuekey_tells_the_sids_where_twilios_libraries_can_log_in(project):
    assert run_json("issuekey", str(project.id), "--kind", "secret").keys() == {"key", "secret_key"}
    project.set(twilio_endpoints=True)
    made = run_json("issuekey", str(project.id), "--kind", "secret")
    assert made["account_sid"] == sids.of_project(sids.ACCOUNT, project.row.public_id)
    assert made["service_sid"] == sids.of_project(sids.SERVICE, project.row.public_id)
    assert made["key_sid"] == sids.of_key(ApiKey.objects.get(pk=made["key"]).digest)
    assert made["service_sid"] in run("issuekey", str(project.id), "--kind", "secret")
    assert "account_sid" not in run_json("issuekey", str(project.id), "--kind", "api")
