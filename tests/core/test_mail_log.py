"""Mails while EMAIL_URL is not set: no text stands between the lines of a log that machines read."""

import json
import logging
import subprocess
import sys

from django.core.mail import EmailMessage

from config.logs import formatter
from tests.live import ROOT, LiveService
from verification.core.mail_server import EmailBackend

SEND = """
import django
django.setup()
from django.core.mail import EmailMessage
EmailMessage("Invitation", "https://codes.example.com/admin/invitation/secret/", to=["ann@example.com"]).send()
"""


def test_a_mail_is_one_line_without_its_text_and_recipients(caplog):
    caplog.set_level(logging.WARNING)
    mail = EmailMessage("[Shop] Nothing gets out", "with a secret", to=["ann@example.com", "bob@example.com"])
    assert EmailBackend().send_messages([mail]) == 1
    line = json.loads(formatter("json").format(caplog.records[0]))
    assert (line["subject"], line["recipients"]) == ("[Shop] Nothing gets out", 2)
    assert "secret" not in json.dumps(line) and "ann" not in json.dumps(line)


def test_where_the_log_is_json_nothing_else_is_printed(tmp_path):
    environment = LiveService(tmp_path, is_embedded=False).environment
    told = {}
    for log_format in ("json", "console"):
        environment["LOG_FORMAT"] = log_format
        done = subprocess.run([sys.executable, "-c", SEND], env=environment, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told[log_format] = done.stdout, done.stderr
    assert told["json"][0] == ""
    assert json.loads(told["json"][1])["event"] == "a mail was not sent, as EMAIL_URL is not set"
    assert "invitation/secret" in told["console"][0]  # on a developer's own terminal
