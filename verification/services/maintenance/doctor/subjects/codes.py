"""Projects' codes: where they are short, and where a project falls short of the standard that it has chosen."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q, QuerySet

from verification.core.session_rules import NIST_SESSION_SECONDS, SHORT_CODE
from verification.models import Channel, ChannelType, Project
from verification.models.project_settings import Assurance
from verification.models.project_settings.risk import RiskCheck
from verification.services.maintenance.doctor.findings import Aims, Finding, note, warning

SIM_CHECKS = [RiskCheck.VONAGE_IDENTITY.value, RiskCheck.CAMARA_SIM_SWAP.value, RiskCheck.CALLBACK.value]


def codes_are_long_enough(aims: Aims) -> Iterator[Finding]:
    for project in _live().filter(code_length=SHORT_CODE):
        yield warning(
            "short-codes",
            f"{project} draws codes of {SHORT_CODE} characters, which are guessed a hundred times as easily as six.",
            f"manage.py setproject {project.pk} code_length=6",
        )


def the_standard_is_kept(aims: Aims) -> Iterator[Finding]:
    """Look at what no setting refuses by itself. The sections are those of NIST SP 800-63B-4."""
    of_nist = _live().filter(assurance=Assurance.NIST)
    for project in of_nist.filter(Q(code_length=SHORT_CODE) | Q(session_seconds__gt=NIST_SESSION_SECONDS)):
        yield warning(
            "nist-codes",
            f"{project}: its codes are shorter, or live longer, than section 3.1.3.2 allows.",
            f"manage.py setproject {project.pk} code_length=6 session_seconds={NIST_SESSION_SECONDS}",
        )
    channels = Channel.objects.filter(project__in=of_nist, is_active=True).select_related("project")
    for channel in channels.filter(session_seconds__gt=NIST_SESSION_SECONDS):
        yield warning(
            "nist-life",
            f"{channel.project}: the channel {channel} makes sessions live {channel.session_seconds} seconds; section"
            f" 3.1.3.2 allows {NIST_SESSION_SECONDS}.",
            "Lower the channel's life of a session.",
        )
    for channel in channels.filter(type=ChannelType.EMAIL):
        yield note(
            "nist-email",
            f"{channel.project} has the channel e-mail, which sends nothing: section 3.1.3.1 forbids it.",
            "Take the channel out. Codes that only confirm an address are exempt: give them a project of their own.",
        )
    for project in of_nist.filter(channels__in=channels.filter(type=ChannelType.SMS)).distinct():
        if not set(SIM_CHECKS) & set(project.risk_sms):
            yield note(
                "nist-sim",
                f"{project} sends SMS without asking whether the SIM was changed; section 3.1.3.3 says to consider it.",
                "Name camara_sim_swap, vonage_identity or callback in risk_sms, or know why not.",
            )


def _live() -> QuerySet[Project]:
    return Project.objects.filter(deleted_at=None, is_enabled=True, is_sandbox=False).order_by("pk")


CHECKS = (codes_are_long_enough, the_standard_is_kept)
