"""A live service with a project whose test login every client verifies, and our packages as a customer has them."""

import json
import os
import shutil

import pytest

from tests.clients.programs import CODE, MODULES, TO, need, run
from tests.live import ROOT, LiveService

SETUP = f"""
import json
from verification.services.providers import accounts as providers
from verification.services.projects import projects, test_logins
from verification.services.projects.webhook_secrets import live_webhook_secrets
new = projects.create_project(name="Generated")
providers.add_provider(project=new.project, channel="sms", provider_type="inbox", name="sms", values={{}})
test_logins.add_test_login(project=new.project, to="{TO}", code="{CODE}")
new.project.events = ["session.opened", "session.verified"]
new.project.save()
secret = live_webhook_secrets(new.project)[0][0]
print(json.dumps({{"API_KEY": new.api_key, "SECRET_KEY": new.secret_key, "WEBHOOK_SECRET": secret}}))
"""


@pytest.fixture(scope="package")
def service(tmp_path_factory):
    live = LiveService(tmp_path_factory.mktemp("service"), web_processes=1)
    try:
        yield live.start(workers=0)
    finally:
        live.stop()


@pytest.fixture(scope="package")
def environment(service):
    keys = json.loads(service.manage("shell", "-v", "0", "-c", SETUP))
    return {"BASE_URL": service.environment["BASE_URL"], "TO": TO, "CODE": CODE, **keys}


@pytest.fixture(scope="package")
def javascript(tmp_path_factory):
    """Return a folder in whose ``node_modules`` watchword-client is, from the package that ``npm pack`` makes."""
    need(MODULES / "typescript", "npm", "tar")
    source = tmp_path_factory.mktemp("source") / "watchword-js"
    shutil.copytree(ROOT / "packages" / "watchword-js", source, ignore=shutil.ignore_patterns("dist", "node_modules"))
    (source / "node_modules").symlink_to(MODULES)
    run("npm", "pack", "--silent", "--offline", cwd=source, PATH=f"{MODULES / '.bin'}:{os.environ['PATH']}")
    (packed,) = source.glob("watchword-client-*.tgz")
    home = tmp_path_factory.mktemp("javascript")
    installed = home / "node_modules" / "watchword-client"
    installed.mkdir(parents=True)
    run("tar", "-xzf", packed, "-C", installed, "--strip-components=1", cwd=home)
    (home / "package.json").write_text('{"type": "module"}')
    return home
