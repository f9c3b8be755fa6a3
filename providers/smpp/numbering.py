"""The types of number (TON) and the numbering plans (NPI) of SMPP 3.4, with the names that owners choose by."""

TYPES_OF_NUMBER = (
    ("0", "0, unknown"),
    ("1", "1, international"),
    ("2", "2, national"),
    ("3", "3, network specific"),
    ("4", "4, subscriber"),
    ("5", "5, alphanumeric"),
    ("6", "6, abbreviated"),
)
NUMBERING_PLANS = (
    ("0", "0, unknown"),
    ("1", "1, ISDN (E.164)"),
    ("3", "3, data"),
    ("4", "4, telex"),
    ("6", "6, land mobile"),
    ("8", "8, national"),
    ("9", "9, private"),
    ("10", "10, ERMES"),
    ("14", "14, Internet"),
    ("18", "18, WAP"),
)
