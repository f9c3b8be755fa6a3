"""The ways between pages: an alert leads on, a list tells what its reader does not know, a title says who it is."""

from collections import Counter

import pytest
from django.urls import reverse

from tests.admin.base.test_csv_export import address_of, read
from tests.admin.rows import ADDRESS
from verification.admin.alerts import links_of
from verification.core.addresses import mask
from verification.models import Alert, Channel, Message, Provider, Recipient
from verification.services.analytics import report
from verification.services.analytics.report import FigureSums


@pytest.mark.django_db
def test_an_alert_leads_to_the_provider_and_the_figures_of_its_day(panel):
    provider = panel.rows[Provider]
    alert = Alert.objects.create(project=panel.project, kind="provider", key=f"{provider.pk} out_of_funds", title="Out")
    page = panel.as_("owner").get(reverse("admin:verification_alert_change", args=(alert.pk,))).content.decode()
    assert reverse("admin:verification_provider_scorecard", args=(provider.pk,)) in page
    assert f"{reverse('admin:verification_figures')}?from={alert.created_at:%Y-%m-%d}" in page


@pytest.mark.django_db
def test_an_alert_of_a_channel_leads_to_it_and_never_to_another_projects(panel):
    channel = panel.rows[Channel]
    addresses = [address for _, address in links_of(panel.rows[Alert])]
    assert reverse("admin:verification_channel_change", args=(channel.pk,)) in addresses
    at, key = panel.rows[Alert].created_at, f"{panel.rows[Provider].pk} x"
    foreign = Alert(project=panel.other, kind="provider", key=key, created_at=at)
    assert len(links_of(foreign)) == 1


@pytest.mark.django_db
def test_a_list_names_the_project_to_those_alone_who_have_several_and_a_file_always(panel):
    address = reverse("admin:verification_message_changelist")
    assert "column-project" not in panel.as_("owner").get(address).content.decode()
    assert "column-project" in panel.as_("root").get(address).content.decode()
    names, *_ = read(panel.as_("owner").get(address_of(Message)))
    assert "Project" in names


@pytest.mark.django_db
def test_the_page_of_a_recipient_is_headed_by_the_masked_address(panel):
    page = panel.as_("owner").get(reverse("admin:verification_recipient_change", args=(panel.rows[Recipient].pk,)))
    assert mask(ADDRESS) in page.content.decode() and ADDRESS not in page.content.decode()


def test_the_points_of_a_line_are_added_up_where_they_are_many():
    counts = [Counter(sessions_sent=2, sessions_verified=number) for number in (0, 1, 2)]
    hours = [FigureSums(each, {"verify_times": [each["sessions_verified"], 1]}) for each in counts]
    first, last = report.merged(hours, 2)
    assert (first.conversion, last.conversion) == (25.0, 100.0)
    assert first.times == {"verify_times": [1, 2]}
