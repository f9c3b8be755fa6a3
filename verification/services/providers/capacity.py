"""The bounds on a project's providers: how many there are, and the connections that they hold together."""

from __future__ import annotations

from django.utils.translation import gettext as _

from providers import registry
from verification.core.errors import UserError
from verification.models import Project, Provider, bounds


def require_room(project: Project | None, channel: str, provider_type: str) -> None:
    """Raises :class:`UserError` where the project has as many providers of the kind as it may; the system may have any.

    Raises it too for a provider that the project must not have as a test project, or as a live one.
    """
    if reason := why_unfit(project, provider_type):
        raise UserError(reason)
    if project is None:
        return
    own = Provider.objects.filter(project=project)
    most = bounds.MAX_PROVIDERS
    refusal = _("A project can have at most {most} providers per channel. Delete one you no longer use.").format(
        most=most
    )
    bounds.require_room(project, own.filter(channel=channel), most, refusal)
    if provider_type in registry.connected_types():
        most = bounds.MAX_CONNECTED
        refusal = _("A project can have at most {most} providers with their own connections. Delete one first.").format(
            most=most
        )
        bounds.require_room(project, own.filter(type__in=registry.connected_types()), most, refusal)


def why_unfit(project: Project | None, provider_type: str) -> str:
    """Return why a type of provider and a project do not go together, as one sentence; empty where they do.

    A test project has only providers by which nothing leaves the machine. The sandbox serves nobody else.
    """
    adapter = registry.adapter_class(provider_type)
    is_sandbox = project is not None and project.is_sandbox
    if is_sandbox and not adapter.is_local:
        return _("Test projects send nothing. Use a live project for this provider.")
    if adapter.is_simulation and not is_sandbox:
        return _("The sandbox is only for test projects. Create one with manage.py createproject NAME --sandbox.")
    return ""


def require_connections(provider: Provider) -> None:
    """Raises :class:`UserError` where this provider's settings give the project more connections than it may have.

    Providers that are switched off count, as switching one on is judged by nobody. Settings that ask for no more
    connections than the stored ones are taken even above the bound. The project is locked until the transaction ends.
    """
    if provider.project is None or provider.type not in registry.connected_types():
        return
    bounds.lock(provider.project)
    own = Provider.objects.filter(project=provider.project, type__in=registry.connected_types())
    held = {row.pk: _connections(row) for row in own}
    before, wanted = held.pop(provider.pk, 0), _connections(provider)
    together = wanted + sum(held.values())
    if wanted > before and together > bounds.MAX_CONNECTIONS:
        raise UserError(
            _(
                "A project's providers can use at most {max_connections} connections in total; these settings"
                " would need {together}. Use fewer, or delete a provider."
            ).format(max_connections=bounds.MAX_CONNECTIONS, together=together)
        )


def _connections(provider: Provider) -> int:
    return registry.adapter_class(provider.type).connections(provider.settings)
