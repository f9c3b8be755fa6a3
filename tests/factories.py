"""Rows for tests, made by the services where there is one. Plain functions with defaults."""

from dataclasses import dataclass
from datetime import timedelta
from unittest import mock

from django.utils import timezone

from tests.fakes import collector
from verification.core import caching, crypto
from verification.core.crypto import encrypt
from verification.core.ids import generate_hook_secret, generate_message_id, generate_session_id
from verification.models import Channel, Message, Project, Provider, Recipient, Session, Subscription
from verification.services.projects import projects, test_logins
from verification.services.providers import accounts


@dataclass
class MadeProject:
    """A project's row with the keys that only its creation knows."""

    row: object
    api_key: str
    secret_key: str

    @property
    def id(self):
        return self.row.pk

    def set(self, **values):
        """Change the project, and let this process see it at once."""
        for name, value in values.items():
            setattr(self.row, name, value)
        self.row.full_clean(validate_constraints=False)
        self.row.save()
        caching.clear_all()
        return self

    def provider(self, channel="sms", name="second", *, type="collector", priority=100, **fields):
        made = accounts.add_provider(
            project=self.row, channel=channel, provider_type=type, name=name, values={"name": name}, priority=priority
        )
        Provider.objects.filter(pk=made.pk).update(**fields)
        caching.clear_all()
        return made

    def channel(self, channel_type, **fields):
        Channel.objects.filter(project=self.row, type=channel_type).update(**fields)
        caching.clear_all()

    def test_login(self, to, code, **fields):
        made = test_logins.add_test_login(project=self.row, to=to, code=code, **fields)
        caching.clear_all()
        return made


_counter = iter(range(1, 10**9))


def project(name="", channels=("sms", "email"), **values):
    collector.install()
    # The database holds the same constraints; to ask it beforehand is most of what a project costs.
    with mock.patch.object(Project, "validate_constraints"):
        new = projects.create_project(name=name or f"Project {next(_counter)}")
    made = MadeProject(new.project, new.api_key, new.secret_key)
    Channel.objects.bulk_create(
        Channel(project=new.project, type=channel, position=position) for position, channel in enumerate(channels)
    )
    Provider.objects.bulk_create(
        _unsaved_provider(project=new.project, channel=channel, type="collector", name=name, settings={"name": name})
        for channel in channels
        for name in (f"{channel} first",)
    )
    return made.set(**values) if values else made


def provider(**fields):
    """A provider whatever its adapter asks for: of another type than is installed, or without settings."""
    made = _unsaved_provider(**fields)
    made.save()
    return made


def _unsaved_provider(**fields):
    made = Provider(**fields)
    made.hook_secret = encrypt(generate_hook_secret(), binding=crypto.provider_hook_binding(made.uuid))
    return made


def subscribe(to, provider, **fields):
    """Bind a recipient to a bot, as if they had started it."""
    recipient, _ = Recipient.objects.get_or_create(project=provider.project, address=to)
    return Subscription.objects.create(
        recipient=recipient, provider=provider, account_id=f"chat-{recipient.pk}", **fields
    )


def session(recipient, **fields):
    """A session as it is opened, not saved."""
    number = generate_session_id()
    defaults = {
        "id": number,
        "project_id": recipient.project_id,
        "language": "en",
        "code_digest": b"\x01" * 32,
        "code_encrypted": b"ciphertext-of-the-code",
        "code_length": 6,
        "code_digits": True,
        "code_letters": False,
        "channel": "sms",
        "link_payload": f"opaque-link-payload-{number}",
        "attempts_max": 5,
        "expires_at": fields.get("created_at", timezone.now()) + timedelta(seconds=180),
    }
    return Session(recipient=recipient, **{**defaults, **fields})


def message(recipient, **fields):
    """A message that was just queued, not saved."""
    created = fields.get("created_at", timezone.now())
    defaults = {
        "id": generate_message_id(),
        "project_id": recipient.project_id,
        "channel": "sms",
        "language": "en",
        "due_at": created,
        "expires_at": created + timedelta(minutes=10),
    }
    return Message(recipient=recipient, **{**defaults, **fields})


def a_session(recipient, **fields):
    made = session(recipient, **fields)
    made.save(force_insert=True)
    return made


def a_message(recipient, **fields):
    """One that failed, unless its ``status`` is given."""
    failed = {"status": "failed", "error": "The gateway said no.", "finished_at": timezone.now()}
    made = message(recipient, **{**failed, **fields})
    made.save(force_insert=True)
    return made


def expire_everything():
    """Let three minutes and the blocks pass for every session and message there is."""
    from django.db import connection

    with connection.cursor() as cursor:
        for table in ("verification_session", "verification_message"):
            cursor.execute(
                f"UPDATE {table} SET created_at = created_at - interval '1 hour',"
                " expires_at = expires_at - interval '1 hour'"
            )
