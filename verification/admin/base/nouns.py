"""Numbers of rows in the reader's language: "1 channel", "5 channels"; in Russian "2 канала", "5 каналов".

Russian has three forms of a noun after a number, so the plural that is the table's name does not do.
"""

from __future__ import annotations

from typing import Any

from django.db.models.options import Options
from django.utils.translation import gettext as _
from django.utils.translation import npgettext_lazy

from verification.core.formats import grouped

# By the model of each list. A test asks for every page's.
NOUNS: dict[str, Any] = {
    "auth.user": npgettext_lazy("counted", "user", "users"),
    "verification.alert": npgettext_lazy("counted", "alert", "alerts"),
    "verification.alertservice": npgettext_lazy("counted", "alert destination", "alert destinations"),
    "verification.apikey": npgettext_lazy("counted", "key", "keys"),
    "verification.auditentry": npgettext_lazy("counted", "entry", "entries"),
    "verification.channel": npgettext_lazy("counted", "channel", "channels"),
    "verification.decision": npgettext_lazy("counted", "decision", "decisions"),
    "verification.exchangerate": npgettext_lazy("counted", "exchange rate", "exchange rates"),
    "verification.guardblock": npgettext_lazy("counted", "block", "blocks"),
    "verification.killswitch": npgettext_lazy("counted", "kill switch", "kill switches"),
    "verification.listentry": npgettext_lazy("counted", "list entry", "list entries"),
    "verification.message": npgettext_lazy("counted", "message", "messages"),
    "verification.messagetemplate": npgettext_lazy("counted", "message text", "message texts"),
    "verification.platform": npgettext_lazy("counted", "row of platform limits", "rows of platform limits"),
    "verification.project": npgettext_lazy("counted", "project", "projects"),
    "verification.provider": npgettext_lazy("counted", "provider", "providers"),
    "verification.recipient": npgettext_lazy("counted", "recipient", "recipients"),
    "verification.routingrule": npgettext_lazy("counted", "routing rule", "routing rules"),
    "verification.session": npgettext_lazy("counted", "session", "sessions"),
    "verification.suppression": npgettext_lazy("counted", "suppression", "suppressions"),
    "verification.testlogin": npgettext_lazy("counted", "test login", "test logins"),
    "verification.webhookevent": npgettext_lazy("counted", "event", "events"),
}


def noun(options: Options[Any], number: int) -> str:
    """Return what rows are called after this number."""
    return str(NOUNS[options.label_lower] % number)


def counted(options: Options[Any], number: int) -> str:
    return _("{number} {noun}").format(number=grouped(number), noun=noun(options, number))


def none_of(options: Options[Any]) -> str:
    return _("No {noun}").format(noun=noun(options, 0))
