"""A provider's prices in the panel: shown, compared, replaced, and only by those who may."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from verification.models import AuditEntry, Price, Provider
from verification.services.providers import price_lists

pytestmark = pytest.mark.django_db

LIST = "to,price,currency,per\n+4915,0.0721,EUR,segment\ndefault,0.12,EUR,segment\n"


def page(name, panel):
    return reverse(f"admin:verification_provider_{name}", args=(panel.rows[Provider].pk,))


@pytest.fixture
def priced(panel):
    price_lists.replace(panel.rows[Provider], price_lists.read(LIST), number=0)
    return panel


def test_a_list_is_compared_before_it_is_saved(priced):
    new = LIST.replace("0.0721", "0.08") + "DE,0.1,EUR,segment\n"
    response = priced.as_("owner").post(page("show_prices", priced), {"text": new})
    difference = response.context["difference"]
    assert (len(difference.changed), len(difference.added), difference.same) == (1, 1, 1)
    assert Price.objects.count() == 2
    saved = {name: response.context[name] for name in ("text", "price_list")}
    assert priced.as_("owner").post(page("replace_prices", priced), saved).status_code == 302
    assert Price.objects.count() == 3
    assert AuditEntry.objects.filter(action__startswith="Replaced the prices").exists()


def test_a_file_does_as_well(panel):
    file = SimpleUploadedFile("prices.csv", b"\xef\xbb\xbf" + LIST.replace(",", ";").encode())
    response = panel.as_("owner").post(page("show_prices", panel), {"file": file})
    assert len(response.context["difference"].added) == 2


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"text": LIST + "+49,free,EUR,segment"}, "Line 4: &#x27;free&#x27; is not a price."),
        ({"text": ""}, "The list is empty."),
        ({"file": SimpleUploadedFile("prices.xlsx", b"\xff\xfe\x00")}, "The file is not UTF-8 text."),
    ],
)
def test_a_wrong_list_is_refused_and_changes_nothing(priced, given, fault):
    response = priced.as_("owner").post(page("show_prices", priced), given)
    assert fault in response.content.decode()
    assert Price.objects.count() == 2


def test_the_file_of_a_list_can_be_pasted_again(priced):
    text = priced.as_("owner").get(page("show_prices", priced), {"csv": ""}).content.decode()
    response = priced.as_("owner").post(page("show_prices", priced), {"text": text})
    assert response.context["difference"].is_empty


@pytest.mark.parametrize("who", ["stranger", "anonymous"])
@pytest.mark.parametrize("name", ["show_prices", "replace_prices"])
def test_nobody_else_sees_or_replaces_them(priced, who, name):
    client = priced.as_(who)
    for response in (
        client.get(page(name, priced)),
        client.post(page(name, priced), {"text": LIST.replace("0.12", "0.99"), "price_list": 1}),
    ):
        assert response.status_code in (302, 403, 404)
        assert "0.0721" not in response.content.decode()
    assert not Price.objects.filter(amount="0.99").exists()


def test_the_longest_list_passes_through_the_forms(panel):
    lines = "".join(f"+{10_000_000 + n},0.01234567,EUR,segment\n" for n in range(price_lists.MAX_LINES))
    text = ("to,price,currency,per\n" + lines)[: price_lists.MAX_CHARACTERS].rpartition("\n")[0]
    response = panel.as_("owner").post(page("show_prices", panel), {"text": text})
    saved = {name: response.context[name] for name in ("text", "price_list")}
    assert panel.as_("owner").post(page("replace_prices", panel), saved).status_code == 302
    assert Price.objects.count() == text.count("\n")
