"""One file in ``providers/adapters`` is a whole new provider: here it is dropped in and used everywhere."""

import json

import pytest
from django.urls import reverse

from config import urls  # noqa: F401  (the panel is loaded before anybody logs in, as in a web server)
from tests.admin.rows import form_values, make_panel
from tests.api.calls import Api
from tests.commands.running import run_json
from tests.fakes.http_server import FakeHttpServer, answer
from verification.management.commands import sendtest
from verification.models import Provider
from verification.services.projects.keys import issue_key
from verification.services.providers.accounts import stored_secrets

PIGEON = """
from providers import base
from providers.base import Health, Result, Setting, SettingKind

class Adapter(base.Adapter):
    type = "pigeon"
    label = "Pigeon Post"
    channels = ("sms", "voice")
    declared = (
        Setting("url", "Loft", SettingKind.URL, required=True),
        Setting("ring", "Ring number", SettingKind.SECRET, required=True),
    )

    def send(self, message):
        body = {"to": message.to, "note": message.text}
        answer = self._ask("POST", "/fly", json=body)
        return Result.accepted(answer.json()["flight"], is_delivered=True)

    def check(self):
        return Health(True, "The loft answers.", balance=self._ask("GET", "/corn").json()["corn"])

    def _ask(self, method, path, **content):
        headers = {"X-Ring": self.settings["ring"]}
        return self.http.request(method, self.settings["url"] + path, headers=headers, **content)
"""


@pytest.fixture
def loft():
    with FakeHttpServer() as server:
        yield server


@pytest.mark.django_db
def test_a_dropped_in_adapter_is_offered_stored_listed_checked_and_sends(drop, loft, client, monkeypatch):
    drop("pigeon", PIGEON)
    panel = make_panel()
    owner = panel.as_("owner")

    # The admin offers it, makes its form from what it declares, and keeps its secret.
    chosen = f"{reverse('admin:verification_provider_add')}?project={panel.project.pk}&as=voice/pigeon"
    assert 'value="voice/pigeon"' in owner.get(reverse("admin:verification_provider_add")).content.decode()
    form = owner.get(chosen)
    assert form.context["adminform"].form.fields["setting_ring"].label == "Ring number"
    values = {"name": "Roof", "setting_url": loft.url, "setting_ring": "FR-1871"}
    assert owner.post(chosen, form_values(form) | values).status_code == 302
    roof = Provider.objects.get(name="Roof")
    assert (roof.settings, stored_secrets(roof)) == ({"url": loft.url}, {"ring": "FR-1871"})

    # The customer's server finds it among its channels.
    api = Api(client, "", issue_key(project=panel.project, kind="secret").text)
    listed = {channel["type"]: channel["providers"] for channel in api.manual_channels().data}
    assert listed["voice"] == [{"id": roof.pk, "name": "Roof", "type": "pigeon", "is_system": False}]

    # The operator's checks ask it, and a test message flies.
    loft.script(answer(200, {"corn": "12 kg"}), answer(200, {"flight": "f-1"}))
    Provider.objects.exclude(pk=roof.pk).delete()
    [found] = run_json("checkproviders", str(panel.project.pk))["providers"]
    assert {"name": "Roof", "is_ok": True, "balance": "12 kg"}.items() <= found.items()
    monkeypatch.setattr(sendtest, "WORKER_SECONDS", 0)
    done = run_json("sendtest", str(panel.project.pk), "+4915112345679", "--channel", "voice")
    assert (done["status"], done["attempts"][0]["provider"]) == ("success", "Roof")
    flight = loft.requests[-1]
    assert (flight.target, flight.headers["x-ring"]) == ("/fly", "FR-1871")
    assert json.loads(flight.body)["to"] == "+4915112345679"
