"""The store of the panel's sessions: Django's table, with a digest in place of the cookie's value.

Somebody who reads the table finds nothing there that a browser could present.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.contrib.sessions.models import Session
from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils import timezone

from verification.core.crypto import stored_digest
from verification.services.users import logins

# What a session records at the login, besides Django's own marks.
STARTED, BROWSER, NETWORK = "started_at", "browser", "network"
STORED_CHARACTERS = 40  # the width of Django's column: 160 bits in hexadecimal, about as many as a cookie's value has


class SessionStore(SessionBase):
    """Django's ``SESSION_ENGINE``. Django's asynchronous methods run these in a thread.

    A request that only renews the session writes its end and no data: it would take back what another request of the
    page has written meanwhile, such as the message that something was saved.
    """

    _stored: bytes | None = None  # the data as they were last read or written, to see whether they have changed

    def exists(self, session_key: str) -> bool:
        return _rows(session_key).exists()

    def load(self) -> dict[str, Any]:
        row = _rows(self.session_key).filter(expire_date__gt=timezone.now()).first() if self.session_key else None
        if row is None:
            self._session_key = None
            return {}
        data: dict[str, Any] = self.decode(row.session_data)
        self._stored = self.serializer().dumps(data)
        return data

    def create(self) -> None:
        self._session_key = self._get_new_session_key()  # type: ignore[attr-defined]  # not in the stubs
        self.save(must_create=True)
        self.modified = True

    def save(self, must_create: bool = False) -> None:
        """Write the session. Raises ``UpdateError`` where its row is gone: the user has logged out meanwhile."""
        if self.session_key is None:
            self.create()
            return
        data = self._get_session(no_load=must_create)  # type: ignore[attr-defined]  # not in the stubs
        written: dict[str, Any] = {"expire_date": self.get_expiry_date()}
        read, self._stored = self._stored, self.serializer().dumps(data)
        if must_create or self._stored != read:
            written["session_data"] = self.encode(data)
        if must_create:
            Session.objects.create(session_key=stored_key(self.session_key), **written)
        elif not _rows(self.session_key).update(**written):
            raise UpdateError
        self._record_login()

    def _record_login(self) -> None:
        """Record what the page of logins shows of a session that somebody is logged in with."""
        if SESSION_KEY not in self or BROWSER not in self:
            return
        try:
            logins.record_login(
                stored_key(str(self.session_key)),
                user_id=int(self[SESSION_KEY]),
                browser=self[BROWSER],
                network=self[NETWORK],
                started_at=datetime.fromtimestamp(self[STARTED], UTC),
            )
        except IntegrityError:  # somebody ended it since the line above
            raise UpdateError from None

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key:
            _rows(key).delete()

    @classmethod
    def clear_expired(cls) -> None:
        Session.objects.filter(expire_date__lt=timezone.now()).delete()


def stored_key(session_key: str) -> str:
    """Return the key that stands in the table for a cookie's value."""
    return stored_digest(session_key, kind="session of the panel").hex()[:STORED_CHARACTERS]


def _rows(session_key: str) -> QuerySet[Session]:
    return Session.objects.filter(session_key=stored_key(session_key))
