"""A form that anybody may send is refused by its announced length: nothing of it is read, or reaches the disk."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http.multipartparser import MultiPartParser
from django.test import Client

pytestmark = pytest.mark.django_db
TOKEN = "a" * 32  # of the sender's own choice, in the cookie and in the form
PAGES = ("/", "/docs/", "/docs/guides/", "/llms.txt", "/verify/x", "/demo/", "/admin/login/")


@pytest.fixture
def visitor():
    visitor = Client(raise_request_exception=False, enforce_csrf_checks=True)
    visitor.cookies["csrftoken"] = TOKEN
    return visitor


@pytest.fixture
def no_disk(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a file was opened")

    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", fail)


def form(size):
    return {"file": SimpleUploadedFile("a.bin", b"x" * size), "csrfmiddlewaretoken": TOKEN}


@pytest.mark.requirement(100)
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("size", [300 * 1024, 8 * 1024 * 1024])
def test_a_long_form_is_refused_before_anything_of_it_is_read(visitor, no_disk, path, size, monkeypatch, caplog):
    read = []
    monkeypatch.setattr(MultiPartParser, "parse", lambda parser: read.append(parser))
    response = visitor.post(path, form(size))
    assert response.status_code == 413
    assert read == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    if not path.startswith("/admin/"):
        assert json.loads(response.content)["code"] == "body_too_large"


@pytest.mark.parametrize("path", PAGES)
def test_a_short_form_is_read_without_the_disk(visitor, no_disk, path):
    assert visitor.post(path, form(1024)).status_code not in (413, 500)


@pytest.mark.requirement(100)
def test_uploads_have_no_way_to_the_disk(settings):
    assert settings.FILE_UPLOAD_HANDLERS == ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
    assert settings.FILE_UPLOAD_MAX_MEMORY_SIZE > settings.INVOICE_MAX_BYTES
