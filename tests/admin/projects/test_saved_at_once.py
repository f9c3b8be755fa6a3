"""Two who save at once: neither takes back what the other has saved, nor what a command has changed meanwhile."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from tests.admin.rows import make_panel, page_with, values_on
from tests.live import wait_until
from verification.admin.base.display import page_address
from verification.admin.projects.form import ProjectForm
from verification.admin.providers.form import ProviderForm
from verification.models import AuditEntry, Project, Provider
from verification.services.projects.projects import set_project

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def panel():
    return make_panel()


def is_waiting():
    """Return whether a transaction of these tests waits for another's lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees the list as it first was
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"
        )
        return cursor.fetchone()[0] > 0


@pytest.fixture
def meanwhile(monkeypatch):
    """Have something done while the first form of a class is judged, to its end or until it waits for that form."""
    with ThreadPoolExecutor() as pool:

        def make(form_class, act):
            def closing():
                try:
                    with connection.cursor() as cursor:
                        cursor.execute("SET lock_timeout = 0")  # however slow this machine is
                    return act()
                finally:
                    connection.close()

            def clean(form):
                monkeypatch.setattr(form_class, "clean", original)
                done = pool.submit(closing)
                futures.append(done)
                wait_until(lambda: done.done() or is_waiting(), "the other to be done or to wait")
                return original(form)

            futures, original = [], form_class.clean
            monkeypatch.setattr(form_class, "clean", clean)
            return futures

        yield make


def save(client, page, **values):
    assert client.post(page, values_on(client, page) | values).status_code == 302


def test_two_sections_of_a_project_keep_the_changes_of_both(panel, meanwhile):
    first, second = page_with(panel.project, "code_length"), page_with(panel.project, "requests_per_second")
    assert first != second
    client, other = panel.as_("owner"), panel.as_("root")
    values = values_on(other, second) | {"requests_per_second": 7}
    done = meanwhile(ProjectForm, lambda: other.post(second, values))
    save(client, first, code_length=4)
    assert done[0].result().status_code == 302
    panel.project.refresh_from_db()
    assert (panel.project.code_length, panel.project.requests_per_second) == (4, 7)
    changed = [set(entry.changes) for entry in AuditEntry.objects.filter(project=panel.project)[:2]]
    assert changed == [{"requests_per_second"}, {"code_length"}]


def test_a_section_leaves_a_project_stopped_and_deleted(panel, meanwhile):
    rows = Project.objects.filter(pk=panel.project.pk)
    done = meanwhile(ProjectForm, lambda: rows.update(is_enabled=False, deleted_at=timezone.now()))
    save(panel.as_("owner"), page_with(panel.project, "code_length"), code_length=4)
    assert done[0].result() == 1
    panel.project.refresh_from_db()
    assert (panel.project.code_length, panel.project.is_enabled) == (4, False) and panel.project.deleted_at


def test_a_form_of_a_provider_leaves_its_price_list(panel, meanwhile):
    provider = panel.rows[Provider]
    done = meanwhile(ProviderForm, lambda: Provider.objects.filter(pk=provider.pk).update(price_list=41))
    save(panel.as_("owner"), page_address(provider), name="Another name")
    assert done[0].result() == 1
    provider.refresh_from_db()
    assert (provider.name, provider.price_list) == ("Another name", 41)


def test_a_command_saves_what_it_names_alone(panel):
    read = Project.objects.get(pk=panel.project.pk)
    Project.objects.filter(pk=panel.project.pk).update(is_enabled=False, language="fr")
    set_project(project=read, values={"code_length": "4"})
    panel.project.refresh_from_db()
    assert (panel.project.code_length, panel.project.is_enabled, panel.project.language) == (4, False, "fr")
