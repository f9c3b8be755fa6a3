from django.apps import AppConfig


class TwilioConfig(AppConfig):
    name = "verification.contrib.twilio"
    label = "twilio"
    verbose_name = "Paths for Twilio's libraries"
