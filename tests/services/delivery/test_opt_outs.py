"""STOP and START by text: whom they end and resume messages for."""

import pytest

from providers.base import Consent, HookReply
from tests import factories
from tests.api.calls import Api, problem
from verification.core import caching
from verification.models import Provider, Recipient, Suppression
from verification.services.delivery import receipts
from verification.services.maintenance import forgetting
from verification.services.protection.suppressions import OPTED_OUT, suppress

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"


def write(provider, *, is_given, phone=PHONE):
    receipts.apply_report(provider, HookReply((Consent(phone, is_given),)))


@pytest.fixture
def provider(project):
    return Provider.objects.get(project=project.row, channel="sms")


def is_refused(api):
    return problem(api.manual_send(to=PHONE)) == (403, "recipient_not_allowed")


def test_stop_suppresses_the_number_and_start_lifts_it(api, provider, project):
    api.manual_send(to=PHONE)
    write(provider, is_given=False)
    suppression = Suppression.objects.get()
    assert (suppression.project_id, suppression.channel, suppression.reason) == (project.id, "sms", OPTED_OUT)
    assert is_refused(api)
    write(provider, is_given=True)
    assert not is_refused(api)
    suppression.refresh_from_db()
    assert suppression.lifted_at is not None


def test_stop_twice_is_one_suppression_and_start_alone_is_none(provider):
    write(provider, is_given=True)
    assert not Recipient.objects.exists()
    for _ in range(2):
        write(provider, is_given=False)
    assert Suppression.objects.count() == 1


def test_a_reason_that_no_column_holds_is_kept_as_far_as_it_goes(project):
    recipient = Recipient.objects.create(project=project.row, address=PHONE)
    suppress(project_id=project.id, recipient_id=recipient.id, channel="sms", reason="Barred\0")
    assert Suppression.objects.get().reason == "Barred\ufffd"


def test_stop_of_a_number_that_was_never_sent_to_holds_too(api, provider):
    write(provider, is_given=False)
    assert is_refused(api)


def test_start_lifts_what_a_receipt_has_put_there_too(api, provider, project):
    recipient = Recipient.objects.create(project=project.row, address=PHONE)
    Suppression.objects.create(project=project.row, recipient=recipient, channel="sms", reason="Barred.")
    write(provider, is_given=True)
    assert not is_refused(api)


def test_other_channels_stay_as_they_are(api, provider, project):
    project.provider("voice", name="calls")
    write(provider, is_given=False)
    assert api.manual_send(to=PHONE, channel="voice").status_code == 200


def test_another_projects_recipients_are_out_of_reach(provider, client):
    other = factories.project()
    write(provider, is_given=False)
    assert not is_refused(Api(client, other.api_key, other.secret_key))


def test_to_a_system_provider_it_means_every_project_that_sent_over_it(api, provider, outbox, client):
    Provider.objects.filter(pk=provider.pk).update(project=None)
    provider.refresh_from_db()
    other = factories.project(channels=("sms",))
    caching.clear_all()
    api.manual_send(to=PHONE)
    assert outbox.names == ["sms first"]
    write(provider, is_given=False)
    assert is_refused(api) and not is_refused(Api(client, other.api_key, other.secret_key))
    write(provider, is_given=True)
    assert not is_refused(api)


def test_who_was_forgotten_can_still_opt_out_and_in_again(api, provider, project):
    api.manual_send(to=PHONE)
    write(provider, is_given=False)
    forgetting.forget(project=project.row, to=PHONE)
    write(provider, is_given=True)
    assert not is_refused(api)
    forgetting.forget(project=project.row, to=PHONE)
    write(provider, is_given=False)
    assert is_refused(api)


@pytest.mark.parametrize(
    ("to", "phone"), [("+5511987654321", "+551187654321"), ("+18612345678", "+18612345678")], ids=["old form", "extra"]
)
def test_stop_counts_in_the_numbers_old_form_and_under_an_extra_prefix(api, provider, project, outbox, to, phone):
    project.set(extra_prefixes=["+1861"])
    api.manual_send(to=to)
    assert outbox.names == ["sms first"]
    write(provider, is_given=False, phone=phone)
    assert problem(api.manual_send(to=to)) == (403, "recipient_not_allowed")


def test_a_number_that_does_not_exist_is_passed_over(provider):
    write(provider, is_given=False, phone="+4900000000")
    assert not Suppression.objects.exists()
