"""The public demo. Settings are read once a process, so another one runs ``visitors.py``."""

import configparser
import os
import re
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from tests.conftest import ROOT
from verification.contrib.public_demo import season, season_rows
from verification.core.addresses import kind_of
from verification.models import RoutingRule
from verification.services.projects.snapshot import load_project


@pytest.mark.long
@pytest.mark.timeout(300)
def test_visitors_look_and_change_nothing():
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "WATCHWORD_", "DJANGO_"))
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "tests/contrib/public_demo/visitors.py"],
        cwd=ROOT,
        env={**environment, "PUBLIC_DEMO": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8_000:]
    assert "passed" in done.stdout


def test_the_unit_of_the_guide_starts_the_demo_anew_each_day_and_knows_the_settings():
    page = (ROOT / "docs" / "demo.md").read_text()
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read_string(re.search(r"```ini\n(.*?)```", page, re.DOTALL)[1])
    service = unit["Service"]
    names = {each.partition("=")[0] for each in service["Environment"].split()}
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    assert names <= told and "WATCHWORD_HOME" in names
    assert service["ExecStart"].endswith("/watchword up --demo") and service["RuntimeMaxSec"] == "1d"
    folder = dict(each.split("=") for each in service["Environment"].split())["WATCHWORD_HOME"]
    assert service["ExecStartPre"].split()[-1] == f"{folder}/postgres"  # where the embedded database is


def test_no_other_service_has_it():
    assert not settings.IS_PUBLIC_DEMO
    assert not [name for name in (*settings.INSTALLED_APPS, *settings.MIDDLEWARE) if "public_demo" in name]


def test_it_takes_no_database_of_yours():
    environment = {**os.environ, "PUBLIC_DEMO": "true", "DATABASE_URL": "postgres://a@b/c", "REDIS_URL": "redis://b"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1 and "leave DATABASE_URL unset" in done.stderr


@pytest.mark.django_db
def test_the_callers_of_a_season_are_as_old_as_its_traffic():
    now = timezone.now()
    since = now - timedelta(days=90)
    shop = season.shop(now, since=since, is_sandbox=False, draw=None).project
    season_rows.add_callers(shop, since=since, now=now)
    assert set(shop.keys.values_list("created_at", "last_used_at")) == {(since, now)}
    assert set(RoutingRule.objects.filter(project=shop).values_list("created_at", flat=True)) == {since}
    assert shop.webhook_secrets.live().count() == 1
    [login] = shop.test_logins.all()
    assert load_project(shop.pk).channels_for(kind_of(login.to))
