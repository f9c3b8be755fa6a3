"""The types of number (TON) and the numbering plans (NPI) of SMPP 3.4, with the names that owners choose by."""

from django.utils.translation import gettext_lazy as _

TYPES_OF_NUMBER = (
    ("0", _("0, unknown")),
    ("1", _("1, international")),
    ("2", _("2, national")),
    ("3", _("3, network specific")),
    ("4", _("4, subscriber")),
    ("5", _("5, alphanumeric")),
    ("6", _("6, abbreviated")),
)
NUMBERING_PLANS = (
    ("0", _("0, unknown")),
    ("1", "1, ISDN (E.164)"),
    ("3", _("3, data")),
    ("4", _("4, telex")),
    ("6", _("6, land mobile")),
    ("8", _("8, national")),
    ("9", _("9, private")),
    ("10", "10, ERMES"),
    ("14", _("14, Internet")),
    ("18", "18, WAP"),
)
