"""What the service does: the queue and its workers, projects' codes, and calls of customers' servers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.core.checks import CheckMessage, Critical, Info, Warning
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from providers import registry as adapters
from verification.checks.registry import Aims, register
from verification.core.session_rules import NIST_SESSION_SECONDS, SHORT_CODE
from verification.models import ALL_SENDING, Channel, ChannelType, Project, Provider, WebhookAttempt, WebhookEvent
from verification.models.project_settings import Assurance
from verification.models.project_settings.risk import RiskCheck
from verification.services.maintenance import degradation

HOOKS = "hooks_per_second"  # the rule behind HOOKS_PER_SECOND, which no project sets
CONNECTIONS = "connections"  # the kind of a worker that holds connections to providers
SINCE = timedelta(hours=1)  # what failed before has been mended, or fails again
LEAST = 5  # calls, below which a share says nothing
MOST_LOOKED_AT = 10_000  # calls, the newest: their time is in no index
LOST_SINCE = timedelta(days=1)
SUCCESSES = Q(status__gte=200, status__lt=300)
SIM_CHECKS = [RiskCheck.VONAGE_IDENTITY.value, RiskCheck.CAMARA_SIM_SWAP.value, RiskCheck.CALLBACK.value]


@register("queue")
def nothing_is_degraded(aims: Aims) -> Iterator[CheckMessage]:
    for name, meaning in degradation.current().meanings.items():
        part = degradation.PARTS[name]
        found = Critical if part.is_critical else Warning
        yield found(meaning, hint=part.remedy, id=f"degraded-{name}")


@register("queue")
def limits_leave_room(aims: Aims) -> Iterator[CheckMessage]:
    for used in degradation.current().limits:
        where = f"{used.project}, {used.channel}" if used.channel else used.project
        remedy = (
            "Raise HOOKS_PER_SECOND, or start another web process."
            if used.limit == HOOKS
            else f"If it is the project's own traffic: manage.py setproject {used.project_id} {used.setting}=…"
        )
        if used.is_reached:
            yield Critical(f"{where}: {used.words}. That is the limit ({used.limit}).", hint=remedy, id="limit-reached")
        else:
            yield Warning(f"{where}: {used.words} ({used.limit}).", hint=remedy, id="limit-near")


@register("queue")
def nothing_is_stopped(aims: Aims) -> Iterator[CheckMessage]:
    for name in degradation.current().stopped:
        yield Warning(
            f"A kill switch stops {'all sending' if name == ALL_SENDING else f'everything over the channel {name}'}.",
            hint=f"Once sending may go on: manage.py killswitch resume {name}",
            id="sending-stopped",
        )


@register("queue")
def workers_have_one_version(aims: Aims) -> Iterator[CheckMessage]:
    others = sorted({worker.version for worker in degradation.current().workers} - {settings.VERSION})
    if others:
        yield Warning(
            f"Workers run version {', '.join(others)}, and this command is version {settings.VERSION}.",
            hint="The upgrade is not finished: manage.py status lists the workers. Stop the old ones with SIGTERM.",
            id="worker-version-differs",
        )


@register("queue")
def connections_are_held(aims: Aims) -> Iterator[CheckMessage]:
    """Look for a worker that holds connections, where a provider needs one (SMPP)."""
    running = degradation.current().workers
    if not running or any(CONNECTIONS in worker.kinds for worker in running):
        return
    needing = Provider.objects.working().filter(type__in=adapters.connected_types())
    if names := sorted({row.name for row in needing}):
        yield Critical(
            f"No worker opens connections, but these providers need one: {', '.join(names)}.",
            hint="Start one worker with --connections.",
            id="no-connections-worker",
        )


@register("callbacks")
def servers_answer(aims: Aims) -> Iterator[CheckMessage]:
    """Count the last hour's calls. The alarm WatchwordCallbacksFail takes the same share, of all projects."""
    newest = WebhookAttempt.objects.aggregate(Max("pk"))["pk__max"] or 0
    recent = WebhookAttempt.objects.filter(pk__gt=newest - MOST_LOOKED_AT, created_at__gt=timezone.now() - SINCE)
    by_name = recent.order_by().values_list("event__project__name")
    rows = by_name.annotate(all=Count("pk"), good=Count("pk", filter=SUCCESSES))
    for name, calls, good in rows.order_by("event__project__name"):
        if calls >= LEAST and 2 * (calls - good) >= calls:
            yield Warning(
                f"{calls - good} of {calls} webhook calls to {name}'s server failed in the last hour.",
                hint="The panel's Events page shows the server's responses: let the customer know. If all projects' "
                "calls fail, check whether this machine reaches the internet, and check OUTBOUND_ALLOWED_NETWORKS.",
                id="callbacks-fail",
            )


@register("callbacks")
def none_is_given_up(aims: Aims) -> Iterator[CheckMessage]:
    given_up = WebhookEvent.objects.filter(
        due_at=None, delivered_at=None, tries__gt=0, created_at__gt=timezone.now() - LOST_SINCE
    )
    rows = given_up.order_by().values_list("project__name").annotate(count=Count("pk"))
    for name, count in rows.order_by("project__name"):
        yield Warning(
            f"Watchword could not deliver {count} events to {name}'s server within a day.",
            hint="See the panel's Events page. The customer can read them with a secret key (GET /events).",
            id="callbacks-given-up",
        )


@register("codes")
def codes_are_long_enough(aims: Aims) -> Iterator[CheckMessage]:
    for project in _live().filter(code_length=SHORT_CODE):
        yield Warning(
            f"{project} draws codes of {SHORT_CODE} characters, which are guessed a hundred times as easily as six.",
            hint=f"manage.py setproject {project.pk} code_length=6",
            id="short-codes",
        )


@register("codes")
def the_standard_is_kept(aims: Aims) -> Iterator[CheckMessage]:
    """Look at what no setting refuses by itself. The sections are those of NIST SP 800-63B-4."""
    of_nist = _live().filter(assurance=Assurance.NIST)
    for project in of_nist.filter(Q(code_length=SHORT_CODE) | Q(session_seconds__gt=NIST_SESSION_SECONDS)):
        yield Warning(
            f"{project}: its codes are shorter, or live longer, than section 3.1.3.2 allows.",
            hint=f"manage.py setproject {project.pk} code_length=6 session_seconds={NIST_SESSION_SECONDS}",
            id="nist-codes",
        )
    channels = Channel.objects.filter(project__in=of_nist, is_active=True).select_related("project")
    for channel in channels.filter(session_seconds__gt=NIST_SESSION_SECONDS):
        yield Warning(
            f"{channel.project}: sessions of {channel} live longer than {NIST_SESSION_SECONDS} s (section 3.1.3.2).",
            hint="Lower the channel's life of a session.",
            id="nist-life",
        )
    for channel in channels.filter(type=ChannelType.EMAIL):
        yield Info(
            f"{channel.project} has the channel e-mail, which sends nothing: section 3.1.3.1 forbids it.",
            hint="Take the channel out. Codes that only confirm an address are exempt: use another project for them.",
            id="nist-email",
        )
    for project in of_nist.filter(channels__in=channels.filter(type=ChannelType.SMS)).distinct():
        if not set(SIM_CHECKS) & set(project.risk_sms):
            yield Info(
                f"{project} sends SMS without asking whether the SIM was changed; section 3.1.3.3 says to consider it.",
                hint="Name camara_sim_swap, vonage_identity or callback in risk_sms, or know why not.",
                id="nist-sim",
            )


def _live() -> QuerySet[Project]:
    return Project.objects.filter(deleted_at=None, is_enabled=True, is_sandbox=False).order_by("pk")
