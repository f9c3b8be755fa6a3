"""The models give the names of their tables and columns themselves, so that gettext finds them. No table changes.

One operation for all: as 175 of Django's own, which it would write here, they take 15 s on each new database.
"""

from django.db import migrations
from django.db.migrations.operations.base import Operation

# By model: the columns that are named. Each name is the column's own in words, as Django derived it until now.
COLUMNS = {
    "alert": "created_at detail project title",
    "alertservice": "chat created_at is_enabled kind name project secret uuid",
    "apikey": "created_at created_by digest expires_at kind prefix project revoked_at",
    "auditentry": "project who",
    "channel": "countries daily_budget daily_cost_budget is_active link name position project",
    "decision": "last_at project subject",
    "exchangerate": "currency rate",
    "fallbackstep": "channel position project wait_seconds",
    "guardblock": "level lifted_at project rule since subject",
    "hostedpage": "key key_text logo project return_addresses",
    "invitation": "created_at email ended_at expires_at invited_by language project role sees_addresses",
    "killswitch": "reason since subject",
    "listentry": "created_at expires_at note project subject value",
    "membership": "project role sees_addresses user",
    "message": "channel created_at id language project",
    "messagetemplate": "channel language project subject text",
    "platform": "account_currency max_creates_per_address max_daily_budget max_requests_per_second max_sends_per_day"
    " sms_per_recipient_a_day",
    "project": "countries created_at deleted_at events languages name origins public_id retention_days retention_mode"
    " server_addresses traffic_guard",
    "provider": "channel created_at hook_secret is_enabled name price_list priority project secrets settings type uuid"
    " weight",
    "recipient": "address language project verified_channel",
    "senderrule": "provider sender",
    "session": "channel id language project",
    "suppression": "channel created_at lifted_at project reason recipient",
    "testlogin": "code_encrypted created_at expires_at project to",
    "textvariant": "channel language project share since subject text",
    "webhookevent": "created_at message project tries type",
    "webhooksecret": "created_at expires_at project secret",
}
# By model: its name. The plural has an s, where the model has not said another one before.
TABLES = {
    "alert": "alert",
    "alertservice": "alert service",
    "apikey": "key",
    "channel": "channel",
    "decision": "decision",
    "deliveryattempt": "delivery attempt",
    "exchangerate": "exchange rate",
    "fallbackstep": "fallback step",
    "guardblock": "finding",
    "hostedpage": "hosted page",
    "invitation": "invitation",
    "killswitch": "kill switch",
    "membership": "membership",
    "message": "message",
    "messagetemplate": "message text",
    "project": "project",
    "provider": "provider",
    "recipient": "recipient",
    "senderrule": "sender rule",
    "session": "session",
    "subscription": "subscription",
    "suppression": "suppression",
    "testlogin": "test login",
    "textvariant": "text variant",
    "webhooksecret": "webhook secret",
}


class NameModels(Operation):
    """Writes the names into the state that migrations keep of the models."""

    reversible = True

    def state_forwards(self, app_label, state):
        for model, columns in COLUMNS.items():
            fields = state.models[app_label, model].fields
            for column in columns.split():
                _, _, args, options = fields[column].deconstruct()
                words = column.removeprefix("is_").removesuffix("_id").replace("_", " ")
                fields[column] = type(fields[column])(*args, **options | {"verbose_name": words})
        for model, words in TABLES.items():
            options = state.models[app_label, model].options
            options["verbose_name"] = words
            options.setdefault("verbose_name_plural", f"{words}s")

    def describe(self):
        return "Name tables and columns"


class Migration(migrations.Migration):
    dependencies = [("verification", "0008_index_of_the_erased")]
    operations = [migrations.SeparateDatabaseAndState(state_operations=[NameModels()])]
