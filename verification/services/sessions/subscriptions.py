"""Subscriptions bind a bot's chat to a recipient: by proof only, never by a link alone.

A user opens the deep link of a session, which carries a one-time payload. That tells us which session they come from,
not who they are. They prove their number by sharing their own contact, for which the messenger vouches; only then is
the chat bound to the recipient, and the waiting code goes out. The number alone is enough: apps lose the payload, and
users find the bot by search or on another device, so a proved number leads to the session of it that waits.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from providers.base import BotEvent, BotMessage, BotReachability, BotStarted, ContactShared
from providers.errors import ProviderError
from verification import sql
from verification.core.addresses import vouched
from verification.core.errors import ApiError
from verification.models import ALL_SENDING, BotChat, KillSwitch, Provider, Recipient, Session, Subscription
from verification.services.projects.snapshot import load_project
from verification.services.protection.eligibility import record_refused
from verification.services.providers.accounts import adapter_of
from verification.services.records.decisions import record_refusal
from verification.services.sessions import send
from verification.services.texts.rendering import texts_for

log = logging.getLogger(__name__)


def act_on(provider: Provider, event: BotEvent) -> None:
    """Act on what a bot's user did. The same event again only repeats what the bot said.

    Where the bot, its project or its channel is switched off, nothing is bound, sent or said. A user who blocks the bot
    is noted all the same, as the messenger does not tell it again.
    """
    if isinstance(event, BotReachability):
        record_reachability(provider, event)
        return
    if _is_stopped(provider):
        log.info("%s is switched off: what a user did there is left alone.", provider.name)
        return
    match event:
        case BotStarted():
            start(provider, event)
        case ContactShared():
            share_contact(provider, event)
        case BotMessage():
            answer(provider, event)


def record_reachability(provider: Provider, event: BotReachability) -> None:
    Subscription.objects.filter(provider=provider, account_id=event.account_id).update(is_active=event.is_active)


def start(provider: Provider, event: BotStarted) -> None:
    """Begin a chat after Start. A bound user gets the waiting code at once; others are asked for their number."""
    session = _session_of_link(provider, event.payload) or _waiting_in_chat(provider, event.account_id)
    BotChat.objects.update_or_create(
        provider=provider,
        account_id=event.account_id,
        defaults={"language": event.language, "started_at": timezone.now()} | ({"session": session} if session else {}),
    )
    if session is not None:
        _serve(provider, session, event.account_id, event.language)
    elif event.payload:
        _say(provider, event.account_id, "stale", event.language)
    elif _is_bound(provider, event.account_id):
        _say(provider, event.account_id, "help", event.language)
    else:
        _ask_for_contact(provider, event.account_id, event.language)


def answer(provider: Provider, event: BotMessage) -> None:
    """Answer what else a user writes: as to Start while a code waits, else by a help that leaves the button."""
    session = _waiting_in_chat(provider, event.account_id)
    if session is not None:
        _serve(provider, session, event.account_id, event.language)
    else:
        _help(provider, event.account_id, event.language)


def share_contact(provider: Provider, event: ContactShared) -> None:
    """Take a contact that the user shared. It binds the chat only if it is their own number, and a session's."""
    chat = _chat(provider, event.account_id)
    language = event.language or (chat.language if chat else "")
    if not event.is_own:
        _ask_for_contact(provider, event.account_id, language, text="not_own")
        return
    number = vouched(event.phone)
    of_chat = chat.session if chat and chat.session and _is_open(chat.session) else None
    session = of_chat if of_chat and of_chat.recipient.address == number else _waiting(provider, [number])
    if session is not None:
        _take_proof(provider, session, event.account_id, language)
    elif of_chat is not None:
        _say(provider, event.account_id, "other_number", language)
    elif chat and chat.session and chat.session.expires_at > chat.started_at:  # it is over since the last Start
        _say(provider, event.account_id, "stale", language)
    else:
        _help(provider, event.account_id, language)


def _take_proof(provider: Provider, session: Session, account_id: str, language: str) -> None:
    """Bind the account that has proved the session's number, and send the code that waits."""
    replaced = bind(provider, session, account_id, language)
    if replaced is None:
        _say(provider, account_id, "stale", language)
        return
    for other_id in replaced:
        _say(provider, other_id, "moved", language)
    _say(provider, account_id, "bound", language)
    _send_waiting_code(provider, session)


@transaction.atomic
def bind(provider: Provider, session: Session, account_id: str, language: str) -> list[str] | None:
    """Bind a proved account to the session's recipient.

    In each project an account has one recipient, and a recipient one account. A bot of all projects keeps a number's
    bindings to one account, so a proof counts for all of them.

    Return the accounts that lost the number, whose users are to be told. Return None where the session's link has
    already bound somebody else.
    """
    recipient = Recipient.objects.select_for_update(no_key=True).get(pk=session.recipient_id)
    bound = Subscription.objects.filter(provider=provider)
    own = bound.filter(recipient=recipient, account_id=account_id, is_active=True)
    if not Session.objects.filter(pk=session.pk, is_link_used=False).update(is_link_used=True):
        return [] if own.exists() else None
    # The account may be proving itself for another recipient at this moment, so its proofs are taken one by one.
    BotChat.objects.select_for_update(no_key=True).filter(provider=provider, account_id=account_id).first()
    others = bound.filter(recipient__address=recipient.address).exclude(account_id=account_id)
    replaced = sorted(set(others.filter(is_active=True).values_list("account_id", flat=True)))
    # The old bindings are dropped: the number has another owner now, or the account another number.
    others.exclude(recipient=recipient).delete()
    bound.filter(account_id=account_id).exclude(recipient__address=recipient.address).delete()
    Subscription.objects.update_or_create(
        provider=provider,
        recipient=recipient,
        defaults={"account_id": account_id, "is_active": True, "bound_at": timezone.now()},
    )
    if language and not recipient.language:
        Recipient.objects.filter(pk=recipient.pk, language="").update(language=language)
    return replaced


def _session_of_link(provider: Provider, payload: str) -> Session | None:
    """Return the open session whose link carries this payload, in a project that this provider serves."""
    of_link = Session.objects.filter(link_payload=payload).exclude(link_payload="")  # both, as the index has it
    # By itself and in no order: for a join or an order PostgreSQL may read all sessions by an index that has it.
    session = next(iter(of_link.order_by()[:1]), None)
    if session is None or provider.project_id not in (None, session.project_id):
        return None
    return session if _is_open(session) else None


def _waiting_in_chat(provider: Provider, account_id: str) -> Session | None:
    """Return the open session whose code waits for this account: the chat's, or one of a number bound to it."""
    chat = _chat(provider, account_id)
    of_chat = chat.session if chat else None
    if of_chat is not None and of_chat.awaited_channel == provider.channel and _is_open(of_chat):
        return of_chat
    bound = Subscription.objects.filter(provider=provider, account_id=account_id)
    return _waiting(provider, bound.values_list("recipient__address", flat=True))


def _waiting(provider: Provider, addresses: Iterable[str]) -> Session | None:
    """Return the newest open session of these numbers whose code waits for this bot, in a project that it serves."""
    recipients = Recipient.objects.filter(address__in=list(addresses))
    if provider.project_id is not None:
        recipients = recipients.filter(project_id=provider.project_id)
    of_number = Session.objects.filter(recipient_id__in=list(recipients.values_list("pk", flat=True)), is_open=True)
    waiting = filter(_is_open, of_number.filter(awaited_channel=provider.channel).order_by())
    return max(waiting, key=lambda session: session.created_at, default=None)


def _chat(provider: Provider, account_id: str) -> BotChat | None:
    chats = BotChat.objects.filter(provider=provider, account_id=account_id)
    return chats.select_related("session__project", "session__recipient").first()


def _is_bound(provider: Provider, account_id: str) -> bool:
    return Subscription.objects.filter(provider=provider, account_id=account_id).exists()


def _is_open(session: Session) -> bool:
    """Return whether its code may still be used. Through a system bot, its project may be one that is off."""
    is_live = session.is_open and session.expires_at > sql.now() and session.attempts < session.attempts_max
    return is_live and session.project.is_enabled


def _is_stopped(provider: Provider) -> bool:
    is_enabled = provider.is_enabled and (provider.project is None or provider.project.is_enabled)
    return not is_enabled or KillSwitch.objects.filter(subject__in=(ALL_SENDING, provider.channel)).exists()


def _serve(provider: Provider, session: Session, account_id: str, language: str) -> None:
    """Send the waiting code to a user who is bound, and thereby active; ask others for their number."""
    bound = Subscription.objects.filter(provider=provider, account_id=account_id, recipient_id=session.recipient_id)
    if bound.update(is_active=True):
        _send_waiting_code(provider, session)
    else:
        _ask_for_contact(provider, account_id, language)


def _send_waiting_code(provider: Provider, session: Session) -> None:
    """Send the code if it waits for this messenger. A refusal, as by a limit, is noted and not told in the chat."""
    project = load_project(session.project_id)
    if project is None or provider.channel not in project.channels:
        return
    session.refresh_from_db(fields=("awaited_channel",))
    if session.awaited_channel != provider.channel:
        return
    try:
        send.resend_automatically(project=project, session_id=session.pk, channel_type=provider.channel)
    except ApiError as refusal:
        record_refusal(refusal)
        record_refused(project, refusal, to=session.recipient.address, session_id=session.pk)
        log.info("session of project %s: the waiting code was not sent: %s", project.id, refusal.problem_code)


def _ask_for_contact(provider: Provider, account_id: str, language: str, *, text: str = "share") -> None:
    _say(provider, account_id, text, language, button=_bot_text("button", language))


def _help(provider: Provider, account_id: str, language: str) -> None:
    """Say what the bot is for. The button stays for who has proved no number yet: a code may wait for that number."""
    button = "" if _is_bound(provider, account_id) else _bot_text("button", language)
    _say(provider, account_id, "help", language, button=button)


def _say(provider: Provider, account_id: str, text: str, language: str, *, button: str = "") -> None:
    """Say one of our texts in the chat. A failure is logged and raises nothing."""
    try:
        adapter_of(provider).prompt(account_id, _bot_text(text, language), contact_button=button)
    except ProviderError as error:
        log.warning("%s could not answer in a chat: %s", provider.name, error)
    except Exception as error:  # unreadable settings or a fault in the adapter; its text may hold anything
        log.error("%s could not answer in a chat: %s", provider.name, type(error).__name__)


def _bot_text(name: str, language: str) -> str:
    """Return a text that bots say besides codes: the one called ``bot_<name>`` in ``templates/messages``."""
    return texts_for(language)[f"bot_{name}"]
