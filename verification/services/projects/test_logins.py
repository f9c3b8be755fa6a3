"""Test logins: what may be one, and giving a recipient a fixed code."""

from __future__ import annotations

import re
import uuid
from datetime import datetime

from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.core import crypto
from verification.core.addresses import AddressInvalid, parse_test_address
from verification.core.crypto import decrypt, encrypt
from verification.core.errors import UserError
from verification.core.session_rules import LONG_CODE, SHORT_CODE, code_pattern
from verification.models import Project, TestLogin

MAX_TEST_LOGINS = 50  # rows of a project: app reviewers and automated tests need a few, and every process reads them
CODE_FORM = format_lazy(
    gettext_lazy("{lengths_in_words} letters and digits."),
    lengths_in_words=format_lazy(gettext_lazy("{names} or {last}"), names=SHORT_CODE, last=LONG_CODE),
)
_TEST_CODE = re.compile(code_pattern("0-9A-Z"))


def add_test_login(*, project: Project, to: str, code: str, expires_at: datetime | None = None) -> TestLogin:
    """Give a recipient a fixed code. An existing row for it is replaced, which ends its sessions under way.

    Raises :class:`UserError`.
    """
    try:
        address = parse_test_address(to)
    except AddressInvalid as error:
        raise UserError(str(error)) from None
    code = clean_test_code(code)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(
            pk=project.pk
        )  # so that two additions do not both take the last place
        others = TestLogin.objects.filter(project=project).exclude(to=address.text)
        if others.count() >= MAX_TEST_LOGINS:
            raise UserError(
                _("A project can have at most {max_test_logins} test logins.").format(max_test_logins=MAX_TEST_LOGINS)
            )
        sealed = encrypt(code, binding=crypto.test_login_binding(project.public_id, address.text))
        login, _unused = TestLogin.objects.update_or_create(
            project=project,
            to=address.text,
            defaults={"code_encrypted": sealed, "expires_at": expires_at, "revision": uuid.uuid4()},
        )
    return login


def code_of(login: TestLogin) -> str:
    """Raises :class:`verification.core.crypto.DecryptionFailed`."""
    return decrypt(bytes(login.code_encrypted), binding=crypto.test_login_binding(login.project.public_id, login.to))


def clean_test_code(code: str) -> str:
    """Return the code in capitals. Raises :class:`UserError` unless it is made of ASCII letters and digits, and as long
    as codes are.
    """
    if not code.isascii() or not _TEST_CODE.fullmatch(code.upper()):
        raise UserError(_("A test login's code has {code_form}").format(code_form=CODE_FORM))
    return code.upper()
