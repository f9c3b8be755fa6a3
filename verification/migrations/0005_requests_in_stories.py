# The request that asked for a session, a send, a check or a redeemed token: its id, and whence it came.

from typing import Any

from django.db import migrations, models
from django.db.models import Q

TABLES = ("session", "message", "wrongcode", "verifytoken")
INDEXES = {
    "session": "session_of_request",
    "message": "message_of_request",
    "wrongcode": "wrong_code_of_request",
    "verifytoken": "verify_token_of_request",
}
ID_HELP = "The id of the request, if it tells its time: by that the row is found without an index."
CALLERS_HELP = "The id of the request, if its caller chose it."
SUBNET_HELP = {"session": "Whence it was asked for, as in WrongCode.", "message": ""}


def text(length: int, help_text: str = "") -> Any:
    return models.CharField(max_length=length, default="", db_default="", help_text=help_text)


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0004_language_of_an_invitation"),
    ]

    operations = [
        *(migrations.AddField(table, "request", models.UUIDField(null=True, help_text=ID_HELP)) for table in TABLES),
        *(migrations.AddField(table, "caller_request", text(64, CALLERS_HELP)) for table in TABLES),
        *(migrations.AddField(table, "subnet", text(43, help_text)) for table, help_text in SUBNET_HELP.items()),
        migrations.AddField("verifytoken", "used_request", models.UUIDField(null=True, help_text=ID_HELP)),
        migrations.AddField("verifytoken", "used_caller_request", text(64, CALLERS_HELP)),
        *(
            migrations.AddIndex(
                table, models.Index(name=name, fields=("caller_request",), condition=~Q(caller_request=""))
            )
            for table, name in INDEXES.items()
        ),
    ]
