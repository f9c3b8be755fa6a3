from django.db import migrations, models


class Migration(migrations.Migration):
    """A bot of all projects binds an account once in each of them."""

    dependencies = [
        ("verification", "0020_daily_budget_by_default"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="subscription", name="subscription_one_recipient_per_account"),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(fields=["provider", "account_id"], name="subscription_of_account"),
        ),
    ]
