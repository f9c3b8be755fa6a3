"""Ending a session against the check of its code, at the same moment."""

import threading

import pytest
from django.db import connection

from verification.core.errors import ApiError
from verification.models import Session
from verification.services.projects.snapshot import load_project
from verification.services.sessions import check, session_records


@pytest.mark.django_db(transaction=True)
def test_of_a_right_code_and_an_end_at_once_one_is_told_of_the_other(api, project, outbox):
    session_id = api.create().data["session_id"]
    code, config = outbox.code, load_project(project.id)
    barrier, told = threading.Barrier(2), {}

    def act(name, call, **arguments):
        barrier.wait()
        try:
            call(config, session_id) if name == "end" else call(project=config, session_id=session_id, **arguments)
            told[name] = "done"
        except ApiError as refusal:
            told[name] = refusal.problem_code
        finally:
            connection.close()

    threads = [
        threading.Thread(target=act, args=("end", session_records.close)),
        threading.Thread(target=act, args=("check", check.check_code), kwargs={"code": code, "client_address": None}),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won_by_check = {"check": "done", "end": "session_verified"}
    won_by_end = {"check": "session_expired", "end": "done"}
    assert told in (won_by_check, won_by_end)
    assert (Session.objects.get().verified_at is not None) == (told == won_by_check)
