"""Set-up files for tests."""

import pytest
import yaml
from django.apps import apps

from verification.contrib.config_files.load import read

needs_hosted_page = pytest.mark.skipif(
    not apps.is_installed("verification.contrib.hosted"), reason="files have a part for the hosted page with it alone"
)
needs_connections = pytest.mark.skipif(
    not apps.is_installed("verification.contrib.connections"),
    reason="files have their part with them alone",
)


def file_with(projects):
    return {"watchword": 1, "projects": projects}


def text_of(file):
    return yaml.safe_dump(file, sort_keys=False, allow_unicode=True)


def document(source):
    """Read a file from its text, or from its projects."""
    return read(source if isinstance(source, str) else text_of(file_with(source)))
