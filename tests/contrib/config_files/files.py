"""Set-up files for tests."""

import yaml

from verification.contrib.config_files.load import read


def file_with(projects):
    return {"watchword": 1, "projects": projects}


def text_of(file):
    return yaml.safe_dump(file, sort_keys=False, allow_unicode=True)


def document(source):
    """Read a file from its text, or from its projects."""
    return read(source if isinstance(source, str) else text_of(file_with(source)))
